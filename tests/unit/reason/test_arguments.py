"""One spelling for what a server was started with: what means the same never differs, what differs is told as it was written."""

from __future__ import annotations

import pytest

from forensics.reason.arguments import Given, differences, of_command, of_dump, value
from forensics.reason.logged import arguments
from forensics.ruleset.schema import FlagSpan, FlagTable, Profile

PROFILE = Profile(
    name="served",
    launch=(r"\bserved\.launch\b", r"(?:^|[\s/])served serve\b"),
    aliases={"--tp-size": ("--tensor-parallel-size", "--tp", "-tp"), "--graph-max": ("--cuda-graph-max",), "--model-path": ("--model",)},
    flags=FlagTable(
        spans=(
            FlagSpan(
                since="",
                until="",
                flags=(
                    "--mem-fraction-static",
                    "--mem-frac",
                    "--trust-remote-code",
                    "--enable-prefix-caching",
                    "--no-enable-prefix-caching",
                    "--sizes",
                    "--config",
                    "--dtype",
                ),
            ),
        )
    ),
)


def told(before: Given, after: Given) -> list[tuple[str, str | None, str | None]]:
    return [(d.flag, d.before, d.after) for d in differences(before, after)]


def typed(line: str) -> Given:
    return of_command(tuple(line.split()), PROFILE)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("--tp 4", "--tp-size=4"),
        ("--tp 4", "--tensor-parallel-size 4"),
        ("-tp 4", "--tp-size 4"),
        ("--tensor-parallel 4", "--tp 4"),
        ("--tp_size 4", "--tp-size 4"),
        ("--mem-fraction-static 0.90", "--mem-fraction-static=0.9"),
        ("--mem-fraction-static '0.9'", "--mem-fraction-static 0.9"),
        ("--tp 4 --dtype auto", "--dtype auto --tp 4"),
        ("--trust-remote-code --tp 4", "--tp 4 --trust-remote-code"),
        ("--trust-remote-code", "--trust-remote-code=True"),
        ("--enable-prefix-caching=false", "--no-enable-prefix-caching"),
        ("--cuda-graph-max 8", "--graph-max 8"),
        ("--sizes 1 2 4", "--sizes=[1,2,4]"),
        ("--model-path /models/a/", "--model /models/a"),
        ('--config {"a":1,"b":2}', '--config {"b":2,"a":1}'),
        ("--dtype half --dtype auto", "--dtype auto"),
    ],
)
def test_the_same_in_another_spelling_is_no_change(before: str, after: str) -> None:
    start = "/opt/venv/bin/python -m served.launch "
    assert told(typed(start + before), typed(start + after)) == []


@pytest.mark.parametrize(
    ("line", "dump"),
    [
        ("--tp 4 --mem-fraction-static 0.90", {"tp_size": "4", "mem_fraction_static": "0.9", "dtype": "auto"}),
        ("--trust-remote-code", {"trust_remote_code": "True", "sizes": "[1, 2]"}),
        ("--no-enable-prefix-caching", {"enable_prefix_caching": "False"}),
        ("--max-len 32k", {"max_len": "32768"}),
        ('--config {"level":3}', {"config": "Config(level=3, x=None)"}),
        ("", {"tp_size": "4"}),
    ],
)
def test_a_dump_says_no_change_of_what_the_command_line_gives(line: str, dump: dict[str, str]) -> None:
    command = typed("python -m served.launch " + line)
    assert told(command, of_dump(dump, PROFILE)) == told(of_dump(dump, PROFILE), command) == []


def test_what_only_one_of_two_full_dumps_has_is_of_another_version() -> None:
    old = {f"a{n}": "1" for n in range(40)}
    assert told(of_dump(old, PROFILE), of_dump({**old, "new_in_this_version": "None", "another": "7"}, PROFILE)) == []


def test_what_is_noise_is_no_change() -> None:
    before, after = of_dump({"random_seed": "1", "tp_size": "1"}, PROFILE), of_dump({"random_seed": "2", "tp_size": "1"}, PROFILE)
    assert differences(before, after, frozenset({"random-seed"})) == []


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("--tp 4", "--tensor-parallel-size 8", ("--tensor-parallel-size", "4", "8")),
        ("--mem-fraction-static 0.90", "--mem-fraction-static 0.95", ("--mem-fraction-static", "0.90", "0.95")),
        ("--dtype auto", "", ("--dtype", "auto", None)),
        ("", "--trust-remote-code", ("--trust-remote-code", None, "true")),
        ("--enable-prefix-caching", "--no-enable-prefix-caching", ("--no-enable-prefix-caching", "true", "false")),
        ("--sizes 1 2 4", "--sizes 1 2", ("--sizes", "1 2 4", "1 2")),
        ("--of-a-fork NEXTN", "--of-a-fork DDTREE", ("--of-a-fork", "NEXTN", "DDTREE")),
    ],
)
def test_what_differs_is_told_as_it_was_written(before: str, after: str, change: tuple[str, str | None, str | None]) -> None:
    start = "python -m served.launch --host 0.0.0.0 "
    assert told(typed(start + before), typed(start + after)) == [change]


def test_another_program_or_model_is_another_command() -> None:
    before, after = typed("/opt/old/bin/served serve /models/a --tp 4"), typed("/opt/new/bin/served serve /models/a --tp 4")
    assert told(before, after) == [("", "/opt/old/bin/served serve /models/a", "/opt/new/bin/served serve /models/a")]


def test_what_stands_before_the_server_is_not_its_flag() -> None:
    given = typed("numactl --membind=0 python -u -m served.launch --tp 4")
    assert dict(given.values) == {"tp-size": "4.0"}
    assert given.command == "numactl --membind=0 python -u -m served.launch"


def test_a_shell_is_taken_apart() -> None:
    given = of_command(("/bin/bash", "-lc", "exec python -m served.launch --tp 4 --dtype 'auto'"), PROFILE)
    assert dict(given.values) == {"tp-size": "4.0", "dtype": "auto"}


def test_of_two_kinds_of_record_only_what_both_name_is_compared() -> None:
    before = of_dump({"tp_size": "4", "dtype": "auto"}, PROFILE)
    assert told(before, typed("python -m served.launch --tp 8 --mem-fraction-static 0.9")) == [("--tp", "4", "8")]


def test_nothing_is_compared_with_a_start_that_nobody_knows() -> None:
    assert told(of_dump({}, PROFILE), typed("python -m served.launch --tp 8")) == []


@pytest.mark.parametrize("text", ["[" * 5000, "{'a':" * 2000, "'" * 9000, "1e999", "0x", "[1, 2", "9" * 400, "((", "{1: [}"])
def test_any_text_has_a_value(text: str) -> None:
    assert value(text) == value(text)


def test_a_list_in_a_dump_is_one_value() -> None:
    assert arguments("tp_size=1, sizes=[1, 2, 4], dtype='auto'", "kwargs") == {"tp_size": "1", "sizes": "[1, 2, 4]", "dtype": "auto"}


def test_a_map_of_go_is_read_and_settings_of_the_environment_keep_their_names() -> None:
    text = "CUDA_VISIBLE_DEVICES:{} OLLAMA_HOST:http://127.0.0.1:11434 OLLAMA_ORIGINS:[http://localhost https://localhost] OLLAMA_NUM_PARALLEL:{} http_proxy:"
    before, after = (of_dump(arguments(text.format(*values), "map"), PROFILE) for values in (("0,1", 0), ("", 4)))
    assert arguments(text.format("0", 1), "map")["OLLAMA_ORIGINS"] == "http://localhost https://localhost"
    assert told(before, after) == [("CUDA_VISIBLE_DEVICES", "0,1", None), ("OLLAMA_NUM_PARALLEL", "0", "4")]
    assert told(before, before) == []


def test_a_list_with_a_number_too_long_to_be_written_out_stays_as_it_is() -> None:
    text = f"[0x{'f' * 6000}]"
    assert value(text) == text

"""What a refused word of a command line was meant for, and what is said of it: true for that version, and never a flag that it does not have."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.model import Advice
from forensics.reason.mistyped import Reader, explain
from forensics.ruleset import flags
from tests.cases.judge import rules
from tests.unit.reason.telling import diagnosed, folder


def reader(server: str | None, version: str | None = None, *, before: tuple[frozenset[str], str | None] = (frozenset(), None)) -> Reader:
    return Reader(profile=rules().profile(server), version=version, profiles=rules().profiles, before=before)


def said(server: str | None, version: str | None, word: str, value: str = "") -> Advice:
    return explain(word, value, reader(server, version))


@pytest.mark.parametrize(
    ("server", "version", "word", "meant", "how"),
    [
        ("sglang", "0.5.9", "--mem-fraction-statc", "--mem-fraction-static", "one letter is missing: i"),
        ("sglang", None, "--mem-fraction-statc", "--mem-fraction-static", "one letter is missing: i"),
        ("sglang", "0.5.9", "--mem_fraction_static", "--mem-fraction-static", "with dashes, not underscores"),
        ("sglang", "0.5.9", "-mem-fraction-static", "--mem-fraction-static", "with two dashes"),
        ("sglang", "0.5.9", "--prot", "--port", "two neighbouring letters are swapped: ro for or"),
        ("sglang", "0.5.9", "--reasoning-parserr", "--reasoning-parser", "one letter too many: r"),
        ("sglang", "0.5.9", "--static-mem-fraction", "--mem-fraction-static", "the same words in another order"),
        ("sglang", "0.5.9", "--tensor-paralel", "--tensor-parallel-size", "what is written is its beginning, with a slip in it"),
        ("vllm", None, "--tensor_paralel_size", "--tensor-parallel-size", "one letter is missing: l"),  # its parser reads _ as -
        ("vllm", "0.33.0", "--compilation-confg.mode", "--compilation-config.mode", "one letter is missing: i"),
        ("llama-cpp", None, "--n-gpu-layer", "--n-gpu-layers", "what is written is only its beginning"),  # takes no abbreviations
        ("tgi", "3.3.7", "--num-shards", "--num-shard", "one letter too many: s"),
    ],
)
def test_a_slip_is_told_as_it_is(server: str, version: str | None, word: str, meant: str, how: str) -> None:
    assert said(server, version, word).text == f"{word}: did you mean {meant}? ({how})"


def test_the_value_goes_with_the_flag() -> None:
    advice = said("sglang", "0.5.9", "--mem-fraction-statc", "0.9")
    assert (advice.flag, advice.to) == ("--mem-fraction-static", "0.9")


def test_the_value_of_a_secret_is_not_said_again() -> None:
    advice = said("vllm", "0.33.0", "--api-keyy", "hunter2")
    assert (advice.flag, advice.to) == ("--api-key", None)
    assert "hunter2" not in advice.text


@pytest.mark.parametrize(
    ("server", "version", "word", "flag", "why"),
    [
        ("sglang", "0.5.20", "--cuda-graph-max-bs", "--cuda-graph-max-bs-decode", "up to 0.5.16; this is 0.5.20"),
        ("sglang", "…0.5.9", "--cuda-graph-max-bs-decode", "--cuda-graph-max-bs", "from 0.5.16 on; this is 0.5.9 or older"),
        ("sglang", None, "--cuda-graph-max-bs-decode", "--cuda-graph-max-bs", "from 0.5.16 on"),  # refused: so what runs is older
        ("sglang", None, "--nsa-prefill-backend", "--dsa-prefill-backend", "in 0.5.6.post2 … 0.5.16"),
        ("sglang", "0.5.6", "--enable-ep-moe", "--ep-size", "up to 0.5.3"),
        (
            "sglang",
            "0.5.4",
            "--admin-api-key",
            None,
            "leave --admin-api-key away, or update: SGLang has --admin-api-key from 0.5.9 on; this is 0.5.4",
        ),
        ("sglang", "0.5.20", "--torchao-config", None, "nothing is in its place"),
        ("vllm", "0.33.0", "--task", "--runner", "up to 0.11.0"),
        ("vllm", "0.20.2", "--cuda-graph-sizes", "--cudagraph-capture-sizes", "up to 0.11.0"),
        ("vllm", "0.11.0", "--attention-backend", None, "from 0.20.2 on; this is 0.11.0"),
        ("sglang", "0.5.9", "--gpu-memory-utilization", "--mem-fraction-static", "is a flag of vLLM, not of SGLang"),
        ("vllm", None, "--mem-fraction-static", "--gpu-memory-utilization", "is a flag of SGLang, not of vLLM"),
        ("sglang", "0.5.9", "--enable-radix-cache", None, "SGLang only has --disable-radix-cache"),
        (
            "sglang",
            "0.5.12",
            "--speculative-tree-budget",
            None,
            "no release of SGLang that was looked at (0.4.6.post5 … 0.5.23) knows --speculative-tree-budget",
        ),
        ("vllm", None, "--api-key", None, "is a flag of every version of vLLM that was looked at"),
        ("sglang", "0.5.9", "Qwen/Qwen3-8B", None, "'Qwen/Qwen3-8B' belongs to no flag"),
        (None, None, "--mem-fraction-static", None, "SGLang has a flag of that name"),
    ],
)
def test_a_flag_of_elsewhere_is_told_by_whose_it_is(server: str | None, version: str | None, word: str, flag: str | None, why: str) -> None:
    advice = said(server, version, word)
    assert why in advice.text
    assert advice.flag == flag


@pytest.mark.parametrize("word", ["--min-running-requests", "--enable-cuda-graph", "--disable-metrics", "--no-port"])
def test_the_contrary_is_no_slip(word: str) -> None:
    assert "did you mean" not in said("sglang", "0.5.9", word).text


def test_what_the_last_good_life_had_shows_that_the_program_was_changed() -> None:
    advice = explain("--torchao-config", "int4wo", reader("sglang", "0.5.20", before=(frozenset({"torchao_config"}), "0.5.9")))
    assert "the last good life (0.5.9) had it: the program has been changed since" in advice.text


def test_good_flags_behind_a_word_of_no_flag_are_not_the_matter(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=JOURNAL.format(line="vllm: error: unrecognized arguments: serve org/model --dtype auto")))
    assert [a.text.partition(":")[0] for a in found.advice] == ["'serve org/model' belongs to no flag"]


def test_several_that_are_as_near_are_all_named() -> None:
    advice = said("sglang", "0.5.9", "--xp-size")
    assert advice.flag is None
    assert "as near to each" in advice.text


@given(
    word=st.text(max_size=300),
    value=st.text(max_size=100),
    server=st.sampled_from(["sglang", "vllm", "llama-cpp", None]),
    version=st.sampled_from([None, "0.5.9", "…0.5.9", "x"]),
)
def test_no_word_breaks_it_and_no_flag_is_named_that_the_version_lacks(word: str, value: str, server: str | None, version: str | None) -> None:
    advice = said(server, version, word or "-", value)
    profile = rules().profile(server)
    assert advice.text
    if advice.flag is not None and profile is not None and profile.flags is not None:
        assert flags.has(profile, advice.flag.partition(".")[0], version) is not False


JOURNAL = (
    "Nov 30 10:00:00 gpu01 systemd[1]: Started llm.service - LLM.\n"
    "Nov 30 10:00:04 gpu01 python[400]: {line}\n"
    "Nov 30 10:00:05 gpu01 systemd[1]: llm.service: Main process exited, code=exited, status=2/INVALIDARGUMENT\n"
    "Nov 30 10:00:05 gpu01 systemd[1]: llm.service: Failed with result 'exit-code'.\n"
)


@pytest.mark.parametrize(
    ("line", "text", "server"),
    [
        ("launch_server.py: error: unrecognized arguments: --mem-fraction-statc 0.9", "--mem-fraction-statc: did you mean --mem-fraction-static? (one letter is missing: i)", "sglang"),
        ("sglang serve: error: ambiguous option: --cuda-graph-max-bs could match --cuda-graph-max-bs-decode, --cuda-graph-max-bs-prefill", "write --cuda-graph-max-bs-decode for --cuda-graph-max-bs: it is the same under another name (SGLang has --cuda-graph-max-bs up to 0.5.16; this is 0.5.10 or newer)", "sglang"),
        ("sglang serve: error: ambiguous option: --cuda-graph-m could match --cuda-graph-max-bs-decode, --cuda-graph-max-bs-prefill", "write --cuda-graph-m out: --cuda-graph-max-bs-decode or --cuda-graph-max-bs-prefill", "sglang"),
        ("vllm serve: error: argument --kv-cache-dtype: invalid choice: 'fp9' (choose from 'auto', 'bfloat16', 'fp8', 'fp8_e4m3')", "--kv-cache-dtype fp9: did you mean fp8? (one character differs: 9 for 8)", "vllm"),
        ("launch_server.py: error: argument --speculative-algorithm: invalid choice: 'DDTREE' (choose from 'EAGLE', 'EAGLE3', 'NEXTN')", "--speculative-algorithm does not take DDTREE in this version: it takes EAGLE, EAGLE3, NEXTN", "sglang"),
        ("vllm serve: error: argument --api-key: expected at least one argument", "give --api-key its value: behind it the line ends, or the next word begins with a dash (a value that does is written with =, as in --flag=-1)", "vllm"),
        ("sglang serve: error: the following arguments are required: --model-path/--model", "add --model-path/--model: a line continuation that breaks off (a blank behind the backslash, a comment in between) or an empty variable loses it, too", "sglang"),
    ],
)  # fmt: skip
def test_the_first_advice_says_it_with_the_command_that_shows_the_line(line: str, text: str, server: str, tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=JOURNAL.format(line=line)))
    assert (found.cause, found.server) == ("bad-arguments", server)
    assert found.advice[0].text == text
    assert found.advice[0].command == "systemctl cat llm.service"


def test_what_the_program_itself_suggests_is_passed_on(tmp_path: Path) -> None:
    journal = JOURNAL.format(line="error: unexpected argument '--quantise' found").replace(
        "Nov 30 10:00:05 gpu01 systemd[1]: llm.service: Main", "Nov 30 10:00:04 gpu01 python[400]:   tip: a similar argument exists: '--quantize'\nNov 30 10:00:05 gpu01 systemd[1]: llm.service: Main"
    )  # fmt: skip
    found = diagnosed(folder(tmp_path, journal=journal))
    assert found.advice[0].text == "--quantise: the program itself asks whether --quantize is meant"

"""Commands that are there to be pasted into a shell."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from forensics.reason.advice import _advice, command_of, concrete, filled
from forensics.reason.known import KnownFacts, known_facts
from forensics.report import markdown, text
from forensics.report.cite import advice_line
from forensics.ruleset.schema import AdviceRule
from tests.unit.reason.telling import diagnosed, folder, story

LOG = "[2026-05-09 10:15:20] server_args=ServerArgs(model_path={model!r}, port=30000, mem_fraction_static=0.9)\n[2026-05-09 10:15:34 TP0] Load weight begin. avail mem=94.30 GB\n"


def known(path: Path, model: str) -> KnownFacts:
    return known_facts(story(folder(path, journal=LOG.format(model=model))))


def test_the_model_is_put_where_a_rule_asks_for_it(tmp_path: Path) -> None:
    facts = known(tmp_path, "/models/Qwen3-32B")
    assert command_of("ls -l MODEL; curl -s localhost:PORT/health", {}, facts) == "ls -l /models/Qwen3-32B; curl -s localhost:30000/health"


def test_a_model_that_a_shell_would_run_is_left_as_a_blank(tmp_path: Path) -> None:
    facts = known(tmp_path, "$(touch /x)")
    assert facts.story.issue.arguments["model_path"] == "$(touch /x)"
    assert command_of("ls -l MODEL", {}, facts) == "ls -l MODEL"
    assert concrete('open("MODEL/config.json")', facts) == 'open("MODEL/config.json")'


@pytest.mark.parametrize("value", ["a MODEL b", "a; {other} UNIT", "x --since -1h y", "$(id) PORT", "it's {memory.flag}"])
def test_what_was_put_in_is_not_looked_at_again(value: str, tmp_path: Path) -> None:
    facts = known(tmp_path, "/models/m")
    command = command_of("namei -l {path}", {"path": value, "other": "$(id)"}, facts)
    assert command is not None
    assert shlex.split(command) == ["namei", "-l", value]


def test_a_text_whose_blank_is_not_known_is_not_shown(tmp_path: Path) -> None:
    assert filled("raise it to {nothing}", {}, known(tmp_path, "/m")) is None


@pytest.mark.parametrize(("number", "typed"), [(64.0, "64"), (2097152.0, "2097152"), (0.85, "0.85")])
def test_a_whole_number_is_advised_as_somebody_types_it(number: float, typed: str, tmp_path: Path) -> None:
    advice = _advice(AdviceRule(flag="--max-running-requests", direction="lower", to=number), None, {}, known(tmp_path, "/m"))
    assert advice is not None
    assert advice.text == f"lower --max-running-requests to {typed}"
    assert str(advice.to) == typed
    assert advice_line(advice) == f"lower --max-running-requests to {typed}"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("ask for less at once", "ask for less at once [--max-running-requests: lower, to 64]"),
        ("--max-running-requests 64 is what it can hold", "--max-running-requests 64 is what it can hold"),
    ],
)
def test_a_text_with_a_flag_is_shown_with_the_change_unless_it_names_it(words: str, line: str, tmp_path: Path) -> None:
    rule = AdviceRule(text=words, flag="--max-running-requests", direction="lower", to=64.0)
    advice = _advice(rule, None, {}, known(tmp_path, "/m"))
    assert advice is not None
    assert advice_line(advice) == line


def test_how_long_a_life_lasted_is_known_once_it_has_ended(tmp_path: Path) -> None:
    begun = "May 09 10:00:00 gpu01 systemd[1]: Started sglang.service - LLM.\nMay 09 10:00:02 gpu01 python[400]: starts\n"
    ended = "May 09 10:00:31 gpu01 systemd[1]: sglang.service: Main process exited, code=exited, status=1/FAILURE\n"
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert known_facts(story(folder(tmp_path / "a", journal=begun))).value("life.lived_s") is None
    assert known_facts(story(folder(tmp_path / "b", journal=begun + ended))).value("life.lived_s") == 31


def test_what_begins_with_a_dash_is_no_operand_of_a_command(tmp_path: Path) -> None:
    # systemctl cat -Hroot@elsewhere.service would log in elsewhere
    journal = (
        "May 09 10:00:00 gpu01 systemd[1]: Started -Hroot@elsewhere.service - LLM.\n"
        "May 09 10:00:02 gpu01 python[400]: launch_server.py: error: unrecognized arguments: --x\n"
        "May 09 10:00:31 gpu01 systemd[1]: -Hroot@elsewhere.service: Main process exited, code=exited, status=2/INVALIDARGUMENT\n"
        "May 09 10:00:31 gpu01 systemd[1]: -Hroot@elsewhere.service: Failed with result 'exit-code'.\n"
    )
    facts = known_facts(story(folder(tmp_path, journal=journal)))
    assert facts.story.unit == "-Hroot@elsewhere.service"
    assert command_of("systemctl cat UNIT", {}, facts) == "systemctl cat UNIT"
    assert command_of("systemctl show {unit} -p MemoryMax", {}, facts) is None
    assert command_of("namei -l {path}", {"path": "--help"}, facts) is None


@pytest.mark.parametrize("value", ["x; touch /tmp/x", "$(id)", "it's", "a b", "`id`", '"; id; "'])
@pytest.mark.parametrize("template", ["grep '{path}' f", 'grep "{path}" f', """sh -c "ls '{path}'" """, "grep 'a {path} b'", 'grep "it\\"s {path}"'])
def test_within_quotes_of_the_rule_only_a_plain_word_is_put_in(template: str, value: str, tmp_path: Path) -> None:
    # the quotes that are put around it would end those that stand there already
    facts = known(tmp_path, "/models/m")
    assert command_of(template, {"path": value}, facts) is None
    assert command_of(template, {"path": "/var/log/a.txt"}, facts) == template.replace("{path}", "/var/log/a.txt")


def test_an_apostrophe_of_a_text_is_no_quote(tmp_path: Path) -> None:
    assert filled("it's {path}, and that's all", {"path": "a b"}, known(tmp_path, "/m")) == "it's a b, and that's all"


def test_quotes_that_are_closed_again_quote_nothing(tmp_path: Path) -> None:
    assert command_of("grep 'a' {path} \\' {path}", {"path": "a b"}, known(tmp_path, "/m")) == "grep 'a' 'a b' \\' 'a b'"


def test_a_unit_within_quotes_is_put_in_where_a_shell_takes_it_as_it_stands(tmp_path: Path) -> None:
    odd = "May 09 10:00:00 gpu01 systemd[1]: Started a\\x24b.service - LLM.\nMay 09 10:00:31 gpu01 systemd[1]: a\\x24b.service: Failed with result 'exit-code'.\n"
    for number, (journal, want) in enumerate(
        ((odd, "sh -c 'systemctl cat UNIT'"), (odd.replace("a\\x24b", "llm"), "sh -c 'systemctl cat llm.service'"))
    ):
        facts = known_facts(story(folder(tmp_path / str(number), journal=journal)))
        assert facts.story.unit == ("a\\x24b.service" if number == 0 else "llm.service")
        assert command_of("sh -c 'systemctl cat UNIT'", {}, facts) == want


def test_a_command_names_the_machine_that_saved_evidence_names_and_says_which_words_are_blanks(tmp_path: Path) -> None:
    refused = "ERROR request failed: URLError: <urlopen error [Errno 111] Connection refused>\n"
    log = "INFO 05-09 10:00:05 [api_server.py:1] vLLM API server version 0.9.0\n"
    stamped = "".join(f"2026-05-09T10:00:0{n}+0000 node1 llm[100]: {log}" for n in range(3))
    journal = "2026-05-09T10:00:00+0000 node1 systemd[1]: Started llm.service - LLM.\n" + stamped
    named = diagnosed(folder(tmp_path / "named", journal=journal, bench=refused))
    assert "ddforensics wait node1 --unit llm.service" in {a.command for a in named.advice}
    assert "stands for what" not in text.render(named)
    nameless = diagnosed(folder(tmp_path / "nameless", log=log, bench=refused))
    assert "ddforensics wait HOST --unit UNIT" in {a.command for a in nameless.advice}
    assert "HOST and UNIT stand for what this evidence does not name" in text.render(nameless)
    assert "HOST and UNIT stand for what this evidence does not name" in markdown.render(nameless)
    here = diagnosed(folder(tmp_path / "here", journal=journal.replace("node1", "localhost"), bench=refused))
    assert "ddforensics wait HOST --unit llm.service" in {a.command for a in here.advice}


@pytest.mark.parametrize(
    ("constraint", "said", "unsaid"),
    [
        ("MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/x", "raise the limit", ("whole machine", "memory nodes")),
        ("NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom", "the whole machine is short of memory", ("raise the limit", "memory nodes")),
        ("CPUSET,nodemask=0,cpuset=/x,mems_allowed=0", "let it use more memory nodes", ("raise the limit", "whole machine")),
    ],
    ids=["a limit", "the machine", "nodes"],
)
def test_what_to_do_about_a_kernels_kill_is_for_the_shortage_that_the_line_names(
    constraint: str, said: str, unsaid: tuple[str, ...], tmp_path: Path
) -> None:
    kernel = f"[ 1234.567890] oom-kill:constraint=CONSTRAINT_{constraint},task_memcg=/system.slice/llm.service,task=python3,pid=4242,uid=0\n"
    texts = " | ".join(a.text for a in diagnosed(folder(tmp_path, kernel=kernel)).advice)
    assert said in texts
    assert not [word for word in unsaid if word in texts]

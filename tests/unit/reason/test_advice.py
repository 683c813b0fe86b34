"""Commands that are there to be pasted into a shell."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from forensics.reason.advice import command_of, concrete, filled
from forensics.reason.known import KnownFacts, known_facts
from tests.unit.reason.telling import folder, story

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

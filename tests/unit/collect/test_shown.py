"""What is shown is what is sent, to the letter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from forensics import api, collect, ruleset
from forensics.collect import plan
from forensics.collect.shown import shown
from forensics.errors import UsageError
from forensics.model import Target, TargetKind
from tests.unit.collect.fakehost import FakeHost

HOST = Target(kind=TargetKind.SSH, name="gpu01", host="gpu01")


def sent(tmp_path: Path, *, sudo: bool) -> str:
    """What goes over standard input."""
    folder = tmp_path / ("sudo" if sudo else "plain")
    fake = FakeHost(folder)
    for name in ("systemctl", "journalctl", "nvidia-smi", "curl", "sudo"):
        fake.answers(name, b"x\n")
    fake.program("listening-shell", f"tee {folder}/sent | exec sh -s\n")
    fake.shell = str(fake.bin / "listening-shell")
    profile = next(p for p in ruleset.load().profiles if p.endpoints)
    with collect.open_target(HOST, run=fake.run, sudo=sudo) as session:
        session.ask(plan.overview("a.service"))
        session.ask([q for q in plan.unit("a.service", ports=[30000], endpoints=profile.endpoints) if not q.completes])
        assert not [p for p in session.problems if p.source != "sudo"]
    return (folder / "sent").read_text()


def code(text: str) -> str:
    """Without the notes between the rounds, and with one word."""
    lines = [line for line in text.splitlines() if line.strip() and not re.match(r"# (?:What a host|Nothing else|----|Endpoints)", line)]
    return re.sub(r"^dd_word=@\w+", "dd_word=@WORD", "\n".join(lines))


def test_what_is_shown_is_what_is_sent(tmp_path: Path) -> None:
    profile = next(p for p in ruleset.load().profiles if p.endpoints)
    for sudo in (False, True):
        text = code(shown("a.service", ports=[30000], endpoints=profile.endpoints, sudo=sudo))
        assert text.startswith(code(sent(tmp_path, sudo=sudo)))


def test_without_a_unit_a_placeholder_stands_for_it() -> None:
    text = api.script_of()
    assert "systemctl status -n 10 --no-pager -l -- UNIT.service" in text
    assert "the unit that is found to be meant" in text


def test_a_name_that_is_none_is_refused_before_anything_is_shown() -> None:
    with pytest.raises(UsageError):
        api.script_of(unit="a; rm -rf /")

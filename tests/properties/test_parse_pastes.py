"""Whatever somebody pastes or a collector exports: nothing is raised, lines keep their numbers, and a dress never costs a line."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from hypothesis import example, given, settings
from hypothesis import strategies as st

from forensics import clock
from forensics.model import Capture, PartKind, Section, Target, TargetKind
from forensics.parse import asked, dress, facts, frames, prepared, prompt, shipped, watch
from tests.unit.parse.framing import PREFIXES

PIECES = st.sampled_from([
    "user@host:~$ ", "[root@h ~]# ", "❯ ", "➜  ~ ", "PS C:\\x> ", "$ ", "> ", "> > ", "```", "```bash", "{code}", "{noformat}", "<details>", "<pre>", "&gt; ", "&amp;", "\u00a0", "    ", "\t", "12: ", "13  ",
    "journalctl -u x", "ssh h 'journalctl -u y | grep z'", "sudo ", "systemctl status x", " \\", "; ", " && ", " | ", "'", '"', "\n", "\n\n", "\r\n", "\r", "\0", "\x1b[31m", "-- No entries --",
    "May 09 10:15:51 h systemd[1]: x.service: Failed with result 'signal'.", "x.service - X", "Loaded: loaded (/x)", "Active: failed (Result: signal) since Sat 2026-05-09 10:15:51 UTC; 9min ago",
    "a" * 80, "b" * 79, "lines 1-7/7 (END)", "~", "\u201c", "\u2014", '{"ts":1778321750,"msg":"x"}', '{"@timestamp":"2026-05-09T10:15:50Z","message":"', '"timestamp","message"', "1778321750123,\"y\"",
    "[{", "}]", "2026-05-09T10:15:50Z\tz", "┌──(k)-[~]", "└─$ ", "é", "\u200b",
])  # fmt: skip
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=6)), max_size=40).map("".join)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_a_paste_keeps_its_lines(text: str) -> None:
    done = dress.undressed(text.encode("utf-8", "replace"))
    assert done is None or done.count(b"\n") == text.encode("utf-8", "replace").count(b"\n")


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_an_export_has_its_entries_on_lines_of_the_file(text: str) -> None:
    export = shipped.export_of(text.encode("utf-8", "replace"))
    assert export is None or export.moved or export.text.count(b"\n") <= text.count("\n") + 1


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_any_line_is_a_command_or_none(text: str) -> None:
    lines = text.split("\n")
    for at, line in enumerate(lines):
        typed = prompt.typed(lines, at)
        assert typed is None or 1 <= typed.lines <= len(lines) - at
        prompt.bare_command(line)
        for simple in asked.simples(line):
            assert simple.words
            asked.unit_of(simple)
            asked.filters(simple)
            asked.empties(simple)


@settings(max_examples=200, deadline=None)
@given(TEXTS)
@example("\x1b[31m")
def test_facts_come_out_of_any_paste(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(text.encode("utf-8", "replace"))
        capture = prepared(Capture(target=Target(kind=TargetKind.FILES, name="x"), sections=(Section(name="x", path=path),)))
        blocks, tails = watch(frames(capture, PREFIXES))
        for block in blocks:
            for i in range(len(block.keys)):
                block.frame(i)
        found = facts(capture, _Nothing(), tails=tails)
        assert all(kind in PartKind for kinds in found.kinds.values() for kind in kinds)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=40), st.lists(st.integers(), max_size=2)))
def test_any_value_is_a_time_or_none(value: object) -> None:
    at = clock.parse_exported(value)
    assert at is None or isinstance(at, float)


class _Nothing:
    hits = ()
    counts: Mapping[str, int] = MappingProxyType({})

"""Journals whose entries go over several lines. That they say what the other formats say is in test_journal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forensics.model import Origin, PartKind
from forensics.parse import sniff
from forensics.parse.frame import record
from tests.unit.parse.framing import DATA, blocks_of, frames_of, section_of, written

HEAD = "Mon 2026-05-09 10:15:18.000001 UTC [s=6ccc7cc0e6fb44bfa281e77b6b58c635;i=beec;b=35bbb09bc5344e69a55068d1ae903d67;m=1;t=6516095c3c181;x=7a]\n"
FIELDS = "    _PID=4711\n    _COMM=python\n    SYSLOG_IDENTIFIER=python\n    _TRANSPORT=stdout\n"


def spread(**fields: object) -> str:
    known = {"__REALTIME_TIMESTAMP": "1778321718000001", "_PID": "4711", "_COMM": "python", "_TRANSPORT": "stdout", **fields}
    return "{\n" + ",\n".join(f"\t{json.dumps(name)} : {json.dumps(value)}" for name, value in known.items()) + "\n}\n"


@pytest.mark.parametrize("form", ["json-pretty", "verbose"])
def test_it_is_known_by_its_first_lines(form: str, tmp_path: Path) -> None:
    assert [part.kind for part in sniff.parts(section_of(DATA / f"oom-memorymax.{form}.txt"))] == [PartKind.JOURNAL_JSON]
    old = (
        "-- Journal begins at Sun 2026-11-29 20:05:39 UTC, ends at Sun 2026-11-29 20:17:24 UTC. --\n"
        + (DATA / f"oom-memorymax.{form}.txt").read_text()
    )
    assert len(frames_of(written(tmp_path, old))) == 27


def test_a_frame_says_where_its_entry_begins_in_the_file() -> None:
    for form, first in (("json-pretty", "{"), ("verbose", "Sun 2026-11-29")):
        data = (DATA / f"oom-memorymax.{form}.txt").read_bytes()
        lines = data.split(b"\n")
        for frame in frames_of(section_of(DATA / f"oom-memorymax.{form}.txt")):
            assert lines[frame.line_no - 1].decode().startswith(first)
            assert data[frame.start :].decode().startswith(first)


def test_a_message_of_several_lines_is_no_field_of_its_entry(tmp_path: Path) -> None:
    text = HEAD + FIELDS + "    MESSAGE=first\n" + " " * 12 + "_PID=1\n" + HEAD + FIELDS + "    MESSAGE=next\n"
    found = frames_of(written(tmp_path, text))
    assert [(frame.text, frame.pid, frame.origin) for frame in found] == [
        ("first", 4711, Origin.SERVER),
        ("_PID=1", 4711, Origin.SERVER),
        ("next", 4711, Origin.SERVER),
    ]
    assert record(found[0]).at == pytest.approx(int("6516095c3c181", 16) / 1e6)


def test_a_message_of_bytes_is_read_from_its_lines(tmp_path: Path) -> None:
    text = spread(MESSAGE="@").replace('"@"', "[\n\t\t104,\n\t\t105\n\t]") + spread(MESSAGE=None)
    assert [frame.text for frame in frames_of(written(tmp_path, text))] == ["hi", ""]


def test_what_jq_makes_of_a_journal_is_one(tmp_path: Path) -> None:
    entries = [{"MESSAGE": text, "_PID": "4711", "__REALTIME_TIMESTAMP": "1778321718000001"} for text in ("a", "b")]
    for text in (json.dumps(entries, indent=2), "\n".join(json.dumps(e, indent=2) for e in entries)):
        assert [frame.text for frame in frames_of(written(tmp_path, text + "\n"))] == ["a", "b"]


def test_a_broken_entry_costs_that_entry_and_is_reported(tmp_path: Path) -> None:
    text = (
        spread(MESSAGE="a")
        + '{\n\t"MESSAGE" : "cut of\n'
        + spread(MESSAGE="b")
        + "noise\n"
        + spread(MESSAGE="c")
        + '{\n\t"MESSAGE" : '
        + "[" * 200_000
    )
    blocks = blocks_of(written(tmp_path, text))
    assert [block.frame(i).text for block in blocks for i in range(len(block.keys))] == ["a", "b", "c"]
    said = [(p.line, p.text) for block in blocks for p in block.problems]
    assert (8, "no complete journal entry") in said
    assert (17, "no journal entry") in said
    assert said[-1][1] == "no complete journal entry"


def test_messages_that_verbose_left_out_are_counted() -> None:
    text = (DATA / "oom-memorymax.verbose.txt").read_text(encoding="utf-8")
    blocks = list(blocks_of(section_of(DATA / "oom-memorymax.verbose.txt")))
    assert sum(block.blobs for block in blocks) == text.count(" blob data]") > 0
    assert not [p for block in blocks for p in block.problems]


def test_other_json_over_several_lines_is_no_journal(tmp_path: Path) -> None:
    (part,) = sniff.parts(written(tmp_path, '{\n  "message": "x",\n  "completed": 3\n}\n'))
    assert part.kind is PartKind.BENCH_JSON

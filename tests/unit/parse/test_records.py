"""Which lines are of one record, whatever the log is written in."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.model import Frame, PartKind
from tests.unit.parse.framing import blocks_of, frames_of, written
from tests.unit.parse.test_journal import as_json, entry

STAMP = "[2026-05-09 10:15:50 TP{rank}] "


def _records(frames: list[Frame]) -> list[list[str]]:
    """The texts by record, in order of their first lines; those of no known record one by one."""
    found: dict[object, list[str]] = {}
    for frame in sorted(frames, key=lambda f: f.order):
        found.setdefault(("alone", frame.order) if frame.record is None else frame.record, []).append(frame.text)
    return list(found.values())


def test_a_record_of_a_log_is_a_stamped_line_and_those_below_it(tmp_path: Path) -> None:
    log = "warming up\n[2026-05-09 10:15:50] failed: Traceback\n  File x\nValueError: x\n[2026-05-09 10:15:50] another\n  File y\n"
    frames = frames_of(written(tmp_path, log, part=PartKind.SERVER))
    assert _records(frames) == [["warming up"], ["failed: Traceback", "  File x", "ValueError: x"], ["another", "  File y"]]


def test_records_of_several_writers_are_told_apart_where_their_lines_stand_between_each_other(tmp_path: Path) -> None:
    said = [
        (7, STAMP.format(rank=0) + "a"),
        (8, STAMP.format(rank=1) + "b"),
        (7, "a, further"),
        (8, "b, further"),
        (7, STAMP.format(rank=0) + "c"),
        (8, "b, last"),
    ]
    log = "".join(f"May 09 10:15:50 gpu01 python[{pid}]: {text}\n" for pid, text in said)
    assert _records(frames_of(written(tmp_path, log, part=PartKind.JOURNAL_TEXT))) == [["a", "a, further"], ["b", "b, further", "b, last"], ["c"]]


def test_a_line_of_pid_1_or_of_the_kernel_is_a_record_by_itself(tmp_path: Path) -> None:
    log = "May 09 10:15:50 h systemd[1]: x.service: Failed.\nMay 09 10:15:50 h systemd[1]: Stopped x.\nMay 09 10:15:50 h kernel: eth0: up\n"
    assert len(_records(frames_of(written(tmp_path, log, part=PartKind.JOURNAL_TEXT)))) == 3


def test_an_indented_line_of_a_journal_goes_on_with_the_record_above(tmp_path: Path) -> None:
    head = "May 09 10:15:50 h python[7]: "
    log = f"{head}[2026-05-09 10:15:50] failed: Traceback\n{' ' * len(head)}ValueError: x\n{head}[2026-05-09 10:15:51] next\n"
    assert _records(frames_of(written(tmp_path, log, part=PartKind.JOURNAL_TEXT))) == [["failed: Traceback", "ValueError: x"], ["next"]]


@pytest.mark.parametrize("part", [PartKind.JOURNAL_JSON, PartKind.JOURNAL_EXPORT])
def test_an_entry_of_several_lines_is_a_record_and_entries_of_one_line_go_on_below_a_stamp(part: PartKind, tmp_path: Path) -> None:
    messages = [
        "no stamp\nTraceback\nValueError: x",
        "[2026-05-09 10:15:50 TP0] a",
        "further",
        "no stamp\nof its own",
        "[2026-05-09 10:15:51 TP0] b\nfurther",
    ]
    data = b"".join(as_json(m).encode() if part is PartKind.JOURNAL_JSON else entry(m.encode()) for m in messages)
    frames = frames_of(written(tmp_path, data, part=part))
    assert _records(frames) == [["no stamp", "Traceback", "ValueError: x"], ["a", "further"], ["no stamp", "of its own"], ["b", "further"]]
    assert [frame.order for frame in frames] == sorted({frame.order for frame in frames})
    assert {frame.height > 1 for frame in frames} == {part is PartKind.JOURNAL_EXPORT}


def test_a_record_goes_on_over_the_end_of_a_block(tmp_path: Path) -> None:
    filler = "".join(f"further {n}\n" for n in range(90_000))
    log = f"[2026-05-09 10:15:50 TP0] begins\n{filler[:1_048_480]}\n[2026-05-09 10:15:51 TP0] late\n{filler[:1000]}"
    section = written(tmp_path, log, part=PartKind.SERVER)
    assert len(blocks_of(section)) > 1
    frames = frames_of(section)
    late = next(frame for frame in frames if frame.text == "late")
    assert {frame.record for frame in frames if frame.order >= late.order} == {late.order}


def test_a_line_that_is_moved_stays_in_its_record(tmp_path: Path) -> None:
    lines = ["[2026-05-09 10:15:50 TP0] a", "further", "[2026-05-09 10:15:51 TP0] b"]
    frames = frames_of(written(tmp_path, "\n".join(lines), part=PartKind.SERVER))
    below = frames_of(written(tmp_path, "\n".join(["no stamp", *lines]), part=PartKind.SERVER))
    assert [frame.moved(1)._replace(start=0) for frame in frames] == [frame._replace(start=0) for frame in below[1:]]
    assert below[0].moved(3).record is None

"""A part that is read in stretches gives the blocks that it gives as a whole, and a line inherits the same whatever was opened before."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from forensics.model import Capture, Frame, Origin, PartKind, Problem, Section, Target, TargetKind
from forensics.parse.block import LookBack
from forensics.parse.frame import stretches
from forensics.parse.lines import Border, borders, last_lines, pieces
from forensics.parse.unwrap import Opened
from tests.unit.parse.framing import PREFIXES

KINDS = (PartKind.JOURNAL_TEXT, PartKind.JOURNAL_JSON, PartKind.SERVER, PartKind.KERNEL, PartKind.CLIENT)
LINES = st.sampled_from([
    b"May 09 10:15:34 gpu01 python[4822]: [2026-05-09 10:15:34 TP0] one", b"May 09 10:15:51 h systemd[1]: x.service: Failed with result 'signal'.", b"[2026-05-09 10:15:34 TP1] two",
    b"Traceback (most recent call last):", b"    indented further line", b"May 09 10:15:35 gpu01 python[4823]: no stamp of its own", b"", b"\r", b"12", b"x" * 90, b"y" * 400,
    b"(EngineCore_0 pid=7) INFO 05-09 10:15:36 [a.py:1] three", b"(EngineCore_0 pid=7) four", b"[ 7063.247407] NVRM: Xid 79",
    b'{"__REALTIME_TIMESTAMP":"1778321718000001","_PID":"7","_TRANSPORT":"stdout","MESSAGE":"[2026-05-09 10:15:34 TP0] five"}', b'{"_PID":"7","_TRANSPORT":"stdout","MESSAGE":"GET \\"/\\" 200"}',
    b'{"_PID":"8","MESSAGE":"a\\nb\\nc"}', b'{"_PID":"8","MESSAGE":null}', b'{"_PID":"8","MESSAGE":[27,91,51,49,109]}', b'{"cut',
])  # fmt: skip


def of(path: Path, kind: PartKind | None) -> Capture:
    return Capture(target=Target(kind=TargetKind.FILES, name="x"), sections=(Section(name="x", path=path, part=kind),))


Told = tuple[list[bytes], list[Frame], tuple[Problem, ...], int]


def told(capture: Capture, step: int, every: int | None) -> tuple[list[Told], int]:
    """All blocks with their lines counted from the start, and how many stretches there were."""
    found: list[Told] = []
    shift = number = 0
    for whole in stretches(capture, PREFIXES, step=step):
        for number, one in enumerate(whole.cut(every) if every else [whole]):
            line, shift = 1, shift if number else 0
            for block in one.blocks():
                frames = [block.frame(i).moved(shift) for i in reversed(range(len(block.keys)))]
                problems = tuple(replace(problem, line=problem.line + shift) for problem in block.problems)
                found.append((list(block.keys), frames[::-1], problems, block.blobs))
                line = block.first_line + block.lines
            shift += line - 1
    return found, number + 1


@settings(max_examples=150, deadline=None)
@given(st.lists(LINES, max_size=150), st.sampled_from(KINDS), st.integers(16, 600), st.integers(1, 6), st.booleans())
@example(([b"[2026-05-09 10:15:34 TP1] b", b"c"] * 60 + [b"z" * 70_000]) * 2 + [b"d"] * 99, PartKind.SERVER, 600, 2, True)
@example([b"[2026-05-09 10:15:34 TP0] a"] + [b"x" * 500] * 3 + [b"[2026-05-09 10:15:34 TP1] b", b"c"] * 60, PartKind.SERVER, 64, 2, True)
def test_stretches_give_the_blocks_of_the_whole(lines: list[bytes], kind: PartKind, step: int, each: int, ended: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(b"\n".join(lines) + (b"\n" if ended and lines else b""))
        whole, _ = told(of(path, kind), step, None)
        parts, _ = told(of(path, kind), step, each * step)
    assert parts == whole


@pytest.mark.parametrize("kind", [PartKind.JOURNAL_TEXT, PartKind.JOURNAL_JSON, PartKind.SERVER])
def test_a_large_part_is_really_cut(kind: PartKind, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b'{"MESSAGE":"x"}\n' * 4000)
    _, number = told(of(tmp_path / "x", kind), 1 << 10, 8 << 10)
    assert number in {7, 8}


def test_what_was_saved_newest_first_is_not_cut(tmp_path: Path) -> None:
    lines = [f"2026-05-09T10:{minute:02}:{second:02}+0000 h python[7]: x" for minute in range(60) for second in range(60)]
    (tmp_path / "x").write_text("\n".join(reversed(lines)))
    _, number = told(of(tmp_path / "x", PartKind.JOURNAL_TEXT), 1 << 10, 8 << 10)
    assert number == 1


def test_no_border_lies_within_a_line_that_is_too_long_nor_right_behind_it(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"a\n" * 500 + b"b" * 5000 + b"\n" + b"c\n" * 1500)
    found = borders(lambda: path.open("rb"), start=0, end=path.stat().st_size, every=1000, before=2, max_bytes=100)
    assert found[0][1] == Border(line=1000, read=1000)
    assert len(found) > 2
    assert all(border.read == 1000 or border.read >= 6200 for _, border in found)
    assert all(above.read >= 6200 or above.read <= 800 for above, _ in found)


@given(st.lists(st.binary(max_size=30).filter(lambda line: b"\n" not in line), max_size=60), st.integers(1, 40), st.integers(2, 200))
def test_pieces_that_are_not_numbered_are_the_same_pieces(lines: list[bytes], size: int, longest: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(b"\n".join(lines))
        numbered = list(pieces(path, source="x", max_bytes=size, max_line=longest))
        others = list(pieces(path, source="x", max_bytes=size, max_line=longest, numbered=False))
    assert [(p.data, p.start, len(p.problems)) for p in numbered] == [(p.data, p.start, len(p.problems)) for p in others]
    assert {p.line for p in others} <= {0}
    assert all(problem.line == 0 for p in others for problem in p.problems)


@given(st.lists(st.sampled_from([b"", b"a", b"bc"]), max_size=12), st.integers(1, 6), st.booleans())
def test_the_last_lines_are_the_last_lines(lines: list[bytes], count: int, ended: bool) -> None:
    data = b"".join(line + b"\n" for line in lines) + (b"" if ended else b"end")
    kept = last_lines(data, count)
    assert data.endswith(kept)
    assert kept.count(b"\n") == min(len(lines), count)


@given(st.lists(st.booleans(), min_size=1, max_size=20), st.integers(1, 8), st.lists(st.integers(0, 19), max_size=20))
def test_the_nearest_line_above_does_not_hang_on_what_was_looked_for_before(wanted: list[bool], limit: int, asked: list[int]) -> None:
    lines = [Opened(str(number), Origin.SERVER) for number in range(len(wanted))]
    before = Opened("before", Origin.SERVER)
    back = LookBack(limit)
    for i in asked:
        i %= len(wanted)
        found = back.nearest(i, None, lines.__getitem__, lambda line: wanted[int(line.text)], before)
        expected = next((lines[j] for j in range(i - 1, max(-1, i - limit), -1) if wanted[j]), before)
        assert found is expected

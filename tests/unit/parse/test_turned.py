"""A journal that was saved newest first tells the same story, and it is said that it was turned round."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.model import Frame, PartKind
from forensics.parse import turned
from forensics.parse.part import Part
from tests.unit.parse.framing import DATA, blocks_of, frames_of, section_of, written

FORMS = ("short", "short-iso", "short-full", "short-unix", "short-monotonic", "with-unit", "json")


def told(frames: list[Frame]) -> list[tuple[str, str, int | None, str]]:
    return [(frame.text, str(frame.origin), frame.pid, frame.stamp) for frame in frames]


def upside_down(file: Path) -> bytes:
    return b"".join(reversed(file.read_bytes().splitlines(keepends=True)))


@pytest.mark.parametrize("form", FORMS)
def test_a_journal_that_was_saved_newest_first_is_read_turned_round(form: str, tmp_path: Path) -> None:
    file = DATA / f"oom-memorymax.{form}.txt"
    blocks = blocks_of(written(tmp_path, upside_down(file)))
    found = [block.frame(i) for block in blocks for i in range(len(block.keys))]
    assert told(found) == told(frames_of(section_of(file)))
    assert [frame.line_no for frame in found] == list(range(1, 28))
    assert [(p.line, p.text) for block in blocks for p in block.problems] == [(1, turned.TURNED)]


@pytest.mark.parametrize("file", sorted(DATA.glob("*.txt")), ids=lambda file: file.name)
def test_a_journal_in_its_order_is_left_alone(file: Path) -> None:
    assert not [p for block in blocks_of(section_of(file)) for p in block.problems if p.text in (turned.TURNED, turned.TOO_LARGE)]


def test_the_further_lines_of_a_message_stay_below_its_first(tmp_path: Path) -> None:
    text = "".join(f"May 09 10:15:{second} h python[7]: {second}\n{' ' * 29}more of {second}\n" for second in (53, 52, 51))
    assert [frame.text for frame in frames_of(written(tmp_path, text))] == ["51", "more of 51", "52", "more of 52", "53", "more of 53"]


def test_a_mark_between_two_boots_stays_between_them_and_names_the_later(tmp_path: Path) -> None:
    boots = ["c" * 32, "b" * 32, "a" * 32]
    text = ""
    for day, boot in zip((9, 8, 7), boots, strict=True):
        text += f"-- Boot {boot} --\n" if text else ""  # the boot of what is below it
        text += "".join(f"May 0{day} 10:15:5{second} h python[7]: {day}{second}\n" for second in (2, 1))
    found = [frame.text for frame in frames_of(written(tmp_path, text))]
    assert found == ["71", "72", f"-- Boot {'b' * 32} --", "81", "82", "-- Reboot --", "91", "92"]


def test_what_journalctl_says_of_an_answer_is_no_mark_of_a_boot(tmp_path: Path) -> None:
    text = "May 09 10:15:20 h a: 3\n-- No entries --\nMay 09 10:15:19 h a: 2\nMay 09 10:15:18 h a: 1\n"
    section = written(tmp_path, text)
    part = Part(kind=PartKind.JOURNAL_TEXT)
    lines = b"".join(piece.data for piece in turned.turned(section, part)).decode().splitlines()
    assert sorted(lines) == sorted(text.splitlines())


def test_over_new_year_it_is_newest_first_all_the_same(tmp_path: Path) -> None:
    lines = [f"Jan 02 10:15:{s} h python[7]: new {s}\n" for s in (53, 52, 51)] + [f"Dec 30 10:15:{s} h python[7]: old {s}\n" for s in (53, 52, 51)]
    assert [frame.text for frame in frames_of(written(tmp_path, "".join(lines)))][:2] == ["old 51", "old 52"]
    rising = lines[:2:-1] + lines[2::-1]
    assert [frame.text for frame in frames_of(written(tmp_path, "".join(rising)))][:2] == ["old 51", "old 52"]


def test_a_clock_that_was_set_back_once_is_no_order(tmp_path: Path) -> None:
    text = "".join(f"May 09 10:15:{s} h python[7]: {s}\n" for s in (50, 50, 20, 20))
    assert [frame.text for frame in frames_of(written(tmp_path, text))] == ["50", "50", "20", "20"]


def test_one_that_is_too_large_is_left_as_it_is_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turned, "MOST", 1000)
    blocks = blocks_of(written(tmp_path, upside_down(DATA / "oom-memorymax.short.txt")))
    assert "Consumed" in blocks[0].frame(0).text
    assert [p.text for block in blocks for p in block.problems] == [turned.TOO_LARGE]


@pytest.mark.parametrize("form", ["export", "json-pretty", "verbose"])
def test_a_format_that_is_not_turned_is_said_to_be_newest_first(form: str, tmp_path: Path) -> None:
    data = (DATA / f"oom-memorymax.{form}.txt").read_text()
    begin = {"export": "__CURSOR=", "json-pretty": "{\n", "verbose": "Sun 2026"}[form]
    entries = [begin + rest for rest in data.split(begin)[1:]]
    blocks = blocks_of(written(tmp_path, "".join(reversed(entries))))
    assert turned.NOT_TURNED in [p.text for block in blocks for p in block.problems]
    assert sum(len(block.keys) for block in blocks) >= 27

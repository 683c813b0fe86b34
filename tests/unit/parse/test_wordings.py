"""A stretch of a capture is read again: lines that are worded alike are one, wherever the stretch lies and in whatever form the journal was saved."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forensics.model import WILD, Capture, Section, Target, TargetKind, Window
from forensics.parse import wordings
from forensics.parse.wordings import Again, words_of

T0 = 1_795_852_800  # 2026-11-28 08:00:00 UTC
LINES = [
    "Load weight begin. avail mem=94.00 GB",
    "Loading shard 1 of 4",
    "Loading shard 2 of 4",
    "opened '/models/a/1.safetensors' for anna",
    "Loading shard 13 of 64",
    "The server is ready",
]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Loading shard 1 of 4", "Loading shard 12 of 64"),
        ("rid=ab12 done in 3.5s", "rid=ff00 done in 12.75s"),
        ("saved to /var/x", "saved to /srv/models/other"),
        ("got 'anna'", 'got "bert and carla"'),
        ("shards: 0%|      | 0/4", "shards: 100%|██████| 4/4"),
        ("\x1b[32mok, done\x1b[0m", "ok, done"),
        ("old\rhalf 1\rhalf 2", "half 3"),
        ("token 0x7f76845c0140 of cuda:0", "token 0x1 of cuda:7"),
    ],
)
def test_numbers_paths_quotes_bars_and_colours_are_not_words(one: str, other: str) -> None:
    assert words_of(one) == words_of(other) != ()


def test_another_word_is_another_wording() -> None:
    assert words_of("Use triton backend by default") != words_of("Use flashinfer backend by default")


@pytest.mark.parametrize("text", ["", "   ", "1 2 3", "=====", "[85B blob data]", "a b", "\x1b[0m"])
def test_what_has_no_word_has_no_wording(text: str) -> None:
    assert words_of(text) == ()


def capture(path: Path, text: str) -> Capture:
    path.write_text(text, encoding="utf-8")
    return Capture(target=Target(kind=TargetKind.FILES, name="e"), sections=(Section(name=path.name, path=path),))


def as_text(lines: list[str]) -> str:
    return "".join(f"2026-11-28T08:{n // 60 % 60:02}:{n % 60:02}+0000 gpu01 serve[7]: {line}\n" for n, line in enumerate(lines))


def as_json(lines: list[str]) -> str:
    entries = (
        {"__REALTIME_TIMESTAMP": str((T0 + n) * 1_000_000), "_PID": "7", "SYSLOG_IDENTIFIER": "serve", "MESSAGE": line}
        for n, line in enumerate(lines)
    )
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def as_export(lines: list[str]) -> str:
    return "".join(
        f"__REALTIME_TIMESTAMP={(T0 + n) * 1_000_000}\n_PID=7\nSYSLOG_IDENTIFIER=serve\nMESSAGE={line}\n\n" for n, line in enumerate(lines)
    )


FORMS = {"text": (as_text, 1), "json": (as_json, 1), "export": (as_export, 5)}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("small", [True, False], ids=["read from its beginning", "read where it lies"])
def test_a_stretch_is_found_in_the_midst_of_a_journal(form: str, small: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not small:
        monkeypatch.setattr(wordings, "SMALL", 0)
    made, height = FORMS[form]
    before, after = [f"before it, number {n}" for n in range(700)], [f"after that came {n}" for n in range(700)]
    text = made([*before, *LINES, *after])
    start, end = len(made(before)), len(made([*before, *LINES]))
    window = Window(
        source="j", line=1 + height * len(before), start=start, text=LINES[0], end_line=1 + height * (len(before) + len(LINES)), end=end
    )  # fmt: skip
    read = Again(capture(tmp_path / "j", text), ()).wordings(window)
    assert read.found
    assert [(" ".join(w.words), w.count) for w in read.wordings] == [
        ("Load weight begin avail mem=* GB", 1),
        (f"Loading shard {WILD} of {WILD}", 3),
        (f"opened {WILD} for anna", 1),
        ("The server is ready", 1),
    ]
    assert [w.line for w in read.wordings] == [window.line + height * n for n in (0, 1, 3, 5)]
    assert read.wordings[1].last_line == window.line + height * 4


def test_a_stretch_that_is_not_where_it_was_said_to_be_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordings, "SMALL", 0)
    again = Again(capture(tmp_path / "j", as_text(LINES * 50)), ())
    assert not again.wordings(Window(source="j", line=7, start=0, text="no line of this file")).found
    assert not again.wordings(Window(source="no such source", line=1, start=0, text=LINES[0])).found


def test_no_more_is_read_than_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordings, "SMALL", 0)
    lines = [f"word{'abcdefghij'[n // 100]}{'abcdefghij'[n // 10 % 10]}{'abcdefghij'[n % 10]} is said" for n in range(1000)]
    read = Again(capture(tmp_path / "j", as_text(lines)), ()).wordings(Window(source="j", line=1, start=0, text=lines[0], most_bytes=20_000))
    assert read.until == 20_000
    assert 300 < len(read.wordings) < 500


def test_texts_are_looked_for_between_two_offsets_also_across_two_readings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordings, "STEP", 64)
    text = as_text([*LINES, "quorum of the plugin was lost", *LINES])
    again = Again(capture(tmp_path / "j", text), ())
    at = text.index("quorum")
    assert again.holding("j", 0, None, ["quorum of the plugin", "never said"], most_bytes=1 << 20) == {"quorum of the plugin"}
    assert again.holding("j", at + 1, None, ["quorum of the plugin"], most_bytes=1 << 20) == set()
    assert again.holding("j", 0, at + 3, ["quorum of the plugin"], most_bytes=1 << 20) == set()
    assert again.holding("j", 0, None, ["quorum of the plugin"], most_bytes=at) == set()


def test_a_log_that_was_rotated_between_the_readings_is_not_compared(tmp_path: Path) -> None:
    lines = [f"the server says number {i}" for i in range(20)]
    file = tmp_path / "journal"
    whole = as_text(lines)
    window = Window(source="journal", line=3, start=0, text=lines[2])
    again = Again(capture(file, whole), ())
    assert again.wordings(window).found
    file.write_text(whole.replace("the server", "another program"), encoding="utf-8")
    assert not Again(capture(file, whole.replace("the server", "another program")), ()).wordings(window).found
    file.unlink()
    assert not again.wordings(window).found
    assert again.holding("journal", 0, None, ["never said"], most_bytes=1 << 20) == {"never said"}

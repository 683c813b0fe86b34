"""Each message of the fact tables is taken as its row says, and docs/coverage.md tells what is true now."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics import ruleset
from forensics.model import Origin
from tests.rules.coverage import DOCUMENT, NOTHING, Coverage, Row, document, rows, tables

RULES = ruleset.load()
COVERAGE = Coverage(RULES)
ROWS = [row for path in tables() for row in rows(path)]


def row(**change: str) -> Row:
    given = {"table": "sglang", "section": "4", "since": "-", "until": "-", "tells": "gpu-oom-init", "text": "", "why": ""} | change
    return Row(number=1, from_=Origin.SERVER, **given)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_message_is_taken_as_its_row_says(row: Row) -> None:
    answer = COVERAGE.ask(row)
    assert not answer.wrong, f"{row}: {answer.wrong}: {row.text!r}"


def test_what_is_deliberately_not_taken_says_why() -> None:
    assert [str(r) for r in ROWS if r.tells == NOTHING and not r.why.strip()] == []


def test_no_message_stands_twice_in_a_table() -> None:
    seen: dict[tuple[str, str, str, str], Row] = {}
    twice = [f"{r} like {seen[key]}" for r in ROWS if (key := (r.table, r.text, r.tells, r.since)) in seen or seen.setdefault(key, r) is not r]
    assert twice == []


def test_the_document_is_up_to_date() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(RULES), "run: python -m tests.rules.coverage --write"


def test_a_message_that_nobody_takes_is_a_fault() -> None:
    assert "nobody" in COVERAGE.ask(row(text="RuntimeError of a kind that no rule has")).wrong


def test_a_harmless_row_that_a_root_takes_is_a_fault() -> None:
    text = "Failed to load generation config: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.8"
    assert "makes a root of it" in COVERAGE.ask(row(text=text, tells="benign")).wrong


def test_a_row_of_versions_that_a_mark_does_not_have_is_a_fault() -> None:
    assert COVERAGE.ask(row(text="Init parallel begin.", tells="phase:distributed-init", since="0.5.21")).wrong == ""
    assert COVERAGE.ask(row(text="Init parallel begin.", tells="phase:distributed-init", since="0.5.9")).wrong


def test_a_row_that_tells_nothing_must_not_be_taken() -> None:
    assert "taken by" in COVERAGE.ask(row(text="Init parallel begin.", tells=NOTHING, why="made up")).wrong


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("3\t-\t-\tserver\tnothing\ttext", "needs a why"),
        ("3\t-\t-\tserver\tgpu-oom\ttext", "no cause, role"),
        ("3\t-\tserver\tbenign\ttext", "5 cells"),
    ],
)
def test_a_row_that_does_not_read_says_where(tmp_path: Path, line: str, says: str) -> None:
    file = tmp_path / "made.tsv"
    file.write_text(f"# a comment\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=rf"made\.tsv:2: .*{says}"):
        rows(file)

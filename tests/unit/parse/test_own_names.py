"""Names of an own harness: read as somebody said what they mean."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import forensics
from forensics.compare import compare
from forensics.errors import UsageError
from forensics.model import Cause
from forensics.parse import matrix
from tests.unit.parse.results import COLUMNS, read_json, read_text, with_own

OWN = [{"breite": 4, "laenge": 2.5, "gut": 90}, {"breite": 32, "laenge": 1.1, "gut": 20}]


def test_names_of_an_own_harness_are_read_as_they_are_said_to_mean() -> None:
    fields = "breite=budget, laenge=accept_length,gut=correct"
    assert matrix.fields_of(fields, COLUMNS) == {"breite": "budget", "laenge": "accept_len", "gut": "coding_pass"}
    (run,), _ = read_json(json.dumps(OWN), columns=with_own(fields))
    assert [(row.budget, row.accept_len, row.correct) for row in run.matrix] == [(4, 2.5, 0.9), (32, 1.1, 0.2)]
    (run,), _ = read_text("| Breite | Laenge |\n|---|---|\n| 4 | 2.5 |\n| 32 | 1.1 |\n", columns=with_own("breite=budget,laenge=accept_len"))
    assert [(row.budget, row.accept_len) for row in run.matrix] == [(4, 2.5), (32, 1.1)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("breite", "no pair"),
        ("=budget", "no pair"),
        ("a=budgett", "did you mean 'budget'"),
        ("a=budget,a=topk", "twice"),
        ("a=budget,b=width", "twice"),
    ],
)
def test_a_mapping_that_makes_no_sense_is_refused_with_its_part(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        matrix.fields_of(text, COLUMNS)


TABLE = [("Tree Nodes", "my_k", "my_len", "Good %", "n"), (4, 1, 2.3, 95, 200), (8, 4, 2.9, 95, 200), (32, 4, 3.4, 12, 200)]
FIELDS = "Tree Nodes=budget,my_k=topk,my_len=accept_len,Good %=accuracy"


@pytest.mark.parametrize(("name", "joined"), [("m.csv", ","), ("m.md", " | "), ("m.tsv", "\t"), ("m.json", None)])
def test_a_table_of_own_names_alone_is_a_result(name: str, joined: str | None, tmp_path: Path) -> None:
    lines = (
        [joined.join(map(str, line)) for line in TABLE] if joined else [json.dumps([dict(zip(TABLE[0], line, strict=True)) for line in TABLE[1:]])]
    )
    (tmp_path / name).write_text("".join(f"| {line} |\n" if joined == " | " else f"{line}\n" for line in lines))
    (found,) = forensics.diagnose((), bench=(str(tmp_path / name),), bench_fields=FIELDS)
    assert (found.cause, [w.text for w in found.warnings]) == (Cause.MASK_CORRUPTION, [])
    (found,) = forensics.diagnose((), bench=(str(tmp_path / name),), bench_fields=FIELDS.replace("my_len", "len"))
    assert [w.text for w in found.warnings] == [f"{name}: no column is called 'len', which was said to mean accept_len"]
    same = compare(str(tmp_path / name), str(tmp_path / name), fields=FIELDS)
    assert {d.metric for d in same.differences} == {"correct", "acceptance length"}
    assert compare(str(tmp_path / name), str(tmp_path / name), fields=FIELDS.replace("my_len", "len")).warnings == (
        f"{name}: no column is called 'len', which was said to mean accept_len",
    )

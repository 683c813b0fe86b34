"""Names of an own harness: read as somebody said what they mean."""

from __future__ import annotations

import json

import pytest

from forensics.errors import UsageError
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

"""The trees that a report shows are those that its verdict rests on, and it says which series they are of."""

from __future__ import annotations

import json
from pathlib import Path

from forensics.model import Cause
from tests.unit.reason.telling import diagnosed

MATRIX = Path(__file__).parents[2] / "data/mask/sglang-matrix.json"


def test_of_several_variants_the_trees_of_the_worst_are_shown_by_name() -> None:
    found = diagnosed(MATRIX)
    assert found.cause is Cause.MASK_CORRUPTION
    assert {figure.series for figure in found.trees} == {"variant=mask-causal"}
    assert min((f for f in found.trees if f.share), key=lambda f: f.value).budget == 32


def test_of_sound_variants_it_is_said_as_well(tmp_path: Path) -> None:
    rows = [row for row in json.loads(MATRIX.read_text(encoding="utf-8")) if row["variant"] == "healthy"]
    file = tmp_path / "matrix.json"
    file.write_text(json.dumps([{**row, "variant": name} for name in ("before", "after") for row in rows]), encoding="utf-8")
    found = diagnosed(file)
    assert found.cause is Cause.HEALTHY
    assert {figure.series for figure in found.trees} in ({"variant=before"}, {"variant=after"})


def test_a_single_series_has_no_name(tmp_path: Path) -> None:
    rows = [row for row in json.loads(MATRIX.read_text(encoding="utf-8")) if row["variant"] == "mask-causal"]
    file = tmp_path / "matrix.json"
    file.write_text(json.dumps(rows), encoding="utf-8")
    found = diagnosed(file)
    assert found.trees
    assert {figure.series for figure in found.trees} == {""}

"""What a client alone tells when nobody answered it: one and the same, whichever tool it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forensics.model import Cause
from tests.unit.reason.telling import diagnosed

DATA = Path(__file__).parents[2] / "data"
MET_NOBODY = sorted(p for p in (DATA / "bench").glob("*/refused*"))


@pytest.mark.parametrize("file", MET_NOBODY, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_a_client_that_met_nobody_misses_the_servers_side(file: Path) -> None:
    found = diagnosed(file)
    assert found.cause is Cause.EVIDENCE_MISSING
    assert "of the server there is nothing" in " ".join(found.headline.split())


def test_a_client_that_waited_for_readiness_is_not_said_to_have_been_refused() -> None:
    assert "waited in vain" in diagnosed(DATA / "bench/sglang/refused.txt").headline


def test_a_table_of_errors_is_no_client() -> None:
    assert diagnosed(DATA / "rules/refusals-in-a-table").cause is Cause.UNKNOWN


def test_a_saved_result_whose_tokens_did_not_come_back_is_no_better_than_a_printed_one(tmp_path: Path) -> None:
    saved = json.loads((DATA / "bench/sglang/good.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert diagnosed(write(tmp_path / "good.jsonl", saved)).cause is not Cause.BENCH_OVERLOAD
    lost = {**saved, "total_output_tokens_retokenized": 3, "median_ttft_ms": 0.0}
    assert diagnosed(write(tmp_path / "lost.jsonl", lost)).cause is Cause.BENCH_OVERLOAD


def write(file: Path, saved: dict[str, object]) -> Path:
    file.write_text(json.dumps(saved) + "\n", encoding="utf-8")
    return file

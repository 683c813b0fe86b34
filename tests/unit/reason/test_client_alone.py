"""What a client alone tells when nobody answered it: one and the same, whichever tool it was."""

from __future__ import annotations

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

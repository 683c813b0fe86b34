"""The captures that ``when`` rules name as samples, run through the whole pipeline: a hit holds for the life at issue, a miss does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics import api, ruleset

ROOT = Path(__file__).resolve().parents[2]
RULES = ruleset.load()
TRIALS = [
    pytest.param(rule.id, sample.capture, hit, id=f"{rule.id}-{'holds' if hit else 'does-not-hold'}-{sample.capture}")
    for rule in RULES.rules
    for hit, samples in ((True, rule.hit), (False, rule.miss))
    for sample in samples
    if sample.capture is not None
]


@pytest.mark.parametrize(("rule", "capture", "hit"), TRIALS)
def test_a_condition_holds_for_its_captures_and_for_no_other(rule: str, capture: str, hit: bool) -> None:
    folder = ROOT / capture
    assert folder.exists(), f"{capture} is not in the repository"
    assert (rule in api.holding(str(folder), RULES)) is hit


def test_every_condition_has_a_capture_of_each_kind() -> None:
    lacking = [r.id for r in RULES.rules if r.when and not (any(s.capture for s in r.hit) and any(s.capture for s in r.miss))]
    assert lacking == []

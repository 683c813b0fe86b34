"""The captures that ``when`` rules name as samples, run through the whole pipeline: a hit holds for the life at issue, a miss does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics import api, collect, ruleset
from forensics.reason.known import known_facts
from forensics.reason.place import story_of
from forensics.reason.verdict import conditions

ROOT = Path(__file__).resolve().parents[2]
RULES = ruleset.load()
TRIALS = [
    pytest.param(rule.id, sample.capture, hit, id=f"{rule.id}-{'holds' if hit else 'does-not-hold'}-{sample.capture}")
    for rule in RULES.rules
    for hit, samples in ((True, rule.hit), (False, rule.miss))
    for sample in samples
    if sample.capture is not None
]


def holding(folder: Path) -> set[str]:
    (target,) = collect.parse_targets([str(folder)])
    with collect.open_target(target, since=None, limits=collect.Limits()) as session:
        (capture,) = api.look(session, RULES, unit=None, since=None, progress=lambda text: None)
        facts, capture = api.facts_of(capture, RULES, unit=None)
        session.discard()
    story = story_of(facts, RULES, capture.pick.unit, at=facts.at, pick=capture.pick)
    return {signal.rule for signal in conditions(known_facts(story))}


@pytest.mark.parametrize(("rule", "capture", "hit"), TRIALS)
def test_a_condition_holds_for_its_captures_and_for_no_other(rule: str, capture: str, hit: bool) -> None:
    folder = ROOT / capture
    assert folder.is_dir(), f"{capture} is not in the repository"
    assert (rule in holding(folder)) is hit


def test_every_condition_has_a_capture_of_each_kind() -> None:
    lacking = [r.id for r in RULES.rules if r.when and not (any(s.capture for s in r.hit) and any(s.capture for s in r.miss))]
    assert lacking == []

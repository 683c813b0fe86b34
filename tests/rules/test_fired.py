"""What the rules take of the evidence in the repository, and the lines that spell out their expressions: nothing of it changes unnoticed."""

from __future__ import annotations

import difflib

import pytest

from forensics import ruleset
from forensics.ruleset.scan import Matcher
from tests.rules import decide, fired, spell
from tests.rules.evidence import KINDS

RULES = ruleset.load()


@pytest.fixture(scope="module")
def found() -> list[fired.Row]:
    return fired.rows(RULES, fired.gathered(RULES))


def test_what_fires_on_the_evidence_is_what_was_reviewed(found: list[fired.Row]) -> None:
    was, now = fired.FILE.read_text(encoding="utf-8").splitlines(), fired.text_of(found).splitlines()
    changed = list(difflib.unified_diff(was, now, "reviewed", "now", n=0, lineterm=""))
    assert not changed, "python -m tests.rules.fired --write, and review:\n" + "\n".join(changed)


def test_most_rules_fire_on_real_evidence_and_the_others_are_listed(found: list[fired.Row], capsys: pytest.CaptureFixture[str]) -> None:
    unreal = fired.unreal(found)
    with capsys.disabled():
        print(
            f"\n  {len(found)} rules, marks and figures: {len(found) - len(unreal)} fire on real evidence; on made cases or the wordings of fact sheets at most:"
        )
        print("  " + ", ".join(unreal))
    silent = [row.id for row in found if not row.sheet and not any(row.pieces)]
    assert len(silent) < 0.1 * len(found), silent
    assert all(sum(row.pieces[i] for row in found) for i in range(len(KINDS)))


def test_every_wording_that_an_expression_lists_is_taken_and_what_its_anchors_keep_out_is_not() -> None:
    matcher = Matcher(RULES)
    items = {item.id: item for item in matcher.items}
    wrong = []
    wordings = spell.read()
    for w in wordings:
        if w.id not in items or w.answer(items[w.id]) != w.expected:
            wrong.append(w)
    assert not wrong, "python -m tests.rules.spell --write, and review"
    assert {w.id for w in wordings if w.takes} == set(items), "a rule is not spelled out: python -m tests.rules.spell --write"


def test_every_condition_decides_as_its_table_says() -> None:
    texts = {(rule.id, key): text for rule in RULES.rules for key, text in (("when", rule.when), ("where", rule.where)) if text}
    decisions = decide.read()
    wrong = [d for d in decisions if (d.id, d.key) not in texts or decide.holds(texts[d.id, d.key], d.facts) is not d.holds]
    assert not wrong, "python -m tests.rules.decide --write, and review"
    assert {(d.id, d.key) for d in decisions} == set(texts), "a condition has no table: python -m tests.rules.decide --write"

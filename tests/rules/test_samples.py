"""Every rule, mark and figure on its own samples: one test a sample, made from the rule files themselves."""

from __future__ import annotations

import pytest

from forensics.ruleset.lint import lint
from forensics.ruleset.loading import read
from forensics.ruleset.scan import Matcher
from forensics.ruleset.selftest import Trial, passes, trials

FOUND = read()
MATCHER = Matcher(FOUND.rules)


def test_all_rule_files_load_without_a_fault() -> None:
    assert not FOUND.faults, "\n".join(map(str, FOUND.faults))


def test_no_rule_breaks_a_rule_of_the_lint() -> None:
    wrong = [note for note in lint(FOUND.rules) if note.fault]
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("trial", list(trials(FOUND.rules)), ids=str)
def test_a_rule_hits_and_misses_as_its_samples_say(trial: Trial) -> None:
    assert passes(trial, MATCHER), f"{trial.at}: {trial.text!r}"

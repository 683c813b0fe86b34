from __future__ import annotations

import sys
import time
from collections.abc import Callable

import pytest

from forensics.ruleset import RuleSet
from forensics.ruleset.lint import lint, slow

Rules = Callable[..., RuleSet]


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        pytest.param(r"(a+)+b", "an endless repeat within a repeat", id="nested"),
        pytest.param(r"(?:\w+\s*)*failed", "an endless repeat within a repeat", id="words with or without spaces"),
        pytest.param(r"(?:x.*){2,9}y", "an endless repeat within a repeat", id="anything, several times"),
        pytest.param(r"(?:[a-z]{0,200}){0,200}b", "an endless repeat within a repeat", id="bounded, but by much"),
        pytest.param(r"Capture.*failed.*out.*memory", "more than 2 endless repeats", id="three stars"),
        pytest.param(r"(?:Capture.*)(?:failed.*)out\S+memory", "more than 2 endless repeats", id="three stars in groups"),
        pytest.param(r"(\w+) \1 twice", "a back reference", id="back reference"),
        pytest.param(r"Capture.*failed", None, id="one star"),
        pytest.param(r"rank( TP\d+)* died", None, id="turns that begin with what no digit is"),
        pytest.param(r"Capture (?:\w+ ){1,3}graph end", None, id="turns that end with what no letter is"),
        pytest.param(r"a[^\n]{0,200}b[^\n]{0,200}c[^\n]{0,200}d", None, id="bounded"),
        pytest.param(r"(?:a.*|b.*|c.*) end", None, id="one star in each alternative"),
        pytest.param(r"(?<!not )ready", None, id="look-behind"),
    ],
)
def test_an_expression_that_can_take_long_is_refused(pattern: str, fault: str | None) -> None:
    found = slow(pattern)
    assert bool(found) is bool(fault), found
    assert not fault or any(text.startswith(fault) for text in found)


def test_what_the_lint_takes_for_fast_is_fast_on_a_bad_line() -> None:
    import re

    line = "Capture graph failed " * 400
    for pattern in (r"Capture.*failed.*xout", r"(?:\w+ ){1,3}graph end", r"rank( TP\d+)* died"):
        assert not slow(pattern)
        start = time.perf_counter()
        re.search(pattern, line[:8192])
        assert time.perf_counter() - start < 10


@pytest.mark.skipif(sys.version_info < (3, 11), reason="re has them from Python 3.11 on")
def test_what_older_pythons_do_not_know_is_refused() -> None:
    assert slow("(?>ab)+c") == ["possessive repeats and atomic groups need Python 3.11"]


def test_without_re2_the_lint_does_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    assert slow(r"out of memory") == []
    assert slow(r"(a+)+b")


def test_an_expression_that_re2_refuses_is_named_where_re2_is_installed() -> None:
    pytest.importorskip("re2")
    assert slow(r"x{1001}")[0].startswith("RE2 refuses it: ")


TWO = """
    - id: a
      cause: gpu-oom-init
      role: root
      line: 'out of memory in the pool'
      samples: {hit: [{text: out of memory in the pool}], miss: [{text: out of memory elsewhere}, {text: out of memory elsewhere}]}
    - id: b
      cause: gpu-oom-init
      role: root
      line: 'out of memory'
      samples: {hit: [{text: out of memory}], miss: [{text: no memory}]}
"""


def test_a_sample_that_stands_twice_is_a_fault(rules_of: Rules) -> None:
    faults = [str(note) for note in lint(rules_of(causes__x=TWO)) if note.fault]
    assert len(faults) == 1
    assert faults[0].endswith("causes/x.yaml:5:95: a: this sample stands twice: 'out of memory elsewhere'")


def test_a_rule_that_takes_the_misses_of_its_neighbour_is_a_warning(rules_of: Rules) -> None:
    warnings = {note.text for note in lint(rules_of(causes__x=TWO)) if not note.fault}
    assert warnings == {"'b' matches a miss of 'a', of the same cause: 'out of memory elsewhere'"}


def test_there_is_no_warning_where_one_of_the_two_is_over_the_other(rules_of: Rules) -> None:
    assert not [note for note in lint(rules_of(causes__x=TWO.replace("- id: a\n", "- id: a\n      over: [b]\n"))) if not note.fault]


def test_the_prefixes_of_a_profile_are_looked_at_too(rules_of: Rules) -> None:
    (note,) = lint(rules_of(servers__x="profile: x\nprefixes: ['^(?:(?P<rank>\\w+)\\s*)*: ']\n"))
    assert str(note) == "profile x: an endless repeat within a repeat, as in '(a+)+': ^(?:(?P<rank>\\w+)\\s*)*: "

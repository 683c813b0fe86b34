"""A slice of what ``python -m tests.cases.mutations`` does with all cases: what must not change the verdict, what must, and whether each cited line is there."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import islice

import pytest

from tests.cases import stamps
from tests.cases.evidence import Case, answer, case, cases, said
from tests.cases.mutations import HARMLESS, TELLING, Outcome, outcomes, seeded
from tests.cases.telling import cited_cut, root_cut
from tests.cases.traced import untraced

SLICE = (("samples", 1), ("given", 4), ("made", 60))
TRACED = (("samples", 1), ("given", 1), ("made", 12))


def slice_of(sets: Sequence[tuple[str, int]]) -> list[Case]:
    return [one for which, every in sets for one in islice(cases(which), 0, None, every)]


@pytest.fixture(scope="module")
def ran() -> list[Outcome]:
    return list(outcomes(slice_of(SLICE), [*HARMLESS, *TELLING]))


def test_what_says_nothing_new_changes_less_than_one_verdict_in_fifty(ran: list[Outcome]) -> None:
    stays = [out for out in ran if out.kind in HARMLESS]
    changed = [str(out) for out in stays if out.bad]
    assert len(changed) < 0.02 * len(stays), changed


def test_an_answer_whose_ground_is_taken_away_is_not_sure_any_more(ran: list[Outcome]) -> None:
    assert [str(out) for out in ran if out.kind in TELLING and out.bad] == []


def test_what_is_cited_of_a_changed_case_is_where_the_answer_says(ran: list[Outcome]) -> None:
    assert [line for out in ran for line in out.untraced] == []


def test_every_kind_was_tried_on_some_cases(ran: list[Outcome]) -> None:
    tried = Counter(out.kind for out in ran)
    assert [kind for kind in (*HARMLESS, *TELLING) if not tried[kind]] == []
    assert len(HARMLESS) >= 20
    assert len(TELLING) >= 5


def test_each_established_answer_falls_with_the_lines_that_it_cites_and_they_are_all_there() -> None:
    lost, kept, tried = [], [], 0
    for one in slice_of(TRACED):
        base = answer(one)
        lost += untraced(one, base)
        changed = cited_cut(one, base, seeded(one, "cited-cut"))
        if changed is not None:
            tried += 1
            after = answer(changed)
            if (after["cause"], after["status"]) == (base["cause"], "established"):
                kept.append(one.id)
    assert (lost, kept) == ([], [])
    assert tried > 60


def test_a_line_that_is_not_there_is_found_out() -> None:
    one = case("samples/silent-crash")
    found = answer(one)
    assert untraced(one, found) == []
    moved = {**found, "evidence": [{**found["evidence"][0], "line": found["evidence"][0]["line"] + 1}]}
    assert len(untraced(one, moved)) == 1


def test_the_decisive_lines_are_really_cut() -> None:
    one = case("given/made-sglang-oom-logprobs")
    base = answer(one)
    left = root_cut(one, base, random.Random(0))
    assert left is not None
    assert [s.text for s in said(left) if s.cause == base["cause"] and str(s.role) == "root"] == []
    assert sum(map(len, left.files.values())) < sum(map(len, one.files.values()))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[2025-12-30 23:59:01 TP0] x", "[2026-01-02 23:59:01 TP0] x"),
        ("Dec 30 23:59:01 host", "Jan 02 23:59:01 host"),
        ("INFO 12-30 23:59:01 [x.py:1]", "INFO 01-02 23:59:01 [x.py:1]"),
        ("since Tue 2025-12-30 23:59:01 UTC", "since Fri 2026-01-02 23:59:01 UTC"),
        ("[Tue Dec 30 23:59:01 2025] x", "[Fri Jan  2 23:59:01 2026] x"),
        ("[30/Dec/2025:23:59:01 +0000]", "[02/Jan/2026:23:59:01 +0000]"),
        ("I1230 23:59:01.429458 1 model", "I0102 23:59:01.429458 1 model"),
        ('"__REALTIME_TIMESTAMP":"1767139141000000"', '"__REALTIME_TIMESTAMP":"1767398341000000"'),
        ("0001-01-01T00:00:00Z 12345678 port 30000", "0001-01-01T00:00:00Z 12345678 port 30000"),
    ],
)
def test_stamps_of_every_kind_move_together(before: str, after: str) -> None:
    assert stamps.moved(before, 3, 2025) == after

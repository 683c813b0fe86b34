"""Rules that ask for lines before and after their own."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.model import Frame, Hit, Origin, Role
from forensics.ruleset import Matcher, ScanResult, joined, scan
from forensics.ruleset.schema import Rule, RuleSet
from forensics.ruleset.sequence import KEEP, asked_by, writer

from .conftest import FakeBlock

WORDS = ("alpha", "bravo", "delta", "gamma", "other")
RULE = Rule(id="r", role=Role.ROOT, line="alpha", scope="source")


def _lines(texts: list[str], **of: Any) -> list[Frame]:
    return [Frame(source="s", line_no=n, start=0, text=text, origin=Origin.SERVER)._replace(**of) for n, text in enumerate(texts, start=1)]


def _joined(rule: Rule, frames: list[Frame]) -> list[int]:
    """The lines of the joined hits of a rule."""
    rules = RuleSet(rules=(rule,), profiles=())
    matcher = Matcher(rules)
    hits = [hit for frame in frames for hit in matcher.feed(frame)]
    counts: dict[str, int] = {}
    for hit in hits:
        counts[hit.rule] = counts.get(hit.rule, 0) + 1
    result = joined(ScanResult(hits=hits, counts=counts), rules)
    assert {hit.rule for hit in result.hits} <= {rule.id}
    assert result.counts == ({rule.id: len(result.hits)} if result.hits else {})
    return [hit.frame.line_no for hit in result.hits]


# --------------------------------------------------------------------------- brute force


def _same_scope(a: Frame, b: Frame, scope: str) -> bool:
    if a.source != b.source:
        return False
    who = (a.host, a.ident, a.pid) == (b.host, b.ident, b.pid) and (a.pid is not None or a.rank == b.rank)
    if scope == "rank":
        return who
    return scope == "source" or (a.record == b.record and (a.record is not None or who))


def _beside(rule: Rule, frames: list[Frame], at: int) -> tuple[list[Frame], list[Frame]]:
    me = frames[at]
    near = [f for f in frames if _same_scope(f, me, rule.scope) and abs(f.line_no - me.line_no) <= rule.within_lines]
    return [f for f in near if f.line_no < me.line_no], [f for f in near if f.line_no > me.line_no]


def _in_order(lines: tuple[str, ...], frames: list[Frame]) -> bool:
    """Whether the expressions match some of the frames in this order: all ways are tried."""
    if not lines:
        return True
    return any(re.search(lines[0], frame.text) and _in_order(lines[1:], frames[n + 1 :]) for n, frame in enumerate(frames))


def _by_brute_force(rule: Rule, frames: list[Frame]) -> list[int]:
    found = []
    for at, frame in enumerate(frames):
        if not re.search(rule.line or "", frame.text):
            continue
        before, after = _beside(rule, frames, at)
        if not _in_order(rule.preceded_by, before) or not _in_order(rule.followed_by, after):
            continue
        if any(re.search(x, f.text) for x in rule.not_preceded_by for f in before) or any(
            re.search(x, f.text) for x in rule.not_followed_by for f in after
        ):
            continue
        found.append(frame.line_no)
    return found


EXPRESSIONS = st.lists(st.sampled_from(WORDS[:4]), max_size=2).map(tuple)
RULES = st.builds(
    lambda scope, within, a, b, c, d: replace(
        RULE, scope=scope, within_lines=within, preceded_by=a or ("bravo",), followed_by=b, not_preceded_by=c[:1], not_followed_by=d[:1]
    ),
    st.sampled_from(["record", "rank", "source"]), st.integers(1, 12), EXPRESSIONS, EXPRESSIONS, EXPRESSIONS, EXPRESSIONS,
)  # fmt: skip
LINES = st.lists(
    st.tuples(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=2).map(" ".join),
        st.sampled_from([None, 7, 8]),
        st.sampled_from(["TP0", "TP1"]),
        st.booleans(),
    ),
    max_size=24,
)


def _framed(lines: list[tuple[str, int | None, str, bool]]) -> list[Frame]:
    """Frames with their records, as a reader makes them: a stamped line begins one of its writer."""
    heads: dict[object, int] = {}
    frames = []
    for n, (text, pid, rank, stamped) in enumerate(lines, start=1):
        frame = Frame(source="s", line_no=n, start=0, text=text, origin=Origin.SERVER, pid=pid, rank=rank, order=n << 12)
        if stamped:
            heads[writer(frame)] = n << 12
        frames.append(frame._replace(record=heads.get(writer(frame))))
    return frames


@given(RULES, LINES)
def test_a_join_over_all_hits_is_what_looking_at_every_line_gives(rule: Rule, lines: list[tuple[str, int | None, str, bool]]) -> None:
    frames = _framed(lines)
    assert _joined(rule, frames) == _by_brute_force(rule, frames)


# --------------------------------------------------------------------------- one by one


@pytest.mark.parametrize(
    ("asked", "texts", "found"),
    [
        pytest.param({"preceded_by": ("bravo",)}, ["alpha", "bravo", "alpha"], [3], id="before"),
        pytest.param({"preceded_by": ("bravo",)}, ["alpha bravo"], [], id="the line itself does not stand before itself"),
        pytest.param({"preceded_by": ("bravo", "gamma")}, ["bravo", "gamma", "alpha"], [3], id="in this order"),
        pytest.param({"preceded_by": ("bravo", "gamma")}, ["gamma", "bravo", "alpha"], [], id="in the other order"),
        pytest.param({"preceded_by": ("bravo", "bravo")}, ["bravo", "alpha"], [], id="two of a kind are two lines"),
        pytest.param({"followed_by": ("bravo", "gamma")}, ["alpha", "other", "bravo", "bravo", "gamma"], [1], id="after"),
        pytest.param({"not_preceded_by": ("bravo",)}, ["alpha", "bravo", "alpha"], [1], id="none before"),
        pytest.param({"not_followed_by": ("bravo",)}, ["alpha", "bravo", "alpha"], [3], id="none after"),
        pytest.param({"not_followed_by": ("bravo", "gamma")}, ["alpha", "gamma", "alpha"], [3], id="none of several after"),
        pytest.param({"preceded_by": ("bravo",), "within_lines": 2}, ["bravo", "other", "alpha", "alpha"], [3], id="not too far"),
    ],
)
def test_what_has_to_stand_beside_a_line(asked: dict[str, Any], texts: list[str], found: list[int]) -> None:
    assert _joined(replace(RULE, **asked), _lines(texts)) == found


def test_lines_of_one_message_are_told_apart_by_their_order() -> None:
    rule = replace(RULE, preceded_by=("bravo",), scope="record")
    entry = [
        Frame(source="s", line_no=9, start=0, text=text, order=(9 << 12) + n, record=9 << 12) for n, text in enumerate(["alpha", "bravo", "alpha"])
    ]
    matcher = Matcher(RuleSet(rules=(rule,), profiles=()))
    hits = [hit for frame in entry for hit in matcher.feed(frame)]
    result = joined(ScanResult(hits=hits, counts={}), RuleSet(rules=(rule,), profiles=()))
    assert [hit.frame.order & 4095 for hit in result.hits] == [2]


def test_an_entry_that_takes_many_lines_of_a_file_counts_as_one() -> None:
    rule = replace(RULE, preceded_by=("bravo",), within_lines=2)
    frames = [frame._replace(line_no=frame.line_no * 25, height=25) for frame in _lines(["bravo", "other", "alpha", "alpha"])]
    assert _joined(rule, frames) == [75]


def test_rules_that_ask_for_nothing_are_left_alone() -> None:
    rules = RuleSet(rules=(replace(RULE, id="a"), replace(RULE, id="b", preceded_by=("bravo",))), profiles=())
    frame = _lines(["alpha"])[0]
    result = ScanResult(hits=[Hit("a", frame, {}), Hit("b", frame, {}), Hit("mark", frame, {})], counts={"a": 70, "b": 1, "mark": 3})
    assert joined(result, rules) == ScanResult(hits=[Hit("a", frame, {}), Hit("mark", frame, {})], counts={"a": 70, "mark": 3})
    assert joined(result, RuleSet(rules=rules.rules[:1], profiles=())) is result


def test_what_a_rule_asks_for_is_scanned_under_an_id_of_its_own() -> None:
    rule = replace(RULE, preceded_by=("bravo", "gamma"), not_followed_by=("delta",))
    assert [asked.id for asked in asked_by(rule)] == ["r/preceded_by#1", "r/preceded_by#2", "r/not_followed_by#1"]


# --------------------------------------------------------------------------- where not all hits were kept

MANY = 5 * KEEP


def _scanned(rule: Rule, texts: list[str]) -> ScanResult:
    rules = RuleSet(rules=(rule,), profiles=())
    return joined(scan([FakeBlock("".join(f"python[7]: {text}\n" for text in texts))], rules), rules)


def test_a_rule_says_nothing_where_a_line_that_must_not_be_there_may_have_been_forgotten() -> None:
    texts = ["bravo", "other", "other"] * MANY
    for at in (1, len(texts) // 2, len(texts) - 1):
        texts[at] = "alpha"
    texts[4] = "alpha"
    rule = replace(RULE, not_followed_by=("bravo",), within_lines=1)
    assert [hit.frame.line_no for hit in _scanned(replace(rule, within_lines=1), texts).hits] == [2, 5, len(texts)]


def test_what_was_found_counts_wherever_it_is() -> None:
    texts = ["other"] * MANY
    texts[MANY // 2 : MANY // 2 + 2] = ["bravo", "alpha"]
    assert [hit.frame.line_no for hit in _scanned(replace(RULE, preceded_by=("bravo",)), texts).hits] == [MANY // 2 + 2]


def test_of_the_joined_hits_the_first_and_last_are_kept_and_all_known_ones_are_counted() -> None:
    result = _scanned(replace(RULE, preceded_by=("bravo",), keep=2), ["alpha", "bravo", *["alpha"] * 9])
    assert [hit.frame.line_no for hit in result.hits] == [3, 4, 10, 11]
    assert result.counts == {"r": 9}

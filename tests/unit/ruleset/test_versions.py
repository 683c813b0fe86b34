"""Versions as they are written, compared as their authors mean them."""

from __future__ import annotations

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version as Reference  # pytest needs it; the program does not

from forensics.ruleset.versions import beyond, compare, may_be, range_of

RELEASES = st.lists(st.integers(0, 12), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))
SUFFIXES = st.sampled_from(
    [
        "",
        "a1",
        "b2",
        "rc0",
        "rc1",
        ".rc1",
        "-rc.2",
        ".post1",
        ".post2",
        "-1",
        ".dev0",
        ".dev17",
        "rc1.dev3",
        ".post1.dev2",
        "+cu128",
        ".dev17+g36ea79",
    ]
)
WRITTEN = st.builds(lambda v, release, suffix: f"{v}{release}{suffix}", st.sampled_from(["", "v"]), RELEASES, SUFFIXES)
OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}


def _public(text: str) -> Reference:
    return Reference(text.partition("+")[0])


@given(WRITTEN, WRITTEN, st.sampled_from(sorted(OPERATORS)))
def test_two_versions_compare_as_python_packages_do_but_for_what_follows_a_plus(left: str, right: str, op: str) -> None:
    assert compare(op, left, right) is OPERATORS[op](_public(left), _public(right))


@given(st.tuples(WRITTEN, WRITTEN), st.tuples(WRITTEN, WRITTEN), st.sampled_from(sorted(OPERATORS)))
def test_of_two_ranges_only_what_holds_for_all_their_ends_is_known(left: tuple[str, str], right: tuple[str, str], op: str) -> None:
    a, b = (sorted(pair, key=_public) for pair in (left, right))
    answer = compare(op, f"{a[0]}…{a[1]}", f"{b[0]}..{b[1]}")
    seen = {OPERATORS[op](_public(x), _public(y)) for x in a for y in b}
    if answer is None:
        return  # between the ends there may be any
    assert seen == {answer}


@pytest.mark.parametrize("text", ["", "x", "1..2..3", "0.5.x", "master", "1.2.", "..", "…", "1" * 20, "0.5 4", "a…b"])
def test_what_is_no_version_is_no_range_and_compares_with_nothing(text: str) -> None:
    assert range_of(text) is None
    assert compare("<", text, "1") is None
    assert may_be(text, since="9", until=None)


@pytest.mark.parametrize(
    ("known", "since", "until", "may"),
    [
        pytest.param(None, "0.5.9", "0.6.3", True, id="an unknown version can be any"),
        pytest.param("0.5.8", "0.5.9", None, False, id="before the first"),
        pytest.param("0.5.9", "0.5.9", None, True, id="the first itself"),
        pytest.param("0.5.9rc1", "0.5.9", None, True, id="a candidate of the first"),
        pytest.param("0.5.9.post1", None, "0.5.9", True, id="a post release of the last"),
        pytest.param("0.5.9.post2", None, "0.5.9.post1", False, id="after a post release that is the last"),
        pytest.param("0.5.9", "0.5.9.post1", None, False, id="before a post release that is the first"),
        pytest.param("0.6.3", None, "0.6", True, id="a bound of two numbers stands for all of them"),
        pytest.param("0.10.0", None, "0.9", False, id="ten comes after nine"),
        pytest.param("0.7.0", None, "0.6", False, id="after the last"),
        pytest.param("0.5.4…0.5.9", "0.5.9", None, True, id="a range that meets in one version"),
        pytest.param("0.5.4…0.5.9", "0.5.10", None, False, id="a range that ends before"),
        pytest.param("0.5.4…0.5.9", None, "0.5.3", False, id="a range that begins after"),
        pytest.param("…0.5.9", None, "0.1", True, id="an open range"),
        pytest.param("0.5.20…", "0.1", "0.5.19", False, id="an open range that begins after"),
        pytest.param("0.0.0.dev1+g12", None, None, True, id="nothing is asked"),
    ],
)
def test_a_rule_is_dropped_only_where_the_versions_cannot_meet(known: str | None, since: str | None, until: str | None, may: bool) -> None:
    assert may_be(known, since=since, until=until) is may


@given(RELEASES, RELEASES)
def test_of_two_bounds_at_most_one_is_beyond_the_other(one: str, other: str) -> None:
    assert not (beyond(one, other) and beyond(other, one))

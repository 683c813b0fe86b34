"""The figures of the tests are scipy's: tables that were made with it, and scipy itself wherever it is installed."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forensics import significance

stats = pytest.importorskip("scipy.stats", reason="scipy is a development dependency of these tests alone")

counts = st.integers(0, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
values = st.lists(st.integers(-5, 5).map(float) | st.floats(-1e3, 1e3).map(lambda x: round(x, 3)), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("table", "p"),
    [((16, 16, 16, 16), 1.0), ((2, 16, 16, 16), 2.545e-07), ((11, 16, 16, 16), 0.02169), ((1, 3, 3, 3), 0.2), ((0, 0, 3, 3), 1.0)],
    ids=["the same", "two of sixteen", "eleven of sixteen", "three samples say nothing", "nothing measured"],
)
def test_how_likely_so_few_right_answers_are(table: tuple[int, int, int, int], p: float) -> None:
    assert significance.fewer(*table) == pytest.approx(p, rel=1e-3)


def test_more_right_answers_than_were_asked_are_refused() -> None:
    with pytest.raises(ValueError, match="17 of 16"):
        significance.fewer(17, 16, 1, 2)


@given(counts, counts)
@settings(max_examples=200, deadline=None)
def test_counts_as_scipy_has_them(a: tuple[int, int], b: tuple[int, int]) -> None:
    table = [[a[0], a[1] - a[0]], [b[0], b[1] - b[0]]]
    assert significance.fewer(*a, *b) == pytest.approx(stats.fisher_exact(table, alternative="less").pvalue, rel=1e-6, abs=1e-12)
    assert significance.differ(*a, *b) == pytest.approx(stats.fisher_exact(table).pvalue, rel=1e-6, abs=1e-12)


@given(values, values)
@settings(max_examples=200, deadline=None)
def test_ranks_as_scipy_has_them(a: list[float], b: list[float]) -> None:
    p = stats.mannwhitneyu(a, b, method="asymptotic").pvalue
    assert significance.rank_sum(a, b) == pytest.approx(1.0 if math.isnan(p) else p, rel=1e-6, abs=1e-12)


def test_means_as_scipy_has_them() -> None:
    draw = random.Random(5)
    for _ in range(200):
        a = [draw.gauss(10, draw.choice([0.1, 1, 3])) for _ in range(draw.randint(2, 40))]
        b = [draw.gauss(draw.choice([10, 10.5, 14]), 1) for _ in range(draw.randint(2, 40))]
        assert significance.means(a, b) == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue, rel=1e-6, abs=1e-14)


def test_one_run_a_side_tells_nothing_of_means() -> None:
    assert significance.means([1.0], [2.0, 3.0]) == 1.0
    assert significance.means([1.0, 1.0], [1.0, 1.0]) == 1.0
    assert significance.means([1.0, 1.0], [2.0, 2.0]) == 0.0


@pytest.mark.parametrize("of", [(480, 1000, 500, 1000), (49_000, 100_000, 50_000, 100_000)], ids=["counted", "too many to be counted"])
def test_many_answers_are_judged_as_few_are(of: tuple[int, int, int, int]) -> None:
    right, n, of_right, of_n = of
    table = [[right, n - right], [of_right, of_n - of_right]]
    assert significance.fewer(*of) == pytest.approx(stats.fisher_exact(table, alternative="less").pvalue, rel=1e-3)
    assert significance.differ(*of) == pytest.approx(stats.fisher_exact(table).pvalue, rel=1e-3)


def test_as_many_requests_as_a_file_may_claim_take_no_time_and_no_room() -> None:
    assert significance.differ(5 * 10**8, 10**9, 5 * 10**8 + 10, 10**9) > 0.9
    assert significance.differ(4 * 10**307, 10**308, 5 * 10**307, 10**308) == 0.0
    assert significance.fewer(4 * 10**307, 10**308, 5 * 10**307, 10**308) == 0.0


def test_means_of_the_greatest_and_the_least_floats() -> None:
    assert significance.means([1e308, 1.7e308], [-1e308, 1.7e308]) == pytest.approx(significance.means([1.0, 1.7], [-1.0, 1.7]))
    assert 0.0 <= significance.means([1e-300, 2e-300], [1.0, 1.0]) <= 1.0

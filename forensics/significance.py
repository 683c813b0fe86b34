"""Say how likely a difference between two measurements is by chance alone. Never says which of them is better, and knows no benchmark.

Own code, as the statistics libraries weigh more than all of the project; tests hold it to scipy's figures (docs/decisions.md).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

_TIE = 1 + 1e-7  # tables as likely as the one that was seen count as well, whatever the last digit of a float says
_MOST_TABLES = 20_000  # beyond it the normal distribution says the same, and a file may claim any number of requests


def fewer(right: int, n: int, of_right: int, of_n: int) -> float:
    """The chance that ``right`` of ``n`` is so few against ``of_right`` of ``of_n`` though nothing differs (Fisher's exact test, one side)."""
    _checked(right, n, of_right, of_n)
    if _many(right, n, of_right, of_n):
        return 0.5 * math.erfc(-_distance(right, n, of_right, of_n, 0.5) / math.sqrt(2))
    chances = _tables(right, n, of_right, of_n)
    return min(1.0, math.fsum(p for k, p in chances if k <= right))


def differ(right: int, n: int, of_right: int, of_n: int) -> float:
    """The chance of a difference as great as between ``right`` of ``n`` and ``of_right`` of ``of_n``, either way (Fisher's exact test, two sides)."""
    _checked(right, n, of_right, of_n)
    if _many(right, n, of_right, of_n):
        away = max(0.0, _distance(right, n, of_right, of_n, -0.5), -_distance(right, n, of_right, of_n, 0.5))
        return min(1.0, math.erfc(away / math.sqrt(2)))
    chances = dict(_tables(right, n, of_right, of_n))
    limit = chances[right] * _TIE
    return min(1.0, math.fsum(p for p in chances.values() if p <= limit))


def _tables(right: int, n: int, of_right: int, of_n: int) -> list[tuple[int, float]]:
    """Each count that could stand for ``right`` with all sums as they are, and its chance."""
    total, hits = n + of_n, right + of_right
    whole = _log_choose(total, n)
    return [(k, math.exp(_log_choose(hits, k) + _log_choose(total - hits, n - k) - whole)) for k in range(max(0, n - total + hits), min(hits, n) + 1)]


def _checked(right: int, n: int, of_right: int, of_n: int) -> None:
    if not (0 <= right <= n and 0 <= of_right <= of_n):
        raise ValueError(f"{right} of {n}, {of_right} of {of_n}: more right answers than were asked")


def _many(right: int, n: int, of_right: int, of_n: int) -> bool:
    """Whether there are more tables than are worth counting, and enough of each kind for the normal distribution."""
    return min(n, of_n, right + of_right, n + of_n - right - of_right) > _MOST_TABLES


def _distance(right: int, n: int, of_right: int, of_n: int, corrected: float) -> float:
    """How many standard deviations ``right`` lies above what is expected. In whole numbers as far as they go: their products have no room in a float."""
    total, hits = n + of_n, right + of_right
    spread = math.sqrt(n * of_n * hits * (total - hits) / (total * total * (total - 1)))
    return ((right * total - n * hits) / total + corrected) / spread


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def rank_sum(ours: Sequence[float], others: Sequence[float]) -> float:
    """The chance that two samples of one distribution lie so far apart, either way (Mann-Whitney, normal approximation, ties and continuity corrected)."""
    n, m = len(ours), len(others)
    if not n or not m:
        return 1.0
    both = sorted([*ours, *others])
    rank: dict[float, float] = {}
    seen = 0
    ties = 0.0
    for value, count in sorted(Counter(both).items()):
        rank[value] = seen + (count + 1) / 2
        seen += count
        ties += count**3 - count
    u = math.fsum(rank[x] for x in ours) - n * (n + 1) / 2
    total = n + m
    spread = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
    if spread <= 0:
        return 1.0  # all values are one
    distance = max(0.0, abs(u - n * m / 2) - 0.5)
    return min(1.0, math.erfc(distance / math.sqrt(2 * spread)))


def means(ours: Sequence[float], others: Sequence[float]) -> float:
    """The chance that two samples with one mean have means so far apart, either way (Welch's t-test). 1 where one of them has fewer than two values."""
    if len(ours) < 2 or len(others) < 2:
        return 1.0
    scale = max(map(abs, (*ours, *others))) or 1.0  # squares of the greatest and the least floats have no room in one
    ours, others = [x / scale for x in ours], [x / scale for x in others]
    from statistics import fmean, variance  # which loads fractions and random generators

    a, b = variance(ours) / len(ours), variance(others) / len(others)
    gap = fmean(ours) - fmean(others)
    if a + b == 0:
        return 1.0 if gap == 0 else 0.0
    share = a / (a + b)
    freedom = 1 / (share * share / (len(ours) - 1) + (1 - share) ** 2 / (len(others) - 1))
    square = gap * gap / (a + b)
    return _beta(freedom / 2, 0.5, freedom / (freedom + square))


def _beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (Lentz): DLMF 8.17.22."""
    if x <= 0 or x >= 1:
        return min(1.0, max(0.0, x))
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    tiny = 1e-300
    c, d = 1.0, 1 / max(tiny, 1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, 1000):
        for term in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1 / _far(1 + term * d)
            c = _far(1 + term / c)
            fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * fraction


def _far(value: float) -> float:
    """Never nought, so that it can be divided by."""
    return value if abs(value) > 1e-300 else 1e-300

"""Compare versions as people write them, and ranges of versions that were inferred. Knows no program, and never guesses: what cannot be read is unknown."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import NamedTuple

from forensics import lazily

_NUMBER = r"[0-9]{1,9}"
_VERSION = lazily.pattern(
    rf"\s*v?(?:(?P<epoch>{_NUMBER})!)?(?P<release>{_NUMBER}(?:\.{_NUMBER}){{0,8}})"
    rf"(?:[._-]?(?P<pre>alpha|beta|preview|pre|rc|a|b|c)[._-]?(?P<pre_n>{_NUMBER})?)?"
    rf"(?:[._-]?(?P<post>post|rev|r)[._-]?(?P<post_n>{_NUMBER})?|-(?P<dash>{_NUMBER}))?"
    rf"(?P<dev>[._-]?dev[._-]?(?P<dev_n>{_NUMBER})?)?(?:\+[a-z0-9._-]{{1,100}})?\s*",
    re.IGNORECASE,
)
_STAGES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_PLAIN = 3  # after any stage before it
_RANGE = lazily.pattern(r"\.\.|…")


Key = tuple[int, tuple[int, ...], tuple[int, int], int, float]  # epoch, numbers, stage, post, dev: sorts as versions do


class Version(NamedTuple):
    """One version: its numbers as written, and all of it as a key that sorts (dev < a < b < rc < release < post; what follows a + does not count)."""

    release: tuple[int, ...]
    key: Key
    suffixed: bool


class Range(NamedTuple):
    """From and to, both inclusive; None is open. One version alone is both."""

    low: Version | None
    high: Version | None

    @property
    def exact(self) -> bool:
        """Whether it is one version."""
        return self.low is not None and self.low is self.high


@lru_cache(maxsize=512)
def version(text: str) -> Version | None:
    """``0.5.4``, ``v0.6.3.post1``, ``0.9.0rc2.dev17+g36ea79``; None for anything else."""
    found = _VERSION.fullmatch(text)
    if found is None:
        return None
    release = tuple(int(n) for n in found["release"].split("."))
    pre, post, dev = found["pre"], found["post"] or found["dash"], found["dev"]
    stage = (_STAGES[pre.lower()], int(found["pre_n"] or 0)) if pre else (-1, 0) if dev and not post else (_PLAIN, 0)
    after = int(found["post_n"] or found["dash"] or 0) if post else -1
    before = float(found["dev_n"] or 0) if dev else math.inf
    return Version(release, (int(found["epoch"] or 0), _without_zeros(release), stage, after, before), bool(pre or post or dev))


def _without_zeros(release: tuple[int, ...]) -> tuple[int, ...]:
    end = len(release)
    while end > 1 and release[end - 1] == 0:
        end -= 1
    return release[:end]


@lru_cache(maxsize=512)
def range_of(text: str) -> Range | None:
    """A version, or a range of them: ``0.5.4…0.5.9``, ``0.5.20..``, ``..0.8.5``; None where that cannot be read."""
    if not _RANGE.search(text):
        only = version(text)
        return None if only is None else Range(only, only)
    start, stop = _RANGE.split(text, maxsplit=1)
    low, high = version(start) if start else None, version(stop) if stop else None
    if (start and low is None) or (stop and high is None) or not (start or stop):
        return None
    return Range(low, high)


def spoken(text: str) -> str:
    """A version or a range as a sentence says it: ``0.5.4``, ``0.5.4 … 0.5.9``, ``0.5.9 or older``, ``0.5.20 or newer``."""
    if not _RANGE.search(text):
        return text
    start, stop = _RANGE.split(text, maxsplit=1)
    return f"{start} … {stop}" if start and stop else f"{start} or newer" if start else f"{stop} or older"


def backwards(text: str) -> bool:
    """Whether a range begins after its end, and so holds no version."""
    if not _RANGE.search(text):
        return False
    start, stop = _RANGE.split(text, maxsplit=1)
    return beyond(start, stop)


def beyond(one: str, bound: str) -> bool:
    """Whether a version is surely later than all that a bound stands for: ``until: "0.6"`` stands for all of 0.6, ``"0.6.3"`` for its post releases too."""
    a, b = version(one), version(bound)
    return a is not None and b is not None and _beyond(a, b)


def _beyond(one: Version, bound: Version) -> bool:
    return _later(one, bound) or (bound.suffixed and not _later(bound, one) and one.key > bound.key)


def _later(one: Version, other: Version) -> bool:
    """By the numbers that both have."""
    length = min(len(one.release), len(other.release))
    return (one.key[0], one.release[:length]) > (other.key[0], other.release[:length])


def may_be(known: str | None, *, since: str | None, until: str | None) -> bool:
    """Whether a version, or range of them, that is known of a server can be among those from ``since`` to ``until``. What is not known can."""
    told = range_of(known) if known else None
    if told is None:
        return True
    if until and (last := version(until)) is not None and told.low is not None and _beyond(told.low, last):
        return False
    first = version(since) if since else None
    if first is None or told.high is None:
        return True
    earlier = told.exact and first.suffixed and told.high.key < first.key
    return not (earlier or _later(first, told.high))


def compare(op: str, left: str, right: str) -> bool | None:
    """``<``, ``<=``, ``>``, ``>=``, ``==`` and ``!=`` of two versions or ranges: None where some of a range are and others are not, or where one cannot be read."""
    a, b = range_of(left), range_of(right)
    if a is None or b is None:
        return None
    if op in (">", ">="):
        return compare("<" if op == ">" else "<=", right, left)
    if op == "<":
        return True if _below(a, b, equal=False) else False if _below(b, a, equal=True) else None
    if op == "<=":
        return True if _below(a, b, equal=True) else False if _below(b, a, equal=False) else None
    same = True if a.exact and b.exact and a[0] and b[0] and a[0].key == b[0].key else None
    if _below(a, b, equal=False) or _below(b, a, equal=False):
        same = False
    return same if same is None or op == "==" else not same


def _below(a: Range, b: Range, *, equal: bool) -> bool:
    """Whether every version of the one is below every version of the other (or the same)."""
    if a.high is None or b.low is None:
        return False
    return a.high.key < b.low.key or (equal and a.high.key == b.low.key)

"""What a measured draft tree is, and when one that is accepted shorter than another is a sign of a fault: shapes, lengths and their errors. Reads neither log nor benchmark.

A drafter that has all of a smaller tree to choose from is accepted at least as long with the larger one. It need not be where the budget is small against the number of
branches: a draft that is badly calibrated spends it on breadth, and has nothing left for depth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from forensics import significance
from forensics.model import Evidence

SHORTER = 0.15  # of the acceptance length, where one tree surely holds the other
MUCH_SHORTER = 0.3  # where the wider one may be flatter
SPREAD = 0.04  # of an acceptance length from run to run, where nobody says of how many steps it is the mean
DEEP = 4  # drafted tokens a branch, below which a tree may have spent its budget on breadth
SURELY = 8  # beyond it, surely not
FEWEST = 3  # single measurements on each side that say how much they differ among themselves
LEAST = 1e-12  # a chance that nobody counts below
MOST_PAIRED = 200  # cells on each side of which each is held against each


class Cell(NamedTuple):
    """One tree under one set of conditions, with all that was measured of it. ``right`` of ``asked`` answers, and so many requests ``lost``; ``length`` in tokens a step, with its standard ``error``.

    ``samples`` are independent measurements of the length, where there are several; ``lengths`` are those of each run or start.
    """

    label: str
    topk: int | None = None
    budget: int | None = None
    steps: int | None = None
    correct: float | None = None
    asked: int | None = None
    lost: int = 0
    length: float | None = None
    error: float = 0.0
    samples: tuple[float, ...] = ()
    lengths: tuple[float, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    lines: tuple[Evidence, ...] = ()

    @property
    def tree(self) -> str:
        """What it is called in a sentence."""
        shape = [f"{name}={value}" for name, value in (("budget", self.budget), ("topk", self.topk)) if value is not None]
        return " ".join(shape) or self.label

    @property
    def answers(self) -> tuple[int, int] | None:
        """Right answers, of how many."""
        return None if self.asked is None or self.correct is None else (round(self.correct * self.asked), self.asked)


def holds(wide: Cell, narrow: Cell) -> bool:
    """Whether the drafter of ``wide`` has all of the tree of ``narrow`` to choose from, and room for its depth: no less wide, no smaller, no flatter, and one of them more."""
    topk, budget = wide.topk or 0, wide.budget or 0
    if wide is narrow or budget < (narrow.budget or 0) or topk < (narrow.topk or 0):
        return False
    if wide.steps is not None and narrow.steps is not None and wide.steps < narrow.steps:
        return False
    same = (topk, budget) == (narrow.topk or 0, narrow.budget or 0)
    if same:
        return wide.steps is not None and narrow.steps is not None and wide.steps > narrow.steps
    sizes_unknown = wide.budget is None and narrow.budget is None
    return sizes_unknown or topk == (narrow.topk or 0) or budget >= DEEP * topk


def widest(cells: Sequence[Cell]) -> list[Cell]:
    """Those that none of the others is wider than: with more branches and no fewer nodes, or more nodes and no fewer branches."""
    shapes = {(c.topk or 0, c.budget or 0) for c in cells}
    return [c for c in cells if not any((k, b) != (c.topk or 0, c.budget or 0) and k >= (c.topk or 0) and b >= (c.budget or 0) for k, b in shapes)]


def least_fall(wide: Cell, narrow: Cell) -> float:
    """By which share of its length a tree has to be accepted shorter to be worth a word."""
    if wide.topk == narrow.topk:
        return SHORTER
    known = wide.steps is not None and narrow.steps is not None
    return SHORTER if known and (wide.budget or 0) >= SURELY * (wide.topk or 1) else MUCH_SHORTER


class Fall(NamedTuple):
    """The pair of trees that tells most: the wider one is accepted shorter than one that is a part of it."""

    narrow: Cell
    wide: Cell
    chance: float

    @property
    def share(self) -> float:
        """By how much of its length."""
        return 1 - (self.wide.length or 0.0) / (self.narrow.length or 1.0)


def looked_for(straight: Sequence[Cell], branching: Sequence[Cell]) -> tuple[Fall | None, bool]:
    """The pair that is least likely by chance, corrected for how many pairs were looked at; and whether any tree holds another at all."""
    every, wide, looked_at = [c for c in (*straight, *branching) if c.length], [c for c in branching if c.length], 0
    narrow = every
    if len(every) > MOST_PAIRED:  # each is held against each: of so many the shortest against the longest, and all of them count as looked at
        looked_at = len(wide) * len(every)
        wide, narrow = sorted(wide, key=_length)[:MOST_PAIRED], sorted(every, key=_length)[-MOST_PAIRED:]
    pairs = [(a, b) for b in wide for a in narrow if holds(b, a)]
    fallen = [(a, b) for a, b in pairs if 1 - _length(b) / _length(a) >= least_fall(b, a)]
    if not fallen:
        return None, bool(pairs)
    longer, shorter = min(fallen, key=lambda pair: (_chance(*pair), -_z(*pair)))
    return Fall(narrow=longer, wide=shorter, chance=min(1.0, _chance(longer, shorter) * max(len(pairs), looked_at))), True


def odds(chance: float) -> str:
    """``3.4e-7`` as 3 million: how sure is enough, and nobody counts further than a million million."""
    times = 1 / max(chance, LEAST)
    for size, word in ((1e12, "million million"), (1e9, "thousand million"), (1e6, "million"), (1e3, "thousand")):
        if times >= size:
            return f"{times / size:.0f} {word}"
    return f"{times:.0f}"


def by_chance(chance: float) -> str:
    """How likely luck alone is, in a clause."""
    if chance <= LEAST:
        return "chance alone does that less than once in a million million"
    return "chance alone does that often" if chance > 0.2 else f"chance alone does that once in {odds(chance)}"


def _length(cell: Cell) -> float:
    return cell.length or 0.0


def _z(longer: Cell, shorter: Cell) -> float:
    error = math.hypot(longer.error, shorter.error)
    return (_length(longer) - _length(shorter)) / error if error else math.inf


def _chance(longer: Cell, shorter: Cell) -> float:
    """By what runs differ at least; and by how these measurements differ among themselves, where there are enough to know. The worse of the two."""
    by_error = 0.5 * math.erfc(_z(longer, shorter) / math.sqrt(2))
    if min(len(longer.samples), len(shorter.samples)) < FEWEST:
        return by_error
    return max(by_error, significance.means(shorter.samples, longer.samples) / 2)

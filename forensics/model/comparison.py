"""What comes out of comparing two results of one benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from forensics.model.noun import Noun

FAILED = "failed requests"  # the figure that every other one is read beside: as a share of those asked


class Judgement(str, Enum):
    """What a difference means; ``noted``: a figure of which nobody can say which way is better."""

    WORSE = "worse"
    BETTER = "better"
    SAME = "same"
    NOTED = "noted"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Difference(Noun):
    """One figure on both sides. ``change`` is relative to the base (0.05: five per cent more), None where that is 0.

    ``chance``: how likely luck alone explains the difference, None where the results hold too little to say. ``by`` names the test.
    """

    where: str  # the configuration; "" where there is one only
    metric: str
    base: float
    new: float
    change: float | None
    judgement: Judgement
    chance: float | None = None
    by: str = ""
    of: tuple[int, int] | None = None  # values or answers on each side
    tree: tuple[int | None, int | None] | None = None  # of a matrix: top-k and budget


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Comparison(Noun):
    """Two results side by side, the worse first; ``only_base`` and ``only_new`` are configurations that the other side lacks."""

    base: str
    new: str
    tolerance: float
    differences: tuple[Difference, ...] = ()
    only_base: tuple[str, ...] = ()
    only_new: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def regressed(self) -> bool:
        return any(d.judgement is Judgement.WORSE for d in self.differences)

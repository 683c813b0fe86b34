"""Lines that are alike, as the scan counts them, and those among them that an expression matches. Never opens a line."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from forensics.ruleset.learnt import Plan


class Shape(list[int]):
    """The lines, of the block at hand, that are equal but for their digits; with ``head``, so far as that goes."""

    __slots__ = ("foreign", "head", "numbers", "odd", "opened", "plan", "quiet", "rest", "text")

    def __init__(self, numbers: tuple[int, ...], head: bytes = b"", *, text: int = -1) -> None:
        super().__init__()
        self.numbers = numbers  # expressions that may match; with a head, others may as well
        self.head = head  # only so much of the lines is equal; empty: all
        self.text = text  # the required text in the head
        self.plan: Plan | None = None
        self.opened = 0
        self.odd = False  # no plan can be made: each line is opened
        self.rest = 0  # from here on a line may have texts that its head does not tell of
        self.quiet = False  # of the texts that are left out behind heads none tells anything behind this one
        self.foreign: dict[int, tuple[int, ...]] = {}  # text behind the head → expressions that the plan does not answer for


COLD = Shape(())  # of all shapes that nothing can match


class Found:
    """Lines of a block that an expression matches: how many, and which once somebody asks."""

    __slots__ = ("apart", "count", "runs")

    def __init__(self) -> None:
        self.count = 0
        self.runs: list[Sequence[int]] = []
        self.apart: list[Sequence[int]] = []  # those of lines that are opened without a look at others

    def add(self, lines: Sequence[int], *, alone: bool = False) -> None:
        self.count += len(lines)
        self.runs.append(lines)
        if alone:
            self.apart.append(lines)

    def beyond(self, first: int) -> Found:
        """All but the first so many."""
        left = Found()
        left.add(self.lines()[first:])
        left.apart = self.apart
        return left

    def alone(self) -> set[int]:
        """Lines that are opened without a look at others."""
        return set(chain.from_iterable(self.apart))

    def lines(self) -> list[int]:
        """In their order."""
        return sorted(chain.from_iterable(self.runs))


def of(found: dict[int, Found], number: int) -> Found:
    """What was found of an expression."""
    of_it = found.get(number)
    if of_it is None:
        of_it = found[number] = Found()
    return of_it

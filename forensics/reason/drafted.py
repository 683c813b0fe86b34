"""Judge the starts of a server by what its own log tells of its drafts: is a wider tree accepted shorter than one that is a part of it? Reads no benchmark.

A start is one sample of the requests that came to it, whatever number of lines it wrote. Within a start stretches of lines stand for samples, so that a single line that
goes wrong decides nothing; but what two starts were asked need not be the same, and only several starts on each side tell a tree from the traffic of a day.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from forensics.model import Evidence
from forensics.reason.decoded import Start, by_tree, starts
from forensics.reason.place import Story
from forensics.reason.trees import FEWEST, SPREAD, Cell, Fall, looked_for, odds
from forensics.ruleset.versions import compare

TRAFFIC = 0.2  # of the accepted drafts, from one start to the next: chat is drafted for worse than code, and a high temperature worse than a low one
FEWEST_INTERVALS = 6  # of a tree: fewer give no three stretches of two
CITED = 2  # lines of each side


class Drafted(NamedTuple):
    """The pair of trees that tells most, out of the logs alone. ``starts`` is how many there are on the side that has fewer."""

    fall: Fall | None
    told: str | None
    starts: int
    apart: bool  # whether every start of the wide tree is accepted shorter than every one of the narrow tree
    lines: tuple[Evidence, ...]
    by_width: tuple[tuple[str, float], ...]
    cells: tuple[Cell, ...]  # all that may be compared, narrow to wide

    @property
    def drop(self) -> float:
        """By how much of its length the wide tree is accepted shorter; 0 where none is."""
        return self.fall.share if self.fall is not None else 0.0

    @property
    def chance(self) -> float:
        """The chance that luck alone explains it, if all starts were asked alike."""
        return self.fall.chance if self.fall is not None else 1.0


def drafted(story: Story) -> Drafted | None:
    """What the starts of this evidence tell; None where they do not have a tree with several branches and one that is a part of it, told of often enough each."""
    return judged(starts(story))


def judged(found: Sequence[Start]) -> Drafted | None:
    """The same of starts alone."""
    # of one log the last start is what runs: that one before it had another tree which was accepted shorter is mended, and no fault any more
    last = found[-1] if len({s.source for s in found}) == 1 else None
    told = [one for series in _series(found) if (one := _judge(series, last)) is not None]
    return min(told, key=lambda d: d.chance, default=None)


def _series(found: Sequence[Start]) -> list[list[list[Start]]]:
    """Trees of starts that may be compared. Starts whose versions are known and differ are kept apart: another version may count otherwise, and drafts otherwise."""
    series: list[list[list[Start]]] = []
    for _, trees in by_tree(found):
        versions: list[str | None] = []
        for start in (s for tree in trees for s in tree):
            if not any(_alike(start.version, v) for v in versions):
                versions.append(start.version)
        series += [[kept for tree in trees if (kept := [s for s in tree if _alike(s.version, version)])] for version in versions]
    return series


def _alike(one: str | None, other: str | None) -> bool:
    return one is None or other is None or one == other or compare("==", one, other) is not False


def _judge(trees: Sequence[Sequence[Start]], last: Start | None) -> Drafted | None:
    cells = [_cell(tree) for tree in trees if sum(len(s.intervals) for s in tree) >= FEWEST_INTERVALS]
    branching = [c for c in cells if (c.topk or 0) > 1 and (last is None or _is_of(c, last))]
    straight = [c for c in cells if c not in branching]
    fall, paired = looked_for(straight, branching)
    if not paired:
        return None
    by_width = tuple((c.tree, round(c.length or 0.0, 3)) for c in cells)
    if fall is None:
        return Drafted(fall=None, told=None, starts=0, apart=False, lines=(), by_width=by_width, cells=tuple(cells))
    narrow, wide = fall.narrow, fall.wide
    number = {id(c): sum(len(s.intervals) for s in tree) for c in (narrow, wide) for tree in trees if _is_of(c, tree[0])}
    sides = [f"{c.length:.2f} tokens a step with {c.tree} ({number[id(c)]} lines, {_counted(len(c.lengths))})" for c in (narrow, wide)]
    return Drafted(
        fall=fall,
        told=f"{sides[0]}, {sides[1]}; asked alike, chance does that once in {odds(fall.chance)}",
        starts=min(len(narrow.lengths), len(wide.lengths)),
        apart=max(wide.lengths) < min(narrow.lengths),
        lines=(*wide.lines[:CITED], *narrow.lines[:CITED]),
        by_width=by_width,
        cells=tuple(cells),
    )


def _is_of(cell: Cell, start: Start) -> bool:
    return (cell.topk, cell.budget, cell.steps) == (start.topk, start.budget, start.steps)


def _counted(number: int) -> str:
    return "one start" if number == 1 else f"{number} starts"


def _cell(tree: Sequence[Start]) -> Cell:
    """All starts of one tree. Its length is known no better than starts differ from each other by what they are asked, nor than its own stretches of lines do."""
    from statistics import fmean, stdev  # which loads fractions, decimals and random generators

    first = tree[0]
    lengths = tuple(s.length for s in tree)
    blocks = tuple(block for s in tree for block in s.blocks)
    length = fmean(lengths)
    by_start = max(SPREAD * length, TRAFFIC * (length - 1), stdev(lengths) if len(lengths) >= FEWEST else 0.0) / math.sqrt(len(lengths))
    by_line = stdev(blocks) / math.sqrt(len(blocks)) if len(blocks) > 1 else 0.0
    typical = [min(s.intervals, key=lambda i: abs(i.length - s.length)) for s in tree]
    return Cell(
        label=f"start of {first.source}",
        topk=first.topk,
        budget=first.budget,
        steps=first.steps,
        length=length,
        error=max(by_start, by_line),
        samples=blocks if len(blocks) >= FEWEST else (),
        lengths=lengths,
        lines=tuple(i.line for i in typical),
    )

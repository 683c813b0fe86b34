"""Say when measured trees are sound: the answers hold at every width, and with a mask that is read wrongly they would not have. Judges whole result files, never a log.

That nothing falls is no news where nothing could have fallen: too narrow trees, too few answers, or answers that nobody checked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from forensics import significance
from forensics.model import BenchRun, Evidence
from forensics.model.counted import counted
from forensics.reason.acceptance import DROP, FEWEST_ASKED, Acceptance, judged, told_apart, unjudged
from forensics.reason.trees import Cell, by_chance, widest

BROKEN = (
    (32, 0.15),
    (16, 0.4),
    (8, 0.7),
)  # the share still right with a mask that is ignored, from that budget on: 2, 6 and 11 of 16 as measured (rules/causes/mask.yaml)
UNSEEN = 0.05  # the chance that it would not have shown
UNSURE = 0.05  # the chance of a fall that is no verdict, and no rest either
MOSTLY = 0.9  # of the answers right with one branch: where nobody says what the plain run gives, that is near it
HARDLY = 1.3  # tokens a step, below which drafting gains next to nothing
_NEITHER = "a wrong tree mask is neither seen nor ruled out: {}"
_COUNTED = 400  # answers of a tree: more say no more


class Sound(NamedTuple):
    """``told``: the figures in words where all series are sound. ``doubt``: else what falls a little, or what was not measured."""

    told: str | None
    doubt: str | None
    lines: tuple[Evidence, ...] = ()
    cells: tuple[Cell, ...] = ()
    where: str = ""  # which of several series these are the cells of


def sound(benches: Sequence[BenchRun]) -> Sound | None:
    """What all series of these results say together; None where nothing was measured by width, or where something falls by more than chance."""
    series = [one for bench in benches for one in judged(bench)]
    if any(one.falls for one in series):
        return None
    beyond = _only_elsewhere(benches, series)
    if not series:
        return None if beyond is None else Sound(told=None, doubt=_NEITHER.format(beyond[0]), lines=beyond[1].lines)
    named = told_apart(series)
    for where, one in zip(named, series, strict=True):
        if doubt := _wrong_at_all(one) or (None if beyond else _open(one)):
            return Sound(told=None, doubt=doubt, lines=one.lines, cells=one.cells, where=where)
    if otherwise := _otherwise(benches):
        return Sound(told=None, doubt=_NEITHER.format(otherwise[0]), lines=otherwise[1].lines, cells=series[0].cells, where=named[0])
    if beyond:
        return Sound(told=None, doubt=_NEITHER.format(beyond[0]), lines=beyond[1].lines, cells=series[0].cells, where=named[0])
    where, least = min(zip(named, series, strict=True), key=lambda one: _worst(one[1]).correct or 0.0)
    straight = _answered(_straight(least)) or _answered(least.plain)
    return Sound(told=_told(least, len(series)), doubt=None, lines=(*_worst(least).lines, *straight[-1].lines), cells=least.cells, where=where)


def _wrong_at_all(one: Acceptance) -> str | None:
    """Where the plain run is right, and a single branch not: no matter of the width."""
    narrow, plain = _mean(_answered(_straight(one))), _mean(_answered(one.plain))
    if narrow is None or plain is None or narrow >= plain - DROP:
        return None
    return f"speculation itself gives wrong answers, whatever the width of its tree: {narrow:.0%} are right with a single branch and {plain:.0%} without it"


def _open(one: Acceptance) -> str | None:
    doubt = _doubt(one)
    return None if doubt is None else _NEITHER.format(doubt)


def _otherwise(benches: Sequence[BenchRun]) -> tuple[str, Acceptance] | None:
    """In words, where another measure of the same answers falls by more than chance: agreement with a plain run may break at roundings, or with the mask."""
    for bench in benches:
        for name, rows in bench.otherwise.items():
            if fallen := [one for one in judged(replace(bench, matrix=rows)) if one.falls]:
                worst = min(fallen, key=lambda one: one.likeliness)
                return f"one measure of the answers stays as the draft tree widens, and {name} falls ({worst.told})", worst
    return None


def _only_elsewhere(benches: Sequence[BenchRun], series: Sequence[Acceptance]) -> tuple[str, Cell] | None:
    """In words, where the widest trees of all were measured under conditions under which nothing narrow was: they are held against nothing."""
    held = [c for one in series for c in _answered(_branching(one))]
    narrow = [dict(row.settings) for bench in benches for row in bench.matrix if not (row.topk or 0) > 1]
    if not narrow:
        return None
    for alone in (c for bench in benches for c in widest(unjudged(bench))):
        if not any((c.topk or 0) >= (alone.topk or 0) and (c.budget or 0) >= (alone.budget or 0) for c in held):
            return f"{alone.tree} was measured{_under(alone, narrow)} only, and neither a single branch nor a plain run was measured so", alone
    return None


def _under(alone: Cell, others: Sequence[Mapping[str, str]]) -> str:
    """Its conditions that not all of the others have: ``with suite=b``."""
    own = [f"{name}={value}" for name, value in alone.settings if any(other.get(name) != value for other in others)]
    return f" with {' '.join(own)}" if own else ""


def _doubt(one: Acceptance) -> str | None:
    """Why a series in which nothing surely falls is not called sound; None where it is."""
    if one.told is not None:
        return f"{one.told}, which is not enough to tell"
    straight, branching = _answered(_straight(one)), _answered(_branching(one))
    if (branching or straight or _answered(one.plain)) and (unknown := _not_measured(one)):
        return unknown
    if not branching or not (straight or _answered(one.plain)):
        return "whether the answers are right was not measured, and lengths need not show it"
    narrow, plain = _mean(straight), _mean(_answered(one.plain))
    if plain is None and (narrow or 0.0) < MOSTLY:
        return f"{narrow or 0.0:.0%} of the answers are right with a single branch, and no plain run says whether that is right"
    for cell in branching:
        if less := _less(cell, [*straight, *_answered(one.plain)]):
            return less
    if math.prod(_unseen(c) for c in branching) > UNSEEN:
        return "it shows in wide trees and in many answers: measure budgets of 16 and more, with 16 answers or more each"
    few = next((c for c in widest(_branching(one)) if c.asked is not None and c.asked < FEWEST_ASKED), None)
    return (
        None
        if few is None
        else f"only {counted(few.asked or 0, 'answer')} of the widest tree {few.tree} {'was' if few.asked == 1 else 'were'} measured{_lost(few)}"
    )


def _not_measured(one: Acceptance) -> str | None:
    """In words, where the answers of a widest tree, in which a wrong mask shows most, were not measured."""
    without = next((c for c in widest(_branching(one)) if c.correct is None), None)
    return None if without is None else f"the answers of the widest tree {without.tree} were not measured{_lost(without)}"


def _lost(cell: Cell) -> str:
    return f" ({counted(cell.lost, 'request')} of it got no answer)" if cell.lost else ""


def _less(cell: Cell, others: Sequence[Cell]) -> str | None:
    """In words, where a tree has fewer right answers than those with one branch, by more than luck mostly does."""
    share = _mean(others) or 0.0
    if (cell.correct or 0.0) >= share:
        return None
    counts = [c.answers for c in others if c.answers]
    if cell.answers and counts:
        chance = significance.fewer(*cell.answers, sum(right for right, _ in counts), sum(n for _, n in counts))
        if chance >= UNSURE and share - (cell.correct or 0.0) < DROP:
            return None
        of = f"{cell.answers[0]} of {cell.answers[1]} answers are right with {cell.tree}, {share:.0%} with a single branch"
        return f"{of}; {by_chance(chance)}, which is not enough to tell"
    if share - (cell.correct or 0.0) < DROP / 2:
        return None
    return f"{cell.correct:.0%} of the answers are right with {cell.tree}, {share:.0%} with a single branch, and of how many is not said"


def _unseen(cell: Cell) -> float:
    """The chance of so many right answers though the mask is wrong."""
    right_by_luck = next((share for budget, share in BROKEN if (cell.budget or 0) >= budget), 1.0)
    share = cell.correct or 0.0
    n = cell.asked or (1 if share >= 1 else round(1 / (1 - share)))  # of that many at least: 0.98 is of fifty, 1.0 may be of one
    n = min(n, _COUNTED)
    least = min(n, round(share * n))
    return math.fsum(math.comb(n, k) * right_by_luck**k * (1 - right_by_luck) ** (n - k) for k in range(least, n + 1))


def _told(one: Acceptance, series: int) -> str:
    branching, worst = _answered(_branching(one)), _worst(one)
    straight = _answered(_straight(one))
    before = (
        f"{_share(max(straight, key=lambda c: c.correct or 0.0))} right with a single branch"
        if straight
        else f"{_share(_answered(one.plain)[0])} without speculation"
    )
    alike = len({_share(c) for c in branching}) == 1
    among = f", {'as with all' if alike else 'the least of'} {len(branching)} with branches" if len(branching) > 1 else ""
    told = f"the answers stay right as the draft tree widens ({before}, {_share(worst)} with {worst.tree}{among}"
    told += "; of how many answers is not said" if any(c.answers is None for c in branching) else ""
    told += f"; the same in {series - 1} more series)" if series > 1 else ")"
    lengths = [c.length for c in one.cells if c.length is not None]
    if not lengths:
        return told
    hardly = ", so hardly a draft is accepted" if max(lengths) < HARDLY else ""
    return f"{told}, with {min(lengths):.2f} to {max(lengths):.2f} tokens a step{hardly}"


def _worst(one: Acceptance) -> Cell:
    """The branching tree with the fewest right answers, of several the widest."""
    return min(_answered(_branching(one)), key=lambda c: (c.correct or 0.0, -(c.budget or 0), -(c.topk or 0)))


def _share(cell: Cell) -> str:
    return "{} of {}".format(*cell.answers) if cell.answers else f"{cell.correct:.0%}"


def _straight(one: Acceptance) -> list[Cell]:
    return [c for c in one.cells if c not in _branching(one)]


def _branching(one: Acceptance) -> tuple[Cell, ...]:
    return one.cells[len(one.cells) - one.branching :]


def _answered(cells: Iterable[Cell]) -> list[Cell]:
    return [c for c in cells if c.correct is not None]


def _mean(cells: Sequence[Cell]) -> float | None:
    return math.fsum(c.correct or 0.0 for c in cells) / len(cells) if cells else None

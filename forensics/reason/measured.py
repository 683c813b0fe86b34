"""What was measured of the trees that a verdict rests on, or that nothing is wrong with, as the report shows it: of a benchmark, else of the server's own lines. Judges nothing."""

from __future__ import annotations

from collections.abc import Sequence

from forensics.model import Cause, TreeFigure
from forensics.reason.acceptance import DROP
from forensics.reason.known import KnownFacts
from forensics.reason.trees import Cell, holds, least_fall

RIGHT, LENGTH = "right answers", "tokens a step"


def measured(known: KnownFacts, cause: Cause) -> tuple[TreeFigure, ...]:
    """Figures of all trees of the series that tells most; none where the cause is another, or nobody asks about trees."""
    cells, series = _cells(known, cause)
    narrow = [c.correct for c in cells if (c.topk or 0) <= 1 and c.correct is not None]
    best = sum(narrow) / len(narrow) if narrow else None
    figures = [
        TreeFigure(
            metric=RIGHT,
            topk=c.topk or 0,
            budget=c.budget or 0,
            value=c.correct,
            share=True,
            series=series,
            wrong=best is not None and c.correct < best - DROP,
        )
        for c in cells
        if c.correct is not None
    ]
    figures += [
        TreeFigure(metric=LENGTH, topk=c.topk or 0, budget=c.budget or 0, value=c.length, series=series, wrong=_shorter(c, cells))
        for c in cells
        if c.length is not None
    ]
    return tuple(figures)


def _cells(known: KnownFacts, cause: Cause) -> tuple[Sequence[Cell], str]:
    if cause in (Cause.HEALTHY, Cause.UNKNOWN):
        return (known.sound.cells, known.sound.where) if known.sound is not None else ((), "")
    if cause is not Cause.MASK_CORRUPTION:
        return (), ""
    found = known.accept
    if found is not None and found.told is not None:
        return found.cells, found.where
    return (known.drafted.cells if known.drafted is not None else ()), ""


def _shorter(cell: Cell, cells: Sequence[Cell]) -> bool:
    """Whether one that is a part of it is accepted longer, by more than is worth a word."""
    return any(other.length and holds(cell, other) and 1 - (cell.length or 0.0) / other.length >= least_fall(cell, other) for other in cells)

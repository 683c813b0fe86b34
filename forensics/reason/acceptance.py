"""Judge measured trees: does correctness or acceptance collapse as the tree gets wider? Reads matrices, never a log."""

from __future__ import annotations

from dataclasses import dataclass

from forensics.model import BenchRun, Evidence, Matrix

# A lossless method differs from the plain run by rounding alone; healthy runs stay above this (measured on sound matrices)
SOUND = 0.9
DROP = 0.15


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """The narrowest and the widest tree, what they got right (0…1), and the lines that say so."""

    narrow: float | None = None
    wide: float | None = None
    narrow_len: float | None = None
    wide_len: float | None = None
    first_bad: str | None = None
    by_width: tuple[tuple[str, float], ...] = ()  # label and acceptance length, narrow to wide
    lines: tuple[Evidence, ...] = ()


def acceptance(benches: tuple[BenchRun, ...]) -> Acceptance | None:
    """Compare branching trees (topk above 1) with the straight ones; None where nothing was measured by width."""
    for bench in benches:
        rows = [r for r in bench.matrix if r.budget is not None or r.topk is not None]
        if len(rows) < 2:
            continue
        ordered = sorted(rows, key=lambda r: ((r.topk or 0) > 1, r.budget or 0, r.topk or 0))
        narrow, wide = _narrow(ordered), ordered[-1]
        bad = next((r for r in ordered if _wrong(r, narrow)), None)
        lines = tuple(Evidence(source=bench.source, line=r.line_no, text=r.text) for r in dict.fromkeys((wide, bad or wide, narrow)))
        return Acceptance(
            narrow=narrow.correct,
            wide=wide.correct,
            narrow_len=narrow.accept_len,
            wide_len=wide.accept_len,
            first_bad=bad.label if bad else None,
            lines=lines,
            by_width=tuple((r.label, r.accept_len) for r in ordered if r.accept_len is not None),
        )
    return None


def _narrow(ordered: list[Matrix]) -> Matrix:
    straight = [r for r in ordered if (r.topk or 0) <= 1]
    return straight[-1] if straight else ordered[0]


def _wrong(row: Matrix, narrow: Matrix) -> bool:
    if row.correct is None or narrow.correct is None:
        return False
    return row.correct < SOUND and row.correct < narrow.correct - DROP

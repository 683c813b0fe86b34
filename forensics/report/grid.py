"""Figures of trees over top-k and budget as a small table with a bar before each, for a report and for a comparison. Judges none of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from forensics.model import Diagnosis, TreeFigure
from forensics.report import cite

FEWEST = 3  # cells: fewer stand in the headline
_BARS = "▁▂▃▄▅▆▇█"
_MOST_TREES = 400
Tree = tuple[int, int]  # top-k and budget


def shown(d: Diagnosis, width: int, paint: Callable[[str, str], str] = lambda text, _: text, red: str = "31") -> list[str]:
    """What was measured of the trees that the verdict rests on; empty where it rests on none, or on hardly any. What breaks bears a mark."""
    lines: list[str] = []
    for metric in dict.fromkeys(f.metric for f in d.trees):
        figures = [f for f in d.trees if f.metric == metric][:_MOST_TREES]
        if len(figures) < FEWEST:
            continue
        cells = {(f.topk, f.budget): _cell(f, figures, paint, red) for f in figures}
        lines += [*([""] if lines else []), *table(metric, cells, width=width)]
    series = next((f.series for f in d.trees if f.series), "")
    said = cite.wrapped(f"of {series}", width) if series else []
    said += ["! worse than a tree that is a part of it"] if any(f.wrong for f in d.trees) else []
    return [*lines, "", *said] if lines and said else lines


def _cell(figure: TreeFigure, all_: Sequence[TreeFigure], paint: Callable[[str, str], str], red: str) -> str:
    text = (
        f"{bar(figure.value, [f.value for f in all_])} {figure.value:.0%}"
        if figure.share
        else f"{bar(figure.value, [f.value for f in all_])} {figure.value:.2f}"
    )
    return paint(f"{text}!", red) if figure.wrong else f"{text} "


def bar(value: float, among: Sequence[float]) -> str:
    """One character, the higher the more: from nothing to the most of them."""
    most = max(among)
    return _BARS[min(len(_BARS) - 1, max(0, int(value / most * len(_BARS))))] if most > 0 else _BARS[0]


def table(metric: str, cells: Mapping[Tree, str], *, width: int | None = None) -> list[str]:
    """Rows of top-k and columns of budgets; the other way round where that is too wide, and without the middle columns where that is too wide as well."""
    topks, budgets = (sorted({tree[n] for tree in cells}) for n in (0, 1))
    across = _drawn(metric, [f"topk {k}" if k else "" for k in topks], [f"budget {b}" for b in budgets],
                    [[cells.get((k, b), "") for b in budgets] for k in topks])  # fmt: skip
    if width is None or _fits(across, width):
        return across
    rows = [[cells.get((k, b), "") for k in topks] for b in budgets]
    names, heads = [f"budget {b}" for b in budgets], [f"topk {k}" if k else "" for k in topks]
    down = _drawn(metric, names, heads, rows)
    kept = len(heads)
    while not _fits(down, width) and kept > 2:
        kept -= 1
        left = kept // 2 + kept % 2
        chosen = [*range(left), *range(len(heads) - kept // 2, len(heads))]
        down = _drawn(metric, names, [heads[n] for n in chosen], [[row[n] for n in chosen] for row in rows])
    return down if kept == len(heads) else [*down, f"({len(heads) - kept} more between)"]


def _drawn(corner: str, names: Sequence[str], heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    from tabulate import tabulate

    body = [[name, *row] for name, row in zip(names, rows, strict=True)]
    sides = ["left", *("right" for _ in heads)]
    return tabulate(body, headers=[corner, *heads], tablefmt="simple", disable_numparse=True, colalign=sides).splitlines()


def _fits(lines: Sequence[str], width: int) -> bool:
    return len(lines[1]) <= width  # the rule under the head holds no colour

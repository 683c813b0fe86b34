"""A Comparison as text, Markdown or JSON: what got worse first. Knows no benchmark; what comes from a result file is shown harmless."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from forensics import redact
from forensics.model.comparison import FAILED, Comparison, Difference, Judgement
from forensics.report import cite, grid, markdown

SCHEMA = "ddforensics/comparison/1"
_HEAD = ("", "where", "figure", "base", "new", "change", "by chance", "test")
_ALIGN = ("left", "left", "left", "right", "right", "right", "right", "left")
_CODES = {Judgement.WORSE: "31", Judgement.BETTER: "32"}


def text(found: Comparison, *, width: int = 80, color: bool = False, every: bool = False) -> str:
    """The verdict in a line, the warnings, and a table: what is worse or better, and (``every``) what is as it was or cannot be judged."""
    from tabulate import tabulate

    found = _washed(found, _harmless)
    shown = _shown(found, every)
    lines = [_verdict(found)]
    lines += [line for warning in found.warnings for line in cite.wrapped(f"note: {warning}", width)]
    lines += [line for side, names in _missing(found) for line in cite.wrapped(f"only in the {side}: {', '.join(names)}", width, 3)]
    if shown:
        full = [n for n in range(len(_HEAD)) if n == 0 or any(_cells(d)[n] for d in shown)]
        rows = [[_painted(_cells(d)[n], d, color and n == 0) for n in full] for d in shown]
        table = tabulate(rows, headers=[_HEAD[n] for n in full], tablefmt="simple", disable_numparse=True, colalign=[_ALIGN[n] for n in full])
        lines += ["", *table.splitlines()]
    lines += _grids(found, color, width)
    if hidden := len(found.differences) - len(shown):
        lines += ["", f"{hidden} figures are as they were, or cannot be judged (--all shows them)"]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def as_markdown(found: Comparison, *, every: bool = False) -> str:
    """The same for a pull request: a table that no text of a result file can break out of."""
    found = _washed(found, _harmless)
    shown = _shown(found, every)
    blocks = [f"**{markdown.escaped(_verdict(found))}**", *(f"- {markdown.escaped(warning)}" for warning in found.warnings)]
    blocks += [f"- only in the {side}: {markdown.escaped(', '.join(names))}" for side, names in _missing(found)]
    if shown:
        rows = [_HEAD, *(_cells(d) for d in shown)]
        table = ["| " + " | ".join(markdown.escaped(cell) for cell in row) + " |" for row in rows]
        table.insert(1, "|" + "|".join("---:" if side == "right" else "---" for side in _ALIGN) + "|")
        blocks.append("\n".join(table))
    return "\n\n".join(blocks) + "\n"


def as_json(found: Comparison) -> str:
    """One line. Every key is always there; figures are exact, and null where they are not finite or not known; control characters are escaped by JSON itself."""
    found = _washed(found, redact.secrets)
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "base": found.base,
        "new": found.new,
        "tolerance": found.tolerance,
        "regressed": found.regressed,
        "differences": [
            {
                "judgement": str(d.judgement), "where": d.where or None, "metric": d.metric, "base": _finite(d.base), "new": _finite(d.new),
                "change": _finite(d.change), "chance": _finite(d.chance), "test": d.by or None, "of": list(d.of) if d.of else None,
            }
            for d in found.differences
        ],
        "only_base": list(found.only_base),
        "only_new": list(found.only_new),
        "warnings": list(found.warnings),
    }  # fmt: skip
    return json.dumps(document, ensure_ascii=True, allow_nan=False)


def _grids(found: Comparison, color: bool, width: int) -> list[str]:
    """Figures of the new result over top-k and budget, where trees of several of both were measured; what is worse bears a mark."""
    lines: list[str] = []
    for metric in dict.fromkeys(d.metric for d in found.differences if d.tree is not None):
        cells: dict[tuple[int, int], Difference | None] = {}
        for d in found.differences:
            if d.tree is not None and d.metric == metric and None not in d.tree:
                place = (d.tree[0] or 0, d.tree[1] or 0)
                cells[place] = None if place in cells else d  # measured under several conditions: no one figure
        told = {place: d for place, d in cells.items() if d is not None}
        if len({topk for topk, _ in cells}) < 2 or len({budget for _, budget in cells}) < 3 or len(told) < len(cells):
            continue
        values = [d.new for d in told.values()]
        lines += ["", *grid.table(metric, {place: _cell(d, values, color) for place, d in told.items()}, width=width)]
    return [*lines, "", "! worse than the base"] if lines and found.regressed else lines


def _cell(d: Difference, among: Sequence[float], color: bool) -> str:
    worse = d.judgement is Judgement.WORSE
    return _painted(f"{grid.bar(d.new, among)} {_number(d.new)}{'!' if worse else ' '}", d, color and worse)


def _washed(found: Comparison, wash: cite.Wash) -> Comparison:
    """The same with every text that a result file may have written sent through ``wash``: none can be forgotten."""
    return replace(
        found,
        base=wash(found.base),
        new=wash(found.new),
        differences=tuple(replace(d, where=wash(d.where), metric=wash(d.metric)) for d in found.differences),
        only_base=tuple(map(wash, found.only_base)),
        only_new=tuple(map(wash, found.only_new)),
        warnings=tuple(map(wash, found.warnings)),
    )


def _harmless(told: str) -> str:
    return " ".join(redact.secrets(redact.neutralise(told)).split())


def _shown(found: Comparison, every: bool) -> list[Difference]:
    """Requests that failed are always shown: without them a latency of those that were answered looks like one of all."""
    return [d for d in found.differences if every or d.judgement in (Judgement.WORSE, Judgement.BETTER) or (d.metric == FAILED and (d.base or d.new))]


def _verdict(found: Comparison) -> str:
    count = {judgement: sum(d.judgement is judgement for d in found.differences) for judgement in Judgement}
    if count[Judgement.WORSE]:
        return f"worse: {count[Judgement.WORSE]} of {_judged(found)} figures" + (
            f"; better: {count[Judgement.BETTER]}" if count[Judgement.BETTER] else ""
        )
    better = f"better: {count[Judgement.BETTER]} of {_judged(found)} figures; " if count[Judgement.BETTER] else ""
    more = sum(d.metric == FAILED and d.new > d.base for d in found.differences)
    fewer = "; but more requests failed, as chance may do (see the note)" if more else ""
    return f"{better}nothing got worse by more than {100 * found.tolerance:.3g}% and more than chance does{fewer}"


def _judged(found: Comparison) -> int:
    return sum(d.judgement is not Judgement.NOTED for d in found.differences)


def _missing(found: Comparison) -> list[tuple[str, Sequence[str]]]:
    return [(side, names) for side, names in (("base", found.only_base), ("new result", found.only_new)) if names]


def _cells(d: Difference) -> tuple[str, ...]:
    chance = "" if d.chance is None else "< 0.0001" if d.chance < 0.0001 else f"{d.chance:.4f}"
    test = f"{d.by}, {d.of[0]} and {d.of[1]}" if d.by and d.of else d.by
    share = d.metric == FAILED
    base, new = (f"{value:.2%}" if share else _number(value) for value in (d.base, d.new))
    return (str(d.judgement), d.where, d.metric, base, new, "" if d.change is None else f"{d.change:+.1%}", chance, test)


def _painted(cell: str, d: Difference, color: bool) -> str:
    code = _CODES.get(d.judgement) if color else None
    return f"\x1b[{code}m{cell}\x1b[0m" if code else cell


def _number(value: float) -> str:
    return f"{value:,.0f}" if 10_000 <= abs(value) < 1e15 else f"{value:.4g}"


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None

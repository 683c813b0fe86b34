"""Work out the GPU memory budget from a server's own figures: how low and how high its fraction may be. Knows budgets, not servers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from forensics.model import Direction, Evidence
from forensics.reason import figures
from forensics.reason.lives import Placed
from forensics.reason.place import Story, evidence
from forensics.ruleset.schema import Figure

ROOM = 0.02  # of the free memory: below this the pool holds a handful of requests and the next start fails again
CEILING = 0.97


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Figures in GiB as the server logged them; fractions 0…1. Everything may be unknown."""

    flag: str | None = None
    total_gib: float | None = None
    free_before_gib: float | None = None
    free_after_weights_gib: float | None = None
    free_after_pool_gib: float | None = None
    graph_gib: float | None = None
    fraction: float | None = None
    asked_gib: float | None = None
    free_at_failure_gib: float | None = None
    held_by_others_gib: float | None = None
    wanted_min: float | None = None
    fraction_min: float | None = None
    fraction_max: float | None = None
    lines: Mapping[str, Evidence] = field(default_factory=dict)

    @property
    def fits(self) -> bool | None:
        """Whether any fraction works; None where a bound is unknown."""
        if self.fraction_min is None or self.fraction_max is None:
            return None
        return self.fraction_min < self.fraction_max

    def suggest(self, direction: Direction | None) -> float | None:
        """The fraction to try, on a grid of 0.01; None where the figures give none or none would fit."""
        if direction is Direction.RAISE and self.fraction_min is not None:
            to = math.ceil(round((self.fraction_min + ROOM) * 100, 6)) / 100
            if self.fraction is not None and to <= self.fraction:
                to = math.ceil(round((self.fraction + ROOM) * 100, 6)) / 100
            return to if to <= CEILING and self.fits is not False else None
        if direction is Direction.LOWER and self.fraction_max is not None:
            to = math.floor(round((self.fraction_max - ROOM / 2) * 100, 6)) / 100
            if self.fraction is not None and to >= self.fraction:
                to = math.floor(round((self.fraction - ROOM) * 100, 6)) / 100
            return to if to > 0.1 and self.fits is not False else None
        return None


def budget(story: Story) -> Budget:
    """Read the budget of the life at issue. Source of the formula: the servers' own sizing code, see the profiles' ``memory``."""
    profile = story.profile
    model = profile.memory if profile else None
    values: dict[str, float] = {}
    lines: dict[str, Evidence] = {}
    if model is not None:
        mine = [p for p in story.placed if p.life == story.issue.index]
        facts = {f.id: f.fact for f in model.figures}
        for figure in model.figures:
            limit = figure.take.removeprefix("before:")
            until = min((p.order for p in mine if facts.get(p.seen.hit.rule) == limit), default=1 << 30)
            _read(figure, [p for p in mine if p.seen.hit.rule == figure.id and p.order <= until], values, lines)
    _allocator(story, values, lines)
    fraction = values.get("fraction")
    if fraction is None and model is not None:
        fraction = _number(story.issue.arguments.get(model.argument) or story.issue.arguments.get(model.flag.lstrip("-").replace("-", "_")))
    if fraction is None and model is not None:
        fraction = model.default
    free, after, total = values.get("free_before_gib"), values.get("free_after_weights_gib"), values.get("total_gib")
    low = high = None
    if model is not None and model.fraction_of == "free":
        if free and after is not None and 0 <= after <= free:
            low = 1 - after / free
        asked, left = values.get("asked_gib"), values.get("free_at_failure_gib")
        if free and fraction is not None and asked is not None and left is not None:
            high = fraction - (asked - left) / free if asked > left else fraction - ROOM
        if free and values.get("graph_gib"):
            high = min(high if high is not None else 1.0, 1 - values["graph_gib"] / free)
    elif model is not None and total:
        start = values.get("free_at_start_gib", free)
        if start is not None:
            high = start / total
        needed, available = values.get("kv_needed_gib"), values.get("kv_available_gib")
        if fraction is not None and needed is not None and available is not None and needed > available:
            low = fraction + (needed - available) / total
    if values.get("wanted_min"):
        low = values["wanted_min"]
    return Budget(
        flag=model.flag if model else None,
        total_gib=total,
        free_before_gib=free,
        free_after_weights_gib=after,
        free_after_pool_gib=values.get("free_after_pool_gib"),
        graph_gib=values.get("graph_gib"),
        fraction=fraction,
        asked_gib=values.get("asked_gib"),
        free_at_failure_gib=values.get("free_at_failure_gib"),
        held_by_others_gib=values.get("held_by_others_gib"),
        wanted_min=values.get("wanted_min"),
        fraction_min=low,
        fraction_max=high,
        lines=lines,
    )


def _read(figure: Figure, hits: list[Placed], values: dict[str, float], lines: dict[str, Evidence]) -> None:
    found = [(v, p) for p in hits if (v := _number(p.seen.hit.captures.get("value"))) is not None]
    if not found:
        return
    chosen = {
        "first": lambda: found[0],
        "last": lambda: found[-1],
        "min": lambda: min(found, key=lambda f: f[0]),
        "max": lambda: max(found, key=lambda f: f[0]),
    }.get(figure.take, lambda: found[-1])()
    value, placed = chosen
    values[figure.fact] = value / 1024 if figure.unit in ("MiB", "MB") else value
    lines[figure.fact] = evidence(placed.seen.record)


_GIB = r"[0-9]{1,15}(?:\.[0-9]{1,15})?"
_TRIED = re.compile(rf"[Tt]ried to allocate ({_GIB}) (GiB|MiB|KiB|bytes)")
_CAPACITY = (
    re.compile(rf"total capacity of ({_GIB}) (GiB|MiB) of which ({_GIB}) (GiB|MiB|KiB|bytes) is free"),
    re.compile(rf"({_GIB}) (GiB|MiB) total capacity; [^;]{{0,60}};(?: [^;]{{0,60}};)? ({_GIB}) (GiB|MiB|KiB|bytes) free;"),  # PyTorch up to 2.0
)
_OTHERS = re.compile(rf"Process \d+ has ({_GIB}) (GiB|MiB) memory in use")
_SCALE = {"GiB": 1.0, "MiB": 1 / 1024, "KiB": 1 / 1024**2, "bytes": 1 / 1024**3}


def _allocator(story: Story, values: dict[str, float], lines: dict[str, Evidence]) -> None:
    """The figures of PyTorch's out-of-memory message, the same for every server (c10/cuda/CUDACachingAllocator.cpp)."""
    for signal in story.of_issue():
        if signal.record is None or not (tried := _TRIED.search(signal.record.text)):
            continue
        values.setdefault("asked_gib", float(tried[1]) * _SCALE[tried[2]])
        lines.setdefault("asked_gib", signal.lines[0])
        if capacity := next((m for c in _CAPACITY if (m := c.search(signal.record.text))), None):
            values.setdefault("total_gib", float(capacity[1]) * _SCALE[capacity[2]])
            values.setdefault("free_at_failure_gib", float(capacity[3]) * _SCALE[capacity[4]])
        others = [float(m[1]) * _SCALE[m[2]] for m in _OTHERS.finditer(signal.record.text)]
        if others and "this process has" in signal.record.text:
            values.setdefault("held_by_others_gib", sum(others))
        return


def _number(text: str | None) -> float | None:
    return figures.figure(text)

"""The memory of the host in figures: what the unit took at most against its limits, what the machine has left, shared memory and swap. Names no cause."""

from __future__ import annotations

from forensics.model import MemoryRow
from forensics.reason.place import Story

_OF_UNIT = {
    "peak of the unit": ("peak", "memory_peak_gib"),
    "limit of the unit": ("limit", "memory_max_gib"),
    "throttled above": ("high", "memory_high_gib"),
}
_OF_GROUP = {"peak of the unit": "cgroup_peak_gib", "limit of the unit": "cgroup_max_gib", "throttled above": "cgroup_high_gib"}
_OF_MACHINE = {
    "memory of the machine": "mem_total_gib",
    "available on it": "mem_available_gib",
    "swap": "swap_total_gib",
    "swap left": "swap_free_gib",
}


def rows(story: Story) -> tuple[MemoryRow, ...]:
    """What is known of it, in GiB. Nothing where neither the unit nor the machine says anything."""
    state, host = story.state, story.facts.host
    found: list[MemoryRow] = []
    for what, (key, name) in _OF_UNIT.items():
        value = getattr(state, name, None) if state is not None else None
        if value is not None and state is not None:
            line, _ = state.lines.get(key, (None, ""))
            found.append(_row(what, value, state.line_sources.get(key, state.source) if line else None, line))
        elif (figure := _OF_GROUP[what]) in host.figures:
            source, number, _ = host.lines.get(figure, (None, None, ""))
            found.append(_row(what, host.figures[figure], source, number))
    for what, name in _OF_MACHINE.items():
        if name in host.figures:
            source, number, _ = host.lines.get(name, (None, None, ""))
            found.append(_row(what, host.figures[name], source, number))
    for disk in host.disks or ():
        if disk.mount.endswith("/shm") and disk.size_gib is not None:
            found.append(_row("shared memory", disk.size_gib, disk.source or None, disk.line_no or None))
            if disk.free_gib is not None:
                found.append(_row("shared memory left", disk.free_gib, disk.source or None, disk.line_no or None))
    return tuple(found)


def _row(what: str, gib: float, source: str | None, line: int | None) -> MemoryRow:
    return MemoryRow(what=what, gib=round(gib, 4), on="host", source=source, line=line)


def spare(story: Story) -> str:
    """How much the machine had left besides, for a limit that was met: ``the machine has 512 GiB, 300.1 GiB of it available now``; "" where nobody looked."""
    total, left = (story.facts.host.figures.get(n) for n in ("mem_total_gib", "mem_available_gib"))
    if total is None or left is None:
        return ""
    return f"the machine has {total:.0f} GiB, {left:.1f} GiB of it available now"

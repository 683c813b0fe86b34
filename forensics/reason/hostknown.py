"""Compute the known facts about the host around a unit. Knows where each comes from; judges none of them."""

from __future__ import annotations

from forensics.model import Coverage, EndKind, Evidence, PartKind
from forensics.reason import around
from forensics.reason.place import Story

Value = tuple[object | None, tuple[Evidence, ...]]

_FIGURES = {
    "memory_total_gib": "mem_total_gib",
    "memory_available_gib": "mem_available_gib",
    "swap_free_gib": "swap_free_gib",
    "memory_pressure": "pressure_memory_full",
    "clock_error_s": "clock_error_s",
}


def of_host(story: Story, rest: str) -> Value:
    """A fact of the family ``host``."""
    facts, host = story.facts, story.facts.host
    if name := _FIGURES.get(rest):
        return host.figures.get(name), (around.cited(*host.lines[name]),) if name in host.lines else ()
    if rest in ("driver", "cuda"):
        return host.said.get(rest), (around.cited(*host.lines[rest]),) if rest in host.lines else ()
    if rest in ("disk_full", "disk_free_gib", "inodes_free"):
        return _disk(story, rest)
    if rest == "boot_end":
        end = around.boot_end(story)
        return (end.how if end else None), ((around.cited(end.source, end.line_no, end.text),) if end else ())
    if rest in ("port_holder", "port_free"):
        holder = around.port_holder(story)
        if rest == "port_free":
            return around.port_is_free(story), ()
        return (holder.process.pid if holder and holder.process else None), holder.lines if holder else ()
    if rest == "stuck":
        found = around.stuck(story)
        looked = host.processes is not None and facts.coverage.get("processes") is Coverage.READ
        return ({p.pid for p in found} if found or looked else None), tuple(around.cited(p.source, p.line_no, p.text) for p in found)[:3]
    if rest == "clock_synchronised":
        said = host.said.get("synchronised")
        return (None if said is None else said == "yes"), (around.cited(*host.lines["synchronised"]),) if said else ()
    values: dict[str, object | None] = {
        "units": facts.unit_names or None,
        "listeners": {x.port for x in facts.listeners} if facts.listeners is not None else None,
        "boots": len(facts.boots) or None,
        "rebooted": any(x.end.kind is EndKind.REBOOT for x in story.lives) or None,
        "clock_offset_s": facts.offset_s,
    }
    return values.get(rest), ()


def _disk(story: Story, rest: str) -> Value:
    disks = around.disks(story)
    if not disks:
        return None, ()
    if rest == "disk_full":
        full = around.full_disks(story)
        return bool(full), tuple(around.cited(d.source, d.line_no, d.text) for d in full)[:3]
    figure = "inodes_free" if rest == "inodes_free" else "free_gib"
    known = [d for d in disks if getattr(d, figure) is not None]
    least = min(known, key=lambda d: float(getattr(d, figure)), default=None)
    return (getattr(least, figure), (around.cited(least.source, least.line_no, least.text),)) if least else (None, ())


def of_gpu(story: Story, rest: str) -> Value:
    """A fact of the family ``gpu``."""
    gpus = story.facts.gpus
    if rest == "count":
        return len(gpus) or None, ()
    if rest == "ecc_uncorrected":
        counted = [g for g in gpus if g.ecc_uncorrected is not None]
        bad = [g for g in counted if g.ecc_uncorrected]
        source = around.source_of(story, PartKind.GPU, "gpu")
        return (sum(g.ecc_uncorrected or 0 for g in counted) if counted else None), tuple(around.cited(source, g.line_no, g.text) for g in bad)[:3]
    if rest == "held_by_others_gib":
        found = around.squatters(story)
        looked = story.facts.coverage.get("gpu") is Coverage.READ
        return (sum(s.on.used_gib or 0.0 for s in found) if found or (looked and gpus) else None), tuple(line for s in found for line in s.lines)[:4]
    return None, ()

"""The memory ledger in a few words a figure, for the reports in text and Markdown. Never longer than a handful of lines, and never shown where the cause is another."""

from __future__ import annotations

from collections.abc import Sequence

from forensics.model import BudgetOf, Cause, Diagnosis, Memory, MemoryRow

_OF_GPU = (Cause.GPU_OOM_INIT, Cause.GPU_OOM_RUNTIME)
_SHARE_OF = {
    BudgetOf.FREE: "of what was free before the weights",
    BudgetOf.TOTAL: "of the whole GPU",
    BudgetOf.REMAINING: "of what the weights leave",
}


def shown(d: Diagnosis, *, verbose: bool = False) -> list[str]:
    """One text a line to be wrapped: the figures of the GPU, what the fraction has to be, what a token takes; the figures of the host. Empty where nothing bears on the cause."""
    memory = d.memory
    if memory is None:
        return []
    found: list[str] = []
    if d.cause in _OF_GPU or verbose:
        gpu = [row for row in memory.rows if row.on == "gpu"]
        found += [text for text in (_figures("GPU, GiB", gpu), _window(memory), _token(memory)) if text]
    if d.cause is Cause.HOST_OOM or verbose:
        found += [text for text in (_figures("host, GiB", [row for row in memory.rows if row.on == "host"]),) if text]
    return found


def _figures(title: str, rows: Sequence[MemoryRow]) -> str:
    sources = {row.source for row in rows if row.source}
    parts = []
    for row in rows:
        where = "" if row.line is None else f":{row.line}" if len(sources) == 1 else f"{row.source}:{row.line}"
        notes = [text for text in (row.rank or "", "an earlier or later life" if row.earlier else "", where) if text]
        parts.append(f"{row.what} {row.gib:.2f}" + (f" ({', '.join(notes)})" if notes else ""))
    if not parts:
        return ""
    one = f" (lines of {next(iter(sources))})" if len(sources) == 1 else ""
    return f"{title}{one}: {', '.join(parts)}"


def _window(memory: Memory) -> str:
    if memory.flag is None or (memory.fraction is None and memory.fraction_min is None and memory.fraction_max is None):
        return ""
    parts = [f"{memory.fraction:g} in force" if memory.fraction is not None else "in force: not known"]
    # bounds without a margin: what is advised keeps one, and must not look as if it contradicted them
    # one bound alone can leave none: weights that take all of the memory, whatever has to stay free beside them
    bounds = ((memory.fraction_min, "below", "too little"), (memory.fraction_max, "above", "too much"))
    told = [f"{side} {bound:g} is {what}" for bound, side, what in bounds if bound is not None]
    parts.append(f"none works: {', '.join(told)}" if memory.fits is False else ", ".join(told))
    of = f" ({_SHARE_OF[memory.kind]})" if memory.kind is not None else ""
    return f"{memory.flag}{of}: {', '.join(part for part in parts if part)}"


def _token(memory: Memory) -> str:
    if memory.token_gib is None or memory.token_gib <= 0:
        return ""
    kib = memory.token_gib * 1024 * 1024
    token = f"{kib:.0f} KiB" if kib < 1024 else f"{kib / 1024:.1f} MiB"
    request = f", a request of full length {memory.request_gib:.2f} GiB" if memory.request_gib is not None else ""
    return f"a token takes {token} of the pool{request}"

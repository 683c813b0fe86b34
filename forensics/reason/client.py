"""Set what the client met against the life at issue: how early it came, how long it asked a dead service. Never judges the server."""

from __future__ import annotations

from forensics.model import ClientView, Warn
from forensics.reason.place import Story, error_times


def client_view(story: Story) -> ClientView | None:
    """What the client saw, None where no client output was given."""
    benches = [b for b in story.facts.benches if b.rows or b.errors or b.asked]
    if not benches:
        return None
    times = error_times(story.facts)
    first, last = min(times, default=None), max(times, default=None)
    life = story.issue
    refused = sum(b.errors.get("refused", 0) for b in benches)
    asked = [b.asked if b.asked is not None else (sum(b.errors.values()) + (b.ok or 0)) or None for b in benches]
    early = wasted = None
    if refused and first is not None and life.ready_at is not None and first < life.ready_at:
        early = life.ready_at - first
    if life.ended_at is not None and life.lived_s is not None and refused:
        span = max((b.span_s for b in benches if b.span_s is not None), default=None)
        if last is not None and last > life.ended_at:
            wasted = last - life.ended_at
        elif last is None and span is not None and span > life.lived_s:
            wasted = span - life.lived_s  # a relative clock: counted as if the first question came with the start
    return ClientView(
        tool=benches[0].tool,
        first_error_at=first,
        last_error_at=last,
        refused=refused,
        asked=sum(a for a in asked if a is not None) or None,
        early_s=early,
        wasted_s=wasted,
    )


def false_ready(story: Story) -> Warn | None:
    """A readiness check that the old process answered just before its restart is a false ready."""
    life = story.issue
    if life.started_at is None or life.ready:
        return None
    for bench in story.facts.benches:
        good = [r for r in bench.rows if r.kind == "ok" and r.at is not None and r.at <= life.started_at]
        bad = [r for r in bench.rows if r.kind not in ("ok", "") and (r.at is None or r.at >= life.started_at)]
        if good and bad:
            at = good[-1]
            return Warn(
                kind="false-ready",
                text=f"{bench.source}:{at.line_no} was answered by the old process, before the restart at issue: it says nothing about this one",
            )
    return None

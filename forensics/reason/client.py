"""Set what the client met against the life at issue: how early it came, how long it asked a dead service. Never judges the server."""

from __future__ import annotations

from collections import Counter

from forensics.model import ClientView, EndKind, MarkKind
from forensics.reason.issue import error_times
from forensics.reason.place import Story

FAIR_S = 1.0  # stamps of two programs on one event
TURNED_AWAY = ("refused", "reset", "unconnected", "not-ready")  # nobody was there who could answer
NOT_READY = (*TURNED_AWAY, "timed-out", "http-503")  # how a server that is not up yet meets its clients


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
    met = any(b.errors.get(kind) for b in benches for kind in NOT_READY)
    # a client that was refused before the restart met the life before this one
    begun_at = down_since(story) if across_restart(story) else life.started_at
    if met and first is not None and life.ready_at is not None and first < life.ready_at and (begun_at is None or first >= begun_at):
        early = life.ready_at - first
    if life.ended_at is not None and life.lived_s is not None and refused:
        span = max((b.span_s for b in benches if b.span_s is not None), default=None)
        if last is not None and first is not None and last > life.ended_at:
            wasted = _dead_s(story, first, last)
        elif last is None and span is not None and span > life.lived_s:
            wasted = span - life.lived_s  # a relative clock: counted as if the first question came with the start
    return ClientView(
        tool=" and ".join(tools) if len(tools := list(dict.fromkeys(b.tool for b in benches))) < 3 else f"{tools[0]} and {len(tools) - 1} others",
        errors=dict(sum((Counter(b.errors) for b in benches), Counter[str]())),
        clock_shift_s=next((b.shift_s for b in benches if b.shift_s is not None), None),
        first_error_at=first,
        last_error_at=last,
        refused=refused,
        asked=sum(a for a in asked if a is not None) or None,
        failed=sum(max(b.failed or 0, sum(b.errors.values())) for b in benches),  # a benchmark prints the first ten, and counts all
        early_s=early,
        wasted_s=wasted,
    )


def _dead_s(story: Story, first: float, last: float) -> float | None:
    """For how long it asked a service that was dead: from the death, or its first error where that came later, until its last error or the next start."""
    life = story.issue
    assert life.ended_at is not None
    following = story.lives[life.index + 1].started_at if life.index + 1 < len(story.lives) else None
    until = last if following is None else min(last, following)
    return until - max(first, life.ended_at) if until > max(first, life.ended_at) else None


def down_since(story: Story) -> float | None:
    """When the life before the one at issue was told to stop, or ended; None where there is none, or nobody stopped it.

    Of several that were stopped one after the other it is the last that had become ready: from then on nobody was answered.
    """
    if not story.issue.index:
        return None
    before = story.lives[story.issue.index - 1]
    while before.index and not before.ready and story.lives[before.index - 1].end.kind is EndKind.STOPPED:
        before = story.lives[before.index - 1]
    if before.end.kind is not EndKind.STOPPED and not before.stop_asked:
        return None
    asked = [
        p.seen.record.at
        for p in story.placed
        if p.life == before.index and p.mark is not None and p.mark.kind in (MarkKind.STOP_ASKED, MarkKind.STOPPING) and p.seen.record.at is not None
    ]
    return min((*asked, *(at for at in (before.ended_at,) if at is not None)), default=None)


def across_restart(story: Story) -> bool:
    """Whether the client was being answered by the life before, and failed once that was stopped for the one at issue."""
    stopped_at = down_since(story)
    if stopped_at is None:
        return False
    good = [r.at for b in story.facts.benches for r in b.rows if r.kind == "ok" and r.at is not None]
    bad = error_times(story.facts)
    return bool(good and bad) and min(good) <= stopped_at + FAIR_S and min(bad) >= stopped_at - FAIR_S

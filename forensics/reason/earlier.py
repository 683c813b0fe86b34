"""Tell the story as a client met it that failed before anybody asked for the stop: such a stop explains none of its errors. Weighs nothing."""

from __future__ import annotations

from dataclasses import replace

from forensics.model import Cause, End, EndKind, Facts, MarkKind, Phase
from forensics.reason.client import FAIR_S
from forensics.reason.place import Story

STOPS = (MarkKind.STOP_ASKED, MarkKind.STOPPING, MarkKind.STOPPED)


def stop_of(story: Story) -> tuple[int, float | None]:
    """Where the stop of the life at issue begins among its lines (beyond all of them where no line tells), and when, in seconds of the epoch."""
    marks = [(p.order, p.seen.record.at) for p in story.marks if p.mark is not None and p.mark.kind in STOPS]
    said = [(s.order, s.at) for s in story.of_issue() if s.cause is Cause.OPERATOR_STOP and s.record is not None]
    ended = story.issue.ended_at if story.issue.end.kind is EndKind.STOPPED or story.issue.alive is False else None
    times = [at for _, at in (*marks, *said) if at is not None]
    return min((order for order, _ in (*marks, *said)), default=1 << 30), min(times, default=ended)


def met_stopped(story: Story) -> bool | None:
    """Whether a client's errors reach to the stop or beyond it; False where all came before it, None where their times, or that of the stop, are not known."""
    _, stopped_at = stop_of(story)
    last = _last_error_at(story.facts)
    return None if stopped_at is None or last is None else last > stopped_at - FAIR_S


def before_stop(story: Story) -> Story | None:
    """The story up to the stop, its life alive; None where the stop may be what the client met."""
    order, stopped_at = stop_of(story)
    if stopped_at is None or met_stopped(story) is not False:
        return None
    life = story.issue
    last_at = min(life.last_at, stopped_at) if life.last_at is not None else None
    phases = tuple(span for span in life.phases if span.phase is not Phase.STOPPING)
    phase = life.phase if life.phase is not Phase.STOPPING else phases[-1].phase if phases else None
    alive = replace(
        life, end=End(kind=EndKind.NONE), alive=True, stop_asked=False, ended_at=None, lived_s=None, last_at=last_at, phases=phases, phase=phase
    )
    return replace(
        story,
        # who listens and what answers now was asked after the stop, and so was the state of the unit
        facts=replace(story.facts, listeners=None, probes=()),
        state=None,
        lives=(*story.lives[: life.index], alive),
        issue=alive,
        signals=tuple(s for s in story.signals if s.life is None or s.life < life.index or (s.life == life.index and s.order < order)),
        placed=tuple(p for p in story.placed if p.life < life.index or (p.life == life.index and p.order < order)),
        at=stopped_at,
    )


def _last_error_at(facts: Facts) -> float | None:
    """When the last request failed; None where that is not known of each client that failed, by its rows or by the window of its run."""
    found = []
    for bench in facts.benches:
        if not bench.errors:
            continue
        times = [row.at for row in bench.rows if row.kind not in ("", "ok")]
        known = [at for at in (*times, bench.last_at) if at is not None]
        if not known or (bench.last_at is None and None in times):
            return None
        found.append(max(known))
    return max(found, default=None)

"""Take the times out of a story whose evidence only counts seconds since the machine started: spans stay, points in time are not known. Computes nothing new."""

from __future__ import annotations

from dataclasses import replace

from forensics.model import Facts, Life, Record, Seen, Tail
from forensics.reason.lives import Placed


def facts_without_times(facts: Facts) -> Facts:
    """The same facts, of which none says when."""
    tails = {name: Tail(t.source, t.lines, tuple(map(_record, t.first)), tuple(map(_record, t.last))) for name, t in facts.tails.items()}
    return replace(facts, at=None, tails=tails, seen=tuple(map(_seen, facts.seen)))


def placed_without_time(placed: Placed) -> Placed:
    """The same line, life and order."""
    return placed._replace(seen=_seen(placed.seen))


def life_without_times(life: Life) -> Life:
    """How long it lived and how long its phases took are known, when that was is not."""
    return replace(
        life, started_at=None, active_at=None, ended_at=None, listening_at=None, ready_at=None, last_at=None, stepped_at=None, phases=tuple(replace(span, started_at=None) for span in life.phases),
        progress=replace(life.progress, at=None, first_at=None) if life.progress is not None else None,
        behind=replace(life.behind, since=None) if life.behind is not None else None,
    )  # fmt: skip


def _seen(seen: Seen) -> Seen:
    return seen._replace(record=_record(seen.record))


def _record(record: Record) -> Record:
    return record._replace(at=None)

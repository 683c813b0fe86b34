"""Tell the start of one life from the end of another: a journal that was cut, and a status of hours later. Judges no cause.

A unit that is started again every few seconds has begun and ended many lives between the two; how long any of those took, neither says.
"""

from __future__ import annotations

from collections.abc import Sequence

from forensics.model import Facts, UnitState
from forensics.reason.draft import Draft

APART_S = 3600.0  # between the last line that a journal has of a life and the end that a status knows
TIMES = 100.0  # as long as the longest of the lives before: no loop's life is that
NEAR_S = 60.0  # of a start or an end: what is said there belongs to it, and two stamps of one start are no farther apart
LOOPED = 2  # lives before it that ended, and after which it was started again


def glued(lives: Sequence[Draft], ended_at: float | None, state: UnitState, facts: Facts, *, same_process: bool) -> bool:
    """Whether the last life has its start from a journal and its end from a later life of a unit in a loop. Times in seconds.

    ``same_process``: whether the journal names the process that the state speaks of.
    """
    began = lives[-1].started_at
    if began is None or ended_at is None or same_process:
        return False
    if state.started_at is not None:
        return False  # the manager itself says when it began
    before = [x.ended_at - x.started_at for x in lives[:-1] if x.started_at is not None and x.ended_at is not None]
    lasted = ended_at - began
    if len(before) < LOOPED or lasted < max(APART_S, TIMES * max(before)):
        return False
    return not _heard_between(facts, began + NEAR_S, ended_at - NEAR_S)


def of_another(lives: Sequence[Draft], state: UnitState, facts: Facts) -> bool:
    """Whether a state speaks of a life of which the journal has no line: of another process, which began after all that was heard of the last one.

    A process that never writes (a shell around the server) is in no journal, and a clock may be set: neither says so alone.
    """
    last = lives[-1]
    if state.manager or (state.main_pid is not None and state.main_pid in last.pids):
        return False
    known = last.by_systemd and last.started_at is not None and last.pids and state.main_pid is not None
    if last.ended_at is None and not known:  # where its end is in the journal, the rest need not be
        return False
    heard = [t for t in (last.started_at, last.last_at, last.ended_at) if t is not None]
    if not heard:
        return False
    heard_at = max(heard)
    began = state.started_at if state.started_at is not None else state.since if state.active == "active" else None
    if began is None and state.since is not None and state.duration_s is not None:
        began = state.since - state.duration_s
    if began is not None:
        return began > heard_at + NEAR_S and not _heard_between(facts, heard_at + NEAR_S, began + NEAR_S)
    again = sum(x.over for x in lives[:-1]) >= LOOPED
    return (
        again and state.since is not None and state.since > heard_at + APART_S and not _heard_between(facts, heard_at + NEAR_S, state.since - NEAR_S)
    )


def _heard_between(facts: Facts, since: float, until: float) -> bool:
    """Whether any of the last lines of a source was written then: a life that speaks is one life."""
    return any(record.at is not None and since < record.at < until for tail in facts.tails.values() for record in tail.last)

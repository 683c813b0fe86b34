"""Find out in which zone a source without zones was written, where the same event also stands in one that has them. Assumes nothing where no event proves it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from forensics import clock
from forensics.model import Frame, PartKind, Record, UnitState

_STEP_S = 900.0  # zones differ by quarters of an hour
_MOST = 56  # of them: fourteen hours
_NEAR_S = 2.5
_ENDS = "end"
_LEAST = 12  # characters of a line that is not found twice by chance
_SURE = 40
_ENDED = ("Main process exited", "Failed with result", "entered failed state", "Deactivated successfully")
_SINCE = re.compile(r" since (?P<stamp>[^;]+)")
Event = tuple[str, "int | None", str]
State = tuple[PartKind, UnitState]


class Zone(NamedTuple):
    """How far a source is east of UTC, and where the event stands that says so."""

    east_s: float
    proof: str


def zones(frames: Iterable[Frame], states: Sequence[State], record: Callable[[Frame], Record]) -> Mapping[str, Zone]:
    """The zones of the sources that have none of their own, where the same line, or the end of the same process, tells them."""
    zoned: dict[Event, dict[float, str]] = {}
    bare: dict[str, dict[Event, set[float]]] = {}
    for frame in frames:
        stamp = frame.stamp or frame.inner
        if not stamp or len(frame.text) < _LEAST or (at := record(frame).at) is None:
            continue
        event = (str(frame.origin), frame.pid, frame.text)
        if clock.has_zone(stamp):
            zoned.setdefault(event, {})[at] = frame.source
        else:
            bare.setdefault(frame.source, {}).setdefault(event, set()).add(at)
    _add_states(states, zoned, bare)
    found: dict[str, Zone] = {}
    for source, events in bare.items():
        zone = _of_source(source, events, zoned)
        if zone is not None:
            found[source] = zone
    return found


def shifted(states: Sequence[State], found: Mapping[str, Zone]) -> list[State]:
    """The states with their times in UTC."""
    done = []
    for kind, state in states:
        zone = found.get(state.source)
        if zone is not None and not _has_zone(state):
            moved = {name: at - zone.east_s for name in ("since", "started_at", "exited_at") if (at := getattr(state, name)) is not None}
            state = replace(state, **moved)
        done.append((kind, state))
    return done


def said(found: Mapping[str, Zone]) -> tuple[str, ...]:
    """What was assumed, for a person."""
    return tuple(
        f"the times of {source} have no zone: read as {clock.offset(zone.east_s)}, because {zone.proof}" for source, zone in sorted(found.items())
    )


def _of_source(source: str, events: Mapping[Event, set[float]], zoned: Mapping[Event, Mapping[float, str]]) -> Zone | None:
    votes: Counter[int] = Counter()
    proof: dict[int, str] = {}
    sure = False
    for event, times in events.items():
        others = zoned.get(event, {})
        if len(times) != 1 or len(others) != 1:
            continue  # a line that was written twice proves nothing
        (at,), ((other, where),) = times, others.items()
        quarters = round((at - other) / _STEP_S)
        if where == source or abs(quarters) > _MOST or abs(at - other - quarters * _STEP_S) > _NEAR_S:
            continue
        votes[quarters] += 1
        sure = sure or len(event[2]) >= _SURE or event[0] == _ENDS
        text = event[2] if len(event[2]) <= _SURE else event[2][:_SURE] + "…"
        proof.setdefault(
            quarters,
            f"{where} has the same {'end' if event[0] == _ENDS else 'line'} {abs(quarters) * 15} minutes {'earlier' if quarters > 0 else 'later'}: {text}",
        )
    if len(votes) != 1 or not (sure or votes.total() >= 2):
        return None
    ((quarters, _),) = votes.items()
    return Zone(quarters * _STEP_S, proof[quarters]) if quarters else None


def _add_states(states: Sequence[State], zoned: dict[Event, dict[float, str]], bare: dict[str, dict[Event, set[float]]]) -> None:
    """The last end of a unit: as its state has it, and as systemd's lines do."""
    ends: dict[tuple[str, str], tuple[float, bool]] = {}
    for (_, _, text), sources in zoned.items():
        for at, source in sources.items():
            _note_end(ends, source, text, at, zoned=True)
    for source, events in bare.items():
        for (_, _, text), times in events.items():
            _note_end(ends, source, text, max(times), zoned=False)
    for _, state in states:
        ended_at = state.exited_at if state.exited_at is not None else state.since if state.active == "failed" else None
        if ended_at is not None and state.name and state.source:
            ends[(state.source, state.name)] = (ended_at, _has_zone(state))
    for (source, unit), (at, has_zone) in ends.items():
        event: Event = (_ENDS, None, unit)
        if has_zone:
            zoned.setdefault(event, {})
            # one event of several sources: the zone is the same, and so is the moment
            if not any(abs(at - other) <= _NEAR_S for other in zoned[event]):
                zoned[event][at] = source
        else:
            bare.setdefault(source, {}).setdefault(event, set()).add(at)


def _note_end(ends: dict[tuple[str, str], tuple[float, bool]], source: str, text: str, at: float, *, zoned: bool) -> None:
    unit, colon, what = text.partition(": ")
    if colon and what.startswith(_ENDED) and " " not in unit:
        held = ends.get((source, unit))
        if held is None or at > held[0]:
            ends[(source, unit)] = (at, zoned)


def _has_zone(state: UnitState) -> bool:
    """Whether the times of a state are in a zone that is known; the names of zones are not believed."""
    if "exited" in state.lines:
        return clock.has_zone(state.lines["exited"][1].partition("=")[2])
    found = _SINCE.search(state.lines["active"][1]) if "active" in state.lines else None
    return found is not None and clock.has_zone(found["stamp"])

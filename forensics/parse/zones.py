"""Find out in which zone a source without zones was written: where the same event also stands in one that has them, or an offset beside a name.

Assumes nothing where neither proves it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from forensics import clock, lazily
from forensics.model import BenchRun, Frame, Origin, PartKind, Record, UnitState
from forensics.parse import client

_STEP_S = 900.0  # zones differ by quarters of an hour
_MOST = 56  # of them: fourteen hours
_NEAR_S = 2.5
_ENDS, _STARTS = "end", "start"
_TOLD = 5  # names of zones that are told of
_LEAST = 12  # characters of a line that is not found twice by chance
_SURE = 40
_ENDED = ("Main process exited", "Failed with result", "entered failed state", "Deactivated successfully")
_SINCE = lazily.pattern(r" since (?P<stamp>[^;]+)")
Event = tuple[str, "int | None", str]
State = tuple[PartKind, UnitState]


class Zone(NamedTuple):
    """How far a source is east of UTC, and where the event stands that says so."""

    east_s: float
    proof: str


def zones(frames: Iterable[Frame], states: Sequence[State], record: Callable[[Frame], Record]) -> Mapping[str, Zone]:
    """The zones of the sources that have none of their own, where the same line, or the same start or end of a unit, tells them; UTC is one of them."""
    zoned: dict[Event, dict[float, str]] = {}
    bare: dict[str, dict[Event, set[float]]] = {}
    kept = list(frames)
    for frame in kept:
        stamp = frame.stamp or frame.inner
        if not stamp or len(frame.text) < _LEAST or (at := record(frame).at) is None:
            continue
        event = (str(frame.origin), frame.pid, frame.text)
        if clock.has_zone(stamp):
            zoned.setdefault(event, {})[at] = frame.source
        else:
            bare.setdefault(frame.source, {}).setdefault(event, set()).add(at)
    _add_states(states, zoned, bare)
    _add_starts(states, zoned, bare, {})
    found = _by_events(bare, zoned)
    by_name = {source: zone for source, zone in _by_offset(kept, states).items() if source not in found}
    for source, zone in by_name.items():  # by which other sources may be found in turn
        for event, times in bare.pop(source, {}).items():
            for at in times:
                zoned.setdefault(event, {})[at - zone.east_s] = source
    _add_starts(states, zoned, bare, by_name)
    return {**by_name, **found, **(_by_events(bare, zoned) if by_name else {})}


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
        f"the times of {source} have no zone: read as {clock.offset(zone.east_s)}, because {zone.proof}"
        for source, zone in sorted(found.items())
        if zone.east_s
    )


def named(frames: Iterable[Frame], states: Sequence[State], found: Mapping[str, Zone]) -> tuple[str, ...]:
    """For each source whose times have a zone of which only the name is there, that they are read as UTC, and by how much that may be wrong."""
    first: dict[tuple[str, str], int] = {}

    def note(source: str, line: int, stamp: str) -> None:
        if source not in found and (name := clock.zone_name(stamp)):
            first[source, name] = min(line, first.get((source, name), line))

    for frame in frames:
        note(frame.source, frame.line_no, frame.stamp or frame.inner)
    for _, state in states:
        for line, stamp in _stamps(state):
            note(state.source, line, stamp)
    return tuple(
        f"{name} in {source}:{line} is read as UTC, as the name of a zone proves no offset: {_off(name)}"
        for (source, name), line in sorted(first.items())[:_TOLD]
    )


def local(frames: Iterable[Frame], states: Sequence[State], found: Mapping[str, Zone]) -> frozenset[str]:
    """The sources whose times are those of the host's own clock, in a zone that is not known: what systemd prints without an offset."""
    bare: set[str] = set()
    zoned = set(found)
    for frame in frames:
        if frame.stamp:
            (zoned if clock.has_zone(frame.stamp) else bare).add(frame.source)
    for _, state in states:
        for _, stamp in _stamps(state):
            (zoned if clock.has_zone(stamp) else bare).add(state.source)
    return frozenset(bare - zoned)


def of_clients(frames: Iterable[Frame], states: Sequence[State], found: Mapping[str, Zone]) -> Callable[[str], float | None]:
    """What the name of a zone means in a client's output, so that its times can be held against the host's: None where that is not known.

    A name that the host uses as well means what it was read as there, where that is proven, or where nothing of the host's has a zone that is believed. Else it
    has to be one of a single offset, and the host's own zone has to be known.
    """
    written = [(frame.source, frame.stamp) for frame in frames if frame.stamp]
    written += [(state.source, stamp) for _, state in states for _, stamp in _stamps(state)]
    known = bool(found) or any(clock.has_zone(stamp) for _, stamp in written)
    named = {
        name: found[source].east_s if source in found else 0.0
        for source, stamp in written
        if (source in found or not known) and (name := clock.zone_name(stamp))
    }

    def reading(name: str) -> float | None:
        if name in named:
            return named[name]
        offsets = clock.named_offsets(name)
        return None if not known or len(offsets) != 1 else offsets[0]

    return reading


def said_of_clients(benches: Iterable[BenchRun], reading: Callable[[str], float | None]) -> tuple[str, ...]:
    """For each client that names the zone of its times, how they were read."""
    told: dict[tuple[str, str], int] = {}
    for run in benches:
        for row in run.rows:
            if row.kind and (name := client.zone_in(row.text)):
                told.setdefault((run.source, name), row.line_no)
    return tuple(
        f"{name} in {source}:{line} may be more than one zone, or the host's is not known: how its requests lie to the server's life is not known"
        if (east_s := reading(name)) is None
        else f"{name} in {source}:{line} is read as {clock.offset(east_s) if east_s else 'UTC, as in what the host wrote'}"
        for (source, name), line in sorted(told.items())[:_TOLD]
    )


def _off(name: str) -> str:
    """How to put a time right that was read as UTC, for each place that the name of its zone is used for."""
    offsets = clock.named_offsets(name)
    return "; ".join(f"where it is {clock.offset(east_s)}, {_put_right(east_s / 3600)}" for east_s in offsets) or "how far that is off is not known"


def _put_right(hours: float) -> str:
    return f"take {hours:g} h off" if hours > 0 else f"add {-hours:g} h" if hours else "that is right"


def _by_events(bare: Mapping[str, Mapping[Event, set[float]]], zoned: Mapping[Event, Mapping[float, str]]) -> dict[str, Zone]:
    return {source: zone for source, events in bare.items() if (zone := _of_source(source, events, zoned)) is not None}


def _by_offset(frames: Iterable[Frame], states: Sequence[State]) -> dict[str, Zone]:
    """The zones of the sources that name one, where systemd also wrote an offset, and of all that the name is used for this is the only one."""
    offsets: dict[float, str] = {}
    names: dict[str, set[str]] = {}
    written = [(frame.source, frame.stamp) for frame in frames if frame.stamp]
    written += [(state.source, stamp) for _, state in states for _, stamp in _stamps(state)]
    for source, stamp in written:
        if (east_s := clock.written_offset(stamp)) is not None:
            offsets.setdefault(east_s, source)
        elif name := clock.zone_name(stamp):
            names.setdefault(source, set()).add(name)
    found = {}
    for source, said_names in names.items():
        fits = {east_s for name in said_names for east_s in clock.named_offsets(name) if east_s in offsets}
        if len(said_names) == len(fits) == 1:
            (name,), (east_s,) = said_names, fits
            found[source] = Zone(east_s, f"it names {name}, and {offsets[east_s]} has that offset")
    return found


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
        told = event[0] in (_ENDS, _STARTS)
        sure = sure or told or len(event[2]) >= _SURE
        text = event[2] if len(event[2]) <= _SURE else event[2][:_SURE] + "…"
        proof.setdefault(
            quarters,
            f"{where} has the same {event[0] if told else 'line'} {abs(quarters) * 15} minutes {'earlier' if quarters > 0 else 'later'}: {text}",
        )
    if len(votes) != 1 or not (sure or votes.total() >= 2):
        return None
    ((quarters, _),) = votes.items()
    return Zone(quarters * _STEP_S, proof[quarters])


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
            _put(zoned, event, at, source)
        else:
            bare.setdefault(source, {}).setdefault(event, set()).add(at)


def _put(zoned: dict[Event, dict[float, str]], event: Event, at: float, source: str) -> None:
    """One event of several sources is one moment, as the zone of each is known."""
    if not any(abs(at - other) <= _NEAR_S for other in zoned.setdefault(event, {})):
        zoned[event][at] = source


def _add_starts(
    states: Sequence[State], zoned: dict[Event, dict[float, str]], bare: dict[str, dict[Event, set[float]]], known: Mapping[str, Zone]
) -> None:
    """The start of a unit that runs: as its state has it, and as systemd's line does, where one line alone can be meant."""
    for _, state in states:
        if state.since is None or not state.source or not (verb := _start_verb(state)):
            continue
        event: Event = (_STARTS, None, state.name)
        own, zone = _has_zone(state), known.get(state.source)
        since = state.since if own or zone is None else state.since - zone.east_s
        if own or zone is not None:
            for events in bare.values():
                lines = [at for line, times in events.items() if _is_start(line, verb, state) for at in times]
                at = _meant(lines, since, state, ())
                if at is not None and not _after_the_look(events, since - at, since, state):
                    events.setdefault(event, set()).add(at)
                    _put(zoned, event, since, state.source)
        else:
            places = {at: source for line, times in zoned.items() if _is_start(line, verb, state) for at, source in times.items()}
            stamps = _stamps(state)
            offsets = clock.named_offsets(clock.zone_name(stamps[-1][1])) if stamps else ()
            if (at := _meant(places, since, state, offsets)) is not None:
                _put(zoned, event, at, places[at])
                bare.setdefault(state.source, {}).setdefault(event, set()).add(since)


def _after_the_look(events: Mapping[Event, set[float]], by_s: float, since: float, state: UnitState) -> bool:
    """Whether a log, moved by so much, would go on long after the state was asked for: then its clock was set while the unit ran, and its zone is no other."""
    latest = max((at for times in events.values() for at in times), default=since)
    return state.ago_s is None or latest + by_s > since + state.ago_s + _STEP_S


def _start_verb(state: UnitState) -> str:
    """How systemd's line begins that is of the moment behind "since"; none for a unit that waits to be started again."""
    if state.active == "activating":
        return "" if (state.sub or "").startswith("auto-restart") else "Starting "
    return "Started " if state.active in ("active", "reloading", "refreshing") else ""


def _is_start(line: Event, verb: str, state: UnitState) -> bool:
    """systemd names the unit, before 250 by its description alone."""
    origin, _, text = line
    if origin != str(Origin.SYSTEMD) or not text.startswith(verb):
        return False
    what = text[len(verb) :].rstrip(".…")
    return what == state.name or what.startswith(f"{state.name} - ") or (bool(state.description) and what == (state.description or "").rstrip(".…"))


def _meant(lines: Iterable[float], since: float, state: UnitState, offsets: Sequence[float]) -> float | None:
    """The one start that a state may speak of: quarters of an hour apart, by an offset that its zone's name stands for, and none after it until it was asked."""
    starts = sorted(lines)
    until_s = math.inf if state.ago_s is None else state.ago_s
    fits = []
    for at in starts:
        quarters = round((since - at) / _STEP_S)
        apart = abs(quarters) <= _MOST and abs(since - at - quarters * _STEP_S) <= _NEAR_S
        if apart and (not offsets or quarters * _STEP_S in offsets) and not any(_NEAR_S < later - at <= until_s for later in starts):
            fits.append(at)
    return fits[-1] if fits and fits[-1] - fits[0] <= _NEAR_S else None


def _note_end(ends: dict[tuple[str, str], tuple[float, bool]], source: str, text: str, at: float, *, zoned: bool) -> None:
    unit, colon, what = text.partition(": ")
    if colon and what.startswith(_ENDED) and " " not in unit:
        held = ends.get((source, unit))
        if held is None or at > held[0]:
            ends[(source, unit)] = (at, zoned)


def _has_zone(state: UnitState) -> bool:
    """Whether the times of a state are in a zone that is known; the names of zones are not believed."""
    stamps = _stamps(state)
    return bool(stamps) and clock.has_zone(stamps[0][1])


def _stamps(state: UnitState) -> list[tuple[int, str]]:
    """The times of a state as they were written, each with its line: that of its end before that of its change."""
    stamps = []
    if "exited" in state.lines:
        line, text = state.lines["exited"]
        stamps.append((line, text.partition("=")[2]))
    if "active" in state.lines and (since := _SINCE.search(state.lines["active"][1])) is not None:
        stamps.append((state.lines["active"][0], since["stamp"]))
    return stamps

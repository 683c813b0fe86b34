"""Say whose the processes of a text journal are, where several units ran in it: by when systemd started and ended each. Reads no line, and leaves open what two units could have printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from forensics.model import Facts, MarkKind, Origin, Record, Seen, Tail
from forensics.units.pick import LOGINS

BEGINS = (MarkKind.STARTING, MarkKind.STARTED)
ENDS = (MarkKind.EXITED, MarkKind.FAILED, MarkKind.DEACTIVATED, MarkKind.STOPPED)
EARLY_S, LATE_S = 1.0, 3.0  # stamps of two programs on one event; what a dying process still had in its pipe
FIRST_WORDS_S = 30.0  # from a start to the first line that a program prints; what is started at a boot is started together
_ALWAYS = float("inf")

Process = tuple[str, str, int]  # source, ident, number


class _Ran(NamedTuple):
    unit: str
    since: float
    until: float


def attributed(facts: Facts, marks: Mapping[str, MarkKind], *, beside: str | None = None) -> Facts:
    """The facts with a unit on the lines of each process that only one unit can have run; as they were where systemd speaks of fewer than two. ``marks``: what a rule's id marks.

    ``beside``: a process that this unit cannot have run is given to one of those that can, whichever it was.
    """
    ran = list(_ran(facts.seen, marks))
    if len({one.unit for one in ran}) < 2:
        return facts
    processes = _processes(facts)
    owners = (
        (_beside(beside, processes, ran) if beside else {})
        | _owners(processes, ran)
        | {key: unit for key in processes if (unit := _listed(facts, key[2])) is not None}
    )

    def owned(record: Record) -> Record:
        unit = owners.get((record.source, record.ident, record.pid or 0), "")
        return record._replace(unit=unit) if unit and not record.unit and record.origin is Origin.SERVER else record

    tails = {name: Tail(t.source, t.lines, tuple(map(owned, t.first)), tuple(map(owned, t.last))) for name, t in facts.tails.items()}
    return replace(facts, seen=tuple(Seen(s.hit, owned(s.record)) for s in facts.seen), tails=tails)


def _listed(facts: Facts, pid: int) -> str | None:
    """The unit that a status or a list of processes names for a number."""
    main = next((name for name, state in facts.units.items() if state.main_pid == pid), None)
    process = facts.host.process(pid)
    return main or (process.unit if process is not None and process.unit else None)


def _ran(seen: Iterable[Seen], marks: Mapping[str, MarkKind]) -> Iterator[_Ran]:
    """From when to when each unit ran. One that begins above the evidence, or of which no end is told, ran from or for ever."""
    said: dict[str, list[tuple[float, MarkKind]]] = {}
    for one in seen:
        unit, kind = one.hit.captures.get("unit", ""), marks.get(one.hit.rule)
        if kind in BEGINS + ENDS and one.record.origin is Origin.SYSTEMD and one.record.at is not None and unit.endswith((".service", ".scope")):
            said.setdefault(unit, []).append((one.record.at, kind))
    for unit, events in said.items():
        if unit.startswith(LOGINS):
            continue
        events.sort(key=lambda event: event[0])
        since = -_ALWAYS if events[0][1] in ENDS else None
        until: float | None = None
        for at, kind in events:
            if kind in ENDS:
                until = at
            elif since is None or until is not None:
                if since is not None and until is not None:
                    yield _Ran(unit, since, until)
                since, until = at, None
        if since is not None:
            yield _Ran(unit, since, _ALWAYS if until is None else until)


def _processes(facts: Facts) -> dict[Process, tuple[float, float]]:
    """The processes of no told unit, with the first and the last moment that each was heard."""
    heard: dict[Process, tuple[float, float]] = {}
    edges = (record for tail in facts.tails.values() for record in (*tail.first, *tail.last))
    for record in (*(one.record for one in facts.seen), *edges):
        if record.origin is Origin.SERVER and record.ident and record.pid and record.at is not None and not record.unit:
            key = (record.source, record.ident, record.pid)
            first, last = heard.get(key, (record.at, record.at))
            heard[key] = (min(first, record.at), max(last, record.at))
    return heard


def _could(heard: tuple[float, float], ran: Iterable[_Ran]) -> tuple[set[str], set[str]]:
    """The units that ran all the time that a process was heard, and those in which it can have begun: what outlives its unit began in it all the same."""
    first, last = heard
    fits = [one for one in ran if one.since - EARLY_S <= first]
    return {one.unit for one in fits if last <= one.until + LATE_S}, {one.unit for one in fits if first <= one.until}


def _beside(unit: str, processes: Mapping[Process, tuple[float, float]], ran: Sequence[_Ran]) -> dict[Process, str]:
    if unit not in {one.unit for one in ran}:
        return {}  # nobody says when it ran
    found = {key: _could(heard, ran) for key, heard in processes.items()}
    return {key: min(could) for key, (could, began) in found.items() if could and unit not in could | began}


def _owners(processes: Mapping[Process, tuple[float, float]], ran: Iterable[_Ran]) -> dict[Process, str]:
    """The one unit that a process can be of: which ran all the time that it was heard; of several that did, the one called so, the one that ended with its last words, the
    one that had just been started, or the one that nothing else is of.
    """
    lives = list(ran)
    places = {key: _could(heard, lives) for key, heard in processes.items()}
    could, began = {key: place[0] for key, place in places.items()}, {key: place[1] for key, place in places.items()}
    found = {key: next(iter(names)) for key, names in could.items() if len(names) == 1 and began[key] <= names}
    for key, names in could.items():
        called = [name for name in names if name.rpartition(".")[0].partition("@")[0] == key[1]]
        if key not in found and len(called) == 1:
            found[key] = called[0]
    for key, names in could.items():
        last = processes[key][1]
        dying = {one.unit for one in lives if one.unit in names and last - EARLY_S <= one.until <= last + LATE_S}
        if key not in found and len(dying) == 1:
            found[key] = next(iter(dying))
    for key, names in could.items():
        first = processes[key][0]
        just = {one.unit for one in lives if one.unit in names and first - FIRST_WORDS_S <= one.since <= first + EARLY_S}
        if key not in found and len(just) == 1 and began[key] <= names:
            found[key] = next(iter(just))
    silent = {name for names in could.values() for name in names} - set(found.values())
    for key, names in could.items():
        others = (names | began[key]) - silent
        if key not in found and len(left := names & silent) == 1 and others and all(_speaks_so(found, name, key[1]) for name in others):
            found[key] = next(iter(left))
    return found


def _speaks_so(found: Mapping[Process, str], unit: str, ident: str) -> bool:
    """Whether another process of that name is the unit's own."""
    return any(owner == unit and key[1] == ident for key, owner in found.items())

"""Gather all that reasoning may lean on: a record for each hit, unit states, what clients saw, what was asked in vain, and how far each kind of evidence was seen.

Never weighs one fact against another, and reads a section whole only where it is small.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol

from forensics.model import Capture, Facts, Frame, Hit, PartKind, Problem, Record, Section, Seen, UnitState
from forensics.parse import endings, hosts, journal, material, onerun, sinceboot, unitstate, unmatched, written, zones
from forensics.parse import frame as framing
from forensics.parse import host as answers
from forensics.parse.asof import last_stamp, latest_of, told_at
from forensics.parse.gathered import MAX_TEXT, Gathered, client_into, section_into
from forensics.parse.part import Part, read_text
from forensics.parse.questions import of_other_manager
from forensics.parse.services import speaks_as, spoken_of
from forensics.parse.tails import Ends


class Scanned(Protocol):
    """The outcome of a scan."""

    @property
    def hits(self) -> Sequence[Hit]: ...

    @property
    def counts(self) -> Mapping[str, int]: ...


def facts(capture: Capture, scan: Scanned, *, tails: Ends | None = None, about: str | None = None) -> Facts:
    """All facts of a capture. ``tails`` are the ends of the sources as watched on their way to the scan; ``about`` is the unit that was asked about.

    Stamps without a year are completed from the capture's time, else from the latest full stamp in the evidence, else from the files' own times;
    stamps without a zone are taken as UTC.
    """
    got = Gathered(problems=list(capture.problems))
    for section in capture.sections:
        section_into(section, capture.columns, got)
    kept = [*(hit.frame for hit in scan.hits), *(tails.frames() if tails else ())]
    started = sinceboot.starts(kept)
    alone = told_at(capture, got) is None and not got.clients and sinceboot.only_since_boot(kept, started)
    begun = {source: 0.0 if alone else at for source, at in started.items()}
    # a first reading without zones, by which they are found
    found_zones = zones.zones(kept, got.states, partial(framing.record, latest=latest_of(capture, got, kept), started=begun))
    got.states = zones.shifted(got.states, found_zones)
    told, latest = told_at(capture, got), latest_of(capture, got, kept)
    asked_hosts = (capture.host, capture.target.host, *(asked.host for asked in got.asked))
    host, others = hosts.meant(scan.hits, tails.frames() if tails else (), asked=asked_hosts, about=about or capture.pick.unit)
    hits = [hit for hit in scan.hits if hosts.of_host(hit.frame, host)] if host else scan.hits
    plain = partial(framing.record, latest=latest, started=begun)
    got.problems += [
        *journal.odd_numbers(kept),
        *sinceboot.unread(kept),
        *(Problem(source=source, line=1, text=sinceboot.UNKNOWN_START) for source, at in started.items() if at is None),
    ]

    def record(frame: Frame) -> Record:
        zone = found_zones.get(frame.source)
        return plain(frame, zone_s=zone.east_s) if zone is not None else plain(frame)

    order = {section.name: number for number, section in enumerate(capture.sections)}
    seen = sorted((Seen(hit, record(hit.frame)) for hit in hits), key=lambda s: (order.get(s.record.source, len(order)), s.record.line_no))
    pages = written.Pages(capture.sections)
    seen, by_hand = written.parted(seen, pages)
    ends = tails.tails(record, (lambda frame: hosts.of_host(frame, host)) if host else None) if tails else {}
    zoned = zones.of_clients(kept, got.states, found_zones)
    for section, part in got.clients:
        client_into(section, part, latest, zoned, got, capture.columns, pages)
    got.problems += unmatched.unmatched(capture, got.benches)
    if not (seen or got.states or got.runs) and (told_by_core := endings.state_of(got.around.cores)) is not None:
        got.states.append((PartKind.STATUS, told_by_core))
    spoken = spoken_of(seen, ends)
    if about and about not in spoken and speaks_as(about, seen, ends):
        spoken.insert(0, about)  # systemd does not name it here, but what it runs does
    nameless = capture.pick.unit or (about if about in spoken else next(iter(spoken), ""))
    elsewhere = of_other_manager(got.asked)
    states = [(kind, state) for kind, state in got.states if not (state.load == "not-found" and state.name in elsewhere)]
    units = unitstate.merge([*((PartKind.UNITS, s) for s in _named_listed(got, capture)), *states], only=nameless)
    return Facts(
        seen=tuple(seen),
        written=tuple(by_hand),
        quoted=written.quoted(seen, pages),
        material={} if got.states or got.runs else {**material.saw(capture, ends), **material.measured(got.benches)},
        counts=dict(scan.counts),
        units=units,
        runs=tuple(got.runs),
        unit_names=_unit_names(got, units, spoken),
        benches=onerun.told_once(got.benches),
        asked=tuple(got.asked),
        named=tuple(got.named),
        listeners=None if got.listeners is None else tuple(got.listeners),
        probes=tuple(got.probes),
        gpus=tuple(got.gpus),
        gpu_processes=tuple(got.gpu_processes),
        boots=tuple(got.boots),
        host=got.around.state(),
        tails=ends,
        kinds=got.kinds,
        stretches=got.stretches,
        coverage=got.covered.all(),
        argv=_argv(capture, units),
        about_host=host or hosts.only(scan.hits, tails.frames() if tails else (), asked=[one.host for one in got.asked]),
        other_hosts=others,
        assumed=(*zones.said(found_zones), *zones.named(kept, got.states, found_zones), *zones.said_of_clients(got.benches, zoned)),
        local=zones.local(kept, got.states, found_zones),
        blobs=tails.blobs if tails else {},
        problems=(*got.problems, *(tails.problems if tails else ())),
        at=told if told is not None else last_stamp(seen, ends, got.benches),
        offset_s=capture.offset_s,
        since_boot=alone,
    )


def unit_overview(sections: Iterable[Section]) -> tuple[tuple[str, ...], dict[str, UnitState]]:
    """The units of a host out of the answers of the first round: names that exist, in order, and their states."""
    states: list[UnitState] = []
    for section in sections:
        if section.part is PartKind.UNITS:
            whole = Part(kind=PartKind.UNITS, first_line=1, last_line=None, start=0, end=None, command=None)
            states.extend(answers.units(read_text(section, whole, MAX_TEXT, []), source=section.name)[0])
    return unitstate.unit_names(states), {state.name: state for state in states}


def _named_listed(got: Gathered, capture: Capture) -> list[UnitState]:
    """Of the host's hundreds of units those that something else speaks of; one that was listed alone was asked for."""
    if len(alone := {state.name for state in got.listed}) == 1 and not capture.pick.unit:
        return [state for state in got.listed if state.name in alone]
    wanted = {state.name for _, state in got.states} | {capture.pick.unit, *capture.pick.candidates}
    wanted |= {name for _, state in got.states for name in (*state.rivals, *state.props)}
    if capture.pick.unit:  # whose process listens or holds GPU memory
        pids = {x.pid for x in (*(got.listeners or ()), *got.gpu_processes)}
        wanted |= {p.unit for p in got.around.processes or () if p.pid in pids}
    return [state for state in got.listed if state.name in wanted]


def _unit_names(got: Gathered, units: Mapping[str, UnitState], spoken: Sequence[str]) -> tuple[str, ...]:
    """The names the host really has; without its list, those that the evidence proves to exist."""
    if got.listed:
        return tuple(dict.fromkeys(state.name for state in got.listed if state.load != "not-found"))
    names = [name for name, state in units.items() if name and state.load != "not-found" and (state.active or state.fragment or state.argv)]
    names += spoken
    names += [asked.unit for asked in got.asked if asked.unit and not asked.empty and "could not be found" not in asked.text]
    return tuple(dict.fromkeys(names))


def _argv(capture: Capture, units: Mapping[str, UnitState]) -> tuple[str, ...]:
    picked = units.get(capture.pick.unit or "")
    if picked and picked.argv:
        return picked.argv
    with_argv = [state.argv for state in units.values() if state.argv]
    return with_argv[0] if len(with_argv) == 1 else ()

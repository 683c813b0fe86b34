"""Gather all that reasoning may lean on: a record for each hit, unit states, what clients saw, what was asked in vain, and how far each kind of evidence was seen.

Never weighs one fact against another, and reads a section whole only where it is small.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from forensics import clock, lazily
from forensics.model import (
    Asked,
    BenchRun,
    Boot,
    Capture,
    Coverage,
    Facts,
    Frame,
    Gpu,
    GpuProcess,
    Hit,
    Listener,
    PartKind,
    Probe,
    Problem,
    Record,
    Run,
    Section,
    Seen,
    Tail,
    UnitState,
)
from forensics.parse import (
    bench,
    client,
    container,
    endings,
    hostfacts,
    hosts,
    journal,
    junit,
    machine,
    material,
    onerun,
    pod,
    sinceboot,
    sniff,
    systemd,
    unitstate,
    written,
    zones,
)
from forensics.parse import frame as framing
from forensics.parse import host as answers
from forensics.parse.asked import asked_unit, chosen, empties, filters, simples
from forensics.parse.named import named
from forensics.parse.questions import JOURNALS, asked_in, of_other_manager
from forensics.parse.services import speaks_as, spoken_of
from forensics.parse.sniff import Part
from forensics.parse.tails import Ends

MAX_TEXT = 4 << 20  # of a part that is read as a whole
MAX_NAMING = 64 << 10  # of what may be a configuration, or the head of a run that prints its own
MAX_JSON = 32 << 20  # of a saved result that is read at once; a larger one is read without its long arrays

STATES = frozenset({PartKind.IS_ACTIVE, PartKind.STATUS, PartKind.SHOW, PartKind.UNIT_FILE, PartKind.UNITS})
CONTAINERS = {PartKind.CONTAINER: container.inspect, PartKind.POD: pod.pod}
# what a part of a kind is evidence of
_EVIDENCE: Mapping[PartKind, str] = {
    **dict.fromkeys(JOURNALS, "journal"), PartKind.STATUS: "status", PartKind.SHOW: "status", PartKind.IS_ACTIVE: "status", PartKind.KERNEL: "kernel", PartKind.UNITS: "units",
    PartKind.SOCKETS: "sockets", PartKind.HEALTH: "health", PartKind.GPU: "gpu", PartKind.SERVER: "log", PartKind.CLIENT: "bench", PartKind.BENCH_JSON: "bench",
    PartKind.BOOTS: "boots", PartKind.UNIT_FILE: "unit-file", **dict.fromkeys(CONTAINERS, "status"), PartKind.EVENTS: "events", PartKind.PROCESSES: "processes", PartKind.DISKS: "disks", PartKind.MACHINE: "machine",
}  # fmt: skip
KINDS = ("journal", "status", "kernel", "bench", "units", "sockets", "health", "gpu", "log")
_BETTER = (Coverage.READ, Coverage.GIVEN, Coverage.CUT, Coverage.DENIED, Coverage.EMPTY, Coverage.NOT_COLLECTED)
_DENIED = lazily.pattern(
    r"insufficient permissions|not seeing messages from other users|systemd-journal' can see all messages|Permission denied|Operation not permitted|Access denied"
)
_TRAILING = lazily.pattern(r"[ \t\r]+(?=\n|\Z)")  # what editors and terminals leave at the end of a line
_NO_ENTRIES = lazily.pattern(rb"^-- No entries --\s*$")


class Scanned(Protocol):
    """The outcome of a scan."""

    @property
    def hits(self) -> Sequence[Hit]: ...

    @property
    def counts(self) -> Mapping[str, int]: ...


@dataclass
class _Gathered:
    """Everything found so far, section by section."""

    states: list[tuple[PartKind, UnitState]] = field(default_factory=list)
    listed: list[UnitState] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    listeners: list[Listener] | None = None
    probes: list[Probe] = field(default_factory=list)
    gpus: list[Gpu] = field(default_factory=list)
    gpu_processes: list[GpuProcess] = field(default_factory=list)
    boots: list[Boot] = field(default_factory=list)
    around: hostfacts.HostGathered = field(default_factory=hostfacts.HostGathered)
    clock_at: float | None = None
    asked: list[Asked] = field(default_factory=list)
    named: list[Asked] = field(default_factory=list)
    kinds: dict[str, tuple[PartKind, ...]] = field(default_factory=dict)
    stretches: dict[str, tuple[tuple[int, PartKind], ...]] = field(default_factory=dict)
    coverage: dict[str, Coverage] = field(default_factory=dict)
    clients: list[tuple[Section, Part]] = field(default_factory=list)
    benches: list[BenchRun] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def covers(self, kind: str, coverage: Coverage) -> None:
        """Note how a piece of evidence was seen; of several pieces of one kind the best counts."""
        held = self.coverage.get(kind, Coverage.NOT_COLLECTED)
        self.coverage[kind] = min(held, coverage, key=_BETTER.index)


def facts(capture: Capture, scan: Scanned, *, tails: Ends | None = None, about: str | None = None) -> Facts:
    """All facts of a capture. ``tails`` are the ends of the sources as watched on their way to the scan; ``about`` is the unit that was asked about.

    Stamps without a year are completed from the capture's time, else from the latest full stamp in the evidence, else from the files' own times;
    stamps without a zone are taken as UTC.
    """
    got = _Gathered(problems=list(capture.problems))
    for section in capture.sections:
        _section(section, got)
    kept = [*(hit.frame for hit in scan.hits), *(tails.frames() if tails else ())]
    started = sinceboot.starts(kept)
    alone = _told_at(capture, got) is None and not got.clients and sinceboot.only_since_boot(kept, started)
    begun = {source: 0.0 if alone else at for source, at in started.items()}
    # a first reading without zones, by which they are found
    found_zones = zones.zones(kept, got.states, partial(framing.record, latest=_latest(capture, got, kept), started=begun))
    got.states = zones.shifted(got.states, found_zones)
    told, latest = _told_at(capture, got), _latest(capture, got, kept)
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
        _client(section, part, latest, zoned, got, dict(capture.bench_fields), pages)
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
        coverage={kind: got.coverage.get(kind, Coverage.NOT_COLLECTED) for kind in (*KINDS, *got.coverage)},
        argv=_argv(capture, units),
        about_host=host or hosts.only(scan.hits, tails.frames() if tails else (), asked=[one.host for one in got.asked]),
        other_hosts=others,
        assumed=(*zones.said(found_zones), *zones.named(kept, got.states, found_zones), *zones.said_of_clients(got.benches, zoned)),
        local=zones.local(kept, got.states, found_zones),
        blobs=tails.blobs if tails else {},
        problems=(*got.problems, *(tails.problems if tails else ())),
        at=told if told is not None else _last_stamp(seen, ends, got.benches),
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


# --------------------------------------------------------------------------- sections


def _section(section: Section, got: _Gathered) -> None:
    parts = sniff.parts(section)
    got.kinds[section.name] = tuple(dict.fromkeys(part.kind for part in parts))
    got.stretches[section.name] = tuple((part.first_line, part.kind) for part in parts)
    live = section.part is not None
    if live:
        _live_coverage(section, got)
    for part in parts:
        if not live:
            _given_coverage(section, part, got)
        if (part.kind in (PartKind.CLIENT, PartKind.BENCH_JSON, PartKind.SERVER) and section.part is None) or section.name.startswith("bench"):
            got.named.extend(named(read_text(section, part, MAX_NAMING, []), source=section.name, first_line=part.first_line))
        if part.kind in (PartKind.CLIENT, PartKind.BENCH_JSON):
            got.clients.append((section, part))
        elif part.kind in CONTAINERS:
            _container(section, part, got)
        elif part.kind in STATES or part.kind in _READERS or part.kind in hostfacts.READERS:
            _structured(section, part, got)
    in_vain = section.part in JOURNALS and got.coverage.get("journal") in (Coverage.EMPTY, Coverage.DENIED)
    got.asked.extend(asked_in(section, parts, lambda part: read_text(section, part, 1 << 12, []), in_vain=in_vain))


def _structured(section: Section, part: Part, got: _Gathered) -> None:
    text = read_text(section, part, MAX_TEXT, got.problems)
    source, first = section.name, part.first_line
    if part.kind in STATES:
        unit = _unit_of(section, part)
        if part.kind is PartKind.STATUS:
            states, problems = systemd.status(text, source=source, first_line=first)
        elif part.kind is PartKind.SHOW:
            states, problems = systemd.show(text, source=source, first_line=first, unit=unit)
        elif part.kind is PartKind.IS_ACTIVE:
            states, problems = systemd.is_active(text, source=source, first_line=first, unit=unit)
        elif part.kind is PartKind.UNIT_FILE:
            states, problems = unitstate.unit_file(text, source=source, first_line=first, unit=unit)
        else:
            states, problems = answers.units(text, source=source, first_line=first)
            got.listed.extend(states)
            got.problems.extend(problems)
            return
        got.states.extend((part.kind, state) for state in states)
        got.problems.extend(problems)
    elif part.kind in hostfacts.READERS:
        got.problems.extend(hostfacts.READERS[part.kind](text, source, first, got.around))
    else:
        _READERS[part.kind](text, source, first, got)


def _container(section: Section, part: Part, got: _Gathered) -> None:
    text = read_text(section, part, MAX_TEXT, got.problems)
    read = CONTAINERS[part.kind](text, source=section.name, first_line=part.first_line)
    got.states.extend((part.kind, state) for state in read.states)
    got.runs.extend(run for run in read.runs if run not in got.runs)
    got.problems.extend(read.problems)


def _sockets(text: str, source: str, first: int, got: _Gathered) -> None:
    found, problems = answers.listeners(text, source=source, first_line=first)
    if found or not problems:
        got.listeners = [*(got.listeners or ()), *found]
    got.problems.extend(problems)


def _health(text: str, source: str, first: int, got: _Gathered) -> None:
    found, problems = answers.probes(text, source=source, first_line=first)
    got.probes.extend(found)
    got.problems.extend(problems)


def _gpu(text: str, source: str, first: int, got: _Gathered) -> None:
    cards, processes, problems = answers.gpus(text, source=source, first_line=first)
    got.gpus.extend(cards)
    got.gpu_processes.extend(processes)
    for number, line in enumerate(text.split("\n")[:200], first):
        machine.driver(line, got.around.said, source=source, number=number)
    got.problems.extend(problems)


def _clock(text: str, source: str, first: int, got: _Gathered) -> None:
    found, problems = answers.clock(text, source=source, first_line=first)
    got.clock_at = found.at if got.clock_at is None else got.clock_at
    got.problems.extend(problems)


def _boots(text: str, source: str, first: int, got: _Gathered) -> None:
    found, problems = answers.boots(text, source=source, first_line=first)
    got.boots.extend(found)
    got.problems.extend(problems)


_CHANGED = lazily.pattern(rf"Warning: The unit file[^\n]{{0,60}} of (?P<unit>{systemd.UNIT_NAME}) changed on disk")


def _notice(text: str, source: str, first: int, got: _Gathered) -> None:
    for number, line in enumerate(text.split("\n"), first):
        if "could not be found" in line or "No files found for" in line:
            states, _ = systemd.status(line, source=source, first_line=number)
            got.states.extend((PartKind.STATUS, state) for state in states)
        elif changed := _CHANGED.match(line):
            told = UnitState(name=changed["unit"], need_reload=True, source=source, lines={"reload": (number, line.strip()[:400])})
            got.states.append((PartKind.NOTICE, told))


_READERS: Mapping[PartKind, Callable[[str, str, int, _Gathered], None]] = {
    PartKind.SOCKETS: _sockets, PartKind.HEALTH: _health, PartKind.GPU: _gpu, PartKind.CLOCK: _clock, PartKind.BOOTS: _boots, PartKind.NOTICE: _notice,
}  # fmt: skip


def _client(
    section: Section, part: Part, latest: float | None, zoned: client.Zoned, got: _Gathered, fields: Mapping[str, str], pages: written.Pages
) -> None:
    if part.kind is PartKind.BENCH_JSON and part.end is None and section.size() > MAX_JSON:
        with section.open() as stream:
            stream.seek(part.start)
            runs, problems = bench.read_large(stream, source=section.name, first_line=part.first_line, fields=fields)
    elif part.kind is PartKind.BENCH_JSON:
        text = read_text(section, part, MAX_JSON, got.problems)
        runs, problems = bench.read_json(text, source=section.name, first_line=part.first_line, fields=fields)
    else:
        text = read_text(section, part, MAX_TEXT, got.problems)
        if junit.is_junit(text):
            tested = junit.read(text, source=section.name, first_line=part.first_line)
            got.benches.extend([tested] if tested else [])
            return
        text = written.without(pages.of(section.name), part.first_line, text)
        runs, problems = bench.read(
            text, source=section.name, first_line=part.first_line, command=part.command, latest=latest, zoned=zoned, fields=fields
        )
        if text.lstrip()[:1] in ("{", "["):  # a result that was given as a client's output
            of_json, said = bench.read_json(text, source=section.name, first_line=part.first_line, fields=fields)
            runs, problems = (of_json, said) if any(run.matrix or run.metrics for run in of_json) else (runs, problems)
    written_at = section.path.stat().st_mtime if section.text is None and section.path.exists() else None
    got.benches.extend(replace(run, written_at=written_at) for run in runs)
    got.problems.extend(problems)


def read_text(section: Section, part: Part, limit: int, problems: list[Problem]) -> str:
    """The text of one part, at most ``limit`` bytes of it; what is left out becomes a problem."""
    with section.open() as stream:
        stream.seek(part.start)
        size = limit + 1 if part.end is None else min(part.end - part.start, limit + 1)
        data = stream.read(max(0, size))
    if len(data) > limit:
        problems.append(Problem(source=section.name, line=part.first_line, text=f"only the first {limit >> 20} MiB of this {part.kind} were read"))
        data = data[: data.rfind(b"\n", 0, limit) + 1 or limit]
    return _TRAILING.sub("", data.decode("utf-8", "replace"))


def _unit_of(section: Section, part: Part) -> str:
    """The unit that a nameless answer is about: of the command that was asked, or of a unit file's own name."""
    command = part.command or section.argv
    if command and (unit := asked_unit(command)):
        return unit
    base = section.name.rpartition("/")[2]
    return base if part.kind is PartKind.UNIT_FILE and re.fullmatch(systemd.UNIT_NAME, base) else ""


# --------------------------------------------------------------------------- coverage


def _live_coverage(section: Section, got: _Gathered) -> None:
    kind = _EVIDENCE.get(section.part) if section.part else None
    if kind is None:
        return
    coverage = section.coverage
    if coverage is Coverage.READ:
        if section.cut:
            coverage = Coverage.CUT
        elif section.part in JOURNALS | {PartKind.KERNEL} and _DENIED.search(section.stderr):
            coverage = Coverage.DENIED
        elif section.size() == 0 or _NO_ENTRIES.match(section.head(64)):
            coverage = Coverage.EMPTY
    got.covers(kind, coverage)


def _given_coverage(section: Section, part: Part, got: _Gathered) -> None:
    if part.kind is PartKind.NOTICE:
        said = read_text(section, part, 1 << 16, [])
        if _DENIED.search(said):
            got.covers("kernel" if said.lstrip().startswith("dmesg: ") else "journal", Coverage.DENIED)
    elif part.kind is PartKind.EMPTY:
        if part.command is None:
            if section.coverage is not Coverage.NOT_COLLECTED:
                got.covers(_emptied(section, part), Coverage.CUT if section.cut else Coverage.EMPTY)
        # a prompt with nothing behind it asked for nothing, and a grep that found nothing was not shown the journal
        elif asked := [one for one in simples(part.command) if one.tool == "journalctl"]:
            got.covers("journal", Coverage.CUT if all(filters(one) or empties(one) for one in asked) else Coverage.EMPTY)
    elif kind := _EVIDENCE.get(part.kind):
        given = Coverage.CUT if section.cut or (part.kind in JOURNALS and any(chosen(one) for one in simples(part.command or ""))) else Coverage.GIVEN
        got.covers(kind, given)


def _emptied(section: Section, part: Part) -> str:
    """What an empty answer is about: an empty file, what a file of its name answers; "-- No entries --", a journal or the kernel's part of it."""
    says_so = part.command is not None or bool(section.head(256).strip())
    if section.hint is None or (says_so and section.hint is not PartKind.KERNEL) or part.command is not None:
        return "journal"
    return _EVIDENCE.get(section.hint, "journal")


# --------------------------------------------------------------------------- units and times


def _named_listed(got: _Gathered, capture: Capture) -> list[UnitState]:
    """Of the host's hundreds of units those that something else speaks of; one that was listed alone was asked for."""
    if len(alone := {state.name for state in got.listed}) == 1 and not capture.pick.unit:
        return [state for state in got.listed if state.name in alone]
    wanted = {state.name for _, state in got.states} | {capture.pick.unit, *capture.pick.candidates}
    wanted |= {name for _, state in got.states for name in (*state.rivals, *state.props)}
    if capture.pick.unit:  # whose process listens or holds GPU memory
        pids = {x.pid for x in (*(got.listeners or ()), *got.gpu_processes)}
        wanted |= {p.unit for p in got.around.processes or () if p.pid in pids}
    return [state for state in got.listed if state.name in wanted]


def _unit_names(got: _Gathered, units: Mapping[str, UnitState], spoken: Sequence[str]) -> tuple[str, ...]:
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


def _told_at(capture: Capture, got: _Gathered) -> float | None:
    """The time of the capture as it says itself: manifest, host's clock, or a status line's since plus ago."""
    if capture.at is not None:
        return capture.at
    if got.clock_at is not None:
        return got.clock_at
    return max((state.since + state.ago_s for _, state in got.states if state.since is not None and state.ago_s is not None), default=None)


def _latest(capture: Capture, got: _Gathered, frames: Iterable[Frame]) -> float | None:
    """A time that nothing in the evidence is after: as it says itself, else its latest full stamp, else that of its files."""
    told = _told_at(capture, got)
    if told is not None:
        return told
    full = [at for frame in frames if (at := framing.record(frame).at) is not None]
    full += [at for _, state in got.states for at in (state.since, state.started_at, state.exited_at) if at is not None]
    full += [at for boot in got.boots if (at := boot.last_at) is not None]
    full = full or [at for section, part in got.clients if (at := _client_latest(section, part)) is not None]
    return max(full or (s.path.stat().st_mtime for s in capture.sections if s.path.exists()), default=None)


_FULL_STAMP = lazily.pattern(r"\b20\d\d-[01]\d-[0-3]\d[T ][0-2]\d:[0-5]\d:[0-6]\d\b")


def _client_latest(section: Section, part: Part) -> float | None:
    """The last full stamp in the head of a client's output: it dates a server's log without years beside it."""
    stamps = _FULL_STAMP.findall(read_text(section, part, 1 << 16, []))
    return max((at for stamp in stamps[-200:] if (at := clock.parse_stamp(stamp)) is not None), default=None)


def _last_stamp(seen: Sequence[Seen], ends: Mapping[str, Tail], benches: Sequence[BenchRun]) -> float | None:
    records: list[Record] = [s.record for s in seen] + [record for tail in ends.values() for record in tail.last]
    times = [record.at for record in records if record.at is not None] + [run.last_at for run in benches if run.last_at is not None]
    return max(times, default=None)

"""Take out of each part of a section what its kind tells: states, runs of a client, sockets, GPUs, boots. Never weighs one part against another, and reads a section whole only where it is small."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from forensics import lazily
from forensics.model import Asked, BenchRun, Boot, Columns, Coverage, Gpu, GpuProcess, Listener, PartKind, Probe, Problem, Run, Section, UnitState
from forensics.parse import bench, client, container, hostfacts, junit, machine, pod, sniff, systemd, unitstate, written
from forensics.parse import host as answers
from forensics.parse.asked import asked_unit
from forensics.parse.covered import Covered
from forensics.parse.named import named
from forensics.parse.part import Part, read_text
from forensics.parse.questions import JOURNALS, asked_in

MAX_TEXT = 4 << 20  # of a part that is read as a whole
MAX_NAMING = 64 << 10  # of what may be a configuration, or the head of a run that prints its own
MAX_JSON = 32 << 20  # of a saved result that is read at once; a larger one is read without its long arrays
CONTAINERS = {PartKind.CONTAINER: container.inspect, PartKind.POD: pod.pod}
STATES = frozenset({PartKind.IS_ACTIVE, PartKind.STATUS, PartKind.SHOW, PartKind.UNIT_FILE, PartKind.UNITS})


@dataclass(eq=False, repr=False)
class Gathered:
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
    covered: Covered = field(default_factory=Covered)
    clients: list[tuple[Section, Part]] = field(default_factory=list)
    benches: list[BenchRun] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def section_into(section: Section, columns: Columns, got: Gathered) -> None:
    """All that a section tells without its lines being weighed; what its clients tell waits until the year is known."""
    parts = sniff.parts(section, columns)
    got.kinds[section.name] = tuple(dict.fromkeys(part.kind for part in parts))
    got.stretches[section.name] = tuple((part.first_line, part.kind) for part in parts)
    live = section.part is not None
    if live:
        got.covered.answer(section)
    for part in parts:
        if not live:
            got.covered.given(section, part)
        if (part.kind in (PartKind.CLIENT, PartKind.BENCH_JSON, PartKind.SERVER) and section.part is None) or section.name.startswith("bench"):
            got.named.extend(named(read_text(section, part, MAX_NAMING, []), source=section.name, first_line=part.first_line))
        if part.kind in (PartKind.CLIENT, PartKind.BENCH_JSON):
            got.clients.append((section, part))
        elif part.kind in CONTAINERS:
            _container(section, part, got)
        elif part.kind in STATES or part.kind in _READERS or part.kind in hostfacts.READERS:
            _structured(section, part, got)
    in_vain = section.part in JOURNALS and got.covered.of("journal") in (Coverage.EMPTY, Coverage.DENIED)
    got.asked.extend(asked_in(section, parts, lambda part: read_text(section, part, 1 << 12, []), in_vain=in_vain))


def _structured(section: Section, part: Part, got: Gathered) -> None:
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


def _container(section: Section, part: Part, got: Gathered) -> None:
    text = read_text(section, part, MAX_TEXT, got.problems)
    read = CONTAINERS[part.kind](text, source=section.name, first_line=part.first_line)
    got.states.extend((part.kind, state) for state in read.states)
    got.runs.extend(run for run in read.runs if run not in got.runs)
    got.problems.extend(read.problems)


def _sockets(text: str, source: str, first: int, got: Gathered) -> None:
    found, problems = answers.listeners(text, source=source, first_line=first)
    if found or not problems:
        got.listeners = [*(got.listeners or ()), *found]
    got.problems.extend(problems)


def _health(text: str, source: str, first: int, got: Gathered) -> None:
    found, problems = answers.probes(text, source=source, first_line=first)
    got.probes.extend(found)
    got.problems.extend(problems)


def _gpu(text: str, source: str, first: int, got: Gathered) -> None:
    cards, processes, problems = answers.gpus(text, source=source, first_line=first)
    got.gpus.extend(cards)
    got.gpu_processes.extend(processes)
    for number, line in enumerate(text.split("\n")[:200], first):
        machine.driver(line, got.around.said, source=source, number=number)
    got.problems.extend(problems)


def _clock(text: str, source: str, first: int, got: Gathered) -> None:
    found, problems = answers.clock(text, source=source, first_line=first)
    got.clock_at = found.at if got.clock_at is None else got.clock_at
    got.problems.extend(problems)


def _boots(text: str, source: str, first: int, got: Gathered) -> None:
    found, problems = answers.boots(text, source=source, first_line=first)
    got.boots.extend(found)
    got.problems.extend(problems)


_CHANGED = lazily.pattern(rf"Warning: The unit file[^\n]{{0,60}} of (?P<unit>{systemd.UNIT_NAME}) changed on disk")


def _notice(text: str, source: str, first: int, got: Gathered) -> None:
    for number, line in enumerate(text.split("\n"), first):
        if "could not be found" in line or "No files found for" in line:
            states, _ = systemd.status(line, source=source, first_line=number)
            got.states.extend((PartKind.STATUS, state) for state in states)
        elif changed := _CHANGED.match(line):
            told = UnitState(name=changed["unit"], need_reload=True, source=source, lines={"reload": (number, line.strip()[:400])})
            got.states.append((PartKind.NOTICE, told))


_READERS: Mapping[PartKind, Callable[[str, str, int, Gathered], None]] = {
    PartKind.SOCKETS: _sockets, PartKind.HEALTH: _health, PartKind.GPU: _gpu, PartKind.CLOCK: _clock, PartKind.BOOTS: _boots, PartKind.NOTICE: _notice,
}  # fmt: skip


def client_into(
    section: Section, part: Part, latest: float | None, zoned: client.Zoned, got: Gathered, columns: Columns, pages: written.Pages
) -> None:
    """What the output or result of a client tells; ``latest`` completes its stamps, ``zoned`` says what the names of zones in them mean."""
    if part.kind is PartKind.BENCH_JSON and part.end is None and section.size() > MAX_JSON:
        with section.open() as stream:
            stream.seek(part.start)
            runs, problems = bench.read_large(stream, source=section.name, first_line=part.first_line, columns=columns)
    elif part.kind is PartKind.BENCH_JSON:
        text = read_text(section, part, MAX_JSON, got.problems)
        runs, problems = bench.read_json(text, source=section.name, first_line=part.first_line, columns=columns)
    else:
        text = read_text(section, part, MAX_TEXT, got.problems)
        if junit.is_junit(text):
            tested = junit.read(text, source=section.name, first_line=part.first_line)
            got.benches.extend([tested] if tested else [])
            return
        text = written.without(pages.of(section.name), part.first_line, text)
        runs, problems = bench.read(
            text, source=section.name, first_line=part.first_line, command=part.command, latest=latest, zoned=zoned, columns=columns
        )
        if text.lstrip()[:1] in ("{", "["):  # a result that was given as a client's output
            of_json, said = bench.read_json(text, source=section.name, first_line=part.first_line, columns=columns)
            runs, problems = (of_json, said) if any(run.matrix or run.metrics for run in of_json) else (runs, problems)
    written_at = section.path.stat().st_mtime if section.text is None and section.path.exists() else None
    got.benches.extend(replace(run, written_at=written_at) for run in runs)
    got.problems.extend(problems)


def _unit_of(section: Section, part: Part) -> str:
    """The unit that a nameless answer is about: of the command that was asked, or of a unit file's own name."""
    command = part.command or section.argv
    if command and (unit := asked_unit(command)):
        return unit
    base = section.name.rpartition("/")[2]
    return base if part.kind is PartKind.UNIT_FILE and re.fullmatch(systemd.UNIT_NAME, base) else ""

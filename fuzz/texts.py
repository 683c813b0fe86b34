"""Fuzzed as text: parsers of one part, what was typed or pasted, times, names, masking and conditions. Each function says what it must stand."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from forensics import clock, redact, units
from forensics.collect import binary
from forensics.errors import RuleError, UsageError
from forensics.model import PartKind
from forensics.parse import (
    asked,
    bench,
    client,
    container,
    dress,
    endings,
    machine,
    packages,
    pod,
    processes,
    prompt,
    shipped,
    systemd,
    unitnow,
    unitstate,
)
from forensics.ruleset import condition
from fuzz.checks import hold, problems_in
from fuzz.corpus import NOW
from fuzz.files import rules


def text_parser(read: Callable[..., Any], data: bytes) -> None:
    """A parser of the text of one part: total, the same twice, problems with lines of the text."""
    text = data.decode("utf-8", "replace")
    result = read(text, source="s", first_line=11)
    problems_in(result[-1], first=11, last=10 + len(text.split("\n")), source="s")
    hold(repr(read(text, source="s", first_line=11)) == repr(result), "not the same twice")


def unit_lists(data: bytes) -> None:
    """``list-units`` has no place of its own: its lines are not cited."""
    unitstate.list_units(data.decode("utf-8", "replace"), source="s")


def results(data: bytes) -> None:
    """Both readers of a client's results; what they cite stands in the text."""
    text = data.decode("utf-8", "replace")
    lines = text.split("\n")
    columns = rules().columns
    for read in (bench.read, bench.read_json):
        runs, problems = read(text, source="s", columns=columns)
        problems_in(problems, first=1, last=len(lines))
        for run in runs:
            for line in (*(row.line_no for row in run.rows), *(m.line_no for m in run.matrix)):
                hold(1 <= line <= len(lines), "a row beyond the text")
            json.dumps([dict(run.metrics), run.asked, run.ok, run.failed, run.port], allow_nan=False)
    for run in bench.read(text, source="s", columns=columns)[0]:
        for row in run.rows:
            hold(row.text in lines[row.line_no - 1], f"a row that is not in its line: {row}")
    client.read(text, source="s", latest=NOW)


def statuses(data: bytes) -> None:
    """Status, and what it cites."""
    text_parser(systemd.status, data)
    text = data.decode("utf-8", "replace")
    lines = text.split("\n")
    for state in systemd.status(text, source="s")[0]:
        for line, cited in state.lines.values():
            hold(cited in systemd.ANSI.sub("", lines[line - 1]), f"a state cites what is not there: {cited!r}")
    unitstate.merge([(PartKind.STATUS, state) for state in systemd.status(text, source="s")[0]])


def commands(data: bytes) -> None:
    """What was typed."""
    for line in data.decode("utf-8", "replace").split("\n"):
        unit = asked.asked_unit(line)
        hold(unit is None or units.UNIT_NAME.fullmatch(unit), f"no unit name: {unit!r}")
        for one in asked.simples(line):
            asked.filters(one)
        systemd.words(line)


def host_answers(data: bytes) -> None:
    """All that a host says of itself: memory, disks, processes, packages, cores, boots, a unit's files."""
    for read in (processes.processes, packages.packages, endings.boot_ends, endings.coredumps, machine.disks):
        text_parser(read, data)
    text = data.decode("utf-8", "replace")
    last = 10 + len(text.split("\n"))
    problems_in(machine.machine(text, machine.Said(), source="s", first_line=11), first=11, last=last, source="s")
    problems_in(unitnow.unit_now(text, machine.Said(), source="s", first_line=11)[1], first=11, last=last, source="s")


def containers(data: bytes) -> None:
    """What engines and clusters say, as JSON and described."""
    text = data.decode("utf-8", "replace")
    for read in (container.inspect, pod.pod):
        found = read(text, source="s", first_line=11)
        problems_in(found.problems, first=11, last=10 + len(text.split("\n")), source="s")
        hold(repr(read(text, source="s", first_line=11)) == repr(found), "not the same twice")
    pod.described(text)


def pasted(data: bytes) -> None:
    """What is put in place of a paste or an export has as many lines, and is not undressed again for ever."""
    bare = dress.undressed(data)
    hold(bare is None or bare.count(b"\n") <= data.count(b"\n") + 1, "a paste with more lines than it had")
    lines = data.decode("utf-8", "replace").split("\n")
    for at in range(min(len(lines), 50)):
        prompt.typed(lines, at)
        prompt.command_in(lines[at])
    if shipped.looks(data):
        shipped.export_of(data)


def times(data: bytes) -> None:
    """Stamps, spans and what a person types."""
    text = data.decode("utf-8", "replace")
    for line in text.split("\n")[:20]:
        at = clock.parse_stamp(line, year=2024, zone_s=3600.0)
        if at is not None:
            again = clock.parse_stamp(clock.iso(at))
            hold(
                clock.iso(at).startswith("@") or (again is not None and abs(at - again) < 1.1e-3),
                f"a time that is another when it is read again: {line!r}",
            )
            clock.hms(at)
        clock.lacks_year(line)
        clock.year_for(line, latest=NOW)
        span = clock.parse_span(line)
        if span is not None:
            hold(span >= 0 and clock.span(span), "no span")
        systemd.stamp(line)
        systemd.gib(line)
        try:
            typed = clock.parse_typed(line, now=NOW)
            hold(0 <= typed <= NOW + clock.DAY_S, "a time that was not to be had")
        except UsageError:
            pass


def redacted(data: bytes) -> None:
    """Masking and neutralising: harmless, and the same when done again."""
    text = data.decode("utf-8", "surrogateescape")
    shown = redact.neutralise(text)
    hold(shown.isprintable(), "a control character is left")
    hold(redact.neutralise(shown) == shown, "not the same when neutralised again")
    for one in (text, shown):
        masked = redact.secrets(one)
        hold(redact.secrets(masked) == masked, "not the same when masked again")
        hold(masked.count("\n") == one.count("\n") or "PRIVATE KEY" in one or len(masked) != len(one), "lines are lost")
    hold(redact.secrets_in_bytes(redact.secrets_in_bytes(data)) == redact.secrets_in_bytes(data), "not the same when the bytes are masked again")


def named(data: bytes) -> None:
    """Unit names, near and far."""
    words = data.decode("utf-8", "replace").split()
    for word in words[:4]:
        try:
            name = units.full_name(word)
        except UsageError:
            continue
        units.near(name, words[:50])
    binary.kind(data[:4096])


def conditions(data: bytes) -> None:
    """A condition of a rule that a user wrote."""
    with suppress(RuleError):
        condition.parse(data.decode("utf-8", "replace"))

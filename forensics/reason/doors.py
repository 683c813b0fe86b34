"""Say which units of the evidence run a server and at which ports, and which of them a client asked. Picks no unit and judges none."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from forensics.model import BenchRun, Facts, Listener, MarkKind, Origin, UnitState, Warn
from forensics.reason.figures import whole
from forensics.reason.known import errors_of
from forensics.reason.logged import arguments
from forensics.reason.place import flag_arguments
from forensics.ruleset.schema import Profile, RuleSet

Doors = Mapping[str, frozenset[int]]


def doors(facts: Facts, rules: RuleSet, served: Container[str]) -> Doors:
    """The units that run a known server, by name, with the ports that each is known to have: none where nothing tells.

    As it said itself, as it was told by its command line, or as a list of sockets has it; the one that its kind takes, where all that it was told is known and names none.
    """
    marks = {m.id: (m, p) for p in rules.profiles for m in p.marks}
    found: dict[str, set[int]] = {}
    kinds: dict[str, Profile] = {}
    for name, state in facts.units.items():
        line = " ".join(state.argv)
        profile = next((p for p in rules.profiles if line and any(re.search(x, line) for x in p.launch)), None)
        if name and profile is not None:
            kinds[name] = profile
            found.setdefault(name, set()).update(_told(flag_arguments(tuple(state.argv)), profile))
    for seen in facts.seen:
        name = seen.record.unit
        if not name or seen.record.origin is not Origin.SERVER or seen.hit.rule not in marks or name not in served:
            continue
        mark, profile = marks[seen.hit.rule]
        ports = found.setdefault(name, set())
        port = whole(seen.hit.captures.get("port"))
        ports.update({port} if port is not None else ())
        if mark.kind is MarkKind.ARGUMENTS and "args" in seen.hit.captures:
            kinds.setdefault(name, profile)
            ports.update(_told(arguments(seen.hit.captures["args"], mark.style), profile))
    for listener in facts.listeners or ():
        holder = _holder(facts, listener, found)
        if holder is not None:
            found[holder].add(listener.port)
    return {
        name: frozenset(ports or ({p.port} if (p := kinds.get(name)) is not None and p.port is not None else ())) for name, ports in found.items()
    }


def _told(given: Mapping[str, str], profile: Profile) -> set[int]:
    name = (profile.port_flag or "port").lstrip("-").replace("-", "_")
    port = whole(given.get(name))
    return {port} if port is not None else set()


def _holder(facts: Facts, listener: Listener, units: Mapping[str, object]) -> str | None:
    """The unit whose process listens there."""
    if listener.pid is None:
        return None
    states: Mapping[str, UnitState] = facts.units
    main = next((name for name in units if (state := states.get(name)) is not None and state.main_pid == listener.pid), None)
    process = facts.host.process(listener.pid)
    own = process.unit if process is not None and process.unit in units else None
    said = next((s.record.unit for s in facts.seen if s.record.unit in units and s.record.pid == listener.pid), None)
    return main or own or said


def of_client(bench: BenchRun, at: Doors) -> str | None:
    """The unit that a client asked: the only one that is known to have its port. None where several do, or where it names none."""
    found = [name for name, ports in at.items() if bench.port in ports]
    return found[0] if len(found) == 1 else None


def asked(facts: Facts, at: Doors) -> Mapping[str, int]:
    """The units at whose port a client failed, and that port."""
    failed = [bench for bench in facts.benches if errors_of(bench)]
    return {unit: bench.port for bench in failed if (unit := of_client(bench, at)) is not None and bench.port is not None}


def own_clients(facts: Facts, unit: str | None) -> tuple[Facts, Sequence[tuple[BenchRun, str]]]:
    """The facts without the clients that failed at the port of another unit, and those with that unit: what they met says nothing of this one."""
    others = [(bench, name) for bench in facts.benches if errors_of(bench) and (name := of_client(bench, facts.doors)) is not None and name != unit]
    if unit is None or not others:
        return facts, ()
    away = {id(bench) for bench, _ in others}
    return replace(facts, benches=tuple(bench for bench in facts.benches if id(bench) not in away)), others


def told_of_them(others: Sequence[tuple[BenchRun, str]]) -> tuple[str, tuple[Warn, ...]]:
    """What is said of clients that asked other units: a few words behind the headline, and a warning each."""
    if not others:
        return "", ()
    names = list(dict.fromkeys(name for _, name in others))
    warns = [
        Warn(
            kind="other-client",
            text=f"{bench.source.rpartition('/')[2]} failed at port {bench.port}, which is {name}'s: what it met is told with --unit {name}",
        )
        for bench, name in others
    ]
    return f"; the client that failed asked {' and '.join(names[:2])}{' and others' if len(names) > 2 else ''}", tuple(warns)

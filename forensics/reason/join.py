"""Join a placed line with the facts of its own life: what ``where`` asks, the versions that a rule is for, and which of several hits counts. Concludes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from forensics.model import ANY_CLIENT, Coverage, Facts, Life, MaterialKind, Origin, PartKind, Signal
from forensics.reason.figures import finite, whole
from forensics.reason.lives import Placed
from forensics.reason.said import answer, is_asked
from forensics.ruleset import quantities
from forensics.ruleset.schema import Rule, RuleSet
from forensics.ruleset.sequence import within

_ASKING = ("seen(", "before(", "after(", "within(")  # how a rule asks for others; parsing every condition would cost more than all else here
ASKS = ("POST", "PUT")  # with a body: to look at a page, a state or a list is no work
_OF_LIFE: Mapping[str, Callable[[Life], object | None]] = {
    # what a life has not said it may have said before the evidence begins
    "listening": lambda life: life.listening or None,
    "ready": lambda life: life.ready or None,
    "served": lambda life: life.served or None,
    "stop_asked": lambda life: life.stop_asked or None,
    "alive": lambda life: life.alive,
    "lived_s": lambda life: life.lived_s,
    "started_at": lambda life: life.started_at,
    "listening_at": lambda life: life.listening_at,
    "ready_at": lambda life: life.ready_at,
    "ended_at": lambda life: life.ended_at,
    "end.kind": lambda life: str(life.end.kind),
    "end.by": lambda life: str(life.end.by),
    "end.signal": lambda life: life.end.signal,
    "end.status": lambda life: life.end.status,
    "end.result": lambda life: life.end.result,
    "phase": lambda life: str(life.phase) if life.phase else None,
    "progress": lambda life: life.progress.done / life.progress.of if life.progress and life.progress.of else None,
    "pids": lambda life: set(life.pids) or None,
    "server": lambda life: life.server,
    "version": lambda life: life.version,
}


class Around(NamedTuple):
    """What lines are placed among."""

    facts: Facts
    rules: RuleSet
    lives: tuple[Life, ...]
    placed: Sequence[Placed]
    not_found: Mapping[int, float] = MappingProxyType({})  # life → share of its requests that were answered 404


def not_found(placed: Sequence[Placed], lives: Sequence[Life]) -> Mapping[int, float]:
    """Of each life the share of what it was asked to do, once it was ready, that it answered with 404, among that and what it did; no share where it tells of neither."""
    told: dict[int, list[bool]] = {}
    for one in placed:
        captures = one.seen.hit.captures
        status = captures.get("answered", "")
        if captures.get("method") not in ASKS or not (status == "404" or status.startswith("2")):
            continue
        ready_at, at = lives[one.life].ready_at, one.seen.record.at
        if ready_at is None or at is None or at >= ready_at:  # its own warm-up is nobody's request
            told.setdefault(one.life, []).append(status == "404")
    return {life: sum(answers) / len(answers) for life, answers in told.items()}


def argument(life: Life, name: str) -> object | None:
    """An argument of the life, by its name or flag: true or false, a number, else the text."""
    text = life.arguments.get(name.lstrip("-").replace("-", "_"))
    if text is None:
        return None
    if text in ("True", "true", "False", "false"):
        return text.lower() == "true"
    number = finite(text)
    return text if number is None else number


def lines_of(facts: Facts, origin: Origin) -> int:
    """How many lines of an origin are known: those that a rule wanted, and the ends of the sources."""
    edges = {record for tail in facts.tails.values() for record in (*tail.first, *tail.last)} | {seen.record for seen in facts.seen}
    return sum(record.origin is origin for record in edges)


def printed(facts: Facts) -> bool:
    """Whether a program may have printed what was given: not where all of it is blank, or a novel, code, a table, a list of requests.

    What a client is known by was printed by that client, whatever else it looks like: a report of tests in XML is no configuration.
    """
    if not facts.material or any(PartKind.BENCH_JSON in kinds for kinds in facts.kinds.values()):
        return True
    if any(bench.errors and bench.tool != ANY_CLIENT for bench in facts.benches):
        return True
    return any(m.kind not in (MaterialKind.EMPTY, MaterialKind.OTHER) for m in facts.material.values())


def holds(rule: Rule, placed: Placed, around: Around, signals: Sequence[Signal]) -> bool:
    """Whether ``where`` does not contradict: unknown passes. ``signals`` are those that it may ask for."""
    if rule.where is None:
        return True
    from forensics.ruleset import condition

    life = around.lives[placed.life]

    def lookup(name: str) -> object | None:
        if is_asked(name):
            return answer(name, signals, around.placed, around.rules, around.facts, life)
        family, _, rest = name.partition(".")
        if family == "hit":
            return _of_hit(rule, placed, rest)
        if family == "argv" or name.startswith("life.argv."):
            return argument(life, rest.removeprefix("argv."))
        if family == "client":
            return _of_clients(rest, around.facts)
        return _of_life(rest, life, around) if family == "life" else _of_evidence(rest, around.facts)

    return condition.parse(rule.where).evaluate(lookup) is not False


def asks(rule: Rule) -> bool:
    """Whether its ``where`` asks for other rules: then theirs are placed first."""
    if rule.where is None or not any(call in rule.where for call in _ASKING):
        return False
    from forensics.ruleset import condition

    return bool(condition.parse(rule.where).rules)


def _of_hit(rule: Rule, placed: Placed, name: str) -> object | None:
    from forensics.ruleset.condition import Point

    text = placed.seen.hit.captures.get(name)
    if text is not None:
        if name in rule.captures:
            return quantities.read(text, rule.captures[name])
        number = whole(text)
        return text if number is None else number
    record = placed.seen.record
    if name == "at":
        return Point(record.at, record.source, placed.order)
    return {"pid": record.pid, "rank": record.rank or None, "source": record.source, "ident": record.ident or None}.get(name)


def _of_life(name: str, life: Life, around: Around) -> object | None:
    if name == "count":
        return len(around.lives)
    if name == "not_found_share":
        return around.not_found.get(life.index)
    compute = _OF_LIFE.get(name)
    return compute(life) if compute else None


def _of_clients(name: str, facts: Facts) -> object | None:
    """How often clients met a kind of error; 0 where nobody tells."""
    return sum(bench.errors.get(name.replace("_", "-"), 0) for bench in facts.benches) if name.startswith("http_") else None


def _of_evidence(name: str, facts: Facts) -> object | None:
    if name in ("server_lines", "systemd_lines"):
        # of systemd only what a rule wanted counts: the ends of a log hold lines of its session managers as well
        return lines_of(facts, Origin.SERVER) if name == "server_lines" else sum(s.record.origin is Origin.SYSTEMD for s in facts.seen)
    return str(facts.coverage.get(name, Coverage.NOT_COLLECTED))


def picked(found: Sequence[tuple[Placed, Signal]], rules: RuleSet) -> list[tuple[Placed, Signal]]:
    """Of rules that pick, the first or last hit of each scope and life; all of the others."""
    picks = {rule.id: rule for rule in rules.rules if rule.pick != "all"}
    chosen: dict[tuple[object, ...], Signal] = {}
    for placed, signal in found:
        rule = picks.get(signal.rule)
        if rule is None:
            continue
        key = (rule.id, signal.life, *within(placed.seen.hit.frame, rule.scope))
        held = chosen.get(key)
        if held is None or (signal.order < held.order) == (rule.pick == "first"):
            chosen[key] = signal
    well = set(map(id, chosen.values()))
    return [(placed, signal) for placed, signal in found if signal.rule not in picks or id(signal) in well]

"""Weigh the signals of the life at issue into hypotheses and one verdict. Reads no line itself and writes no sentence for a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from forensics.model import Cause, EndBy, EndKind, Evidence, MarkKind, Origin, Phase, Role, Signal, Status
from forensics.reason.issue import failed
from forensics.reason.known import KnownFacts
from forensics.reason.place import GAVE_UP, Story
from forensics.reason.said import is_asked
from forensics.reason.weigh import HARMLESS, ORDER, ends_on_an_error, fatal, firm, foreign, ranked, specific, survived
from forensics.ruleset.schema import Rule
from forensics.ruleset.versions import may_be


class Verdict(NamedTuple):
    """The cause with the signals it rests on, strongest first; ``signals`` is empty for healthy and unknown."""

    cause: Cause
    status: Status | None
    signals: tuple[Signal, ...] = ()
    rule: Rule | None = None
    by: str = ""  # root, mechanism, state, health, unknown


def conditions(known: KnownFacts) -> list[Signal]:
    """The ``when`` rules that hold, or may hold, for the life at issue."""
    from forensics.ruleset import condition

    story = known.story
    found = []
    for rule in story.rules.rules:
        if rule.when is None or (rule.server and story.issue.server is not None and story.issue.server not in rule.server):
            continue
        if not may_be(story.issue.version, since=rule.since, until=rule.until):
            continue
        parsed = condition.parse(rule.when)
        holds = parsed.evaluate(known.value)
        if holds is False or (holds is None and not _may_hold(rule, parsed.leans_on, known)):
            continue
        lines = tuple(
            dict.fromkeys(line for name in sorted(parsed.leans_on, key=lambda n: (n == "client.ok", n)) for line in known.get(name).evidence)
        )
        found.append(
            Signal(
                rule=rule.id,
                role=rule.role,
                cause=rule.cause,
                life=story.issue.index,
                phase=rule.phase or story.issue.phase,
                lines=tuple(replace(line, rule=rule.id, role=rule.role) for line in lines),
                certain=holds is True,
                order=1 << 30,
            )
        )
    return found


def _may_hold(rule: Rule, names: Iterable[str], known: KnownFacts) -> bool:
    """An unknown condition is worth a hypothesis only where all that can be measured was, and just the state of the unit is not known."""
    # that a line was not said can rarely be known
    measured = [n for n in names if not n.startswith(("life.", "unit.", "evidence.")) and not (is_asked(n) and known.value(n) is None)]
    return rule.role is not Role.MECHANISM and bool(measured) and all(known.value(n) is not None for n in measured)


def decide(story: Story, signals: Sequence[Signal]) -> Verdict:
    """Choose the cause: root, then mechanism, then state, then what the health says."""
    if story.pick.how == "elsewhere":
        return Verdict(cause=Cause.EVIDENCE_MISSING, status=Status.SUPPORTED, by="unknown")
    mine = [s for s in signals if s.life == story.issue.index and s.cause is not None and not foreign(story, s)]
    roots = ranked(story, [s for s in mine if s.role is Role.ROOT and _can_explain(story, s)])
    certain = [s for s in roots if firm(story, s) is not Status.POSSIBLE]
    dying = any(not survived(story, s) for s in story.of_issue(Role.CASCADE))
    healthy = [s for s in mine if s.cause is Cause.HEALTHY and s.certain and not dying and not leaves(story)]
    # a loop is the history of the unit: no reason against a life that became ready and stays
    stands = story.issue.alive is True or (story.issue.ready and story.issue.end.kind is EndKind.NONE)
    stopped = story.issue.end.kind is EndKind.STOPPED or (story.issue.stop_asked and story.issue.alive is not True)
    if stopped and not _before_stop(certain, story):
        return _stopped(story, mine, certain)
    roots = [s for s in roots if s.cause is not Cause.OPERATOR_STOP or not failed(story.issue)]
    if certain:
        return _verdict(story, certain, "root")
    # fatal words in a life that somebody sees standing did not end it; they are told as possible, beside the verdict
    left = [s for s in roots if not survived(story, s) and not (story.issue.alive is True and healthy and fatal(s.cause))]
    if left:
        return _verdict(story, left, "root")
    whens = {r.id for r in story.rules.rules if r.when}
    mechanisms = [s for s in mine if s.role is Role.MECHANISM and not (stands and s.rule in whens)]
    states = [s for s in mine if s.role is Role.STATE and s.cause is not Cause.HEALTHY and _can_explain(story, s) and not survived(story, s)]
    if mechanisms and story.issue.alive is not True:
        return _verdict(story, sorted(specific(story, mechanisms), key=lambda s: (_mechanism_rank(s), s.order)), "mechanism")
    made = _ended(story)
    if made is not None:
        return made
    if states:
        return _verdict(story, sorted(specific(story, states), key=lambda s: (not s.certain, s.order)), "state")
    unwell = story.state is not None and story.state.health in ("unhealthy", "starting")
    if healthy and not unwell:
        return Verdict(cause=Cause.HEALTHY, status=None, signals=tuple(healthy), by="health")
    if mechanisms:
        return _verdict(story, mechanisms, "mechanism")
    state = story.state
    if state is not None and state.active == "active" and story.profile is None and story.issue.alive and not unwell:
        # it runs, nothing failed, and more cannot be seen of a service that nobody described
        return Verdict(cause=Cause.HEALTHY, status=None, by="health")
    if state is not None and state.active == "inactive" and state.load == "loaded" and state.result in (None, "success"):
        # systemd forgets how a unit that is not enabled was stopped, but it keeps a failure
        told = any(s.record.origin is Origin.SYSTEMD for s in story.facts.seen)
        return Verdict(cause=Cause.OPERATOR_STOP, status=Status.SUPPORTED if told else Status.POSSIBLE, by="health")
    return Verdict(cause=Cause.UNKNOWN, status=None, by="unknown")


def leaves(story: Story) -> bool:
    """Whether it says that it goes down, or its last word is an error, where nobody says that it lives: perhaps it is not gone, but well it is not."""
    if story.issue.alive is True:
        return False
    rules = (story.rules.rule(s.rule) for s in story.of_issue(Role.CONTEXT))
    return any(rule is not None and rule.phase is Phase.STOPPING for rule in rules) or ends_on_an_error(story)


def _stopped(story: Story, mine: Sequence[Signal], certain: Sequence[Signal]) -> Verdict:
    """Somebody asked for the end, unless what came with it says more."""
    down = [s for s in certain if s.cause is Cause.HOST_REBOOT]
    if down:  # the machine was going down, and took it along
        return _verdict(story, down, "root")
    loop = [s for s in mine if s.cause is Cause.RESTART_LOOP] if story.issue.end.result in GAVE_UP else []
    if loop:  # the stop was the first half of a restart: systemd refused the other half, and the unit is down for that
        return _verdict(story, loop, "mechanism")
    stop = [s for s in mine if s.cause is Cause.OPERATOR_STOP]
    return _verdict(story, stop, "root") if stop else Verdict(cause=Cause.OPERATOR_STOP, status=Status.SUPPORTED, by="root")


def _can_explain(story: Story, signal: Signal) -> bool:
    """A refused request, however loud, is no reason for a life that ended by itself."""
    if signal.cause not in HARMLESS:
        return True
    content = [b for b in story.facts.benches if b.ok and not b.failed and not b.errors]
    if content and signal.record is not None and signal.record.origin is Origin.SERVER:
        return False  # somebody else's bad requests: the client in question was answered
    if signal.record is not None and signal.record.origin is Origin.SERVER and _met_otherwise(story, signal):
        return False  # or it was never let in, or was answered otherwise: none of these requests was its own
    return not (failed(story.issue) or any(True for _ in story.of_issue(Role.CASCADE)))


def _met_otherwise(story: Story, signal: Signal) -> bool:
    """Whether each client says of all its failures what they were, and they are not what this line of the server's log tells of."""
    if not story.facts.benches or any(not b.errors or "other" in b.errors for b in story.facts.benches):
        return False
    kinds = {kind for b in story.facts.benches for kind in b.errors}
    status = signal.captures.get("status")
    return (kinds == {"refused"} and not any(b.ok for b in story.facts.benches)) or (status is not None and f"http-{status}" not in kinds)


def _before_stop(roots: Iterable[Signal], story: Story) -> bool:
    """Whether something had failed before the stop was asked: then the stop is not the story."""
    stops = [p.order for p in story.marks if p.mark is not None and p.mark.kind in (MarkKind.STOP_ASKED, MarkKind.STOPPING)]
    first = min(stops, default=1 << 30)
    met = {r.id for r in story.rules.rules if r.when and ("client." in r.when or "accept." in r.when)}
    return any((s.order < first or s.rule in met) and s.cause is not Cause.OPERATOR_STOP and not survived(story, s) for s in roots)


def _mechanism_rank(signal: Signal) -> int:
    """systemd's own word, then the signal, then the exit status, then the loop."""
    order = (Cause.STARTUP_TIMEOUT, Cause.WATCHDOG_TIMEOUT, Cause.HOST_OOM, Cause.SIGNAL_DEATH, Cause.EXIT_CODE_DEATH, Cause.RESTART_LOOP)
    return order.index(signal.cause) if signal.cause in order else len(order)


def _ended(story: Story) -> Verdict | None:
    """No rule speaks of the end, but the state does: the mechanism is what is left."""
    end = story.issue.end
    by_kind = {
        EndKind.SIGNAL: Cause.SIGNAL_DEATH,
        EndKind.OOM_KILL: Cause.HOST_OOM,
        EndKind.TIMEOUT: Cause.STARTUP_TIMEOUT,
        EndKind.WATCHDOG: Cause.WATCHDOG_TIMEOUT,
        EndKind.REBOOT: Cause.HOST_REBOOT,
    }
    cause = by_kind.get(end.kind)
    if end.kind is EndKind.EXIT and end.status not in (None, 0):
        cause = Cause.EXIT_CODE_DEATH
    said_by_server_alone = end.by is EndBy.ITSELF and end.result is None and story.state is None
    if cause is None or (cause is Cause.SIGNAL_DEATH and said_by_server_alone):
        return None  # the server's own kill is how it leaves, never why
    if cause is Cause.SIGNAL_DEATH and end.by is EndBy.ITSELF and any(s.role is Role.CASCADE for s in story.of_issue()):
        return None
    lines = (
        tuple(
            Evidence(source=story.state.line_sources.get(key, story.state.source), line=n, text=t)
            for key, (n, t) in story.state.lines.items()
            if key in ("active", "process", "main", "duration")
        )
        if story.state
        else ()
    )
    signal = Signal(rule="", role=Role.MECHANISM, cause=cause, life=story.issue.index, phase=story.issue.phase, at=story.issue.ended_at, lines=lines)
    told = end.result or (story.state is not None and story.state.manager)
    status = Status.ESTABLISHED if end.kind in (EndKind.OOM_KILL, EndKind.WATCHDOG) and told else Status.SUPPORTED
    if end.kind is EndKind.TIMEOUT and not any(p.mark is not None and p.mark.kind is MarkKind.START_TIMEOUT for p in story.placed):
        status = Status.POSSIBLE  # systemd says "timeout" of a stop that took too long as well
    return Verdict(cause=cause, status=status, signals=(signal,), by="mechanism")


def _verdict(story: Story, signals: Sequence[Signal], by: str) -> Verdict:
    first = signals[0]
    assert first.cause is not None
    rule = story.rules.rule(first.rule)
    same = tuple(s for s in signals if s.cause is first.cause)
    statuses = sorted((firm(story, s) for s in same), key=lambda s: ORDER[s])
    status = statuses[0]
    origins = {s.record.origin for s in same if s.record is not None}
    if status is Status.POSSIBLE and len(origins) > 1:
        status = Status.SUPPORTED
    return Verdict(cause=first.cause, status=status, signals=same, rule=rule, by=by)

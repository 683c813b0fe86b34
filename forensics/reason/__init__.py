"""Facts in, diagnosis out: lives, start-up, placed signals, known facts, conditions, hypotheses, verdict, advice. Asks no host and reads no file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from forensics import clock
from forensics.model import Advice, Capture, Cause, Diagnosis, End, EndKind, Facts, Health, TargetKind
from forensics.reason import cite, memory, pace, remedy, tell
from forensics.reason.advice import advise, concrete
from forensics.reason.apart import clients_apart, told_of_others
from forensics.reason.changes import changes, undoable
from forensics.reason.client import client_view
from forensics.reason.clocks import on_host_clock
from forensics.reason.doors import own_clients, told_of_them
from forensics.reason.earlier import before_stop
from forensics.reason.follow import follows
from forensics.reason.good import last_good
from forensics.reason.headline import headline
from forensics.reason.hypotheses import hypotheses
from forensics.reason.known import KnownFacts, known_facts
from forensics.reason.measured import measured
from forensics.reason.novel import LookAgain, novel
from forensics.reason.phases import phase_at
from forensics.reason.place import Story, story_of
from forensics.reason.verdict import Verdict, conditions, decide
from forensics.ruleset.schema import RuleSet

MOST_NAMED = 8  # units that evidence speaks of, where it is silent of the one that was asked for


def diagnose(facts: Facts, rules: RuleSet, capture: Capture, *, again: LookAgain | None = None) -> Diagnosis:
    """One verdict with its evidence, for the unit that the capture picked. ``again`` reads lines of two lives once more, where those have to be compared."""
    facts, others = own_clients(on_host_clock(facts, capture), capture.pick.unit)
    asked, elsewhere = told_of_them(others)
    found = _of_all(facts, rules, capture, again)
    return replace(found, headline=found.headline + asked, warnings=(*elsewhere, *found.warnings)) if others else found


def _of_all(facts: Facts, rules: RuleSet, capture: Capture, again: LookAgain | None) -> Diagnosis:
    """The verdict with what each of several clients met."""
    told = clients_apart(facts, lambda alone: _diagnosed(alone, rules, capture, None))
    if not told:
        return _diagnosed(facts, rules, capture, again)
    found = _diagnosed(replace(facts, benches=told[0].benches), rules, capture, again)
    more, warns = told_of_others(told)
    return replace(found, headline=found.headline + more, warnings=(*warns, *found.warnings))


def _diagnosed(facts: Facts, rules: RuleSet, capture: Capture, again: LookAgain | None) -> Diagnosis:
    at = facts.at if facts.at is not None and not facts.since_boot else capture.at
    story = story_of(facts, rules, capture.pick.unit, at=at, pick=capture.pick, host=_host(capture, facts), name=_name(capture))
    known = known_facts(story)
    signals = [*story.signals, *conditions(known)]
    verdict = _as_met(story, decide(story, signals))
    client = client_view(story)
    direction = remedy.direction_of(story, verdict, known.memory)
    known.settle(remedy.failed_by(story, verdict))
    changed = changes(story, verdict)
    said = novel(story, verdict.cause, again)
    life = story.issue
    dead = life.alive is not True and life.end.kind is not EndKind.NONE
    cited = cite.cite(story, verdict, signals, said.new)
    active_for_s = clock.between(life.started_at, story.at) if life.alive else None
    phase = phase_at(story, verdict)
    found = Diagnosis(
        target=capture.target.name,
        host=capture.host or facts.about_host,
        unit=story.unit,
        server=story.profile.name if story.profile else None,
        server_version=life.version,
        captured_at=at if capture.at is None else capture.at,
        took_s=capture.took_s,
        headline=headline(story, known, verdict, client, direction, capture.pick, phase),
        health=tell.health(story, verdict),
        cause=verdict.cause,
        status=verdict.status if verdict.cause not in (Cause.HEALTHY, Cause.UNKNOWN) else None,
        direction=direction,
        also=_also(story, verdict),
        phase=phase,
        progress=life.progress if not life.ready else None,
        behind=life.behind if not life.ready else None,
        started_at=life.started_at,
        active_at=life.active_at,
        active_for_s=active_for_s,
        listening_at=life.listening_at,
        ready_at=life.ready_at,
        ready_expected_at=pace.expected_at(story),
        died_at=life.ended_at if dead else None,
        died_after_s=life.lived_s if dead else None,
        end=life.end if dead else End(kind=EndKind.NONE) if life.alive else life.end,
        client=client,
        evidence=cited,
        follows=follows(story, verdict, signals, cited),
        hypotheses=hypotheses(story, known, signals, verdict),
        advice=advise(story, known, verdict, direction, undoable(changed)),
        memory=memory.view(story, known.memory, verdict.cause),
        trees=measured(known, verdict.cause),
        changed=changed,
        good=last_good(story),
        novel=said.new,
        absent=said.absent,
        phases=life.phases,
        lives=story.lives[-20:],
        timeline=cite.timeline(story, verdict),
        warnings=tell.warnings(story, known, capture.pick, verdict),
        coverage=cite.coverage(facts),
        candidates=capture.pick.candidates if capture.pick.unit is None or capture.pick.how in ("several", "elsewhere") else (),
    )
    return _of_nobody(found, known) if capture.pick.how == "elsewhere" else found


def _as_met(story: Story, verdict: Verdict) -> Verdict:
    """The verdict on what the client met, where it failed before the stop was asked: then the stop is told beside it."""
    before = before_stop(story) if verdict.cause is Cause.OPERATOR_STOP else None
    if before is None:
        return verdict
    met = decide(before, [*before.signals, *conditions(known_facts(before))])
    return verdict if met.cause in (Cause.HEALTHY, Cause.EVIDENCE_MISSING) else met


def _of_nobody(found: Diagnosis, known: KnownFacts) -> Diagnosis:
    """The answer about a unit that the evidence is silent of, without what it holds of others: no life, no end and no server in it is of that unit."""
    blank = Diagnosis(target=found.target, headline=found.headline, health=Health.UNKNOWN, cause=found.cause, status=found.status)
    command = concrete("ddforensics diagnose HOST --unit UNIT", known)
    return replace(
        blank,
        host=found.host,
        unit=found.unit,
        captured_at=found.captured_at,
        took_s=found.took_s,
        client=replace(found.client, early_s=None, wasted_s=None) if found.client is not None else None,
        evidence=tuple(e for e in found.evidence if any(name in e.text for name in found.candidates)),
        advice=(Advice(text=f"ask its host for {found.unit}; without --unit this evidence is told as what it is about", command=command),),
        warnings=found.warnings,
        coverage=found.coverage,
        hypotheses=tuple(h for h in found.hypotheses if h.cause is found.cause),
        candidates=found.candidates[:MOST_NAMED],
    )


def _host(capture: Capture, facts: Facts) -> str | None:
    """What a command calls the machine: as it was asked for, or as saved evidence names it; ``localhost`` there may be any machine, and its own is not the reader's."""
    named = capture.target.host or capture.host or facts.about_host
    return named if named and not named.startswith("localhost") else None


def _name(capture: Capture) -> str | None:
    """What to call evidence that names no unit and no server: its one file."""
    named = capture.target.kind is TargetKind.FILES and len(capture.sections) == 1 and capture.sections[0].name != "-"
    return Path(capture.sections[0].name).name if named else None


def _also(story: Story, verdict: Verdict) -> tuple[Cause, ...]:
    """Mechanisms that are true as well: how it died."""
    end = story.issue.end
    found = []
    if end.kind is EndKind.SIGNAL or end.signal:
        found.append(Cause.SIGNAL_DEATH)
    if end.kind is EndKind.EXIT and end.status not in (None, 0):
        found.append(Cause.EXIT_CODE_DEATH)
    if story.start_limit or (story.restarts or 0) >= 3:
        found.append(Cause.RESTART_LOOP)
    if end.kind is EndKind.STOPPED:
        found = [Cause.OPERATOR_STOP] if verdict.cause is not Cause.HOST_REBOOT else []
    return tuple(c for c in found if c is not verdict.cause)


__all__ = ["Story", "Verdict", "diagnose"]

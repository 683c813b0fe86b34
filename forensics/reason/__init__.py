"""Facts in, diagnosis out: lives, start-up, placed signals, known facts, conditions, hypotheses, verdict, advice. Asks no host and reads no file."""

from __future__ import annotations

from pathlib import Path

from forensics.model import Capture, Cause, Diagnosis, End, EndKind, Facts, Life, Phase, TargetKind
from forensics.reason import cite, tell
from forensics.reason.advice import advise, direction_of
from forensics.reason.changes import changes
from forensics.reason.client import client_view
from forensics.reason.headline import headline
from forensics.reason.hypotheses import hypotheses
from forensics.reason.known import known_facts
from forensics.reason.place import Story, story_of
from forensics.reason.verdict import Verdict, conditions, decide
from forensics.ruleset.schema import RuleSet

# the phase that a cause means by itself, for evidence in which no mark says one
MEANT = {
    Cause.EXEC_FAILURE: Phase.LAUNCH,
    Cause.BAD_ARGUMENTS: Phase.LAUNCH,
    Cause.BAD_ENVIRONMENT: Phase.LAUNCH,
    Cause.GPU_OOM_RUNTIME: Phase.SERVING,
    Cause.BENCH_OVERLOAD: Phase.SERVING,
    Cause.MASK_CORRUPTION: Phase.SERVING,
}


def diagnose(facts: Facts, rules: RuleSet, capture: Capture) -> Diagnosis:
    """One verdict with its evidence, for the unit that the capture picked."""
    at = facts.at if facts.at is not None and not facts.since_boot else capture.at
    story = story_of(facts, rules, capture.pick.unit, at=at, pick=capture.pick, host=capture.target.host, name=_name(capture))
    known = known_facts(story)
    signals = [*story.signals, *conditions(known)]
    verdict = decide(story, signals)
    client = client_view(story)
    direction = direction_of(story, verdict)
    changed = changes(story)
    life = story.issue
    dead = life.alive is not True and life.end.kind is not EndKind.NONE
    starting_at = story.at - life.started_at if life.alive and story.at is not None and life.started_at is not None else None
    return Diagnosis(
        target=capture.target.name,
        host=capture.host or facts.about_host,
        unit=story.unit,
        server=story.profile.name if story.profile else None,
        server_version=life.version,
        captured_at=at if capture.at is None else capture.at,
        took_s=capture.took_s,
        headline=headline(story, known, verdict, client, direction, capture.pick),
        health=tell.health(story, verdict),
        cause=verdict.cause,
        status=verdict.status if verdict.cause not in (Cause.HEALTHY, Cause.UNKNOWN) else None,
        direction=direction,
        also=_also(story, verdict),
        phase=_phase(life, verdict),
        progress=life.progress if not life.ready else None,
        started_at=life.started_at,
        active_for_s=starting_at,
        listening_at=life.listening_at,
        ready_at=life.ready_at,
        ready_expected_at=_ready_expected_at(story),
        died_at=life.ended_at if dead else None,
        died_after_s=life.lived_s if dead else None,
        end=life.end if dead else End(kind=EndKind.NONE) if life.alive else life.end,
        client=client,
        evidence=cite.cite(story, verdict, signals),
        hypotheses=hypotheses(story, known, signals, verdict),
        advice=advise(story, known, verdict, direction, changed),
        changed=changed,
        phases=life.phases,
        lives=story.lives[-20:],
        timeline=cite.timeline(story, verdict),
        warnings=tell.warnings(story, known, capture.pick, verdict),
        coverage=cite.coverage(facts),
        candidates=capture.pick.candidates if capture.pick.unit is None or capture.pick.how == "several" else (),
    )


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


def _phase(life: Life, verdict: Verdict) -> Phase | None:
    if verdict.cause is Cause.OPERATOR_STOP:
        return Phase.STOPPING
    signal = verdict.signals[0] if verdict.signals else None
    phase = signal.phase if signal is not None and verdict.by in ("root", "mechanism") else None
    phase = phase or life.phase or MEANT.get(verdict.cause)
    if phase in (Phase.READY, Phase.STOPPING) and MEANT.get(verdict.cause) is Phase.SERVING:
        return Phase.SERVING  # the request that broke it is what it served, also where the server was stopped later
    return phase


def _ready_expected_at(story: Story) -> float | None:
    """When a start-up like the last good one would be ready; None where no earlier life became ready."""
    life = story.issue
    if life.ready or life.started_at is None or not life.alive:
        return None
    took = [x.ready_at - x.started_at for x in story.lives if x.ready_at is not None and x.started_at is not None and x.index != life.index]
    return life.started_at + took[-1] if took else None


__all__ = ["Story", "Verdict", "diagnose"]

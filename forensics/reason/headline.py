"""Say the diagnosis in one sentence: what, when, after how long, in which phase, why. Every word comes from the story; nothing is weighed here."""

from __future__ import annotations

import re

from forensics import clock
from forensics.model import Cause, ClientView, Coverage, Direction, EndBy, EndKind, Life, Origin, Phase, Pick
from forensics.reason.advice import filled
from forensics.reason.cite import last_words
from forensics.reason.known import KnownFacts
from forensics.reason.manager import name_of
from forensics.reason.place import Story
from forensics.reason.verdict import Verdict

QUOTED = 120


def headline(story: Story, known: KnownFacts, verdict: Verdict, client: ClientView | None, direction: Direction | None, pick: Pick) -> str:
    """The sentence that stands on top of every report."""
    name, life, cause = story.name, story.issue, verdict.cause
    why = _why(verdict, known, direction)
    if cause is Cause.MISTYPED_UNIT:
        return f"{pick.asked or name} does not exist: {pick.unit or 'another unit'} is meant"
    if cause is Cause.UNIT_MISSING:
        near = f"; names like it: {', '.join(pick.candidates[:5])}" if pick.candidates else ", and no unit has a name near it"
        return f"{name} does not exist on this host{near}"
    if cause is Cause.EVIDENCE_MISSING and pick.how == "missing" and pick.why:
        return pick.why
    if cause is Cause.EVIDENCE_MISSING:
        return f"nothing can be said of {name}: {why}"
    if cause is Cause.UNKNOWN:
        return _unknown(story, pick)
    if cause is Cause.HEALTHY:
        return _healthy(story, verdict)
    if cause is Cause.OPERATOR_STOP:
        return _stopped(story, verdict, why)
    if cause in (Cause.STARTUP_RACE, Cause.STARTUP_HANG):
        return _starting(story, name, client, verdict)
    if life.end.kind is EndKind.STOPPED and cause is Cause.HOST_REBOOT:
        return f"{name} was stopped{_after(life)}: {why}"
    if life.end.kind is EndKind.STOPPED:
        return f"{name} was stopped{_after(life)}; before that: {why}"
    if life.end.kind is not EndKind.NONE and life.alive is not True:
        return f"{name} {_died(life)}: {why}{_loop(story)}"
    return f"{name}: {why}{_loop(story)}"


def _why(verdict: Verdict, known: KnownFacts, direction: Direction | None) -> str:
    plain = _plain(verdict.cause, known.story)
    said = filled(verdict.rule.says, verdict.signals[0].captures, known) if verdict.rule and verdict.signals else None
    record = verdict.signals[0].record if verdict.signals else None
    by_systemd = verdict.by == "mechanism" and (record is None or record.origin is Origin.SYSTEMD)
    # what ended the main process is in the life, and more exact there than in a rule for all signals
    says = plain if not said or (by_systemd and plain != str(verdict.cause)) else " ".join(said.split()).rstrip(".")
    if direction is Direction.REBALANCE:
        says += "; the attempt beside it failed the other way, so no value in between fits either"
    return says


def _plain(cause: Cause, story: Story) -> str:
    end = story.issue.end
    if cause is Cause.SIGNAL_DEATH and end.signal:
        who = {
            EndBy.UNKNOWN: ", by whom is not known",
            EndBy.ITSELF: ", its own doing",
            EndBy.OPERATOR: f", sent through {name_of(story.state)} on somebody's request",
        }.get(end.by, f" by {end.by}")
        return f"killed by {end.signal}{who}"
    if cause is Cause.EXIT_CODE_DEATH and end.status is not None:
        return f"it left with exit status {end.status}{_words(story)}"
    plain = {
        Cause.HOST_OOM: "the kernel's out-of-memory killer ended it",
        Cause.STARTUP_TIMEOUT: f"{name_of(story.state)} gave up waiting for it to start",
        Cause.WATCHDOG_TIMEOUT: "its watchdog was not fed in time",
        Cause.HOST_REBOOT: "the machine went down under it",
    }
    return plain.get(cause, str(cause))


def _words(story: Story) -> str:
    """Its last words; where there are none, why not."""
    if story.facts.coverage.get("journal") is Coverage.DENIED:
        return "; this account may not read its journal, so why is not known"
    said = last_words(story)
    if said is None:
        return ", and no line says why"
    text = " ".join(said.text.split())
    return f"; its last words: {text[:QUOTED]}{'…' if len(text) > QUOTED else ''}"


def _after(life: Life) -> str:
    return f" after {clock.span(life.lived_s)}" if life.lived_s is not None else ""


def _died(life: Life) -> str:
    after = _after(life)
    started = life.phase is not None and life.phase not in (Phase.READY, Phase.SERVING)
    return f"died{after}" + (f" in {life.phase}" if started else " while serving" if life.ready else "")


def _loop(story: Story) -> str:
    if story.start_limit:
        return f"; {name_of(story.state)} has given up restarting it"
    if (story.restarts or 0) >= 3:
        return f"; {name_of(story.state)} has restarted it {story.restarts} times"
    return ""


def _healthy(story: Story, verdict: Verdict) -> str:
    life = story.issue
    if life.alive and not life.ready and not verdict.signals:
        since = f" since {clock.iso(life.started_at)}" if life.started_at is not None else ""
        return f"{story.name} is running{since}, and nothing wrong was found; whether it answers is not known"
    ready = f"; ready since {clock.hms(life.ready_at)} UTC" if life.ready_at is not None else ""
    return f"{story.name}: nothing wrong was found{ready}" + ("" if life.alive else " (whether it still runs is not in this evidence)")


def _stopped(story: Story, verdict: Verdict, why: str) -> str:
    name, life = story.name, story.issue
    after = _after(life)
    if verdict.by == "health":
        return f"{name} is not running, and {name_of(story.state)} knows of no failure: it was stopped, ended cleanly, or was never started"
    if life.end.kind is EndKind.TIMEOUT and life.stop_asked:
        return f"{name} was stopped{after}, but did not leave in time: {name_of(story.state)} killed it"
    if life.stop_asked or life.end.by is EndBy.OPERATOR:
        return f"{name} was stopped{after}, not a crash"
    if life.end.kind is EndKind.STOPPED and not re.search(r"\bstop|SIGTERM|SIGINT", why):
        return f"{name} ended cleanly{after}, by itself or by a stop signal: not a crash"
    return f"{name} ended{after}, not a crash: {why}"


def _starting(story: Story, name: str, client: ClientView | None, verdict: Verdict) -> str:
    life = story.issue
    up = story.at - life.started_at if story.at is not None and life.started_at is not None else None
    where = f"in phase {life.phase}" if life.phase else "starting"
    steps = _steps(life)
    if life.ready and client is not None:
        early = f" {clock.span(client.early_s)} too early" if client.early_s is not None else " before it was ready"
        return f"no crash: the client came{early}; {name} is ready" + (f" since {clock.hms(life.ready_at)} UTC" if life.ready_at is not None else "")
    lasting = f"up for {clock.span(up)}, " if up is not None and up >= 0 else ""
    if verdict.cause is Cause.STARTUP_HANG:
        if life.alive is False or life.end.kind is not EndKind.NONE:
            return f"{name} {_died(life)}: its start-up stopped making progress"
        return f"{name} hangs in its start-up: {lasting}{where}{steps}, and nothing moves"
    met = "; the client came before it listened" if client is not None and client.refused else ""
    return f"no crash: {name} is still starting ({lasting}{where}{steps}){met}"


def _steps(life: Life) -> str:
    return f", {life.progress.done} of {life.progress.of} {life.progress.what}".rstrip() if life.progress else ""


def _unknown(story: Story, pick: Pick) -> str:
    name, life = story.name, story.issue
    if story.unit is None and pick.why and story.profile is None:
        count = f" (looked at {len(story.facts.unit_names)} units)" if story.facts.unit_names else ""
        return f"{pick.why}{count}; name the one that is meant with --unit"
    if life.end.kind is EndKind.NONE and life.phase is not None and not life.ready:
        alive = "it is alive" if life.alive else "this evidence does not say whether it is alive"
        return f"{name} was last seen starting (phase {life.phase}{_steps(life)}); {alive}"
    if life.end.kind is EndKind.NONE:
        return f"{name}: no line in this evidence says what is wrong"
    said = _words(story)
    return f"{name} {_died(life)}{said if said.startswith(';') else ', and no line in this evidence says why'}"

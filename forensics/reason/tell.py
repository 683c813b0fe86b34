"""Say what state the unit is in now, and what would mislead a reader who does not know it. Nothing is weighed here."""

from __future__ import annotations

from forensics import clock
from forensics.model import Cause, EndKind, Health, Life, MarkKind, Origin, Pick, Warn
from forensics.reason import beside, silence
from forensics.reason.door import false_ready
from forensics.reason.issue import failed, stayed
from forensics.reason.known import KnownFacts
from forensics.reason.place import GAVE_UP, Story
from forensics.reason.startup import SET_BACK_S
from forensics.reason.verdict import Verdict, leaves
from forensics.reason.weigh import is_quoted

MOST_ODD = 3
NOTABLE_STEP_S = 60.0  # systemd's two stamps of one end may lie apart, for the time a stop took
# what is not readable of these stands under the gaps; the journal's own trouble is a warning
SIDE_EVIDENCE = (
    "kernel",
    "boots",
    "gpu",
    "sockets",
    "health",
    "clock",
    "boot-ends",
    "processes",
    "machine",
    "disks",
    "unit-now",
    "coredumps",
    "packages",
)


def health(story: Story, verdict: Verdict) -> Health:
    """The state now, of the last life; the cause may speak of an earlier one."""
    last, state = story.lives[-1], story.state
    if state is not None and state.load == "not-found":
        return Health.UNKNOWN
    refused = not last.alive and last.end.result in GAVE_UP and not (state is not None and state.active == "inactive")
    if refused or (state is not None and state.sub == "auto-restart"):
        return Health.FAILED
    if last.alive:
        if state is not None and state.health == "unhealthy":
            return Health.DEGRADED  # by its own check
        if last.ready:
            if failed(story.issue) and not stayed(last, story.lives):
                return Health.DEGRADED  # up for a moment, in a row of short lives
            worrying = verdict.by == "root" and verdict.cause in (
                Cause.GPU_HARDWARE,
                Cause.MASK_CORRUPTION,
                Cause.CUDA_FAULT,
                Cause.COLLECTIVE_FAILURE,
                Cause.HOST_OOM,
            )
            return Health.DEGRADED if worrying and story.issue is last else Health.HEALTHY
        if verdict.cause is Cause.HEALTHY:
            return Health.HEALTHY
        return (
            Health.STARTING
            if story.profile is not None or (state is not None and (state.active == "activating" or state.health == "starting"))
            else Health.UNKNOWN
        )
    if last.end.kind is EndKind.STOPPED or (state is not None and state.active == "deactivating"):
        return Health.STOPPED
    if (state is not None and state.active == "failed") or last.end.kind is not EndKind.NONE:
        return Health.FAILED
    if state is not None and state.active == "inactive":
        return Health.STOPPED
    return _unseen_now(story, verdict, last)


def _unseen_now(story: Story, verdict: Verdict, last: Life) -> Health:
    """Of a life that nobody says is alive, nor that it ended."""
    if story.issue is not last:  # what failed is an earlier life, and of this one nobody says that it ended
        return Health.UNKNOWN if not last.ready else Health.HEALTHY if stayed(last, story.lives) else Health.DEGRADED
    # where models are loaded on demand, a load that fails leaves the service up
    gone = Health.DEGRADED if last.ready and story.profile is not None and any(mark.up for mark in story.profile.marks) else Health.FAILED
    if (
        verdict.by == "root"
        and verdict.cause
        not in (
            Cause.BENCH_OVERLOAD,
            Cause.WRONG_ENDPOINT,
            Cause.MASK_CORRUPTION,
            Cause.UNIT_MISSING,
            Cause.MISTYPED_UNIT,
            Cause.EVIDENCE_MISSING,
        )
        and not (verdict.signals and all(is_quoted(story, s) for s in verdict.signals))
    ):
        return gone
    if verdict.by == "mechanism" and verdict.cause in (Cause.SIGNAL_DEATH, Cause.EXIT_CODE_DEATH):
        return gone  # the log says that the process ended, and nobody that it was started again
    # of a log that merely stops, while something is wrong that nobody can name, it is not known that the server goes on
    goes_on = last.ready and not leaves(story) and verdict.cause is not Cause.UNKNOWN
    return Health.HEALTHY if verdict.cause is Cause.HEALTHY or goes_on else Health.UNKNOWN


def warnings(story: Story, known: KnownFacts, pick: Pick, verdict: Verdict) -> tuple[Warn, ...]:
    """What would mislead somebody who does not know it."""
    found = []
    if pick.how == "mistyped" and pick.asked and pick.unit:
        found.append(Warn(kind="mistyped-unit", asked=pick.asked, meant=pick.unit, text=pick.why or f"{pick.asked} does not exist, {pick.unit} does"))
    if failed_too := _failed_too(story, pick):
        why = pick.why.removeprefix("no --unit given: taken because ")
        chosen = f"no unit was named: this is about {pick.unit}{f', as {why}' if why else ''}"
        text = f"{chosen}; failed, and not looked at: {', '.join(failed_too[:6])}{' …' if len(failed_too) > 6 else ''} (--unit)"
        found.append(Warn(kind="also-failed", text=text))
    found.extend(silence.warnings(story))
    found.extend(beside.warnings(story, verdict))
    found.extend(false_ready(story))
    if verdict.cause is Cause.PORT_IN_USE and known.value("life.ready") is True:
        found.append(Warn(kind="false-ready", text="the ready line was printed although the port belongs to another process"))
    for problem in [p for p in story.facts.problems if p.source not in SIDE_EVIDENCE][:5]:
        turned = "it was read from its end" in problem.text
        found.append(
            Warn(kind="turned" if turned else "unread", text=f"{problem.source}{f':{problem.line}' if problem.line else ''}: {problem.text}")
        )
    found.extend(Warn(kind="assumed-zone", text=text) for text in story.facts.assumed)
    if (stepped := _clock_set(story)) is not None:
        found.append(Warn(kind="clock-set", text=stepped))
    found.extend(Warn(kind="client-clock", text=text) for text in story.facts.clocks)
    if story.facts.other_hosts:
        others = ", ".join(f"{name} ({count} lines that matter)" for name, count in list(story.facts.other_hosts.items())[:5])
        found.append(
            Warn(
                kind="other-hosts",
                text=f"this is about {story.facts.about_host}; the evidence holds lines of other hosts, which were left out: {others}",
            )
        )
    for odd in known.memory.odd[:MOST_ODD]:
        size = f"{odd.value:g} GiB" if odd.what.endswith("_gib") else f"{odd.value:g}"
        what = odd.what.removesuffix("_gib").replace("_", " ")
        text = f"{odd.evidence.source}:{odd.evidence.line} says {size} ({what}): {odd.why}, so nothing is reckoned with it"
        found.append(Warn(kind="absurd-figure", text=text))
    if verdict.by not in ("root", "health"):  # where the words were found, those that were not saved are not missed
        for source, left_out in story.facts.blobs.items():
            lines = "one message is" if left_out == 1 else f"{left_out} messages are"
            text = f"{lines} not in {source} (blob data: colours, progress bars, or too long): journalctl -a shows them"
            found.append(Warn(kind="blobs", text=text))
    before = [x for x in story.lives[: story.issue.index] if failed(x)]
    if before and not failed(story.issue) and story.issue is story.lives[-1]:
        last = before[-1]
        when = f", the last at {clock.iso(last.ended_at)}" if last.ended_at is not None else ""
        count = "one earlier life" if len(before) == 1 else f"{len(before)} earlier lives"
        found.append(Warn(kind="earlier-failures", text=f"{count} of the unit failed{when}; this is about the present one"))
    if story.issue is not story.lives[-1]:
        last_one = story.lives[-1]
        now = f", and runs since {clock.hms(last_one.started_at)} UTC" if last_one.alive and last_one.started_at is not None else ""
        found.append(Warn(kind="earlier-life", text=f"this is about an earlier life of the unit, {story.why_issue}; it has been started again{now}"))
    return tuple(dict.fromkeys(found))


def _clock_set(story: Story) -> str | None:
    """That the clock was set while the life lasted: by its stamps it ended before it began, or ran for another time than systemd counted."""
    life = story.issue
    if life.started_at is None or life.ended_at is None:
        return None
    if life.ended_at < life.started_at - SET_BACK_S:
        back = clock.span(life.started_at - life.ended_at)
        return f"the clock was set back while it ran: by its stamps it ended {back} before it started; how long it ran, and which line is the later one, is not known by them"
    if life.active_at is None or life.lived_s is None or story.state is None or story.state.duration_s is None or life is not story.lives[-1]:
        return None
    stamps = life.ended_at - life.active_at
    if abs(stamps - life.lived_s) <= max(NOTABLE_STEP_S, life.lived_s / 10) or stamps < 0:
        return None
    return f"the clock was set while it ran: {clock.span(stamps)} by its stamps, {clock.span(life.lived_s)} as systemd counted"


def _failed_too(story: Story, pick: Pick) -> list[str]:
    """Units that nobody named and that failed as well, by systemd's state or its words."""
    if pick.how not in ("failed", "restarting", "starting", "profile", "evidence"):
        return []
    units = story.facts.units
    said = {s.hit.captures.get("unit") for s in story.facts.seen if s.record.origin is Origin.SYSTEMD and f":{MarkKind.FAILED}" in s.hit.rule}
    return [n for n in pick.candidates if n != pick.unit and ((n in units and units[n].active == "failed") or n in said)]

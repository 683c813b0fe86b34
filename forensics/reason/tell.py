"""Say the diagnosis in one line, and what a reader must be warned of. Every word comes from the story; nothing is weighed here."""

from __future__ import annotations

from forensics import clock
from forensics.model import Cause, ClientView, Direction, EndBy, EndKind, Health, Life, Origin, Phase, Pick, Warn
from forensics.reason.advice import filled
from forensics.reason.client import false_ready
from forensics.reason.known import KnownFacts
from forensics.reason.place import Story, failed
from forensics.reason.verdict import Verdict


def health(story: Story, verdict: Verdict) -> Health:
    """The state now, of the last life; the cause may speak of an earlier one."""
    last, state = story.lives[-1], story.state
    if state is not None and state.load == "not-found":
        return Health.UNKNOWN
    if state is not None and state.sub == "auto-restart":
        return Health.FAILED
    if last.alive:
        if last.ready:
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
        return Health.STARTING if story.profile is not None or (state is not None and state.active == "activating") else Health.UNKNOWN
    if last.end.kind is EndKind.STOPPED or (state is not None and state.active == "deactivating"):
        return Health.STOPPED
    if (state is not None and state.active == "failed") or last.end.kind is not EndKind.NONE:
        return Health.FAILED
    if state is not None and state.active == "inactive":
        return Health.STOPPED
    if verdict.by == "root" and verdict.cause not in (
        Cause.BENCH_OVERLOAD,
        Cause.WRONG_ENDPOINT,
        Cause.MASK_CORRUPTION,
        Cause.UNIT_MISSING,
        Cause.MISTYPED_UNIT,
        Cause.EVIDENCE_MISSING,
    ):
        return Health.FAILED
    if last.ready or verdict.cause is Cause.HEALTHY:
        return Health.HEALTHY
    return Health.UNKNOWN


def headline(story: Story, known: KnownFacts, verdict: Verdict, client: ClientView | None, direction: Direction | None, pick: Pick) -> str:
    """What, when, after how long, in which phase, why."""
    name = story.unit or (story.profile.title or story.profile.name if story.profile else "the service")
    life = story.issue
    why = _why(verdict, known, direction)
    if verdict.cause is Cause.MISTYPED_UNIT:
        return f"{pick.asked or name} does not exist: {pick.unit or 'another unit'} is meant"
    if verdict.cause is Cause.UNIT_MISSING:
        return f"{name} does not exist on this host, and no unit has a name near it"
    if verdict.cause is Cause.EVIDENCE_MISSING:
        return f"nothing can be said of {name}: {why}"
    if verdict.cause is Cause.UNKNOWN and story.unit is None and pick.why and story.profile is None:
        count = f" (looked at {len(story.facts.units)} units)" if story.facts.units else ""
        return f"{pick.why}{count}; name the one that is meant with --unit"
    if verdict.cause is Cause.UNKNOWN:
        return _unknown(name, life)
    if verdict.cause is Cause.HEALTHY:
        ready = f"; ready since {clock.hms(life.ready_at)} UTC" if life.ready_at is not None else ""
        return f"{name}: nothing wrong was found{ready}" + ("" if life.alive else " (whether it still runs is not in this evidence)")
    if verdict.cause is Cause.OPERATOR_STOP and verdict.by == "health":
        return f"{name} is not running, and systemd knows of no failure: it was stopped, ended cleanly, or was never started"
    if verdict.cause is Cause.OPERATOR_STOP:
        return f"{name} was stopped" + (f" after {clock.span(life.lived_s)}" if life.lived_s is not None else "") + ", not a crash"
    if verdict.cause in (Cause.STARTUP_RACE, Cause.STARTUP_HANG):
        return _starting(story, name, client, verdict)
    ended = life.end.kind is not EndKind.NONE and life.alive is not True
    if ended:
        return f"{name} {_died(life)}: {why}"
    return f"{name}: {why}"


def _why(verdict: Verdict, known: KnownFacts, direction: Direction | None) -> str:
    plain = _plain(verdict.cause, known.story.issue)
    said = filled(verdict.rule.says, verdict.signals[0].captures, known) if verdict.rule and verdict.signals else None
    record = verdict.signals[0].record if verdict.signals else None
    by_systemd = verdict.by == "mechanism" and (record is None or record.origin is Origin.SYSTEMD)
    # what ended the main process is in the life, and more exact there than in a rule for all signals
    says = plain if not said or (by_systemd and plain != str(verdict.cause)) else " ".join(said.split()).rstrip(".")
    if direction is Direction.REBALANCE:
        says += "; the attempt beside it failed the other way, so no value in between fits either"
    return says


def _plain(cause: Cause, life: Life) -> str:
    end = life.end
    if cause is Cause.SIGNAL_DEATH and end.signal:
        who = {
            EndBy.UNKNOWN: ", by whom is not known",
            EndBy.ITSELF: ", its own doing",
            EndBy.OPERATOR: ", sent through systemd on somebody's request",
        }.get(end.by, f" by {end.by}")
        return f"killed by {end.signal}{who}"
    if cause is Cause.EXIT_CODE_DEATH and end.status is not None:
        return f"it left with exit status {end.status}, and no line says why"
    plain = {
        Cause.HOST_OOM: "the kernel's out-of-memory killer ended it",
        Cause.STARTUP_TIMEOUT: "systemd gave up waiting for it to start",
        Cause.WATCHDOG_TIMEOUT: "its watchdog was not fed in time",
        Cause.HOST_REBOOT: "the machine went down under it",
    }
    return plain.get(cause, str(cause))


def _died(life: Life) -> str:
    after = f" after {clock.span(life.lived_s)}" if life.lived_s is not None else ""
    where = (
        f" in {life.phase}" if life.phase is not None and life.phase not in (Phase.READY, Phase.SERVING) else " while serving" if life.ready else ""
    )
    return f"died{after}{where}"


def _starting(story: Story, name: str, client: ClientView | None, verdict: Verdict) -> str:
    life = story.issue
    up = story.at - life.started_at if story.at is not None and life.started_at is not None else None
    where = f"in phase {life.phase}" if life.phase else "starting"
    steps = f", {life.progress.done} of {life.progress.of} {life.progress.what}".rstrip() if life.progress else ""
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


def _unknown(name: str, life: Life) -> str:
    if life.end.kind is EndKind.NONE and life.phase is not None and not life.ready:
        steps = f", {life.progress.done} of {life.progress.of} {life.progress.what}".rstrip() if life.progress else ""
        return f"{name} was last seen starting (phase {life.phase}{steps}); this evidence does not say whether it is alive"
    if life.end.kind is EndKind.NONE:
        return f"{name}: no line in this evidence says what is wrong"
    return f"{name} {_died(life)}, and no line in this evidence says why"


def warnings(story: Story, known: KnownFacts, pick: Pick) -> tuple[Warn, ...]:
    """What would mislead somebody who does not know it."""
    found = []
    if pick.how == "mistyped" and pick.asked and pick.unit:
        found.append(Warn(kind="mistyped-unit", asked=pick.asked, meant=pick.unit, text=pick.why or f"{pick.asked} does not exist, {pick.unit} does"))
    found.extend(_asked(story, pick))
    wrong = false_ready(story)
    if wrong is not None:
        found.append(wrong)
    if known.value("life.ready") is True and story.issue.end.kind is EndKind.EXIT and any("bind" in str(s.phase) for s in story.of_issue()):
        found.append(Warn(kind="false-ready", text="the ready line was printed although the port belongs to another process"))
    for problem in story.facts.problems[:5]:
        found.append(Warn(kind="unread", text=f"{problem.source}{f':{problem.line}' if problem.line else ''}: {problem.text}"))
    before = [x for x in story.lives[: story.issue.index] if failed(x)]
    if before and not failed(story.issue) and story.issue is story.lives[-1]:
        last = before[-1]
        when = f", the last at {clock.iso(last.ended_at)}" if last.ended_at is not None else ""
        count = "one earlier life" if len(before) == 1 else f"{len(before)} earlier lives"
        found.append(Warn(kind="earlier-failures", text=f"{count} of the unit failed{when}; this is about the present one"))
    if story.issue is not story.lives[-1]:
        found.append(Warn(kind="earlier-life", text="the diagnosis is about an earlier life of the unit; it has been started again since"))
    return tuple(dict.fromkeys(found))


def _asked(story: Story, pick: Pick) -> list[Warn]:
    """Empty answers that prove nothing: of a name that does not exist, or behind a filter."""
    from forensics.units import difference, near

    found = []
    names = [n for n in (story.unit, *story.facts.unit_names) if n]
    for asked in story.facts.asked:
        unit = asked.unit
        if not asked.empty:
            continue
        if unit and names and unit not in names and unit != pick.asked:
            meant, distance, _ = near(unit, names)
            if meant is not None:
                found.append(
                    Warn(
                        kind="mistyped-unit",
                        asked=unit,
                        meant=meant,
                        text=f"{difference(unit, meant, distance)}; its empty journal ({asked.source}:{asked.line_no}) proves nothing",
                    )
                )
        elif asked.filtered:
            found.append(
                Warn(
                    kind="empty-grep",
                    asked=asked.command,
                    text=f"an empty filter ({asked.source}:{asked.line_no}) proves nothing: a server that is loading logs no error",
                )
            )
    return found

"""What people suspect of an end of that kind, and what the evidence says to it: the kernel, an operator, a race, a wrong port. Chooses no cause.

"There was no such line" is said only of what was read as a whole; somebody's excerpt proves no absence.
"""

from __future__ import annotations

from collections.abc import Callable

from forensics import clock
from forensics.model import Cause, Coverage, EndBy, EndKind, Evidence, Hypothesis, Life, MarkKind, Phase, Role, Status
from forensics.reason import beside
from forensics.reason.advice import since
from forensics.reason.known import KnownFacts
from forensics.reason.manager import fitting, name_of
from forensics.reason.place import Story
from forensics.reason.signals import evidence
from forensics.reason.verdict import Verdict

QUOTED = 160
BY_SHELL = 128  # a shell adds it to the signal that ended its child

Say = Callable[..., None]


def quote(line: Evidence) -> str:
    """``journal:118 RuntimeError: Not enough memory…``"""
    text = " ".join(line.text.split())
    return f"{line.source}:{line.line} {text[:QUOTED]}{'…' if len(text) > QUOTED else ''}"


def rivals(story: Story, known: KnownFacts, verdict: Verdict) -> list[Hypothesis]:
    """Those that are contradicted, with what contradicts them, and those that an end without a known cause leaves open."""
    found: list[Hypothesis] = []

    def against(cause: Cause, *why: str | None) -> None:
        if cause is not verdict.cause and why and all(why):
            found.append(Hypothesis(cause=cause, status=Status.RULED_OUT, against=tuple(filter(None, why))))

    def open_(cause: Cause, for_: tuple[str, ...], *why: str | None, next_: str | None = None) -> None:
        if cause is not verdict.cause and for_:
            found.append(Hypothesis(cause=cause, status=Status.POSSIBLE, for_=for_, against=tuple(filter(None, why)), next=next_))

    _of_the_client(story, known, against)
    if story.issue.end.kind is EndKind.SIGNAL:
        _of_a_signal(story, known, verdict, against, open_)
    elif story.issue.end.kind is EndKind.EXIT:
        _of_an_exit(story, known, verdict, against, open_)
    _of_the_end(story, verdict, against)
    return found


def _of_the_client(story: Story, known: KnownFacts, against: Say) -> None:
    """A refused connection: too early, too late, or at another door."""
    life = story.issue
    if not known.value("client.refused"):
        return
    first = known.value("client.first_error_at")
    if life.alive is False and not life.ready and life.started_at is not None:
        against(Cause.STARTUP_RACE, "it died before it was ready: waiting longer would not have helped")
        if life.ended_at is not None and first is not None and float(str(first)) > life.ended_at:
            against(Cause.WRONG_ENDPOINT, f"it was dead from {clock.hms(life.ended_at)} on, before the client's first error: no port of it was open")
    elif life.ready_at is not None and first is not None and float(str(first)) > life.ready_at:
        against(Cause.STARTUP_RACE, f"it was ready at {clock.hms(life.ready_at)}, before the client's first error")
    if life.alive and not life.ready:
        against(Cause.EXIT_CODE_DEATH, "the process is alive: no line says that it ended")
        against(Cause.WRONG_ENDPOINT, "nothing listens yet: the right port would be refused as well")


def _of_a_signal(story: Story, known: KnownFacts, verdict: Verdict, against: Say, open_: Say) -> None:
    life = story.issue
    end, mechanism = life.end, verdict.by == "mechanism"
    read = _no_kill(story, known)
    if end.signal == "SIGKILL" and end.by is EndBy.ITSELF:
        said = _marked(story, MarkKind.SELF_KILL)
        child = _killed_child(story)
        if not read and (child or verdict.by != "root"):  # why it ended itself may be that a child of it was killed
            open_(Cause.HOST_OOM, child or _ended_by(story, verdict), "the last SIGKILL was its own" if said else None)
        else:
            against(Cause.HOST_OOM, f"the server says that it killed its own process tree{f' ({said})' if said else ''}", *filter(None, (read,)))
        if verdict.by == "root":
            against(Cause.SIGNAL_DEATH, "how it ended, not why: the SIGKILL is the server's own way to leave")
    elif end.signal not in (None, "SIGKILL", "SIGABRT"):  # an allocation that fails makes many a program abort
        against(Cause.HOST_OOM, f"the kernel's out-of-memory killer sends SIGKILL, and this was {end.signal}", *filter(None, (read,)))
    elif read:
        against(Cause.HOST_OOM, read, *filter(None, (beside.no_memory_limit(story),)))
    elif mechanism and verdict.cause is Cause.SIGNAL_DEATH:
        of_systemd = end.result == "signal" and not (story.state is not None and story.state.manager)
        open_(
            Cause.HOST_OOM,
            _ended_by(story, verdict),
            "systemd says 'signal' and not 'oom-kill', which newer versions (243 on) say where the kernel killed in the unit's control group"
            if of_systemd
            else None,
        )
    if mechanism and end.by is EndBy.UNKNOWN and end.signal in ("SIGKILL", "SIGTERM", "SIGINT"):
        before = f"{since(story, int(life.ended_at) - 60.0)} " if life.ended_at is not None else ""
        open_(
            Cause.OPERATOR_STOP,
            _ended_by(story, verdict),
            f"{name_of(story.state)} logged no stop request; kill(1) needs none" if story.facts.coverage.get("journal") is Coverage.READ else None,
            next_=fitting(f"journalctl {before}_COMM=sudo + _COMM=su", story.state),
        )


def _of_an_exit(story: Story, known: KnownFacts, verdict: Verdict, against: Say, open_: Say) -> None:
    status = story.issue.end.status
    read = _no_kill(story, known)
    if read:
        against(Cause.HOST_OOM, read, *filter(None, (beside.no_memory_limit(story),)))
    elif status == BY_SHELL + 9 and verdict.by == "mechanism":
        open_(Cause.HOST_OOM, _ended_by(story, verdict), None)
    if status is not None and 0 < status < BY_SHELL and verdict.cause is Cause.EXIT_CODE_DEATH:
        against(Cause.SIGNAL_DEATH, f"it left by itself, with status {status}: no signal ended the main process")


def _of_the_end(story: Story, verdict: Verdict, against: Say) -> None:
    life, facts = story.issue, story.facts
    if life.end.kind is EndKind.TIMEOUT and life.end.signal == "SIGKILL":
        against(Cause.HOST_OOM, f"{name_of(story.state)} sent that SIGKILL, as the unit did not leave in time")
    if verdict.cause in (Cause.EXIT_CODE_DEATH, Cause.UNKNOWN, Cause.RESTART_LOOP):
        against(Cause.DISK_FULL, beside.no_disk_full(story))
    # a signal that nobody claims may have been sent by hand: kill(1) asks systemd for nothing
    by_hand = life.end.kind is EndKind.SIGNAL and life.end.by in (EndBy.UNKNOWN, EndBy.OPERATOR)
    ended = life.end.kind not in (EndKind.NONE, EndKind.STOPPED, EndKind.UNKNOWN)
    if ended and not by_hand and facts.coverage.get("journal") is Coverage.READ:
        against(Cause.OPERATOR_STOP, "systemd logged no stop request before the end")
    if ended and life.end.kind is not EndKind.REBOOT and (up := _same_boot(story, life)):
        against(Cause.HOST_REBOOT, up)
    whole = bool(life.phases) and life.phases[0].phase in (Phase.LAUNCH, Phase.DISTRIBUTED_INIT)
    if verdict.cause is Cause.GPU_OOM_INIT and not life.ready and (whole or facts.coverage.get("journal") is Coverage.READ):
        against(Cause.GPU_OOM_RUNTIME, "it never became ready")
    waits = verdict.cause in (Cause.STARTUP_RACE, Cause.STARTUP_HANG)
    if waits and facts.coverage.get("status") in (Coverage.READ, Coverage.GIVEN) and life.alive:
        against(Cause.SIGNAL_DEATH, f"{name_of(story.state)} calls the unit active")


def _no_kill(story: Story, known: KnownFacts) -> str | None:
    if story.facts.coverage.get("kernel") is not Coverage.READ or known.value("kernel.oom_pids"):
        return None
    return "the kernel log was read and holds no out-of-memory kill"


def _same_boot(story: Story, life: Life) -> str | None:
    """That the machine has been up since before the end."""
    now = next((b for b in story.facts.boots if b.index == 0 and b.first_at is not None), None)
    if now is None or now.first_at is None or life.ended_at is None or story.facts.coverage.get("boots") is not Coverage.READ:
        return None
    return f"the machine has been up since {clock.iso(now.first_at)}, before the end" if now.first_at < life.ended_at - 1 else None


def _marked(story: Story, kind: MarkKind) -> str | None:
    """Where the life at issue says so."""
    found = next((p.seen.record for p in story.placed if p.life == story.issue.index and p.mark is not None and p.mark.kind is kind), None)
    return f"{found.source}:{found.line_no}" if found is not None else None


def _killed_child(story: Story) -> tuple[str, ...]:
    """Where the service says that a process of its own was ended by SIGKILL."""
    said = [p.seen for p in story.placed if p.life == story.issue.index and p.mark is not None and p.mark.kind is MarkKind.CHILD_EXIT]
    killed = [s.record for s in said if s.hit.captures.get("code") in ("-9", "137")]
    return tuple(quote(evidence(record)) for record in killed[:2])


def _ended_by(story: Story, verdict: Verdict) -> tuple[str, ...]:
    """The lines that tell how it ended: all that there is for each of the ways."""
    lines = [line for s in verdict.signals for line in s.lines] or [line for s in story.of_issue(Role.MECHANISM) for line in s.lines]
    return tuple(quote(line) for line in lines[:2])

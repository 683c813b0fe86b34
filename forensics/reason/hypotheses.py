"""Set the rivals of the verdict side by side: what speaks for each, what against, what is missing, which command would decide. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from forensics import clock
from forensics.model import Cause, Coverage, EndBy, EndKind, Evidence, Hypothesis, Role, Signal, Status
from forensics.reason import beside
from forensics.reason.advice import command_of
from forensics.reason.cite import last_words
from forensics.reason.known import KnownFacts
from forensics.reason.manager import fitting, name_of
from forensics.reason.place import Story
from forensics.reason.verdict import Verdict
from forensics.reason.weigh import ORDER, foreign, ranked, survived

QUOTED = 160


def hypotheses(story: Story, known: KnownFacts, signals: Sequence[Signal], verdict: Verdict) -> tuple[Hypothesis, ...]:
    """The verdict first, then every other cause that a line speaks for, then the rivals that were ruled out."""
    found: dict[Cause, Hypothesis] = {}
    if verdict.status is not None and verdict.cause not in (Cause.HEALTHY, Cause.UNKNOWN):
        found[verdict.cause] = Hypothesis(
            cause=verdict.cause,
            status=verdict.status,
            for_=_quotes(line for s in verdict.signals for line in s.lines),
            missing=_missing(story, verdict.cause, verdict.status),
            next=_own_next(known, verdict) or _next(story, verdict.cause),
        )
    for rival in _ruled_out(story, known, verdict):
        found.setdefault(rival.cause, rival)
    mine = [s for s in signals if s.life == story.issue.index and s.cause is not None]
    settled = {(line.source, line.line) for s in verdict.signals for line in s.lines}
    for role in (Role.ROOT, Role.MECHANISM, Role.STATE):
        chosen = [s for s in mine if s.role is role]
        for signal in ranked(story, chosen) if role is Role.ROOT else chosen:
            assert signal.cause is not None
            if signal.cause in found or signal.cause is Cause.HEALTHY:
                continue
            if signal.lines and {(line.source, line.line) for line in signal.lines} <= settled:
                continue  # another reading of the very line that the verdict rests on
            if role is Role.STATE and verdict.by in ("root", "mechanism"):
                continue  # what it was doing is no rival of why it ended
            against = _why_not(story, signal, verdict)
            found[signal.cause] = Hypothesis(
                cause=signal.cause,
                status=Status.POSSIBLE,
                for_=_quotes(line for s in mine if s.cause is signal.cause for line in s.lines),
                against=against,
                missing=_missing(story, signal.cause, Status.POSSIBLE),
                next=_next(story, signal.cause),
            )
    return tuple(sorted(found.values(), key=lambda h: (h.cause is not verdict.cause, ORDER[h.status])))


def _own_next(known: KnownFacts, verdict: Verdict) -> str | None:
    captures = verdict.signals[0].captures if verdict.signals else {}
    return command_of(verdict.rule.next, captures, known) if verdict.rule else None


def _quotes(lines: Iterable[Evidence]) -> tuple[str, ...]:
    return tuple({" ".join(line.text.split()): quote(line) for line in reversed(tuple(lines))}.values())[::-1][:4]


def quote(line: Evidence) -> str:
    """``journal:118 RuntimeError: Not enough memory…``"""
    text = " ".join(line.text.split())
    return f"{line.source}:{line.line} {text[:QUOTED]}{'…' if len(text) > QUOTED else ''}"


def _why_not(story: Story, signal: Signal, verdict: Verdict) -> tuple[str, ...]:
    if signal.role is Role.ROOT and survived(story, signal):
        return ("it went on for a while after that line, as if nothing had been",)
    if foreign(story, signal):
        return ("the line is about a process of another unit",)
    if signal.role is Role.MECHANISM:
        return (f"true as the way it ended, but {verdict.cause} says why",) if verdict.by == "root" else ()
    first = verdict.signals[0] if verdict.signals else None
    if first is not None and signal.order > first.order:
        return ("it comes after the line that the verdict rests on",)
    return ()


def _ruled_out(story: Story, known: KnownFacts, verdict: Verdict) -> list[Hypothesis]:
    life, facts = story.issue, story.facts
    rivals: list[Hypothesis] = []

    def against(cause: Cause, *why: str) -> None:
        if cause is not verdict.cause and all(why):
            rivals.append(Hypothesis(cause=cause, status=Status.RULED_OUT, against=why))

    refused = known.value("client.refused")
    if refused and life.alive is False and not life.ready:
        against(Cause.STARTUP_RACE, "it died before it was ready: waiting longer would not have helped")
    elif refused and life.ready_at is not None and (first := known.value("client.first_error_at")) is not None and float(str(first)) > life.ready_at:
        against(Cause.STARTUP_RACE, f"it was ready at {clock.hms(life.ready_at)}, before the client's first error")
    if refused and life.alive and not life.ready:
        against(Cause.EXIT_CODE_DEATH, "the process is alive: no line says that it ended")
        against(Cause.WRONG_ENDPOINT, "nothing listens yet: the right port would be refused as well")
    if life.end.signal == "SIGKILL" and life.end.by is EndBy.ITSELF and life.end.kind is EndKind.SIGNAL:
        why = ["the server says that it killed its own process tree"]
        if facts.coverage.get("kernel") is Coverage.READ and not known.value("kernel.oom_pids"):
            why.append("the kernel log was read and holds no out-of-memory kill")
        against(Cause.HOST_OOM, *why)
        if verdict.by == "root":
            against(Cause.SIGNAL_DEATH, "the SIGKILL is the server's own way to leave; it says nothing about the cause")
    elif life.end.kind in (EndKind.SIGNAL, EndKind.EXIT) and facts.coverage.get("kernel") is Coverage.READ and not known.value("kernel.oom_pids"):
        against(Cause.HOST_OOM, *filter(None, ("the kernel log was read and holds no out-of-memory kill", beside.no_memory_limit(story))))
    if verdict.cause in (Cause.EXIT_CODE_DEATH, Cause.UNKNOWN, Cause.RESTART_LOOP):
        against(Cause.DISK_FULL, beside.no_disk_full(story))
    # a signal that nobody claims may have been sent by hand: kill(1) asks systemd for nothing
    by_hand = life.end.kind is EndKind.SIGNAL and life.end.by in (EndBy.UNKNOWN, EndBy.OPERATOR)
    if life.end.kind not in (EndKind.NONE, EndKind.STOPPED, EndKind.UNKNOWN) and facts.coverage.get("journal") is Coverage.READ and not by_hand:
        against(Cause.OPERATOR_STOP, "systemd logged no stop request before the end")
    if verdict.cause is Cause.GPU_OOM_INIT and not life.ready and life.phases:
        against(Cause.GPU_OOM_RUNTIME, "it never became ready")
    if verdict.cause in (Cause.STARTUP_RACE, Cause.STARTUP_HANG) and facts.coverage.get("status") in (Coverage.READ, Coverage.GIVEN) and life.alive:
        against(Cause.SIGNAL_DEATH, f"{name_of(story.state)} calls the unit active")
    return rivals


def _missing(story: Story, cause: Cause, status: Status) -> tuple[str, ...]:
    facts = story.facts
    gaps = []
    kernel_would_say = cause in (Cause.SIGNAL_DEATH, Cause.HOST_OOM, Cause.GPU_HARDWARE, Cause.CUDA_FAULT) and status is not Status.ESTABLISHED
    if kernel_would_say and facts.coverage.get("kernel") not in (Coverage.READ, Coverage.GIVEN):
        gaps.append("the kernel log")
    if cause in (Cause.SIGNAL_DEATH, Cause.EXIT_CODE_DEATH, Cause.RESTART_LOOP) and last_words(story) is None:
        gaps.append("the server's own lines of that life")
    if cause in (Cause.STARTUP_RACE, Cause.STARTUP_HANG) and story.issue.alive is None:
        gaps.append("whether the process is alive (systemctl is-active)")
    return tuple(gaps)


def _next(story: Story, cause: Cause) -> str | None:
    unit = story.unit or "UNIT"
    since = f"--since '{clock.iso(story.issue.started_at).replace('T', ' ').removesuffix('Z')} UTC' " if story.issue.started_at is not None else ""
    commands = {
        Cause.SIGNAL_DEATH: f"journalctl -k {since}| grep -iE 'oom|killed process|segfault|xid'",
        Cause.HOST_OOM: f"journalctl -k {since}| grep -iE 'oom|killed process'",
        Cause.EXIT_CODE_DEATH: f"journalctl -u {unit} {since}-n 200",
        Cause.RESTART_LOOP: f"journalctl -u {unit} {since}-n 200",
        Cause.STARTUP_RACE: f"ddforensics wait {story.host or 'HOST'} --unit {unit}",
        Cause.STARTUP_HANG: f"py-spy dump --pid $(systemctl show -P MainPID {unit})",
        Cause.GPU_HARDWARE: "nvidia-smi -q -d ECC,PAGE_RETIREMENT,ROW_REMAPPER; dmesg -T | grep -i xid",
        Cause.CUDA_FAULT: "dmesg -T | grep -i xid",
        Cause.PORT_IN_USE: "ss -ltnp",
    }
    return fitting(commands.get(cause), story.state)

"""Set the rivals of the verdict side by side: what speaks for each, what against, what is missing, which command would decide. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from forensics.model import KERNEL_LOG, OWN_LINES, Cause, Coverage, Evidence, Hypothesis, Role, Signal, Status
from forensics.reason.advice import command_of, since_start, told
from forensics.reason.cite import last_words
from forensics.reason.earlier import met_stopped
from forensics.reason.issue import failed
from forensics.reason.known import KnownFacts
from forensics.reason.manager import fitting, name_of, operand
from forensics.reason.place import Story
from forensics.reason.rivals import quote, rivals
from forensics.reason.signals import evidence
from forensics.reason.verdict import Verdict
from forensics.reason.weigh import ORDER, foreign, of_either_phase, ranked, survived

MOST_TOLD = 4  # causes that a text only tells of


def hypotheses(story: Story, known: KnownFacts, signals: Sequence[Signal], verdict: Verdict) -> tuple[Hypothesis, ...]:
    """The verdict first, then every other cause that a line speaks for, then the rivals that were ruled out."""
    found: dict[Cause, Hypothesis] = {}
    if verdict.status is not None and verdict.cause not in (Cause.HEALTHY, Cause.UNKNOWN):
        found[verdict.cause] = Hypothesis(
            cause=verdict.cause,
            status=verdict.status,
            for_=(_quotes(line for s in verdict.signals for line in s.lines) or _counted(story, verdict.cause)) + _meaning(story, verdict.cause),
            missing=_missing(story, verdict.cause, verdict.status),
            next=_own_next(known, verdict) or _next(story, verdict.cause),
        )
    for rival in rivals(story, known, verdict):
        found.setdefault(rival.cause, _completed(story, rival))
    mine = [s for s in signals if s.life == story.issue.index and s.cause is not None]
    settled = {(line.source, line.line) for s in verdict.signals for line in s.lines}
    for role in (Role.ROOT, Role.MECHANISM, Role.STATE):
        chosen = [s for s in mine if s.role is role]
        for signal in ranked(story, chosen) if role is Role.ROOT else chosen:
            assert signal.cause is not None
            if signal.cause in found or signal.cause is Cause.HEALTHY:
                continue
            either = of_either_phase(story, signal)
            if signal.lines and {(line.source, line.line) for line in signal.lines} <= settled and not either:
                continue  # another reading of the very line that the verdict rests on
            if role is Role.STATE and verdict.by in ("root", "mechanism"):
                continue  # what it was doing is no rival of why it ended
            status, against = _weighed(story, signal, verdict)
            gaps = _missing(story, signal.cause, status) if status is not Status.RULED_OUT else ()
            if either and status is not Status.RULED_OUT:
                against, gaps = (), (*gaps, "the lines before it, which tell whether it was ready by then")
            found[signal.cause] = Hypothesis(
                cause=signal.cause,
                status=status,
                for_=(_quotes(line for s in mine if s.cause is signal.cause for line in s.lines) or _counted(story, signal.cause))
                + _meaning(story, signal.cause),
                against=against,
                missing=gaps,
                next=_next(story, signal.cause) if status is not Status.RULED_OUT else None,
            )
    for told_of in _written(story, found):
        found.setdefault(told_of.cause, told_of)
    return tuple(sorted(found.values(), key=lambda h: (h.cause is not verdict.cause, ORDER[h.status])))


def _own_next(known: KnownFacts, verdict: Verdict) -> str | None:
    captures = told(known.story, verdict.signals[0]) if verdict.signals else {}
    return command_of(verdict.rule.next, captures, known) if verdict.rule else None


def _quotes(lines: Iterable[Evidence]) -> tuple[str, ...]:
    return tuple({" ".join(line.text.split()): quote(line) for line in reversed(tuple(lines))}.values())[::-1][:4]


def _weighed(story: Story, signal: Signal, verdict: Verdict) -> tuple[Status, tuple[str, ...]]:
    """How a cause stands that the verdict did not choose, and what speaks against it."""
    if foreign(story, signal):
        return Status.RULED_OUT, ("the line is about a process of another unit",)
    if signal.cause is Cause.OPERATOR_STOP and met_stopped(story) is False:
        return Status.POSSIBLE, ("true as the way it ended, but it came after the client's last error",)
    if signal.role is Role.ROOT and survived(story, signal):
        # and what did not end the life may have happened all the same
        return Status.RULED_OUT if failed(story.issue) else Status.POSSIBLE, ("it went on for a while after that line, as if nothing had been",)
    if signal.role is Role.MECHANISM and verdict.by in ("root", "mechanism"):
        return Status.POSSIBLE, (f"true as the way it ended, but {verdict.cause} says why" if verdict.by == "root" else _how_often(signal, verdict),)
    first = verdict.signals[0] if verdict.signals else None
    if first is not None and first.lines and signal.order > first.order:
        return Status.POSSIBLE, (f"it comes after the line that the verdict rests on, {first.lines[0].source}:{first.lines[0].line}",)
    return Status.POSSIBLE, ()


def _how_often(signal: Signal, verdict: Verdict) -> str:
    """What another mechanism adds to the one that was chosen."""
    return f"true as well: it tells {'how often, not why' if signal.cause is Cause.RESTART_LOOP else f'no more than {verdict.cause} does of how it ended'}"


def _counted(story: Story, cause: Cause) -> tuple[str, ...]:
    """What a count says that no single line does."""
    if cause is not Cause.RESTART_LOOP or not (story.restarts or story.start_limit or len(story.lives) > 2):
        return ()
    if story.restarts:
        return (f"{name_of(story.state)} has restarted it {story.restarts} times",)
    return (f"{name_of(story.state)} has given up starting it",) if story.start_limit else (f"{len(story.lives)} lives of it are in this evidence",)


def _meaning(story: Story, cause: Cause) -> tuple[str, ...]:
    """What the exit status means to this kind of server."""
    status, profile = story.issue.end.status, story.profile
    says = profile.exit_codes.get(status) if profile is not None and status is not None and cause is Cause.EXIT_CODE_DEATH else None
    return (f"exit status {status} of {profile.title or profile.name}: {says}",) if says and profile is not None else ()


def _written(story: Story, found: Mapping[Cause, Hypothesis]) -> list[Hypothesis]:
    """Causes that a text names which no program printed: told, and no evidence."""
    lines: dict[Cause, list[Evidence]] = {}
    for seen in story.facts.written:
        rule = story.rules.rule(seen.hit.rule)
        if rule is not None and rule.role is Role.ROOT and rule.cause is not None and rule.cause not in found:
            lines.setdefault(rule.cause, []).append(evidence(seen.record, rule.id, rule.role))
    against = ("no program printed that line: it stands in a text, a string or a table that somebody wrote",)
    missing = ("the lines that the service itself printed",)
    return [
        Hypothesis(
            cause=cause, status=Status.POSSIBLE, for_=_quotes(told_in), against=against, missing=missing, next=_next(story, Cause.EXIT_CODE_DEATH)
        )
        for cause, told_in in lines.items()
    ][:MOST_TOLD]


def _completed(story: Story, rival: Hypothesis) -> Hypothesis:
    """A rival that is not ruled out gets what is missing for it, and the command that would decide."""
    if rival.status is Status.RULED_OUT:
        return rival
    return replace(rival, missing=rival.missing or _missing(story, rival.cause, rival.status), next=rival.next or _next(story, rival.cause))


def _missing(story: Story, cause: Cause, status: Status) -> tuple[str, ...]:
    facts = story.facts
    gaps = []
    kernel_would_say = cause in (Cause.SIGNAL_DEATH, Cause.HOST_OOM, Cause.GPU_HARDWARE, Cause.CUDA_FAULT) and status is not Status.ESTABLISHED
    if kernel_would_say and facts.coverage.get("kernel") not in (Coverage.READ, Coverage.GIVEN):
        gaps.append(KERNEL_LOG)
    if cause in (Cause.SIGNAL_DEATH, Cause.EXIT_CODE_DEATH, Cause.RESTART_LOOP) and last_words(story) is None:
        gaps.append(OWN_LINES)
    if cause in (Cause.STARTUP_RACE, Cause.STARTUP_HANG) and story.issue.alive is None:
        gaps.append("whether the process is alive (systemctl is-active)")
    return tuple(gaps)


def _next(story: Story, cause: Cause) -> str | None:
    unit = operand(story.unit)
    since = f"{told} " if (told := since_start(story)) else ""
    commands = {
        Cause.SIGNAL_DEATH: f"journalctl -k {since}| grep -iE 'oom|killed process|segfault|xid'",
        Cause.HOST_OOM: f"journalctl -k {since}| grep -iE 'oom|killed process|segfault|xid'",
        Cause.EXIT_CODE_DEATH: f"journalctl -u {unit} {since}-n 200",
        Cause.RESTART_LOOP: f"journalctl -u {unit} {since}-n 200",
        Cause.STARTUP_RACE: f"ddforensics wait {story.host or 'HOST'} --unit {unit}",
        Cause.STARTUP_HANG: f"py-spy dump --pid $(systemctl show -P MainPID {unit})",
        Cause.GPU_HARDWARE: "nvidia-smi -q -d ECC,PAGE_RETIREMENT,ROW_REMAPPER; dmesg -T | grep -i xid",
        Cause.CUDA_FAULT: "dmesg -T | grep -i xid",
        Cause.PORT_IN_USE: "ss -ltnp",
    }
    return fitting(commands.get(cause), story.state)

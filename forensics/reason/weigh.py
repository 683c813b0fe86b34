"""Weigh single signals: how firm one is, whether the life outlived it, whether it is about this unit at all. Chooses no cause."""

from __future__ import annotations

from collections.abc import Sequence

from forensics.model import Cause, Coverage, EndKind, MarkKind, Origin, Role, Signal, Status
from forensics.reason.figures import whole
from forensics.reason.place import Story
from forensics.reason.startup import LOADING, WARM_UP_REQUESTS

ORDER = {Status.ESTABLISHED: 0, Status.SUPPORTED: 1, Status.POSSIBLE: 2, Status.RULED_OUT: 3}
HARMLESS = (Cause.BENCH_OVERLOAD, Cause.WRONG_ENDPOINT)
NEVER_OUTLIVED = (*HARMLESS, Cause.MASK_CORRUPTION, Cause.PORT_IN_USE)  # a server whose port is taken can say that it is ready
SURVIVED_S = 5.0  # it served on for so long after the line: requests under way when a server dies are answered within a second or two
SURVIVED_LINES = 4  # where no line has a time
NEAR_END_S = 5.0


def ranked(story: Story, roots: Sequence[Signal]) -> list[Signal]:
    """Root signals, the strongest first: more specific over general, before what it followed, kernel lines about its own pids before all."""
    rules = {r.id: r for r in story.rules.rules}
    present = {s.rule for s in roots} | {str(s.cause) for s in roots}
    beaten: set[str] = set()
    for signal in roots:
        rule = rules.get(signal.rule)
        if rule is not None and (signal.certain or rule.when):
            beaten.update(o for o in rule.over if o in present and o not in (signal.rule, str(signal.cause)))
    left = [s for s in roots if s.rule not in beaten and str(s.cause) not in beaten] or list(roots)
    return sorted(left, key=lambda s: (survived(story, s), not s.certain, not _names_us(story, s), s.order))


def _names_us(story: Story, signal: Signal) -> bool:
    return _kernel_pid(signal) in story.issue.pids


def _kernel_pid(signal: Signal) -> int | None:
    if signal.record is None or signal.record.origin is not Origin.KERNEL:
        return None
    return whole(signal.captures.get("pid"))


def foreign(story: Story, signal: Signal) -> bool:
    """A line about another unit's process: it names a pid or a control group that is not ours, or comes when the life was over.

    A child's pid need not have written a line, so a kill within a few seconds of the end still counts.
    """
    record, life = signal.record, story.issue
    if record is None or record.origin not in (Origin.KERNEL, Origin.SYSTEMD):
        return False
    pid = _kernel_pid(signal)
    if pid is not None and pid in life.pids:
        return False
    group = signal.captures.get("cgroup") or _group_of(story, pid)
    if group and story.unit:
        return story.unit not in group
    if record.origin is not Origin.KERNEL:
        return False
    if story.unit is None:
        # the machine's own log, asked for without a unit: about all that runs there, and none of it was meant
        return story.facts.coverage.get("kernel") is Coverage.READ
    if pid is not None and signal.at is None and life.end.signal not in (None, "SIGKILL", "SIGTERM"):
        return True  # at no known time it killed a process that is not known to be ours, and ours died of another signal
    if signal.at is not None and life.ended_at is not None:
        after = signal.at - life.ended_at
        return after > NEAR_END_S or (pid is not None and bool(life.pids) and after < -NEAR_END_S)
    return pid is not None and bool(life.pids) and life.alive is True


def _group_of(story: Story, pid: int | None) -> str:
    """The control group that another kernel line gives for the pid: the kernel says it in one line and the kill in the next."""
    if pid is None:
        return ""
    return next((s.captures["cgroup"] for s in story.signals if s.captures.get("cgroup") and _kernel_pid(s) == pid), "")


def survived(story: Story, signal: Signal) -> bool:
    """Whether the life went on as if nothing had been: it became ready after a start-up line, or served on after one while serving."""
    if signal.cause in NEVER_OUTLIVED or signal.record is None:
        return False
    later = [p for p in story.placed if p.life == story.issue.index and p.mark is not None and p.order > signal.order]
    if signal.phase in LOADING:
        return any(p.mark is not None and p.mark.kind is MarkKind.READY for p in later)
    served = [p.seen.record.at for p in later if p.mark is not None and p.mark.kind is MarkKind.SERVING and not p.mark.warms]
    maybe = [p for p in later if p.mark is not None and p.mark.kind is MarkKind.SERVING and p.mark.warms]
    if len(maybe) >= WARM_UP_REQUESTS or (maybe and _ready_before(story, maybe[0].order)):
        served += [p.seen.record.at for p in maybe]
    if signal.at is None:
        return len(served) >= SURVIVED_LINES
    return any(at is not None and at - signal.at > SURVIVED_S for at in served)


def _ready_before(story: Story, order: int) -> bool:
    return any(p.life == story.issue.index and p.mark is not None and p.mark.kind is MarkKind.READY and p.order < order for p in story.placed)


def firm(story: Story, signal: Signal) -> Status:
    """How firm one signal is by itself."""
    rule = next((r for r in story.rules.rules if r.id == signal.rule), None)
    limit = Status(rule.firm) if rule and rule.firm else Status.ESTABLISHED
    origin = signal.record.origin if signal.record else None
    life = story.issue
    if rule is not None and rule.when is not None:
        status = Status.SUPPORTED if signal.certain else Status.POSSIBLE
    elif not signal.certain:
        status = Status.SUPPORTED if origin in (Origin.SERVER, Origin.SYSTEMD) else Status.POSSIBLE
    elif signal.role is Role.ROOT and origin in (Origin.SERVER, Origin.SYSTEMD):
        status = Status.ESTABLISHED
    elif origin is Origin.KERNEL:
        status = Status.ESTABLISHED if _names_us(story, signal) else Status.SUPPORTED
    else:
        status = Status.SUPPORTED
    if signal.role is Role.ROOT and fatal(signal.cause):
        if survived(story, signal) or (life.alive and life.ready and not _names_us(story, signal)):
            status = Status.POSSIBLE  # it is still up, or went on for long: whatever the line says, it did not die of it
        elif life.alive and life.end.kind is EndKind.NONE:
            status = max(status, Status.SUPPORTED if signal.certain else Status.POSSIBLE, key=lambda s: ORDER[s])
    return max(status, limit, key=lambda s: ORDER[s])


def fatal(cause: Cause | None) -> bool:
    """Whether a cause, where it is true, ends a server; the others let it live."""
    return cause not in (
        *HARMLESS,
        Cause.MASK_CORRUPTION,
        Cause.OPERATOR_STOP,
        Cause.MISTYPED_UNIT,
        Cause.UNIT_MISSING,
        Cause.EVIDENCE_MISSING,
        Cause.EXEC_FAILURE,
        None,
    )

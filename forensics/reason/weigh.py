"""Weigh single signals: how firm one is, whether the life outlived it, whether it is about this unit at all. Chooses no cause."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from forensics import lazily
from forensics.model import Cause, Coverage, EndKind, MarkKind, Origin, PartKind, Record, Role, Signal, Status
from forensics.reason.figures import whole
from forensics.reason.framing import FRAMING, RAISED, STACK
from forensics.reason.issue import STAYED_S
from forensics.reason.lives import Placed
from forensics.reason.place import Story
from forensics.reason.startup import FRAME, LOADING, WARM_UP_REQUESTS

ORDER = {Status.ESTABLISHED: 0, Status.SUPPORTED: 1, Status.POSSIBLE: 2, Status.RULED_OUT: 3}
HARMLESS = (Cause.BENCH_OVERLOAD, Cause.WRONG_ENDPOINT)
NEVER_OUTLIVED = (*HARMLESS, Cause.MASK_CORRUPTION)
SURVIVED_S = 5.0  # it served on for so long after the line: requests under way when a server dies are answered within a second or two
SURVIVED_LINES = 4  # where no line has a time
NEAR_END_S = 5.0
NAMED = lazily.pattern(r"[A-Za-z0-9:_.\\@-]{1,250}\.(?:service|scope): ")
WENT_ON_S = 60.0  # of further start-up after an error: other ranks take a while to notice, and a bar is drawn to its end
WROTE_ON_LINES = 40
WROTE_ON_S = 60.0
AGAIN_LINES = 10


def ranked(story: Story, roots: Sequence[Signal]) -> list[Signal]:
    """Root signals, the strongest first: more specific over general, before what it followed, kernel lines about its own pids before all."""
    left = specific(story, roots)
    return sorted(left, key=lambda s: (survived(story, s), not s.certain, not _names_us(story, s), began(s), s.order))


def specific(story: Story, signals: Sequence[Signal]) -> list[Signal]:
    """The signals without those that another one says it is more specific than, or that any server's rule makes of a line which a rule of this server knows."""
    rules = story.rules.by_id
    present = {s.rule for s in signals} | {str(s.cause) for s in signals}
    wins: set[tuple[str, str]] = set()
    for signal in signals:
        rule = rules.get(signal.rule)
        if rule is not None and (signal.certain or rule.when):
            over = map(story.rules.current, rule.over)
            wins.update((signal.rule, o) for o in over if o in present and o not in (signal.rule, str(signal.cause)))
    beaten = {loser for winner, loser in wins if (loser, winner) not in wins}  # over each other: neither is more specific
    left = [s for s in signals if s.rule not in beaten and str(s.cause) not in beaten] or list(signals)
    known = {place for s in left if s.certain and (place := _place(s)) and (rule := rules.get(s.rule)) and rule.server}
    return [s for s in left if _place(s) not in known or ((rule := rules.get(s.rule)) is not None and rule.server)]


def _place(signal: Signal) -> tuple[str, int] | None:
    return (signal.record.source, signal.record.line_no) if signal.record is not None else None


def began(signal: Signal) -> int:
    """When its failure began to be told: tracebacks of several ranks are printed into each other, and the last lines come in any order."""
    return signal.began if signal.began is not None else signal.order


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
    if _runs_on(story, signal) or (fatal(signal.cause) and _wrote_on(story, signal)):
        return True
    later = story.marks[bisect_right(story.marks, signal.order, key=lambda p: p.order) :]
    if signal.cause is Cause.PORT_IN_USE:  # a server whose port is taken can say that it is ready, and try itself out; it cannot answer anybody
        later = tuple(p for p in later if p.mark is not None and not p.mark.warms)
    elif signal.phase in LOADING:
        return any(p.mark is not None and p.mark.kind is MarkKind.READY for p in later) or _went_on(later, signal)
    served = [p.seen.record.at for p in later if p.mark is not None and p.mark.kind is MarkKind.SERVING and not p.mark.warms]
    maybe = [p for p in later if p.mark is not None and p.mark.kind is MarkKind.SERVING and p.mark.warms]
    if len(maybe) >= WARM_UP_REQUESTS or (maybe and _ready_before(story, maybe[0].order)):
        served += [p.seen.record.at for p in maybe]
    if signal.at is None:
        return len(served) >= SURVIVED_LINES
    return any(at is not None and at - signal.at > SURVIVED_S for at in served)


def _went_on(later: Sequence[Placed], signal: Signal) -> bool:
    """Whether the start-up went further, on the same rank or that of all, long after a line of it."""
    steps = (MarkKind.BEGIN, MarkKind.END, MarkKind.PROGRESS, MarkKind.LISTENING)
    times = [
        p.seen.record.at
        for p in later
        if p.mark is not None and p.mark.kind in steps and p.mark.what != FRAME and (not signal.rank or p.seen.record.rank in ("", signal.rank))
    ]
    return signal.at is not None and any(at is not None and at - signal.at >= WENT_ON_S for at in times)


def _runs_on(story: Story, signal: Signal) -> bool:
    """Of a service that nobody described, to run on for a while is all that can be seen of having got over it."""
    life, record = story.issue, signal.record
    if story.profile is not None or life.alive is not True or record is None or record.origin is not Origin.SERVER or not _would_end(signal):
        return False
    seen_at = max((t for t in (story.at, life.last_at) if t is not None), default=None)
    return signal.at is not None and seen_at is not None and seen_at - signal.at >= STAYED_S


def nobody_meant(story: Story) -> bool:
    """Whether the evidence is of a program that nobody named or described, and whose end nobody saw."""
    return story.profile is None and story.unit is None and story.issue.end.kind is EndKind.NONE and story.issue.alive is None


def _wrote_on(story: Story, signal: Signal) -> bool:
    """Whether such a program wrote on after a line as it had before: for long, or as it did when it had said the same earlier."""
    record = signal.record
    tail = story.facts.tails.get(record.source) if record is not None else None
    if record is None or tail is None or record.origin is Origin.SYSTEMD or not nobody_meant(story):
        return False
    ends = [story.last_line.get((record.source, role)) for role in (Role.CASCADE, Role.MECHANISM)]
    if any(line is not None and tail.lines - line < WROTE_ON_LINES for line in ends):
        return False
    after = [r for r in tail.last if r.line_no > record.line_no and r.text.strip()]
    if after and 10 * sum(_of_stack(r.text) for r in after) >= 9 * len(after):
        return False  # the stack of that very failure, or what a debugger says of it
    later = [r.at - record.at for r in after if r.at is not None and record.at is not None]
    if tail.lines - record.line_no >= WROTE_ON_LINES or (len(later) >= SURVIVED_LINES and max(later) > WROTE_ON_S):
        return True
    said = story.first_line.get((record.source, signal.rule), record.line_no)
    return tail.lines - record.line_no >= AGAIN_LINES and record.line_no - said >= AGAIN_LINES


def ends_on_an_error(story: Story) -> bool:
    """Whether the server's log breaks off behind an exception that nobody explained: what comes after a request that failed is not there."""
    harmless = {(s.record.source, s.record.line_no) for s in story.of_issue(Role.BENIGN, Role.SYMPTOM) if s.record is not None}
    for source in {p.seen.record.source for p in story.marks if p.seen.record.origin is Origin.SERVER}:
        tail = story.facts.tails.get(source)
        told = [r for r in (tail.last if tail else ()) if r.text.strip() and not _of_stack(r.text)]
        if told and RAISED.match(told[-1].text) and (source, told[-1].line_no) not in harmless:
            return True
    return False


def _of_stack(text: str) -> bool:
    return bool(STACK.match(text) or FRAMING.match(text))


def _ready_before(story: Story, order: int) -> bool:
    return any(p.mark is not None and p.mark.kind is MarkKind.READY and p.order < order for p in story.marks)


def firm(story: Story, signal: Signal) -> Status:
    """How firm one signal is by itself."""
    rule = story.rules.rule(signal.rule)
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
    if signal.role is Role.ROOT and _would_end(signal):
        if survived(story, signal) or (life.alive and life.ready and not _names_us(story, signal)):
            status = Status.POSSIBLE  # it is still up, or went on for long: whatever the line says, it did not die of it
        elif life.alive and life.end.kind is EndKind.NONE:
            status = max(status, Status.SUPPORTED if signal.certain else Status.POSSIBLE, key=lambda s: ORDER[s])
    if signal.record is not None and _of_no_sender(story, signal.record):
        limit = max(limit, Status.SUPPORTED, key=lambda s: ORDER[s])
    if _one_of_many(story, signal) or of_either_phase(story, signal) or is_quoted(story, signal):
        status = Status.POSSIBLE
    return max(status, limit, key=lambda s: ORDER[s])


def is_quoted(story: Story, signal: Signal) -> bool:
    """Whether somebody quotes the line between his own words, beside a log in which it is not."""
    record = signal.record
    return record is not None and (record.source, record.line_no) in story.facts.quoted


def of_either_phase(story: Story, signal: Signal) -> bool:
    """Whether the same line would have another cause in another phase, and nobody knows the phase: an allocation that failed at the start, or while serving."""
    record = signal.record
    return signal.role is Role.ROOT and not signal.certain and record is not None and (record.source, record.line_no) in story.undecided


def _of_no_sender(story: Story, record: Record) -> bool:
    """Whether a line looks like systemd's, and nothing but its words says so (``journalctl -o cat``): any program can print them."""
    as_of_it = record.origin is Origin.SYSTEMD or (record.origin is Origin.SERVER and bool(NAMED.match(record.text)))
    return as_of_it and not record.ident and PartKind.SERVER in story.facts.kinds.get(record.source, ())


def _would_end(signal: Signal) -> bool:
    """Whether what a line says, where it is true of the life that says it, ends that life. A program that runs has been started, whatever it prints."""
    own = signal.record is not None and signal.record.origin is Origin.SERVER
    return fatal(signal.cause) or (signal.cause is Cause.EXEC_FAILURE and own)


def _one_of_many(story: Story, signal: Signal) -> bool:
    """Whether the line is that of some program in a machine's log, and no unit was named."""
    record = signal.record
    return record is not None and record.origin is not Origin.SYSTEMD and nobody_meant(story) and record.source in story.crowded


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

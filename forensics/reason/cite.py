"""Choose the dozen lines that the verdict rests on, the root first. Adds no line that nobody saw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from forensics import lazily
from forensics.model import BenchRun, Cause, Coverage, EndKind, Evidence, Facts, MarkKind, Moment, Origin, Record, Role, Signal, Template
from forensics.reason import beside
from forensics.reason.framing import FRAMING, HEAD, STACK, WARNING
from forensics.reason.issue import error_times
from forensics.reason.place import Story
from forensics.reason.signals import evidence
from forensics.reason.startup import FRAME
from forensics.reason.verdict import Verdict

MOST = 12
RARE = 16  # lines of a wording: each of many ranks says a thing once or twice
EXCEPTION = lazily.pattern(
    r"(?:[A-Za-z_][\w.]{0,80}\.)?[A-Z]\w{0,60}(?:Error|Exception|Interrupt|Timeout|Expired|Refused)\b|(?i:fatal|panic|error)\b"
)
NUMBERS = lazily.pattern(r"\d+")
WORDY = lazily.pattern(r"[^\W\d_]{3}")
SYSTEMD_ENDS = (
    MarkKind.EXITED,
    MarkKind.FAILED,
    MarkKind.OOM_KILL,
    MarkKind.START_TIMEOUT,
    MarkKind.STOP_TIMEOUT,
    MarkKind.WATCHDOG,
    MarkKind.START_LIMIT,
    MarkKind.DEACTIVATED,
    MarkKind.BOOT,
)


def cite(story: Story, verdict: Verdict, signals: Sequence[Signal], new: Sequence[Template] = ()) -> tuple[Evidence, ...]:
    """At most twelve lines: the verdict's own, how it ended, what the client saw, where it stood, what else was loud. ``new``: what the last good life never said."""
    chosen: list[Evidence] = []
    seen: set[tuple[str, str]] = set()
    attempts = _Attempts(story.facts)

    def take(lines: Iterable[Evidence], most: int) -> None:
        taken = 0
        for line in lines:
            key = ("", line.text.strip())
            if verdict.by == "root" and HEAD.search(line.text):
                continue
            if not line.text.strip() or key in seen or len(chosen) >= MOST or taken >= most or attempts.told(line):
                continue
            seen.add(key)
            chosen.append(attempts.counted(line))
            taken += 1

    take((line for s in verdict.signals for line in s.lines), 5)
    if verdict.cause in (Cause.EXIT_CODE_DEATH, Cause.UNKNOWN, Cause.RESTART_LOOP):
        take(filter(None, [last_words(story)]), 1)
        take((Evidence(source=t.source, line=t.line, text=t.text) for t in new if t.count <= RARE), 3)
    rests_on = set(map(id, verdict.signals))
    mine = [s for s in signals if s.life == story.issue.index and id(s) not in rests_on]
    take((line for s in mine if s.cause is verdict.cause for line in s.lines), 2)
    follow = {(line.source, line.line) for s in mine if s.role is Role.CASCADE for line in s.lines}
    take((line for s in mine if _leads_to(s, verdict) for line in s.lines if (line.source, line.line) not in follow), 2)
    if verdict.by == "state":
        take(_of_the_last(story), 1)
        take(_marks(story, (MarkKind.PROGRESS,), last=True), 1)
        take(_marks(story, (MarkKind.BEGIN,), last=True), 1)
    take(_state_lines(story), 2 if verdict.by != "health" else 1)
    take(beside.lines(story, verdict), 3)
    take(_marks(story, SYSTEMD_ENDS), 3)
    take((line for s in mine if s.role is Role.MECHANISM for line in s.lines), 2)
    take((line for s in mine if s.role is Role.ROOT for line in s.lines), 2)
    if verdict.cause in (Cause.UNKNOWN, Cause.SIGNAL_DEATH, Cause.EXIT_CODE_DEATH, Cause.RESTART_LOOP, Cause.EVIDENCE_MISSING):
        take((line for s in mine if s.role is Role.CONTEXT for line in s.lines), 2)
    one_each = {s.rule: s for s in reversed(mine) if s.role is Role.CASCADE}  # the first of a kind; the others are folded
    take((line for s in reversed(one_each.values()) for line in s.lines), 2)
    take(_opposite(story, verdict, signals), 2)
    take(_marks(story, (MarkKind.STOPPING, MarkKind.STOP_ASKED), last=True), 1)
    take(_client_lines(story.facts), 2)
    take(_marks(story, (MarkKind.READY, MarkKind.LISTENING)), 1)
    take(_marks(story, (MarkKind.PROGRESS,), last=True), 1)
    if verdict.by in ("health", "unknown"):
        take((line for s in mine if s.role is Role.BENIGN for line in s.lines), 2)
    take(_marks(story, (MarkKind.SERVING,)), 1)
    if verdict.cause in (Cause.UNKNOWN, Cause.SIGNAL_DEATH, Cause.EXIT_CODE_DEATH) or len(chosen) < 3:
        take(_closing_lines(story, hints=not chosen), 4)
    return tuple(chosen)


class _Attempts:
    """Lines of a client that failed again and again in the same words: the first stands for those between, the last says until when."""

    def __init__(self, facts: Facts) -> None:
        self._shapes = {
            (b.source, r.line_no): (b.source, " ".join(NUMBERS.sub("#", r.text).split()))
            for b in facts.benches
            for r in b.rows
            if r.kind not in ("", "ok")
        }
        whole = {b.source for b in facts.benches if not _cut(b)}
        self._counts = Counter(shape for shape in self._shapes.values() if shape[0] in whole)
        last = {shape: place for place, shape in sorted(self._shapes.items())}
        self._ends = set(last.values())
        self._first: set[tuple[str, str]] = set()

    def told(self, line: Evidence) -> bool:
        """Whether it lies between the first and the last of its kind."""
        place = (line.source, line.line)
        return place not in self._ends and self._shapes.get(place) in self._first

    def counted(self, line: Evidence) -> Evidence:
        """With how many there are, where it is the first of them and is shown."""
        shape = self._shapes.get((line.source, line.line))
        if shape is None or shape in self._first:
            return line
        self._first.add(shape)
        return replace(line, times=max(1, self._counts[shape]))


def _cut(bench: BenchRun) -> bool:
    """Whether there were more rows than are kept: then nobody has counted those of one wording."""
    return sum(bench.errors.values()) > sum(1 for r in bench.rows if r.kind not in ("", "ok"))


def _leads_to(signal: Signal, verdict: Verdict) -> bool:
    """A stated fact (an exception, a frame) a little before or after the line that the verdict rests on, in the same source."""
    first = verdict.signals[0].record if verdict.signals else None
    own = signal.record
    return (
        signal.role is Role.CONTEXT
        and own is not None
        and first is not None
        and (own.source, own.origin) == (first.source, first.origin)
        and -80 <= own.line_no - first.line_no <= 40
    )


def _state_lines(story: Story) -> list[Evidence]:
    state = story.state
    if state is None:
        return []
    wanted = ("missing", "active", "process", "main")
    return [
        Evidence(source=state.line_sources.get(k, state.source), line=state.lines[k][0], text=state.lines[k][1]) for k in wanted if k in state.lines
    ]


def _marks(story: Story, kinds: Sequence[MarkKind], *, last: bool = False) -> list[Evidence]:
    found = [p for p in story.placed if p.life == story.issue.index and p.mark is not None and p.mark.kind in kinds]
    lines = [evidence(p.seen.record, p.mark.id if p.mark else None) for p in found]
    return lines[-1:] if last else lines


def _of_the_last(story: Story) -> list[Evidence]:
    """The last mark of the rank that the others wait for."""
    behind = story.issue.behind
    marks = [p for p in story.placed if behind and p.life == story.issue.index and p.mark is not None and p.seen.record.rank == behind.rank]
    return [evidence(p.seen.record, p.mark.id if p.mark else None) for p in marks[-1:]]


def _opposite(story: Story, verdict: Verdict, signals: Sequence[Signal]) -> list[Evidence]:
    """The same cause in a neighbouring life: the other half of a rebalance."""
    return [line for s in signals if s.cause is verdict.cause and s.life is not None and abs(s.life - story.issue.index) == 1 for line in s.lines]


def _client_lines(facts: Facts) -> list[Evidence]:
    rows = [(b.source, r) for b in facts.benches for r in b.rows if r.kind not in ("", "ok")]
    chosen = rows[:1] + rows[-1:] if len(rows) > 1 else rows
    return [Evidence(source=source, line=r.line_no, text=r.text, at=r.at) for source, r in chosen]


def last_words(story: Story) -> Evidence | None:
    """What the program said of its own end: the last exception or fatal line of the life at issue, else its last line of text; None where it said nothing."""
    mine = [s for s in story.of_issue() if s.record is not None and s.record.origin is Origin.SERVER]
    told = [s for s in mine if s.role is Role.CONTEXT and EXCEPTION.match(s.record.text if s.record else "")]
    following = [s for s in mine if s.role is Role.CASCADE]
    passed_on = {(line.source, line.line) for s in following for line in s.lines}
    told = [s for s in told if (s.lines[0].source, s.lines[0].line) not in passed_on] or told  # "see the error above" is not that error
    cascades = [s.order for s in following]
    first = min(cascades, default=1 << 30)
    before = [s for s in told if s.order < first] or told
    if before:
        return before[-1].lines[0]
    life = story.issue
    lines = [r for r in _tail_lines(story) if r.origin is Origin.SERVER and (r.at is None or life.ended_at is None or r.at <= life.ended_at + 1)]
    return evidence(lines[-1]) if lines and life.end.kind is not EndKind.NONE else None


def _tail_lines(story: Story, *, hints: bool = True) -> list[Record]:
    """The last lines of every source that hold words, oldest first. Of nothing but advice, which says what to do and not what happened, none unless ``hints``."""
    lines = [
        r
        for tail in story.facts.tails.values()
        for r in _own_words(tail.last)
        if r.origin is not Origin.CLIENT and WORDY.search(r.text) and not FRAMING.match(r.text)
    ]
    lines = [r for r in lines if not STACK.match(r.text)] or lines
    advice = _advice(story)
    told = [r for r in lines if (r.source, r.line_no) not in advice]
    return sorted(told or (lines if hints else []), key=lambda r: (r.at is not None, r.at or 0.0))


def _advice(story: Story) -> set[tuple[str, int]]:
    """The lines that hold nothing but a hint that a program prints."""
    roles: dict[tuple[str, int], set[Role]] = {}
    found = [(p.seen.record, p.rule) for p in story.placed]
    # an item of a list reads as if a person had written it
    found += [(seen.record, story.rules.rule(seen.hit.rule)) for seen in story.facts.written]
    for record, rule in found:
        if rule is not None:
            roles.setdefault((record.source, record.line_no), set()).add(rule.role)
    return {place for place, those in roles.items() if those == {Role.ADVICE_TEXT}}


def _own_words(records: Iterable[Record]) -> Iterator[Record]:
    """Without the piece of source code that Python shows below a warning, indented by two blanks."""
    warned: Record | None = None
    for record in map(_last_piece, records):
        if warned is None or not record.text.startswith("  ") or (record.source, record.line_no) != (warned.source, warned.line_no + 1):
            yield record
        warned = record if WARNING.match(record.text) else None


def _last_piece(record: Record) -> Record:
    """What a terminal would show of a line that a progress bar has written over and over."""
    if "\r" not in record.text:
        return record
    return record._replace(text=next((piece for piece in reversed(record.text.split("\r")) if piece.strip()), ""))


def _closing_lines(story: Story, *, hints: bool) -> list[Evidence]:
    return [evidence(r) for r in reversed(_tail_lines(story, hints=hints)[-4:])]


def timeline(story: Story, verdict: Verdict) -> tuple[Moment, ...]:
    """What happened to the unit, in order: starts, phases, readiness, the root, the end, the client."""
    moments: list[Moment] = []
    interesting = (
        *SYSTEMD_ENDS,
        MarkKind.STARTING,
        MarkKind.STARTED,
        MarkKind.STOP_ASKED,
        MarkKind.STOPPED,
        MarkKind.RESTART,
        MarkKind.READY,
        MarkKind.LISTENING,
        MarkKind.BOOT,
        MarkKind.ARGUMENTS,
    )
    for placed in story.placed:
        mark, record = placed.mark, placed.seen.record
        near = abs(placed.life - story.issue.index) <= 1
        begins = (
            mark is not None
            and mark.kind is MarkKind.BEGIN
            and mark.what != FRAME
            and placed.life == story.issue.index
            and record.rank in ("", "TP0")
        )
        if mark is not None and near and (mark.kind in interesting or begins):
            moments.append(Moment(at=record.at, source=record.source, text=record.text[:200]))
    for signal in verdict.signals[:3]:
        if signal.record is not None:
            moments.append(Moment(at=signal.at, source=signal.record.source, text=signal.record.text[:200]))
    times = error_times(story.facts)
    for at, what in ((min(times, default=None), "first"), (max(times, default=None), "last")):
        moments.append(Moment(at=at, source="client", text=f"the client's {what} error"))
    unique = list(dict.fromkeys(m for m in moments if m.at is not None))
    unique.sort(key=lambda m: m.at or 0.0)
    return tuple(unique[:20] + unique[-20:] if len(unique) > 40 else unique)


def coverage(facts: Facts) -> dict[str, Coverage]:
    """The coverage table with its fixed keys first."""
    fixed = {k: facts.coverage.get(k, Coverage.NOT_COLLECTED) for k in ("journal", "status", "kernel", "bench")}
    return {**fixed, **{k: v for k, v in facts.coverage.items() if k not in fixed}}

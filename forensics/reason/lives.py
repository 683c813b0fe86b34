"""Cut the marked lines of a unit into its lives, and say how each ended and by whom. Weighs no cause."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from forensics import clock
from forensics.model import EndBy, EndKind, Facts, MarkKind, Origin, PartKind, Phase, Record, Role, Run, Seen, ending
from forensics.reason.figures import whole
from forensics.reason.runs import run_at, runs_of
from forensics.reason.startup import Startup
from forensics.ruleset.schema import Mark, Rule, RuleSet

SIGNALS = {
    1: "SIGHUP",
    2: "SIGINT",
    3: "SIGQUIT",
    4: "SIGILL",
    5: "SIGTRAP",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    11: "SIGSEGV",
    13: "SIGPIPE",
    15: "SIGTERM",
}
# marks that no other program's line looks like
TELLING = (MarkKind.ARGUMENTS, MarkKind.BEGIN, MarkKind.END, MarkKind.SELF_KILL)
_OF_THE_MACHINE = (Origin.SYSTEMD, Origin.KERNEL)
_UNSURE_S = 2.0
FLAGS = {
    MarkKind.STOP_ASKED: "stop_asked",
    MarkKind.OOM_KILL: "oom",
    MarkKind.START_TIMEOUT: "start_timeout",
    MarkKind.STOP_TIMEOUT: "stop_timeout",
    MarkKind.WATCHDOG: "watchdog",
    MarkKind.START_FAILED: "start_failed",
    MarkKind.KILL_SENT: "stop_sent",
}


class Placed(NamedTuple):
    """A seen line with its place: the life it fell into, the phase of its rank at that moment, its position in the merged order."""

    seen: Seen
    rule: Rule | None
    mark: Mark | None
    life: int
    phase: Phase | None
    order: int
    assumed: bool = False  # the phase is only what follows the one that ended, no line has said that it began


@dataclass
class Draft:
    """A life while it is being read. Every field is what some line said; nothing is concluded here."""

    index: int
    by_systemd: bool = False
    started_at: float | None = None
    opened_at: float | None = None  # of its first line that was seen
    active: bool = False
    ended_at: float | None = None
    last_at: float | None = None
    code: str | None = None  # exited, killed, dumped
    status: int | None = None
    result: str | None = None
    stop_asked: bool = False
    stop_sent: bool = False  # systemd says that somebody sent the signal
    deactivated: bool = False
    gone: bool = False  # a container engine says that it died, but not how
    stopped: bool = False
    oom: bool = False
    start_timeout: bool = False
    stop_timeout: bool = False
    watchdog: bool = False
    start_failed: bool = False
    rebooted: bool = False
    self_kill: bool = False
    finished: bool = False
    stopping: bool = False
    child_codes: list[int] = field(default_factory=list)
    startup: Startup = field(default_factory=Startup)
    arguments: dict[str, str] = field(default_factory=dict)
    opened: bool = False  # the server itself logged its arguments
    versions: list[str] = field(default_factory=list)
    pids: set[int] = field(default_factory=set)
    invocation: str = ""
    sources: set[str] = field(default_factory=set)

    @property
    def over(self) -> bool:
        """Whether a line said that the main process is gone."""
        return bool(self.code or self.result or self.gone or self.deactivated or self.stopped or self.rebooted)


@dataclass(frozen=True, kw_only=True)
class Own:
    """How the unit's own lines are told from those of other programs in the same journal.

    journald names every line that a unit's processes print by the program that the unit starts, children and all.
    """

    idents: frozenset[str] = frozenset()
    trusted: bool = False  # whether PID 1 is heard in this evidence

    def stranger(self, record: Record, unit: str | None) -> bool:
        """Whether a line is another program's."""
        if record.unit and unit and record.unit != unit and record.unit.endswith((".service", ".scope")):
            return True
        return bool(self.idents and record.ident and record.ident not in self.idents)


def own_of(facts: Facts, marks: Mapping[str, Mark], main_pid: int | None, unit: str | None) -> Own:
    """Which idents are the unit's: those of its main process and of the lines that only its kind of server writes."""
    idents = {
        s.record.ident
        for s in facts.seen
        if s.record.origin is Origin.SERVER
        and s.record.ident
        and (s.record.pid == main_pid or (s.hit.rule in marks and marks[s.hit.rule].kind in TELLING))
    }
    if not idents and unit:
        # named after the program, as many units are; only worth a guess where several programs are heard
        heard = {s.record.ident for s in facts.seen if s.record.origin is Origin.SERVER and s.record.ident}
        alike = {i for i in heard if i in unit.rpartition(".")[0] or unit.rpartition(".")[0] in i}
        idents = alike if len(heard) > 1 else set()
    return Own(idents=frozenset(idents), trusted=any(s.hit.frame.fields.get("trusted") and s.record.origin is Origin.SYSTEMD for s in facts.seen))


class Fold:
    """Feed seen lines in merged order; ``lives`` and ``placed`` grow."""

    def __init__(
        self,
        rules: RuleSet,
        unit: str | None,
        server: str | None,
        description: str | None,
        first_at: Mapping[str, float | None],
        own: Own | None = None,
        runs: tuple[Run, ...] = (),
        contained: bool = False,
        tails: frozenset[str] = frozenset(),
    ) -> None:
        self._runs, self._contained = runs, contained
        self.lives = [_drafted(n, run, last=n == len(runs) - 1) for n, run in enumerate(runs)]
        self.placed: list[Placed] = []
        self.restarts: int | None = None
        self.start_limit = False
        self._rules = {r.id: r for r in rules.rules}
        # two servers say "Application startup complete." and mean two things by it: only the marks of the one that runs count
        self._marks = {m.id: m for p in rules.profiles for m in p.marks if server in (None, p.name) or not (p.launch or p.prefixes)}
        self._unit, self._description, self._first_at = unit, description, first_at
        self._own = own or Own()
        self._tails = tails  # sources that are the last lines of a journal: nothing begins with the first of them
        self._boot = ""
        self._early: list[Placed] = []  # of the machine, before anything was known of the unit

    def feed(self, seen: Seen, order: int) -> None:
        """Take one line."""
        rule, mark = self._rules.get(seen.hit.rule), self._marks.get(seen.hit.rule)
        record = seen.record
        if record.origin is Origin.SYSTEMD and not self._about_us(seen):
            return
        if mark is not None and mark.from_ is Origin.SYSTEMD and self._own.trusted and not seen.hit.frame.fields.get("trusted"):
            return  # anybody can call himself systemd; only PID 1 says how a unit fares where PID 1 is heard at all
        if record.origin is Origin.SERVER and self._own.stranger(record, self._unit):
            return
        self._booted(record)
        if mark is not None:
            self._mark(mark, seen)
        beside = record.origin is Origin.KERNEL or (record.origin is Origin.SYSTEMD and not seen.hit.frame.fields.get("trusted"))
        if beside and self._own.trusted and not self.lives:
            self._early.append(Placed(seen, rule, mark, 0, None, order))
            return
        draft = self._current(record)
        self._place_early()
        self._touch(draft, record, mark)
        phase = draft.startup.phase_of(record.rank)
        if record.origin in (Origin.KERNEL, Origin.CLIENT):
            phase = draft.startup.phase_of()
        self.placed.append(Placed(seen, rule, mark, draft.index, phase, order, draft.startup.assumed))

    def finish(self) -> None:
        """After the last line: what the machine said is all there is where the unit has no life."""
        self._place_early()

    def _place_early(self) -> None:
        """Lines of the machine belong to the first life where that goes on from above; where it begins later they are about something else."""
        if not self.lives or not self.lives[0].by_systemd:
            self.placed += self._early
        self._early.clear()

    # ---- which life

    def _current(self, record: Record) -> Draft:
        if self._runs:
            return self.lives[run_at(self._runs, record)]
        if record.invocation:
            for draft in reversed(self.lives):
                if draft.invocation == record.invocation:
                    return draft
        if not self.lives:
            return self._open(record, by_systemd=False, at=self._first_at.get(record.source))
        draft = self.lives[-1]
        if record.invocation and draft.invocation and record.invocation != draft.invocation and record.origin is not Origin.KERNEL:
            return self._open(record, by_systemd=False, at=record.at)
        if self._contained and draft.by_systemd and draft.over and _after(record, draft):
            return self._open(record, by_systemd=False, at=record.at)  # nothing outlives a container: the next one speaks before its start is noted
        return draft

    def _booted(self, record: Record) -> None:
        """Entries with their fields have no mark between two boots: each names its own."""
        if record.boot and record.boot != self._boot:
            if self._boot:
                self._went_down()
            self._boot = record.boot

    def _went_down(self) -> None:
        """The machine started anew: what had not ended by then went down with it."""
        if self.lives and not self.lives[-1].over:
            self.lives[-1].rebooted = True
            self.lives[-1].ended_at = self.lives[-1].last_at

    def _open(self, record: Record, *, by_systemd: bool, at: float | None) -> Draft:
        # where PID 1 is heard it says when a life began: what has no such line began above the first one
        started_at = at if by_systemd or not (self._own.trusted or record.source in self._tails) else None
        draft = Draft(index=len(self.lives), by_systemd=by_systemd, started_at=started_at, opened_at=at, invocation=record.invocation)
        self.lives.append(draft)
        return draft

    def _touch(self, draft: Draft, record: Record, mark: Mark | None) -> None:
        draft.sources.add(record.source)
        if record.invocation and not draft.invocation and record.origin is not Origin.KERNEL:
            draft.invocation = record.invocation
        if record.origin is Origin.SERVER:
            if record.pid:
                draft.pids.add(record.pid)
            if draft.started_at is None and not draft.by_systemd and not self._own.trusted and record.source not in self._tails:
                draft.started_at = record.at  # its first lines carry no stamp
            if record.at is not None and (draft.last_at is None or record.at > draft.last_at):
                draft.last_at = record.at
        if mark is not None and mark.version:
            draft.versions.append(mark.version)

    def _about_us(self, seen: Seen) -> bool:
        named = seen.hit.captures.get("unit")
        if not self._unit:
            return True
        if named:
            return named == self._unit or named == self._unit.removesuffix(".service")
        told = seen.record.unit
        if told and told not in ("init.scope", self._unit):
            return False
        described = seen.hit.captures.get("description")
        return not (described and self._description) or described == self._description

    # ---- what a mark says

    def _mark(self, mark: Mark, seen: Seen) -> None:
        record, captures = seen.record, dict(seen.hit.captures)
        if mark.from_ is Origin.SYSTEMD:
            self._systemd(mark.kind, record, captures)
        elif mark.kind is MarkKind.BOOT:
            if record.origin not in (Origin.SYSTEMD, Origin.KERNEL):
                return  # journalctl's own "-- Boot … --" is framed as systemd's; a service can print one too
            self._went_down()
        elif mark.kind is not MarkKind.SHUTDOWN:
            self._server(mark, seen, captures)

    def _server(self, mark: Mark, seen: Seen, captures: dict[str, str]) -> None:
        record = seen.record
        draft = self._current(record)
        if mark.kind is MarkKind.ARGUMENTS:
            # an excerpt that begins in the midst of a life lacks the line that opened it
            later = mark.opens and not draft.opened and not draft.by_systemd and (draft.stopping or draft.startup.ready)
            again = mark.opens and draft.opened and not (draft.by_systemd and not draft.over and record.pid in draft.pids)
            if not self._runs and (later or again or (draft.over and not draft.by_systemd)):
                draft = self._open(record, by_systemd=False, at=record.at)
            draft.opened = True
            if draft.started_at is None:
                draft.started_at = record.at  # a server says so first of all
            if "args" in captures:
                draft.arguments.update(arguments(captures["args"], mark.style))
        elif mark.kind is MarkKind.SELF_KILL:
            draft.self_kill = True
        elif mark.kind is MarkKind.CHILD_EXIT:
            if (code := whole(captures.get("code"))) is not None:
                draft.child_codes.append(code)
        elif mark.kind is MarkKind.FINISHED:
            draft.finished = True
        elif mark.kind is MarkKind.STOPPING:
            draft.stopping = True
        draft.startup.started_at = draft.started_at
        draft.startup.feed(mark, record, captures)

    def _systemd(self, kind: MarkKind, record: Record, captures: dict[str, str]) -> None:
        if kind in (MarkKind.STARTING, MarkKind.STARTED):
            self._started(kind, record)
            return
        if kind is MarkKind.RESTART:
            count = whole(captures.get("counter"))
            self.restarts = count if count is not None else (self.restarts or 0) + 1
            return
        if kind is MarkKind.START_LIMIT:
            self.start_limit = True
            return
        draft = self._current(record)
        if kind is MarkKind.EXITED:
            if captures.get("process", "").lower() == "control" and draft.code is not None:
                return  # ExecStop and the like: the main process has said its own
            status = captures.get("status", "").partition("/")[0]
            draft.gone, draft.ended_at = True, record.at
            number = whole(status)
            if "code" in captures:
                draft.code = captures["code"]
                draft.status = number if number is not None else _signal_number(captures.get("signal") or status)
            elif number is not None:
                draft.code, draft.status = ending(number)
        elif kind is MarkKind.FAILED:
            result = captures.get("result")
            if not (draft.result and result == "start-limit-hit"):  # the limit hides how the attempt before ended
                draft.result = result or draft.result
            draft.ended_at = draft.ended_at if draft.ended_at is not None else record.at
        elif kind in (MarkKind.DEACTIVATED, MarkKind.STOPPED):
            if kind is MarkKind.STOPPED and draft.over and not draft.stop_asked:
                return  # systemd 247 and 252 say "Stopped" at each automatic restart
            draft.deactivated = draft.deactivated or kind is MarkKind.DEACTIVATED
            draft.stopped = draft.stopped or kind is MarkKind.STOPPED
            draft.ended_at = draft.ended_at if draft.ended_at is not None else record.at
        else:
            self._flag(draft, kind, record, captures)

    def _flag(self, draft: Draft, kind: MarkKind, record: Record, captures: dict[str, str]) -> None:
        """What systemd says beside starts and ends."""
        if kind is MarkKind.KILL_SENT and not captures.get("target"):
            return  # "Killing process …" is systemd cleaning up; only "on client request" is somebody
        if kind is MarkKind.STOP_ASKED and draft.code is not None:
            return  # systemd 219 says so at an automatic restart too: the process had ended before
        if kind in FLAGS:
            setattr(draft, FLAGS[kind], True)
        if kind is MarkKind.START_FAILED and draft.ended_at is None:
            draft.ended_at = record.at

    def _started(self, kind: MarkKind, record: Record) -> None:
        draft = self.lives[-1] if self.lives else None
        if draft is not None and not draft.over and not (record.invocation and draft.invocation and draft.invocation != record.invocation):
            if draft.by_systemd and not draft.active and kind is MarkKind.STARTED:
                draft.active = True  # "Starting …" came before
                return
            since = record.at - draft.started_at if record.at is not None and draft.started_at is not None else None
            if draft.active and kind is MarkKind.STARTING and since is not None and 0 <= since <= 1 and not draft.pids:
                return  # systemd 219 writes both lines within a moment, at times the wrong way round
            if not draft.by_systemd and (draft.opened_at is None or record.at is None or 0 <= record.at - draft.opened_at <= 2):
                # its first lines can precede "Started" in the journal
                draft.by_systemd, draft.active = True, kind is MarkKind.STARTED
                draft.started_at = draft.started_at if draft.started_at is not None else record.at
                return
        fresh = self._open(record, by_systemd=True, at=record.at)
        fresh.active = kind is MarkKind.STARTED


def _drafted(number: int, run: Run, *, last: bool) -> Draft:
    """The life of a run that is known before any of its lines is read."""
    draft = Draft(index=number, by_systemd=True, active=True, started_at=run.started_at, ended_at=run.ended_at)
    draft.code, draft.status, draft.result, draft.gone = run.code, run.status, run.result, run.ended_at is not None or not last
    return draft


def _after(record: Record, draft: Draft) -> bool:
    return record.origin is Origin.SERVER and record.at is not None and draft.ended_at is not None and record.at > draft.ended_at


def merged(facts: Facts) -> Iterator[Seen]:
    """All seen lines in one order: by time across sources, by line within a source. Repeats of a line in a second source are dropped.

    Time within a source never runs back (interleaved writers), so the order of lines is kept; sources without any time come last.
    """
    keyed: list[tuple[float, int, int, Seen]] = []
    ranks: dict[str, int] = {}
    latest: dict[str, float] = {}
    timed = {s.record.source for s in facts.seen if s.record.at is not None}
    for position, seen in enumerate(facts.seen):
        source = seen.record.source
        rank = ranks.setdefault(source, len(ranks))
        if seen.record.at is not None:
            latest[source] = max(latest.get(source, seen.record.at), seen.record.at)
        at = latest.get(source, float("-inf") if source in timed else float("inf"))
        keyed.append((at, rank, position, seen))
    keyed.sort(key=lambda k: k[:3])
    known: dict[tuple[str, str, int], str] = {}
    tails = {name for name, kinds in facts.kinds.items() if PartKind.STATUS in kinds}
    for seen in sorted(facts.seen, key=lambda s: s.record.source in tails):  # the whole log before the last lines under a status
        if seen.record.at is not None:
            known.setdefault(_same(seen), seen.record.source)
    better = _well_timed(facts)
    for _, _, _, seen in keyed:
        if _told_better(seen, better):
            continue
        if seen.record.at is None or known[_same(seen)] == seen.record.source:
            yield seen


def _well_timed(facts: Facts) -> dict[tuple[str, str], list[float]]:
    """When systemd and the kernel wrote what, by the sources whose stamps name points in time."""
    found: dict[tuple[str, str], list[float]] = {}
    for seen in facts.seen:
        if seen.record.at is not None and seen.record.origin in _OF_THE_MACHINE and clock.since_boot(seen.hit.frame.stamp) is None:
            found.setdefault((seen.hit.rule, seen.record.text), []).append(seen.record.at)
    return found


def _told_better(seen: Seen, better: Mapping[tuple[str, str], list[float]]) -> bool:
    """Whether another source has this line with its time, where this one has none, or only counts from the start of the machine (known to a second or two)."""
    at, times = seen.record.at, better.get((seen.hit.rule, seen.record.text), ())
    if at is None:
        return bool(times) and seen.record.origin in _OF_THE_MACHINE
    return clock.since_boot(seen.hit.frame.stamp) is not None and any(abs(at - time) <= _UNSURE_S for time in times)


def _same(seen: Seen) -> tuple[str, str, int]:
    return seen.hit.rule, seen.record.text, int(seen.record.at or 0)


def arguments(text: str, style: str | None) -> dict[str, str]:
    """Arguments as a server logs them (``ServerArgs(model_path='x', tp_size=1)`` or a dict) by name, values as text; what cannot be read is left out."""
    body = text.strip()
    if style == "dict":
        body = body[: body.rfind("}") + 1]
        try:
            tree = ast.parse(body, mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return _pairs(body, r"'([A-Za-z_]\w*)': ")
        if isinstance(tree, ast.Dict):
            return {str(k.value): _value(v) for k, v in zip(tree.keys, tree.values, strict=True) if isinstance(k, ast.Constant)}
        return {}
    return _pairs(body, r"\b([a-z_]\w*)=")


def _pairs(body: str, name: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for m in re.finditer(name + r"('[^']*'|\"[^\"]*\"|[^,(){}\s]+)", body):
        found.setdefault(m.group(1), m.group(2).strip("'\""))
    return found


def _value(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ast.unparse(node)


def _signal_number(name: str) -> int | None:
    wanted = name if name.startswith("SIG") else f"SIG{name}"
    return next((n for n, s in SIGNALS.items() if s == wanted), None)


def fold(facts: Facts, rules: RuleSet, unit: str | None, server: str | None) -> Fold:
    """Run all seen lines through a fold; ``server`` is the profile whose marks count."""
    state = facts.units.get(unit or "")
    first_at = {name: next((r.at for r in tail.first if r.at is not None), None) for name, tail in facts.tails.items()}
    marks = {m.id: m for p in rules.profiles for m in p.marks if p.name == server and m.from_ is Origin.SERVER}
    own = own_of(facts, marks, state.main_pid if state else None, unit)
    runs = runs_of(facts, unit, {m.id: m for p in rules.profiles for m in p.marks if m.from_ is Origin.SYSTEMD})
    contained = bool(state and state.manager)
    tails = frozenset(
        name for name, kinds in facts.kinds.items() if PartKind.STATUS in kinds and not {PartKind.JOURNAL_TEXT, PartKind.SERVER} & set(kinds)
    )
    result = Fold(rules, unit, server, state.description if state else None, first_at, own, runs, contained, tails)
    for order, seen in enumerate(merged(facts)):
        result.feed(seen, order)
    result.finish()
    return result


def cascaded(placed: list[Placed], life: int) -> bool:
    """Whether the life has a line that only follows from another failure."""
    return any(p.life == life and p.rule is not None and p.rule.role is Role.CASCADE for p in placed)


def end_of(
    draft: Draft, *, self_kill_signal: str | None, kernel_killed: bool, cascades: bool, exit_zero_is_crash: bool, contained: bool = False
) -> tuple[EndKind, EndBy, str | None, int | None]:
    """How a life ended, by whom, the signal's name and the exit status; (NONE, …) where no line says that it ended."""
    signal = SIGNALS.get(draft.status or 0, f"signal {draft.status}") if draft.code in ("killed", "dumped") else None
    status = draft.status if draft.code == "exited" else None
    if draft.rebooted:
        return EndKind.REBOOT, EndBy.UNKNOWN, None, None
    if draft.oom or draft.result == "oom-kill":
        return EndKind.OOM_KILL, EndBy.KERNEL, signal, status
    if draft.watchdog or draft.result == "watchdog":
        return EndKind.WATCHDOG, EndBy.SYSTEMD, signal, status
    if draft.start_timeout or (draft.result == "timeout" and not draft.stop_asked):
        return EndKind.TIMEOUT, EndBy.SYSTEMD, signal, status
    if draft.stop_timeout:
        return EndKind.TIMEOUT, EndBy.SYSTEMD, signal, status
    if draft.stop_asked and draft.over:
        return EndKind.STOPPED, EndBy.OPERATOR, signal, status
    if signal in ("SIGTERM", "SIGINT") and draft.stopped and not draft.result and not cascades:
        return EndKind.STOPPED, EndBy.OPERATOR, signal, status  # of a stop job: at a restart "Stopped" comes after the end, and does not count
    if contained and status == 0:
        draft.deactivated = True  # what a unit's systemd would say of it
        return _unsaid_end(draft, self_kill_signal, cascades, exit_zero_is_crash)
    if signal in ("SIGTERM", "SIGINT") and contained and not draft.result and not cascades:
        return EndKind.STOPPED, EndBy.UNKNOWN, signal, status  # a container is stopped by these; who asked is known where its engine's events are
    if signal is not None:
        return EndKind.SIGNAL, _killer(draft, signal, self_kill_signal, kernel_killed, cascades), signal, None
    if status is not None:
        return EndKind.EXIT, EndBy.ITSELF, None, status
    return _unsaid_end(draft, self_kill_signal, cascades, exit_zero_is_crash)


def _killer(draft: Draft, signal: str, self_kill_signal: str | None, kernel_killed: bool, cascades: bool) -> EndBy:
    if kernel_killed:
        return EndBy.KERNEL
    if signal == self_kill_signal and (draft.self_kill or cascades):
        return EndBy.ITSELF
    if draft.stop_sent:
        return EndBy.OPERATOR
    if signal in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP"):
        return EndBy.ITSELF
    return EndBy.UNKNOWN


def _unsaid_end(
    draft: Draft, self_kill_signal: str | None, cascades: bool, exit_zero_is_crash: bool
) -> tuple[EndKind, EndBy, str | None, int | None]:
    """No exit line: a clean exit that systemd forgot, or a plain log that only the server wrote."""
    if draft.result in ("signal", "core-dump"):
        return EndKind.SIGNAL, EndBy.UNKNOWN, None, None
    if draft.result == "exit-code":
        return EndKind.EXIT, EndBy.ITSELF, None, None
    if draft.result:
        return EndKind.UNKNOWN, EndBy.SYSTEMD, None, None
    if draft.deactivated or draft.stopped:
        if exit_zero_is_crash and cascades and not draft.stopping:
            return EndKind.EXIT, EndBy.ITSELF, None, 0
        # a stop by a signal from outside, or an exit with 0: systemd calls both a success and says no more
        return EndKind.STOPPED, EndBy.OPERATOR if draft.stop_asked or draft.stopping else EndBy.UNKNOWN, None, None
    if draft.stopping and (draft.finished or draft.self_kill or not cascades):
        return EndKind.STOPPED, EndBy.OPERATOR, None, None
    if draft.self_kill:
        return EndKind.SIGNAL, EndBy.ITSELF, self_kill_signal, None
    if draft.finished:
        return EndKind.EXIT, EndBy.ITSELF, None, None
    if draft.start_failed:
        return EndKind.UNKNOWN, EndBy.SYSTEMD, None, None
    return EndKind.NONE, EndBy.UNKNOWN, None, None

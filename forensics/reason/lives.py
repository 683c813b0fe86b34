"""Cut the marked lines of a unit into its lives. Says not how they ended, and weighs no cause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from forensics.model import Cause, Facts, MarkKind, Origin, PartKind, Phase, Record, Role, Run, Seen, ending
from forensics.reason.described import OTHER_KIND, described_as
from forensics.reason.draft import Draft, drafted, signal_number
from forensics.reason.figures import whole
from forensics.reason.logged import arguments
from forensics.reason.merged import merged
from forensics.reason.runs import run_at, runs_of
from forensics.ruleset.schema import Mark, Rule, RuleSet

# marks that no other program's line looks like
NEVER_MEANT = (".service", ".scope", ".timer", ".slice", ".target")
MET = (Cause.STARTUP_RACE, Cause.WRONG_ENDPOINT)  # what another program says of its own requests
TELLING = (MarkKind.ARGUMENTS, MarkKind.BEGIN, MarkKind.END, MarkKind.SELF_KILL)
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


class Own(NamedTuple):
    """How the unit's own lines are told from those of other programs in the same journal.

    journald names every line that a unit's processes print by the program that the unit starts, children and all.
    """

    idents: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()  # idents that are another unit's by its name
    trusted: bool = False  # whether PID 1 is heard in this evidence

    def stranger(self, record: Record, unit: str | None) -> bool:
        """Whether a line is another program's."""
        if another(record.unit, unit):
            return True
        return bool(record.ident and (record.ident in self.others or (self.idents and record.ident not in self.idents)))


def another(unit: str, own: str | None) -> bool:
    """Whether a line that is of ``unit`` is another's than the one that is looked at; a slice or an account's manager is nobody's."""
    return bool(unit and own and unit != own and unit.endswith((".service", ".scope")))


def own_of(facts: Facts, marks: Mapping[str, Mark], main_pid: int | None, unit: str | None) -> Own:
    """Which idents are the unit's: those of its main process and of the lines that only its kind of server writes."""
    stem = unit.rpartition(".")[0] if unit else ""
    ours = [s for s in facts.seen if s.record.origin is Origin.SERVER and s.record.ident and not another(s.record.unit, unit)]
    heard = {s.record.ident for s in ours}
    named = {name.rpartition(".")[0] for name in facts.unit_names if name != unit}
    others = {i for i in heard & named if unit and i != stem and stem not in i and i not in stem}
    idents = {
        s.record.ident
        for s in ours
        if s.record.ident not in others
        and ((main_pid is not None and s.record.pid == main_pid) or (s.hit.rule in marks and marks[s.hit.rule].kind in TELLING))
    }
    if not idents and unit:
        # named after the program, as many units are; only worth a guess where several programs are heard
        alike = {i for i in heard if i in stem or stem in i}
        idents = alike if len(heard) > 1 else set()
    return Own(
        idents=frozenset(idents),
        others=frozenset(others),
        trusted=any(s.hit.frame.fields.get("trusted") and s.record.origin is Origin.SYSTEMD for s in facts.seen),
    )


class Fold:
    """Feed seen lines in merged order; ``lives`` and ``placed`` grow."""

    def __init__(
        self,
        rules: RuleSet,
        unit: str | None,
        server: str | None,
        descriptions: frozenset[str],
        first_at: Mapping[str, float | None],
        own: Own | None = None,
        runs: tuple[Run, ...] = (),
        contained: bool = False,
        tails: frozenset[str] = frozenset(),
    ) -> None:
        self._runs, self._contained = runs, contained
        self.lives = [drafted(n, run, last=n == len(runs) - 1) for n, run in enumerate(runs)]
        self.placed: list[Placed] = []
        self.restarts: int | None = None
        self.start_limit = False
        self._counted: tuple[int, str] | None = None  # the counter of restarts, until the life that it is of starts
        self._rules = rules.by_id
        # two servers say "Application startup complete." and mean two things by it: only the marks of the one that runs count
        self._marks = {m.id: m for p in rules.profiles for m in p.marks if server in (None, p.name) or not (p.launch or p.prefixes)}
        profile = rules.profile(server)
        self._bound_late = profile is not None and profile.unbound_while_loading
        self._unit, self._descriptions, self._first_at = unit, descriptions, first_at
        self._own = own or Own()
        self._tails = tails  # sources that are the last lines of a journal: nothing begins with the first of them
        self._boot = ""
        self._opened: dict[str, Draft] = {}  # by source: of logs of several servers that ran at once each goes on with its own
        self._early: list[Placed] = []  # of the machine, before anything was known of the unit

    def feed(self, seen: Seen, order: int) -> None:
        """Take one line."""
        rule, mark = self._rules.get(seen.hit.rule), self._marks.get(seen.hit.rule)
        record = seen.record
        if mark is not None and mark.kind is MarkKind.SOFTWARE:
            return  # what runs here, with or without the unit: no life begins with it
        if record.origin is Origin.SYSTEMD and not self._about_us(seen):
            return
        if mark is not None and mark.from_ is Origin.SYSTEMD and self._own.trusted and not seen.hit.frame.fields.get("trusted"):
            return  # anybody can call himself systemd; only PID 1 says how a unit fares where PID 1 is heard at all
        if record.origin is Origin.SERVER and self._own.stranger(record, self._unit):
            if rule is not None and rule.cause in MET and not record.pid and self.lives:  # of a container beside it: what it met as a client
                draft = self._current(record)
                self.placed.append(Placed(seen, rule, None, draft.index, draft.startup.phase_of(), order, draft.startup.assumed))
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
        if mark is not None and (said := seen.hit.captures.get("version")):
            draft.versions.append(f"{said}..{said}")  # its own word
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
            first = self._first_at.get(record.source)
            # of several answers in one file the first need not be the oldest
            return self._open(record, by_systemd=False, at=first if record.at is None or first is None else min(first, record.at))
        draft = self.lives[-1]
        if record.origin is Origin.SERVER and not draft.by_systemd and not record.invocation:
            draft = self._opened.get(record.source, draft)
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
            if draft.started_at is None and not (draft.by_systemd or draft.midway) and not self._own.trusted and record.source not in self._tails:
                draft.started_at = record.at  # its first lines carry no stamp
            if record.at is not None and (draft.last_at is None or record.at > draft.last_at):
                draft.last_at = record.at
        if mark is not None and mark.version:
            draft.versions.append(mark.version)

    def _about_us(self, seen: Seen) -> bool:
        named = seen.hit.captures.get("unit")
        if not self._unit:  # then no unit was picked, nor the one that is named
            mark = self._marks.get(seen.hit.rule)
            opens = mark is not None and mark.kind in (MarkKind.STARTING, MarkKind.STARTED)
            return not (named and named.endswith(NEVER_MEANT)) and not (opens and OTHER_KIND.match(seen.hit.captures.get("description") or ""))
        if named:
            return named == self._unit or named == self._unit.removesuffix(".service")
        told = seen.record.unit
        if told and told not in ("init.scope", self._unit):
            return False
        described = seen.hit.captures.get("description")
        if described and (kind := OTHER_KIND.match(described)) and kind["unit"] != self._unit:
            return False
        return not (described and self._descriptions) or described in self._descriptions

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
            after = draft.last_at is not None and record.at is not None and record.at > draft.last_at
            begun = draft.stopping or draft.startup.ready or (after and (draft.startup.far or cascaded(self.placed, draft.index)))
            later = mark.opens and not draft.opened and not draft.by_systemd and begun
            again = mark.opens and draft.opened and not (draft.by_systemd and not draft.over and record.pid in draft.pids)
            if not self._runs and (later or again or (draft.over and not draft.by_systemd)):
                draft = self._open(record, by_systemd=False, at=record.at)
            draft.opened = True
            if mark.opens:
                self._opened[record.source] = draft
            if draft.started_at is None:
                draft.started_at = record.at  # a server says so first of all
            if "args" in captures:
                draft.arguments.update(arguments(captures["args"], mark.style))
        elif mark.kind is MarkKind.SELF_KILL:
            draft.self_kill = True
        elif mark.kind is MarkKind.CHILD_EXIT:
            if (code := whole(captures.get("code"))) is not None:
                draft.child_codes.append(code)
        elif (mark.up or mark.kind is MarkKind.SERVING) and not (draft.by_systemd or draft.opened or draft.startup.told or self._runs):
            draft.midway, draft.started_at = True, None
        elif mark.kind is MarkKind.FINISHED:
            draft.finished = True
        elif mark.kind is MarkKind.STOPPING:
            draft.stopping = True
        draft.startup.started_at, draft.startup.bound_late = draft.started_at, self._bound_late
        draft.startup.feed(mark, record, captures)

    def _systemd(self, kind: MarkKind, record: Record, captures: dict[str, str]) -> None:
        if kind in (MarkKind.STARTING, MarkKind.STARTED):
            self._started(kind, record)
            return
        if kind is MarkKind.RESTART:
            self._restarted(whole(captures.get("counter")), record)
            return
        if kind is MarkKind.START_LIMIT:
            self.start_limit = True
            return
        draft = self._current(record)
        draft.end_in = draft.end_in or (record.source if kind in (MarkKind.EXITED, MarkKind.FAILED) else None)
        if kind is MarkKind.EXITED:
            if captures.get("process", "").lower() == "control" and draft.code is not None:
                return  # ExecStop and the like: the main process has said its own
            status = captures.get("status", "").partition("/")[0]
            draft.gone, draft.ended_at = True, record.at
            number = whole(status)
            if "code" in captures:
                draft.code = captures["code"]
                draft.status = number if number is not None else signal_number(captures.get("signal") or status)
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

    def _restarted(self, count: int | None, record: Record) -> None:
        self.restarts = count if count is not None else (self.restarts or 0) + 1
        self._counted = (count, record.source) if count is not None else None
        draft = self.lives[-1] if self.lives else None
        if draft is None or count is None or draft.counted is None or draft.end_in is None:
            return
        # where the counter has gone on by more than one, lives between are not in this evidence: an end that another source tells is theirs
        number, source = draft.counted
        if count > number + 1 and draft.end_in == record.source != source:
            draft.forget_end()

    def _flag(self, draft: Draft, kind: MarkKind, record: Record, captures: dict[str, str]) -> None:
        """What systemd says beside starts and ends."""
        if kind is MarkKind.KILL_SENT and not captures.get("target"):
            return  # "Killing process …" is systemd cleaning up; only "on client request" is somebody
        if kind is MarkKind.STOP_ASKED and draft.code is not None:
            return  # systemd 219 says so at an automatic restart too: the process had ended before
        if kind in FLAGS:
            setattr(draft, FLAGS[kind], True)
        if kind is MarkKind.OOM_KILL:
            draft.oom_at, draft.oomd = record.at, draft.oomd or bool(captures.get("oomd"))
        if kind is MarkKind.START_FAILED and draft.ended_at is None:
            draft.ended_at = record.at

    def _started(self, kind: MarkKind, record: Record) -> None:
        draft = self.lives[-1] if self.lives else None
        if draft is not None and not draft.over and not (record.invocation and draft.invocation and draft.invocation != record.invocation):
            if draft.by_systemd and not draft.active and kind is MarkKind.STARTED:
                draft.active, draft.active_at = True, record.at  # "Starting …" came before
                return
            since = record.at - draft.started_at if record.at is not None and draft.started_at is not None else None
            if draft.active and kind is MarkKind.STARTING and since is not None and 0 <= since <= 1 and not draft.pids:
                return  # systemd 219 writes both lines within a moment, at times the wrong way round
            if not draft.by_systemd and (draft.opened_at is None or record.at is None or 0 <= record.at - draft.opened_at <= 2):
                # its first lines can precede "Started" in the journal
                draft.by_systemd, draft.active = True, kind is MarkKind.STARTED
                draft.active_at = record.at if draft.active else None
                draft.started_at = draft.started_at if draft.started_at is not None else record.at
                return
        fresh = self._open(record, by_systemd=True, at=record.at)
        fresh.counted, self._counted = self._counted, None
        fresh.active = kind is MarkKind.STARTED
        fresh.active_at = record.at if fresh.active else None


def _after(record: Record, draft: Draft) -> bool:
    return record.origin is Origin.SERVER and record.at is not None and draft.ended_at is not None and record.at > draft.ended_at


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
    descriptions = frozenset({state.description}) if state and state.description else described_as(facts, unit)
    result = Fold(rules, unit, server, descriptions, first_at, own, runs, contained, tails)
    for order, seen in enumerate(merged(facts)):
        result.feed(seen, order)
    result.finish()
    return result


def cascaded(placed: list[Placed], life: int) -> bool:
    """Whether the life has a line that only follows from another failure."""
    return any(p.life == life and p.rule is not None and p.rule.role is Role.CASCADE for p in placed)

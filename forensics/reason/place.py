"""Finish the lives with what systemd says now, choose the life at issue, and tell the story of a unit out of them and their signals. Concludes nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from forensics.model import (
    Cause,
    End,
    EndBy,
    EndKind,
    Facts,
    Life,
    Noun,
    Origin,
    Phase,
    PhaseSpan,
    Pick,
    Role,
    Signal,
    UnitState,
)
from forensics.reason.draft import SIGNALS, Draft
from forensics.reason.ends import end_of
from forensics.reason.figures import whole
from forensics.reason.glued import glued, of_another
from forensics.reason.issue import Choice, life_at_issue
from forensics.reason.join import Around, not_found, picked
from forensics.reason.lives import Fold, Placed, another, cascaded, fold
from forensics.reason.signals import signals
from forensics.reason.startup import SET_BACK_S
from forensics.reason.timeless import facts_without_times, life_without_times, placed_without_time
from forensics.reason.writers import several
from forensics.ruleset.schema import Profile, RuleSet
from forensics.ruleset.versions import Version, beyond, version

GAVE_UP = ("start-limit-hit", "start-limit")  # how systemd says that it will not start a unit again
LAST_WORDS_S = 30.0  # between the last line of a service that is in use and the end of its boot
LAUNCH_S = 1.0


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Story(Noun):
    """Lives, signals and states together: all that known facts and the verdict are computed from."""

    facts: Facts
    rules: RuleSet
    unit: str | None
    state: UnitState | None
    profile: Profile | None
    lives: tuple[Life, ...]
    issue: Life
    signals: tuple[Signal, ...]
    placed: tuple[Placed, ...]
    restarts: int | None
    start_limit: bool
    at: float | None
    pick: Pick
    host: str | None = None
    name: str = "the service"
    why_issue: str = ""  # why it is this life, as ``issue.REASONS`` says it

    def of_issue(self, *roles: Role) -> list[Signal]:
        """Signals of the life at issue, in order, of those roles (all where none is given)."""
        return [s for s in self._of_issue if not roles or s.role in roles]

    @cached_property
    def _of_issue(self) -> tuple[Signal, ...]:
        return tuple(s for s in self.signals if s.life == self.issue.index)

    @cached_property
    def marks(self) -> tuple[Placed, ...]:
        """The lines of the life at issue that a mark of a profile is, in order."""
        return tuple(sorted((p for p in self.placed if p.life == self.issue.index and p.mark is not None), key=lambda p: p.order))

    @cached_property
    def crowded(self) -> frozenset[str]:
        """The sources in which several programs or hosts write."""
        return frozenset(source for source, tail in self.facts.tails.items() if several(tail))

    @cached_property
    def first_line(self) -> Mapping[tuple[str, str], int]:
        """Source and rule → the first line there that it took in the life at issue."""
        said = [(s.record.source, s.rule, s.record.line_no) for s in self._of_issue if s.record is not None]
        return {(source, rule): line for source, rule, line in sorted(said, key=lambda one: -one[2])}

    @cached_property
    def last_line(self) -> Mapping[tuple[str, Role], int]:
        """Source and role → the last line there of such a rule in the life at issue."""
        said = [(s.record.source, s.role, s.record.line_no) for s in self._of_issue if s.record is not None]
        return {(source, role): line for source, role, line in sorted(said, key=lambda one: one[2])}

    @cached_property
    def undecided(self) -> frozenset[tuple[str, int]]:
        """Lines that have one cause in one phase and another in another, where nobody knows the phase: source and number."""
        causes: dict[tuple[str, int], set[Cause | None]] = {}
        for s in self.signals:
            if s.role is Role.ROOT and not s.certain and s.record is not None:
                causes.setdefault((s.record.source, s.record.line_no), set()).add(s.cause)
        return frozenset(place for place, of_it in causes.items() if len(of_it) > 1)


def story_of(
    facts: Facts, rules: RuleSet, unit: str | None, *, at: float | None, pick: Pick, host: str | None = None, name: str | None = None
) -> Story:
    """Build the story of a unit out of the facts."""
    state = facts.units.get(unit) if unit else next(iter(facts.units.values()), None) if len(facts.units) == 1 else None
    read_as, told_by_library = _profile(rules, facts, state, unit)
    profile = None if told_by_library else read_as
    folded = fold(facts, rules, unit, read_as.name if read_as else None)
    if not folded.lives:
        folded.lives.append(Draft(index=0))
    unheard = state is not None and of_another(folded.lives, state, facts)
    if unheard:
        folded.lives.append(Draft(index=len(folded.lives)))  # of which its state alone tells
    half_heard = state is not None and not unheard and not folded.lives[-1].over
    spoke = _spoke(folded)
    lives = tuple(_finish(d, folded, profile, state, facts, spoke) for d in folded.lives)
    if facts.since_boot:
        facts, lives, at = facts_without_times(facts), tuple(map(life_without_times, lives)), None
        folded.placed = list(map(placed_without_time, folded.placed))
    roots = [p for p in folded.placed if p.rule is not None and p.rule.role is Role.ROOT]
    told, by_itself = (frozenset(p.life for p in of) for of in (roots, [p for p in roots if p.seen.record.origin is Origin.SERVER]))
    issue, why = life_at_issue(
        Choice(
            lives=lives, facts=facts, at=at, known_server=profile is not None, told=told, by_itself=by_itself, unheard=unheard, half_heard=half_heard
        )
    )
    found = signals(Around(facts=facts, rules=rules, lives=lives, placed=folded.placed, not_found=not_found(folded.placed, lives)))
    return Story(
        facts=facts,
        rules=rules,
        unit=unit,
        state=state,
        profile=profile,
        lives=lives,
        issue=issue,
        why_issue=why.says,
        signals=tuple(signal for _, signal in picked(found, rules)),
        placed=tuple(folded.placed),
        restarts=state.restarts if state and state.restarts is not None else folded.restarts,
        start_limit=folded.start_limit,
        at=at,
        pick=pick,
        host=host,
        name=unit or (profile.title or profile.name if profile else None) or name or "the service",
    )


def _profile(rules: RuleSet, facts: Facts, state: UnitState | None, unit: str | None) -> tuple[Profile | None, bool]:
    """Which server it is: by its command line, else by the lines that only one profile knows (all share their HTTP library's lines).

    Second, whether nothing but lines of such a library tells: they can be read as those of that server are, but any program may have written them.
    """
    line = " ".join((state.argv if state and state.argv else facts.argv) or ())
    for profile in rules.profiles:
        if line and any(re.search(x, line) for x in profile.launch):
            return profile, False
    known = {m.id: p.name for p in rules.profiles for m in p.marks if m.from_ is Origin.SERVER and (p.launch or p.prefixes)}
    known.update({f.id: p.name for p in rules.profiles for f in p.figures})
    by_line: dict[tuple[str, int], set[str]] = {}
    for seen in facts.seen:
        if seen.hit.rule in known and seen.record.origin is Origin.SERVER and not another(seen.record.unit, unit):
            by_line.setdefault((seen.record.source, seen.record.line_no), set()).add(seen.hit.rule)
    alone = [ids for ids in by_line.values() if len({known[i] for i in ids}) == 1]
    # different wordings count, not repetitions: an access line that a thousand requests wrote says one thing
    own = Counter(known[i] for i in set().union(*alone))
    shared = Counter(known[i] for i in set().union(*by_line.values()))
    named = [p.name for p in rules.profiles if p.name in own]  # in their order: a tie is the same each time
    library = {m.id for p in rules.profiles for m in p.marks if m.library}
    sure = Counter(known[i] for i in set().union(*alone) - library)
    best = max(named, key=lambda n: (sure[n], own[n], shared[n]), default=None)
    return rules.profile(best), not sure[best or ""]  # None where all that was said is said by any server of that HTTP library


def _finish(
    draft: Draft, folded: Fold, profile: Profile | None, state: UnitState | None, facts: Facts, spoke: Mapping[str, frozenset[Phase]]
) -> Life:
    last = draft.index == len(folded.lives) - 1
    placed = [p for p in folded.placed if p.life == draft.index]
    if not draft.over:
        _went_down(draft, folded.lives[draft.index + 1] if not last else None, state if last else None, facts)
    if _cut_off(draft, profile):
        draft.started_at = None  # unless a state says it
    same_process = state is not None and state.main_pid in draft.pids
    if last and state is not None:
        _complete(draft, state)
    kernel_killed = any(
        p.rule is not None and p.rule.cause is Cause.HOST_OOM and p.seen.record.origin is Origin.KERNEL and _pid(p) in draft.pids for p in placed
    )
    kind, by, signal, status = end_of(
        draft,
        self_kill_signal=profile.self_kill if profile else None,
        kernel_killed=kernel_killed,
        cascades=cascaded(placed, draft.index),
        exit_zero_is_crash=bool(profile and profile.exit_zero_is_crash),
        contained=bool(last and state and state.manager and state.sub != "auto-restart"),  # what is started again was not wished to end
    )
    alive = _alive(draft, kind, state if last else None)
    if alive:
        kind, by, signal, status = EndKind.NONE, EndBy.UNKNOWN, None, None
    elif kind is EndKind.NONE and not last:
        kind = EndKind.UNKNOWN
    ended_at = draft.ended_at if draft.ended_at is not None else draft.last_at if kind is not EndKind.NONE else None
    if last and ended_at is None and kind is not EndKind.NONE:
        ended_at = _last_at(draft, facts)
    lived = ended_at - draft.started_at if ended_at is not None and draft.started_at is not None else None
    if lived is not None and lived < -SET_BACK_S:
        lived = None  # the clock was set back while it ran: how long that was no stamp says
    started_at = draft.started_at
    if last and state is not None and not alive and glued(folded.lives, ended_at, state, facts, same_process=same_process):
        started_at = lived = None  # that start is of an earlier life
    if last and state is not None and state.duration_s is not None and not alive:
        lived = state.duration_s
        if not draft.by_systemd and ended_at is not None and state.started_at is None:
            started_at = ended_at - lived  # the log begins in the middle of the life
    line = state.argv if state and state.argv else facts.argv
    startup = draft.startup
    phase = startup.phase_of()
    if phase is None and draft.by_systemd and kind in (EndKind.EXIT, EndKind.SIGNAL) and lived is not None and lived <= LAUNCH_S:
        phase = Phase.LAUNCH  # it ended before it could do more
    phases = tuple(startup.spans)
    if alive and last and not phases and draft.by_systemd and profile is not None and profile.marks and _heard(folded):
        # systemd has started it, and of a server that is heard in this evidence no line is here yet: it imports
        phase, phases = Phase.LAUNCH, (PhaseSpan(phase=Phase.LAUNCH, started_at=started_at),)
    return Life(
        index=draft.index,
        started_at=started_at,
        active_at=draft.active_at,
        ended_at=ended_at,
        listening_at=startup.listening_at,
        ready_at=startup.ready_at,
        listening=startup.listening,
        ready=startup.ready or bool(alive and last and state is not None and state.health == "healthy"),
        served=startup.served,
        alive=alive,
        stop_asked=draft.stop_asked,
        end=End(kind=kind, by=by, signal=signal, status=status, result=None if state and state.manager else draft.result),  # systemd's word only
        lived_s=max(0.0, lived) if lived is not None else None,
        phases=_within(
            phases, lived, starting_s=max(0.0, draft.active_at - started_at) if draft.active_at is not None and started_at is not None else 0.0
        ),
        phase=phase,
        progress=startup.progress,
        behind=startup.behind(spoke),
        stepped_at=startup.stepped_at,
        last_at=draft.last_at if not last else _last_at(draft, facts) or draft.last_at,
        server=profile.name if profile else None,
        version=_version(draft.versions),
        arguments=draft.arguments or (flag_arguments(line) if last else {}),
        pids=frozenset(draft.pids),
        invocation=draft.invocation,
    )


def _cut_off(draft: Draft, profile: Profile | None) -> bool:
    """Whether its beginning lies above the evidence: nobody says when it started, and its server, which opens each life with a line of its own, has not said so here."""
    if draft.by_systemd or draft.opened or profile is None or not any(mark.opens for mark in profile.marks):
        return False
    spans = draft.startup.spans
    # an excerpt that begins where the process of its HTTP server is said to start begins with a start
    return all(span.phase is not Phase.LAUNCH for span in spans) and not (spans and spans[0].phase is Phase.BIND)


def _heard(folded: Fold) -> bool:
    """Whether the server's own lines are in the evidence at all: where its output goes elsewhere, silence says nothing."""
    return any(p.mark is not None and p.seen.record.origin is Origin.SERVER for p in folded.placed)


def _spoke(folded: Fold) -> dict[str, frozenset[Phase]]:
    """What each rank has named in any life of the unit: of a server that lets one rank speak for all, silence of the others means nothing."""
    found: dict[str, set[Phase]] = {}
    for draft in folded.lives:
        for rank, phases in draft.startup.named().items():
            found.setdefault(rank, set()).update(phases)
    return {rank: frozenset(phases) for rank, phases in found.items()}


def _went_down(draft: Draft, following: Draft | None, state: UnitState | None, facts: Facts) -> None:
    """A life without an end whose boot is over: the machine went down with it, and its last sign of life is the unit's as well.

    The next life, or systemd's state where there is none, has to be of a later boot: a journal that was cut says no more than it holds.
    """
    seen = draft.last_at if draft.last_at is not None else draft.started_at
    boot = next(
        (
            b
            for b in facts.boots
            if b.index < 0 and seen is not None and b.first_at is not None and b.last_at is not None and b.first_at - 1 <= seen <= b.last_at + 1
        ),
        None,
    )
    later = [b.first_at for b in facts.boots if boot is not None and b.index > boot.index and b.first_at is not None]
    if boot is None or not later:
        return
    if following is not None:
        over = following.started_at is not None and following.started_at >= min(later) - 1
    else:
        over = state is not None and (state.started_at is None or state.started_at < min(later)) and state.active in ("inactive", "failed")
        # nobody said how the unit is now: still, what spoke until the boot ended did not outlive it
        over = over or (state is None and seen is not None and boot.last_at is not None and boot.last_at - seen <= LAST_WORDS_S)
    if over and not draft.stop_asked:
        draft.rebooted, draft.ended_at = True, boot.last_at


def _complete(draft: Draft, state: UnitState) -> None:
    """Fill what no journal line said from ``show`` and ``status``, which speak of the last life."""
    if state.started_at is not None and (draft.started_at is None or (not draft.by_systemd and state.started_at < draft.started_at)):
        draft.started_at = state.started_at  # the last lines below a status begin in the middle of the life
    if state.main_pid:
        draft.pids.add(state.main_pid)
    if state.active in ("failed", "inactive") or state.sub == "auto-restart":
        if draft.code is None and state.main_code:
            draft.code, draft.status = state.main_code, state.main_status
            if draft.status is None and state.signal:
                draft.status = next((n for n, s in SIGNALS.items() if s == state.signal), None)
        if draft.result is None and state.result not in (None, "success"):
            draft.result = state.result
        if state.exited_at is not None and draft.ended_at is None:
            draft.ended_at = state.exited_at
        if draft.ended_at is None and state.active == "failed" and state.since is not None:
            draft.ended_at = state.since
        if draft.started_at is None and draft.ended_at is not None and state.duration_s is not None:
            draft.started_at = draft.ended_at - state.duration_s
        if (
            state.active == "inactive"
            and state.load not in ("not-found", None)
            and state.result in (None, "success")
            and draft.startup.spans
            and not draft.over
        ):
            draft.deactivated = True
    elif state.active == "active":
        draft.started_at = state.since if draft.started_at is None else draft.started_at
        draft.active_at = state.since if draft.active_at is None else draft.active_at


def _within(phases: tuple[PhaseSpan, ...], lived_s: float | None, *, starting_s: float) -> tuple[PhaseSpan, ...]:
    """The phases without seconds that the whole life did not last: a clock was set between two of its lines. ``starting_s``: before systemd called it active."""
    if lived_s is None:
        return phases
    return tuple(replace(s, took_s=None) if s.took_s is not None and s.took_s > lived_s + starting_s + SET_BACK_S else s for s in phases)


def _alive(draft: Draft, kind: EndKind, state: UnitState | None) -> bool | None:
    if state is not None and state.sub != "auto-restart":
        if state.active in ("active", "reloading", "activating") and not draft.over:
            return True
        if state.active in ("failed", "inactive"):
            return False
    return False if kind is not EndKind.NONE else None


def _last_at(draft: Draft, facts: Facts) -> float | None:
    """The last stamp of the sources that a life is in: its last word."""
    found = [r.at for s in draft.sources if (tail := facts.tails.get(s)) for r in tail.last if r.at is not None and r.origin is Origin.SERVER]
    return max(found, default=None)


def _version(wordings: list[str]) -> str | None:
    """Intersect the version ranges of the wordings seen: ``0.5.4..0.5.9`` and ``0.5.6..`` give ``0.5.6…0.5.9``. What the server itself says counts alone."""
    said = {start for start, _, stop in (w.partition("..") for w in wordings) if start == stop}
    if len(said) == 1:
        return said.pop()
    low: tuple[Version, str] | None = None
    high: tuple[Version, str] | None = None
    for wording in wordings:
        start, _, stop = wording.partition("..")
        first, last = version(start), version(stop)
        if first is not None and (low is None or first.key > low[0].key):
            low = (first, start)
        if last is not None and (high is None or last.key < high[0].key):
            high = (last, stop)
    if low is None and high is None:
        return None
    if low and high and beyond(low[1], high[1]):
        return None  # a fork, or lines of two versions
    return f"{low[1] if low else ''}…{high[1] if high else ''}"


def flag_arguments(argv: tuple[str, ...]) -> dict[str, str]:
    """``--mem-fraction-static 0.88 --tp=8`` as ``{'mem_fraction_static': '0.88', 'tp': '8'}``; a bare flag is ``true``."""
    found: dict[str, str] = {}
    for index, word in enumerate(argv):
        if not word.startswith("--"):
            continue
        name, equals, value = word[2:].partition("=")
        following = argv[index + 1] if index + 1 < len(argv) else ""
        found[name.replace("-", "_")] = value if equals else following if following and not following.startswith("-") else "true"
    return found


def _pid(placed: Placed) -> int | None:
    return whole(placed.seen.hit.captures.get("pid"))

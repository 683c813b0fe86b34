"""Finish the lives with what systemd says now, choose the life at issue, and place every hit in its life and phase. Concludes nothing."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from forensics.model import (
    Cause,
    End,
    EndBy,
    EndKind,
    Evidence,
    Facts,
    Life,
    Origin,
    Phase,
    Pick,
    Record,
    Role,
    Signal,
    UnitState,
)
from forensics.reason.figures import whole
from forensics.reason.lives import SIGNALS, Draft, Fold, Placed, cascaded, end_of, fold
from forensics.reason.timeless import facts_without_times, life_without_times, placed_without_time
from forensics.ruleset.schema import Profile, Rule, RuleSet

GAVE_UP = ("start-limit-hit", "start-limit")  # how systemd says that it will not start a unit again
STAYED_S = 60.0
LAST_WORDS_S = 30.0  # between the last line of a service that is in use and the end of its boot
SHORT_S = 300.0
KEPT_TEXT = 2000  # characters of a cited line


@dataclass(frozen=True, kw_only=True)
class Story:
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

    def of_issue(self, *roles: Role) -> list[Signal]:
        """Signals of the life at issue, in order, of those roles (all where none is given)."""
        return [s for s in self.signals if s.life == self.issue.index and (not roles or s.role in roles)]


def story_of(
    facts: Facts, rules: RuleSet, unit: str | None, *, at: float | None, pick: Pick, host: str | None = None, name: str | None = None
) -> Story:
    """Build the story of a unit out of the facts."""
    state = facts.units.get(unit) if unit else next(iter(facts.units.values()), None) if len(facts.units) == 1 else None
    profile = _profile(rules, facts, state)
    folded = fold(facts, rules, unit, profile.name if profile else None)
    if not folded.lives:
        folded.lives.append(Draft(index=0))
    lives = tuple(_finish(d, folded, profile, state, facts) for d in folded.lives)
    if facts.since_boot:
        facts, lives, at = facts_without_times(facts), tuple(map(life_without_times, lives)), None
        folded.placed = list(map(placed_without_time, folded.placed))
    issue = life_at_issue(lives, facts, at=at, known_server=profile is not None)
    quoted = _quoted(folded.placed)
    heard = any(s.record.origin is Origin.SYSTEMD for s in facts.seen)
    signals = tuple(s for p in folded.placed if (s := _signal(p, lives, systemd_heard=heard)) is not None and not _only_quoted(s, quoted))
    return Story(
        facts=facts,
        rules=rules,
        unit=unit,
        state=state,
        profile=profile,
        lives=lives,
        issue=issue,
        signals=signals,
        placed=tuple(folded.placed),
        restarts=state.restarts if state and state.restarts is not None else folded.restarts,
        start_limit=folded.start_limit,
        at=at,
        pick=pick,
        host=host,
        name=unit or (profile.title or profile.name if profile else None) or name or "the service",
    )


def _profile(rules: RuleSet, facts: Facts, state: UnitState | None) -> Profile | None:
    """Which server it is: by its command line, else by the lines that only one profile knows (all share their HTTP library's lines)."""
    line = " ".join((state.argv if state and state.argv else facts.argv) or ())
    for profile in rules.profiles:
        if line and any(re.search(x, line) for x in profile.launch):
            return profile
    known = {m.id: p.name for p in rules.profiles for m in p.marks if m.from_ is Origin.SERVER and (p.launch or p.prefixes)}
    known.update({f.id: p.name for p in rules.profiles if p.memory for f in p.memory.figures})
    by_line: dict[tuple[str, int], set[str]] = {}
    for seen in facts.seen:
        if seen.hit.rule in known and seen.record.origin is Origin.SERVER:
            by_line.setdefault((seen.record.source, seen.record.line_no), set()).add(seen.hit.rule)
    alone = [ids for ids in by_line.values() if len({known[i] for i in ids}) == 1]
    # different wordings count, not repetitions: an access line that a thousand requests wrote says one thing
    own = Counter(known[i] for i in set().union(*alone))
    shared = Counter(known[i] for i in set().union(*by_line.values()))
    named = [p.name for p in rules.profiles if p.name in own]  # in their order: a tie is the same each time
    best = max(named, key=lambda n: (own[n], shared[n]), default=None)
    return rules.profile(best)  # None where all that was said is said by any server of that HTTP library


def _finish(draft: Draft, folded: Fold, profile: Profile | None, state: UnitState | None, facts: Facts) -> Life:
    last = draft.index == len(folded.lives) - 1
    placed = [p for p in folded.placed if p.life == draft.index]
    if not draft.over:
        _went_down(draft, folded.lives[draft.index + 1] if not last else None, state if last else None, facts)
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
    started_at = draft.started_at
    if last and state is not None and state.duration_s is not None and not alive:
        lived = state.duration_s
        if not draft.by_systemd and ended_at is not None and state.started_at is None:
            started_at = ended_at - lived  # the log begins in the middle of the life
    line = state.argv if state and state.argv else facts.argv
    startup = draft.startup
    phase = startup.phase_of()
    return Life(
        index=draft.index,
        started_at=started_at,
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
        phases=tuple(startup.spans),
        phase=phase,
        progress=startup.progress,
        last_at=draft.last_at if not last else _last_at(draft, facts) or draft.last_at,
        server=profile.name if profile else None,
        version=_version(draft.versions),
        arguments=draft.arguments or (flag_arguments(line) if last else {}),
        pids=frozenset(draft.pids),
        invocation=draft.invocation,
    )


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
    elif state.active == "active" and draft.started_at is None:
        draft.started_at = state.since


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
    """Intersect the version ranges of the wordings seen: ``0.5.4..0.5.9`` and ``0.5.6..`` give ``0.5.6…0.5.9``."""
    low: tuple[tuple[int, ...], str] | None = None
    high: tuple[tuple[int, ...], str] | None = None
    for wording in wordings:
        start, _, stop = wording.partition("..")
        if start and (low is None or _key(start) > low[0]):
            low = (_key(start), start)
        if stop and (high is None or _key(stop) < high[0]):
            high = (_key(stop), stop)
    if low is None and high is None:
        return None
    if low and high and low[0] > high[0]:
        return None  # a fork, or lines of two versions
    return f"{low[1] if low else ''}…{high[1] if high else ''}"


def _key(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d{1,9}", version))


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


def failed(life: Life) -> bool:
    """Whether a life ended in a way nobody asked for."""
    if life.end.kind in (EndKind.NONE, EndKind.STOPPED) or life.stop_asked:
        return False
    return not (life.end.kind is EndKind.EXIT and life.end.status == 0 and not life.served)


def error_times(facts: Facts) -> list[float]:
    """When the client's requests failed; the window of the whole run where single rows have no time."""
    times = [r.at for b in facts.benches for r in b.rows if r.kind not in ("", "ok") and r.at is not None]
    return times or [t for b in facts.benches if b.errors for t in (b.first_at, b.last_at) if t is not None]


def life_at_issue(lives: tuple[Life, ...], facts: Facts, *, at: float | None, known_server: bool) -> Life:
    """The life that the client met; else the last one that failed, unless a later one became ready and stayed; else the last.

    Of a service that this program does not know, running on for a while is all that can be seen of readiness.
    """
    met = error_times(facts)
    if met:
        first = min(met)
        held = [x for x in lives if x.started_at is not None and x.started_at <= first and (x.ended_at is None or first <= x.ended_at)]
        if held:
            return held[-1]
        before = [x for x in lives if x.started_at is not None and x.started_at <= first]
        if before:
            return before[-1]
    last = lives[-1]
    if last.alive and not known_server and at is not None and last.started_at is not None and at - last.started_at >= STAYED_S:
        return last
    for life in reversed(lives):
        if failed(life) or (life.ready and life.end.kind is EndKind.NONE and stayed(life, lives, at=at)):
            return life
    return lives[-1]


def stayed(life: Life, lives: tuple[Life, ...], *, at: float | None = None) -> bool:
    """A life that has just become ready after short failed ones has not shown yet that it stays. ``at`` is when it was seen alive: a quiet server logs nothing."""
    before = lives[life.index - 1] if life.index else None
    if before is None or not failed(before) or before.lived_s is None or before.lived_s > SHORT_S:
        return True
    since = life.ready_at if life.ready_at is not None else life.started_at
    seen_at = max((t for t in (life.last_at, at if life.alive else None) if t is not None), default=None)
    return since is None or seen_at is None or seen_at - since >= STAYED_S


def _pid(placed: Placed) -> int | None:
    return whole(placed.seen.hit.captures.get("pid"))


def evidence(record: Record, rule: str | None = None, role: Role | None = None) -> Evidence:
    """Cite a record."""
    return Evidence(source=record.source, line=record.line_no, text=record.text[:KEPT_TEXT], at=record.at, rule=rule, role=role)


def _signal(placed: Placed, lives: tuple[Life, ...], *, systemd_heard: bool) -> Signal | None:
    rule = placed.rule
    if rule is None:
        return None
    life = lives[placed.life]
    record = placed.seen.record
    if rule.server and life.server is not None and life.server not in rule.server:
        return None
    phase = placed.phase
    certain = True
    if rule.only_in:
        if phase is None:
            certain = False
        elif not _fits(phase, rule):
            return None
    if rule.where and not _where(rule, placed, life, systemd_heard=systemd_heard):
        return None
    return Signal(
        rule=rule.id,
        role=rule.role,
        cause=rule.cause,
        life=life.index,
        rank=record.rank or None,
        phase=rule.phase if rule.phase is not None and (phase is None or placed.assumed) else phase,
        at=record.at,
        record=record,
        lines=(evidence(record, rule.id, rule.role),),
        captures=placed.seen.hit.captures,
        certain=certain,
        order=placed.order,
    )


def _quoted(placed: list[Placed]) -> dict[tuple[str, int], set[str]]:
    """Lines that a harmless rule claims as a whole, with the causes that no word in them may speak for."""
    found: dict[tuple[str, int], set[str]] = {}
    for p in placed:
        if p.rule is not None and p.rule.role is Role.BENIGN and p.rule.over:
            found.setdefault((p.seen.record.source, p.seen.record.line_no), set()).update(p.rule.over)
    return found


def _only_quoted(signal: Signal, quoted: dict[tuple[str, int], set[str]]) -> bool:
    record = signal.record
    return record is not None and signal.cause is not None and str(signal.cause) in quoted.get((record.source, record.line_no), ())


def _fits(phase: Phase, rule: Rule) -> bool:
    if phase in rule.only_in:
        return True
    # a server that says it is ready serves from then on, whether or not a request has shown it
    return phase in (Phase.READY, Phase.SERVING) and bool({Phase.READY, Phase.SERVING} & set(rule.only_in))


def _where(rule: Rule, placed: Placed, life: Life, *, systemd_heard: bool) -> bool:
    """``where`` joins a line with facts of its own life; unknown passes, only a contradiction blocks."""
    from forensics.ruleset import condition

    captures = placed.seen.hit.captures

    def lookup(name: str) -> object | None:
        if name.startswith("hit."):
            value = captures.get(name[4:])
            number = whole(value)
            return value if number is None else number
        if name == "life.pids":
            return set(life.pids) or None
        facts = {
            "life.ready": life.ready or None,
            "life.alive": life.alive,
            "life.served": life.served or None,
            "evidence.systemd_lines": int(systemd_heard),
        }
        return facts.get(name)

    assert rule.where is not None
    return condition.parse(rule.where).evaluate(lookup) is not False

"""The pipeline, one line a stage: target, capture, frames, hits, facts, diagnosis. Judges nothing itself."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from forensics import clock, units
from forensics.errors import TargetError
from forensics.model import Capture, Cause, Coverage, Diagnosis, Facts, Health, MarkKind, PartKind, Pick, Section, Status, TargetKind, UnitState

if TYPE_CHECKING:
    from forensics.collect.session import Limits, Session
    from forensics.ruleset.schema import Endpoint, Profile, RuleSet

MOST_UNITS = 4  # short results, where several units are worth a look and none was named
Progress = Callable[[str], None]


def diagnose(
    target_words: Sequence[str] | str,
    *,
    unit: str | None = None,
    since: str | float | None = None,
    bench: Sequence[Path | str] = (),
    bench_window: tuple[float, float] | None = None,
    save: Path | None = None,
    ssh_config: Path | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> list[Diagnosis]:
    """Look at targets and say what is wrong: one Diagnosis each (several for a host where several units could be meant).

    ``since`` is epoch seconds or what a person types ("-2h"). ``bench_window`` says when (first and last error, epoch seconds of this machine) the
    output in ``bench`` was written, where its lines have no times of their own. Raises TargetError where nothing could be seen at all.
    """
    from forensics import collect, ruleset

    say = progress or (lambda text: None)
    rules = ruleset.load()
    words = [target_words] if isinstance(target_words, str) else list(target_words)
    after = clock.parse_typed(since, now=time.time()) if isinstance(since, str) else since
    targets = collect.parse_targets(words)
    found: list[Diagnosis] = []
    for target in targets:
        say(f"{target.name}: connecting" if target.kind is TargetKind.SSH else f"{target.name}: reading")
        try:
            with collect.open_target(target, since=after, limits=limits or collect.Limits(), ssh_config=ssh_config) as session:
                captures = [with_bench(c, bench, window=bench_window) for c in look(session, rules, unit=unit, since=after, progress=say)]
                if save is not None:
                    collect.bundle.save(captures[0], save if len(targets) == 1 else save / re.sub(r"[^\w.@-]+", "_", target.name))
                say(f"{target.name}: reasoning")
                found.extend(diagnose_capture(c, rules, unit=unit) for c in captures)
                session.discard()
        except TargetError as error:
            if len(targets) == 1:
                raise
            found.append(unseen(target.name, error))  # the others are still worth their answers
    return found


def unseen(name: str, error: TargetError) -> Diagnosis:
    """The answer for a target, one of several, that could not be looked at."""
    return Diagnosis(target=name, headline=str(error), health=Health.UNKNOWN, cause=Cause.EVIDENCE_MISSING, status=Status.ESTABLISHED)


def look(session: Session, rules: RuleSet, *, unit: str | None, since: float | None, progress: Progress) -> list[Capture]:
    """Ask a target in two rounds over one connection; several captures where several units could be meant."""
    from forensics import collect
    from forensics.collect import plan

    if session.saved is not None:
        return [session.saved]
    if not session.live:
        return [collect.capture_from(session, session.ask(()))]
    progress(f"{session.target.name}: units")
    first, pick, states = overview(session, rules, unit=unit)
    chosen = [pick.unit] if pick.unit else list(pick.candidates[:MOST_UNITS]) if pick.how == "none" else []
    captures = []
    wanted: list[str | None] = [*chosen] or [None]
    for name in wanted:
        progress(f"{session.target.name}: {name or 'the host'}")
        ports, endpoints = probes(rules, states.get(name) if name else None)
        rest = session.ask(plan.unit(name, ports=ports, endpoints=endpoints, since=since))
        one = pick if len(chosen) <= 1 else replace(pick, unit=name, how="several", why=pick.why)
        captures.append(collect.capture_from(session, [*first, *rest], pick=one))
    return captures


def overview(session: Session, rules: RuleSet, *, unit: str | None) -> tuple[list[Section], Pick, Mapping[str, UnitState]]:
    """The first round: which unit is meant, and what all of them are doing."""
    from forensics import parse
    from forensics.collect import plan

    asked = units.full_name(unit) if unit else None
    first = session.ask(plan.overview(asked))
    names, states = parse.unit_overview(first)
    return first, units.resolve(asked, names, states, [p for profile in rules.profiles for p in profile.launch]), states


def probes(rules: RuleSet, state: UnitState | None) -> tuple[list[int], list[Endpoint]]:
    """Ports and paths to ask from inside the host, by the profile that the unit's command line fits."""
    line = " ".join(state.argv) if state else ""
    profile = next((p for p in rules.profiles if line and any(re.search(x, line) for x in p.launch)), None)
    if profile is None:
        return [], []
    port = _port(line, profile)
    return ([port] if port else []), list(profile.endpoints)


def _port(line: str, profile: Profile) -> int | None:
    if profile.port_flag:
        found = re.search(re.escape(profile.port_flag) + r"[= ](\d{1,5})\b", line)
        if found:
            return int(found[1])
    return profile.port


def with_bench(capture: Capture, bench: Sequence[Path | str], *, window: tuple[float, float] | None = None) -> Capture:
    """The capture with a client's or benchmark's output beside it; ``window`` is in our clock and kept in the host's."""
    if window is not None and capture.offset_s is not None:
        window = (window[0] + capture.offset_s, window[1] + capture.offset_s)
    extra = []
    for index, name in enumerate(bench):
        path = Path(name)
        part = None if path.suffix == ".json" else PartKind.CLIENT
        extra.append(Section(name="bench" if index == 0 else f"bench-{index + 1}", argv=str(path), path=path, coverage=Coverage.GIVEN, part=part))
    return replace(capture, sections=(*capture.sections, *extra), bench_window=window) if extra else capture


def diagnose_capture(capture: Capture, rules: RuleSet, *, unit: str | None = None) -> Diagnosis:
    """Frames, hits, facts, diagnosis: the same for a live host and for saved files."""
    from forensics import reason

    facts, capture = facts_of(capture, rules, unit=unit)
    return reason.diagnose(facts, rules, capture)


def facts_of(capture: Capture, rules: RuleSet, *, unit: str | None = None) -> tuple[Facts, Capture]:
    """The facts of a capture in one pass over its text, and the capture with its unit picked (saved files: out of the evidence itself)."""
    from forensics import parse, ruleset

    capture = parse.prepared(capture)
    blocks, tails = parse.watch(parse.frames(capture, rules.prefixes))
    scanned = ruleset.scan(blocks, rules)
    facts = _dated(parse.facts(capture, scanned, tails=tails, about=units.full_name(unit) if unit else None), capture)
    if capture.pick.unit is None and capture.target.kind is TargetKind.FILES:
        capture = replace(capture, pick=_pick_from_evidence(facts, rules, unit))
    return facts, capture


def _dated(facts: Facts, capture: Capture) -> Facts:
    """Client runs without times of their own get the window in which their output came."""
    if capture.bench_window is None:
        return facts
    first, last = capture.bench_window
    return replace(facts, benches=tuple(replace(b, first_at=first, last_at=last) if b.first_at is None else b for b in facts.benches))


def _pick_from_evidence(facts: Facts, rules: RuleSet, unit: str | None) -> Pick:
    """Which unit files are about: the one asked for, if the evidence knows it or a near name; else the one it speaks of most."""
    asked = units.full_name(unit) if unit else None
    if asked is not None:
        state = facts.units.get(asked)
        if state is not None and state.load == "not-found":
            meant, distance, close = units.near(asked, [n for n in facts.unit_names if n != asked])
            if meant is not None:
                return Pick(asked=asked, unit=meant, how="mistyped", distance=distance, why=units.difference(asked, meant, distance))
            return Pick(asked=asked, unit=asked, how="asked", candidates=close)
        if asked not in facts.unit_names and facts.unit_names:
            meant, distance, _ = units.near(asked, facts.unit_names)
            if meant is not None:
                return Pick(asked=asked, unit=meant, how="mistyped", distance=distance, why=units.difference(asked, meant, distance))
            if any(name in facts.units for name in facts.unit_names):
                why = f"the evidence says nothing of {asked}; it speaks of {', '.join(facts.unit_names[:3])}"
                return Pick(asked=asked, unit=asked, how="missing", why=why, candidates=facts.unit_names)
        return Pick(asked=asked, unit=asked, how="asked")
    votes: dict[str, int] = {}
    ends = {
        m.id
        for p in rules.profiles
        for m in p.marks
        if m.kind in (MarkKind.EXITED, MarkKind.FAILED, MarkKind.RESTART, MarkKind.START_LIMIT, MarkKind.OOM_KILL)
    }
    for seen in facts.seen:
        named = seen.hit.captures.get("unit") or (seen.record.unit if seen.record.unit != "init.scope" else "")
        if named and named.endswith((".service", ".scope")):
            # timers run all day; what failed is what somebody asks about
            votes[named] = votes.get(named, 0) + (100 if seen.hit.rule in ends else 1)
    for name in filter(None, facts.units):
        votes[name] = votes.get(name, 0) + 100_000
    if not votes:
        typed = {a.unit for a in facts.asked if a.unit is not None}
        if not facts.unit_names and len(typed) == 1:
            return Pick(unit=typed.pop(), how="evidence", why="the only unit that was asked about")
        return Pick(unit=facts.unit_names[0], how="evidence", why="the only unit named in the evidence") if len(facts.unit_names) == 1 else Pick()
    best = max(votes, key=lambda n: votes[n])
    others = tuple(n for n in votes if n != best)
    return Pick(unit=best, how="evidence", why="the unit that the evidence speaks of", candidates=others)


ORDER = (3, 5, 1, 4, 0)


def exit_code(diagnoses: Sequence[Diagnosis]) -> int:
    """The code of the worst, in the order 3, 5, 1, 4, 0."""
    codes = {code_of(d) for d in diagnoses}
    return next((code for code in ORDER if code in codes), 3)


def code_of(diagnosis: Diagnosis) -> int:
    """What one diagnosis means for a shell, by the table of the manual."""
    cause = diagnosis.cause
    if cause is Cause.EVIDENCE_MISSING:
        return 3
    if cause is Cause.UNKNOWN:
        return 5 if diagnosis.health is not Health.UNKNOWN or diagnosis.evidence else 3
    if cause is Cause.STARTUP_RACE and diagnosis.health in (Health.STARTING, Health.UNKNOWN) and diagnosis.ready_at is None:
        return 4
    if cause in (Cause.HEALTHY, Cause.OPERATOR_STOP):
        return 4 if cause is Cause.HEALTHY and diagnosis.health is Health.STARTING else 0
    return 1

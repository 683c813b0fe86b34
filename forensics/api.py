"""The pipeline, one line a stage: target, capture, frames, hits, facts, diagnosis. Judges nothing itself."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from forensics import clock, units
from forensics.errors import TargetError, UsageError
from forensics.model import (
    Capture,
    Cause,
    Coverage,
    Diagnosis,
    Facts,
    Health,
    MarkKind,
    PartKind,
    Pick,
    Section,
    Status,
    Target,
    TargetKind,
    UnitState,
)
from forensics.redact.redactor import Redaction, Redactor, mask_for

if TYPE_CHECKING:
    from forensics.collect.packing import Bundle
    from forensics.collect.process import Start
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
    redaction: Redaction | str | None = None,
    ssh_config: Path | None = None,
    sudo: bool = False,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> list[Diagnosis]:
    """Look at targets, several hosts at the same time, and say what is wrong: one Diagnosis each, in their order (several for a host where several
    units could be meant).

    ``since`` is epoch seconds or what a person types ("-2h"). ``bench_window`` says when (first and last error, epoch seconds of this machine) the
    output in ``bench`` was written, where its lines have no times of their own. ``sudo``: see ``collect.open_target``. Raises TargetError where
    nothing could be seen at all.

    ``redaction`` is for what leaves the program. None: names are taken out of what is saved, and stay in the diagnoses; ``all``: out of both; else they stay in
    both. Secrets in a diagnosis are left to whoever writes it (``report`` masks them unless told otherwise).
    """
    from forensics import collect, ruleset

    say = progress or (lambda text: None)
    redaction = Redaction(redaction) if redaction else None
    words = [target_words] if isinstance(target_words, str) else list(target_words)
    after = clock.parse_typed(since, now=time.time()) if isinstance(since, str) else since
    targets = collect.parse_targets(words)
    loading = cache(ruleset.load)
    redactor, turn = Redactor(), threading.Lock()  # one for all: what is host-1 in one answer is so in the next
    if save is not None:
        check_place(save, several=len(targets) > 1)

    def one(target: Target, run: Start) -> list[Diagnosis]:
        say(f"{target.name}: connecting" if target.kind is TargetKind.SSH else f"{target.name}: reading")
        with collect.open_target(target, since=after, limits=limits, run=run, ssh_config=ssh_config, sudo=sudo, progress=say) as session:
            rules = loading()  # while the connection is made
            captures = [with_bench(c, bench, window=bench_window) for c in look(session, rules, unit=unit, since=after, progress=say)]
            if redaction is Redaction.ALL or (save is not None and redaction is None):
                say(f"{target.name}: gathering names")
                with turn:
                    for capture in captures:
                        redactor.learn(capture)
            if save is not None:
                with turn:
                    where = save if len(targets) == 1 else save / re.sub(r"[^\w.@-]+", "_", redactor.name(target.name))
                    collect.packing.write(captures, where, mask=mask_for(redaction or Redaction.ALL, redactor))
            say(f"{target.name}: reasoning")
            found = [diagnose_capture(c, rules, unit=unit) for c in captures]
            session.discard()
        return found

    found: list[Diagnosis] = []
    if len(targets) == 1:
        found = one(targets[0], collect.start_process)
    else:
        loading()  # once, before there are threads
        for target, got in zip(targets, collect.side_by_side(targets, one), strict=True):
            if isinstance(got, TargetError):  # said; the others are still worth their answers
                redactor.learn_target(target)
            found += [unseen(target.name, got)] if isinstance(got, TargetError) else got
    return [without_names(d, redactor) for d in found] if redaction is Redaction.ALL else found


def collect_bundle(
    target_words: Sequence[str] | str,
    output: Path | BinaryIO | None = None,
    *,
    unit: str | None = None,
    since: str | float | None = None,
    bench: Sequence[Path | str] = (),
    redaction: Redaction | str = Redaction.ALL,
    force: bool = False,
    ssh_config: Path | None = None,
    sudo: bool = False,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> list[Bundle]:
    """Ask targets all that ``diagnose`` would, and keep the answers instead of reading them: one bundle a target.

    ``output`` is a folder, a file by its suffix (``.tar.zst``, ``.tar.gz``, ``.tar.xz``, ``.tar``), a binary stream (gets ``.tar.zst``), or None: a name made of host,
    unit and time, in the current directory. Of several targets it is the folder for their bundles, and one that cannot be looked at is an entry with an ``error``.
    ``redaction``: what is taken out of it, secrets and names where nothing is said. Raises UsageError where something is there already, unless ``force``; TargetError where nothing could be had.
    """
    from forensics import collect, ruleset

    say = progress or (lambda text: None)
    after = clock.parse_typed(since, now=time.time()) if isinstance(since, str) else since
    targets = collect.parse_targets([target_words] if isinstance(target_words, str) else list(target_words))
    several, wanted = len(targets) > 1, Redaction(redaction)
    if isinstance(output, Path):
        check_place(output, several=several, force=force)
    elif output is not None and several:
        raise UsageError("several targets cannot go to one stream", hint="-o FOLDER keeps a bundle of each")
    loading = cache(ruleset.load)

    def one(target: Target, run: Start) -> Bundle:
        say(f"{target.name}: connecting" if target.kind is TargetKind.SSH else f"{target.name}: reading")
        with collect.open_target(target, since=after, limits=limits, run=run, ssh_config=ssh_config, sudo=sudo, progress=say) as session:
            captures = [with_bench(c, bench) for c in look(session, loading(), unit=unit, since=after, progress=say)]
            say(f"{target.name}: saving")
            mask = mask_for(wanted, Redactor.for_capture(*captures) if wanted is Redaction.ALL else Redactor())
            made = collect.packing.keep(captures, target.name, output, several=several, mask=mask, force=force)
            session.discard()
        return made

    if not several:
        return [one(targets[0], collect.start_process)]
    loading()
    answers = collect.side_by_side(targets, one)
    return [collect.Bundle(target=t.name, error=str(got)) if isinstance(got, TargetError) else got for t, got in zip(targets, answers, strict=True)]


def check_place(where: Path, *, several: bool, force: bool = False) -> None:
    """Raise UsageError where what is to be collected could not be saved."""
    from forensics import collect
    from forensics.collect import archive

    if not several:
        collect.packing.check(where, force=force)
    elif archive.suffix_of(where) or (where.exists() and not where.is_dir()):
        raise UsageError("several targets cannot go to one file", at=str(where), hint="name a folder: each gets a bundle in it")


def without_names(diagnosis: Diagnosis, redactor: Redactor) -> Diagnosis:
    """The diagnosis as it may be shown to anybody: users, hosts and addresses are called what they are called in the bundle."""
    from forensics.report import cite

    target, host = redactor.name(diagnosis.target), redactor.name(diagnosis.host) if diagnosis.host else diagnosis.host
    return replace(cite.washed(diagnosis, redactor.text), target=target, host=host)


def unseen(name: str, error: TargetError) -> Diagnosis:
    """The answer for a target, one of several, that could not be looked at."""
    return Diagnosis(target=name, headline=str(error), health=Health.UNKNOWN, cause=Cause.EVIDENCE_MISSING, status=Status.ESTABLISHED)


def script_of(*, unit: str | None = None, since: str | float | None = None, sudo: bool = False) -> str:
    """What a host would be sent, in all its rounds: nothing else ever runs there."""
    from forensics import ruleset
    from forensics.collect.shown import shown

    after = clock.parse_typed(since, now=time.time()) if isinstance(since, str) else since
    profiles = ruleset.load().profiles
    endpoints = {(e.path, e.limit_s): e for p in profiles for e in p.endpoints}
    ports = sorted({p.port for p in profiles if p.port})
    return shown(unit, ports=ports, endpoints=tuple(endpoints.values()), since=after, sudo=sudo)


def look(session: Session, rules: RuleSet, *, unit: str | None, since: float | None, progress: Progress) -> list[Capture]:
    """Ask a target in two rounds over one connection; several captures where several units could be meant."""
    from forensics import collect
    from forensics.collect import plan

    if isinstance(session, collect.SavedSession):
        return list(session.captures)
    if not session.live:
        asked = units.full_name(unit) if unit else None  # kept with what is saved; which unit that is, the evidence tells
        return [collect.capture_from(session, session.ask(()), pick=Pick(asked=asked))]
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
    if capture.pick.unit is None and capture.target.kind not in (TargetKind.SSH, TargetKind.LOCAL, TargetKind.BUNDLE):
        capture = replace(capture, pick=_pick_from_evidence(facts, rules, unit or capture.pick.asked))
    return facts, capture


def _dated(facts: Facts, capture: Capture) -> Facts:
    """Client runs without times of their own get the window in which their output came."""
    if capture.bench_window is None:
        return facts
    first, last = capture.bench_window
    return replace(facts, benches=tuple(replace(b, first_at=first, last_at=last) if b.first_at is None else b for b in facts.benches))


def _pick_from_evidence(facts: Facts, rules: RuleSet, unit: str | None) -> Pick:
    """Which unit files are about: the one asked for, if the evidence knows it or a near name; else the one it speaks of most."""
    asked = (unit if unit in facts.units else units.full_name(unit)) if unit else None
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

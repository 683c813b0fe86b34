"""The pipeline, one line a stage: target, capture, frames, hits, facts, diagnosis. Judges nothing itself."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from forensics import clock, units
from forensics.errors import TargetError, UsageError
from forensics.model import (
    BenchRun,
    Capture,
    Cause,
    Coverage,
    Diagnosis,
    Facts,
    Frame,
    Health,
    Origin,
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
    bench_fields: str | None = None,
    bench_window: tuple[float, float] | None = None,
    save: Path | None = None,
    redaction: Redaction | str | None = None,
    rules: RuleSet | None = None,
    ssh_config: Path | None = None,
    sudo: bool = False,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> list[Diagnosis]:
    """Look at targets, several hosts at the same time, and say what is wrong: one Diagnosis each, in their order (several for a host where several
    units could be meant). No target, and a ``bench``: that is looked at alone.

    ``since`` is epoch seconds or what a person types ("-2h"). ``bench_window`` says when (first and last error, epoch seconds of this machine) the
    output in ``bench`` was written, where its lines have no times of their own; ``bench_fields`` ("my_len=accept_len,…") what names of an own harness mean. ``sudo``: see ``collect.open_target``. ``rules``: those of
    ``load_rules(…)``; the shipped ones where nothing is said. Raises TargetError where nothing could be seen at all.

    ``redaction`` is for what leaves the program. None: names are taken out of what is saved, and stay in the diagnoses; ``all``: out of both; else they stay in
    both. Secrets in a diagnosis are left to whoever writes it (``report`` masks them unless told otherwise).
    """
    from forensics import collect, ruleset

    say = progress or (lambda text: None)
    redaction = Redaction(redaction) if redaction else None
    words = [target_words] if isinstance(target_words, str) else list(target_words)
    after = since_when(since)
    if bench and not words:
        targets, bench = [collect.target_of_files(bench)], ()
    else:
        targets = collect.parse_targets(words)
    loading = cache(lambda: ruleset.shipped_rules() if rules is None else rules)
    fields = fields_given(bench_fields, loading()) if bench_fields else {}
    redactor = Redactor()  # one for all: what is host-1 in one answer is so in the next
    learnt = {id(target): threading.Event() for target in targets}
    before = dict(zip(map(id, targets[1:]), learnt.values(), strict=False))  # names are numbered in the order of the targets, however quick each is
    if save is not None:
        check_place(save, several=len(targets) > 1)

    def one(target: Target, run: Start) -> list[Diagnosis]:
        try:
            return looked_at(target, run)
        finally:
            learnt[id(target)].set()

    def looked_at(target: Target, run: Start) -> list[Diagnosis]:
        say(f"{target.name}: connecting" if target.kind is TargetKind.SSH else f"{target.name}: reading")
        with collect.open_target(target, since=after, limits=limits, run=run, ssh_config=ssh_config, sudo=sudo, progress=say) as session:
            known = loading()  # while the connection is made
            captures = [
                replace(with_bench(c, bench, window=bench_window), **fields) for c in look(session, known, unit=unit, since=after, progress=say)
            ]
            if redaction is Redaction.ALL or save is not None:
                if id(target) in before:
                    before[id(target)].wait()
                if redaction in (Redaction.ALL, None):
                    say(f"{target.name}: gathering names")
                    captures = [collect.read_what_is_left(capture, redactor.learn)[1] for capture in captures]
                if save is not None:
                    where = save if len(targets) == 1 else save / re.sub(r"[^\w.@-]+", "_", redactor.name(target.name))
                    collect.packing.write(captures, where, mask=mask_for(redaction or Redaction.ALL, redactor))
                learnt[id(target)].set()
            found = [diagnose_capture(c, known, unit=unit, progress=say) for c in captures]
            session.discard()
        # a bundle tells as what its answers were asked for, which may be called local: that is not here, and of two of them it is not which
        return [replace(d, bundle=target.name) if target.kind is TargetKind.BUNDLE and d.target != target.name else d for d in found]

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
    rules: RuleSet | None = None,
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
    after = since_when(since)
    targets = collect.parse_targets([target_words] if isinstance(target_words, str) else list(target_words))
    several, wanted = len(targets) > 1, Redaction(redaction)
    if isinstance(output, Path):
        check_place(output, several=several, force=force)
    elif output is not None and several:
        raise UsageError("several targets cannot go to one stream", hint="-o FOLDER keeps a bundle of each")
    loading = cache(lambda: ruleset.shipped_rules() if rules is None else rules)

    def one(target: Target, run: Start) -> Bundle:
        say(f"{target.name}: connecting" if target.kind is TargetKind.SSH else f"{target.name}: reading")
        with collect.open_target(target, since=after, limits=limits, run=run, ssh_config=ssh_config, sudo=sudo, progress=say) as session:
            captures = [with_bench(c, bench) for c in look(session, loading(), unit=unit, since=after, progress=say)]
            say(f"{target.name}: saving")
            redactor = Redactor()
            if wanted is Redaction.ALL:
                captures = [collect.read_what_is_left(capture, redactor.learn)[1] for capture in captures]
            mask = mask_for(wanted, redactor)
            made = collect.packing.keep(captures, target.name, output, several=several, mask=mask, force=force)
            session.discard()
        return made

    if not several:
        return [one(targets[0], collect.start_process)]
    loading()
    answers = collect.side_by_side(targets, one)
    return [collect.Bundle(target=t.name, error=str(got)) if isinstance(got, TargetError) else got for t, got in zip(targets, answers, strict=True)]


def since_when(since: str | float | None) -> float | None:
    """Epoch seconds of what a person typed ("-2h"); a number is that already."""
    return clock.parse_typed(since, now=time.time()) if isinstance(since, str) else since


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


def script_of(*, unit: str | None = None, since: str | float | None = None, sudo: bool = False, rules: RuleSet | None = None) -> str:
    """What a host would be sent, in all its rounds: nothing else ever runs there."""
    from forensics import ruleset
    from forensics.collect.shown import shown

    after = since_when(since)
    profiles = (ruleset.shipped_rules() if rules is None else rules).profiles
    endpoints = {(e.path, e.limit_s): e for p in profiles for e in p.endpoints}
    ports = sorted({p.port for p in profiles if p.port})
    return shown(unit, ports=ports, endpoints=tuple(endpoints.values()), since=after, sudo=sudo)


def look(session: Session, rules: RuleSet, *, unit: str | None, since: float | None, progress: Progress) -> list[Capture]:
    """Ask a target in two rounds over one connection; several captures where several units could be meant."""
    from forensics import collect
    from forensics.collect import plan

    if isinstance(session, collect.SavedSession):
        of_it = [c for c in session.captures if c.pick.unit == units.full_name(unit)] if unit else []
        return of_it or list(session.captures)
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
        part = None if path.suffix in (".json", ".jsonl") else PartKind.CLIENT
        extra.append(Section(name="bench" if index == 0 else f"bench-{index + 1}", argv=str(path), path=path, coverage=Coverage.GIVEN, part=part))
    return replace(capture, sections=(*capture.sections, *extra), bench_window=window) if extra else capture


def diagnose_capture(capture: Capture, rules: RuleSet, *, unit: str | None = None, progress: Progress | None = None) -> Diagnosis:
    """Frames, hits, facts, diagnosis: the same for a live host and for saved files."""
    from forensics import parse, reason

    facts, capture = facts_of(capture, rules, unit=unit, progress=progress)
    if progress is not None:
        progress(f"{capture.target.name}: reasoning")
    return reason.diagnose(facts, rules, capture, again=parse.Again(capture, rules.prefixes))


def holding(target_word: str, rules: RuleSet) -> set[str]:
    """The ``when`` rules that hold, or may hold, for saved evidence."""
    from forensics.reason.known import known_facts
    from forensics.reason.place import story_of
    from forensics.reason.verdict import conditions

    found: set[str] = set()
    for capture in _saved([target_word], rules):
        facts, picked = facts_of(capture, rules)
        story = story_of(facts, rules, picked.pick.unit, at=facts.at, pick=picked.pick)
        found |= {signal.rule for signal in conditions(known_facts(story))}
    return found


def _saved(target_words: Sequence[str], rules: RuleSet) -> Iterator[Capture]:
    """The captures of saved evidence, each to be read before the next is asked for. Raises UsageError for a host: its answers would have to be collected first."""
    from forensics import collect

    for target in collect.parse_targets(list(target_words)):
        if target.kind in (TargetKind.SSH, TargetKind.LOCAL):
            raise UsageError("no file of that name", at=target.name, hint="ddforensics collect keeps what a host says as files")
        with collect.open_target(target, since=None) as session:
            yield from look(session, rules, unit=None, since=None, progress=lambda text: None)
            session.discard()


def facts_of(capture: Capture, rules: RuleSet, *, unit: str | None = None, progress: Progress | None = None) -> tuple[Facts, Capture]:
    """The facts of a capture in one pass over its text, and the capture with its unit picked (saved files: out of the evidence itself).

    What is gone since it was listed is left out, and said; TargetError where nothing is left.
    """
    from forensics import collect

    return collect.read_what_is_left(capture, lambda left: _facts_of(left, rules, unit, progress))[0]


def _facts_of(capture: Capture, rules: RuleSet, unit: str | None, progress: Progress | None) -> tuple[Facts, Capture]:
    from forensics import parse, reading, ruleset
    from forensics.reason import doors

    capture = _known_columns(parse.prepared(capture), rules)
    scanned, tails = reading.read(capture, rules, rules.prefixes, progress=progress)
    scanned = ruleset.joined(scanned, rules)
    facts = _dated(parse.facts(capture, scanned, tails=tails, about=units.full_name(unit) if unit else None), capture)
    if capture.pick.unit is None and capture.target.kind not in (TargetKind.SSH, TargetKind.LOCAL, TargetKind.BUNDLE):
        marks = {m.id: m.kind for p in rules.profiles for m in p.marks}
        servers = frozenset(m.id for p in rules.profiles if p.launch or p.prefixes for m in p.marks if m.from_ is Origin.SERVER and not m.library)
        owned = units.attributed(facts, marks)
        served = frozenset(s.record.unit for s in owned.seen if s.hit.rule in servers)
        at = doors.doors(owned, rules, served)
        pick = units.from_evidence(facts, marks, unit or capture.pick.asked, served=served, turned_away=doors.asked(facts, at))
        capture = replace(capture, pick=pick)
        return replace(units.attributed(owned, marks, beside=pick.unit), doors=at), capture
    facts = replace(facts, doors=doors.doors(facts, rules, ()))
    if unit is not None:
        capture = replace(capture, pick=units.replayed(capture.pick, units.full_name(unit), facts.unit_names))
    return facts, capture


def fields_given(text: str | None, rules: RuleSet) -> dict[str, Any]:
    """What a capture keeps of a mapping of names; nothing where none was given. Raises UsageError."""
    from forensics.parse import matrix

    return {"bench_fields": tuple(matrix.fields_of(text, rules.columns).items())} if text else {}


def _known_columns(capture: Capture, rules: RuleSet) -> Capture:
    """The capture as it is read: with the names that columns of results have."""
    return replace(capture, columns=rules.columns.with_own(dict(capture.bench_fields)))


def benches_of(target_word: str, *, rules: RuleSet | None = None, fields: str | None = None, unread: list[str] | None = None) -> tuple[BenchRun, ...]:
    """The client runs in saved evidence: a file, a folder, a bundle. ``fields`` as ``bench_fields`` of ``diagnose``. Raises UsageError for a host.

    What could not be read of their files is added to ``unread``, a sentence each.
    """
    from forensics import ruleset

    known = ruleset.shipped_rules() if rules is None else rules
    given = fields_given(fields, known)
    found: list[BenchRun] = []
    for capture in _saved([target_word], known):
        facts = facts_of(replace(capture, **given), known)[0]
        found.extend(facts.benches)
        mine = {run.source for run in facts.benches}
        if unread is not None:
            unread.extend(
                f"{problem.source}{f', line {problem.line}' if problem.line else ''}: {problem.text}"
                for problem in facts.problems
                if problem.source in mine
            )
    return tuple(found)


def lines_of(target_words: Sequence[str], rules: RuleSet, *, wanted: Callable[[bytes], bool]) -> Iterator[Frame]:
    """The log lines of saved files as rules see them: prefixes taken off, the writer known. ``wanted`` decides on a line without its digits. Raises UsageError for a host."""
    from forensics import parse

    for capture in _saved(target_words, rules):
        for block in parse.frames(_known_columns(parse.prepared(capture), rules), rules.prefixes):
            yield from (block.frame(i) for i, key in enumerate(block.keys) if wanted(key))


def message_of(line: str, rules: RuleSet) -> tuple[str, Origin]:
    """The message of one log line without what stands before it, and who wrote it; the line itself where that is not known."""
    from forensics import parse

    section = Section(name="line", path=Path("-"), text=line.encode("utf-8", "replace"), coverage=Coverage.GIVEN)
    capture = Capture(target=Target(kind=TargetKind.FILES, name="line"), sections=(section,))
    found = [block.frame(i) for block in parse.frames(capture, rules.prefixes) for i in range(len(block.keys))]
    if len(found) != 1 or not found[0].text.strip() or found[0].text not in line:
        return line, Origin.ANY
    return found[0].text, found[0].origin


def _dated(facts: Facts, capture: Capture) -> Facts:
    """Client runs without times of their own get the window in which their output came."""
    if capture.bench_window is None:
        return facts
    first, last = capture.bench_window
    return replace(facts, benches=tuple(replace(b, first_at=first, last_at=last) if b.first_at is None else b for b in facts.benches))


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
    if cause is Cause.OPERATOR_STOP and diagnosis.client is not None and diagnosis.client.failed:
        return 1  # the stop is no fault, but somebody asks why the client failed, and this is why
    if cause in (Cause.HEALTHY, Cause.OPERATOR_STOP):
        return 4 if cause is Cause.HEALTHY and diagnosis.health is Health.STARTING else 0
    return 1

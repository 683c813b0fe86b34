"""Look for rules that load but are unwise: slow expressions, rules that can never win, texts with blanks that nothing fills. Changes nothing, and judges no evidence.

A fault has to be mended; a warning may be meant; a remark is for who wants to read all (``rules lint --all``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from forensics.model import Frame, Location, Noun, Origin, Role
from forensics.ruleset import lint_reach, lint_texts
from forensics.ruleset.expressions import WAY_OUT, expressions, slow
from forensics.ruleset.finding import Level, Note
from forensics.ruleset.places import place
from forensics.ruleset.scan import Matcher
from forensics.ruleset.schema import Figure, Mark, Rule, RuleSet, Sample
from forensics.ruleset.selftest import failures, trials

__all__ = ["Level", "Note", "lint", "slow"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class _Line(Noun):
    id: str
    at: Location
    hit: tuple[Sample, ...]
    miss: tuple[Sample, ...]


def lint(rules: RuleSet, *, beside: RuleSet | None = None) -> list[Note]:
    """What is to be said of ``rules``, by place. ``beside`` are rules that are there already: named and compared with, not looked at."""
    whole = rules if beside is None else RuleSet(rules=beside.rules + rules.rules, profiles=beside.profiles + rules.profiles)
    own = {rule.id for rule in rules.rules}
    lines = list(_lines(rules))
    notes = [
        *_slow(rules),
        *(note for line in lines for note in _twice(line)),
        *_own_hits(rules, whole),
        *lint_texts.notes(rules, whole),
        *lint_reach.notes(rules, whole),
        *_strangers(whole, own),
    ]
    files = list(dict.fromkeys(note.at.path for note in notes))
    return sorted(notes, key=lambda note: (files.index(note.at.path), note.at.line, note.at.col))


def _lines(rules: RuleSet) -> Iterator[_Line]:
    items: list[Rule | Mark | Figure] = [rule for rule in rules.rules if rule.line]
    for profile in rules.profiles:
        items += [*profile.marks, *profile.figures]
    for item in items:
        yield _Line(id=item.id, at=item.at, hit=item.hit, miss=item.miss)


def _slow(rules: RuleSet) -> Iterator[Note]:
    for rule in rules.rules:
        for key, pattern in expressions(rule):
            for text in slow(pattern):
                yield Note(text=f"{rule.id}: {text}", at=place(rule.at, key), hint=WAY_OUT.get(text, ""), level=Level.FAULT)
    for profile in rules.profiles:
        places = {f"mark {m.id}": m.at for m in profile.marks} | {f"figure {f.id}": f.at for f in profile.figures}
        for key, pattern in expressions(profile):
            at = place(places[key], "line") if key in places else profile.at
            for text in slow(pattern):
                hint = f"{WAY_OUT[text]}; it is {pattern[:80]}" if text in WAY_OUT else pattern[:80]
                yield Note(text=f"profile {profile.name}, {key}: {text}", at=at, hint=hint, level=Level.FAULT)


def _twice(line: _Line) -> Iterator[Note]:
    seen: set[tuple[str, Origin | None]] = set()
    for sample in (*line.hit, *line.miss):
        if sample.text is None:
            continue
        if (sample.text, sample.from_) in seen:
            yield Note(text=f"{line.id}: this sample stands twice: {sample.text[:80]!r}", at=sample.at or line.at, level=Level.FAULT)
        seen.add((sample.text, sample.from_))
    if not line.miss:
        yield Note(text=f"{line.id}: no sample to miss", at=line.at, hint="a line that is near, and that it must not take", level=Level.FAULT)


def _own_hits(rules: RuleSet, whole: RuleSet) -> Iterator[Note]:
    for failure in failures(rules, prefixes=whole.prefixes):
        trial = failure.trial
        what = "does not match its own hit" if trial.wanted else "matches its own miss"
        yield Note(
            text=f"{trial.id} {what}: {trial.text[:80]!r}",
            at=trial.at,
            hint=failure.hint or "ddforensics rules try shows what it takes",
            level=Level.FAULT,
        )


def _strangers(rules: RuleSet, own: Collection[str]) -> Iterator[Note]:
    """A miss of one rule that another one of the same cause and role takes, without knowing it for its own: a sign that the other takes too much."""
    matcher = Matcher(rules)
    known = {rule.id: rule for rule in rules.rules if rule.role in (Role.ROOT, Role.MECHANISM)}
    hits = {rule.id: {sample.text for sample in rule.hit} for rule in known.values()}
    for trial in trials(rules):
        mine = known.get(trial.id)
        if trial.wanted or mine is None:
            continue
        for hit in matcher.feed(Frame(source="sample", line_no=1, start=0, text=trial.text, origin=trial.origin)):
            other = known.get(hit.rule)
            if (
                other is None
                or other is mine
                or other.sequence
                or (other.cause, other.role) != (mine.cause, mine.role)
                or trial.text in hits[other.id]
            ):
                continue
            if other.id not in mine.over and mine.id not in other.over and {mine.id, other.id} & set(own):
                text = f"'{other.id}' matches a miss of '{mine.id}', of the same cause: {trial.text[:80]!r}"
                yield Note(text=text, at=trial.at, hint=f"if both are meant, '{mine.id}' is over '{other.id}' or the other way round")

"""Try every rule, mark and figure on its own samples. Never runs a whole diagnosis: samples that are captures are left to the tests of the pipeline.

``python -m forensics.ruleset.selftest [PATH]`` prints faults, failed samples and warnings; it leaves with 1 where there are faults or failures.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from forensics.model import Frame, Hit, Location, Noun, Origin
from forensics.model.counted import counted
from forensics.ruleset.finding import Level
from forensics.ruleset.scan import Matcher
from forensics.ruleset.schema import Rule, RuleSet, Sample
from forensics.ruleset.sequence import asked_by, joins


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Trial(Noun):
    """One sample to be tried: the rule has to match it, or not to."""

    id: str
    number: int  # of the rule's samples of this kind, from 1
    wanted: bool
    text: str
    origin: Origin
    at: Location
    why: str = ""
    rule: Rule | None = None  # None for a mark and a figure

    def __str__(self) -> str:
        return f"{self.id}-{'hit' if self.wanted else 'miss'}-{self.number}"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Failure(Noun):
    """A sample that went the wrong way."""

    trial: Trial
    hint: str = ""

    def __str__(self) -> str:
        wanted = "does not match its sample" if self.trial.wanted else "matches what it should not"
        why = f" ({self.trial.why})" if self.trial.why else ""
        return f"{self.trial.at}: {self.trial.id} {wanted}{why}: {self.trial.text[:300]!r}" + (f" ({self.hint})" if self.hint else "")


def trials(rules: RuleSet) -> Iterator[Trial]:
    """All samples that are texts, in file order."""
    for rule in rules.rules:
        if rule.line:
            yield from _both(rule.id, rule.hit, rule.miss, rule.from_, rule)
    for profile in rules.profiles:
        for mark in profile.marks:
            yield from _both(mark.id, mark.hit, mark.miss, mark.from_)
        for figure in profile.figures:
            yield from _both(figure.id, figure.hit, figure.miss, Origin.SERVER)


def _both(id_: str, hit: tuple[Sample, ...], miss: tuple[Sample, ...], origin: Origin, rule: Rule | None = None) -> Iterator[Trial]:
    for wanted, samples in ((True, hit), (False, miss)):
        for number, sample in enumerate(samples, start=1):
            if sample.text is not None:
                from_, at = sample.from_ or origin, sample.at or Location(id_)
                yield Trial(id=id_, number=number, wanted=wanted, text=sample.text, origin=from_, at=at, why=sample.why or "", rule=rule)


def passes(trial: Trial, matcher: Matcher) -> bool:
    """Whether the sample goes the way it should, through the same index and limits as in a scan. The lines of a sample of several are one record."""
    hits = _hits(trial, matcher)
    found = joins(trial.rule, hits) if trial.rule is not None else [hit for hit in hits if hit.rule == trial.id]
    return bool(found) is trial.wanted


def _hits(trial: Trial, matcher: Matcher) -> list[Hit]:
    lines = trial.text.splitlines() if "\n" in trial.text else [trial.text]
    frames = (Frame(source="sample", line_no=n, start=0, text=text, origin=trial.origin, record=1) for n, text in enumerate(lines, start=1))
    return [hit for frame in frames for hit in matcher.feed(frame)]


def failures(rules: RuleSet, *, prefixes: Sequence[str] = ()) -> list[Failure]:
    """The samples that go the wrong way. ``prefixes`` are those of all servers: a sample that still has one is told so."""
    matcher = Matcher(rules)
    compiled = [re.compile(prefix) for prefix in dict.fromkeys((*rules.prefixes, *prefixes))]
    return [Failure(trial=trial, hint=_hint(trial, matcher, compiled)) for trial in trials(rules) if not passes(trial, matcher)]


def _hint(trial: Trial, matcher: Matcher, prefixes: Sequence[re.Pattern[str]]) -> str:
    """What is in the way of a sample that ought to be taken; nothing where that cannot be told."""
    if not trial.wanted:
        return ""
    bare = "\n".join(_without_prefix(line, prefixes) for line in trial.text.split("\n"))
    if bare != trial.text and passes(replace(trial, text=bare), matcher):
        return f"a sample stands without the prefix that a profile takes off: {bare.split(chr(10))[0][:80]!r}"
    there = {hit.rule for hit in _hits(trial, matcher)}
    if trial.rule is None or trial.id not in there:
        return ""
    asked = [(a.id.partition("/")[2], a.id in there) for a in asked_by(trial.rule)]
    lacking = [key for key, found in asked if not found and not key.startswith("not_")] or [
        key for key, found in asked if found and key.startswith("not_")
    ]
    return f"'line' takes a line of it; look at {', '.join(lacking)}" if lacking else "'line' takes a line of it; look at the order of the others"


def _without_prefix(line: str, prefixes: Sequence[re.Pattern[str]]) -> str:
    found = next((found for prefix in prefixes if (found := prefix.match(line)) and found.end()), None)
    return line[found.end() :] if found else line


def main(words: list[str]) -> int:
    """Check folders or files (the package's rules where none is given) and print what is wrong."""
    from forensics.ruleset.lint import lint
    from forensics.ruleset.loading import read

    found = read(*map(Path, words))
    notes = lint(found.rules)
    shown = [note for note in notes if note.level is not Level.REMARK]
    for line in (*found.faults, *shown):
        sys.stdout.write(f"{line}\n")
    wrong = len(found.faults) + sum(n.fault for n in notes)
    marks = sum(len(p.marks) + len(p.figures) for p in found.rules.profiles)
    tried = sum(1 for _ in trials(found.rules))
    sys.stderr.write(
        f"{counted(found.files, 'file')}, {counted(len(found.rules.rules), 'rule')}, {counted(len(found.rules.profiles), 'profile')} with {marks} marks "
        f"and figures, {counted(tried, 'sample')}: {counted(wrong, 'fault')}, {counted(len(shown) - sum(n.fault for n in notes), 'warning')}, "
        f"{counted(len(notes) - len(shown), 'remark')}\n"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

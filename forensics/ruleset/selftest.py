"""Try every rule, mark and figure on its own samples. Never runs a whole diagnosis: samples that are captures are left to the tests of the pipeline.

``python -m forensics.ruleset.selftest [PATH]`` prints faults, failed samples and warnings; it leaves with 1 where there are faults or failures.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from forensics.model import Frame, Location, Origin
from forensics.ruleset.scan import Matcher
from forensics.ruleset.schema import RuleSet, Sample


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """One sample to be tried: the rule has to match it, or not to."""

    id: str
    number: int  # of the rule's samples of this kind, from 1
    wanted: bool
    text: str
    origin: Origin
    at: Location
    why: str = ""

    def __str__(self) -> str:
        return f"{self.id}-{'hit' if self.wanted else 'miss'}-{self.number}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """A sample that went the wrong way."""

    trial: Trial

    def __str__(self) -> str:
        wanted = "does not match its sample" if self.trial.wanted else "matches what it should not"
        why = f" ({self.trial.why})" if self.trial.why else ""
        return f"{self.trial.at}: {self.trial.id} {wanted}{why}: {self.trial.text[:300]!r}"


def trials(rules: RuleSet) -> Iterator[Trial]:
    """All samples that are texts, in file order."""
    for rule in rules.rules:
        if rule.line:
            yield from _both(rule.id, rule.hit, rule.miss, rule.from_)
    for profile in rules.profiles:
        for mark in profile.marks:
            yield from _both(mark.id, mark.hit, mark.miss, mark.from_)
        for figure in profile.memory.figures if profile.memory else ():
            yield from _both(figure.id, figure.hit, figure.miss, Origin.SERVER)


def _both(id_: str, hit: tuple[Sample, ...], miss: tuple[Sample, ...], origin: Origin) -> Iterator[Trial]:
    for wanted, samples in ((True, hit), (False, miss)):
        for number, sample in enumerate(samples, start=1):
            if sample.text is not None:
                from_, at = sample.from_ or origin, sample.at or Location(id_)
                yield Trial(id=id_, number=number, wanted=wanted, text=sample.text, origin=from_, at=at, why=sample.why or "")


def passes(trial: Trial, matcher: Matcher) -> bool:
    """Whether the sample goes the way it should, through the same index and limits as in a scan. A sample of several lines is tried line by line."""
    lines = trial.text.splitlines() if "\n" in trial.text else [trial.text]
    hits = (hit for line in lines for hit in matcher.feed(Frame(source="sample", line_no=1, start=0, text=line, origin=trial.origin)))
    return any(hit.rule == trial.id for hit in hits) is trial.wanted


def failures(rules: RuleSet) -> list[Failure]:
    """The samples that go the wrong way."""
    matcher = Matcher(rules)
    return [Failure(trial=trial) for trial in trials(rules) if not passes(trial, matcher)]


def main(words: list[str]) -> int:
    """Check a folder or file (the package's rules where none is given) and print what is wrong."""
    from forensics.ruleset.lint import lint
    from forensics.ruleset.load import read

    found = read(Path(words[0]) if words else None)
    failed = failures(found.rules)
    notes = lint(found.rules)
    for line in (*found.faults, *failed, *notes):
        sys.stdout.write(f"{line}\n")
    wrong = len(found.faults) + len(failed) + sum(n.fault for n in notes)
    marks = sum(len(p.marks) + (len(p.memory.figures) if p.memory else 0) for p in found.rules.profiles)
    tried = sum(1 for _ in trials(found.rules))
    sys.stderr.write(
        f"{found.files} files, {len(found.rules.rules)} rules, {len(found.rules.profiles)} profiles with {marks} marks and figures, "
        f"{tried} samples: {len(found.faults)} faults, {len(failed)} samples failed, {len(notes)} remarks\n"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Look for rules that load but are unwise: expressions that can take long, samples that stand twice, rules that take each other's lines. Changes nothing.

Where google-re2 is installed, every expression has to compile there too: what it accepts runs in linear time. It is never required.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from forensics.model import Frame, Location, Origin, Role
from forensics.ruleset.anchors import accepts, nodes, parts, shape
from forensics.ruleset.scan import Matcher
from forensics.ruleset.schema import RuleSet, Sample
from forensics.ruleset.selftest import trials

_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_MANY = 64  # a repeat of so many is as good as endless within another
_WIDE = 2  # endless repeats of nearly anything that may follow each other


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """A remark; ``fault`` says that it has to be mended."""

    text: str
    at: Location
    fault: bool = False

    def __str__(self) -> str:
        return f"{self.at}: {'' if self.fault else 'warning: '}{self.text}"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Line:
    id: str
    line: str
    at: Location
    hit: tuple[Sample, ...]
    miss: tuple[Sample, ...]


def lint(rules: RuleSet) -> list[Note]:
    """All remarks, by rule in file order."""
    lines = list(_lines(rules))
    notes = [note for line in lines for note in _expression(line)]
    notes += [Note(text=text, at=Location(f"profile {p.name}"), fault=True) for p in rules.profiles for text in _bare(p.launch + p.prefixes)]
    notes += [note for line in lines for note in _twice(line)]
    notes += list(_strangers(rules))
    return notes


def _lines(rules: RuleSet) -> Iterator[_Line]:
    for rule in rules.rules:
        if rule.line:
            yield _Line(id=rule.id, line=rule.line, at=rule.at, hit=rule.hit, miss=rule.miss)
    for profile in rules.profiles:
        for mark in profile.marks:
            yield _Line(id=mark.id, line=mark.line, at=mark.at, hit=mark.hit, miss=mark.miss)
        for figure in profile.memory.figures if profile.memory else ():
            yield _Line(id=figure.id, line=figure.line, at=figure.at, hit=figure.hit, miss=figure.miss)


def _expression(line: _Line) -> Iterator[Note]:
    for text in slow(line.line):
        yield Note(text=f"{line.id}: {text}", at=line.at, fault=True)


def _bare(patterns: tuple[str, ...]) -> Iterator[str]:
    for pattern in patterns:
        for text in slow(pattern):
            yield f"{text}: {pattern}"


def slow(pattern: str) -> list[str]:
    """Why an expression could take more than linear time, or would not run everywhere."""
    tree = shape(pattern).tree
    if tree is None:
        return []
    found = list(dict.fromkeys(_nested(tree, inside=0)))
    for sequence in _sequences(tree):
        if sum(_is_wide(op, value) for op, value in sequence) > _WIDE:
            found.append(f"more than {_WIDE} endless repeats of anything, as in '.*a.*b.*c': bound them ({{0,200}})")
            break
    names = {op for op, _ in nodes(tree)}
    if names & {"POSSESSIVE_REPEAT", "ATOMIC_GROUP"}:
        found.append("possessive repeats and atomic groups need Python 3.11")
    if names & {"GROUPREF", "GROUPREF_EXISTS"}:
        found.append("a back reference cannot run in linear time")
    elif not names & {"ASSERT", "ASSERT_NOT", "POSSESSIVE_REPEAT", "ATOMIC_GROUP"}:  # RE2 has no look-around; re does it in linear time
        found += _re2(pattern)
    return found


def _nested(tree: Any, *, inside: int, parted: bool = False) -> Iterator[str]:
    """Repeats within repeats; ``inside`` is how often the outer ones repeat, at most.

    ``parted``: each turn of the outer one begins or ends with a character that no endless one within can take, as in ``(?: TP\\d+)*`` or ``(?:\\w+ )*``:
    then there is only one way to match it.
    """
    for op_, value in tree:
        op = str(op_)
        outer, now_parted = inside, parted
        if op in _REPEATS:
            most = min(int(value[1]), 1 << 20)
            if inside > 1 and most > _MANY and not parted:
                yield "an endless repeat within a repeat, as in '(a+)+'"
            elif inside > _MANY and most > 8 and not parted:
                yield "a repeat within a long repeat"
            outer = max(inside, 1) * most if most > 1 else inside
            turn = _flat(value[2])
            ends = [*turn[:1], *turn[-1:]]
            now_parted = parted or any(name == "LITERAL" and not _takes(value[2], char) for name, char in ends)
        for inner in parts(op, value):
            yield from _nested(inner, inside=outer, parted=now_parted)


def _takes(tree: Any, char: int) -> bool:
    """Whether an endless repeat somewhere inside takes a character."""
    for op, value in nodes(tree):
        if op in _REPEATS and int(value[1]) > _MANY:
            inner = list(value[2])
            if len(inner) != 1 or accepts(str(inner[0][0]), inner[0][1], char):
                return True
    return False


def _flat(tree: Any) -> list[tuple[str, Any]]:
    """A sequence with its plain groups opened."""
    flat: list[tuple[str, Any]] = []
    for op, value in tree:
        if str(op) == "SUBPATTERN":
            flat += _flat(value[3])
        else:
            flat.append((str(op), value))
    return flat


def _sequences(tree: Any) -> Iterator[list[tuple[str, Any]]]:
    """The sequences of an expression, each choice by itself."""
    flat = _flat(tree)
    yield flat
    for op, value in flat:
        for part in parts(op, value):
            yield from _sequences(part)


def _is_wide(op: str, value: Any) -> bool:
    """An endless repeat of nearly any character: ``.*`` or ``[^,]+``."""
    if op not in _REPEATS or int(value[1]) < 4096:
        return False
    inner = list(value[2])
    if len(inner) != 1:
        return False
    name, what = str(inner[0][0]), inner[0][1]
    return name in ("ANY", "NOT_LITERAL") or (name == "IN" and (str(what[0][0]) == "NEGATE" or any(str(w) == "CATEGORY_NOT_SPACE" for _, w in what)))


def _re2(pattern: str) -> list[str]:
    try:
        re2: Any = importlib.import_module("re2")
    except ImportError:
        return []
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options=options)
    except re2.error as error:
        said = error.args[0] if error.args else error
        return [f"RE2 refuses it: {said.decode('utf-8', 'replace') if isinstance(said, bytes) else said}"]
    return []


def _twice(line: _Line) -> Iterator[Note]:
    seen: set[tuple[str, Origin | None]] = set()
    for sample in (*line.hit, *line.miss):
        if sample.text is None:
            continue
        if (sample.text, sample.from_) in seen:
            yield Note(text=f"{line.id}: this sample stands twice: {sample.text[:80]!r}", at=sample.at or line.at, fault=True)
        seen.add((sample.text, sample.from_))


def _strangers(rules: RuleSet) -> Iterator[Note]:
    """A miss of one rule that another one of the same cause and role takes, without knowing it for its own: a sign that the other takes too much."""
    matcher = Matcher(rules)
    known = {rule.id: rule for rule in rules.rules if rule.role in (Role.ROOT, Role.MECHANISM)}
    own = {rule.id: {sample.text for sample in rule.hit} for rule in known.values()}
    for trial in trials(rules):
        mine = known.get(trial.id)
        if trial.wanted or mine is None:
            continue
        for hit in matcher.feed(Frame(source="sample", line_no=1, start=0, text=trial.text, origin=trial.origin)):
            other = known.get(hit.rule)
            if other is None or other is mine or (other.cause, other.role) != (mine.cause, mine.role) or trial.text in own[other.id]:
                continue
            if other.id not in mine.over and mine.id not in other.over:
                yield Note(text=f"'{other.id}' matches a miss of '{mine.id}', of the same cause: {trial.text[:80]!r}", at=trial.at)

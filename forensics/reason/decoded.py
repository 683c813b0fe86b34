"""Read out of a server's own log which tree each of its starts was given and how long its drafts were accepted. Judges nothing, and knows no server.

A start is not a life: of several logs that are given together the lines lie among each other, and each belongs to what its own file has opened before.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from forensics.model import Evidence, MarkKind, Record
from forensics.reason import arguments
from forensics.reason.figures import figure, whole
from forensics.reason.lives import Placed
from forensics.reason.logged import arguments as logged
from forensics.reason.place import Story
from forensics.reason.signals import evidence
from forensics.ruleset.schema import Figure, Speculation
from forensics.ruleset.versions import may_be

MOST_READ = 8192  # characters of an argument that is a mapping
MOST_NODES = 4096
FEWEST = 2  # intervals in a block, and blocks of a start: fewer are no sample
MOST_BLOCKS = 8
_PATH = re.compile(r"[(\[]([\d, ]{1,200})[)\]]")
_OPENS = (MarkKind.STARTING, MarkKind.STARTED)
Settings = tuple[tuple[str, str], ...]


class Interval(NamedTuple):
    """What one line tells: tokens a step with the one that the target makes itself, and how much it is the mean of."""

    length: float
    weight: float
    line: Evidence


class Start(NamedTuple):
    """One start of a server with drafts. ``budget`` and ``steps`` are None where its arguments don't say; ``same`` is what has to be equal for two starts to be compared."""

    source: str
    life: int
    topk: int
    budget: int | None
    steps: int | None
    same: Settings
    version: str | None
    intervals: tuple[Interval, ...]

    @property
    def length(self) -> float:
        """The mean over all of its intervals."""
        return _mean(self.intervals)

    @property
    def blocks(self) -> list[float]:
        """Means of stretches of its intervals. Neighbouring lines tell of the same requests, so that they are no independent samples; long stretches nearly are."""
        count = min(MOST_BLOCKS, len(self.intervals) // FEWEST)
        edges = [n * len(self.intervals) // count for n in range(count + 1)] if count else []
        return [_mean(self.intervals[a:b]) for a, b in pairwise(edges)]


def _mean(intervals: Sequence[Interval]) -> float:
    from statistics import fmean  # which loads fractions, decimals and random generators

    total = sum(i.weight for i in intervals)
    return sum(i.length * i.weight for i in intervals) / total if total else fmean(i.length for i in intervals)


@dataclass(eq=False, repr=False)
class _Open:
    """A start while its lines are read."""

    life: int
    arguments: dict[str, str] = field(default_factory=dict)
    told: list[Interval] = field(default_factory=list)
    facts: dict[tuple[str, int], set[str]] = field(default_factory=dict)


def intervals(story: Story, life: int) -> list[Interval]:
    """What the log tells of one life, whatever tree it had."""
    model = story.profile.speculation if story.profile else None
    return [i for s in _read(story, model) if s.life == life for i in s.told] if model else []


def starts(story: Story) -> list[Start]:
    """All starts whose log tells the acceptance and whose arguments give the tree, in the order of their first lines."""
    model = story.profile.speculation if story.profile else None
    if model is None:
        return []
    opened = [s for s in _read(story, model) if s.told]
    sources = {i.line.source for s in opened for i in s.told}
    found = []
    for one in opened:
        life = story.lives[one.life]
        # what systemd or a command line gave is of the life; with several logs at once, nobody knows of which
        given = one.arguments or (life.arguments if len(sources) == 1 else {})
        tree = _tree(given, model)
        if tree is None:
            continue
        same = tuple((name, value) for name in model.same if (value := _argument(given, name)) is not None)
        found.append(Start(source=one.told[0].line.source, life=one.life, topk=tree[0], budget=tree[1], steps=tree[2], same=same,
                           version=life.version, intervals=tuple(one.told)))  # fmt: skip
    return found


def _read(story: Story, model: Speculation) -> list[_Open]:
    assert story.profile is not None
    figures = {f.id: f for f in model.figures}
    marks = {m.id: m for m in story.profile.marks if m.kind is MarkKind.ARGUMENTS}
    current: dict[tuple[str, ...], _Open] = {}
    found: list[_Open] = []
    for placed in sorted(story.placed, key=lambda p: (p.seen.record.source, p.seen.record.line_no)):
        record, mark = placed.seen.record, marks.get(placed.seen.hit.rule)
        if placed.mark is not None and placed.mark.kind in _OPENS:
            for key in [key for key, one in current.items() if key[0] == record.source and one.told]:
                del current[key]
            continue
        told = figures.get(placed.seen.hit.rule)
        if mark is None and told is None:
            continue
        key = _whose(record)
        one = current.get(key)
        if one is None or (mark is not None and mark.opens and one.told):
            one = current[key] = _Open(life=placed.life)
            found.append(one)
        if mark is not None:
            one.arguments.update(logged(placed.seen.hit.captures.get("args", ""), mark.style))
        elif told is not None and may_be(story.lives[placed.life].version, since=_since(told), until=_until(told)):
            _tell(one, told, placed)
    return found


def _whose(record: Record) -> tuple[str, ...]:
    return record.source, record.boot, record.invocation, record.unit or record.ident


def _since(told: Figure) -> str | None:
    return (told.version or "").partition("..")[0] or None


def _until(told: Figure) -> str | None:
    return (told.version or "").rpartition("..")[2] or None


def _tell(one: _Open, told: Figure, placed: Placed) -> None:
    """Note an interval; where two readings of one line differ in what it counts, and the version does not say which holds, neither does."""
    captures, record = placed.seen.hit.captures, placed.seen.record
    value = figure(captures.get("value"))
    if value is None:
        return
    facts = one.facts.setdefault((record.source, record.line_no), set())
    facts.add(told.fact)
    if len(facts) > 1:
        one.told = [i for i in one.told if (i.line.source, i.line.line) != (record.source, record.line_no)]
        return
    if any((i.line.source, i.line.line) == (record.source, record.line_no) for i in one.told[-1:]):
        return
    length = value + 1 if told.fact == "accepted_drafts" else value
    one.told.append(Interval(length=length, weight=max(1.0, figure(captures.get("weight")) or 1.0), line=evidence(record)))


# --------------------------------------------------------------------------- arguments


def _tree(given: Mapping[str, str], model: Speculation) -> tuple[int, int | None, int | None] | None:
    """Branches of a node, drafted tokens, depth; None where nothing is drafted, or nothing says how much."""
    if _argument(given, model.given) is None:
        return None
    paths = _paths(_argument(given, model.paths)) if model.paths else []
    if paths:
        return max(1, sum(len(p) == 1 for p in paths)), len(paths), max(map(len, paths))
    topk, budget, steps = (
        next((n for name in names if (n := _count(given, name)) is not None), None) for names in (model.topk, model.budget, model.steps)
    )
    return None if budget is None and topk is None else (max(1, topk or 1), budget, steps)


def _paths(text: str | None) -> list[tuple[str, ...]]:
    found = [tuple(part for part in m[1].replace(" ", "").split(",") if part) for m in _PATH.finditer((text or "")[:MOST_READ])]
    return [path for path in found if path][:MOST_NODES]


def _count(given: Mapping[str, str], name: str) -> int | None:
    text = _argument(given, name)
    number = figure(text)
    return whole(str(int(number))) if number is not None and number >= 0 else None


def _argument(given: Mapping[str, str], name: str) -> str | None:
    """An argument, or a key of one that is a mapping; None where it is not given, or is nothing."""
    outer, _, key = name.partition(".")
    text = given.get(outer)
    if key:
        text = _mapping(text).get(key)
    return None if text is None else arguments.value(text)


def _mapping(text: str | None) -> dict[str, str]:
    if not text or len(text) > MOST_READ or not text.strip().startswith("{"):
        return {}
    read: object = None
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        try:
            read = ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return logged(text, "dict")
    return {str(key): str(value) for key, value in read.items()} if isinstance(read, dict) else {}


def by_tree(found: Sequence[Start]) -> Iterator[tuple[Settings, list[list[Start]]]]:
    """Starts that may be compared, those of one tree together, narrow to wide."""
    groups: dict[Settings, dict[tuple[int, int, int], list[Start]]] = {}
    for start in found:
        tree = (start.topk, start.budget or 0, start.steps or 0)
        groups.setdefault(start.same, {}).setdefault(tree, []).append(start)
    for same, trees in groups.items():
        yield same, [trees[tree] for tree in sorted(trees)]

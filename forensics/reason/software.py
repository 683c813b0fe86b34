"""Tell what a life ran on (versions, driver, settings of the environment, the boot) from what lines and the host said of it. Knows no software by name."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from itertools import accumulate

from forensics.model import Life, MarkKind, Origin, Record
from forensics.reason.lives import another
from forensics.reason.place import Story
from forensics.ruleset.versions import compare

MOST_TEXT = 120
MOST_VALUES = 4  # of one software in one life


def ran_on(story: Story, life: Life) -> dict[str, str]:
    """What was known to be there in a life, by name: the last that was said up to its end. What another life said holds until somebody says otherwise."""
    marks = {m.id: m for p in story.rules.profiles for m in p.marks if m.kind is MarkKind.SOFTWARE}
    told: dict[str, dict[int, list[str]]] = {}
    places = _Places(story) if any(seen.hit.rule in marks for seen in story.facts.seen) else None
    for seen in story.facts.seen:
        mark = marks.get(seen.hit.rule)
        text = seen.hit.captures.get("value", "").strip()[:MOST_TEXT] if mark is not None else ""
        name = (mark.what if mark is not None else None) or seen.hit.captures.get("name", "")
        if places is None or not text or not name or (seen.record.origin is Origin.SERVER and another(seen.record.unit, story.unit)):
            continue
        index = places.life(seen.record)
        if index is not None and index <= life.index:
            values = told.setdefault(name, {}).setdefault(index, [])
            if seen.record.origin is Origin.KERNEL:
                values.clear()  # there may be a dozen boots before a life: the last one counts
            if text not in values and len(values) < MOST_VALUES:
                values.append(text)
    return {name: " and ".join(sorted(by_life[max(by_life)])) for name, by_life in told.items()}


class _Places:
    """In which life a line falls, or before which: by its time, else by where it stands."""

    def __init__(self, story: Story) -> None:
        ends = []
        for life in story.lives:
            following = story.lives[life.index + 1] if life.index + 1 < len(story.lives) else None
            known = [t for t in (life.ended_at, following.started_at if following else None) if t is not None]
            ends.append(min(known) if known else math.inf if following is None else -math.inf)
        self._ends = list(accumulate(ends, max))
        self._begins: dict[str, list[tuple[int, int]]] = {}
        for p in story.placed:
            self._begins.setdefault(p.seen.record.source, []).append((p.seen.record.line_no, p.life))
        for source, begins in self._begins.items():
            begins.sort()
            lives = accumulate((life for _, life in begins), max)
            self._begins[source] = [(line, life) for (line, _), life in zip(begins, lives, strict=True)]

    def life(self, record: Record) -> int | None:
        """The number of the life; None: after the end of the last, or nobody knows."""
        if record.at is not None:
            index = bisect_left(self._ends, record.at)
            return index if index < len(self._ends) else None
        begins = self._begins.get(record.source, [])
        index = bisect_right(begins, (record.line_no, 1 << 30))
        return begins[index - 1][1] if index else None


def other_version(before: Life, after: Life) -> bool:
    """Whether the server is surely of another version: two that it says itself, or two ranges that don't meet."""
    return before.version is not None and after.version is not None and compare("!=", before.version, after.version) is True


def restarted_at(story: Story, before: Life, after: Life) -> tuple[bool, float | None]:
    """Whether the machine was started anew between two lives, and when, where that is known."""
    if before.started_at is not None and after.started_at is not None:
        first, last = _boot_at(story, before.started_at), _boot_at(story, after.started_at)
        if first is not None and last is not None:
            return first != last, next((b.first_at for b in story.facts.boots if b.index == last), None) if first != last else None
    boots: Mapping[int, set[str]] = {before.index: set(), after.index: set()}
    for p in story.placed:
        if p.life in boots and p.seen.record.boot and p.seen.record.origin is Origin.SERVER:
            boots[p.life].add(p.seen.record.boot)
    if boots[before.index] and boots[after.index]:
        return not boots[before.index] & boots[after.index], None
    first_order = min((p.order for p in story.placed if p.life == before.index), default=None)
    last_order = min((p.order for p in story.placed if p.life == after.index), default=None)
    if first_order is None or last_order is None:
        return False, None
    marks = [
        p.seen.record
        for p in story.placed
        if p.mark is not None
        and p.mark.kind is MarkKind.BOOT
        and p.seen.record.origin in (Origin.SYSTEMD, Origin.KERNEL)
        and first_order < p.order <= last_order
    ]
    return bool(marks), marks[-1].at if marks else None


def _boot_at(story: Story, at: float) -> int | None:
    """The index of the boot in which a time falls."""
    for boot in story.facts.boots:
        end = boot.last_at if boot.index < 0 else math.inf
        if boot.first_at is not None and end is not None and boot.first_at - 1 <= at <= end + 1:
            return boot.index
    return None

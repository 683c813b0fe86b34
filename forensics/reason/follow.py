"""Fold what only follows from the root: what other ranks, parents and launchers said once one had failed. Picks no root and drops no line from the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from forensics.model import Evidence, Follow, Role, Signal
from forensics.reason.place import Story
from forensics.reason.verdict import Verdict
from forensics.reason.weigh import HARMLESS, began, foreign, survived

MOST = 12
SAID = 90  # characters of what a rule says


def follows(story: Story, verdict: Verdict, signals: Sequence[Signal], cited: Iterable[Evidence]) -> tuple[Follow, ...]:
    """What follows from the root of the verdict, one entry a kind, in order of their first lines. Lines that are cited anyway do not count."""
    first = verdict.signals[0] if verdict.by == "root" and verdict.signals else None
    if first is None or first.record is None or first.cause in HARMLESS:
        return ()
    known = {(line.source, line.line) for line in cited}
    groups: dict[str, list[Signal]] = {}
    for signal in signals:
        record = signal.record
        if signal.life != story.issue.index or record is None or signal is first or (record.source, record.line_no) in known:
            continue
        later_root = signal.role is Role.ROOT and began(signal) > began(first) and signal.cause not in HARMLESS
        if _heads(signal, first):
            continue
        if (signal.role is Role.CASCADE or later_root) and not foreign(story, signal) and not survived(story, signal):
            groups.setdefault(signal.rule, []).append(signal)
    told: set[tuple[str, int]] = set()
    found = []
    for rule_id, group in groups.items():
        places = [_place(s) for s in group]
        fresh = [s for s, place in zip(group, places, strict=True) if place not in told]
        told.update(places)
        if fresh:
            found.append(_follow(story, first, rule_id, fresh))
    source = first.record.source
    return tuple(sorted(found, key=lambda f: (f.source != source, f.source, f.line))[:MOST])


def _heads(signal: Signal, first: Signal) -> bool:
    """Whether a line is the head of the traceback that the root is the last line of: it follows from nothing."""
    one, root = signal.record, first.record
    assert one is not None
    assert root is not None
    before = one.source == root.source and one.line_no < root.line_no and signal.rank == first.rank
    return before and one.text.rstrip().endswith("Traceback (most recent call last):")


def _place(signal: Signal) -> tuple[str, int]:
    return (signal.record.source, signal.record.line_no) if signal.record is not None else ("", 0)


def _follow(story: Story, first: Signal, rule_id: str, group: Sequence[Signal]) -> Follow:
    rule = story.rules.rule(rule_id)
    record = group[0].record
    assert record is not None
    ranks = tuple(dict.fromkeys(s.rank for s in group if s.rank and (s.rank != first.rank or rule_id != first.rule)))
    says = " ".join(rule.says.split()) if rule is not None and "{" not in rule.says else record.text
    text = "the same" if rule_id == first.rule else _short(says)
    return Follow(rule=rule_id, text=text, ranks=ranks, lines=len(group), source=record.source, line=record.line_no)


def _short(says: str) -> str:
    head = says.partition(";")[0].strip()
    return head if len(head) <= SAID else head[: SAID - 1].rstrip() + "…"

"""Join the hits of a rule with the lines that it asks for before and after: hits in, hits out. Reads no line and knows no life.

The lines asked for are scanned as lines of their own, under ids made of the rule's (``RULE/preceded_by#1``); ``joined`` takes their hits away again. Of each line
of a source the scan keeps the first and last ``KEEP`` hits only. What lies between them is not known, and then a rule says nothing: a hit in the midst counts
only where the lines it asks for are among those kept, and where no line that must not be there may have been forgotten.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from forensics.model import Frame, Hit, order_of
from forensics.ruleset.schema import Rule, RuleSet

if TYPE_CHECKING:
    from forensics.ruleset.scan import ScanResult

KEEP = 1000  # first and last hits kept of a rule that is to be joined, and of each line that it asks for
SEQUENCE = ("preceded_by", "followed_by", "not_preceded_by", "not_followed_by")


class Asked(NamedTuple):
    """A line that a rule asks for, to be scanned like one of a rule."""

    id: str
    line: str


def asked_by(rule: Rule) -> Iterator[Asked]:
    """The lines that a rule asks for beside its own."""
    for key in SEQUENCE:
        for number, line in enumerate(getattr(rule, key), start=1):
            yield Asked(f"{rule.id}/{key}#{number}", line)


def keep_of(rule: Rule) -> int:
    """How many hits of a rule's own line the scan has to keep: those that the join lets through are cut to the rule's own number afterwards."""
    return max(rule.keep, KEEP) if rule.sequence else rule.keep


def place(frame: Frame) -> int:
    """Where a line stands among the lines of its source."""
    return frame.order or order_of(frame.line_no)


def reach(frame: Frame, lines: int) -> tuple[int, int]:
    """From where to where one looks around a line. Entries that take many lines of a file each are counted by that of its own."""
    return order_of(frame.line_no - lines * frame.height), order_of(frame.line_no + lines * frame.height + 1) - 1


def writer(frame: Frame) -> tuple[str, str, int | None, str]:
    """Who wrote a line, within its source: the process where it is known (whatever ranks it names), else the rank."""
    return frame.host, frame.ident, frame.pid, "" if frame.pid is not None else frame.rank


def within(frame: Frame, scope: str) -> tuple[object, ...]:
    """What two lines have in common that are in one scope.

    record: a line with the server's own stamp and what the same writer wrote below it without one; a message of several lines is one by itself. What comes
    before the first stamp of a writer, or of a writer without stamps, is one record.
    """
    if scope == "source":
        return (frame.source,)
    if scope == "rank":
        return (frame.source, *writer(frame))
    return (frame.source, frame.record) if frame.record is not None else (frame.source, *writer(frame))


@dataclass(kw_only=True, eq=False, repr=False)
class _Places:
    """Where the hits of one line are: by scope, in order; and by source the stretch of which nothing is known."""

    of: dict[tuple[object, ...], list[int]] = field(default_factory=dict)
    gaps: dict[str, tuple[int, int]] = field(default_factory=dict)

    def between(self, scope: tuple[object, ...], low: int, high: int) -> Sequence[int]:
        """The hits within a scope at ``low`` … ``high``, both inclusive."""
        found = self.of.get(scope, [])
        return found[bisect_left(found, low) : bisect_right(found, high)]

    def forgotten(self, source: str, low: int, high: int) -> bool:
        """Whether hits may have been there that were not kept."""
        gap = self.gaps.get(source)
        return gap is not None and gap[0] < high and gap[1] > low


def joined(result: ScanResult, rules: RuleSet) -> ScanResult:
    """The outcome of a scan with the rules joined that ask for other lines: of those ``counts`` knows the joined hits (at least so many, where not all hits were kept)."""
    asking = [rule for rule in rules.rules if rule.sequence]
    if not asking:
        return result
    hits, counts = result.hits, dict(result.counts)
    own = {rule.id for rule in asking}
    other = {asked.id for rule in asking for asked in asked_by(rule)}
    by_rule: dict[str, list[Hit]] = {}
    for hit in hits:
        if hit.rule in own or hit.rule in other:
            by_rule.setdefault(hit.rule, []).append(hit)
    well: set[int] = set()
    for rule in asking:
        mine = by_rule.get(rule.id, [])
        found = list(_joins(rule, mine, by_rule, result.counts))
        well.update(map(id, _kept(found, rule.keep)))
        if rule.id in counts:
            counts[rule.id] = len(found)
    for name in (*other, *(name for name in own if not counts.get(name))):
        counts.pop(name, None)
    return replace(result, hits=[hit for hit in hits if hit.rule not in other and (hit.rule not in own or id(hit) in well)], counts=counts)


def joins(rule: Rule, hits: Iterable[Hit]) -> list[Hit]:
    """The hits of a rule that have the lines beside them that it asks for, out of all hits of some lines."""
    by_rule: dict[str, list[Hit]] = {}
    for hit in hits:
        by_rule.setdefault(hit.rule, []).append(hit)
    mine = by_rule.get(rule.id, [])
    return list(_joins(rule, mine, by_rule, {})) if rule.sequence else mine


def _joins(rule: Rule, mine: Sequence[Hit], by_rule: Mapping[str, list[Hit]], counts: Mapping[str, int]) -> Iterator[Hit]:
    places = {asked.id: _places(by_rule.get(asked.id, ()), rule.scope, counts.get(asked.id, 0)) for asked in asked_by(rule)}
    before, after, never_before, never_after = ([places[f"{rule.id}/{key}#{n}"] for n in range(1, len(getattr(rule, key)) + 1)] for key in SEQUENCE)
    for hit in mine:
        at, scope, source = place(hit.frame), within(hit.frame, rule.scope), hit.frame.source
        low, high = reach(hit.frame, rule.within_lines)
        if (
            _in_order_above(before, scope, low, at)
            and _in_order_below(after, scope, at, high)
            and not any(p.between(scope, low, at - 1) or p.forgotten(source, low, at - 1) for p in never_before)
            and not any(p.between(scope, at + 1, high) or p.forgotten(source, at + 1, high) for p in never_after)
        ):
            yield hit


def _in_order_above(lines: Sequence[_Places], scope: tuple[object, ...], low: int, at: int) -> bool:
    """The last of the lines stands nearest: each is taken as near as it can be, which leaves the most room for the others."""
    for line in reversed(lines):
        found = line.between(scope, low, at - 1)
        if not found:
            return False
        at = found[-1]
    return True


def _in_order_below(lines: Sequence[_Places], scope: tuple[object, ...], at: int, high: int) -> bool:
    for line in lines:
        found = line.between(scope, at + 1, high)
        if not found:
            return False
        at = found[0]
    return True


def _places(hits: Iterable[Hit], scope: str, count: int) -> _Places:
    made = _Places()
    by_source: dict[str, list[int]] = {}
    for hit in hits:
        made.of.setdefault(within(hit.frame, scope), []).append(place(hit.frame))
        by_source.setdefault(hit.frame.source, []).append(place(hit.frame))
    for orders in made.of.values():
        orders.sort()
    if count > sum(map(len, by_source.values())):
        for source, orders in by_source.items():
            if len(orders) == 2 * KEEP:
                orders.sort()
                made.gaps[source] = (orders[KEEP - 1], orders[KEEP])
    return made


def _kept(hits: list[Hit], keep: int) -> list[Hit]:
    """The first and last hits of each source."""
    by_source: dict[str, list[Hit]] = {}
    for hit in hits:
        by_source.setdefault(hit.frame.source, []).append(hit)
    return [hit for found in by_source.values() for hit in (found if len(found) <= 2 * keep else found[:keep] + found[-keep:])]

"""Whether and when a line of a rule was said in a life. Weighs nothing, and believes an absence only of evidence that was read whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from forensics.model import Coverage, Facts, Life, Origin, Signal
from forensics.reason.lives import Placed
from forensics.ruleset.condition import FIRST, SEEN, Point
from forensics.ruleset.schema import Rule, RuleSet

# what has to have been read whole for a line of an origin to be missing
_WHOLE = {Origin.SYSTEMD: ("journal",), Origin.KERNEL: ("kernel",), Origin.CLIENT: ("bench",)}


def is_asked(name: str) -> bool:
    """Whether a condition asks for a rule by that name, and not for a fact."""
    return name.startswith((SEEN, FIRST))


def signals_of(name: str, signals: Iterable[Signal], rules: RuleSet, life: Life) -> list[Signal]:
    """The signals in a life of the rule that is asked for, in order."""
    rule_id = rules.current(name.partition(":")[2])
    return sorted((s for s in signals if s.life == life.index and s.rule == rule_id), key=lambda s: s.order)


def answer(name: str, signals: Sequence[Signal], placed: Sequence[Placed], rules: RuleSet, facts: Facts, life: Life) -> bool | Point | None:
    """``seen:RULE``: true, false where its absence may be believed, else unknown. ``first:RULE``: when it was said first; None where it was not."""
    found = signals_of(name, signals, rules, life)
    if name.startswith(FIRST):
        return point_of(found[0]) if found else None
    if found:
        return True
    rule = rules.rule(name.removeprefix(SEEN))
    return False if rule is not None and _absent(rule, placed, facts, life) else None


def point_of(signal: Signal) -> Point:
    """When and where a signal was said."""
    return Point(signal.at, signal.record.source if signal.record is not None else "", signal.order)


def _absent(rule: Rule, placed: Sequence[Placed], facts: Facts, life: Life) -> bool:
    """Whether a line that was not seen was not said. A journal in which the server is not heard says nothing about its lines: they may go to a file."""
    kinds = _WHOLE.get(rule.from_, ("journal", "log"))
    if not any(facts.coverage.get(kind) is Coverage.READ for kind in kinds):
        return False
    return rule.from_ in _WHOLE or any(p.life == life.index and p.seen.record.origin is Origin.SERVER for p in placed)

"""Turn the placed lines of rules into signals: with the phase that they mean, and without those that a life's server, its version or another line speaks against.

Weighs no signal.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from forensics.model import Evidence, Life, Phase, Record, Role, Signal
from forensics.reason.join import Around, asks, holds
from forensics.reason.lives import Placed
from forensics.ruleset.schema import Rule
from forensics.ruleset.sequence import place
from forensics.ruleset.versions import may_be

KEPT_TEXT = 2000  # characters of a cited line
TOLD_S = 5.0  # a traceback is printed at once
AHEAD = 64  # placed lines that are looked at after one


def evidence(record: Record, rule: str | None = None, role: Role | None = None) -> Evidence:
    """Cite a record."""
    return Evidence(
        source=record.source, line=record.line_no, text=record.text[:KEPT_TEXT], at=record.at, rule=rule, role=role, rank=record.rank or None
    )


class _Heads:
    """The lines that open a record and that a rule knows, by their place: what a rank wrote below one belongs to it."""

    def __init__(self, placed: Sequence[Placed]) -> None:
        self._at: dict[tuple[str, int, int], Placed] = {}
        for p in placed:
            frame = p.seen.hit.frame
            if p.rule is not None and frame.record is not None and frame.record == place(frame):
                self._at.setdefault((frame.source, frame.record, p.life), p)

    def began(self, placed: Placed) -> int | None:
        """The order of the line that opened what a line belongs to; None where that is the line itself, or was said long before."""
        frame, at = placed.seen.hit.frame, placed.seen.record.at
        head = self._at.get((frame.source, frame.record, placed.life)) if frame.record is not None else None
        if head is None or head.seen.hit.frame.line_no == frame.line_no:
            return None
        before = head.seen.record.at
        return head.order if at is None or before is None or 0 <= at - before <= TOLD_S else None


def signals(around: Around) -> list[tuple[Placed, Signal]]:
    """The placed lines that count, in their order, without those that a harmless rule claims as a whole."""
    quoted = _quoted(around.placed, around.lives)
    return [(placed, signal) for placed, signal in _said(around) if not _only_quoted(signal, quoted)]


def _said(around: Around) -> list[tuple[Placed, Signal]]:
    """First those of rules that ask for no other, then those that do."""
    heads = _Heads(around.placed)
    asking = {rule.id for rule in around.rules.rules if asks(rule)}
    found = [
        (p, s) for p in around.placed if p.rule is not None and p.rule.id not in asking and (s := _signal(p, p.rule, around, (), heads)) is not None
    ]
    if not asking:
        return found
    said = [signal for _, signal in found]
    found += [
        (p, s) for p in around.placed if p.rule is not None and p.rule.id in asking and (s := _signal(p, p.rule, around, said, heads)) is not None
    ]
    return sorted(found, key=lambda pair: pair[1].order)


def _signal(placed: Placed, rule: Rule, around: Around, said: Sequence[Signal], heads: _Heads) -> Signal | None:
    life = around.lives[placed.life]
    record = placed.seen.record
    asserted = rule.phase
    if rule.server and life.server is not None and life.server not in rule.server:
        return None
    if not may_be(life.version, since=rule.since, until=rule.until):
        return None
    phase = placed.phase
    if asserted in (Phase.READY, Phase.SERVING) and placed.assumed:
        asserted = phase  # what follows the last mark is nearer to the truth than what such a fault mostly breaks
    elif asserted is not None and phase not in (None, asserted) and _comes_to(placed, asserted, around):
        phase = asserted
    certain = True
    if rule.only_in:
        if phase is None:
            certain = False
        elif not _fits(phase, rule):
            return None
    if not holds(rule, placed, around, said):
        return None
    return Signal(
        rule=rule.id,
        role=rule.role,
        cause=rule.cause,
        life=life.index,
        rank=record.rank or None,
        phase=asserted if asserted is not None and (phase is None or placed.assumed) else phase,
        at=record.at,
        record=record,
        lines=(evidence(record, rule.id, rule.role),),
        captures=placed.seen.hit.captures,
        certain=certain,
        order=placed.order,
        began=heads.began(placed),
    )


def _comes_to(placed: Placed, phase: Phase, around: Around) -> bool:
    """Whether the rank's own lines say within a moment that it had come to a phase: errors have a stream of their own, and may arrive before what they follow."""
    record = placed.seen.record
    at = bisect_left(around.placed, placed.order, key=lambda p: p.order)
    for later in around.placed[at : at + AHEAD]:
        other = later.seen.record
        if later.life != placed.life or other.rank != record.rank or other.source != record.source or later.mark is None:
            continue
        if record.at is not None and other.at is not None and other.at - record.at > 1.0:
            return False
        if later.phase is phase:
            return True
    return False


def _quoted(placed: Sequence[Placed], lives: Sequence[Life]) -> dict[tuple[str, int], set[str]]:
    """Lines that a harmless rule claims as a whole, with the causes that no word in them may speak for.

    What is harmless in one server's words may end another, so a rule of named servers claims nothing where the life is not known to be one of theirs.
    """
    found: dict[tuple[str, int], set[str]] = {}
    for p in placed:
        rule = p.rule
        if rule is not None and rule.role is Role.BENIGN and rule.over and (not rule.server or lives[p.life].server in rule.server):
            found.setdefault((p.seen.record.source, p.seen.record.line_no), set()).update(rule.over)
    return found


def _only_quoted(signal: Signal, quoted: dict[tuple[str, int], set[str]]) -> bool:
    record = signal.record
    return record is not None and signal.cause is not None and str(signal.cause) in quoted.get((record.source, record.line_no), ())


def _fits(phase: Phase, rule: Rule) -> bool:
    if phase in rule.only_in:
        return True
    # a server that says it is ready serves from then on, whether or not a request has shown it
    return phase in (Phase.READY, Phase.SERVING) and bool({Phase.READY, Phase.SERVING} & set(rule.only_in))

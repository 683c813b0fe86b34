"""Try one line rule, mark or figure on frames: what it takes, what it captures, what it only just misses. Never looks at facts: ``where`` is left to a diagnosis."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from forensics.model import Frame, Hit, Noun, Origin, Role
from forensics.ruleset import quantities
from forensics.ruleset.anchors import shape
from forensics.ruleset.scan import MAX_TEXT, Matcher
from forensics.ruleset.schema import Figure, Mark, Profile, Rule, RuleSet

Line = Rule | Mark | Figure


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Taken(Noun):
    """One line that it takes, or nearly takes: then ``why`` says what is in the way."""

    source: str
    line_no: int
    text: str
    captures: tuple[tuple[str, str], ...] = ()
    why: str = ""


class Trial:
    """One expression, ready to be tried."""

    def __init__(self, item: Line) -> None:
        self.item = item
        self.origin = Origin.SERVER if isinstance(item, Figure) else item.from_
        self._matcher = Matcher(_alone(item))
        self._anchors = [anchor.text.encode() for anchor in shape(item.line or "").anchors]
        self._loose = re.compile(item.line or "", re.IGNORECASE)

    def may_take(self, key: bytes) -> bool:
        """Whether a line can be of interest; ``key`` is the line without its ASCII digits."""
        lowered = key.lower()
        return any(anchor in lowered for anchor in self._anchors)

    def look(self, frame: Frame) -> Taken | None:
        """What is to be said of a line; None for one that has nothing to do with it."""
        for hit in self._hits(frame):
            return Taken(source=frame.source, line_no=frame.line_no, text=hit.frame.text, captures=self._said(hit.captures))
        why = self._missed(frame)
        return Taken(source=frame.source, line_no=frame.line_no, text=frame.text, why=why) if why else None

    def _said(self, captures: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        """Each capture as it stands in the line; where the rule gives it a type, what that makes of it."""
        types = self.item.captures if isinstance(self.item, Rule) else {}
        return tuple((name, repr(text) if name not in types else _typed(text, types[name])) for name, text in captures.items())

    def _hits(self, frame: Frame) -> list[Hit]:
        """Of its own line: those that it asks for before and after are for a diagnosis to find."""
        return [hit for hit in self._matcher.feed(frame) if hit.rule == self.item.id]

    def _missed(self, frame: Frame) -> str:
        """Why a line that holds the literal text is not taken."""
        if not self.may_take(frame.text.encode("utf-8", "replace").translate(None, b"0123456789")):
            return ""
        if self._hits(frame._replace(origin=self.origin)):
            return (
                f"written by {frame.origin}, and it is 'from: {self.origin}'"
                if frame.origin is not Origin.ANY
                else f"nothing says that {self.origin} wrote it"
            )
        if len(frame.text) > MAX_TEXT:
            return f"only the first {MAX_TEXT} characters of a line are matched"
        if self._loose.search(frame.text):
            return "upper and lower case differ: (?i) takes both"
        return "it holds the literal text, and the expression asks for more"


def _typed(text: str, type_: str) -> str:
    value = quantities.read(text, type_)
    return f"{text!r}, which is no {type_}: unknown" if value is None else f"{quantities.shown(value, type_)} ({type_}, of {text!r})"


def _alone(item: Line) -> RuleSet:
    """A set with nothing else in it."""
    if isinstance(item, Rule):
        return RuleSet(rules=(item,), profiles=())
    if isinstance(item, Mark):
        return RuleSet(rules=(), profiles=(Profile(name=item.profile, marks=(item,)),))
    return RuleSet(rules=(Rule(id=item.id, role=Role.CONTEXT, line=item.line, from_=Origin.SERVER),), profiles=())

"""Expressions to look for, each with what is known of it, and the matching of one line. Never sees a block and remembers no line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from forensics.model import Frame, Hit, MarkKind, Origin
from forensics.ruleset.anchors import blind, ends_anywhere, figures, looks_ahead, shape
from forensics.ruleset.index import DIGITS, Index
from forensics.ruleset.literals import Literals, Search
from forensics.ruleset.prefixes import Prefixes
from forensics.ruleset.schema import RuleSet
from forensics.ruleset.sequence import KEEP, asked_by, keep_of

MAX_TEXT = 8 << 10  # characters of a message that are matched
_MAX_ARGUMENTS = 64 << 10  # a server's whole configuration is one line
_MAX_PIECES = 256 << 10
_MAX_PLACES = 8
_MORE = (1, 2, 4, 8, 16)  # characters


@dataclass(kw_only=True, slots=True, eq=False, repr=False)
class Item:
    """One expression to look for: of a rule, a mark or a figure."""

    number: int  # its place among all
    id: str
    line: str
    origin: Origin
    keep: int
    last_piece: bool
    limit: int
    compiled: re.Pattern[str] | None = None
    figures: list[re.Pattern[bytes]] | None = None
    any_digit: bool = False
    blind: re.Pattern[str] | None = None
    blinded: bool = False
    ends_anywhere: bool | None = None
    looks_ahead: bool = True

    def search(self, text: str) -> re.Match[str] | None:
        if self.compiled is None:
            self.compiled = re.compile(self.line)
        return self.compiled.search(text)

    def places(self, shape_: bytes) -> set[tuple[int, int]] | None:
        """Where the digits of a line of this shape matter; None where that may be anywhere."""
        if self.figures is None:
            texts = figures(shape(self.line).tree)
            self.any_digit = texts is None
            self.figures = [re.compile(b"(?=(" + re.escape(text.encode()) + b"))") for text in texts or ()]  # they may overlap
        if self.any_digit:
            return None
        spans = {found.span(1) for figure in self.figures for found in figure.finditer(shape_)}
        return spans if len(spans) <= _MAX_PLACES else None

    def possible(self, text: str) -> bool:
        """Whether some line can match that has this text but for its digits, which are all 0 here; True where that cannot be told."""
        if not self.blinded:
            self.blind = blind(self.line)
            self.blinded = True
        return self.blind is None or self.blind.search(text) is not None

    def stays(self, text: str, length: int) -> bool:
        """Whether a match in this text is one whatever stands behind its first ``length`` characters."""
        if self.ends_anywhere is None:
            tree = shape(self.line).tree
            self.ends_anywhere, self.looks_ahead = ends_anywhere(tree), looks_ahead(tree)
        if self.ends_anywhere:
            return self.search(text[:length]) is not None
        found = None if self.looks_ahead else self.search(text[: self.limit])
        return found is not None and found.end() < length

    def wants(self, text: str, length: int) -> int:
        """By how many characters more it might be told; 0 where it does not match, or by none."""
        found = self.search(text[: self.limit])
        if found is None:
            return 0
        if self.ends_anywhere:
            return next((more for more in _MORE if self.search(text[: length + more]) is not None), 0)
        return max(0, found.end() + 1 - length)

    def takes(self, origin: Origin) -> bool:
        return self.origin is Origin.ANY or origin is self.origin or (self.origin is Origin.SERVER and origin is Origin.ANY)

    def match(self, frame: Frame) -> Hit | None:
        """The hit, with the piece that matched as its text: a progress bar writes many on one line, and its last says most."""
        if not self.takes(frame.origin):
            return None
        if "\r" not in frame.text:
            found = self.search(frame.text[: self.limit])
            return Hit(self.id, frame, _captures(found)) if found else None
        pieces = _pieces(frame.text)
        for piece in reversed(pieces) if self.last_piece else pieces:
            found = self.search(piece[: self.limit])
            if found:
                return Hit(self.id, frame._replace(text=piece), _captures(found))
        return None


def _captures(found: re.Match[str]) -> dict[str, str]:
    return {name: text for name, text in found.groupdict().items() if text is not None}


def _pieces(text: str) -> list[str]:
    if len(text) > _MAX_PIECES:
        text = text[: _MAX_PIECES // 2] + "\r" + text[-_MAX_PIECES // 2 :]
    return [piece for piece in text.split("\r") if piece]


class Matcher:
    """All expressions of a rule set, ready to be looked for; may be kept and used again. ``feed`` takes one line at a time.

    ``search`` says by which of two ways lines are found that were never seen before, ``table`` whether lines that were seen are found again by a table in C, if
    there is one. All ways find the same.
    """

    def __init__(self, rules: RuleSet, *, search: Search = Search.AUTO, table: bool = True) -> None:
        self.table = table
        self.items = [item_of(number, *given) for number, given in enumerate(_lines(rules))]
        self.prefixes = Prefixes(rules.prefixes)
        anchors = [rules.anchors_of(item.line) for item in self.items]
        self.index = Index(anchors)
        self.literals = Literals(anchors, self.index, search)

    def feed(self, frame: Frame) -> list[Hit]:
        """The hits of one line, in the order of the rules."""
        return self.matches(frame, self.index.candidates(frame.text.encode("utf-8", "replace").translate(None, DIGITS)))

    def matches(self, frame: Frame, numbers: Iterable[int]) -> list[Hit]:
        """The hits among some expressions."""
        found = (self.items[number].match(frame) for number in numbers)
        return [hit for hit in found if hit is not None]

    def candidates(self, keys: list[bytes], *, keep: bool = True) -> list[tuple[int, ...]]:
        """Of many lines without their ASCII digits, the numbers of the expressions that each may match. ``keep``: they may come again."""
        if not self.literals.worth(sum(map(len, keys))):
            look = self.index.candidates if keep else self.index.look
            return [look(key) for key in keys]
        known = list(map(self.index.lines.get, keys))
        new = [at for at, numbers in enumerate(known) if numbers is None]
        for at, numbers in zip(new, self.literals.find([keys[at] for at in new], self.index.look), strict=True):
            known[at] = numbers
        return [numbers or () for numbers in known]


Given = tuple[str, str, Origin, int, "MarkKind | None"]


def _lines(rules: RuleSet) -> Iterator[Given]:
    for rule in rules.rules:
        if rule.line:
            yield rule.id, rule.line, rule.from_, keep_of(rule), None
            for asked in asked_by(rule):  # taken away again as the hits are joined
                yield asked.id, asked.line, rule.from_, KEEP, None
    for profile in rules.profiles:
        for mark in profile.marks:
            yield mark.id, mark.line, mark.from_, mark.keep, mark.kind
        for figure in profile.figures:
            yield figure.id, figure.line, Origin.SERVER, figure.keep, None


def item_of(number: int, id_: str, line: str, origin: Origin, keep: int, kind: MarkKind | None) -> Item:
    """An expression; ``kind`` where it is a mark's."""
    limit = _MAX_ARGUMENTS if kind is MarkKind.ARGUMENTS else MAX_TEXT
    return Item(number=number, id=id_, line=line, origin=origin, keep=keep, last_piece=kind is MarkKind.PROGRESS, limit=limit)

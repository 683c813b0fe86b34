"""Find the lines that rules, marks and figures match. Never judges a hit and never opens a line that cannot match.

A block's lines are decided on without their digits (``index``); only candidates become frames. Lines of one pattern that come by the hundred thousand
are counted by their shape (every digit the same) and opened only if they are among the first or last of their rule.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from forensics.model import Frame, Hit, MarkKind, Origin, PartKind
from forensics.ruleset.anchors import figures, shape
from forensics.ruleset.index import DIGITS, Index
from forensics.ruleset.schema import RuleSet

MAX_TEXT = 8 << 10  # characters of a message that are matched
_MAX_ARGUMENTS = 64 << 10  # a server's whole configuration is one line
_MAX_PIECES = 256 << 10
_MAX_SHAPES = 16_384
_MAX_OUTCOMES = 1024  # of one shape
_MAX_ALL_OUTCOMES = 65_536
_MAX_PLACES = 8
_LONGEST_SHAPE = 2048
_ZEROS = bytes(48 if 48 <= c <= 57 else c for c in range(256))


class Block(Protocol):
    """A run of lines (or entries) of one part of one section; ``keys`` are the lines without their ASCII digits."""

    @property
    def source(self) -> str: ...
    @property
    def part(self) -> PartKind: ...
    @property
    def first_line(self) -> int: ...
    @property
    def data(self) -> bytes: ...
    @property
    def keys(self) -> Sequence[bytes]: ...
    def frame(self, i: int) -> Frame:
        """Open line ``i`` of the block."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ScanResult:
    """The hits kept, by source in order of arrival and by line; ``counts`` is exact, by rule id, and knows all."""

    hits: list[Hit]
    counts: dict[str, int]


@dataclass(kw_only=True, slots=True)
class _Item:
    """One expression to look for: of a rule, a mark or a figure."""

    id: str
    line: str
    origin: Origin
    keep: int
    last_piece: bool
    limit: int
    compiled: re.Pattern[str] | None = None
    figures: list[re.Pattern[bytes]] | None = None
    any_digit: bool = False

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
    """All expressions of a rule set, ready to be looked for; may be kept and used again. ``feed`` takes one line at a time."""

    def __init__(self, rules: RuleSet) -> None:
        self.items = list(_items(rules))
        self.index = Index([shape(item.line).anchors for item in self.items])

    def feed(self, frame: Frame) -> list[Hit]:
        """The hits of one line, in the order of the rules."""
        return self.matches(frame, self.index.candidates(frame.text.encode("utf-8", "replace").translate(None, DIGITS)))

    def matches(self, frame: Frame, numbers: Iterable[int]) -> list[Hit]:
        """The hits among some expressions."""
        found = (self.items[number].match(frame) for number in numbers)
        return [hit for hit in found if hit is not None]


def _items(rules: RuleSet) -> Iterator[_Item]:
    for rule in rules.rules:
        if rule.line:
            yield _item(rule.id, rule.line, rule.from_, rule.keep)
    for profile in rules.profiles:
        for mark in profile.marks:
            yield _item(mark.id, mark.line, mark.from_, mark.keep, mark.kind)
        for figure in profile.memory.figures if profile.memory else ():
            yield _item(figure.id, figure.line, Origin.SERVER, 200)


def _item(id_: str, line: str, origin: Origin, keep: int, kind: MarkKind | None = None) -> _Item:
    limit = _MAX_ARGUMENTS if kind is MarkKind.ARGUMENTS else MAX_TEXT
    return _Item(id=id_, line=line, origin=origin, keep=keep, last_piece=kind is MarkKind.PROGRESS, limit=limit)


class _Known(NamedTuple):
    """What lines of one shape do. Figures that expressions ask for (``" 404"``) can stand in a few places of a shape only: what stands there decides."""

    steady: tuple[int, ...]  # expressions of which that is true
    places: tuple[slice, ...]
    outcomes: dict[bytes, tuple[int, ...]]  # what stands in the places → those of ``steady`` that match
    open: tuple[int, ...]  # expressions to be tried on every line
    start: int  # of the message


Found = dict[int, list[int]]  # number of an expression → lines of a block that it matches
Kept = tuple[int, int, Hit]  # line, number of the expression, hit


@dataclass(kw_only=True, slots=True)
class _Source:
    """The hits of one source: the first of each expression, and a ring of the last. At most two blocks are held."""

    seen: dict[int, int] = field(default_factory=dict)
    first: list[Kept] = field(default_factory=list)
    last: dict[int, deque[Kept]] = field(default_factory=dict)
    waiting: tuple[Block, Found] | None = None


class _Scan:
    def __init__(self, matcher: Matcher) -> None:
        self.index = matcher.index
        self.items = matcher.items
        self.sources: dict[str, _Source] = {}
        self.shapes: dict[bytes, _Known] = {}
        self.outcomes = 0  # kept beyond the first of each shape
        self.shapes_of: tuple[str, PartKind] | None = None
        self.current: _Source | None = None

    def block(self, block: Block) -> None:
        """Take one block. The loop is the program's hottest: one look-up a line, and two more where a line has been seen but for its digits."""
        source = self._source(block)
        found: Found = {}
        opened: dict[int, Frame] = {}
        raw: Callable[[int], bytes] | None = None
        shapes, keys = self.shapes, block.keys
        for i, numbers in enumerate(map(self.index.lines.get, keys)):
            if numbers is None:
                numbers = self.index.candidates(keys[i])
            if not numbers:
                continue
            raw = raw or _raw(block)
            line = raw(i)
            shape_ = line.translate(_ZEROS)
            known = shapes.get(shape_)
            if known is None:
                self._open(block, i, numbers, line, shape_, found, opened)
                continue
            digits = b"".join([line[place] for place in known.places]) if known.places else b""
            sure = known.outcomes.get(digits)
            if sure is None:
                sure = self._decide(known, line, digits)
            for number in sure:
                found.setdefault(number, []).append(i)
            for number in self._search(known, line, known.open) if known.open else ():
                found.setdefault(number, []).append(i)
        self._keep(source, block, found, opened)

    def _source(self, block: Block) -> _Source:
        source = self.sources.get(block.source)
        if source is None:
            source = self.sources[block.source] = _Source()
        if self.current is not None and self.current is not source:
            self._settle(self.current, {})
        self.current = source
        if self.shapes_of != (block.source, block.part):  # where a message begins differs from source to source
            self.shapes.clear()
            self.shapes_of = (block.source, block.part)
        return source

    def _open(self, block: Block, i: int, numbers: tuple[int, ...], line: bytes, shape_: bytes, found: Found, opened: dict[int, Frame]) -> None:
        frame = opened[i] = block.frame(i)
        hits = [number for number in numbers if self.items[number].match(frame) is not None]
        for number in hits:
            found.setdefault(number, []).append(i)
        if 0 < len(line) <= _LONGEST_SHAPE:
            self._learn(shape_, line, frame, numbers, hits)

    def _learn(self, shape_: bytes, line: bytes, frame: Frame, numbers: tuple[int, ...], hits: list[int]) -> None:
        """Remember what lines of this shape do, where the message is the plain end of the line and its origin cannot hang on a digit or on lines above."""
        text = frame.text.encode("utf-8", "replace")
        start = len(line) - len(text)
        if b"\r" in line or not line.endswith(text) or frame.origin in (Origin.SYSTEMD, Origin.KERNEL) or frame.ident.startswith("systemd"):
            return
        if self.shapes_of is None or (self.shapes_of[1] is PartKind.JOURNAL_TEXT and not line[:start].strip()):
            return  # a further line of a message: who wrote it stands above
        if len(self.shapes) >= _MAX_SHAPES or self.outcomes >= _MAX_ALL_OUTCOMES:
            self.shapes.clear()
            self.outcomes = 0
        steady: list[int] = []
        open_: list[int] = []
        spans: set[tuple[int, int]] = set()
        for number in numbers:
            item = self.items[number]
            if item.takes(frame.origin):
                places = item.places(shape_)
                (open_ if places is None else steady).append(number)
                spans |= places or set()
        ordered = tuple(slice(*span) for span in sorted(spans))
        outcome = tuple(number for number in steady if number in hits)
        outcomes = {b"".join([line[place] for place in ordered]): outcome}
        self.shapes[shape_] = _Known(steady=tuple(steady), places=ordered, outcomes=outcomes, open=tuple(open_), start=start)

    def _decide(self, known: _Known, line: bytes, digits: bytes) -> tuple[int, ...]:
        outcome = tuple(self._search(known, line, known.steady))
        if len(known.outcomes) < _MAX_OUTCOMES:
            known.outcomes[digits] = outcome
            self.outcomes += 1
        return outcome

    def _search(self, known: _Known, line: bytes, numbers: tuple[int, ...]) -> Iterator[int]:
        text = line[known.start :].decode("utf-8", "replace")
        for number in numbers:
            item = self.items[number]
            if item.search(text[: item.limit]):
                yield number

    def _keep(self, source: _Source, block: Block, found: Found, opened: dict[int, Frame]) -> None:
        """Keep the first hits now; the others wait, since later ones may push them out."""
        late: Found = {}
        for number, lines in found.items():
            item, seen = self.items[number], source.seen.get(number, 0)
            source.seen[number] = seen + len(lines)
            room = max(0, item.keep - seen)
            source.first += self._hits(block, lines[:room], number, opened)
            if len(lines) > room:
                late[number] = lines[room:][-item.keep :]
        self._settle(source, late)
        source.waiting = (block, late)

    def _settle(self, source: _Source, newer: Found) -> None:
        """Open the waiting lines of the block before, unless newer ones have pushed them out."""
        block, late = source.waiting or (None, {})
        source.waiting = None
        opened: dict[int, Frame] = {}
        for number, lines in late.items():
            item = self.items[number]
            room = item.keep - len(newer.get(number, ()))
            if block is not None and room > 0:
                source.last.setdefault(number, deque(maxlen=item.keep)).extend(self._hits(block, lines[-room:], number, opened))

    def _hits(self, block: Block, lines: list[int], number: int, opened: dict[int, Frame]) -> Iterator[Kept]:
        for i in lines:
            frame = opened.get(i) or opened.setdefault(i, block.frame(i))
            hit = self.items[number].match(frame)
            if hit is not None:
                yield frame.line_no, number, hit

    def result(self) -> ScanResult:
        """The hits kept, and the counts."""
        if self.current is not None:
            self._settle(self.current, {})
        hits: list[Hit] = []
        counts: dict[str, int] = {}
        for source in self.sources.values():
            kept = source.first + [entry for ring in source.last.values() for entry in ring]
            hits += [hit for _, _, hit in sorted(kept, key=_by_line)]
            for number, seen in source.seen.items():
                counts[self.items[number].id] = counts.get(self.items[number].id, 0) + seen
        return ScanResult(hits=hits, counts=counts)


def _by_line(entry: tuple[int, int, Hit]) -> tuple[int, int]:
    return entry[0], entry[1]


def _raw(block: Block) -> Callable[[int], bytes]:
    """The lines of a block as they stand, by number; empty for what has to be opened. A block of journal entries gives them itself, if it can."""
    own: Callable[[int], bytes] | None = getattr(block, "raw", None)
    if own is not None:
        return own
    if block.part not in (PartKind.JOURNAL_EXPORT, PartKind.JOURNAL_JSON):
        lines = block.data.split(b"\n")
        if 0 <= len(lines) - len(block.keys) <= 1:
            return lines.__getitem__
    return _no_line


def _no_line(_: int) -> bytes:
    return b""


def scan(blocks: Iterable[Block], rules: RuleSet | Matcher) -> ScanResult:
    """Scan blocks for all line rules, marks and figures. Of each rule and source the first and the last ``keep`` hits are kept."""
    matcher = rules if isinstance(rules, Matcher) else Matcher(rules)
    work = _Scan(matcher)
    for block in blocks:
        work.block(block)
    return work.result()


def scan_lines(texts: Iterable[str], rules: RuleSet | Matcher, origin: Origin = Origin.ANY, *, source: str = "-") -> ScanResult:
    """Scan messages that carry no prefix; for samples and for trying a rule. Everything is kept."""
    matcher = rules if isinstance(rules, Matcher) else Matcher(rules)
    hits: list[Hit] = []
    counts: dict[str, int] = {}
    for line_no, text in enumerate(texts, start=1):
        for hit in matcher.feed(Frame(source=source, line_no=line_no, start=0, text=text, origin=origin)):
            hits.append(hit)
            counts[hit.rule] = counts.get(hit.rule, 0) + 1
    return ScanResult(hits=hits, counts=counts)

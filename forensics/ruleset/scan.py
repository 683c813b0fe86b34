"""Find the lines that rules, marks and figures match. Never judges a hit and never opens a line that cannot match.

Lines that are the same but for their digits are of one shape. What a shape does is found out once (``learnt``); after that its lines cost one look-up each,
and are opened only if they are among the first or last of their rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from io import BytesIO
from itertools import chain, compress, islice
from operator import not_
from typing import NamedTuple

from forensics.model import Frame, PartKind
from forensics.ruleset.alike import AVAILABLE, Alike, Fresh
from forensics.ruleset.heads import Heads
from forensics.ruleset.kept import Keeper, Opened, ScanResult
from forensics.ruleset.learnt import LONGEST, ZEROS, Doubt, Plan, plan, uneven
from forensics.ruleset.lines import Block, Lines, tell, zeroed_of
from forensics.ruleset.literals import MANY, Search
from forensics.ruleset.matcher import MAX_TEXT, Item, Matcher
from forensics.ruleset.schema import RuleSet
from forensics.ruleset.shapes import COLD, Found, Shape, of

__all__ = ["MAX_TEXT", "Block", "Matcher", "ScanResult", "Scanner", "Search", "scan"]

_MAX_BYTES = 24 << 20  # of the shapes that are remembered
_MOST_NEW = 512  # shapes of a block that are remembered, where most of the last block were new: text that never comes again is not worth its memory
_OF_AN_ENTRY = 200  # bytes that a shape takes besides its own
_LEAST_FIRST = 64  # lines of a block by which it is told whether most of it is new
_FEW = 8  # lines of one shape that are opened before it is worth a plan …
_SMALL = 256  # … unless so many have been opened: this is no small log


class _New(NamedTuple):
    """The lines of a block that may match, where most are new."""

    touched: list[Shape]  # that were known before, or have a head
    fresh: dict[bytes, Shape]  # whole lines
    whose: dict[int, Shape]  # line → its shape by its head
    more: dict[int, set[int]]  # line → expressions that it may match besides


class Scanner:
    """Scans for all line rules, marks and figures. What it has learnt of a source's lines it still knows when more of the same is scanned."""

    def __init__(self, rules: RuleSet | Matcher) -> None:
        matcher = rules if isinstance(rules, Matcher) else Matcher(rules)
        self.matcher = matcher
        self.items = matcher.items
        self.shapes: dict[bytes, Shape] = {}
        self.alike = Alike() if matcher.table and AVAILABLE else None
        self.heads = Heads(matcher)  # of lines that are new but for these
        self.bytes = 0
        self.fleeting = False  # most lines of the last block were new
        self.looked = 0  # lines that were opened one by one
        self.shapes_of: tuple[str, PartKind] | None = None
        self.kept = Keeper(self.items)

    def scan(self, blocks: Iterable[Block], *, begun: Collection[str] = ()) -> ScanResult:
        """Scan some blocks. Of each rule and source the first and the last ``keep`` hits are kept; of those that have ``begun`` as often before, only the last."""
        self.kept = Keeper(self.items, begun)
        for block in blocks:
            self.block(block)
        return self.kept.result()

    def often(self, result: ScanResult) -> frozenset[str]:
        """The expressions that were found as often as hits of them are kept."""
        alike = Counter(item.id for item in self.items)  # two expressions of one name are counted together
        return frozenset(item.id for item in self.items if alike[item.id] == 1 and result.counts.get(item.id, 0) >= item.keep)

    def block(self, block: Block) -> None:
        """Take one block."""
        self._enter(block)
        lined: bytes | None = getattr(block, "lined", None)
        lines = Lines(block)
        found: dict[int, Found] = {}
        opened: Opened = {}
        if lined is not None and (split := self._new_lines(block, len(lined))):
            self._take_new(block, self._by_head(block, split), lines, found, opened)
        elif lined is not None and self.alike is not None:
            for known, numbers in self._by_table(block, lined, lines, self.alike):
                self._take(block, known, numbers, lines, found, opened)
        else:
            for known in self._by_key(block, lines) if lined is None else self._by_shape(block):
                self._take(block, known, known[:], lines, found, opened)
                known.clear()
        self.kept.take(block, found, opened)
        release: Callable[[], None] | None = getattr(block, "release", None)
        if release is not None:
            release()

    def _enter(self, block: Block) -> None:
        self.kept.enter(block.source)
        if self.shapes_of != (block.source, block.part):  # where a message begins differs from source to source
            self._forget()
            self.shapes_of = (block.source, block.part)

    def _forget(self) -> None:
        self.shapes.clear()
        if self.alike is not None:
            self.alike.clear()
        self.heads.forget()
        self.bytes = 0
        self.fleeting = False

    def _by_table(self, block: Block, lined: bytes, lines: Lines, alike: Alike) -> list[tuple[Shape, Sequence[int]]]:
        """The shapes that may match, with their lines."""
        groups = alike.grouped(lined, self.shapes)
        count = len(groups.starts) - 1
        met = bool(groups.fresh) and self._meet(block, groups.fresh, count)
        if met:
            alike.clear()
        cut: Callable[[Sequence[int]], None] | None = getattr(block, "cut", None)
        if cut is not None:
            cut(groups.starts)
            lines.are(lined, groups.starts)
        tell(block, count, {}, rare=met)
        return [(known, numbers) for known, numbers in groups.of if known.numbers]

    def _by_shape(self, block: Block) -> list[Shape]:
        """The same without a table; the lines go to their shapes. The loop is the hottest there is then: one look-up a line.

        To read lines one by one costs a third of splitting: each is gone, and its memory free, before the next one comes.
        """
        zeroed = zeroed_of(block)
        touched: list[Shape] = []
        new: list[int] = []
        ends: dict[int, int] = {}  # line → where it ends
        cold = COLD
        stream = BytesIO(zeroed)
        i = -1
        for i, known in enumerate(map(self.shapes.get, stream)):
            if known:  # a shape that has been seen in this block
                known.append(i)
            elif known is None:
                new.append(i)
                ends[i] = stream.tell()
            elif known is not cold:
                touched.append(known)
                known.append(i)
                ends[i] = stream.tell()
        shapes = {i: zeroed[zeroed.rfind(b"\n", 0, ends[i] - 1) + 1 : ends[i]] for i in new}
        tell(block, i + 1, ends, rare=bool(new) and self._take_in(block, shapes, touched, i + 1))
        return touched

    def _take_in(self, block: Block, new: dict[int, bytes], touched: list[Shape], lines: int) -> bool:
        """Lines of shapes that were not seen before, or have been forgotten; as ``_meet`` says."""
        fresh: Fresh = {}
        for i, shape in new.items():
            if shape not in fresh:
                fresh[shape] = Shape(()), i
        met = self._meet(block, fresh, lines)
        for i, shape in new.items():
            known, _ = fresh[shape]
            if known.numbers:
                if not known:
                    touched.append(known)
                known.append(i)
        return met

    def _meet(self, block: Block, fresh: Fresh, lines: int) -> bool:
        """Find out what shapes may match that were not seen before, or have been forgotten. Says whether some have the text that is rare; such are forgotten at once."""
        joined = b"".join(fresh)
        keys = [block.keys[i] for _, i in fresh.values()] if b"\x1b" in joined else joined[:-1].translate(None, b"0").split(b"\n")
        for (known, _), numbers in zip(fresh.values(), self.matcher.candidates(keys, keep=not self.fleeting), strict=True):
            known.numbers = numbers
        rare: bytes = getattr(block, "rare", b"")
        met = bool(rare) and rare in joined
        self.fleeting = self.fleeting or (len(joined) > MANY and len(fresh) > lines // 2)
        self._remember({shape: known for shape, (known, _) in fresh.items() if not (met and rare in shape)})
        return met

    def _new_lines(self, block: Block, size: int) -> list[bytes]:
        """The lines of a block, with all digits as 0, if most of the first ones are new, as most of the last block were; else none."""
        if not self.fleeting and (self.shapes or size < MANY):
            return []
        lines = BytesIO(zeroed_of(block)).readlines()
        first = lines[: max(_LEAST_FIRST, len(lines) // 8)]
        shapes = self.shapes
        self.fleeting = sum(line not in shapes for line in set(first)) > len(first) // 2
        return lines if self.fleeting else []

    def _by_head(self, block: Block, lines: list[bytes]) -> _New:
        """The same where most lines are new, by their heads."""
        zeroed = zeroed_of(block)
        touched: list[Shape] = []
        apart = {i: line for i, line in enumerate(lines) if uneven(line)} if uneven(zeroed) else {}
        even = lines
        if apart:
            even = lines[:]
            for i in apart:
                even[i] = b"\n"
        whose, more, headless = self.heads.searched(even, touched)
        fresh: dict[bytes, Shape] = {}
        for i, numbers in headless.items():
            if not self._is_known(lines[i], i, touched):
                fresh.setdefault(lines[i], Shape(numbers)).append(i)
        rare: bytes = getattr(block, "rare", b"")
        if apart := {i: line for i, line in apart.items() if not self._is_known(line, i, touched)}:
            self._take_in(block, apart, touched, len(lines))
        self._remember({shape: known for shape, known in fresh.items() if not rare or rare not in shape})
        tell(block, len(lines), {}, rare=bool(rare) and rare in zeroed)
        return _New(touched, fresh, whose, more)

    def _is_known(self, line: bytes, i: int, touched: list[Shape]) -> bool:
        """Whether there is a shape for a line, which goes to it."""
        known = self.shapes.get(line)
        if known is not None and known is not COLD:
            if not known:
                touched.append(known)
            known.append(i)
        return known is not None

    def _take_new(self, block: Block, new: _New, lines: Lines, found: dict[int, Found], opened: Opened) -> None:
        """What new lines match. Once it is known what is taken off them, those that are like no others need not be opened."""
        heads = self.heads
        as_new = [(known.head, known) for known in new.touched if heads.as_new(known)]
        for known in (known for known in new.touched if not heads.as_new(known)):
            self._take(block, known, known[:], lines, found, opened)
            known.clear()
        for line, known in chain(as_new, new.fresh.items()):
            off = heads.instead(line)
            if off is None:
                self._take(block, known, known[:], lines, found, opened)
            else:
                for i in known:
                    new.whose[i] = off
                    new.more.setdefault(i, set()).update(known.numbers)
            known.clear()
        for i, numbers in new.more.items():
            self._take_more(block, i, new.whose[i], numbers, lines, found, opened)

    def _remember(self, fresh: dict[bytes, Shape]) -> None:
        most = _MOST_NEW if self.fleeting else len(fresh)
        for shape, known in islice(fresh.items(), most):
            if len(shape) <= LONGEST:
                if self.bytes > _MAX_BYTES:
                    self.shapes.clear()
                    self.bytes = 0
                self.bytes += len(shape) + _OF_AN_ENTRY
                self.shapes[shape] = known if known.numbers else COLD

    def _by_key(self, block: Block, raw: Lines) -> list[Shape]:
        """The same for a block that has no shapes at hand: of the lines whose key is hot."""
        keys = block.keys
        numbers = self.matcher.index.lines
        known_keys = list(map(numbers.get, keys))
        new = list(dict.fromkeys(key for key, known in zip(keys, known_keys, strict=True) if known is None))
        fresh = dict(zip(new, self.matcher.candidates(new), strict=True))
        hot = [i for i, known in enumerate(known_keys) if (fresh[keys[i]] if known is None else known)]
        touched: list[Shape] = []
        known_shapes = self.shapes
        lines = raw.read(hot)
        shapes = b"\n".join(lines).translate(ZEROS).split(b"\n") if lines else []
        if len(shapes) != len(lines):  # a line feed in a field that says who wrote it
            shapes = [line.translate(ZEROS) for line in lines]
        for i, shape in zip(hot, shapes, strict=True):
            shape_ = known_shapes.get(shape)
            if shape_ is None:
                known = known_keys[i]
                shape_ = Shape(fresh[keys[i]] if known is None else known)
                if shape:  # an empty one has to be opened
                    self._remember({shape: shape_})
            if not shape_:
                touched.append(shape_)
            shape_.append(i)
        return touched

    def _take(self, block: Block, known: Shape, numbers: Sequence[int], lines: Lines, found: dict[int, Found], opened: Opened) -> None:
        """What the lines of one shape match; the first ones are opened, to learn from them."""
        plan_ = known.plan
        if plan_ is None:
            for at, i in enumerate(numbers):
                if known.plan is not None:
                    numbers, plan_ = numbers[at:], known.plan
                    break
                self._open(block, known, i, lines, found, opened)
            else:
                return
        if plan_.only_if is not None:
            line, (place, value) = lines.get(), plan_.only_if
            for i in numbers:
                if line(i)[place] != value:
                    self._open(block, known, i, lines, found, opened)
            numbers = [i for i in numbers if line(i)[place] == value]
        if plan_.doubt is not None:
            numbers = self._undoubted(block, known, numbers, plan_.doubt, lines, found, opened)
        if plan_.always is not None:
            for number in plan_.always if numbers else ():
                of(found, number).add(numbers, alone=plan_.alone)
        else:
            for number, matched in plan_.tell(numbers, lines):
                of(found, number).add(matched, alone=plan_.alone)

    def _undoubted(
        self, block: Block, known: Shape, numbers: Sequence[int], doubt: Doubt, lines: Lines, found: dict[int, Found], opened: Opened
    ) -> list[int]:
        """Those lines whose messages begin where they should; the others are opened."""
        line = lines.get()
        begun = [doubt.begins(line(i)) for i in numbers]
        for i in compress(numbers, map(not_, begun)):
            self._open(block, known, i, lines, found, opened)
        return list(compress(numbers, begun))

    def _take_more(self, block: Block, i: int, known: Shape, numbers: set[int], lines: Lines, found: dict[int, Found], opened: Opened) -> None:
        """What a line matches besides what lines with its head do."""
        plan_ = known.plan
        if i not in opened and plan_ is not None:
            line = lines.get()(i)
            if plan_.doubt is None or known.numbers or plan_.doubt.begins(line):
                for number in sorted(numbers):
                    if plan_.asks(self.items[number]) and plan_.search(self.items[number], line):
                        of(found, number).add((i,), alone=plan_.alone)
                return
        frame, hits = opened.get(i) or opened.setdefault(i, (block.frame(i), {}))
        for number in sorted(numbers.difference(hits)):
            hits[number] = self.items[number].match(frame)
            if hits[number] is not None:
                of(found, number).add((i,))

    def _open(self, block: Block, known: Shape, i: int, lines: Lines, found: dict[int, Found], opened: Opened) -> None:
        frame = block.frame(i)
        hits = {number: self.items[number].match(frame) for number in known.numbers}
        opened[i] = frame, hits
        for number, hit in hits.items():
            if hit is not None:
                of(found, number).add((i,))
        self.looked += 1
        known.opened += 1
        if self.fleeting:
            line = lines.get()(i).removesuffix(b"\n")
            self.heads.opened(line.translate(ZEROS), known, lambda: self._plan(block, line, frame, [], bare=True))
        if known.plan is None and not known.odd and (known.opened >= _FEW or (self.looked >= _SMALL and (known.head or not self.fleeting))):
            line = lines.get()(i).removesuffix(b"\n")
            candidates = [self.items[number] for number in known.numbers]
            known.plan = self._plan(block, line, frame, candidates, cut=len(known.head))
            known.odd = known.plan is None
            if known.head:
                self.heads.learnt(known)

    def _plan(self, block: Block, line: bytes, frame: Frame, items: list[Item], *, cut: int = 0, bare: bool = False) -> Plan | None:
        plain: bool = getattr(block, "plain", False)
        return plan(line, frame, items, block.part, cut=cut, bare=bare, prefixes=self.matcher.prefixes, plain=plain)


def scan(blocks: Iterable[Block], rules: RuleSet | Matcher) -> ScanResult:
    """Scan blocks for all line rules, marks and figures. Of each rule and source the first and the last ``keep`` hits are kept."""
    return Scanner(rules).scan(blocks)

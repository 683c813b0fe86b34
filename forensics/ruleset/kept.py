"""Of each source and expression, keep the first and the last hits while blocks go by. Opens only lines that are kept; holds at most two blocks of a source."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from forensics.model import Frame, Hit, Noun
from forensics.ruleset.lines import Block
from forensics.ruleset.matcher import Item
from forensics.ruleset.shapes import Found


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class ScanResult(Noun):
    """The hits kept, by source in order of arrival and by line; ``counts`` is exact, by rule id, and knows all."""

    hits: list[Hit]
    counts: dict[str, int]


Opened = dict[int, tuple[Frame, dict[int, "Hit | None"]]]  # a line's frame, and what expressions made of it
Later = Callable[[], Frame]  # opens a line whose block has gone
Kept = tuple[int, int, "Hit | Later"]  # line, number of the expression, hit


@dataclass(kw_only=True, slots=True, eq=False, repr=False)
class _Source:
    """The hits of one source: the first of each expression, and a ring of the last. At most two blocks are held."""

    seen: dict[int, int] = field(default_factory=dict)
    first: list[Kept] = field(default_factory=list)
    last: dict[int, deque[Kept]] = field(default_factory=dict)
    waiting: tuple[Block, dict[int, Found], Opened] | None = None


class Keeper:
    """The hits of one scan. Of expressions that have ``begun`` as often before as they are kept, only the last ones."""

    def __init__(self, items: Sequence[Item], begun: Collection[str] = ()) -> None:
        self.items = items
        self._begun = begun
        self._sources: dict[str, _Source] = {}
        self._current: _Source | None = None

    def enter(self, name: str) -> None:
        """Blocks of this source come next."""
        source = self._sources.get(name)
        if source is None:
            source = self._sources[name] = _Source()
        if self._current is not None and self._current is not source:
            self._settle(self._current, {})
        self._current = source

    def take(self, block: Block, found: dict[int, Found], opened: Opened) -> None:
        """Take what was found in a block. The first hits are kept now; the others wait, since later ones may push them out."""
        assert self._current is not None, "a source was entered before"
        source = self._current
        late: dict[int, Found] = {}
        for number, of_it in found.items():
            item, seen = self.items[number], source.seen.get(number, 0)
            source.seen[number] = seen + of_it.count
            room = 0 if item.id in self._begun else max(0, item.keep - seen)
            if room:
                source.first += self._hits(block, of_it.lines()[:room], number, opened)
                of_it = of_it.beyond(room)
            if of_it.count:
                late[number] = of_it
        self._settle(source, late)
        # of what is not said all the time most will be kept: opened while the block is at hand
        for number in [number for number, of_it in late.items() if of_it.count <= self.items[number].keep // 2]:
            self._ring(source, number).extend(self._later(block, late.pop(number), number, opened))
        source.waiting = (block, late, opened)

    def _settle(self, source: _Source, newer: dict[int, Found]) -> None:
        """Open the waiting lines of the block before, unless newer ones have pushed them out."""
        block, late, opened = source.waiting or (None, {}, {})
        source.waiting = None
        for number, of_it in late.items():
            item = self.items[number]
            room = item.keep - (newer[number].count if number in newer else 0)
            if block is not None and room > 0:
                self._ring(source, number).extend(self._hits(block, of_it.lines()[-room:], number, opened))

    def _ring(self, source: _Source, number: int) -> deque[Kept]:
        ring = source.last.get(number)
        if ring is None:
            ring = source.last[number] = deque(maxlen=self.items[number].keep)
        return ring

    def _later(self, block: Block, of_it: Found, number: int, opened: Opened) -> Iterator[Kept]:
        """As ``_hits``, but what needs no line above is opened only if it is still kept at the end."""
        later: Callable[[int], Later] | None = getattr(block, "later", None)
        alone = of_it.alone() if later is not None else ()
        for i in of_it.lines():
            if later is not None and i in alone and i not in opened:
                yield block.first_line + i, number, later(i)
            else:
                yield from self._hits(block, [i], number, opened)

    def _hits(self, block: Block, lines: list[int], number: int, opened: Opened) -> Iterator[Kept]:
        for i in lines:
            frame, hits = opened.get(i) or opened.setdefault(i, (block.frame(i), {}))
            if number not in hits:
                hits[number] = self.items[number].match(frame)
            hit = hits[number]
            if hit is not None:
                yield frame.line_no, number, hit

    def result(self) -> ScanResult:
        """The hits kept, and the counts."""
        if self._current is not None:
            self._settle(self._current, {})
        hits: list[Hit] = []
        counts: dict[str, int] = {}
        for source in self._sources.values():
            kept = source.first + [entry for ring in source.last.values() for entry in ring]
            for _, number, hit in sorted(kept, key=_by_line):
                found = hit if isinstance(hit, Hit) else self.items[number].match(hit())
                if found is not None:
                    hits.append(found)
            for number, seen in source.seen.items():
                counts[self.items[number].id] = counts.get(self.items[number].id, 0) + seen
        return ScanResult(hits=hits, counts=counts)


def _by_line(entry: Kept) -> tuple[int, int]:
    return entry[0], entry[1]

"""Keep the first and last lines of each source while its blocks go by on their way to the scan. Never reads on its own; of each source it holds the last block or two.

The last lines are opened when they are asked for: until then nobody knows which block is the last one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from forensics.model import Frame, Problem, Record, Tail

FIRST = 5
LAST = 40
MOST_BLOCKS = 8


class Lines(Protocol):
    """What is needed of a block."""

    source: str
    keys: list[bytes]

    def frame(self, i: int) -> Frame:
        """Open line ``i`` of the block."""
        ...


B = TypeVar("B", bound=Lines)


class Ends:
    """The two ends of every source that was watched: its first ``FIRST`` and last ``keep`` lines that are not empty; and the problems of its blocks."""

    def __init__(self, keep: int = LAST, keep_first: int = FIRST) -> None:
        self.keep = keep
        self.keep_first = keep_first
        self.lines: dict[str, int] = {}
        self.first: dict[str, list[Frame]] = {}
        self.problems: list[Problem] = []
        self.blobs: dict[str, int] = {}
        self._held: dict[str, deque[Lines]] = {}
        self._last: dict[str, list[Frame]] | None = None

    def watch(self, blocks: Iterable[B]) -> Iterator[B]:
        """Pass the blocks on, noting their ends when the consumer has finished with each."""
        for block in blocks:
            yield block
            self._note(block)

    @property
    def last(self) -> dict[str, list[Frame]]:
        """The last lines of each source, in their order."""
        if self._last is None:
            self._last = {source: self._opened(held) for source, held in self._held.items()}
        return self._last

    def _note(self, block: Lines) -> None:
        source, count = block.source, len(block.keys)
        self.lines[source] = self.lines.get(source, 0) + count
        self.problems.extend(getattr(block, "problems", ()))
        if blobs := getattr(block, "blobs", 0):
            self.blobs[source] = self.blobs.get(source, 0) + blobs
        first = self.first.setdefault(source, [])
        for i in range(count):
            if len(first) >= self.keep_first:
                break
            if block.keys[i].strip():
                first.append(block.frame(i))
        held = self._held.setdefault(source, deque(maxlen=MOST_BLOCKS))
        if any(key.strip() for key in block.keys):  # of blank lines, or of digits alone, there may be any number
            held.append(block)
        while held and sum(map(_full, held)) - _full(held[0]) >= self.keep:
            held.popleft()
        self._last = None

    def _opened(self, held: Iterable[Lines]) -> list[Frame]:
        last: list[Frame] = []
        for block in reversed(list(held)):
            for i in range(len(block.keys) - 1, -1, -1):
                if len(last) == self.keep:
                    return last[::-1]
                if block.keys[i].strip():
                    last.append(block.frame(i))
        return last[::-1]

    def frames(self) -> Iterator[Frame]:
        """All lines that were kept."""
        for ends in (self.first, self.last):
            for kept in ends.values():
                yield from kept

    def tails(self, record: Callable[[Frame], Record], wanted: Callable[[Frame], bool] | None = None) -> dict[str, Tail]:
        """The ends as records; ``record`` reads their times, ``wanted`` leaves lines out."""
        return {
            source: Tail(
                source=source,
                lines=count,
                first=tuple(map(record, filter(wanted or _any, self.first[source]))),
                last=tuple(map(record, filter(wanted or _any, self.last[source]))),
            )
            for source, count in self.lines.items()
        }


def _any(_: Frame) -> bool:
    return True


def _full(block: Lines) -> int:
    """How many of a block's last lines are not empty; counts no further than it matters."""
    return sum(1 for key in block.keys[-4 * LAST :] if key.strip())


def watch(blocks: Iterable[B], *, keep: int = LAST) -> tuple[Iterator[B], Ends]:
    """The blocks to hand on, and the ends that will be known once they have gone by."""
    ends = Ends(keep)
    return ends.watch(blocks), ends

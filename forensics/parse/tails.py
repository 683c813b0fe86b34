"""Keep the first and last lines of each source while its blocks go by on their way to the scan. Never reads on its own; of each source it holds the last block or two.

The last lines are opened when they are asked for: until then nobody knows which block is the last one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol, TypeVar

from forensics.model import Frame, Problem, Record, Tail

FIRST = 5
LAST = 40
MOST_BLOCKS = 8


class Lines(Protocol):
    """What is needed of a block."""

    source: str
    keys: Sequence[bytes]

    def frame(self, i: int) -> Frame:
        """Open line ``i`` of the block."""
        ...


B = TypeVar("B", bound=Lines)


class Closed(NamedTuple):
    """What is kept of a block: its last lines, opened, and whether it had as many as matter."""

    frames: tuple[Frame, ...]
    full: int


Held = tuple["Lines | Closed", int]  # a block, and how many of its last lines are not empty


class Ends:
    """The two ends of every source that was watched: its first ``FIRST`` and last ``keep`` lines that are not empty; and the problems of its blocks."""

    def __init__(self, keep: int = LAST, keep_first: int = FIRST) -> None:
        self.keep = keep
        self.keep_first = keep_first
        self.lines: dict[str, int] = {}
        self.first: dict[str, list[Frame]] = {}
        self.problems: list[Problem] = []
        self.blobs: dict[str, int] = {}
        self.next_line: dict[str, int] = {}  # the number of the line that would come next
        self._held: dict[str, deque[Held]] = {}
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
        self.next_line[source] = getattr(block, "first_line", 1) + getattr(block, "lines", count)
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
            held.append((block, _full(block)))
        self._let_go(held)
        self._last = None

    def _let_go(self, held: deque[Held]) -> None:
        while held and sum(full for _, full in held) - held[0][1] >= self.keep:
            held.popleft()

    def close(self) -> None:
        """Open the last lines and let the blocks go: what is left can be handed to another process."""
        self._held = {
            source: deque(((Closed(tuple(self._opened([(block, full)])), full), full) for block, full in held), maxlen=MOST_BLOCKS)
            for source, held in self._held.items()
        }

    def add(self, later: Ends, shift: int) -> None:
        """Take over what was noted of lines that come after these, and are ``shift`` more lines down than counted."""
        later.close()
        for source, count in later.lines.items():
            self.lines[source] = self.lines.get(source, 0) + count
            self.next_line[source] = later.next_line[source] + shift
            first = self.first.setdefault(source, [])
            first += [frame.moved(shift) for frame in later.first[source][: self.keep_first - len(first)]]
            if source in later.blobs:
                self.blobs[source] = self.blobs.get(source, 0) + later.blobs[source]
            held = self._held.setdefault(source, deque(maxlen=MOST_BLOCKS))
            for block in later.closed(source):
                held.append((block._replace(frames=tuple(frame.moved(shift) for frame in block.frames)), block.full))
                self._let_go(held)
        self.problems += [replace(problem, line=problem.line + shift) if problem.line else problem for problem in later.problems]
        self._last = None

    def closed(self, source: str) -> list[Closed]:
        """The blocks that are kept of a source, after ``close``."""
        return [block for block, _ in self._held[source] if isinstance(block, Closed)]

    def _opened(self, held: Iterable[Held]) -> list[Frame]:
        last: list[Frame] = []
        for block, _ in reversed(list(held)):
            if isinstance(block, Closed):
                last += block.frames[::-1]
                continue
            for i in range(len(block.keys) - 1, -1, -1):
                if len(last) >= self.keep:
                    break
                if block.keys[i].strip():
                    last.append(block.frame(i))
        return last[: self.keep][::-1]

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
    if all(key.strip() for key in block.keys[-LAST:]):
        return min(LAST, len(block.keys))
    return sum(1 for key in block.keys[-4 * LAST :] if key.strip())


def watch(blocks: Iterable[B], *, keep: int = LAST) -> tuple[Iterator[B], Ends]:
    """The blocks to hand on, and the ends that will be known once they have gone by."""
    ends = Ends(keep)
    return ends.watch(blocks), ends

"""The lines of a block as the scan needs them: what a block offers, and its lines by their numbers. Never opens a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, cast

from forensics.model import Frame, PartKind
from forensics.ruleset.alike import cut


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


class Lined(Block, Protocol):
    """A block that has its lines as one text as well."""

    @property
    def lined(self) -> bytes:
        """Them with a line feed behind each."""
        ...

    @property
    def zeroed(self) -> bytes:
        """That with every digit as 0."""
        ...


class Lines:
    """The lines of a block as they stand, by number; split only if somebody asks. Empty for what has to be opened."""

    __slots__ = ("_block", "_get", "_starts", "_text")

    def __init__(self, block: Block) -> None:
        self._block = block
        self._get: Callable[[int], bytes] | None = None
        self._text = b""
        self._starts: memoryview | None = None

    def are(self, text: bytes, starts: memoryview) -> None:
        """Hear where each line of the block begins."""
        self._text, self._starts = text, starts

    def read(self, numbers: list[int]) -> list[bytes]:
        """Some lines, which are all that will be asked for."""
        lines = list(map(self.get(), numbers))
        self._get = dict(zip(numbers, lines, strict=True)).__getitem__
        return lines

    def get(self) -> Callable[[int], bytes]:
        """What gives a line. A block of journal entries gives them itself, if it can."""
        if self._starts is not None:
            text, starts = self._text, self._starts
            return lambda i: text[starts[i] : starts[i + 1]]
        if self._get is None:
            block = self._block
            lines: Callable[[], list[bytes]] | None = getattr(block, "texts", None)
            own: Callable[[int], bytes] | None = getattr(block, "raw", None)
            if lines is not None:
                self._get = lines().__getitem__
            elif own is not None:
                self._get = own
            else:
                split = block.data.split(b"\n") if block.part not in (PartKind.JOURNAL_EXPORT, PartKind.JOURNAL_JSON) else []
                self._get = split.__getitem__ if 0 <= len(split) - len(block.keys) <= 1 else _no_line
        return self._get

    def cut(self, numbers: Sequence[int], place: slice) -> list[bytes]:
        """What stands at one place of some lines."""
        if self._starts is not None:
            return cut(self._text, self._starts, numbers, place)
        line = self.get()
        return [line(i)[place] for i in numbers]


def zeroed_of(block: Block) -> bytes:
    """All lines of a block that has them as text, with every digit as 0."""
    return cast("Lined", block).zeroed


def tell(block: Block, lines: int, ends: dict[int, int], *, rare: bool) -> None:
    """Let the block know, if it wants to, what was learnt on the way through its lines."""
    told: Callable[..., None] | None = getattr(block, "told", None)
    if told is not None:
        told(lines, ends, rare=rare)


def _no_line(_: int) -> bytes:
    return b""

"""Cut a stretch of a file into pieces of whole lines, of bounded size. Never decodes a byte and never holds more than about two pieces.

A line longer than ``MAX_LINE`` is cut: its head and its tail are kept (progress bars joined by carriage returns say the most at both ends), and it comes
as a piece of its own with a problem, so that byte offsets of the lines after it stay right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import BinaryIO, NamedTuple

from forensics.model import Problem

PIECE = 1 << 20
MAX_LINE = 1 << 16
_LARGE = 30 << 20  # bytes; never written to, so it takes no memory
_HEAD = 48 << 10
_TAIL = (16 << 10) - 16  # with what joins them, no more than MAX_LINE


class Piece(NamedTuple):
    """Whole lines: ``line`` is the number of the first one (0: not counted), ``start`` its byte offset."""

    data: bytes
    line: int
    start: int
    problems: tuple[Problem, ...] = ()

    def at(self, line: int) -> Piece:
        """The same, with its lines numbered."""
        return Piece(self.data, line, self.start, tuple(replace(problem, line=problem.line or line) for problem in self.problems))


class Border(NamedTuple):
    """Where a file may be cut so that either side gives the pieces that the whole would: ``read`` is how far the whole has been read there, ``line`` where the line
    begins that it has the beginning of."""

    line: int
    read: int


def pieces(
    opened: Path | Callable[[], BinaryIO],
    *,
    source: str,
    first_line: int = 1,
    start: int = 0,
    end: int | None = None,
    begun: int = 0,
    goes_on: bool = False,
    numbered: bool = True,
    max_bytes: int = PIECE,
    max_line: int = MAX_LINE,
) -> Iterator[Piece]:
    """Yield the bytes of a file (or of what a call opens) from ``start`` to ``end`` as pieces of whole lines; the last line may lack its line feed.

    Between two borders: ``start`` is the line of the first, with ``begun`` bytes of it read already, ``end`` is how far the second has read, and what begins
    before it ``goes_on`` beyond. Not ``numbered``: to count lines costs as much as to read them.
    """
    found = _pieces(opened, source, first_line, start, end, begun, goes_on, numbered, max_bytes, max_line)
    for piece in found:
        yield piece if numbered else Piece(piece.data, 0, piece.start, tuple(replace(problem, line=0) for problem in piece.problems))


def _pieces(
    opened: Path | Callable[[], BinaryIO], source: str, line: int, start: int, end: int | None, begun: int, goes_on: bool, numbered: bool, max_bytes: int, max_line: int
) -> Iterator[Piece]:  # fmt: skip
    _keep_buffers()
    with opened.open("rb") if isinstance(opened, Path) else opened() as stream:
        stream.seek(start)
        reader = _Reader(stream, end)
        rest = reader.read(begun) if begun else b""
        while chunk := reader.read(max_bytes):
            feed = chunk.rfind(b"\n") + 1
            if feed and len(chunk) == max_bytes:
                data = b"".join((rest, memoryview(chunk)[:feed]))  # copied once
                rest = chunk[feed:]
                yield from split_at_long_lines(data, line, start, source, max_line)
                line += data.count(b"\n") if numbered else 0
                start += len(data)
                continue
            data = rest + chunk
            cut = len(data) if len(chunk) < max_bytes else data.rfind(b"\n") + 1  # a short reading is the last one
            if not cut and len(data) > max_line:
                kept, length, rest = _endless(data, reader, max_bytes)
                yield Piece(kept, line, start, (_cut_problem(source, line, length),))
                line += 1
                start += length
                continue
            rest = data[cut:]
            yield from split_at_long_lines(data[:cut], line, start, source, max_line)
            line += data.count(b"\n", 0, cut) if numbered else 0
            start += cut
        if rest and not goes_on:
            yield from split_at_long_lines(rest, line, start, source, max_line)


@cache
def _keep_buffers() -> None:
    """Once: glibc gives each large buffer back to the system, and takes it anew page by page (a third of the time of a whole scan), until one this large was freed.

    A second one would come out of what is kept by then, and be filled with noughts: three milliseconds and 30 MiB for each of the thousand answers of a pasted terminal.
    """
    bytes(_LARGE)


def borders(opened: Callable[[], BinaryIO], *, start: int, end: int, every: int, before: int, max_bytes: int = PIECE) -> list[tuple[Border, Border]]:
    """Where a stretch can be cut, about every so many bytes; each with a border at least ``before`` pieces further up (its start, if there are not as many).

    A border needs a line feed in each of two readings before it: then no line that is too long lies across it.
    """
    found: list[tuple[Border, Border]] = []
    most = (end - start) // max_bytes
    with opened() as stream:
        at = start
        while end - at >= every + every // 2:
            number = -((start - at - every) // max_bytes)
            while number < most and (pair := _border(stream, start, number, before, max_bytes)) is None:
                number += 1
            if number >= most or pair is None:
                break
            found.append(pair)
            at = pair[1].read
    return found


def _border(stream: BinaryIO, start: int, number: int, before: int, max_bytes: int) -> tuple[Border, Border] | None:
    first = max(0, number - before)
    lines: dict[int, int] = {0: start}  # how often was read → the line that the next reading goes on with
    for reading in range(max(0, first - 2), number):
        stream.seek(start + reading * max_bytes)
        feed = stream.read(max_bytes).rfind(b"\n")
        if feed < 0:
            return None
        lines[reading + 1] = start + reading * max_bytes + feed + 1
    return Border(lines[first], start + first * max_bytes), Border(lines[number], start + number * max_bytes)


class _Reader:
    """Reads up to a fixed end."""

    def __init__(self, stream: BinaryIO, end: int | None) -> None:
        self.stream = stream
        self.left = -1 if end is None else max(0, end - stream.tell())

    def read(self, max_bytes: int) -> bytes:
        if self.left < 0:
            return self.stream.read(max_bytes)
        chunk = self.stream.read(min(max_bytes, self.left))
        self.left -= len(chunk)
        return chunk


def _endless(data: bytes, reader: _Reader, max_bytes: int) -> tuple[bytes, int, bytes]:
    """Read on to the end of a line that fills a whole chunk: what is kept of it, its length in the file, and what follows it."""
    head, tail, length = data[:_HEAD], data[-_TAIL:], len(data)
    while chunk := reader.read(max_bytes):
        feed = chunk.find(b"\n") + 1
        part = chunk[:feed] if feed else chunk
        length += len(part)
        tail = (tail + part)[-_TAIL:]
        if feed:
            return _joined(head, tail), length, chunk[feed:]
    return _joined(head, tail), length, b""


def last_lines(data: bytes, count: int) -> bytes:
    """The last lines of some, as they stand; all where there are no more."""
    at = len(data)
    for _ in range(count + 1):
        at = data.rfind(b"\n", 0, at)
        if at < 0:
            return data
    return data[at + 1 :]


def counted_back(above: Iterable[Piece], end: Callable[[bytes], bytes]) -> list[Piece]:
    """The ends of some pieces that follow each other, with their lines numbered so that the very last one is line 0."""
    kept: list[Piece] = []
    line = 1
    for piece in above:
        data = end(piece.data)
        line += piece.data.count(b"\n")
        kept.append(Piece(data, line - data.count(b"\n"), piece.start))
    return [piece._replace(line=piece.line - line + 1) for piece in kept]


def split_at_long_lines(data: bytes, line: int, start: int, source: str, max_line: int) -> Iterator[Piece]:
    """Whole lines as pieces; one that is too long is cut, and comes as a piece of its own."""
    done, step = 0, max_line // 2  # a longer line covers at least one whole step
    for at in range(0, len(data), step):
        if at < done or len(data) - at < step or data.find(b"\n", at, at + step) >= 0:
            continue
        begin, feed = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        stop = feed + 1 if feed >= 0 else len(data)
        if stop - begin <= max_line:
            continue
        if begin > done:
            yield Piece(data[done:begin], line, start + done)
            line += data.count(b"\n", done, begin)
        kept = _joined(data[begin : begin + _HEAD], data[stop - _TAIL : stop])
        yield Piece(kept, line, start + begin, (_cut_problem(source, line, stop - begin),))
        line += 1
        done = stop
    if done < len(data):
        yield Piece(data[done:], line, start + done)


def _joined(head: bytes, tail: bytes) -> bytes:
    return head + (b"\r" if b"\r" in head else b" [...] ") + tail


def _cut_problem(source: str, line: int, length: int) -> Problem:
    return Problem(source=source, line=line, text=f"a line of {length} bytes, cut to its first {_HEAD} and last {_TAIL}")

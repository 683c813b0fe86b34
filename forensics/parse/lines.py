"""Cut a stretch of a file into pieces of whole lines, of bounded size. Never decodes a byte and never holds more than about two pieces.

A line longer than ``MAX_LINE`` is cut: its head and its tail are kept (progress bars joined by carriage returns say the most at both ends), and it comes
as a piece of its own with a problem, so that byte offsets of the lines after it stay right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from forensics.model import Problem

PIECE = 1 << 20
MAX_LINE = 1 << 16
_HEAD = 48 << 10
_TAIL = (16 << 10) - 16  # with what joins them, no more than MAX_LINE


class Piece(NamedTuple):
    """Whole lines: ``line`` is the number of the first one, ``start`` its byte offset."""

    data: bytes
    line: int
    start: int
    problems: tuple[Problem, ...] = ()


def pieces(
    opened: Path | Callable[[], BinaryIO],
    *,
    source: str,
    first_line: int = 1,
    start: int = 0,
    end: int | None = None,
    max_bytes: int = PIECE,
    max_line: int = MAX_LINE,
) -> Iterator[Piece]:
    """Yield the bytes of a file (or of what a call opens) from ``start`` to ``end`` as pieces of whole lines; the last line may lack its line feed."""
    with opened.open("rb") if isinstance(opened, Path) else opened() as stream:
        stream.seek(start)
        reader = _Reader(stream, end)
        line, rest = first_line, b""
        while chunk := reader.read(max_bytes):
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
            line += data.count(b"\n", 0, cut)
            start += cut
        if rest:
            yield from split_at_long_lines(rest, line, start, source, max_line)


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

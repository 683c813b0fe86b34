"""Run one local command to its end, bounded in time and bytes, both its streams kept on disk. Knows nothing of what it asks."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from forensics import lazily
from forensics.collect.answer import STDERR_BYTES
from forensics.collect.order import drop_first_line
from forensics.collect.process import ERR, OUT, Pipes, Start
from forensics.collect.spool import Spool

_LINE_BYTES = 1 << 20
_PIECE = 1 << 20
_STAMP = lazily.pattern(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|[+-]\d\d:\d\d) ?")
Key = tuple[bytes, bytes]


class Outcome(NamedTuple):
    """How a command ended. ``code`` None: it was stopped at its time limit. ``lost``: the older bytes of a stream are gone."""

    argv: Sequence[str]
    out: Path
    err: Path
    code: int | None
    took_s: float
    lost: bool = False

    def said(self, max_bytes: int = STDERR_BYTES) -> str:
        """The beginning of its standard error."""
        with self.err.open("rb") as stream:
            return stream.read(max_bytes).decode("utf-8", "replace").strip()


class _Newest:
    """Keeps the newest bytes of a stream: at least ``max_bytes`` and at most twice as many."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self.path, self._older, self._max = path, path.with_name(path.name + ".older"), max_bytes
        self._size, self.lost = 0, False
        self._file = path.open("wb")

    def write(self, data: bytes) -> None:
        if self._size >= self._max:
            self._file.close()
            self.lost = self.lost or self._older.exists()
            self.path.replace(self._older)
            self._file, self._size = self.path.open("wb"), 0
        self._file.write(data)
        self._size += len(data)

    def close(self) -> None:
        """Join what is left, and drop the line that was torn."""
        self._file.close()
        if not self._older.exists():
            return
        with self._older.open("ab") as whole, self.path.open("rb") as rest:
            while piece := rest.read(_PIECE):
                whole.write(piece)
        self._older.replace(self.path)
        if self.lost:
            drop_first_line(self.path)


def run_command(argv: Sequence[str], *, run: Start, spool: Spool, limit_s: float, max_bytes: int) -> Outcome:
    """Start, read both streams, end. FileNotFoundError where there is no such program; nothing of the process group is left."""
    began = time.monotonic()
    process = run(argv)
    pipes = Pipes(process)
    if process.stdin is not None:
        process.stdin.close()  # one that asks for a password is told that nobody is there
    kept = {OUT: _Newest(spool.path("stdout"), max_bytes), ERR: _Newest(spool.path("stderr"), max_bytes)}
    code = None
    try:
        streams = set(kept)
        while streams and (left := began + limit_s - time.monotonic()) > 0:
            for stream, data in pipes.receive(min(left, 1.0)):
                if data:
                    kept[stream].write(data)
                else:
                    streams.discard(stream)
        code = None if streams else pipes.ended(max(0.1, began + limit_s - time.monotonic()))
    finally:
        pipes.close()
        for one in kept.values():
            one.close()
    took_s = round(time.monotonic() - began, 3)
    return Outcome(argv=argv, out=kept[OUT].path, err=kept[ERR].path, code=code, took_s=took_s, lost=any(one.lost for one in kept.values()))


def merge_stamped(streams: Sequence[Path], to: Path) -> str:
    """Write the lines of several files whose lines begin with RFC 3339 stamps in the order of the stamps; a line without one stays behind its own.

    Gives back what stands without a stamp before the first stamped line of a file: there a client says what went wrong.
    """
    unstamped: list[str] = []
    with to.open("wb") as out:
        for _, line in heapq.merge(*(_keyed(path, unstamped) for path in streams), key=lambda pair: pair[0]):
            out.write(line if line.endswith(b"\n") else line + b"\n")
    return "\n".join(unstamped)[:STDERR_BYTES]


def _keyed(path: Path, unstamped: list[str]) -> Iterator[tuple[Key, bytes]]:
    key: Key | None = None
    with path.open("rb") as stream:
        while line := stream.readline(_LINE_BYTES):
            found = _STAMP.match(line)
            if found:
                stamp = (found[1], (found[2] or b"").ljust(9, b"0"))
                key = stamp if key is None else max(key, stamp)  # a merge wants each stream in order: a clock may have been set back
            elif key is None:
                if len(unstamped) < 16 and line.strip():
                    unstamped.append(line.decode("utf-8", "replace").strip()[:400])
                continue
            yield key, line

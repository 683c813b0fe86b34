"""Copy what can be read only once (standard input, a pipe, a device that was named as a file) to the spool. Never waits for ever for somebody to write, never keeps more than it may."""

from __future__ import annotations

import os
import select
import stat
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from forensics.collect import binary
from forensics.errors import TargetError

WRITER_S = 5.0  # how long to wait for the first writer of a pipe
_PIECE = 1 << 16


class Copied(NamedTuple):
    """``cut``: there was more. ``what``: why it is no text, then nothing is kept of it."""

    size: int
    cut: bool = False
    what: str = ""


def is_stream(path: Path) -> bool:
    """Whether a path names a pipe or a character device; OSError where it cannot be looked at."""
    mode = path.stat().st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def copy(stream: BinaryIO, to: Path, most: int, *, keep: Collection[str] = ()) -> Copied:
    """An open stream, to its end. ``keep``: what is copied although it is no text."""
    return _kept(iter(lambda: stream.read(_PIECE), b""), to, most, keep)


def copy_named(path: Path, to: Path, most: int, *, writer_s: float = WRITER_S, keep: Collection[str] = ()) -> Copied:
    """A pipe or device by its name. TargetError where it cannot be read, or where nobody opens its other end."""
    try:
        # opening a pipe would wait for its writer
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        raise TargetError(f"cannot be read: {error.strerror}", at=str(path)) from error
    try:
        return _kept(_arriving(fd, path, writer_s), to, most, keep)
    except OSError as error:
        raise TargetError(f"cannot be read: {error.strerror}", at=str(path)) from error
    finally:
        os.close(fd)


def _arriving(fd: int, path: Path, writer_s: float) -> Iterator[bytes]:
    """The bytes as they come. No bytes are the end, but for a pipe that has had no writer yet."""
    mode = os.fstat(fd).st_mode
    # a pipe of the shell's ( <(command) ) has no name by which a writer could still come
    may_come = stat.S_ISFIFO(mode) and not os.path.realpath(path).rpartition("/")[2].startswith("pipe:[")
    until = time.monotonic() + writer_s
    while True:
        try:
            piece = os.read(fd, _PIECE)
        except BlockingIOError:  # somebody holds the other end, and has nothing to say yet
            may_come = False
            select.select([fd], [], [])
            continue
        if piece:
            may_come = False
            yield piece
        elif not may_come:
            return
        elif time.monotonic() > until:
            raise TargetError(f"a pipe that nobody writes to: waited {writer_s:g} s", at=str(path), hint="start the command that fills it first")
        else:
            time.sleep(0.05)


def _kept(pieces: Iterator[bytes], to: Path, most: int, keep: Collection[str]) -> Copied:
    size = 0
    with to.open("wb") as out:
        for piece in pieces:
            if size == 0 and (what := binary.kind(piece[: binary.HEAD_BYTES])) and what not in keep:
                return Copied(0, what=what)
            if size + len(piece) > most:
                return Copied(size, cut=True)
            out.write(piece)
            size += len(piece)
    return Copied(size)

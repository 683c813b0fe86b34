"""Make plain text of a file that is compressed, in UTF-16 or behind a byte order mark, into a file of ours. Never keeps more than it may, never changes the original."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable
from pathlib import Path

from forensics.collect import binary, unpack

_PIECE = 1 << 18


def unpack_to(to: Path, file: Path, kind: str, *, most: int) -> str:
    """Unpack one file; why it is not all of it, "" where it is. TargetError for a compression bomb."""
    with file.open("rb") as stream, to.open("wb") as out:
        unpacked = unpack.Unpacked(stream, kind, at=str(file))
        size = 0
        for piece in unpacked:
            out.write(piece[: most - size])
            size += len(piece)
            if size > most:
                unpacked.broken = f"only the first {most >> 20} MiB of it were unpacked"
                break
    _keep_time(to, file)
    return unpacked.broken


def transcode_to(to: Path, file: Path, *, most: int) -> str:
    """Turn UTF-16 with a byte order mark, as a Windows shell redirects, into UTF-8; why it is not all of it, "" where it is."""
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    size, why = 0, ""
    with file.open("rb") as stream, to.open("wb") as out:
        while True:
            piece = stream.read(_PIECE)
            text = decoder.decode(piece, final=not piece).encode("utf-8", "replace")
            out.write(text[: most - size])
            size += len(text)
            if size > most:
                why = f"only the first {most >> 20} MiB of it are read"
            if not piece or why:
                break
    _keep_time(to, file)
    return why


def unmark_to(to: Path, file: Path, *, most: int) -> str:
    """Copy without the byte order mark, which would be part of the first word; why it is not all of it, "" where it is."""
    left = most
    with file.open("rb") as stream, to.open("wb") as out:
        stream.seek(len(codecs.BOM_UTF8))
        while left and (piece := stream.read(min(_PIECE, left))):
            out.write(piece)
            left -= len(piece)
        more = stream.read(1)
    _keep_time(to, file)
    return f"only the first {most >> 20} MiB of it are read" if more else ""


def _keep_time(to: Path, file: Path) -> None:
    """Stamps without a year are completed from a file's time."""
    status = file.stat()
    os.utime(to, (status.st_atime, status.st_mtime))


MAKERS: dict[str, Callable[..., str]] = {binary.UTF_16: transcode_to, binary.MARKED: unmark_to}


def make(to: Path, file: Path, what: str, *, most: int) -> str:
    """Do what is to be done with what ``binary`` calls it."""
    return unpack_to(to, file, what, most=most) if what in unpack.KINDS else MAKERS[what](to, file, most=most)

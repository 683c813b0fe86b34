"""Archives as nobody well-meaning would write them: each entry's header is made by hand."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import zstandard

BLOCK = 512


def entry(
    name: str, data: bytes = b"", *, kind: bytes = tarfile.REGTYPE, link: str = "", size: int | None = None, mtime: float = 1778321718
) -> bytes:
    """One member; ``size`` is what its header claims."""
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.mtime = kind, link, mtime
    member.size = len(data) if size is None else size
    return member.tobuf(tarfile.PAX_FORMAT) + data + bytes(-len(data) % BLOCK)


def archive(*entries: bytes) -> bytes:
    return b"".join(entries) + bytes(2 * BLOCK)


def of_folder(folder: Path, top: str = "export") -> bytes:
    """A plain tar of a folder, by the standard library."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as made:
        made.add(folder, top)
    return out.getvalue()


def zst(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)

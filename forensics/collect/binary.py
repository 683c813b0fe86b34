"""Tell text from what is no text by the first bytes of a file. Reads no file, decodes nothing."""

from __future__ import annotations

from forensics import lazily
from forensics.collect import tar, unpack

HEAD_BYTES = 8192
JOURNAL = "a journal file"
UTF_16 = "text in UTF-16"
MARKED = "text in UTF-8 with a byte order mark"  # of which kind() says that it is text
MARK = b"\xef\xbb\xbf"
TAR = "a tar archive"

_MAGIC = (
    (b"LPKSHHRH", JOURNAL),
    (b"\x1f\x8b", unpack.GZIP),
    (b"\x28\xb5\x2f\xfd", unpack.ZSTD),
    (b"\x50\x2a\x4d\x18", unpack.ZSTD),  # a frame to skip, as pzstd writes it first
    (b"\xfd7zXZ\x00", unpack.XZ),
    (b"BZh", unpack.BZIP2),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x7fELF", "a program or a core"),
    (b"%PDF-", "a PDF"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"SQLite format 3\x00", "a database"),
    (b"\xff\xfe", UTF_16),
    (b"\xfe\xff", UTF_16),
)
_CONTROL = bytes(sorted(set(range(32)) - {7, 8, 9, 10, 11, 12, 13, 27}))
_MOST_CONTROL = 0.05
_HOLE = lazily.pattern(rb"\x00{32,}")  # where the power was cut, or a log was truncated while it was written


def kind(head: bytes) -> str:
    """What a file that begins so is, "" for text. A journal in export format holds binary lengths and counts as text."""
    for magic, what in _MAGIC:
        if head.startswith(magic):
            return what
    if tar.looks_like(head):
        return TAR
    if head.startswith((b"__CURSOR=", b"__REALTIME_TIMESTAMP=")) or b"\n__REALTIME_TIMESTAMP=" in head:
        return ""
    rest = _HOLE.sub(b"", head) or head
    control = len(rest) - len(rest.translate(None, _CONTROL))
    return "no text" if control > _MOST_CONTROL * len(rest) else ""

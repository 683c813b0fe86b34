"""Read the members of a tar archive from a stream, in bounded memory and whatever the archive says. Never touches the file system, follows no link.

The standard library's reader takes a header's word for the size of names and attributes; this one reads nothing that is
longer than a name can be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from forensics import lazily

BLOCK = 512
_NAME_BYTES = 4096
_ATTRIBUTES_BYTES = 64 << 10
_MOST_S = 253370764800.0
_ZERO = bytes(BLOCK)
_FILES = frozenset(b"0\x007")
_KINDS = {
    ord("1"): "a hard link", ord("2"): "a link", ord("3"): "a device", ord("4"): "a device", ord("5"): "a folder", ord("6"): "a pipe",
    ord("S"): "a sparse file", ord("V"): "a label", ord("M"): "a part of another volume", ord("D"): "a list",
}  # fmt: skip
_RECORD = lazily.pattern(rb"([1-9][0-9]{0,6}) ([^=\n]{1,200})=")
MAGIC = b"ustar"


class Member(NamedTuple):
    """One entry. ``what`` is "" for an ordinary file, else what it is instead; ``mtime`` is epoch seconds."""

    name: str
    size: int
    mtime: float
    what: str


class Reader:
    """Goes through the members of ``pieces``, a stream of bytes. After each member ``data`` gives its bytes; what is not taken is passed over.

    ``broken`` says afterwards what was wrong with the archive, "" where nothing was.
    """

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._held: memoryview = memoryview(b"")
        self._left = 0  # of the member's data
        self._padding = 0
        self.broken = ""

    def members(self) -> Iterator[Member]:
        """One after the other, to the archive's end mark, to the end of the stream, or to what is no header."""
        over: dict[str, bytes] = {}
        while True:
            if not self._pass_over():
                self.broken = "it ends in the middle of a file"
                return
            header = self._take(BLOCK)
            if header == _ZERO:
                return
            if len(header) < BLOCK:
                self.broken = "it ends without an end mark: it was cut off"
                return
            if not _checks(header):
                self.broken = "no header of a tar archive where one should be"
                return
            kind, size = header[156], _number(header[124:136])
            if size is None:
                self.broken = "a header with no size"
                return
            self._left, self._padding = size, -size % BLOCK
            if kind in b"LKxgX":
                if not self._attributes(kind, size, over):
                    self.broken = "a name or attributes of a size that cannot be"
                    return
                continue
            yield self._member(header, kind, over)
            over.clear()

    def data(self) -> Iterator[bytes]:
        """The bytes of the member that was given last, in pieces; fewer than its size where the stream ends before."""
        while self._left and (piece := self._some(self._left)):
            self._left -= len(piece)
            yield bytes(piece)

    @property
    def missing(self) -> int:
        """How many bytes of the last member have not come."""
        return self._left

    def _member(self, header: bytes, kind: int, over: dict[str, bytes]) -> Member:
        sparse = any(key.startswith("GNU.sparse") for key in over)
        what = "a sparse file" if sparse else "" if kind in _FILES else _KINDS.get(kind, "of a kind that is not known")
        prefix = _text(header[345:500]) if header[257:263] == b"ustar\0" else ""
        name = _text(over["path"]) if "path" in over else f"{prefix}/{_text(header[:100])}" if prefix else _text(header[:100])
        if what in ("a hard link", "a link", "a device", "a folder", "a pipe"):
            self._left = self._padding = 0
        elif (told := over.get("size", b"")).isdigit() and len(told) < 19:
            self._left = int(told)
            self._padding = -self._left % BLOCK
        if not what and name.endswith("/"):  # as before POSIX
            what = "a folder"
        return Member(name, self._left, _time(over.get("mtime"), _number(header[136:148])), what)

    def _attributes(self, kind: int, size: int, over: dict[str, bytes]) -> bool:
        """What stands before a header and is about it; of a whole archive ("g") nothing is wanted."""
        if size > (_NAME_BYTES + 1 if kind in b"LK" else _ATTRIBUTES_BYTES):
            return False
        data = b"".join(self.data())
        if kind == ord("L"):
            over["path"] = data.rstrip(b"\0")
        elif kind in b"xX":
            for key in over.keys() - {"path"}:  # of headers without end only the last counts
                del over[key]
            at = 0
            while found := _RECORD.match(data, at):
                stop = at + int(found[1])
                if stop <= found.end() or stop > len(data):
                    break
                over[found[2].decode("utf-8", "replace")] = data[found.end() : stop - 1]
                at = stop
        return True

    def _pass_over(self) -> bool:
        for _ in self.data():
            pass
        if self._left:
            return False
        padding = len(self._take(self._padding)) == self._padding
        self._padding = 0
        return padding

    def _take(self, size: int) -> bytes:
        out = b""
        while len(out) < size and (piece := self._some(size - len(out))):
            out += bytes(piece)
        return out

    def _some(self, most: int) -> memoryview:
        while not self._held:
            arrived = next(self._pieces, None)
            if arrived is None:
                return self._held
            self._held = memoryview(arrived)
        piece, self._held = self._held[:most], self._held[most:]
        return piece


def looks_like(head: bytes) -> bool:
    """Whether bytes that begin so are a tar archive."""
    return len(head) >= BLOCK and head[257:262] == MAGIC and _checks(head[:BLOCK])


def _checks(header: bytes) -> bool:
    told = _number(header[148:156])
    blank = header[:148] + b"        " + header[156:]
    # some old programs summed signed bytes
    return told is not None and told in (sum(blank), sum(b - 256 if b > 127 else b for b in blank))


def _number(field: bytes) -> int | None:
    """Octal, or GNU's binary with the highest bit set."""
    if field[0] == 0x80:
        value = int.from_bytes(field[1:], "big")
        return value if value < 1 << 62 else None
    text = field.strip(b" \0")
    if not text:
        return 0
    return int(text, 8) if all(c in b"01234567" for c in text) else None


def _text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode("utf-8", "backslashreplace")


def _time(told: bytes | None, of_header: int | None) -> float:
    value = float(of_header or 0)
    if told is not None and re.fullmatch(rb"[0-9]{1,15}(?:\.[0-9]{1,20})?", told):
        value = float(told)
    return min(value, _MOST_S)

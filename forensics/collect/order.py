"""Put an answer that has arrived in order: oldest entry first, no half entries. Never works on a file whose size is not bounded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from forensics import lazily

PIECE = b"DD_PIECE=1"  # stands between pieces that may be cut (see plan)

# A field whose value is binary (or has line ends) is written as NAME, line end, eight bytes of length, value, line end.
_NEXT = lazily.pattern(rb"\n\n(?=__CURSOR=|" + PIECE + rb"\n)")
_CURSOR = lazily.pattern(rb"__CURSOR=([^\n]+)\n__REALTIME_TIMESTAMP=(\d{1,20})\n")
_BINARY = lazily.pattern(rb"\n[A-Z0-9_]+\n")


def export_entries(data: bytes) -> Iterator[tuple[int, int]]:
    """The (start, stop) of each whole entry of a journal in export format; what is cut off at the end is no entry."""
    start = 0
    while start < len(data):
        stop = _entry_end(data, start)
        if stop < 0:
            return
        if stop - start > 1:
            yield start, stop
        start = stop


def _entry_end(data: bytes, start: int) -> int:
    at = start
    while True:
        blank = data.find(b"\n\n", at)
        if blank < 0:
            return -1
        binary = _BINARY.search(data, max(at - 1, 0), blank + 1)
        if binary is None:
            return blank + 2
        size_at = binary.end()
        size = int.from_bytes(data[size_at : size_at + 8], "little")
        at = size_at + 8 + size  # of the line end after the value; a blank line may begin right there
        if data[at : at + 1] != b"\n":  # the value was cut: on with the next entry that can be made out
            found = _NEXT.search(data, size_at)
            return found.start() + 2 if found else -1


def reverse_export(path: Path) -> int:
    """Turn a newest-first export round, in place. Returns how many bytes of a cut-off last entry were dropped."""
    data = path.read_bytes()
    entries = list(export_entries(data))
    whole = entries[-1][1] if entries else 0
    fresh = path.with_name(path.name + ".new")
    with fresh.open("wb") as out:
        for start, stop in reversed(entries):
            out.write(data[start:stop])
    fresh.replace(path)
    return len(data) - whole


def drop_first_line(path: Path) -> int:
    """Take the first line, which is cut in half, off a text whose start was lost. Returns its bytes."""
    data = path.read_bytes()
    line = data.find(b"\n") + 1
    if line:
        path.write_bytes(data[line:])
    return line


def complete_export(path: Path, pieces: Path) -> int:
    """Put the entries of ``pieces`` that are older than all in ``path`` before them, in the order of time. Returns how many.

    Both are exports, oldest first. The last entry of each piece may be cut and is not taken.
    """
    data = path.read_bytes()
    first = _CURSOR.search(data)
    if first is None:
        return 0
    older: dict[bytes, tuple[int, bytes]] = {}
    for entry in _whole(pieces.read_bytes()):
        known = _CURSOR.match(entry)
        if known and int(known[2]) < int(first[2]):
            older.setdefault(known[1], (int(known[2]), entry))
    if older:
        fresh = path.with_name(path.name + ".new")
        with fresh.open("wb") as out:
            out.writelines(entry for _, entry in sorted(older.values(), key=lambda pair: pair[0]))
            out.write(data)
        fresh.replace(path)
    return len(older)


def _whole(data: bytes) -> Iterator[bytes]:
    last = b""
    for start, stop in export_entries(data):
        entry = data[start:stop].lstrip(b"\n")
        if entry.startswith(PIECE):
            last = b""
            continue
        if last:
            yield last
        last = entry

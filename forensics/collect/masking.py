"""Copy an answer with its secrets masked. Changes no byte of what holds none, and never the original."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from forensics.collect import order
from forensics.model import PartKind, Section

Mask = Callable[[bytes], bytes]

_BLOCK_BYTES = 1 << 20
_MOST_KNOWN = 20000
_ZEROS = bytes(b"0"[0] if chr(n).isdigit() and n < 128 else n for n in range(256))
# What a process says or was started with; the rest of an entry is written by journald itself.
_FREE_TEXT = (b"MESSAGE=", b"COMMAND=", b"_CMDLINE=", b"COREDUMP_CMDLINE=", b"COREDUMP_ENVIRON=")


class _Lines:
    """Masks line by line and remembers which lines hold nothing. Lines that differ in digits only are one: no rule tells digits apart."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._harmless: set[bytes] = set()

    def line(self, line: bytes) -> bytes:
        key = line.translate(_ZEROS)
        if key in self._harmless:
            return line
        masked = self._mask(line)
        if masked == line and len(self._harmless) < _MOST_KNOWN:
            self._harmless.add(key)
        return masked

    def block(self, block: bytes) -> bytes:
        if b"PRIVATE KEY" in block:  # the one secret that is longer than its line
            return self._mask(block)
        return b"".join(map(self.line, block.splitlines(keepends=True)))


def copy(section: Section, to: Path, mask: Mask | None) -> None:
    """Write a section's bytes to a file of its own."""
    if mask is None:
        shutil.copyfile(section.path, to)
        return
    lines = _Lines(mask)
    with to.open("wb") as out:
        if section.part is PartKind.JOURNAL_EXPORT:
            data = section.path.read_bytes()  # of a size that was bounded when it was asked for
            for start, stop in order.export_entries(data):
                out.write(_entry(data[start:stop], lines))
            return
        for block in _blocks(section.path):
            out.write(lines.block(block))


def _blocks(path: Path) -> Iterator[bytes]:
    """The bytes in pieces of whole lines."""
    rest = b""
    with path.open("rb") as stream:
        while piece := stream.read(_BLOCK_BYTES):
            lines, end, rest = (rest + piece).rpartition(b"\n")
            if end:
                yield lines + end
    if rest:
        yield rest


def _entry(entry: bytes, lines: _Lines) -> bytes:
    """One entry of an export: the length before a binary value has to stay true."""
    out, at = [], 0
    while at < len(entry):
        stop = entry.find(b"\n", at) + 1 or len(entry)
        line = entry[at:stop]
        if b"=" in line or line == b"\n" or stop + 8 > len(entry):
            out.append(lines.line(line) if line.startswith(_FREE_TEXT) else line)
            at = stop
            continue
        size = int.from_bytes(entry[stop : stop + 8], "little")
        value = lines.block(entry[stop + 8 : stop + 8 + size])
        out += [line, len(value).to_bytes(8, "little"), value]
        at = stop + 8 + size
    return b"".join(out)

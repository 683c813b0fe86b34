"""Copy an answer with its secrets masked, and its names where that is wanted. Changes no byte of what holds none, and never the original."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from forensics import lazily
from forensics.collect import order
from forensics.model import PartKind, Section
from forensics.redact import Redactor

Mask = Callable[[bytes], bytes]

_BLOCK_BYTES = 1 << 20
_EXPORT_BYTES = 4 << 20
_MOST_KNOWN = 20000
_ZEROS = bytes(b"0"[0] if chr(n).isdigit() and n < 128 else n for n in range(256))
# What journald writes itself; the rest of an entry is what a process says, or was started with.
_OWN = (
    b"_",
    b"PRIORITY=",
    b"SYSLOG_",
    b"MESSAGE_ID=",
    b"UNIT=",
    b"INVOCATION_ID=",
    b"JOB_",
    b"CODE_",
    b"TID=",
    b"N_RESTARTS=",
    b"CPU_USAGE_NSEC=",
    b"MEMORY_PEAK=",
)
_SAID = (b"_CMDLINE=", b"_HOSTNAME=")
# a message that is no text, in journalctl's JSON
_ARRAY = lazily.pattern(rb"\[ ?[0-9]{1,3}(?:, ?[0-9]{1,3}){3,} ?\]")

# A secret's name at the end of a line, its value in the next one: "--api-key",⏎"x" of docker inspect, --api-key \⏎x of a unit file, name: TOKEN⏎value: x of a pod.
_SECRET_NAME = rb"[A-Za-z0-9_-]{0,80}(?i:key|token|passw(?:or)?d|pass|pwd|passphrase|secret|credential|auth)(?i:s?|_?[0-9]{1,3})"
_OPENS = lazily.pattern(
    rb"(?:-" + _SECRET_NAME + rb"[\"']?,?[ \t]{0,8}\\?|name[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?" + _SECRET_NAME + rb"[\"']?,?)[ \t\r]{0,8}\n$"
)
_OPENS_BYTES = 200
_MOST_JOINED = 8

# stands between the pieces of an export while their names are looked for
_BETWEEN = b"\n\0-\0\n"
_Piece = tuple[bool, bytes]  # whether it is the value of a binary field, and it


class _Lines:
    """Masks line by line and remembers which lines hold nothing. Lines that differ in digits only are one: no secret is told by its digits.

    Names are (``user1``, ``user2``), so they are not taken out here but of whole blocks.
    """

    def __init__(self, mask: Mask) -> None:
        self._whole = mask
        self._mask = mask.secrets if isinstance(mask, Redactor) else mask
        self.names: Mask = mask.names if isinstance(mask, Redactor) else lambda data: data
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
        """Whole lines, without their secrets."""
        if b"PRIVATE KEY" in block or b"kind: Secret" in block:  # the secrets that are longer than their line
            return self._mask(block)
        if b'"MESSAGE"' in block:
            block = _ARRAY.sub(self._array, block)
        return b"".join(self._lines(block.splitlines(keepends=True)))

    def _lines(self, lines: list[bytes]) -> Iterator[bytes]:
        joined: list[bytes] = []
        for line in lines:
            if _OPENS.search(line[-_OPENS_BYTES:]) and len(joined) < _MOST_JOINED:
                joined.append(line)
            elif joined:
                yield self._mask(b"".join([*joined, line]))
                joined = []
            else:
                yield self.line(line)
        if joined:
            yield self._mask(b"".join(joined))

    def _array(self, found: re.Match[bytes]) -> bytes:
        numbers = [int(number) for number in re.findall(rb"[0-9]+", found[0])]
        if max(numbers) > 0xFF:
            return found[0]
        masked = self._whole(bytes(numbers))
        return found[0] if masked == bytes(numbers) else b"[" + b",".join(b"%d" % byte for byte in masked) + b"]"


def copy(section: Section, to: Path, mask: Mask | None) -> None:
    """Write a section's bytes to a file of its own."""
    if mask is None:
        import shutil

        shutil.copyfile(section.path, to)
        return
    lines = _Lines(mask)
    with to.open("wb") as out:
        if section.part is PartKind.JOURNAL_EXPORT or (section.part is None and section.head(4096).lstrip(b"\n").startswith(b"__CURSOR=")):
            for block in _export(section, lines):
                out.write(block)
            return
        for block in _blocks(section.path):
            out.write(lines.names(lines.block(block)))


def _export(section: Section, lines: _Lines) -> Iterator[bytes]:
    """The entries of an export, masked, some mebibytes of them at once; what is no whole entry at its end as text."""
    rest = b""
    for piece in section.chunks(_EXPORT_BYTES):
        data, done = rest + piece, 0
        pieces: list[_Piece] = []
        for start, stop in order.export_entries(data):
            pieces += [(False, data[done:start]), *_pieces(data[start:stop], lines)]
            done = stop
        yield _without_names(pieces, lines)
        rest = data[done:]
    yield lines.names(lines.block(rest))


def _pieces(entry: bytes, lines: _Lines) -> Iterator[_Piece]:
    """The texts and the binary values of one entry, without their secrets."""
    at = text_at = 0
    while b"\0" in entry and at < len(entry):
        stop = entry.find(b"\n", at) + 1 or len(entry)
        line = entry[at:stop]
        if b"=" in line or line == b"\n" or stop + 8 > len(entry):
            at = stop
            continue
        size = int.from_bytes(entry[stop : stop + 8], "little")
        yield False, _text(entry[text_at:stop], lines)
        yield True, lines.block(entry[stop + 8 : stop + 8 + size])
        at = text_at = stop + 8 + size
    yield False, _text(entry[text_at:], lines)


def _text(text: bytes, lines: _Lines) -> bytes:
    said = (line if line.startswith(_OWN) and not line.startswith(_SAID) else lines.line(line) for line in text.splitlines(keepends=True))
    return b"".join(said)


def _without_names(pieces: list[_Piece], lines: _Lines) -> bytes:
    """The pieces as an export again: the length before a binary value has to stay true."""
    texts = [text for _, text in pieces]
    masked = lines.names(_BETWEEN.join(texts)).split(_BETWEEN)
    if len(masked) != len(texts):  # somebody's value holds what stands between them
        masked = [lines.names(text) for text in texts]
    binary = (is_binary for is_binary, _ in pieces)
    return b"".join(len(text).to_bytes(8, "little") + text if length else text for length, text in zip(binary, masked, strict=True))


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

"""Read the journal's export format into blocks whose keys are the messages. Never lets the value of one field pass for another field.

Entries end with an empty line; a field whose value is not plain text comes as its name, a line feed, 8 bytes of length and the value, which may hold anything.
Such a length always has NUL bytes and plain text never does: a stretch without NUL needs no field-by-field reading.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, BinaryIO, NamedTuple

from forensics.model import PartKind, Problem, Section
from forensics.parse.block import Block, Context
from forensics.parse.journal import KEPT_FIELDS, WRITER_FIELDS, EntryBlock, decoded, flattened, split_message, writer_of
from forensics.parse.lines import MAX_LINE, PIECE
from forensics.parse.part import Part
from forensics.parse.spoken import Spoken
from forensics.parse.unwrap import ANSI_BYTES, ServerPrefixes, Unwrapper

_MAX_FIELD = 4 << 20  # journald's own limit is 768 MiB: a core dump
_MAX_ENTRY = 16 << 20  # more without an end is no entry
_MOST_PROBLEMS = 20
_KEPT_OF_FIELD = 1 << 16
_WRITER = tuple(f"\n{name}=".encode() for name in WRITER_FIELDS)
_LENGTH = struct.Struct("<Q")
# AppArmor's label ends with a line feed, so on Debian and Ubuntu every entry has this one binary field, and nearly none another: it is made text of the same length
# (within a binary value that holds these bytes, the length stays right and nothing can be injected)
_LABEL = b"\n_SELINUX_CONTEXT\n" + _LENGTH.pack(11) + b"unconfined\n\n"
_LABEL_MARK = b"_SELINUX_CONTEXT=unconfined" + b"\x1f" * 9
_LABEL_TEXT = b"\n" + _LABEL_MARK + b"\n"
_LABEL_FEEDS = _LABEL.count(b"\n") - _LABEL_TEXT.count(b"\n")


class ExportBlock(EntryBlock):
    """Entries of ``journalctl -o export``."""

    __slots__ = ("_dropped",)

    def __init__(self, raw: list[bytes], messages: list[list[bytes]], *, dropped: Mapping[int, tuple[int, int]], **rest: Any) -> None:
        super().__init__(raw, *flattened(messages), **rest)
        self._dropped = dropped
        self.length = sum(map(len, raw)) + 2 * len(raw)

    def _parse(self, raw: bytes) -> tuple[dict[str, str], list[str]]:
        if b"\0" not in raw:
            pairs = [line.partition("=") for line in raw.decode("utf-8", "replace").split("\n")]
            return {key: value for key, _, value in pairs if key in KEPT_FIELDS}, decoded(_export_message(raw))
        fields = {}
        for name, value in fields_of(raw):
            if (key := name.decode("utf-8", "replace")) in KEPT_FIELDS:
                fields[key] = value.decode("utf-8", "replace")
        return fields, decoded(_export_message(raw))

    def _writer(self, raw: bytes) -> bytes:
        if b"\0" in raw:
            return b""
        values = []
        for name in _WRITER:
            at = raw.find(name)
            values.append(raw[at : raw.find(b"\n", at + len(name))] if at >= 0 else b"")
        return writer_of(values)

    def _places(self) -> tuple[list[int], list[int]]:
        missing = [self._dropped.get(number, (0, 0)) for number in range(len(self._raw))]
        starts = accumulate((len(e) + 2 + m[0] for e, m in zip(self._raw, missing, strict=True)), initial=self._start)
        lines = accumulate((_feeds(e) + 2 + m[1] for e, m in zip(self._raw, missing, strict=True)), initial=self.first_line)
        return list(starts), list(lines)


class _Short(NamedTuple):
    """An entry that goes on after the end of the buffer; ``field`` is where the binary field starts that is not all there, and ``missing`` what of it."""

    field: int = -1
    missing: int = 0


def export_blocks(section: Section, part: Part, server: ServerPrefixes) -> Iterator[Block]:
    """The blocks of a journal in the export format. What is no entry (a head that was cut off) is passed over, with a problem."""
    unwrapper, context = Unwrapper(PartKind.SERVER, server), Context()
    spoken = Spoken(stdout=b"\n_TRANSPORT=stdout\n", init=b"\n_PID=1\n", last=b"\n_PID=1", pid=b"\n_PID=", binary=b"\0")
    with section.open() as stream:
        stream.seek(part.start)
        end = part.end if part.end is not None else section.size()
        for found in _Entries(stream, end, section.name, part.first_line).batches():
            messages = [_export_message(entry) for entry in found.raw]
            block = ExportBlock(
                found.raw, messages, dropped={**found.gaps, **found.shortened}, source=section.name, part=part.kind, line=found.line, start=found.start, data=b"",
                unwrapper=unwrapper, context=context, problems=tuple(found.problems), spoken=spoken
            )  # fmt: skip
            yield block
            block.carry_over(context)


def fields_of(raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The fields of one entry, binary ones included; stops at the first that makes no sense."""
    at, size = 0, len(raw)
    while at < size:
        feed = raw.find(b"\n", at)
        line_end = feed if feed >= 0 else size
        equals = raw.find(b"=", at, line_end)
        if equals > at:
            yield raw[at:equals], raw[equals + 1 : line_end]
            at = line_end + 1
        elif line_end == at:
            at += 1
        elif line_end + 9 <= size:
            (length,) = _LENGTH.unpack_from(raw, line_end + 1)
            yield raw[at:line_end], raw[line_end + 9 : line_end + 9 + length]
            at = line_end + 9 + length + 1
        else:
            return


def _export_message(entry: bytes) -> list[bytes]:
    """The lines of the message of an entry; none for a gap between entries."""
    if b"\0" not in entry:
        at = 8 if entry.startswith(b"MESSAGE=") else entry.find(b"\nMESSAGE=") + 9
        if at == 8 and not entry.startswith(b"MESSAGE="):
            return [b""] if entry.strip() else []
        end = entry.find(b"\n", at)
        text = entry[at:end] if end >= 0 else entry[at:]
        return [ANSI_BYTES.sub(b"", text) if b"\x1b" in text else text]
    return split_message(next((value for name, value in fields_of(entry) if name == b"MESSAGE" and value), b""))


class _Batch:
    """Whole entries (without the line feeds that end them). ``shortened`` says how many bytes and line feeds were left out of some, ``gaps`` the same of
    what was passed over between two (by the empty entry that stands for it)."""

    def __init__(self, line: int, start: int, pending: tuple[int, int] | None = None) -> None:
        self.line = line
        self.start = start
        self.raw: list[bytes] = []
        self.shortened: dict[int, tuple[int, int]] = {0: pending} if pending else {}
        self.gaps: dict[int, tuple[int, int]] = {}
        self.problems: list[Problem] = []


class _Entries:
    """Cuts a stream into whole entries, holding about a mebibyte of it (more while a single entry is larger)."""

    def __init__(self, stream: BinaryIO, end: int, source: str, line: int) -> None:
        self.stream = stream
        self.left = end - stream.tell()
        self.source = source
        self.line = line
        self.start = stream.tell()
        self.buffer = b""
        self.said = 0

    def batches(self) -> Iterator[_Batch]:
        """All entries, in batches of what one reading gives."""
        batch = _Batch(self.line, self.start)
        while True:
            chunk = self._read(PIECE)
            self.buffer = (self.buffer + chunk).replace(_LABEL, _LABEL_TEXT)
            taken = self._take(batch, last=not chunk)
            buffer, self.buffer = self.buffer, self.buffer[taken:]
            if batch.raw:
                yield batch
                whole = [batch.shortened[n] for n in batch.shortened if n < len(batch.raw)]
                self.start += taken + sum(length for length, _ in whole)
                self.line += buffer.count(b"\n", 0, taken) + _LABEL_FEEDS * buffer.count(_LABEL_MARK, 0, taken) + sum(feeds for _, feeds in whole)
                batch = _Batch(self.line, self.start, batch.shortened.get(len(batch.raw)))
            if not chunk:
                return

    def _read(self, size: int) -> bytes:
        chunk = self.stream.read(min(size, self.left))
        self.left -= len(chunk)
        return chunk

    def _take(self, batch: _Batch, *, last: bool) -> int:
        """Move whole entries from the buffer into the batch; where the first one stands that is not all there."""
        at = 0
        while at < len(self.buffer):
            buffer = self.buffer
            nul = buffer.find(b"\0", at)
            # the bytes of a length before its first NUL may be line feeds themselves (10 is one)
            stop = buffer.rfind(b"\n\n", at, max(at, nul - _LENGTH.size) if nul >= 0 else len(buffer))
            if stop >= 0:
                batch.raw.extend(buffer[at:stop].split(b"\n\n"))
                at = stop + 2
            if nul < 0:
                if last and at < len(buffer):
                    batch.raw.extend([buffer[at:].removesuffix(b"\n")])
                    return len(buffer)
                if len(buffer) - at <= _MAX_ENTRY:
                    return at
                at = self._resync(batch, at, f"more than {_MAX_ENTRY >> 20} MiB without an end were passed over")
                continue
            end = _end_of_entry(buffer, at)
            if isinstance(end, int):
                batch.raw.extend([buffer[at:end]])
                at = end + 2
            elif end is None:
                at = self._resync(batch, at, "something that is no journal entry was passed over")
            elif last:
                self._problem(batch, "the last entry is not complete")
                batch.raw.extend([buffer[at:].removesuffix(b"\n")])
                return len(buffer)
            elif end.missing > _MAX_FIELD:
                self._shorten(batch, end)
            elif len(buffer) - at > _MAX_ENTRY:
                at = self._resync(batch, at, f"more than {_MAX_ENTRY >> 20} MiB without an end were passed over")
            else:
                return at
        return at

    def _problem(self, batch: _Batch, text: str) -> None:
        self.said += 1
        if self.said <= _MOST_PROBLEMS:
            batch.problems.append(Problem(source=self.source, line=0, text=text))

    def _shorten(self, batch: _Batch, short: _Short) -> None:
        """Read over a huge field (a core dump) and leave only its beginning in the buffer."""
        name_end = self.buffer.index(b"\n", short.field)
        value = self.buffer[name_end + 9 :]
        kept = value[:_KEPT_OF_FIELD]
        length, feeds, left = len(value) - len(kept), value.count(b"\n", len(kept)), short.missing
        while left > 0 and (chunk := self._read(min(PIECE, left))):
            left -= len(chunk)
            length += len(chunk)
            feeds += chunk.count(b"\n")
        name = self.buffer[short.field : name_end].decode("utf-8", "replace")
        self._problem(batch, f"field {name} of {length + len(kept)} bytes, of which the first {len(kept)} were read")
        before = batch.shortened.get(len(batch.raw), (0, 0))
        batch.shortened[len(batch.raw)] = before[0] + length, before[1] + feeds
        self.buffer = self.buffer[: name_end + 1] + _LENGTH.pack(len(kept)) + kept + self._read(PIECE)

    def _resync(self, batch: _Batch, at: int, why: str) -> int:
        """Pass over what is no entry, to the next one that begins as journalctl begins them."""
        self._problem(batch, why)
        begin = self.buffer.find(b"\n\n__CURSOR=", at)
        end = begin if begin >= 0 else len(self.buffer)
        skipped = self.buffer[at:end]
        closing = 0 if begin >= 0 else 2  # an entry is counted with the two line feeds that end it
        batch.gaps[len(batch.raw)] = len(skipped) - closing, _feeds(skipped) - closing
        batch.raw.append(b"")
        return end + 2 if begin >= 0 else end


def _end_of_entry(buffer: bytes, at: int) -> int | _Short | None:
    """Where the entry ends that begins at ``at`` (its closing empty line not counted), how it is cut short, or None where this is no entry."""
    size = len(buffer)
    while True:
        feed = buffer.find(b"\n", at)
        if feed < 0:
            return _Short() if size - at < MAX_LINE or buffer.find(b"=", at, at + 256) > 0 else None
        if feed == at:
            return at - 1
        if buffer.find(b"=", at, feed) > at:
            at = feed + 1
            continue
        if not _is_name(buffer[at:feed]):
            return None
        if feed + 9 > size:
            return _Short()
        (length,) = _LENGTH.unpack_from(buffer, feed + 1)
        after = feed + 9 + length
        if after >= size:
            return _Short(at, after - size)
        if buffer[after : after + 1] != b"\n":
            return None
        at = after + 1


def _feeds(entry: bytes) -> int:
    """The line feeds that an entry has in its file."""
    return entry.count(b"\n") + _LABEL_FEEDS * entry.count(_LABEL_MARK)


def _is_name(name: bytes) -> bool:
    return 0 < len(name) <= 64 and name.replace(b"_", b"").isalnum() and name.upper() == name

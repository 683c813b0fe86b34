"""Read ``journalctl -o json-pretty`` and ``-o verbose``, whose entries go over many lines, as the same blocks that ``-o json`` gives. Holds one entry at a time.

json-pretty (and what ``jq`` makes of a journal): an object whose braces stand on lines of their own. verbose: a line with the time and the cursor, and a line
for each field; further lines of a value are indented deeper than any name of a field, so that no message can pass for a field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from forensics import lazily
from forensics.model import PartKind, Problem, Section
from forensics.parse.block import Block, Context
from forensics.parse.journal import KEPT_FIELDS, flattened
from forensics.parse.jsonjournal import MAX_ENTRY_LINE, JsonBlock, message_in
from forensics.parse.lines import PIECE, pieces
from forensics.parse.part import Part
from forensics.parse.unwrap import ServerPrefixes, Unwrapper

_MAX_ENTRY = 4 << 20
_LINE_COSTS = 40  # bytes of memory beside its text
_MOST_PROBLEMS = 20
_HEAD = lazily.pattern(rb"[^\s\[]{1,16} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})? \S{1,16} \[(?P<cursor>[a-z]=[0-9a-f;=a-z]{1,200})\]\s*$")
_TIME = lazily.pattern(rb"(?:^|;)t=([0-9a-f]{1,16})(?:;|$)")
_FIELD = lazily.pattern(rb" {4}(?P<name>[A-Z_][A-Z0-9_]{0,63})=(?P<value>.*)$", re.DOTALL)
_BLOB = lazily.pattern(rb"\[[\d.]{1,8}[BKMG] blob data\]$")


class _Line(NamedTuple):
    text: bytes
    number: int
    start: int


class _Entry(NamedTuple):
    """An entry as one line of ``-o json``, and where it begins."""

    raw: bytes
    line: int
    start: int


class PrettyBlock(JsonBlock):
    """Entries that go over several lines of their file."""

    __slots__ = ("_at",)

    def __init__(self, entries: list[_Entry], **rest: Any) -> None:
        raw = [entry.raw for entry in entries]
        super().__init__(raw, *flattened(message_in(line) for line in raw), **rest)
        self._at = entries

    def _places(self) -> tuple[list[int], list[int]]:
        return [entry.start for entry in self._at], [entry.line for entry in self._at]


def is_pretty(section: Section, part: Part) -> bool:
    """Whether a journal with fields is one whose entries go over several lines."""
    with section.open() as stream:
        stream.seek(part.start)
        head = stream.read(1 << 12)
    first = next((line for line in head.split(b"\n") if line.strip() and not line.startswith(b"-- ")), b"").strip()
    return first in (b"{", b"[") or bool(_HEAD.match(first))


def pretty_blocks(section: Section, part: Part, server: ServerPrefixes) -> Iterator[Block]:
    """The blocks of such a journal. What is no entry is passed over, with a problem."""
    unwrapper, context = Unwrapper(PartKind.SERVER, server), Context()
    reader = _Reader(section.name)
    batch: list[_Entry] = []
    size = 0
    for entry in reader.entries(_lines(section, part, reader)):
        batch.append(entry)
        size += len(entry.raw)
        if size >= PIECE:
            yield (block := _block(batch, reader, part, unwrapper, context))
            block.carry_over(context)
            batch, size = [], 0
    if batch or reader.problems:
        yield _block(batch, reader, part, unwrapper, context)


def _block(batch: list[_Entry], reader: _Reader, part: Part, unwrapper: Unwrapper, context: Context) -> PrettyBlock:
    problems, reader.problems = tuple(reader.problems), []
    blobs, reader.blobs = reader.blobs, 0
    first = batch[0] if batch else _Entry(b"", part.first_line, part.start)
    block = PrettyBlock(
        batch, source=reader.source, part=part.kind, line=first.line, start=first.start, data=b"", unwrapper=unwrapper, context=context, problems=problems
    )  # fmt: skip
    block.blobs = blobs + sum(1 for entry in batch if entry.raw.find(b'"MESSAGE":null') >= 0)
    return block


def _lines(section: Section, part: Part, reader: _Reader) -> Iterator[_Line]:
    for piece in pieces(section.open, source=section.name, first_line=part.first_line, start=part.start, end=part.end, max_line=MAX_ENTRY_LINE):
        start = piece.start
        reader.problems.extend(piece.problems)
        for number, text in enumerate(piece.data.removesuffix(b"\n").split(b"\n"), piece.line):
            yield _Line(text, number, start)
            start += len(text) + 1


class _Reader:
    """Puts the lines of an entry together. ``problems`` are those since they were last taken."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.problems: list[Problem] = []
        self._said = 0
        self.blobs = 0

    def entries(self, lines: Iterator[_Line]) -> Iterator[_Entry]:
        """Whole entries, of either format."""
        held: list[bytes] = []
        begin, size = _Line(b"", 0, 0), 0
        for line in lines:
            bare = line.text.strip()
            starts = bare == b"{" or _HEAD.match(line.text) is not None
            if starts:
                yield from self._ended(begin, held)
                begin, held, size = line, [line.text], 0
            elif held:
                size += len(line.text) + _LINE_COSTS
                if size <= _MAX_ENTRY:
                    held.append(line.text)
                if bare in (b"}", b"},"):
                    yield from self._ended(begin, held)
                    held = []
            elif bare not in (b"", b"[", b"]", b",") and not line.text.startswith(b"-- "):
                self._problem(line, "no journal entry")
        yield from self._ended(begin, held)

    def _ended(self, begin: _Line, held: list[bytes]) -> Iterator[_Entry]:
        if not held:
            return
        head = _HEAD.match(held[0])
        fields = self._verbose(begin, head["cursor"], held[1:]) if head else _object(held)
        if fields is None:
            self._problem(begin, "no complete journal entry")
            return
        kept = {name: value for name, value in fields.items() if name in KEPT_FIELDS or name == "MESSAGE"}
        yield _Entry(json.dumps(kept, separators=(",", ":")).encode(), begin.number, begin.start)

    def _verbose(self, begin: _Line, cursor: bytes, lines: list[bytes]) -> Mapping[str, Any]:
        told: dict[bytes, list[bytes]] = {}
        name = b""
        for line in lines:
            if found := _FIELD.match(line):
                name = found["name"]
                told[name] = [found["value"]]
            elif name and line.startswith(b" " * (len(name) + 5)):
                told[name].append(line[len(name) + 5 :])
            elif line.strip() and not line.startswith(b"-- "):
                self._problem(begin, "a field of this entry was not understood")
        fields = {name: b"\n".join(values) for name, values in told.items()}
        self.blobs += bool(_BLOB.match(fields.get(b"MESSAGE", b"")))
        if (at := _TIME.search(cursor)) is not None:
            fields[b"__REALTIME_TIMESTAMP"] = str(int(at[1], 16)).encode()
        return {key.decode("ascii"): value.decode("utf-8", "replace") for key, value in fields.items()}

    def _problem(self, line: _Line, text: str) -> None:
        self._said += 1
        if self._said <= _MOST_PROBLEMS:
            self.problems.append(Problem(source=self.source, line=line.number, text=text))


def _object(lines: list[bytes]) -> Mapping[str, Any] | None:
    """An object over several lines; a string never holds a line end of its own."""
    text = b"".join(line.strip() for line in lines).removesuffix(b",")
    try:
        value = json.loads(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None

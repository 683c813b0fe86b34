"""A run of lines of one part, kept as bytes, and the opening of one of its lines into a frame. Never reads a file, never judges a line.

The scan decides by ``Block.keys`` (lines without digits: the same wording gives the same key) which lines are worth opening; only those become objects.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from itertools import accumulate

from forensics.model import Frame, Origin, PartKind, Problem
from forensics.parse.lines import MAX_LINE, Piece
from forensics.parse.unwrap import ANSI_BYTES, Opened, Unwrapper, unit_in

DIGITS = b"0123456789"
_LOOK_BACK = 2000  # lines: a server's argparse usage text has about 400
_CARRY_BYTES = 1 << 15
_CARRY_LINES = 200
_MAX_WRITERS = 64
_BLOB = re.compile(rb"[^\n]\[[\d.]{1,8}[BKMG] blob data\]\r?(?=\n|$)")
_MOST_LOOKS = 4096  # lines of a block that are opened in the search for earlier ones, before all are put in order by their writers

Writer = tuple[str, "int | None"]
OpenLine = Callable[[int], Opened]


class Block:
    """A run of lines of one part of one section.

    ``keys`` has one entry a line (for a journal in json or export: one for each line of each message), with the digits taken out. ``problems`` are those met
    on the way to this block. ``data`` is what was read; it need not have as many lines as there are keys.
    """

    __slots__ = ("blobs", "data", "first_line", "keys", "part", "problems", "source")

    def __init__(self, *, source: str, part: PartKind, first_line: int, data: bytes, keys: list[bytes], problems: tuple[Problem, ...] = ()) -> None:
        self.source = source
        self.part = part
        self.first_line = first_line
        self.data = data
        self.keys = keys
        self.problems = problems
        self.blobs = 0  # messages that were left out where this was saved: "[85B blob data]", or null

    def frame(self, i: int) -> Frame:
        """Open line ``i``, counted from 0 within the block."""
        raise NotImplementedError

    def raw(self, i: int) -> bytes:
        """Bytes that end with the message of line ``i`` and begin with all that tells who wrote it: equal bytes are of the same origin and message.

        Far cheaper than ``frame``. Of a text this is the line itself; empty where only opening it can tell.
        """
        raise NotImplementedError


class Context:
    """What the lines of a block inherit from the blocks before it: the last record, and of each writer the last one with the server's own stamp."""

    def __init__(self) -> None:
        self.last: Opened | None = None
        self.stamped: dict[Writer, Opened] = {}

    def carry(self, opened: Opened) -> None:
        """Note a record that lines of later blocks may continue."""
        if len(self.stamped) >= _MAX_WRITERS:
            self.stamped.clear()
        self.stamped[writer_of(opened)] = opened


class LookBack:
    """Finds the nearest line above that is wanted. Remembers up to where it has looked, as lines are mostly opened in order."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._memo: dict[Writer | None, tuple[int, int, Opened | None]] = {}
        self._looks = 0
        self._stamped: dict[Writer, list[int]] = {}  # the lines with a stamp of each writer, up to ``_sorted``
        self._sorted = 0

    def nearest(self, i: int, what: Writer | None, open_line: OpenLine, wanted: Callable[[Opened], bool], before: Opened | None) -> Opened | None:
        """The last line above ``i`` that is wanted, else ``before``; ``what`` names the search."""
        seen_to, at, known = self._memo.get(what, (-1, -1, before))
        if at < i <= seen_to:
            return known
        floor = seen_to if i > seen_to else -1
        result, where = (known, at) if floor >= 0 else (before, -1)
        for j in range(i - 1, max(floor, i - self._limit), -1):
            self._looks += 1
            opened = open_line(j)
            if wanted(opened):
                result, where = opened, j
                break
        self._memo[what] = (i - 1, where, result)
        return result

    def above(self, i: int, opened: Opened, open_line: OpenLine, before: dict[Writer, Opened]) -> Opened | None:
        """The record whose stamp, pid and rank a line without them carries: the nearest one above of the same writer."""
        if is_stamped(opened) or opened.origin not in (Origin.SERVER, Origin.CLIENT):
            return None
        writer = writer_of(opened)
        if self._looks > _MOST_LOOKS:  # as many writers as lines: each would be looked for in vain
            return self._by_writer(i, writer, open_line, before.get(writer))
        return self.nearest(i, writer, open_line, lambda o: is_stamped(o) and writer_of(o) == writer, before.get(writer))

    def _by_writer(self, i: int, writer: Writer, open_line: OpenLine, before: Opened | None) -> Opened | None:
        for j in range(self._sorted, i):
            opened = open_line(j)
            if is_stamped(opened):
                self._stamped.setdefault(writer_of(opened), []).append(j)
        self._sorted = max(self._sorted, i)
        lines = self._stamped.get(writer, [])
        at = bisect_left(lines, i)
        return open_line(lines[at - 1]) if at and lines[at - 1] > i - self._limit else before


class TextBlock(Block):
    """Lines of text: one key a line; wrappers and prefixes come off when a line is opened."""

    __slots__ = ("_back", "_before", "_body", "_offsets", "_split", "_stamped", "_start", "_unwrapper")

    def __init__(self, piece: Piece, *, source: str, part: PartKind, unwrapper: Unwrapper, context: Context) -> None:
        body = piece.data.removesuffix(b"\n")
        # a colour in the midst of a phrase would hide it from the scan
        plain = ANSI_BYTES.sub(b"", body) if b"\x1b" in body else body
        super().__init__(
            source=source, part=part, first_line=piece.line, data=piece.data, keys=plain.translate(None, DIGITS).split(b"\n"), problems=piece.problems
        )
        if unwrapper.journal and b" blob data]" in body:
            self.blobs = len(_BLOB.findall(body))
        self._body = body
        self._start = piece.start
        self._unwrapper = unwrapper
        self._before = context.last
        self._stamped = dict(context.stamped)
        self._split: list[bytes] | None = None
        self._offsets: list[int] = []
        self._back = LookBack(_LOOK_BACK)

    def frame(self, i: int) -> Frame:
        """Open line ``i``, counted from 0 within the block."""
        opened = self._open(i)
        if self._unwrapper.journal and not opened.outer:
            return self._further_line(i, opened)
        return self._frame(i, opened, self._back.above(i, opened, self._open, self._stamped))

    def raw(self, i: int) -> bytes:
        """The line itself."""
        return self._lines()[i]

    def carry_over(self, context: Context) -> None:
        """Note what the next block inherits; looks at the last lines only."""
        tail = self._body[-_CARRY_BYTES:]
        lines = tail.split(b"\n")[1 if len(tail) < len(self._body) else 0 :]
        record: Opened | None = None
        for line in reversed(lines[-_CARRY_LINES:]):
            opened = self._unwrapper.open(_text(line))
            record = record or (opened if opened.outer else None)
            if is_stamped(opened):
                context.carry(opened)
                break
        context.last = record or context.last

    def _lines(self) -> list[bytes]:
        if self._split is None:
            self._split = self._body.split(b"\n")
            self._offsets = list(accumulate((len(line) + 1 for line in self._split), initial=self._start))
        return self._split

    def _open(self, i: int) -> Opened:
        return self._unwrapper.open(_text(self._lines()[i]))

    def _further_line(self, i: int, opened: Opened) -> Frame:
        """A line of a journal without a prefix. journalctl indents the further lines of a message as far as the first one; nothing vouches for others."""
        record = self._back.nearest(i, None, self._open, lambda o: o.outer, self._before)
        if record is None or opened.origin is Origin.SYSTEMD:
            origin = opened.origin if opened.origin is Origin.SYSTEMD else Origin.SERVER
            return self._frame(i, opened._replace(origin=origin), None)._replace(continuation=True)
        spaces = len(opened.text) - len(opened.text.lstrip(" "))
        indented = 0 < record.indent <= spaces
        joined = record._replace(
            text=opened.text[record.indent :] if indented else opened.text,
            origin=record.origin if indented else Origin.SERVER,
            trusted=record.trusted and indented,
            own=False,
        )
        above = record if record.own else self._back.above(i, joined._replace(inner=""), self._open, self._stamped)
        return self._frame(i, joined, above)._replace(continuation=True)

    def _frame(self, i: int, opened: Opened, above: Opened | None) -> Frame:
        return made(opened, above, source=self.source, line_no=self.first_line + i, start=self._offsets[i], fields=_fields(opened))


def made(opened: Opened, above: Opened | None, *, source: str, line_no: int, start: int, fields: dict[str, str]) -> Frame:
    """The frame of an opened line; what it lacks comes from the record above."""
    inner, rank, stamp, inner_pid = opened.inner, opened.rank, opened.stamp, opened.inner_pid
    if above is not None:
        inner, stamp = inner or above.inner, stamp or above.stamp
        if not opened.own:
            rank, inner_pid = above.rank, above.inner_pid
    if inner_pid is not None and opened.pid is not None and inner_pid != opened.pid:
        fields["outer_pid"] = str(opened.pid)
    return Frame(
        source=source, line_no=line_no, start=start, text=opened.text[:MAX_LINE], origin=opened.origin, continuation=above is not None, stamp=stamp, inner=inner,
        ident=opened.ident, pid=opened.pid if inner_pid is None else inner_pid, rank=rank, host=opened.host, fields=fields,
    )  # fmt: skip


def _fields(opened: Opened) -> dict[str, str]:
    fields: dict[str, str] = {}
    if opened.trusted:
        fields["trusted"] = "1"
    if opened.boot:
        fields["_BOOT_ID"] = opened.boot
    if opened.since_boot:
        fields["since_boot"] = opened.since_boot
    if opened.origin is Origin.SERVER and opened.pid is not None and opened.ident.endswith((".service", ".scope")):
        fields["_SYSTEMD_UNIT"] = opened.ident  # journalctl -o with-unit
    if opened.origin is Origin.SYSTEMD and (unit := unit_in(opened.text)):
        fields["UNIT"] = unit
    return fields


def writer_of(opened: Opened) -> Writer:
    """Whose lines belong together within one log."""
    return opened.ident, opened.pid


def is_stamped(opened: Opened) -> bool:
    """True for a line with the server's own stamp."""
    return opened.own and bool(opened.inner)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace")

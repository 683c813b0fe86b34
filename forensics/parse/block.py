"""A run of lines of one part, kept as bytes, and the opening of one of its lines into a frame. Never reads a file, never judges a line.

The scan decides by ``Block.keys`` (lines without digits: the same wording gives the same key) which lines are worth opening; only those become objects.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from itertools import accumulate, islice
from typing import overload

from forensics import lazily
from forensics.model import Frame, Origin, PartKind, Problem, order_of
from forensics.parse.lines import MAX_LINE, Piece
from forensics.parse.unwrap import ANSI_BYTES, Opened, Unwrapper, unit_in

DIGITS = b"0123456789"
ZEROS = bytes.maketrans(DIGITS, b"0" * len(DIGITS))
_LOOK_BACK = 2000  # lines: a server's argparse usage text has about 400
_CARRY_BYTES = 1 << 15
_CARRY_LINES = 200
REMEMBERED = 16  # blocks; a log that is read in parts by several processes is warmed up with as many
_STEP = 64  # lines
_BLOB = lazily.pattern(rb"[^\n]\[[\d.]{1,8}[BKMG] blob data\]\r?(?=\n|$)")
_BLOB_END, _BLOB_HEAD = b" blob data]", 11
_WRITERS = (Origin.SERVER, Origin.CLIENT)  # whose records go on in lines without a stamp
_MOST_LOOKS = 4096  # lines of a block that are opened in the search for earlier ones, before all are put in order by their writers

Writer = tuple[str, "int | None"]
OpenLine = Callable[[int], Opened]


class Block:
    """A run of lines of one part of one section.

    ``keys`` has one entry a line (for a journal in json or export: one for each line of each message), with the digits taken out. ``problems`` are those met
    on the way to this block. ``data`` is what was read; it need not have as many lines as there are keys: ``lines`` are those of the file, ``length`` its bytes.
    """

    __slots__ = ("_blobs", "_counted", "data", "first_line", "keys", "length", "part", "problems", "source")

    def __init__(
        self, *, source: str, part: PartKind, first_line: int, data: bytes, keys: Sequence[bytes], problems: tuple[Problem, ...] = ()
    ) -> None:
        self.source = source
        self.part = part
        self.first_line = first_line
        self.data = data
        self.keys: Sequence[bytes] = keys
        self.problems = problems
        self.length = len(data)
        self._counted: int | None = None  # None: as many as there are keys
        self._blobs: int | None = 0  # None: not yet looked for

    @property
    def lines(self) -> int:
        """How many lines of the file these are."""
        return len(self.keys) if self._counted is None else self._counted

    @lines.setter
    def lines(self, lines: int) -> None:
        self._counted = lines

    @property
    def blobs(self) -> int:
        """Messages that were left out where this was saved: ``[85B blob data]``, or null."""
        if self._blobs is None:
            self._blobs = _blobs(self.data)
        return self._blobs

    @blobs.setter
    def blobs(self, blobs: int) -> None:
        self._blobs = blobs

    def frame(self, i: int) -> Frame:
        """Open line ``i``, counted from 0 within the block."""
        raise NotImplementedError

    def raw(self, i: int) -> bytes:
        """Bytes that end with the message of line ``i`` and begin with all that tells who wrote it: equal bytes are of the same origin and message.

        Far cheaper than ``frame``. Of a text this is the line itself; empty where only opening it can tell.
        """
        raise NotImplementedError


class Context:
    """What the lines of a block inherit from the last ``REMEMBERED`` blocks before it: the last record, and of each writer the last one with the server's own stamp."""

    def __init__(self) -> None:
        self._records: deque[Opened | None] = deque(maxlen=REMEMBERED)
        self._stamped: deque[Opened | None] = deque(maxlen=REMEMBERED)

    def carry(self, stamped: Opened | None, record: Opened | None = None) -> None:
        """Note the last line with a stamp, and the last record, of a block that has gone by; to be told of every block."""
        self._stamped.append(stamped)
        self._records.append(record)

    def stamped(self) -> dict[Writer, Opened]:
        """The last line with a stamp, by its writer."""
        return {writer_of(opened): opened for opened in self._stamped if opened is not None}

    def last(self) -> Opened | None:
        """The last record."""
        return next((record for record in reversed(self._records) if record is not None), None)


class LookBack:
    """Finds the nearest line above that is wanted, at most ``limit`` lines away.

    Remembers up to where it has looked, as lines are mostly opened in order; what it finds does not hang on which lines were opened before.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._memo: dict[Writer | None, tuple[int, int, Opened | None]] = {}  # search → none in (low, top], and what stands at low if that is one
        self._looks = 0
        self._stamped: dict[Writer, list[int]] = {}  # the lines with a stamp of each writer, up to ``_sorted``
        self._sorted = 0

    def nearest(self, i: int, what: Writer | None, open_line: OpenLine, wanted: Callable[[Opened], bool], before: Opened | None) -> Opened | None:
        """The last line above ``i`` that is wanted, else ``before``; ``what`` names the search."""
        low, top, known = self._memo.get(what, (-1, -1, None))
        bottom = max(-1, i - self._limit)
        if not low < i <= top + 1:  # what was looked at before lies beside the way, or further up on it
            found = self._search(i - 1, max(top, bottom) if i > top else bottom, open_line, wanted)
            if found is not None or i <= top or bottom >= top:
                self._memo[what] = (found[0], i - 1, found[1]) if found else (bottom, i - 1, None)
                return found[1] if found else before
            top = i - 1
        if known is None and low > bottom:
            low, known = self._search(low, bottom, open_line, wanted) or (bottom, None)
        self._memo[what] = low, top, known
        return known if known is not None and low > bottom else before

    def _search(self, start: int, bottom: int, open_line: OpenLine, wanted: Callable[[Opened], bool]) -> tuple[int, Opened] | None:
        """The first line that is wanted, from ``start`` up to the one below ``bottom``."""
        for j in range(start, bottom, -1):
            self._looks += 1
            opened = open_line(j)
            if wanted(opened):
                return j, opened
        return None

    def above(self, i: int, opened: Opened, open_line: OpenLine, before: dict[Writer, Opened]) -> Opened | None:
        """The record whose stamp, pid and rank a line without them carries: the nearest one above of the same writer."""
        if is_stamped(opened) or opened.origin not in _WRITERS:
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


class Keys(Sequence[bytes]):
    """The lines of a text without their digits, each made when it is asked for: of most nobody does. ``release`` keeps none, until some are wanted."""

    __slots__ = ("_count", "_data", "_last", "_lines")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._count = 0  # not known
        self._lines: list[bytes] | None = None
        self._last: list[bytes] | None = None

    def release(self) -> None:
        """Most lines are no longer needed."""
        self._lines = None

    def told(self, lines: int) -> None:
        """How many there are, by somebody who has counted them on his way."""
        self._count = lines

    def whole(self) -> list[bytes]:
        """All of them."""
        return self._data.removesuffix(b"\n").translate(None, DIGITS).split(b"\n")

    def __len__(self) -> int:
        if not self._count:
            self._count = max(1, self._data.count(b"\n") + (not self._data.endswith(b"\n")))
        return self._count

    @overload
    def __getitem__(self, at: int) -> bytes: ...
    @overload
    def __getitem__(self, at: slice) -> list[bytes]: ...
    def __getitem__(self, at: int | slice) -> bytes | list[bytes]:
        places = range(len(self))[at]
        if isinstance(places, range):
            return [self._one(i) for i in places]
        return self._one(places)

    def _one(self, i: int) -> bytes:
        if self._lines is None:
            if self._last is None:  # the last lines are those that are asked for most
                self._last = end_of(self._data).removesuffix(b"\n").split(b"\n")
            behind = i - len(self)
            if behind >= -len(self._last):
                return self._last[behind].translate(None, DIGITS)
            if i == 0:
                return self._data[: self._data.find(b"\n")].translate(None, DIGITS)
            self._lines = self._data.removesuffix(b"\n").split(b"\n")
        return self._lines[i].translate(None, DIGITS)


def all_of(keys: Sequence[bytes]) -> Sequence[bytes]:
    """All keys of a block as they are; those of a text at once, in a tenth of the time that one by one takes."""
    if not isinstance(keys, Keys):
        return keys
    return keys.whole()


class TextBlock(Block):
    """Lines of text: one key a line; wrappers and prefixes come off when a line is opened.

    ``lined`` is the text with a line feed behind each line, ``zeroed`` that with every digit as 0. Whoever reads them finds on his way what else would have to be
    searched for: how many lines there are, where they begin, and whether ``rare`` is among them; he may say so (``cut``, ``told``).
    """

    __slots__ = (
        "_back",
        "_before",
        "_ends",
        "_measured",
        "_opened",
        "_plain",
        "_split",
        "_stamped",
        "_start",
        "_starts",
        "_unwrapper",
        "_written",
        "_zeroed",
        "rare",
    )

    def __init__(self, piece: Piece, *, source: str, part: PartKind, unwrapper: Unwrapper, context: Context) -> None:
        # carriage returns of Windows are no line's own, and a line that has one is never known by its shape
        data = self._plain = piece.data.replace(b"\r\n", b"\n") if b"\r" in piece.data and b"\r\n" in piece.data else piece.data
        self._zeroed = b""
        keys: Sequence[bytes] = Keys(data)
        if b"\x1b" in data:  # a colour in the midst of a phrase would hide it from the scan
            keys = ANSI_BYTES.sub(b"", data.removesuffix(b"\n")).translate(None, DIGITS).split(b"\n")
        self.rare = _BLOB_END if unwrapper.journal else b""
        super().__init__(source=source, part=part, first_line=piece.line, data=piece.data, keys=keys, problems=piece.problems)
        if unwrapper.journal:
            self._blobs = None
        self._start = piece.start
        self._unwrapper = unwrapper
        self._before = context.last()
        self._stamped = context.stamped()
        self._split: list[bytes] | None = None
        self._written: list[bytes] | None = None  # the lines with what ``_plain`` has without
        self._opened: dict[int, Opened] = {}
        self._ends: dict[int, int] = {}
        self._starts: Sequence[int] = ()  # where each line of ``_plain`` begins
        self._measured: tuple[list[int], list[int]] | None = None  # lines, and where each begins
        self._back = LookBack(_LOOK_BACK)

    @property
    def plain(self) -> bool:
        """Whether nothing is ever taken off a line but prefixes of containers, CIs and servers, and nobody else's word is among the lines."""
        return self._unwrapper.plain

    @property
    def lined(self) -> bytes:
        """The text with a line feed behind each line."""
        return self._plain if self._plain.endswith(b"\n") else self._plain + b"\n"

    @property
    def zeroed(self) -> bytes:
        """That with every digit as 0."""
        if not self._zeroed:
            self._zeroed = self.lined.translate(ZEROS)
        return self._zeroed

    def cut(self, starts: Sequence[int]) -> None:
        """Hear where each line of ``lined`` begins."""
        self._starts = starts

    def told(self, lines: int, ends: dict[int, int], *, rare: bool) -> None:
        """Hear from one who has read all of ``zeroed`` how many lines there are, where some of them end (in their order), and whether any has ``rare`` in it."""
        self._ends = ends if self._plain is self.data else {}
        if isinstance(self.keys, Keys):
            self.keys.told(lines)
        if not rare:
            self._blobs = 0

    def frame(self, i: int) -> Frame:
        """Open line ``i``, counted from 0 within the block."""
        opened = self._open(i)
        if self._unwrapper.journal and not opened.outer:
            return self._further_line(i, opened)
        return self._frame(i, opened, self._back.above(i, opened, self._open, self._stamped))

    def later(self, i: int) -> Callable[[], Frame]:
        """What opens line ``i`` when this block has gone: one of PID 1 or the kernel, or with a stamp of its own, so that nothing above it has to be known."""
        return partial(_alone, self.raw(i), self._unwrapper, self.source, self.first_line + i, self._offset(i))

    def raw(self, i: int) -> bytes:
        """The line itself."""
        line = self._plain[self._starts[i] : self._starts[i + 1]] if self._starts else self.texts()[i]
        return line.removesuffix(b"\n")

    def release(self) -> None:
        """Let go of what can be made again: whoever wants few lines of many asks for them later."""
        self._split, self._written, self._zeroed = None, None, b""
        self._opened.clear()
        if isinstance(self.keys, Keys):
            self.keys.release()

    def carry_over(self, context: Context) -> None:
        """Note what the next block inherits; looks at the last lines only."""
        data = self._plain
        end = len(data) - data.endswith(b"\n")
        lines = data[max(0, end - _CARRY_BYTES) : end].split(b"\n")[1 if end > _CARRY_BYTES else 0 :]
        record: Opened | None = None
        last = self.first_line + len(self.keys) - 1
        for back, line in enumerate(reversed(lines[-_CARRY_LINES:])):
            opened = self._unwrapper.open(_text(line))._replace(order=order_of(last - back))
            record = record or (opened if opened.outer else None)
            if is_stamped(opened):
                context.carry(opened, record)
                return
        context.carry(None, record)

    def texts(self) -> list[bytes]:
        """All lines as they stand but for a carriage return at their end, each with its line feed: so they are cut in a third of the time."""
        if self._split is None:
            self._split = BytesIO(self._plain).readlines() or [b""]
        return self._split

    def _open(self, i: int) -> Opened:
        opened = self._opened.get(i)  # the lines below look at it, too
        if opened is None:
            opened = self._opened[i] = self._unwrapper.open(_text(self.raw(i)))._replace(order=order_of(self.first_line + i))
        return opened

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
        line = self.first_line + i
        return made(opened, above, source=self.source, line_no=line, order=order_of(line), start=self._offset(i), fields=_fields(opened))

    def _offset(self, i: int) -> int:
        if self._starts and self._plain is self.data:
            return self._start + self._starts[i]
        if self._plain is not self.data and self._written is None:
            self._written = BytesIO(self.data).readlines()
        lines = self._written or self.texts()
        if self._measured is None:
            ends = self._ends or dict(islice(enumerate(accumulate(map(len, lines))), _STEP - 1, None, _STEP))
            self._measured = [0, *(line + 1 for line in ends)], [self._start, *(self._start + end for end in ends.values())]
        numbers, starts = self._measured
        at = bisect_right(numbers, i) - 1
        return starts[at] + sum(map(len, lines[numbers[at] : i]))


def _blobs(body: bytes) -> int:
    """How many messages were left out; the expression alone would look at every bracket."""
    count, at = 0, body.find(_BLOB_END)
    while at >= 0:
        count += _BLOB.search(body, max(0, at - _BLOB_HEAD), at + len(_BLOB_END) + 3) is not None
        at = body.find(_BLOB_END, at + 1)
    return count


def _alone(line: bytes, unwrapper: Unwrapper, source: str, line_no: int, start: int) -> Frame:
    order = order_of(line_no)
    opened = unwrapper.open(_text(line))._replace(order=order)
    return made(opened, None, source=source, line_no=line_no, order=order, start=start, fields=_fields(opened))


def end_of(data: bytes) -> bytes:
    """The last lines of some, as many as a block is asked of for what the next one inherits."""
    return data if len(data) <= 2 * _CARRY_BYTES else data[data.rfind(b"\n", 0, len(data) - _CARRY_BYTES - 2) + 1 :]


def made(opened: Opened, above: Opened | None, *, source: str, line_no: int, order: int, start: int, fields: dict[str, str]) -> Frame:
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
        ident=opened.ident, pid=opened.pid if inner_pid is None else inner_pid, rank=rank, host=opened.host, fields=fields, order=order,
        record=above.order if above is not None else opened.order if is_stamped(opened) or opened.origin not in _WRITERS else None,
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

"""Entries of the journal with their fields, and its json format, as blocks whose keys are the messages; no object of every entry. Never believes what a
service says about itself: who wrote an entry is read from the fields that journald sets (those with an underscore).

json: one object a line (json-seq's record separators are tolerated); MESSAGE is a string, a list of byte values (any escape or carriage return in it), null or absent.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any

from forensics.model import Frame, Origin, PartKind, Problem, Section
from forensics.parse.block import DIGITS, Block, Context, LookBack, is_stamped, made
from forensics.parse.lines import Piece
from forensics.parse.sniff import Part
from forensics.parse.unwrap import ANSI_BYTES, Opened, ServerPrefixes, Unwrapper, clean, origin_of, pid_of

KEPT_FIELDS = frozenset({
    "_PID", "_UID", "_COMM", "_BOOT_ID", "_HOSTNAME", "_TRANSPORT", "_SYSTEMD_UNIT", "_SYSTEMD_USER_UNIT", "_SYSTEMD_INVOCATION_ID", "_STREAM_ID", "_SOURCE_REALTIME_TIMESTAMP",
    "__REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP", "INVOCATION_ID", "UNIT", "USER_UNIT", "PRIORITY", "SYSLOG_IDENTIFIER", "SYSLOG_PID", "MESSAGE_ID", "UNIT_RESULT", "EXIT_CODE",
    "EXIT_STATUS", "JOB_RESULT", "JOB_TYPE", "COMMAND", "N_RESTARTS", "COREDUMP_SIGNAL", "COREDUMP_SIGNAL_NAME", "COREDUMP_PID", "COREDUMP_UNIT", "COREDUMP_COMM",
})  # fmt: skip
# all that tells who wrote an entry
WRITER_FIELDS = ("_TRANSPORT", "_PID", "_COMM", "SYSLOG_IDENTIFIER", "_UID")
_PID, _UID = WRITER_FIELDS.index("_PID"), WRITER_FIELDS.index("_UID")
_JSON_WRITER = tuple(f'"{name}":"'.encode() for name in WRITER_FIELDS)
MAX_ENTRY_LINE = 1 << 20  # a message of 48 KiB as a list of byte values takes about 200 KB
_LOOK_BACK = 300  # opening an entry costs ten times what a line of text does
_CARRY = 20
_NUMBERS = ("_PID", "SYSLOG_PID", "_UID", "PRIORITY", "__REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP")
_MAX_DIGITS = 20  # 64 bits
_NULL = re.compile(rb'"MESSAGE" ?: ?null[,}]')  # too long for journalctl without -a
_DECODE = json.JSONDecoder().raw_decode


class EntryBlock(Block):
    """Some entries; ``where`` has the entry of each key."""

    __slots__ = ("_back", "_last", "_lines", "_odd", "_raw", "_stamped", "_start", "_starts", "_texts", "_told", "_unwrapper", "_where")

    def __init__(
        self, raw: list[bytes], messages: list[list[bytes]], *, source: str, part: PartKind, line: int, start: int, data: bytes, unwrapper: Unwrapper, context: Context,
        problems: tuple[Problem, ...] = ()
    ) -> None:  # fmt: skip
        where = [number for number, lines in enumerate(messages) for _ in lines]
        texts = [text for lines in messages for text in lines]
        keys = b"\n".join(texts).translate(None, DIGITS).split(b"\n") if texts else []
        super().__init__(source=source, part=part, first_line=line, data=data, keys=keys, problems=problems)
        self._raw = raw
        self._where = where
        self._texts = texts
        self._start = start
        self._starts: list[int] = []
        self._lines: list[int] = []
        self._unwrapper = unwrapper
        self._stamped = dict(context.stamped)
        self._back = LookBack(_LOOK_BACK)
        self._last: tuple[int, dict[str, str], list[str]] | None = None
        self._told: tuple[int, bytes] = (-1, b"")  # an entry and who wrote it: its message may have thousands of lines
        self._odd: set[int] = set()  # entries with a number that cannot be, and have been reported

    def frame(self, i: int) -> Frame:
        """Open the message line of key ``i``. What is odd about its entry is added to ``problems``."""
        if not self._starts:
            self._starts, self._lines = self._places()
        number = self._where[i]
        self._check(number)
        opened = self._open(i)
        fields = dict(self._entry(number)[0])
        if opened.trusted:
            fields["trusted"] = "1"
        above = self._back.above(i, opened, self._open, self._stamped)
        frame = made(opened, above, source=self.source, line_no=self._lines[number], start=self._starts[number], fields=fields)
        return frame if i == 0 or self._where[i - 1] != number else frame._replace(continuation=True)

    def carry_over(self, context: Context) -> None:
        """Note what the entries of the next block inherit."""
        for i in range(len(self.keys) - 1, max(-1, len(self.keys) - 1 - _CARRY), -1):
            opened = self._open(i)
            if is_stamped(opened):
                context.carry(opened)
                return

    def raw(self, i: int) -> bytes:
        """The fields that tell who wrote the entry, then the line of its message; empty for an entry that must be read field by field."""
        number = self._where[i]
        if self._told[0] != number:
            self._told = number, self._writer(self._raw[number])
        writer = self._told[1]
        return writer + self._texts[i] if writer else b""

    def _index(self, i: int) -> int:
        """Which line of its message key ``i`` is."""
        return i - bisect_left(self._where, self._where[i])

    def _open(self, i: int) -> Opened:
        fields, lines = self._entry(self._where[i])
        index = self._index(i)
        return _opened(lines[index] if index < len(lines) else "", fields, self._unwrapper)

    def _entry(self, number: int) -> tuple[dict[str, str], list[str]]:
        if self._last is None or self._last[0] != number:
            self._last = number, *self._parse(self._raw[number])
        return self._last[1], self._last[2]

    def _check(self, number: int) -> None:
        """journald's own numbers are short; where they are not, the entry is not journald's, and says nothing about who wrote it."""
        if number in self._odd:
            return
        wrong = [key for key in _NUMBERS if len(self._entry(number)[0].get(key, "")) > _MAX_DIGITS]
        if wrong:
            self._odd.add(number)
            self.problems += (Problem(source=self.source, line=self._lines[number], text=f"{' and '.join(wrong)} of this entry cannot be: not read"),)

    def _parse(self, raw: bytes) -> tuple[dict[str, str], list[str]]:
        """The kept fields of an entry and the lines of its message."""
        raise NotImplementedError

    def _writer(self, raw: bytes) -> bytes:
        """The fields that tell who wrote an entry; empty where they have to be looked for field by field."""
        raise NotImplementedError

    def _places(self) -> tuple[list[int], list[int]]:
        """Byte offset and line number of each entry."""
        raise NotImplementedError


def split_message(message: bytes) -> list[bytes]:
    """The lines of a message, without colours; at least one."""
    if b"\x1b" in message:
        message = ANSI_BYTES.sub(b"", message)
    return message.rstrip(b"\n").split(b"\n") if b"\n" in message else [message]


def decoded(lines: list[bytes]) -> list[str]:
    """As text; what is not UTF-8 becomes replacement characters."""
    return [line.decode("utf-8", "replace") for line in lines]


def writer_of(values: list[bytes]) -> bytes:
    """The values of ``WRITER_FIELDS`` as one; of the numbers only what matters, as they are many and the wordings few."""
    if values[_PID]:
        values[_PID] = b"init" if values[_PID].endswith((b"=1", b'"1')) else b"pid"
    if values[_UID]:
        values[_UID] = b"root" if values[_UID].endswith((b"=0", b'"0')) else b"user"
    values.append(b"")
    return b"\x1f".join(values)


def _opened(text: str, fields: Mapping[str, str], unwrapper: Unwrapper) -> Opened:
    get = fields.get
    ident = get("SYSLOG_IDENTIFIER") or get("_COMM", "")
    pid = pid_of(get("_PID") or get("SYSLOG_PID", ""))
    origin, trusted = _origin(fields, ident, pid)
    stamp = get("__REALTIME_TIMESTAMP", "")
    if stamp.isdecimal():
        stamp = f"{stamp[:-6] or '0'}.{stamp[-6:]:0>6}"
    if origin is not Origin.SERVER:
        return Opened(clean(text), origin, True, False, 0, stamp, "", get("_HOSTNAME", ""), ident, pid, None, "", trusted)
    return unwrapper.message(Opened(text, origin, True, False, 0, stamp, "", get("_HOSTNAME", ""), ident, pid))


def _origin(fields: Mapping[str, str], ident: str, pid: int | None) -> tuple[Origin, bool]:
    """Who wrote an entry, and whether journald vouches for it; by the identifier only where the export left the trusted fields out."""
    transport, comm = fields.get("_TRANSPORT"), fields.get("_COMM")
    if transport == "kernel":
        return Origin.KERNEL, True
    if transport == "driver":  # journald about itself
        return Origin.SYSTEMD, False
    if pid == 1 and comm in (None, "systemd", "init") and "_PID" in fields:
        return Origin.SYSTEMD, True
    if transport == "journal" and comm == "systemd" and fields.get("_UID") == "0" and pid in (1, None):  # root's own manager is no PID 1
        return Origin.SYSTEMD, True
    by_name = origin_of(ident, pid)
    if comm is None and transport is None:
        return by_name
    if by_name[0] is Origin.SYSTEMD and transport != "stdout" and (comm or "systemd").startswith(("systemd", "(")):
        return Origin.SYSTEMD, False
    return Origin.SERVER, False


# --------------------------------------------------------------------------- json


class JsonBlock(EntryBlock):
    """Lines of ``journalctl -o json``."""

    __slots__ = ()

    def _parse(self, raw: bytes) -> tuple[dict[str, str], list[str]]:
        try:
            entry = json.loads(raw.lstrip(b"\x1e").decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            entry = None
        if not isinstance(entry, dict):  # a cut line, or a notice among the entries
            return {}, decoded(message_in(raw))
        fields = {key: value if isinstance(value, str) else _scalar(value) for key, value in entry.items() if key in KEPT_FIELDS}
        return fields, decoded(split_message(_message(entry.get("MESSAGE"))))

    def _writer(self, raw: bytes) -> bytes:
        values = []
        for name in _JSON_WRITER:
            at = raw.find(name)
            values.append(raw[at : raw.find(b'"', at + len(name))] if at >= 0 else b"")
        return writer_of(values) if raw[:1] == b"{" else b""

    def _places(self) -> tuple[list[int], list[int]]:
        starts = list(accumulate((len(line) + 1 for line in self._raw), initial=self._start))
        return starts, list(range(self.first_line, self.first_line + len(self._raw)))


def json_blocks(section: Section, part: Part, server: ServerPrefixes, found: Iterable[Piece]) -> Iterator[Block]:
    """The blocks of a journal in json, of pieces of its lines. A line that is no entry is kept as its own text, with a problem."""
    unwrapper, context = Unwrapper(PartKind.SERVER, server), Context()
    for piece in found:
        raw = piece.data.split(b"\n")
        if not raw[-1]:
            raw.pop()
        problems = [
            Problem(source=section.name, line=piece.line + number, text="no complete journal entry")
            for number, line in enumerate(raw)
            if line and (line[0] not in b"{\x1e" or line.rstrip(b"\r")[-1:] != b"}")
        ]
        block = JsonBlock(
            raw, [message_in(line) for line in raw], source=section.name, part=part.kind, line=piece.line, start=piece.start, data=piece.data,
            unwrapper=unwrapper, context=context, problems=(*piece.problems, *problems[:20])
        )  # fmt: skip
        block.blobs = len(_NULL.findall(piece.data))
        yield block
        block.carry_over(context)


def message_in(line: bytes) -> list[bytes]:
    """The lines of the message of an entry, found without reading the rest of it.

    The quotes within a JSON string are escaped, so ``"MESSAGE":`` cannot be part of a value.
    """
    at = line.find(b'"MESSAGE":')
    if at < 0:
        return [line] if line and line[0] not in b"{\x1e" else [b""]
    at += 10
    if line[at : at + 1] == b'"':
        text = line[at + 1 : line.find(b'"', at + 1)]
        if b"\\" not in text:
            return [text]
    try:
        value, _ = _DECODE(line[at:].decode("utf-8", "replace").lstrip())
    except (ValueError, RecursionError):
        return [line[at:].strip(b'"{}')]
    return split_message(_message(value))


def _message(value: Any) -> bytes:
    """A MESSAGE as bytes: text, byte values, a field given more than once, null (it was too long for ``journalctl`` without ``-a``) or missing."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, list):
        try:
            return bytes(value)
        except (TypeError, ValueError):
            return b"\n".join(_message(item) for item in value if not isinstance(item, (int, float)))
    return b""


def _scalar(value: Any) -> str:
    if isinstance(value, list) and value and not isinstance(value[0], int):
        value = value[-1]
    return (
        value
        if isinstance(value, str)
        else _message(value).decode("utf-8", "replace")
        if isinstance(value, list)
        else ""
        if value is None
        else str(value)
    )

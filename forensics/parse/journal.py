"""Entries of the journal with their fields, as blocks whose keys are the messages; no object of every entry. Never believes what a service says about itself:
who wrote an entry is read from the fields that journald sets (those with an underscore).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import overload

from forensics.model import Frame, Origin, PartKind, Problem, order_of
from forensics.parse.block import DIGITS, ZEROS, Block, Context, LookBack, is_stamped, made
from forensics.parse.spoken import Spoken
from forensics.parse.unwrap import ANSI_BYTES, Opened, Unwrapper, clean, origin_of, pid_of

KEPT_FIELDS = frozenset({
    "_PID", "_UID", "_COMM", "_BOOT_ID", "_HOSTNAME", "_TRANSPORT", "_SYSTEMD_UNIT", "_SYSTEMD_USER_UNIT", "_SYSTEMD_INVOCATION_ID", "_STREAM_ID", "_SOURCE_REALTIME_TIMESTAMP",
    "__REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP", "INVOCATION_ID", "UNIT", "USER_UNIT", "PRIORITY", "SYSLOG_IDENTIFIER", "SYSLOG_PID", "MESSAGE_ID", "UNIT_RESULT", "EXIT_CODE",
    "EXIT_STATUS", "JOB_RESULT", "JOB_TYPE", "COMMAND", "N_RESTARTS", "COREDUMP_SIGNAL", "COREDUMP_SIGNAL_NAME", "COREDUMP_PID", "COREDUMP_UNIT", "COREDUMP_COMM",
})  # fmt: skip
# all that tells who wrote an entry
WRITER_FIELDS = ("_TRANSPORT", "_PID", "_COMM", "SYSLOG_IDENTIFIER", "_UID", "SYSLOG_PID")
_PIDS, _UID = (WRITER_FIELDS.index("_PID"), WRITER_FIELDS.index("SYSLOG_PID")), WRITER_FIELDS.index("_UID")
_LOOK_BACK = 300  # opening an entry costs ten times what a line of text does
CARRY = 20  # lines that are looked at for what the next block inherits
_NUMBERS = ("_PID", "SYSLOG_PID", "_UID", "PRIORITY", "__REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP")
_MAX_DIGITS = 20  # 64 bits
_SEP = b"\x1f"  # ends the name of a writer; a message that holds one makes its whole block tell the writer of each line
_LONGEST_WRITER = 256  # bytes; of a longer one, which hardly a program has, each line is read field by field
_STDOUT, _OPEN = b"stdout" + _SEP, b"open" + _SEP


class _Keys(Sequence[bytes]):
    """Lines without their digits, each made when it is asked for: of most nobody does."""

    __slots__ = ("_texts",)

    def __init__(self, texts: list[bytes]) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, at: int) -> bytes: ...
    @overload
    def __getitem__(self, at: slice) -> list[bytes]: ...
    def __getitem__(self, at: int | slice) -> bytes | list[bytes]:
        if isinstance(at, slice):
            return [text.translate(None, DIGITS) for text in self._texts[at]]
        return self._texts[at].translate(None, DIGITS)


class EntryBlock(Block):
    """Some entries: ``texts`` are the lines of their messages, ``where`` has the entry of each; None: each has one."""

    __slots__ = (
        "_back",
        "_last",
        "_lines",
        "_raw",
        "_spoken",
        "_stamped",
        "_start",
        "_starts",
        "_texts",
        "_told",
        "_unwrapper",
        "_where",
    )

    def __init__(
        self, raw: list[bytes], texts: list[bytes], where: Sequence[int] | None = None, *, source: str, part: PartKind, line: int, start: int, data: bytes, unwrapper: Unwrapper,
        context: Context, problems: tuple[Problem, ...] = (), spoken: Spoken | None = None
    ) -> None:  # fmt: skip
        super().__init__(source=source, part=part, first_line=line, data=data, keys=_Keys(texts), problems=problems)
        self._raw = raw
        self._where = range(len(raw)) if where is None else where
        self._texts = texts
        self._start = start
        self._starts: Sequence[int] = []
        self._lines: Sequence[int] = []
        self._unwrapper = unwrapper
        self._stamped = context.stamped()
        self._back = LookBack(_LOOK_BACK)
        self._last: tuple[int, dict[str, str], list[str]] | None = None
        self._spoken = spoken
        self._told: list[bytes] | None = None

    def frame(self, i: int) -> Frame:
        """Open the message line of key ``i``."""
        if not self._starts:
            self._starts, self._lines = self._places()
        number = self._where[i]
        opened = self._open(i)
        fields = dict(self._entry(number)[0])
        if opened.trusted:
            fields["trusted"] = "1"
        above = self._back.above(i, opened, self._open, self._stamped)
        frame = made(opened, above, source=self.source, line_no=self._lines[number], order=opened.order, start=self._starts[number], fields=fields)
        further = i > 0 and self._where[i - 1] == number
        if further or (i + 1 < len(self._where) and self._where[i + 1] == number):  # a message of several lines is a record, whatever stands above it
            frame = frame._replace(record=max(order_of(frame.line_no), frame.record if frame.record is not None else 0))
        return frame._replace(continuation=frame.continuation or further, height=self._height(number))

    def carry_over(self, context: Context) -> None:
        """Note what the entries of the next block inherit."""
        for i in range(len(self.keys) - 1, max(-1, len(self.keys) - 1 - CARRY), -1):
            opened = self._open(i)
            if is_stamped(opened):
                context.carry(opened)
                return
        context.carry(None)

    def raw(self, i: int) -> bytes:
        """The line of a message, with the fields before it that tell who wrote it unless that was a service to its standard output; empty for an entry that
        must be read field by field."""
        return self.texts()[i]

    @property
    def lined(self) -> bytes:
        """What ``texts`` gives, with a line feed behind each; of what must be read field by field, the line of the message, and that it is one."""
        lines = self.texts()
        if b"" in lines:
            lines = [line or (_OPEN + text if text else text) for line, text in zip(lines, self._texts, strict=True)]
        return b"\n".join([*lines, b""])

    @property
    def zeroed(self) -> bytes:
        """That with every digit as 0."""
        return self.lined.translate(ZEROS)

    def texts(self) -> list[bytes]:
        """All lines as ``raw`` gives them. No digit of them tells who wrote one."""
        if self._told is None:
            self._told = self._tell()
        return self._told

    def release(self) -> None:
        """Let go of what only the scan asks for."""
        self._told = None

    def _tell(self) -> list[bytes]:
        told = self._spoken.told(self._raw) if self._spoken is not None else [False] * len(self._raw)
        texts, where = self._texts, self._where
        every = _SEP in b"".join(texts)
        lines = [_STDOUT + text for text in texts] if every else texts[:]
        at = -1
        while (at := _next_false(told, at + 1)) >= 0:
            writer = self._writer(self._raw[at]).replace(b"\n", _SEP)
            if len(writer) > _LONGEST_WRITER:  # would stand before each line of the message
                writer = b""
            for i in range(at, at + 1) if isinstance(where, range) else range(bisect_left(where, at), bisect_left(where, at + 1)):
                lines[i] = writer + texts[i] if writer else b""
        return lines

    def _index(self, i: int) -> int:
        """Which line of its message key ``i`` is."""
        return i - bisect_left(self._where, self._where[i])

    def _open(self, i: int) -> Opened:
        fields, lines = self._entry(self._where[i])
        index = self._index(i)
        return _opened(lines[index] if index < len(lines) else "", fields, self._unwrapper)._replace(
            order=order_of(self._line(self._where[i]), index)
        )

    def _line(self, number: int) -> int:
        """The line that an entry begins in."""
        if not self._starts:
            self._starts, self._lines = self._places()
        return self._lines[number]

    def _height(self, number: int) -> int:
        """How many lines an entry takes, or the one before it."""
        after = number + 1 if number + 1 < len(self._lines) else number
        return max(1, self._lines[after] - self._lines[after - 1]) if after else 1

    def _entry(self, number: int) -> tuple[dict[str, str], list[str]]:
        if self._last is None or self._last[0] != number:
            self._last = number, *self._parse(self._raw[number])
        return self._last[1], self._last[2]

    def _parse(self, raw: bytes) -> tuple[dict[str, str], list[str]]:
        """The kept fields of an entry and the lines of its message."""
        raise NotImplementedError

    def _writer(self, raw: bytes) -> bytes:
        """The fields that tell who wrote an entry; empty where they have to be looked for field by field."""
        raise NotImplementedError

    def _places(self) -> tuple[Sequence[int], Sequence[int]]:
        """Byte offset and line number of each entry."""
        raise NotImplementedError


def _next_false(told: list[bool], at: int) -> int:
    try:
        return told.index(False, at)
    except ValueError:
        return -1


def flattened(messages: Iterable[list[bytes]]) -> tuple[list[bytes], list[int]]:
    """The lines of some messages, and of each the number of its message."""
    texts: list[bytes] = []
    where: list[int] = []
    for number, lines in enumerate(messages):
        texts += lines
        where += [number] * len(lines)
    return texts, where


def odd_numbers(frames: Iterable[Frame]) -> list[Problem]:
    """The entries whose numbers cannot be: journald's own are short, and what has others says nothing about who wrote it."""
    told: dict[tuple[str, int], Problem] = {}
    for frame in frames:
        wrong = [key for key in _NUMBERS if len(frame.fields.get(key, "")) > _MAX_DIGITS]
        if wrong:
            text = f"{' and '.join(wrong)} of this entry cannot be: not read"
            told.setdefault((frame.source, frame.line_no), Problem(source=frame.source, line=frame.line_no, text=text))
    return list(told.values())


def split_message(message: bytes) -> list[bytes]:
    """The lines of a message, without colours; at least one."""
    if b"\x1b" in message:
        message = ANSI_BYTES.sub(b"", message)
    return message.rstrip(b"\n").split(b"\n") if b"\n" in message else [message]


def decoded(lines: list[bytes]) -> list[str]:
    """As text; what is not UTF-8 becomes replacement characters."""
    return [line.decode("utf-8", "replace") for line in lines]


def writer_of(values: list[bytes]) -> bytes:
    """The values of ``WRITER_FIELDS`` as one; of the numbers only what matters, in letters, as they are many and the wordings few."""
    for number in _PIDS:
        if value := values[number]:
            digits = value[(value.rfind(b'"') if value[:1] == b'"' else value.find(b"=")) + 1 :].decode("utf-8", "replace")
            pid = pid_of(digits)
            values[number] = b"init" if pid == 1 else b"pid" if pid is not None else b"odd" if digits else b"none"
    if values[_UID]:
        values[_UID] = b"root" if values[_UID].endswith((b"=0", b'"0')) else b"user"
    values.append(b"")
    return _SEP.join(values)


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

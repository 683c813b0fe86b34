"""Turn a journal round that was saved newest first (``journalctl -r``), record by record. Never turns one that is too large to be held, and always says what it did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from forensics import clock, lazily
from forensics.model import PartKind, Problem, Section
from forensics.parse import kernel
from forensics.parse.lines import MAX_LINE, Piece, split_at_long_lines
from forensics.parse.part import Part
from forensics.parse.unwrap import clean, journal_line, separator

MOST = 64 << 20  # bytes that are held to be turned round
_LOOK = 1 << 16  # bytes of either end that are looked at
_ANY_YEAR = 2000  # a leap year
_STEP = 1 << 20
_ENTRY_TIME = lazily.pattern(
    rb'"__REALTIME_TIMESTAMP" ?: ?"(\d{1,20})"|^__REALTIME_TIMESTAMP=(\d{1,20})$|;t=([0-9a-f]{1,16});x=[0-9a-f]{1,16}\]$'
)  # json, export, verbose
_LOGGED = lazily.pattern(
    rb"(?:\x1b\[[0-9;]{0,12}m)?(?:\(\w{1,40} pid=\d{1,10}\) )?\W{0,2}(?:(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\W{1,2})?"
    rb"(?P<stamp>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?|\d\d-\d\d \d\d:\d\d:\d\d)(?=[^\d]|$)"
)
_INDENTED, _TRACEBACK = b"  File ", b"Traceback (most recent call last)"
_REBOOT = b"-- Reboot --"
_BOOTED = ("-- Boot ", "-- Reboot")

TOO_LARGE = (
    "the newest line comes first (journalctl -r), and it is too large to be turned round: what came after what is not known; save it without -r"
)
NOT_TURNED = "the newest entry comes first (journalctl -r): what came after what is not known; save it without -r"
TURNED = "the newest line comes first (journalctl -r, tac, a log viewer): it was read from its end, and its lines are counted from there"


class _Stamp(NamedTuple):
    at: float
    whole: bool  # with its year


def newest_first(section: Section, part: Part) -> bool:
    """Whether the stamps of a journal fall: most neighbours in its head do, and the last one is before the first.

    Over New Year stamps without a year say nothing at the ends: then those in the tail must fall as well.
    """
    size = section.size()
    end = size if part.end is None else min(part.end, size)
    with section.open() as stream:
        stream.seek(part.start)
        head = stream.read(min(_LOOK, end - part.start))
        stream.seek(max(part.start, end - _LOOK))
        tail = stream.read(min(_LOOK, end - part.start))
    of = (
        _entry_stamp
        if part.entries or part.kind in (PartKind.JOURNAL_JSON, PartKind.JOURNAL_EXPORT)
        else _log_stamp
        if part.kind is PartKind.SERVER
        else _text_stamp
    )
    first, last = _stamps(head, of), _stamps(tail, of)
    if not first or not last or not _fall(first):
        return False
    return last[-1].at < first[0].at or (not first[0].whole and _fall(last))


def turned(section: Section, part: Part) -> Iterator[Piece]:
    """The part as pieces of whole lines, its last record first."""
    with section.open() as stream:
        stream.seek(part.start)
        data = stream.read(MOST if part.end is None else min(MOST, part.end - part.start))
    lines = data.removesuffix(b"\n").split(b"\n")
    single = part.entries or part.kind is PartKind.JOURNAL_JSON
    records = [line + b"\n" for line in lines] if single else _log_records(lines) if part.kind is PartKind.SERVER else _records(lines)
    problems: tuple[Problem, ...] = (Problem(source=section.name, line=part.first_line, text=TURNED),)
    line, start = part.first_line, part.start
    for chunk in _chunks(records[::-1]):
        for piece in split_at_long_lines(chunk, line, start, section.name, _STEP if single else MAX_LINE):
            yield piece._replace(problems=(*problems, *piece.problems))
            problems = ()
        line += chunk.count(b"\n")
        start += len(chunk)


def _stamps(data: bytes, of: Callable[[bytes], _Stamp | None]) -> list[_Stamp]:
    return [stamp for line in data.split(b"\n") if (stamp := of(line)) is not None]


def _text_stamp(line: bytes) -> _Stamp | None:
    text = clean(line.decode("utf-8", "replace"))
    opened = journal_line(text)
    if opened is None:
        return _kernel_stamp(text)
    at = clock.parse_stamp(opened.stamp, year=_ANY_YEAR)
    if at is None:  # short-monotonic
        try:
            at = float(opened.stamp)
        except ValueError:
            return None
    return _Stamp(at, not clock.lacks_year(opened.stamp))


def _kernel_stamp(text: str) -> _Stamp | None:
    """Of dmesg, by the calendar or since the boot."""
    stamped = kernel.strip(text)
    if stamped is None:
        return None
    at = clock.parse_stamp(stamped.stamp) if stamped.stamp else None
    if at is not None:
        return _Stamp(at, whole=True)
    try:
        return _Stamp(float(stamped.since_boot), whole=True)
    except ValueError:
        return None


def _log_stamp(line: bytes) -> _Stamp | None:
    """Of a program's log: the first stamp near the beginning of the line."""
    found = _LOGGED.match(line)
    if found is None:
        return None
    text = found["stamp"].decode("ascii")
    at = clock.parse_stamp(text, year=_ANY_YEAR)
    return None if at is None else _Stamp(at, not clock.lacks_year(text))


def _entry_stamp(line: bytes) -> _Stamp | None:
    found = _ENTRY_TIME.search(line)
    if found is None:
        return None
    return _Stamp(float(int(found[3], 16) if found[3] else int(found[1] or found[2])), whole=True)


def _fall(stamps: Sequence[_Stamp]) -> bool:
    """One step back is a clock that was set; two, and hardly any forward, are an order."""
    steps = [b.at - a.at for a, b in pairwise(stamps)]
    falling, rising = sum(1 for s in steps if s < 0), sum(1 for s in steps if s > 0)
    return falling >= 2 and falling > 2 * rising


def _log_records(lines: list[bytes]) -> list[bytes]:
    """Each line that is stamped with those below it; where every line was turned by itself (``tac``), a traceback ends with its first line."""
    below = sum(1 for a, b in pairwise(lines) if a.startswith(_INDENTED) and _TRACEBACK in b)
    above = sum(1 for a, b in pairwise(lines) if _TRACEBACK in a and b.startswith(_INDENTED))
    if below > above or all(_LOGGED.match(line) for line in lines if line.strip()):
        return [line + b"\n" for line in lines]
    records: list[list[bytes]] = []
    for line in lines:
        if not records or _LOGGED.match(line):
            records.append([line])
        else:
            records[-1].append(line)
    return [b"\n".join(record) + b"\n" for record in records]


def _records(lines: list[bytes]) -> list[bytes]:
    """Each record with its further lines, in the order of the file. A mark between two boots names the one below it: turned round, the one above."""
    records: list[list[bytes]] = []
    above, head = _REBOOT, []
    for line in lines:
        text = clean(line.decode("utf-8", "replace"))
        if separator(text) is not None:
            if text.startswith(("-- Journal begin", "-- Logs begin")):
                head.append(line)
                continue
            if text.startswith(_BOOTED):
                line, above = above, line
            records.append([line])
        elif journal_line(text) is not None or not records:
            records.append([line])
        else:
            records[-1].append(line)
    return [b"\n".join(record) + b"\n" for record in [*records, *([head] if head else [])]]


def _chunks(records: Sequence[bytes]) -> Iterator[bytes]:
    held: list[bytes] = []
    size = 0
    for record in records:
        held.append(record)
        size += len(record)
        if size >= _STEP:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)

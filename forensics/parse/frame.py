"""Turn the sections of a capture into blocks of lines, and frames into records. Never reads a file whole, never judges a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from forensics import clock
from forensics.model import Capture, Frame, Origin, PartKind, Problem, Record, Section
from forensics.parse import export, journal, pretty, sniff, turned
from forensics.parse.block import Block, Context, TextBlock
from forensics.parse.lines import MAX_LINE, Piece, pieces
from forensics.parse.sniff import Part
from forensics.parse.unwrap import BARE_PID_ONE_BYTES, ServerPrefixes, Unwrapper, clean, journal_line

TEXT_KINDS = frozenset(
    {PartKind.JOURNAL_TEXT, PartKind.KERNEL, PartKind.SERVER, PartKind.CLIENT, PartKind.NOTICE, PartKind.CONTAINER, PartKind.POD, PartKind.EVENTS}
)

_JOURNALS = frozenset({PartKind.JOURNAL_TEXT, PartKind.JOURNAL_JSON, PartKind.KERNEL})
_OF_SYSTEMD = frozenset({PartKind.JOURNAL_TEXT, PartKind.STATUS, PartKind.KERNEL})
_INIT = re.compile(rb" (?:systemd|init\.scope)\[1\]: ")


def frames(capture: Capture, prefixes: Sequence[str]) -> Iterator[Block]:
    """Yield the lines of all sections that hold log text, section by section, as blocks of at most about a mebibyte.

    ``prefixes`` are the servers' line prefixes (regular expressions with the groups ``stamp``, ``rank``, ``pid``, ``proc``). Of ``systemctl status`` only
    the log lines below the head are given. Answers that are not logs (states, sockets, probes, JSON results) are not framed.
    """
    server = ServerPrefixes(prefixes)
    for section in capture.sections:
        init = Init(section)
        for part in sniff.parts(section):
            yield from blocks(section, part, server, init)


class Init:
    """Whether PID 1 writes in a section under its own number: then another systemd of the same source is not PID 1. Read once, and only if it matters."""

    def __init__(self, section: Section) -> None:
        self._section = section
        self._there: bool | None = None

    def there(self) -> bool:
        """The answer."""
        if self._there is None:
            self._there = _has_init(self._section)
        return self._there


def blocks(section: Section, part: Part, server: ServerPrefixes, init: Init) -> Iterator[Block]:
    """The blocks of one part of a section."""
    problems = part.problems
    spread = part.kind is PartKind.JOURNAL_JSON and pretty.is_pretty(section, part)
    if (spread or part.kind is PartKind.JOURNAL_EXPORT) and turned.newest_first(section, part):
        problems += (Problem(source=section.name, line=part.first_line, text=turned.NOT_TURNED),)
    if problems:
        yield Block(source=section.name, part=part.kind, first_line=part.first_line, data=b"", keys=[], problems=problems)
    if spread:
        yield from pretty.pretty_blocks(section, part, server)
    elif part.kind is PartKind.JOURNAL_JSON or part.entries:
        yield from journal.json_blocks(section, part, server, _in_order(section, part, max_line=journal.MAX_ENTRY_LINE))
    elif part.kind is PartKind.JOURNAL_EXPORT:
        yield from export.export_blocks(section, part, server)
    elif part.kind in TEXT_KINDS or part.kind is PartKind.STATUS:
        found = _in_order(section, part)
        yield from _text_blocks(section, part, server, found if part.kind in TEXT_KINDS else _status_tails(found), init)


def _in_order(section: Section, part: Part, *, max_line: int = MAX_LINE) -> Iterator[Piece]:
    """The lines of a part, oldest first."""
    problems: tuple[Problem, ...] = ()
    if (part.kind in _JOURNALS or part.kind is PartKind.SERVER) and turned.newest_first(section, part):
        if (section.size() if part.end is None else part.end) - part.start <= turned.MOST:
            yield from turned.turned(section, part)
            return
        problems = (Problem(source=section.name, line=part.first_line, text=turned.TOO_LARGE),)
    for piece in pieces(section.open, source=section.name, first_line=part.first_line, start=part.start, end=part.end, max_line=max_line):
        yield piece._replace(problems=(*problems, *piece.problems)) if problems else piece
        problems = ()


def _text_blocks(section: Section, part: Part, server: ServerPrefixes, found: Iterator[Piece], init: Init) -> Iterator[Block]:
    has_init = part.kind in _OF_SYSTEMD and init.there()
    bare = part.kind is PartKind.SERVER and _is_bare(section, part)
    unwrapper, context = Unwrapper(part.kind, server, has_init=has_init, bare=bare), Context()
    for piece in found:
        block = TextBlock(piece, source=section.name, part=part.kind, unwrapper=unwrapper, context=context)
        yield block
        block.carry_over(context)


def _has_init(section: Section) -> bool:
    rest = b""
    for chunk in section.chunks():
        if _INIT.search(rest + chunk):
            return True
        rest = chunk[-32:]
    return False


def _is_bare(section: Section, part: Part) -> bool:
    """Whether PID 1 is heard in a log whose lines have no prefix (``journalctl -o cat``); only looked for in one that is not large."""
    if section.size() > sniff.MAX_MIXED:
        return False
    with section.open() as stream:
        stream.seek(part.start)
        return bool(BARE_PID_ONE_BYTES.search(stream.read() if part.end is None else stream.read(part.end - part.start)))


def _status_tails(found: Iterator[Piece]) -> Iterator[Piece]:
    """The runs of journal lines in the output of ``systemctl status``."""
    for piece in found:
        run: list[bytes] = []
        line, start = piece.line, piece.start
        run_line, run_start = line, start
        for raw in piece.data.split(b"\n"):  # splitlines() would split at carriage returns as well
            text = clean(raw.decode("utf-8", "replace"))
            if journal_line(text) or (run and text.startswith(" " * 16)):  # no head line of status is indented that far
                if not run:
                    run_line, run_start = line, start
                run.append(raw)
            elif run:
                yield Piece(b"\n".join(run), run_line, run_start)
                run = []
            line += 1
            start += len(raw) + 1
        if run:
            yield Piece(b"\n".join(run), run_line, run_start)


def record(
    frame: Frame,
    *,
    year: int | None = None,
    zone_s: float | None = None,
    latest: float | None = None,
    started: Mapping[str, float | None] | None = None,
) -> Record:
    """Read the time of a frame: the outermost stamp, else the server's own; None where neither says.

    A stamp without a year gets the last one that is not after ``latest`` (a log that runs over New Year comes out right), else ``year``.
    One that counts from the start of the machine is read where ``started`` has that for the source.
    """
    at = None
    for stamp in (frame.stamp, frame.inner):
        if not stamp:
            continue
        at = clock.parse_stamp(stamp, zone_s=zone_s)
        if at is None and started and (began := started.get(frame.source)) is not None and (since := clock.since_boot(stamp)) is not None:
            at = began + since
        if at is None and (year is not None or latest is not None):
            of_year = clock.year_for(stamp, latest=latest, zone_s=zone_s) if latest is not None and clock.lacks_year(stamp) else year
            at = clock.parse_stamp(stamp, year=of_year, zone_s=zone_s)
        if at is not None:
            break
    fields = frame.fields
    # PID 1 writes about a unit; what any other process calls UNIT or INVOCATION_ID is its own invention
    by_systemd = frame.origin is Origin.SYSTEMD
    priority = fields.get("PRIORITY", "")
    return Record(
        at=at, source=frame.source, line_no=frame.line_no, text=frame.text, origin=frame.origin, pid=frame.pid, ident=frame.ident, rank=frame.rank,
        priority=int(priority) if len(priority) == 1 and priority.isdecimal() else None, boot=fields.get("_BOOT_ID", ""),
        invocation=fields.get("INVOCATION_ID" if by_systemd else "_SYSTEMD_INVOCATION_ID", ""),
        unit=fields.get("UNIT" if by_systemd else "_SYSTEMD_UNIT", ""), transport=fields.get("_TRANSPORT", ""),
    )  # fmt: skip

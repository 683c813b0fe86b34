"""Turn the sections of a capture into blocks of lines, and frames into records. Never reads a file whole, never judges a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from forensics import clock
from forensics.model import Capture, Frame, Noun, Origin, PartKind, Problem, Record, Section
from forensics.parse import export, jsonjournal, pretty, sniff, turned
from forensics.parse.block import REMEMBERED, Block, Context, TextBlock, end_of
from forensics.parse.lines import MAX_LINE, PIECE, Border, Piece, borders, counted_back, pieces
from forensics.parse.part import Part
from forensics.parse.unwrap import BARE_PID_ONE_BYTES, ServerPrefixes, Unwrapper, clean, journal_line

TEXT_KINDS = frozenset(
    {PartKind.JOURNAL_TEXT, PartKind.KERNEL, PartKind.SERVER, PartKind.CLIENT, PartKind.NOTICE, PartKind.CONTAINER, PartKind.POD, PartKind.EVENTS}
)

_JOURNALS = frozenset({PartKind.JOURNAL_TEXT, PartKind.JOURNAL_JSON, PartKind.KERNEL})
_OF_SYSTEMD = frozenset({PartKind.JOURNAL_TEXT, PartKind.STATUS, PartKind.KERNEL})
_OF_ONE_ORDER = _JOURNALS | {PartKind.SERVER}  # those that somebody may have turned round
_CUT_KINDS = _JOURNALS | {PartKind.SERVER, PartKind.CLIENT}  # nothing that other lines of the file decide
_INIT = (b" systemd[1]: ", b" init.scope[1]: ")


def frames(capture: Capture, prefixes: Sequence[str]) -> Iterator[Block]:
    """Yield the lines of all sections that hold log text, section by section, as blocks of at most about a mebibyte.

    ``prefixes`` are the servers' line prefixes (regular expressions with the groups ``stamp``, ``rank``, ``pid``, ``proc``). Of ``systemctl status`` only
    the log lines below the head are given. Answers that are not logs (states, sockets, probes, JSON results) are not framed.
    """
    for stretch in stretches(capture, prefixes):
        yield from stretch.blocks()


def stretches(capture: Capture, prefixes: Sequence[str], *, step: int = PIECE) -> Iterator[Stretch]:
    """The same, as stretches that may be read apart from each other. ``step`` is the size of a reading, for tests."""
    server = ServerPrefixes(prefixes)
    for section in capture.sections:
        init = Init(section)
        for part in sniff.parts(section, capture.columns):
            yield Stretch(section=section, part=part, server=server, init=init, reach=Reach(step=step))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Reach(Noun):
    """From where to where a part is read, ``begin`` the first line's border (None: from its start) and ``stop`` that of what follows (None: to its end)."""

    above: Border | None = None  # from here on is what these lines inherit of
    begin: Border | None = None
    stop: Border | None = None
    step: int = PIECE

    @property
    def whole(self) -> bool:
        """Whether that is all of the part."""
        return self.begin is None and self.stop is None


WHOLE = Reach()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Stretch(Noun):
    """A part of a section, or as much of it as one process reads: then its lines are counted from 1, where it does not begin the part."""

    section: Section
    part: Part
    server: ServerPrefixes
    init: Init
    reach: Reach = WHOLE

    def blocks(self) -> Iterator[Block]:
        """Its lines."""
        return blocks(self.section, self.part, self.server, self.init, self.reach)

    def size(self) -> int:
        """Its bytes."""
        begin, stop = self.reach.begin, self.reach.stop
        end = stop.line if stop else self.part.end if self.part.end is not None else self.section.size()
        return max(0, end - (begin.line if begin else self.part.start))

    def cut(self, every: int) -> list[Stretch]:
        """The same lines in stretches of about so many bytes, which give the very blocks that the whole does; itself alone where that cannot be."""
        section, part, step = self.section, self.part, self.reach.step
        spread = part.kind is PartKind.JOURNAL_JSON and pretty.is_pretty(section, part)
        if not self.reach.whole or spread or part.kind not in _CUT_KINDS or (part.kind in _OF_ONE_ORDER and turned.newest_first(section, part)):
            return [self]
        end = section.size() if part.end is None else part.end
        found = borders(section.open, start=part.start, end=end, every=every, before=REMEMBERED, max_bytes=step)
        begins = [self.reach, *(Reach(above=above, begin=begin, step=step) for above, begin in found)]
        stops = [*(begin for _, begin in found), None]
        return [replace(self, reach=replace(reach, stop=stop)) for reach, stop in zip(begins, stops, strict=True)]


class Init:
    """Whether PID 1 writes in a section under its own number: then another systemd of the same source is not PID 1. Read once, and only if it matters."""

    def __init__(self, section: Section, *, there: bool | None = None) -> None:
        self._section = section
        self._there = there

    def there(self) -> bool:
        """The answer."""
        if self._there is None:
            self._there = _has_init(self._section)
        return self._there


def blocks(section: Section, part: Part, server: ServerPrefixes, init: Init, reach: Reach = WHOLE) -> Iterator[Block]:
    """The blocks of one part of a section."""
    problems = part.problems if reach.begin is None else ()
    spread = part.kind is PartKind.JOURNAL_JSON and pretty.is_pretty(section, part)
    if (spread or part.kind is PartKind.JOURNAL_EXPORT) and turned.newest_first(section, part):
        problems += (Problem(source=section.name, line=part.first_line, text=turned.NOT_TURNED),)
    if problems:
        yield Block(source=section.name, part=part.kind, first_line=part.first_line, data=b"", keys=[], problems=problems)
    if spread:
        yield from pretty.pretty_blocks(section, part, server)
    elif part.kind is PartKind.JOURNAL_JSON or part.entries:
        found = _in_order(section, part, reach, max_line=jsonjournal.MAX_ENTRY_LINE)
        above = _above(section, part, reach, max_line=jsonjournal.MAX_ENTRY_LINE)
        yield from jsonjournal.json_blocks(section, part, server, found, first_line=1 if reach.begin else part.first_line, above=above)
    elif part.kind is PartKind.JOURNAL_EXPORT:
        yield from export.export_blocks(section, part, server)
    elif part.kind in TEXT_KINDS or part.kind is PartKind.STATUS:
        found = _in_order(section, part, reach)
        found = found if part.kind in TEXT_KINDS else _status_tails(found)
        yield from _text_blocks(section, part, server, found, init, _above(section, part, reach), first_line=1 if reach.begin else part.first_line)


def _above(section: Section, part: Part, reach: Reach, *, max_line: int = MAX_LINE) -> Iterator[Piece]:
    """What stands above the lines that are read, as far as they inherit of it."""
    if reach.above is None or reach.begin is None:
        return iter(())
    return _between(section, part, reach.above, reach.begin, reach.step, max_line)


def _between(section: Section, part: Part, begin: Border | None, stop: Border | None, step: int, max_line: int) -> Iterator[Piece]:
    """Pieces that are not numbered: to count lines costs as much as to read them, and those that go through a block are counted on the way."""
    first, start, begun = (1, begin.line, begin.read - begin.line) if begin else (part.first_line, part.start, 0)
    return pieces(
        section.open, source=section.name, first_line=first, start=start, begun=begun, end=stop.read if stop else part.end, goes_on=stop is not None,
        max_bytes=step, max_line=max_line, numbered=part.kind is PartKind.STATUS
    )  # fmt: skip


def _in_order(section: Section, part: Part, reach: Reach, *, max_line: int = MAX_LINE) -> Iterator[Piece]:
    """The lines of a part, oldest first."""
    problems: tuple[Problem, ...] = ()
    if part.kind in _OF_ONE_ORDER and reach.whole and turned.newest_first(section, part):
        if (section.size() if part.end is None else part.end) - part.start <= turned.MOST:
            yield from turned.turned(section, part)
            return
        problems = (Problem(source=section.name, line=part.first_line, text=turned.TOO_LARGE),)
    for piece in _between(section, part, reach.begin, reach.stop, reach.step, max_line):
        if problems:
            piece = piece.at(part.first_line)
            piece = piece._replace(problems=(*problems, *piece.problems))
        yield piece
        problems = ()


def _text_blocks(
    section: Section, part: Part, server: ServerPrefixes, found: Iterator[Piece], init: Init, above: Iterable[Piece] = (), *, first_line: int = 1
) -> Iterator[Block]:
    has_init = init.there if part.kind in _OF_SYSTEMD else None
    bare = part.kind is PartKind.SERVER and _is_bare(section, part)
    unwrapper, context = Unwrapper(part.kind, server, has_init=has_init, bare=bare), Context()
    for last in counted_back(above, end_of):
        TextBlock(last, source=section.name, part=part.kind, unwrapper=unwrapper, context=context).carry_over(context)
    line = first_line
    for piece in found:
        numbered = piece if piece.line else piece.at(line)
        block = TextBlock(numbered, source=section.name, part=part.kind, unwrapper=unwrapper, context=context)
        yield block
        line = block.first_line + block.lines
        block.carry_over(context)


def _has_init(section: Section) -> bool:
    rest = b""
    for chunk in section.chunks():
        joined = rest + chunk
        if any(words in joined for words in _INIT):
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
    of_account = _unit_of_account(fields, by_systemd)
    priority = fields.get("PRIORITY", "")
    return Record(
        at=at, source=frame.source, line_no=frame.line_no, text=frame.text, origin=frame.origin, pid=frame.pid, ident=frame.ident, rank=frame.rank,
        priority=int(priority) if len(priority) == 1 and priority.isdecimal() else None, boot=fields.get("_BOOT_ID", ""),
        invocation="" if of_account else fields.get("INVOCATION_ID" if by_systemd else "_SYSTEMD_INVOCATION_ID", ""),
        unit=of_account or fields.get("UNIT" if by_systemd else "_SYSTEMD_UNIT", ""), transport=fields.get("_TRANSPORT", ""),
    )  # fmt: skip


def _unit_of_account(fields: Mapping[str, str], by_systemd: bool) -> str:
    """The unit of an account's own systemd: for the machine's all of it is one unit, ``user@1000.service``, of one invocation."""
    if not fields.get("_SYSTEMD_UNIT", "").startswith("user@"):
        return ""
    unit = fields.get("USER_UNIT" if by_systemd else "_SYSTEMD_USER_UNIT", "")
    return "" if unit == "init.scope" else unit

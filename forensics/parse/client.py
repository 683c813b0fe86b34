"""Turn the output of a client (exceptions, curl, wget, health loops, task tables) into failed and good attempts. Never judges the server.

How attempts are counted: a row of a task table, a line of a health loop, an ``Error N:`` entry, a line with its own time and a section between
``--- name`` lines are one attempt each. A Python traceback is one attempt with all the exceptions it is chained to, and so is the log line right above it.
Indented lines and ``caused by``/``body:`` lines belong to the attempt above them. Each retry that a library reports is an attempt of its own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from forensics import lazily
from forensics.clock import DAY_S, lacks_year, named_offsets, parse_stamp, year_for
from forensics.model import ANY_CLIENT, BenchRow, BenchRun, Problem
from forensics.parse.peer import ACCESS, COMMAND, asked_of, command_tool, config_line, peer_of
from forensics.parse.wording import MAX_LINE, WORDS, classify, weight, words_in

KEEP = 200  # first and last attempts that stay citable

# --------------------------------------------------------------------------- attempts

_STAMP = lazily.pattern(
    r"(?<![\d.:-])(?P<iso>\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)(?![\d:])"
    r"|(?<![\d.:-])(?P<short>(?:\d\d-\d\d|[A-Z][a-z]{2} [ \d]\d) \d\d:\d\d:\d\d(?:[.,]\d{1,9})?)(?![\d:])"
)
# behind a stamp: the name of its zone, and the year that date and ctime write last
_NAMED = lazily.pattern(r" (?P<zone>[A-Z]{3,5})\b")
_YEAR = lazily.pattern(r"(?: [A-Z]{2,5})? (?P<year>\d{4})\b")
Zoned = Callable[[str], "float | None"]  # the name of a zone → seconds east of UTC, None where nobody knows
_TIME = lazily.pattern(r"^\W{0,2}([01]\d|2[0-3]):([0-5]\d):([0-5]\d)\b(?!:)")
_EPOCH = lazily.pattern(r"^\W{0,2}(?P<s>1[4-9]\d{8}(?:[.,]\d{1,9})?)(?![\w.])")
_LOOP = lazily.pattern(r"^\s*(?:\[\s*)?(?:t ?[=+] {0,6}|\+)?(?P<offset>\d{1,7}(?:\.\d+)?) ?s(?:ec(?:onds)?)?\]?:?\s+(?P<rest>\S.*)$")
_TASK = lazily.pattern(
    r"^\s*(?:\[\d+/\d+\]\s+)?(?P<task>(?!\d{4}-\d\d-\d\d[:T]|\d\d:\d\d:\d\d)\[?[\w.@-]+[/#:][\w./#:-]+\]?|\w+(?:-\d+|(?<=\w\d))(?=\s))\s+(?:[\[(|]\s*)?(?P<verdict>ERROR|FAIL(?:ED|URE)?|TIMEOUT|OK|PASS(?:ED)?|SUCCESS|DONE)\b[\])|:]?\s*(?P<rest>.*)$"
)
_NUMBERED = lazily.pattern(r"^(?:Error|Request|Task|Attempt) #?\d+(?: failed)?: ")
_SECTION = lazily.pattern(r"^-{3,} ?(?P<name>\w[\w .-]{0,40})$")
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
_JOINED = lazily.pattern(r"^\s+\S|^(?:caused by|body|repr|str|last line|detail|response)\s*:|^For more information|^wget: unable to resolve |^\* ")
_GOOD = lazily.pattern(r"^(?:OK|ready|up|alive|healthy)\b|\bHTTP/\d(?:\.\d)? 200\b|\b200 OK\b|\bstatus(?:_code)?[=: ]+200\b", re.IGNORECASE)
# a bare number is a status only at the end; 000 is what curl's %{http_code} says without an answer
_CODE = lazily.pattern(
    r"^(?:(?:HTTP |(?:http_)?(?:status|code)\W{1,3}|\S*/\S* (?:-> )?)(?P<named>\d{3})(?![\d.:%])\b|(?P<bare>\d{3})(?=\s*(?:$|[,;(]|OK\b)))"
)
_AFTER_STAMP = lazily.pattern(
    r"^.{0,40}?\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d| UTC)?[\])]?[\s:|-]*(?:\[?(?:INFO|DEBUG|WARNING|ERROR)\]?[\s:]+)?"
)
_ANSWERED = lazily.pattern(r"^OK\b|\bHTTP/\d(?:\.\d)? 200\b|\b200 OK\b")
_WGET_AGAIN = lazily.pattern(r" ERROR \d{3}: |^Unable to establish SSL connection")
_RULE = lazily.pattern(r"^[=*_]{5,}(?: .{0,60}[=*_]{3,})?$|^\[exit status")
_NOT_WAITED = "Skipping endpoint ready check"  # what a benchmark says that goes on to ask at once
_TRACEBACK = "Traceback (most recent call last)"


@dataclass(eq=False, repr=False)
class _Attempt:
    """Lines that are held together as one request while they are read."""

    mode: str  # line, trace, ended, numbered, section
    at: float | None = None
    offset_s: float | None = None
    told: list[tuple[str, int, str]] = field(default_factory=list)  # kind, line, text
    good: tuple[int, str] | None = None
    last: int = 0

    def add(self, kind: str | None, number: int, text: str) -> None:
        self.last = number
        if kind:
            self.told.append((kind, number, text))

    def row(self) -> BenchRow | None:
        """The line that tells most, or None where nothing was told."""
        if self.told:
            kind, number, text = min(self.told, key=lambda told: weight(told[0]))  # the first of the best
            return BenchRow(line_no=number, text=text, kind=kind, at=self.at, offset_s=self.offset_s)
        if self.good:
            return BenchRow(line_no=self.good[0], text=self.good[1], kind="ok", at=self.at, offset_s=self.offset_s)
        return None


def attempts(
    lines: Sequence[str], *, first_line: int = 1, latest: float | None = None, zone_s: float | None = None, zoned: Zoned | None = None
) -> Iterator[BenchRow]:
    """Yield one row an attempt, failed (its kind) or good (``ok``), in order. The row's text is the line that tells most, as written.

    ``latest`` is a time that nothing here is after: it completes stamps without a year and times of day alone.
    ``zoned`` says what the name of a zone means; a stamp in a zone that it does not know has no time.
    """
    reader = _Reader(latest, zone_s, words_in("\n".join(lines)), zoned)
    for number, raw in enumerate(lines, first_line):
        yield from reader.line(number, raw)
    yield from reader.close()


class _Reader:
    """The fold over lines behind ``attempts``."""

    def __init__(self, latest: float | None, zone_s: float | None, words: tuple[str, ...], zoned: Zoned | None = None) -> None:
        self.latest = latest
        self.words = words
        self.zone_s = zone_s
        self.zoned = zoned or (lambda name: None)
        self.open: _Attempt | None = None
        self.stamp: tuple[int, float | None] = (0, None)

    def kind(self, text: str) -> str | None:
        """``classify`` with the words of this text."""
        return classify(text, self.words)

    def close(self) -> Iterator[BenchRow]:
        """End the attempt that is open."""
        held, self.open = self.open, None
        if held and (row := held.row()):
            yield row

    def line(self, number: int, raw: str) -> Iterator[BenchRow]:
        """Take one line; yield what it completes."""
        text = best_piece(raw, self.words)
        held = self.open
        if config_line(text) or COMMAND.match(text) or _RULE.match(text):
            yield from self.close()
        elif _SECTION.match(text):
            yield from self.close()
            self.open = _Attempt("section", last=number)
        elif held and held.mode == "section":
            held.add(self.kind(text), number, text)
            if held.good is None and _GOOD.search(text):
                held.good = (number, text)
        elif _NUMBERED.match(text):
            yield from self._alone(number, text, "numbered")
        elif held and held.mode == "numbered":
            held.add(None if text.startswith(("    ", "  File ")) else self.kind(text), number, text)  # code in a traceback is no message
        elif (loop := _LOOP.match(text)) and (row := self._loop(loop, number, text)):
            yield from self.close()
            yield row
        elif task := _TASK.match(text):
            yield from self._task(task, number, text)
        else:
            yield from self._plain(number, text)

    def _loop(self, found: re.Match[str], number: int, text: str) -> BenchRow | None:
        kind = self.kind(found["rest"]) or _told_by(found["rest"])
        if kind is None:
            return None
        return BenchRow(line_no=number, text=text, kind=kind, at=self.time(number, text), offset_s=float(found["offset"]))

    def _task(self, found: re.Match[str], number: int, text: str) -> Iterator[BenchRow]:
        yield from self.close()
        attempt = _Attempt("line", at=self.time(number, text), last=number)
        if found["verdict"] in ("OK", "PASS", "PASSED", "SUCCESS", "DONE"):
            attempt.good = (number, text)
        else:
            attempt.add(self.kind(found["rest"]) or ("timed-out" if found["verdict"] == "TIMEOUT" else "other"), number, text)
        self.open = attempt

    def _alone(self, number: int, text: str, mode: str) -> Iterator[BenchRow]:
        yield from self.close()
        self.open = _Attempt(mode, at=self.time(number, text))
        self.open.add(self.kind(_NUMBERED.sub("", text)) or "other", number, text)

    def _plain(self, number: int, text: str) -> Iterator[BenchRow]:
        held = self.open
        at = self.time(number, text)
        if _TRACEBACK in text:
            if held is None or held.mode == "ended" or number - held.last > 1:
                yield from self.close()
                self.open = held = _Attempt("trace", at=at if at is not None else self._near(number))
            held.mode = "trace"
            held.add(self.kind(text.partition(_TRACEBACK)[0]), number, text)
        elif held and text.startswith(_CHAINED):
            held.mode = "trace"
            held.last = number
        elif held and held.mode == "trace":
            self._in_trace(held, number, text)
        elif not text.strip():
            if held and held.mode == "line":
                yield from self.close()
        elif held and at is None and _JOINED.match(text):
            held.add(self.kind(text), number, text)
        else:
            yield from self._new(number, text, at)

    def _in_trace(self, held: _Attempt, number: int, text: str) -> None:
        held.last = number
        if text.strip() and not text.startswith((" ", "\t")):
            held.add(self.kind(text) or ("other" if re.match(r"^[\w.]+(?::|$)", text) else None), number, text)
            held.mode = "ended"

    def _new(self, number: int, text: str, at: float | None) -> Iterator[BenchRow]:
        held = self.open
        kind = self.kind(text)
        if (
            held
            and held.mode == "line"
            and kind
            and held.told
            and held.told[-1][0] == kind
            and number - held.last <= 1
            and (_WGET_AGAIN.search(text) or kind == "not-ready")
        ):
            held.last = number  # wget says the status twice, a readiness check that it gave up and that it leaves
            return
        if held and text.startswith("curl: (") and held.told and held.told[0][2].startswith("* "):
            held.told = []  # what -v told on the way; the last word is what people know
            held.add(kind, number, text)
            return
        yield from self.close()
        if kind is None and at is not None:
            kind = _told_by(_AFTER_STAMP.sub("", text, count=1))
        if kind is None and not _answered(text):
            return
        self.open = _Attempt("line", at=at, last=number)
        if kind in (None, "ok"):
            self.open.good = (number, text)
        else:
            self.open.add(kind, number, text)

    def time(self, number: int, text: str) -> float | None:
        """The time that a line tells, in seconds of the epoch."""
        found = _STAMP.search(text[:400]) if text.count(":", 0, 400) >= 2 else None
        if found is None:
            since_1970 = _EPOCH.match(text)
            if since_1970 is None:
                return self._today(text)
            self.stamp = (number, float(since_1970["s"].replace(",", ".")))
            return self.stamp[1]
        stamp, zone_s = found["iso"] or found["short"], self.zone_s
        if name := zone_behind(text, found.end()):
            zone_s = self.zoned(name)
            if zone_s is None:
                self.stamp = (number, None)
                return None
        year = None
        if found["short"] and (said := _YEAR.match(text, found.end())):
            year = int(said["year"])
        elif self.latest is not None and lacks_year(stamp):
            year = year_for(stamp, latest=self.latest, zone_s=zone_s)
        at = parse_stamp(stamp, year=year, zone_s=zone_s)
        self.stamp = (number, at)
        return at

    def _today(self, text: str) -> float | None:
        """A time of day that begins the line, on the last day that makes it no later than ``latest``."""
        found = _TIME.match(text)
        if found is None or self.latest is None:
            return None
        at = self.latest // DAY_S * DAY_S + int(found[1]) * 3600 + int(found[2]) * 60 + int(found[3]) - (self.zone_s or 0.0)
        return at if at <= self.latest + 60 else at - DAY_S

    def _near(self, number: int) -> float | None:
        """The time of the line right above."""
        return self.stamp[1] if number - self.stamp[0] <= 1 else None


def zone_behind(text: str, end: int) -> str:
    """The name of a zone that stands behind a stamp, of those that are known and are no UTC; else ""."""
    found = _NAMED.match(text, end)
    return found["zone"] if found is not None and named_offsets(found["zone"]) else ""


def zone_in(text: str) -> str:
    """The name of the zone in the stamp of a line, as ``zone_behind``."""
    found = _STAMP.search(text[:400])
    return zone_behind(text, found.end()) if found is not None else ""


def _told_by(rest: str) -> str | None:
    """What a loop's line says in a word or a bare status code behind its clock."""
    if found := _CODE.match(rest):
        code = int(found["named"] or found["bare"])
        return f"http-{code}" if 400 <= code <= 599 else "ok" if 200 <= code <= 399 else "other" if code == 0 else None
    return "ok" if _GOOD.search(rest) else None


def _answered(text: str) -> bool:
    return ("HTTP/" in text or "OK" in text) and bool(ACCESS.search(text) or _ANSWERED.search(text))


def best_piece(raw: str, words: Sequence[str] = WORDS) -> str:
    """The part of a line between carriage returns that tells most; progress bars and messages share lines."""
    text = raw.rstrip("\r\n")
    if "\r" in text:
        pieces = [piece for piece in text.split("\r") if piece.strip()]
        text = next((piece for piece in pieces if classify(piece, words)), pieces[-1] if pieces else "")
    return text[:MAX_LINE].rstrip()


# --------------------------------------------------------------------------- which tool

_TOOLS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("openai", lazily.pattern(r"\bopenai\.\w+Error|^--- openai")),
    ("requests", lazily.pattern(r"requests\.exceptions|HTTPConnectionPool|\d{3} (?:Client|Server) Error")),
    ("aiohttp", lazily.pattern(r"\baiohttp\.|ClientConnectorError|ssl:default")),
    ("httpx", lazily.pattern(r"\bhttpx\.|httpcore\.")),
    ("urllib", lazily.pattern(r"urlopen error|urllib\.error|URLError")),
    ("curl", lazily.pattern(r"\bcurl: \(\d+\)")),
    ("ab", lazily.pattern(r"\bapr_\w+: ")),
    ("wrk", lazily.pattern(r"^unable to connect to \S+ ")),
    ("wget", lazily.pattern(r"^--\d{4}-\d\d-\d\d|\.\.\. failed: Connection")),
)


def tool_of(lines: Sequence[str], rows: Sequence[BenchRow], command: str | None) -> str:
    """The client's name: from the command line if there is one, else from the shape and the wording of what it printed."""
    if command is None:
        command = next((found["command"] for line in lines[:20] if (found := COMMAND.match(line))), None)
    if command and (name := command_tool(command)):
        return name
    if any(row.offset_s is not None for row in rows):
        return "health check"
    if any(_TASK.match(row.text) for row in rows):
        return "task table"
    for row in rows[:20]:
        for name, pattern in _TOOLS:
            if pattern.search(row.text):
                return name
    return ANY_CLIENT


# --------------------------------------------------------------------------- a run


def read(
    text: str,
    *,
    source: str = "",
    first_line: int = 1,
    command: str | None = None,
    latest: float | None = None,
    zone_s: float | None = None,
    zoned: Zoned | None = None,
) -> tuple[BenchRun | None, tuple[Problem, ...]]:
    """What one client saw. None where the text holds no attempt and names nobody it asked.

    ``asked`` is ok plus failed where single attempts are told (a table, a loop, an access log), else None. ``latest`` and ``zoned`` as in ``attempts``.
    """
    lines = text.split("\n")
    rows = tuple(attempts(lines, first_line=first_line, latest=latest, zone_s=zone_s, zoned=zoned))
    peer, _ = peer_of(lines, rows, first_line)
    if command:
        typed = asked_of(f"$ {command}")
        peer.take(typed.host, typed.port, typed.path)
    if not rows and peer.host is None and peer.path is None:
        return None, ()
    failed = tuple(row for row in rows if row.kind != "ok")
    good = len(rows) - len(failed)
    single = any(row.offset_s is not None or _TASK.match(row.text) or ACCESS.search(row.text) for row in rows)
    times = [row.at for row in rows if row.at is not None] or _begun(lines, rows, first_line, _Reader(latest, zone_s, (), zoned))
    offsets = [row.offset_s for row in rows if row.offset_s is not None]
    run = BenchRun(
        source=source,
        tool=tool_of(lines, rows, command),
        first_at=min(times, default=None),
        last_at=max(times, default=None),
        span_s=max(offsets) - min(offsets) if offsets else None,
        asked=len(rows) if single else None,
        ok=good if good or single else None,
        failed=len(failed) if failed or single else None,
        errors=dict(Counter(row.kind for row in failed)),
        host=peer.host,
        port=peer.port,
        path=peer.path,
        rows=bounded(rows),
    )
    return run, ()


def bounded(rows: tuple[BenchRow, ...]) -> tuple[BenchRow, ...]:
    """The first and the last rows; counts are taken before."""
    return rows if len(rows) <= 2 * KEEP else rows[:KEEP] + rows[-KEEP:]


def _begun(lines: Sequence[str], rows: Sequence[BenchRow], first_line: int, reader: _Reader) -> list[float]:
    """When a client asked whose requests have no time: with the last line above them that has one, where it says that it did not wait for anything."""
    above = lines[: rows[0].line_no - first_line] if rows else []
    if not any(_NOT_WAITED in line for line in above):
        return []
    return [at for line in above if (at := reader.time(0, line)) is not None][-1:]

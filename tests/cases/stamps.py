"""Other times for the same lines: every stamp moved by days, the journal's written in another of its formats or another zone. Knows no case."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from tests.cases.evidence import JOURNAL, Case, is_json, lines

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MON, _DAY = "|".join(MONTHS), "|".join(DAYS)
_CLOCK = r"\d\d:\d\d:\d\d"
# each way to write a day beside a time of day; one pattern, so that nothing is moved twice
_DATED = re.compile(
    rf"(?:(?P<w1>{_DAY}) )?(?P<y1>(?:19|20)\d\d)(?P<s1>[-/])(?P<m1>\d\d)(?P=s1)(?P<d1>\d\d)(?=[ T]{_CLOCK}| - {_CLOCK})"
    rf"|(?P<w2>{_DAY}) (?P<m2>{_MON}) (?P<d2>[ \d]\d)(?P<r2> {_CLOCK}(?:\.\d+)?(?: [A-Z]{{2,4}})? )(?P<y2>(?:19|20)\d\d)\b"
    rf"|(?:\b(?P<w4>{_DAY}) )?\b(?P<m4>{_MON}) (?P<d4>[ \d]\d)(?= {_CLOCK})"
    rf"|(?P<d5>\d\d)/(?P<m5>{_MON})/(?P<y5>(?:19|20)\d\d)(?=:{_CLOCK})"
    rf"|(?<=[A-Z] )(?P<m6>\d\d)-(?P<d6>\d\d)(?= {_CLOCK})"
    rf"|(?<=\[)(?P<m9>\d\d)-(?P<d9>\d\d)(?= {_CLOCK})"
    rf"|(?:(?<=^[IWEF])|(?<=\n[IWEF])|(?<= [IWEF]))(?P<m7>\d\d)(?P<d7>\d\d)(?= {_CLOCK})"
    rf"|(?<=\[[IWEF])(?P<m8>\d{{1,2}}?)(?P<d8>\d\d)(?= {_CLOCK})"
    r"|(?<![\d.])(?P<e>1[4-9]\d{8})(?P<f>\d{6}|\d{3})?(?![\d])"
)


def year_of(case: Case) -> int:
    """The year that a case's stamps tell, else a likely one."""
    found = re.search(rf"\b(20[12]\d)[-/]\d\d[-/]\d\d[ T]{_CLOCK}|{_CLOCK}(?: [A-Z]{{3}})? (20[12]\d)\b", "\n".join(case.files.values()))
    return int(found[1] or found[2]) if found else 2025


def moved(text: str, days: int, year: int) -> str:
    """All stamps of a text moved by whole days; the times of day stay. ``year`` is for those that have none."""
    return _DATED.sub(lambda m: _moved(m, days, year), text)


def _moved(found: re.Match[str], days: int, year: int) -> str:
    g = {k: v for k, v in found.groupdict().items() if v is not None}
    if "e" in g:
        return str(int(g["e"]) + days * 86400) + g.get("f", "")
    kind = next(k[1] for k in g if k[0] == "m")
    month = g["m" + kind]
    number = int(month) if month.isdecimal() else MONTHS.index(month) + 1
    try:
        day = datetime(int(g.get("y" + kind, year)), number, int(g["d" + kind]), tzinfo=timezone.utc) + timedelta(days=days)
    except (ValueError, OverflowError):
        return found[0]
    week, name = DAYS[day.weekday()], MONTHS[day.month - 1]
    weekday = f"{week} " if f"w{kind}" in g else ""
    if kind == "1":
        return f"{weekday}{day.year}{g['s1']}{day.month:02}{g['s1']}{day.day:02}"
    if kind == "2":
        return f"{week} {name} {day.day:>2}{g['r2']}{day.year}" if g["d2"][0] != "0" else f"{week} {name} {day.day:02}{g['r2']}{day.year}"
    if kind == "4":
        return f"{weekday}{name} {day.day:>2}" if g["d4"][0] == " " else f"{weekday}{name} {day.day:02}"
    if kind == "5":
        return f"{day.day:02}/{name}/{day.year}"
    if kind in ("6", "9"):
        return f"{day.month:02}-{day.day:02}"
    return f"{day.month:02}{day.day:02}" if kind == "7" else f"{day.month}{day.day:02}"


def read(stamp: str, year: int) -> datetime | None:
    """The time of a journal's stamp; one without a zone is taken for UTC."""
    text = stamp.replace(",", ".")
    if text[0].isdigit():
        text = re.sub(r"([+-]\d\d)(\d\d)$", r"\1:\2", text)
        whole, dot, rest = text.partition(".")
        if dot:
            digits = re.match(r"\d+", rest)
            assert digits is not None
            text = f"{whole}.{digits[0]:0<6}{rest[digits.end() :]}"
        return datetime.fromisoformat(text)
    short = re.fullmatch(rf"({_MON}) ([ \d]\d) ({_CLOCK})(?:\.(\d+))?", text)
    if short is None:
        return None
    try:
        day = datetime.fromisoformat(f"{year}-{MONTHS.index(short[1]) + 1:02}-{int(short[2]):02}T{short[3]}+00:00")
    except ValueError:
        return None
    return day + timedelta(microseconds=int(f"{short[4] or 0:0<6}"))


def written(at: datetime, style: str) -> str:
    """A time as ``journalctl -o STYLE`` writes it."""
    if style == "short":
        return f"{MONTHS[at.month - 1]} {at.day:02} {at:%H:%M:%S}"
    if style == "short-precise":
        return f"{MONTHS[at.month - 1]} {at.day:02} {at:%H:%M:%S.%f}"
    if style == "short-full":
        return f"{DAYS[at.weekday()]} {at:%Y-%m-%d %H:%M:%S} UTC"
    if style == "short-unix":
        return f"{at.timestamp():.6f}"
    if style == "short-iso-precise":
        return f"{at:%Y-%m-%dT%H:%M:%S.%f%z}"
    return f"{at:%Y-%m-%dT%H:%M:%S%z}"


def restyled(case: Case, style: str) -> Case | None:
    """The same with its journal in another format; None where there is no journal, or its zone would be lost."""
    year, changed = year_of(case), False
    files: dict[str, str] = {}
    for name, text in case.files.items():
        out = []
        for line in lines(text):
            found = JOURNAL.match(line)
            at = read(found["stamp"], year) if found else None
            if found is None or at is None:
                out.append(line)
                continue
            if at.utcoffset() and style in ("short", "short-precise", "short-full"):
                return None
            new = written(at, style)
            changed = changed or new != found["stamp"]
            out.append(new + line[found.end("stamp") :])
        files[name] = "\n".join(out)
    return case.having(**files) if changed else None


def in_zone(case: Case, hours: int) -> Case | None:
    """The journal as a host in another zone prints it. None where it has no zone, or another file tells a time without its zone beside it."""
    zone, changed = timezone(timedelta(hours=hours)), False
    files: dict[str, str] = {}
    for name, text in case.files.items():
        out, others = [], []
        for line in lines(text):
            found = JOURNAL.match(line)
            at = read(found["stamp"], 2025) if found and found["stamp"][0].isdigit() else None
            if found is None or at is None:
                others.append(line)
                out.append(line)
                continue
            changed = True
            new = at.astimezone(zone)
            out.append(written(new, "short-iso-precise" if "." in found["stamp"] else "short-iso") + line[found.end("stamp") :])
        if is_json(text) or _DATED.search(re.sub(r"\b[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "", "\n".join(others))):
            return None
        files[name] = "\n".join(out)
    return case.having(**files) if changed else None

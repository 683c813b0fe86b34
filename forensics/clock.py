"""Read and write points and spans of time: the only module that knows what time looks like. Never asks what a stamp is the time of.

All times are epoch seconds in UTC. A stamp without a zone is taken to be in ``zone_s`` (seconds east of UTC), or in UTC where that is not known.
"""

from __future__ import annotations

import math
import re
import time
import warnings
from collections.abc import Callable
from datetime import datetime, timezone

from forensics import lazily
from forensics.errors import UsageError

SYSTEM_CLOCK: Callable[[], float] = time.time

DAY_S = 86400.0
APART_S = 2.0  # stamps of two programs on one event lie this far apart, and no clock was set
_FIRST, _AFTER_LAST = -30610224000.0, 253402300799.0  # the years of four digits

# the abbreviations of glibc's locales, for journals that were saved under the language of whoever logged in; no word means two months in two of them
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan janv ene gen sty led oca ian tammi янв січ", "feb févr fev lut úno şub febr helmi фев лют", "mar mär mars mrt bře márc maalis мар бер",
            "apr avril abr kwi dub nis ápr huhti апр кві", "may mai mag mei maj kvě máj touko май мая тра", "jun juin giu cze čen haz iun jún kesä июн чер",
            "jul juil lug lip čec tem iul júl heinä июл лип", "aug août ago sie srp ağu elo авг сер", "sep sept set wrz zář eyl szept syys сен вер",
            "oct okt ott out paź říj eki loka окт жов", "nov lis kas noi marras ноя лис", "dec dez déc dic des gru pro ara joulu дек гру",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
_MONTH = r"[^\W\d_]{3,6}\.?|\d{1,2}[月월]"
_CLOCK = r"(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
_ZONE = r"(?: ?(Z|[+-]\d\d(?::?\d\d)?)| ([A-Z][A-Za-z]{1,5}|[+-]\d\d(?::?\d\d)?))?"
_ISO = lazily.pattern(r"(?:[A-Z][a-z]{2} )?(\d{4})[-/](\d\d)[-/](\d\d)(?:T| (?:- )?)" + _CLOCK + _ZONE)
_SYSLOG = lazily.pattern(rf"({_MONTH}) ([ \d]?\d) " + _CLOCK)
_MONTH_DAY = lazily.pattern(r"(\d\d)-?(\d\d) " + _CLOCK)  # 05-09 10:15:18, and glog's 0509 10:15:18.123456
_CTIME = lazily.pattern(r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([ \d]?\d) " + _CLOCK + r" (\d{4})" + _ZONE)
_KIBANA = lazily.pattern(r"([A-Z][a-z]{2}) (\d{1,2}), (\d{4}) @ (\d\d:\d\d:\d\d(?:\.\d{1,9})?)")
_SINCE_BOOT = lazily.pattern(r"\d{1,8}\.\d{6}")
_UNIX = lazily.pattern(r"@?(\d{9,10})(?:\.(\d{1,9}))?")

# systemd's own table (src/basic/time-util.c), and milliseconds in full, as others write them: a month is 30.44 days, a year 365.25
_UNITS = {
    "us": 1e-6, "usec": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "msec": 1e-3, "millisecond": 1e-3, "milliseconds": 1e-3,
    "s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0, "secs": 1.0,
    "m": 60.0, "min": 60.0, "mins": 60.0, "minute": 60.0, "minutes": 60.0,
    "h": 3600.0, "hr": 3600.0, "hour": 3600.0, "hours": 3600.0,
    "d": DAY_S, "day": DAY_S, "days": DAY_S, "w": 7 * DAY_S, "week": 7 * DAY_S, "weeks": 7 * DAY_S,
    "M": 2629800.0, "month": 2629800.0, "months": 2629800.0, "y": 31557600.0, "year": 31557600.0, "years": 31557600.0,
}  # fmt: skip
_SPAN = lazily.pattern(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-zµμ]+)")

# hours east of UTC, by the names that the zone database gives today; an offset beside several places is one of several
_NAMED: dict[str, tuple[float, ...]] = {
    "WET": (0,), "WEST": (1,), "CET": (1,), "CEST": (2,), "EET": (2,), "EEST": (3,), "MSK": (3,), "BST": (1,), "IST": (5.5, 1, 2), "IDT": (3,),
    "NST": (-3.5,), "NDT": (-2.5,), "AST": (-4,), "ADT": (-3,), "EST": (-5,), "EDT": (-4,), "CST": (-6, 8, -5), "CDT": (-5, -4), "MST": (-7,), "MDT": (-6,),
    "PST": (-8, 8), "PDT": (-7,), "AKST": (-9,), "AKDT": (-8,), "HST": (-10,), "JST": (9,), "KST": (9,), "HKT": (8,), "WIB": (7,), "WITA": (8,), "WIT": (9,),
    "PKT": (5,), "WAT": (1,), "CAT": (2,), "SAST": (2,), "EAT": (3,), "AWST": (8,), "ACST": (9.5,), "ACDT": (10.5,), "AEST": (10,), "AEDT": (11,),
    "NZST": (12,), "NZDT": (13,),
}  # fmt: skip


# --------------------------------------------------------------------------- reading


def parse_stamp(text: str, *, year: int | None = None, zone_s: float | None = None) -> float | None:
    """Epoch seconds of a stamp as a program wrote it, or None.

    ``year`` completes stamps that have none; without it they are None, as is a time of day alone: nothing is guessed here (see ``year_for``).
    The names of zones other than UTC and GMT are not believed by themselves (CST is two of them): such a stamp is in ``zone_s``, like one without a zone.
    """
    text = text.strip().strip("[]")
    if found := _ISO.fullmatch(text):
        full, month, day, hour, minute, second, fraction, zone, name = found.groups()
        return _epoch(int(full), int(month), int(day), hour, minute, second, fraction, _zone(zone or name, zone_s))
    if found := _SYSLOG.fullmatch(text):
        word, day, hour, minute, second, fraction = found.groups()
        return _epoch(year, _month(word), int(day), hour, minute, second, fraction, zone_s or 0.0)
    if found := _MONTH_DAY.fullmatch(text.lstrip("IWEFD")):
        month, day, hour, minute, second, fraction = found.groups()
        return _epoch(year, int(month), int(day), hour, minute, second, fraction, zone_s or 0.0)
    if found := _UNIX.fullmatch(text):
        return int(found[1]) + (float("0." + found[2]) if found[2] else 0.0)
    if found := _CTIME.fullmatch(text):
        word, day, hour, minute, second, fraction, full, zone, name = found.groups()
        return _epoch(int(full), _month(word), int(day), hour, minute, second, fraction, _zone(zone or name, zone_s))
    return None


def parse_exported(value: object) -> float | None:
    """Epoch seconds of a time in an export: a stamp of any usual form, or seconds, milli-, micro- or nanoseconds since 1970; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    if isinstance(value, float) or (isinstance(value, str) and re.fullmatch(r"\d{9,10}\.\d{1,9}", value)):
        seconds = float(value)
        return seconds if 1e8 <= seconds < 1e10 else seconds / 1000 if 1e11 <= seconds < 1e13 else None
    if isinstance(value, int) or (value.isascii() and value.isdigit()):
        digits = str(value)
        unit = {9: 1, 10: 1, 12: 1_000, 13: 1_000, 15: 1_000_000, 16: 1_000_000, 18: 1_000_000_000, 19: 1_000_000_000}.get(len(digits))
        return int(digits) / unit if unit is not None else None
    if found := _KIBANA.fullmatch(value.strip()):
        word, day, full, rest = found.groups()
        return parse_stamp(f"{full}-{_MONTHS.get(word.lower(), 0):02d}-{int(day):02d} {rest}")
    return parse_stamp(value)


def has_zone(text: str) -> bool:
    """True for a stamp that names a moment by itself: with a zone that is believed, or in seconds since 1970."""
    text = text.strip().strip("[]")
    found = _ISO.fullmatch(text) or _CTIME.fullmatch(text)
    if found is not None:
        zone, name = found.groups()[-2:]
        return bool(zone) or name in ("UTC", "GMT") or bool(name and name[0] in "+-")
    return _UNIX.fullmatch(text) is not None


def zone_name(text: str) -> str:
    """The name of the zone in a stamp, as ``PDT``, where it has one that is not believed; else "". Of a zone that nobody knows it is any word: ``XJT``."""
    text = text.strip().strip("[]")
    found = _ISO.fullmatch(text) or _CTIME.fullmatch(text)
    name = found.groups()[-1] if found is not None else None
    return name if name and name[0] not in "+-" and name not in ("UTC", "GMT") else ""


def written_offset(text: str) -> float | None:
    """Seconds east of UTC, where a stamp says so in digits; None for one with a name, with ``Z``, or with nothing."""
    text = text.strip().strip("[]")
    found = _ISO.fullmatch(text) or _CTIME.fullmatch(text)
    zone = next((zone for zone in found.groups()[-2:] if zone and zone[0] in "+-"), None) if found is not None else None
    return _zone(zone, None) if zone else None


def named_offsets(name: str) -> tuple[float, ...]:
    """What the name of a zone may mean, in seconds east of UTC: none where it is not known, several where it is used for several."""
    return tuple(hours * 3600.0 for hours in _NAMED.get(name, ()))


def offset(east_s: float) -> str:
    """``UTC+02:00``."""
    minutes = round(abs(east_s) / 60)
    return f"UTC{'-' if east_s < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def _month(word: str) -> int | None:
    if word[-1] in "月월":
        return int(word[:-1])
    return _MONTHS.get(word.lower().rstrip("."))


def since_boot(text: str) -> float | None:
    """Seconds since the machine started, where that is what a stamp of the journal says; they name no point in time by themselves."""
    return float(text) if _SINCE_BOOT.fullmatch(text) else None


def lacks_year(text: str) -> bool:
    """True for a stamp that is complete but for its year."""
    text = text.strip().strip("[]")
    return bool(_SYSLOG.fullmatch(text) or _MONTH_DAY.fullmatch(text.lstrip("IWEFD")))


def year_for(text: str, *, latest: float, zone_s: float | None = None) -> int:
    """The year that puts a stamp without one at or before ``latest`` (a day of grace, for zones that are not known).

    So the December lines of a log that ends in January are of the year before.
    """
    year = time.gmtime(min(max(latest, 0.0), _AFTER_LAST)).tm_year
    for candidate in range(year + 1, year - 9, -1):  # + 1: grace over New Year; - 8: to the last February 29th
        at = parse_stamp(text, year=candidate, zone_s=zone_s)
        if at is not None and at <= latest + DAY_S:
            return candidate
    return year


def _epoch(year: int | None, month: int | None, day: int, hour: str, minute: str, second: str, fraction: str | None, zone_s: float) -> float | None:
    if year is None or month is None:
        return None
    whole = int(second)
    try:
        # a leap second is written as 60, which datetime refuses
        base = datetime(year, month, day, int(hour), int(minute), min(whole, 59), tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None
    if whole > 60:
        return None
    if whole == 60:
        base += 1.0
    return base - zone_s + (float("0." + fraction) if fraction else 0.0)


def _zone(text: str | None, zone_s: float | None) -> float:
    if not text:
        return zone_s or 0.0
    if text in ("Z", "UTC", "GMT"):
        return 0.0
    if text[0] in "+-":
        digits = text[1:].replace(":", "")
        east = int(digits[:2]) * 3600.0 + int(digits[2:] or 0) * 60.0
        return -east if text[0] == "-" else east
    return zone_s or 0.0


def parse_span(text: str) -> float | None:
    """Seconds of a time span as systemd writes it (``1min 34.9s``, ``2h 3min``, ``1 week 2 days``, ``60ms``), or None. A bare number is seconds."""
    text = text.strip()
    total, at = 0.0, 0
    while found := _SPAN.match(text, at):
        factor = _UNITS.get(found[2]) or _UNITS.get(found[2].lower())
        if factor is None:
            return None
        total += float(found[1]) * factor
        at = found.end()
    if at == len(text) and at:
        return total if math.isfinite(total) else None
    try:
        total = float(text) if re.fullmatch(r"\d+(?:\.\d+)?", text) else math.inf
    except ValueError:  # digits that float() does not know
        return None
    return total if math.isfinite(total) else None


def between(began: float | None, ended: float | None) -> float | None:
    """Seconds from one time to another; None where one is not known, or where the second lies before the first: the two contradict each other."""
    if began is None or ended is None or ended - began < -APART_S:
        return None
    return max(0.0, ended - began)


def parse_typed(text: str, *, now: float) -> float:
    """Epoch seconds of what a person typed for ``--since``: ``-1h``, ``10 min ago``, ``today``, ``@1747298118``, any usual date.

    Words and times without a zone are in UTC, as all output is. Raises UsageError.
    """
    at = _typed(text, now)
    if not math.isfinite(at):
        raise _not_a_time(text)
    if not 0 <= at <= now + DAY_S:  # a day of grace: a time without a zone may be meant in one that is ahead of UTC
        when = "in the future" if at > 0 else "before 1970"
        raise UsageError(f"{text!r} is {when}", hint=f"now it is {iso(now)}; for example '-1h', 'today' or '2026-05-09 10:15'")
    return at


def _typed(text: str, now: float) -> float:
    word = text.strip().lower()
    midnight = now - now % DAY_S
    if word in ("now", "today", "yesterday"):
        return {"now": now, "today": midnight, "yesterday": midnight - DAY_S}[word]
    if word.startswith("@"):
        try:
            return float(word[1:])
        except ValueError:
            raise _not_a_time(text) from None
    ago = word[1:] if word.startswith("-") else word[:-3] if word.endswith("ago") else None
    if ago is not None:
        span_s = parse_span(ago)
        if span_s is None:
            raise _not_a_time(text)
        return now - span_s
    at = parse_stamp(text.strip(), year=year_for(text, latest=now) if lacks_year(text) else None)
    return at if at is not None else _by_dateutil(text, now)


def _by_dateutil(text: str, now: float) -> float:
    from dateutil import parser as dateutil_parser  # 20 ms to import, and only ever needed for what a person typed

    default = datetime.fromtimestamp(now - now % DAY_S, tz=timezone.utc)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", dateutil_parser.UnknownTimezoneWarning)  # a word that is no zone is no time
            read = dateutil_parser.parse(text, default=default)
        return read.replace(tzinfo=read.tzinfo or timezone.utc).timestamp()
    except (
        ValueError,
        TypeError,
        ArithmeticError,
        dateutil_parser.UnknownTimezoneWarning,
    ):  # dateutil lets the errors of decimal and of datetime through
        raise _not_a_time(text) from None


def _not_a_time(text: str) -> UsageError:
    return UsageError(f"cannot read {text!r} as a time", hint="for example '-1h', '10 min ago', 'today', '2026-05-09 10:15' or '@1778321718'")


# --------------------------------------------------------------------------- writing


def iso(at: float) -> str:
    """``2026-05-09T10:15:18.123Z``; milliseconds only where they are not zero, cut and not rounded. ``@EPOCH`` where no calendar goes."""
    if not _FIRST <= at < _AFTER_LAST:
        return f"@{at:.15g}"
    micros = round(at * 1e6)  # floats of today's times are good to a quarter of a microsecond
    whole, millis = micros // 1_000_000, micros // 1000 % 1000
    text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole))
    return f"{text}.{millis:03d}Z" if millis else text + "Z"


def hms(at: float) -> str:
    """``10:15:18`` in UTC, cut to the second; ``@EPOCH`` where no calendar goes."""
    if not _FIRST <= at < _AFTER_LAST:
        return f"@{at:.15g}"
    return time.strftime("%H:%M:%S", time.gmtime(round(at * 1e6) // 1_000_000))


def span(seconds: float) -> str:
    """``32.9s``, ``1m34.9s``, ``2h03m``, ``3d04h``: cut to a tenth of a second, never rounded; whole seconds as ``9s``, ``10m00s``."""
    if seconds < 0:
        return "-" + span(-seconds)
    if not seconds < _AFTER_LAST:
        return f"{seconds:.15g}s"
    tenths = round(seconds * 1e6) // 100_000
    whole, tenth = divmod(tenths, 10)
    fraction = f".{tenth}" if tenth or 0 < seconds < 1 else ""
    if whole < 60:
        return f"{whole}{fraction}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}{fraction}s"
    if whole < DAY_S:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02d}h"

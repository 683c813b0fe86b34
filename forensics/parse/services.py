"""Say which services the lines of a journal are from or about, and whether a program speaks for one that nobody names. Picks no unit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from forensics import lazily
from forensics.model import Origin, Seen, Tail
from forensics.parse import systemd

_SERVICE = lazily.pattern(r"(?<![\w/.@-])[\w:.\\@-]{1,250}\.service\b")
_TROUBLED = lazily.pattern(
    r"Main process exited|Failed with result|entered failed state|Scheduled restart job|timed out|OOM killer|Watchdog timeout|Start request repeated"
)
TROUBLE = 1000  # votes


def spoken_of(seen: Iterable[Seen], ends: Mapping[str, Tail]) -> list[str]:
    """The services that journal lines are from or about: the most troubled first, then the most frequent (timers start their own all day long)."""
    votes: Counter[str] = Counter()
    for hit, record in seen:
        trouble = TROUBLE if record.origin is Origin.SYSTEMD and _TROUBLED.search(record.text) else 1
        for name in {record.unit, hit.captures.get("unit") or ""}:
            votes[name] += trouble
    for record in (record for tail in ends.values() for record in (*tail.first, *tail.last)):
        votes[record.unit] += 1
        if record.origin is Origin.SYSTEMD and (named := _SERVICE.search(record.text)):
            votes[named[0]] += TROUBLE if _TROUBLED.search(record.text) else 1
    return [name for name, _ in votes.most_common() if name.endswith(".service") and re.fullmatch(systemd.UNIT_NAME, name)]


def speaks_as(unit: str, seen: Iterable[Seen], ends: Mapping[str, Tail]) -> bool:
    """Whether lines of a journal are from a program of the unit's own name, or of the most of it (postgres of postgresql.service)."""
    stem = unit.rpartition(".")[0]
    names = {stem[:end] for end in range(max(4, len(stem) // 2), len(stem))} | {stem}
    records = (*(record for _, record in seen), *(record for tail in ends.values() for record in (*tail.first, *tail.last)))
    return any(record.ident in names and record.pid and record.origin is Origin.SERVER for record in records)

"""How many programs or hosts write in a log of which nobody said what is meant. Looks at the first and last lines alone, and blames nobody."""

from __future__ import annotations

from forensics import lazily
from forensics.model import Tail

PROGRAMS = 3  # that write by turns
PODS = 2  # that the agent of a node tells of
HOSTS = 4
COLUMNS = 6
LINES = 20

_PROGRAM = lazily.pattern(r"(?:^|\s)(?P<name>[A-Za-z][\w./()@-]{1,40})\[\d{1,10}\]: ")
_POD = lazily.pattern(r"\bpod=\"?[\w.-]{1,100}/[\w.-]{1,100}")
_HOST = lazily.pattern(r"(?=[^\s]*\d)(?=[^\s]*[A-Za-z])[A-Za-z][\w.-]*(?::[\w-]+)?$")


def several(tail: Tail | None) -> bool:
    """Whether a machine's log, or that of many machines, is in that source: a line of it may be about anything that runs there."""
    if tail is None:
        return False
    records = (*tail.first, *tail.last)
    idents = {r.ident for r in records if r.ident} or {m["name"] for r in records if (m := _PROGRAM.search(r.text[:200]))}
    pods = {m[0] for r in records for m in _POD.finditer(r.text[:2000])}
    return len(idents) >= PROGRAMS or len(pods) >= PODS or _hosts([r.text for r in records if not r.ident])


def _hosts(texts: list[str]) -> bool:
    """Whether one of the first columns names hosts: each line has one there, they differ, and come back."""
    rows = [t.split(None, COLUMNS)[:COLUMNS] for t in texts]
    if len(rows) < LINES:
        return False
    for column in range(COLUMNS):
        named = [row[column] for row in rows if len(row) > column and _HOST.match(row[column])]
        if 10 * len(named) >= 9 * len(rows) and len(set(named)) >= HOSTS and 2 * len(set(named)) <= len(named) + 8:
            return True
    return False

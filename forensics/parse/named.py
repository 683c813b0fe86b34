"""Find the units that a benchmark's own configuration or launch script names: whose journal it reads, what it restarts. Runs nothing of it."""

from __future__ import annotations

from collections.abc import Iterator

from forensics import lazily
from forensics.model import Asked
from forensics.parse.asked import simples, unit_of

MOST = 40  # names out of one text
_COMMAND = lazily.pattern(r"(?:journalctl|systemctl)\b[^\n\"'`<>]{1,300}")
# unit: x.service, "systemd_unit": "x.service", UNIT=x.service, --unit x.service
_KEY = lazily.pattern(
    r"(?i:\b(?:systemd[-_ ]?)?(?:unit|service|journal)(?:[-_ ]?(?:name|unit))?)[\"']?[ \t]{0,4}[:= ][ \t]{0,4}[\"']?"
    r"(?P<unit>[A-Za-z0-9:_.\\@-]{1,240}\.(?:service|timer|socket|scope))(?![\w.-])"
)


def named(text: str, *, source: str, first_line: int = 1) -> tuple[Asked, ...]:
    """Each unit once, with the line that names it first."""
    found: dict[str, Asked] = {}
    for number, line in enumerate(text.split("\n"), first_line):
        if "unit" in (low := line[:4000].lower()) or "service" in low or "journal" in low or "systemctl" in low:
            for unit in _of_line(line[:4000]):
                found.setdefault(unit, Asked(source=source, line_no=number, command=line.strip()[:200], unit=unit, tool="configuration"))
        if len(found) >= MOST:
            break
    return tuple(found.values())


def _of_line(line: str) -> Iterator[str]:
    for match in _COMMAND.finditer(line):
        for simple in simples(match[0]):
            if (unit := unit_of(simple)) is not None:
                yield unit
    for match in _KEY.finditer(line):
        yield match["unit"]

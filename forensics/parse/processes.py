"""Turn a list of processes into values. Never says which of them is one too many."""

from __future__ import annotations

from forensics import lazily
from forensics.model import Problem, Process

_LAST = ("COMMAND", "CMD", "ARGS")
_UNIT_OF = lazily.pattern(r"[\w:.\\@-]{1,200}\.(?:service|scope)(?![\w.-])")
_ELAPSED = lazily.pattern(r"(?:(?P<d>\d{1,6})-)?(?:(?P<h>\d{1,2}):)?(?P<m>\d{1,2}):(?P<s>\d{2})")
_MOST = 20_000


def processes(text: str, *, source: str = "", first_line: int = 1) -> tuple[tuple[Process, ...], tuple[Problem, ...]]:
    """The rows of ``ps`` under its head, whatever columns were asked for (``aux``, ``-ef``, ``-eo …``); a process without a unit has "" there."""
    head: list[str] = []
    found: list[Process] = []
    problems: list[Problem] = []
    for number, raw in enumerate(text.split("\n"), first_line):
        line = raw[:2000].strip()
        if not line:
            continue
        names = line.split()
        if "PID" in names and names[-1] in _LAST:
            head = names
            continue
        if not head:
            continue
        cells = line.split(None, len(head) - 1)
        row = dict(zip(head, cells, strict=False))
        pid = row.get("PID", "")
        if len(cells) < len(head) - 1 or not (pid.isascii() and pid.isdigit() and len(pid) < 10):
            if len(problems) < 20:
                problems.append(Problem(source=source, line=number, text="no process: " + line[:80]))
            continue
        if len(found) < _MOST:
            found.append(_process(int(pid), row, source, number, line))
    if not head and text.strip():
        problems.append(Problem(source=source, line=first_line, text="no list of processes: " + text.strip().split("\n")[0][:80]))
    return tuple(found), tuple(problems)


def _process(pid: int, row: dict[str, str], source: str, number: int, line: str) -> Process:
    group = row.get("UNIT", row.get("CGROUP", ""))
    units = _UNIT_OF.findall(group[:1000])
    return Process(
        pid=pid,
        state=row.get("STAT", row.get("S", ""))[:8],
        age_s=_age(row.get("ELAPSED", row.get("ETIMES", row.get("ETIME", "")))),
        user=row.get("USER", row.get("UID", ""))[:64],
        unit=units[-1] if units else "",
        args=next((row[n] for n in _LAST if n in row), ""),
        source=source,
        line_no=number,
        text=line[:480],
    )


def _age(word: str) -> float | None:
    if word.isascii() and word.isdigit():
        return float(word)
    found = _ELAPSED.fullmatch(word)
    if found is None:
        return None
    d, h, m, s = (int(found[k] or 0) for k in "dhms")
    return float(((d * 24 + h) * 60 + m) * 60 + s)

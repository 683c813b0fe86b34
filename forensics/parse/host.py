"""Turn what a host says of itself (sockets, health probes, clock, units, boots, GPUs) into values. Never asks it anything."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from forensics import lazily
from forensics.model import Boot, Gpu, GpuProcess, Listener, Noun, Probe, Problem, UnitState
from forensics.parse import systemd, unitstate

_SS = lazily.pattern(r"^(?:tcp\s+)?LISTEN\s+\d+\s+\d+\s+(?P<address>\S+):(?P<port>\d{1,5})\s+\S+:\S+\s*(?P<rest>.*)$")
_SS_USER = lazily.pattern(r"\(\"(?P<process>[^\"]*)\",pid=(?P<pid>\d+)")
_NETSTAT = lazily.pattern(r"^tcp6?\s+\d+\s+\d+\s+(?P<address>\S+):(?P<port>\d{1,5})\s+\S+\s+LISTEN\b\s*(?P<rest>.*)$")
_NETSTAT_USER = lazily.pattern(r"^(?:\d+\s+\d+\s+)?(?P<pid>\d+)/(?P<process>[^\s:]+)")
_PROC = lazily.pattern(r"^\s*\d+:\s+(?P<address>[0-9A-F]{8}|[0-9A-F]{32}):(?P<port>[0-9A-F]{4})\s+[0-9A-F]+:[0-9A-F]{4}\s+0A\s")
_PROBE = lazily.pattern(r"^\s*(?P<port>\d{1,5})\s+(?P<path>/\S*)\s+(?P<code>-?\d{1,3}|-)(?:\s+(?P<word>[a-z-]+))?\s*$")
_BOOT = lazily.pattern(
    r"^\s*(?P<index>-?\d{1,9})\s+(?P<id>[0-9a-f]{32})\s+(?P<first>\S.*?\d\d:\d\d:\d\d[^—]*?)(?:—|\s(?=[A-Z][a-z]{2} \d{4}-))\s*(?P<last>\S.*)$"
)
_LONGEST = 400  # characters of a row of a table


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Clock(Noun):
    """The host's own time and what it says of itself beside it (uptime_s, boot_id, hostname, kernel, uid, groups, systemd)."""

    at: float | None = None
    said: Mapping[str, str] = field(default_factory=dict)


# --------------------------------------------------------------------------- network


def listeners(text: str, *, source: str = "", first_line: int = 1) -> tuple[tuple[Listener, ...], tuple[Problem, ...]]:
    """Listening TCP sockets out of ``ss -ltnp``, ``netstat -ltnp`` or ``/proc/net/tcp``; pid and process only where the account could see them."""
    found: list[Listener] = []
    problems: list[Problem] = []
    headed = False
    for number, raw in enumerate(text.split("\n"), first_line):
        line = raw.rstrip()
        if match := _SS.match(line):
            user = _SS_USER.search(match["rest"])
        elif match := _NETSTAT.match(line):
            user = _NETSTAT_USER.match(match["rest"])
        elif match := _PROC.match(line):
            found.append(Listener(port=int(match["port"], 16), address=_address(match["address"]), line_no=number, text=line.strip()))
            continue
        else:
            headed = headed or line.lstrip().startswith(("State", "Proto", "Netid", "sl ", "Active Internet"))
            if "LISTEN" in line and "users:" in line and len(problems) < systemd.MOST_PROBLEMS:
                problems.append(Problem(source=source, line=number, text="a listening socket that could not be read: " + line[:80]))
            continue
        found.append(
            Listener(
                port=int(match["port"]),
                address=match["address"].strip("[]"),
                pid=systemd.count(user["pid"]) if user else None,
                process=user["process"] if user else "",
                line_no=number,
                text=line,
            )
        )
    if not found and not headed and text.strip():
        problems.append(Problem(source=source, line=first_line, text="no list of sockets: " + text.strip().split("\n")[0][:80]))
    return tuple(found), tuple(problems)


def _address(word: str) -> str:
    """An address of /proc/net/tcp: 32-bit words in host order, taken as little-endian."""
    groups = [word[at : at + 8] for at in range(0, len(word), 8)]
    octets = [int(group[at : at + 2], 16) for group in groups for at in (6, 4, 2, 0)]
    if len(octets) == 4:
        return ".".join(map(str, octets))
    return (
        "::" if not any(octets) else "::1" if octets == [0] * 15 + [1] else ":".join(f"{octets[i] << 8 | octets[i + 1]:x}" for i in range(0, 16, 2))
    )


def probes(text: str, *, source: str = "", first_line: int = 1) -> tuple[tuple[Probe, ...], tuple[Problem, ...]]:
    """Answers of health endpoints, one ``PORT PATH CODE [WORD]`` a line: 200, 000 (refused), -1 (no answer, or none that is HTTP), - (could not ask)."""
    found: list[Probe] = []
    problems: list[Problem] = []
    for number, line in enumerate(text.split("\n"), first_line):
        match = _PROBE.match(line)
        if match:
            code = None if match["code"] == "-" or match["word"] == "unasked" else int(match["code"])
            found.append(Probe(port=int(match["port"]), path=match["path"], code=code, line_no=number, text=line.strip()))
        elif line.strip() and len(problems) < systemd.MOST_PROBLEMS:
            problems.append(Problem(source=source, line=number, text="not PORT PATH CODE: " + line[:80]))
    return tuple(found), tuple(problems)


# --------------------------------------------------------------------------- time and boots


def clock(text: str, *, source: str = "", first_line: int = 1) -> tuple[Clock, tuple[Problem, ...]]:
    """The host's clock: ``date +%s.%N`` (or any stamp) on a line of its own, and ``key=value`` lines beside it."""
    at: float | None = None
    said: dict[str, str] = {}
    for line in text.split("\n"):
        word = line.strip()
        key, equals, value = word.partition("=")
        if equals and key.isidentifier():
            said.setdefault(key, value)
        elif word and at is None:
            # busybox knows no %N and prints it, or nothing
            at = float(word.partition(".")[0]) if re.fullmatch(r"\d{9,11}\.(?:%N|N)?", word) else systemd.stamp(word)
    problems = (
        ()
        if at is not None or not text.strip()
        else (Problem(source=source, line=first_line, text="no time in it: " + text.strip().split("\n")[0][:80]),)
    )
    return Clock(at=at, said=said), problems


def boots(text: str, *, source: str = "", first_line: int = 1) -> tuple[tuple[Boot, ...], tuple[Problem, ...]]:
    """``journalctl --list-boots``: with a dash between first and last entry until 252, in columns under a head since 254."""
    found: list[Boot] = []
    problems: list[Problem] = []
    for number, line in enumerate(text.split("\n"), first_line):
        if match := _BOOT.match(line[:_LONGEST]):
            first, last = systemd.stamp(match["first"]), systemd.stamp(match["last"])
            found.append(Boot(index=int(match["index"]), boot_id=match["id"], first_at=first, last_at=last, line_no=number, text=line.strip()))
        elif line.strip() and not line.lstrip().startswith("IDX") and len(problems) < systemd.MOST_PROBLEMS:
            problems.append(Problem(source=source, line=number, text="no boot: " + line.strip()[:80]))
    return tuple(found), tuple(problems)


# --------------------------------------------------------------------------- units


def units(text: str, *, source: str = "", first_line: int = 1) -> systemd.Parsed:
    """All units of a host out of the rows of ``list-units`` and ``list-unit-files`` and the blocks of ``show`` (``Id=``…), in any mixture; one state a unit.

    Templates (``x@.service``) are left out: they are no units. Lines are not cited, there are too many.
    """
    lines = text.split("\n")
    shown, problems = systemd.show("\n".join(line if re.match(r"^\w+=", line) else "" for line in lines), source=source, first_line=first_line)
    listed, more = unitstate.list_units(text, source=source)
    known: dict[str, UnitState] = {}
    for state in (*listed, *shown):
        if not state.name or "@." in state.name:
            continue
        held = known.get(state.name)
        if held is None or held.active is None or state.argv or state.main_pid:
            known[state.name] = state
    return tuple(known.values()), (*problems, *more)


# --------------------------------------------------------------------------- GPUs


def gpus(text: str, *, source: str = "", first_line: int = 1) -> tuple[tuple[Gpu, ...], tuple[GpuProcess, ...], tuple[Problem, ...]]:
    """GPUs and the processes on them, out of ``nvidia-smi --query-… --format=csv`` with heads, or the plain table's process list."""
    cards: list[Gpu] = []
    processes: list[GpuProcess] = []
    problems: list[Problem] = []
    head: list[str] = []
    card: tuple[int, str, int | None] | None = None
    for number, raw, cells in _rows(text, first_line):
        names = [re.sub(r" \[.*", "", cell) for cell in cells]
        if "pid" in names or "memory.total" in names:
            head = names
        elif match := _TABLE_PROCESS.match(raw[:_LONGEST]):
            processes.append(
                GpuProcess(gpu=match["gpu"], pid=int(match["pid"]), name=match["name"], used_gib=_mib(match["used"]), line_no=number, text=raw)
            )
        elif match := _TABLE_CARD.match(raw):
            card = (int(match["gpu"]), match["name"].rstrip(), _count(match["ecc"]))
        elif card is not None and (match := _TABLE_MEMORY.match(raw)):
            index, name, ecc = card
            card = None
            used, total = _mib(match["used"]), _mib(match["total"])
            cards.append(Gpu(index=index, name=name, total_gib=total, used_gib=used, ecc_uncorrected=ecc, line_no=number, text=raw.strip()))
        elif head and len(cells) == len(head):
            row = dict(zip(head, cells, strict=True))
            if "pid" in row:
                if (pid := systemd.count(row["pid"])) is not None:
                    processes.append(
                        GpuProcess(
                            pid=pid,
                            name=row.get("process_name", ""),
                            used_gib=_mib(row.get("used_gpu_memory", row.get("used_memory", ""))),
                            gpu=row.get("gpu_uuid", row.get("gpu_bus_id", "")),
                            line_no=number,
                            text=raw,
                        )
                    )
            elif (number_of := systemd.count(row.get("index"))) is not None:
                cards.append(
                    Gpu(
                        index=number_of,
                        name=row.get("name", ""),
                        uuid=row.get("uuid", ""),
                        total_gib=_mib(row["memory.total"]),
                        used_gib=_mib(row.get("memory.used", "")),
                        ecc_uncorrected=_count(row.get("ecc.errors.uncorrected.volatile.total", "")),
                        pages_pending=row.get("retired_pages.pending", "") == "Yes",
                        driver=row.get("driver_version", "")[:20],
                        line_no=number,
                        text=raw,
                    )
                )
        elif len(problems) < systemd.MOST_PROBLEMS and (
            "NVIDIA-SMI has failed" in raw or "Unable to determine the device handle" in raw or "No devices were found" in raw
        ):
            problems.append(Problem(source=source, line=number, text=raw.strip()[:200]))
    return tuple(cards), tuple(processes), tuple(problems)


_TABLE_PROCESS = lazily.pattern(r"^\|\s+(?P<gpu>\d+)\s+\S+\s+\S+\s+(?P<pid>\d{1,10})\s+\S+\s+(?P<name>\S.*?)\s+(?P<used>\d+MiB)\s*\|$")


# the plain table tells a card in two rows: "|   0  NVIDIA H200      On  | 00000000:1B:00.0 Off |     0 |" and "| N/A  35C  P0  70W / 700W | 71234MiB / 81559MiB | …"
_TABLE_CARD = lazily.pattern(
    r"^\|\s+(?P<gpu>\d{1,3})\s+(?P<name>\S[^|]{2,60}?)\s+(?:On|Off|N/A)\s*\|\s*[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f.]{4}\s+\S+\s*\|\s*(?P<ecc>\S+)\s*\|$"
)
_TABLE_MEMORY = lazily.pattern(r"^\|[^|]{4,60}\|\s*(?P<used>\d+MiB)\s*/\s*(?P<total>\d+MiB)\s*\|")


def _rows(text: str, first_line: int) -> Iterator[tuple[int, str, list[str]]]:
    import csv

    for number, raw in enumerate(text.split("\n"), first_line):
        line = raw.rstrip("\r")
        if line.strip():
            try:
                cells = next(csv.reader([line], skipinitialspace=True), [])
            except csv.Error:
                cells = []
            yield number, line, [cell.strip() for cell in cells]


def _count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None


def _mib(text: str) -> float | None:
    found = re.match(r"(\d{1,15}(?:\.\d{1,15})?) ?(?:MiB)?$", text.strip())
    return float(found[1]) / 1024 if found else None

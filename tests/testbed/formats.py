"""What each kind of output can carry, and what it cannot, with the reason: the one place where an expectation is taken back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Journal:
    """A format of journalctl. ``step_s`` is the precision of its stamps."""

    step_s: float = 0.000_01
    pid_one: str = r" (?:systemd|init\.scope)\[1\]: "  # what marks a line of PID 1, to know how far a file goes
    wall: bool = True  # False: its stamps name no point in time
    since_boot: bool = False  # its stamps count from the start of the machine
    stamped: bool = True
    unit: bool = True  # names the unit
    year: bool = True
    tail: bool = False  # only the last lines
    why: str = ""  # what it cannot carry


_ENTRY = r'"_PID" ?: ?"1"'
_NO_ZONE = "stamps without a zone, written in another one than UTC: the times are off by it, the spans are not"

_SINCE_BOOT = "seconds since the machine started: when that was only the lines of a service that logs its own time (cut to the second) give away"
_ZONE_NAME = "CET: the name of a zone is not believed, as several are two (CST, IST); a journal beside it often has the same clock and no zone"

JOURNALS = {
    "short": Journal(step_s=1, year=False),
    "default": Journal(step_s=1, year=False),
    "short-all": Journal(step_s=1, year=False),
    "short-x": Journal(step_s=1, year=False),
    "color": Journal(step_s=1, year=False),
    "utc": Journal(step_s=1, year=False),
    "plain-n20": Journal(step_s=1, year=False, tail=True, why="-n 20: the start may be above"),
    "no-hostname": Journal(step_s=1, year=False, pid_one=r":\d\d systemd\[1\]: "),
    "short-full": Journal(step_s=1),
    "short-full-de": Journal(step_s=1, wall=False, why=_ZONE_NAME),
    "with-unit": Journal(step_s=1),
    "short-iso": Journal(step_s=1),
    "short-iso-kathmandu": Journal(step_s=1),
    "short-precise": Journal(year=False),
    "short-iso-precise": Journal(),
    "short-unix": Journal(),
    "short-de": Journal(step_s=1, wall=False, why=_NO_ZONE),
    "short-fr": Journal(step_s=1, wall=False, why=_NO_ZONE),
    "short-ja": Journal(step_s=1, wall=False, why=_NO_ZONE),
    "short-monotonic": Journal(wall=False, since_boot=True, why=_SINCE_BOOT),
    "short-delta": Journal(wall=False, since_boot=True, why=_SINCE_BOOT),
    "verbose": Journal(pid_one=r"(?m)^    _PID=1$"),
    "export": Journal(pid_one=r"(?m)^_PID=1$"),
    "json": Journal(pid_one=_ENTRY),
    "json-all": Journal(pid_one=_ENTRY),
    "json-pretty": Journal(pid_one=_ENTRY),
    "json-seq": Journal(pid_one=_ENTRY),
    "cat": Journal(
        stamped=False,
        wall=False,
        unit=False,
        why="messages alone: no stamps, and whoever writes a line that looks like systemd's is not told from it",
    ),
}
# without an entry json, export and cat print nothing at all; the text formats say "-- No entries --"
SILENT = frozenset({"json", "json-all", "json-pretty", "json-seq", "export", "cat"})
# the service's own lines claim another year, and a year is completed from what the log says
OTHER_YEAR = frozenset({"dirty-log"})
# restarts all the time: of each command that was run there is another truth
MOVING = frozenset({"restart-flapping"})
# what a reader must be told of a real output
EXPLAINED = (
    (
        re.compile(r"messages with colours are left out by journalctl -o verbose without -a"),
        "journalctl leaves them out: they are in no line of the file",
    ),
    (re.compile(r"^seconds since the machine started, and no line says when that was"), "true: only a service that logs its own time gives it away"),
)
# what the capture did to a file: it ends within an entry
CUT = re.compile(r"the last entry is not complete|no complete journal entry|a field of this entry was not understood")


def explained(problem: str, file: Path) -> bool:
    """Whether a problem is one that a reader should be told."""
    return (bool(CUT.search(problem)) and is_cut(file)) or any(pattern.search(problem) for pattern, _ in EXPLAINED)


def is_cut(file: Path) -> bool:
    """Whether the capture kept only the first 40000 bytes."""
    told = file.parent / "cut-files"
    return told.exists() and file.name in told.read_text().split("\n")


@dataclass(frozen=True, kw_only=True)
class State:
    """What an answer of systemctl says of a unit."""

    name: bool = True
    load: bool = True
    active: bool = True
    sub: bool = True
    status: bool = False  # Active:, Main PID:, and Duration: where the version has it
    show: bool = False  # ExecMain…, Result, NRestarts
    duration: bool = False  # of show: the monotonic stamps
    wall: bool = False
    why: str = ""


STATES = {
    "status": State(status=True, wall=True),
    "status-n0-full": State(status=True, wall=True),
    "status-short": State(status=True, wall=True),
    "status-cols40": State(status=True, wall=True),
    "status-color": State(status=True, wall=True),
    "status-LC_ALL_C": State(status=True, wall=True),
    "status-utf8": State(status=True, wall=True),
    "status-ja": State(status=True, wall=True),
    "status-de": State(status=True, why=_ZONE_NAME),
    "show": State(show=True, wall=True, duration=True),
    "show-sel": State(show=True, wall=True, why="the stamps of the list are cut to the second: no duration"),
    "list-units": State(),
    "is-active": State(name=False, load=False, sub=False),
}

# what is added to the true time of an exit: the name of a zone is not believed (CET)
EXITS = {"show-unix": 0, "show-us": 0, "show-de": 3600}

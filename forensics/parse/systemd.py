"""Turn what ``systemctl`` prints (status, show, is-active, cat, list-units) into unit states. Never reads a journal line, never judges a state.

Wordings of systemd 219 to 257. Values that a version does not print stay None; see ``unitstate.merge`` for which answer wins.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from forensics import lazily
from forensics.clock import parse_span, parse_stamp
from forensics.model import Problem, UnitState

Parsed = tuple[tuple[UnitState, ...], tuple[Problem, ...]]
Lines = dict[str, tuple[int, str]]

UNIT_NAME = r"[A-Za-z0-9:_.\\@-]+\.(?:service|socket|target|timer|slice|scope|mount|path|device|swap|automount)"
ANSI = lazily.pattern(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\]8;[^\x07\x1b]*(?:\x07|\x1b\\)")
# the bullet is ● on 247, × and ○ on 252, x and * under LC_ALL=C, and anything in a paste that lost its encoding
_HEAD = lazily.pattern(rf"^(?:\S{{1,3}}\s+)?(?P<unit>{UNIT_NAME})(?: - (?P<description>.*))?$")
_KEY = lazily.pattern(
    r"^\s*(?P<key>Loaded|Drop-In|Transient|Active|Duration|Docs|Process|Main PID|Cntrl PID|Status|Error|Tasks|Memory|CPU|CGroup|Condition|Assert"
    r"|Invocation|IP|IO|Triggers|TriggeredBy|FD Store):(?:\s+(?P<value>.*))?$"
)
_MISSING = lazily.pattern(
    rf"(?:Unit (?P<unit>{UNIT_NAME}) (?:could not be found|not found|not loaded)|No files found for (?P<file>{UNIT_NAME})|Unit file (?P<gone>{UNIT_NAME}) does not exist)"
)
_ACTIVE = lazily.pattern(
    r"^(?P<active>[a-z-]+)(?: \((?P<sub>(?!Result: )[^)]*)\))?(?: \(Result: (?P<result>[^)]*)\))?(?:(?: \([a-z]+\))?"
    r" since (?P<since>[^;]+?)(?:; (?P<ago>.+?)(?: ago| left)?)?)?$"
)
_PROCESS = lazily.pattern(r"^(?P<pid>\d+) (?P<exec>Exec\w+)=(?P<argv>.*?)(?: \((?P<end>code=[^()]*)\))?$")
_MAIN = lazily.pattern(r"^(?P<pid>\d+)(?: \((?P<end>code=[^()]*)\)| \((?P<comm>[^()]*)\))?")
_END = lazily.pattern(r"code=(?P<code>[a-z]+)(?:, (?:status|signal)=(?P<number>\d+)?/?(?P<name>[A-Za-z0-9_+/-]+)?)?")
_FRAGMENT = lazily.pattern(r"^(?P<load>[a-z-]+)(?: \((?P<path>/[^;)]+)?)?")
_CHILD = lazily.pattern(r"^\s*(?:[├└|`]─*-*|\S{1,3})?(?P<pid>\d+) (?P<argv>\S.*)$")
_SIZE = lazily.pattern(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>[BKMGTP]?)")
# below the log lines of a status
_ON_JOURNAL = (
    ("rotated", "ournal has been rotated since unit was started"),
    ("denied", "not opened due to insufficient permissions"),
    ("denied", "not seeing messages from other users"),
)
ACTIVE_STATES = frozenset({"active", "reloading", "refreshing", "inactive", "failed", "activating", "deactivating", "maintenance"})
_MAX_DIGITS = 20
MOST_PROBLEMS = 50  # of one answer: what is of another kind altogether would have one a line
MAX_COMMAND = 32 << 10  # of a command line that is taken apart with its quotes: shlex takes quadratic time for a word without end
_EXEC_CODES = {"1": "exited", "2": "killed", "3": "dumped"}
# of Linux: the machine that reads need not be the one that wrote
SIGNALS = {
    1: "HUP",
    2: "INT",
    3: "QUIT",
    4: "ILL",
    5: "TRAP",
    6: "ABRT",
    7: "BUS",
    8: "FPE",
    9: "KILL",
    10: "USR1",
    11: "SEGV",
    12: "USR2",
    13: "PIPE",
    14: "ALRM",
    15: "TERM",
    16: "STKFLT",
    17: "CHLD",
    18: "CONT",
    19: "STOP",
    20: "TSTP",
    24: "XCPU",
    25: "XFSZ",
    30: "PWR",
    31: "SYS",
}
_NUMBERS = {name: number for number, name in SIGNALS.items()}


# --------------------------------------------------------------------------- status


def status(text: str, *, source: str = "", first_line: int = 1) -> Parsed:
    """Read ``systemctl status`` of one unit or several; the journal lines below each are left alone.

    A unit that "could not be found" gives a state with ``load`` not-found. Text under another locale gives a problem and what could be read.
    """
    states: list[UnitState] = []
    problems: list[Problem] = []
    reading: _Status | None = None
    for number, raw in enumerate(text.split("\n"), first_line):
        line = ANSI.sub("", raw.rstrip("\r"))
        if missing := _MISSING.search(line):
            states.append(
                UnitState(
                    name=missing["unit"] or missing["file"] or missing["gone"],
                    load="not-found",
                    source=source,
                    lines={"missing": (number, line.strip())},
                )
            )
        elif (head := _HEAD.match(line)) and not line.startswith(" "):
            if reading:
                states.append(reading.done(problems))
            reading = _Status(head["unit"], head["description"], source, number)
        elif reading is None and (key := _KEY.match(line)) and key["key"] in ("Loaded", "Active"):
            reading = _Status("", None, source, number)  # a paste that lost its first line
            reading.line(number, line, problems)
        elif reading:
            reading.line(number, line, problems)
    if reading:
        states.append(reading.done(problems))
    if not states and text.strip():
        problems.append(Problem(source=source, line=first_line, text="no systemctl status in it: " + _first(text)))
    return tuple(states), tuple(problems)


class _Status:
    """One unit's block while it is read."""

    def __init__(self, unit: str, description: str | None, source: str, number: int) -> None:
        self.values: dict[str, Any] = {"name": unit, "description": description, "source": source}
        self.lines: Lines = {}
        self.head = number
        self.closed = False
        self.key = ""

    def line(self, number: int, line: str, problems: list[Problem]) -> None:
        """Take one more line of the block; a blank one closes it, what follows is journal, and what systemctl says of that journal."""
        if line.startswith(("Warning: ", "Notice: ", "Hint: ")):
            for what, phrase in _ON_JOURNAL:
                if phrase in line:
                    self.lines[what] = (number, line.strip())
        elif not line.strip():
            self.closed = self.closed or "active" in self.lines
            return
        if self.closed:
            return
        if found := _KEY.match(line):
            self.key = found["key"]
            reader = getattr(self, "_" + self.key.lower().replace(" ", "_").replace("-", "_"), None)
            if reader:
                reader(found["value"] or "", number, line.strip(), problems)
        elif self.key == "CGroup" and (child := _CHILD.match(line)) and (pid := count(child["pid"])) and pid == self.values.get("main_pid"):
            self.values["argv"] = words(child["argv"])

    def done(self, problems: list[Problem]) -> UnitState:
        """The state read so far; without an Active line there is something wrong with the text."""
        if "active" not in self.lines and len(problems) < MOST_PROBLEMS:
            problems.append(
                Problem(
                    source=self.values["source"],
                    line=self.head,
                    text=f"no Active: line for {self.values['name'] or 'this unit'}; another language, or cut",
                )
            )
        values = self.values
        if values.get("started_at") is None and values.get("since") is not None:
            if values.get("active") == "active":
                values["started_at"] = values["since"]
            elif values.get("duration_s") is not None and values.get("active") in ("failed", "inactive"):
                values["started_at"] = values["since"] - values["duration_s"]
                values["exited_at"] = values["since"]
        return UnitState(**values, lines=self.lines)

    def _loaded(self, value: str, number: int, line: str, problems: list[Problem]) -> None:
        found = _FRAGMENT.match(value)
        if found:
            self.values.update(load=found["load"], fragment=found["path"])
            if found["load"] == "not-found":
                self.lines["missing"] = (number, line)
        self.lines["loaded"] = (number, line)

    def _active(self, value: str, number: int, line: str, problems: list[Problem]) -> None:
        self.lines["active"] = (number, line)
        found = _ACTIVE.match(value.strip())
        if found is None or found["active"] not in ACTIVE_STATES:
            problems.append(Problem(source=self.values["source"], line=number, text="Active: line not understood; another language?"))
            return
        self.values.update(active=found["active"], sub=found["sub"], result=found["result"])
        if found["since"]:
            self.values["since"] = stamp(found["since"])
            if self.values["since"] is None:
                problems.append(Problem(source=self.values["source"], line=number, text=f"time not understood: {found['since']}"))
        if found["ago"]:
            self.values["ago_s"] = parse_span(found["ago"])
        if found["active"] == "failed" and not found["sub"]:
            self.values["sub"] = "failed"

    def _condition(self, value: str, number: int, line: str, problems: list[Problem]) -> None:
        self.lines["condition"] = (number, line)

    _assert = _condition

    def _duration(self, value: str, number: int, line: str, problems: list[Problem]) -> None:
        self.lines["duration"] = (number, line)
        self.values["duration_s"] = parse_span(value.strip())
        if self.values["duration_s"] is None:
            problems.append(Problem(source=self.values["source"], line=number, text=f"span not understood: {value.strip()}"))

    def _process(self, value: str, number: int, line: str, problems: list[Problem]) -> None:
        found = _PROCESS.match(value)
        if found is None:
            return
        if found["exec"] == "ExecStart":
            self.values["argv"] = words(found["argv"])
            self.values.setdefault("main_pid", count(found["pid"]))
            self._end(found["end"])
            self.lines["process"] = (number, line)
            return
        code = _ending(found["end"] or "")
        if code.get("main_status") and "command" not in self.lines:
            self.values["failed_command"] = found["exec"]
            self.lines["command"] = (number, line)
        self.lines.setdefault("process", (number, line))

    def _main_pid(self, value: str, number: int, line: str, problems: list[Problem]) -> None:
        found = _MAIN.match(value)
        if found is None:
            return
        self.values["main_pid"] = count(found["pid"])
        if found["end"]:
            self._end(found["end"])
            self.lines["process"] = (number, line)
        else:
            self.lines["main"] = (number, line)

    def _status(self, value: str, number: int, line: str, problems: list[Problem]) -> None:
        self.lines["said"] = (number, line)

    _error = _status

    def _memory(self, value: str, number: int, line: str, problems: list[Problem]) -> None:
        self.lines["memory"] = (number, line)
        for name, target in (("peak", "memory_peak_gib"), ("max", "memory_max_gib"), ("limit", "memory_max_gib")):
            if found := re.search(rf"\b{name}: (\S+?)(?=[ ,)])", value + " "):
                self.values[target] = gib(found[1])

    def _end(self, end: str | None) -> None:
        if end:
            self.values.update(_ending(end))


def _ending(text: str) -> dict[str, Any]:
    """``code=killed, signal=KILL`` (status) and ``code=killed, status=9/KILL`` (journal, 219) say the same."""
    found = _END.search(text)
    if found is None:
        return {}
    code, number, name = found["code"], found["number"], found["name"]
    if code not in ("killed", "dumped"):
        return {"main_code": code, "main_status": count(number)}
    if name and not number:
        number = str(_NUMBERS.get(name, "")) or None
    if number and not name:
        name = SIGNALS.get(count(number) or 0)
    return {"main_code": code, "main_status": count(number), "signal": f"SIG{name}" if name else None}


# --------------------------------------------------------------------------- show


def show(text: str, *, source: str = "", first_line: int = 1, unit: str = "") -> Parsed:
    """Read ``systemctl show``: one block of ``Key=value`` lines a unit, blocks parted by blank lines. ``unit`` names a block that has no ``Id``."""
    states: list[UnitState] = []
    problems: list[Problem] = []
    for number, block in _blocks(text, first_line):
        values: dict[str, tuple[int, str]] = {}
        for at, line in enumerate(block, number):
            key, equals, value = line.partition("=")
            if equals and key.isidentifier():
                values.setdefault(key, (at, value))
            elif key.strip() and not values and len(problems) < MOST_PROBLEMS:
                problems.append(Problem(source=source, line=at, text="not a Key=value line: " + line[:80]))
        if values:
            states.append(_shown({key: value for key, (_, value) in values.items()}, {key: at for key, (at, _) in values.items()}, source, unit))
    return tuple(states), tuple(problems)


def _shown(values: Mapping[str, str], at: Mapping[str, int], source: str, unit: str) -> UnitState:
    active = values.get("ActiveState") or None
    start = values.get("ExecStart", "")
    code = _EXEC_CODES.get(values.get("ExecMainCode", ""))
    number = count(values.get("ExecMainStatus")) if code else None
    named = SIGNALS.get(number) if code in ("killed", "dumped") and number is not None else None
    lines: Lines = {}
    for name, key in (
        ("reload", "NeedDaemonReload"),
        ("peak", "MemoryPeak"),
        ("limit", "MemoryMax"),
        ("active", "ActiveState"),
        ("result", "Result"),
        ("process", "ExecMainStatus"),
        ("loaded", "LoadState"),
        ("restarts", "NRestarts"),
        ("exited", "ExecMainExitTimestamp"),
    ):
        if key in values and (name != "process" or code):
            lines[name] = (at[key], f"{key}={values[key]}")
    if values.get("LoadState") == "not-found":
        lines["missing"] = lines["loaded"]
    if values.get("ConditionResult") == "no" and stamp(values.get("ConditionTimestamp", "")) is not None:
        lines["condition"] = (at["ConditionResult"], "ConditionResult=no")
    _, there, argv = start.partition("argv[]=")
    argv, ended, _ = argv.partition(" ; ")
    return UnitState(
        name=values.get("Id") or unit,
        load=values.get("LoadState") or None,
        active=active,
        sub=values.get("SubState") or None,
        result=values.get("Result") or None,
        main_code=code,
        main_status=number,
        signal=f"SIG{named}" if named else None,
        main_pid=count(values.get("MainPID")) or count(values.get("ExecMainPID")) or None,
        since=stamp(values.get(_SINCE.get(active or "", "StateChangeTimestamp"), "")),
        started_at=stamp(values.get("ExecMainStartTimestamp", "")),
        exited_at=stamp(values.get("ExecMainExitTimestamp", "")),
        duration_s=_duration(values),
        restarts=count(values.get("NRestarts")),
        memory_peak_gib=gib(values.get("MemoryPeak", "")),
        memory_max_gib=gib(values.get("MemoryMax", "")),
        memory_high_gib=gib(values.get("MemoryHigh", "")),
        argv=words(argv) if there and ended else (),
        need_reload={"yes": True, "no": False}.get(values.get("NeedDaemonReload", "")),
        drop_ins=tuple(values.get("DropInPaths", "").split()),
        rivals=_others(values, "Conflicts", "ConflictedBy"),
        props=_others(values, "BindsTo", "Requires", "PartOf"),
        fragment=values.get("FragmentPath") or None,
        description=values.get("Description") or None,
        source=source,
        lines=lines,
    )


def _others(values: Mapping[str, str], *keys: str) -> tuple[str, ...]:
    """The units that properties name, without what every unit has (targets, slices)."""
    names = [name for key in keys for name in values.get(key, "").split()]
    return tuple(dict.fromkeys(name for name in names if name.endswith((".service", ".socket", ".mount", ".scope", ".device"))))[:40]


# what status prints behind "since"
_SINCE = {
    "active": "ActiveEnterTimestamp",
    "reloading": "ActiveEnterTimestamp",
    "inactive": "InactiveEnterTimestamp",
    "failed": "InactiveEnterTimestamp",
    "activating": "InactiveExitTimestamp",
    "deactivating": "ActiveExitTimestamp",
}


def _duration(values: Mapping[str, str]) -> float | None:
    """Active time as status counts it since 252: from active to no longer active, by the monotonic clock."""
    begin, end = count(values.get("ActiveEnterTimestampMonotonic")), count(values.get("ActiveExitTimestampMonotonic"))
    if begin and end and end > begin and values.get("ActiveState") in ("failed", "inactive"):
        return (end - begin) // 1000 / 1000
    return None


def _blocks(text: str, first_line: int) -> Iterator[tuple[int, list[str]]]:
    block: list[str] = []
    start = first_line
    for number, line in enumerate(text.split("\n"), first_line):
        if line.strip():
            if not block:
                start = number
            block.append(line.rstrip("\r"))
        elif block:
            yield start, block
            block = []
    if block:
        yield start, block


# --------------------------------------------------------------------------- is-active


def is_active(text: str, *, source: str = "", first_line: int = 1, unit: str = "") -> Parsed:
    """Read ``systemctl is-active``: the one word. ``unknown`` (219, no such unit) gives a state that says nothing but its line."""
    for number, raw in enumerate(text.split("\n"), first_line):
        word = ANSI.sub("", raw).strip()
        if word in ACTIVE_STATES or word == "unknown":
            state = UnitState(name=unit, active=None if word == "unknown" else word, source=source, lines={"active": (number, word)})
            return (state,), ()
        if word and not word.startswith(("$", "#")):
            return (), (Problem(source=source, line=number, text="not an is-active answer: " + word[:80]),)
    return (), ()


# --------------------------------------------------------------------------- values


def stamp(text: str) -> float | None:
    """A time as systemctl prints it, with the weekday of any language, or ``@seconds``."""
    text = text.strip()
    if text.startswith("@"):
        return parse_stamp(text)
    if not text or text in ("n/a", "0"):
        return None
    head, _, rest = text.partition(" ")
    return parse_stamp(rest if rest and not head[:1].isdigit() else text)


def words(command: str) -> tuple[str, ...]:
    """The words of a command line that systemd printed: it drops quotes (until 252) or keeps them, so a quote that does not close is a letter."""
    if "\\" in command or len(command) > MAX_COMMAND:
        return tuple(command.split())
    try:
        return tuple(shlex.split(command))
    except ValueError:
        return tuple(command.split())


def count(text: str | None) -> int | None:
    """A number of at most 20 digits (64 bits) as systemd and the kernel write it; anything may stand in its place."""
    return int(text) if text and len(text) <= _MAX_DIGITS and text.isascii() and text.isdigit() else None


def gib(text: str) -> float | None:
    """Bytes, or 1.5G as systemd prints it, in GiB; infinity, [not set] and 2**64-1 are None."""
    found = _SIZE.fullmatch(text.strip())
    if found is None or text.strip() == "18446744073709551615":
        return None
    number = float(found["number"]) * 1024.0 ** (" BKMGTP".index(found["unit"] or "B") - 1) / 1024.0**3
    return number if math.isfinite(number) else None


def _first(text: str) -> str:
    return next((line.strip()[:80] for line in text.split("\n") if line.strip()), "")

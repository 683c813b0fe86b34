"""Read how earlier boots ended and which cores were kept. Never says what a crash was about."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from typing import Any

from forensics import lazily
from forensics.model import BootEnd, Coredump, Problem, UnitState
from forensics.parse.systemd import stamp

_BOOT = lazily.pattern(r"^== boot (?P<index>-\d{1,3})$")
_PANIC = lazily.pattern(r"Kernel panic - not syncing|---\[ end Kernel panic")
_ORDERLY = lazily.pattern(
    r"^(?:Reached target (?:[a-z-]{1,20}\.target - )?(?:System )?(?:Shutdown|Reboot|Power[- ]Off|Halt|Late Shutdown Services|Final Step|Unmount All Filesystems)\b"
    r"|Journal stopped|Shutting down\.|Stopping Journal Service|Powering off\.|Rebooting\.|Sending SIGTERM to remaining processes|Received SIGTERM from PID 1 \(systemd-shutdow"
    r"|System is (?:rebooting|powering down)|reboot: (?:Restarting system|Power down))"
)
_WAY = lazily.pattern(r"Reached target (?:[a-z-]{1,20}\.target - )?(?:System )?(?:Reboot|Power[- ]Off|Halt)\b")  # says more than that it goes down
_ENTRY = lazily.pattern(r"^\d{4}-\d\d-\d\dT\S{1,30} \S{1,128} (?P<ident>[\w.()-]{1,40})(?:\[\d{1,10}\])?: (?P<text>.*)$")


def boot_ends(text: str, *, source: str = "", first_line: int = 1) -> tuple[tuple[BootEnd, ...], tuple[Problem, ...]]:
    """The last lines of PID 1, journald and the kernel of earlier boots, each under ``== boot -N``.

    ``abrupt``: there are lines and none of them says that it went down. ``unknown``: there are none (not kept, or not to be read).
    """
    found: list[BootEnd] = []
    held: dict[str, Any] | None = None
    for number, raw in enumerate(text.split("\n"), first_line):
        line = raw[:4000].rstrip()
        if match := _BOOT.match(line):
            if held is not None:
                found.append(BootEnd(**held))
            held = {"index": int(match["index"]), "how": "unknown", "source": source, "line_no": number, "text": ""}
        elif held is not None and (entry := _ENTRY.match(line)):
            how = "panic" if _PANIC.search(entry["text"]) else "orderly" if _ORDERLY.match(entry["text"]) else "abrupt"
            if held["how"] in ("unknown", "abrupt") or how == "panic" or (how == "orderly" and held["how"] == how and _WAY.match(entry["text"])):
                held.update(how=how, line_no=number, text=line)
            held["at"] = stamp(line.split(" ", 1)[0]) or held.get("at")
    if held is not None:
        found.append(BootEnd(**held))
    return tuple(x for x in found if x.text), ()


# --------------------------------------------------------------------------- cores

_LISTED = lazily.pattern(
    r"^(?P<at>(?:[A-Z][a-z]{2} )?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: \S{1,10})?)\s+(?P<pid>\d{1,10})\s+\d{1,10}\s+\d{1,10}\s+(?P<signal>SIG[A-Z0-9+]{2,10}|\d{1,2})\s+\S{1,12}\s+(?P<exe>\S{1,600})"
)
_KEY = lazily.pattern(r"^\s{1,16}(?P<key>PID|Signal|Timestamp|Command Line|Executable|Unit|Message): (?P<value>.*)$")
_THREAD = lazily.pattern(r"^\s+Stack trace of thread \d+:")
_FRAME = lazily.pattern(r"^\s+#(?P<n>\d{1,3})\s+0x[0-9a-f]{6,16} (?P<where>\S.{0,400})$")
# where an abort is raised; who asked for it comes after
_RUNTIME = lazily.pattern(r"(?:libc(?:\.so|-\d)|libpthread|ld-linux|libstdc\+\+|libsystemd)")
_MOST_FRAMES = 12


def coredumps(text: str, *, source: str = "", first_line: int = 1) -> tuple[tuple[Coredump, ...], tuple[Problem, ...]]:
    """Cores out of ``coredumpctl list`` and ``coredumpctl info``; what both tell of one pid is one core."""
    cores: dict[int, dict[str, Any]] = {}
    held: dict[str, Any] | None = None
    threads = 0
    for number, raw in enumerate(text.split("\n"), first_line):
        line = raw[:2000].rstrip()
        if match := _LISTED.match(line):
            core = cores.setdefault(int(match["pid"]), {"pid": int(match["pid"]), "source": source, "lines": {}, "frames": []})
            core.update(signal=_signal(match["signal"]), at=stamp(match["at"]), exe=match["exe"])
            core["lines"].setdefault("pid", (number, line))
        elif match := _KEY.match(line):
            value = match["value"].strip()
            if match["key"] == "PID":
                pid = value.split(" ", 1)[0]
                if not (pid.isascii() and pid.isdigit()):
                    held = None
                    continue
                held = cores.setdefault(int(pid), {"pid": int(pid), "source": source, "lines": {}, "frames": []})
                held["lines"]["pid"] = (number, line.strip())
                threads = 0
            elif held is not None:
                _keyed(held, match["key"], value, number, line.strip())
        elif held is not None and _THREAD.match(line):
            threads += 1
        elif held is not None and threads == 1 and (match := _FRAME.match(line)) and len(held["frames"]) < _MOST_FRAMES:
            held["frames"].append(match["where"])
            held["lines"].setdefault("frame", (number, line.strip()))
            name = _library(match["where"])
            if name and not _RUNTIME.match(name) and not held.get("library"):
                held["library"] = name
                held["lines"]["frame"] = (number, line.strip())
    return tuple(Coredump(**{**core, "frames": tuple(core["frames"])}) for core in cores.values()), ()


def state_of(cores: Sequence[Coredump]) -> UnitState | None:
    """How the unit of the newest core ended, for evidence that holds nothing else of it: a core is of a process that is dead."""
    newest = max((core for core in cores if core.unit and core.signal), key=lambda core: core.at or 0.0, default=None)
    if newest is None:
        return None
    number = getattr(signal, newest.signal, None)
    return UnitState(
        name=newest.unit, load="loaded", active="failed", sub="failed", result="core-dump", main_code="dumped", main_pid=newest.pid,
        main_status=int(number) if number is not None else None, since=newest.at, exited_at=newest.at,
        source=newest.source, lines={"main": newest.lines["signal"]} if "signal" in newest.lines else {},
    )  # fmt: skip


def _keyed(held: dict[str, Any], key: str, value: str, number: int, line: str) -> None:
    if key == "Signal":
        named = re.search(r"\((?P<name>[A-Z0-9+]{2,10})\)", value)
        held["signal"] = _signal(named["name"] if named else value.split(" ", 1)[0])
        held["lines"]["signal"] = (number, line)
    elif key == "Timestamp":
        held["at"] = stamp(value.partition(" (")[0])
    elif key == "Command Line":
        held["command"] = value[:400]
    elif key == "Executable":
        held["exe"] = value[:400]
    elif key == "Unit":
        held["unit"] = value[:255]


def _signal(word: str) -> str:
    return word if word.startswith("SIG") or word.isdigit() else f"SIG{word}"


def _library(where: str) -> str:
    """``fn (libtorch_cuda.so + 0x1234)`` → libtorch_cuda.so."""
    inside = where.rpartition("(")[2].rstrip(")")
    return inside.partition(" + ")[0].strip() if "(" in where else ""

"""What really happened to a unit, out of ``systemctl show`` and the journal's own fields, read by a few lines that share nothing with the program."""

from __future__ import annotations

import calendar
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

SIGNALS = {3: "SIGQUIT", 6: "SIGABRT", 7: "SIGBUS", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM"}
# systemd/catalog: what an entry of PID 1 is about
MESSAGE_IDS = {
    "7d4958e842da4a758f6c1cdc7b36dcc5": "starting", "39f53479d3a045ac8e11786248231fbf": "started", "be02cf6855d2428ba40df7e9d022f03d": "not-started",
    "98e322203f7a4ed290d09fe03c09fe15": "exited", "d9b373ed55a64feb8242e02dbe79a49c": "failed", "7ad2d189f7e94e70a38c781354912448": "succeeded",
    "5eb03494b6584870a536b337290809b3": "restart", "de5b426a63be47a7b6ac3eaac82e2f6f": "stopping", "9d1aaa27d60140bd96365438aad20286": "stopped",
    "fe6faa94e7774663a0da52717891d8ef": "oom",
}  # fmt: skip
LAG_S = 0.1  # journald was never later than that
WORDINGS = (
    (r"Starting .*(?:\.\.\.|…)$", "starting"), (r"Started .*\.$", "started"), (r"(?:Failed to start|Dependency failed for|Assertion failed for) .*\.$", "not-started"),
    (r"\S+: \w+ process exited, code=(?P<code>\w+), status=(?P<status>\d+)", "exited"), (r"\S+: Failed with result '(?P<result>[\w-]+)'", "failed"),
    (r"\S+: (?:Deactivated successfully|Succeeded)\.$", "succeeded"), (r"\S+: Scheduled restart job, restart counter is at (?P<count>\d+)", "restart"),
    (r"Stopping .*(?:\.\.\.|…)$", "stopping"), (r"Stopped .*\.$", "stopped"), (r"\S+: A process of this unit has been killed by the OOM killer", "oom"),
)  # fmt: skip


class Event(NamedTuple):
    """One line that PID 1 wrote about the unit; ``kind`` is empty where it says nothing of a start or an end.

    ``at`` is when it was written, which the text formats print, ``late`` when journald received it, which json and export hold in front.
    """

    at: float
    late: float
    kind: str
    code: str = ""
    status: int | None = None
    result: str = ""
    boot: str = ""


@dataclass
class Life:
    """From one start to its end."""

    start: Event | None  # None: above the first line
    exit: Event | None = None
    kind: str = "none"
    signal: str | None = None
    status: int | None = None
    result: str | None = None
    stopping: bool = False
    above: bool = False  # its first lines are not in the file


def show(path: Path) -> dict[str, str]:
    """``systemctl show`` as a table."""
    pairs = (line.partition("=") for line in path.read_text(errors="replace").split("\n"))
    return {key: value for key, equals, value in pairs if equals}


def stamp(value: str) -> float | None:
    """``Sun 2026-11-29 20:17:26 UTC``, as show of these hosts prints it."""
    found = re.fullmatch(r"\w{3} (\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d) UTC", value)
    return float(calendar.timegm(tuple(map(int, found.groups())))) if found else None


def events(folder: Path, prefix: str = "journal-") -> list[Event]:
    """Everything that PID 1 wrote: by the fields of the json, or where that was cut off by the words of short-unix."""
    cut = folder / "cut-files"
    name = f"{prefix}json.out"
    if cut.exists() and name in cut.read_text().split("\n"):
        return list(_worded((folder / f"{prefix}short-unix.out").read_text(errors="replace")))
    return list(_entries((folder / name).read_text(errors="replace")))


def _entries(text: str) -> Iterator[Event]:
    for line in filter(None, text.split("\n")):
        entry = json.loads(line)
        if entry.get("_PID") != "1":
            continue
        kind = MESSAGE_IDS.get(entry.get("MESSAGE_ID", ""), "")
        if kind == "started" and not entry.get("INVOCATION_ID"):
            kind = ""  # a condition was not met
        status = entry.get("EXIT_STATUS", "")
        late = int(entry["__REALTIME_TIMESTAMP"])
        yield Event(
            at=int(entry.get("_SOURCE_REALTIME_TIMESTAMP", late)) / 1e6, late=late / 1e6, kind=kind, code=entry.get("EXIT_CODE", ""), status=int(status) if status.isdigit() else None,
            result=entry.get("UNIT_RESULT", ""), boot=entry["_BOOT_ID"],
        )  # fmt: skip


def _worded(text: str) -> Iterator[Event]:
    for line in text.split("\n"):
        found = re.match(r"(\d+\.\d+) \S+ systemd\[1\]: (.*)", line)
        if found is None:
            continue
        for pattern, kind in WORDINGS:
            if said := re.match(pattern, found[2]):
                got = said.groupdict()
                yield Event(
                    float(found[1]),
                    float(found[1]) + LAG_S,
                    kind,
                    got.get("code") or "",
                    int(got["status"]) if got.get("status") else None,
                    got.get("result") or "",
                )
                break
        else:
            yield Event(float(found[1]), float(found[1]) + LAG_S, "")


def lives(told: list[Event]) -> list[Life]:
    """The lives that the events tell of, with their ends."""
    found: list[Life] = []
    open_, starting, boot = False, False, ""
    for event in told:
        if event.boot and boot and event.boot != boot and open_:
            found[-1].kind, open_ = "reboot", False
        boot = event.boot or boot
        if event.kind in ("starting", "started"):
            if not (event.kind == "started" and open_ and starting):
                found.append(Life(event))
            open_, starting = True, event.kind == "starting"
        elif event.kind in ("not-started", "failed") and not open_ and (not found or event.at - (found[-1].exit or event).at > 1):
            found.append(Life(None, event, "unknown", result=event.result or None))
        elif found:
            open_ = _takes(found[-1], event) and open_
    return found


def _takes(life: Life, event: Event) -> bool:
    """Add what an event says to a life; False where it says that the life is over."""
    if event.kind == "stopping":
        life.stopping = True
    elif event.kind == "oom":
        life.kind = "oom-kill"
    elif event.kind == "exited":
        life.exit = event
        life.signal = SIGNALS[event.status or 0] if event.code in ("killed", "dumped") else None
        life.status = event.status if event.code == "exited" else None
        if life.kind != "oom-kill":
            life.kind = "stopped" if life.stopping else "signal" if life.signal else "exit"
    elif event.kind in ("failed", "succeeded", "stopped", "not-started") and life.kind != "reboot":
        life.exit = life.exit or event
        life.result = life.result or event.result or None
        if event.result in ("oom-kill", "watchdog", "timeout"):
            life.kind = event.result
        elif life.kind == "none":
            life.kind = "stopped" if event.kind in ("succeeded", "stopped") else "unknown"
    return life.exit is None

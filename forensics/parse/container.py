"""Turn what docker and podman say of a container (``inspect``) into a unit state and its last runs. Never opens a file, never judges a state."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from forensics import clock, lazily
from forensics.model import Problem, Run, UnitState, ending

NAME = lazily.pattern(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,252}")
_NEVER = 0.0  # an engine writes the year 1 for "not yet"
_CITED = 300
_MOST = 1 << 63
_HEALTH = ("starting", "healthy", "unhealthy")
_CLEAN = (2, 15)  # what a stop sends: an end by these is what was wished


class Read(NamedTuple):
    """What an answer said: states, the most troubled first, their last runs in order of time, and what could not be read."""

    states: tuple[UnitState, ...] = ()
    runs: tuple[Run, ...] = ()
    problems: tuple[Problem, ...] = ()


class Lines:
    """The lines of an answer, to find the one that says something. A compact answer is one long line: what is cited of it begins at the word found."""

    def __init__(self, text: str, first_line: int) -> None:
        self._lines, self._first = text.split("\n"), first_line

    def find(self, pattern: str, *, after: int = 0, until: int | None = None) -> tuple[int, str] | None:
        """The first line from line ``after`` to ``until`` that the pattern is in: its number and its text."""
        compiled = re.compile(pattern)
        stop = None if until is None else max(0, until + 1 - self._first)
        for number, line in enumerate(self._lines[max(0, after - self._first) : stop], max(after, self._first)):
            if found := compiled.search(line):
                text = line.strip()
                return number, text if len(text) <= _CITED else line[found.start() : found.start() + _CITED].strip()
        return None

    def objects(self, key: str) -> list[tuple[int, int]]:
        """First and last line of each object of the list under a key, as laid out with an indent; none in a compact answer."""
        begins = self.find(rf'^\s*"{key}"\s*:\s*\[\s*$')
        if begins is None:
            return []
        found: list[tuple[int, int]] = []
        start, indent = 0, ""
        for number, line in enumerate(self._lines[begins[0] + 1 - self._first :], begins[0] + 1):
            text = line.strip()
            if not indent and text == "{":
                indent = line[: line.find("{")]
            if line.startswith(indent + "{") and not start:
                start = number
            elif start and line.startswith(indent + "}"):
                found.append((start, number))
                start = 0
            elif not start:
                break
        return found

    def cites(self, wanted: Mapping[str, str], *, after: int = 0, until: int | None = None) -> dict[str, tuple[int, str]]:
        """The lines that say what the keys are about."""
        return {key: found for key, pattern in wanted.items() if (found := self.find(pattern, after=after, until=until)) is not None}


def is_inspect(value: object) -> bool:
    """Whether JSON is the answer of ``inspect`` to containers."""
    items = value if isinstance(value, list) else [value]
    return bool(items) and all(isinstance(x, dict) and isinstance(x.get("State"), dict) and "Path" in x and "Args" in x for x in items)


def inspect(text: str, *, source: str = "", first_line: int = 1) -> Read:
    """Read ``docker inspect`` or ``podman inspect`` of one container or more."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Read(problems=(Problem(source=source, line=first_line, text=f"no whole answer of inspect: {type(error).__name__}"),))
    if not is_inspect(value):
        return Read(problems=(Problem(source=source, line=first_line, text="no answer of inspect to a container"),))
    lines, states, runs, problems, after = Lines(text, first_line), [], [], [], 0
    for held in value if isinstance(value, list) else [value]:
        begins = lines.find(r'"State"\s*:', after=after)
        after = begins[0] if begins else after
        state = _state(held, source, lines, after)
        if state is None:
            problems.append(Problem(source=source, line=after or first_line, text="a container whose name is none"))
        else:
            states.append(state)
            runs.extend(_runs(held["State"], state))
        after += 1
    return Read(tuple(sorted(states, key=trouble)), tuple(runs), tuple(problems))


def trouble(state: UnitState) -> int:
    """Failed first, then what is restarted or starting, then what runs badly, then the rest."""
    if state.active == "failed" or state.sub == "auto-restart":
        return 0
    return 1 if state.active == "activating" else 2 if state.health == "unhealthy" or state.restarts else 3


def _state(held: Mapping[str, Any], source: str, lines: Lines, after: int) -> UnitState | None:
    said = held["State"]
    name = text_of(held.get("Name")).lstrip("/") or text_of(held.get("Id"))[:12]
    if not NAME.fullmatch(name):
        return None
    status, code = text_of(said.get("Status")), whole(said.get("ExitCode")) or 0
    oom, failed_to_start = said.get("OOMKilled") is True, bool(text_of(said.get("Error"))) and status in ("created", "exited")
    active, sub, result = _activity(status, code, oom=oom, failed_to_start=failed_to_start)
    over = active in ("failed", "inactive") or sub == "auto-restart"
    main_code, main_status = ending(code) if over and status != "created" else (None, None)
    started, ended = time_of(said.get("StartedAt")), time_of(said.get("FinishedAt"))
    ended = ended if over else None
    memory = whole(as_dict(held, "HostConfig").get("Memory"))
    health = text_of((as_dict(said, "Health") or as_dict(said, "Healthcheck")).get("Status"))
    return UnitState(
        name=name, load="loaded", active=active, sub=sub, result=result, main_code=main_code, main_status=main_status,
        since=ended if over else started, started_at=started, exited_at=ended, duration_s=ended - started if started is not None and ended is not None and ended >= started else None,
        restarts=whole(held.get("RestartCount")), memory_max_gib=memory / 2**30 if memory else None, argv=_argv(held),
        manager=("podman" if "ImageName" in held else "docker", name), health=health if health in _HEALTH else None, source=source,
        lines=lines.cites({
            "active": r'"Status"\s*:', "main": r'"ExitCode"\s*:', "restarts": r'"RestartCount"\s*:', **({"result": r'"OOMKilled"\s*:\s*true'} if oom else {}),
            **({"health": r'"FailingStreak"\s*:', "check": r'"Output"\s*:\s*"[^"]'} if health in ("unhealthy", "starting") else {}),
        }, after=after),
    )  # fmt: skip


def _activity(status: str, code: int, *, oom: bool, failed_to_start: bool) -> tuple[str, str, str | None]:
    """An engine's word for a container as systemd's words: active state, sub state, result."""
    if status in ("running", "paused"):
        return "active", status, None
    if status == "restarting":
        return "activating", "auto-restart", result_of(code, oom=oom)
    if failed_to_start:
        return "failed", "failed", "resources"
    result = result_of(code, oom=oom)
    if status == "created":
        return "inactive", "dead", None
    return ("inactive", "dead", result) if result == "success" else ("failed", "failed", result)


def result_of(code: int, *, oom: bool) -> str:
    """systemd's word for an end: what a stop signal ended was wished."""
    if oom:
        return "oom-kill"
    how, number = ending(code)
    if how == "killed":
        return "success" if number in _CLEAN else "signal"
    return "success" if number == 0 else "exit-code"


def _runs(said: Mapping[str, Any], state: UnitState) -> list[Run]:
    """The last run, and of the one before it its end, which the engine keeps until the next."""
    if state.started_at is None:
        return []
    before = time_of(said.get("FinishedAt"))
    earlier = [Run(unit=state.name, started_at=None, ended_at=before)] if before is not None and before < state.started_at else []
    if state.exited_at is None:
        return [*earlier, Run(unit=state.name, started_at=state.started_at)]
    result = state.result if state.result != "success" else None
    return [
        Run(unit=state.name, started_at=state.started_at, ended_at=state.exited_at, code=state.main_code, status=state.main_status, result=result)
    ]


def _argv(held: Mapping[str, Any]) -> tuple[str, ...]:
    path, args = text_of(held.get("Path")), held.get("Args")
    words = [text_of(word) for word in args] if isinstance(args, list) else []
    if words[:1] == [path]:
        words = words[1:]  # podman repeats the program among its arguments
    return (path, *words) if path else ()


def time_of(value: object) -> float | None:
    """A time in RFC 3339, or None where it is none or stands for never."""
    at = clock.parse_stamp(value) if isinstance(value, str) else None
    return at if at is not None and at > _NEVER else None


def whole(value: object) -> int | None:
    """A whole number as JSON has it; one that no counter reaches is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _MOST else None


def text_of(value: object) -> str:
    """A text as JSON has it, or an empty one."""
    return value if isinstance(value, str) else ""


def as_dict(held: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """An object within another, or an empty one."""
    value = held.get(key)
    return value if isinstance(value, dict) else {}


def as_list(held: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
    """The objects of a list within another object."""
    value = held.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []

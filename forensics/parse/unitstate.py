"""Turn unit files and lists of units into unit states, and join what several answers say of one unit. Never reads a status, never judges a state."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from forensics import lazily
from forensics.model import PartKind, Problem, UnitState
from forensics.parse.systemd import ACTIVE_STATES, ANSI, MAX_COMMAND, UNIT_NAME, Lines, Parsed, gib

_LOAD_STATES = frozenset({"loaded", "not-found", "bad-setting", "error", "masked", "merged", "stub"})
_HEADING = lazily.pattern(rf"{UNIT_NAME}$")
_FILE_STATES = frozenset(
    {
        "enabled",
        "enabled-runtime",
        "linked",
        "linked-runtime",
        "alias",
        "masked",
        "masked-runtime",
        "static",
        "disabled",
        "indirect",
        "generated",
        "transient",
        "bad",
    }
)


def unit_file(text: str, *, source: str = "", first_line: int = 1, unit: str = "") -> Parsed:
    """Read a unit file, or ``systemctl cat`` of one with its drop-ins, for the command it starts.

    ``argv`` is the last ``ExecStart=`` in force (an empty one takes the earlier ones back), without systemd's prefixes. Specifiers and variables are not expanded.
    """
    values: dict[str, Any] = {}
    commands: list[tuple[int, str]] = []
    problems: list[Problem] = []
    for number, line in _logical(text, first_line):
        if line.startswith("# /") and _HEADING.match(name := line.rpartition("/")[2]) and " " not in line[2:]:
            values.setdefault("fragment", line[2:])
            unit = unit or name
            continue
        key, equals, value = line.partition("=")
        key, value = key.strip(), value.strip()
        if not equals or not key.isidentifier() or line.startswith(("#", ";", "[")):
            continue
        if key == "ExecStart":
            commands = [*commands, (number, value)] if value else []
        elif key == "Description":
            values["description"] = value
        elif key == "MemoryMax":
            values["memory_max_gib"] = gib(value)
    lines: Lines = {}
    if commands:
        number, command = commands[-1]
        lines["start"] = (number, "ExecStart=" + command)
        try:
            if len(command) > MAX_COMMAND:
                raise ValueError("too long to be taken apart with its quotes")
            values["argv"] = tuple(shlex.split(command.lstrip("-@+!:|"), posix=True))
        except ValueError:
            values["argv"] = tuple(command.lstrip("-@+!:|").split())
            problems.append(Problem(source=source, line=number, text="quotes of ExecStart= do not match"))
    if "argv" in values:
        values["file_argv"] = values["argv"]
    if not unit and not lines and not values:
        return (), tuple(problems)
    return (UnitState(name=unit, source=source, lines=lines, **values),), tuple(problems)


def _logical(text: str, first_line: int) -> Iterator[tuple[int, str]]:
    """Lines with their continuations joined; comments inside a continuation are skipped, as systemd does."""
    held, start = "", 0
    for number, raw in enumerate(text.split("\n"), first_line):
        line = raw.rstrip("\r")
        if held and line.lstrip().startswith(("#", ";")):
            continue
        if not held:
            start = number
        if line.endswith("\\"):
            held += line[:-1] + " "
            continue
        yield start, (held + line).strip()
        held = ""
    if held:
        yield start, held.strip()


def list_units(text: str, *, source: str = "") -> Parsed:
    """Read ``list-units`` (name, load, active, sub, description) and ``list-unit-files`` (name, state) rows, or bare unit names, one a line."""
    states: list[UnitState] = []
    for line in text.split("\n"):
        parts = ANSI.sub("", line).split()
        if parts and not re.fullmatch(UNIT_NAME, parts[0]):
            parts = parts[1:]  # the bullet of a failed unit
        if not parts or not re.fullmatch(UNIT_NAME, parts[0]):
            continue
        if len(parts) >= 4 and parts[1] in _LOAD_STATES and parts[2] in ACTIVE_STATES:
            states.append(
                UnitState(name=parts[0], load=parts[1], active=parts[2], sub=parts[3], description=" ".join(parts[4:]) or None, source=source)
            )
        elif len(parts) == 1 or parts[1] in _FILE_STATES:
            states.append(UnitState(name=parts[0], source=source))
    return tuple(states), ()


# --------------------------------------------------------------------------- together


_RANK = {PartKind.UNIT_FILE: 0, PartKind.UNITS: 1, PartKind.IS_ACTIVE: 2, PartKind.STATUS: 3, PartKind.SHOW: 4}
_CITED = {PartKind.UNIT_FILE: 0, PartKind.UNITS: 0, PartKind.IS_ACTIVE: 1, PartKind.SHOW: 2, PartKind.STATUS: 3}
_PLAIN = tuple(f.name for f in fields(UnitState) if f.name not in ("name", "source", "lines", "line_sources"))


def merge(states: Iterable[tuple[PartKind, UnitState]], *, only: str = "") -> dict[str, UnitState]:
    """One state a unit. Values: show over status over is-active over the unit file; of two answers of one kind the later.

    Lines to cite come from status first, it is what people know; ``line_sources`` says where each is from. A state without a name (is-active)
    belongs to ``only``, or to the one unit there is.
    """
    known = list(states)
    named = {state.name for _, state in known if state.name}
    nameless = only or (next(iter(named)) if len(named) == 1 else "")
    gathered: dict[str, dict[PartKind, UnitState]] = {}
    for kind, state in known:
        gathered.setdefault(state.name or nameless, {})[kind] = state
    return {name: _merged(name, answers) for name, answers in gathered.items()}


def _merged(name: str, answers: Mapping[PartKind, UnitState]) -> UnitState:
    values: dict[str, Any] = {}
    for kind in sorted(answers, key=lambda k: _RANK.get(k, 0)):
        for field in _PLAIN:
            value = getattr(answers[kind], field)
            if value is not None and value != ():
                values[field] = value
    lines: Lines = {}
    origins: dict[str, str] = {}
    ordered = sorted(answers, key=lambda k: _CITED.get(k, 0))
    for kind in ordered:
        for key, line in answers[kind].lines.items():
            lines[key], origins[key] = line, answers[kind].source
    if "missing" in lines and values.get("load") == "loaded":
        lines.pop("missing")
    return replace(UnitState(name=name), source=answers[ordered[-1]].source, lines=lines, line_sources=origins, **values)


def unit_names(states: Sequence[UnitState]) -> tuple[str, ...]:
    """The names that exist, in order, each once."""
    return tuple(dict.fromkeys(s.name for s in states if s.name and s.load != "not-found"))

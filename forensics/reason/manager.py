"""Who runs the unit, systemd or a container's engine, and what the same step is called there: words and commands in one table. Decides nothing."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import NamedTuple

from forensics.model import UnitState

SYSTEMD = "systemd"


class Speech(NamedTuple):
    """How to speak of one kind of manager. ``commands``: what stands in for a command about a unit (None: there is nothing like it here)."""

    name: str
    commands: tuple[tuple[str, str | None], ...] = ()


_GREP = r"(?P<grep> -g (?P<pattern>'[^']*'|\S+))?"
_REST = r"(?:(?! -k)[^|])*"
_JOURNAL = rf"(?:sudo )?journalctl -u \S+{_GREP}{_REST}"
_SHOW = r"systemctl (?:cat|show|status|is-enabled|list-dependencies)\b[^|]*"

_ASKED = r"docker inspect(?: (?P<format>(?:-f|--format) '[^']*'))?(?: CONTAINER)?"
_NOTHING = r"systemctl (?:reset-failed|edit|restart)\b.*|coredumpctl\b.*"

_SPEECH: Mapping[str, Speech] = {
    **{engine: Speech(engine, (
        (_JOURNAL, engine + " logs --timestamps --tail 200 {0}"), (_ASKED, engine + " inspect {0}"), (_SHOW, engine + " inspect {0}"),
        (r"systemctl stop \S+", engine + " stop {0}"), (rf"{_NOTHING}|kubectl\b.*", None), (r"ddforensics wait .*", f"ddforensics wait {engine}:{{0}}"),
    )) for engine in ("docker", "podman")},
    "kubectl": Speech("the kubelet", (
        (_JOURNAL, "kubectl -n {0} logs {1} -c {2} --previous --timestamps --tail=200"), (r"kubectl logs --previous POD", "kubectl -n {0} logs {1} -c {2} --previous"),
        (r"(?:kubectl describe pod|docker inspect)\b.*", "kubectl -n {0} describe pod {1}"), (_SHOW, "kubectl -n {0} describe pod {1}"),
        (rf"{_NOTHING}|systemctl stop\b.*|docker\b.*", None), (r"ddforensics wait .*", "ddforensics wait k8s:{0}/{1}/{2}"),
    )),
}  # fmt: skip


def operand(unit: str | None) -> str:
    """A unit's name as a command takes it. systemd allows ``-Hroot@elsewhere.service``, and systemctl would take that for an option and go there: it stays a blank."""
    return shlex.quote(unit) if unit and not unit.startswith("-") else "UNIT"


def kind_of(state: UnitState | None) -> str:
    """systemd, docker, podman or kubectl."""
    return state.manager[0] if state is not None and state.manager else SYSTEMD


def name_of(state: UnitState | None) -> str:
    """Who starts, stops and restarts it, as a sentence says it."""
    kind = kind_of(state)
    return _SPEECH[kind].name if kind in _SPEECH else SYSTEMD


def fitting(command: str | None, state: UnitState | None) -> str | None:
    """The command as it reads for who runs the unit; None where there is no such step. What is about the machine stays as it is."""
    speech = _SPEECH.get(kind_of(state))
    if command is None or speech is None or state is None:
        return command
    pieces = [_piece(piece, speech, state.manager[1:]) for piece in command.split("; ")]
    return "; ".join(piece for piece in pieces if piece) or None


def _piece(piece: str, speech: Speech, place: tuple[str, ...]) -> str | None:
    head, bar, rest = piece.partition(" | ")
    for pattern, instead in speech.commands:
        found = re.fullmatch(pattern, head)
        if found is None:
            continue
        if instead is None:
            return None
        made = instead.format(*(shlex.quote(word) for word in place))
        wanted, shape = found.groupdict().get("pattern"), found.groupdict().get("format")
        made = made.replace(" inspect ", f" inspect {shape} ", 1) if shape else made
        return made + (f" 2>&1 | grep -E {wanted}" if wanted else "") + (f"{'' if wanted else ' 2>&1'}{bar}{rest}" if bar else "")
    return piece

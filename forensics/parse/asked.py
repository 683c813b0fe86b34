"""What a typed command was about: which unit, and whether it lets only some lines through. Never runs one."""

from __future__ import annotations

import re
import shlex

from forensics.parse.systemd import MAX_COMMAND, UNIT_NAME


def asked_unit(command: str) -> str | None:
    """The unit that a journalctl or systemctl command is about, with its suffix; None where it names none."""
    command = command[:MAX_COMMAND]
    try:
        words = shlex.split(command.partition("|")[0])
    except ValueError:
        words = command.partition("|")[0].split()
    for at, word in enumerate(words):
        if word in ("-u", "--unit", "--user-unit") and at + 1 < len(words):
            return _suffixed(words[at + 1])
        for flag in ("--unit=", "--user-unit=", "-u"):
            if word.startswith(flag) and len(word) > len(flag):
                return _suffixed(word[len(flag) :])
    if "systemctl" in [word.rpartition("/")[2] for word in words]:
        named = [word for word in words if not word.startswith("-")]
        verbs = [at for at, word in enumerate(named) if word in _VERBS]
        if verbs and verbs[0] + 1 < len(named):
            return _suffixed(named[verbs[0] + 1])
    return None


_VERBS = frozenset(
    {
        "status",
        "show",
        "cat",
        "start",
        "stop",
        "restart",
        "is-active",
        "is-failed",
        "is-enabled",
        "reload",
        "enable",
        "disable",
        "kill",
        "reset-failed",
    }
)


def is_filtered(command: str) -> bool:
    """Whether a command lets only some lines through, so that an empty answer says nothing about the rest."""
    return bool(
        re.search(r"\|\s{0,80}(?:[efz]?grep|rg|awk|sed)\b|(?:^|\s)(?:-g\b|--grep|-p\b|--priority)|^\s*(?:[efz]?grep|rg)\b", command[:MAX_COMMAND])
    )


def _suffixed(name: str) -> str | None:
    name = name.strip("'\";,")
    if not re.fullmatch(r"[A-Za-z0-9:_.\\@-]{1,255}", name):
        return None
    return name if re.fullmatch(UNIT_NAME, name) else name + ".service"

"""What a typed command was about: which unit, on which host, and whether it lets only some lines through. Never runs one."""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

from forensics import lazily
from forensics.parse.systemd import UNIT_NAME

_VERBS = frozenset({
    "status", "show", "cat", "start", "stop", "restart", "is-active", "is-failed", "is-enabled", "reload", "enable", "disable", "kill", "reset-failed", "try-restart",
    "reload-or-restart", "mask", "unmask", "edit", "list-dependencies",
})  # fmt: skip
_MAX = 4096  # characters of a command that are read
_WRAPPERS = frozenset({"sudo", "doas", "env", "time", "watch", "nohup", "exec", "command", "stdbuf", "timeout", "nice", "ionice", "unbuffer"})
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_SSH_WITH_VALUE = frozenset("BbcDEeFIiJLlmOopQRSWw")
_ENGINES = frozenset({"docker", "podman", "nerdctl"})
_OF_CONTAINERS = frozenset({"logs", "inspect", "restart", "start", "stop", "stats", "top", "kill", "port"})
_GREPS = frozenset({"grep", "egrep", "fgrep", "zgrep", "rg", "ag", "awk", "gawk", "sed"})
_FEWER = frozenset({"head", "tail"})
_VALUED = {"journalctl": frozenset("nuptgSUocMDi"), "systemctl": frozenset("npPtHMo")}
_SHORT = lazily.pattern(r"-[A-Za-z]+$")


class Simple(NamedTuple):
    """One program with its arguments, out of a line of several, and the programs its output goes through."""

    words: tuple[str, ...]
    pipe: tuple[tuple[str, ...], ...] = ()
    host: str | None = None  # of the ssh around it

    @property
    def tool(self) -> str:
        """The name of the program, without its path."""
        return self.words[0].rpartition("/")[2] if self.words else ""


def simples(command: str) -> tuple[Simple, ...]:
    """The programs that a line runs, in order: parted at ``;``, ``&&`` and ``||``, out of ``sudo``, ``ssh HOST '…'``, ``sh -c '…'`` and ``docker exec``."""
    return tuple(_simples(command[:_MAX], None, 0))


def asked_unit(command: str) -> str | None:
    """The unit that a journalctl or systemctl command is about, with its suffix; None where it names none."""
    return next((unit for simple in simples(command) if (unit := unit_of(simple)) is not None), None)


def unit_of(simple: Simple) -> str | None:
    """The unit that one program is asked about."""
    words = simple.words[1:]
    if simple.tool == "journalctl":
        for at, word in enumerate(words):
            if word in ("-u", "--unit", "--user-unit") and at + 1 < len(words):
                return _suffixed(words[at + 1])
            for flag in ("--unit=", "--user-unit=", "_SYSTEMD_UNIT=", "UNIT="):
                if word.startswith(flag) and len(word) > len(flag):
                    return _suffixed(word[len(flag) :])
            if _SHORT.match(word) and "u" in word and word[-1] == "u" and at + 1 < len(words):  # -xeu UNIT, -fu UNIT
                return _suffixed(words[at + 1])
            if word.startswith("-u") and len(word) > 2:
                return _suffixed(word[2:])
    if simple.tool == "systemctl":
        named = _named(words)
        verbs = [at for at, word in enumerate(named) if word in _VERBS]
        if verbs and verbs[0] + 1 < len(named):
            return _suffixed(named[verbs[0] + 1])
    if simple.tool == "service" and len(words) >= 2 and not words[0].startswith("-"):
        return _suffixed(words[0])
    return None


def of_user(simple: Simple) -> bool:
    """Whether the systemd of the account was asked, which has units of its own."""
    words = simple.words[1:]
    if simple.tool == "journalctl":
        return any(word == "--user-unit" or word.startswith("--user-unit=") or word == "--user" for word in words)
    return simple.tool == "systemctl" and "--user" in words


def container_of(simple: Simple) -> str | None:
    """The container that a command of docker or podman is about; None where it names none."""
    if simple.tool not in _ENGINES:
        return None
    words = [word for word in simple.words[1:] if word != "container"]
    at = next((at for at, word in enumerate(words) if word in _OF_CONTAINERS), None)
    names = [word for word in words[at + 1 :] if not word.startswith("-") and not word.isdigit()] if at is not None else []
    return names[-1] if names and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,250}", names[-1]) else None


def filters(simple: Simple) -> bool:
    """Whether one program's lines are chosen by what they say: a grep behind it or before a file, a priority, a pattern."""
    if simple.tool in _GREPS or any(words[0].rpartition("/")[2] in _GREPS for words in simple.pipe if words):
        return True
    if simple.tool != "journalctl":
        return False
    return any(
        w in ("-g", "--grep", "-p", "--priority", "--case-sensitive") or w.startswith(("--grep=", "--priority=", "-p", "-g"))
        for w in simple.words[1:]
    )


def limit_of(simple: Simple) -> str:
    """What of a journal a command leaves out by place or time (``-n 50``, ``--since today``, ``-b``, ``| tail``); empty where it asks for all of it."""
    found = []
    if simple.tool == "journalctl":
        words = simple.words[1:]
        for at, word in enumerate(words):
            value = f" {words[at + 1]}" if at + 1 < len(words) and not words[at + 1].startswith("-") else ""
            if word in ("-n", "--lines", "-S", "--since", "-U", "--until", "-c", "--cursor", "-b", "--boot"):
                found.append(word + value)
            elif re.match(r"-n\d|--(?:lines|since|until|cursor|after-cursor|boot)=|-b-?\d|-S.|-U.", word) or word in (
                "-e",
                "-k",
                "--dmesg",
                "-f",
                "--follow",
            ):
                found.append(word)
            elif _SHORT.match(word) and "e" in word[1:] and not word.startswith("--"):  # -xeu: the last thousand lines
                found.append("-e")
    found += ["| " + words[0] for words in simple.pipe if words and words[0].rpartition("/")[2] in _FEWER]
    return ", ".join(found)


def chosen(simple: Simple) -> bool:
    """Whether what came out of a journal is a choice of its lines, so that what is not among them may be there all the same."""
    return simple.tool == "journalctl" and (filters(simple) or bool(limit_of(simple)))


def empties(simple: Simple) -> str:
    """What of a command can make its answer empty although the journal has lines of the unit; a number of lines cannot."""
    return ", ".join(one for one in limit_of(simple).split(", ") if one and not re.match(r"-n|--lines|-e$|-f$|--follow|\| ", one))


# --------------------------------------------------------------------------- taking a line apart


def _simples(command: str, host: str | None, depth: int) -> list[Simple]:
    found: list[Simple] = []
    for stages in _pipelines(command):
        if not stages:
            continue
        inner = _inside(stages[0], host) if depth < 4 else None
        if inner is not None:
            text, where = inner
            nested = _simples(text, where, depth + 1)
            found += [one._replace(pipe=(*one.pipe, *map(tuple, stages[1:]))) for one in nested]
            continue
        found.append(Simple(tuple(_bare(stages[0])), tuple(tuple(_bare(stage)) for stage in stages[1:]), host))
    return [one for one in found if one.words]


def _inside(words: list[str], host: str | None) -> tuple[str, str | None] | None:
    """The command within ``ssh``, a shell or a container, and the host it ran on."""
    words = _bare(words)
    tool = words[0].rpartition("/")[2] if words else ""
    if tool in ("ssh", "mosh", "autossh", "ssh.exe"):
        at = 1
        while at < len(words) and words[at].startswith("-"):
            at += 2 if len(words[at]) == 2 and words[at][1] in _SSH_WITH_VALUE else 1
        rest = words[at + 1 :]
        if rest[:1] == ["--"]:
            rest = rest[1:]
        return (" ".join(rest), words[at].rpartition("@")[2]) if at < len(words) and rest else None
    if tool in _SHELLS or tool == "su":
        flags = [at for at, word in enumerate(words) if re.fullmatch(r"-[a-z]*c", word)]
        return (words[flags[0] + 1], host) if flags and flags[0] + 1 < len(words) else None
    if tool in ("docker", "podman", "kubectl", "nerdctl", "lxc") and "exec" in words[1:4]:
        if "--" in words:
            return shlex.join(words[words.index("--") + 1 :]), host
        at = words.index("exec") + 1
        while at < len(words) and words[at].startswith("-"):
            at += 2 if words[at] in ("-e", "-u", "-w", "--env", "--user", "--workdir") else 1
        return (shlex.join(words[at + 1 :]), host) if at + 1 < len(words) else None
    return None


def _pipelines(command: str) -> list[list[list[str]]]:
    """The words of a line: pipelines, in them stages, in them words. A quote that does not close is a letter."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=";|&")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        tokens = list(lexer)
    except ValueError:
        tokens = re.findall(r"[;|&]+|[^\s;|&]+", command)
    lines: list[list[list[str]]] = [[[]]]
    for token in tokens:
        if token in ("|", "|&"):
            lines[-1].append([])
        elif token and not token.strip(";|&"):
            lines.append([[]])
        else:
            lines[-1][-1].append(token)
    return [[stage for stage in line if stage] for line in lines if any(line)]


def _bare(words: list[str]) -> list[str]:
    """Without what only changes how a program is run, and without where its output goes."""
    at = 0
    while at < len(words):
        word = words[at]
        if re.match(r"\w+=", word) or word == "!":
            at += 1
        elif word.rpartition("/")[2] in _WRAPPERS:
            wrapper, at = word.rpartition("/")[2], at + 1
            while at < len(words) and words[at].startswith("-"):
                at += (
                    2
                    if wrapper in ("sudo", "doas", "watch", "nice")
                    and words[at] in ("-u", "-g", "-n", "-C")
                    and not (wrapper == "sudo" and words[at] == "-n")
                    else 1
                )
            if wrapper == "timeout" and at < len(words) and words[at][:1].isdigit():
                at += 1
        else:
            break
    return [word for word in words[at:] if not re.match(r"(?:\d|&)?>{1,2}", word) and word != "/dev/null"]


def _named(words: tuple[str, ...]) -> list[str]:
    """The words that are no flags, and not the values of flags."""
    named, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = (len(word) == 2 and word[1] in _VALUED["systemctl"]) or word in ("--property", "--lines", "--type", "--output", "--state")
        else:
            named.append(word)
    return named


def _suffixed(name: str) -> str | None:
    name = name.strip("'\";,`")
    if not re.fullmatch(r"[A-Za-z0-9:_.\\@-]{1,255}", name):
        return None
    return name if re.fullmatch(UNIT_NAME, name) else name + ".service"

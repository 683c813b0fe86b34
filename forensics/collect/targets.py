"""Turn the words of a command line into targets. Opens nothing but the file system's directory entries, never the network."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from forensics.errors import TargetError, UsageError
from forensics.model import Target, TargetKind

STDIN = "-"
LOCAL = "local"
MANIFEST = "manifest.json"
# a word that ends so is a file that is not there, and no host
FILE_SUFFIXES = frozenset({".txt", ".log", ".json", ".jsonl", ".out", ".err", ".journal", ".export", ".md", ".gz", ".zst", ".xz"})
NOT_YET = ("docker:", "podman:", "k8s:")

# Letters, digits and what user names, addresses and zones need. A host name reaches ProxyCommand and Match exec through
# the user's own ssh config, so nothing that a shell could read as its own is let through (CVE-2023-51385).
_USER = r"(?:[A-Za-z0-9_.+%][A-Za-z0-9_.+%@\\-]*@)?"
_DESTINATION = re.compile(_USER + r"(?:[A-Za-z0-9_.:%][A-Za-z0-9_.:%-]*|\[[0-9A-Fa-f:.%a-z]+\])")
_URI = re.compile(r"ssh://(?:[A-Za-z0-9_.+%][A-Za-z0-9_.+%-]*@)?(?:[A-Za-z0-9_.][A-Za-z0-9_.-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?/?")


def parse_targets(words: Sequence[str]) -> list[Target]:
    """The targets that the words name, in the order of their first word.

    All files and ``-`` together are one target; each folder, saved capture or host is one. A path that exists wins over a
    host of that name (``ssh:NAME`` says the host outright); the word ``local`` is this machine (``./local`` is a file).
    Raises UsageError for an odd host name, TargetError for a path that does not exist.
    """
    targets: list[Target] = []
    files: list[str] = []
    place = 0
    for word in words:
        if not word:
            raise UsageError("an empty word names no target")
        if word == STDIN or (not _says_outright(word) and _is(word, Path.exists) and not _is(word, Path.is_dir)):
            if not files:
                place = len(targets)
            if word not in files:
                files.append(word)
        elif (target := _one(word)) not in targets:  # said twice: one answer, and one folder to save it in
            targets.append(target)
    if files:
        targets.insert(place, Target(kind=TargetKind.FILES, name=" ".join(files), paths=tuple(Path(f) for f in files)))
    return targets


def ssh_target(destination: str, *, name: str | None = None) -> Target:
    """The host behind an ssh destination (``host``, ``user@host`` or ``ssh://user@host:port``); UsageError where it is none."""
    if destination.startswith("-") or "@-" in destination:
        raise UsageError(f"{destination!r} is no host name: ssh would take it for an option", hint="the options of ddforensics are in --help")
    if not (_URI.fullmatch(destination) or _DESTINATION.fullmatch(destination)):
        hint = "HOST, USER@HOST, ssh:HOST or ssh://USER@HOST:PORT; a file is named with its path"
        raise UsageError(f"{destination!r} is no host name", hint=hint)
    return Target(kind=TargetKind.SSH, name=name or destination, host=destination)


def _says_outright(word: str) -> bool:
    return word == LOCAL or word.startswith(("ssh:", *NOT_YET))


def _one(word: str) -> Target:
    if word == LOCAL:
        return Target(kind=TargetKind.LOCAL, name=word)
    if word.startswith("ssh:"):
        return ssh_target(word if word.startswith("ssh://") else word[4:], name=word)
    if word.startswith(NOT_YET):
        hint = "save the log to a file and name the file, or pipe it: … logs NAME 2>&1 | ddforensics diagnose -"
        raise UsageError(f"{word!r}: containers are not supported yet", hint=hint)
    path = Path(word)
    if _is(word, Path.is_dir):
        kind = TargetKind.BUNDLE if (path / MANIFEST).is_file() and _ours(path / MANIFEST) else TargetKind.FILES
        return Target(kind=kind, name=word, paths=(path,))
    if "/" in word or path.suffix.lower() in FILE_SUFFIXES:
        raise TargetError("no such file or folder", at=word)
    return ssh_target(word)


def _is(word: str, what: Callable[[Path], bool]) -> bool:
    """What a word is as a path; no path where it is too long for one."""
    try:
        return what(Path(word))
    except OSError:
        return False


def _ours(manifest: Path) -> bool:
    """Whether a manifest looks like one of a saved capture, of whatever version: somebody else's folder may hold a file of that name."""
    try:
        with manifest.open("rb") as stream:
            return b"ddforensics/capture/" in stream.read(4096)
    except OSError:
        return False

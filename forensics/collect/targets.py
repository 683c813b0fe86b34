"""Turn the words of a command line into targets. Opens nothing but the file system's directory entries, never the network."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from forensics import lazily
from forensics.errors import TargetError, UsageError
from forensics.model import Target, TargetKind

STDIN = "-"
LOCAL = "local"
MANIFEST = "manifest.json"
# a word that ends so is a file that is not there, and no host
FILE_SUFFIXES = frozenset({
    ".txt", ".log", ".json", ".jsonl", ".out", ".err", ".journal", ".export", ".md", ".gz", ".zst", ".xz", ".bz2", ".tar", ".tgz", ".txz", ".tzst", ".tbz", ".tbz2",
})  # fmt: skip
ARCHIVE = lazily.pattern(r"\.(?:tar(?:\.(?:zst|gz|xz|bz2))?|tzst|tgz|txz|tbz2?)\Z", re.IGNORECASE)
ENGINES = {"docker:": TargetKind.DOCKER, "podman:": TargetKind.PODMAN}
CLUSTER = "k8s:"

# Letters, digits and what user names, addresses and zones need. A host name reaches ProxyCommand and Match exec through
# the user's own ssh config, so nothing that a shell could read as its own is let through (CVE-2023-51385).
_USER = r"(?:[A-Za-z0-9_.+%][A-Za-z0-9_.+%@\\-]*@)?"
_DESTINATION = lazily.pattern(_USER + r"(?:[A-Za-z0-9_.:%][A-Za-z0-9_.:%-]*|\[[0-9A-Fa-f:.%a-z]+\])")
_URI = lazily.pattern(r"ssh://(?:[A-Za-z0-9_.+%][A-Za-z0-9_.+%-]*@)?(?:[A-Za-z0-9_.][A-Za-z0-9_.-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?/?")

_CONTAINER = lazily.pattern(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,252}")
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"  # RFC 1123, as namespaces and containers are called
_NAMESPACE = lazily.pattern(_LABEL)
_POD = lazily.pattern(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")


def parse_targets(words: Sequence[str]) -> list[Target]:
    """The targets that the words name, in the order of their first word.

    All files and ``-`` together are one target; each folder, archive, saved capture or host is one. A path that exists wins over a
    host of that name (``ssh:NAME`` says the host outright); the word ``local`` is this machine (``./local`` is a file).
    Raises UsageError for an odd host name, TargetError for a path that does not exist.
    """
    targets: list[Target] = []
    files: list[str] = []
    place = 0
    for word in words:
        if not word:
            raise UsageError("an empty word names no target")
        if word == STDIN or (not _says_outright(word) and _is(word, Path.exists) and not _is(word, Path.is_dir) and not _is_archive(word)):
            if not files:
                place = len(targets)
            if word not in files:
                files.append(word)
        elif (target := _one(word)) not in targets:  # said twice: one answer, and one folder to save it in
            targets.append(target)
    if files:
        targets.insert(place, target_of_files(files))
    return targets


def target_of_files(files: Sequence[Path | str]) -> Target:
    """Files (``-`` is standard input) as one target, whatever else their names could mean."""
    return Target(kind=TargetKind.FILES, name=" ".join(map(str, files)), paths=tuple(map(Path, files)))


def ssh_target(destination: str, *, name: str | None = None) -> Target:
    """The host behind an ssh destination (``host``, ``user@host`` or ``ssh://user@host:port``); UsageError where it is none."""
    if destination.startswith("-") or "@-" in destination:
        raise UsageError(f"{destination!r} is no host name: ssh would take it for an option", hint="the options of ddforensics are in --help")
    if not (_URI.fullmatch(destination) or _DESTINATION.fullmatch(destination)):
        hint = "HOST, USER@HOST, ssh:HOST or ssh://USER@HOST:PORT; a file is named with its path"
        raise UsageError(f"{destination!r} is no host name", hint=hint)
    return Target(kind=TargetKind.SSH, name=name or destination, host=destination)


def _says_outright(word: str) -> bool:
    return word == LOCAL or word.startswith(("ssh:", CLUSTER, *ENGINES))


def _one(word: str) -> Target:
    if word == LOCAL:
        return Target(kind=TargetKind.LOCAL, name=word)
    if word.startswith("ssh:"):
        return ssh_target(word if word.startswith("ssh://") else word[4:], name=word)
    for prefix, engine in ENGINES.items():
        if word.startswith(prefix):
            return _container(word, engine, word.removeprefix(prefix))
    if word.startswith(CLUSTER):
        return _pod(word, word.removeprefix(CLUSTER))
    path = Path(word)
    if _is(word, Path.is_dir):
        kind = TargetKind.BUNDLE if (path / MANIFEST).is_file() and _ours(path / MANIFEST) else TargetKind.FILES
        return Target(kind=kind, name=word, paths=(path,))
    if _is_archive(word):
        return Target(kind=TargetKind.BUNDLE, name=word, paths=(path,))  # or somebody else's archive: known when it is opened
    if "/" in word or path.suffix.lower() in FILE_SUFFIXES:
        raise TargetError("no such file or folder", at=word)
    return ssh_target(word)


def _container(word: str, kind: TargetKind, name: str) -> Target:
    if not _CONTAINER.fullmatch(name):
        raise UsageError(f"{word!r}: {name!r} is no name of a container", hint=f"{kind}:NAME, of letters, digits and _ . -, no dash first")
    return Target(kind=kind, name=word, inside=(name,))


def _pod(word: str, path: str) -> Target:
    parts = tuple(path.split("/"))
    hint = "k8s:NAMESPACE/POD or k8s:NAMESPACE/POD/CONTAINER; the default namespace is called default"
    if len(parts) not in (2, 3):
        raise UsageError(f"{word!r} names no pod", hint=hint)
    for part, pattern, what in zip(parts, (_NAMESPACE, _POD, _NAMESPACE), ("namespace", "pod", "container"), strict=False):
        if not pattern.fullmatch(part):
            raise UsageError(f"{word!r}: {part!r} is no name of a {what}", hint=hint)
    return Target(kind=TargetKind.K8S, name=word, inside=parts)


def _is_archive(word: str) -> bool:
    """By its name; a pipe of such a name is a pipe."""
    return ARCHIVE.search(word) is not None and _is(word, Path.is_file)


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
            return b"ddforensics/capture" in stream.read(4096)
    except OSError:
        return False

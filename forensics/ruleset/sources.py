"""Where rules come from, in order: the package, the user's own folder, what ``--rules`` names. Finds files and reads bytes within limits; never understands any of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from forensics.errors import RuleError

SHIPPED = Path(__file__).resolve().parent.parent / "rules"
SUFFIXES = (".yaml", ".yml")
MOST_FILES = 500  # below one folder
MOST_DEPTH = 8
MOST_BYTES = 1 << 20  # of one file; the largest shipped one has 60 kB
MOST_ALL_BYTES = 16 << 20  # of all files below one folder
_MOST_ENTRIES = 20_000  # looked at below one folder: a home folder given by mistake must not take minutes


def own_folder(environ: Mapping[str, str] | None = None) -> Path | None:
    """The folder of a user's own rules, ``$XDG_CONFIG_HOME/ddforensics/rules`` or ``~/.config/ddforensics/rules``; None where there is none, or nothing in it.

    As the standard says, a relative ``$XDG_CONFIG_HOME`` counts for nothing.
    """
    env = os.environ if environ is None else environ
    config, home = env.get("XDG_CONFIG_HOME", ""), env.get("HOME", "")
    root = Path(config) if config.startswith("/") else Path(home, ".config") if home.startswith("/") else None
    if root is None:
        return None
    folder = root / "ddforensics" / "rules"
    try:
        return folder if folder.exists() and not _has_nothing(folder) else None
    except OSError:  # no right to look: as if it were not there
        return None


def _has_nothing(folder: Path) -> bool:
    """A folder that waits for its first rule; one that cannot be read is none."""
    faults: list[RuleError] = []
    return next(_walk(folder, faults), None) is None and not faults


def files(root: Path) -> tuple[list[Path], list[RuleError]]:
    """The rule files of a folder by name, or the one file itself; and what stood in the way.

    Links are followed, each folder once; hidden names are passed over. Only ``*.yaml`` and ``*.yml`` are rules.
    """
    if not root.is_dir():
        return [root], []
    faults: list[RuleError] = []
    found: list[Path] = []
    size = 0
    for path in _walk(root, faults):
        size += _size(path)
        if size > MOST_ALL_BYTES:
            faults.append(RuleError(f"more than {MOST_ALL_BYTES} bytes of rules; the others are not read", at=shown(root)))
            break
        if len(found) == MOST_FILES:
            faults.append(RuleError(f"more than {MOST_FILES} rule files; the others are not read", at=shown(root), hint="name a folder further down"))
            break
        found.append(path)
    if not found and not faults:
        faults.append(RuleError("no rules here: no file *.yaml", at=shown(root)))
    return sorted(found), faults


def _walk(root: Path, faults: list[RuleError]) -> Iterator[Path]:
    """Files that may hold rules. A loop of links ends where it would begin anew."""
    seen: set[tuple[int, int]] = set()
    waiting = [(root, 0)]
    entries = 0
    while waiting:
        folder, depth = waiting.pop()
        try:
            about = folder.stat()
            if (about.st_dev, about.st_ino) in seen:
                continue
            seen.add((about.st_dev, about.st_ino))
            inside = sorted(folder.iterdir())
        except OSError as error:
            faults.append(RuleError(f"cannot be read: {error.strerror}", at=shown(folder)))
            continue
        for path in inside:
            entries += 1
            if entries > _MOST_ENTRIES:
                faults.append(RuleError(f"more than {_MOST_ENTRIES} files and folders; the others are not looked at", at=shown(root)))
                return
            if path.name.startswith("."):
                continue
            if _is_folder(path):
                if depth < MOST_DEPTH:
                    waiting.append((path, depth + 1))
                else:
                    faults.append(RuleError(f"more than {MOST_DEPTH} folders deep: not read", at=shown(path)))
            elif path.suffix in SUFFIXES:
                yield path


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # no right to look
        return False


def _size(path: Path) -> int:
    try:
        return min(path.stat().st_size, MOST_BYTES)  # a larger one is not read
    except OSError:
        return 0


def content(path: Path) -> bytes:
    """The bytes of a rule file. Raises RuleError for one that is too large or no plain file (a pipe would never end), OSError for one that cannot be read."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise RuleError("no plain file", at=shown(path))
        if about.st_size > MOST_BYTES:
            raise RuleError(f"too large for rules: {about.st_size} bytes", at=shown(path), hint=f"at most {MOST_BYTES}; several files may share them")
        with os.fdopen(os.dup(handle), "rb") as stream:
            return stream.read(MOST_BYTES)
    finally:
        os.close(handle)


def shown(path: Path) -> str:
    """A path, short where it can be: from the package's own folder, or from where the user stands."""
    for root in (SHIPPED.parent, Path.cwd()):
        if path.is_relative_to(root):
            return str(path.relative_to(root))
    return str(path)

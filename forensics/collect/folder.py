"""Find the files of a folder that are worth reading, the likeliest first where not all can be. Opens none, follows no link."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from forensics.collect import catalogue
from forensics.collect.archive import LeftOut
from forensics.collect.catalogue import Worth
from forensics.collect.session import Limits
from forensics.errors import TargetError
from forensics.model import PartKind, Problem

_TREES_SHOWN = 4
_STATES = frozenset({PartKind.IS_ACTIVE, PartKind.STATUS, PartKind.SHOW})
_JOURNALS = frozenset({PartKind.JOURNAL_TEXT, PartKind.JOURNAL_JSON, PartKind.JOURNAL_EXPORT})


class Found(NamedTuple):
    """A file by its path within the folder, and where it is."""

    name: str
    path: Path
    size: int


def files(folder: Path, limits: Limits) -> tuple[list[Found], list[Problem]]:
    """The ordinary files below a folder, in the order of their paths, and what was left out. Raises TargetError for a folder of several captures."""
    found: list[Found] = []
    left, links = LeftOut(), []
    problems: list[Problem] = []
    if not os.access(folder, os.R_OK | os.X_OK):
        raise TargetError("cannot be read: Permission denied", at=str(folder))
    for entry in _tree(folder, limits.depth, left):
        name = os.path.relpath(entry, folder)
        try:
            if entry.is_symlink():
                links.append(name)
            elif not entry.is_file():
                left.out(name, "no ordinary file")
            else:
                found.append(Found(name, entry, entry.stat().st_size))
        except OSError as error:  # gone by now, or in a folder that may be listed only
            left.out(name, f"cannot be read: {error.strerror}")
        if len(found) + len(links) >= limits.members:
            problems.append(Problem(source=name, text=f"what comes after it is not looked at: more than {limits.members} files in one folder"))
            break
    if not any(catalogue.SUPPORT in f.name.split("/") for f in found):  # which links to its own files by shorter names
        for name in links:
            left.out(name, "a link: not followed")
    if len(several := apart(found)) > 1:
        named = ", ".join(several[:_TREES_SHOWN]) + (", …" if len(several) > _TREES_SHOWN else "")
        hint = f"one story cannot be told of them: ddforensics diagnose {folder / '*'}"
        raise TargetError(f"it holds {len(several)} captures, each with its own state and journal ({named})", at=str(folder), hint=hint)
    chosen, said = choose(found, limits)
    return chosen, [*left.problems(str(folder)), *problems, *said]


def apart(found: Sequence[Found]) -> list[str]:
    """The folders right below that hold both a unit's state and its journal, where the folder itself holds neither: each is a capture of its own."""
    kinds: dict[str, set[PartKind | None]] = {}
    if all("/" in f.name for f in found if f.name.count("/") < 2 and catalogue.kind_of(f.name) in _STATES | _JOURNALS):
        for f in found:
            if f.name.count("/") == 1:
                kinds.setdefault(f.name.partition("/")[0], set()).add(catalogue.kind_of(f.name))
    return [name for name, held in kinds.items() if held & _STATES and held & _JOURNALS]


def choose(found: Sequence[Found], limits: Limits, *, left: Counter[str] | None = None) -> tuple[list[Found], list[Problem]]:
    """Of the files those that are read, in their order. All, where they are few; of a support archive what can be evidence.

    ``left`` counts, by tree, what was left out before.
    """
    left = Counter(left)
    support = any(catalogue.SUPPORT in f.name.split("/") for f in found)
    if not support and not left and len(found) <= limits.files and sum(f.size for f in found) <= limits.folder_bytes:
        return list(found), []
    worths = {f.name: catalogue.worth(f.name) for f in found}
    least = Worth.LIKELY if support else Worth.OTHER
    aside = [f for f in found if worths[f.name] > least]
    left.update(catalogue.tree(f.name) for f in aside)
    problems = (
        [Problem(source=_trees(left), text=f"{left.total()} files are not read: none of them is a log or an answer that is known")] if left else []
    )
    chosen: set[str] = set()
    taken = 0
    for file in sorted((f for f in found if worths[f.name] <= least), key=lambda f: worths[f.name]):
        taken += file.size
        if len(chosen) >= limits.files or taken > limits.folder_bytes:
            limit = f"{limits.files} files" if len(chosen) >= limits.files else f"{limits.folder_bytes >> 20} MiB"
            out = len(found) - len(aside) - len(chosen)
            problems.append(Problem(source=file.name, text=f"not read, nor {out - 1} others: more than {limit} in one folder"))
            break
        chosen.add(file.name)
    return [f for f in found if f.name in chosen], problems


def _trees(left: Counter[str]) -> str:
    """Where most of what was left out lies."""
    names = [name for name, _ in left.most_common(_TREES_SHOWN)]
    return ", ".join(names) + (", …" if len(left) > _TREES_SHOWN else "")


def _tree(folder: Path, depth: int, left: LeftOut, within: str = "") -> Iterator[Path]:
    """What is no folder, in the order of the paths; folders that cannot be read are noted, and cost only themselves."""
    try:
        with os.scandir(folder) as opened:
            entries = sorted(opened, key=lambda entry: entry.name)
    except OSError as error:
        left.out(within or str(folder), f"a folder that cannot be read: {error.strerror}")
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            if depth > 1:
                yield from _tree(folder / entry.name, depth - 1, left, f"{within}{entry.name}/")
        else:
            yield folder / entry.name

"""Say which names of an own harness stand in no result: mistyped ones would have no effect, and nobody would know."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from forensics.model import BenchRun, Capture, Problem, Section
from forensics.parse.matrix import snake

_LONGEST = 400  # bytes that a name may have, at a border of pieces


def unmatched(capture: Capture, benches: Iterable[BenchRun]) -> Iterator[Problem]:
    """A problem for each name that no result has; where nothing was read as a result, that nothing has."""
    if not capture.columns.own:
        return
    results = {run.source for run in benches}
    sections = [section for section in capture.sections if not results or section.name in results]
    missing = dict(capture.columns.own)
    for section in sections:
        missing = {own: meant for own, meant in missing.items() if own not in _found(section, missing)}
    for own, meant in missing.items():
        yield Problem(source=sections[0].name if sections else "", text=f"no column is called {own!r}, which was said to mean {meant}")


def _found(section: Section, names: Iterable[str]) -> set[str]:
    patterns = {own: _pattern(own) for own in names}
    found: set[str] = set()
    kept = b""
    for piece in section.chunks():
        text = (kept + piece).decode("utf-8", "replace").lower()
        found.update(own for own, pattern in patterns.items() if own not in found and pattern.search(text))
        if len(found) == len(patterns):
            break
        kept = piece[-_LONGEST:]
    return found


def _pattern(own: str) -> re.Pattern[str]:
    """The name as a word of its own, with whatever a table has between its parts."""
    parts = snake(own).split("_")
    name = r"[^a-z0-9\n]{1,3}".join(parts) if any(parts) else re.escape(own.lower())
    return re.compile(rf"(?<![a-z0-9_]){name}(?![a-z0-9_])")

"""Say whether a message may begin with a server's prefix, of which only so much is known. Never takes one off."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from forensics.ruleset.anchors import looks_ahead, opening, shape

_ENOUGH = 20  # characters by which it is told that a text does not begin with a prefix


class Prefixes:
    """The prefixes of all servers."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = [re.compile(pattern.removeprefix("^")) for pattern in patterns]
        self._openings: dict[
            int, list[re.Pattern[str] | None]
        ] = {}  # how many characters are known → the beginnings of prefixes; None: cannot be told
        self._firsts: dict[str, bool] = {}  # first character → whether a prefix has it

    def may_begin(self, text: str) -> bool:
        """Whether one may stand at the beginning of this text, whose digits are all 0, and which may go on."""
        first = self._firsts.get(text[:1])
        if first is None:
            first = self._firsts[text[:1]] = self._may(text[:1])
        return first and self._may(text)

    def ending(self, text: str, end: int) -> Iterator[tuple[re.Pattern[str], int]]:
        """The prefixes that may stand in a text so that they end there, each with its place."""
        for pattern in self._patterns:
            for at in range(end):
                found = pattern.match(text, at)
                if found is not None and found.end() == end:
                    yield pattern, at

    def _may(self, text: str) -> bool:
        known = min(len(text), _ENOUGH)
        openings = self._openings.get(known)
        if openings is None:
            openings = self._openings[known] = [_opening(pattern.pattern, known) for pattern in self._patterns]
        return any(beginning is None or beginning.match(text) for beginning in openings)


def _opening(pattern: str, most: int) -> re.Pattern[str] | None:
    return None if not most or looks_ahead(shape(pattern).tree) else opening(pattern, most)

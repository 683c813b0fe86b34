"""Find the required texts of all expressions in many lines at once, by a library where one is installed. Never matches an expression and never looks at a digit.

For what repeats, the caches of ``index`` and ``scan`` are faster; this is for lines that are all different: prompts, requests, uploads. ``ahocorasick_rs``
(the extra ``fast``) reads them several times as fast as words do. It is imported only once a block has many such lines.
"""

from __future__ import annotations

import enum
import importlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from forensics.ruleset.anchors import Anchor
from forensics.ruleset.index import Index

LOWER = bytes(range(256)).lower()
MANY = 128 << 10  # bytes of new lines of one block
_ESCAPE = b"\x1b"
Match = tuple[int, int, int]  # which text, where it begins, where it ends


class Search(enum.Enum):
    """How the required texts are looked for in lines that were not seen before."""

    AUTO = "auto"  # by the library where it is installed and there are many such lines, else by words
    WORDS = "words"
    LIBRARY = "library"  # always; ImportError where it is missing


class Literals:
    """The required texts of all expressions, in the order of those; the library's table is built when it is first needed."""

    def __init__(self, anchors: Sequence[Sequence[Anchor]], index: Index, search: Search = Search.AUTO) -> None:
        of_text: dict[bytes, list[int]] = {}
        for number, wanted in enumerate(anchors):
            for anchor in wanted:
                of_text.setdefault(anchor.text.encode(), []).append(number)
        self._texts = list(of_text)
        self.numbers = [tuple(sorted(set(numbers))) for numbers in of_text.values()]
        """Of each text, the expressions that need it."""
        self.ordered = sorted(self._texts)
        self.longest = max(map(len, self._texts), default=0)
        self._places = {text: place for place, text in enumerate(self._texts)}
        self._index = index
        self._search = search
        self._missing = search is Search.WORDS
        self._automaton: Any = None
        self._together: dict[frozenset[int], tuple[int, ...]] = {}  # texts of a line → numbers

    def worth(self, size: int) -> bool:
        """Whether lines of so many bytes together are to be looked for by the library."""
        if self._missing or (size < MANY and self._search is not Search.LIBRARY):
            return False
        if self._automaton is None:
            self._build()
        return not self._missing

    def matches(self, text: bytes) -> Iterable[Match]:
        """Every place of every text in many lines (lower case, without digits), by where they end; they may overlap."""
        if self._automaton is not None or self.worth(len(text)):  # once its table is built, it is the faster one for few lines as well
            found: list[Match] = self._automaton.find_matches_as_indexes(text, overlapping=True)
            return found
        places: list[Match] = []
        for wanted in self._index.texts(text):
            which, length = self._places[wanted], len(wanted)
            at = text.find(wanted)
            while at >= 0:
                places.append((which, at, at + length))
                at = text.find(wanted, at + 1)
        places.sort(key=_end)
        return places

    def find(self, keys: list[bytes], otherwise: Callable[[bytes], tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Of each line (without digits), the numbers of the expressions that may match it; ``otherwise`` does it for lines with escape sequences."""
        text = b"\n".join(keys).translate(LOWER)
        found: list[tuple[int, ...]] = [()] * len(keys)
        at = line = 0
        texts: dict[int, set[int]] = {}
        for which, _, end in self.matches(text):
            line += text.count(b"\n", at, end)
            at = end
            texts.setdefault(line, set()).add(which)
        for line, its in texts.items():
            found[line] = self.of(its)
        if _ESCAPE in text:
            for at, key in enumerate(keys):
                if _ESCAPE in key:
                    found[at] = otherwise(key)
        return found

    def of(self, texts: Iterable[int]) -> tuple[int, ...]:
        """The numbers of the expressions that need one of these texts."""
        together = frozenset(texts)
        numbers = self._together.get(together)
        if numbers is None:
            numbers = self._together[together] = tuple(sorted({number for text in together for number in self.numbers[text]}))
        return numbers

    def _build(self) -> None:
        try:
            library: Any = importlib.import_module("ahocorasick_rs")
        except ImportError:
            if self._search is Search.LIBRARY:
                raise
            self._missing = True
            return
        self._automaton = library.BytesAhoCorasick(self._texts, implementation=library.Implementation.DFA)


def _end(match: Match) -> int:
    return match[2]

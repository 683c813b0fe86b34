"""Say which expressions a line may match, from its words alone. Never matches an expression and never looks at a digit.

Two caches do the work: whole lines (logs repeat themselves but for their numbers), and words (what does not repeat is made of words that do).
A new line of known words costs about 10 µs, one of new words four times that (400 expressions, a busy machine).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from forensics import lazily
from forensics.ruleset.anchors import Anchor

DIGITS = b"0123456789"
_LETTERS = bytes(c + 32 if 65 <= c <= 90 else c if 97 <= c <= 122 or c == 95 else 32 for c in range(256))
_ESCAPES = lazily.pattern(rb"\x1b\[[;?:]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?")  # of a line without digits
_MAX_WORDS = 100_000
_LONGEST_WORD = 256  # of those remembered
_MAX_LINES = 65_536
_LONGEST_KEY = 512  # longer ones are not worth their memory
_NONE: tuple[int, ...] = ()


class Index:
    """Built from the anchors of each expression, in their order; answers with their numbers."""

    def __init__(self, anchors: Sequence[Sequence[Anchor]]) -> None:
        self.lines: dict[bytes, tuple[int, ...]] = {}
        self._cold: set[bytes] = set()  # words that no anchor has
        self._hot: dict[bytes, tuple[bytes, ...]] = {}  # word of a line → words of anchors
        self._texts: dict[bytes, list[tuple[bytes, int]]] = {}  # word of an anchor → (whole anchor, number of the expression)
        loose: set[bytes] = set()
        for number, wanted in enumerate(anchors):
            for anchor in wanted:
                word = anchor.word.encode()
                self._texts.setdefault(word, []).append((anchor.text.encode(), number))
                if not anchor.whole:
                    loose.add(word)
        self._loose = _by_three(loose)

    def candidates(self, key: bytes) -> tuple[int, ...]:
        """The numbers of the expressions that may match a line; ``key`` is the line without its ASCII digits."""
        known = self.lines.get(key)
        if known is None:
            known = self.look(key)
            if len(key) <= _LONGEST_KEY:
                if len(self.lines) >= _MAX_LINES:
                    self.lines.clear()
                self.lines[key] = known
        return known

    def look(self, key: bytes) -> tuple[int, ...]:
        """The same, of a line that is not expected to come again."""
        if b"\x1b" in key:
            key = _ESCAPES.sub(b"", key)
        words = set(key.translate(_LETTERS).split())
        words -= self._cold
        if not words:
            return _NONE
        found: set[int] = set()
        lowered = key.lower()
        for word in words:
            for of_anchor in self._of_anchors(word):
                for text, number in self._texts[of_anchor]:
                    if number not in found and lowered.find(text) >= 0:
                        found.add(number)
        return tuple(sorted(found)) if found else _NONE

    def texts(self, text: bytes) -> set[bytes]:
        """Of many lines (lower case, without digits), the texts of anchors that may stand in one of them, by the words of all."""
        words = set(text.translate(_LETTERS).split())
        words -= self._cold
        return {wanted for word in words for of_anchor in self._of_anchors(word) for wanted, _ in self._texts[of_anchor]}

    def _of_anchors(self, word: bytes) -> tuple[bytes, ...]:
        """The words of anchors that a word of a line is or contains."""
        known = self._hot.get(word)
        if known is not None:
            return known
        if len(self._cold) + len(self._hot) >= _MAX_WORDS:
            self._cold.clear()
            self._hot.clear()
        inside = {word} if word in self._texts else set()
        loose = self._loose
        for three in {word[i : i + 3] for i in range(len(word) - 2)}:  # each once: a long word may be one of them again and again
            for other in loose.get(three, ()):
                if word.find(other) >= 0:
                    inside.add(other)
        known = tuple(inside)
        if len(word) > _LONGEST_WORD:
            return known
        if known:
            self._hot[word] = known
        else:
            self._cold.add(word)
        return known


def _by_three(words: set[bytes]) -> dict[bytes, list[bytes]]:
    """Words by three letters that follow each other in them: those that the fewest words have."""
    threes = {word: [word[i : i + 3] for i in range(len(word) - 2)] for word in words}
    common = Counter(three for all_ in threes.values() for three in set(all_))
    found: dict[bytes, list[bytes]] = {}
    for word in sorted(words):
        found.setdefault(min(threes[word], key=lambda three: (common[three], three)), []).append(word)
    return found

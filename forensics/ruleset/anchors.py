"""Take a regular expression apart: which literal text must occur where it matches, and whether it tells one digit from another. Never matches anything.

The scan decides on lines without digits and without case, so an anchor has neither. Of the anchors of an expression at least one occurs
in every line that it matches; that is all that is promised.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from forensics import lazily

# the parser of the standard library's re: public in name only, the same since 2.x but for its place
_parser: Any = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
_compiler: Any = importlib.import_module("re._compiler" if sys.version_info >= (3, 11) else "sre_compile")
_DIGIT, _ANYTHING = _parser.parse(r"[0-9][\s\S]").data
_EMPTY = _parser.parse("(?=)").data[0]

LEAST = 4  # letters and signs of an anchor
_LEAST_WORD = 3
_DIGITS = frozenset(range(48, 58))
_WORD = lazily.pattern("[a-z_]+")
_LATE_FLAGS = lazily.pattern(r"[^\\]\(\?[aiLmsux]+\)")
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d", "CATEGORY_NOT_DIGIT": r"\D", "CATEGORY_SPACE": r"\s", "CATEGORY_NOT_SPACE": r"\S", "CATEGORY_WORD": r"\w", "CATEGORY_NOT_WORD": r"\W",
}  # fmt: skip
# lower case and no digits, as the scan has its lines; nothing that json would escape, so that an anchor is also found in a line that is still json
_PLAIN = {code: "" if code in _DIGITS else chr(code).lower() for code in range(32, 127) if chr(code) not in '"\\'}


class Anchor(NamedTuple):
    """``text`` occurs (lower case, no digits); ``word`` is its most telling word, ``whole`` where no letter can touch that word."""

    text: str
    word: str
    whole: bool


class Shape(NamedTuple):
    """What is known of an expression."""

    error: str | None = None
    error_at: int = 0  # offset into the expression
    groups: frozenset[str] = frozenset()
    anchors: tuple[Anchor, ...] = ()
    tree: Any = None


@lru_cache(maxsize=8192)  # the loader asks to check it, the scan to use it
def shape(pattern: str) -> Shape:
    """Read an expression; a wrong one gives a shape with ``error``."""
    late = _LATE_FLAGS.search(pattern)
    if late is not None:  # Python 3.10 only warns
        return Shape(error="global flags not at the start of the expression", error_at=late.start() + 1)
    try:
        tree = _parser.parse(pattern)
    except re.error as error:
        return Shape(error=error.msg, error_at=error.pos or 0)
    except (OverflowError, RecursionError) as error:
        return Shape(error=str(error))
    if "(?<" in pattern and any(op in ("ASSERT", "ASSERT_NOT") and value[0] < 0 and len(set(value[1].getwidth())) > 1 for op, value in nodes(tree)):
        return Shape(error="look-behind requires fixed-width pattern")
    return Shape(groups=frozenset(tree.state.groupdict), anchors=tuple(_anchor(text) for text in sorted(_best(_needs(tree)))), tree=tree)


def nodes(tree: Any) -> Iterator[tuple[str, Any]]:
    """All nodes of a parsed expression, outer ones first, as (name of the operation, its arguments)."""
    for op, value in tree:
        yield op.name, value
        for inner in parts(op.name, value):
            yield from nodes(inner)


def parts(op: str, value: Any) -> list[Any]:
    """The expressions inside a node."""
    if op == "BRANCH":
        return list(value[1])
    if op in _REPEATS:
        return [value[2]]
    if op == "SUBPATTERN":
        return [value[3]]
    if op in ("ASSERT", "ASSERT_NOT"):
        return [value[1]]
    if op == "ATOMIC_GROUP":
        return [value]
    if op == "GROUPREF_EXISTS":
        return [p for p in value[1:] if p is not None]
    return []


def accepts(op: str, value: Any, char: int) -> bool:
    """Whether a node for one character takes this ASCII one; True where that is not known."""
    if op == "LITERAL":
        return bool(value == char)
    if op == "NOT_LITERAL":
        return bool(value != char)
    if op != "IN":
        return True
    negated = False
    for item, what in value:
        name = item.name
        if name == "NEGATE":
            negated = True
        elif (name == "LITERAL" and what == char) or (name == "RANGE" and what[0] <= char <= what[1]):
            return not negated
        elif name == "CATEGORY":
            category = _CATEGORIES.get(what.name)
            if category is None or (re.match(category, chr(char)) is not None):
                return not negated or category is None
    return negated


def _needs(tree: Any) -> list[frozenset[str]]:
    """Sets of texts; of each set one member occurs wherever the expression matches."""
    runs = _Runs()
    runs.walk(tree)
    runs.cut()
    return runs.found


class _Runs:
    """The literal runs of a sequence. ``cut`` ends the current one."""

    def __init__(self) -> None:
        self.run: list[str] = []
        self.found: list[frozenset[str]] = []

    def cut(self) -> None:
        if self.run:
            self.found.append(frozenset({"".join(self.run)}))
            self.run = []

    def char(self, code: int) -> None:
        char = _PLAIN.get(code)
        if char is None:
            self.cut()
        elif char:
            self.run.append(char)

    def walk(self, tree: Any) -> None:
        for op_, value in tree:
            op = op_.name
            if op == "LITERAL":
                self.char(value)
            elif op == "IN":
                self._one_of(value)
            elif op == "SUBPATTERN":
                self.walk(value[3])
            elif op == "ATOMIC_GROUP":
                self.walk(value)
            elif op in _REPEATS:
                self._repeat(value)
            elif op == "BRANCH":
                self._branch(value[1])
            elif op not in ("AT", "ASSERT", "ASSERT_NOT"):  # those take no room
                self.cut()

    def _one_of(self, items: Any) -> None:
        codes = {value for op, value in items if op.name == "LITERAL"}
        if len(codes) == len(items) and len({chr(c).lower() for c in codes}) == 1:  # [Nn]
            self.char(min(codes))
        elif not _only_digits(items):
            self.cut()

    def _repeat(self, value: Any) -> None:
        least, most, inner = value
        if len(inner) == 1 and inner[0][0].name == "IN" and _only_digits(inner[0][1]):
            return
        if least == 0:
            self.cut()
            return
        self.walk(inner)
        if most != 1:
            self.cut()

    def _branch(self, choices: Any) -> None:
        # the run before goes into each choice: Start(?:ed|ing) needs 'started' or 'starting'
        before = self.run
        self.run = []
        if before:
            self.found.append(frozenset({"".join(before)}))
        texts: set[str] = set()
        for choice in choices:
            runs = _Runs()
            runs.run = list(before)
            runs.walk(choice)
            runs.cut()
            best = _best(runs.found)
            if not best:
                return
            texts |= best
        self.found.append(frozenset(texts))


def _best(found: list[frozenset[str]]) -> frozenset[str]:
    """The set whose worst member tells most, a small one first; empty where none is good enough."""
    best, most = frozenset[str](), (0, 0)
    for texts in found:
        worth = min(map(_worth, texts), default=0), -len(texts)
        if worth[0] and worth > most:
            best, most = texts, worth
    return best


def _worth(text: str) -> int:
    """0: useless. A long word tells more than many short ones."""
    if len(text.strip()) < LEAST:
        return 0
    longest = max((len(w) for w in _WORD.findall(text)), default=0)
    return longest * 4 + min(len(text), 40) if longest >= _LEAST_WORD else 0


def _anchor(text: str) -> Anchor:
    best: tuple[bool, int, str] = (False, 0, "")
    for found in _WORD.finditer(text):
        word = found.group()
        if len(word) >= _LEAST_WORD:
            best = max(best, (found.start() > 0 and found.end() < len(text), len(word), word))
    return Anchor(text=text, word=best[2], whole=best[0])


def _only_digits(items: Any) -> bool:
    """A class of ASCII digits; ``\\d`` is none, it takes those of all scripts."""
    for op, value in items:
        if op.name == "RANGE" and value[0] in _DIGITS and value[1] in _DIGITS:
            continue
        if op.name == "LITERAL" and value in _DIGITS:
            continue
        return False
    return True


def figures(tree: Any) -> tuple[str, ...] | None:
    """The texts of a parsed expression that have certain digits, each digit as 0: ``" 000"`` for ``" 404"`` and for ``" 40[13]"``.

    Where such a text stands in a line (all digits as 0), its digits matter; others may be exchanged and nothing changes.
    None: which digits matter cannot be told.
    """
    found = set(_digit_runs(tree))
    no_case = tree.state.flags & re.IGNORECASE or any(op == "SUBPATTERN" and value[1] & re.IGNORECASE for op, value in nodes(tree))
    if (found and no_case) or not all(_uniform(op, value) or (op == "IN" and _only_digits(value)) for op, value in nodes(tree)):
        return None
    return tuple(sorted(found))


def _digit_runs(tree: Any) -> Iterator[str]:
    """The single characters that directly follow each other, where certain digits are among them."""
    runs: list[str] = []
    run, certain = _follow(tree, ("", False), runs)
    return iter([*runs, run] if certain else runs)


def _follow(tree: Any, before: tuple[str, bool], runs: list[str]) -> tuple[str, bool]:
    """Go on with a run; the finished ones are added to ``runs``, the one at the end is returned."""
    run, certain = before
    for op_, value in tree:
        op = op_.name
        if op == "LITERAL":
            run, certain = run + ("0" if value in _DIGITS else chr(value)), certain or value in _DIGITS
        elif op == "IN" and (_only_digits(value) or _any_digit(value)):
            run, certain = run + "0", certain or not _uniform(op, value)
        elif op == "SUBPATTERN":
            run, certain = _follow(value[3], (run, certain), runs)
        elif op != "AT":
            # an alternative goes on with the run, anything else begins anew
            starts = [(run, certain)] * len(value[1]) if op == "BRANCH" else []
            if certain:
                runs.append(run)
            for number, inner in enumerate(parts(op, value)):
                last, sure = _follow(inner, starts[number] if starts else ("", False), runs)
                if sure:
                    runs.append(last)
            run, certain = "", False
    return run, certain


def _any_digit(items: Any) -> bool:
    """``\\d``. That it takes digits of other scripts, too, is passed over: none stands beside a digit that matters."""
    return len(items) == 1 and getattr(items[0][1], "name", "") == "CATEGORY_DIGIT"


def _uniform(op: str, value: Any) -> bool:
    """Whether a node alone treats all ASCII digits alike."""
    if op == "NOT_LITERAL":
        return value not in _DIGITS
    if op in ("GROUPREF", "GROUPREF_EXISTS", "GROUPREF_IGNORE"):
        return False
    if op != "IN":
        return True
    named: set[int] = set()
    for item, what in value:
        name = item.name
        if name == "LITERAL":
            named.add(what)
        elif name == "RANGE":
            named |= set(range(what[0], what[1] + 1)) & _DIGITS
        elif name == "CATEGORY" and what.name in ("CATEGORY_DIGIT", "CATEGORY_WORD", "CATEGORY_NOT_SPACE"):
            named |= _DIGITS
    return len(named & _DIGITS) in (0, 10)


def blind(pattern: str) -> re.Pattern[str] | None:
    """An expression that finds, in lines with every digit as 0, at least all lines that ``pattern`` matches; None where none can be made."""
    tree = _parser.parse(pattern)
    return _compiler.compile(tree) if _to_blind(tree) else None


def _to_blind(tree: Any) -> bool:
    """Let every node that takes some digit take 0, in place; False where a wider node could make less match."""
    for at, (op_, value) in enumerate(tree.data):
        op = op_.name
        if op in ("POSSESSIVE_REPEAT", "ATOMIC_GROUP", "GROUPREF", "GROUPREF_EXISTS", "GROUPREF_IGNORE"):
            return False
        if op == "ASSERT_NOT":
            if not all(_uniform(*node) for node in nodes(value[1])):
                tree.data[at] = _EMPTY
        elif op in ("LITERAL", "NOT_LITERAL", "IN"):
            if not accepts(op, value, 48) and any(accepts(op, value, digit) for digit in _DIGITS):
                tree.data[at] = _DIGIT if op == "LITERAL" else _ANYTHING
        elif not all(_to_blind(inner) for inner in parts(op, value)):
            return False
    return True


def opening(pattern: str, most: int) -> re.Pattern[str] | None:
    """The first ``most`` characters of an expression at the most, blind to digits: where that is not found, the whole cannot match. None where none can be made."""
    tree = _parser.parse(pattern)
    if not _to_blind(tree):
        return None
    _shorten(tree, most)
    compiled: re.Pattern[str] = _compiler.compile(tree)
    return compiled


def _shorten(tree: Any, most: int) -> int:
    """Cut a sequence where it may become longer, in place; what is left of ``most`` behind it, 0 where it was cut."""
    for at, (op_, value) in enumerate(tree.data):
        op = op_.name
        inner = [] if op in _REPEATS else parts(op, value)
        width = max((part.getwidth()[1] for part in inner), default=tree[at : at + 1].getwidth()[1])
        looks = any(name in ("ASSERT", "ASSERT_NOT") for name, _ in nodes(tree[at : at + 1]))  # beyond its width
        if width <= most and not looks:
            most -= width
            continue
        if op in ("BRANCH", "SUBPATTERN"):
            for part in inner:
                _shorten(part, most)
            at += 1
        elif (
            op in _REPEATS and value[:2] == (0, 1) and not looks
        ):  # what may be left out is there, or what follows is: else nothing would be left to tell by
            rest = tree.data[at + 1 :]
            choices = [_copy(type(tree)(tree.state, data)) for data in ([*value[2].data, *rest], rest)]  # each is cut by itself
            for choice in choices:
                _shorten(choice, most)
            tree.data[at:] = [(_parser.BRANCH, (None, choices))]
            at += 1
        elif op in _REPEATS and value[0] and not looks and value[2].getwidth()[1] <= most:
            tree.data[at] = (op_, (1, 1, value[2]))
            at += 1
        del tree.data[at:]
        tree.width = None
        return 0
    tree.width = None
    return most


def _copy(value: Any) -> Any:
    """A part of a tree that can be changed by itself. Operators are no values that could be copied."""
    if isinstance(value, (list, tuple)):
        return type(value)([_copy(item) for item in value])
    return type(value)(value.state, _copy(value.data)) if isinstance(value, _parser.SubPattern) else value


def ends_anywhere(tree: Any, *, goes_on: bool = False) -> bool:
    """Whether what an expression matches at the start of a text it also matches there when the text goes on. ``goes_on``: there is more of it behind this part."""
    for at in range(len(tree) - 1, -1, -1):
        op, value = tree.data[at][0].name, tree.data[at][1]
        if op in ("ASSERT", "ASSERT_NOT", "ATOMIC_GROUP", "POSSESSIVE_REPEAT"):
            return False
        if op == "AT" and not _begins(op, value) and not (goes_on and "BOUNDARY" in value.name):  # where something follows, that is what it looks at
            return False
        if not all(ends_anywhere(part, goes_on=goes_on) for part in parts(op, value)):
            return False
        goes_on = goes_on or tree[at : at + 1].getwidth()[0] > 0
    return True


def _begins(op: str, value: Any) -> bool:
    return op == "AT" and value.name in ("AT_BEGINNING", "AT_BEGINNING_STRING")


def looks_ahead(tree: Any) -> bool:
    """Whether more than one character behind a match may decide about it."""
    return any(op in ("ASSERT", "ASSERT_NOT", "ATOMIC_GROUP", "POSSESSIVE_REPEAT") for op, _ in nodes(tree))

"""Say what a regular expression could cost: whether it runs in linear time, and which parts keep it from that. Never matches anything.

Where google-re2 is installed, every expression has to compile there too: what it accepts runs in linear time. It is never required.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from forensics.ruleset.anchors import accepts, nodes, parts, shape
from forensics.ruleset.schema import Profile, Rule

_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_MANY = 64  # a repeat of so many is as good as endless within another
_WIDE = 2  # endless repeats of nearly anything that may follow each other
_NESTED, _LONG = "an endless repeat within a repeat, as in '(a+)+'", "a repeat within a long repeat"
_BACK = "a back reference cannot run in linear time: each try may have to look at the text before it again"
_ONE_WAY = "bound or drop one of the two, or begin each turn with a character that the inner one cannot take: '(?: \\w+)*'"
WAY_OUT = {_NESTED: _ONE_WAY, _LONG: _ONE_WAY, _BACK: "capture both under names of their own, and compare them: 'where: hit.a == hit.b'"}
_OF_A_RULE = ("line", "preceded_by", "followed_by", "not_preceded_by", "not_followed_by")


def expressions(of: Rule | Profile) -> Iterator[tuple[str, str]]:
    """All regular expressions of a rule, or of a profile with its marks and figures, each with the key that it stands under."""
    if isinstance(of, Rule):
        for key in _OF_A_RULE:
            value: str | tuple[str, ...] | None = getattr(of, key)
            for pattern in (value,) if isinstance(value, str) else value or ():
                yield key, pattern
        return
    for key, patterns in (("launch", of.launch), ("prefixes", of.prefixes)):
        for pattern in patterns:
            yield key, pattern
    for mark in of.marks:
        yield f"mark {mark.id}", mark.line
    for figure in of.figures:
        yield f"figure {figure.id}", figure.line


def slow(pattern: str) -> list[str]:
    """Why an expression could take more than linear time, or would not run everywhere."""
    tree = shape(pattern).tree
    if tree is None:
        return []
    found = list(dict.fromkeys(_nested(tree, inside=0)))
    for sequence in _sequences(tree):
        if sum(_is_wide(op, value) for op, value in sequence) > _WIDE:
            found.append(f"more than {_WIDE} endless repeats of anything, as in '.*a.*b.*c': bound them ({{0,200}})")
            break
    names = {op for op, _ in nodes(tree)}
    if names & {"POSSESSIVE_REPEAT", "ATOMIC_GROUP"}:
        found.append("possessive repeats and atomic groups need Python 3.11")
    if names & {"GROUPREF", "GROUPREF_EXISTS"}:
        found.append(_BACK)
    if names & {"ASSERT", "ASSERT_NOT"}:
        found.append("look-ahead and look-behind cannot run in linear time: use a character class, alternatives, 'where' or 'not_preceded_by'")
    return found or _re2(pattern)


def _nested(tree: Any, *, inside: int, parted: bool = False) -> Iterator[str]:
    """Repeats within repeats; ``inside`` is how often the outer ones repeat, at most.

    ``parted``: each turn of the outer one begins or ends with a character that no endless one within can take, as in ``(?: TP\\d+)*`` or ``(?:\\w+ )*``:
    then there is only one way to match it.
    """
    for op_, value in tree:
        op = str(op_)
        outer, now_parted = inside, parted
        if op in _REPEATS:
            most = min(int(value[1]), 1 << 20)
            if inside > 1 and most > _MANY and not parted:
                yield _NESTED
            elif inside > _MANY and most > 8 and not parted:
                yield _LONG
            outer = max(inside, 1) * most if most > 1 else inside
            turn = _flat(value[2])
            ends = [*turn[:1], *turn[-1:]]
            now_parted = parted or any(name == "LITERAL" and not _takes(value[2], char) for name, char in ends)
        for inner in parts(op, value):
            yield from _nested(inner, inside=outer, parted=now_parted)


def _takes(tree: Any, char: int) -> bool:
    """Whether an endless repeat somewhere inside takes a character."""
    for op, value in nodes(tree):
        if op in _REPEATS and int(value[1]) > _MANY:
            inner = list(value[2])
            if len(inner) != 1 or accepts(str(inner[0][0]), inner[0][1], char):
                return True
    return False


def _flat(tree: Any) -> list[tuple[str, Any]]:
    """A sequence with its plain groups opened."""
    flat: list[tuple[str, Any]] = []
    for op, value in tree:
        if str(op) == "SUBPATTERN":
            flat += _flat(value[3])
        else:
            flat.append((str(op), value))
    return flat


def _sequences(tree: Any) -> Iterator[list[tuple[str, Any]]]:
    """The sequences of an expression, each choice by itself."""
    flat = _flat(tree)
    yield flat
    for op, value in flat:
        for part in parts(op, value):
            yield from _sequences(part)


def _is_wide(op: str, value: Any) -> bool:
    """An endless repeat of nearly any character: ``.*`` or ``[^,]+``."""
    if op not in _REPEATS or int(value[1]) < 4096:
        return False
    inner = list(value[2])
    if len(inner) != 1:
        return False
    name, what = str(inner[0][0]), inner[0][1]
    return name in ("ANY", "NOT_LITERAL") or (name == "IN" and (str(what[0][0]) == "NEGATE" or any(str(w) == "CATEGORY_NOT_SPACE" for _, w in what)))


def _re2(pattern: str) -> list[str]:
    try:
        re2: Any = importlib.import_module("re2")
    except ImportError:
        return []
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options=options)
    except re2.error as error:
        said = error.args[0] if error.args else error
        return [f"RE2 refuses it: {said.decode('utf-8', 'replace') if isinstance(said, bytes) else said}"]
    return []

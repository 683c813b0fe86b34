"""Read one YAML file as nodes that keep their place, and ask them for typed values. Never raises for a wrong value: every fault is noted and the rest is read.

Stricter than YAML: a key may stand once, plain ``on``, ``off``, ``yes`` and ``no`` are refused (YAML 1.1 makes booleans of them), a number is no text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from forensics import lazily
from forensics.errors import RuleError
from forensics.model import Location
from forensics.ruleset import sources

# libyaml's loader is seven times faster; wheels of PyYAML have it, a build from source may not
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_STR, _INT, _FLOAT, _BOOL, _NULL, _STAMP = (_TAG + t for t in ("str", "int", "float", "bool", "null", "timestamp"))
_WORDS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_WHOLE = lazily.pattern(r"[-+]?(?:0|[1-9][0-9]*)")
_MAX_DEPTH = 20  # of free values: an alias can make a loop
_MAX_DIGITS = 300  # of a number: more are no finite one, and Python reads no whole number of thousands
MOST_WHOLE = 10**12  # lines, hits, ports: nothing is counted that far

E = TypeVar("E", bound=Enum)


def suggest(word: str, known: Iterable[str]) -> str | None:
    """``did you mean 'host-oom'?`` for the nearest known word, or None where none is near."""
    from rapidfuzz import fuzz, process  # only when something is wrong: 10 ms

    choices = sorted(known)
    near = process.extractOne(word, choices, scorer=fuzz.ratio, score_cutoff=70.0)
    if near is not None:
        return f"did you mean '{near[0]}'?"
    # 'oom' for 'host-oom': a part of a longer word, where only few have it; the shortest
    inside = [c for c in choices if len(word) > 2 and word in re.split(r"[-_.]", c)]
    return f"did you mean '{min(inside, key=len)}'?" if 0 < len(inside) <= 3 else None


class Faults:
    """The faults of one file, in the order they were found."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.found: list[RuleError] = []

    def place(self, node: Node, *, inside: int = 0) -> Location:
        """Where a node stands; ``inside`` counts characters into a one-line scalar."""
        mark = node.start_mark
        if inside and isinstance(node, ScalarNode):
            if node.style in ("|", ">") or node.end_mark.line != mark.line:
                return Location(self.path, mark.line + 1, mark.column + 1)
            inside += 1 if node.style in ("'", '"') else 0
        return Location(self.path, mark.line + 1, mark.column + 1 + inside)

    def add(self, node: Node, text: str, *, hint: str | None = None) -> None:
        """Note a fault at a node."""
        self.found.append(RuleError(text, at=self.place(node), hint=hint))


def compose(path: Path, faults: Faults) -> Node | None:
    """The root node of a file, or None for an empty or broken one (then a fault says why)."""
    try:
        loader = _Loader(sources.content(path))
        try:
            node: Node | None = loader.get_single_node()
        finally:
            loader.dispose()
    except RuleError as error:
        faults.found.append(error)
        return None
    except RecursionError:  # the loader in Python; libyaml says so itself
        faults.found.append(RuleError("not YAML: nested too deeply", at=Location(faults.path)))
        return None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = Location(faults.path, mark.line + 1, mark.column + 1) if mark else Location(faults.path)
        faults.found.append(RuleError(f"not YAML: {error.problem or error.context}", at=at, hint=error.context if error.problem else None))
        return None
    except yaml.YAMLError as error:
        faults.found.append(RuleError(f"not YAML: {' '.join(str(error).split())}", at=Location(faults.path)))
        return None
    except OSError as error:
        faults.found.append(RuleError(f"cannot be read: {error.strerror}", at=Location(faults.path)))
        return None
    alias = None if node is None else _alias(node)
    if alias is not None:
        faults.add(alias, "an alias (*name) is not taken in rules", hint="write it out: a rule has to be read by itself")
        return None
    return node


def _alias(root: Node) -> Node | None:
    """A node that stands in more than one place: by aliases a small file becomes endless."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            return node
        seen.add(id(node))
        if isinstance(node, MappingNode):
            waiting += [inner for pair in node.value for inner in pair]
        elif isinstance(node, SequenceNode):
            waiting += node.value
    return None


def kind(node: Node) -> str:
    """What a node is, in words for a message."""
    if isinstance(node, MappingNode):
        return "a mapping"
    if isinstance(node, SequenceNode):
        return "a list"
    return {_INT: "a number", _FLOAT: "a number", _BOOL: "true or false", _NULL: "nothing"}.get(node.tag, "a text")


class Table:
    """A mapping node. Ask for keys by type; ``done`` then refuses every key that nobody asked for."""

    def __init__(self, node: Node, faults: Faults, what: str) -> None:
        self.node = node
        self.faults = faults
        self.what = what
        self.asked: set[str] = set()
        self.pairs: dict[str, tuple[Node, Node]] = {}
        if not isinstance(node, MappingNode):
            faults.add(node, f"{what} has to be a mapping, this is {kind(node)}")
            self.node = MappingNode(_TAG + "map", [], node.start_mark, node.end_mark)
            return
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                faults.add(key, f"a key of {what} has to be a word")
            elif _switch(key):
                faults.add(key, f"plain '{key.value}' is a boolean in YAML 1.1", hint="quote it")
            elif key.value in self.pairs:
                first = self.pairs[key.value][0].start_mark.line + 1
                faults.add(key, f"the key '{key.value}' stands twice in {what}", hint=f"first in line {first}")
            else:
                self.pairs[key.value] = (key, value)

    def __contains__(self, key: str) -> bool:
        return key in self.pairs

    def get(self, key: str) -> Node | None:
        """The value node of a key that is known to this reader."""
        self.asked.add(key)
        pair = self.pairs.get(key)
        return pair[1] if pair else None

    def place(self, key: str, *, inside: int = 0) -> Location:
        """Where the value of a key stands; the mapping itself where there is no such key."""
        pair = self.pairs.get(key)
        return self.faults.place(pair[1], inside=inside) if pair else self.faults.place(self.node)

    def fault(self, key: str, text: str, *, hint: str | None = None) -> None:
        """Note a fault at the value of a key."""
        self.faults.found.append(RuleError(text, at=self.place(key), hint=hint))

    def text(self, key: str, *, required: bool = False) -> str | None:
        """A text, or None."""
        node = self.get(key)
        if node is None:
            if required:
                self.faults.add(self.node, f"{self.what} has no '{key}'")
            return None
        return text_of(node, self.faults, key)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; one text alone is a list of one."""
        node = self.get(key)
        if node is None:
            return ()
        items = node.value if isinstance(node, SequenceNode) else [node]
        found = (text_of(item, self.faults, key) for item in items)
        return tuple(t for t in found if t is not None)

    def flag(self, key: str) -> bool:
        """true or false; false where the key is absent."""
        node = self.get(key)
        if node is None:
            return False
        known = len(self.faults.found)
        value = scalar_of(node, self.faults, key)
        if isinstance(value, bool):
            return value
        if len(self.faults.found) == known:
            self.faults.add(node, f"'{key}' has to be true or false, this is {kind(node)}")
        return False

    def number(self, key: str) -> float | None:
        """A number, or None."""
        node = self.get(key)
        if node is None:
            return None
        known = len(self.faults.found)
        value = scalar_of(node, self.faults, key)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        if len(self.faults.found) == known:
            self.faults.add(node, f"'{key}' has to be a number, this is {kind(node)}")
        return None

    def whole(self, key: str, *, least: int = 0) -> int | None:
        """A whole number of at least ``least``, or None."""
        value = self.number(key)
        if value is None:
            return None
        if not least <= value <= MOST_WHOLE or value != int(value):
            self.fault(key, f"'{key}' has to be a whole number, {least} or more", hint=f"at most {MOST_WHOLE}" if value > MOST_WHOLE else None)
            return None
        return int(value)

    def word(self, key: str, words: type[E], *, required: bool = False) -> E | None:
        """An id of a closed vocabulary, or None."""
        text = self.text(key, required=required)
        return None if text is None else word_of(text, words, self.pairs[key][1], self.faults)

    def words(self, key: str, words: type[E]) -> tuple[E, ...]:
        """Ids of a closed vocabulary."""
        node = self.get(key)
        if node is None:
            return ()
        found: list[E] = []
        for item in node.value if isinstance(node, SequenceNode) else [node]:
            text = text_of(item, self.faults, key)
            word = None if text is None else word_of(text, words, item, self.faults)
            if word is not None:
                found.append(word)
        return tuple(found)

    def choice(self, key: str, choices: Sequence[str]) -> str | None:
        """One of a few words that are no enum of the model."""
        text = self.text(key)
        if text is not None and text not in choices:
            self.fault(key, f"unknown {key} '{text}'", hint=suggest(text, choices) or "one of " + ", ".join(choices))
            return None
        return text

    def table(self, key: str) -> Table | None:
        """A mapping below this one, or None."""
        node = self.get(key)
        return None if node is None else Table(node, self.faults, f"'{key}'")

    def items(self, key: str) -> list[Node]:
        """The nodes of a list; empty where the key is absent."""
        node = self.get(key)
        if node is None:
            return []
        if not isinstance(node, SequenceNode):
            self.faults.add(node, f"'{key}' has to be a list, this is {kind(node)}")
            return []
        return list(node.value)

    def tables(self, key: str, what: str) -> Iterator[Table]:
        """The mappings of a list."""
        for node in self.items(key):
            yield Table(node, self.faults, what)

    def done(self) -> None:
        """Refuse the keys that were not asked for."""
        for name, (key, value) in self.pairs.items():
            if name not in self.asked:
                hint = suggest(name, self.asked) or "known: " + ", ".join(sorted(self.asked))
                if isinstance(value, ScalarNode) and value.tag == _NULL and not value.value:
                    hint = "inside {…} a text with a comma has to be quoted"
                self.faults.add(key, f"unknown key '{name}' in {self.what}", hint=hint)


def text_of(node: Node, faults: Faults, what: str) -> str | None:
    """The text of a scalar; a number or a boolean is refused, since ``0.10`` and ``0.1`` would read the same."""
    if not isinstance(node, ScalarNode):
        faults.add(node, f"'{what}' has to be a text, this is {kind(node)}")
    elif _switch(node):
        faults.add(node, f"plain '{node.value}' is a boolean in YAML 1.1", hint="quote it, or write true or false")
    elif node.tag in (_STR, _STAMP):
        return str(node.value)
    else:
        faults.add(node, f"'{what}' has to be a text, this is {kind(node)}", hint="quote it" if node.value else None)
    return None


def scalar_of(node: Node, faults: Faults, what: str) -> str | int | float | bool | None:
    """A text, a number, or true and false. Octal, hexadecimal and sexagesimal numbers of YAML 1.1 are refused."""
    if not isinstance(node, ScalarNode):
        faults.add(node, f"'{what}' has to be one value, this is {kind(node)}")
        return None
    value = str(node.value)
    if _switch(node):
        faults.add(node, f"plain '{value}' is a boolean in YAML 1.1", hint="quote it, or write true or false")
        return None
    if node.tag == _BOOL:
        return _WORDS[value]
    if node.tag in (_INT, _FLOAT) and len(value) > _MAX_DIGITS:
        faults.add(node, f"a number of {len(value)} characters is too long")
        return None
    if node.tag == _INT and _WHOLE.fullmatch(value):
        return int(value)
    if node.tag == _FLOAT and ":" not in value and "_" not in value:
        try:
            number = float(value)
        except ValueError:  # .inf and .nan of YAML
            number = math.nan
        if math.isfinite(number):
            return number
        faults.add(node, f"'{value}' is no finite number")
        return None
    if node.tag in (_INT, _FLOAT):
        faults.add(node, f"'{value}' is an odd number in YAML 1.1", hint="quote it, or write it in decimal")
        return None
    return None if node.tag == _NULL else value


def word_of(text: str, words: type[E], node: Node, faults: Faults) -> E | None:
    """The member of a vocabulary, or a fault with the nearest one."""
    try:
        return words(text)
    except ValueError:
        known = [str(w.value) for w in words]
        hint = suggest(text, known) or ("one of " + ", ".join(known) if len(known) < 15 else None)
        faults.add(node, f"unknown {_noun(words)} '{text}'", hint=hint)
        return None


def plain(node: Node, faults: Faults, what: str, depth: int = 0) -> Any:
    """Any value, as Python has it; for the free part of a profile."""
    if depth > _MAX_DEPTH:
        faults.add(node, f"'{what}' is nested too deeply")
        return None
    if isinstance(node, SequenceNode):
        return [plain(item, faults, what, depth + 1) for item in node.value]
    if isinstance(node, MappingNode):
        table = Table(node, faults, f"'{what}'")
        return {key: plain(value, faults, what, depth + 1) for key, (_, value) in table.pairs.items()}
    return scalar_of(node, faults, what)


def _switch(node: ScalarNode) -> bool:
    return node.tag == _BOOL and node.value not in _WORDS


def _noun(words: type[Enum]) -> str:
    return {"MarkKind": "mark"}.get(words.__name__, words.__name__.lower())

"""Parse a condition over known facts and evaluate it in three values. Never computes a fact: values come from the lookup that the caller gives.

``None`` is unknown. What is compared with an unknown is unknown; ``and`` and ``or`` are Kleene's: false and unknown is false, true or unknown is true.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from forensics.errors import RuleError
from forensics.model import Location
from forensics.ruleset import known_names

Lookup = Callable[[str], "object | None"]
Truth = bool | None
_MAX_TEXT = 2000
_COMPARE = ("==", "!=", "<=", ">=", "<", ">")
# name → least and most number of arguments
FUNCTIONS: Mapping[str, tuple[int, int]] = {"any": (1, 1), "count": (1, 1), "abs": (1, 1), "known": (1, 1), "min": (2, 9), "max": (2, 9)}
RESERVED = frozenset({"and", "or", "not", "in", "true", "false", "unknown"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Literal:
    """A number, a text, true or false; None is ``unknown``."""

    value: object | None
    loc: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Name:
    """A known fact."""

    name: str
    loc: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Items:
    """A list in brackets."""

    items: tuple[Node, ...]
    loc: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A function of the closed list."""

    name: str
    args: tuple[Node, ...]
    loc: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Binary:
    """A comparison, ``in``, ``not in`` or one of + - * /."""

    op: str
    left: Node
    right: Node
    loc: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Not:
    item: Node
    loc: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Chain:
    """``and`` or ``or`` over two or more."""

    op: str
    items: tuple[Node, ...]
    loc: int = 0


Node = Literal | Name | Items | Call | Binary | Not | Chain


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """A parsed condition. ``names`` are the facts that it leans on."""

    text: str
    root: Node
    names: frozenset[str]

    def evaluate(self, lookup: Lookup) -> Truth:
        """true, false or None (unknown); ``lookup`` gives a fact's value, None where it is unknown."""
        return _truth(_value(self.root, lookup))


def parse(text: str, *, at: Location | None = None) -> Condition:
    """Read a condition. Raises RuleError with the column of the fault, the text with a caret, and the nearest known word.

    ``at`` is where the text begins; without it the place is column alone, counted in the text.
    """
    try:
        return _parse(text)
    except RuleError as error:
        if at is None or not isinstance(error.at, Location):
            raise
        raise RuleError(error.text, at=at._replace(col=max(at.col, 1) + error.at.col - 1), hint=error.hint) from None


@lru_cache(maxsize=1024)  # the loader checks a condition, reasoning evaluates it
def _parse(text: str) -> Condition:
    if len(text) > _MAX_TEXT:
        raise RuleError(f"a condition of {len(text)} characters is too long", at=Location("", 1, 1))
    from forensics.ruleset.grammar import tree

    root = tree(text)
    for node in _walk(root):
        _check(node, text)
    _check_truth(root, text)
    return Condition(text=text, root=root, names=frozenset(n.name for n in _walk(root) if isinstance(n, Name)))


def fault(text: str, loc: int, message: str, *, hint: str | None = None) -> RuleError:
    """An error with a caret under the place."""
    loc = min(loc, len(text))
    begin = text.rfind("\n", 0, loc) + 1
    end = text.find("\n", loc)
    line = text[begin : end if end >= 0 else len(text)]
    start = max(0, loc - begin - 60)
    shown = line[start : start + 120]
    return RuleError(f"{message}\n  {shown}\n  {' ' * (loc - begin - start)}^", at=Location("", 1, loc + 1), hint=hint)


# --------------------------------------------------------------------------- checks


def _below(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Binary):
        return (node.left, node.right)
    if isinstance(node, Not):
        return (node.item,)
    if isinstance(node, (Chain, Items)):
        return node.items
    return node.args if isinstance(node, Call) else ()


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for inner in _below(node):
        yield from _walk(inner)


def _check(node: Node, text: str) -> None:
    from forensics.ruleset.nodes import suggest

    if isinstance(node, Name) and known_names.fact(node.name) is None:
        raise fault(text, node.loc, f"unknown fact '{node.name}'", hint=suggest(node.name, known_names.NAMES))
    if isinstance(node, Call):
        if node.name not in FUNCTIONS:
            raise fault(text, node.loc, f"unknown function '{node.name}'", hint=suggest(node.name, FUNCTIONS) or "known: " + ", ".join(FUNCTIONS))
        least, most = FUNCTIONS[node.name]
        if not least <= len(node.args) <= most:
            number = str(least) if least == most else f"{least} to {most}"
            raise fault(text, node.loc, f"{node.name}() takes {number} argument{'s' if most > 1 else ''}, not {len(node.args)}")
        if node.name == "known" and not isinstance(node.args[0], Name):
            raise fault(text, node.loc, "known() takes the name of a fact")
    elif isinstance(node, Binary) and any(isinstance(s, Literal) and s.value is None for s in (node.left, node.right)):
        raise fault(text, node.loc, "what is compared with unknown is unknown", hint="use known(x) or not known(x)")
    elif isinstance(node, Not):
        _check_truth(node.item, text)
    elif isinstance(node, Chain):
        for item in node.items:
            _check_truth(item, text)


def _check_truth(node: Node, text: str) -> None:
    """A number or a text is no condition by itself: whoever writes ``life.phase and …`` has forgotten a comparison."""
    type_ = ""
    if isinstance(node, Name):
        fact = known_names.fact(node.name)
        type_ = fact.type if fact else ""
    elif isinstance(node, Literal) and isinstance(node.value, (str, int, float)) and not isinstance(node.value, bool):
        type_ = "text" if isinstance(node.value, str) else "number"
    elif isinstance(node, Items):
        type_ = "list"
    elif (isinstance(node, Call) and node.name not in ("any", "known")) or (isinstance(node, Binary) and node.op in _ARITHMETIC):
        type_ = "number"
    if type_ in ("number", "text", "list", "table"):
        what = f"'{node.name}'" if isinstance(node, Name) else "this"
        hint = "use any(x) or count(x) > 0" if type_ in ("list", "table") else "compare it with something, or ask known(x)"
        raise fault(text, node.loc, f"{what} is a {type_}, and a condition needs true or false here", hint=hint)


# --------------------------------------------------------------------------- values


def _value(node: Node, lookup: Lookup) -> object | None:
    if isinstance(node, Literal):
        return node.value
    if isinstance(node, Name):
        return lookup(node.name)
    if isinstance(node, Items):
        return [_value(item, lookup) for item in node.items]
    if isinstance(node, Not):
        inner = _truth(_value(node.item, lookup))
        return None if inner is None else not inner
    if isinstance(node, Chain):
        return _chain(node, lookup)
    if isinstance(node, Call):
        return _call(node, lookup)
    left, right = _value(node.left, lookup), _value(node.right, lookup)
    if node.op in ("in", "not in"):
        inside = _inside(left, right)
        return inside if inside is None or node.op == "in" else not inside
    if left is None or right is None:
        return None
    return _compare(node.op, left, right) if node.op in _COMPARE else _calculate(node.op, left, right)


def _chain(node: Chain, lookup: Lookup) -> Truth:
    decides = node.op == "or"  # true decides an or, false an and
    result: Truth = not decides
    for item in node.items:
        truth = _truth(_value(item, lookup))
        if truth is decides:
            return decides
        if truth is None:
            result = None
    return result


def _truth(value: object | None) -> Truth:
    return None if value is None else bool(value)


def _number(value: object) -> float | None:
    """A number, also out of a text, since arguments and captures are texts."""
    if isinstance(value, (bool, int, float)):
        return float(value)
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    return None


def _same(left: object, right: object) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right if isinstance(left, bool) and isinstance(right, bool) else str(left).lower() == str(right).lower()
    if isinstance(left, str) and isinstance(right, str):
        return str(left) == str(right)
    a, b = _number(left), _number(right)
    return left == right if a is None or b is None else a == b


def _compare(op: str, left: object, right: object) -> Truth:
    if op in ("==", "!="):
        return _same(left, right) is (op == "==")
    a, b = _number(left), _number(right)
    if a is None or b is None:  # versions and words have no order here
        return None
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]


def _inside(left: object | None, right: object | None) -> Truth:
    if left is None or right is None:
        return None
    if isinstance(right, str):
        return str(left) in right
    if not isinstance(right, Collection):
        return _same(left, right)
    if any(item is not None and _same(left, item) for item in right):
        return True
    return None if any(item is None for item in right) else False


_ARITHMETIC: Mapping[str, Callable[[float, float], float | None]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b if b else None,
}


def _calculate(op: str, left: object, right: object) -> float | None:
    a, b = _number(left), _number(right)
    return None if a is None or b is None else _ARITHMETIC[op](a, b)


def _call(node: Call, lookup: Lookup) -> object | None:
    values: list[Any] = [_value(arg, lookup) for arg in node.args]
    if node.name == "known":
        return values[0] is not None
    if any(v is None for v in values):
        return None
    if node.name in ("any", "count"):
        size = len(values[0]) if isinstance(values[0], Collection) and not isinstance(values[0], str) else int(bool(values[0]))
        return size > 0 if node.name == "any" else size
    numbers = [_number(v) for v in values]
    if any(n is None for n in numbers):
        return None
    known = [n for n in numbers if n is not None]
    return abs(known[0]) if node.name == "abs" else min(known) if node.name == "min" else max(known)

"""Parse a condition over known facts and evaluate it in three values. Never computes a fact: values come from the lookup that the caller gives.

``None`` is unknown. What is compared with an unknown is unknown; ``and`` and ``or`` are Kleene's: false and unknown is false, true or unknown is true.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from forensics.errors import RuleError
from forensics.model import Location
from forensics.ruleset import known_names, versions

Lookup = Callable[[str], "object | None"]
Truth = bool | None
SEEN, FIRST = "seen:", "first:"  # what a lookup is asked of a rule: whether a line of it was seen, and when the first one
_MAX_TEXT = 2000
_MAX_DEPTH = 60  # of a tree: a sum of hundreds would be as deep as it is long, and evaluated on the stack
_COMPARE = ("==", "!=", "<=", ">=", "<", ">")
# name → least and most number of arguments
FUNCTIONS: Mapping[str, tuple[int, int]] = {
    "any": (1, 1), "count": (1, 1), "abs": (1, 1), "known": (1, 1), "min": (2, 9), "max": (2, 9),
    "seen": (1, 1), "before": (2, 2), "after": (2, 2), "within": (3, 3),
}  # fmt: skip
_TRUTHS = frozenset({"any", "known", "seen", "before", "after", "within"})
_OF_TIMES = frozenset({"before", "after", "within"})
RESERVED = frozenset({"and", "or", "not", "in", "true", "false", "unknown"})


class Point(NamedTuple):
    """When something was said, and where: two lines of one source are told apart by their order where their times are the same, or unknown."""

    at: float | None
    source: str = ""
    order: int = 0


class Literal(NamedTuple):
    """A number, a text, true or false; None is ``unknown``."""

    value: object | None
    loc: int = 0


class Name(NamedTuple):
    """A known fact."""

    name: str
    loc: int = 0


class Items(NamedTuple):
    """A list in brackets."""

    items: tuple[Node, ...]
    loc: int = 0


class Call(NamedTuple):
    """A function of the closed list."""

    name: str
    args: tuple[Node, ...]
    loc: int = 0


class Binary(NamedTuple):
    """A comparison, ``in``, ``not in`` or one of + - * /."""

    op: str
    left: Node
    right: Node
    loc: int = 0


class Not(NamedTuple):
    item: Node
    loc: int = 0


class Chain(NamedTuple):
    """``and`` or ``or`` over two or more."""

    op: str
    items: tuple[Node, ...]
    loc: int = 0


Node = Literal | Name | Items | Call | Binary | Not | Chain


class Condition(NamedTuple):
    """A parsed condition. ``names`` are the facts that it leans on, ``rules`` the ids of line rules that it asks for, with their places in the text."""

    text: str
    root: Node
    names: frozenset[str]
    rules: tuple[tuple[str, int], ...] = ()

    @property
    def leans_on(self) -> frozenset[str]:
        """All that it asks a lookup for."""
        return self.names.union(*(_asks(node) for node in _walk(self.root)))

    def where(self, name: str) -> int:
        """Where a fact is named first."""
        return next((n.loc for n in _walk(self.root) if isinstance(n, Name) and n.name == name), 0)

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


PARSED: dict[str, Condition] = {}  # those that come with a compiled rule set, by their text


@lru_cache(maxsize=1024)  # the loader checks a condition, reasoning evaluates it
def _parse(text: str) -> Condition:
    if text in PARSED:
        return PARSED[text]
    if len(text) > _MAX_TEXT:
        raise RuleError(f"a condition of {len(text)} characters is too long", at=Location("", 1, 1))
    from forensics.ruleset.grammar import tree

    root = tree(text)
    _check_depth(root, text)
    for node in _walk(root):
        _check(node, text)
    _check_truth(root, text)
    names = frozenset(n.name for n in _walk(root) if isinstance(n, Name))
    rules = tuple((str(n.value), n.loc) for call in _walk(root) if isinstance(call, Call) for n in _ids(call))
    return Condition(text=text, root=root, names=names, rules=rules)


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


def _check_depth(root: Node, text: str) -> None:
    row: list[Node] = [root]
    for _ in range(_MAX_DEPTH):
        row = [inner for node in row for inner in _below(node)]
    if row:
        raise fault(text, row[0].loc, "the condition is nested too deeply")


def _ids(call: Call) -> list[Literal]:
    """The ids of rules among the arguments."""
    if call.name not in _OF_TIMES and call.name != "seen":
        return []
    return [arg for arg in call.args[:2] if isinstance(arg, Literal) and isinstance(arg.value, str)]


def _asks(node: Node) -> Iterator[str]:
    for literal in _ids(node) if isinstance(node, Call) else ():
        yield f"{SEEN if isinstance(node, Call) and node.name == 'seen' else FIRST}{literal.value}"


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
        _check_arguments(node, text)
    elif isinstance(node, Binary) and any(isinstance(s, Literal) and s.value is None for s in (node.left, node.right)):
        raise fault(text, node.loc, "what is compared with unknown is unknown", hint="use known(x) or not known(x)")
    elif isinstance(node, Binary) and node.op in (*_COMPARE, "in", "not in"):
        _check_compared(node, text)
        if node.op in _COMPARE:
            _check_version(node, text)
    elif isinstance(node, Not):
        _check_truth(node.item, text)
    elif isinstance(node, Chain):
        for item in node.items:
            _check_truth(item, text)


def _check_arguments(call: Call, text: str) -> None:
    """seen() takes the id of a line rule; before(), after() and within() two times, each a fact that is one or an id."""
    if call.name == "seen" and not _ids(call):
        raise fault(text, call.args[0].loc, "seen() takes the id of a line rule in quotes", hint="seen('server.what-it-says')")
    if call.name not in _OF_TIMES:
        return
    for arg in call.args[:2]:
        if isinstance(arg, Literal) and isinstance(arg.value, str):
            continue
        known = known_names.fact(arg.name) if isinstance(arg, Name) else None
        if known is None or known.unit != "epoch":
            what = f"'{arg.name}' is no time" if isinstance(arg, Name) else "this is no time"
            times = ", ".join(name for name, fact in known_names.NAMES.items() if fact.unit == "epoch")
            raise fault(text, arg.loc, f"{what}: {call.name}() takes facts that are one, or ids of line rules in quotes", hint=f"times are {times}")
    if call.name == "within" and _type_of(call.args[2]) not in ("number", "any"):
        raise fault(text, call.args[2].loc, "within() takes a number of seconds as its third argument")


def _is_version(node: Node) -> bool:
    return _type_of(node) == "version"


def _check_version(node: Binary, text: str) -> None:
    for side, other in ((node.left, node.right), (node.right, node.left)):
        if _is_version(side) and isinstance(other, Literal):
            if not isinstance(other.value, str):
                raise fault(text, other.loc, "a version is compared with a text", hint=f"quote it: '{other.value}'")
            if versions.range_of(other.value) is None:
                raise fault(text, other.loc, f"no version: '{other.value}'", hint="as in '0.5.9' or '0.6.3.post1'")


def _check_compared(node: Binary, text: str) -> None:
    """A number is compared with no text, and a word of a closed vocabulary with its words alone: neither would ever hold."""
    if node.op in _COMPARE:
        pairs = [(node.left, node.right), (node.right, node.left)]
    else:
        pairs = [(node.left, item) for item in node.right.items] if isinstance(node.right, Items) else []
    for side, other in pairs:
        if not isinstance(other, Literal):
            continue
        name = side.name if isinstance(side, Name) else ""
        if _type_of(side) == "number" and isinstance(other.value, str):
            known = known_names.fact(name) if name else None
            what = f"'{name}'" if name else "a number"
            unit = f", in {known.unit}" if known is not None and known.unit else ""
            raise fault(text, other.loc, f"{what} is compared with a text", hint=f"a number without quotes{unit}")
        words = [str(word) for word in known_names.WORDS.get(name, ())]
        if words and other.value not in words:
            from forensics.ruleset.nodes import suggest

            hint = suggest(str(other.value), words) or "one of " + ", ".join(words)
            raise fault(text, other.loc, f"'{name}' is never '{other.value}'", hint=hint)


def _type_of(node: Node) -> str:
    """The type of a value as far as it shows: of a known fact, a literal, a sum or a call; empty otherwise."""
    if isinstance(node, Name):
        fact = known_names.fact(node.name)
        return fact.type if fact else ""
    if isinstance(node, Literal) and isinstance(node.value, (str, int, float)) and not isinstance(node.value, bool):
        return "text" if isinstance(node.value, str) else "number"
    if isinstance(node, Items):
        return "list"
    if (isinstance(node, Call) and node.name not in _TRUTHS) or (isinstance(node, Binary) and node.op in _ARITHMETIC):
        return "number"
    return ""


def _check_truth(node: Node, text: str) -> None:
    """A number or a text is no condition by itself: whoever writes ``life.phase and …`` has forgotten a comparison."""
    type_ = _type_of(node)
    if type_ in ("number", "text", "version", "list", "table"):
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
    if node.op in _COMPARE and isinstance(left, str) and isinstance(right, str) and (_is_version(node.left) or _is_version(node.right)):
        return versions.compare(node.op, left, right)
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
    """A number, also out of a text, since arguments and captures are texts; a point in time by its seconds."""
    if isinstance(value, Point):
        return value.at
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
    if a is None or b is None:  # words have no order, but for versions
        return versions.compare(op, left, right) if isinstance(left, str) and isinstance(right, str) else None
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
    if node.name == "seen":
        return lookup(SEEN + str(_ids(node)[0].value))
    if node.name in _OF_TIMES:
        return _times(node, lookup)
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


def _times(node: Call, lookup: Lookup) -> Truth:
    a, b = (_point(arg, lookup) for arg in node.args[:2])
    if a is None or b is None:
        return None
    if node.name == "within":
        seconds = _number(_value(node.args[2], lookup))
        return None if a.at is None or b.at is None or seconds is None else abs(a.at - b.at) <= seconds
    return _earlier(a, b) if node.name == "before" else _earlier(b, a)


def _point(arg: Node, lookup: Lookup) -> Point | None:
    value = lookup(f"{FIRST}{arg.value}") if isinstance(arg, Literal) else _value(arg, lookup)
    if isinstance(value, Point):
        return value
    at = None if value is None else _number(value)
    return None if at is None else Point(at)


def _earlier(a: Point, b: Point) -> Truth:
    """By the order of lines within a source, else by time; at the same second in two sources nobody knows."""
    if a.source and a.source == b.source:
        return a.order < b.order
    if a.at is None or b.at is None or (a.at == b.at and (a.source or b.source)):
        return None
    return a.at < b.at

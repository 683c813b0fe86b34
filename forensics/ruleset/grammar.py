"""The grammar of conditions (pyparsing), built once when the first condition is read. Turns text into the nodes of ``condition``; checks no name and no type."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import lru_cache
from typing import Any

import pyparsing as pp

from forensics.ruleset.condition import RESERVED, Binary, Call, Chain, Items, Literal, Name, Node, Not, fault

_CONSTANTS: dict[str, object | None] = {"true": True, "false": False, "unknown": None}


def tree(text: str) -> Node:
    """The syntax tree of a condition, or RuleError with a caret."""
    try:
        return _grammar().parse_string(text, parse_all=True)[0]  # type: ignore[no-any-return]
    except pp.ParseBaseException as error:
        raise _fault(text, error) from None
    except RecursionError:
        raise fault(text, 0, "the condition is nested too deeply") from None


def _fault(text: str, error: pp.ParseBaseException) -> Exception:
    loc = error.loc
    while loc < len(text) and text[loc].isspace():
        loc += 1
    rest = text[loc:]
    if not rest:
        return fault(text, loc, "the condition ends too early")
    for wrong, right in (("&&", "and"), ("||", "or"), ("!", "not"), ("=", "==")):
        if rest.startswith(wrong):
            return fault(text, loc, f"'{wrong}' is no operator", hint=f"write '{right}'")
    if rest[0] in "<>=!" or rest.startswith(("in ", "not in ")):
        return fault(text, loc, "a second comparison", hint="join two by 'and'")
    word = rest.split(None, 1)[0]
    return fault(text, loc, f"'{word}' is not expected here")


def _binary(tokens: Sequence[Any], ops: Container[str]) -> list[Any]:
    """Join operands over some of the operators, from the left: a - b - c is (a - b) - c."""
    joined = [tokens[0]]
    for op, right in zip(tokens[1::2], tokens[2::2], strict=True):
        if op in ops:
            joined[-1] = Binary(op=op, left=joined[-1], right=right, loc=joined[-1].loc)
        else:
            joined += [op, right]
    return joined


def _sum(tokens: pp.ParseResults) -> Any:
    return tokens[0] if len(tokens) == 1 else _binary(_binary(list(tokens), "*/"), "+-")[0]


def _comparison(tokens: pp.ParseResults) -> Any:
    return tokens[0] if len(tokens) == 1 else Binary(op=" ".join(tokens[1].split()), left=tokens[0], right=tokens[2], loc=tokens[0].loc)


def _logic(tokens: pp.ParseResults) -> Any:
    """``and`` binds closer than ``or``."""
    if len(tokens) == 1:
        return tokens[0]
    runs: list[list[Node]] = [[tokens[0]]]
    for op, item in zip(tokens[1::2], tokens[2::2], strict=True):
        if op == "and":
            runs[-1].append(item)
        else:
            runs.append([item])
    either = [run[0] if len(run) == 1 else Chain(op="and", items=tuple(run), loc=run[0].loc) for run in runs]
    return either[0] if len(either) == 1 else Chain(op="or", items=tuple(either), loc=either[0].loc)


def _word(text: str, loc: int, tokens: pp.ParseResults) -> Node:
    word = tokens[0]
    if word in _CONSTANTS:
        return Literal(value=_CONSTANTS[word], loc=loc)
    if word in RESERVED:
        raise pp.ParseException(text, loc, "reserved")
    return Name(name=word, loc=loc)


@lru_cache(maxsize=1)
def _grammar() -> pp.ParserElement:
    """Few levels, since each costs time: atom, sum and product, comparison, not, and with or."""
    number = pp.Regex(r"[0-9]+(?:\.[0-9]+)?(?![\w.])").set_parse_action(
        lambda s, loc, t: Literal(value=float(t[0]) if "." in t[0] else int(t[0]), loc=loc)
    )
    string = pp.Regex(r"'[^'\n]*'|\"[^\"\n]*\"").set_parse_action(lambda s, loc, t: Literal(value=t[0][1:-1], loc=loc))
    word = pp.Regex(r"[A-Za-z_]\w*(?:\.\w+)*(?![\w(.])").set_parse_action(_word)

    either, sum_, atom, denied = pp.Forward(), pp.Forward(), pp.Forward(), pp.Forward()
    close, comma = pp.Literal(")").suppress(), pp.Literal(",").suppress()
    listed = pp.Optional(sum_ + pp.ZeroOrMore(comma - sum_))
    call = (pp.Regex(r"[A-Za-z_]\w*(?=\()") + pp.Literal("(").suppress() - listed + close).set_parse_action(
        lambda s, loc, t: Call(name=t[0], args=tuple(t[1:]), loc=loc)
    )
    items = (pp.Literal("[").suppress() - listed + pp.Literal("]").suppress()).set_parse_action(lambda s, loc, t: Items(items=tuple(t), loc=loc))
    bracket = pp.Literal("(").suppress() - either + close
    minus = (pp.Literal("-").suppress() - atom).set_parse_action(
        lambda s, loc, t: Binary(op="-", left=Literal(value=0, loc=loc), right=t[0], loc=loc)
    )
    atom <<= word | number | string | call | items | bracket | minus
    sum_ <<= (atom + pp.ZeroOrMore(pp.Regex(r"[-+*/]") - atom)).set_parse_action(_sum)
    compared = (sum_ + pp.Optional(pp.Regex(r"[=!<>]=|[<>]|in(?![\w.])|not\s+in(?![\w.])") - sum_)).set_parse_action(_comparison)
    negated = (pp.Regex(r"not(?![\w.])").suppress() - denied).set_parse_action(lambda s, loc, t: Not(item=t[0], loc=loc))
    denied <<= negated | compared
    either <<= (denied + pp.ZeroOrMore(pp.Regex(r"(?:and|or)(?![\w.])") - denied)).set_parse_action(_logic)
    return either

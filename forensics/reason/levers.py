"""Say what else than the fraction could be given, and how much of the GPU each gives back, where the log lets it be reckoned. Knows what a lever frees, no flag."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from forensics.model import Frees, Life, MemoryLever
from forensics.reason.ledger import draft, pool
from forensics.ruleset.schema import Lever as Rule
from forensics.ruleset.versions import may_be

MOST = 5
_UNSET = ("", "None", "none", "null", "False", "false", "0")
_PAGE = 64  # tokens: pools are made of pages


class Lever(NamedTuple):
    """A lever that can still be pulled in the life at issue."""

    frees: Frees
    given: MemoryLever


def levers(rules: Sequence[Rule], v: Mapping[str, float], life: Life, *, token_gib: float | None) -> tuple[Lever, ...]:
    """Those of the life's version that have not been pulled, what frees most first; those whose share nobody can know come last, in their order."""
    found: dict[tuple[Frees, str], Lever] = {}
    for rule in rules:
        if not may_be(life.version, since=rule.since, until=rule.until) or not _left(rule, life):
            continue
        key = (rule.frees, rule.text)
        if key in found and (rule.argument not in life.arguments or not life.arguments):
            found[key] = _either(found[key], rule.flag)  # two spellings, and the version that would decide is not known
            continue
        made = _lever(rule, v, token_gib)
        if made is not None:
            found[key] = made
    order = list(Frees)
    return tuple(sorted(found.values(), key=lambda x: (x.given.frees_gib is None, -(x.given.frees_gib or 0.0), order.index(x.frees))))


def _left(rule: Rule, life: Life) -> bool:
    """Whether it is not known to have been pulled, and there is something to pull."""
    present = life.arguments.get(rule.argument)
    set_ = present is not None and present not in _UNSET
    if rule.given is not None and life.arguments and life.arguments.get(rule.given, "None") in _UNSET:
        return False
    return not (rule.unless is not None and set_ and re.search(rule.unless, (present or "")[:200]))


def _either(lever: Lever, flag: str) -> Lever:
    given = lever.given
    return Lever(
        frees=lever.frees, given=MemoryLever(flag=given.flag, text=f"{given.text} ({flag} in other versions)", frees_gib=given.frees_gib, to=given.to)
    )


def _lever(rule: Rule, v: Mapping[str, float], token_gib: float | None) -> Lever | None:
    text, gib, to = rule.text, None, None
    request, available = v.get("request_gib"), v.get("kv_available_gib", pool(v))
    if rule.frees is Frees.WEIGHTS_HALF and "weights_gib" in v:
        gib = v["weights_gib"] / 2
        text += ": twice as many leave each half of them"
    elif rule.frees is Frees.DRAFT:
        gib = draft(v)
        if gib is None:
            return None  # nothing is known of a draft model here
    elif rule.frees is Frees.GRAPHS:
        gib = v.get("graph_gib")
        text += f": all of them took {gib:.2f} GiB" if gib is not None else ""
    elif rule.frees is Frees.ACTIVATIONS and "activation_gib" in v:
        text += f": their peak was {v['activation_gib']:.2f} GiB"
    elif rule.frees is Frees.POOL_HALF and request is not None:
        gib = request / 2
        text += f": one request of full length then needs {gib:.2f} GiB"
    elif rule.frees is Frees.CONTEXT and request is not None and token_gib:
        if available is not None and 0 < available < request:
            to, gib = int(available / token_gib) // _PAGE * _PAGE, request - available
            if to <= 0:
                return None
            text += f": {to} tokens take the {available:.2f} GiB that there are, at {_token(token_gib)} each"
        else:
            text += f": one of full length takes {request:.2f} GiB, at {_token(token_gib)} a token"
    return Lever(frees=rule.frees, given=MemoryLever(flag=rule.flag, text=text, frees_gib=None if gib is None else round(gib, 3), to=to))


def _token(gib: float) -> str:
    return f"{gib * 1024 * 1024:.0f} KiB" if gib < 1 / 1024 else f"{gib * 1024:.1f} MiB"


def helpful(found: Sequence[Lever], *, before: bool, after: bool, measured: bool, request: bool) -> tuple[Lever, ...]:
    """Those that help where room lacks ``before`` the pool, ``after`` it, or in it for one ``request``; ``measured``: activations and graphs come out of the budget."""
    wanted: set[Frees] = set()
    if before:
        wanted |= {Frees.WEIGHTS_HALF, Frees.WEIGHTS_PART, Frees.DRAFT}
    if after or (before and measured):
        wanted |= {Frees.GRAPHS, Frees.ACTIVATIONS, Frees.DRAFT, Frees.REQUESTS}
    if request:
        wanted |= {Frees.CONTEXT, Frees.POOL_HALF}
    return tuple(lever for lever in found if lever.frees in wanted)[:MOST]

"""Decision tables of the conditions: for each a few sets of facts, chosen so that every comparison and every word of it decides one of them.

python -m tests.rules.decide --write      writes tests/data/rules/decisions.jsonl anew; review what changed
"""

from __future__ import annotations

import itertools
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from forensics.errors import RuleError
from forensics.ruleset import condition, known_names
from forensics.ruleset.loading import load
from forensics.ruleset.schema import RuleSet
from tests.rules.mutants import of_condition
from tests.rules.pages import put

FILE = Path(__file__).resolve().parents[1] / "data/rules/decisions.jsonl"
_TRIES = 4000
_NUMBER = re.compile(r"\b\d+(?:\.\d+)?\b")
Facts = dict[str, Any]


class Decision(NamedTuple):
    """What a condition says of some facts: true, false, or None for unknown."""

    id: str
    key: str
    facts: Facts
    holds: bool | None


def holds(text: str, facts: Facts) -> bool | None:
    """Evaluate; a fact that is not given is unknown."""
    return condition.parse(text).evaluate(facts.get)


def decisions(rules: RuleSet) -> Iterator[Decision]:
    """For every condition the sets of facts that tell it from each of its mutants."""
    for rule in rules.rules:
        for key, text in (("when", rule.when), ("where", rule.where)):
            for facts in _telling(rule.id, key, text) if text else ():
                yield Decision(rule.id, key, facts, holds(text or "", facts))


def _telling(id_: str, key: str, text: str) -> list[Facts]:
    names = sorted(condition.parse(text).names)
    values = {name: _values(name, text) for name in names}
    chosen: list[Facts] = []
    draw = random.Random(f"{id_} {key}")
    drawn = [{n: draw.choice(values[n]) for n in names} for _ in range(_TRIES)]
    if len(names) <= 3:
        drawn = [dict(zip(names, row, strict=True)) for row in itertools.product(*values.values())]
    truths = [holds(text, facts) for facts in drawn]
    for mutant in of_condition(id_, key, text):
        try:
            other = condition.parse(mutant.text)
        except RuleError:
            continue
        if any(other.evaluate(facts.get) is not holds(text, facts) for facts in chosen):
            continue
        told = next((f for f, truth in zip(drawn, truths, strict=True) if other.evaluate(f.get) is not truth), None)
        if told is not None:
            chosen.append({name: value for name, value in told.items() if value is not None})
    return chosen


def _values(name: str, text: str) -> list[Any]:
    """What a fact may be: unknown, and each value that a comparison in the condition could turn on."""
    fact = known_names.fact(name)
    type_ = fact.type if fact else "any"
    if type_ == "bool":
        return [None, True, False]
    numbers = sorted({float(n) for n in _NUMBER.findall(re.sub(r"'[^']*'", "", text))} | {0.0, 1.0})
    near = [n + d for n in numbers for d in (-1, -0.25, 0, 0.25, 1)] + [1e6]
    words = [*list(re.findall(r"'([^']*)'", text)), "another"]
    if type_ == "number":
        return [None, *near]
    if type_ == "text":
        return [None, *words]
    if type_ == "list":
        return [None, [], [1], [7, 8]]
    if type_ == "table":
        return [None, {}, {"1": 1.0}]
    return [None, True, False, *near, *words]


def read() -> list[Decision]:
    """The tables as they are in the repository."""
    return [Decision(**json.loads(line)) for line in FILE.read_text(encoding="utf-8").splitlines()]


def main(words: list[str]) -> int:
    """Print the tables, or write the file."""
    text = "".join(json.dumps(d._asdict(), ensure_ascii=False) + "\n" for d in decisions(load()))
    put(text, FILE, words)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

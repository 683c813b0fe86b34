"""Read what the columns of measured configurations are called. Never looks at a benchmark's result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yaml.nodes import Node, SequenceNode

from forensics import lazily
from forensics.model import MEANINGS, Columns
from forensics.ruleset.nodes import Table, suggest, text_of

NAME = lazily.pattern(r"[a-z0-9]+(?:_[a-z0-9]+)*")  # as "Tree Width" is read
IN_WORDS = frozenset({"why"})  # what holds a text: where the same name holds a number, it is another meaning's
PARTS: Mapping[str, str] = {"against_plain": "correct", "of_server": "conditions"}  # names of the one are among those of the other
ABOUT: Mapping[str, str] = {
    "budget": "how many drafted tokens the tree holds",
    "topk": "how many branches a node of it has",
    "steps": "how deep it is",
    "accepted": "tokens accepted a step",
    "correct": "the share of right answers, of which the first that a row has counts",
    "against_plain": "those of them that hold an answer against the plain run, of which they say nothing",
    "asked": "how many answers or requests it is of",
    "drafted": "how many steps drafted anything",
    "speed": "tokens a second",
    "label": "what the row is called",
    "question": "which question it is of, where each answer has a row",
    "lost": "requests without an answer",
    "lost_or_wrong": "requests without an answer, or with a wrong one",
    "why": "why a row has no answer, in words; a name may mean a number as well",
    "conditions": "settings: rows that differ in one are not held against each other",
    "of_server": "those of them that are of the server's own side, in which two results may differ",
}


def columns_of(table: Table, beside: Columns) -> Columns:
    """The names of each meaning; faults are noted in the table's file. ``beside`` are those that are there already, whose meaning stays."""
    inner = table.table("columns")
    table.text("source", required=True)
    table.done()
    if inner is None:
        return Columns()
    named = {meaning: _named(inner, meaning) for meaning in MEANINGS}
    found: dict[str, Any] = {meaning: tuple(dict.fromkeys(name for name, _ in names)) for meaning, names in named.items()}
    meant = {name: meaning for meaning in MEANINGS if meaning not in PARTS and meaning not in IN_WORDS for name in getattr(beside, meaning)}
    for meaning, names in named.items():
        whole = PARTS.get(meaning)
        among = (*found[whole], *getattr(beside, whole)) if whole else ()
        seen: set[str] = set()
        for name, node in names:
            if not NAME.fullmatch(name):
                table.faults.add(node, f"no name of a column: '{name[:80]}'", hint="small letters and digits with _ between them, as tree_width")
            elif whole and name not in among:
                table.faults.add(node, f"'{name}' is not among '{whole}'", hint=suggest(name, among))
            elif not whole and meaning not in IN_WORDS and (other := meant.setdefault(name, meaning)) != meaning:
                table.faults.add(node, f"'{name}' means '{other}' already")
            elif name in seen:
                table.faults.add(node, f"'{name}' stands twice")
            seen.add(name)
    inner.done()
    return Columns(**found)


def _named(table: Table, meaning: str) -> list[tuple[str, Node]]:
    """The names of a list, or one alone, each with its place; what is no text is reported."""
    node = table.get(meaning)
    items = () if node is None else node.value if isinstance(node, SequenceNode) else (node,)
    return [(text, item) for item in items if (text := text_of(item, table.faults, meaning)) is not None]

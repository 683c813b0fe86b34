"""The parts of docs/rules.md that are made from the code: keys, vocabularies, facts. Writes nothing but what stands between its marks.

``python -m forensics.ruleset.manual docs/rules.md`` brings the file up to date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from forensics.model import Cause, Phase
from forensics.ruleset import known_names
from forensics.ruleset.editor_schema import schema
from forensics.ruleset.profile import OF_A_SERVER

_PART = re.compile(r"<!-- begin (?P<name>[a-z-]+) -->\n(?P<body>.*?)<!-- end (?P=name) -->\n", re.DOTALL)


def _keys(*place: str) -> Iterator[str]:
    there: Any = schema()["$defs"]
    for key in place:
        there = there[key]
    yield from ("| key | value | |", "|---|---|---|")
    for name, what in there["properties"].items():
        needed = " (needed)" if name in there.get("required", ()) else ""
        yield f"| `{name}`{needed} | {_value(what)} | {what.get('description', '').replace('|', '/')} |"


def _value(what: Mapping[str, Any]) -> str:
    if "anyOf" in what:
        return f"{_value(what['anyOf'][0])}, or a list"
    if "$ref" in what:
        return str(what["$ref"]).rpartition("/")[2]
    if "enum" in what:
        return " · ".join(f"`{word}`" for word in what["enum"])
    kind = what.get("type", "")
    if kind == "array":
        return f"list of {_value(what['items'])}"
    if kind == "object":
        return "mapping"
    if isinstance(kind, list):
        return " or ".join(kind)
    return {"string": "text", "integer": "whole number", "boolean": "`true` or `false`"}.get(str(kind), str(kind))


def _words(words: Iterable[Enum]) -> Iterator[str]:
    yield " · ".join(f"`{word.value}`" for word in words)


_MARKS = ("profile", "properties", "marks", "items")
_MEMORY = ("profile", "properties", "memory")
_SPECULATION = ("profile", "properties", "speculation")
PARTS: Mapping[str, Callable[[], Iterable[str]]] = {
    "rule-keys": lambda: _keys("rule"),
    "advice-keys": lambda: _keys("advice"),
    "sample-keys": lambda: _keys("sample"),
    "profile-keys": lambda: _keys("profile"),
    "mark-keys": lambda: _keys(*_MARKS),
    "memory-keys": lambda: _keys(*_MEMORY),
    "speculation-keys": lambda: _keys(*_SPECULATION),
    "accepted-keys": lambda: _keys(*_SPECULATION, "properties", "figures", "items"),
    "flag-keys": lambda: _keys("flags"),
    "column-keys": lambda: _keys("columns", "properties", "columns"),
    "figure-keys": lambda: _keys(*_MEMORY, "properties", "figures", "items"),
    "causes": lambda: _words(Cause),
    "phases": lambda: _words(Phase),
    "marks": lambda: _words(OF_A_SERVER),
    "facts": known_names.markdown,
}


def renewed(text: str) -> str:
    """The page with every made part as the code has it today. Raises KeyError for the mark of a part that there is not."""

    def made(part: re.Match[str]) -> str:
        name = part["name"]
        lines = "".join(f"{line}\n" for line in PARTS[name]())
        return f"<!-- begin {name} -->\n{lines}<!-- end {name} -->\n"

    return _PART.sub(made, text)


def main(words: list[str]) -> int:
    """Bring files up to date."""
    for word in words:
        path = Path(word)
        path.write_text(renewed(path.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

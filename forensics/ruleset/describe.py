"""What a rule, a mark, a figure or a profile holds, as plain data and as lines for a person. Loads nothing and judges nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

from forensics.model import Location
from forensics.ruleset.schema import Figure, Mark, Profile, Rule, RuleSet

Item = Rule | Mark | Figure | Profile

# how a field is called in a rule file, or what reads better
_KEYS = {"from_": "from", "kind": "mark"}
_LABELS = {"firm": "at most", "only_in": "only in", "hit": "hits", "miss": "misses"}
_SAMPLES = ("hit", "miss")


def kind(item: Item) -> str:
    """rule, mark, figure or profile."""
    return type(item).__name__.lower()


def items(rules: RuleSet) -> Iterator[tuple[str, Item]]:
    """All that has an id, with it: rules, profiles by their name, their marks and figures."""
    for rule in rules.rules:
        yield rule.id, rule
    for profile in rules.profiles:
        yield profile.name, profile
        for mark in profile.marks:
            yield mark.id, mark
        for figure in profile.figures:
            yield figure.id, figure


def find(rules: RuleSet, word: str) -> Item | None:
    """The item of that id; a rule by one of its former ids too."""
    return next((item for id_, item in items(rules) if id_ == word), None) or rules.rule(word)


def data(item: Item) -> dict[str, Any]:
    """All it holds, as JSON has it: keys as in the rule files, absent ones left out, the place as text."""
    return {"kind": kind(item), **_plain(item)}


def lines(item: Item) -> Iterator[str]:
    """``key: value``, one a line; only keys that hold something. A profile's marks are given by their ids."""
    for key, value in _plain(item).items():
        label = _LABELS.get(key, key)
        if key in _SAMPLES:
            yield from (_sample(label, sample) for sample in value)
        elif key == "advise":
            yield from (f"{label}: {' '.join(str(part) for part in advice.values())}" for advice in value)
        elif key == "marks":
            yield from (f"mark: {mark['id']}" for mark in value)
        elif key == "flags":
            yield from _flags(value)
        elif key == "memory":
            if value.get("flag"):
                yield f"memory: {value['flag']}, a share of the {value['fraction_of']} memory"
            yield from (f"figure: {figure['id']}" for figure in value.get("figures", ()))
            yield from (f"lever: {lever['flag']} ({lever['frees']}): {lever['text']}" for lever in value.get("levers", ()))
        elif key == "speculation":
            yield from (
                f"speculation: {name}: {_joined(value[name])}" for name in ("given", "topk", "budget", "steps", "paths", "same") if value.get(name)
            )
            yield from (f"figure: {figure['id']}" for figure in value["figures"])
        elif isinstance(value, Mapping):
            yield from (f"{label}: {name}: {_joined(what)}" for name, what in value.items())
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            yield from (f"{label}: {_joined(one.values())}" for one in value)
        elif key in ("launch", "prefixes"):
            yield from (f"{label}: {one}" for one in value)
        else:
            yield f"{label}: {_joined(value)}"


def _flags(table: Mapping[str, Any]) -> Iterator[str]:
    """Its flags with the versions that have them, then what became of those that are gone."""
    for key in ("source", "checked"):
        if key in table:
            yield f"flags, {key}: {_joined(table[key])}"
    for span in table.get("spans", ()):
        since, until = span.get("since"), span.get("until")
        of = "" if since is None else f" of {since}" if since == until else f" of {since} … {until}"
        yield f"flags{of}: {_joined(span['flags'])}"
    for old, new in table.get("renamed", {}).items():
        yield f"renamed: {old} → {new}"
    for one in table.get("replaced", ()):
        yield f"replaced: {_joined(one['flags'])} → {_joined(one.get('by', ()))}: {one['says']}"
    for old, new in table.get("elsewhere", {}).items():
        yield f"of other servers: {old} → {new}"
    for flag, ways in table.get("costs", {}).items():
        yield from (f"costs: {way} {flag}: {text}" for way, text in ways.items())


def _sample(label: str, sample: Mapping[str, Any]) -> str:
    said = sample.get("software") if label == "hits" else sample.get("why")
    return f"{label}{f' ({said})' if said else ''}: {sample.get('text') or sample.get('capture')}"


def _joined(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, Iterable) and not isinstance(value, str) else str(value)


def _fields(value: Any) -> Sequence[str] | None:
    """The names of a noun's fields; None for what is no noun."""
    if dataclasses.is_dataclass(value):
        return [field.name for field in dataclasses.fields(value)]
    return getattr(value, "_fields", None) if isinstance(value, tuple) else None


def _plain(value: Any) -> Any:
    if isinstance(value, (Enum, Location)):
        return str(value)
    if (names := _fields(value)) is not None:
        pairs = ((_KEYS.get(name, name), getattr(value, name)) for name in names)
        return {key: _plain(inner) for key, inner in pairs if inner not in (None, "", (), {}, False)}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, (tuple, list, set, frozenset)) else value

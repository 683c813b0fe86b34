"""Rules and what belongs to them as plain JSON values, and back. Knows no field of any of them: what a dataclass has is what is written.

A text, a number, true, false and null stand for themselves and a list for a tuple; all else says what it is by its first key: ``{"Role": "root"}``,
``{"Location": ["rules/causes/a.yaml", 3, 5]}``, ``{"Rule": null, "id": …}`` (null: the fields follow; one that has its default is left out).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from typing import Any

from forensics.ruleset import anchors, condition, schema

# what may be written: the nouns of these modules, with the vocabularies that their fields have
NOUNS: Mapping[str, type[Any]] = {
    name: noun for module in (schema, condition, anchors) for name, noun in vars(module).items() if isinstance(noun, type) and noun.__name__ == name
}
_BUILT_IN: Mapping[type[Any], str] = {list: "list", frozenset: "frozenset", set: "set"}


def plain(value: object) -> Any:
    """A value as JSON has it. Raises TypeError for what could not be read again."""
    kind = type(value)
    if value is None or kind in (str, int, float, bool):
        return value
    if kind is tuple:
        return [plain(item) for item in value]  # type: ignore[attr-defined]  # told by its type, above
    if isinstance(value, Mapping):
        return {"dict": [[plain(key), plain(inner)] for key, inner in value.items()]}
    if kind in _BUILT_IN:
        items = [plain(item) for item in value]  # type: ignore[attr-defined]  # told by its type, above
        return {_BUILT_IN[kind]: items if kind is list else sorted(items)}
    if NOUNS.get(kind.__name__) is not kind:
        raise TypeError(f"a {kind.__module__}.{kind.__qualname__} cannot be part of a compiled rule set: {value!r}")
    if isinstance(value, Enum):
        return {kind.__name__: value.value}
    if isinstance(value, tuple):  # a named one
        return {kind.__name__: [plain(item) for item in value]}
    if not is_dataclass(value):
        raise TypeError(f"a {kind.__name__} is neither a dataclass nor a word of a vocabulary: {value!r}")
    # what is made out of the other fields is made again
    given = {field.name: getattr(value, field.name) for field in fields(value) if field.init and not is_default(field, getattr(value, field.name))}
    return {kind.__name__: None, **{name: plain(inner) for name, inner in given.items()}}


def is_default(field: Field[Any], value: object) -> bool:
    """Whether a field has what it has by itself; 0 is not False here."""
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return type(default) is type(value) and bool(default == value)


def read(text: str | bytes) -> Any:
    """The value that was written; a mapping of JSON that says nothing of what it is stays one. Raises TypeError or ValueError for what ``plain`` does not write."""
    return _frozen(json.loads(text, object_hook=_noun))


class _List(list[Any]):
    """A list that was one before, too; all others of JSON stand for tuples."""


def _frozen(value: Any) -> Any:
    if type(value) is list:
        return tuple([_frozen(item) if type(item) in _LISTS else item for item in value])
    return list(value) if type(value) is _List else value


_LISTS = frozenset({list, _List})
_WORDS: Mapping[str, Mapping[Any, Enum]] = {
    name: {member.value: member for member in noun} for name, noun in NOUNS.items() if issubclass(noun, Enum)
}  # a look-up is a third of what the call of an enumeration costs


def _noun(pairs: dict[str, Any]) -> Any:
    """One mapping of JSON, with all within it read already but for the lists. The program waits for this some thousand times."""
    name = next(iter(pairs), "")
    if (words := _WORDS.get(name)) is not None:
        word = words.get(pairs[name])
        if word is None:
            raise ValueError(f"unknown: {name} {pairs[name]!r}")
        return word
    noun = NOUNS.get(name)
    if noun is not None:
        given = pairs.pop(name)
        if given is not None:
            return noun(*_frozen(given)) if type(given) is list else noun(given)
        for key, inner in pairs.items():
            if type(inner) in _LISTS:
                pairs[key] = _frozen(inner)
        return noun(**pairs)
    if name[:1].isupper():
        raise ValueError(f"unknown: {name}")
    reader = _READERS.get(name)
    return {key: _frozen(inner) for key, inner in pairs.items()} if reader is None else reader(_frozen(pairs[name]))


_READERS: Mapping[str, Callable[[Any], Any]] = {"dict": dict, "list": _List, "set": set, "frozenset": frozenset}

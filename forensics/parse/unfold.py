"""Find the measured configurations in a JSON value of any shape: records within records, keyed by what they were measured with, or columns. Never looks at what they mean.

What stands above a record holds for it: ``{"model": "m", "runs": {"topk4_budget32": {"accuracy": 0.5}}}`` is one row of that model and that tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from forensics import lazily
from forensics.model import Columns
from forensics.parse.matrix import read, snake

_DEEP = 6
MOST_ROWS = 20_000
_IN_KEY = lazily.pattern(r"(?P<name>[A-Za-z]{1,12}(?:_[A-Za-z]{1,12}){0,3}?)[=:_ -]{0,2}(?P<value>\d{1,9})(?!\d|\.\d)")
Flat = dict[str, Any]


def rows(value: Mapping[str, Any], columns: Columns) -> list[Flat]:
    """All configurations in a value, flat. Empty where it is one itself, or where they stand in a list of records and nothing above says more of them."""
    if read(value, 1, "", columns) is not None:
        return []
    found: list[Flat] = []
    plain = True
    for flat, alone in _within(value, {}, columns, 0):
        found.append(flat)
        plain = plain and alone
        if len(found) >= MOST_ROWS:
            break
    return [] if plain else found


def _within(value: Mapping[str, Any], above: Flat, columns: Columns, depth: int) -> Iterator[tuple[Flat, bool]]:
    """Flat rows, each with whether it is a record of a list that stands by itself."""
    own = {**above, **{key: item for key, item in value.items() if not isinstance(item, (dict, list))}}
    in_columns = _columns(value)
    if in_columns and read({**own, **in_columns[0]}, 1, "", columns) is not None:
        yield from (({**own, **column}, False) for column in in_columns)
        return
    inner = {key: item for key, item in value.items() if isinstance(item, dict)}
    beside: Flat = {}
    for item in inner.values():
        beside.update({key: told for key, told in item.items() if not isinstance(told, (dict, list))})
    rows_inside = any(read({**above, **_told(key, columns), **item}, 1, "", columns) is not None for key, item in inner.items())
    if not rows_inside and read(flat := {**beside, **own}, 1, "", columns) is not None:
        yield flat, False
        return
    if depth >= _DEEP:
        return
    names = columns.carried | columns.own.keys()
    carried = {key: item for key, item in own.items() if key in names}
    for key, item in value.items():
        if isinstance(item, dict):
            yield from _within(item, {**carried, **_told(key, columns)}, columns, depth + 1)
        elif isinstance(item, list) and item and isinstance(item[0], dict):
            says = {**carried, **_told(key, columns)}
            for record in item:
                if isinstance(record, dict):
                    alone = (
                        depth == 0
                        and not set(says) & {*columns.conditions, *columns.widths, *columns.steps}
                        and read(record, 1, "", columns) is not None
                    )
                    yield from ((flat, alone) for flat, _ in _within(record, says, columns, depth + 1))


def _told(key: str, columns: Columns) -> Flat:
    """What a key says of what is below it: ``topk4_budget32``, ``budget=8``."""
    if len(key) > 200:
        return {}
    found = {name: int(part["value"]) for part in _IN_KEY.finditer(key) if (name := snake(part["name"])) in {*columns.widths, *columns.steps}}
    return {**found, "label": key} if found else {}


def _columns(value: Mapping[str, Any]) -> list[Flat]:
    """Columns of equal length as records: of lists, or of mappings with the same keys."""
    lists = {key: item for key, item in value.items() if isinstance(item, list) and item and not isinstance(item[0], (dict, list))}
    if not lists:
        keyed = {
            key: item
            for key, item in value.items()
            if isinstance(item, dict) and item and not any(isinstance(v, (dict, list)) for v in item.values())
        }
        keys = next((list(item) for item in keyed.values()), [])
        lists = {key: list(item.values()) for key, item in keyed.items() if list(item) == keys and all(str(k).isdigit() for k in keys)}
    count = len(next(iter(lists.values()), ()))
    if len(lists) < 2 or count > MOST_ROWS or any(len(item) != count for item in lists.values()):
        return []
    return [{key: item[number] for key, item in lists.items()} for number in range(count)]

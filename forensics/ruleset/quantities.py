"""Read a captured text as what a rule says it is (a number, GiB, seconds, …), and write such a value for a person. Never raises: what cannot be read is unknown.

``gibs`` is the sum of all sizes that a text names: "Process 7 has 2.00 GiB memory in use. Process 9 has 512.00 MiB memory in use." is 2.5.
A unit of its own wins over the type's: ``20.00 MiB`` as ``gib`` is 0.0195. K, M, G and T count by 1024 with or without an i: servers and drivers mean that by both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from forensics import clock, lazily

# texts that the reasoning knows for what they are: words of a command line that were not taken, a flag that could be several, one that the program suggests,
# a value, and those that may be
WORDS = ("unknown-flags", "ambiguous-flag", "meant-flag", "choice", "choices")
TYPES = ("int", "number", "text", "gib", "gibs", "mib", "bytes", "seconds", "percent", *WORDS)
SIZES: Mapping[str, float] = {"gib": 2.0**30, "gibs": 2.0**30, "mib": 2.0**20, "bytes": 1.0}  # type → bytes
UNITS: Mapping[str, str] = {"gib": "GiB", "gibs": "GiB", "mib": "MiB", "bytes": "bytes", "seconds": "s", "percent": "%"}
_LONGEST = 60
_LONGEST_LIST = 4000
_FIGURE = r"[-+]?(?:[0-9]{1,3}(?:,[0-9]{3}){1,5}|[0-9]{1,18})(?:\.[0-9]{1,18})?"
_NUMBER = lazily.pattern(rf"({_FIGURE})(?:[eE]([-+]?[0-9]{{1,3}}))?")
_SIZE = lazily.pattern(rf"({_FIGURE}) ?(?:([KMGT]?)i?B|([KMGT])i?|bytes?)?", re.IGNORECASE)
_SIZES = lazily.pattern(r"\b[0-9]{1,9}(?:\.[0-9]{1,9})? (?:[KMGT]i?B|bytes)\b")
_PERCENT = lazily.pattern(rf"({_FIGURE}) ?%?")
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
Value = int | float | str | None


def read(text: str, type_: str) -> Value:
    """The value of a text by its type; None where it cannot be read."""
    text = text.strip()
    if type_ == "text" or type_ in WORDS:
        return text
    if type_ == "gibs":
        return _sum(text)
    if len(text) > _LONGEST:
        return None
    if type_ == "seconds":
        return clock.parse_span(text.replace(",", ""))
    if type_ == "int":
        return int(text.replace(",", "")) if (found := re.fullmatch(_FIGURE, text)) and "." not in found[0] else None
    if type_ == "number":
        return _number(text)
    if type_ == "percent":
        found = _PERCENT.fullmatch(text)
        return _figure(found[1]) if found else None
    return _size(text, SIZES[type_]) if type_ in SIZES else None


def _figure(text: str) -> float:
    return float(text.replace(",", ""))


def _number(text: str) -> float | None:
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    value = float(found[0].replace(",", ""))
    return value if math.isfinite(value) else None


def _sum(text: str) -> float | None:
    """All sizes that a text names with their unit, added up, in GiB; None where it names none."""
    found = [_size(m[0], 2.0**30) for m in _SIZES.finditer(text[:_LONGEST_LIST])]
    return sum(size for size in found if size is not None) if found else None


def _size(text: str, one: float) -> float | None:
    found = _SIZE.fullmatch(text)
    if found is None:
        return None
    value, letter = _figure(found[1]), (found[2] or found[3] or "").lower()
    if found[0] == found[1]:  # a bare number
        return value
    return float(value * 1024.0 ** _POWERS[letter] / one)


def shown(value: Value, type_: str) -> str | None:
    """A value with its unit and no more digits than are worth reading; None for an unknown one."""
    if value is None or isinstance(value, str):
        return value
    if type_ in SIZES:
        return _bytes(value * SIZES[type_])
    if type_ == "seconds":
        return clock.span(value)
    return f"{_short(value)}%" if type_ == "percent" else str(value) if type_ == "int" else _short(value)


def _bytes(count: float) -> str:
    for unit, power in (("TiB", 4), ("GiB", 3), ("MiB", 2), ("KiB", 1)):
        if abs(count) >= 1024.0**power:
            return f"{_short(count / 1024.0**power)} {unit}"
    return f"{_short(count)} bytes"


def _short(value: float) -> str:
    """Four digits where there is a fraction; 0.01953 is worth no fifth."""
    if value == int(value):
        return str(int(value))
    places = max(0, 3 - math.floor(math.log10(abs(value))))
    text = f"{value:.{min(places, 12)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def typed(types: Mapping[str, str], captures: Mapping[str, str]) -> dict[str, Value]:
    """The captures of a hit by the types of its rule; one without a type stays the text it is."""
    return {name: read(text, types[name]) if name in types else text for name, text in captures.items()}


def spoken(types: Mapping[str, str], captures: Mapping[str, str]) -> dict[str, str]:
    """The captures of a hit as a text for a person may hold them; what could not be read by its type is left out."""
    told = {name: shown(read(text, types[name]), types[name]) if name in types else text for name, text in captures.items()}
    return {name: text for name, text in told.items() if text is not None}

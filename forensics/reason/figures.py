"""Figures out of what a line has said. Never raises: anything may stand where a number is expected."""

from __future__ import annotations

import math
import re

_WHOLE = re.compile(r"-?[0-9]{1,18}")
_FIGURE = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?")


def whole(text: str | None) -> int | None:
    """A whole number of at most 18 digits, or None: no pid, port, code or count has more, and int() refuses 4301."""
    return int(text) if text and _WHOLE.fullmatch(text) else None


def figure(text: str | None) -> float | None:
    """A number with or without a fraction, or None (``1.2.3`` is none)."""
    return float(text) if text and _FIGURE.fullmatch(text) else None


def finite(text: str) -> float | None:
    """Whatever float() takes and is a number that can be reckoned with."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None

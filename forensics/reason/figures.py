"""Figures out of what a line has said. Never raises: anything may stand where a number is expected."""

from __future__ import annotations

import math

from forensics import lazily

_WHOLE = lazily.pattern(r"-?[0-9]{1,18}")
_BAR = lazily.pattern(r"(?:(?P<hours>[0-9]{1,4}):)?(?P<minutes>[0-5]?[0-9]):(?P<seconds>[0-5][0-9])")
_FIGURE = lazily.pattern(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?")


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


def bar_seconds(text: str | None) -> float | None:
    """Seconds of ``01:40`` or ``1:31:04``, as progress bars print what they took and what is left; None for ``?`` and all else."""
    found = _BAR.fullmatch(text) if text else None
    return int(found["hours"] or 0) * 3600.0 + int(found["minutes"]) * 60.0 + int(found["seconds"]) if found else None

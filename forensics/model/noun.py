"""What all frozen dataclasses of the project have in common: they are equal, hashed and shown by their fields, as ``dataclass`` itself would do it.

Up to Python 3.12 the standard library writes and compiles these methods for every class at its import, which was a fifteenth of the CPU time of a
small diagnosis. So they are inherited, and the classes say ``eq=False, repr=False``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import Any


class Noun:
    """Base of a dataclass that says ``frozen=True, eq=False, repr=False``. A field with ``compare=False`` or ``repr=False`` is left out, as ever."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        kind: type[Any] = type(self)
        if kind is not type(other):
            return NotImplemented
        compared = _compared(kind)
        return compared(self) == compared(other)

    def __hash__(self) -> int:
        kind: type[Any] = type(self)
        return hash(_compared(kind)(self))

    def __repr__(self) -> str:
        kind: type[Any] = type(self)
        told = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(kind) if field.repr)
        return f"{kind.__qualname__}({told})"


_COMPARED: dict[type[Any], Callable[[object], object]] = {}  # class → what reads the fields that count


def _compared(noun: type[Any]) -> Callable[[object], object]:
    known = _COMPARED.get(noun)
    if known is None:
        known = _COMPARED[noun] = attrgetter(*[field.name for field in fields(noun) if field.compare])
    return known

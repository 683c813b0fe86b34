"""A number with its noun."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """``1 line``, ``2 lines``, ``0 lines``; of a noun whose plural takes an s."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

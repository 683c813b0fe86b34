"""Time that no busy machine changes."""

from __future__ import annotations

import sys
from collections.abc import Callable


def steps(call: Callable[[], object]) -> int:
    """How many functions are called, and generators resumed, until ``call`` is done."""
    count = 0

    def counted(*_: object) -> None:
        nonlocal count
        count += 1

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        call()
    finally:
        sys.setprofile(before)
    return count

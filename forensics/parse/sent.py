"""Tell how many requests a client sent whose result counts only those that came back. Nothing is said of what became of the others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from forensics import lazily
from forensics.parse import peer
from forensics.parse.wording import MAX_LINE

# the bar of a run that came to its end: it counts requests, whatever became of them
_FULL_BAR = lazily.pattern(r"(?:^|\s|\r)100%\|[^|\n]{0,400}\| (?P<done>\d{1,9})/(?P<of>\d{1,9}) \[")
# what the command asked for, also where it has no prompt before it or goes over several lines
_TYPED = lazily.pattern(r"(?:^|\s)--num[-_]prompts(?:=|\s{1,8})(?P<n>\d{1,9})(?=\s|$)")


def of(lines: Sequence[str], opening: re.Pattern[str]) -> int | None:
    """How many requests the run was of whose result begins at the line that ``opening`` matches; None where nothing above it tells.

    The bar stands over the command: it counts what was done.
    """
    above = list(takewhile(lambda line: not opening.match(line), lines))
    return _counted(above) or _asked_for(above)


def _counted(above: Sequence[str]) -> int | None:
    for line in above:
        if (bar := _FULL_BAR.search(line)) and bar["done"] == bar["of"]:
            return int(bar["of"])
    return None


def _asked_for(above: Sequence[str]) -> int | None:
    """None also where two commands do not agree."""
    told = {int(found["n"]) for line in above if not peer.config_line(line) for found in _TYPED.finditer(line[:MAX_LINE])}
    return told.pop() if len(told) == 1 else None

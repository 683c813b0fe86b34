"""Regular expressions that are compiled when they are first used. Never changes what an expression means, and hides no wrong one: a test compiles them all.

A diagnosis of one kind of file uses less than a third of the expressions that its modules hold; to compile the others cost more than all else of an import.
"""

from __future__ import annotations

import re
from typing import AnyStr, cast

_USES = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn", "scanner", "groups", "groupindex", "flags")


class LazyPattern:
    """Stands for a compiled expression. The first use of any of its methods puts all of them into the object: a later use is one look-up, as with the real one."""

    def __init__(self, pattern: str | bytes, asked: int) -> None:
        self.pattern = pattern
        self.asked = asked

    def __getattr__(self, name: str) -> object:
        if name not in _USES:
            raise AttributeError(f"a regular expression has no attribute {name!r}")
        compiled = re.compile(self.pattern, self.asked)
        for use in _USES:
            setattr(self, use, getattr(compiled, use))
        return getattr(compiled, name)

    def __reduce__(self) -> tuple[type[LazyPattern], tuple[str | bytes, int]]:
        return LazyPattern, (self.pattern, self.asked)  # what is in the object besides cannot be copied or sent to another process

    def __repr__(self) -> str:
        return f"lazily.pattern({self.pattern!r}, {self.asked})"


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Like ``re.compile``, for expressions of modules. What asks for a real one (``re.sub(pattern, …)``, ``re.compile(pattern)``) does not take it."""
    return cast("re.Pattern[AnyStr]", LazyPattern(text, int(flags)))

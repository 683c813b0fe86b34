"""Lines that are worded alike, and the stretch of a source in which somebody looks for them. Nothing here reads a line."""

from __future__ import annotations

from dataclasses import dataclass, field

from forensics.model.noun import Noun

WILD = "*"  # among the words of a wording: what differs from line to line


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Window(Noun):
    """A stretch of a source: from a line that is known (number, offset and text) up to another life's first, and at most so many bytes."""

    source: str
    line: int
    start: int
    text: str
    end_line: int | None = None
    end: int | None = None
    most_bytes: int = 1 << 20
    idents: frozenset[str] = frozenset()  # whose lines count; all where it is empty


@dataclass(kw_only=True)
class Wording:
    """What some lines have in common. ``words`` with ``WILD`` for what differs; ``text`` as the first of them has it."""

    words: tuple[str, ...]
    text: str
    source: str
    line: int
    last_line: int
    count: int = 1
    goes_on: bool = False  # the first of them is a further line of a record


@dataclass
class Read:
    """The wordings of a stretch, in the order in which they came, and the offset up to which it was read; None: to its end."""

    wordings: list[Wording] = field(default_factory=list)
    until: int | None = None
    found: bool = True  # whether the stretch was there where it was looked for

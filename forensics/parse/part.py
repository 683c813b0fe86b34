"""A stretch of a section that is of one kind, and its text. Never says what kind it is."""

from __future__ import annotations

from dataclasses import dataclass

from forensics import lazily
from forensics.model import Noun, PartKind, Problem, Section

_TRAILING = lazily.pattern(r"[ \t\r]+(?=\n|\Z)")  # what editors and terminals leave at the end of a line


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Part(Noun):
    """A stretch of a section. Lines count from 1, ``start`` and ``end`` are byte offsets; ``last_line`` and ``end`` None: to the end of the section.

    ``command`` is what was typed to get it, in a pasted terminal, and ``command_line`` where; the line of the prompt is not in the part.
    """

    kind: PartKind
    first_line: int = 1
    last_line: int | None = None
    start: int = 0
    end: int | None = None
    command: str | None = None
    command_line: int = 0
    entries: bool = False  # its lines are entries of a journal in json, whatever it is evidence of
    problems: tuple[Problem, ...] = ()


def read_text(section: Section, part: Part, limit: int, problems: list[Problem]) -> str:
    """The text of one part, at most ``limit`` bytes of it; what is left out becomes a problem."""
    with section.open() as stream:
        stream.seek(part.start)
        size = limit + 1 if part.end is None else min(part.end - part.start, limit + 1)
        data = stream.read(max(0, size))
    if len(data) > limit:
        problems.append(Problem(source=section.name, line=part.first_line, text=f"only the first {limit >> 20} MiB of this {part.kind} were read"))
        data = data[: data.rfind(b"\n", 0, limit) + 1 or limit]
    return _TRAILING.sub("", data.decode("utf-8", "replace"))

"""What the lint says of a rule: a text with its place, how bad it is, and a way out. Finds nothing itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from forensics.model import Location, Noun


class Level(Enum):
    """A fault has to be mended, a warning may be meant, a remark is for who wants to read all."""

    FAULT = "fault"
    WARNING = "warning"
    REMARK = "remark"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Note(Noun):
    """One finding; prints as ``path:line:col: text (hint)``, with the level where it is no fault. What the text shows of a condition comes below that line."""

    text: str
    at: Location
    hint: str = ""
    level: Level = Level.WARNING

    @property
    def fault(self) -> bool:
        """Whether it has to be mended."""
        return self.level is Level.FAULT

    def __str__(self) -> str:
        level = "" if self.fault else f"{self.level.value}: "
        text, *shown = self.text.split("\n")
        return "\n".join([f"{self.at}: {level}{text}" + (f" ({self.hint})" if self.hint else ""), *shown])

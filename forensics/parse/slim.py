"""Read JSON of any size in bounded memory: its objects one by one, without what makes them large. Never looks at what the figures mean.

A result of a long run is large for its arrays: every generated text, every gap between two tokens, every request. Numbers of an array that is too long are left out
altogether (its beginning would stand for all of it, and a run's first requests are not like its last), of texts and objects the first are kept.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from forensics import lazily

ARRAY = 1 << 20  # characters of one array that are kept
OBJECTS = 16 << 20  # of an array of results
OBJECT = 32 << 20  # of one object in all
_CHUNK = 1 << 20
_LONGEST = 4 << 20  # of one text or line
_PIECE = lazily.pattern(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]|[^"\[\]{}]+')


@dataclass(eq=False, repr=False)
class Slimmed:
    """What was left out, as far as reading has come."""

    cut: dict[str, None] = field(default_factory=dict)  # names of arrays
    broken: str = ""


@dataclass(eq=False, repr=False)
class _Level:
    """An array or object that is open; ``kept`` is where its content begins in what is kept."""

    closes: str
    name: str
    kept: int
    limit: int
    skipping: bool = False
    texts: bool = False


def objects(stream: BinaryIO, told: Slimmed, first_line: int = 1) -> Iterator[tuple[int, str]]:
    """Each object at the top (or in an array at the top) with the line it begins on, slimmed. What comes after a fault is not read."""
    fold = _Fold(told, first_line)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    held = ""
    while chunk := stream.read(_CHUNK):
        held += decoder.decode(chunk)
        at = 0
        while at < len(held) and not told.broken:
            if not fold.levels and (line := _whole_line(held, at)):
                yield fold.line, line
                at += len(line)
                continue
            piece = _next(held, at)
            if not piece:
                break
            at += len(piece)
            if (whole := fold.take(piece)) is not None:
                yield whole
        held = held[at:]
        if len(held) > _LONGEST:
            told.broken = "a text or a number without end"
        if told.broken:
            return
    if fold.levels:
        told.broken = "it breaks off"


def _whole_line(held: str, at: int) -> str:
    """The object that is a line of its own, as in JSON lines; empty where none is."""
    if held[at] != "{" or (end := held.find("\n", at, at + ARRAY)) < 0:
        return ""
    line = held[at:end].rstrip().removesuffix(",")
    return line if line.endswith("}") and line.count("{") == line.count("}") else ""


def _next(held: str, at: int) -> str:
    """The next bracket, text, or what lies between them; empty where it may go on in the next chunk."""
    found = _PIECE.match(held, at)
    if found is None:
        return ""
    if found.end() == len(held) and held[at] not in "[]{}":
        return found[0][: found[0].rfind(",") + 1] if held[at] != '"' else ""
    return found[0]


class _Fold:
    """The fold over pieces behind ``objects``."""

    def __init__(self, told: Slimmed, first_line: int) -> None:
        self.told = told
        self.line = self.began = first_line
        self.levels: list[_Level] = []
        self.kept: list[str] = []
        self.length = 0
        self.last = ""  # text that may be a key

    def take(self, piece: str) -> tuple[int, str] | None:
        """Take one piece; what it completes."""
        self.line += piece.count("\n")
        if not self.levels and piece != "{":
            return None  # between objects
        if piece in ("{", "["):
            self._open(piece)
        elif piece in ("}", "]"):
            return self._close(piece)
        elif not self._skipped():
            self._keep(piece)
            top = self.levels[-1]
            if piece[0] == '"':
                top.texts = True
                self.last = piece[1:80].rstrip('"')
            elif top.closes == "]" and self.length - top.kept > top.limit and "," in piece:
                self._leave_out(top)
        return None

    def _open(self, piece: str) -> None:
        if not self.levels:
            self.began, self.kept, self.length = self.line, [], 0
        parent = self.levels[-1] if self.levels else None
        skipped = self._skipped()
        if not skipped:
            if parent is not None and parent.closes == "]":
                parent.texts = True
                if len(self.levels) == 2 and piece == "{":
                    parent.limit = OBJECTS
            self._keep(piece)
        name = self.last if parent is None or parent.closes == "}" else parent.name
        self.levels.append(_Level("}" if piece == "{" else "]", name, self.length, ARRAY if piece == "[" else OBJECT, skipping=skipped))

    def _close(self, piece: str) -> tuple[int, str] | None:
        if self.levels[-1].closes != piece:
            self.told.broken = "brackets that don't match"
            return None
        level = self.levels.pop()
        if not self._skipped():
            self._keep(piece)
            if level.closes == "]" and not level.texts and self.length - level.kept > level.limit:
                self._leave_out(level)
                self._keep(piece)
        if self.length > OBJECT:
            self.told.broken = "an object of more than 32 MiB, its long arrays left out"
            return None
        return (self.began, "".join(self.kept)) if not self.levels else None

    def _leave_out(self, level: _Level) -> None:
        """Keep no more of an array; of numbers, nothing."""
        self.told.cut[level.name] = None
        level.skipping = True
        if not level.texts:
            while self.length > level.kept:
                self.length -= len(self.kept.pop())
        else:  # the comma before what follows
            self.length -= len(self.kept.pop())

    def _skipped(self) -> bool:
        return bool(self.levels) and self.levels[-1].skipping

    def _keep(self, piece: str) -> None:
        self.kept.append(piece)
        self.length += len(piece)

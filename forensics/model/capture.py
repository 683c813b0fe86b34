"""What was collected and its lines: targets, sections, captures, frames, hits and records. Nothing here is parsed or judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple

from forensics.model.columns import NO_COLUMNS, Columns
from forensics.model.noun import Noun
from forensics.model.vocabulary import Coverage, Origin, PartKind, Word


class Location(NamedTuple):
    """A place in a file that a person wrote; line and col count from 1, 0 is unknown."""

    path: str
    line: int = 0
    col: int = 0

    def __str__(self) -> str:
        text = self.path
        if self.line:
            text += f":{self.line}"
            if self.col:
                text += f":{self.col}"
        return text


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Problem(Noun):
    """Something in the evidence that could not be read; the rest was. ``line`` counts from 1, 0 is the whole source."""

    source: str
    line: int = 0
    text: str


class TargetKind(Word):
    SSH = "ssh"
    LOCAL = "local"
    FILES = "files"
    BUNDLE = "bundle"
    DOCKER = "docker"
    PODMAN = "podman"
    K8S = "k8s"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Target(Noun):
    """Where to look. ``name`` is what the user typed; ``paths`` holds files or the folder, ``-`` is standard input.

    ``inside`` names a container: (NAME,) of an engine, (NAMESPACE, POD) or (NAMESPACE, POD, CONTAINER) of a cluster.
    """

    kind: TargetKind
    name: str
    host: str | None = None
    paths: tuple[Path, ...] = ()
    inside: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Section(Noun):
    """One answer: the bytes of one command or file, on disk, read by ``chunks`` and never whole.

    ``cut`` is how many bytes are missing (-1: some, number unknown). ``stderr`` is at most 2 KiB.
    """

    name: str
    path: Path
    argv: str = ""
    exit_code: int | None = None
    took_s: float | None = None
    cut: int = 0
    coverage: Coverage = Coverage.READ
    stderr: str = ""
    part: PartKind | None = None  # None: to be recognised by its content
    hint: PartKind | None = None  # what a file of that name usually holds: decides only where the content says nothing
    text: bytes | None = None  # what is read in place of the file: a paste without what was around it, line for line
    entries: PartKind | None = None  # ``text`` is what a collector exported, as entries of a journal in json: evidence of this kind

    def open(self) -> BinaryIO:
        """The bytes as a stream that can be sought in."""
        return self.path.open("rb") if self.text is None else BytesIO(self.text)

    def size(self) -> int:
        """How many bytes there are."""
        return self.path.stat().st_size if self.text is None else len(self.text)

    def chunks(self, max_bytes: int = 1 << 20) -> Iterator[bytes]:
        """Yield the bytes in pieces of at most ``max_bytes``."""
        with self.open() as stream:
            while piece := stream.read(max_bytes):
                yield piece

    def head(self, max_bytes: int = 1 << 16) -> bytes:
        """The first bytes, for recognising and for small answers."""
        with self.open() as stream:
            return stream.read(max_bytes)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Pick(Noun):
    """Which unit is meant and why. ``how``: asked · mistyped · failed · restarting · starting · profile · evidence · several ·
    missing · elsewhere (the evidence is of other units, those in ``candidates``) · none."""

    asked: str | None = None
    unit: str | None = None
    how: str = "none"
    why: str = ""
    distance: int = 0
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Capture(Noun):
    """All that was collected from one target. ``offset_s`` is the host's clock minus ours."""

    target: Target
    sections: tuple[Section, ...]
    host: str | None = None
    at: float | None = None
    offset_s: float | None = None
    took_s: float | None = None
    pick: Pick = field(default_factory=Pick)
    problems: tuple[Problem, ...] = ()
    bench_fields: tuple[tuple[str, str], ...] = ()  # names of an own harness, and what they mean
    columns: Columns = NO_COLUMNS  # what those of measured configurations are called, with the names of an own harness; from the rules, and not kept
    bench_window: tuple[float, float] | None = None  # by the host's clock: when a client's output came that has no times of its own

    def section(self, name: str) -> Section | None:
        """The section of that name, or None."""
        return next((s for s in self.sections if s.name == name), None)


class Frame(NamedTuple):
    """One line that a rule might want, with its wrappers and prefixes taken off. Made for candidates only, never for every line.

    ``stamp`` and ``inner`` are the outermost and the server's own time as written, not parsed. ``text`` is the message alone.
    A continuation line carries the stamp, pid and rank of the record it belongs to.
    """

    source: str
    line_no: int  # of the section, from 1
    start: int  # byte offset of the line in the section
    text: str
    origin: Origin = Origin.ANY
    continuation: bool = False
    stamp: str = ""
    inner: str = ""
    ident: str = ""
    pid: int | None = None
    rank: str = ""
    host: str = ""
    fields: Mapping[str, str] = {}  # trusted journal fields, where the format has them
    order: int = 0  # sorts the lines of a source, see ``order_of``; 0: by line_no alone
    record: int | None = None  # order of the line that begins its record; None: none with a stamp of its own was seen
    height: int = 1  # lines that its entry takes in the file: many where each field has its own

    def moved(self, lines: int) -> Frame:
        """The same line, so many lines further down in its source."""
        far = order_of(lines)
        order, record = self.order + far if self.order else 0, None if self.record is None else self.record + far
        return self._replace(line_no=self.line_no + lines, order=order, record=record)


def order_of(line_no: int, nth: int = 0) -> int:
    """The order of a line: by that of its entry, then by its number in the message. All of a message after 4096 lines are alike."""
    return (line_no << 12) + min(nth, 4095)


class Hit(NamedTuple):
    """A rule matched a line. Nothing is known yet about its life, phase or time."""

    rule: str
    frame: Frame
    captures: Mapping[str, str]


class Record(NamedTuple):
    """A line with its time read: made for hits, first and last lines only."""

    at: float | None
    source: str
    line_no: int
    text: str
    origin: Origin
    pid: int | None = None
    ident: str = ""
    rank: str = ""
    priority: int | None = None
    boot: str = ""
    invocation: str = ""
    unit: str = ""
    transport: str = ""


class Seen(NamedTuple):
    """A hit together with the record of its line."""

    hit: Hit
    record: Record

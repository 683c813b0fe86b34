"""Captures of a few lines, for the tests of framing."""

from __future__ import annotations

from pathlib import Path

from forensics.model import Capture, Frame, PartKind, Section, Target, TargetKind
from forensics.parse.block import Block
from forensics.parse.frame import frames

DATA = Path(__file__).parents[2] / "data" / "parse"

# as a profile gives them
PREFIXES = (
    r"^\[(?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?P<rank>(?: (?:DP|PP|TP|EP)\d+){0,4})\] ",
    r"^\((?P<proc>[A-Za-z_]{1,40}\d{0,3}) pid=(?P<pid>\d+)\) ?(?:(?:INFO|WARNING|ERROR) (?P<stamp>\d\d-\d\d \d\d:\d\d:\d\d) \[[\w.]{1,60}:\d+\] ?)?",
)


def section_of(path: Path, *, part: PartKind | None = None, name: str | None = None) -> Section:
    return Section(name=name or path.name, path=path, part=part)


def written(folder: Path, text: str | bytes, *, name: str = "-", part: PartKind | None = None) -> Section:
    path = folder / (name if name != "-" else "stdin")
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return section_of(path, name=name, part=part)


def blocks_of(*sections: Section) -> list[Block]:
    return list(frames(Capture(target=Target(kind=TargetKind.FILES, name="test"), sections=sections), PREFIXES))


def frames_of(*sections: Section) -> list[Frame]:
    return [block.frame(i) for block in blocks_of(*sections) for i in range(len(block.keys))]

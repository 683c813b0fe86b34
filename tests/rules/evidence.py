"""All evidence that lies in this repository, and what the rules take of it. Judges no answer: it says only which rule, mark or figure fired where.

Kinds, from real to made: ``sample`` (shipped), ``given`` (failures that people reported), ``host`` (outputs of real hosts and containers), ``made`` (cases
written from real wordings).
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from forensics import api, collect, parse
from forensics.errors import TargetError
from forensics.model import Capture, Facts, Frame, Origin
from forensics.reason.known import KnownFacts, known_facts
from forensics.reason.place import Story, story_of
from forensics.reason.verdict import conditions
from forensics.ruleset.schema import RuleSet
from tests.testbed.bed import silent, unpack

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("sample", "given", "host", "made")
OUTPUTS = ("journal-export.out", "show.out", "status.out")


class Piece(NamedTuple):
    """One folder of evidence; ``files`` are those that are read (a case's answer is not)."""

    kind: str
    name: str
    files: tuple[Path, ...]
    folder: Path


def pieces(outputs: Path) -> Iterator[Piece]:
    """Every piece of evidence; ``outputs`` is where the outputs of real hosts were unpacked."""
    for folder in sorted(p for p in (ROOT / "samples").iterdir() if p.is_dir()):
        yield _piece("sample", folder)
    for kind in ("given", "made"):
        for case in sorted((ROOT / "tests/cases" / kind).glob("*/case.yaml")):
            yield _piece(kind, case.parent)
    for folder in sorted(p for p in outputs.glob("*/*") if p.is_dir()):
        yield _piece("host", folder)
    for group in ("beside", "containers", "reason", "rules"):
        for folder in sorted(p for p in (ROOT / "tests/data" / group).iterdir() if p.is_dir()):
            yield _piece("host", folder)


def _piece(kind: str, folder: Path) -> Piece:
    files = sorted(p for p in folder.iterdir() if p.is_file() and p.name not in ("case.yaml", "README.md") and p.stat().st_size)
    # of a host's outputs one form of each is enough: the others say the same
    return Piece(kind, folder.name, tuple(p for p in files if p.name in OUTPUTS) or tuple(files), folder)


def unpacked() -> tempfile.TemporaryDirectory[str]:
    """The outputs of real hosts in a folder that goes away with the object."""
    where = tempfile.TemporaryDirectory(prefix="rules-evidence-")
    unpack("outputs.tar.xz", Path(where.name))
    return where


@dataclass(kw_only=True)
class Told:
    """What one piece says to the rules."""

    piece: Piece
    facts: Facts
    story: Story
    known: KnownFacts
    fired: set[str]
    lines: set[tuple[Origin, str]] = field(default_factory=set)


def told(piece: Piece, rules: RuleSet, *, lines: bool = False) -> Told | None:
    """Read a piece as the command does; None where there is nothing to read. ``lines`` keeps the distinct messages as well."""
    with tempfile.TemporaryDirectory() as folder:
        where = piece.folder
        if len(piece.files) != sum(1 for _ in where.iterdir()):
            where = Path(folder, piece.name)
            where.mkdir()
            for file in piece.files:
                shutil.copy2(file, where)
        (target,) = collect.parse_targets([str(where)])
        try:
            with collect.open_target(target) as session:
                capture = api.look(session, rules, unit=None, since=None, progress=silent)[0]
                facts, capture = api.facts_of(capture, rules, unit=None)
                seen = {(f.origin, f.text) for f in _frames(capture, rules)} if lines else set()
                session.discard()
        except TargetError:  # nothing in it that could be read
            return None
    at = facts.at if facts.at is not None and not facts.since_boot else capture.at
    story = story_of(facts, rules, capture.pick.unit, at=at, pick=capture.pick)
    known = known_facts(story)
    return Told(piece=piece, facts=facts, story=story, known=known, fired=fired_in(story, known), lines=seen)


def _frames(capture: Capture, rules: RuleSet) -> Iterator[Frame]:
    for block in parse.frames(parse.prepared(capture), rules.prefixes):
        for i in range(len(block.keys)):
            if block.keys[i].strip():
                yield block.frame(i)


def fired_in(story: Story, known: KnownFacts) -> set[str]:
    """Ids of the rules with a signal in any life, of the conditions that hold, and of the marks and figures met."""
    rules = {r.id for r in story.rules.rules if r.line}
    placed = {s.rule for s in story.signals} | {s.rule for s in conditions(known) if s.certain}
    return placed | {seen.hit.rule for seen in story.facts.seen if seen.hit.rule not in rules}

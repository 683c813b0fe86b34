"""Fuzzed as files: sections in frames, facts and the diagnosis of several files, bundles and archives. Each function says what it must stand."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from forensics import api, collect, parse, ruleset
from forensics.collect import bundle
from forensics.collect.targets import parse_targets
from forensics.errors import BundleError, TargetError, UsageError
from forensics.model import Capture, Origin, PartKind, Section, Target, TargetKind
from forensics.parse import export, sniff, turned
from forensics.parse.part import Part
from forensics.parse.unwrap import ServerPrefixes, Unwrapper, clean
from fuzz import corpus
from fuzz.checks import diagnosis_holds, facts_hold, hold, lines_of, problems_in
from fuzz.corpus import NOW

SCRATCH = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else None
PARTS: tuple[PartKind | None, ...] = (None, *PartKind)


@contextmanager
def folder() -> Iterator[Path]:
    """A folder of its own for one input."""
    made = Path(tempfile.mkdtemp(prefix="ddf-fuzz-", dir=SCRATCH))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


@lru_cache(maxsize=1)
def rules() -> ruleset.RuleSet:
    return ruleset.load()


@lru_cache(maxsize=1)
def prefixes() -> ServerPrefixes:
    return ServerPrefixes(rules().prefixes)


def frames(data: bytes) -> None:
    """The first byte says what the section is taken for; the rest is framed to its end, every line at its place."""
    part, raw = PARTS[data[0] % len(PARTS)] if data else None, data[1:]
    with folder() as made:
        path = made / "x"
        path.write_bytes(raw)
        section = Section(name="x", path=path, part=part)
        found = sniff.parts(section, rules().columns)
        covered = [(p.start, p.end if p.end is not None else len(raw)) for p in found]
        hold(all(0 <= a <= b <= len(raw) for a, b in covered), f"a part beyond its file: {covered}")
        hold(all(before[1] <= after[0] for before, after in pairwise(covered)), f"parts that overlap: {covered}")
        for one in found:
            _turned(section, one, raw)
        last = raw.count(b"\n") + 1
        capture = Capture(target=Target(kind=TargetKind.FILES, name="x"), sections=(section,), columns=rules().columns)
        in_order = True  # a turned journal counts from its end
        for block in parse.frames(capture, rules().prefixes):
            in_order = in_order and not any(p.text == turned.TURNED for p in block.problems)
            for i in range(len(block.keys)):
                block.raw(i)
                frame = block.frame(i)
                hold(1 <= frame.line_no <= last and 0 <= frame.start <= len(raw), f"a frame beyond its file: {frame}")
                hold("\n" not in frame.text, f"a frame of two lines: {frame}")
                hold(not in_order or raw.count(b"\n", 0, frame.start) == frame.line_no - 1, f"a frame whose bytes are of another line: {frame}")
                parse.record(frame, year=2026, latest=NOW)
            problems_in(block.problems, first=1, last=last, source="x")


def _turned(section: Section, part: Part, raw: bytes) -> None:
    if part.kind in (PartKind.JOURNAL_TEXT, PartKind.JOURNAL_JSON, PartKind.KERNEL) and len(raw) < 1 << 16 and turned.newest_first(section, part):
        pieces = list(turned.turned(section, part))
        end = len(raw) if part.end is None else part.end
        size = sum(len(piece.data) for piece in pieces)
        hold(
            end - part.start <= size <= end - part.start + 1 + len(b"-- Reboot --\n") + sum(4096 for p in pieces if p.problems),
            "lines lost or doubled by turning",
        )


def openers(data: bytes) -> None:
    """Every line by itself, under every kind."""
    for line in data.decode("utf-8", "replace").split("\n")[:50]:
        hold("\0" not in clean(line), "a NUL is left")
        for kind in (PartKind.JOURNAL_TEXT, PartKind.KERNEL, PartKind.SERVER, PartKind.CLIENT, PartKind.NOTICE, PartKind.STATUS):
            opened = Unwrapper(kind, prefixes(), has_init=lambda: True).open(line)
            hold(kind is not PartKind.SERVER or opened.origin is Origin.SERVER, f"a line of a server's own log became another's: {opened}")


def exports(data: bytes) -> None:
    """One entry, field by field."""
    for name, value in export.fields_of(data):
        hold(b"\n" not in name and len(name) + len(value) <= len(data), "a field larger than its entry")


def _given(data: bytes, made: Path) -> Capture | None:
    """The capture; None where there is nothing in it that is text."""
    for name, body in corpus.several(data):
        (made / name).write_bytes(body)
        os.utime(made / name, (NOW, NOW))
    try:
        with collect.open_target(Target(kind=TargetKind.FILES, name="fuzzed", paths=(made,))) as session:
            return replace(collect.capture_from(session, session.ask(())), columns=rules().columns)
    except TargetError:
        return None


def gathered(data: bytes) -> None:
    """Facts of several files, without a rule; the same twice."""
    with folder() as made:
        capture = _given(data, made)
        if capture is None:
            return
        sources = {s.name: lines_of(s.path.read_bytes()) for s in capture.sections}

        def once() -> Any:
            blocks, tails = parse.watch(parse.frames(capture, ()))
            for _ in blocks:
                pass
            return parse.facts(capture, SimpleNamespace(hits=[], counts={}), tails=tails)

        facts = once()
        facts_hold(facts, sources)
        hold(repr(facts) == repr(once()), "facts are not the same twice")


def diagnosed(data: bytes) -> None:
    """The whole of it, on several files."""
    with folder() as made:
        if capture := _given(data, made):
            _diagnose(capture, twice=len(data) % 8 == 0)


def _diagnose(capture: Capture, *, twice: bool = False) -> None:
    facts, _ = api.facts_of(capture, rules())
    sources = {s.name: lines_of(s.path.read_bytes()) for s in capture.sections}
    facts_hold(facts, sources)
    diagnosis = api.diagnose_capture(capture, rules())
    diagnosis_holds(diagnosis, facts, sources)
    hold(api.code_of(diagnosis) in (0, 1, 3, 4, 5), "no such exit code")
    if twice:
        hold(repr(api.diagnose_capture(capture, rules())) == repr(diagnosis), "the diagnosis is not the same twice")


# --------------------------------------------------------------------------- bundles, archives, the wire


def bundles(data: bytes) -> None:
    """A folder whose manifest and answers are anything: the project's own error, or a capture of files within it that survives being saved."""
    manifest, _, rest = data.partition(corpus.NEXT_FILE)
    with folder() as made:
        saved = made / "saved"
        saved.mkdir()
        for name, body in corpus.several(corpus.NEXT_FILE + rest) if rest else []:
            (saved / name).write_bytes(body)
        (saved / "manifest.json").write_bytes(manifest)
        try:
            capture = bundle.load(saved)
        except BundleError:
            return
        for section in capture.sections:
            hold(section.path.resolve().parent == saved.resolve(), f"a file that is not its own: {section.path}")
        _diagnose(capture)
        bundle.save(capture, made / "again")
        again = bundle.load(made / "again")
        hold(again.at == capture.at and len(again.sections) == len(capture.sections), "not the same capture when it is saved again")


def archives(data: bytes) -> None:
    """A file that calls itself an archive, through the front door."""
    with folder() as made:
        path = made / "x.tar.zst"
        path.write_bytes(data)
        try:
            [target] = parse_targets([str(path)])
            with collect.open_target(target, spool=made) as session:
                capture = collect.capture_from(session, session.ask(()))
                for section in capture.sections:
                    hold(made.resolve() in section.path.resolve().parents, f"a file outside: {section.path}")
                    hold(not section.path.is_symlink(), f"a link: {section.path}")
        except (TargetError, BundleError, UsageError):
            return

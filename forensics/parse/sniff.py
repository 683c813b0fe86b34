"""Recognise what a section holds, by its content, and cut a pasted mixture into parts. Never opens a line for good, never decides by a file's name alone.

Only sections of at most ``MAX_MIXED`` bytes are cut up; a larger one is one kind of thing, recognised by its head.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from forensics.model import NO_COLUMNS, Columns, PartKind, Problem, Section
from forensics.parse import shape
from forensics.parse.dress import FENCE
from forensics.parse.injson import is_spread, json_kind
from forensics.parse.part import Part
from forensics.parse.prompt import Typed, bare_command, typed
from forensics.parse.shaped import OTHER, Run, run_at
from forensics.parse.shapeless import decided, healed, joined
from forensics.parse.unwrap import clean, journal_line

MAX_MIXED = 4 << 20
_HEAD = 1 << 16
_HINTS = frozenset({PartKind.KERNEL, PartKind.CLIENT, PartKind.SERVER})  # what text without a shape of its own can be


def parts(section: Section, columns: Columns = NO_COLUMNS) -> list[Part]:
    """What the section holds, in order; at least one part. Bounded: reads at most ``MAX_MIXED`` bytes. ``columns`` tell a table of results from a server's text."""
    if section.part is not None:
        return [Part(kind=_of_known(section, section.part))]
    if section.entries is not None:
        return [Part(kind=section.entries, entries=True)]
    size = section.size()
    mixed = size <= MAX_MIXED
    raw = section.head(MAX_MIXED if mixed else _HEAD)
    if not mixed:
        raw = raw[: raw.rfind(b"\n") + 1] or raw
    if not raw.strip():
        return [Part(kind=PartKind.EMPTY)]
    found = _cut(raw, section.name, section.hint if section.hint in _HINTS else None, columns)
    if not mixed:
        # the head may hold a prompt or two; what it ends with goes on
        last = found[-1]
        found[-1] = replace(last, last_line=None, end=None)
    return found


def _of_known(section: Section, kind: PartKind) -> PartKind:
    """Journals may come in any format, or not at all; other answers are what was asked for."""
    if kind not in (PartKind.JOURNAL_TEXT, PartKind.JOURNAL_JSON, PartKind.JOURNAL_EXPORT, PartKind.KERNEL):
        return kind
    head = section.head().decode("utf-8", "replace").lstrip()
    if not head:
        return PartKind.EMPTY
    first = shape.kind_of(clean(head.split("\n", 1)[0]))
    if first in (PartKind.JOURNAL_JSON, PartKind.JOURNAL_EXPORT, PartKind.NOTICE, PartKind.EMPTY):
        return first
    return PartKind.JOURNAL_TEXT if kind in (PartKind.JOURNAL_JSON, PartKind.JOURNAL_EXPORT) and first is PartKind.JOURNAL_TEXT else kind


def _cut(raw: bytes, source: str, usual: PartKind | None, columns: Columns) -> list[Part]:
    lines = raw.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    texts = [clean(line.decode("utf-8", "replace")) for line in lines]
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line) + 1)
    offsets[-1] = min(offsets[-1], len(raw))
    found: list[Part] = []
    for command, at, first, stop in _stretches(texts):
        for run in _runs(texts, first, stop, command, source.rpartition("/")[2].lower(), usual, columns):
            found.append(
                Part(
                    kind=run.kind or PartKind.SERVER, first_line=run.first + 1, last_line=run.stop, start=offsets[run.first], end=offsets[run.stop],
                    command=command, command_line=at + 1 if command else 0,
                    problems=(Problem(source=source, line=run.first + 1, text=run.problem),) if run.problem else (),
                )
            )  # fmt: skip
    return found or [Part(kind=PartKind.EMPTY)]


def _stretches(texts: Sequence[str]) -> Iterator[tuple[str | None, int, int, int]]:
    """Between the prompts and the fences of a paste: command, its line, first line of the answer, and the line after it (all from 0)."""
    command, at, first = None, 0, 0
    fenced = _fenced(texts)
    number = 0
    prompts: set[str] = set()
    while number < len(texts):
        found = typed(texts, number, prompts) or (_typed_alone(texts, number) if fenced or number == 0 else None)
        if found is None and not (fenced and FENCE.match(texts[number])):
            number += 1
            continue
        stop = number - _above(texts, first, number) if found is not None else number
        if command or any(t.strip() for t in texts[first:stop]):
            yield command, at, first, stop
        used = found.lines if found is not None else 1
        if found is not None and found.prefix:
            prompts.add(found.prefix)
        command, at, first = found.command if found is not None else None, number, number + used
        number += used
    if command or any(t.strip() for t in texts[first:]):
        yield command, at, first, len(texts)


def _fenced(texts: Sequence[str]) -> bool:
    """Whether the fences in it are those of a paste: a log may hold some too, but it does not begin with one, nor with the words of a person."""
    for text in texts[:200]:
        if FENCE.match(text):
            return True
        if journal_line(text) is not None or shape.LOGGED.match(text):
            return False
    return False


def _typed_alone(texts: Sequence[str], at: int) -> Typed | None:
    """A command without a prompt: after a fence or a blank line, and above what such a command answers."""
    command = bare_command(texts[at])
    if command is None or (at and texts[at - 1].strip() and not FENCE.match(texts[at - 1])):
        return None
    below = next((t for t in texts[at + 1 : at + 4] if t.strip()), "")
    return Typed(command) if FENCE.match(below) or shape.kind_of(below) is not None else None


def _above(texts: Sequence[str], first: int, at: int) -> int:
    """How many lines above a prompt are its own: themes draw the folder on a line above the sign."""
    if at <= first or not texts[at - 1].strip():
        return 0
    over, sign = texts[at - 1], texts[at][:1]
    if over[:1] in "╭┌" and sign in "╰└":
        return 1
    themed = sign in "❯➜λ" and (at - 2 < first or not texts[at - 2].strip() or over[:1] in "~/")
    return 1 if themed and shape.kind_of(over) is None and len(over) < 160 and not shape.LOGGED.match(over) else 0


def _runs(texts: Sequence[str], first: int, stop: int, command: str | None, name: str, usual: PartKind | None, columns: Columns) -> list[Run]:
    """One stretch cut into runs of one kind each."""
    while first < stop and not texts[first].strip():
        first += 1
    if first == stop:
        return [Run(PartKind.EMPTY, stop, stop)]
    if texts[first].startswith("__"):  # binary fields hold anything: nothing may be cut out of an export
        return [Run(PartKind.JOURNAL_EXPORT, first, stop)]
    if is_spread(texts, first, stop):
        return [Run(PartKind.JOURNAL_JSON, first, stop)]
    deep = ""
    try:
        if (whole := json_kind(texts, first, stop)) is not None:
            return [Run(whole, first, stop)]
    except RecursionError:
        deep = "brackets within brackets without end: no JSON that can be read, taken as text"
    runs: list[Run] = []
    at = first
    while at < stop:
        run = run_at(texts, at, stop, runs) or Run(OTHER, at, at + 1)
        if run.kind is OTHER and runs and runs[-1].kind is OTHER:
            runs[-1].stop = run.stop
        else:
            runs.append(run)
        at = run.stop
    found = joined([one for run in healed(texts, runs) for one in decided(texts, run, command, name, usual, columns)])
    found[0].problem = deep
    return found

"""Read some stretches of a capture once more, for what is worded there: lines that differ in numbers, paths and names only are one wording. Bounded; never judges a line.

The first reading keeps hits alone. Which stretches matter is known only when the lives are, so the few mebibytes of two lives are read again, and no line of a
capture pays for it beforehand. Between the two readings a log may be rotated: what is not there any more, or is another file by now, is not compared.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import overload

from forensics import lazily
from forensics.model import WILD, Capture, Frame, Origin, PartKind, Read, Section, Window, Wording
from forensics.parse import frame as framing
from forensics.parse import sniff
from forensics.parse.block import Block, TextBlock, all_of
from forensics.parse.lines import Border
from forensics.parse.part import Part
from forensics.parse.unwrap import ServerPrefixes

SMALL = 4 << 20  # bytes of a part that is read from its beginning, wherever the stretch lies
STEP = 256 << 10
MOST_OPENED = 2000  # lines of a stretch
_LONGEST = 400  # characters of a line that are looked at
_MOST_WORDS = 40
_GUARD = 64  # lines among which the first one of a stretch has to be found

_NOISE = lazily.pattern(r"\x1b\[[0-9;?]{0,20}[A-Za-z]|[\u2500-\u259f\u2801-\u28ff]{1,400}")
_QUOTED = lazily.pattern(r"'[^'\n]{0,300}'|\"[^\"\n]{0,300}\"|`[^`\n]{0,300}`")
_EDGES = "[](){}<>,;:.!?"
# what is a name of something: it has a digit, is a path, a mail address or a long run of hex letters
_NAME = lazily.pattern(r"[0-9]|/|\\|@|^[a-f]{8,}$|^[A-Za-z0-9+_-]{33,}$")
_LEFT_OUT = lazily.pattern(r"\[[0-9.]{1,8}[BKMG] blob data\]$")  # journald's word for a message, not the server's
_VALUE = lazily.pattern(r"[0-9'\"/\\*\[{(]")


class Again:
    """Reads a capture again, where it is asked to."""

    def __init__(self, capture: Capture, prefixes: Sequence[str]) -> None:
        self._sections = {section.name: section for section in capture.sections}
        self._columns = capture.columns
        self._prefixes = prefixes
        self._server: ServerPrefixes | None = None
        self._parts: dict[str, list[Part]] = {}

    def wordings(self, window: Window) -> Read:
        """What is worded in a stretch; not found where the file is gone or does not begin there as it did."""
        try:
            return self._wordings(window)
        except OSError:
            return Read(found=False)

    def _wordings(self, window: Window) -> Read:
        section = self._sections.get(window.source)
        part = self._part(section, window.line) if section is not None else None
        if section is None or part is None:
            return Read(found=False)
        server = self._server = self._server or ServerPrefixes(self._prefixes)
        init = framing.Init(section, there=True)
        end = section.size() if part.end is None else part.end
        if end - part.start <= SMALL:
            return _read(framing.blocks(section, part, server, init), window, None)
        stop = min(end, window.end if window.end is not None else end)
        until = window.start + window.most_bytes if stop - window.start > window.most_bytes else None
        here = replace(part, end=stop if until is None else until)
        if part.kind is PartKind.JOURNAL_EXPORT:
            return _read(
                framing.blocks(section, replace(here, start=window.start), server, init), window, until, behind=window.line - part.first_line
            )
        reach = framing.Reach(begin=Border(window.start, window.start), step=STEP)
        return _read(framing.blocks(section, here, server, init, reach), window, until, behind=window.line - 1)

    def _part(self, section: Section, line: int) -> Part | None:
        """The part of a section that has the line; one that was asked for as a whole has all."""
        if section.name not in self._parts:
            self._parts[section.name] = sniff.parts(section, self._columns)
        return next((p for p in self._parts[section.name] if p.first_line <= line and (p.last_line is None or line <= p.last_line)), None)

    def holding(self, source: str, start: int, end: int | None, needles: Sequence[str], *, most_bytes: int) -> set[str]:
        """Those of some texts that stand somewhere between two offsets, as far as that is read; all where it can be read no more, as none is known to be absent."""
        try:
            return self._holding(source, start, end, needles, most_bytes)
        except OSError:
            return set(needles)

    def _holding(self, source: str, start: int, end: int | None, needles: Sequence[str], most_bytes: int) -> set[str]:
        section = self._sections.get(source)
        if section is None or not needles:
            return set()
        wanted = {needle.encode("utf-8", "replace"): needle for needle in needles}
        found: set[str] = set()
        longest = max(map(len, wanted))
        stop = min(section.size() if end is None else end, start + most_bytes)
        with section.open() as stream:
            stream.seek(start)
            rest, at = b"", start
            while at < stop and (chunk := stream.read(min(STEP, stop - at))):
                data = rest + chunk
                for needle in [n for n in wanted if n in data]:
                    found.add(wanted.pop(needle))
                if not wanted:
                    break
                at += len(chunk)
                rest = data[-longest:]
        return found


def _read(blocks: Iterable[Block], window: Window, until: int | None, *, behind: int | None = None) -> Read:
    """``behind``: how many lines stand above the first one, where they are counted from that; None: all of the part is there, and what stands above is left out."""
    result = Read(until=until)
    known: dict[bytes, Wording | None] = {}
    by_words: dict[tuple[str, ...], Wording] = {}
    guarded = False
    for block, numbers in _lines(blocks, window, behind):
        if not guarded:
            near = range(numbers.start, min(numbers.start + _GUARD, len(block.keys)))
            if not any(block.frame(i).text == window.text for i in near):
                return Read(found=False)
            guarded = True
        places = _Places(block)
        keys = all_of(block.keys)[numbers.start : numbers.stop]
        first, last = dict(zip(reversed(keys), reversed(numbers), strict=True)), dict(zip(keys, numbers, strict=True))
        for key, count in Counter(keys).items():  # in the order in which they came
            if key not in known:
                if len(known) >= MOST_OPENED:
                    continue
                known[key] = _worded(block.frame(first[key]).moved(behind or 0), window, by_words)
            wording = known[key]
            if wording is not None:
                if not wording.count:
                    result.wordings.append(wording)
                wording.count += count
                wording.last_line = max(wording.last_line, (behind or 0) + places[last[key]])
        release: Callable[[], None] | None = getattr(block, "release", None)
        if release is not None:
            release()
    return result


def _worded(frame: Frame, window: Window, by_words: dict[tuple[str, ...], Wording]) -> Wording | None:
    """The wording of a line; a new one has no line yet."""
    words = words_of(frame.text) if _counts(frame, window) else ()
    if not words:
        return None
    known = by_words.get(words)
    if known is None:
        known = by_words[words] = Wording(
            words=words, text=frame.text[:_LONGEST], source=frame.source, line=frame.line_no, last_line=frame.line_no, count=0, goes_on=frame.continuation
        )  # fmt: skip
    return known


def _lines(blocks: Iterable[Block], window: Window, behind: int | None) -> Iterator[tuple[Block, range]]:
    """The blocks of a window with the numbers of its lines in them. The last line of what was cut by bytes may be no whole one."""
    shift = behind or 0
    for block in blocks:
        if window.end_line is not None and block.first_line + shift >= window.end_line:
            return
        at = _Places(block)
        first = bisect_left(at, window.line) if behind is None else 0
        last = len(at) if window.end_line is None else bisect_left(at, window.end_line - shift)
        if first < last:
            yield block, range(first, last)


class _Places(Sequence[int]):
    """In which line of the file a line of a block stands: of an entry with its fields that is where the entry begins."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._single = isinstance(block, TextBlock)

    def __len__(self) -> int:
        return len(self._block.keys)

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> list[int]: ...
    def __getitem__(self, at: int | slice) -> int | list[int]:
        if isinstance(at, slice):
            return [self[i] for i in range(len(self))[at]]
        return self._block.first_line + at if self._single else self._block.frame(at).line_no


def _counts(frame: Frame, window: Window) -> bool:
    return frame.origin is Origin.SERVER and (not window.idents or not frame.ident or frame.ident in window.idents)


def words_of(text: str) -> tuple[str, ...]:
    """The words of a line, with ``WILD`` for numbers, paths, names with digits and what is quoted; () where it has no word of three letters."""
    if "\r" in text:
        text = next((piece for piece in reversed(text.split("\r")) if piece.strip()), "")
    if _LEFT_OUT.match(text):
        return ()
    text = _QUOTED.sub(" * ", _NOISE.sub(" ", text[:_LONGEST]))
    words: list[str] = []
    spoken = False
    for raw in text.split()[:_MOST_WORDS]:
        name, equals, value = raw.partition("=")
        if equals and name and not _NAME.search(name):
            word = f"{name}={WILD}" if not value or _VALUE.search(value) else raw.rstrip(_EDGES)
        else:
            bare = raw.strip(_EDGES)
            word = WILD if not bare or _NAME.search(bare) else bare
        if word == WILD and words and words[-1] == WILD:
            continue
        spoken = spoken or sum(c.isalpha() for c in word) >= 3
        words.append(word)
    return tuple(words) if spoken else ()

"""What the lines of one shape (equal but for their digits) do, found out from one of them. Never opens a line, and promises nothing where a digit or a line above could decide."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import compress
from typing import NamedTuple, Protocol

from forensics import lazily
from forensics.model import Frame, Origin, PartKind
from forensics.ruleset.matcher import Item
from forensics.ruleset.prefixes import Prefixes

ZEROS = bytes(48 if 48 <= c <= 57 else c for c in range(256))
_LONGEST_OF_ALL = 64 << 10  # bytes of a line that is known by its head: of a longer one a part is cut out
LONGEST = 2048  # bytes of a line whose shape is remembered
_MAX_OUTCOMES = 1024  # of one shape
_MAX_PLACES = 8
_FAR = 200  # bytes of a message within which all that is taken off it ends
_ESCAPED, _MOST_SIGNS = b"#000[", 2000
_GAP = 2  # digits that do not matter, but are taken along between two that do
_ZERO = lazily.pattern(rb"0")
_ENTRIES = (PartKind.JOURNAL_JSON, PartKind.JOURNAL_EXPORT)  # nothing need stand before their messages
# a message that begins like this has no prefix of a container or a CI in front, whatever follows: those are one word, or end in a bar or a tab
_BEGUN = lazily.pattern(r"(?!(?:[0a-f]{2}[OE]|std(?:out|err))(?:[ +]|$))[A-Za-z\"'#<*(][^\s\[|{-]* +[^\s|]")


_BY_CONTAINER = lazily.pattern(r"\d(?:Z|[+-]\d\d:\d\d) (?:std(?:out|err) [FP] )?$")  # an engine's stamp
Line = Callable[[int], bytes]


class Lines(Protocol):
    """Some lines, by their numbers."""

    def get(self) -> Line:
        """What gives a line."""
        ...

    def cut(self, numbers: Sequence[int], place: slice) -> list[bytes]:
        """What stands at one place of some of them."""
        ...


class Plan:
    """What lines of one shape do. Figures that expressions ask for (``" 404"``) can stand in a few places of a shape only: what stands there decides."""

    __slots__ = (
        "_by_number",
        "_cut",
        "_open",
        "_outcomes",
        "_places",
        "_steady",
        "_sure",
        "_told_of",
        "_whole",
        "alone",
        "always",
        "doubt",
        "only_if",
        "origin",
        "start",
        "wanting",
    )

    def __init__(
        self, steady: list[Item], open_: list[Item], places: list[slice], start: int, line: bytes, frame: Frame, *, only_if: tuple[slice, bytes] | None = None,
        cut: int = 0, doubt: Doubt | None = None, whole: bool = False
    ) -> None:  # fmt: skip
        self._whole = whole  # blanks at the end of a message belong to it
        self._steady = steady  # expressions of which that is true
        self._open = open_  # expressions to be tried on every line
        self._by_number = {item.number: item for item in steady} if cut else {}
        self._told_of = frozenset(item.number for item in (*steady, *open_))
        self._places = places
        self._outcomes: dict[object, tuple[int, ...]] = {}  # what stands in the places → those of ``steady`` that match
        self.doubt = doubt
        """What each line has to be asked, that its message begins where it should; None: nothing."""
        self.start = start
        """Where the message begins."""
        self._cut = cut  # only so much of a line is of this shape (0: all of it); ~number: has to be looked for in each line
        self._sure = len(_decoded(line[start:cut]))  # characters of the message
        self.origin = frame.origin
        """Who wrote these lines."""
        self.alone = not frame.continuation and frame.record is not None
        """Whether each of these lines is opened without a look at others."""
        self.wanting = 0  # bytes by which the cut would have to be further on to tell more
        always = None if places or open_ else self._matching(line)
        self.always = None if always is None or min(always, default=0) < 0 else always
        """The expressions that match every line, where no digit matters."""
        self.only_if = only_if
        """What has to stand where, that all this is so: the number of PID 1."""

    def asks(self, item: Item) -> bool:
        """Whether this tells nothing of an expression that may match the lines, because of what stands behind the cut."""
        return item.number not in self._told_of and item.takes(self.origin)

    def tell(self, numbers: Sequence[int], lines: Lines) -> Iterator[tuple[int, Sequence[int]]]:
        """The expressions that match some of these lines, each with the numbers of those."""
        if not numbers:
            return
        line = lines.get()
        for outcome, some in self._told(numbers, lines):
            for number in outcome:
                if number >= 0:
                    yield number, some
                elif taken := [i for i in some if self.search(self._by_number[~number], line(i))]:
                    yield ~number, taken
        for item in self._open:
            if taken := [number for number in numbers if self.search(item, line(number))]:
                yield item.number, taken

    def _told(self, numbers: Sequence[int], lines: Lines) -> list[tuple[tuple[int, ...], Sequence[int]]]:
        """Which of ``steady`` match, and the lines of which that is so."""
        line = lines.get()
        if not self._places:
            return [(self._outcome((), line(numbers[0])), numbers)]
        read = [lines.cut(numbers, place) for place in self._places]
        digits: Sequence[object] = read[0] if len(read) == 1 else list(zip(*read, strict=True))
        values = dict.fromkeys(digits)
        outcomes = self._outcomes
        if not outcomes.keys() >= values.keys():
            at = dict(zip(digits, numbers, strict=True))  # of each value, a line that has it
            outcomes = {found: self._outcome(found, line(number)) for found, number in at.items()}
        each = dict.fromkeys(map(outcomes.__getitem__, values))
        if len(each) == 1:
            return [(outcome, numbers) for outcome in each]
        told = list(map(outcomes.__getitem__, digits))
        return [(outcome, list(compress(numbers, map(outcome.__eq__, told)))) for outcome in each]

    def _outcome(self, digits: object, line: bytes) -> tuple[int, ...]:
        outcome = self._outcomes.get(digits)
        if outcome is None:
            outcome = self._matching(line)
            if len(self._outcomes) < _MAX_OUTCOMES:
                self._outcomes[digits] = outcome
        return outcome

    def _matching(self, line: bytes) -> tuple[int, ...]:
        if not self._cut:
            return tuple(item.number for item in self._steady if self.search(item, line))
        text, length = self._text(line), self._sure
        found: list[int] = []
        for item in self._steady:
            sure = item.stays(text, length)
            found.append(item.number if sure else ~item.number)
            if not sure:
                self.wanting = max(self.wanting, item.wants(text, length))
        return tuple(found)

    def search(self, item: Item, line: bytes) -> bool:
        """Whether an expression matches the message of a line."""
        return item.search(self._text(line)[: item.limit]) is not None

    def _text(self, line: bytes) -> str:
        text = line[self.start :].removesuffix(b"\n").decode("utf-8", "replace")
        return text if self._whole else text.rstrip()


def plan(
    line: bytes,
    frame: Frame,
    candidates: Sequence[Item],
    part: PartKind,
    *,
    cut: int = 0,
    bare: bool = False,
    prefixes: Prefixes,
    plain: bool = False,
) -> Plan | None:
    """What lines of this shape do; None where the message is not the plain end of the line, or its origin may hang on a digit or on lines above.

    ``cut``: what all lines do that begin with so much of it, whatever follows; None where more of the line may decide what is its message. ``bare``: the cut is where the message
    begins, whatever it is. ``plain``: all that may be taken off a line are prefixes of containers, CIs and servers.
    """
    shape = line.translate(ZEROS)
    text = frame.text.encode("utf-8", "replace")
    whole = part in _ENTRIES  # of anything else the blanks at its end are taken off
    ended = line if whole else line.rstrip()
    start = len(ended) - len(text)
    cut = start if bare else cut
    by_head = bool(cut) or bare
    if not 0 < len(line) <= (_LONGEST_OF_ALL if by_head else LONGEST) or b"\r" in line or not ended.endswith(text):
        return None
    only_if = None
    if frame.origin in (Origin.SYSTEMD, Origin.KERNEL) or frame.ident.startswith("systemd"):
        pid_one = frame.origin is Origin.SYSTEMD and line.endswith(b" systemd[1]: ", 0, start)
        if part is not PartKind.JOURNAL_TEXT or not (pid_one or (frame.origin is Origin.KERNEL and line.endswith(b" kernel: ", 0, start))):
            return None
        only_if = (slice(start - 4, start - 3), b"1") if pid_one else None
    if part is PartKind.JOURNAL_TEXT and not line[:start].strip():
        return None  # a further line of a message: who wrote it stands above
    doubt: Doubt | None = None
    if by_head:
        if only_if or cut < start or (not line[:start].strip() and not plain and part not in _ENTRIES):
            return None
        if not _begun(_decoded(shape[start:cut]), prefixes):
            doubt = _doubt(line, start, frame, part, prefixes)
            if doubt is None:
                return None
    steady: list[Item] = []
    open_: list[Item] = []
    digits: set[int] = set()
    for item in candidates:
        if item.takes(frame.origin):
            places = item.places(shape[:cut] if cut else shape)
            if not cut and places != set() and not item.possible(_decoded(shape[start:])[: item.limit]):
                continue
            (open_ if places is None else steady).append(item)
            digits |= {at.start() for span in places or () for at in _ZERO.finditer(shape, *span)}
    ordered = _slices(shape, sorted(digits))
    if len(ordered) > _MAX_PLACES:
        steady, open_, ordered = [], open_ + steady, []
    return Plan(steady, open_, ordered, start, line, frame, only_if=only_if, cut=cut, doubt=doubt, whole=whole)


class Doubt(NamedTuple):
    """What may be taken off the front of a line whose head does not reach far into its message."""

    start: int  # of the message, in bytes
    ends: tuple[tuple[re.Pattern[str], int], ...]  # prefixes of servers that may be the last one taken off, and at which letter each begins
    prefixes: Prefixes

    def begins(self, line: bytes) -> bool:
        """Whether the message of this line begins where it should."""
        before, behind = line[: self.start], line[self.start : self.start + _FAR]
        if not _begun(_decoded(behind.translate(ZEROS)), self.prefixes):
            return False
        text = _decoded(before)
        whole = text + _decoded(behind)
        return all((found := prefix.match(whole, at)) is not None and found.end() == len(text) for prefix, at in self.ends)


def _doubt(line: bytes, start: int, frame: Frame, part: PartKind, prefixes: Prefixes) -> Doubt | None:
    """None where what is taken off may hang on more than what stands there."""
    if start > _FAR:
        return None
    before, whole = _decoded(line[:start]), _decoded(line[: start + _FAR])
    ends = tuple(prefixes.ending(whole, len(before)))
    by_journal = part is PartKind.JOURNAL_TEXT and before.endswith(": ") and frame.origin is not Origin.KERNEL
    return Doubt(start, ends, prefixes) if ends or by_journal or not start or _BY_CONTAINER.search(before) else None


def _begun(text: str, prefixes: Prefixes) -> bool:
    """Whether a message begins with this text, whose digits are all 0: no prefix does."""
    return _BEGUN.match(text) is not None and not prefixes.may_begin(text)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def uneven(text: bytes) -> bool:
    """Whether there is something at which a line may be cut, or that is taken off, wherever it stands: colours, carriage returns, fields of tables."""
    return b"\x1b" in text or b"\t" in text or b"\r" in text or b"\0" in text or _is_escaped(text)


def _is_escaped(text: bytes) -> bool:
    """Whether a colour stands there as rsyslog writes it. Few texts have many of its first character, which is found fifty times as fast as all of it."""
    at = -1
    for _ in range(_MOST_SIGNS):
        at = text.find(b"#", at + 1)
        if at < 0 or text.startswith(_ESCAPED, at):
            return at >= 0
    return text.find(_ESCAPED, at + 1) >= 0


def _slices(shape: bytes, digits: list[int]) -> list[slice]:
    """The runs of digits that matter; those that stand close together as one."""
    found: list[slice] = []
    for at in digits:
        if found and shape.count(b"0", found[-1].stop, at) <= _GAP:
            found[-1] = slice(found[-1].start, at + 1)
        else:
            found.append(slice(at, at + 1))
    return found

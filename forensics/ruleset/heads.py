"""Know lines by how they begin, where how they go on never comes again. Never opens a line, and promises nothing about what stands behind a head.

A head reaches as far as the first required text of a line. Once it is known what all lines with a head do, it is ``settled``: such a line costs a look-up, and only what
stands behind its head is searched for more texts. Where heads do not come again either, no more is known of a line than what has to be taken off it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from forensics.ruleset.learnt import LONGEST, Plan
from forensics.ruleset.literals import LOWER
from forensics.ruleset.matcher import Matcher
from forensics.ruleset.shapes import Shape

_MOST_BEYOND = 16  # bytes; what stands further off is likely to be new in each line
_SPENT = 48  # heads with the same text before shorter ones are tried
_SPENT_LATER = 24  # … where it is known already what is taken off some lines
_MOST_TAKEN_OFF = 512  # different prefixes that are looked at
_MAX_BYTES = 8 << 20
_OF_A_HEAD = 400  # bytes that it takes besides its own
_MOST_CUTS = 8  # lengths of settled heads that begin alike

_IDLE = 256  # times that a text stood behind settled heads for nothing, before it is left out behind such heads

_AS_NEW = -1
Numbers = set[int]


class Heads:
    """The heads of one source's lines, and what is known of them."""

    def __init__(self, matcher: Matcher) -> None:
        self._items = matcher.items
        self._literals = matcher.literals
        self._known: dict[bytes, Shape] = {}
        self._beyond: dict[int, int] = {}  # text → how many bytes behind it tell what the lines do; _AS_NEW: its heads are as new as the lines
        self._spent: dict[int, int] = {}  # text → heads with it
        self._tight: set[int] = set()  # texts behind which nothing comes again
        self._digits: dict[int, int] = {}  # text → digits before it in the line before, mostly as many as in the next
        self._bytes = 0
        self._settled: dict[bytes, Shape] = {}
        self._cuts: dict[bytes, tuple[int, ...]] = {}  # how settled heads begin → how long they are
        self._least = 0  # bytes of the shortest
        self._taken_off: dict[bytes, Shape] = {}  # what is taken off lines, where no more is known of them
        self._lengths: list[int] = []  # of these, the longest first
        self._asked = 0
        self._idle: dict[int, int] = {}  # text → how often it stood behind a settled head and told nothing
        self._quiet: frozenset[int] = (
            frozenset()
        )  # texts of which that is so again and again; they are not looked for behind a head that is told nothing by any

    def forget(self) -> None:
        """Another source, or too many of them."""
        self._known.clear()
        self._settled.clear()
        self._cuts.clear()
        self._beyond.clear()
        self._tight.clear()
        self._spent.clear()
        self._asked = 0
        self._taken_off.clear()
        self._lengths.clear()
        self._bytes = self._least = 0
        self._idle.clear()
        self._quiet = frozenset()

    def of(self, line: bytes, texts: Sequence[int], end: int) -> Shape | None:
        """The shape of a line (0 for each digit) by its head; ``texts`` are those that end first in it, behind so many bytes that are no digits. None where none is."""
        text = min(texts)
        digits = self._digits.get(text, 0)
        while (found := line.count(b"0", 0, end + digits)) != digits:
            digits = found
        self._digits[text] = digits
        cut = end + digits + max(0, self._beyond.get(text, 0))
        if cut >= len(line) - 1 or cut > LONGEST or line[cut] & 0xC0 == 0x80:  # in the midst of a letter
            return None
        head = line[:cut]
        known = self._known.get(head)
        if known is not None and known.plan is not None:
            self._settle(known)  # it has come again
        if known is None:
            if self._bytes > _MAX_BYTES:
                self.forget()
            self._bytes += cut + _OF_A_HEAD
            self._spend(text)
            known = self._known[head] = Shape(self._literals.of(texts), head, text=text)
        return known

    def _spend(self, text: int) -> None:
        spent = self._spent[text] = self._spent.get(text, 0) + 1
        beyond = self._beyond.get(text, 0)
        if spent > (_SPENT_LATER if self._taken_off else _SPENT) and beyond != _AS_NEW:
            self._spent[text] = 0
            self._beyond[text] = 0 if beyond else _AS_NEW
            self._tight.add(text)
            self._unsettle(text)

    def opened(self, line: bytes, known: Shape, bare: Callable[[], Plan | None]) -> None:
        """Hear that a line has been opened. ``bare`` gives a plan of all from which the same is taken off, if there is any."""
        if (not known.head or self._beyond.get(known.text, 0) == _AS_NEW) and self.instead(line) is None and self._asked < _MOST_TAKEN_OFF:
            self._asked += 1
            plan = bare()
            if plan is not None:
                off = self._taken_off[line[: plan.start]] = Shape((), line[: plan.start])
                off.plan = plan
                self._lengths = sorted(set(map(len, self._taken_off)), reverse=True)

    def learnt(self, known: Shape) -> None:
        """Hear what lines with this head do."""
        text, plan = known.text, known.plan
        if plan is None:
            return
        beyond = self._beyond.get(text, 0)
        if beyond == _AS_NEW:
            return
        if plan.wanting and text not in self._tight and beyond + plan.wanting <= _MOST_BEYOND:
            self._beyond[text] = beyond + plan.wanting  # longer heads will say more
        elif len(known) > 1:
            self._settle(known)

    def as_new(self, known: Shape) -> bool:
        """Whether a head is as new as its lines."""
        return known.plan is None and known.text >= 0 and self._beyond.get(known.text, 0) == _AS_NEW

    def instead(self, line: bytes) -> Shape | None:
        """What is known of a line (0 for each digit) by no more than what is taken off it."""
        found = (self._taken_off.get(line[:length]) for length in self._lengths)
        return next((shape for shape in found if shape is not None), None)

    def _unsettle(self, text: int) -> None:
        """Let go of all heads with a text."""
        self._settled = {head: known for head, known in self._settled.items() if known.text != text}
        self._known = {head: known for head, known in self._known.items() if known.text != text}
        self._cuts = {}
        self._least = min(map(len, self._settled), default=0)
        for head in self._settled:
            self._add(head, self._least)

    def _settle(self, known: Shape) -> None:
        head, least = known.head, min(len(known.head), self._least or LONGEST)
        if head in self._settled:
            return
        known.rest = self._rest(known)
        known.quiet = self._is_quiet(known)
        self._settled[head] = known
        if least < self._least:
            self._cuts = {}
            for other in self._settled:
                self._add(other, least)
        else:
            self._add(head, least)
        self._least = least

    def _add(self, head: bytes, least: int) -> None:
        cuts = {*self._cuts.get(head[:least], ()), len(head)}
        if len(cuts) <= _MOST_CUTS:
            self._cuts[head[:least]] = tuple(sorted(cuts, reverse=True))

    def _rest(self, known: Shape) -> int:
        """From where on a line with this head is searched: where a text begins in it that the plan does not answer for, or an end of it that may be the beginning of one."""
        texts: Sequence[bytes] = self._literals.ordered
        key = known.head.translate(LOWER, b"0")
        within = min((begin for which, begin, _ in self._literals.matches(key) if self._foreign(known, which)), default=len(key))
        for at in range(max(0, len(key) - self._literals.longest), within):
            next_ = bisect_right(texts, key[at:])  # a text that the head ends with is within
            if next_ < len(texts) and texts[next_].startswith(key[at:]):
                return _place(known.head, at)
        return _place(known.head, within) if within < len(key) else len(known.head)

    def searched(self, lines: list[bytes], touched: list[Shape]) -> tuple[dict[int, Shape], dict[int, Numbers], dict[int, tuple[int, ...]]]:
        """Search many lines (0 for each digit) for the texts.

        Those that are met have a shape by their head, with which they go from here; the other expressions that each may match besides; and, by number of the line,
        the expressions that others may match which have no head.
        """
        others, whose = list(range(len(lines))), self._whose(lines, touched)
        more: dict[int, Numbers] = {}
        if whose:
            self._behind(lines, whose, more)
            others = [i for i in others if i not in whose]
            if not others:
                return whose, more, {}
        text = b"".join([lines[i] for i in others] if whose else lines).translate(LOWER, b"0")
        at = line = first_end = 0
        new: dict[int, tuple[int, list[int], list[int]]] = {}  # line → where its first text ends, all that end there, and the others
        count = text.count
        for which, _, end in self._literals.matches(text):  # by where they end
            line += count(b"\n", at, end)
            at = end
            if (i := others[line]) in new:
                (new[i][1] if end == first_end else new[i][2]).append(which)
            else:
                first_end = end
                new[i] = (end - text.rfind(b"\n", 0, end) - 1, [which], [])
        return whose, more, self._met(lines, new, whose, more, touched)

    def _behind(self, lines: list[bytes], whose: dict[int, Shape], more: dict[int, Numbers]) -> None:
        """Search lines with settled heads for what stands behind those."""
        quiet = self._quiet
        if not quiet:
            self._asked_of(lines, list(whose), whose, more)
        else:
            self._asked_of(lines, [i for i, known in whose.items() if known.quiet], whose, more, but=quiet)
            self._asked_of(lines, [i for i, known in whose.items() if not known.quiet], whose, more)
        idle = {text for text, times in self._idle.items() if times > _IDLE}
        if not idle <= quiet:
            self._quiet = quiet | idle
            for known in self._settled.values():
                known.quiet = self._is_quiet(known)

    def _is_quiet(self, known: Shape) -> bool:
        """Whether none of the texts that are left out behind heads tells anything behind this one."""
        return not any(self._foreign(known, text) for text in self._quiet)

    def _asked_of(
        self, lines: list[bytes], numbers: list[int], whose: dict[int, Shape], more: dict[int, Numbers], *, but: frozenset[int] = frozenset()
    ) -> None:
        text = b"".join([lines[i][whose[i].rest :] for i in numbers]).translate(LOWER, b"0")
        at = line = 0
        count, idle = text.count, self._idle
        found = self._literals.matches(text)
        for which, _, end in [match for match in found if match[0] not in but] if but else found:
            line += count(b"\n", at, end)
            at = end
            known = whose[numbers[line]]
            asked = known.foreign.get(which)
            if asked is None:
                asked = self._foreign(known, which)
            if asked:
                more.setdefault(numbers[line], set()).update(asked)
            else:
                idle[which] = idle.get(which, 0) + 1

    def _met(
        self,
        lines: list[bytes],
        new: dict[int, tuple[int, list[int], list[int]]],
        whose: dict[int, Shape],
        more: dict[int, Numbers],
        touched: list[Shape],
    ) -> dict[int, tuple[int, ...]]:
        """Give lines a shape that have none yet; what those may match that get none."""
        headless: dict[int, tuple[int, ...]] = {}
        for line, (end, first, others) in new.items():
            numbers = self._literals.of((*first, *others))
            if self._beyond.get(min(first), 0) == _AS_NEW and (off := self.instead(lines[line])) is not None:
                whose[line] = off
                more[line] = set(numbers)
                continue
            known = self.of(lines[line], first, end)
            if known is None:
                headless[line] = numbers
                continue
            whose[line] = known
            if not known:
                touched.append(known)
            known.append(line)
            if others and (besides := set(numbers).difference(known.numbers)):
                more[line] = besides
        return headless

    def _whose(self, lines: list[bytes], touched: list[Shape]) -> dict[int, Shape]:
        """Of lines with a settled head the shapes, to which they go."""
        whose: dict[int, Shape] = {}
        least, settled = self._least, self._settled.get
        if not least:
            return whose
        for i, cuts in enumerate(map(self._cuts.get, [line[:least] for line in lines])):
            if cuts is None:
                continue
            line = lines[i]
            for cut in cuts:
                known = settled(line[:cut])
                if known is None:
                    continue
                if len(line) > cut + 1:
                    whose[i] = known
                    if not known:
                        touched.append(known)
                    known.append(i)
                break
        return whose

    def _foreign(self, known: Shape, text: int) -> tuple[int, ...]:
        """The expressions that a line with a settled head may match because of a text behind it, and that have to be looked for."""
        plan, of_text = known.plan, self._literals.numbers[text]
        found = known.foreign[text] = of_text if plan is None else tuple(number for number in of_text if plan.asks(self._items[number]))
        return found


def _place(head: bytes, at: int) -> int:
    """Where in a head the byte stands that has so many before it which are no digits; the digits before it belong to it."""
    place = at
    while (digits := head.count(b"0", 0, place)) != place - at:
        place = at + digits
    return place

"""Find what a life worded as the last good one never did, and what it left out. Opens no file: asks for the two lives' lines, and says by itself only what they have in common.

What varies within the good life is a parameter: a word that takes several values in the same place, a text that begins like a dozen others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from forensics import lazily
from forensics.model import WILD, Cause, Frame, Life, MarkKind, Origin, Phase, Read, Role, Template, Window, Wording
from forensics.reason.cite import EXCEPTION, RARE
from forensics.reason.framing import FRAMING, HEAD, STACK
from forensics.reason.good import last_good
from forensics.reason.lives import Placed, another
from forensics.reason.place import Story

MOST = 20  # of each kind
OWN_HEAD, TAIL, GOOD_HEAD = 256 << 10, 256 << 10, 512 << 10  # bytes
SEARCHED = 8 << 20  # bytes of the good life that were not read, in which a few texts are looked for
_NEEDLES = 6
_ALIKE = 2  # values that a word takes in the good life, from which on it is a parameter
_LONG = 10  # words of a wording: one of them that differs is a value, where all the others are the same
_FAMILY = 6  # wordings that begin with the same words, from which on what follows is free text
_BEGIN = 3  # words
NEVER = (Cause.HEALTHY, Cause.OPERATOR_STOP, Cause.EVIDENCE_MISSING, Cause.MISTYPED_UNIT, Cause.UNIT_MISSING, Cause.WRONG_ENDPOINT)
ASKED = lazily.pattern(r"\"(?:GET|POST|HEAD|PUT|DELETE|OPTIONS|PATCH) \S{1,200} HTTP/[0-9]")  # what a client did is not the start-up's
_TOLD = (MarkKind.ARGUMENTS, MarkKind.SERVING, MarkKind.PROGRESS)
_STARTS = (MarkKind.STARTING, MarkKind.STARTED)
_BETWEEN = lazily.pattern(r"[0-9'\"`/\\=\x1b\r\t]+| {2,}")


class LookAgain(Protocol):
    """Whoever can read the lines of a capture once more."""

    def wordings(self, window: Window) -> Read:
        """What is worded in a stretch."""
        ...

    def holding(self, source: str, start: int, end: int | None, needles: Sequence[str], *, most_bytes: int) -> set[str]:
        """Those of some texts that stand between two offsets."""
        ...


class Novel(NamedTuple):
    """Wordings that the good life had not, rare ones near the end first; and those of its start-up that are absent, though the life went through that phase."""

    new: tuple[Template, ...] = ()
    absent: tuple[Template, ...] = ()


NOTHING = Novel()


class _Heard(NamedTuple):
    """What was read of a life. ``gaps``: the stretches of it that were not, as source and offsets."""

    wordings: tuple[Wording, ...]
    gaps: tuple[tuple[str, int, int | None], ...]
    sources: frozenset[str]


def novel(story: Story, cause: Cause, look: LookAgain | None) -> Novel:
    """What is new and what is missing; nothing where there is no good life to compare with, or nothing went wrong."""
    good = last_good(story)
    if look is None or good is None or cause in NEVER:
        return NOTHING
    idents = _idents(story)
    before = _heard(story, good, look, idents, head=GOOD_HEAD)
    after = _heard(story, story.issue, look, idents, head=OWN_HEAD)
    if before is None or after is None:
        return NOTHING
    known = _known(story, story.issue)
    new = [w for w in _heads(_missing_in(after.wordings, before.wordings)) if _tells(w, known)]
    follows = _follows(story)
    new.sort(key=lambda w: (w.count > RARE, (w.source, w.line) in follows, -w.last_line))
    new = _unsaid(new, before, look)[:MOST]
    return Novel(new=tuple(map(_template, new)), absent=tuple(map(_template, _absent(story, good, before, after))))


def _template(wording: Wording) -> Template:
    return Template(text=wording.text, source=wording.source, line=wording.line, count=wording.count)


# --------------------------------------------------------------------------- what is read


def _heard(story: Story, life: Life, look: LookAgain, idents: frozenset[str], *, head: int) -> _Heard | None:
    wordings: list[Wording] = []
    gaps: list[tuple[str, int, int | None]] = []
    sources: set[str] = set()
    for source, frames in _frames(story, life).items():
        end = _next(story, life, source)
        first = frames[0]
        window = Window(
            source=source, line=first.line_no, start=first.start, text=first.text, end_line=end.line_no if end else None, end=end.start if end else None,
            most_bytes=head, idents=idents,
        )  # fmt: skip
        read = look.wordings(window)
        if not read.found:
            continue
        sources.add(source)
        wordings += read.wordings
        if read.until is None:
            continue
        late = next((f for f in frames if f.start >= max(read.until, frames[-1].start - TAIL)), None)
        rest = (
            look.wordings(replace(window, line=late.line_no, start=late.start, text=late.text, most_bytes=TAIL))
            if late is not None
            else Read(found=False)
        )
        gaps.append((source, read.until, late.start if late is not None and rest.found else window.end))
        wordings += rest.wordings
    return _Heard(wordings=_joined(wordings), gaps=tuple(gaps), sources=frozenset(sources)) if sources else None


def _idents(story: Story) -> frozenset[str]:
    """Under which names the unit's processes write."""
    server = {(r.ident, r.unit) for p in story.placed if (r := p.seen.record).origin is Origin.SERVER and r.ident}
    return frozenset(ident for ident, unit in server if not another(unit, story.unit))


def _frames(story: Story, life: Life) -> dict[str, list[Frame]]:
    """The lines of a life that are known, by source and in their order there; those of the machine are another log's."""
    found: dict[str, list[Frame]] = {}
    for p in story.placed:
        if p.life == life.index and p.seen.record.origin in (Origin.SERVER, Origin.SYSTEMD):
            found.setdefault(p.seen.record.source, []).append(p.seen.hit.frame)
    spoken = {p.seen.record.source for p in story.placed if p.life == life.index and p.seen.record.origin is Origin.SERVER}
    return {source: sorted(frames, key=lambda f: f.line_no) for source, frames in found.items() if source in spoken}


def _next(story: Story, life: Life, source: str) -> Frame | None:
    """The first known line of the life after, in the same source."""
    own = max((p.seen.record.line_no for p in story.placed if p.life == life.index and p.seen.record.source == source), default=0)
    later = [p.seen.hit.frame for p in story.placed if p.life > life.index and p.seen.record.source == source and p.seen.record.line_no > own]
    return min(later, key=lambda f: f.line_no, default=None)


def _joined(wordings: Iterable[Wording]) -> tuple[Wording, ...]:
    """Each wording once."""
    found: dict[tuple[str, ...], Wording] = {}
    for w in wordings:
        same = found.get(w.words)
        if same is None:
            found[w.words] = w
        else:
            found[w.words] = replace(same, count=same.count + w.count, last_line=max(same.last_line, w.last_line))
    return tuple(found.values())


# --------------------------------------------------------------------------- what is new


def _missing_in(these: Sequence[Wording], those: Sequence[Wording]) -> list[Wording]:
    """The wordings of one life that the other has not, not even with another value in a place where it has several."""
    known = {w.words for w in those}
    shuffled = {tuple(sorted(words)) for words in known}  # the order of a set differs from start to start
    places = Counter(place for words in known for place in _places(words))
    families = Counter(words[:_BEGIN] for words in known if _opening(words))
    return [
        w
        for w in these
        if w.words not in known
        and tuple(sorted(w.words)) not in shuffled
        and families[w.words[:_BEGIN]] < _FAMILY
        and not any(places[place] >= (_ALIKE if len(w.words) < _LONG else 1) for place in _places(w.words))
    ]


def _heads(found: list[Wording]) -> list[Wording]:
    """Without the further lines of a message whose first one is there: hints and lists below an exception."""
    told = {(w.source, w.line) for w in found if not FRAMING.match(w.text)}
    return [w for w in found if not (w.goes_on and (w.source, w.line - 1) in told and not EXCEPTION.match(w.text))]


def _follows(story: Story) -> set[tuple[str, int]]:
    """The lines of the life that only follow from a failure before them."""
    mine = [p for p in story.placed if p.life == story.issue.index and p.rule is not None and p.rule.role is Role.CASCADE]
    return {(p.seen.record.source, p.seen.record.line_no) for p in mine}


def _places(words: tuple[str, ...]) -> Iterable[tuple[str | int, ...]]:
    """A wording without one of its words, for each of them: those that differ in one place only have that in common."""
    if len(words) < 3:
        return ()
    return [(i, len(words), *words[:i], *words[i + 1 :]) for i in range(len(words)) if words[i] != WILD]


def _opening(words: tuple[str, ...]) -> bool:
    return len(words) > _BEGIN and sum(w != WILD for w in words[:_BEGIN]) >= 2


def _tells(wording: Wording, known: Mapping[tuple[str, int], Sequence[Placed]], *, marks: bool = False) -> bool:
    """Whether a line says something by itself: no frame of a traceback, no dump of arguments (they are compared by name), no progress and no answered request,
    nothing that is known to be harmless or advice; and none of the ``marks`` of a life, unless those are wanted: phases, ends and stops are told elsewhere.
    """
    if FRAMING.match(wording.text) or HEAD.search(wording.text) or STACK.match(wording.text):
        return False
    here = known.get((wording.source, wording.line), ())
    roles = [p.rule.role for p in here if p.rule is not None]
    if any(role in (Role.BENIGN, Role.ADVICE_TEXT) for role in roles):
        return False
    kinds = [p.mark.kind for p in here if p.mark is not None]
    return not any(kind in _TOLD for kind in kinds) and (bool(roles) or marks or not kinds)


def _known(story: Story, life: Life) -> dict[tuple[str, int], list[Placed]]:
    """What rules and marks have found in a life, by line."""
    found: dict[tuple[str, int], list[Placed]] = {}
    for p in story.placed:
        if p.life == life.index:
            found.setdefault((p.seen.record.source, p.seen.record.line_no), []).append(p)
    return found


def _unsaid(found: list[Wording], before: _Heard, look: LookAgain) -> list[Wording]:
    """Without those that the good life said where it was not read; a few are looked for there, and more are not told."""
    if not before.gaps:
        return found
    chosen = found[:_NEEDLES]
    needles = {w.words: needle for w in chosen if (needle := _needle(w.text))}
    held: set[str] = set()
    for source, start, end in before.gaps:
        left = [n for n in needles.values() if n not in held]
        held |= look.holding(source, start, end, left, most_bytes=SEARCHED)
    return [w for w in chosen if needles.get(w.words) and needles[w.words] not in held]


def _needle(text: str) -> str:
    """The longest piece of a line that is the same in all of its wording."""
    longest = max(_BETWEEN.split(text), key=len, default="").strip()[:80]
    return longest if len(longest) >= 8 and longest.isascii() else ""


# --------------------------------------------------------------------------- what is missing


def _absent(story: Story, good: Life, before: _Heard, after: _Heard) -> list[Wording]:
    """What the good life said in phases that this one has behind it, and this one did not; the latest first."""
    ends = _passed(story, good)
    if not ends:
        return []
    known = _known(story, good)
    opened = [p.seen.record for p in story.placed if p.life == good.index and p.mark is not None and (p.mark.opens or p.mark.kind in _STARTS)]
    begins = {r.source: r.line_no for r in reversed(opened)}  # what stands above may be another life's
    early = [w for w in before.wordings if w.source in ends and begins.get(w.source, 0) <= w.line < ends[w.source]]
    missing = _heads([w for w in _missing_in(early, after.wordings) if w.count <= RARE and _tells(w, known, marks=True) and not ASKED.search(w.text)])
    return missing[::-1][:MOST]


def _passed(story: Story, good: Life) -> dict[str, int]:
    """By source: up to which line of the good life this life has come as well, by the phase in which it is or ended."""
    life = story.issue
    if life.ready:
        reached = {Phase.READY, Phase.SERVING}
    elif life.phase is not None:
        reached = {life.phase}
    else:
        return {}
    found: dict[str, int] = {}
    for span in good.phases:
        if span.phase in reached and span.line_no:
            found[span.source] = min(found.get(span.source, span.line_no), span.line_no)
    return found

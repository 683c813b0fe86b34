"""Say which of a unit's lives is the one at issue, and why: that which the client met, or which failed. Judges no cause.

``REASONS`` is the order: the first that has an answer decides.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from forensics.model import EndBy, EndKind, Facts, Life, Noun

SHORT_S = 300.0
STAYED_S = 60.0


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Choice(Noun):
    """What the choice is made by.

    ``told``: the lives with a word about a cause. Another whose end is not in the evidence gives way to the failed one before it, whose end is.
    ``by_itself``: those of them in which the service itself has said it, and not the kernel or another.
    ``unheard``: of the last life no line is there; it gives way to one before it that ended in the same way, and was heard.
    ``half_heard``: its lines break off, and its state alone says that it ended; it gives way to the one before it that ended in the same way, and tells a cause itself.
    Of a service that this program does not know, running on for a while is all that can be seen of readiness.
    """

    lives: tuple[Life, ...]
    facts: Facts
    at: float | None
    known_server: bool
    told: Container[int] = ()
    by_itself: Container[int] = ()
    unheard: bool = False
    half_heard: bool = False

    @property
    def last(self) -> Life:
        """The life that began last."""
        return self.lives[-1]

    @cached_property
    def errors(self) -> list[float]:
        """When the client's requests failed."""
        return error_times(self.facts)

    @cached_property
    def begun(self) -> list[Life]:
        """The lives that had begun when the first request failed."""
        return [x for x in self.lives if self.errors and _had_begun(x, min(self.errors))]

    @cached_property
    def telling(self) -> Life | None:
        """The last life that failed, or became ready and stayed. Passed over: one of whose end nothing is known but that another began."""
        for life in reversed(self.lives):
            silent = life is not self.last and _unseen_end(life) and life.index not in self.told and not self.last.ready
            if not silent and (failed(life) or _runs_ready(life, self)):
                return life
        return None


class Reason(NamedTuple):
    """``of`` has the life, or None where this is no reason; ``says`` is what the life then is, behind "an earlier life of the unit, …"."""

    says: str
    of: Callable[[Choice], Life | None]


class AtIssue(NamedTuple):
    """The life, and the reason why it is that one."""

    life: Life
    why: Reason


def life_at_issue(choice: Choice) -> AtIssue:
    """The life that the client met; else the last one that failed, unless a later one became ready and stayed; else the last."""
    return next(AtIssue(life, reason) for reason in REASONS if (life := reason.of(choice)) is not None)


# --------------------------------------------------------------------------- the reasons


def _met(choice: Choice) -> Life | None:
    """Looks at the client's failed requests: the life in which the first of them fell, or one that follows on stops while they went on."""
    held = [x for x in choice.begun if x.ended_at is None or min(choice.errors) <= x.ended_at]
    return _restarted(held[-1], choice.lives, max(choice.errors)) if held else None


def _over_by_then(choice: Choice) -> Life | None:
    """Looks at the client's failed requests, none of which fell into a life: the last one that was over by then."""
    return choice.begun[-1] if choice.begun else None


def _runs_on(choice: Choice) -> Life | None:
    """Looks at the last life of a service without a profile: it is alive, and has been for a while."""
    last = choice.last
    for_a_while = choice.at is not None and last.started_at is not None and choice.at - last.started_at >= STAYED_S
    return last if last.alive and not choice.known_server and for_a_while else None


def _breaks_off(choice: Choice) -> Life | None:
    """Looks at the end of the last life's log: it breaks off behind the service's own word about what ended it."""
    last = choice.last
    breaks_off = last.end.kind is EndKind.NONE and last.alive is None and not last.ready
    return last if breaks_off and last.index in choice.by_itself else None


def _heard(choice: Choice) -> Life | None:
    """Looks at a last life that failed and of which no line is there: the one before it that ended in the same way, and was heard; else itself."""
    last = choice.last
    if not (choice.unheard and failed(last)):
        return None
    return next((x for x in reversed(choice.lives[:-1]) if failed(x) and not _unseen_end(x) and _ended_alike(x, last)), last)


def _told_alike(choice: Choice) -> Life | None:
    """Looks at a last life whose lines break off before its end, without a word about a cause: in a loop the journal was read a moment before its state."""
    last = choice.last
    if not choice.half_heard or not last.index or not failed(last) or last.index in choice.told:
        return None
    before = choice.lives[last.index - 1]
    return before if before.index in choice.by_itself and failed(before) and _ended_alike(before, last) else None


def _seen_to_its_end(choice: Choice) -> Life | None:
    """Looks at the life before the one that would be taken, whose end nobody saw: it failed, and its end is in the evidence."""
    life = choice.telling
    if life is None or not life.index or not _unseen_end(life) or life.index in choice.told:
        return None
    earlier = choice.lives[life.index - 1]
    return earlier if failed(earlier) and not _unseen_end(earlier) else None


def _failed(choice: Choice) -> Life | None:
    """Looks at how lives ended: the last that failed, where none became ready and stayed after it."""
    return choice.telling if choice.telling is not None and failed(choice.telling) else None


def _ready(choice: Choice) -> Life | None:
    """Looks at which life is ready: it has stayed so, whatever failed before it."""
    return choice.telling


def _last(choice: Choice) -> Life | None:
    """Looks at nothing: no life failed, none stayed."""
    return choice.last


REASONS: tuple[Reason, ...] = (
    Reason("which the client met", _met),
    Reason("the last one before the client's requests failed", _over_by_then),
    Reason("which has been running on for a while", _runs_on),
    Reason("whose log breaks off behind its own word about what ended it", _breaks_off),
    Reason("which ended as the last one did, of which no line is there", _heard),
    Reason("which ended as the last one did, of whose end no line is there", _told_alike),
    Reason("which failed, and whose end was seen, as that of the next one was not", _seen_to_its_end),
    Reason("the last one that failed", _failed),
    Reason("which became ready and stayed", _ready),
    Reason("the last one", _last),
)


# --------------------------------------------------------------------------- what is asked of lives


def failed(life: Life) -> bool:
    """Whether a life ended in a way nobody asked for."""
    if life.end.kind in (EndKind.NONE, EndKind.STOPPED) or life.stop_asked:
        return False
    return not (life.end.kind is EndKind.EXIT and life.end.status == 0 and not life.served)


def error_times(facts: Facts) -> list[float]:
    """When the client's requests failed; the window of the whole run where single rows have no time."""
    times = [r.at for b in facts.benches for r in b.rows if r.kind not in ("", "ok") and r.at is not None]
    return times or [t for b in facts.benches if b.errors for t in (b.first_at, b.last_at) if t is not None]


def stayed(life: Life, lives: tuple[Life, ...], *, at: float | None = None) -> bool:
    """A life that has just become ready after short failed ones has not shown yet that it stays. ``at`` is when it was seen alive: a quiet server logs nothing."""
    before = lives[life.index - 1] if life.index else None
    if before is None or not failed(before) or _unseen_end(before) or before.lived_s is None or before.lived_s > SHORT_S:
        return True  # of a life whose end nobody saw it is not known that it was short
    since = life.ready_at if life.ready_at is not None else life.started_at
    seen_at = max((t for t in (life.last_at, at if life.alive else None) if t is not None), default=None)
    return since is None or seen_at is None or seen_at - since >= STAYED_S


def _runs_ready(life: Life, choice: Choice) -> bool:
    return life.ready and life.end.kind is EndKind.NONE and stayed(life, choice.lives, at=choice.at)


def _had_begun(life: Life, at: float) -> bool:
    if life.started_at is None:
        return life.ended_at is not None and not life.index  # it began above the first line that was kept
    return life.started_at <= at


def _ended_alike(one: Life, other: Life) -> bool:
    return (one.end.kind, one.end.signal, one.end.status) == (other.end.kind, other.end.signal, other.end.status)


def _restarted(life: Life, lives: tuple[Life, ...], last_error_at: float) -> Life:
    """Of lives that were stopped one after the other, and another that the client met from then on: the last. A server that is told to stop turns its clients away before it ends."""
    while life.end.kind is EndKind.STOPPED and life.index + 1 < len(lives):
        following = lives[life.index + 1]
        if following.started_at is None or following.started_at > last_error_at:
            break
        life = following
    return life


def _unseen_end(life: Life) -> bool:
    return life.end.kind is EndKind.UNKNOWN and life.end.by is EndBy.UNKNOWN and life.end.result is None

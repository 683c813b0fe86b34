"""Say which of a unit's lives is the one at issue: that which the client met, or which failed. Judges no cause.

A life whose end nobody saw gives way to one that was seen to its end.
"""

from __future__ import annotations

from collections.abc import Container

from forensics.model import EndBy, EndKind, Facts, Life

SHORT_S = 300.0
STAYED_S = 60.0


def failed(life: Life) -> bool:
    """Whether a life ended in a way nobody asked for."""
    if life.end.kind in (EndKind.NONE, EndKind.STOPPED) or life.stop_asked:
        return False
    return not (life.end.kind is EndKind.EXIT and life.end.status == 0 and not life.served)


def error_times(facts: Facts) -> list[float]:
    """When the client's requests failed; the window of the whole run where single rows have no time."""
    times = [r.at for b in facts.benches for r in b.rows if r.kind not in ("", "ok") and r.at is not None]
    return times or [t for b in facts.benches if b.errors for t in (b.first_at, b.last_at) if t is not None]


def life_at_issue(
    lives: tuple[Life, ...],
    facts: Facts,
    *,
    at: float | None,
    known_server: bool,
    told: Container[int] = (),
    by_itself: Container[int] = (),
    unheard: bool = False,
) -> Life:
    """The life that the client met; else the last one that failed, unless a later one became ready and stayed; else the last.

    ``told``: the lives with a word about a cause. Another whose end is not in the evidence gives way to the failed one before it, whose end is.
    ``by_itself``: those of them in which the service itself has said it, and not the kernel or another.
    ``unheard``: of the last life no line is there; it gives way to one before it that ended in the same way, and was heard.
    Of a service that this program does not know, running on for a while is all that can be seen of readiness.
    """
    met = error_times(facts)
    if met:
        first = min(met)
        # one whose end is told, but not its start, began above the first line that was kept
        began = [
            x
            for x in lives
            if (x.started_at is not None and x.started_at <= first) or (x.started_at is None and x.ended_at is not None and not x.index)
        ]
        held = [x for x in began if x.ended_at is None or first <= x.ended_at]
        if held:
            return _restarted(held[-1], lives, max(met))
        before = [x for x in began if x.ended_at is None or x.ended_at <= first]
        if before:
            return before[-1]
    last = lives[-1]
    if last.alive and not known_server and at is not None and last.started_at is not None and at - last.started_at >= STAYED_S:
        return last
    if last.end.kind is EndKind.NONE and last.alive is None and not last.ready and last.index in by_itself:
        return last  # its log breaks off behind the word about what ended it
    if unheard and failed(last):
        return next((x for x in reversed(lives[:-1]) if failed(x) and not _unseen_end(x) and _ended_alike(x, last)), last)
    for life in reversed(lives):
        if life is not last and _unseen_end(life) and life.index not in told and not last.ready:
            continue  # all that is known of its end is that another began
        if failed(life) or (life.ready and life.end.kind is EndKind.NONE and stayed(life, lives, at=at)):
            return _seen_to_end(life, lives, told)
    return lives[-1]


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


def _seen_to_end(life: Life, lives: tuple[Life, ...], told: Container[int]) -> Life:
    earlier = lives[life.index - 1] if life.index else life
    better = earlier is not life and failed(earlier) and not _unseen_end(earlier)
    return earlier if better and _unseen_end(life) and life.index not in told else life


def _unseen_end(life: Life) -> bool:
    return life.end.kind is EndKind.UNKNOWN and life.end.by is EndBy.UNKNOWN and life.end.result is None


def stayed(life: Life, lives: tuple[Life, ...], *, at: float | None = None) -> bool:
    """A life that has just become ready after short failed ones has not shown yet that it stays. ``at`` is when it was seen alive: a quiet server logs nothing."""
    before = lives[life.index - 1] if life.index else None
    if before is None or not failed(before) or _unseen_end(before) or before.lived_s is None or before.lived_s > SHORT_S:
        return True  # of a life whose end nobody saw it is not known that it was short
    since = life.ready_at if life.ready_at is not None else life.started_at
    seen_at = max((t for t in (life.last_at, at if life.alive else None) if t is not None), default=None)
    return since is None or seen_at is None or seen_at - since >= STAYED_S

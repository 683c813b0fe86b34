"""Put the seen lines of all sources in one order, each once. Reads no meaning into a line."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping

from forensics import clock
from forensics.model import Facts, PartKind, Seen
from forensics.reason.repeats import OF_THE_MACHINE, once

_UNSURE_S = 2.0
Stretch = tuple[str, int]  # a source, and which of its parts: of a pasted terminal each answer is one


def merged(facts: Facts) -> Iterator[Seen]:
    """All seen lines in one order: by time across the answers that hold them, by line within one. Repeats of a line in a second answer are dropped.

    Time within an answer never runs back (interleaved writers), so the order of lines is kept; sources without any time come last.
    """
    keyed: list[tuple[float, int, int, Seen]] = []
    ranks: dict[str, int] = {}
    latest: dict[Stretch, float] = {}
    said = list(once(facts.seen))
    timed = {s.record.source for s in said if s.record.at is not None}
    places = [_stretch(facts, seen) for seen in said]
    before: dict[str, float] = {}  # of a source, the time of the line above
    for position, (seen, place) in enumerate(zip(said, places, strict=True)):
        source = seen.record.source
        rank = ranks.setdefault(source, len(ranks))
        if seen.record.at is not None:
            latest[place] = max(latest.get(place, seen.record.at), seen.record.at)
        at = latest.get(place, before.get(source, float("-inf") if source in timed else float("inf")))
        before[source] = at
        keyed.append((at, rank, position, seen))
    keyed.sort(key=lambda k: k[:3])
    known: dict[tuple[str, str, int], Stretch] = {}
    # the whole log before the last lines under a status
    for place, seen in sorted(zip(places, said, strict=True), key=lambda pair: _is_tail(facts, pair[0])):
        if seen.record.at is not None:
            known.setdefault(_same(seen), place)
    better = _well_timed(facts)
    for _, _, position, seen in keyed:
        if _told_better(seen, better):
            continue
        if seen.record.at is None or known[_same(seen)] == places[position]:
            yield seen


def _stretch(facts: Facts, seen: Seen) -> Stretch:
    parts = facts.stretches.get(seen.record.source, ())
    return seen.record.source, bisect_right(parts, seen.record.line_no, key=lambda part: part[0]) if len(parts) > 1 else 0


def _is_tail(facts: Facts, place: Stretch) -> bool:
    source, number = place
    if number:
        return facts.stretches[source][number - 1][1] is PartKind.STATUS
    return PartKind.STATUS in facts.kinds.get(source, ())


def _well_timed(facts: Facts) -> dict[tuple[str, str], list[float]]:
    """When systemd and the kernel wrote what, by the sources whose stamps name points in time."""
    found: dict[tuple[str, str], list[float]] = {}
    for seen in facts.seen:
        if seen.record.at is not None and seen.record.origin in OF_THE_MACHINE and clock.since_boot(seen.hit.frame.stamp) is None:
            found.setdefault((seen.hit.rule, seen.record.text), []).append(seen.record.at)
    return found


def _told_better(seen: Seen, better: Mapping[tuple[str, str], list[float]]) -> bool:
    """Whether another source has this line with its time, where this one has none, or only counts from the start of the machine (known to a second or two)."""
    at, times = seen.record.at, better.get((seen.hit.rule, seen.record.text), ())
    if at is None:
        return bool(times) and seen.record.origin in OF_THE_MACHINE
    return clock.since_boot(seen.hit.frame.stamp) is not None and any(abs(at - time) <= _UNSURE_S for time in times)


def _same(seen: Seen) -> tuple[str, str, int]:
    return seen.hit.rule, seen.record.text, int(seen.record.at or 0)

"""Find the point in time that stamps since the start of a machine count from (``journalctl -o short-monotonic`` and ``short-delta``). Never guesses one.

A service that logs its own time beside journald's gives it away. Where nothing in the evidence names any point in time the seconds serve as they are,
so that spans come out right (see ``Facts.since_boot``); beside other times they would say nonsense, and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from forensics import clock
from forensics.model import Frame, Problem

_MOST_APART_S = 60.0  # what a line may wait before it is logged; more is another boot, or a clock that was set

UNKNOWN_START = "seconds since the machine started, and no line says when that was: save it with -o short-iso-precise"


def starts(frames: Iterable[Frame]) -> dict[str, float | None]:
    """When the machine of each source with such stamps was started; None where no line says so, or several boots are mixed."""
    found: dict[str, list[tuple[int, float, float | None]]] = {}
    for frame in frames:
        if (since := clock.since_boot(frame.stamp)) is not None:
            at = clock.parse_stamp(frame.inner) if frame.inner and not frame.continuation else None
            found.setdefault(frame.source, []).append((frame.line_no, since, None if at is None else at - since))
    return {source: _start(sorted(set(lines))) for source, lines in found.items()}


def only_since_boot(frames: Iterable[Frame], started: Mapping[str, float | None]) -> bool:
    """Whether no line of the evidence names a point in time."""
    return (
        bool(started)
        and all(clock.since_boot(f.stamp) is not None for f in frames if f.stamp or f.inner)
        and not any(at is not None for at in started.values())
    )


def unread(frames: Iterable[Frame]) -> list[Problem]:
    """A problem for each source whose stamps mean nothing, as those of a language that is not known."""
    stamps: dict[str, list[Frame]] = {}
    for frame in frames:
        if frame.stamp and clock.since_boot(frame.stamp) is None:
            stamps.setdefault(frame.source, []).append(frame)
    return [
        Problem(source=source, line=told[0].line_no, text=_why_unread(told[0].stamp))
        for source, told in stamps.items()
        if not any(clock.parse_stamp(frame.stamp, year=2000) is not None for frame in told)
    ]


def _why_unread(stamp: str) -> str:
    if stamp[:2].isdigit() and stamp[2:3] == ":":
        return f"times like {stamp!r} name no day, so nothing is said of when and how long; save it with journalctl -o short-iso"
    return f"times like {stamp!r} are not understood; another language? save it under LC_ALL=C"


def _start(lines: list[tuple[int, float, float | None]]) -> float | None:
    if any(b[1] < a[1] - _MOST_APART_S for a, b in pairwise(lines)):
        return None  # it counts from several starts
    told = [start for _, _, start in lines if start is not None]
    if not told or max(told) - min(told) > _MOST_APART_S:
        return None
    return max(told)  # a service's stamp is cut to the second, and a line is logged before it is received: each is too early

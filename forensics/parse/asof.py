"""As of when the evidence speaks: the time that it says itself, else one that nothing in it is after. Never asks what time it is now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from forensics import clock, lazily
from forensics.model import BenchRun, Capture, Frame, Record, Section, Seen, Tail
from forensics.parse import frame as framing
from forensics.parse.gathered import Gathered
from forensics.parse.part import Part, read_text

_FULL_STAMP = lazily.pattern(r"\b20\d\d-[01]\d-[0-3]\d[T ][0-2]\d:[0-5]\d:[0-6]\d\b")


def told_at(capture: Capture, got: Gathered) -> float | None:
    """The time of the capture as it says itself: manifest, host's clock, or a status line's since plus ago."""
    if capture.at is not None:
        return capture.at
    if got.clock_at is not None:
        return got.clock_at
    return max((state.since + state.ago_s for _, state in got.states if state.since is not None and state.ago_s is not None), default=None)


def latest_of(capture: Capture, got: Gathered, frames: Iterable[Frame]) -> float | None:
    """A time that nothing in the evidence is after: as it says itself, else its latest full stamp, else that of its files."""
    told = told_at(capture, got)
    if told is not None:
        return told
    full = [at for frame in frames if (at := framing.record(frame).at) is not None]
    full += [at for _, state in got.states for at in (state.since, state.started_at, state.exited_at) if at is not None]
    full += [at for boot in got.boots if (at := boot.last_at) is not None]
    full = full or [at for section, part in got.clients if (at := _client_latest(section, part)) is not None]
    return max(full or (s.path.stat().st_mtime for s in capture.sections if s.path.exists()), default=None)


def _client_latest(section: Section, part: Part) -> float | None:
    """The last full stamp in the head of a client's output: it dates a server's log without years beside it."""
    stamps = _FULL_STAMP.findall(read_text(section, part, 1 << 16, []))
    return max((at for stamp in stamps[-200:] if (at := clock.parse_stamp(stamp)) is not None), default=None)


def last_stamp(seen: Sequence[Seen], ends: Mapping[str, Tail], benches: Sequence[BenchRun]) -> float | None:
    """The last time that anything in the evidence was at."""
    records: list[Record] = [s.record for s in seen] + [record for tail in ends.values() for record in tail.last]
    times = [record.at for record in records if record.at is not None] + [run.last_at for run in benches if run.last_at is not None]
    return max(times, default=None)

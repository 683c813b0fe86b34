"""Make one run of what is told of it in several files: a benchmark prints, and saves as JSON, as CSV and as a record a request. Never joins repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from forensics import lazily
from forensics.model import BenchRun
from forensics.parse.called import called

LEAST = 5  # measured figures that two tellings have in common, all the same but for rounding: no two runs of a benchmark come to that
SAME_S = 1.0  # between the ends of the window, where one telling has whole seconds
_MEASURED = lazily.pattern(r"ttft|tpot|itl|e2e_latency|throughput")


def told_once(runs: Sequence[BenchRun]) -> tuple[BenchRun, ...]:
    """The runs, each once; in the order in which they were told first."""
    found: list[BenchRun] = []
    for run in runs:
        at = next((n for n, held in enumerate(found) if held.source != run.source and _same(held, run)), None)
        if at is None:
            found.append(run)
        else:
            found[at] = _joined(found[at], run)
    return tuple(found)


def _same(one: BenchRun, other: BenchRun) -> bool:
    if one.asked is None or (one.asked, one.ok, one.failed) != (other.asked, other.ok, other.failed) or one.matrix or other.matrix:
        return False
    ours, theirs = called(one.metrics), called(other.metrics)
    both = [name for name in ours.keys() & theirs.keys() if _MEASURED.search(name)]
    if len(both) >= LEAST:
        return all(_rounded_alike(ours[name], theirs[name]) for name in both)
    if both or one.tool != other.tool:
        return False
    times = [(one.first_at, other.first_at), (one.last_at, other.last_at)]
    return all(a is not None and b is not None and abs(a - b) <= SAME_S for a, b in times)


def _rounded_alike(one: float, other: float) -> bool:
    """Whether the figure with fewer digits can be the other one, rounded."""
    digits = min(len(repr(value).partition(".")[2]) if "e" not in repr(value) else 17 for value in (one, other))
    return abs(one - other) <= max(0.51 * 10.0**-digits, 1e-9 * abs(one))


def _joined(one: BenchRun, other: BenchRun) -> BenchRun:
    """The one that tells more of its requests, with what only the other tells. The lines stay those of one file, as they are cited with its name."""
    best, rest = sorted((one, other), key=_tells_most, reverse=True)
    mine = called(best.metrics)
    return replace(
        best,
        first_at=rest.first_at if best.first_at is None else best.first_at,
        last_at=rest.last_at if best.last_at is None else best.last_at,
        errors=best.errors if _tells(best) >= _tells(rest) else rest.errors,
        metrics={**best.metrics, **{name: value for name, value in rest.metrics.items() if not called({name: value}).keys() & mine.keys()}},
        samples={**rest.samples, **best.samples},
        configuration={**rest.configuration, **best.configuration},
        host=best.host or rest.host,
        port=best.port or rest.port,
        path=best.path or rest.path,
    )


def _tells_most(run: BenchRun) -> tuple[int, int, int, int]:
    """Times of requests before single measurements, before figures, and those before how many digits they have."""
    return sum(row.at is not None for row in run.rows), len(run.samples), len(run.metrics), sum(len(repr(value)) for value in run.metrics.values())


def _tells(run: BenchRun) -> int:
    """Of how many failures it is known which way they went."""
    return sum(many for kind, many in run.errors.items() if kind != "other")

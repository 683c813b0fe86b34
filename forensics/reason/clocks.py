"""Put a client's times on the host's clock: by the answers that the server logged, the window of a run, the file's own time, or the offset of the capture.

Judges neither side. Where nothing says how far the two clocks are apart, the times stay as they are; where they cannot be true, they are dropped and it is said.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace

from forensics import clock, lazily
from forensics.model import BenchRow, BenchRun, Capture, Facts, Seen

FAIR_S = 2.0  # clocks differ by that much, and a log is written that late, without anybody minding
STEP_S, FARTHEST = 900.0, 56  # zones differ by quarters of an hour, at most fourteen hours
LATE_S = 3.0  # between the last line of a client and the time of its file
AHEAD_S = 60.0
COARSE = 0.15  # of "1 week 2 days ago", what is left out
ENDS = 30  # attempts that are compared, of each end
LEAST, MOST_OF = 3, 0.6  # so many of them, and so many of all, have to stand in the server's log at the same distance
APART_S = 3.0
SPREAD_S = 1.0  # a client writes its line when it has read the answer
MOST_STARTS = 400
_ZONED = lazily.pattern(r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z\b| ?UTC\b| ?GMT\b| ?[+-]\d\d:?\d\d\b)")


def on_host_clock(facts: Facts, capture: Capture) -> Facts:
    """The facts with each client's times moved to the clock of the host, and with a sentence about each that had to be moved."""
    if facts.since_boot or not any(_times(run) for run in facts.benches):
        return facts
    runs, told = [], []
    for run in facts.benches:
        moved, text = _moved(run, facts, capture)
        runs.append(moved)
        if text:
            told.append(text)
    if not told:
        return facts
    return replace(facts, benches=tuple(runs), at=_at(facts, runs, capture), clocks=tuple(told))


def _moved(run: BenchRun, facts: Facts, capture: Capture) -> tuple[BenchRun, str]:
    times = _times(run)
    if not times:
        return run, ""
    if _ours(run, facts):
        return run, ""
    for shift_s, why in (_by_answers(run, facts.seen), _by_window(run, capture), _by_file(run, facts, capture)):
        if shift_s is None:
            continue
        if abs(shift_s) <= FAIR_S:
            return run, ""
        return _shifted(run, shift_s), f"{_distance(run, shift_s)}: they are moved to the host's, because {why}"
    looked_at, within_s = _looked_at(facts, capture)
    if looked_at is not None and max(times) > looked_at + within_s:
        bare = replace(run, first_at=None, last_at=None, rows=tuple(replace(row, at=None) for row in run.rows))
        why = "its clock or zone is another" if capture.at is not None else "its clock or zone is another, or it ran later"
        return bare, (
            f"{run.source} ends at {clock.iso(max(times))}, after this was collected ({clock.iso(looked_at)}): {why}, and how its"
            " requests lie to the server's life is not known"
        )
    return run, ""


def _looked_at(facts: Facts, capture: Capture) -> tuple[float | None, float]:
    """When the host was looked at, and how exact that is in seconds: a status that was saved says how long ago something was, in two units."""
    if capture.at is not None:
        return capture.at, AHEAD_S
    # what was dead when somebody looked was dead later as well
    alive = [state for state in facts.units.values() if state.active not in ("failed", "inactive")]
    told = [(state.since + state.ago_s, AHEAD_S + COARSE * state.ago_s) for state in alive if state.since is not None and state.ago_s is not None]
    return max(told, default=(None, AHEAD_S))


def _ours(run: BenchRun, facts: Facts) -> bool:
    """Whether the client wrote by our clock, and that is the host's: its file was written with its last line."""
    together = facts.offset_s is not None and abs(facts.offset_s) <= FAIR_S
    return together and run.written_at is not None and run.last_at is not None and abs(run.written_at - run.last_at) <= LATE_S


def _distance(run: BenchRun, shift_s: float) -> str:
    if _naive(run) and not round(shift_s) % int(STEP_S):
        return f"the times of {run.source} have no zone, and are those of {clock.offset(-float(round(shift_s)))}"
    return f"the times of {run.source} are {clock.span(abs(float(round(shift_s))))} {'behind' if shift_s > 0 else 'ahead of'} the host's"


# --------------------------------------------------------------------------- by what the server logged


def _by_answers(run: BenchRun, seen: Sequence[Seen]) -> tuple[float | None, str]:
    """The one distance at which the server's own log has the answers that the client got; none where several would do as well."""
    got = [(row.at, status) for row in run.rows if row.at is not None and (status := _status(row)) is not None]
    got = got if len(got) <= 2 * ENDS else got[:ENDS] + got[-ENDS:]
    theirs = _gave(run, seen)
    if len(got) < LEAST or len(theirs) < LEAST:
        return None, ""
    cut_s = 0.5 if all(at == int(at) for at, _ in theirs) else 0.0  # stamps that are cut to the second: half a second later on the whole
    in_order = _in_order(got, theirs, SPREAD_S + cut_s)
    if in_order is not None:
        return _whole(run, in_order + cut_s), f"the server's log has all of the {len(got)} answers that it got, in that order and at that distance"
    found = sorted((at - mine, number) for number, (mine, status) in enumerate(got) for at, said in theirs if said == status)
    scored = _scored(found, SPREAD_S / 2 + cut_s)
    if not scored:
        return None, ""
    best, _, at = max(scored)
    if best < max(LEAST, MOST_OF * len(got)) or any(score >= best - 1 and abs(other - at) > APART_S for score, _, other in scored):
        return None, ""
    return _whole(run, at + cut_s), f"the server's log has {best} of the answers that it got at that distance, and nowhere else as many"


def _gave(run: BenchRun, seen: Sequence[Seen]) -> list[tuple[float, str]]:
    """When the server gave which status under the client's path, in the source that has most of them: others repeat its last lines."""
    found: dict[str, list[tuple[float, str]]] = {}
    for one in seen:
        record, told = one.record, one.hit.captures
        if record.at is not None and "answered" in told and (not run.path or told.get("asked", "").partition("?")[0] == run.path):
            found.setdefault(record.source, []).append((record.at, told["answered"]))
    return sorted(found[max(found, key=lambda source: len(found[source]))]) if found else []


def _in_order(got: Sequence[tuple[float, str]], theirs: Sequence[tuple[float, str]], spread_s: float) -> float | None:
    """The distance at which the answers of the server are those of the client, one by one; None where they are not, or where they are at several."""
    from statistics import median  # which loads fractions and random generators

    fits = []
    for first in range(min(len(theirs) - len(got) + 1, MOST_STARTS)):
        here = theirs[first : first + len(got)]
        if any(said != status for (_, said), (_, status) in zip(here, got, strict=True)):
            continue
        distances = [at - mine for (at, _), (mine, _) in zip(here, got, strict=True)]
        if max(distances) - min(distances) <= 2 * spread_s:
            fits.append(median(distances))
    return fits[0] if len(fits) == 1 else None


def _scored(found: Sequence[tuple[float, int]], near_s: float) -> list[tuple[int, float, float]]:
    """For each distance how many attempts of the client have an answer about there, how near together (less is more), and the middle of those distances."""
    from statistics import median

    distances = [distance for distance, _ in found]
    scored = []
    for distance in sorted({round(d * 4) / 4 for d in distances}):
        low, high = bisect_left(distances, distance - near_s), bisect_right(distances, distance + near_s)
        if low < high:
            scored.append((len({number for _, number in found[low:high]}), distances[low] - distances[high - 1], median(distances[low:high])))
    return scored


def _whole(run: BenchRun, shift_s: float) -> float:
    """A distance that is all but a zone's is the zone's: clocks are set by others, zones by people."""
    zone_s = round(shift_s / STEP_S) * STEP_S
    return zone_s if zone_s and abs(shift_s - zone_s) <= FAIR_S and _naive(run) else shift_s


def _status(row: BenchRow) -> str | None:
    return "200" if row.kind == "ok" else row.kind[5:] if row.kind.startswith("http-") else None


# --------------------------------------------------------------------------- by when it was written


def _by_window(run: BenchRun, capture: Capture) -> tuple[float | None, str]:
    """When the errors came, as whoever ran the client saw it."""
    times = [row.at for row in run.rows if row.at is not None and row.kind not in ("", "ok")]
    if capture.bench_window is None or not times:
        return None, ""
    first, last = capture.bench_window
    early, late = first - min(times), last - max(times)
    return (late, "its errors were seen as they came") if abs(early - late) <= FAIR_S else (None, "")


def _by_file(run: BenchRun, facts: Facts, capture: Capture) -> tuple[float | None, str]:
    """How far the client's last line is from the time of its file, which is of our clock, as the offset of the host's is."""
    offset_s = facts.offset_s if facts.offset_s is not None and abs(facts.offset_s) > FAIR_S else 0.0
    of_us = (
        f"the host's clock is {clock.span(abs(offset_s))} {'ahead of' if offset_s > 0 else 'behind'} the machine's that asked it" if offset_s else ""
    )
    if run.written_at is None or run.last_at is None:
        return (offset_s, of_us) if offset_s else (None, "")
    late_s = run.written_at - run.last_at
    quarters = round(late_s / STEP_S)
    if abs(late_s) <= LATE_S:
        return (offset_s, f"{of_us}, and its file has the time of its last line") if offset_s else (0.0, "")
    if offset_s and abs(late_s + offset_s) <= LATE_S:
        return 0.0, ""  # written by the host's clock
    if quarters and abs(quarters) <= FARTHEST and abs(late_s - quarters * STEP_S) <= LATE_S and _naive(run) and _unfit(run, facts, capture):
        return quarters * STEP_S + offset_s, "its file was last written so long after its last line, to the second"
    return (offset_s, of_us) if offset_s else (None, "")


def _unfit(run: BenchRun, facts: Facts, capture: Capture) -> bool:
    """Whether its times, read as UTC, are outside of what the rest of the evidence speaks of."""
    heard = [record.at for tail in facts.tails.values() for record in (*tail.first, *tail.last) if record.at is not None]
    states = [at for state in facts.units.values() for at in (state.since, state.started_at) if at is not None]
    last = capture.at if capture.at is not None else max((*heard, *states), default=None)
    first = min((*heard, *states), default=None)
    assert run.last_at is not None
    return (last is not None and run.last_at > last + AHEAD_S) or (first is not None and run.last_at < first - AHEAD_S)


# --------------------------------------------------------------------------- the run itself


def _times(run: BenchRun) -> list[float]:
    return [*(row.at for row in run.rows if row.at is not None), *(at for at in (run.first_at, run.last_at) if at is not None)]


def _naive(run: BenchRun) -> bool:
    return not any(row.at is not None and _ZONED.search(row.text) for row in run.rows)


def _shifted(run: BenchRun, by_s: float) -> BenchRun:
    rows = tuple(replace(row, at=row.at + by_s) if row.at is not None else row for row in run.rows)
    moved = {name: at + by_s for name in ("first_at", "last_at") if (at := getattr(run, name)) is not None}
    return replace(run, rows=rows, shift_s=by_s, **moved)


def _at(facts: Facts, runs: Sequence[BenchRun], capture: Capture) -> float | None:
    """The time of the evidence: where a client's last line was all that told it, as it is now."""
    if capture.at is not None or facts.at is None or facts.at not in [run.last_at for run in facts.benches]:
        return facts.at
    heard = [record.at for tail in facts.tails.values() for record in tail.last if record.at is not None]
    return max((*heard, *(run.last_at for run in runs if run.last_at is not None)), default=None)

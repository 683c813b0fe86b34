"""Measure a start-up against its own pace and the unit's earlier lives: when it will be ready, and from when on it hangs. Judges nothing else."""

from __future__ import annotations

from typing import NamedTuple

from forensics import clock
from forensics.model import LAST_GOOD, Life, Phase, PhaseSpan
from forensics.reason.good import last_good
from forensics.reason.place import Story

USUAL_S = 600.0  # the servers' own limits are 480 and 600 s
# how long a phase may be silent whatever it took before: a bar that overwrites itself reaches a journal only when it is full, weights come from a
# cold disk or another machine, and the first compilation of kernels takes 10 to 20 minutes by the servers' own words
SILENT_S = {
    Phase.KV_POOL: 1200.0,
    Phase.CUDA_GRAPH: 1800.0,
    Phase.DRAFT_WORKER: 1800.0,
    Phase.WARMUP: 1800.0,
}
UNKNOWN_S = {**SILENT_S, Phase.WEIGHTS: 1800.0}
STEPS = 3  # so many steps make a pace
SLOWEST = 20.0  # times the slowest step so far
LONGER = 10.0  # times what the whole phase took in an earlier life: a warm page cache is ten times a disk
LEAST_S = 300.0


class Patience(NamedTuple):
    """For how many seconds a start-up may stand still before it is called hung, and what that is measured by ("" where by nothing of its own)."""

    limit_s: float
    by: str = ""


def measure(story: Story) -> Life | None:
    """The life by which this start-up is measured: the last good one where its times are known, else the latest other one that became ready."""
    good = last_good(story)
    timed = [x for x in story.lives if x.index != story.issue.index and x.ready_at is not None and x.started_at is not None]
    before = [x for x in timed if x.index < story.issue.index]
    return good if good in timed else (before or timed)[-1] if timed else None


def still_s(story: Story) -> float | None:
    """For how long nothing went forward at the time of the capture; None where the times are not known."""
    life = story.issue
    since = life.stepped_at if life.stepped_at is not None else life.last_at
    return max(0.0, story.at - since) if story.at is not None and since is not None else None


def patience(story: Story) -> Patience:
    """How long this phase of this server may stand still: by its own steps, else by an earlier life, else by what such a phase can take.

    Where the others wait for one rank, the phase is that one's.
    """
    life, good = story.issue, measure(story)
    phase = life.behind.phase if life.behind is not None and life.behind.phase is not None else life.phase
    step = life.progress
    if step is not None and step.slowest_s and step.steps >= STEPS and step.done < step.of:
        return Patience(
            limit_s=max(LEAST_S, SLOWEST * step.slowest_s), by=f"one of its {step.what or 'steps'} took {clock.span(step.slowest_s)} at most"
        )
    took = _seconds_of(good, phase) if good is not None else None
    least = SILENT_S.get(phase, USUAL_S) if phase is not None else USUAL_S
    if took is not None:
        which = LAST_GOOD if good == last_good(story) else "another life that became ready"
        return Patience(limit_s=max(least, LONGER * took), by=f"all of {phase} took {clock.span(took)} in {which}")
    return Patience(limit_s=UNKNOWN_S.get(phase, USUAL_S) if phase is not None else USUAL_S)


def stalled(story: Story) -> bool | None:
    """Whether the start-up at issue stands still for longer than it may; None where no time says so."""
    life, allowed = story.issue, patience(story)
    if life.alive is None and life.stepped_at is not None:
        # a log alone: silent is what has talked on without a step forward
        limit_s = allowed.limit_s if allowed.by else USUAL_S
        return life.last_at is not None and life.last_at - life.stepped_at > limit_s
    still = still_s(story)
    if still is None:
        return None
    if allowed.by:
        return still > allowed.limit_s
    # of a phase of which nothing is known any line is a sign of life
    silent = story.at - life.last_at if story.at is not None and life.last_at is not None else still
    return min(still, silent) > allowed.limit_s


def expected_at(story: Story) -> float | None:
    """When it will be ready: by the bar of this phase and what came after it in the life it is measured by, else by that life alone; None where neither is known.

    None as well where that is over by now: then it takes longer than it did, and nobody knows how much.
    """
    life, good = story.issue, measure(story)
    if life.ready or life.alive is not True or good is None:
        return None
    at = _by_bar(life, good)
    if at is None:
        at = _by_phase(life, good)
    return at if at is not None and (story.at is None or at > story.at) else None


def _bar_full_at(life: Life) -> float | None:
    bar = life.progress
    if bar is None or bar.at is None:
        return None
    left = 0.0 if bar.done >= bar.of else bar.left_s if bar.left_s is not None else bar.pace_s * (bar.of - bar.done) if bar.pace_s else None
    return bar.at + left if left is not None else None


def _by_bar(life: Life, good: Life) -> float | None:
    full = _bar_full_at(life)
    begun = _begun(life, life.phase)
    took = _seconds_of(good, life.phase)
    ended = _ended(good, life.phase)
    if full is None or begun is None or good.ready_at is None:
        return None
    if took is None or ended is None:
        return None
    if life.progress is not None and life.progress.done >= life.progress.of:
        full = max(full, begun + took)  # the bar is full and the phase is not over: what came after the bar last time is not over either
    return full + max(0.0, good.ready_at - ended)


def _by_phase(life: Life, good: Life) -> float | None:
    begun, before = _begun(life, life.phase), _begun(good, life.phase)
    assert good.ready_at is not None
    assert good.started_at is not None
    if begun is not None and before is not None:
        return begun + good.ready_at - before
    return life.started_at + good.ready_at - good.started_at if life.started_at is not None else None


def _begun(life: Life, phase: Phase | None) -> float | None:
    """When its last visit of a phase began, on the first rank to do so."""
    return min((s.started_at for s in _visits(life, phase) if s.started_at is not None), default=None)


def _ended(life: Life, phase: Phase | None) -> float | None:
    return max((s.started_at + s.took_s for s in _visits(life, phase) if s.started_at is not None and s.took_s is not None), default=None)


def _seconds_of(life: Life | None, phase: Phase | None) -> float | None:
    if life is None:
        return None
    begun, ended = _begun(life, phase), _ended(life, phase)
    return ended - begun if begun is not None and ended is not None else None


def _visits(life: Life, phase: Phase | None) -> list[PhaseSpan]:
    return [s for s in life.phases if s.phase is phase]

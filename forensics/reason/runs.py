"""Which run of a container a line is of, where only its engine's or cluster's record of the last runs says when they began. Ends no life and weighs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from forensics.model import Facts, MarkKind, Origin, Record, Run
from forensics.ruleset.schema import Mark

EARLY_S = 0.1  # a program's first line may be stamped before its engine has noted the start; the next start waits for longer than that
NEAR_S = 2.0
PREVIOUS = "prev"  # in the name of a log without stamps: kubectl logs --previous > previous.log


def runs_of(facts: Facts, unit: str | None, marks: Mapping[str, Mark]) -> tuple[Run, ...]:
    """The runs of a unit in order of time; none where its engine's own events say when the last one began: they know more of them."""
    found = [run for run in facts.runs if run.unit == unit]
    if not found or found[-1].started_at is None:
        return ()
    begun = found[-1].started_at
    for seen in facts.seen:
        mark, record = marks.get(seen.hit.rule), seen.record
        started = mark is not None and mark.kind is MarkKind.STARTED and record.origin is Origin.SYSTEMD
        if started and record.at is not None and abs(record.at - begun) <= NEAR_S:
            return ()
    if found[0].started_at is not None and any(_before(seen.record, found[0].started_at) for seen in facts.seen):
        found.insert(0, Run(unit=found[0].unit, started_at=None))  # a run before those that are known
    return tuple(found)


def _before(record: Record, begun: float) -> bool:
    return record.origin is Origin.SERVER and record.at is not None and record.at < begun - EARLY_S


def run_at(runs: Sequence[Run], record: Record) -> int:
    """The number of the run that a line belongs to: by its time, else by its source.

    Of what has no time, the log of the run before is called so, and what the cluster says of an end cannot be about a run that has none yet.
    """
    if record.at is None:
        of_before = len(runs) > 1 and runs[-1].ended_at is None and (record.origin is Origin.SYSTEMD or PREVIOUS in record.source.lower())
        return len(runs) - (2 if of_before else 1)
    early = EARLY_S if record.origin is Origin.SERVER else 0.0
    fits = [n for n, run in enumerate(runs) if run.started_at is None or record.at >= run.started_at - early]
    return fits[-1] if fits else 0

"""Tell of several clients each its own story, where they met different things: one came too early, another after the stop. Decides none of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from forensics import clock
from forensics.model import BenchRun, Cause, Diagnosis, Facts, Warn
from forensics.reason.known import errors_of

MOST = 32  # clients that are asked about one by one; of more it is one load, and one story
# what the service itself did comes before what one client did, and that before what is no fault at all
OF_A_CLIENT = (Cause.STARTUP_RACE, Cause.STARTUP_HANG, Cause.WRONG_ENDPOINT, Cause.BENCH_OVERLOAD)
NO_FAULT = (Cause.OPERATOR_STOP, Cause.UNKNOWN, Cause.EVIDENCE_MISSING, Cause.HEALTHY)


class Told(NamedTuple):
    """Clients that met the same, and the answer about the first of them alone."""

    benches: tuple[BenchRun, ...]
    found: Diagnosis


def clients_apart(facts: Facts, one: Callable[[Facts], Diagnosis]) -> list[Told]:
    """The clients that failed by what they met, those first that the report is about; none where all met the same."""
    failed = [bench for bench in facts.benches if errors_of(bench)]
    if not 1 < len(failed) <= MOST:
        return []
    alone = [(bench, one(replace(facts, benches=(bench,)))) for bench in failed]
    groups: dict[tuple[object, ...], list[Told]] = {}
    for bench, found in alone:
        groups.setdefault(_met(bench, found), []).append(Told((bench,), found))
    if len(groups) == 1:
        return []
    told = [Told(tuple(t.benches[0] for t in group), group[0].found) for group in groups.values()]
    return sorted(told, key=lambda t: (_rank(t.found.cause), -max(_last(bench) or 0.0 for bench in t.benches)))


def told_of_others(told: Sequence[Told]) -> tuple[str, tuple[Warn, ...]]:
    """What is said of the clients that the report is not about: in a few words behind its headline, and a warning each."""
    chief, others = told[0], told[1:]
    names = [_name(bench) for other in others for bench in other.benches]
    few = (
        f"; another client ({names[0]}) met something else"
        if len(names) == 1
        else f"; {len(names)} other clients ({', '.join(names[:3])}{', …' if len(names) > 3 else ''}) met something else"
    )
    warns = [Warn(kind="other-client", text=f"{_named(t.benches)}: {t.found.headline} ({t.found.cause})") for t in others]
    return few, (Warn(kind="other-client", text=f"this is about {_named(chief.benches)}"), *warns)


def _named(benches: Sequence[BenchRun]) -> str:
    return ", ".join(f"{_name(bench)}{_when(bench)}" for bench in benches)


def _met(bench: BenchRun, found: Diagnosis) -> tuple[object, ...]:
    port = bench.port if found.cause is Cause.WRONG_ENDPOINT else None
    return found.cause, found.started_at, port


def _rank(cause: Cause) -> int:
    return 2 + NO_FAULT.index(cause) if cause in NO_FAULT else 1 if cause in OF_A_CLIENT else 0


def _last(bench: BenchRun) -> float | None:
    times = [row.at for row in bench.rows if row.kind not in ("", "ok") and row.at is not None]
    return max(times, default=bench.last_at)


def _name(bench: BenchRun) -> str:
    return bench.source.rpartition("/")[2]


def _when(bench: BenchRun) -> str:
    times = [row.at for row in bench.rows if row.kind not in ("", "ok") and row.at is not None]
    return f" (failed {clock.hms(min(times))} to {clock.hms(max(times))} UTC)" if times else ""

"""Pick the unit that saved evidence is about: the one asked for, what its name was written for, or the one that most of the evidence speaks of."""

from __future__ import annotations

from collections.abc import Container, Mapping
from types import MappingProxyType

from forensics.model import Coverage, Facts, MarkKind, Origin, Pick
from forensics.units.edits import difference
from forensics.units.names import full_name
from forensics.units.near import related
from forensics.units.pick import LOGINS

SERVER = 1_000_000  # votes: more than any number of lines about another unit
ASKED = 10 * SERVER
NOBODY: Mapping[str, int] = MappingProxyType({})


def from_evidence(
    facts: Facts, marks: Mapping[str, MarkKind], unit: str | None, *, served: Container[str] = (), turned_away: Mapping[str, int] = NOBODY
) -> Pick:
    """Which unit files are about: the one asked for, if the evidence knows it or a near name; else the one it speaks of most.

    ``marks``: what a rule's id marks; ``served``: the units that run a server which this program knows; ``turned_away``: those at
    whose port a client failed, and that port: who comes with such a client comes for what it asked.
    """
    asked = (unit if unit in facts.units else full_name(unit)) if unit else None
    if asked is not None:
        return _pick_asked(facts, asked)
    for name, state in facts.units.items():
        if state.load == "not-found" and (meant := related(name, facts.unit_names).meant) is not None:
            return Pick(asked=name, unit=meant, how="mistyped", why=difference(name, meant))  # looked for in vain by whoever saved this
    told = _votes(facts, marks, served)
    for name in turned_away:
        told[name] = told.get(name, 0) + ASKED
    votes = {name: count for name, count in told.items() if count}
    if not votes:
        names = [name for name in facts.unit_names if told.get(name) != 0]
        typed = {a.unit for a in facts.asked if a.unit is not None}
        if not names and len(typed) == 1:
            return Pick(unit=typed.pop(), how="evidence", why="the only unit that was asked about")
        return Pick(unit=names[0], how="evidence", why="the only unit named in the evidence") if len(names) == 1 else Pick()
    best = max(votes, key=lambda n: votes[n])
    others = tuple(n for n in votes if n != best)
    tied = sum(count == votes[best] for count in votes.values()) > 1
    most = "it is the first of those of which the evidence says most" if tied else "the evidence says most of it"
    why = f"a client failed at its port {turned_away[best]}" if best in turned_away else "it runs a known server" if votes[best] >= SERVER else most
    return Pick(unit=best, how="evidence", why=why, candidates=others)


def _pick_asked(facts: Facts, asked: str) -> Pick:
    """The unit that was asked for where the evidence knows it or may be about it; else the one that was meant, or none."""
    state = facts.units.get(asked)
    gone = state is not None and state.load == "not-found"
    unheard = bool(facts.unit_names) and asked not in facts.unit_names and not (state is not None and state.load == "loaded")
    if not (gone or unheard):
        return Pick(asked=asked, unit=asked, how="asked")
    found = related(asked, [n for n in facts.unit_names if n != asked])
    if found.meant is not None:
        # a timer, a template or a container beside it may be there, though nothing speaks of it
        sure = gone or facts.coverage.get("units") in (Coverage.READ, Coverage.GIVEN) or found.distance > 0
        why = difference(asked, found.meant, sure=sure)
        return Pick(asked=asked, unit=found.meant, how="mistyped", distance=found.distance, why=why)
    if gone:
        return Pick(asked=asked, unit=asked, how="asked", candidates=found.close)
    if any(name in facts.units for name in facts.unit_names) or _about_others(facts, asked):
        why = f"the evidence says nothing of {asked}; it speaks of {', '.join(facts.unit_names[:3])}"
        return Pick(asked=asked, unit=asked, how="elsewhere" if state is None else "missing", why=why, candidates=facts.unit_names)
    return Pick(asked=asked, unit=asked, how="asked")


def _about_others(facts: Facts, asked: str) -> bool:
    """Whether all that systemd says there it says of other units by their names (older ones say only how a unit is described)."""
    said = [s for s in facts.seen if s.record.origin is Origin.SYSTEMD]
    named = [s.hit.captures.get("unit") or (s.record.unit if s.record.unit != "init.scope" else "") for s in said]
    return bool(named) and all(named) and asked not in named and not any(s.record.unit == asked for s in facts.seen)


def _votes(facts: Facts, marks: Mapping[str, MarkKind], served: Container[str]) -> dict[str, int]:
    """How much of the evidence is about each unit. Logins, and jobs that ran and were done (0), go by on every host all day: nobody asks about them."""
    votes: dict[str, int] = {}
    ends = (MarkKind.EXITED, MarkKind.FAILED, MarkKind.RESTART, MarkKind.START_LIMIT, MarkKind.OOM_KILL)
    kinds: dict[str, set[MarkKind]] = {}
    for seen in facts.seen:
        named = seen.hit.captures.get("unit") or (seen.record.unit if seen.record.unit != "init.scope" else "")
        if named and named.endswith((".service", ".scope")) and not named.startswith(LOGINS):
            kind = marks.get(seen.hit.rule)
            # what failed is what somebody asks about
            votes[named] = votes.get(named, 0) + (100 if kind in ends else 1)
            kinds.setdefault(named, set()).update({kind} if kind is not None else ())
    for named, said in kinds.items():
        job = said <= {MarkKind.STARTING, MarkKind.DEACTIVATED} and MarkKind.DEACTIVATED in said
        if job and (MarkKind.STARTING in said or _spoke_on(facts, named)):
            votes[named] = 0
    for name in filter(None, facts.units):
        votes[name] = votes.get(name, 0) + 100_000
    # as on a live host: who brings several units that failed, or a client that was turned away, comes for the server
    for name in [name for name in votes if name in served]:
        state = facts.units.get(name)
        if (
            kinds.get(name, set()) & set(ends)
            or (state is not None and state.active in ("failed", "activating"))
            or any(b.errors for b in facts.benches)
        ):
            votes[name] += SERVER
    return votes


def _spoke_on(facts: Facts, unit: str) -> bool:
    """Whether a process speaks below the last line that systemd says of a unit: then it is not that unit's, and the unit is not all there is."""
    records = [*(s.record for s in facts.seen), *(r for tail in facts.tails.values() for r in (*tail.first, *tail.last))]
    ended = {s.record.source: s.record.line_no for s in facts.seen if s.hit.captures.get("unit") == unit}
    return any(r.origin is Origin.SERVER and r.ident and r.pid and r.line_no > ended.get(r.source, r.line_no) for r in records)

"""Pick the unit among those of a host: the one asked for, what its name was written for, or without one the unit most worth a look."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from forensics.model import Pick, UnitState
from forensics.units.edits import difference
from forensics.units.names import full_name, parts
from forensics.units.near import related

LOGINS = ("user@", "user-runtime-dir@", "session-")  # of people, not services


def resolve(asked: str | None, names: Sequence[str], states: Mapping[str, UnitState], launch: Sequence[str] = ()) -> Pick:
    """Pick the unit. Without ``asked``: the failed, restarting or starting ones first, then those whose command line matches ``launch``."""
    if asked is not None:
        return _asked(full_name(asked), names, states)
    patterns = [re.compile(p) for p in launch]
    services = {n: s for n, s in states.items() if n.endswith((".service", ".scope")) and s.load != "not-found" and not n.startswith(LOGINS)}

    def served(state: UnitState) -> bool:
        return any(p.search(" ".join(state.argv)) for p in patterns)

    groups: list[tuple[str, str, list[str]]] = []
    failed = [n for n, s in services.items() if s.active == "failed"]
    restarting = [n for n, s in services.items() if s.sub == "auto-restart"]
    starting = [n for n, s in services.items() if s.active == "activating" and s.sub != "auto-restart"]
    profiled = [n for n, s in services.items() if served(s)]
    in_trouble = bool({*failed, *restarting, *starting} & set(profiled))
    for how, why, found in (
        ("failed", "it failed", failed),
        ("restarting", "it is restarting", restarting),
        ("starting", "it is starting", starting),
    ):
        # a server that this program knows beats an unrelated failed unit: who comes here comes for the server
        known = [n for n in found if n in profiled]
        groups.append((how, f"{why} and runs a known server", known))
        # with a server that is well beside it, both could be meant
        groups.append((how, why, [] if in_trouble else [*found, *profiled] if found else []))
    groups.append(("profile", "its command line is that of a known server", profiled))

    def urgency(name: str) -> tuple[int, bool, float, str]:
        where = 0 if name in restarting else 1 if name in failed else 2 if name in starting else 3
        return where, name not in profiled, -(services[name].started_at or 0.0), name

    everything = tuple(sorted({*failed, *restarting, *starting, *profiled}, key=urgency))
    for how, why, found in groups:
        if len(found) == 1:
            return Pick(unit=found[0], how=how, why=f"no --unit given: taken because {why}", candidates=tuple(n for n in everything if n != found[0]))
        if found:
            worth = tuple(n for n in everything if n in found or n in restarting)
            return Pick(how="none", why=f"no --unit given and {len(worth)} could be meant", candidates=worth)
    if len(services) == 1:
        (only,) = services
        return Pick(unit=only, how="evidence", why="the only unit in the evidence")
    if not names and not states:
        return Pick(how="none", why="no unit could be listed there")
    return Pick(how="none", why="no unit failed, restarts, starts, or runs a known server")


def replayed(pick: Pick, asked: str, names: Sequence[str]) -> Pick:
    """The pick of saved answers, of which somebody asks for a unit by name: they were collected about one, and speak of no other.

    ``names``: the units that are known to exist.
    """
    if asked in (pick.unit, pick.asked):
        return pick
    if pick.unit is None:
        return Pick(asked=asked, unit=asked, how="elsewhere", why=f"these answers were collected about no unit: of {asked} they hold no journal")
    found = related(asked, [pick.unit]) if asked not in names else None
    if found is not None and found.meant is not None:
        return Pick(asked=asked, unit=pick.unit, how="mistyped", distance=found.distance, why=difference(asked, pick.unit, sure=False))
    why = f"these answers were collected about {pick.unit}: they hold no journal of {asked}, and nothing can be said of it"
    return Pick(asked=asked, unit=asked, how="elsewhere", why=why, candidates=(pick.unit,))


def _asked(name: str, names: Sequence[str], states: Mapping[str, UnitState]) -> Pick:
    state = states.get(name)
    if state is not None and state.load not in (None, "not-found"):
        return Pick(asked=name, unit=name, how="asked")
    if state is not None and state.load is None and (state.active in ("active", "failed", "activating", "deactivating") or state.main_pid):
        return Pick(asked=name, unit=name, how="asked")
    existing = [n for n in names if not (n in states and states[n].load == "not-found")]
    if name in existing and not (state is not None and state.load == "not-found"):
        return Pick(asked=name, unit=name, how="asked")
    ours = parts(name)
    if ours.instance and f"{ours.base}@.{ours.suffix}" in existing:
        return Pick(asked=name, unit=name, how="asked")
    found = related(name, existing)
    if found.meant is not None:
        return Pick(asked=name, unit=found.meant, how="mistyped", distance=found.distance, why=difference(name, found.meant))
    stem = parts(name).stem.lower()
    holding = sorted(n for n in existing if len(stem) > 1 and stem in n.lower())
    return Pick(asked=name, unit=name, how="missing" if existing else "asked", candidates=tuple(dict.fromkeys([*found.close, *holding])))

"""Decide which unit is meant: a mistyped name finds its near one, and none given finds the one worth a look. Asks no host and reads no log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from forensics.errors import UsageError
from forensics.model import Pick, UnitState

# systemd.unit(5): the characters of a unit name; everything else is refused before it comes near a shell
UNIT_NAME = re.compile(r"[A-Za-z0-9:_.\\@-]{1,255}")
LOGINS = ("user@", "user-runtime-dir@", "session-")  # of people, not services
SUFFIXES = ("service", "socket", "target", "timer", "scope", "slice", "mount", "path", "device", "swap", "automount")


def full_name(asked: str) -> str:
    """The unit name with its suffix (``.service`` where none is given). Refuses what no unit can be called."""
    if not UNIT_NAME.fullmatch(asked) or asked.startswith(("-", ".")):
        raise UsageError(f"not a unit name: {asked!r}", hint="a name such as llm.service: letters, digits and : _ . \\ @ -")
    stem, dot, suffix = asked.rpartition(".")
    if dot and stem and suffix not in SUFFIXES and _is_misspelt(suffix):
        return f"{stem}.service"
    return asked if dot and suffix in SUFFIXES else f"{asked}.service"


def _is_misspelt(suffix: str) -> bool:
    """Whether it can be nothing but ``service``, with a slip or two."""
    from rapidfuzz.distance import OSA

    return suffix.isalpha() and len(suffix) > 4 and OSA.distance(suffix.lower(), "service", score_cutoff=2) <= 2


def near(asked: str, names: Iterable[str]) -> tuple[str | None, int, tuple[str, ...]]:
    """The one existing name that ``asked`` is a misspelling of, its distance, and all names that are close.

    Optimal string alignment on the stem, same suffix. Names that differ in digits only (``llm-1``, ``llm-2``) are two units and never a misspelling.
    """
    from rapidfuzz.distance import OSA

    stem, _, suffix = asked.rpartition(".")
    allowed = 0 if len(stem) < 4 else 1 if len(stem) < 8 else 2 if len(stem) < 14 else 3
    scored: list[tuple[int, str]] = []
    for name in set(names):
        other, _, other_suffix = name.rpartition(".")
        if other_suffix != suffix or name == asked:
            continue
        distance = OSA.distance(stem.lower(), other.lower(), score_cutoff=allowed)
        if distance <= allowed and _letters(stem) != _letters(other):  # only the case differs: 0
            scored.append((distance, name))
    scored.sort()
    close = tuple(name for _, name in scored)
    if not scored or (len(scored) > 1 and scored[1][0] == scored[0][0]):
        return None, 0, close
    return scored[0][1], scored[0][0], close


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
    return Pick(how="none", why="no unit failed, restarts, starts, or runs a known server")


def _asked(name: str, names: Sequence[str], states: Mapping[str, UnitState]) -> Pick:
    state = states.get(name)
    if state is not None and state.load not in (None, "not-found"):
        return Pick(asked=name, unit=name, how="asked")
    if state is not None and state.load is None and (state.active in ("active", "failed", "activating", "deactivating") or state.main_pid):
        return Pick(asked=name, unit=name, how="asked")
    existing = [n for n in names if not (n in states and states[n].load == "not-found")]
    if name in existing and not (state is not None and state.load == "not-found"):
        return Pick(asked=name, unit=name, how="asked")
    template = re.sub(r"@[^.]+\.", "@.", name)
    if template in existing:
        return Pick(asked=name, unit=name, how="asked")
    meant, distance, close = near(name, existing)
    if meant is not None:
        return Pick(asked=name, unit=meant, how="mistyped", distance=distance, why=difference(name, meant, distance))
    stem = name.rpartition(".")[0].lower()
    holding = sorted(n for n in existing if len(stem) > 1 and stem in n.lower())
    return Pick(asked=name, unit=name, how="missing" if existing else "asked", candidates=tuple(dict.fromkeys([*close, *holding])))


def difference(asked: str, meant: str, distance: int) -> str:
    """Say in words how two names differ: ``two letters differ``."""
    count = {0: "only upper and lower case differ", 1: "one letter differs", 2: "two letters differ", 3: "three letters differ"}.get(
        distance, f"{distance} letters differ"
    )
    return f"{asked} does not exist; {meant} does: {count}"


def _letters(stem: str) -> str:
    return re.sub(r"\d+", "#", stem)

"""Find the one existing name that another was written for. Never takes a far one, nor one of two equally near."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from forensics import lazily
from forensics.units.edits import SEPARATORS
from forensics.units.names import parts, unescaped

_DIGITS = lazily.pattern(r"\d+")
_ASKED_ABOUT = ("service", "timer", "socket", "path", "target", "scope", "")  # of the same stem they belong together; "": a container
_ALIKE = str.maketrans(dict.fromkeys(SEPARATORS, "-"))


class Found(NamedTuple):
    """``meant`` is the one name, None where there is none or more than one; ``distance`` in edits; ``close`` all that could be meant, the nearest first."""

    meant: str | None
    distance: int
    close: tuple[str, ...]


def related(asked: str, names: Iterable[str]) -> Found:
    """The existing name that ``asked`` stands for: of another kind (timer, container), the template's only instance, or a misspelling."""
    existing = sorted({n for n in names if n and n != asked})
    found = [look(asked, existing) for look in (_other_kind, _of_template, near)]
    one = next((f for f in found if f.meant is not None), None)
    close = tuple(dict.fromkeys(name for f in found for name in f.close))
    return Found(one.meant, one.distance, close) if one else Found(None, 0, close)


def near(asked: str, names: Iterable[str]) -> Found:
    """The one existing name that ``asked`` is a misspelling of, its distance, and all names that are close.

    Optimal string alignment on the stem, same suffix (or a container's name, which has none); case and kind of separator cost nothing.
    Names that differ in digits only (``llm-1``, ``llm-2``) are two units and never a misspelling.
    """
    from rapidfuzz.distance import OSA

    ours = parts(asked)
    length = len(ours.stem)
    allowed = 0 if length < 4 else 1 if length < 8 else 2 if length < 14 else 3
    scored: list[tuple[int, str]] = []
    for name in set(names):
        theirs = parts(name)
        if name == asked or theirs.suffix not in (ours.suffix, "") or ours.stem == theirs.stem:
            continue
        if ours.base == theirs.base and not (ours.instance and theirs.instance):
            continue  # a template is no misspelling of its instance
        distance = OSA.distance(_plain(ours.stem), _plain(theirs.stem), score_cutoff=allowed)
        if distance <= allowed and not _other_number(ours.stem, theirs.stem):
            scored.append((distance, name))
    scored.sort()
    close = tuple(name for _, name in scored)
    if not scored or (len(scored) > 1 and scored[1][0] == scored[0][0]):
        return Found(None, 0, close)
    return Found(scored[0][1], scored[0][0], close)


def _other_kind(asked: str, names: list[str]) -> Found:
    """A unit of the same stem and another suffix; a service before all others."""
    ours = parts(asked)
    same = [n for n in names if parts(n).stem == ours.stem and parts(n).suffix != ours.suffix and parts(n).suffix in _ASKED_ABOUT]
    services = [n for n in same if parts(n).suffix == "service"]
    only = services or same
    return Found(only[0] if len(only) == 1 else None, 0, tuple(same))


def _of_template(asked: str, names: list[str]) -> Found:
    """The only instance of a template that was asked for without one; the instance that was meant, escaped; the plain unit of an instance."""
    ours = parts(asked)
    kin = [(n, theirs) for n in names if (theirs := parts(n)).base == ours.base and theirs.suffix == ours.suffix]
    instances = [n for n, theirs in kin if theirs.instance]
    if not ours.instance:
        return Found(instances[0] if len(instances) == 1 else None, 0, tuple(instances))
    escaped = [n for n, theirs in kin if theirs.instance and unescaped(theirs.instance) == unescaped(ours.instance)]
    if len(escaped) == 1:
        return Found(escaped[0], 0, tuple(escaped))
    plain = [n for n, theirs in kin if theirs.instance is None]
    if plain and not instances and not any(theirs.instance == "" for _, theirs in kin):
        return Found(plain[0], 0, tuple(plain))
    return Found(None, 0, tuple(instances))


def _plain(stem: str) -> str:
    return unescaped(stem).lower().translate(_ALIKE)


def _other_number(ours: str, theirs: str) -> bool:
    """Whether they are numbered alike and the numbers differ."""
    mine, other = _DIGITS.findall(ours), _DIGITS.findall(theirs)
    return len(mine) == len(other) and mine != other

"""Answer what a server's table of flags says: whether a version has one, how that version spells it, when it came and went. Knows no server by name.

A version may be a range, or not known: then what holds for all of it is said, and what differs is named with its versions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from forensics.ruleset.schema import FlagSpan, FlagTable, Profile
from forensics.ruleset.versions import Key, range_of, version


class Spelling(NamedTuple):
    """A flag as a version writes it; ``also`` is the other spelling with its versions, where a range of versions has both."""

    flag: str
    also: str | None = None
    also_until: str | None = None
    also_since: str | None = None

    def __str__(self) -> str:
        if self.also is None:
            return self.flag
        return f"{self.flag} ({self.also} {f'up to {self.also_until}' if self.also_until else f'from {self.also_since} on'})"


def span_of(table: FlagTable, flag: str) -> FlagSpan | None:
    """From which to which checked version a flag is there; None for one that no checked version has."""
    return next((span for span in table.spans if flag in span.flags), None)


def span_in(profile: Profile, flag: str) -> FlagSpan | None:
    """The same of a profile, which knows other spellings of it."""
    table = profile.flags
    names = (flag, *_mates(profile, flag)) if table is not None else ()
    return next((span for name in names if table is not None and (span := span_of(table, name)) is not None), None)


def all_flags(profile: Profile) -> frozenset[str]:
    """Every flag of every version with all its other spellings; empty where the profile lists none."""
    if profile.flags is None:
        return frozenset()
    others = {other for names in profile.aliases.values() for other in names}
    return frozenset({*(flag for span in profile.flags.spans for flag in span.flags), *profile.aliases, *others})


def has(profile: Profile, flag: str, known: str | None) -> bool | None:
    """Whether a version (or all of a range) has a flag. None: some of the range have it, or nobody looked at a version so near."""
    table = profile.flags
    if table is None:
        return None
    span = span_of(table, flag)
    if span is None:
        mates = [mate for mate in _mates(profile, flag) if span_of(table, mate)]
        if mates:
            return has(profile, mates[0], known)
        positive = f"--{flag[5:]}" if flag.startswith("--no-") else ""  # a switch that may be unset has it, and no list of flags tells which one may
        return None if flag in profile.aliases or (span_of(table, positive) and has(profile, positive, known) is not False) else False
    told = range_of(known) if known else None
    if not table.checked or told is None:
        return None
    if flag.startswith("--no-") and span_of(table, f"--{flag[5:]}") not in (None, span):
        return None if has(profile, f"--{flag[5:]}", known) is not False else False
    first, last, before, after = _bounds(table, span)
    low, high = told.low, told.high
    if low is not None and high is not None and first <= low.key and high.key <= last:
        return True
    if high is not None and before is not None and high.key <= before:
        return False
    if low is not None and after is not None and low.key >= after:
        return False
    return None


def _bounds(table: FlagTable, span: FlagSpan) -> tuple[Key, Key, Key | None, Key | None]:
    """The first and the last version that are known to have it, and the nearest on either side that are known not to."""
    keys = [one.key for text in table.checked if (one := version(text)) is not None]
    at, to = table.checked.index(span.since), table.checked.index(span.until)
    return keys[at], keys[to], keys[at - 1] if at else None, keys[to + 1] if to + 1 < len(keys) else None


def _aliases(profile: Profile, flag: str) -> Iterator[str]:
    """Other spellings, of whatever version."""
    for first, others in profile.aliases.items():
        if flag == first or flag in others:
            yield from (other for other in (first, *others) if other != flag)


def _mates(profile: Profile, flag: str) -> Iterator[str]:
    """Other spellings that the same versions have."""
    table = profile.flags
    own = span_of(table, flag) if table is not None else None
    for other in _aliases(profile, flag):
        if own is None or table is None or span_of(table, other) in (None, own):
            yield other


def spellings(profile: Profile, flag: str) -> list[str]:
    """All names that a flag has or had, itself first."""
    found = [flag]
    renamed = profile.flags.renamed if profile.flags is not None else {}
    for name in found:  # grows as it is walked
        near = [*_aliases(profile, name), *filter(None, (renamed.get(name),)), *(old for old, new in renamed.items() if new == name)]
        found.extend(other for other in dict.fromkeys(near) if other not in found)
    return found


def spelled(profile: Profile, flag: str, known: str | None) -> Spelling | None:
    """The flag as that version writes it; None where no version has it, or not that one. A profile without a table is taken at its word."""
    table = profile.flags
    if table is None:
        return Spelling(flag=flag)
    names = [name for name in spellings(profile, flag) if has(profile, name, known) is not False]
    sure = [name for name in names if has(profile, name, known) is True]
    if sure:
        return Spelling(flag=sure[0])
    if not names:
        return None
    newest = table.checked[-1] if table.checked else None
    # of those that may be right the one that today's version has, and what it was called before
    names.sort(key=lambda name: has(profile, name, newest) is False)
    mates = {names[0], *_mates(profile, names[0])}
    other = next((name for name in names if name not in mates), None)
    here, there = span_of(table, names[0]), span_of(table, other) if other else None
    if other is None or here is None or there is None or not table.checked:
        return Spelling(flag=names[0])
    order = table.checked.index
    if order(here.since) <= order(there.since) and order(there.until) <= order(here.until):
        return Spelling(flag=names[0])  # right wherever the other one is
    if table.checked.index(there.until) < table.checked.index(here.until):
        return Spelling(flag=names[0], also=other, also_until=there.until)
    return Spelling(flag=names[0], also=other, also_since=there.since)


def called_here(profile: Profile, flag: str, known: str | None) -> Spelling | None:
    """The same for a flag that may be another server's: what it is called here. Of ``--flag.key`` the flag is looked up."""
    found = spelled(profile, flag, known)
    own = profile.flags.elsewhere.get(flag) if found is None and profile.flags is not None else None
    if own is None or profile.flags is None or span_in(profile, flag) is not None:
        return found
    base, dot, key = own.partition(".") if profile.flags.dotted else (own, "", "")
    here = spelled(profile, base, known)
    return None if here is None else Spelling(flag=f"{here.flag}{dot}{key}", also=here.also, also_until=here.also_until, also_since=here.also_since)


def lasts(table: FlagTable, span: FlagSpan) -> str:
    """``from 0.5.9 on``, ``up to 0.5.16``, ``in 0.5.9 … 0.5.16``; "" where all versions that were checked have it."""
    old, new = span.since == table.checked[0], span.until == table.checked[-1]
    if old and new:
        return ""
    if new:
        return f"from {span.since} on"
    if old:
        return f"up to {span.until}"
    return f"in {span.since} only" if span.since == span.until else f"in {span.since} … {span.until}"


def cost_of(profile: Profile | None, flag: str | None, way: str | None) -> str | None:
    """What it costs to move a flag that way, where the table says it of any of its spellings."""
    if profile is None or profile.flags is None or flag is None:
        return None
    for name in spellings(profile, flag):
        told = profile.flags.costs.get(name)
        if told is not None:
            return told.get(way or "set")
    return None

"""Add a user's own rules to the shipped ones: those of the home folder and those that are named. Never replaces a shipped rule and never trusts an expression of unknown cost."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from forensics.errors import RuleError, RuleErrors
from forensics.model import Location
from forensics.ruleset import sources
from forensics.ruleset.schema import Profile, Rule, RuleSet
from forensics.ruleset.shipped import shipped_rules

if TYPE_CHECKING:
    from forensics.ruleset.loading import Read

Warn = Callable[[Sequence[RuleError]], None]


class Together(NamedTuple):
    """The shipped rules and a user's own in one set; ``own`` are the user's alone, ``files`` theirs."""

    rules: RuleSet
    own: RuleSet
    faults: tuple[RuleError, ...]
    files: int


def load_rules(*paths: Path | str, home: bool = False) -> RuleSet:
    """The shipped rules, and those of ``paths`` (folders or files) added to them. Raises RuleErrors with every fault of theirs.

    ``home`` adds the user's own folder (``sources.own_folder``) as the command line does; what is wrong there is an error, too.
    """
    from forensics.ruleset.loading import load  # with samples, as who asks for rules may want to see them

    found = gather([Path(p) for p in paths], home=sources.own_folder() if home else None, shipped=load())
    if found.faults:
        raise RuleErrors(found.faults)
    return found.rules


def rules_for_a_diagnosis(paths: Sequence[Path], *, home: Path | None, warn: Warn, shipped: RuleSet | None = None) -> RuleSet:
    """The rules of one run of the program: what was named has to be right, or RuleErrors; a slip in the home folder costs that rule, and ``warn`` hears of it.

    Somebody who is woken at three o'clock did not ask for the rules in their home folder just then: the good ones are used.
    """
    own = gather([], home=home, shipped=shipped)
    meant = [p for p in paths if home is not None and _inside(p, home)]  # a part of the home folder that is named: it has to be right
    about = {sources.shown(file) for p in meant for file in sources.files(p)[0]}
    if wrong := [f for f in own.faults if isinstance(f.at, Location) and f.at.path in about]:
        raise RuleErrors(wrong)
    paths = [p for p in paths if p not in meant]
    if own.faults:
        warn(own.faults)
    if not paths:
        return own.rules
    base = shipped if shipped is not None else shipped_rules()
    named = add(base, paths, giving_way=own.own)
    if named.faults:
        raise RuleErrors(named.faults)
    return joined(joined(base, without(own.own, named.rules)), named.rules)


def gather(paths: Sequence[Path], *, home: Path | None, shipped: RuleSet | None = None) -> Together:
    """All there is, with its faults: shipped, then the home folder, then what was named, which stands for what the home folder has of the same name."""
    base = shipped if shipped is not None else shipped_rules()
    nothing = RuleSet(rules=(), profiles=())
    named = [path for path in paths if home is None or not _inside(path, home)]  # what is in the home folder is read with it
    at_home = add(base, [home]) if home is not None else None
    own, faults, files = at_home if at_home is not None else (nothing, (), 0)
    if named:
        found = add(base, named, giving_way=own)
        own = joined(without(own, found.rules), found.rules)
        faults, files = (*faults, *found.faults), files + found.files
    return Together(joined(base, own), own, faults, files)


def around(paths: Sequence[Path], rule_paths: Sequence[Path], *, home: Path | None, shipped: RuleSet) -> RuleSet:
    """What rules in ``paths`` may name beside the shipped ones when they are looked at alone: a user's other rules, those of the same files left out."""
    mine = {os.path.realpath(file) for path in paths for file in sources.files(path)[0]}
    there = gather(rule_paths, home=home, shipped=shipped).own
    return RuleSet(
        rules=tuple(r for r in there.rules if os.path.realpath(r.at.path) not in mine),
        profiles=tuple(p for p in there.profiles if os.path.realpath(p.at.path) not in mine),
    )


def without(rules: RuleSet, newer: RuleSet) -> RuleSet:
    """The rules and profiles that no newer one has the name of."""
    from forensics.ruleset.loading import names_of

    taken = set(names_of(newer))
    kept = tuple(rule for rule in rules.rules if not taken & {rule.id, *rule.was})
    return RuleSet(
        rules=kept, profiles=tuple(p for p in rules.profiles if f"profile {p.name}" not in taken), columns=rules.columns, anchors=rules.anchors
    )


def add(base: RuleSet, roots: Sequence[Path], *, giving_way: RuleSet | None = None) -> Read:
    """The rules of some folders and files that are added to others; those that could take long are refused here, not only in the lint.

    ``giving_way`` are a user's rules that are there as well, as long as none of the same name is added.
    """
    from forensics.ruleset.loading import Read, read

    found = read(*roots, beside=base, giving_way=giving_way)
    slow_rules: set[str] = set()
    slow_profiles: set[str] = set()
    faults: list[RuleError] = []
    for item, text in _slow(found.rules):
        faults.append(RuleError(text, at=item.at, hint="docs/rules.md, 'Linear time', says how else to write it"))
        (slow_rules if isinstance(item, Rule) else slow_profiles).add(item.id if isinstance(item, Rule) else item.name)
    if not faults and not found.faults:
        return found
    kept = tuple(r for r in found.rules.rules if r.id not in slow_rules)
    profiles = tuple(p for p in found.rules.profiles if p.name not in slow_profiles)
    there = base if giving_way is None else joined(base, giving_way)
    return Read(RuleSet(rules=_standing(there, kept), profiles=profiles, columns=found.rules.columns), (*found.faults, *faults), found.files)


def _standing(base: RuleSet, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """Without the rules whose conditions ask for one that had to be left out."""
    while True:
        there = {name for rule in (*base.rules, *rules) for name in (rule.id, *rule.was)}
        left = tuple(rule for rule in rules if _asked(rule) <= there)
        if len(left) == len(rules):
            return rules
        rules = left


def _asked(rule: Rule) -> set[str]:
    from forensics.ruleset import condition

    return {name for text in (rule.when, rule.where) if text for name, _ in condition.parse(text).rules}


def joined(base: RuleSet, own: RuleSet) -> RuleSet:
    """One set of both, the shipped ones first."""
    return RuleSet(rules=base.rules + own.rules, profiles=base.profiles + own.profiles, columns=base.columns.added(own.columns), anchors=base.anchors)


def _inside(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _slow(rules: RuleSet) -> Iterator[tuple[Rule | Profile, str]]:
    from forensics.ruleset.expressions import expressions, slow

    for rule in rules.rules:
        for _, pattern in expressions(rule):
            for text in slow(pattern):
                yield rule, f"'{rule.id}': {text}"
    for profile in rules.profiles:
        for key, pattern in expressions(profile):
            for text in slow(pattern):
                yield profile, f"profile '{profile.name}', {key}: {text}"

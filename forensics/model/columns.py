"""What the columns of measured configurations are called. The names come from the rules; none stands here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from forensics.model.noun import Noun


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Columns(Noun):
    """For each meaning the names that a column may have, the one that it is called by first; ``own``: names of an own harness → what they are called here.

    ``lost``: requests without an answer; ``lost_or_wrong``: or with a wrong one; ``why``: in words. Of ``correct`` the first that a row has counts, and those ``against_plain``
    say nothing of the plain run itself. Rows that differ in one of the ``conditions`` are never held against each other; those ``of_server`` are its own side's.
    """

    budget: tuple[str, ...] = ()
    topk: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    correct: tuple[str, ...] = ()
    against_plain: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    drafted: tuple[str, ...] = ()
    speed: tuple[str, ...] = ()
    label: tuple[str, ...] = ()
    question: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    lost_or_wrong: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    of_server: tuple[str, ...] = ()
    own: Mapping[str, str] = field(default_factory=dict)

    def with_own(self, own: Mapping[str, str]) -> Columns:
        """The same with the names of an own harness."""
        return replace(self, own=dict(own)) if own else self

    def added(self, more: Columns) -> Columns:
        """These and more names of the same meanings."""
        both: dict[str, Any] = {name: tuple(dict.fromkeys((*getattr(self, name), *getattr(more, name)))) for name in MEANINGS}
        return replace(self, **both)

    @cached_property
    def measured(self) -> tuple[tuple[str, ...], ...]:
        """The names of each meaning that a name of one's own can be said to have; the first stands for all."""
        return (self.budget, self.topk, self.steps, self.accepted, self.correct, self.asked, self.drafted, self.speed, self.label)

    @cached_property
    def known(self) -> tuple[str, ...]:
        """What a name of one's own can be said to mean."""
        return tuple(dict.fromkeys((*(names[0] for names in self.measured if names), *self.conditions)))

    @cached_property
    def carried(self) -> frozenset[str]:
        """All names of what holds for the records below it."""
        return frozenset((*(name for names in self.measured for name in names), *self.known))

    @cached_property
    def named(self) -> frozenset[str]:
        """All names that have a meaning."""
        return frozenset((*(name for meaning in MEANINGS for name in getattr(self, meaning)), *self.own))

    @cached_property
    def widths(self) -> frozenset[str]:
        """The names of how wide a tree is: a row has one of them."""
        return frozenset((*self.budget, *self.topk))

    @cached_property
    def outcomes(self) -> frozenset[str]:
        """The names of what came out: a row has one of them."""
        return frozenset((*self.accepted, *self.correct))


MEANINGS = tuple(one.name for one in fields(Columns) if one.name != "own")
NO_COLUMNS = Columns()

"""Names that were typed, or that a benchmark is set up with, and that are not the unit's: what they were written for. Picks no unit."""

from __future__ import annotations

import re
from collections.abc import Iterator

from forensics import lazily
from forensics.model import Asked, Warn
from forensics.reason.place import Story
from forensics.units import difference, near, related

_NO_UNIT = lazily.pattern(r"could not be found|Unit \S+ (?:not found|not loaded|does not exist)|No such file or directory|-- No entries --")
_NO_CONTAINER = lazily.pattern(r"(?i)no such (?:container|object)|no container with name")


def warnings(story: Story) -> Iterator[Warn]:
    """One for each name that was asked in vain, or that a configuration holds, where another was meant."""
    known = _known(story)
    said: set[tuple[str | None, str]] = set()
    for asked in story.facts.asked:
        for warn in (another(asked, known, story), _container(asked, known)):
            if warn is not None and (warn.asked, warn.text) not in said:
                said.add((warn.asked, warn.text))
                yield warn
    yield from _of_user(story)
    yield from _configured(story, known)


def is_another(asked: Asked, story: Story) -> bool:
    """Whether an empty answer is about a name that does not exist: then it is no wonder."""
    picked = asked.unit == story.pick.asked and story.pick.how == "mistyped"
    return picked or another(asked, _known(story), story) is not None


def another(asked: Asked, known: list[str], story: Story) -> Warn | None:
    """An answer that is empty, or says that there is no such unit, about a name that was written for another."""
    unit = asked.unit
    vain = asked.empty if asked.tool in ("journalctl", "grep", "") else bool(_NO_UNIT.search(asked.text))
    if not unit or not vain or not known or unit in known or unit == story.pick.asked:
        return None
    meant = related(unit, known).meant
    if meant is None:
        return None
    rest = f"its empty journal {_where(asked)} proves nothing" if asked.empty else f"so that answer {_where(asked)} says nothing of {meant}"
    return Warn(kind="mistyped-unit", asked=unit, meant=meant, text=f"{difference(unit, meant)}; {rest}")


def _of_user(story: Story) -> Iterator[Warn]:
    """A unit of the machine that was looked for among those of the account, or the other way round: the other manager has it."""
    told: dict[str, dict[bool, list[Asked]]] = {}
    for asked in story.facts.asked:
        if asked.unit:
            told.setdefault(asked.unit, {False: [], True: []})[asked.user].append(asked)
    for unit, by in told.items():
        for user in (True, False):
            vain, other = by[user], by[not user]
            if not vain or not all(_in_vain(a) for a in vain) or not any(not _in_vain(a) for a in other):
                continue
            where = _where(vain[0])
            text = (
                f"{unit} is a unit of the machine: the systemd of the account (--user) does not have it, and its answer {where} says nothing"
                if user
                else f"{unit} is a unit of the account: only its own systemd has it (--user), and the machine's answer {where} says nothing"
            )
            yield Warn(kind="user-unit", text=text)


def _in_vain(asked: Asked) -> bool:
    return asked.empty or bool(_NO_UNIT.search(asked.text))


def _container(asked: Asked, known: list[str]) -> Warn | None:
    """A container that there is not, where a unit has the name."""
    name = asked.container
    if name is None or not _NO_CONTAINER.search(asked.text):
        return None
    unit = name if re.search(r"\.(?:service|scope)$", name) else f"{name}.service"
    meant = unit if unit in known else related(unit, known).meant
    if meant is None or (meant == name and unit != name):
        return None
    return Warn(
        kind="mistyped-unit", asked=name, meant=meant, text=f"there is no container {name} {_where(asked)}; {meant} is a unit, and systemd runs it"
    )


def _configured(story: Story, known: list[str]) -> Iterator[Warn]:
    """A benchmark that is set up to read the journal of a unit that does not exist. Only misspellings: its script may well start another unit."""
    where: dict[str, list[str]] = {}
    for asked in story.facts.named:
        if asked.unit and asked.unit not in known:
            where.setdefault(asked.unit, []).append(f"{asked.source}:{asked.line_no}")
    for unit, places in where.items():
        meant = near(unit, known).meant
        if meant is not None:
            text = f"{difference(unit, meant)}; what is read or started by that name ({', '.join(places[:4])}) is another unit or none"
            yield Warn(kind="mistyped-unit", asked=unit, meant=meant, text=text)


def _known(story: Story) -> list[str]:
    mine = story.unit if story.pick.how not in ("missing", "elsewhere") and story.facts.seen else None
    return [n for n in dict.fromkeys((mine, *story.facts.unit_names)) if n]


def _where(asked: Asked) -> str:
    return f"({asked.source}:{asked.line_no})" if asked.line_no else f"({asked.source})"

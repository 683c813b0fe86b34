"""Tell what was asked of a host by the commands that stand in a paste, and which of them got no answer. Never takes an empty answer for a sign that nothing happened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from forensics import lazily
from forensics.model import Asked, PartKind, Section
from forensics.parse.asked import container_of, empties, filters, of_user, simples, unit_of
from forensics.parse.part import Part

_NOT_FOUND = lazily.pattern(r"could not be found|not loaded|-- No entries --")
JOURNALS = frozenset({PartKind.JOURNAL_TEXT, PartKind.JOURNAL_JSON, PartKind.JOURNAL_EXPORT})


def asked_in(section: Section, parts: Sequence[Part], read: Callable[[Part], str], *, in_vain: bool) -> Iterator[Asked]:
    """What was asked by the commands that stand in a section, and by that which a section answers ``in_vain``. ``read`` gives the first of an answer."""
    if in_vain:
        yield from _of_command(section.argv, section.name, 0, empty=True, text=_first_line(section.stderr))
    answers: dict[tuple[int, str], list[Part]] = {}
    for part in parts:
        if part.command is not None and section.part is None:
            answers.setdefault((part.command_line, part.command), []).append(part)
    for (line_no, command), told in answers.items():
        text = _first_line(read(told[0]))
        silent = all(part.kind in (PartKind.EMPTY, PartKind.NOTICE) for part in told) and any(part.kind is PartKind.EMPTY for part in told)
        # of several commands on a line, "-- No entries --" is the journal's answer
        none = not silent and any(part.kind is PartKind.EMPTY for part in told) and not any(part.kind in JOURNALS for part in told)
        yield from _of_command(command, section.name, line_no, empty=silent, text=text, no_entries=none)


def _of_command(command: str, source: str, line_no: int, *, empty: bool, text: str, no_entries: bool = False) -> list[Asked]:
    """What each program of a line was asked; of a line without a program that is known, one answer to the whole."""
    found = simples(command)
    journals = [one for one in found if one.tool == "journalctl"]
    return [
        Asked(
            source=source, line_no=line_no, command=command, unit=unit_of(one), empty=empty or (no_entries and journals == [one]),
            filtered=filters(one), limited=empties(one), host=one.host, tool=one.tool, text=text, user=of_user(one), container=container_of(one),
        )
        for one in found
    ] or [Asked(source=source, line_no=line_no, command=command, empty=empty, text=text)]  # fmt: skip


def of_other_manager(asked: Iterable[Asked]) -> set[str]:
    """Units that the machine's systemd knows and the account's does not, or the other way round, where both were asked."""
    told: dict[bool, set[str]] = {False: set(), True: set()}
    for one in asked:
        if one.unit and not one.empty and not _NOT_FOUND.search(one.text):
            told[one.user].add(one.unit)
    return {one.unit for one in asked if one.unit and one.unit in told[not one.user] - told[one.user]}


def _first_line(text: str) -> str:
    return text.strip().split("\n")[0][:400]

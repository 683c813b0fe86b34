"""Tell apart why a journal gave no line: no rights, a name that does not exist, a journal that begins later, a filter, or a unit that says nothing.

Never takes an empty answer for a sign that nothing happened.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from forensics.model import Coverage, Origin, UnitState, Warn
from forensics.reason import names
from forensics.reason.manager import operand
from forensics.reason.place import Story

DENIED, FILTERED, WINDOW, OTHER, ROTATED, SILENT, UNKNOWN = "denied", "filtered", "window", "other", "rotated", "silent", "unknown"


class Silence(NamedTuple):
    """Why the journal of the unit is empty, as one word, as a sentence, and the command that goes on from there."""

    kind: str
    text: str
    command: str | None = None


def silence(story: Story) -> Silence | None:
    """Why nothing of the unit's journal is there to be read; None where something is, or where nobody asked for it."""
    coverage = story.facts.coverage.get("journal", Coverage.NOT_COLLECTED)
    if coverage is Coverage.DENIED:
        return _denied(story)
    if coverage not in (Coverage.EMPTY, Coverage.CUT) or _heard(story):
        return None
    state = story.state
    if state is not None and "denied" in state.lines:
        return _denied(story)
    if state is not None and "rotated" in state.lines:
        return _rotated(story)
    empty = [a for a in story.facts.asked if a.empty and a.tool == "journalctl"]
    mine = [a for a in empty if a.unit in (None, story.unit) or story.unit is None]
    if empty and not mine:
        return Silence(OTHER, f"the empty answer is about {empty[0].unit}, not about {story.unit}", _again(story))
    whole = [a for a in mine if not a.filtered and not a.limited]
    if mine and not whole:
        first = mine[0]
        what = "a filter" if first.filtered else first.limited
        kind = FILTERED if first.filtered else WINDOW
        return Silence(kind, f"what was asked for left lines out ({what}), so that its empty answer says nothing of the rest", _again(story))
    if coverage is Coverage.CUT:
        return None
    if state is not None and _is_there(state):
        return Silence(
            SILENT,
            "the journal has no line of it, not even systemd's of its start: it is kept elsewhere (a log file, LogNamespace=), or no longer",
            f"systemctl show -p StandardOutput,StandardError,LogNamespace,ActiveEnterTimestamp {_unit(story)}; journalctl --disk-usage",
        )
    return Silence(
        UNKNOWN,
        "the journal gave no line: the name may be mistyped, the account may lack rights, or the journal begins later",
        f"systemctl status {_unit(story)}",
    )


def warnings(story: Story) -> Iterator[Warn]:
    """What an empty answer must not be taken for, of the unit at issue and of others that were asked about."""
    found = silence(story)
    if found is not None and found.kind in (DENIED, ROTATED, SILENT):
        yield Warn(kind={DENIED: "journal-denied", ROTATED: "journal-rotated", SILENT: "journal-silent"}[found.kind], text=found.text)
    state = story.state
    if found is None and state is not None and "rotated" in state.lines and story.facts.coverage.get("journal") is not Coverage.NOT_COLLECTED:
        yield Warn(kind="journal-rotated", text=_rotated(story).text)
    yield from names.warnings(story)
    for asked in story.facts.asked:
        if not asked.empty or asked.tool not in ("journalctl", "grep", "") or names.is_another(asked, story):
            continue
        if asked.filtered:
            yield Warn(
                kind="empty-grep",
                asked=asked.command,
                text=f"an empty filter ({asked.source}:{asked.line_no}) proves nothing: a server that is loading logs no error",
            )
        elif asked.limited and asked.unit in (None, story.unit):
            yield Warn(
                kind="empty-window",
                asked=asked.command,
                text=f"an empty answer to {asked.limited} ({asked.source}:{asked.line_no}) says nothing of other times and boots",
            )


def _heard(story: Story) -> bool:
    """Whether any line of the unit or about it was seen in a journal."""
    return any(s.record.origin in (Origin.SERVER, Origin.SYSTEMD) for s in story.facts.seen) or any(
        r.origin is Origin.SERVER for tail in story.facts.tails.values() for r in tail.last
    )


def _is_there(state: UnitState) -> bool:
    return state.load in ("loaded", None) and state.active in ("active", "activating", "reloading", "failed", "deactivating")


def _denied(story: Story) -> Silence:
    return Silence(
        DENIED,
        "this account may not read the journal: that nothing stands in it proves nothing",
        f"sudo journalctl -u {_unit(story)} -n 200 --no-pager",
    )


def _rotated(story: Story) -> Silence:
    return Silence(
        ROTATED,
        f"the journal has been rotated since {story.unit or 'the unit'} was started: what it said before is gone, not unsaid",
        "journalctl --list-boots; journalctl --disk-usage",
    )


def _again(story: Story) -> str:
    return f"journalctl -u {_unit(story)} -n 200 --no-pager"


def _unit(story: Story) -> str:
    return operand(story.unit)

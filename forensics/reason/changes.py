"""Say what changed between the last good life and the life at issue, from the arguments the server logged. Never guesses which change matters."""

from __future__ import annotations

from collections.abc import Mapping

from forensics.model import Change, Life
from forensics.reason import beside
from forensics.reason.place import Story
from forensics.ruleset.schema import Profile

# differs at every start and says nothing
NOISE = frozenset({"random_seed", "nccl_port", "dist_init_addr", "log_level", "log_level_http", "instance_id"})


def last_good(story: Story) -> Life | None:
    """The latest life before the one at issue that became ready."""
    return next((x for x in reversed(story.lives[: story.issue.index]) if x.ready), None)


def changes(story: Story) -> tuple[Change, ...]:
    """What differs in the arguments; empty where one of the two lives did not log them."""
    good = last_good(story)
    around = tuple(beside.changes(story, good.started_at if good is not None else None))
    if good is None:
        return (*_attempts(story), *around)
    return (*_compare(good.arguments, story.issue.arguments, story.profile, "the last good life"), *around)


def _attempts(story: Story) -> tuple[Change, ...]:
    """No good life: what was tried differently since the attempt before."""
    if story.issue.index == 0:
        return ()
    before = story.lives[story.issue.index - 1]
    return _compare(before.arguments, story.issue.arguments, story.profile, "the attempt before")


def _compare(before: Mapping[str, str], after: Mapping[str, str], profile: Profile | None, since: str) -> tuple[Change, ...]:
    if not before or not after:
        return ()
    names = [n for n in dict.fromkeys([*before, *after]) if n not in NOISE and before.get(n) != after.get(n)]
    shared = len(set(before) & set(after))
    found = []
    for name in names:
        if (name not in before or name not in after) and shared > 30:
            continue  # full dumps of two versions: a field that one of them lacks is not a change somebody made
        found.append(Change(what=flag(name, profile), before=_text(before.get(name)), after=_text(after.get(name)), since=since))
    return tuple(found[:12])


def flag(name: str, profile: Profile | None) -> str:
    """The flag that sets an argument: ``--tensor-parallel-size`` for ``tp_size`` where the profile says so."""
    if profile is not None:
        for spelled, others in profile.aliases.items():
            if name == spelled.lstrip("-").replace("-", "_") or name in others or f"--{name.replace('_', '-')}" in others:
                return spelled
    return "--" + name.replace("_", "-")


def _text(value: str | None) -> str | None:
    return None if value in (None, "None", "") else value

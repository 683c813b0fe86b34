"""Say what the life before the one at issue died of, where this one was only started for that: a start that a client met too early may be the second half of a crash."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from forensics import clock
from forensics.model import Cause, Life
from forensics.reason.issue import failed
from forensics.reason.known import known_facts
from forensics.reason.place import Story
from forensics.reason.verdict import conditions, decide

AGAIN_S = 600.0  # between an end and the start that is for it


class Fallen(NamedTuple):
    """The life that fell, and why as far as that is known."""

    life: Life
    cause: Cause

    @property
    def text(self) -> str:
        """``it was starting again, as it had died at 10:00:38 UTC after 39s (gpu-oom-runtime)``."""
        at = f" at {clock.hms(self.life.ended_at)} UTC" if self.life.ended_at is not None else ""
        after = f" after {clock.span(self.life.lived_s)}" if self.life.lived_s is not None else ""
        why = f" ({self.cause})" if self.cause is not Cause.UNKNOWN else ""
        return f"it was starting again, as it had died{at}{after}{why}"


def fallen(story: Story) -> Fallen | None:
    """The failed life right before the one at issue; None where there is none, or where hours lie between the two."""
    if not story.issue.index:
        return None
    before, since = story.lives[story.issue.index - 1], story.issue.started_at
    if not failed(before) or before.ended_at is None or since is None or since - before.ended_at > AGAIN_S:
        return None
    # what a client met, who listens and how the unit is now are of the life after it
    alone = replace(story, issue=before, state=None, facts=replace(story.facts, benches=(), listeners=None, probes=()))
    return Fallen(before, decide(alone, [*alone.signals, *conditions(known_facts(alone))]).cause)

"""Which earlier life of the unit may be held up as good: there is one answer for all who compare with it. Compares nothing itself."""

from __future__ import annotations

from forensics.model import Life
from forensics.reason.issue import failed
from forensics.reason.place import Story

STEADY_S = 60.0  # a life that ended so soon after it was ready has not shown that it was good


def last_good(story: Story) -> Life | None:
    """The latest life before the one at issue that became ready; rather one that served, or at least did not fall over at once."""
    ready = [x for x in story.lives[: story.issue.index] if x.ready]
    return next((x for x in reversed(ready) if _proved(x)), ready[-1] if ready else None)


def _proved(life: Life) -> bool:
    if not failed(life):
        return True
    since, until = life.ready_at, life.ended_at
    return life.served and (since is None or until is None or until - since >= STEADY_S)

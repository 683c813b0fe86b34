"""Open what was saved as a session, so that it is looked at like any other target. Asks nobody."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from forensics.collect import bundle
from forensics.collect.archive import Taken
from forensics.collect.question import Question
from forensics.model import Problem, Section, Target


class SavedSession:
    """``captures`` are those that were saved together, ``saved`` is the first of them; its sections are what ``ask`` gives.

    ``taken``: they come out of an archive, and what was taken out of it is ours to remove.
    """

    live = False
    may_sudo = False
    changes = False

    def __init__(self, target: Target, *, taken: Taken | None = None) -> None:
        self.target = target
        self._taken = taken
        self.captures = bundle.load_all(taken or target.paths[0])
        self.saved = self.captures[0]
        self.at, self.offset_s, self.host, self.took_s = self.saved.at, self.saved.offset_s, self.saved.host, self.saved.took_s
        self.problems: Sequence[Problem] = self.saved.problems

    def ask(self, questions: Sequence[Question]) -> list[Section]:
        """The saved sections, whatever the questions."""
        return list(self.saved.sections)

    def close(self) -> None:
        """Nothing is open."""

    def discard(self) -> None:
        """Remove what was taken out of an archive; a folder is its owner's."""
        if self._taken is not None:
            self._taken.spool.remove()

    def __enter__(self) -> SavedSession:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:
            self.discard()

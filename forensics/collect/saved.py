"""Open a saved capture as a session, so that it is looked at like any other target. Asks nobody."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from forensics.collect import bundle
from forensics.collect.question import Question
from forensics.model import Problem, Section, Target


class SavedSession:
    """``saved`` is the capture; its sections are what ``ask`` gives."""

    live = False
    changes = False

    def __init__(self, target: Target) -> None:
        self.target = target
        self.saved = bundle.load(target.paths[0])
        self.at, self.offset_s, self.host, self.took_s = self.saved.at, self.saved.offset_s, self.saved.host, self.saved.took_s
        self.problems: Sequence[Problem] = self.saved.problems

    def ask(self, questions: Sequence[Question]) -> list[Section]:
        """The saved sections, whatever the questions."""
        return list(self.saved.sections)

    def close(self) -> None:
        """Nothing is open."""

    def discard(self) -> None:
        """The folder is its owner's."""

    def __enter__(self) -> SavedSession:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Nothing is open."""

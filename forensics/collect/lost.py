"""Leave out of a capture what can be read no more: a file that was rotated away, a disk that fails. Reads nothing where all is well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from forensics.errors import TargetError
from forensics.model import Capture, Problem, Section

T = TypeVar("T")


def read_what_is_left(capture: Capture, read: Callable[[Capture], T]) -> tuple[T, Capture]:
    """What ``read`` makes of a capture, and of which: without the sections that turned out to be unreadable while it read, each with a problem that says so.

    TargetError where none is left, naming the first; an OSError that is about none of the sections is raised as it is.
    """
    while True:
        try:
            return read(capture), capture
        except OSError as error:
            rest = without_lost(capture)
            if rest is capture:
                raise
            if not rest.sections:
                raise TargetError(rest.problems[-1].text, at=str(capture.sections[-1].path)) from error
            capture = rest


def without_lost(capture: Capture) -> Capture:
    """The capture without the sections that cannot be read to their ends; itself where all can."""
    lost = {id(section): why for section in capture.sections if (why := _fault(section)) is not None}
    if not lost:
        return capture
    problems = [Problem(source=s.name, text=f"cannot be read: {lost[id(s)]}") for s in capture.sections if id(s) in lost]
    return replace(capture, sections=tuple(s for s in capture.sections if id(s) not in lost), problems=(*capture.problems, *problems))


def _fault(section: Section) -> str | None:
    try:
        for _ in section.chunks():
            pass
    except OSError as error:
        return error.strerror or str(error)
    return None

"""What a target is asked through, whatever it is, and how a capture is put together from its answers. Starts and opens nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import NamedTuple, Protocol

from forensics.collect.question import Question
from forensics.model import Capture, Coverage, Pick, Problem, Section, Target


class Limits(NamedTuple):
    """How long and how much. ``answer_s`` is until the host's shell speaks, ``total_s`` for everything, ``grace_s`` what an answer may be late."""

    connect_s: int = 10
    answer_s: float = 30.0
    total_s: float = 90.0
    grace_s: float = 5.0
    files: int = 256
    members: int = 50_000
    archive_files: int = 4096
    folder_bytes: int = 4 << 30
    depth: int = 8
    stdin_bytes: int = 4 << 30
    log_bytes: int = 64 << 20  # of a container, the newest


class Session(Protocol):
    """A target while it is open. Its sections' files outlive it until ``discard`` or the end of the program.

    ``live``: there is somebody to ask questions; else they are not looked at and ``ask`` gives all there is: files once, a container as it is each time.
    ``changes``: asked again, it may answer otherwise.
    ``may_sudo``: with ``sudo`` it might see more.
    ``saved`` is the capture as it was saved, where the target is one: take that, ask nothing.
    """

    @property
    def target(self) -> Target: ...

    @property
    def live(self) -> bool: ...

    @property
    def changes(self) -> bool: ...

    @property
    def may_sudo(self) -> bool: ...

    @property
    def saved(self) -> Capture | None: ...

    @property
    def at(self) -> float | None: ...

    @property
    def offset_s(self) -> float | None: ...

    @property
    def host(self) -> str | None: ...

    @property
    def took_s(self) -> float | None: ...

    @property
    def problems(self) -> Sequence[Problem]: ...

    def ask(self, questions: Sequence[Question]) -> list[Section]: ...

    def close(self) -> None: ...

    def discard(self) -> None: ...

    def __enter__(self) -> Session: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


def capture_from(session: Session, sections: Sequence[Section], *, pick: Pick | None = None) -> Capture:
    """The capture made of what was answered; of two sections of one name the later counts. A saved capture comes back as it was."""
    if session.saved is not None:
        return session.saved
    latest = {section.name: section for section in sections}
    return Capture(
        target=session.target, sections=tuple(latest.values()), host=session.host, at=session.at, offset_s=session.offset_s,
        took_s=session.took_s, pick=pick or Pick(), problems=(*session.problems, *(gaps(latest.values(), may_sudo=session.may_sudo) if session.live else ())),
    )  # fmt: skip


def gaps(sections: Iterable[Section], *, may_sudo: bool = False) -> list[Problem]:
    """What could not be read, as a person would want it said. A program that a host need not have is no gap. ``may_sudo``: sudo was not tried."""
    found = []
    for section in sections:
        text = _gap(section, ", --sudo may" if may_sudo else "")
        if text:
            found.append(Problem(source=section.name, text=text))
    return found


def _gap(section: Section, or_sudo: str) -> str:
    said = section.stderr.strip().splitlines()
    first = f": {said[0].strip()}" if said else ""
    match section.coverage:
        case Coverage.DENIED:
            who = " ".join(line.strip() for line in said[:2])  # journalctl's second line says who may
            return f"this account may not read it{or_sudo}{f': {who}' if who else ''}"
        case Coverage.NOT_COLLECTED if section.name != "gpu" or section.exit_code != 127:
            return f"not collected{first}"
        case Coverage.CUT:
            return f"not all of it: {section.cut} bytes are missing" if section.cut > 0 else f"not all of it{first}"
    return ""

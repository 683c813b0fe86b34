"""Turn a folder, files and standard input into sections. Copies only what can be read once, follows no link in a folder, writes nothing there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from forensics.collect import binary, journalfile, pipe
from forensics.collect.process import Start
from forensics.collect.question import Question
from forensics.collect.session import Limits
from forensics.collect.spool import Spool
from forensics.errors import TargetError
from forensics.model import Capture, Coverage, Problem, Section, Target

_STDIN = Path("-")


class GivenSession:
    """Files that somebody gave: there is nobody to ask, the first ``ask`` gives all of them."""

    live = False
    changes = False
    saved: Capture | None = None
    at: float | None = None
    offset_s: float | None = None
    host: str | None = None
    took_s: float | None = None

    def __init__(
        self,
        target: Target,
        *,
        spool: Spool,
        limits: Limits,
        run: Start,
        since: float | None = None,
        stdin: Callable[[], BinaryIO] | None = None,
    ) -> None:
        self.target = target
        self.problems: list[Problem] = []
        self._spool, self._limits, self._run, self._since = spool, limits, run, since
        self._stdin = stdin or _standard_input
        self._given = False

    def ask(self, questions: Sequence[Question]) -> list[Section]:
        """All files the first time, nothing afterwards; the questions are for hosts."""
        if self._given:
            return []
        self._given = True
        sections = []
        for path in self.target.paths:
            if path == _STDIN:
                given = self._from_stdin()
                sections += [given] if given is not None else []
            elif path.is_dir():
                sections += [s for name, file in self._walk(path) if (s := self._from_file(name, file)) is not None]
            else:
                section = self._from_file(self._short(path), path)
                sections += [section] if section is not None else []
        if not sections:
            why = f": {self.problems[0].text}" if self.problems else ""
            hint = "plain text is read: logs, journalctl and systemctl output, a benchmark's output"
            raise TargetError(f"there is nothing to read in it{why}", at=self.target.name, hint=hint)
        return sections

    def close(self) -> None:
        """Nothing is open."""

    def discard(self) -> None:
        """Remove the copy of standard input."""
        self._spool.remove()

    def __enter__(self) -> GivenSession:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:
            self.discard()

    def _short(self, path: Path) -> str:
        """What to call a file that was named: its last part, where no other file here has that."""
        alike = [other for other in self.target.paths if other.name == path.name]
        return path.name if len(alike) == 1 else str(path)

    def _walk(self, folder: Path) -> Iterator[tuple[str, Path]]:
        """The files of a folder, sorted, as (path within it, path)."""
        count = taken = 0
        for file in _tree(folder, self._limits.depth):
            name = file.relative_to(folder).as_posix()
            if file.is_symlink():
                self._skip(name, "a link: not followed")
                continue
            if not file.is_file():
                self._skip(name, "no ordinary file")
                continue
            count += 1
            taken += file.stat().st_size
            if count > self._limits.files or taken > self._limits.folder_bytes:
                limit = f"{self._limits.files} files" if count > self._limits.files else f"{self._limits.folder_bytes >> 20} MiB"
                self._skip(name, f"not read, nor what comes after it: more than {limit} in one folder")
                return
            yield name, file

    def _from_file(self, name: str, file: Path) -> Section | None:
        try:
            if pipe.is_stream(file):
                return self._from_stream(str(file), file)
            with file.open("rb") as stream:
                what = binary.kind(stream.read(binary.HEAD_BYTES))
            size = file.stat().st_size
        except OSError as error:
            if len(self.target.paths) == 1 and self.target.paths[0] == file:
                raise TargetError(f"cannot be read: {error.strerror}", at=str(file)) from error
            self._skip(name, f"cannot be read: {error.strerror}")
            return None
        if what == binary.JOURNAL:
            return journalfile.section(name, file, path=self._spool.path("journal-file"), run=self._run, since=self._since, problems=self.problems)
        if what:
            self._skip(name, f"{what}: not read")
            return None
        return Section(name=name, path=file, coverage=Coverage.GIVEN if size else Coverage.EMPTY)

    def _from_stdin(self) -> Section | None:
        path = self._spool.path("stdin")
        try:
            copied = pipe.copy(self._stdin(), path, self._limits.stdin_bytes)
        except OSError as error:
            raise TargetError(f"standard input cannot be read: {error.strerror}", at="-") from error
        return self._copied("-", path, copied, "standard input")

    def _from_stream(self, name: str, file: Path) -> Section | None:
        """A pipe or a device that was named: it can be read once only."""
        path = self._spool.path("stream")
        try:
            copied = pipe.copy_named(file, path, self._limits.stdin_bytes)
        except TargetError as error:
            if len(self.target.paths) == 1:
                raise
            self._skip(name, error.text)
            return None
        return self._copied(name, path, copied, "it")

    def _copied(self, name: str, path: Path, copied: pipe.Copied, what: str) -> Section | None:
        if copied.what:
            self._skip(name, f"{copied.what}: not read")
            return None
        if copied.cut:
            self._skip(name, f"only the first {self._limits.stdin_bytes >> 20} MiB of {what} are read")
            return Section(name=name, path=path, coverage=Coverage.CUT, cut=-1)
        return Section(name=name, path=path, coverage=Coverage.GIVEN if copied.size else Coverage.EMPTY)

    def _skip(self, name: str, why: str) -> None:
        self.problems.append(Problem(source=name, text=why))


def _standard_input() -> BinaryIO:
    if sys.stdin is None:  # as Python has it where descriptor 0 is closed
        raise TargetError("standard input is closed", at="-", hint="pipe something into it, or name a file")
    return sys.stdin.buffer


def _tree(folder: Path, depth: int) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise TargetError(f"cannot be read: {error.strerror}", at=str(folder)) from error
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir() and not entry.is_symlink():
            if depth > 1:
                yield from _tree(entry, depth - 1)
        else:
            yield entry

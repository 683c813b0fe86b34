"""Turn a folder, files, what came out of an archive, and standard input into sections. Copies only what can be read once or has to be unpacked, writes nothing into a folder."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from forensics.collect import archive, binary, bundle, catalogue, journalfile, pipe, plain, unpack
from forensics.collect import folder as files_below
from forensics.collect.archive import Taken
from forensics.collect.folder import Found
from forensics.collect.process import Start
from forensics.collect.question import Question
from forensics.collect.session import Limits
from forensics.collect.spool import Spool
from forensics.collect.targets import MANIFEST
from forensics.errors import TargetError
from forensics.model import Capture, Coverage, Problem, Section, Target

STDIN_PATH = Path("-")
_KEPT = unpack.KINDS | {binary.UTF_16}  # no text, but can be made one


class GivenSession:
    """Files that somebody gave: there is nobody to ask, the first ``ask`` gives all of them."""

    live = False
    may_sudo = False
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
        packed: Taken | None = None,
        copied: tuple[Path, pipe.Copied] | None = None,
    ) -> None:
        self.target = target
        self.problems: list[Problem] = []
        self._spool, self._limits, self._run, self._since = spool, limits, run, since
        self._stdin = stdin or standard_input
        self._packed = packed  # what was taken out of the archive that is the target
        self._piped = copied  # standard input, where it has been read already
        self._unpacked_bytes = 0
        self._given = False

    def ask(self, questions: Sequence[Question]) -> list[Section]:
        """All files the first time, nothing afterwards; the questions are for hosts."""
        if self._given:
            return []
        self._given = True
        sections = []
        for path in self.target.paths:
            if self._packed is not None:
                sections += [s for name, file in self._taken_out(self._packed) if (s := self._from_file(name, file)) is not None]
            elif path == STDIN_PATH:
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
        """Remove the copies."""
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

    def _walk(self, folder: Path) -> list[tuple[str, Path]]:
        """The files of a folder that are read, as (path within it, path)."""
        found, problems = files_below.files(folder, self._limits)
        self.problems += problems
        return [(file.name, file.path) for file in found]

    def _taken_out(self, taken: Taken) -> list[tuple[str, Path]]:
        """The files out of an archive that are read."""
        chosen, problems = files_below.choose(
            [Found(name, path, path.stat().st_size) for name, path in taken.files.items()], self._limits, left=taken.left
        )
        self.problems += [*taken.problems, *problems]
        return [(file.name, file.path) for file in chosen]

    def _from_file(self, name: str, file: Path) -> Section | None:
        try:
            if pipe.is_stream(file):
                return self._from_stream(str(file), file)
            return self._read(name, file)
        except OSError as error:
            if len(self.target.paths) == 1 and self.target.paths[0] == file:
                raise TargetError(f"cannot be read: {error.strerror}", at=str(file)) from error
            self._skip(name, f"cannot be read: {error.strerror}")
            return None

    def _read(self, name: str, file: Path, *, within: str = "") -> Section | None:
        """The section of a file, unpacked where it is compressed. ``within``: what it was unpacked from."""
        with file.open("rb") as stream:
            head = stream.read(binary.HEAD_BYTES)
        if Path(name).name == MANIFEST and (why := bundle.fault(file)) is not None:
            self._skip(
                name, f"{why}; if this is a saved capture, what it says of its unit, host and times is lost, and its files are read as they are"
            )
            return None
        what = binary.kind(head)
        if what == binary.JOURNAL:
            return journalfile.section(name, file, path=self._spool.path("journal-file"), run=self._run, since=self._since, problems=self.problems)
        if what == binary.TAR or (what in unpack.KINDS and archive.is_one(file)):
            self._skip(name, "an archive: not opened here; name it by itself, by a name that ends in .tar, .tar.gz or alike")
            return None
        if (what in unpack.KINDS and not within) or what == binary.UTF_16:
            return self._unpacked(name, file, what)
        if not what and head.startswith(binary.MARK):
            return self._unpacked(name, file, binary.MARKED)
        if what:
            self._skip(name, f"{what}{f' {within}' if within else ''}: not read")
            return None
        return self._section(name, file)

    def _unpacked(self, name: str, file: Path, what: str) -> Section | None:
        """Unpacked, or turned into UTF-8, into the spool; all of it together within the limits."""
        import shutil

        path = self._spool.path("unpacked")
        most = max(0, min(self._limits.folder_bytes - self._unpacked_bytes, shutil.disk_usage(path.parent).free // 2))
        try:
            why = plain.make(path, file, what, most=most)
        except TargetError as error:
            path.unlink(missing_ok=True)
            if len(self.target.paths) == 1 and self.target.paths[0] == file:
                raise
            self._skip(name, error.text)
            return None
        self._unpacked_bytes += path.stat().st_size
        if why:
            self._skip(name, f"{what}: {why}")
            if not path.stat().st_size:
                return None
        if what not in unpack.KINDS:
            return self._section(name, path, cut=bool(why))
        section = self._read(name, path, within=what)
        return replace(section, coverage=Coverage.CUT, cut=-1) if section is not None and why else section

    def _section(self, name: str, path: Path, *, cut: bool = False) -> Section:
        missing = self._packed.cut.get(name, 0) if self._packed is not None else 0
        hint = catalogue.kind_of(name)
        if cut or missing:
            return Section(name=name, path=path, coverage=Coverage.CUT, cut=missing or -1, hint=hint)
        return Section(name=name, path=path, coverage=Coverage.GIVEN if path.stat().st_size else Coverage.EMPTY, hint=hint)

    def _from_stdin(self) -> Section | None:
        if self._piped is not None:
            return self._copied("-", *self._piped, "standard input")
        path = self._spool.path("stdin")
        try:
            copied = pipe.copy(self._stdin(), path, self._limits.stdin_bytes, keep=_KEPT)
        except OSError as error:
            raise TargetError(f"standard input cannot be read: {error.strerror}", at="-") from error
        return self._copied("-", path, copied, "standard input")

    def _from_stream(self, name: str, file: Path) -> Section | None:
        """A pipe or a device that was named: it can be read once only."""
        path = self._spool.path("stream")
        try:
            copied = pipe.copy_named(file, path, self._limits.stdin_bytes, keep=_KEPT)
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
        section = self._read(name, path)
        return replace(section, coverage=Coverage.CUT, cut=-1) if section is not None and copied.cut else section

    def _skip(self, name: str, why: str) -> None:
        self.problems.append(Problem(source=name, text=why))


def standard_input() -> BinaryIO:
    """Standard input as bytes; TargetError where it is closed."""
    if sys.stdin is None:  # as Python has it where descriptor 0 is closed
        raise TargetError("standard input is closed", at="-", hint="pipe something into it, or name a file")
    return sys.stdin.buffer

"""One answer while it arrives, and what it is worth once it is there: cut, denied, empty or read. Judges how it was given, never what it says."""

from __future__ import annotations

import re
import time
from pathlib import Path

from forensics import lazily
from forensics.collect import order, packed, script
from forensics.collect.question import Question
from forensics.model import Coverage, Section

STDERR_BYTES = 2048
_BLANK_BYTES = 64
_KILLED = 137  # timeout -k had to use KILL

_DENIED = lazily.pattern(
    r"insufficient permissions|not seeing messages from|[Pp]ermission denied|Operation not permitted|Access denied|authentication required"
)
_NOTHING_THERE = lazily.pattern(
    r"not found$|No journal files were (?:found|opened)|has not been booted with systemd|Failed to (?:connect to bus|get D-Bus)", re.MULTILINE
)
_ESCAPE = lazily.pattern(r"\x1b\[[0-9;]*m")  # journalctl of systemd 247 colours its hint even in a pipe


class Answer:
    """The bytes of one question go to ``path``, unpacked; at most ``max_bytes`` of them."""

    def __init__(self, question: Question, path: Path, *, encoding: str = packed.PLAIN) -> None:
        self.question = question
        self.path = path
        self.began = time.monotonic()
        self.took_s: float | None = None
        self.exit_code: int | None = None
        self.broken = ""
        self._room = question.max_bytes + (1 if question.keep_end else 0)
        self._lost = 0
        self._file = path.open("wb")
        self._unpack: packed.Unpacker | None = None
        try:
            self._unpack = packed.unpacker(encoding)
        except packed.BrokenError as error:
            self.broken = str(error)

    def write(self, piece: bytes) -> None:
        """Add what has arrived; what is over the limit is counted and thrown away, what cannot be unpacked is lost and said."""
        if self._unpack is None:
            return
        try:
            for data in self._unpack.feed(piece):
                part = data[: self._room]
                self._file.write(part)
                self._room -= len(part)
                self._lost += len(data) - len(part)
                if self._lost:  # no more of it is wanted, and what is packed may be without end
                    self._unpack = None
                    return
        except packed.BrokenError as error:
            self.broken, self._unpack = f"it arrived damaged: {error}", None

    @property
    def full(self) -> bool:
        """Whether there was more than may be kept."""
        return self._lost > 0

    def end(self, exit_code: int, took_s: float | None = None) -> None:
        """The whole answer is there. ``took_s`` is the host's word for how long the command ran; else it is as long as we have listened."""
        self.exit_code = exit_code
        self.took_s = round(time.monotonic() - self.began, 3) if took_s is None else took_s
        self._file.close()

    def close(self) -> None:
        """Nothing more will come."""
        self._file.close()

    def head(self) -> str:
        """The first bytes of an answer that has ended."""
        with self.path.open("rb") as stream:
            return stream.read(4096).decode("utf-8", "replace")

    def _worth(self) -> int:
        """The bytes there are, 0 where they are blank: a script with several commands puts blank lines between them."""
        size = self.path.stat().st_size
        return size if size > _BLANK_BYTES or self.head().strip() else 0

    def section(self, stderr: str) -> Section:
        """The section: put in order, with its coverage."""
        lost = self._lost > 0
        if self.question.keep_end and self._room == 0:
            order.drop_first_line(self.path)
            lost = True
        if self.question.newest_first:
            lost = order.reverse_export(self.path) > 0 or lost
        stopped = self.exit_code in (None, script.TIMED_OUT, _KILLED)
        if stopped:
            why = "the connection ended before it did" if self.exit_code is None else f"it was stopped after {self.question.limit_s:g} s"
            stderr = f"{why}\n{stderr}"
        if self.broken:
            stderr, lost = f"{self.broken}\n{stderr}", True
        stderr = _ESCAPE.sub("", stderr).strip("\n")
        return Section(
            name=self.question.name, path=self.path, argv=self.question.argv, exit_code=self.exit_code, took_s=self.took_s,
            cut=-1 if lost or stopped else 0, coverage=coverage(self._worth(), self.exit_code, stderr, lost=lost or stopped),
            stderr=stderr[:STDERR_BYTES], part=self.question.part,
        )  # fmt: skip


def coverage(size: int, exit_code: int | None, stderr: str, *, lost: bool) -> Coverage:
    """How far an answer can be trusted to be all there is. A unit that is down makes systemctl exit 3: the code alone says little."""
    denied = _DENIED.search(stderr) is not None
    if size:
        return Coverage.CUT if lost or denied else Coverage.READ
    if denied:
        return Coverage.DENIED
    if lost or exit_code in (126, 127) or _NOTHING_THERE.search(stderr):
        return Coverage.NOT_COLLECTED
    return Coverage.EMPTY


def not_asked(question: Question, path: Path) -> Section:
    """The section of a question that was not come to."""
    path.touch()
    return Section(
        name=question.name, path=path, argv=question.argv, coverage=Coverage.NOT_COLLECTED, cut=-1, stderr="not come to", part=question.part
    )

"""What is known of the terminal: its width, whether colours are wanted, the one line of progress, and writing a report out. Never writes a result to standard error."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TextIO

from forensics import redact
from forensics.errors import ForensicsError

_PIPED_WIDTH = 100  # for a ticket or a mail, where nobody can widen the window
_MAX_WIDTH = 160  # longer lines are hard to read


def width(wanted: int | None, stream: TextIO) -> int:
    """Columns to write for: as asked, else as wide as the terminal (``COLUMNS`` holds), else fit for a ticket."""
    if wanted:
        return wanted
    known = os.environ.get("COLUMNS", "").isdecimal() or stream.isatty()
    return min(shutil.get_terminal_size().columns, _MAX_WIDTH) if known else _PIPED_WIDTH


def color(wanted: str, stream: TextIO) -> bool:
    """Colours: ``always``, ``never``, or ``auto``: on a terminal that can, unless NO_COLOR is set."""
    if wanted != "auto":
        return wanted == "always"
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Progress(AbstractContextManager["Progress"]):
    """One line on standard error that says what is being done, wiped at the end. Silent unless that is a terminal (or lines are wanted)."""

    def __init__(self, stream: TextIO, *, lines: bool = False) -> None:
        self._stream = stream
        self._lines = lines
        self._live = stream.isatty() and not lines and os.environ.get("TERM") != "dumb"
        self._shown = False

    def __call__(self, text: str) -> None:
        text = harmless(text)
        if self._live:
            columns = shutil.get_terminal_size().columns
            self._stream.write(f"\r\x1b[K{text[: max(columns - 1, 1)]}")
            self._shown = True
        elif self._lines:
            self._stream.write(f"{text}\n")
        self._stream.flush()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def harmless(text: str) -> str:
    """Text that may hold what a host wrote, safe to print and without secrets."""
    return redact.secrets(redact.neutralise(text))


def write(text: str, file: Path | None) -> None:
    """Write a report to a file, or to standard output (None or ``-``). A reader that has gone away is no error: the verdict stands."""
    if file is None or str(file) == "-":
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ForensicsError(f"cannot write the report: {error.strerror}", at=str(file)) from error

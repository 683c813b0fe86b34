"""What is known of the terminal: its width, whether colours are wanted, the one line of progress, and writing a report out. Never writes a result to standard error."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

import click
from click.shell_completion import CompletionItem

from forensics import redact
from forensics.cli.streams import let_go_of_stdout
from forensics.errors import ForensicsError, UsageError

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
    """One line on standard error that says what is being done, wiped at the end.

    Silent unless that is a terminal, or lines are wanted: all of them, or one in ``every_s`` seconds.
    """

    def __init__(self, stream: TextIO, *, lines: bool = False, every_s: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._lines = lines
        self._every_s = every_s
        self._clock = clock
        self._next = clock()
        self._live = stream.isatty() and not lines and os.environ.get("TERM") != "dumb"
        self._shown = False

    def __call__(self, text: str) -> None:
        text = harmless(text)
        if self._live:
            columns = shutil.get_terminal_size().columns
            room = max(columns - 1, 1)
            self._write(f"\r\x1b[K{text if len(text) <= room else text[: room - 1] + '…'}")
            self._shown = True
        elif self._lines:
            self._write(f"{text}\n")
        elif self._every_s is not None and self._clock() >= self._next:
            self._next = self._clock() + self._every_s
            self._write(f"{text}\n")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._shown:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        with suppress(OSError):  # nobody can read it: the work goes on
            self._stream.write(text)
            self._stream.flush()


redact_option = click.option(
    "--redact",
    "redaction",
    type=click.Choice(("secrets", "all", "none")),
    help="What is masked: keys, tokens and passwords; also users, hosts and public addresses (all); nothing. Default: secrets in what is shown, all in what is saved.",
)


redact_bundle_option = click.option(
    "--redact",
    "redaction",
    type=click.Choice(("all", "secrets", "none")),
    default="all",
    show_default=True,
    help="What is taken out: secrets, and names of users and hosts, e-mail and public addresses by a map that is the same in all of it; only secrets; nothing.",
)


def redacting(redaction: str | None) -> dict[str, Any]:
    """What the pipeline is told of ``--redact``: nothing where it was not given."""
    return {"redaction": redact.Redaction(redaction)} if redaction else {}


def mask_of(redaction: str | None) -> Callable[[str], str]:
    """What every text of a report goes through."""
    return str if redaction == "none" else redact.secrets


def harmless(text: str) -> str:
    """Text that may hold what a host wrote, safe to print and without secrets."""
    return redact.secrets(redact.neutralise(text))


def files(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What a shell completes a target with."""
    return [CompletionItem(incomplete, type="file")]


def only_hosts(words: Sequence[str]) -> None:
    """Raise UsageError where a target is none that gets a script."""
    from forensics import collect
    from forensics.model import TargetKind

    for target in collect.parse_targets(words):
        if target.kind not in (TargetKind.SSH, TargetKind.LOCAL):
            raise UsageError("no script is run for it: files are read here, a container is asked through its own client", at=target.name)


def write(text: str, file: Path | None) -> None:
    """Write a report to a file, or to standard output (None or ``-``). A reader that has gone away is no error: the verdict stands."""
    if file is None or str(file) == "-":
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            let_go_of_stdout()
        except OSError as error:
            let_go_of_stdout()
            raise ForensicsError(f"cannot write the report: {error.strerror}") from error
        return
    try:
        file.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise ForensicsError(f"cannot write the report: {error.strerror}", at=str(file)) from error

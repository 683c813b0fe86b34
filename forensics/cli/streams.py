"""The three standard streams where they are closed, full, or nobody reads them any more. Imports next to nothing, writes nothing."""

from __future__ import annotations

import os
import sys


def open_what_is_closed() -> None:
    """Give closed standard streams to ``/dev/null``: else the first file that is opened gets such a number, and is written into.

    ``sys.stdin`` stays None, so that whoever wants to read from it can say so.
    """
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free: this one
    # as Python has it where the descriptor was closed when it started
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def let_go_of_stdout() -> None:
    """What is still held goes nowhere: the interpreter flushes at its exit, and would complain once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

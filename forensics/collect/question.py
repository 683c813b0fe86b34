"""What one question to a host is. Holds none, asks none."""

from __future__ import annotations

from typing import NamedTuple

from forensics.model import PartKind

MIB = 1 << 20


class Question(NamedTuple):
    """One command for the host. ``argv`` is how to write it for a person.

    ``completes``: no section of its own, but what another one may have lost (the beginnings of a journal
    that is too long); asked only where that one was cut.
    ``lane``: the questions of a lane are asked one after the other, lanes side by side; what may hang or is slow has one of its own.
    ``pack``: large enough to be worth compressing on its way. ``sudo``: with more rights it may say more.
    ``files``: patterns (as of fnmatch, lower case, a star ends at a slash) of the ends of the paths under which the same answer lies in somebody's own export or in a support archive.
    ``keep_end``: where the answer is too long its start is lost instead of its end. ``newest_first``: a journal export that
    comes newest first and is turned round when it has arrived.
    """

    name: str
    part: PartKind
    script: str
    argv: str
    limit_s: float = 10.0
    max_bytes: int = MIB
    keep_end: bool = False
    newest_first: bool = False
    completes: str = ""
    lane: str = "unit"
    pack: bool = False
    sudo: bool = False
    files: tuple[str, ...] = ()

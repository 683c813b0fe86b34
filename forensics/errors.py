"""The exceptions of the project: one tree, each with a place and a hint. Never prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # every command imports this module, --help too, and the nouns cost as much as click
    from forensics.model import Location


class ForensicsError(Exception):
    """Base of all errors meant for a user. ``at`` is the place (a file position, or a host and a command), ``hint`` the way out."""

    exit_code = 3

    def __init__(self, text: str, *, at: Location | str | None = None, hint: str | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.at = at
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.at}: " if self.at else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.text}{hint}"


class TargetError(ForensicsError):
    """The target cannot be looked at: no such file, host unreachable, key refused."""


class UsageError(ForensicsError):
    """What was asked makes no sense: a host name that begins with a dash, an odd unit name."""

    exit_code = 2


class BundleError(ForensicsError):
    """A saved capture is not one, or of a version that this program does not know."""


class RuleError(ForensicsError):
    """A rule or profile is wrong, with its path:line:col."""

    exit_code = 2


class RuleErrors(RuleError):
    """All faults of all rule files in one go."""

    def __init__(self, faults: Sequence[RuleError]) -> None:
        super().__init__("\n".join(str(f) for f in faults))
        self.faults = tuple(faults)

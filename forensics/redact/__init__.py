"""What leaves the program: harmless on a terminal, without secrets, and, where asked, without names. Never changes what is kept in memory.

``neutralise`` is for what goes to a terminal, ``secrets`` for all that leaves the program, a ``Redactor`` for what is passed on to somebody else.
Masking is idempotent, so that a saved capture and the live one it came from print the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forensics.redact.cover import MASK
from forensics.redact.terminal import neutralise
from forensics.redact.values import secrets, secrets_in_bytes

if TYPE_CHECKING:
    from forensics.redact.redactor import Redaction, Redactor

__all__ = ["MASK", "Redaction", "Redactor", "neutralise", "secrets", "secrets_in_bytes"]


def __getattr__(name: str) -> Any:
    if name in {"Redaction", "Redactor"}:  # --help must start at once
        from forensics.redact import redactor

        return getattr(redactor, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

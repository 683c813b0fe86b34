"""Decide which unit is meant: a name that does not exist finds the one it was written for, and none given finds the one worth a look.

Asks no host and reads no log. Never takes a far name for a misspelling, nor one of two that are equally near.
"""

from __future__ import annotations

from forensics.units.edits import difference, edit
from forensics.units.evidence import from_evidence
from forensics.units.names import UNIT_NAME, full_name
from forensics.units.near import Found, near, related
from forensics.units.owners import attributed
from forensics.units.pick import LOGINS, replayed, resolve

__all__ = ["LOGINS", "UNIT_NAME", "Found", "attributed", "difference", "edit", "from_evidence", "full_name", "near", "related", "replayed", "resolve"]

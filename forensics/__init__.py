"""The public API of ddforensics, loaded lazily: ``import forensics`` costs next to nothing. Never does any work at import.

``forensics.diagnose(["gpu01"], unit="llm.service")`` gives a list of :class:`forensics.model.Diagnosis`, one for each target.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forensics.api import collect_bundle, diagnose, diagnose_capture, exit_code
    from forensics.errors import ForensicsError
    from forensics.model import Advice, Capture, Cause, Coverage, Diagnosis, Evidence, Health, Hypothesis, Life, Phase, Status, Target
    from forensics.ruleset.user import load_rules

__version__ = "0.1.0"

# public name → module and the name there
_HOMES = {
    "collect_bundle": ("forensics.api", "collect_bundle"),  # "collect" is the package of that name
    "diagnose": ("forensics.api", "diagnose"),
    "diagnose_capture": ("forensics.api", "diagnose_capture"),
    "exit_code": ("forensics.api", "exit_code"),
    "load_rules": ("forensics.ruleset.user", "load_rules"),
    "ForensicsError": ("forensics.errors", "ForensicsError"),
    **{
        name: ("forensics.model", name)
        for name in ("Advice", "Capture", "Cause", "Coverage", "Diagnosis", "Evidence", "Health", "Hypothesis", "Life", "Phase", "Status", "Target")
    },
}

__all__ = [
    "Advice",
    "Capture",
    "Cause",
    "Coverage",
    "Diagnosis",
    "Evidence",
    "ForensicsError",
    "Health",
    "Hypothesis",
    "Life",
    "Phase",
    "Status",
    "Target",
    "__version__",
    "collect_bundle",
    "diagnose",
    "diagnose_capture",
    "exit_code",
    "load_rules",
]


def __getattr__(name: str) -> object:
    """Import what was asked for, once."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _HOMES[name]
    value: object = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

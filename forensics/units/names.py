"""Names of units and their parts: stem, suffix, template and instance. Knows of no host."""

from __future__ import annotations

import re
from typing import NamedTuple

from forensics import lazily
from forensics.errors import UsageError

# systemd.unit(5): the characters of a unit name; everything else is refused before it comes near a shell
UNIT_NAME = lazily.pattern(r"[A-Za-z0-9:_.\\@-]{1,255}")
SUFFIXES = ("service", "socket", "target", "timer", "scope", "slice", "mount", "path", "device", "swap", "automount")


class Parts(NamedTuple):
    """A name taken apart. ``suffix`` is empty for what is no unit (a container); ``instance`` None where it has no ``@``, empty for a template."""

    stem: str
    suffix: str
    base: str
    instance: str | None


def parts(name: str) -> Parts:
    """``llm@gpu0.service`` as stem ``llm@gpu0``, suffix ``service``, base ``llm``, instance ``gpu0``."""
    stem, dot, suffix = name.rpartition(".")
    if not dot or suffix not in SUFFIXES:
        stem, suffix = name, ""
    base, at, instance = stem.partition("@")
    return Parts(stem, suffix, base, instance if at else None)


def unescaped(text: str) -> str:
    r"""``gpu\x2d0`` as ``gpu-0``, as ``systemd-escape -u`` has it but for slashes."""
    return re.sub(r"\\x([0-9a-fA-F]{2})", lambda m: chr(int(m[1], 16)), text)


def full_name(asked: str) -> str:
    """The unit name with its suffix (``.service`` where none is given). Refuses what no unit can be called."""
    if not UNIT_NAME.fullmatch(asked) or asked.startswith(("-", ".")):
        raise UsageError(f"not a unit name: {asked!r}", hint="a name such as llm.service: letters, digits and : _ . \\ @ -")
    stem, dot, suffix = asked.rpartition(".")
    if dot and stem and suffix not in SUFFIXES and _is_misspelt(suffix):
        return f"{stem}.service"
    return asked if dot and suffix in SUFFIXES else f"{asked}.service"


def _is_misspelt(suffix: str) -> bool:
    """Whether it can be nothing but ``service``, with a slip or two."""
    from rapidfuzz.distance import OSA

    return suffix.isalpha() and len(suffix) > 4 and OSA.distance(suffix.lower(), "service", score_cutoff=2) <= 2

"""The rules of the package: out of the compiled rule set where that was made of just these files, else out of the files. Never writes anything.

``compiled`` writes the compiled one when the package is built or installed. What it was made of is known by the text of every file, so that an edit is
always seen: it only costs the quarter of a second that reading the YAML takes.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

from forensics.ruleset import condition, plain
from forensics.ruleset.anchors import Anchor
from forensics.ruleset.schema import RuleSet, Sample

FORMAT = "ddforensics/rules/3"
PACKAGE = Path(__file__).resolve().parent.parent
COMPILED = PACKAGE / "ruleset" / "compiled.json"
_SOURCES = (
    ("rules", (".yaml", ".yml")),
    ("ruleset", ".py"),
    ("model", ".py"),
)  # what decides on what is in the compiled rule set: rules, and who reads them


def shipped_rules() -> RuleSet:
    """The rules of the package for a diagnosis: all but their samples, which ``load`` gives as well. Raises RuleErrors where a file of rules has been broken."""
    known = compiled(COMPILED)
    if known is not None:
        return known
    from forensics.ruleset import loading

    return without_samples(loading.load())


def without_samples(rules: RuleSet) -> RuleSet:
    """The same but for the samples, which only those need who write rules: they are most of the text."""
    return dataclasses.replace(rules, rules=_bare(rules.rules), profiles=_bare(rules.profiles))


def _bare(value: Any) -> Any:
    if type(value) is tuple:
        return tuple(_bare(item) for item in value if not isinstance(item, Sample))
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    return dataclasses.replace(value, **{field.name: _bare(getattr(value, field.name)) for field in dataclasses.fields(value) if field.init})


def compiled(file: Path, package: Path = PACKAGE) -> RuleSet | None:
    """The rules of a compiled rule set, if it is there and was made of the package's files as they are now."""
    try:
        written: dict[str, Any] = plain.read(file.read_bytes())
        if written["format"] != FORMAT or written["made_of"] != fingerprint(package):
            return None
        rules, profiles, columns, conditions, anchors = (written[part] for part in ("rules", "profiles", "columns", "conditions", "anchors"))
        known = RuleSet(rules=rules, profiles=profiles, columns=columns, anchors={line: _anchors(told) for line, told in anchors})
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):  # not there, not whole, or something else of that name
        return None
    condition.PARSED.update({parsed.text: parsed for parsed in conditions})
    return known


def told(anchors: Iterable[Anchor]) -> str:
    """Anchors as one text: there are thousands, none has a control character, and a text is read in no time."""
    return "\n".join("\t".join((anchor.text, anchor.word, *(["whole"] if anchor.whole else []))) for anchor in anchors)


def _anchors(text: str) -> tuple[Anchor, ...]:
    parts = (line.split("\t") for line in text.split("\n")) if text else ()
    return tuple([Anchor(text, word, bool(whole)) for text, word, *whole in parts])


def fingerprint(package: Path = PACKAGE) -> dict[str, tuple[int, int]]:
    """Name → length and checksum of every file that a compiled rule set is made of. It is held against slips, not against an enemy: who can write there needs no rule."""
    texts = ((name, path.read_bytes()) for name, path in sorted(_files(package)))
    return {name: (len(text), crc32(text)) for name, text in texts}


def _files(package: Path) -> Iterator[tuple[str, Path]]:
    for folder, suffix in _SOURCES:
        for root, _, names in os.walk(package / folder):
            for name in names:
                if name.endswith(suffix):
                    path = Path(root, name)
                    yield path.relative_to(package).as_posix(), path

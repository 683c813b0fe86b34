"""Compile the rules of the package: everything that scanning and reasoning ask of them, worked out beforehand, as one JSON file. Never run by a diagnosis.

    python -m forensics.ruleset.compiled [FILE]

The build of a wheel does this, and so does an editable installation. What reads it is ``shipped``, which trusts it only while it fits the files.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from forensics.ruleset import condition, loading, shipped
from forensics.ruleset.anchors import Anchor, shape
from forensics.ruleset.plain import plain
from forensics.ruleset.scan import Matcher
from forensics.ruleset.schema import RuleSet


def compiled() -> dict[str, Any]:
    """The rules of the package as JSON values. Raises RuleErrors where they are wrong."""
    rules = shipped.without_samples(loading.load())
    anchors: dict[str, tuple[Anchor, ...]] = {line: shape(line).anchors for line in sorted({item.line for item in Matcher(rules).items})}
    return {
        "format": shipped.FORMAT,
        "made_of": shipped.fingerprint(),
        "rules": plain(rules.rules),
        "profiles": plain(rules.profiles),
        "columns": plain(rules.columns),
        "anchors": [[line, shipped.told(found)] for line, found in anchors.items()],
        "conditions": [plain(condition.parse(text)) for text in sorted(set(_conditions(rules)))],
    }


def _conditions(rules: RuleSet) -> Iterator[str]:
    for rule in rules.rules:
        yield from (text for text in (rule.when, rule.where) if text)


def write(file: Path = shipped.COMPILED) -> None:
    """Write it, whole or not at all."""
    text = json.dumps(compiled(), ensure_ascii=False, separators=(",", ":")) + "\n"
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
        Path(name).chmod(0o644)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


if __name__ == "__main__":
    write(*map(Path, sys.argv[1:2]))

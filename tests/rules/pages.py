"""What a table's own command does with it: write it to its file where it is asked to, else print it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path


def put(text: str, file: Path, words: Sequence[str]) -> None:
    """``--write`` among the words: into the file."""
    if "--write" in words:
        file.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)

"""Rule files written for a test, and blocks made of text."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from forensics.errors import RuleErrors
from forensics.model import Frame, Origin, PartKind
from forensics.ruleset import RuleSet, load

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write rule files: names with __ for the slash of a folder, texts indented as they stand in the test."""

    def _write(**files: str) -> Path:
        for name, text in files.items():
            path = tmp_path / (name.replace("__", "/") + ".yaml")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return tmp_path

    return _write


@pytest.fixture
def rules_of(write: Write) -> Callable[..., RuleSet]:
    """Load rule files written for the test."""
    return lambda **files: load(write(**files))


@pytest.fixture
def faults_of(write: Write) -> Callable[..., list[str]]:
    """The faults of rule files, without the folder in their places."""

    def _faults(**files: str) -> list[str]:
        folder = write(**files)
        with pytest.raises(RuleErrors) as caught:
            load(folder)
        return [str(fault).replace(f"{folder}/", "") for fault in caught.value.faults]

    return _faults


@dataclass
class FakeBlock:
    """Lines of one source; what stands before ': ' is the writer, as in a journal."""

    text: str
    source: str = "journal"
    first_line: int = 1
    part: PartKind = PartKind.JOURNAL_TEXT
    opened: list[int] = field(default_factory=list)

    @property
    def data(self) -> bytes:
        return self.text.encode()

    @property
    def keys(self) -> list[bytes]:
        return self.data.rstrip(b"\n").translate(None, b"0123456789").split(b"\n")

    def frame(self, i: int) -> Frame:
        self.opened.append(i)
        line = self.text.splitlines()[i] if "\r" not in self.text else self.text.rstrip("\n").split("\n")[i]
        ident, separator, text = line.partition(": ")
        if not separator:
            ident, text = "", line
        origin = {"systemd": Origin.SYSTEMD, "kernel": Origin.KERNEL, "bench": Origin.CLIENT, "": Origin.ANY}.get(ident.split("[")[0], Origin.SERVER)
        return Frame(source=self.source, line_no=self.first_line + i, start=0, text=text, origin=origin, ident=ident.split("[")[0])

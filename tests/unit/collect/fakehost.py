"""A host made of shell scripts: the real script runs in a real sh, against programs that answer as they are told."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from forensics.collect.process import Start, start_process

DATA = Path(__file__).parents[2] / "data" / "collect"


class FakeHost:
    """``started`` is every argv that was asked for; whatever it was, a local shell takes its place."""

    def __init__(self, folder: Path, shell: str = "sh") -> None:
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        self.shell = shell
        self.started: list[list[str]] = []

    def program(self, name: str, script: str) -> None:
        """Put a program on the host's PATH, before the real ones."""
        path = self.bin / name
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)

    def answers(self, name: str, text: bytes, code: int = 0) -> None:
        """A program that always prints the same."""
        file = self.bin / f".{name}.txt"
        file.write_bytes(text)
        self.program(name, f"cat '{file}'; exit {code}\n")

    @property
    def run(self) -> Start:
        """Stands in for ``start_process``."""

        def start(argv: Sequence[str]) -> subprocess.Popen[bytes]:
            self.started.append(list(argv))
            return start_process([self.shell, "-s"], env={"PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": "/nonexistent"})

        return start


def command(script: str) -> Start:
    """A process that runs a script of its own and never looks at what it is sent."""

    def start(argv: Sequence[str]) -> subprocess.Popen[bytes]:
        return start_process(["sh", "-c", script])

    return start

"""Pages of documentation as tests see them: the files they show, and what they say that commands print.

``<!-- file: PATH -->`` before a fenced block makes it a file. In a block ``console`` a line that begins with ``$ `` is a command, and what follows is its output,
standard error first of all where there is any. ``python -m tests.docs.pages PAGE`` runs the commands and writes what they print into the page.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"(?:<!-- file: (?P<file>[\w./-]+) -->\n)?```(?P<kind>\w+)\n(?P<body>.*?)```\n", re.DOTALL)
_COMMAND = re.compile(r"^\$ (?P<words>.*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Step:
    """A file to write, or a command with the output that the page shows."""

    file: str = ""
    command: str = ""
    shown: str = ""


def steps(page: str) -> Iterator[Step]:
    """In the order of the page."""
    for block in _BLOCK.finditer(page):
        if block["file"]:
            yield Step(file=block["file"], shown=block["body"])
        elif block["kind"] == "console":
            for command in _COMMAND.finditer(block["body"]):
                yield Step(command=command["words"], shown=command["output"])


def printed(command: str, folder: Path) -> str:
    """What a command prints in a folder that is also the home folder: standard error, then standard output."""
    folder_of_python = Path(sys.executable).parent
    env = {
        "PATH": f"{folder_of_python}:/usr/bin:/bin",
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "COLUMNS": "100",
        "PYTHONPATH": str(ROOT),
    }
    env |= {name: value for name, value in os.environ.items() if name.startswith("COV")}
    script = 'ddforensics() { python -m forensics "$@"; }\n' + command
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=120)
    return done.stderr + done.stdout


def run(page: str, folder: Path) -> Iterator[tuple[Step, str]]:
    """Write the files and run the commands; each command with what it printed."""
    for step in steps(page):
        if step.file:
            path = folder / step.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.shown, encoding="utf-8")
        else:
            yield step, printed(step.command, folder)


def renewed(page: str, folder: Path) -> str:
    """The page with what its commands print today."""
    found = iter([output for _, output in run(page, folder)])

    def block(match: re.Match[str]) -> str:
        if match["file"] or match["kind"] != "console":
            return match[0]
        return "```console\n" + _COMMAND.sub(lambda c: f"$ {c['words']}\n{next(found)}", match["body"]) + "```\n"

    return _BLOCK.sub(block, page)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as temporary:
            text = renewed(Path(name).read_text(encoding="utf-8"), Path(temporary))
        Path(name).write_text(text, encoding="utf-8")

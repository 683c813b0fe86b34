"""A client program on PATH that plays captured answers: docker, podman or kubectl as far as the program asks them."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from pathlib import Path

DATA = Path(__file__).parents[2] / "data" / "containers"


@dataclass
class Client:
    """A program on PATH that answers by the words it is called with; ``asked`` is what it was called with."""

    folder: Path
    name: str
    cases: list[str] = field(default_factory=list)

    def on(self, pattern: str, *, out: str | Path = "", err: str | Path = "", code: int = 0, then: str = "") -> None:
        """Answer a call whose words match a shell pattern."""
        does = [f"cat {shlex.quote(str(self._file(text)))}{to}" for text, to in ((out, ""), (err, " >&2")) if text]
        self.cases.append(f"{pattern}) {'; '.join([*does, *([then] if then else []), f'exit {code}'])};;")
        calls = shlex.quote(str(self.folder / f"{self.name}.asked"))
        script = self.folder / self.name
        script.write_text(
            f'#!/bin/sh\nprintf "%s\\n" "$*" >>{calls}\ncase "$*" in\n' + "\n".join(self.cases) + '\n*) echo "unexpected: $*" >&2; exit 99;;\nesac\n'
        )
        script.chmod(0o755)

    def _file(self, text: str | Path) -> Path:
        if isinstance(text, Path):
            return text
        path = self.folder / f"{self.name}.answer{len(list(self.folder.iterdir()))}"
        path.write_text(text)
        return path

    @property
    def asked(self) -> list[str]:
        path = self.folder / f"{self.name}.asked"
        return path.read_text().splitlines() if path.exists() else []


def engine(folder: Path, name: str, captured: str) -> Client:
    """A docker or podman that knows one container."""
    client, data = Client(folder, name), DATA / captured
    held = json.loads((data / "inspect.json").read_text())[0]
    client.on("inspect*", out=json.dumps(held))
    client.on("logs*", out=data / "log.txt")
    client.on("events*", out=data / "events.txt")
    return client


def cluster(folder: Path, captured: str) -> Client:
    client, data = Client(folder, "kubectl"), DATA / captured
    client.on("*' get pod '*", out=data / "pod.json")
    client.on("*' get events '*", out=data / "events.txt" if (data / "events.txt").exists() else "")
    for pattern, name in (("*' logs '*--previous", "previous-log.txt"), ("*' logs '*", "log.txt")):
        client.on(pattern, out=data / name if (data / name).exists() else "")
    return client

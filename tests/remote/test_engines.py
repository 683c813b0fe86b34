"""Real containers, staged, asked over the real client and judged. Where no engine runs it says why and skips, or fails where one is required."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from forensics import api

REQUIRED = "DDFORENSICS_REQUIRE_ENGINE"  # docker or podman: no skipping of that one (CI)
IMAGE = "localhost/ddforensics-test:1"
CRASH = "echo INFO starting; sleep 0.2; echo 'Traceback (most recent call last):' >&2; echo \"ModuleNotFoundError: No module named 'psycopg2'\" >&2; exit 1"
SERVE = "echo INFO starting; echo 'Server listening on http://0.0.0.0:3000'; trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done"
EAT = "echo INFO loading; exec tail /dev/zero"


class Engine:
    """A container engine that works, with one small image, and the containers that a test made of it."""

    def __init__(self, name: str, options: tuple[str, ...]) -> None:
        self.name, self.options, self.made = name, options, []  # type: str, tuple[str, ...], list[str]

    def __call__(self, *words: str, data: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
        # conmon leaves a file "oom" where it was started, of a container that was killed for its memory
        return subprocess.run([self.name, *words], input=data, capture_output=True, timeout=60, check=False, cwd=tempfile.gettempdir())

    def run(self, container: str, *words: str, script: str = "") -> None:
        name = f"ddf-{container}-{os.getpid()}"
        self.made.append(name)
        self("run", "-d", "--name", name, *self.options, *words, IMAGE, *(("/bin/sh", "-c", script) if script else ("/bin/nosuch",)))

    def target(self, container: str) -> str:
        return f"{self.name}:ddf-{container}-{os.getpid()}"

    def over(self, container: str, limit_s: float = 20.0) -> None:
        """Wait until it no longer runs."""
        name, until = f"ddf-{container}-{os.getpid()}", time.monotonic() + limit_s
        while self("inspect", "--format", "{{.State.Status}}", name).stdout.strip() != b"exited":
            assert time.monotonic() < until, f"{name} still runs"
            time.sleep(0.1)


def image() -> bytes | None:
    """A root with nothing but busybox, which must be static."""
    busybox = shutil.which("busybox")
    if busybox is None or b"not a dynamic executable" not in subprocess.run(["ldd", busybox], capture_output=True, check=False).stderr:
        return None
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        tar.add(busybox, "bin/busybox")
        for name in ("sh", "sleep", "tail", "echo"):
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
    return out.getvalue()


@pytest.fixture(scope="module", params=["docker", "podman"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    name: str = request.param
    network = ("--network=none",) if name == "docker" else ("--network=host", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000")
    found, root = Engine(name, network), image()
    why = f"there is no {name}" if shutil.which(name) is None else "there is no static busybox" if root is None else ""
    if not why and (info := found("import", "-", IMAGE, data=root)).returncode:
        why = info.stderr.decode("utf-8", "replace").strip()[:200]
    if not why and (tried := found("run", "--rm", *network, IMAGE, "/bin/sh", "-c", "exit 0")).returncode:
        why = tried.stderr.decode("utf-8", "replace").strip()[:200]
    if why:
        if os.environ.get(REQUIRED) == name:
            pytest.fail(f"{name} is required here: {why}")
        pytest.skip(f"no {name}: {why}")
    yield found
    found("rm", "-f", *found.made)
    found("rmi", IMAGE)


def judged(engine: Engine, container: str) -> tuple[str, str, str]:
    (found,) = api.diagnose(engine.target(container))
    return str(found.cause), str(found.health), str(found.end.kind)


def test_containers_that_ended_each_in_their_own_way_are_told_apart(engine: Engine) -> None:
    engine.run("crash", script=CRASH)
    engine.run("loop", "--restart", "on-failure:3", script=CRASH)
    engine.run("oom", "--memory", "24m", "--memory-swap", "24m", script=EAT)
    engine.run("serve", script=SERVE)
    engine.run("stop", script=SERVE)
    engine.run("kill", script=SERVE)
    engine.run("nosuch")
    time.sleep(1.0)
    engine("stop", "-t", "5", engine.made[4])
    engine("kill", engine.made[5])
    for container in ("crash", "loop", "oom", "stop", "kill"):
        engine.over(container)
    assert judged(engine, "crash") == ("bad-environment", "failed", "exit")
    assert judged(engine, "loop") == ("bad-environment", "failed", "exit")
    assert judged(engine, "stop") == ("operator-stop", "stopped", "stopped")
    assert judged(engine, "kill") == ("signal-death", "failed", "signal")
    assert judged(engine, "serve")[:2] == ("healthy", "healthy")
    # podman keeps neither why it could not start a program nor, on control groups v1, that the kernel ended one for memory
    assert judged(engine, "nosuch")[0] in (("exec-failure",) if engine.name == "docker" else ("exec-failure", "operator-stop"))
    assert judged(engine, "oom")[0] in (("host-oom",) if engine.name == "docker" else ("host-oom", "signal-death"))


def test_looking_changes_nothing(engine: Engine, tmp_path: Path) -> None:
    engine.run("still", script=SERVE)
    before = engine("inspect", engine.made[-1]).stdout
    api.diagnose(engine.target("still"), save=tmp_path / "kept")
    assert engine("inspect", engine.made[-1]).stdout == before
    assert sorted(p.name for p in (tmp_path / "kept").iterdir()) == ["00-inspect", "01-log", "02-events", "manifest.json"]

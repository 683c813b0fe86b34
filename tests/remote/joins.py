"""The twelve situations of tests/cases/joins.yaml, staged side by side on one host: units that play a server, and clients in its network. Judges nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.remote.bed import TESTBED, Host

READY = "fired up and ready"
BEHIND, BEHIND_S = "machine-90-s-behind", 90
MODEL = "Qwen/Qwen3-32B-Instruct"


@dataclass(frozen=True, kw_only=True)
class Situation:
    """A server and its client. ``comes``: ready (the client waits for that), failed, now, or a text that the journal has to hold; ``look`` as well."""

    load_s: float = 1.0
    play: str = "serve"
    service: str = ""
    start: bool = True
    comes: str = "ready"
    look: str = "client"
    scheme: str = "http"
    port_up: int = 0
    path: str = "/v1/completions"
    words: tuple[str, ...] = ()
    count: int = 8
    every: float = 0.5
    zone: str = "UTC"
    restart_after: int | None = None  # answered requests
    ready_times: int = 1  # how often it is ready before the look


SITUATIONS: Mapping[str, Situation] = {
    "before-bind": Situation(load_s=90, comes="2/14", count=5, every=1.0),
    "between-bind-and-ready": Situation(service="Environment=FAKE_WARM_S=9", comes="Uvicorn running", count=6, look="ready"),
    "during-a-restart": Situation(load_s=8, count=16, restart_after=4, look="ready", ready_times=2),
    "after-death": Situation(load_s=2, play="crash", comes="failed", count=9, every=1.0),
    "wrong-port": Situation(port_up=1),
    "wrong-path": Situation(path="/v2/completions"),
    "https-on-http": Situation(scheme="https"),
    "wrong-model": Situation(service="Environment=FAKE_MODEL=Qwen3-32B", words=("--model", MODEL)),
    "overload": Situation(service="Environment=FAKE_BUSY=4", count=12),
    "clock-90-s-off": Situation(load_s=8, comes="3/14", count=26, words=("--clock-off", "-90"), look="ready"),
    "client-in-another-zone": Situation(load_s=8, comes="3/14", count=26, zone="Asia/Kolkata", look="ready"),
    "never-started": Situation(start=False, comes="now"),
    # not of the twelve: the machine of the client, on which the look is taken as well, is 90 s behind
    BEHIND: Situation(load_s=20, comes="2/14", count=6, words=("--clock-off", str(-BEHIND_S)), look="ready"),
}


@dataclass(frozen=True, kw_only=True)
class Staged:
    """A situation that has come about. ``requests`` are the true epoch seconds and the status of each request (0: none)."""

    name: str
    unit: str
    port: int
    bench: Path
    requests: tuple[tuple[float, int], ...]
    ready_at: tuple[float, ...] = field(default=())
    died_at: float | None = None

    @property
    def first_error_at(self) -> float:
        return next(at for at, status in self.requests if status != 200)

    @property
    def early_s(self) -> float:
        """From the first request that failed to the readiness that followed."""
        return min(at for at in self.ready_at if at > self.first_error_at) - self.first_error_at

    @property
    def wasted_s(self) -> float:
        """From the end of the server, or the first request that failed where that was later, to the last one."""
        assert self.died_at is not None
        return self.requests[-1][0] - max(self.died_at, self.first_error_at)


def stage(host: Host, folder: Path) -> dict[str, Staged]:
    """Bring all of them about at once; back as soon as each may be looked at. Takes most of a minute."""
    done: dict[str, Staged] = {}
    faults: list[BaseException] = []

    def one(name: str, situation: Situation, port: int) -> None:
        try:
            done[name] = _staged(host, name, situation, port, folder)
        except BaseException as error:  # noqa: BLE001 - of a thread: raised below
            faults.append(error)

    for name, situation, port in _ported():
        arguments = f"--model-path /models/Qwen3-32B --tp 1 --port {port} --mem-fraction-static 0.88"
        host.add_server(_unit(name), play=situation.play, load_s=situation.load_s, arguments=arguments, service=situation.service)
    running = [threading.Thread(target=one, args=told) for told in _ported()]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if faults:
        raise faults[0]
    return done


def stop(host: Host) -> None:
    """End the servers."""
    host.inside("systemctl stop " + " ".join(_unit(name) for name in SITUATIONS), check=False)


def _ported() -> list[tuple[str, Situation, int]]:
    return [(name, situation, 31000 + 10 * number) for number, (name, situation) in enumerate(SITUATIONS.items())]


def _unit(name: str) -> str:
    return f"join-{name}.service"


def _staged(host: Host, name: str, situation: Situation, port: int, folder: Path) -> Staged:
    unit, bench, truth = _unit(name), folder / name / "bench.txt", folder / name / "truth"
    bench.parent.mkdir(parents=True)
    if situation.start:
        host.inside(f"systemctl start --no-block {unit}")
    if situation.comes == "failed":
        _until(lambda: host.inside(f"systemctl is-active {unit}", check=False).strip() == "failed", unit)
    elif situation.comes != "now":
        says = READY if situation.comes == "ready" else situation.comes
        _until(lambda: says in host.journal("-u", unit), unit)
    url = f"{situation.scheme}://127.0.0.1:{port + situation.port_up}{situation.path}"
    argv = [
        "nsenter", "-t", str(host.init_pid()), "-n", sys.executable, str(TESTBED / "ask.py"), url, "--count", str(situation.count), "--every", str(situation.every),
        "--truth", str(truth), *situation.words,
    ]  # fmt: skip
    with bench.open("wb") as output:
        client = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, env={**os.environ, "TZ": situation.zone})
        answered = situation.restart_after
        if answered is not None:
            _until(lambda: bench.read_bytes().count(b"HTTP/1.1 200") >= answered, unit)
            host.inside(f"systemctl restart {unit}")
        client.wait(timeout=60)
    if situation.look == "ready":
        _until(lambda: host.journal("-u", unit).count(READY) >= situation.ready_times, unit)
    requests = tuple((float(at), int(status)) for at, status in (line.split() for line in truth.read_text().splitlines()))
    return Staged(
        name=name,
        unit=unit,
        port=port,
        bench=bench,
        requests=requests,
        ready_at=_stamps(host, unit, READY),
        died_at=next(iter(_stamps(host, unit, "Main process exited")), None),
    )


def _stamps(host: Host, unit: str, says: str) -> tuple[float, ...]:
    """When the journal got such a line."""
    argv = ["journalctl", "--no-pager", "-q", "-o", "short-unix", "-D", str(host.folder / "root/var/log/journal"), "-u", unit]
    lines = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=60, check=False).stdout.splitlines()
    return tuple(float(line.split()[0]) for line in lines if says in line)


def _until(condition: Callable[[], bool], unit: str, limit_s: float = 60.0) -> None:
    until = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < until, f"{unit} did not get there"
        time.sleep(0.2)

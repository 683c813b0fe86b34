"""Twenty hosts asked by one command: twenty answers in the order of the words, each its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.remote.bed import Host
from tests.remote.conftest import booted

UNIT = "sglang-fleet.service"
COUNT = 20
# what each host has: how it plays, and the answer to that
PLAYS = (
    ("crash", "gpu-oom-init", "failed"),
    ("serve", "healthy", "healthy"),
    ("exit", "exit-code-death", "failed"),
    ("absent", "unit-missing", "unknown"),
    ("stop", "operator-stop", "stopped"),
)


def play_of(number: int) -> tuple[str, str, str]:
    return PLAYS[number % len(PLAYS)]


@pytest.fixture(scope="module")
def fleet() -> Iterator[list[Host]]:
    with booted("bookworm", COUNT) as hosts:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(stage, hosts, range(COUNT)))
        yield hosts


def stage(host: Host, number: int) -> None:
    play = play_of(number)[0]
    if play == "absent":
        return
    if play == "exit":
        host.put(f"/etc/systemd/system/{UNIT}", f"[Service]\nExecStart=/bin/sh -c 'echo about to leave; exit {number + 1}'\n".encode())
        host.inside(f"systemctl daemon-reload; systemctl start {UNIT}")
        host.wait_for(UNIT, ("failed",))
        return
    host.add_server(UNIT, play="crash" if play == "crash" else "serve", load_s=0.3, arguments=f"--model-path /m --port {30000 + number}")
    host.inside(f"systemctl start {UNIT}")
    if play == "crash":
        host.wait_for(UNIT, ("failed",))
    else:
        host.wait_until(UNIT, "fired up")
    if play == "stop":
        host.inside(f"systemctl stop {UNIT}")


def test_twenty_hosts_get_twenty_right_answers_in_the_order_of_the_words(fleet: list[Host]) -> None:
    order = [*reversed(fleet[:7]), *fleet[7:]]
    before = [h.logins() for h in fleet]
    argv = [sys.executable, "-m", "forensics", "diagnose", "-F", str(fleet[0].config), *(h.name for h in order), "--unit", UNIT, "--format", "json"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=240, check=False)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [d["target"] for d in found] == [h.name for h in order], done.stderr
    assert [d["host"] for d in found] == [h.name for h in order]
    right = [play_of(fleet.index(h)) for h in order]
    assert [(d["cause"], d["health"]) for d in found] == [(cause, health) for _, cause, health in right]
    assert done.returncode == 1
    exits = {h.name: fleet.index(h) + 1 for h in fleet if play_of(fleet.index(h))[0] == "exit"}
    assert {d["target"]: d["end"]["status"] for d in found if d["cause"] == "exit-code-death"} == exits
    assert [h.logins() - b for h, b in zip(fleet, before, strict=True)] == [1] * COUNT


def test_one_host_that_cannot_be_reached_costs_the_others_nothing(fleet: list[Host]) -> None:
    names = [fleet[1].name, "no-such-host.invalid", fleet[0].name]
    argv = [sys.executable, "-m", "forensics", "diagnose", "-F", str(fleet[0].config), *names, "--unit", UNIT, "--format", "json"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(d["target"], d["cause"]) for d in found] == list(zip(names, ("healthy", "evidence-missing", "gpu-oom-init"), strict=True))
    assert done.returncode == 3

from __future__ import annotations

import threading
import time

import pytest

from forensics.collect.process import Start, start_process
from forensics.collect.together import MOST, side_by_side
from forensics.errors import TargetError
from forensics.model import Target, TargetKind


def targets(count: int) -> list[Target]:
    return [Target(kind=TargetKind.SSH, name=f"gpu{n:02}", host=f"gpu{n:02}") for n in range(count)]


def test_answers_come_in_the_order_of_the_targets_whoever_is_first() -> None:
    def work(target: Target, run: Start) -> str:
        time.sleep(0.1 if target.name == "gpu00" else 0)
        return target.name

    assert side_by_side(targets(3), work) == ["gpu00", "gpu01", "gpu02"]


def test_never_more_than_a_few_at_a_time() -> None:
    lock, now, peak = threading.Lock(), 0, 0

    def work(target: Target, run: Start) -> None:
        nonlocal now, peak
        with lock:
            now += 1
            peak = max(peak, now)
        time.sleep(0.02)
        with lock:
            now -= 1

    side_by_side(targets(30), work)
    assert 1 < peak <= MOST


def test_a_host_that_cannot_be_reached_costs_only_its_own_answer() -> None:
    def work(target: Target, run: Start) -> str:
        if target.name == "gpu01":
            raise TargetError("no route", at=target.name)
        return target.name

    first, second, third = side_by_side(targets(3), work)
    assert (first, third) == ("gpu00", "gpu02")
    assert isinstance(second, TargetError)


def test_an_interruption_ends_all_processes_and_begins_none() -> None:
    started = []

    def work(target: Target, run: Start) -> None:
        process = run(["sleep", "60"])
        started.append(process)
        if target.name == "gpu00":
            time.sleep(0.3)
            raise KeyboardInterrupt
        process.wait()

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        side_by_side(targets(12), work, run=start_process)
    assert time.monotonic() - began < 20
    assert len(started) < 12
    for process in started:
        assert process.poll() is not None
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()

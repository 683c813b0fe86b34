"""Look at several targets at the same time. Never at more than a host, or a jump host before them all, lets in at once."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from forensics.collect.process import Start, end_group, start_process
from forensics.errors import TargetError
from forensics.model import Target

# sshd begins to refuse at ten connections that have not logged in yet (MaxStartups 10:30:100), and all hosts may lie behind one
MOST = 8

T = TypeVar("T")


class _Started:
    """All processes that were started for the targets, so that they can be ended from outside of their threads."""

    def __init__(self, run: Start) -> None:
        self._run = run
        self._lock = threading.Lock()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._over = False

    def start(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._over:
                raise TargetError("not begun: it was interrupted")
            process = self._run(argv)
            self._processes.append(process)
            return process

    def end(self) -> None:
        with self._lock:
            self._over = True
        for process in self._processes:
            if process.poll() is None:
                end_group(process)


def side_by_side(targets: Sequence[Target], work: Callable[[Target, Start], T], *, run: Start = start_process) -> list[T | TargetError]:
    """What ``work(target, start)`` gives for each, in their order; a TargetError of one is its answer, any other error ends all.

    ``start`` is to be used for each process of the work: where all is ended (Ctrl-C) these are ended, and nobody waits for a host any more.
    """
    started = _Started(run)

    def one(target: Target) -> T | TargetError:
        try:
            return work(target, started.start)
        except TargetError as error:
            return error

    from concurrent.futures import ThreadPoolExecutor  # with all of logging

    with ThreadPoolExecutor(max_workers=max(1, min(MOST, len(targets))), thread_name_prefix="target") as pool:
        futures = [pool.submit(one, target) for target in targets]
        try:
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            started.end()
            raise

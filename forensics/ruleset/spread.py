"""Run jobs in processes of their own, on as many cores as there are. Never gives a part of the answers: what a process that died leaves undone is done here again.

The processes are forked, so that rules and their caches need not be built again, and each takes the next job that nobody has taken. None outlives its parent: it
looks for it whenever it tells how far it is.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")
Advance = Callable[[int], None]
Job = Callable[[Advance], T]

MOST_PROCESSES = 8  # more are not read for any faster
MOST_JOBS = 10_000  # their numbers wait in a pipe
_OURS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NUMBER = struct.Struct("<I")
_HEAD = struct.Struct("<cQQ")  # what follows, how many bytes of it, which job
_DONE, _STEP = b"d", b"s"
_READ = 1 << 20
_BETWEEN_LOOKS = 50_000  # objects


def usable() -> int:
    """How many processes are worth starting: one for each core that this one may use; 1 where it had better not be forked."""
    platform: str = sys.platform
    if platform != "linux" or threading.active_count() > 1:  # a lock that another thread holds would be held for ever
        return 1
    return min(len(os.sched_getaffinity(0)), MOST_PROCESSES)


def spread(jobs: Sequence[Job[T]], *, processes: int, advance: Advance | None = None) -> list[T]:
    """The results of the jobs, in their order. ``advance`` hears what each job says of its progress.

    One process: they are run here, one after the other. What a job raises is raised here. An interruption ends all processes at once.
    """
    if len(jobs) > MOST_JOBS:
        raise ValueError(f"at most {MOST_JOBS} jobs can be handed out")
    step = advance or _silent
    results: dict[int, T] = {}
    if processes > 1 and len(jobs) > 1:
        with _started(jobs, min(processes, len(jobs))) as pipes:
            results.update(_heard(pipes, step))
    for number, job in enumerate(jobs):
        if number not in results:
            results[number] = job(step)
    return [results[number] for number in range(len(jobs))]


@contextlib.contextmanager
def _started(jobs: Sequence[Job[T]], processes: int) -> Iterator[list[int]]:
    """The processes at work, as the pipes that they speak through; none is left afterwards. Fewer, or none, where the system gives no more of them."""
    try:
        queue, fill = os.pipe()
    except OSError:  # as many files are open as may be
        yield []
        return
    os.write(fill, b"".join(map(_NUMBER.pack, range(len(jobs)))))
    os.close(fill)
    pids: list[int] = []
    pipes: list[int] = []
    try:
        with contextlib.suppress(OSError):  # no more processes, memory or files: what has been started does the work, and this one the rest
            for _ in range(processes):
                pid, pipe = _fork(jobs, queue, pipes)
                pids.append(pid)
                pipes.append(pipe)
        yield pipes
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in pids:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
        for pipe in (queue, *pipes):
            os.close(pipe)


def _fork(jobs: Sequence[Job[T]], queue: int, others: Sequence[int]) -> tuple[int, int]:
    """Start a process; its number, and the pipe to hear it through."""
    ear, mouth = os.pipe()
    parent = os.getpid()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _OURS)  # until it is clear who is meant: the parent's own handlers clean up after the parent
    try:
        pid = os.fork()
        if not pid:
            for pipe in (ear, *others):  # who has gone is known by the last end of a pipe being closed
                os.close(pipe)
            _work(jobs, queue, mouth, parent, blocked)
    except OSError:
        os.close(ear)
        os.close(mouth)
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    os.close(mouth)
    return pid, ear


def _work(jobs: Sequence[Job[T]], queue: int, mouth: int, parent: int, blocked: set[signal.Signals | int]) -> NoReturn:
    """The life of a process. Ends without any of the parent's tidying; what goes wrong is for the parent to meet."""
    import pickle

    status = 1
    gc.freeze()  # what the parent has made is neither searched for rubbish nor copied for it
    gc.set_threshold(_BETWEEN_LOOKS, 20, 100)  # a job makes hardly anything that refers to itself
    try:
        for signum in _OURS:
            if signal.getsignal(signum) is not signal.SIG_IGN:  # in the background a Ctrl-C is for somebody else
                signal.signal(signum, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

        def step(size: int) -> None:
            if os.getppid() != parent:
                os._exit(1)
            _send(mouth, _HEAD.pack(_STEP, 0, size))

        while taken := os.read(queue, _NUMBER.size):
            (number,) = _NUMBER.unpack(taken)
            said = pickle.dumps(jobs[number](step), pickle.HIGHEST_PROTOCOL)
            _send(mouth, _HEAD.pack(_DONE, len(said), number) + said)
        status = 0
    finally:
        os._exit(status)


def _send(mouth: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(mouth, left) :]


def _heard(pipes: Sequence[int], advance: Advance) -> Iterator[tuple[int, Any]]:
    """The results as they come, with the numbers of their jobs, until every process has ended."""
    import pickle
    import selectors

    with selectors.DefaultSelector() as selector:
        for pipe in pipes:
            selector.register(pipe, selectors.EVENT_READ, bytearray())
        while selector.get_map():
            for key, _ in selector.select():
                buffer: bytearray = key.data
                data = os.read(key.fd, _READ)
                if not data:
                    selector.unregister(key.fd)
                buffer += data
                while len(buffer) >= _HEAD.size:
                    kind, length, number = _HEAD.unpack_from(buffer)
                    if len(buffer) < _HEAD.size + length:
                        break
                    if kind == _STEP:
                        advance(number)
                    else:
                        yield number, pickle.loads(buffer[_HEAD.size : _HEAD.size + length])  # noqa: S301 - of a process of our own
                    del buffer[: _HEAD.size + length]


def _silent(_: int) -> None:
    return None

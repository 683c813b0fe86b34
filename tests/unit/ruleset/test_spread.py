"""Jobs in processes of their own: all answers or none, and nobody left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from forensics.ruleset.spread import spread, usable

ROOT = Path(__file__).parents[3]
FORKS = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")


def run(code: str) -> str:
    """What a script prints; the tests themselves may have threads, and are not to be forked."""
    head = "import os, signal, sys, time\nfrom forensics.ruleset.spread import spread, usable\nfrom functools import partial\n"
    done = subprocess.run([sys.executable, "-c", head + textwrap.dedent(code)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert not done.stderr, done.stderr
    return done.stdout.strip()


def test_one_process_does_the_jobs_in_their_order() -> None:
    heard: list[int] = []
    jobs = [lambda advance, number=number: (advance(number), number * number)[1] for number in range(5)]
    assert spread(jobs, processes=1, advance=heard.append) == [0, 1, 4, 9, 16]
    assert heard == [0, 1, 2, 3, 4]


def test_more_jobs_than_can_be_handed_out_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 10000 jobs"):
        spread([len] * 10_001, processes=1)  # type: ignore[list-item]


@FORKS
def test_results_come_in_the_order_of_the_jobs_and_from_other_processes() -> None:
    said = run(
        """
        def job(number, advance):
            time.sleep(0.05 * (number % 3))
            advance(10)
            return number, os.getpid(), "x" * 300_000  # more than a pipe holds
        heard = []
        found = spread([partial(job, n) for n in range(7)], processes=3, advance=heard.append)
        print([n for n, _, _ in found], sum(heard), len({pid for _, pid, _ in found}), os.getpid() in {pid for _, pid, _ in found}, {len(x) for *_, x in found})
        """
    )
    assert said == "[0, 1, 2, 3, 4, 5, 6] 70 3 False {300000}"


@FORKS
@pytest.mark.parametrize("end", ["os.kill(os.getpid(), signal.SIGKILL)", "raise MemoryError", "os._exit(0)", "os.kill(os.getpid(), signal.SIGTERM)"])
def test_what_a_process_leaves_undone_is_done_here(end: str) -> None:
    said = run(
        f"""
        here = os.getpid()
        def job(number, advance):
            if number == 2 and os.getpid() != here:
                {end}
            return number, os.getpid() == here
        found = spread([partial(job, n) for n in range(5)], processes=2)
        print([n for n, _ in found], found[2][1])
        """
    )
    assert said == "[0, 1, 2, 3, 4] True"


@FORKS
@pytest.mark.parametrize("what", ["fork", "pipe"])
@pytest.mark.parametrize("well", [0, 1, 2])
def test_fewer_processes_than_wanted_are_enough(what: str, well: int) -> None:
    said = run(
        f"""
        real, calls = os.{what}, []
        def refused():
            calls.append(1)
            if len(calls) > {well}:
                raise OSError(11, "Resource temporarily unavailable")
            return real()
        before = set(os.listdir("/proc/self/fd"))
        os.{what} = refused
        print(spread([lambda advance, n=n: n * n for n in range(5)], processes=3), set(os.listdir("/proc/self/fd")) == before)
        """
    )
    assert said == "[0, 1, 4, 9, 16] True"


@FORKS
def test_what_a_job_raises_is_raised_here() -> None:
    said = run(
        """
        def job(advance):
            raise OSError("the file has gone")
        try:
            spread([job, job], processes=2)
        except OSError as error:
            print(error)
        """
    )
    assert said == "the file has gone"


@FORKS
def test_nothing_is_forked_where_there_are_threads() -> None:
    said = run(
        """
        import threading
        print(usable() == min(8, len(os.sched_getaffinity(0))), end=" ")
        stop = threading.Event()
        threading.Thread(target=stop.wait).start()
        print(usable())
        stop.set()
        """
    )
    assert said == "True 1"
    assert usable() >= 1


SLOW = r"""
import os, signal, sys, time
from forensics.ruleset.spread import spread
signal.signal(signal.SIGINT, signal.default_int_handler)  # a runner in the background ignores it, and hands that on
def job(advance):
    os.write(1, b"job\n")
    for _ in range(600):
        time.sleep(0.05)
        advance(1)
try:
    spread([job] * 4, processes=2)
finally:
    os.write(1, b"tidied\n")
"""


@contextmanager
def at_work() -> Iterator[subprocess.Popen[str]]:
    """A process with two of its own at work, in a session of its own."""
    with subprocess.Popen(
        [sys.executable, "-c", SLOW], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline(), process.stdout.readline()] == ["job\n", "job\n"]
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def nobody_left(group: int, within_s: float = 5.0) -> bool:
    ends_at = time.monotonic() + within_s
    while time.monotonic() < ends_at:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@FORKS
@pytest.mark.parametrize("everybody", [True, False], ids=["at the terminal", "from elsewhere"])
def test_an_interruption_leaves_no_process_and_is_tidied_up_once(everybody: bool) -> None:
    with at_work() as process:
        (os.killpg if everybody else os.kill)(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert out == "tidied\n"
        assert err.count("KeyboardInterrupt") == 1
        assert nobody_left(process.pid)


@FORKS
def test_processes_end_when_the_one_that_started_them_is_killed() -> None:
    with at_work() as process:
        process.kill()
        process.wait(timeout=20)
        assert nobody_left(process.pid)

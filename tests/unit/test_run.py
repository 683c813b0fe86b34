"""A benchmark passes through untouched; only one that failed is followed by a diagnosis."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from forensics import run
from forensics.errors import TargetError
from forensics.model import Diagnosis
from tests.unit.report import example

ROOT = Path(__file__).resolve().parents[2]

# the runner as a process of its own, so that its standard streams are real; what it found goes to a file
DRIVER = """
import json, sys
from forensics import run
try:
    ran = run.execute(sys.argv[2:])
except run.CannotStart as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)
fields = {k: getattr(ran, k) for k in ("exit_code", "started_at", "ended_at", "cut", "refused", "first_refused_at", "last_refused_at", "stopped", "failed")}
open(sys.argv[1], "w").write(json.dumps(fields | {"output": ran.output.decode("latin-1"), "kept": len(ran.output)}))
sys.exit(ran.exit_code)
"""


@pytest.fixture
def driver(tmp_path: Path) -> list[str]:
    return [sys.executable, "-c", DRIVER, str(tmp_path / "ran.json")]


def ran(tmp_path: Path) -> dict[str, Any]:
    import json

    found: dict[str, Any] = json.loads((tmp_path / "ran.json").read_text())
    return found


def go(driver: list[str], *argv: str, **how: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*driver, *argv], cwd=ROOT, capture_output=True, timeout=60, check=False, **how)


# --------------------------------------------------------------------------- untouched


def test_bytes_pass_unchanged_and_the_streams_stay_apart(driver: list[str]) -> None:
    done = go(driver, "sh", "-c", r"printf 'a\0\377\r\n50%%\r100%%'; printf 'error\n' >&2")
    assert done.stdout == b"a\0\xff\r\n50%\r100%"
    assert done.stderr == b"error\n"


def test_a_large_output_passes_whole_and_the_copy_keeps_begin_and_end(driver: list[str], tmp_path: Path) -> None:
    done = go(driver, sys.executable, "-c", "import sys\nfor n in range(700_000): sys.stdout.write(f'{n:07d}\\n')")
    assert len(done.stdout) == 5_600_000
    found = ran(tmp_path)
    assert found["kept"] < 2_200_000
    assert found["output"].startswith("0000000\n")
    assert found["output"].endswith("0699999\n")
    assert f"{found['cut']} bytes of output not kept" in found["output"]


def test_output_is_passed_as_it_comes(driver: list[str]) -> None:
    child = subprocess.Popen([*driver, "sh", "-c", "echo first; read line; echo $line"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == b"first\n"  # before the child has ended
        child.stdin.write(b"second\n")
        child.stdin.close()
        assert child.stdout.read() == b"second\n"
    assert child.returncode == 0


@pytest.mark.parametrize("code", [0, 1, 2, 77, 255])
def test_the_exit_code_is_the_commands_own(driver: list[str], code: int) -> None:
    assert go(driver, "sh", "-c", f"exit {code}").returncode == code


def test_a_command_that_a_signal_killed_gives_128_and_the_signal(driver: list[str]) -> None:
    assert go(driver, "sh", "-c", "kill -9 $$").returncode == 137


def test_a_command_that_is_not_there_is_127_and_one_that_is_no_program_126(driver: list[str], tmp_path: Path) -> None:
    assert go(driver, "no-such-command-here").returncode == 127
    plain = tmp_path / "plain"
    plain.write_text("x")
    assert go(driver, str(plain)).returncode == 126


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_reaches_the_command(driver: list[str], tmp_path: Path, signum: signal.Signals) -> None:
    script = (
        "import signal, sys, time\nfor s in (2, 10, 15): signal.signal(s, lambda n, f: sys.exit(40 + n))\nprint('up', flush=True)\ntime.sleep(30)"
    )
    child = subprocess.Popen([*driver, sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, start_new_session=True)
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"up\n"
        child.send_signal(signum)
        assert child.wait(timeout=20) == 40 + signum
    found = ran(tmp_path)
    assert found["stopped"]
    assert not found["failed"]


def test_standard_input_is_inherited(driver: list[str]) -> None:
    assert go(driver, "cat", input=b"through\0me").stdout == b"through\0me"


def test_a_reader_that_leaves_is_felt_by_the_command(driver: list[str]) -> None:
    child = subprocess.Popen([*driver, "sh", "-c", "while echo y; do :; done"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with child:
        assert child.stdout is not None
        child.stdout.read(10)
        child.stdout.close()
        assert child.wait(timeout=20) != 0


def test_a_grandchild_that_holds_the_output_open_does_not_hold_us(driver: list[str]) -> None:
    began = time.monotonic()
    assert go(driver, "sh", "-c", "sleep 60 </dev/null & echo started").stdout == b"started\n"
    assert time.monotonic() - began < 30


def test_on_a_terminal_the_command_sees_a_terminal_of_its_size_and_its_bytes_are_not_changed_twice(driver: list[str]) -> None:
    script = "import os, sys; print(sys.stdout.isatty(), sys.stderr.isatty(), *os.get_terminal_size(1)); print('err', file=sys.stderr)"
    ours, theirs = pty.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 41, 133, 0, 0))
    child = subprocess.Popen([*driver, sys.executable, "-c", script], cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    seen = _read_all(ours)
    assert child.wait(timeout=20) == 0
    os.close(ours)
    assert seen == b"True True 133 41\r\nerr\r\n"


def _read_all(fd: int) -> bytes:
    seen = b""
    while select.select([fd], [], [], 15)[0]:
        try:
            data = os.read(fd, 4096)
        except OSError:  # EIO: all writers have gone
            break
        if not data:
            break
        seen += data
    return seen


# --------------------------------------------------------------------------- what is noticed


def test_refused_connections_are_counted_with_their_times_even_where_the_exit_code_is_0(driver: list[str], tmp_path: Path) -> None:
    done = go(driver, "sh", "-c", "echo ok; echo 'URLError: <urlopen error [Errno 111] Connection refused>'; sleep 0.2; echo ECONNREFUSED >&2")
    assert done.returncode == 0
    found = ran(tmp_path)
    assert found["refused"] == 2
    assert found["started_at"] <= found["first_refused_at"] < found["last_refused_at"] <= found["ended_at"] + 1
    assert found["failed"]


def test_a_refusal_in_a_line_that_comes_in_two_pieces_is_seen(driver: list[str], tmp_path: Path) -> None:
    go(driver, "sh", "-c", "printf 'Connection ref'; sleep 0.2; printf 'used'")
    assert ran(tmp_path)["refused"] == 1


def test_a_clean_run_is_no_failure(driver: list[str], tmp_path: Path) -> None:
    go(driver, "sh", "-c", "echo 111 requests, none refused")
    assert not ran(tmp_path)["failed"]


# --------------------------------------------------------------------------- the hook

REFUSE = "import sys; sys.stdout.write('URLError: <urlopen error [Errno 111] Connection refused>\\n'); sys.exit(int(sys.argv[1]))"


class Spy:
    """Stands in for the pipeline and remembers what it was asked."""

    def __init__(self, error: Exception | None = None) -> None:
        self.asked: list[tuple[list[str], dict[str, Any]]] = []
        self.evidence = b""
        self.reported: list[Diagnosis] = []
        self.said: list[str] = []
        self.error = error

    def diagnose(self, targets: Sequence[str], **how: Any) -> list[Diagnosis]:
        self.asked.append((list(targets), how))
        self.evidence = how["bench"][0].read_bytes()
        if self.error:
            raise self.error
        return [example.loading()]

    def run(self, *argv: str) -> int:
        return run.benchmark(argv, host="gpu01", unit="llm.service", report=self.reported.extend, diagnose=self.diagnose, say=self.said.append)


def test_a_success_is_followed_by_nothing() -> None:
    spy = Spy()
    assert spy.run("true") == 0
    assert (spy.asked, spy.reported, spy.said) == ([], [], [])


@pytest.mark.parametrize("code", [0, 3])
def test_a_refused_benchmark_is_diagnosed_with_its_output_and_times(code: int) -> None:
    spy = Spy()
    began = time.time()
    assert spy.run(sys.executable, "-c", REFUSE, str(code)) == code
    (targets, how), *more = spy.asked
    assert (targets, how["unit"], more) == (["gpu01"], "llm.service", [])
    assert spy.evidence == b"URLError: <urlopen error [Errno 111] Connection refused>\n"
    first, last = how["bench_window"]
    assert began <= first <= last <= time.time()
    assert spy.reported == [example.loading()]
    assert not how["bench"][0].exists()  # nothing is left behind


@pytest.mark.parametrize("error", [TargetError("no route", at="gpu01"), ValueError("a fault of ours")], ids=["cannot look", "our fault"])
def test_a_diagnosis_that_fails_leaves_the_exit_code_alone(error: Exception) -> None:
    spy = Spy(error)
    assert spy.run("sh", "-c", "exit 9") == 9
    assert spy.reported == []
    assert any(line.startswith("no diagnosis: ") for line in spy.said)


def test_output_that_a_full_disk_swallows_is_said_once() -> None:
    spy = Spy()
    full = os.open("/dev/full", os.O_WRONLY)
    kept = os.dup(1)
    os.dup2(full, 1)
    try:
        assert spy.run("sh", "-c", "echo hi; exit 0") == 0
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(full)
    assert spy.said == ["not all of the command's output could be written: No space left on device"]
    assert spy.asked == []

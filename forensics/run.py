"""Run a benchmark untouched, and look at the server at once when it fails. Never changes its output, its signals or its exit code.

The child's standard output and error pass through byte for byte as they come; where ours is a terminal, the child sees one too (a pseudo-terminal
of the same size). Standard input is inherited. A success passes through and nothing else happens.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import threading
import time
import traceback
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from forensics import lazily
from forensics.errors import ForensicsError
from forensics.model import Diagnosis, Noun

NOT_FOUND, NOT_EXECUTABLE = 127, 126  # as the shell has it

_KEEP = 1 << 20  # bytes of output kept from its begin, and from its end
_MAX_LINE = 1 << 16
_CHUNK = 1 << 16
_QUIET_S = 0.3  # how long a grandchild that holds the output open may be silent after the child's exit
_REFUSED = lazily.pattern(rb"(?i)connection[ _]?refused|econnrefused|\[errno 111\]|os error 111")
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_FROM_KEYS = (signal.SIGINT, signal.SIGQUIT)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Ran(Noun):
    """A command that has ended. ``output`` is both streams, line by line as they came; ``cut`` bytes are missing from its middle.

    ``exit_code`` is the command's own, 128+n where signal n ended it. Times are epoch seconds of this machine.
    """

    argv: tuple[str, ...]
    exit_code: int
    started_at: float
    ended_at: float
    output: bytes = b""
    cut: int = 0
    refused: int = 0  # lines that speak of a refused connection
    first_refused_at: float | None = None
    last_refused_at: float | None = None
    stopped: bool = False  # somebody sent us a signal for it
    unwritten: str = ""  # why not all of its output could be passed on

    @property
    def failed(self) -> bool:
        """Worth a diagnosis: it says so, or its output does. One that somebody stopped says nothing by its exit code."""
        return self.refused > 0 or (self.exit_code != 0 and not self.stopped)


def benchmark(
    argv: Sequence[str],
    *,
    host: str = "local",
    unit: str | None = None,
    report: Callable[[Sequence[Diagnosis]], None],
    diagnose: Callable[..., Sequence[Diagnosis]],
    say: Callable[[str], None],
    ssh_config: Path | None = None,
    sudo: bool = False,
    clock: Callable[[], float] = time.time,
) -> int:
    """Run ``argv``; when it fails, diagnose ``host`` with its output and times as evidence. Returns the command's own exit code, whatever the diagnosis.

    ``diagnose`` is called as ``diagnose([host], unit=, bench=[file], bench_window=(first, last), ssh_config=, sudo=)``.
    """
    ran = execute(argv, clock=clock)
    if ran.unwritten:
        say(f"not all of the command's output could be written: {ran.unwritten}")
    if not ran.failed:
        return ran.exit_code
    why = f"exit code {ran.exit_code}" if ran.exit_code else "refused connections in its output"
    say(f"the command failed ({why}); looking at {host}")
    window = (ran.first_refused_at or ran.started_at, ran.last_refused_at or ran.ended_at)
    with tempfile.TemporaryDirectory(prefix="ddforensics-run-") as folder:
        output = Path(folder, "output")
        output.write_bytes(ran.output)
        try:
            report(diagnose([host], unit=unit, bench=[output], bench_window=window, ssh_config=ssh_config, sudo=sudo))
        except ForensicsError as error:
            say(f"no diagnosis: {error}")
        except KeyboardInterrupt:
            say("diagnosis interrupted")
        except Exception:  # noqa: BLE001  a fault of ours must not become the benchmark's exit code: swallowed after its traceback is shown
            traceback.print_exc()
            say("no diagnosis: a fault of ddforensics itself")
    return ran.exit_code


def execute(argv: Sequence[str], *, clock: Callable[[], float] = time.time, env: Mapping[str, str] | None = None) -> Ran:
    """Run ``argv`` with our own standard streams passed through and a bounded copy of what it writes. Raises ForensicsError where it cannot start."""
    kept = _Kept(clock)
    streams = _streams()
    started_at = clock()
    try:
        with _signals_for(streams) as attach:
            child = _started(argv, streams, env)
            stopped = attach(child)
            done = threading.Event()
            pumps = [threading.Thread(target=_pump, args=(stream, kept, done), daemon=True) for stream in streams]
            for pump in pumps:
                pump.start()
            code = child.wait()
            ended_at = clock()
            done.set()
            for pump in pumps:
                pump.join()
    finally:
        for stream in streams:
            stream.close()
    return Ran(
        argv=tuple(argv),
        exit_code=code if code >= 0 else 128 - code,
        started_at=started_at,
        ended_at=ended_at,
        output=kept.output(),
        cut=kept.cut,
        refused=kept.refused,
        first_refused_at=kept.first_refused_at,
        last_refused_at=kept.last_refused_at,
        stopped=bool(stopped),
        unwritten=kept.unwritten,
    )


class CannotStart(ForensicsError):
    """The command is not there, or is no program; ``exit_code`` as the shell has it."""

    def __init__(self, text: str, *, at: str, exit_code: int) -> None:
        super().__init__(text, at=at)
        self.exit_code = exit_code


def _started(argv: Sequence[str], streams: Sequence[_Stream], env: Mapping[str, str] | None) -> subprocess.Popen[bytes]:
    ends = {fd: stream.write_end for stream in streams for fd in stream.goals}
    try:
        return subprocess.Popen(list(argv), stdout=ends[1], stderr=ends[2], env=env)
    except FileNotFoundError as error:
        raise CannotStart(
            "no such command" if shutil.which(argv[0]) is None else "its interpreter is not there", at=argv[0], exit_code=NOT_FOUND
        ) from error
    except OSError as error:
        raise CannotStart(error.strerror or "cannot be run", at=argv[0], exit_code=NOT_EXECUTABLE) from error
    finally:
        for stream in streams:
            stream.close_write_end()


# --------------------------------------------------------------------------- streams


@dataclass(kw_only=True, slots=True)
class _Stream:
    """One way out of the child. ``goals`` are 1, 2, or both where they are one file: then the order of lines stays."""

    goals: tuple[int, ...]
    read_end: int
    write_end: int
    terminal: bool
    open_ends: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.open_ends = {self.read_end, self.write_end}

    def close_write_end(self) -> None:
        self._close(self.write_end)

    def close_read_end(self) -> None:
        self._close(self.read_end)

    def close(self) -> None:
        for end in tuple(self.open_ends):
            self._close(end)

    def _close(self, end: int) -> None:
        if end in self.open_ends:
            self.open_ends.discard(end)
            os.close(end)

    def resize(self) -> None:
        """Give the child's terminal the size of ours."""
        if self.terminal and self.read_end in self.open_ends:
            size = fcntl.ioctl(self.goals[0], termios.TIOCGWINSZ, bytes(8))  # termios.tcgetwinsize is of Python 3.11
            fcntl.ioctl(self.read_end, termios.TIOCSWINSZ, size)


def _streams() -> list[_Stream]:
    same = os.path.sameopenfile(1, 2)
    return [_stream(goals) for goals in (((1, 2),) if same else ((1,), (2,)))]


def _stream(goals: tuple[int, ...]) -> _Stream:
    if not os.isatty(goals[0]):
        read_end, write_end = os.pipe()
        return _Stream(goals=goals, read_end=read_end, write_end=write_end, terminal=False)
    read_end, write_end = os.openpty()
    tty.setraw(write_end)  # our own terminal adds the carriage returns, once
    stream = _Stream(goals=goals, read_end=read_end, write_end=write_end, terminal=True)
    stream.resize()
    return stream


def _pump(stream: _Stream, kept: _Kept, done: threading.Event) -> None:
    """Carry bytes from the child to our own stream until it closes, or is silent after the child's exit."""
    partial = b""
    while True:
        ready, _, _ = select.select([stream.read_end], [], [], _QUIET_S)
        if not ready:
            if done.is_set():
                break
            continue
        try:
            data = os.read(stream.read_end, _CHUNK)
        except OSError:  # EIO: a pseudo-terminal that nobody writes to any more
            break
        if not data:
            break
        try:
            _write_all(stream.goals[0], data)
        except OSError as error:  # our reader is gone (EPIPE): the child has to meet that too
            if error.errno != errno.EPIPE:  # a full disk: nobody would know
                kept.unwritten = error.strerror or str(error)
            stream.close_read_end()
            break
        partial = kept.add(partial + data)
    kept.add_line(partial)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:  # somebody set our own stream to non-blocking
            select.select([], [fd], [])


class _Kept:
    """The first and the last MiB of all lines, whole lines of both streams one after the other, and when connections were refused."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._head = bytearray()
        self._tail = bytearray()
        self.cut = 0
        self.unwritten = ""
        self.refused = 0
        self.first_refused_at: float | None = None
        self.last_refused_at: float | None = None

    def add(self, data: bytes) -> bytes:
        """Keep the whole lines of ``data``; gives back what is not a whole line yet."""
        whole, end, partial = data.rpartition(b"\n")
        if not end and len(data) > _MAX_LINE:  # a progress bar that never ends its line
            whole, partial = data, b""
        if whole or end:
            self.add_line(whole + end)
        return partial

    def add_line(self, lines: bytes) -> None:
        if not lines:
            return
        with self._lock:
            if b"111" in lines or b"efused" in lines or b"EFUSED" in lines:
                self._note_refusals(lines)
            room = max(0, _KEEP - len(self._head))
            if not self._tail:
                self._head += lines[:room]
                lines = lines[room:]
            self._tail += lines
            if len(self._tail) > 2 * _KEEP:
                self._shorten()

    def output(self) -> bytes:
        """What was kept; a note stands where the middle is missing."""
        if len(self._tail) > _KEEP:
            self._shorten()
        gap = f"\n[... {self.cut} bytes of output not kept ...]\n".encode() if self.cut else b""
        return bytes(self._head) + gap + bytes(self._tail)

    def _shorten(self) -> None:
        excess = len(self._tail) - _KEEP
        self.cut += excess
        del self._tail[:excess]

    def _note_refusals(self, lines: bytes) -> None:
        count = sum(1 for line in lines.splitlines() if _REFUSED.search(line))
        if count:
            self.refused += count
            self.last_refused_at = self._clock()
            self.first_refused_at = self.first_refused_at or self.last_refused_at


# --------------------------------------------------------------------------- signals


@contextmanager
def _signals_for(streams: Sequence[_Stream]) -> Iterator[Callable[[subprocess.Popen[bytes]], list[int]]]:
    """Hand every signal on to the child while it runs. Yields a function that takes the child and gives the list of the signals that came."""
    came: list[int] = []
    children: list[subprocess.Popen[bytes]] = []

    def forward(signum: int, _frame: FrameType | None) -> None:
        came.append(signum)
        # What is typed at the terminal reaches the child by itself; twice would be "abort at once" to many programs.
        if not (signum in _FROM_KEYS and _in_foreground()):
            for child in children:
                child.send_signal(signum)

    def resize(_signum: int, _frame: FrameType | None) -> None:
        for stream in streams:
            stream.resize()

    def attach(child: subprocess.Popen[bytes]) -> list[int]:
        children.append(child)
        for signum in came:  # what came while it was being started
            child.send_signal(signum)
        return came

    in_main = threading.current_thread() is threading.main_thread()  # handlers can be set there only
    handlers = {signal.SIGWINCH: resize, **dict.fromkeys(_FORWARDED, forward)} if in_main else {}
    # a signal that is ignored (nohup, a background job) stays ignored, for us and for the child
    before = {signum: signal.signal(signum, handler) for signum, handler in handlers.items() if signal.getsignal(signum) is not signal.SIG_IGN}
    try:
        yield attach
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


def _in_foreground() -> bool:
    for stream in (sys.__stdin__, sys.__stdout__, sys.__stderr__):
        if stream is not None and stream.isatty():
            try:
                return os.tcgetpgrp(stream.fileno()) == os.getpgrp()
            except OSError:  # not our controlling terminal
                continue
    return False

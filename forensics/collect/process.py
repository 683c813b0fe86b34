"""Start a process, talk to it over its three pipes, and end it with all it started. Knows nothing of frames, hosts or questions."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

Start = Callable[[Sequence[str]], "subprocess.Popen[bytes]"]

OUT, ERR = "out", "err"
_PIECE = 1 << 16


def start_process(argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start in a session of its own: a Ctrl-C at the terminal is for us, and the whole group can be ended at once."""
    return subprocess.Popen(list(argv), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, env=env)


class Pipes:
    """The talk with one process. Must be closed; afterwards nothing of its process group is left."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._to_write = b""
        self._selector = selectors.DefaultSelector()
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise ValueError("a process with three pipes is wanted")
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        for stream, name in ((self._stdout, OUT), (self._stderr, ERR)):
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ, name)
        os.set_blocking(self._stdin.fileno(), False)

    def send(self, data: bytes) -> None:
        """Queue bytes for standard input; ``receive`` writes them."""
        if not self._to_write and not self._stdin.closed:
            self._selector.register(self._stdin, selectors.EVENT_WRITE)
        self._to_write += data

    def receive(self, limit_s: float) -> Iterator[tuple[str, bytes]]:
        """What arrives within the limit, as (stream, bytes); empty bytes are that stream's end. Returns after the first that arrived."""
        for key, _ in self._selector.select(max(0.0, limit_s)):
            if key.fileobj is self._stdin:
                self._write()
                continue
            try:
                data = os.read(key.fd, _PIECE)
            except BlockingIOError:
                continue
            if not data:
                self._selector.unregister(key.fileobj)
            yield str(key.data), data

    def ended(self, grace_s: float) -> int | None:
        """The exit code, once the process has ended within the grace."""
        try:
            return self.process.wait(grace_s)
        except subprocess.TimeoutExpired:
            return None

    def close(self, *, grace_s: float = 0.0) -> None:
        """End standard input, wait for as long as the grace, then end the whole group."""
        self._selector.close()
        with contextlib.suppress(OSError):  # what was still to be written to a process that is gone
            self._stdin.close()
        if self.ended(grace_s) is None:
            end_group(self.process)
        self._stdout.close()
        self._stderr.close()

    def _write(self) -> None:
        try:
            written = os.write(self._stdin.fileno(), self._to_write[:_PIECE])
        except BlockingIOError:
            return
        except OSError:  # it has gone; its last words are still to be read
            written = len(self._to_write)
        self._to_write = self._to_write[written:]
        if not self._to_write:
            self._selector.unregister(self._stdin)


def end_group(process: subprocess.Popen[bytes], *, patience_s: float = 1.0) -> None:
    """TERM to the process group, KILL to what is left of it after a moment."""
    until = time.monotonic() + patience_s
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):
            break
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.05, until - time.monotonic()))
    with contextlib.suppress(subprocess.TimeoutExpired):  # one that hangs in the kernel cannot be waited for
        process.wait(1.0)

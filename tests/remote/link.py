"""A bad link: forwards a port to another and cuts, stalls or slows what comes back. Looks at no byte."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from types import TracebackType


class Link:
    """Forward ``port`` (a fresh one) to ``to`` of 127.0.0.1 until it is left.

    ``cut_after`` bytes from the far side both connections are reset; ``stall_after`` bytes nothing more is carried either way, and nobody is told;
    ``bytes_per_s`` bounds what comes back, ``delay_s`` is added to each piece of it. ``carried`` counts what came back.
    """

    def __init__(
        self, to: int, *, cut_after: int | None = None, stall_after: int | None = None, bytes_per_s: float | None = None, delay_s: float = 0.0
    ) -> None:
        self._to, self._cut, self._stall, self._rate, self._delay_s = to, cut_after, stall_after, bytes_per_s, delay_s
        self.carried = 0
        self._over = threading.Event()
        self._sockets: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Link:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        for each in (self._listening, *self._sockets):
            _close(each)

    def _accept(self) -> None:
        while not self._over.is_set():
            try:
                near, _ = self._listening.accept()
                far = socket.create_connection(("127.0.0.1", self._to))
            except OSError:
                return
            self._sockets += [near, far]
            threading.Thread(target=self._up, args=(near, far), daemon=True).start()
            threading.Thread(target=self._down, args=(near, far), daemon=True).start()

    def _up(self, near: socket.socket, far: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := near.recv(65536):
                if self._stalled():
                    self._over.wait()
                far.sendall(data)
            far.shutdown(socket.SHUT_WR)

    def _down(self, near: socket.socket, far: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := far.recv(65536 if self._rate is None else max(512, int(self._rate / 20))):
                end = min(x for x in (self._cut, self._stall, self.carried + len(data)) if x is not None)
                data = data[: max(0, end - self.carried)]
                time.sleep(self._delay_s + (len(data) / self._rate if self._rate else 0))
                near.sendall(data)
                self.carried += len(data)
                if self._stalled():
                    self._over.wait()
                if self._cut is not None and self.carried >= self._cut:
                    break
        _close(near)
        _close(far)

    def _stalled(self) -> bool:
        return self._stall is not None and self.carried >= self._stall


def _close(each: socket.socket) -> None:
    with contextlib.suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()

"""Take the framed answers of a host apart as they arrive, in pieces of any size. Never holds more than a piece, never opens a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

_FRAME_BYTES = 256  # no frame line is longer


class Begin(NamedTuple):
    name: str


class End(NamedTuple):
    name: str
    exit_code: int


class Done(NamedTuple):
    round: int


Event = Begin | End | Done


class FrameReader:
    """Splits one stream. ``sink(name, piece)`` gets the bytes of the open section, with the name "" what comes outside of any."""

    def __init__(self, word: str, sink: Callable[[str, bytes], None]) -> None:
        self._mark = b"\n@" + word.encode("ascii") + b" "
        self._sink = sink
        self._rest = b""
        self.open = ""

    def feed(self, data: bytes) -> list[Event]:
        """The frames that end within ``data``, in order; what lies between them has gone to the sink."""
        events: list[Event] = []
        rest = self._rest + data
        start = look = 0
        while True:
            at = rest.find(self._mark, look)
            if at < 0:
                break
            stop = rest.find(b"\n", at + len(self._mark), at + _FRAME_BYTES)
            if stop < 0 and len(rest) >= at + _FRAME_BYTES:
                look = at + 1  # a line so long is no frame: it must not be held back until it ends
                continue
            if stop < 0:
                break  # the rest of the frame line is still on its way
            self._give(rest[start:at])
            start = look = stop + 1
            event = self._event(rest[at + len(self._mark) : stop])
            if event is not None:
                events.append(event)
        # keep what may be the beginning of a frame
        keep = at if at >= 0 else self._possible_start(rest, start)
        if keep > start:
            self._give(rest[start:keep])
        self._rest = rest[keep:]
        return events

    def finish(self) -> None:
        """The stream has ended: what was held back is content."""
        self._give(self._rest)
        self._rest = b""

    def _possible_start(self, rest: bytes, start: int) -> int:
        for length in range(min(len(self._mark) - 1, len(rest) - start), 0, -1):
            if self._mark.startswith(rest[-length:]):
                return len(rest) - length
        return len(rest)

    def _give(self, piece: bytes) -> None:
        if piece:
            self._sink(self.open, piece)

    def _event(self, line: bytes) -> Event | None:
        match line.decode("ascii", "replace").split():
            case ["begin", name]:
                self.open = name
                return Begin(name)
            case ["end", name, code] if code.isdigit():
                if name != self.open:
                    return None  # the stand-in for an end that did come
                self.open = ""
                return End(name, int(code))
            case ["done", number] if number.isdigit():
                self.open = ""
                return Done(int(number))
        return None

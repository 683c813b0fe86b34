"""Take the framed answers of a host apart as they arrive, in pieces of any size. Never holds more than a piece, never opens a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

_FRAME_BYTES = 256  # no frame line is longer


class Begin(NamedTuple):
    name: str
    encoding: str = "plain"


class Code(NamedTuple):
    name: str
    exit_code: int


class End(NamedTuple):
    name: str
    took_s: float | None = None


class Done(NamedTuple):
    round: int


Event = Begin | Code | End | Done
Sink = Callable[[str, bytes], None]


class FrameReader:
    """Splits one stream. ``sink(name, piece)`` gets the bytes of the open answer, with the name "" what comes outside of any;
    ``aside(name, piece)`` what its command wrote to standard error."""

    def __init__(self, word: str, sink: Sink, aside: Sink) -> None:
        self._mark = b"\n@" + word.encode("ascii") + b" "
        self._sink, self._aside = sink, aside
        self._rest = b""
        self._said = False
        self.open = ""
        self.encoding = ""

    def feed(self, data: bytes) -> list[Event]:
        """The frames that end within ``data``, in order; what lies between them has gone to the sinks."""
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
            (self._aside if self._said else self._sink)(self.open, piece)

    def _event(self, line: bytes) -> Event | None:
        match line.decode("ascii", "replace").split():
            case ["begin", name, encoding]:
                self.open, self.encoding, self._said = name, encoding, False
                return Begin(name, encoding)
            case ["said", name] if name == self.open:
                self._said = True
            case ["code", code] if self._said and code.isdigit():
                return Code(self.open, int(code))
            case ["end", name, began, ended] if name == self.open:
                self.open, self._said = "", False
                return End(name, _seconds(began, ended))
            case ["done", number] if number.isdigit():
                self.open, self._said = "", False
                return Done(int(number))
        return None


def _seconds(began: str, ended: str) -> float | None:
    try:
        took_s = float(ended) - float(began)
    except ValueError:  # a host without /proc
        return None
    return round(took_s, 2) if 0 <= took_s < 86400 else None

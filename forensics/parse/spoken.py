"""Tell entries of a journal that a service wrote to its standard output from all others, many at a time. Never reads their fields one by one."""

from __future__ import annotations

_ENDS_KEPT, _ENDS_TRIED = 16, 256


class Spoken:
    """Tells whether an entry is what a service wrote to its standard output; most of a journal is, and ends in one of a few ways.

    Nothing else that an entry says of its writer changes whose it is then, but the pid of systemd itself. ``stdout`` and ``init`` are the two fields,
    ``last`` is the second where it ends an entry, ``pid`` begins it, and ``binary`` is what stands in an entry that must be read field by field.
    """

    def __init__(self, *, stdout: bytes, init: bytes, last: bytes, pid: bytes, binary: bytes | None = None) -> None:
        self._stdout = stdout
        self._init = init
        self._last = last
        self._pid = pid
        self._binary = binary
        self._ends: tuple[bytes, ...] = ()  # each says the transport and the pid
        self._tries = _ENDS_TRIED  # where each ends in a way of its own, none is worth keeping

    def told(self, raw: list[bytes]) -> list[bool]:
        """The answer for each of some entries; False where only the fields can tell."""
        ends, binary = self._ends, self._binary
        told = [line.endswith(ends) for line in raw]
        if 2 * told.count(True) > len(told):
            self._tries = _ENDS_TRIED
        for at in [at for at, known in enumerate(told) if not known]:
            told[at] = self._look(raw[at])
        return told if binary is None else [known and binary not in line for line, known in zip(raw, told, strict=True)]

    def _look(self, line: bytes) -> bool:
        if line.endswith(self._ends):
            return True
        if self._stdout not in line or self._init in line or line.endswith(self._last):
            return False
        if self._tries and (at := line.find(self._pid)) >= 0:
            self._tries -= 1
            self._ends = (line[min(at, line.find(self._stdout)) :], *self._ends)[:_ENDS_KEPT] if self._tries else ()
        return True

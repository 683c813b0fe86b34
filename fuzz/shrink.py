"""Try one input again, or make it smaller while it ends the same way. Uses no fuzzer."""

from __future__ import annotations

import signal
import traceback
from pathlib import Path

from fuzz.targets import FuzzTarget
from fuzz.worker import LIMIT_S, Hang, _too_long, key_of


def again(target: FuzzTarget, path: Path) -> int:
    """Run one input; its traceback, or nothing. 1 where it is a finding."""
    error = _outcome(target, path.read_bytes())
    if error is None:
        print("nothing is wrong with it")
        return 0
    traceback.print_exception(error)
    return 1


def shrink(target: FuzzTarget, path: Path) -> int:
    """Write the smallest input with the same finding beside it."""
    data = path.read_bytes()
    wanted = _key(target, data)
    if not wanted:
        print("nothing is wrong with it")
        return 0
    for separator in (b"\n", b""):
        data = _smaller(target, data, wanted, separator)
    small = path.with_suffix(".min")
    small.write_bytes(data)
    print(f"{wanted}: {len(data)} bytes in {small}\n{data[:400]!r}")
    return 1


def _smaller(target: FuzzTarget, data: bytes, wanted: str, separator: bytes) -> bytes:
    """Take out ever smaller runs of lines, or of bytes."""
    units = data.split(separator) if separator else [data[i : i + 1] for i in range(len(data))]
    size = max(1, len(units) // 2)
    tries = 3000
    while size and tries:
        at, changed = 0, False
        while at < len(units) and tries:
            rest = units[:at] + units[at + size :]
            tries -= 1
            if _key(target, separator.join(rest)) == wanted:
                units, changed = rest, True
            else:
                at += size
        size = size if changed and size == 1 else size // 2
    return separator.join(units)


def _key(target: FuzzTarget, data: bytes) -> str:
    error = _outcome(target, data)
    return key_of(error) if error else ""


def _outcome(target: FuzzTarget, data: bytes) -> BaseException | None:
    signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
    try:
        target.run(data)
    except (Exception, Hang) as error:  # noqa: BLE001  the exception is what is looked for: it is returned
        return error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return None

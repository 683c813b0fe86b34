"""Make a journal to measure with, run a command and say what it cost: seconds by the clock, seconds of processor with all its children, memory of the largest process and of all together."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
_LOOK_S = 0.1


class Cost(NamedTuple):
    """Of one run; memory in MiB. ``together`` counts pages that processes share once; NaN where the system does not tell."""

    wall_s: float
    cpu_s: float
    peak: float
    together: float
    out: str


def run(argv: Sequence[str]) -> Cost:
    """The cost of one run of a command. Its output goes to a file: grep, for one, stops at the first match where nobody listens."""
    with tempfile.TemporaryFile() as out:
        began = perf_counter()
        process = subprocess.Popen(list(argv), stdout=out, stderr=subprocess.DEVNULL)
        stop, seen = threading.Event(), [float("nan")]
        watcher = threading.Thread(target=_watch, args=(process.pid, stop, seen))
        watcher.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)  # nobody else is to wait for it
        stop.set()
        watcher.join()
        out.seek(0)
        return Cost(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, seen[0], out.read().decode("utf-8", "replace"))


def made(folder: Path, entries: int, form: str) -> Path:
    """The journal of that many entries; made by gen_journal.py where it is not there yet."""
    file = folder / f"{entries}.{form}"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, str(HERE / "gen_journal.py"), "-n", str(entries), "--seed", "7", f"--{form}", str(file)]
        subprocess.run([*command, "--manifest", str(folder / f"{entries}.manifest.json")], check=True)
    return file


def median(costs: Sequence[Cost]) -> Cost:
    """The medians, column by column."""
    return Cost(*(statistics.median(column) for column in zip(*(cost[:4] for cost in costs), strict=True)), costs[-1].out)


def _watch(pid: int, stop: threading.Event, seen: list[float]) -> None:
    while not stop.wait(_LOOK_S):
        together = sum(map(_pss_kib, _family(pid))) / 1024
        if together and not seen[0] >= together:
            seen[0] = together


def _family(pid: int) -> list[int]:
    found = [pid]
    for name in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [one for child in name.read_text().split() for one in _family(int(child))]
        except OSError:
            continue
    return found


def _pss_kib(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")), 0)

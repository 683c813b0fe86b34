#!/usr/bin/env python3
"""How long a diagnosis of a big journal takes, against grep over the same file in the same run, and how much memory it needs.

    python benchmarks/journal.py [--entries 1000000] [--format text|json|export] [--rounds 3] [--folder DIR]

Rounds are interleaved (grep, ddforensics, grep, …); medians and the ratio of the medians are printed. The journal is made once and kept in the folder.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
# what somebody types first
GREP = ["grep", "-aciE", "error|exception|out of memory|killed|failed"]


def made(folder: Path, entries: int, form: str) -> Path:
    """The journal of that many entries; made by gen_journal.py where it is not there yet."""
    file = folder / f"{entries}.{form}"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, str(HERE / "gen_journal.py"), "-n", str(entries), "--seed", "7", f"--{form}", str(file)]
        subprocess.run([*command, "--manifest", str(folder / f"{entries}.manifest.json")], check=True)
    return file


def timed(argv: list[str]) -> tuple[float, float, float]:
    """Seconds by the clock, seconds of processor, and peak MiB of one run."""
    with tempfile.TemporaryFile() as out:  # not /dev/null: grep would stop at the first match
        began = time.perf_counter()
        process = subprocess.Popen(argv, stdout=out, stderr=subprocess.DEVNULL)
        _, _, usage = os.wait4(process.pid, 0)
        return time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--format", choices=("text", "json", "export"), default="text")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir(), "ddforensics-bench"))
    chosen = parser.parse_args()
    file = made(chosen.folder, chosen.entries, chosen.format)
    rows: dict[str, list[tuple[float, float, float]]] = {"grep": [], "ddforensics": []}
    for _ in range(chosen.rounds):
        rows["grep"].append(timed([*GREP, str(file)]))
        rows["ddforensics"].append(timed([sys.executable, "-m", "forensics", "diagnose", "--format", "json", str(file)]))
    print(f"{file.name}: {file.stat().st_size / 1e6:.0f} MB, {chosen.rounds} rounds")
    medians = {name: [statistics.median(column) for column in zip(*runs, strict=True)] for name, runs in rows.items()}
    for name, (wall_s, cpu_s, peak_mib) in medians.items():
        print(f"{name:<12} {wall_s:6.2f} s  {cpu_s:6.2f} s of processor  {peak_mib:5.0f} MiB peak")
    print(f"ratio of the processor's seconds: {medians['ddforensics'][1] / medians['grep'][1]:.1f}")


if __name__ == "__main__":
    main()

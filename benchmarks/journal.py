#!/usr/bin/env python3
"""How long a diagnosis of a big journal takes, against grep over the same file in the same run, and how much memory it needs.

    python benchmarks/journal.py [--entries 1000000] [--format text|json|export] [--rounds 3] [--folder DIR]

Rounds are interleaved (grep, ddforensics, grep, …); medians and the ratio of the medians are printed. The journal is made once and kept in the folder.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from timing import Cost, made, median, run

# what somebody types first
GREP = ["grep", "-aciE", "error|exception|out of memory|killed|failed"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--format", choices=("text", "json", "export"), default="text")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir(), "ddforensics-bench"))
    chosen = parser.parse_args()
    file = made(chosen.folder, chosen.entries, chosen.format)
    rows: dict[str, list[Cost]] = {"grep": [], "ddforensics": []}
    for _ in range(chosen.rounds):
        rows["grep"].append(run([*GREP, str(file)]))
        rows["ddforensics"].append(run([sys.executable, "-m", "forensics", "diagnose", "--format", "json", str(file)]))
    print(f"{file.name}: {file.stat().st_size / 1e6:.0f} MB, {chosen.rounds} rounds")
    medians = {name: median(runs) for name, runs in rows.items()}
    for name, cost in medians.items():
        print(
            f"{name:<12} {cost.wall_s:6.2f} s  {cost.cpu_s:6.2f} s of processor  {cost.peak:5.0f} MiB the largest process, {cost.together:5.0f} MiB all together"
        )
    print(f"ratio of the processor's seconds: {medians['ddforensics'].cpu_s / medians['grep'].cpu_s:.1f}")


if __name__ == "__main__":
    main()

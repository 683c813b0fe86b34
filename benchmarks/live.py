#!/usr/bin/env python3
"""What a live diagnosis over ssh costs, against what somebody would type instead, in the same run.

    python benchmarks/live.py HOST UNIT [-F SSH_CONFIG] [--rounds 7]

Interleaved, medians of the wall time:

  typed        ssh HOST 'systemctl status UNIT; journalctl -u UNIT -n 2000'
  one by one   one ssh that is sent the same questions and runs them one after the other, without frames, lanes, limits or packing
  diagnose     ddforensics diagnose HOST --unit UNIT, whole
  start        what the program does before and after: start, rules, reading and reasoning, measured as a diagnosis of the same evidence from a folder

The ratios are those of "diagnose" less "start". The slowest bounded question is printed, and taken off only where it took more than half a second.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from forensics import api, collect, parse, ruleset, units
from forensics.collect import plan


def quiet(argv: list[str], data: bytes = b"") -> float:
    """Seconds by the clock; what it prints goes to a file."""
    with tempfile.TemporaryFile() as out:
        began = time.perf_counter()
        subprocess.run(argv, input=data, stdout=out, stderr=subprocess.DEVNULL, check=False)
        return time.perf_counter() - began


def looked_at(host: str, unit: str, config: Path | None, folder: Path) -> tuple[list[str], float, str]:
    """The scripts of the questions that a diagnosis asks, and the slowest of them; the evidence is kept in the folder."""
    rules = ruleset.load()
    [target] = collect.parse_targets([host])
    with collect.open_target(target, ssh_config=config) as session:
        [capture] = api.look(session, rules, unit=unit, since=None, progress=lambda text: None)
        collect.save(capture, folder)
        _, states = parse.unit_overview(capture.sections)
        session.discard()
    ports, endpoints = api.probes(rules, states.get(units.full_name(unit)))
    asked = [*plan.overview(unit), *(q for q in plan.unit(unit, ports=ports, endpoints=endpoints) if not q.completes)]
    slowest = max(capture.sections, key=lambda s: s.took_s or 0.0)
    return [q.script for q in asked], slowest.took_s or 0.0, slowest.name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("host")
    parser.add_argument("unit")
    parser.add_argument("-F", dest="config", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "evidence")
        scripts, slowest_s, slowest = looked_at(chosen.host, chosen.unit, chosen.config, folder)
        ssh = ["ssh", "-T", "-o", "BatchMode=yes", *(["-F", str(chosen.config)] if chosen.config else []), chosen.host]
        same = "export LC_ALL=C TZ=UTC\n" + "\n".join(f"(\n{s}\n) </dev/null" for s in scripts)
        us = [sys.executable, "-m", "forensics", "diagnose", "--format", "json"]
        config = ["-F", str(chosen.config)] if chosen.config else []
        ways: dict[str, Callable[[], float]] = {
            "typed": lambda: quiet([*ssh, f"systemctl status --no-pager {chosen.unit}; journalctl --no-pager -u {chosen.unit} -n 2000"]),
            "one by one": lambda: quiet([*ssh, "exec sh -s"], same.encode()),
            "diagnose": lambda: quiet([*us, *config, chosen.host, "--unit", chosen.unit]),
            "start": lambda: quiet([*us, str(folder)]),
        }
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(chosen.rounds):
            for name, way in ways.items():
                taken[name].append(way())
    medians = {name: statistics.median(times) for name, times in taken.items()}
    for name, seconds in medians.items():
        print(f"{name:<12} {seconds:6.3f} s  ({min(taken[name]):.3f} … {max(taken[name]):.3f})")
    print(f"slowest question: {slowest}, {slowest_s:.2f} s on the host")
    ours = medians["diagnose"] - medians["start"] - (slowest_s if slowest_s > 0.5 else 0.0)
    print(f"beyond the start: {ours:.3f} s; {ours / medians['one by one']:.2f} × one by one, {ours / medians['typed']:.2f} × typed")


if __name__ == "__main__":
    main()

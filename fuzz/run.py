"""Fuzz all targets one after the other, each in a process of its own, and print what came out. Exit code 1 where there are findings.

python fuzz/run.py [--seconds 600] [--target NAME]... [--folder FOLDER]
python fuzz/run.py --again FILE --target NAME      one input, with its traceback
python fuzz/run.py --shrink FILE --target NAME     the smallest input that ends the same way, written beside it
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_RESTARTS = 5  # after an input that ends the process
sys.path.insert(0, str(ROOT))


@dataclass
class Outcome:
    """What came out for one target."""

    name: str
    executions: int = 0
    coverage: int = 0
    peak_mb: int = 0
    seconds: float = 0.0
    findings: list[str] = field(default_factory=list)
    skipped: str = ""


def main() -> int:
    """The command."""
    options = _options()
    if not (options.again or options.shrink):
        from fuzz import worker

        worker.prepare()  # before anything else is imported
    from fuzz.targets import TARGETS, by_name

    if options.again or options.shrink:
        from fuzz import shrink

        return shrink.again(by_name(options.target[0]), options.again) if options.again else shrink.shrink(by_name(options.target[0]), options.shrink)
    chosen = [by_name(name) for name in options.target] or list(TARGETS)
    folder = options.folder or Path(tempfile.mkdtemp(prefix="ddforensics-fuzz-"))
    there = [target for target in chosen if not target.missing()]
    outcomes = [Outcome(t.name, skipped=f"there is no {t.needs}") for t in chosen if t.missing()]
    end = time.monotonic() + options.seconds
    for number, target in enumerate(there):
        share = (end - time.monotonic()) * weight(target.name) / sum(weight(t.name) for t in there[number:])
        outcomes.append(fuzz(target.name, max(2, round(share)), folder / target.name, options.seed))
        print(line_of(outcomes[-1]), file=sys.stderr, flush=True)
    print(table(outcomes))
    print(f"findings and corpora are in {folder}")
    return 1 if any(outcome.findings for outcome in outcomes) else 0


def weight(name: str) -> int:
    """The whole of it gets more of the time than a parser of one answer."""
    return {"diagnosis": 6, "facts": 4, "frames": 4, "redact": 3, "bench": 2, "status": 2, "bundle": 2, "archive": 2}.get(name, 1)


def fuzz(name: str, seconds: int, folder: Path, seed: int) -> Outcome:
    """One target for so long; started again where an input ended the process."""
    outcome = Outcome(name)
    began = time.monotonic()
    for attempt in range(_RESTARTS):
        left = seconds - int(time.monotonic() - began)
        if left < 1:
            break
        folder.mkdir(parents=True, exist_ok=True)
        log = folder / f"log-{attempt}.txt"
        code = _forked(name, left, seed + attempt, folder, log)
        said = log.read_text(encoding="utf-8", errors="replace")
        numbers = re.findall(r"^#(\d+)\t.*?cov: (\d+)", said, re.MULTILINE)
        total = re.search(r"stat::number_of_executed_units:\s*(\d+)", said)
        outcome.executions += int(total[1]) if total else int(numbers[-1][0]) if numbers else 0
        outcome.coverage = max(outcome.coverage, int(numbers[-1][1]) if numbers else 0)
        peak = re.search(r"stat::peak_rss_mb:\s*(\d+)", said)
        outcome.peak_mb = max(outcome.peak_mb, int(peak[1]) if peak else 0)
        found = re.findall(r"^FINDING (.*)$", said, re.MULTILINE)
        outcome.findings += [one for one in found if one not in outcome.findings]
        if code == 0:
            break
        reason = re.search(r"^==\d+== ?ERROR: (.*)$|^(\w*Error: .*)$", said, re.MULTILINE)
        outcome.findings.append(f"ended with {code}: {(reason[1] or reason[2]) if reason else said[-200:]!r}")
    outcome.seconds = time.monotonic() - began
    return outcome


def _forked(name: str, seconds: int, seed: int, folder: Path, log: Path) -> int:
    """Fuzz in a process of its own; its exit code. What it says goes to ``log``."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        try:
            os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            from fuzz import worker

            worker.fuzz(name, seconds=seconds, seed=seed, place=folder)
        finally:
            os._exit(70)  # libFuzzer ends the process itself
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def line_of(outcome: Outcome) -> str:
    """One row of the table."""
    if outcome.skipped:
        return f"{outcome.name:15} skipped: {outcome.skipped}"
    return f"{outcome.name:15} {outcome.executions:>10} {outcome.coverage:>9} {outcome.peak_mb:>8} {outcome.seconds:>8.0f} {len(outcome.findings):>9}"


def table(outcomes: list[Outcome]) -> str:
    """What came out, all of it."""
    lines = [f"{'target':15} {'executions':>10} {'coverage':>9} {'peak MiB':>8} {'seconds':>8} {'findings':>9}", *map(line_of, outcomes)]
    run = [outcome for outcome in outcomes if not outcome.skipped]
    lines.append(f"{'all':15} {sum(o.executions for o in run):>10} {'':>9} {max((o.peak_mb for o in run), default=0):>8} {sum(o.seconds for o in run):>8.0f} {sum(len(o.findings) for o in run):>9}")  # fmt: skip
    return "\n".join([*lines, *(f"{o.name}: {finding}" for o in run for finding in o.findings)])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=600, help="for all targets together (600)")
    parser.add_argument("--target", action="append", default=[], help="only this one; may be given several times")
    parser.add_argument("--folder", type=Path, help="where findings and corpora are kept (a new folder of the system's)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", type=Path)
    parser.add_argument("--shrink", type=Path)
    options = parser.parse_args()
    if (options.again or options.shrink) and len(options.target) != 1:
        parser.error("which target? --target NAME")
    return options


if __name__ == "__main__":
    sys.exit(main())

"""Measure the scan of text that never repeats: by the library, by words, by all cores, and against reading the lines once. Never part of the tests: its figures are this machine's.

    python benchmarks/free_text.py [-n 600000] [--hot 0.02] [-r 3]

Of one process CPU seconds, of all cores seconds by the clock, and beside them the CPU seconds of all processes by their number (what idle cores would make of it, were all
of it shared out); interleaved, the best of the rounds. The reading is ``for line in stream`` and nothing else.

The limit (150 MB/s with two cores) is one of the machine that the project's figures were taken on. Two loops whose speed there is known run in the same rounds, on a
journal of the same generator; what they say of this machine is printed beside, as is what the scan would then have made there.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from gen_free_text import lines
from timing import made

from forensics import parse, reading, ruleset
from forensics.model import Capture, Coverage, Pick, Section, Target, TargetKind
from forensics.ruleset import Matcher, RuleSet, ScanResult, Search

LIMIT = 150.0  # MB/s with two cores, on the machine of reference
# MB/s of a process there (2 cores of an AMD EPYC, Debian 12, CPython 3.11.7), with its start, on a million entries of gen_journal's text
REFERENCE = {"stamps": 367.0, "fields": 749.0}
_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)([+-]\d{4}) (\S+) ([^\[: ]+)(?:\[(\d+)\])?: (.*)")
_ENTRIES = 200_000


def stamps(path: Path) -> int:
    """Match the stamp and the process of every line of a journal."""
    count = 0
    with path.open(encoding="utf-8", errors="replace", buffering=1 << 20) as stream:
        for line in stream:
            if _STAMP.match(line):
                count += 1
    return count


def fields(path: Path) -> int:
    """Split the first fields off every line of a journal."""
    count = 0
    with path.open(encoding="utf-8", errors="replace", buffering=1 << 20) as stream:
        for line in stream:
            if len(line.split(" ", 3)) == 4:
                count += 1
    return count


def read(path: Path) -> int:
    """Read the lines once."""
    count = 0
    with path.open("rb") as stream:
        for _ in stream:
            count += 1
    return count


def _capture(path: Path) -> Capture:
    section = Section(name="free", argv="free", path=path, coverage=Coverage.GIVEN)
    return Capture(target=Target(kind=TargetKind.FILES, name="free"), at=0, offset_s=None, sections=(section,), pick=Pick())


def scanned(path: Path, rules: RuleSet, matcher: Matcher) -> ScanResult:
    """Frame and scan the file in this process."""
    return ruleset.scan(parse.frames(_capture(path), rules.prefixes), matcher)


def by_all_cores(path: Path, rules: RuleSet, matcher: Matcher) -> ScanResult:
    """The same as a diagnosis does it, which is what the limit is about."""
    return reading.read(parse.prepared(_capture(path)), matcher, rules.prefixes)[0]


def main() -> None:
    """Print a line for each way, in MB/s and as a multiple of the time of the reading; then what the machine is worth, and the limit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-n", "--lines", type=int, default=600_000)
    parser.add_argument("--hot", type=float, default=0.02)
    parser.add_argument("-r", "--rounds", type=int, default=3)
    given = parser.parse_args()
    rules = ruleset.shipped_rules()
    with_library = importlib.util.find_spec("ahocorasick_rs") is not None
    with tempfile.TemporaryDirectory() as folder:
        path, journal = Path(folder) / "free.txt", made(Path(folder), _ENTRIES, "text")
        with path.open("wb") as stream:
            stream.writelines(lines(given.lines, hot=given.hot))
        ways: dict[str, Callable[[], object]] = {"read": lambda: read(path)}
        for search in (Search.AUTO, Search.WORDS) if with_library else (Search.WORDS,):
            matcher = Matcher(rules, search=search)
            ways["library" if search is Search.AUTO else "words"] = lambda matcher=matcher: scanned(path, rules, matcher)
        fastest = Matcher(rules)
        ways |= {"all cores": lambda: by_all_cores(path, rules, fastest), "stamps": lambda: stamps(journal), "fields": lambda: fields(journal)}
        best, idle = dict.fromkeys(ways, float("inf")), float("inf")
        for _ in range(given.rounds):
            for name, way in ways.items():
                clock = time.perf_counter if name == "all cores" else time.process_time
                begun, spent = clock(), _spent()
                way()
                best[name] = min(best[name], clock() - begun)
                if name == "all cores":
                    idle = min(idle, (_spent() - spent) / ruleset.usable())
        size = path.stat().st_size
        speed = {name: (journal if name in REFERENCE else path).stat().st_size / took / 1e6 for name, took in best.items()}
    for name, figure in speed.items():
        beside = (
            f"{REFERENCE[name] / figure:7.2f} times that on the machine of reference"
            if name in REFERENCE
            else f"{speed['read'] / figure:7.1f} x the reading"
        )
        print(f"{name:9} {figure:7.0f} MB/s {beside}")
    print(f"the limit is {LIMIT:.0f} MB/s there, with two cores; here are {ruleset.usable()}")
    for said, figure in (("by the clock", speed["all cores"]), ("by the processes' own seconds", size / idle / 1e6)):
        low, high = sorted(figure * REFERENCE[name] / speed[name] for name in REFERENCE)
        print(f"{said:30} {figure:4.0f} MB/s here, {low:.0f} … {high:.0f} MB/s there")


def _spent() -> float:
    """CPU seconds of this process and of those that it waited for."""
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""How fast a log is scanned, against tools that scan logs, in the same run; and what a whole diagnosis of a large journal costs.

    python benchmarks/scan.py [--entries 1000000] [--rounds 3] [--only text,searchkit,json,diagnose] [--peers PYTHON] [--folder DIR]

  text       all rules that are shipped, and the 40 expressions of rules40.txt, on a journal as text; ripgrep with the same 40 (rg -c -a -f rules40.txt)
  searchkit  the engine of hotsos, with the same expressions (all, and the 40), on the first lines of that journal; figures are for a million lines
  json       the same journal as journalctl -o json: against orjson and re line by line, with the same expressions one after the other (all: on its first lines,
             figures are for a million), and with the 40 as one alternation
  diagnose   ddforensics diagnose of the whole journal as text, and of one ten times as long

Rounds are interleaved; medians are printed, and ratios of medians. Our own scan and those of the libraries are measured without the start of the interpreter, the
loading of rules and the compiling of the peers' expressions; ripgrep and the diagnosis as whole processes. Ours uses as many processes as there are cores, and once
more only one. The journals are made once (gen_journal.py) and kept in the folder.

Peers are optional, and their row says so where they are not there: ripgrep from the distribution, the others by

    python -m venv /tmp/peers && /tmp/peers/bin/pip install orjson==3.13.0 searchkit==0.4.3.post9        then --peers /tmp/peers/bin/python
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from timing import Cost, made, median, run

HERE = Path(__file__).resolve().parent
FORTY = HERE / "rules40.txt"
PARTS = ("text", "searchkit", "json", "diagnose")
_SLICE, _SLICE_OF_ALL = 20_000, 2_000  # lines for what is too slow to be given all of them

# --------------------------------------------------------------------------- what is measured, each in a process of its own


def ours(file: str, rules: str, processes: str = "") -> Callable[[], int]:
    """Our scan as the program does it. Gives the number of hits."""
    sys.path.insert(0, str(HERE.parent))
    from forensics import reading, ruleset
    from forensics.model import Capture, Section, Target, TargetKind

    loaded = shipped = ruleset.shipped_rules()
    if rules != "all":
        pattern = next(rule for rule in shipped.rules if rule.line)
        lines = Path(rules).read_text(encoding="utf-8").splitlines()
        loaded = replace(shipped, rules=tuple(replace(pattern, id=f"r{n}", line=line) for n, line in enumerate(lines)), profiles=())
    capture = Capture(target=Target(kind=TargetKind.FILES, name="x"), sections=(Section(name="x", path=Path(file)),))
    matcher = ruleset.Matcher(loaded)
    return lambda: sum(reading.read(capture, matcher, shipped.prefixes, processes=int(processes) if processes else None)[0].counts.values())


def searchkit(file: str, rules: str) -> Callable[[], int]:
    """searchkit, one search definition an expression. Gives the number of results."""
    import searchkit as kit

    searcher = kit.FileSearcher(max_parallel_tasks=1)
    for number, line in enumerate(Path(rules).read_text(encoding="utf-8").splitlines()):
        flags, line = ("(?i)", line[4:]) if line.startswith("(?i)") else ("", line)
        searcher.add(kit.SearchDef(f"{flags}.*({line})", tag=str(number)), file)
    return lambda: len(searcher.run())


def orjson_re(file: str, rules: str, how: str = "") -> Callable[[], int]:
    """Each line decoded with orjson, its message searched for one expression after the other, or for all as one alternation. Gives the number of matches."""
    import orjson

    lines = Path(rules).read_text(encoding="utf-8").splitlines()
    searches = [re.compile(line).search for line in (["|".join(f"(?:{line})" for line in lines)] if how else lines)]

    def scan() -> int:
        found = 0
        with Path(file).open("rb", buffering=1 << 20) as stream:
            for line in stream:
                message = orjson.loads(line)["MESSAGE"]
                text = message if type(message) is str else bytes(message).decode("utf-8", "replace") if message else ""
                for search in searches:
                    if search(text):
                        found += 1
        return found

    return scan


METHODS: dict[str, Callable[..., Callable[[], int]]] = {"ours": ours, "searchkit": searchkit, "orjson": orjson_re}


def measured(method: str, words: list[str]) -> None:
    """Print what one method costs, its children included."""
    scan = METHODS[method](*words)
    began, before = time.perf_counter(), _cpu_s()
    found = scan()
    print(json.dumps({"wall_s": time.perf_counter() - began, "cpu_s": _cpu_s() - before, "found": found}))


def _cpu_s() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


# --------------------------------------------------------------------------- rows


class Row:
    """One line of a table: a command that is run once a round, and what it is scaled by."""

    def __init__(self, name: str, argv: list[str], *, scale: float = 1.0, own: bool = False, missing: str = "", size: int = 0) -> None:
        self.name = name
        self.argv = argv
        self.scale = scale
        self.own = own  # the command tells its own seconds
        self.missing = missing
        self.size = size  # bytes that are read, where that is worth telling
        self.costs: list[Cost] = []
        self.found = ""

    def go(self) -> None:
        """One run."""
        if self.missing:
            return
        cost = run(self.argv)
        if self.own:
            try:
                told = json.loads(cost.out)
            except ValueError:
                self.missing = "failed"
                return
            cost = cost._replace(wall_s=told["wall_s"], cpu_s=told["cpu_s"])
            self.found = f"{told['found']} found"
        self.costs.append(cost._replace(wall_s=cost.wall_s * self.scale, cpu_s=cost.cpu_s * self.scale))

    def __str__(self) -> str:
        if self.missing or not self.costs:
            return f"  {self.name:<58} {self.missing or 'no run'}"
        cost = median(self.costs)
        speed = f"{self.size / (cost.wall_s / self.scale) / 1e9:5.2f} GB/s   " if self.size else ""
        return (
            f"  {self.name:<58} {cost.wall_s:8.2f} s {cost.cpu_s:8.2f} s cpu {cost.peak:6.0f} MiB {cost.together:6.0f} together   {speed}{self.found}"
        )


def method(name: str, python: str, *words: str, scale: float = 1.0, missing: str = "") -> Row:
    """A row of one of the methods above; the second word is the file."""
    size = Path(words[1]).stat().st_size if not missing else 0
    return Row(name, [python, str(HERE / "scan.py"), "--run", *words], scale=scale, own=True, missing=missing, size=size)


def head_of(file: Path, lines: int, to: Path) -> str:
    """The first lines of a file, as a file."""
    with file.open("rb") as source, to.open("wb") as target:
        target.writelines(islice(source, lines))
    return str(to)


def lacking(python: str, name: str) -> str:
    """Why a peer has no row of its own; empty where it has one."""
    done = subprocess.run([python, "-c", f"import {name}"], capture_output=True, check=False)
    return f"{name} is not installed for {python}" if done.returncode else ""


def all_expressions(to: Path) -> int:
    """Write down every expression that is shipped: of rules, marks and figures."""
    sys.path.insert(0, str(HERE.parent))
    from forensics import ruleset

    lines = [item.line for item in ruleset.Matcher(ruleset.load()).items]
    to.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return len(lines)


def tables(only: set[str], entries: int, folder: Path, peers: str, scratch: Path) -> Iterator[tuple[str, list[Row]]]:
    """The tables, each with its title."""
    here, forty = sys.executable, str(FORTY)
    shipped = scratch / "all.txt"
    count = all_expressions(shipped)
    million = 1e6
    if only & {"text", "searchkit"}:
        text = made(folder, entries, "text")
    if "text" in only:
        rg = shutil.which("rg")
        rows = [
            Row("rg, the 40", [rg or "", "-c", "-a", "-f", forty, str(text)], missing="" if rg else "rg is not installed"),
            method(f"ours, all {count}", here, "ours", str(text), "all"),
            method(f"ours, all {count}, one process", here, "ours", str(text), "all", "1"),
            method("ours, the 40", here, "ours", str(text), forty),
        ]
        yield f"text: {entries} entries, {text.stat().st_size / 1e6:.0f} MB", rows
    if "searchkit" in only:
        none = lacking(peers, "searchkit")
        some, few = (head_of(text, lines, scratch / f"{lines}.text") for lines in (_SLICE, _SLICE_OF_ALL))
        rows = [
            method(
                f"searchkit, all {count}, on {_SLICE_OF_ALL} lines",
                peers,
                "searchkit",
                few,
                str(shipped),
                scale=million / _SLICE_OF_ALL,
                missing=none,
            ),
            method(f"searchkit, the 40, on {_SLICE} lines", peers, "searchkit", some, forty, scale=million / _SLICE, missing=none),
            method(f"ours, all {count}, one process, on all", here, "ours", str(text), "all", "1", scale=million / entries),
            method("ours, the 40, one process, on all", here, "ours", str(text), forty, "1", scale=million / entries),
        ]
        yield "searchkit: seconds for a million lines of text", rows
    if "json" in only:
        file = made(folder, entries, "json")
        none = lacking(peers, "orjson")
        some, few = (head_of(file, lines, scratch / f"{lines}.json") for lines in (10 * _SLICE, 10 * _SLICE_OF_ALL))
        rows = [
            method(
                f"orjson + re, all {count}, on {10 * _SLICE_OF_ALL} lines",
                peers,
                "orjson",
                few,
                str(shipped),
                scale=million / (10 * _SLICE_OF_ALL),
                missing=none,
            ),
            method(f"orjson + re, the 40, on {10 * _SLICE} lines", peers, "orjson", some, forty, scale=million / (10 * _SLICE), missing=none),
            method(
                f"orjson + re, the 40 as one, on {10 * _SLICE} lines",
                peers,
                "orjson",
                some,
                forty,
                "one",
                scale=million / (10 * _SLICE),
                missing=none,
            ),
            method(f"ours, all {count}, on all", here, "ours", str(file), "all", scale=million / entries),
            method(f"ours, all {count}, one process, on all", here, "ours", str(file), "all", "1", scale=million / entries),
            method("ours, the 40, on all", here, "ours", str(file), forty, scale=million / entries),
        ]
        yield f"json: seconds for a million entries; {entries} are {file.stat().st_size / 1e6:.0f} MB", rows
    if "diagnose" in only:
        program = [here, "-m", "forensics", "diagnose", "--format", "json"]
        rows = [Row(f"diagnose, {n} entries", [*program, str(made(folder, n, "text"))]) for n in (entries, 10 * entries)]
        yield "diagnose: whole, as text", rows


def ratios(rows: list[Row]) -> Iterator[str]:
    """Each of ours against each peer, and ten times as much against once."""
    run_ = [(row, median(row.costs)) for row in rows if row.costs]
    peers = [(row, cost) for row, cost in run_ if not row.name.startswith(("ours", "diagnose"))]
    for row, cost in run_:
        if row.name.startswith("ours"):
            yield from (
                f"  {row.name} / {peer.name}: wall {cost.wall_s / theirs.wall_s:.3f}, cpu {cost.cpu_s / theirs.cpu_s:.3f}" for peer, theirs in peers
            )
    if len(run_) == 2 and run_[0][0].name.startswith("diagnose"):
        once, ten = run_[0][1], run_[1][1]
        yield f"  ten times as long: {ten.wall_s / once.wall_s:.1f} times the wall time, {ten.cpu_s / once.cpu_s:.1f} times the processor's, {ten.peak / once.peak:.2f} times the memory"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--peers", default=sys.executable, help="the Python that has the peers")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir(), "ddforensics-bench"))
    parser.add_argument("--run", nargs="+", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.run:
        measured(chosen.run[0], chosen.run[1:])
        return
    with tempfile.TemporaryDirectory() as scratch:
        found = list(tables(set(chosen.only.split(",")), chosen.entries, chosen.folder, chosen.peers, Path(scratch)))
        for _ in range(chosen.rounds):
            for _, rows in found:
                for row in rows:
                    row.go()
        for title, rows in found:
            print(f"\n{title}; medians of {chosen.rounds} rounds (wall, processor, largest process, all processes)")
            print(*rows, *ratios(rows), sep="\n")


if __name__ == "__main__":
    main()

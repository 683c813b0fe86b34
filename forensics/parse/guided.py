"""Read what GuideLLM prints on the console and saves as CSV: one run a benchmark. Its JSON is read with the other nested results; figures are called as there.

A figure that is printed with one digit (``0.1`` s) is none: it may be half as much again. The console's requests per second count those that failed as well.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence

from forensics import lazily
from forensics.clock import DAY_S, parse_stamp
from forensics.model import BenchRow
from forensics.parse import peer
from forensics.parse.matrix import count, number_of
from forensics.parse.measured import Measured

_CSV_HEAD = "Run Info,Run Info,"
_LOGGED = lazily.pattern(r"^(?P<day>\d\d-\d\d-\d\d) \d\d:\d\d:\d\d\|[A-Z]{4,8} *\|guidellm\.")
_BAR = lazily.pattern(r"^\|=[=|]{8,}\|$")
_LINE = lazily.pattern(r"^\|-[-|]{8,}\|$")
_TARGET = lazily.pattern(r"'target': '(?P<url>https?://[^']{1,200})'")
_NUMBER = lazily.pattern(r"^(?P<v>\d[\d,]*(?:\.\d+)?)(?: ± [\d.,]+)?\*?$")
_LATENCIES = {
    ("Request Latency", "Sec"): ("e2e_latency_ms", 1000.0), ("TTFT", "ms"): ("ttft_ms", 1.0), ("TPOT", "ms"): ("tpot_ms", 1.0), ("ITL", "ms"): ("itl_ms", 1.0),
    ("Request Latency", "Successful Sec"): ("e2e_latency_ms", 1000.0), ("Time to First Token", "Successful ms"): ("ttft_ms", 1.0),
    ("Time per Output Token", "Successful ms"): ("tpot_ms", 1.0), ("Inter Token Latency", "Successful ms"): ("itl_ms", 1.0),
}  # fmt: skip
_STATS = {"Mean": "mean", "Mdn": "median", "Median": "median", "p95": "p95"}
_PERCENTILES = {"p90": 7, "p95": 8, "p99": 9}  # places in what the CSV lists
_RATES = {
    ("Requests", "Per Sec", "Mean"): "requests_per_sec", ("Output Tokens", "Per Sec", "Mean"): "output_throughput", ("Timings", "Dur", "Sec"): "duration_s",
    ("Server Throughput", "Successful Requests/Sec", "Mean"): "request_throughput", ("Token Throughput", "Successful Output Tokens/Sec", "Mean"): "output_throughput",
    ("Token Throughput", "Successful Total Tokens/Sec", "Mean"): "total_token_throughput", ("Timings", "Duration", "Sec"): "duration_s",
    ("Requests", "Inc", "Tot"): "incomplete", ("Request Counts", "Incomplete", ""): "incomplete",
}  # fmt: skip
_COUNTS = {
    ("Requests", "Comp", "Tot"): "ok", ("Requests", "Err", "Tot"): "failed", ("Request Counts", "Successful", ""): "ok", ("Request Counts", "Errored", ""): "failed",
}  # fmt: skip
_KINDS = {"concurrent": "max_concurrency", "constant": "request_rate", "poisson": "request_rate"}
_EXACT = frozenset({"duration_s", "incomplete"})  # one digit says it all
Column = tuple[str, str, str]


def begins(line: str) -> bool:
    """Whether GuideLLM wrote this line, and only it writes it."""
    return bool(line.startswith((_CSV_HEAD, "ℹ Run Summary Info")) or _LOGGED.match(line))


def printed(lines: Sequence[str], first_line: int = 1) -> tuple[Measured, ...]:
    """The runs in what is printed, or saved as CSV; none where it came to no table."""
    if lines and lines[0].startswith(_CSV_HEAD):
        return tuple(_run(dict(cells), first_line, "") for cells in _csv_rows(lines))
    runs: dict[str, Measured] = {}
    if not any(begins(line) for line in lines):
        return ()
    for number, cells, line in _table_rows(lines, first_line):
        strategy = cells.get(("Benchmark", "Strategy", ""), "")
        _take(runs.setdefault(strategy, _of(strategy)), cells, number, line)
    days = [found["day"] for line in lines if (found := _LOGGED.match(line))]
    target = next((found["url"] for line in lines[:200] if (found := _TARGET.search(line))), "")
    for run in runs.values():
        _finish(run, target, f"20{days[-1]} " if days else "")
    return tuple(runs.values())


def _run(cells: dict[Column, str], number: int, line: str) -> Measured:
    strategy = cells.get(("Benchmark", "Strategy", ""), "")
    run = _of(strategy)
    _take(run, cells, number, line)
    try:
        backend = json.loads(cells.get(("Run Info", "Backend", ""), "{}"))
    except ValueError:
        backend = {}
    _finish(run, str(backend.get("target") or "") if isinstance(backend, dict) else "", "")
    return run


def _of(strategy: str) -> Measured:
    run = Measured("guidellm")
    kind, _, many = strategy.partition("@")
    if kind:
        run.configuration = {"strategy": kind[:80], **({_KINDS[kind]: many[:80]} if many and kind in _KINDS else {})}
    return run


def _take(run: Measured, cells: Mapping[Column, str], number: int, line: str) -> None:
    """Take the figures of one row, by what stands over them."""
    for (group, sub, stat), cell in cells.items():
        text = line or f"{group} {sub} {stat}: {cell}"
        if (latency := _LATENCIES.get((group, sub))) is not None:
            name, unit = latency
            told = _listed(cell) if stat == "Percentiles" else {_STATS[stat]: cell} if stat in _STATS else {}
            for word, figure in told.items():
                if (value := _figure(figure)) is not None:
                    run.figure(f"{word}_{name}", value * unit, number, text)
        elif (rate := _RATES.get((group, sub, stat))) is not None and (value := _figure(cell, exact=rate in _EXACT)) is not None:
            run.figure(rate, value, number, text)
        elif (counted := _COUNTS.get((group, sub, stat))) is not None:
            many = count({"n": cell}, ("n",))
            setattr(run, counted, many)
            run.rows.append(BenchRow(line_no=number, text=text[:400], metric="completed" if counted == "ok" else "failed"))
        elif group == "Timings" and sub in ("Start", "End", "Start Time", "End Time") and re.fullmatch(r"[\d: -]{8,19}", cell):
            run.configuration[sub.partition(" ")[0]] = cell


def _finish(run: Measured, target: str, day: str) -> None:
    """Counts and times that follow from what was read. A run that ends before it starts went on over midnight."""
    start, end = (run.configuration.pop(side, "") for side in ("Start", "End"))
    run.first_at, run.last_at = (parse_stamp(day + at) if len(day + at) > 8 else None for at in (start, end))
    if run.first_at is not None and run.last_at is not None and run.first_at > run.last_at:
        run.first_at -= DAY_S
    if run.ok is not None and run.failed is not None:
        run.asked = run.ok + run.failed
    if (rate := run.metrics.get("requests_per_sec")) is not None and run.failed == 0:
        run.metrics["request_throughput"] = rate
    if run.ok == 0:
        run.without_figures()
    found = peer.asked_of(target)
    run.asked_of.take(found.host, found.port, found.path)


def _figure(cell: str, *, exact: bool = False) -> float | None:
    found = _NUMBER.match(cell) if len(cell) < 60 else None
    if found is None:
        return None
    return number_of(found["v"]) if exact or len(found["v"].replace(".", "").lstrip("0,")) > 1 else None


def _listed(cell: str) -> dict[str, str]:
    values = cell[:2000].strip("[]").split(", ")
    return {name: values[at] for name, at in _PERCENTILES.items()} if len(values) == 11 else {}


def _csv_rows(lines: Sequence[str]) -> Iterator[Iterator[tuple[Column, str]]]:
    """Each benchmark's cells; three lines of names stand over them."""
    rows = csv.reader(line for line in lines if line.strip())
    try:
        heads = [next(rows) for _ in range(3)]
        for cells in rows:
            if len(cells) == len(heads[0]) == len(heads[1]) == len(heads[2]):
                yield zip(zip(*heads, strict=True), cells, strict=True)
    except (StopIteration, csv.Error):
        return


def _table_rows(lines: Sequence[str], first_line: int) -> Iterator[tuple[int, dict[Column, str], str]]:
    """Rows of its tables: cells by what stands over them in three lines, where an empty cell belongs to the one before it."""
    heads: list[list[str]] = []
    body = False
    for number, raw in enumerate(lines, first_line):
        line = raw.rstrip()
        if not line.startswith("|") or _BAR.match(line):
            heads, body = [], False
        elif _LINE.match(line):
            body = len(heads) == 3
        elif not body:
            heads.append(_spread(line))
        elif len(cells := line[1:-1].split("|")) == len(heads[0]) == len(heads[1]) == len(heads[2]):
            names = [(group, sub, stat) for group, sub, stat in zip(*heads, strict=True)]
            yield number, dict(zip(names, (cell.strip() for cell in cells), strict=True)), line


def _spread(line: str) -> list[str]:
    names: list[str] = []
    for cell in line[1:].removesuffix("|").split("|"):
        names.append(cell.strip() if cell or not names else names[-1])
    return names

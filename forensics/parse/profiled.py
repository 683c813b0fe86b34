"""Read what AIPerf and GenAI-Perf save and print: a summary as JSON, as CSV or as a drawn table, and a record a request. Never judges a figure.

The same names mean the same in all four, and become those of the flat results (``mean_ttft_ms``, ``output_throughput``). Their inter-token latency is the mean of one
request, which others call time per output token. Latencies are of answered requests only; a run in which none was answered has no figures.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forensics import lazily
from forensics.clock import parse_stamp
from forensics.model import BenchRow, BenchRun
from forensics.parse import client, peer, wording
from forensics.parse.matrix import count, number_of, snake
from forensics.parse.measured import Measured, inside, listed

_LATENCIES = {"time_to_first_token": "ttft_ms", "request_latency": "e2e_latency_ms", "inter_token_latency": "itl_ms"}
_RATES = {
    "request_throughput": "request_throughput",
    "output_token_throughput": "output_throughput",
    "total_token_throughput": "total_token_throughput",
}
_STATS = {"avg": "mean", "p50": "median", "p90": "p90", "p95": "p95", "p99": "p99"}
_SINGLE = {"time_to_first_token": "ttfts", "request_latency": "latencies", "inter_token_latency": "tpots"}
_MS = {"ns": 1e-6, "us": 0.001, "ms": 1.0, "s": 1000.0, "sec": 1000.0}
_COUNTS = {"request_count": "ok", "error_request_count": "failed", "completed_requests_success_error": "asked", "completed_request_count": "asked"}
_MOST_ERRORS = 2000
_MOST_RECORDS = 200_000
# Time to First Token (ms)
_LABEL = lazily.pattern(r"^(?P<name>.*\S) \((?P<unit>[\w/% -]{1,30})\)$")
_TITLE = lazily.pattern(r"^\s*NVIDIA (?P<tool>AIPerf|GenAI-Perf) \| ")
_DONE = lazily.pattern(r"\bPhase \S+ \(\w+\) complete \| completed=(?P<completed>\d{1,12}), cancelled=\d{1,12}, errors=(?P<errors>\d{1,12})\b")
_DURATION = lazily.pattern(r"^Benchmark Duration: (?P<v>[\d.,]{1,15}) sec$")
_URL = lazily.pattern(r"(?:^|[\s'])(?:--url|-u)\s+'?(?P<url>(?:https?://)?[\w.-]{1,200}(?::\d{1,5})?(?:/[\w./-]{0,200})?)")
_CSV_HEAD = "Metric,avg,min,max,"
_TOOLS = {"AIPerf": "aiperf", "GenAI-Perf": "genai_perf"}
# what a run of AIPerf says that never came to its tables
_OWN = lazily.pattern(r"^\d\d:\d\d:\d\d\.\d{3} INFO +Starting AIPerf System\b|AIPerf System Exit Errors")


# --------------------------------------------------------------------------- a summary


def summary(value: Mapping[str, Any], *, source: str = "", line_no: int = 1) -> BenchRun | None:
    """The run in a summary saved as JSON; None where it is of another kind."""
    told = {name: item for name, item in value.items() if isinstance(item, dict) and "unit" in item}
    if not ({"request_throughput", "request_latency", "request_count", "error_request_count"} & told.keys() and "input_config" in value):
        return None
    run = Measured("aiperf" if "aiperf_version" in value or "benchmark_id" in value else "genai_perf")
    for name, item in told.items():
        _metric(run, name, str(item["unit"]), item, line_no, "")
    _asked_for(run, value)
    for entry in listed(value.get("error_summary"))[:_MOST_ERRORS]:
        details = entry.get("error_details") if isinstance(entry, dict) else None
        if isinstance(details, dict):
            run.lost(_kind(details), count(entry, ("count",)) or 0, line_no, str(details.get("message") or details.get("type") or ""))
            _peer(run, str(details.get("message") or ""))
    run.first_at, run.last_at = (parse_stamp(at) if isinstance(at := value.get(name), str) else None for name in ("start_time", "end_time"))
    return _closed(run).run(source)


def _metric(run: Measured, name: str, unit: str, stats: Mapping[str, Any], line_no: int, line: str) -> None:
    """Take one line of a summary: what it is of, in which unit, and its figures by name."""
    single = number_of(stats.get("avg"))
    if name in _LATENCIES and unit in _MS:
        for stat, word in _STATS.items():
            if (number := number_of(stats.get(stat))) is not None:
                run.figure(f"{word}_{_LATENCIES[name]}", number * _MS[unit], line_no, line or f"{name} {stat} {number:g} {unit}")
    elif name in _RATES and single is not None:
        run.figure(_RATES[name], single, line_no, line or f"{name} {single:g} {unit}")
    elif name == "benchmark_duration" and single is not None:
        run.figure("duration_s", single, line_no, line or f"{name} {single:g} {unit}")
    elif name in _COUNTS and (many := count(stats, ("avg",))) is not None:
        setattr(run, _COUNTS[name], many)
        run.rows.append(BenchRow(line_no=line_no, text=line or f"{name} {many}", metric="failed" if _COUNTS[name] == "failed" else "completed"))


def _closed(run: Measured) -> Measured:
    """Fill in the counts that follow from the others; leave out the figures of a run in which nothing was answered."""
    if run.ok is not None and run.failed is None:
        run.failed = max(0, run.asked - run.ok) if run.asked is not None else sum(run.errors.values())
    if run.failed is not None and run.ok is None:
        run.ok = max(0, run.asked - run.failed) if run.asked is not None else 0
    if run.ok is not None and run.failed is not None:
        run.asked = run.ok + run.failed
    if run.ok == 0:
        run.without_figures()
    return run


def _asked_for(run: Measured, value: Mapping[str, Any]) -> None:
    given = value["input_config"] if isinstance(value["input_config"], dict) else {}
    measured = next((p for p in listed(given.get("phases")) if isinstance(p, dict) and p.get("kind") != "warmup"), {})
    older = inside(given, "perf_analyzer", "stimulus")
    names = [item["name"] for item in listed(inside(given, "models").get("items")) if isinstance(item, dict) and "name" in item] or listed(
        given.get("model_names")
    )
    told = {
        "model_id": names[0] if names else None,
        "max_concurrency": measured.get("concurrency") or older.get("concurrency"),
        "request_rate": measured.get("rate") or older.get("request_rate"),
        "num_requests": measured.get("requests"),
    }
    run.configuration = {name: str(v)[:80] for name, v in told.items() if isinstance(v, (str, int, float)) and not isinstance(v, bool)}
    endpoint = inside(given, "endpoint")
    for url in [*listed(endpoint.get("urls")), endpoint.get("url")]:
        if isinstance(url, str):
            _peer(run, url if "//" in url else f"http://{url}")


# --------------------------------------------------------------------------- a record a request


def is_record(value: Mapping[str, Any]) -> bool:
    """Whether an object is what is saved of one request."""
    return "request_start_ns" in inside(value, "metadata") and ("metrics" in value or "error" in value)


class Records:
    """The fold over the records of one file."""

    def __init__(self) -> None:
        self.run = Measured("aiperf", ok=0, failed=0)
        self.single: dict[str, list[float]] = {name: [] for name in _SINGLE}

    def take(self, value: Mapping[str, Any], line_no: int, raw: str) -> None:
        """Count one request, unless it warmed up only."""
        about, error = inside(value, "metadata"), value.get("error")
        if about.get("benchmark_phase") == "warmup":
            return
        start, end = (_time(about.get(f"request_{side}_ns")) for side in ("start", "end"))
        self.run.first_at = min((at for at in (self.run.first_at, start) if at is not None), default=None)
        self.run.last_at = max((at for at in (self.run.last_at, end, start) if at is not None), default=None)
        if isinstance(error, dict):
            self.run.failed = (self.run.failed or 0) + 1
            self.run.lost(_kind(error), 1, line_no, str(error.get("message") or error.get("type") or raw), at=end or start)
            _peer(self.run, str(error.get("message") or ""))
            return
        self.run.ok = (self.run.ok or 0) + 1
        self.run.rows.append(BenchRow(line_no=line_no, text=raw[:200], kind="ok", at=end or start))
        for name, single in self.single.items():
            item = inside(value, "metrics", name)
            unit = _MS.get(str(item.get("unit")))
            if (number := number_of(item.get("value"))) is not None and unit is not None and len(single) < _MOST_RECORDS:
                single.append(number * unit)

    def closed(self, source: str) -> BenchRun:
        """The run; its figures are those that the summary would have."""
        run = self.run
        for name, single in self.single.items():
            if single:
                run.samples[_SINGLE[name]] = tuple(number / 1000 for number in single)
                single.sort()
                told = {
                    "mean": sum(single) / len(single),
                    "median": _at_share(single, 0.5),
                    **{f"p{p}": _at_share(single, p / 100) for p in (90, 95, 99)},
                }
                run.metrics.update({f"{word}_{_LATENCIES[name]}": number for word, number in told.items()})
        run.rows = list(client.bounded(tuple(run.rows)))
        return _closed(run).run(source)


def _time(value: object) -> float | None:
    ns = number_of(value)
    return ns / 1e9 if ns is not None and 0 < ns < 4e18 else None


def _at_share(ordered: Sequence[float], share: float) -> float:
    """A percentile as the tools reckon it: between two values in proportion."""
    at = (len(ordered) - 1) * share
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


# --------------------------------------------------------------------------- text


def begins(line: str) -> bool:
    """Whether one of them wrote this line, and only they write it."""
    return bool(line.startswith(_CSV_HEAD) or _TITLE.match(line) or _OWN.search(line))


def printed(lines: Sequence[str], first_line: int = 1) -> Measured | None:
    """The run in what is printed, or saved as CSV; None where neither wrote it."""
    head = next((line for line in lines if begins(line)), None)
    if head is None:
        return None
    title = next((found for line in lines if (found := _TITLE.match(line))), None)
    tool = _TOOLS[title["tool"]] if title else "genai_perf" if head.startswith(_CSV_HEAD) and ",sum," not in head else "aiperf"
    run = Measured(tool, names_others=True)  # of what measures the GPUs, of the server's own figures
    for number, told, line in _csv_rows(lines, first_line) if head.startswith(_CSV_HEAD) else _drawn_rows(lines, first_line):
        if "Message" in told and "Count" in told:
            kind = _kind({"code": told.get("Code"), "message": f"{told.get('Type', '')}: {told['Message']}"})
            run.lost(kind, count(told, ("Count",)) or 0, number, told["Message"])
            continue
        found = _LABEL.match(label := told.get("Metric") or told.get("Statistic") or "")
        name, unit = (snake(found["name"]), found["unit"]) if found else (snake(label), "")
        _metric(run, name, unit, told if "avg" in told else {"avg": told.get("Value")}, number, line)
    _said(run, lines, first_line)
    return _closed(run)


def _said(run: Measured, lines: Sequence[str], first_line: int) -> None:
    """What it logs of the whole: how many requests went, which it says even where it comes to no table; and how long it took."""
    for number, line in enumerate(lines, first_line):
        if done := _DONE.search(line):
            run.asked, run.failed = int(done["completed"]), int(done["errors"])
            run.rows.append(BenchRow(line_no=number, text=line[:400], metric="completed"))
        elif (took := _DURATION.match(line)) and (seconds := number_of(took["v"])) is not None:
            run.figure("duration_s", seconds, number, line)
    if asked := _URL.search("\n".join(lines)[: 1 << 20]):
        _peer(run, asked["url"] if "//" in asked["url"] else f"http://{asked['url']}")


def _csv_rows(lines: Sequence[str], first_line: int) -> Iterator[tuple[int, dict[str, str], str]]:
    names: list[str] = []
    for number, line in enumerate(lines, first_line):
        try:
            cells = next(csv.reader([line.rstrip("\r")[: wording.MAX_LINE]]), [])
        except csv.Error:  # a carriage return within the line
            cells = []
        if not cells or cells[0] == "Metric":
            names = cells
        elif names and len(cells) == len(names):
            yield number, dict(zip(names, cells, strict=True)), line


def _drawn_rows(lines: Sequence[str], first_line: int) -> Iterator[tuple[int, dict[str, str], str]]:
    """Rows of tables drawn with lines; what a narrow column broke off goes on in rows whose other cells are empty, and is joined."""
    names: list[str] = []
    held: tuple[int, list[str], str] | None = None
    told_by: list[str] = []
    for number, raw in enumerate(lines, first_line):
        line = raw.strip()[: wording.MAX_LINE]
        if line[:1] == "│" and names and len(cells := [cell.strip() for cell in line.strip("│").split("│")]) == len(names):
            if held and not cells[-1] and sum(map(len, held[1])) < wording.MAX_LINE:
                held = (held[0], [" ".join(filter(None, pair)) for pair in zip(held[1], cells, strict=True)], held[2])
                continue
            following: tuple[int, list[str], str] | None = (number, cells, raw)
        else:
            names = [cell.strip() for cell in line.strip("┃").split("┃")] if line[:1] == "┃" else names if line[:1] in ("┡", "│") else []
            following = None
        if held:
            yield held[0], dict(zip(told_by, held[1], strict=True)), held[2]
        held, told_by = following, names
    if held:
        yield held[0], dict(zip(told_by, held[1], strict=True)), held[2]


# --------------------------------------------------------------------------- what both tell


def _kind(details: Mapping[str, Any]) -> str:
    code = count(details, ("code",))
    if code is not None and 400 <= code <= 599:
        return f"http-{code}"
    return (
        wording.classify(f"{details.get('message') or ''} {details.get('cause') or ''}")
        or wording.classify(str(details.get("type") or ""))
        or "other"
    )


def _peer(run: Measured, text: str) -> None:
    if run.asked_of.host is None and text:
        found = peer.asked_of(text[: wording.MAX_LINE])
        run.asked_of.take(found.host, found.port, found.path)

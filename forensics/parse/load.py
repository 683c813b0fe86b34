"""Read what load generators print (wrk, ab, hey): their counts, rates and latencies, and what their counts hide. Never looks at single requests.

What they call complete was answered, not granted: a 503 counts as a request, and as a fast one. ``ok`` here is what is left without those. Figures of a run
in which nothing was answered well are left out: they would be noughts, or the speed at which requests are turned away.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from forensics import lazily
from forensics.model import BenchRow
from forensics.parse import wording
from forensics.parse.matrix import number_of
from forensics.parse.measured import Measured
from forensics.parse.peer import Peer

# the line that a run begins with
BEGINS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("wrk", lazily.pattern(r"^Running [\d.]{1,9}\w{1,2} test @ \S")),
    ("ab", lazily.pattern(r"^This is ApacheBench, Version ")),
    ("hey", lazily.pattern(r"^Summary:\s*$")),
)
_BEGINNINGS = ("Running ", "This is ApacheBench", "Summary:")
_ENOUGH = 2  # counted figures without which it is another program's text
_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "secs": 1000.0, "seconds": 1000.0, "m": 60_000.0}
_T = r"(?P<v>\d[\d.]{0,14})(?P<u>us|ms|secs|seconds|s|m)\b"
# name in the metrics, and the line; a unit of time makes it milliseconds. {p}: the percentile the line names
_FIGURES: Mapping[str, tuple[tuple[str, re.Pattern[str]], ...]] = {
    "wrk": (
        ("mean_latency_ms", lazily.pattern(rf"^ {{4}}Latency +{_T}")),
        ("p{p}_latency_ms", lazily.pattern(rf"^ +(?P<p>\d\d(?:\.\d+)?)% +{_T}$")),
        ("answered", lazily.pattern(r"^ +(?P<v>\d+) requests in ")),
        ("duration_s", lazily.pattern(r"^ +\d+ requests in (?P<v>[\d.]+)s,")),
        ("turned_away", lazily.pattern(r"^ +Non-2xx or 3xx responses: (?P<v>\d+)$")),
        ("requests_per_sec", lazily.pattern(r"^Requests/sec: +(?P<v>[\d.]+)$")),
    ),
    "ab": (
        ("answered", lazily.pattern(r"^Complete requests: +(?P<v>\d+)$")),
        ("duration_s", lazily.pattern(r"^Time taken for tests: +(?P<v>[\d.]+) seconds$")),
        ("concurrency", lazily.pattern(r"^Concurrency Level: +(?P<v>\d+)$")),
        ("turned_away", lazily.pattern(r"^Non-2xx responses: +(?P<v>\d+)$")),
        ("requests_per_sec", lazily.pattern(r"^Requests per second: +(?P<v>[\d.]+) ")),
        ("mean_latency_ms", lazily.pattern(r"^Time per request: +(?P<v>[\d.]+) \[ms\] \(mean\)$")),
        ("p{p}_latency_ms", lazily.pattern(r"^ +(?P<p>\d\d)% +(?P<v>\d+)$")),
    ),
    "hey": (
        ("duration_s", lazily.pattern(r"^ +Total:\s+(?P<v>[\d.]+) secs$")),
        ("mean_latency_ms", lazily.pattern(r"^ +Average:\s+(?P<v>[\d.]+) (?P<u>secs)$")),
        ("requests_per_sec", lazily.pattern(r"^ +Requests/sec:\s+(?P<v>[\d.]+)$")),
        ("p{p}_latency_ms", lazily.pattern(rf"^ +(?P<p>\d\d)% in {_T.replace('(?P<u>', ' (?P<u>')}$")),
    ),
}  # fmt: skip
# counts of broken connections, and the kind that each of them is of; what ab counts under Length is an answer of another length than the first: of a
# language model every second one
_BROKEN: tuple[tuple[re.Pattern[str], Mapping[str, str]], ...] = (
    (
        lazily.pattern(r"^ +Socket errors: connect (?P<connect>\d+), read (?P<read>\d+), write (?P<write>\d+), timeout (?P<timeout>\d+)$"),
        {"connect": "other", "read": "reset", "write": "other", "timeout": "timed-out"},
    ),
    (
        lazily.pattern(r"^ +\(Connect: (?P<connect>\d+), Receive: (?P<receive>\d+), Length: \d+, Exceptions: (?P<exceptions>\d+)\)$"),
        {"connect": "other", "receive": "other", "exceptions": "other"},
    ),
)
_STATUS = lazily.pattern(r"^ +\[(?P<code>[1-5]\d\d)\]\s+(?P<v>\d+) responses$")
_SAID = lazily.pattern(r"^ +\[(?P<v>\d+)\]\s+(?P<text>\S.{0,2000})$")
_PEER = lazily.pattern(r"^(?:Server Hostname: +(?P<host>\S+)|Server Port: +(?P<port>\d{1,5})|Document Path: +(?P<path>/\S*))$")


def begins(line: str) -> str | None:
    """The tool whose run begins with this line."""
    if not line.startswith(_BEGINNINGS):
        return None
    return next((tool for tool, pattern in BEGINS if pattern.match(line)), None)


def read(lines: Sequence[str], first_line: int = 1) -> Measured | None:
    """The run in these lines; None where none of the tools wrote them. ``asked`` is None where what was broken off may have been counted twice."""
    tool = next((name for line in lines[:40] if (name := begins(line))), None)
    if tool is None:
        return None
    load = Measured(tool)
    counted: Counter[str] = Counter()  # answered, turned_away, broken
    twice = False
    for number, raw in enumerate(lines, first_line):
        line = raw.rstrip("\r")
        if not line or len(line) > 4000 or line[0] not in " SDCTNRF":
            continue
        if found := _PEER.match(line):
            had = load.asked_of
            load.asked_of = Peer(found["host"] or had.host, int(found["port"]) if found["port"] else had.port, found["path"] or had.path)
        elif tool == "hey":
            _hey(line, number, load, counted)
        else:
            twice |= _broken(line, number, load, counted)
        _figure(line, number, load, counted)
    if tool == "hey" and not counted and "duration_s" not in load.metrics:
        return None  # another program's summary
    return _summed_up(load, counted, twice)


def _figure(line: str, number: int, load: Measured, counted: Counter[str]) -> None:
    for name, pattern in _FIGURES[load.tool]:
        found = pattern.match(line)
        value = number_of(found["v"]) if found else None
        if found is None or value is None:
            continue
        groups = found.groupdict()
        if name in ("answered", "turned_away"):
            counted[name] = int(value)
            metric = "completed" if name == "answered" else "failed"
            load.rows.append(BenchRow(line_no=number, text=line, metric=metric, kind="" if name == "answered" else "other"))
            continue
        named = name.replace("{p}", groups.get("p") or "").replace("p50_", "median_")
        load.figure(named, round(value * _MS.get(groups.get("u") or "", 1.0), 6), number, line)


def _hey(line: str, number: int, load: Measured, counted: Counter[str]) -> None:
    if found := _STATUS.match(line):
        many, code = int(found["v"]), int(found["code"])
        counted["answered"] += many
        if code >= 400:
            counted["turned_away"] += many
            load.lost(f"http-{code}", many, number, line)
        else:
            load.rows.append(BenchRow(line_no=number, text=line, metric="completed", kind="ok"))
    elif (found := _SAID.match(line)) and "responses" not in found["text"]:
        counted["broken"] += int(found["v"])
        load.lost(wording.classify(found["text"]) or "other", int(found["v"]), number, line)


def _broken(line: str, number: int, load: Measured, counted: Counter[str]) -> bool:
    """Count the connections that broke; whether some of them may be among the requests counted elsewhere as well."""
    for pattern, kinds in _BROKEN:
        if found := pattern.match(line):
            told = {name: int(many) for name, many in found.groupdict().items()}
            counted["broken"] = sum(told.values())
            for kind in dict.fromkeys(kinds.values()):
                load.lost(kind, sum(many for name, many in told.items() if kinds[name] == kind), number, line)
            return told.get("timeout", 0) > 0
    return False


def _summed_up(load: Measured, counted: Counter[str], twice: bool) -> Measured:
    if not counted:
        return load  # it broke off before it counted anything
    away, broken, answered = counted["turned_away"], counted["broken"], counted["answered"]
    load.ok = max(0, answered - away)
    load.failed = away + broken
    load.asked = None if twice else answered + broken
    if away and not any(kind.startswith("http-") for kind in load.errors):
        load.errors["other"] += away  # which status it was is not printed
    if load.ok == 0:
        if not load.failed:
            load.failed = load.asked = None  # nothing came back, and nobody counted what was sent
        load.without_figures()
    elif (rate := load.metrics.get("requests_per_sec")) is not None:
        all_told = answered + (broken if load.tool == "hey" else 0)
        load.metrics["request_throughput"] = round(rate * load.ok / max(1, all_told), 6)  # of those answered well
    return load

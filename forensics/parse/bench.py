"""Turn benchmark results (printed blocks, few-shot scores, JSON and JSONL, tree matrices) into runs. Measures only: whether a figure is bad is not said here.

A printed block's labels become metrics in snake case (``Total generated tokens (retokenized)`` → ``total_generated_tokens_retokenized``), JSON keys stay as they are.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any, BinaryIO

from forensics import lazily
from forensics.model import NO_COLUMNS, BenchRow, BenchRun, Columns, Problem
from forensics.model.facts import NOT_SET
from forensics.parse import client, guided, load, matrix, nested, peer, profiled, sent, slim, unfold, wording
from forensics.parse.matrix import number_of, snake
from forensics.parse.measured import Measured, inside

Parsed = tuple[tuple[BenchRun, ...], tuple[Problem, ...]]

MAX_BROKEN = 50  # places where JSON breaks off, after which it is none
_MOST_DECODED = 8  # times the size of an object that is read for the arrays in it
MAX_ERRORS = 2000  # error texts of one JSON result that are classified
_MOST_RUNS = 500  # of one JSON text: what follows counts as part of the last
_MOST_SAMPLES = 200_000  # single measurements of one kind
_SAMPLES = ("ttfts", "tpots", "itls", "latencies", "e2e_latencies")
_SUMS_UP = lazily.pattern(r"throughput|accuracy|completed|exact_match")  # a key of a result, not of one request
_CONFIGURATION = (
    "backend", "model_id", "dataset_name", "request_rate", "max_concurrency", "num_prompts", "num_requests", "batch_size", "input_len", "output_len",
    "random_input_len", "random_output_len", "sharegpt_output_len", "random_range_ratio", "tag", "task",
)  # fmt: skip

_OPEN = lazily.pattern(r"^\s*={4,} ?(?P<title>\w[^=]{0,60}?) ?={4,}\s*$")
_SHUT = lazily.pattern(r"^\s*={20,}\s*$")
_LABEL = lazily.pattern(
    r"^\s*(?P<label>[A-Za-z#][^:]{0,60}?): +(?P<value>[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf)(?P<unit>%| ?[A-Za-z/]+)?\s*$"
)
# what is printed outside a block: one batch, few-shot scores
_LOOSE = lazily.pattern(
    r"^\s*(?:accuracy|invalid|(?:avg )?latency|output throughput|input throughput|overall throughput|last_ttft|last generation throughput|acc_length|accept length|acceptance length"
    r"|batch size|input_len|output_len|cache hit rate|pass rate|pass@1|score|exact match)$",
    re.IGNORECASE,
)
# a row of a task table: |gsm8k| 3|flexible-extract| 5|exact_match|↑ |0.1230|± |0.0091|
_SCORE = lazily.pattern(r"^\|.*\|\s*(?P<label>exact_match|acc|acc_norm|pass@\d+|f1|mc2)\s*\|[^|]{0,4}\|\s*(?P<value>\d+(?:\.\d+)?)\s*\|")
# a benchmark of the engine alone, without a server
_OFFLINE = lazily.pattern(
    r"^Throughput: (?P<requests_per_second>\d[\d.]{0,15}) requests/s, (?P<tokens_per_second>\d[\d.]{0,15}) total tokens/s(?:, (?P<output_tokens_per_second>\d[\d.]{0,15}) output tokens/s)?$"
    r"|^(?P<share>\d\d)% percentile latency: (?P<latency>\d[\d.]{0,25}(?:e-\d+)?) seconds$"
)
_OK = ("completed", "successful_requests", "successful")
_FAILED = ("failed", "failed_requests", "num_failed")


# --------------------------------------------------------------------------- text


def read(
    text: str,
    *,
    source: str = "",
    first_line: int = 1,
    command: str | None = None,
    latest: float | None = None,
    zone_s: float | None = None,
    zoned: client.Zoned | None = None,
    columns: Columns = NO_COLUMNS,
) -> Parsed:
    """Runs in the printed output of a client: one a command and one a result block, with the failed attempts around it.

    ``asked`` comes from the block and the benchmark's own arguments where they are printed. ``latest`` is a time that nothing here is after.
    ``zoned`` as in ``client.attempts``, ``columns`` as in ``read_json``.
    """
    runs: list[BenchRun] = []
    problems: list[Problem] = []
    lines = text.split("\n")
    for start, end, told in _stretches(lines, command):
        run, said = client.read(
            "\n".join(lines[start:end]), source=source, first_line=first_line + start, command=told, latest=latest, zone_s=zone_s, zoned=zoned
        )
        problems.extend(said)
        runs.extend(_with_figures(run, lines[start:end], source, first_line + start, told, columns))
    return tuple(runs), tuple(problems)


def _stretches(lines: Sequence[str], command: str | None) -> Iterator[tuple[int, int, str | None]]:
    """Parts of the text that belong to one run: a new one starts with a typed command, or after a finished block when another block follows."""
    starts: list[tuple[int, str | None]] = [(0, command)]
    shut, block = -1, False
    for number, line in enumerate(lines):
        if typed := peer.command_line(line):
            starts.append((number, typed))
            shut, block = -1, False
        elif load.begins(line):
            if any(text.strip() for text in lines[starts[-1][0] + 1 : number]):
                starts.append((number, starts[-1][1]))
        elif _OPEN.match(line) and "arm" not in line:  # not the frames of a warm-up
            if shut >= 0:
                starts.append((shut + 1, starts[-1][1]))
            block, shut = True, -1
        elif block and _SHUT.match(line):
            block, shut = False, number
    for (start, told), (end, _) in zip(starts, [*starts[1:], (len(lines), None)], strict=True):
        if end > start:
            yield start, end, told


def _with_figures(
    run: BenchRun | None, lines: Sequence[str], source: str, first_line: int, command: str | None, columns: Columns
) -> Iterator[BenchRun]:
    if summaries := _summaries(lines, first_line):
        yield from (summary.run(source, run) for summary in summaries)
        return
    rows, metrics, block = figures(lines, first_line)
    reads = list(matrix.printed(lines, first_line, columns))
    found = matrix.settled(reads)
    if not rows and not found:
        if run is not None:
            yield run
        return
    if run is None:
        tool = client.tool_of(lines, (), command)
        run = BenchRun(source=source, tool="benchmark" if tool == "client" else tool)
    _, prompts = peer.peer_of(lines, (), first_line)
    done = matrix.count(metrics, _OK) if block else None
    lost = matrix.count(metrics, _FAILED) if block else None
    if done is not None and prompts is None:
        prompts = done + lost if lost is not None else sent.of(lines, _OPEN)
    if done is not None and lost is None and prompts is not None:
        lost = max(0, prompts - done)  # a tool that prints no failures: what it does not count as done
    tool = "benchmark" if run.tool == "client" else run.tool
    every = tuple(sorted((*rows, *run.rows), key=lambda row: row.line_no))
    yield replace(
        run,
        tool=tool,
        metrics=metrics,
        matrix=found,
        otherwise=matrix.otherwise(reads),
        rows=every,
        asked=run.asked if prompts is None or not block else prompts,
        ok=run.ok if done is None else done,
        failed=run.failed if lost is None else lost,
    )


def _summaries(lines: Sequence[str], first_line: int) -> tuple[Measured, ...]:
    """The runs of tools that say themselves how a run went as a whole; none where no such tool wrote this."""
    one = load.read(lines, first_line) or profiled.printed(lines, first_line)
    return (one,) if one else guided.printed(lines, first_line)


def figures(lines: Sequence[str], first_line: int = 1) -> tuple[tuple[BenchRow, ...], dict[str, float], bool]:
    """The labelled figures of result blocks and of loose result lines: raw lines to cite, metrics, and whether there was a block."""
    rows: list[BenchRow] = []
    metrics: dict[str, float] = {}
    inside = block = False
    for number, raw in enumerate(lines, first_line):
        line = raw.rstrip("\r")
        if len(line) > 400:
            continue
        if found := _OPEN.match(line):
            inside = "arm" not in found["title"]
            block = block or inside
            continue
        if _SHUT.match(line):
            inside = False
            continue
        if line.startswith("|") and (scored := _SCORE.match(line)):
            metrics[snake(scored["label"])] = float(scored["value"])
            rows.append(BenchRow(line_no=number, text=line.rstrip(), metric=snake(scored["label"])))
            continue
        if line[:1] in "T1234567890" and (offline := _OFFLINE.match(line)):
            told = _of_engine(offline.groupdict())
            metrics.update(told)
            rows.extend(BenchRow(line_no=number, text=line, metric=name) for name in told)
            continue
        found = _LABEL.match(line)
        if found is None or not (inside or _LOOSE.match(found["label"])):
            continue
        value = number_of(found["value"])
        if value is not None:
            name = snake(found["label"])
            metrics[name] = value / 100 if found["unit"] == "%" and not inside else value
            rows.append(BenchRow(line_no=number, text=line.rstrip(), metric=name))
    return tuple(rows), metrics, block


def _of_engine(groups: Mapping[str, str | None]) -> dict[str, float]:
    if groups["share"]:
        return {_percentile(groups["share"], "latency"): float(groups["latency"] or 0)}
    return {name: float(value) for name, value in groups.items() if value}


def _percentile(share: str, what: str) -> str:
    return f"median_{what}" if share == "50" else f"p{share}_{what}"


# --------------------------------------------------------------------------- JSON


_BETWEEN_OBJECTS = lazily.pattern(r"[\s,\]]*")
_BETWEEN_ELEMENTS = lazily.pattern(r"[\s,]*")
_ARRAY_OF_OBJECTS = lazily.pattern(r"\"\w+\"\s*:\s*\[\s*(?=\{)")
_PAIR = lazily.pattern(r"\s*\"(?P<key>[^\"\\\n]{1,200})\"\s*:\s*")
_BLANKS = lazily.pattern(r"\s*")
_MOST_BEGUN = 500
_NEXT_OBJECT = lazily.pattern(r"\n[ \t]*\{")


@dataclass(eq=False, repr=False)
class _Gathered:
    """What the objects of one JSON text add up to."""

    matrix: list[matrix.Read] = field(default_factory=list)
    rows: list[BenchRow] = field(default_factory=list)
    metrics: dict[str, float] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    samples: dict[str, tuple[float, ...]] = field(default_factory=dict)
    configuration: dict[str, str] = field(default_factory=dict)
    summed_up: bool = False
    asked: int | None = None
    ok: int | None = None
    failed: int | None = None
    tool: str = ""
    asked_of: peer.Peer = field(default_factory=peer.Peer)


def read_json(text: str, *, source: str = "", first_line: int = 1, columns: Columns = NO_COLUMNS) -> Parsed:
    """Runs in JSON: an array of measured configurations, result objects (one or one a line: each a run), or the error body that a server answered with.

    The ``text`` of a matrix row is the object's raw lines joined by single blanks. JSON that breaks off keeps what was complete and gives a problem.
    ``columns`` are the names that a matrix may use; without them no matrix is read.
    """
    problems: list[Problem] = []
    runs = _runs_of(_objects(text, source, first_line, problems, columns), source, columns)
    return runs, tuple(problems)


def read_large(stream: BinaryIO, *, source: str = "", first_line: int = 1, columns: Columns = NO_COLUMNS) -> Parsed:
    """The same of JSON of any size, in bounded memory: without single measurements where an array is too long, which is said as a problem."""
    told = slim.Slimmed()
    problems: list[Problem] = []
    pieces = (found for line_no, text in slim.objects(stream, told, first_line) for found in _objects(text, source, line_no, problems, columns))
    runs = _runs_of(pieces, source, columns)
    if told.cut:
        names = ", ".join(list(told.cut)[:8])
        problems.append(Problem(source=source, line=first_line, text=f"too long to be read whole, so single measurements are left out: {names}"))
        runs = tuple(replace(run, samples={}) for run in runs)
    if told.broken:
        problems.append(Problem(source=source, line=first_line, text=f"what follows in this result was not read: {told.broken}"))
    return runs, tuple(problems)


def _runs_of(objects: Iterable[tuple[int, str, dict[str, Any], bool]], source: str, columns: Columns) -> tuple[BenchRun, ...]:
    runs = [_Gathered()]
    found: list[BenchRun] = []
    within = False  # the parts of an object that was read as a whole
    records: profiled.Records | None = None
    for line_no, raw, value, top in objects:
        if top:
            whole = nested.runs(value, source=source, line_no=line_no)
            found.extend(whole)
            record = not whole and profiled.is_record(value)
            if record:
                records = records or profiled.Records()
                records.take(value, line_no, raw)
            rows = [] if whole or record else unfold.rows(value, columns)
            within = bool(whole or record or rows)
            reads = (matrix.read(flat, line_no, _told_row(flat), columns) for flat in rows)
            runs[-1].matrix.extend(read for read in reads if read is not None)
        if within:
            continue
        sums_up = top and any(_SUMS_UP.search(key) for key, item in value.items() if isinstance(item, (int, float)))
        if sums_up and runs[-1].summed_up and len(runs) < _MOST_RUNS:
            runs.append(_Gathered())
        runs[-1].summed_up |= sums_up and matrix.read(value, line_no, "", columns) is None
        _object(value, line_no, raw, runs[-1], columns)
    if records:
        found.append(records.closed(source))
    found.extend(_run(g, source) for g in runs if g.matrix or g.rows or g.metrics or g.errors)
    return tuple(found[:_MOST_RUNS])


def _run(gathered: _Gathered, source: str) -> BenchRun:
    failed = gathered.failed if gathered.failed is not None else (sum(gathered.errors.values()) or None)
    return BenchRun(
        source=source,
        tool=gathered.tool or "benchmark",
        asked=gathered.asked,
        ok=gathered.ok,
        failed=failed,
        errors=dict(gathered.errors),
        metrics=gathered.metrics,
        samples=gathered.samples,
        configuration=gathered.configuration,
        host=gathered.asked_of.host,
        port=gathered.asked_of.port,
        path=gathered.asked_of.path,
        rows=client.bounded(tuple(gathered.rows)),
        matrix=matrix.settled(gathered.matrix),
        otherwise=matrix.otherwise(gathered.matrix),
    )


def _objects(text: str, source: str, first_line: int, problems: list[Problem], columns: Columns) -> Iterator[tuple[int, str, dict[str, Any], bool]]:
    """Every object worth a row, with its line, its raw lines joined, and whether it is at the top: those, and the elements of arrays of objects in them."""
    decoder = json.JSONDecoder()
    at, counted, line = 0, 0, first_line
    while (at := _skip(_BETWEEN_OBJECTS, text, at)) < len(text):
        line += text.count("\n", counted, at)
        counted = at
        if text[at] == "[":
            at += 1
            continue
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            problems.append(Problem(source=source, line=line, text=f"JSON breaks off or is none: {str(error)[:80]}"))
            if (begun := _begun(decoder, text, at)) and matrix.read(begun, line, "", columns) is None:
                yield line, _joined(text[at : at + wording.MAX_LINE]), begun, True
            following = _NEXT_OBJECT.search(text, at)
            if following is None or len(problems) >= MAX_BROKEN:
                return
            at = following.end() - 1
            continue
        if isinstance(value, dict):
            yield line, _joined(text[at:end]), value, True
            if any(isinstance(inner, list) and inner and isinstance(inner[0], dict) for inner in value.values()):
                inner_line, seen, left = line, at, _MOST_DECODED * (end - at)
                for found in _ARRAY_OF_OBJECTS.finditer(text, at, end):
                    inner_line += text.count("\n", seen, found.end())
                    seen = found.end()
                    for at_line, raw, element in _elements(decoder, text, seen, inner_line):
                        left -= len(raw)
                        yield at_line, raw, element, False
                    if left < 0:  # arrays within arrays, each read again with all that is in it
                        problems.append(Problem(source=source, line=inner_line, text="arrays within arrays without end: not all of them were read"))
                        break
        at = max(end, at + 1)


def _begun(decoder: json.JSONDecoder, text: str, at: int) -> dict[str, Any]:
    """Of an object that breaks off: the single values that it begins with, before its first list."""
    found: dict[str, Any] = {}
    at += 1
    while len(found) < _MOST_BEGUN and (pair := _PAIR.match(text, at)) and text[pair.end() : pair.end() + 1] not in ("[", "{", ""):
        try:
            value, end = decoder.raw_decode(text, pair.end())
        except ValueError:
            break
        if not text.startswith(",", after := _skip(_BLANKS, text, end)):
            break  # it may go on: 12 of 1234
        found[pair["key"]] = value
        at = after + 1
    stopped = _PAIR.match(text, at)
    return found if stopped and text.startswith("[", stopped.end()) else {}  # else it may be half of what it was to be


def _elements(decoder: json.JSONDecoder, text: str, at: int, line: int) -> Iterator[tuple[int, str, dict[str, Any]]]:
    while at < len(text) and text[at] == "{":
        value, end = decoder.raw_decode(text, at)  # inside what was decoded already
        if isinstance(value, dict):
            yield line, _joined(text[at:end]), value
        after = _skip(_BETWEEN_ELEMENTS, text, end)
        line += text.count("\n", at, after)
        at = after


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _told_row(flat: Mapping[str, Any]) -> str:
    """A row whose parts stand in several places, as it can be cited."""
    return " ".join(f"{key}={str(item)[:80]}" for key, item in flat.items())[: wording.MAX_LINE]


def _joined(raw: str) -> str:
    return " ".join(part.strip() for part in raw.split("\n")) if "\n" in raw else raw


def _object(value: Mapping[str, Any], line_no: int, raw: str, into: _Gathered, columns: Columns) -> None:
    if row := matrix.read(value, line_no, raw[: wording.MAX_LINE], columns):
        into.matrix.append(row)
        if row.measured:
            return
    if kind := _error_kind(value):
        into.errors[kind] += 1
        into.rows.append(BenchRow(line_no=line_no, text=raw[: wording.MAX_LINE], kind=kind))
        return
    numbers = {key: number for key, item in value.items() if isinstance(item, (int, float)) and (number := number_of(item)) is not None}
    measured = any(re.search(r"throughput|latency|ttft|accuracy|accept|completed|duration|per_second", key) for key in numbers)
    if not measured:
        return
    into.metrics.update(numbers)
    if "avg_latency" in numbers:
        shares = inside(value, "percentiles")
        into.metrics.update({_percentile(p, "latency"): number for p in shares if p.isdigit() and (number := number_of(shares[p])) is not None})
    into.samples.update({name: single for name in _SAMPLES if (single := _single(value.get(name)))})
    told = {name: NOT_SET if value[name] is None else value[name] for name in _CONFIGURATION if name in value}
    into.configuration.update({name: str(item)[:80] for name, item in told.items() if isinstance(item, (str, int, float))})
    done, lost, prompts = matrix.count(value, _OK), matrix.count(value, _FAILED), matrix.count(value, ("num_prompts", "num_requests"))
    into.ok = done if done is not None else into.ok
    errors = value.get("errors")
    if prompts is None and lost is None and isinstance(errors, list) and errors:
        prompts = len(errors)  # one of each request, empty where it went well
    if lost is None and done is not None and prompts is not None:
        lost = max(0, prompts - done)
    into.failed = lost if lost is not None else into.failed
    into.asked = prompts if prompts is not None else (done + lost if done is not None and lost is not None else into.asked)
    into.tool = into.tool or str(value.get("backend") or "")
    into.rows.append(BenchRow(line_no=line_no, text=raw[:400], metric=next(iter(numbers))))
    if isinstance(value.get("base_url"), str):
        found = peer.asked_of(value["base_url"])
        into.asked_of.take(found.host, found.port, found.path)
    said = (text for text in errors if isinstance(text, str) and text.strip()) if isinstance(errors, list) else ()
    into.errors.update(_told(text) for text in islice(said, MAX_ERRORS))


def _single(value: object) -> tuple[float, ...]:
    """The numbers of a list, or of the lists in a list (one of each request)."""
    flat = chain.from_iterable(item if isinstance(item, list) else (item,) for item in value) if isinstance(value, list) else ()
    return tuple(islice((number for item in flat if (number := number_of(item)) is not None), _MOST_SAMPLES))


def _told(text: str) -> str:
    """The kind of one error text, which may be a whole traceback."""
    kinds = [kind for line in text.split("\n") if not line.startswith("  ") and (kind := wording.classify(line))]
    return min(kinds, key=wording.weight) if kinds else "other"


def _error_kind(value: Mapping[str, Any]) -> str | None:
    """The kind of a server's error body, or of a log object that carries an error; None for anything else."""
    inner = value.get("error")
    body: Mapping[str, Any] = inner if isinstance(inner, dict) else value
    message = (
        body.get("message") or (inner if isinstance(inner, str) else None) or (body.get("detail") if isinstance(body.get("detail"), str) else None)
    )
    if not isinstance(message, str) or not (value.get("object") == "error" or inner or "detail" in body):
        return None
    code = number_of(body.get("code"))
    kind = wording.classify(message) or wording.classify(f'"detail": "{message}"')
    if kind in (None, "other", "timed-out") and code is not None and 400 <= code <= 599:
        return f"http-{int(code)}"
    return kind or "other"

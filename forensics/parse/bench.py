"""Turn benchmark results (printed blocks, few-shot scores, JSON and JSONL, tree matrices) into runs. Measures only: whether a figure is bad is not said here.

A printed block's labels become metrics in snake case (``Total generated tokens (retokenized)`` → ``total_generated_tokens_retokenized``), JSON keys stay as they are.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from forensics.model import BenchRow, BenchRun, Matrix, Problem
from forensics.parse import client, peer, wording

Parsed = tuple[tuple[BenchRun, ...], tuple[Problem, ...]]

MAX_BROKEN = 50  # places where JSON breaks off, after which it is none
_MOST_DECODED = 8  # times the size of an object that is read for the arrays in it
MAX_ERRORS = 2000  # error texts of one JSON result that are classified

_OPEN = re.compile(r"^\s*={4,} ?(?P<title>\w[^=]{0,60}?) ?={4,}\s*$")
_SHUT = re.compile(r"^\s*={20,}\s*$")
_LABEL = re.compile(r"^\s*(?P<label>[A-Za-z#][^:]{0,60}?): +(?P<value>[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf)(?P<unit>%| ?[A-Za-z/]+)?\s*$")
# what is printed outside a block: one batch, few-shot scores
_LOOSE = re.compile(
    r"^\s*(?:accuracy|invalid|latency|output throughput|input throughput|overall throughput|last_ttft|last generation throughput|acc_length|accept length|acceptance length"
    r"|batch size|input_len|output_len|cache hit rate|pass rate|pass@1|score|exact match)$",
    re.IGNORECASE,
)
# a row of a task table: |gsm8k| 3|flexible-extract| 5|exact_match|↑ |0.1230|± |0.0091|
_SCORE = re.compile(r"^\|.*\|\s*(?P<label>exact_match|acc|acc_norm|pass@\d+|f1|mc2)\s*\|[^|]{0,4}\|\s*(?P<value>\d+(?:\.\d+)?)\s*\|")
_BUDGET = ("budget", "num_draft_tokens", "speculative_num_draft_tokens", "draft_tokens_per_step", "tree_width", "width")
_TOPK = ("topk", "top_k_tree", "eagle_topk", "speculative_eagle_topk")
_ACCEPT = ("accept_len", "acc_length", "accept_length", "acceptance_length", "spec_accept_length", "spec_decode_acceptance_length")
_CORRECT = ("coding_pass", "pass_rate", "accuracy", "greedy_match", "correct", "exact_match")
_LABELS = ("label", "name", "config", "variant", "run_name")
_OK = ("completed", "successful_requests", "successful")
_FAILED = ("failed", "failed_requests", "num_failed")


# --------------------------------------------------------------------------- text


def read(
    text: str, *, source: str = "", first_line: int = 1, command: str | None = None, latest: float | None = None, zone_s: float | None = None
) -> Parsed:
    """Runs in the printed output of a client: one a command and one a result block, with the failed attempts around it.

    ``asked`` comes from the block and the benchmark's own arguments where they are printed. ``latest`` is a time that nothing here is after.
    """
    runs: list[BenchRun] = []
    problems: list[Problem] = []
    lines = text.split("\n")
    for start, end, told in _stretches(lines, command):
        run, said = client.read("\n".join(lines[start:end]), source=source, first_line=first_line + start, command=told, latest=latest, zone_s=zone_s)
        problems.extend(said)
        run = _with_figures(run, lines[start:end], source, first_line + start, told)
        if run is not None:
            runs.append(run)
    return tuple(runs), tuple(problems)


def _stretches(lines: Sequence[str], command: str | None) -> Iterator[tuple[int, int, str | None]]:
    """Parts of the text that belong to one run: a new one starts with a typed command, or after a finished block when another block follows."""
    starts: list[tuple[int, str | None]] = [(0, command)]
    shut, block = -1, False
    for number, line in enumerate(lines):
        if typed := peer.command_line(line):
            starts.append((number, typed))
            shut, block = -1, False
        elif _OPEN.match(line) and "arm" not in line:  # not the frames of a warm-up
            if shut >= 0:
                starts.append((shut + 1, starts[-1][1]))
            block, shut = True, -1
        elif block and _SHUT.match(line):
            block, shut = False, number
    for (start, told), (end, _) in zip(starts, [*starts[1:], (len(lines), None)], strict=True):
        if end > start:
            yield start, end, told


def _with_figures(run: BenchRun | None, lines: Sequence[str], source: str, first_line: int, command: str | None) -> BenchRun | None:
    rows, metrics, block = figures(lines, first_line)
    matrix = tuple(_printed_matrix(lines, first_line))
    if not rows and not matrix:
        return run
    if run is None:
        tool = client.tool_of(lines, (), command)
        run = BenchRun(source=source, tool="benchmark" if tool == "client" else tool)
    _, prompts = peer.peer_of(lines, (), first_line)
    done = _first(metrics, _OK) if block else None
    lost = _first(metrics, _FAILED) if block else None
    if done is not None and prompts is None and lost is not None:
        prompts = int(done + lost)
    if done is not None and lost is None and prompts is not None:
        lost = max(0.0, prompts - done)  # a tool that prints no failures: what it does not count as done
    tool = "benchmark" if run.tool == "client" else run.tool
    every = tuple(sorted((*rows, *run.rows), key=lambda row: row.line_no))
    return replace(
        run,
        tool=tool,
        metrics=metrics,
        matrix=matrix,
        rows=every,
        asked=run.asked if prompts is None or not block else prompts,
        ok=run.ok if done is None else int(done),
        failed=run.failed if lost is None else int(lost),
    )


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
        found = _LABEL.match(line)
        if found is None or not (inside or _LOOSE.match(found["label"])):
            continue
        value = number_of(found["value"])
        if value is not None:
            name = snake(found["label"])
            metrics[name] = value / 100 if found["unit"] == "%" and not inside else value
            rows.append(BenchRow(line_no=number, text=line.rstrip(), metric=name))
    return tuple(rows), metrics, block


def snake(label: str) -> str:
    """``Mean E2E Latency (ms)`` → ``mean_e2e_latency_ms``."""
    return re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")


def number_of(value: object) -> float | None:
    """A finite number, from JSON or from text with thousands separators; a bool is none."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    try:
        number = float(value.replace(",", "") if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


# --------------------------------------------------------------------------- matrices as text

_PAIR = re.compile(r"(?P<key>[a-z_]{2,40})\s*[=:]\s*(?P<value>-?\d+(?:\.\d+)?)")


def _names_width(line: str) -> bool:
    low = line.lower()
    return "topk" in low or "budget" in low or "width" in low or "draft_tokens" in low or "top_k" in low


def _printed_matrix(lines: Sequence[str], first_line: int) -> Iterator[Matrix]:
    """Rows of ``budget=32 topk=4 … accept_len=2.8 coding_pass=0.125``, or of a table (``|``, commas or blanks) whose head names such columns."""
    head: list[str] = []
    for number, raw in enumerate(lines, first_line):
        if len(raw) > 2000 or not (head or _names_width(raw)):
            continue
        line = raw.strip()
        cells = _cells(line)
        names = [snake(cell) for cell in cells]
        if _names_matrix(names):
            head = names
            continue
        if head and len(cells) == len(head):
            values: dict[str, Any] = dict(zip(head, cells, strict=True))
        else:
            if line and set(line) - set("|-+: ="):
                head = head if len(cells) > 1 and "|" in line else []
            values = {found["key"]: found["value"] for found in _PAIR.finditer(line)}
            if not _names_matrix(list(values)):
                continue
        row = _matrix(values, number, line)
        if row is not None:
            yield row


def _cells(line: str) -> list[str]:
    for mark in ("|", ",", "\t"):
        if line.count(mark) >= 2:
            return [cell.strip() for cell in line.strip("|").split(mark)]
    return line.split()


def _names_matrix(names: Sequence[str]) -> bool:
    known = set(names)
    return bool(known & {*_BUDGET, *_TOPK}) and bool(known & {*_ACCEPT, *_CORRECT})


def _matrix(values: Mapping[str, Any], line_no: int, text: str) -> Matrix | None:
    budget, topk, accept, correct = (_first(values, names) for names in (_BUDGET, _TOPK, _ACCEPT, _CORRECT))
    if (budget is None and topk is None) or (accept is None and correct is None):
        return None
    if correct is not None and 1.0 < correct <= 100.0:
        correct /= 100.0  # per cent
    label = next((str(values[name]) for name in _LABELS if values.get(name)), "")
    if not label:
        label = " ".join(f"{name}={int(value)}" for name, value in (("budget", budget), ("topk", topk)) if value is not None)
    return Matrix(
        line_no=line_no,
        text=text,
        label=label,
        topk=None if topk is None else int(topk),
        budget=None if budget is None else int(budget),
        accept_len=None if accept is not None and accept < 0 else accept,
        correct=correct,
    )


def _first(values: Mapping[str, Any], names: Sequence[str]) -> float | None:
    for name in names:
        if (value := number_of(values.get(name))) is not None:
            return value
    return None


# --------------------------------------------------------------------------- JSON


_BETWEEN_OBJECTS = re.compile(r"[\s,\]]*")
_BETWEEN_ELEMENTS = re.compile(r"[\s,]*")
_ARRAY_OF_OBJECTS = re.compile(r"\"\w+\"\s*:\s*\[\s*(?=\{)")
_NEXT_OBJECT = re.compile(r"\n[ \t]*\{")


@dataclass
class _Gathered:
    """What the objects of one JSON text add up to."""

    matrix: list[Matrix] = field(default_factory=list)
    rows: list[BenchRow] = field(default_factory=list)
    metrics: dict[str, float] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    asked: int | None = None
    ok: int | None = None
    failed: int | None = None
    tool: str = ""
    asked_of: peer.Peer = field(default_factory=peer.Peer)


def read_json(text: str, *, source: str = "", first_line: int = 1) -> Parsed:
    """Runs in JSON: an array of measured configurations, result objects (one or one a line), or the error body that a server answered with.

    The ``text`` of a matrix row is the object's raw lines joined by single blanks. JSON that breaks off keeps what was complete and gives a problem.
    """
    problems: list[Problem] = []
    gathered = _Gathered()
    for line_no, raw, value in _objects(text, source, first_line, problems):
        _object(value, line_no, raw, gathered)
    if not (gathered.matrix or gathered.rows or gathered.metrics or gathered.errors):
        return (), tuple(problems)
    failed = gathered.failed if gathered.failed is not None else (sum(gathered.errors.values()) or None)
    run = BenchRun(
        source=source,
        tool=gathered.tool or "benchmark",
        asked=gathered.asked,
        ok=gathered.ok,
        failed=failed,
        errors=dict(gathered.errors),
        metrics=gathered.metrics,
        host=gathered.asked_of.host,
        port=gathered.asked_of.port,
        path=gathered.asked_of.path,
        rows=client.bounded(tuple(gathered.rows)),
        matrix=tuple(gathered.matrix),
    )
    return (run,), tuple(problems)


def _objects(text: str, source: str, first_line: int, problems: list[Problem]) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Every object worth a row, with its line and its raw lines joined: top-level ones, and the elements of arrays of objects in them."""
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
            following = _NEXT_OBJECT.search(text, at)
            if following is None or len(problems) >= MAX_BROKEN:
                return
            at = following.end() - 1
            continue
        if isinstance(value, dict):
            yield line, _joined(text[at:end]), value
            if any(isinstance(inner, list) and inner and isinstance(inner[0], dict) for inner in value.values()):
                inner_line, seen, left = line, at, _MOST_DECODED * (end - at)
                for found in _ARRAY_OF_OBJECTS.finditer(text, at, end):
                    inner_line += text.count("\n", seen, found.end())
                    seen = found.end()
                    for at_line, raw, element in _elements(decoder, text, seen, inner_line):
                        left -= len(raw)
                        yield at_line, raw, element
                    if left < 0:  # arrays within arrays, each read again with all that is in it
                        problems.append(Problem(source=source, line=inner_line, text="arrays within arrays without end: not all of them were read"))
                        break
        at = max(end, at + 1)


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


def _joined(raw: str) -> str:
    return " ".join(part.strip() for part in raw.split("\n")) if "\n" in raw else raw


def _object(value: Mapping[str, Any], line_no: int, raw: str, into: _Gathered) -> None:
    if row := _matrix(value, line_no, raw[: wording.MAX_LINE]):
        into.matrix.append(row)
        return
    if kind := _error_kind(value):
        into.errors[kind] += 1
        into.rows.append(BenchRow(line_no=line_no, text=raw[: wording.MAX_LINE], kind=kind))
        return
    numbers = {key: number for key, item in value.items() if isinstance(item, (int, float)) and (number := number_of(item)) is not None}
    measured = any(re.search(r"throughput|latency|ttft|accuracy|accept|completed|duration", key) for key in numbers)
    if not measured:
        return
    into.metrics.update(numbers)
    done, lost, prompts = _first(value, _OK), _first(value, _FAILED), _first(value, ("num_prompts", "num_requests"))
    into.ok = int(done) if done is not None else into.ok
    if lost is None and done is not None and prompts is not None:
        lost = max(0.0, prompts - done)
    into.failed = int(lost) if lost is not None else into.failed
    into.asked = int(prompts) if prompts is not None else (int(done + lost) if done is not None and lost is not None else into.asked)
    into.tool = into.tool or str(value.get("backend") or "")
    into.rows.append(BenchRow(line_no=line_no, text=raw[:400], metric=next(iter(numbers))))
    if isinstance(value.get("base_url"), str):
        found = peer.asked_of(value["base_url"])
        into.asked_of.take(found.host, found.port, found.path)
    errors = value.get("errors")
    for text in errors[:MAX_ERRORS] if isinstance(errors, list) else ():
        if isinstance(text, str) and text.strip():
            into.errors[_told(text)] += 1


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

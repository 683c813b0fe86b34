"""Read measured configurations of a benchmark, one a row: tree width and settings against what came out. Never says which of them are bad.

A row is a JSON object, ``key=value`` pairs of a printed line, or a line of a table. Which names mean what stands in the tables below; ``fields`` adds names of one's own.
Whether 0.5 is a half or half a per cent, and 12 a count or per cent, no row says by itself: rows are ``read`` one by one and ``settled`` together.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from forensics import lazily
from forensics.errors import UsageError
from forensics.model import Matrix
from forensics.parse.wording import classify

BUDGET = ("budget", "num_draft_tokens", "speculative_num_draft_tokens", "draft_tokens_per_step", "tree_width", "width")
TOPK = ("topk", "top_k_tree", "eagle_topk", "speculative_eagle_topk")
STEPS = ("num_steps", "steps", "depth", "speculative_num_steps")
ACCEPT = ("accept_len", "acc_length", "accept_length", "acceptance_length", "spec_accept_length", "spec_decode_acceptance_length")
# the first that a row has: a greedy match with the plain run may break at a rounding, and the answer be right all the same
CORRECT = ("coding_pass", "pass_rate", "accuracy", "correct", "exact_match", "greedy_match")
ASKED = ("n", "samples", "n_samples", "num_samples", "num_questions", "num_prompts", "num_requests")
DRAFTED = ("drafts", "num_drafts", "verify_steps", "spec_verify_ct", "spec_decode_num_drafts")
SPEED = ("tok_per_s", "tokens_per_s", "tokens_per_second", "output_throughput", "speed", "throughput")
QUESTIONS = ("question_id", "question", "prompt_id", "task_id", "sample_id", "id", "index", "idx")  # of a row for each answer
LABELS = ("label", "name", "config", "run_name")
# rows that differ in one of these were not measured under the same conditions, and are never held against each other
SETTINGS = (
    "variant", "engine", "version", "model", "model_id", "draft", "dtype", "attention_backend", "window", "context", "input_len", "output_len", "concurrency",
    "max_concurrency", "batch_size", "temperature", "dataset", "dataset_name", "task", "benchmark", "top_p", "max_tokens", "max_new_tokens", "max_output_tokens",
    "quantization", "kv_cache_dtype", "draft_model", "draft_model_path", "drafter", "speculative_draft_model_path", "algorithm", "speculative_algorithm",
    "quant", "precision", "weights", "checkpoint", "revision", "kv_dtype", "gpu", "device", "hardware", "host", "tp", "tp_size", "tensor_parallel_size", "backend", "branch",
    "commit", "build", "image", "release", "temp", "min_p", "split", "subset", "category", "language", "num_shots", "shots", "chat_template", "thinking", "request_rate", "qps",
    "users", "clients", "batch", "bs", "isl", "osl", "prompt_len", "ctx", "context_len", "context_length", "seq_len", "max_model_len", "page_size",
)  # fmt: skip
# those of a server's own side: any may be just what two results are held against each other for
OF_SERVER = frozenset({
    "variant", "engine", "version", "attention_backend", "quantization", "quant", "precision", "kv_cache_dtype", "kv_dtype", "draft_model", "draft_model_path",
    "drafter", "speculative_draft_model_path", "algorithm", "speculative_algorithm", "weights", "checkpoint", "revision", "gpu", "device", "hardware", "host", "tp",
    "tp_size", "tensor_parallel_size", "backend", "branch", "commit", "build", "image", "release", "page_size",
})  # fmt: skip
# requests that got no answer; "failed" and "errors" are as often answers that are wrong
LOST = ("failed_requests", "num_failed_requests", "request_errors", "http_errors", "timeouts", "num_timeouts", "timed_out")
LOST_OR_WRONG = ("failed", "num_failed", "errors", "num_errors")
_SAID = ("error", "errors", "error_message", "exception", "error_type", "status", "reason", "failure")  # where a harness puts why a row has no answer
_FEW_LOST = 0.05  # of what was asked: with more of them unanswered, a share of right answers is not one of answers
_AGAINST_PLAIN = "greedy_match"  # the plain run matches itself, and so says nothing of how often two runs of the same server match
_MOST_SAID = 100
MOST = 10**12  # of requests, answers or tokens: more is no count, and what is reckoned of it would not be exact
_PAIR = lazily.pattern(r"(?P<key>[a-z_]{2,40})\s*[=:]\s*(?P<value>-?\d+(?:\.\d+)?)")
_PERCENT = lazily.pattern(r"\s*(-?\d{1,9}(?:\.\d{1,12})?)\s*%\s*")
_OF = lazily.pattern(r"\s*(\d{1,9})\s*(?:/|of)\s*(\d{1,9})\s*")
_DECIMAL_COMMA = lazily.pattern(r"-?\d{1,9},\d{1,12}")
_SHARE_NAME = lazily.pattern(r"rate|acc|pct|percent|%|match|share|ratio")
_TRUTHS = {"true": 1.0, "false": 0.0}
Fields = Mapping[str, str]  # a name of one's own → a name of a table above
TABLES = (BUDGET, TOPK, STEPS, ACCEPT, CORRECT, ASKED, DRAFTED, SPEED, LABELS)
KNOWN = tuple(dict.fromkeys((*(table[0] for table in TABLES), *SETTINGS)))  # what a name of one's own can be said to mean


def fields_of(text: str) -> dict[str, str]:
    """``mine=accept_len,width=budget`` as a mapping. Every name that is read as such may stand on the right: it means the first of its table.

    Raises UsageError, saying which of them is no pair, names nothing that is known, or is said twice.
    """
    found: dict[str, str] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        own, sign, meant = (part.strip() for part in pair.partition("="))
        if not (own and sign and meant):
            raise UsageError(f"{pair!r} is no pair of names", hint="NAME=MEANING, several with commas: my_len=accept_len,my_width=budget")
        name = next((table[0] for table in TABLES if meant in table), meant)
        if name not in KNOWN:
            import difflib

            near = difflib.get_close_matches(meant, [*(n for table in TABLES for n in table), *SETTINGS], 1)
            hint = f"did you mean {near[0]!r}?" if near else f"one of {', '.join(KNOWN)}"
            raise UsageError(f"nothing is called {meant!r} in a matrix", hint=hint)
        if own in found or name in found.values():
            raise UsageError(f"{own if own in found else meant!r} is given twice")
        found[own] = name
    return found


class Read(NamedTuple):
    """A row with its share of right answers as it stood. ``scale``: share (surely 0…1), each (one answer), percent or count (what its name says of a number above 1)."""

    row: Matrix
    scale: str
    question: str = ""
    lost: float = 0.0  # requests that got no answer
    failed: float = 0.0  # … or whose answer was wrong


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


def first(values: Mapping[str, Any], names: Sequence[str]) -> float | None:
    """The first of these names that holds a number."""
    for name in names:
        if (value := number_of(values.get(name))) is not None:
            return value
    return None


def count(values: Mapping[str, Any], names: Sequence[str]) -> int | None:
    """The first of these names that holds a count."""
    number = first(values, names)
    return int(number) if number is not None and 0 <= number <= MOST else None


def printed(lines: Sequence[str], first_line: int = 1, fields: Fields | None = None) -> Iterator[Read]:
    """Rows of ``budget=32 topk=4 … accept_len=2.8 coding_pass=0.125``, or of a table (``|``, commas, semicolons or blanks) whose head names such columns."""
    head: list[str] = []
    meant = {snake(own): name for own, name in (fields or {}).items()}
    own_names = {name: own for own, name in meant.items()}
    for number, raw in enumerate(lines, first_line):
        if len(raw) > 2000 or not (head or _names_width(raw) or any(own.lower() in raw.lower() for own in fields or ())):
            continue
        line = raw.strip()
        cells = _cells(line)
        names = [meant.get(name := snake(cell), name) for cell in cells]
        if _names_matrix(names):
            head = names
            continue
        if head and len(cells) == len(head):
            values: dict[str, Any] = dict(zip(head, cells, strict=True))
        else:
            if line and set(line) - set("|-+: ="):
                head = head if len(cells) > 1 and "|" in line else []
            values = {meant.get(found["key"], found["key"]): found["value"] for found in _PAIR.finditer(line)}
            if not _names_matrix(list(values)):
                continue
        found_row = read(values, number, line, called=own_names)
        if found_row is not None:
            yield found_row


def is_head(line: str) -> bool:
    """Whether a line is the head of a table of such rows."""
    return len(line) <= 2000 and _names_width(line) and _names_matrix([snake(cell) for cell in _cells(line.strip())])


def read(values: Mapping[str, Any], line_no: int, text: str, *, fields: Fields | None = None, called: Mapping[str, str] | None = None) -> Read | None:
    """One configuration; None where it names no width, or nothing that came out. A budget of 0 is the run without speculation.

    ``called``: by what names of the file's own stand for those of the tables.
    """
    if fields:
        values = {**values, **{meant: values[own] for own, meant in fields.items() if own in values}}
        called = {meant: own for own, meant in fields.items() if own in values}
    budget, topk = count(values, BUDGET), count(values, TOPK)
    accept = first(values, ACCEPT)
    name, correct, of, scale = next(
        (found for name in _measures(budget, topk) if (found := _right(name, values.get(name), called)) is not None), ("", None, None, "share")
    )
    if (budget is None and topk is None) or (accept is None and not name):
        return None
    steps, asked, drafts = (count(values, names) for names in (STEPS, ASKED, DRAFTED))
    label = next((str(values[name]) for name in LABELS if values.get(name)), "")
    if not label:
        label = " ".join(f"{name}={value}" for name, value in (("budget", budget), ("topk", topk)) if value is not None)
    row = Matrix(
        line_no=line_no,
        text=text,
        label=label,
        topk=topk,
        budget=budget,
        steps=steps,
        accept_len=None if accept is not None and accept < 0 else accept,
        correct=correct,
        asked=of or asked or None,
        drafts=drafts or None,
        speed=first(values, SPEED),
        settings=_settings(values),
    )
    question = next((str(values[name])[:80] for name in QUESTIONS if values.get(name) not in (None, "")), "")
    lost = math.inf if _unanswered(values) else first(values, LOST) or 0.0
    return Read(row, scale, question, lost, first(values, LOST_OR_WRONG) or 0.0)


def _unanswered(values: Mapping[str, Any]) -> bool:
    """Whether a row says that its requests were refused, timed out or met an error of the server: what it counts as wrong nobody answered."""
    told = [item for name in _SAID for item in (values[name] if isinstance(values.get(name), list) else [values.get(name)])]
    return any(isinstance(item, str) and classify(item) is not None for item in told[:_MOST_SAID])


def _measures(budget: int | None, topk: int | None) -> tuple[str, ...]:
    """The names under which a row may hold its share of right answers."""
    plain = not budget and not topk and 0 in (budget, topk)
    return tuple(name for name in CORRECT if not (plain and name == _AGAINST_PLAIN))


def _settings(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What a row says of its conditions, itself or in a mapping of its own: ``"sampling": {"temperature": 0}``."""
    inner = {name: told for item in values.values() if isinstance(item, dict) for name, told in item.items()}
    said = {**inner, **values}
    return tuple((name, str(said[name])[:80]) for name in SETTINGS if said.get(name) not in (None, "") and not isinstance(said[name], (dict, list)))


def settled(found: Iterable[Read]) -> tuple[Matrix, ...]:
    """All rows of one result, with shares 0…1: by what all of them together can mean. A share that can mean nothing is none, nor is one of requests that were lost."""
    reads = list(found)
    plain = [r.row.correct for r in reads if r.scale in ("percent", "count") and r.row.correct is not None]
    counted = [r.row for r in reads if r.scale == "count" and r.row.correct is not None]
    if max(plain, default=0.0) <= 1.0:
        by = "share"
    elif len(counted) == len(plain) and all(r.asked and (r.correct or 0.0) <= r.asked and (r.correct or 0.0).is_integer() for r in counted):
        by = "count"
    else:
        by = "percent"
    return tuple([_scaled(r, by) for r in reads if r.scale != "each"] + _counted([r for r in reads if r.scale == "each" and not r.lost]))


def _scaled(found: Read, by: str) -> Matrix:
    row = found.row
    if row.correct is None:
        return row
    of = 1.0 if found.scale == "share" or by == "share" else 100.0 if by == "percent" else float(row.asked or 1)
    share = row.correct / of
    lost = found.lost if found.lost or not row.asked or abs(row.asked * (1 - share) - found.failed) < 1 else found.failed
    answered = not lost or (row.asked is not None and lost <= _FEW_LOST * row.asked)
    return replace(row, correct=share if answered and 0.0 <= share <= 1.0 else None)


def _counted(reads: Sequence[Read]) -> list[Matrix]:
    """Rows of one answer each as one row a tree: how many of the different questions were answered right."""
    trees: dict[tuple[object, ...], list[Read]] = {}
    for found in reads:
        trees.setdefault((found.row.topk, found.row.budget, found.row.steps, found.row.settings), []).append(found)
    rows = []
    for members in trees.values():
        lengths = [r.row.accept_len for r in members if r.row.accept_len is not None]
        rows.append(replace(
            members[0].row, correct=_mean([r.row.correct or 0.0 for r in members]), accept_len=_mean(lengths) if lengths else None,
            asked=len({r.question or number for number, r in enumerate(members)}),
        ))  # fmt: skip
    return rows


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _right(name: str, value: object, called: Mapping[str, str] | None) -> tuple[str, float, int | None, str] | None:
    """The share of right answers as it stands, of how many where it says so itself, and its scale."""
    if isinstance(value, bool) or (isinstance(value, str) and value.strip().lower() in _TRUTHS):
        return name, _TRUTHS[str(value).strip().lower()], 1, "each"
    if isinstance(value, str):
        if part := _PERCENT.fullmatch(value):
            return name, float(part[1]) / 100, None, "share"
        if (part := _OF.fullmatch(value)) and 0 < int(part[2]) >= int(part[1]):
            return name, int(part[1]) / int(part[2]), int(part[2]), "share"
    number = number_of(value)
    if number is None or number < 0:
        return None
    return name, number, None, "percent" if _SHARE_NAME.search((called or {}).get(name, name).lower()) else "count"


def _names_width(line: str) -> bool:
    low = line.lower()
    return "topk" in low or "budget" in low or "width" in low or "draft_tokens" in low or "top_k" in low


def _cells(line: str) -> list[str]:
    if line.count("|") >= 2:
        return [cell.strip() for cell in line.strip("|").split("|")]
    mark = max(",;\t", key=line.count)
    if line.count(mark) < 2:
        return line.split()
    import csv

    try:
        cells = [cell.strip() for cell in next(csv.reader([line], delimiter=mark, skipinitialspace=True), [])]
    except csv.Error:
        cells = [cell.strip() for cell in line.split(mark)]
    return [cell.replace(",", ".") if mark != "," and _DECIMAL_COMMA.fullmatch(cell) else cell for cell in cells]


def _names_matrix(names: Sequence[str]) -> bool:
    known = set(names)
    return bool(known & {*BUDGET, *TOPK}) and bool(known & {*ACCEPT, *CORRECT})

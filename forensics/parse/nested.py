"""Read results that benchmarks save as one object with others inside: GuideLLM's report, AIPerf's and GenAI-Perf's summary, the evaluation harness's scores. Gives figures flat names; judges none.

Names are those of the flat results (``mean_ttft_ms``, ``p99_e2e_latency_ms``, ``output_throughput``), in their units, so that results can be held against each other.
Only requests that were answered are in a latency; a run in which none was has no figures at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forensics.model import BenchRow, BenchRun
from forensics.parse import client, peer, profiled, wording
from forensics.parse.matrix import number_of, snake
from forensics.parse.measured import inside, listed

_MOST = 500  # benchmarks or tasks of one file
_MOST_ERRORS = 2000
# the report's name, the flat one, and what makes it milliseconds
_LATENCIES = (
    ("request_latency", "e2e_latency_ms", 1000.0), ("time_to_first_token_ms", "ttft_ms", 1.0), ("time_per_output_token_ms", "tpot_ms", 1.0),
    ("inter_token_latency_ms", "itl_ms", 1.0),
)  # fmt: skip
_RATES = (
    ("requests_per_second", "request_throughput"), ("output_tokens_per_second", "output_throughput"), ("tokens_per_second", "total_token_throughput"),
)  # fmt: skip
_SINGLE = (("time_to_first_token_ms", "ttfts", 0.001), ("request_latency", "latencies", 1.0))  # seconds, as flat results keep them
_PERCENTILES = ("p90", "p95", "p99")


def runs(value: Mapping[str, Any], *, source: str = "", line_no: int = 1) -> tuple[BenchRun, ...]:
    """The runs in one saved object: a benchmark or a task each. Empty where it is not of this kind. Rows stand at ``line_no``, where the object begins."""
    benchmarks, results = value.get("benchmarks"), value.get("results")
    if isinstance(benchmarks, list):
        return tuple(run for item in benchmarks[:_MOST] if isinstance(item, dict) and (run := _report(item, source, line_no)))
    if isinstance(results, dict) and isinstance(value.get("configs"), dict):
        return tuple(_tasks(value, source, line_no))
    profiled_run = profiled.summary(value, source=source, line_no=line_no)
    return (profiled_run,) if profiled_run else ()


# --------------------------------------------------------------------------- a report of benchmarks


def _report(item: Mapping[str, Any], source: str, line_no: int) -> BenchRun | None:
    metrics, totals = item.get("metrics"), inside(item, "metrics", "request_totals")
    if not isinstance(metrics, dict) or not totals:
        return None
    ok, errored = number_of(totals.get("successful")), number_of(totals.get("errored"))
    # requests that the end of the run cut short were neither answered nor refused
    asked = int(ok + errored) if ok is not None and errored is not None else None
    duration = number_of(item.get("duration"))
    found = _figures(metrics) if ok else {}
    if duration is not None:
        found["duration_s"] = duration
    if (cut := number_of(totals.get("incomplete"))) is not None:
        found["incomplete"] = cut
    errors, rows, asked_of = _errors(_listed(item, "errored"), line_no)
    rows.insert(0, BenchRow(line_no=line_no, text=f"request_totals: {dict(totals)}"[:400], metric="completed"))
    answered = _listed(item, "successful")
    samples = {name: single for key, name, unit in _SINGLE if (single := _single(answered, key, unit))}
    strategy = inside(item, "config", "strategy")
    kind = strategy.get("type_") or strategy.get("kind")
    named = {"strategy": kind, "max_concurrency": strategy.get("max_concurrency"), "request_rate": strategy.get("rate")}
    return BenchRun(
        source=source, tool="guidellm", first_at=_time(item.get("start_time")), last_at=_time(item.get("end_time")), asked=asked,
        ok=None if ok is None else int(ok), failed=None if errored is None else int(errored), errors=dict(errors), metrics=found, samples=samples,
        configuration={name: str(v)[:80] for name, v in named.items() if isinstance(v, (str, int, float))},
        host=asked_of.host, port=asked_of.port, path=asked_of.path, rows=client.bounded(tuple(rows)),
    )  # fmt: skip


def _figures(metrics: Mapping[str, Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    for key, name, unit in _LATENCIES:
        figures = inside(metrics, key, "successful")
        among = inside(figures, "percentiles")
        told = {"mean": figures.get("mean"), "median": figures.get("median"), **{p: among.get(p) for p in _PERCENTILES}}
        found.update({f"{word}_{name}": number * unit for word, value in told.items() if (number := number_of(value)) is not None})
    for key, name in _RATES:
        if (rate := number_of(inside(metrics, key, "successful").get("mean"))) is not None:
            found[name] = rate
    return found


def _errors(requests: Sequence[Any], line_no: int) -> tuple[Counter[str], list[BenchRow], peer.Peer]:
    errors: Counter[str] = Counter()
    rows: list[BenchRow] = []
    asked_of = peer.Peer()
    for request in requests[:_MOST_ERRORS]:
        info = inside(request, "info") if isinstance(request, dict) else {}
        said = str(info.get("error") or "")[: wording.MAX_LINE]
        at = _time(inside(info, "timings").get("request_start"))
        kind = wording.classify(said) or "other"
        errors[kind] += 1
        rows.append(BenchRow(line_no=line_no, text=said, kind=kind, at=at))
        if asked_of.host is None:
            found = peer.asked_of(said)
            asked_of.take(found.host, found.port, found.path)
    return errors, rows, asked_of


def _listed(item: Mapping[str, Any], name: str) -> Sequence[Any]:
    return listed(inside(item, "requests").get(name))


def _single(requests: Sequence[Any], key: str, unit: float) -> tuple[float, ...]:
    numbers = (number_of(request.get(key)) for request in requests if isinstance(request, dict))
    return tuple(number * unit for number in numbers if number is not None)


# --------------------------------------------------------------------------- an evaluation


def _tasks(value: Mapping[str, Any], source: str, line_no: int) -> Iterator[BenchRun]:
    arguments = inside(value, "config", "model_args")
    url = arguments.get("base_url")
    asked_of = peer.asked_of(url) if isinstance(url, str) else peer.Peer()
    for task, scores in list(value["results"].items())[:_MOST]:
        if not isinstance(scores, dict):
            continue
        metrics: dict[str, float] = {}
        for key, score in scores.items():
            name, _, chosen = str(key).partition(",")
            number = number_of(score) if not isinstance(score, str) else None
            if not chosen or number is None or name.endswith("_stderr"):
                continue  # a name, the number of samples, or the spread of another figure
            metrics[snake(name) if chosen == "none" else snake(f"{name} {chosen}")] = number
        if not metrics:
            continue
        effective = number_of(inside(value, "n-samples", task).get("effective"))
        asked = int(effective) if effective is not None else None
        told = {"task": task, "model_id": arguments.get("model"), "num_fewshot": inside(value, "n-shot").get(task)}
        yield BenchRun(
            source=source, tool="lm_eval", asked=asked, ok=asked, failed=None if asked is None else 0, metrics=metrics,
            configuration={name: str(v)[:80] for name, v in told.items() if isinstance(v, (str, int, float))},
            host=asked_of.host, port=asked_of.port, path=asked_of.path,
            rows=tuple(BenchRow(line_no=line_no, text=f"{task}: {name} {number:g}", metric=name) for name, number in metrics.items()),
        )  # fmt: skip


# --------------------------------------------------------------------------- what is in what


def _time(value: object) -> float | None:
    at = number_of(value)
    return at if at is not None and 0 < at < 4e9 else None

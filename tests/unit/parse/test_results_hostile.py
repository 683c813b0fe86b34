"""Results that make no sense, that were broken on purpose, or never end: no figure, no run, and no more time than their size asks for."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from forensics.parse import junit
from tests.unit.parse.results import read_json, read_text


def test_noughts_and_what_is_no_number_are_no_figures() -> None:
    item: dict[str, Any] = {"metrics": {"request_totals": {"successful": 0, "errored": 3}, "request_latency": {"successful": {"mean": 0.0}}}}
    (run,), _ = read_json(json.dumps({"benchmarks": [item]}))
    assert (run.asked, run.ok, run.failed, dict(run.metrics)) == (3, 0, 3, {})
    item["metrics"]["request_totals"] = {"successful": 3, "errored": 0}
    item["metrics"]["request_latency"]["successful"] = {"mean": float("nan"), "median": float("inf")}
    (run,), _ = read_json(json.dumps({"benchmarks": [item]}))
    assert dict(run.metrics) == {}


@pytest.mark.parametrize(
    "text",
    [
        '{"benchmarks": [1, null, {"metrics": []}, {"metrics": {"request_totals": 3}}]}',
        '{"results": {"a": 3, "b": {"acc,none": "0.5"}}, "configs": {}}',
        '{"results": {"a": {"acc,none": null}}, "configs": {}, "config": {"model_args": "model=m"}, "n-samples": []}',
    ],
)
def test_results_of_another_shape_give_no_run(text: str) -> None:
    assert read_json(text)[0] == ()


@pytest.mark.parametrize(
    "text",
    [
        "Metric,avg,min,max,p99\nRequest\rLatency (ms),1,2,3,4\n\0,\nRequest Count,nan,1,1,1\n",
        "NVIDIA AIPerf | LLM Metrics\n┃ Metric ┃ avg ┃\n│ Request Count (requests) │ many │\n│ │ │\n",
        'Run Info,Run Info,\nProfile,"\n',
        "Run Info,Run Info\nBackend,Strategy\n,,\n{,x\n",
        "ℹ Run Summary Info\n|====|====|======|\n| a || b |\n|---|\n| 1 |\n",
    ],
)
def test_summaries_that_make_no_sense_tell_no_figure(text: str) -> None:
    assert [(run.asked, run.ok, dict(run.metrics)) for run in read_text(text)[0] if run.asked or run.ok or run.metrics] == []


def test_a_table_whose_cells_never_end_stays_linear() -> None:
    rows = ["NVIDIA AIPerf | LLM Metrics", "┃ Metric ┃ avg ┃", "│ Request Count (requests) │ 20 │", *(["│ and so on, and so on │  │"] * 60_000)]
    started = time.process_time()
    (run,), _ = read_text("\n".join(rows))
    assert (run.asked, dict(run.metrics)) == (None, {})
    assert time.process_time() - started < 20


def test_a_record_of_a_request_with_times_that_are_none_counts_all_the_same() -> None:
    lines = [
        {"metadata": {"request_start_ns": at}, "metrics": {"request_latency": {"value": 1, "unit": []}}, "error": None}
        for at in (-1, 1e30, None, "9" * 400)
    ]
    (run,), _ = read_json("\n".join(map(json.dumps, lines)))
    assert (run.asked, run.ok, run.first_at, dict(run.metrics)) == (4, 4, None, {})


def test_a_report_of_tests_expands_nothing_and_stays_linear() -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><testsuite tests="1"><testcase name="&b;"/></testsuite>'
    run = junit.read(bomb)
    assert run is not None
    assert run.rows[0].text == "&b;"
    broken = '<testsuite tests="9">' + '<testcase name="a' * 200_000
    assert junit.read(broken) is None

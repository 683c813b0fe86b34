"""One run that is told in several files is one, and repetitions stay as many as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forensics.model import BenchRun
from forensics.parse.onerun import told_once
from tests.unit.parse.results import read_json, read_text

DATA = Path(__file__).parents[2] / "data" / "bench"


def read(name: str) -> BenchRun:
    text = (DATA / name).read_bytes().decode()
    ((run, *_), _) = read_json(text, source=name) if name.endswith((".json", ".jsonl")) else read_text(text, source=name)
    return run


@pytest.mark.parametrize(
    ("names", "source", "errors"),
    [
        (["aiperf/good.txt", "aiperf/good.csv", "aiperf/good.json"], "aiperf/good.json", {}),
        (["aiperf/partly.csv", "aiperf/partly.txt", "aiperf/partly.json", "aiperf/partly.jsonl"], "aiperf/partly.jsonl", {"http-503": 5}),
        (["aiperf/died.json", "aiperf/died.csv", "aiperf/died.jsonl"], "aiperf/died.jsonl", {"reset": 4, "refused": 66}),
        (["vllm/died.txt", "vllm/died.json"], "vllm/died.json", {"reset": 4, "refused": 64}),
        (["sglang/partly.txt", "sglang/partly.jsonl"], "sglang/partly.jsonl", {"http-503": 5}),
        (["guidellm/partly.txt", "guidellm/partly.csv", "guidellm/partly.json"], "guidellm/partly.json", {"http-503": 7}),
        (["genai_perf/good.csv", "genai_perf/good.txt", "genai_perf/good.json"], "genai_perf/good.json", {}),
    ],
)
def test_a_run_in_several_files_is_the_one_that_tells_most(names: list[str], source: str, errors: dict[str, int]) -> None:
    for order in (names, names[::-1]):
        (run,) = told_once([read(name) for name in order])
        assert (run.source, dict(run.errors)) == (source, errors)


def test_a_run_that_came_to_no_figures_is_one_where_its_window_is() -> None:
    one = read("aiperf/refused.jsonl")
    assert one.first_at is not None
    again = replace(one, source="b", metrics={}, rows=())
    assert len(told_once([one, again])) == 1
    assert len(told_once([one, replace(again, first_at=one.first_at - 60)])) == 2
    assert len(told_once([one, replace(again, first_at=None)])) == 2


def test_what_only_the_other_file_tells_is_added() -> None:
    (run,) = told_once([read("aiperf/died.jsonl"), read("aiperf/died.json")])
    assert run.configuration["max_concurrency"] == "4"
    assert run.metrics["output_throughput"] == pytest.approx(203.12, abs=0.01)
    assert len(run.samples["ttfts"]) == 30


def test_repetitions_are_not_one() -> None:
    one = read("vllm/good.json")
    other = replace(one, source="b", metrics={name: value * 1.01 for name, value in one.metrics.items()})
    assert len(told_once([one, other])) == 2
    assert len(told_once([one, one])) == 2  # of one file: somebody appended it twice
    assert len(told_once([read("vllm/good.json"), read("aiperf/good.json"), read("guidellm/good.json")])) == 3

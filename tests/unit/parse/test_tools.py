"""What benchmarks and clients really print and save, each in good and in bad states: every figure as read by eye before the reader was run on it.

The files are outputs of the tools against a small server that answers, refuses, resets, stalls, or turns away a share of the requests. Long arrays are trimmed, and
folders of the machine they were made on renamed.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from forensics import api, ruleset
from forensics.errors import UsageError
from forensics.model import BenchRun
from forensics.parse import bench, junit, load, matrix

DATA = Path(__file__).parents[2] / "data" / "bench"

# file: asked, ok, failed, errors by kind
COUNTS: dict[str, tuple[int | None, int | None, int | None, dict[str, int]]] = {
    # 346 requests, nothing else said
    "wrk/good.txt": (346, 346, 0, {}),
    # 423 requests, of which 83 Non-2xx; which status is not printed
    "wrk/partly.txt": (423, 340, 83, {"other": 83}),
    "wrk/rejected.txt": (1445, 0, 1445, {"other": 1445}),
    "wrk/reset.txt": (5045, 0, 5045, {"reset": 5045}),
    # "0 requests", no socket errors: nothing came back, and what was sent nobody counted
    "wrk/slow.txt": (None, 0, None, {}),
    "wrk/refused.txt": (None, None, 1, {"refused": 1}),
    "ab/good.txt": (100, 100, 0, {}),
    # Failed requests: 16 (Length), Non-2xx: 16: the same sixteen, not thirty-two
    "ab/partly.txt": (100, 84, 16, {"other": 16}),
    # "Complete requests: 50, Failed requests: 0", and Non-2xx responses: 50
    "ab/rejected.txt": (50, 0, 50, {"other": 50}),
    "ab/refused.txt": (None, None, 1, {"refused": 1}),
    "ab/reset.txt": (None, None, 1, {"reset": 1}),
    "ab/slow.txt": (None, None, 1, {"timed-out": 1}),
    "hey/good.txt": (100, 100, 0, {}),
    "hey/partly.txt": (100, 87, 13, {"http-503": 13}),
    "hey/rejected.txt": (48, 0, 48, {"http-429": 48}),
    "hey/refused.txt": (8, 0, 8, {"refused": 8}),
    "hey/slow.txt": (8, 0, 8, {"timed-out": 8}),
    # Successful requests: 20 of num_prompts=20
    "sglang/good.txt": (20, 20, 0, {}),
    # 15 of 20; its text does not say what became of the others (and an import that fails above it is none of them), its JSON does
    "sglang/partly.txt": (20, 15, 5, {}),
    "sglang/refused.txt": (None, None, 1, {"not-ready": 1}),
    "sglang/good.jsonl": (20, 20, 0, {}),
    "sglang/partly.jsonl": (20, 15, 5, {"http-503": 5}),
    "guidellm/good.json": (40, 40, 0, {}),
    "guidellm/partly.json": (40, 33, 7, {"http-503": 7}),
    "guidellm/good.csv": (40, 40, 0, {}),
    # neither its CSV nor its tables say in which way they failed
    "guidellm/partly.csv": (40, 33, 7, {"other": 7}),
    "guidellm/good.txt": (40, 40, 0, {}),
    "guidellm/partly.txt": (40, 33, 7, {"other": 7}),
    "vllm/good.txt": (20, 20, 0, {}),
    "vllm/good.json": (20, 20, 0, {}),
    "vllm/partly.txt": (20, 16, 4, {"http-503": 4}),
    "vllm/partly.json": (20, 16, 4, {"http-503": 4}),
    # Failed requests: 68, of which it prints ten ("capping to 10"); the file has them all
    "vllm/died.txt": (100, 32, 68, {"reset": 4, "refused": 6}),
    "vllm/died.json": (100, 32, 68, {"reset": 4, "refused": 64}),
    # the wait for the endpoint, and the error that it gave up with
    "vllm/refused.txt": (None, None, 2, {"refused": 2}),
    "vllm/rejected.txt": (None, None, 1, {"http-429": 1}),
    "vllm/throughput.json": (20, None, None, {}),
    "aiperf/good.txt": (20, 20, 0, {}),
    "aiperf/good.json": (20, 20, 0, {}),
    "aiperf/good.csv": (20, 20, 0, {}),
    "aiperf/partly.txt": (20, 15, 5, {"http-503": 5}),
    "aiperf/partly.json": (20, 15, 5, {"http-503": 5}),
    "aiperf/partly.jsonl": (20, 15, 5, {"http-503": 5}),
    "aiperf/partly.csv": (20, 15, 5, {"other": 5}),
    # the server was killed in the middle: four answers broke off, all after them were refused
    "aiperf/died.txt": (100, 30, 70, {"reset": 4, "refused": 66}),
    "aiperf/died.json": (100, 30, 70, {"reset": 4, "refused": 66}),
    "aiperf/died.jsonl": (100, 30, 70, {"reset": 4, "refused": 66}),
    "aiperf/died.csv": (100, 30, 70, {"other": 70}),
    # it comes to no table: "completed=20, cancelled=0, errors=20", and does not say which status it was
    "aiperf/rejected.txt": (20, 0, 20, {"other": 20}),
    "aiperf/refused.txt": (20, 0, 20, {"refused": 20}),
    "aiperf/refused.jsonl": (20, 0, 20, {"refused": 20}),
    "genai_perf/good.txt": (20, 20, 0, {}),
    "genai_perf/good.json": (20, 20, 0, {}),
    "genai_perf/good.csv": (20, 20, 0, {}),
    "lm_eval/results.json": (20, 20, 0, {}),
    # twelve tests, one of them skipped; three answers are wrong, which is no failure to answer
    "junit/good.xml": (11, 8, 0, {}),
    "junit/partly.xml": (11, 6, 3, {"http-503": 3}),
    "junit/refused.xml": (11, 0, 11, {"refused": 11}),
    "junit/slow.xml": (11, 0, 11, {"timed-out": 11}),
}

FIGURES: dict[str, dict[str, float]] = {
    "wrk/good.txt": {
        "mean_latency_ms": 35.24, "median_latency_ms": 34.83, "p75_latency_ms": 37.07, "p90_latency_ms": 40.07, "p99_latency_ms": 47.96, "duration_s": 3.11,
        "requests_per_sec": 111.35, "request_throughput": 111.35,
    },
    "wrk/partly.txt": {
        "mean_latency_ms": 28.96, "median_latency_ms": 33.84, "p75_latency_ms": 36.02, "p90_latency_ms": 39.18, "p99_latency_ms": 43.95, "duration_s": 3.11,
        "requests_per_sec": 136.11, "request_throughput": 136.11 * 340 / 423,
    },
    # "Latency 0.00us", "Requests/sec: 0.00" and, where all are turned away, 698.97: not the speed of a server
    "wrk/rejected.txt": {"duration_s": 2.07},
    "wrk/reset.txt": {"duration_s": 2.04},
    "wrk/slow.txt": {"duration_s": 3.03},
    "wrk/refused.txt": {},
    "ab/good.txt": {
        "concurrency": 4, "duration_s": 0.930, "requests_per_sec": 107.53, "mean_latency_ms": 37.2, "median_latency_ms": 36, "p66_latency_ms": 37,
        "p75_latency_ms": 37, "p80_latency_ms": 37, "p90_latency_ms": 39, "p95_latency_ms": 40, "p98_latency_ms": 45, "p99_latency_ms": 45, "request_throughput": 107.53,
    },
    "ab/partly.txt": {
        "concurrency": 4, "duration_s": 0.771, "requests_per_sec": 129.76, "mean_latency_ms": 30.826, "median_latency_ms": 33, "p66_latency_ms": 35,
        "p75_latency_ms": 36, "p80_latency_ms": 36, "p90_latency_ms": 38, "p95_latency_ms": 41, "p98_latency_ms": 41, "p99_latency_ms": 41,
        "request_throughput": 129.76 * 84 / 100,
    },
    "ab/rejected.txt": {"concurrency": 4, "duration_s": 0.252},
    "hey/good.txt": {  # seconds in the output
        "duration_s": 0.8253, "mean_latency_ms": 33.0, "requests_per_sec": 121.1647, "p10_latency_ms": 29.8, "p25_latency_ms": 30.3, "median_latency_ms": 33.5,
        "p75_latency_ms": 34.5, "p90_latency_ms": 35.9, "p95_latency_ms": 39.0, "p99_latency_ms": 43.2, "request_throughput": 121.1647,
    },
    "hey/partly.txt": {
        "duration_s": 0.8309, "mean_latency_ms": 31.7, "requests_per_sec": 120.3512, "p10_latency_ms": 6.5, "p25_latency_ms": 29.5, "median_latency_ms": 34.1,
        "p75_latency_ms": 36.8, "p90_latency_ms": 46.3, "p95_latency_ms": 47.0, "p99_latency_ms": 51.3, "request_throughput": 120.3512 * 87 / 100,
    },
    # the average is printed as NaN, the rate of refusals as 2837.1471 requests a second
    "hey/refused.txt": {"duration_s": 0.0028},
    "sglang/partly.txt": {  # the request rate is inf: no figure
        "max_request_concurrency": 4, "successful_requests": 15, "benchmark_duration_s": 0.42, "total_input_tokens": 480, "total_input_text_tokens": 480,
        "total_generated_tokens": 240, "total_generated_tokens_retokenized": 240, "request_throughput_req_s": 35.64, "input_token_throughput_tok_s": 1140.53,
        "output_token_throughput_tok_s": 570.26, "peak_output_token_throughput_tok_s": 240, "peak_concurrent_requests": 15,
        "total_token_throughput_tok_s": 1710.79, "concurrency": 3.25, "accept_length": 2.5, "mean_e2e_latency_ms": 91.26, "median_e2e_latency_ms": 91.19,
        "p90_e2e_latency_ms": 104.56, "p95_e2e_latency_ms": 106.21, "p99_e2e_latency_ms": 106.31, "mean_ttft_ms": 39.36, "median_ttft_ms": 39.14,
        "p90_ttft_ms": 57.45, "p95_ttft_ms": 57.69, "p99_ttft_ms": 57.86, "mean_tpot_ms": 3.46, "median_tpot_ms": 3.47, "p90_tpot_ms": 4.36, "p95_tpot_ms": 4.43,
        "p99_tpot_ms": 4.44, "mean_itl_ms": 3.21, "median_itl_ms": 2.64, "p90_itl_ms": 7.34, "p95_itl_ms": 8.53, "p99_itl_ms": 11.80, "max_itl_ms": 15.97,
    },
    "sglang/good.txt": {
        "max_request_concurrency": 4, "successful_requests": 20, "benchmark_duration_s": 0.55, "total_input_tokens": 640, "total_input_text_tokens": 640,
        "total_generated_tokens": 320, "total_generated_tokens_retokenized": 320, "request_throughput_req_s": 36.68, "input_token_throughput_tok_s": 1173.66,
        "output_token_throughput_tok_s": 586.83, "peak_output_token_throughput_tok_s": 320, "peak_concurrent_requests": 20,
        "total_token_throughput_tok_s": 1760.5, "concurrency": 3.43, "accept_length": 2.5, "mean_e2e_latency_ms": 93.47, "median_e2e_latency_ms": 94.49,
        "p90_e2e_latency_ms": 113.61, "p95_e2e_latency_ms": 114.65, "p99_e2e_latency_ms": 115.76, "mean_ttft_ms": 35.36, "median_ttft_ms": 34.40,
        "p90_ttft_ms": 46.93, "p95_ttft_ms": 50.07, "p99_ttft_ms": 56.71, "mean_tpot_ms": 3.87, "median_tpot_ms": 3.85, "p90_tpot_ms": 4.51, "p95_tpot_ms": 4.53,
        "p99_tpot_ms": 4.55, "mean_itl_ms": 3.65, "median_itl_ms": 3.39, "p90_itl_ms": 7.63, "p95_itl_ms": 9.41, "p99_itl_ms": 12.81, "max_itl_ms": 15.13,
    },
    "guidellm/partly.json": {  # its own table: TTFT 49.2, 50.5, p95 65.3; ITL 4.6, 4.6, 5.8; TPOT 7.4, 7.3, 9.1; latency 0.1 s
        "mean_ttft_ms": 49.24277, "median_ttft_ms": 50.50778, "p90_ttft_ms": 63.275814, "p95_ttft_ms": 65.252780, "p99_ttft_ms": 83.402157,
        "mean_tpot_ms": 7.395967, "median_tpot_ms": 7.337645, "p90_tpot_ms": 8.497074, "p95_tpot_ms": 9.131134, "p99_tpot_ms": 9.315103,
        "mean_itl_ms": 4.606180, "median_itl_ms": 4.584725, "p90_itl_ms": 5.436643, "p95_itl_ms": 5.783669, "p99_itl_ms": 7.457590,
        "mean_e2e_latency_ms": 125.519897, "median_e2e_latency_ms": 123.520851, "p90_e2e_latency_ms": 146.220446, "p95_e2e_latency_ms": 153.350353,
        "p99_e2e_latency_ms": 154.045820, "request_throughput": 24.378144, "output_throughput": 390.050304, "total_token_throughput": 1170.150912,
        "duration_s": 1.353672, "incomplete": 0,
    },
    "guidellm/partly.txt": {  # latencies of "0.1" s are no figures; 29.5 requests a second are those that failed as well
        "duration_s": 1.4, "incomplete": 0, "mean_ttft_ms": 49.2, "median_ttft_ms": 50.5, "p95_ttft_ms": 65.3, "mean_itl_ms": 4.6, "median_itl_ms": 4.6, "p95_itl_ms": 5.8,
        "mean_tpot_ms": 7.4, "median_tpot_ms": 7.3, "p95_tpot_ms": 9.1, "requests_per_sec": 29.5, "output_throughput": 390.1,
    },
    "vllm/died.txt": {
        "successful_requests": 32, "failed_requests": 68, "maximum_request_concurrency": 4, "benchmark_duration_s": 2.53, "total_input_tokens": 1024,
        "total_generated_tokens": 512, "request_throughput_req_s": 12.64, "output_token_throughput_tok_s": 202.17, "peak_output_token_throughput_tok_s": 249,
        "peak_concurrent_requests": 18, "total_token_throughput_tok_s": 606.5, "mean_ttft_ms": 64.56, "median_ttft_ms": 65.37, "p90_ttft_ms": 78.78, "p99_ttft_ms": 86.85,
        "mean_tpot_ms": 11.84, "median_tpot_ms": 11.84, "p90_tpot_ms": 12.59, "p99_tpot_ms": 13.68, "mean_itl_ms": 11.84, "median_itl_ms": 11.77, "p90_itl_ms": 16.06,
        "p99_itl_ms": 19.90, "mean_e2el_ms": 242.14, "median_e2el_ms": 242.75, "p90_e2el_ms": 261.97, "p99_e2el_ms": 272.27,
    },
    "vllm/refused.txt": {},
    "vllm/latency.txt": {  # seconds
        "avg_latency": 0.06391517630017915, "p10_latency": 0.05379432990011992, "p25_latency": 0.05877484450002157, "median_latency": 0.06059951800034469,
        "p75_latency": 0.07089050100012173, "p90_latency": 0.07958723640040262, "p99_latency": 0.07976147063953248,
    },
    "vllm/throughput.txt": {"requests_per_second": 238.42, "tokens_per_second": 11479.75, "output_tokens_per_second": 3814.66},
    "vllm/throughput.json": {
        "requests_per_second": 238.416462, "tokens_per_second": 11479.752631, "elapsed_time": 0.083886825, "num_requests": 20, "total_num_tokens": 963,
    },
    "aiperf/good.csv": {
        "mean_ttft_ms": 32.02, "median_ttft_ms": 31.46, "p90_ttft_ms": 38.62, "p95_ttft_ms": 41.10, "p99_ttft_ms": 52.66, "mean_itl_ms": 3.41, "median_itl_ms": 3.38,
        "p90_itl_ms": 4.08, "p95_itl_ms": 4.32, "p99_itl_ms": 4.36, "mean_e2e_latency_ms": 83.23, "median_e2e_latency_ms": 82.77, "p90_e2e_latency_ms": 93.06,
        "p95_e2e_latency_ms": 94.99, "p99_e2e_latency_ms": 105.52, "duration_s": 0.51, "output_throughput": 608.10, "request_throughput": 38.01,
        "total_token_throughput": 1824.29,
    },
    "aiperf/died.csv": {
        "mean_ttft_ms": 64.01, "median_ttft_ms": 62.99, "p90_ttft_ms": 81.20, "p95_ttft_ms": 84.59, "p99_ttft_ms": 92.95, "mean_itl_ms": 11.14, "median_itl_ms": 11.07,
        "p90_itl_ms": 12.05, "p95_itl_ms": 12.49, "p99_itl_ms": 12.88, "mean_e2e_latency_ms": 231.16, "median_e2e_latency_ms": 231.62, "p90_e2e_latency_ms": 256.81,
        "p95_e2e_latency_ms": 261.37, "p99_e2e_latency_ms": 266.00, "duration_s": 2.00, "output_throughput": 203.12, "request_throughput": 12.70,
        "total_token_throughput": 609.37,
    },
    "aiperf/rejected.txt": {},
    "aiperf/refused.jsonl": {},
    "genai_perf/good.csv": {
        "mean_ttft_ms": 28.16, "median_ttft_ms": 30.52, "p90_ttft_ms": 35.84, "p95_ttft_ms": 35.98, "p99_ttft_ms": 37.46, "mean_itl_ms": 3.42, "median_itl_ms": 3.36,
        "p90_itl_ms": 4.00, "p95_itl_ms": 4.07, "p99_itl_ms": 4.20, "mean_e2e_latency_ms": 79.44, "median_e2e_latency_ms": 79.53, "p90_e2e_latency_ms": 90.09,
        "p95_e2e_latency_ms": 91.82, "p99_e2e_latency_ms": 93.11, "output_throughput": 725.60, "request_throughput": 45.35,
    },
    "lm_eval/results.json": {"exact_match": 0.75},
    "lm_eval/good.txt": {"exact_match": 0.75},
    "junit/good.xml": {"pass_rate": 8 / 11},
    "junit/partly.xml": {"pass_rate": 6 / 8},
    "junit/refused.xml": {},
}  # fmt: skip

# the same run in another form: all that it tells as well is the same, but for what rounding takes
TOLD_AGAIN = [
    ("aiperf/good.csv", "aiperf/good.json", 19, 0.0051),
    ("aiperf/good.csv", "aiperf/good.txt", 15, 1e-9),
    ("aiperf/partly.csv", "aiperf/partly.json", 19, 0.0051),
    ("aiperf/partly.csv", "aiperf/partly.txt", 15, 1e-9),
    ("aiperf/partly.json", "aiperf/partly.jsonl", 15, 1e-9),
    ("aiperf/died.csv", "aiperf/died.json", 19, 0.0051),
    ("aiperf/died.csv", "aiperf/died.txt", 15, 1e-9),
    ("aiperf/died.json", "aiperf/died.jsonl", 15, 1e-9),
    ("genai_perf/good.csv", "genai_perf/good.json", 17, 0.0051),
    ("genai_perf/good.csv", "genai_perf/good.txt", 11, 1e-9),  # it prints no median
    ("guidellm/partly.json", "guidellm/partly.csv", 25, 1e-9),
    ("guidellm/good.json", "guidellm/good.csv", 25, 1e-9),
    ("guidellm/good.json", "guidellm/good.txt", 13, 0.051),
    ("vllm/latency.txt", "vllm/latency.json", 7, 1e-9),
    ("vllm/good.txt", "vllm/good.json", 17, 0.0051),
    ("vllm/partly.txt", "vllm/partly.json", 17, 0.0051),
    ("vllm/died.txt", "vllm/died.json", 17, 0.0051),
]

# library: what the nine doors look like through it, in order: answered, refused, reset, stalled, 404, 503, 429, https on http, no such host
DOORS = {
    "urllib": {"refused": 1, "reset": 1, "timed-out": 1, "http-404": 1, "http-503": 1, "http-429": 1, "tls": 1, "dns": 1},
    "requests": {"refused": 1, "reset": 1, "timed-out": 1, "http-404": 1, "http-503": 1, "http-429": 1, "tls": 1, "dns": 1},
    "httpx": {"refused": 1, "reset": 1, "timed-out": 1, "http-404": 1, "http-503": 1, "http-429": 1, "tls": 1, "dns": 1},
    "aiohttp": {"refused": 1, "reset": 1, "timed-out": 1, "http-404": 1, "http-503": 1, "http-429": 1, "tls": 1, "dns": 1},
    # its message is "Connection error." for four of them: which one it was only the traceback says
    "openai": {"other": 4, "timed-out": 1, "http-404": 1, "http-503": 1, "http-429": 1},
}
COMMANDS = {
    "curl": [{}, {"refused": 1}, {"reset": 1}, {"timed-out": 1}, {"http-404": 1}, {"tls": 1}, {"dns": 1}, {"http-503": 1}, {"http-429": 1}],
    "wget": [{}, {"refused": 1}, {"reset": 1}, {"timed-out": 1}, {"http-404": 1}, {"tls": 1}, {"dns": 1}],
}


def read(name: str) -> BenchRun:
    """The one run in a file."""
    text = (DATA / name).read_bytes().decode()  # as it is: progress bars and messages share lines
    if name.endswith(".xml"):
        run = junit.read(text, source="bench")
        assert run is not None
        return run
    runs, problems = bench.read_json(text) if name.endswith((".json", ".jsonl")) else bench.read(text)
    assert not problems
    assert len(runs) == 1
    return runs[0]


@pytest.mark.parametrize("name", COUNTS)
def test_requests_are_counted_as_they_went(name: str) -> None:
    run = read(name)
    assert (run.asked, run.ok, run.failed, dict(run.errors)) == COUNTS[name]


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_as_it_is_printed(name: str) -> None:
    found = {key: value for key, value in read(name).metrics.items() if not (name.startswith("junit") and key == "duration_s")}
    assert found == pytest.approx(FIGURES[name], rel=1e-5)


@pytest.mark.parametrize(("name", "again", "many", "rounded"), TOLD_AGAIN)
def test_a_run_is_the_same_in_each_form_that_it_is_told_in(name: str, again: str, many: int, rounded: float) -> None:
    one, other = read(name).metrics, read(again).metrics
    both = one.keys() & other.keys()
    assert len(both) >= many
    assert {key: other[key] for key in both} == pytest.approx({key: one[key] for key in both}, abs=rounded)


@pytest.mark.parametrize(
    "name", [name for name in COUNTS if not name.startswith(("sglang", "vllm")) or (name.startswith("sglang/") and name.endswith("jsonl"))]
)
def test_the_tool_is_known_by_its_output(name: str) -> None:
    assert read(name).tool == name.partition("/")[0]


@pytest.mark.parametrize("library", DOORS)
def test_each_library_says_in_its_own_words_what_it_met(library: str) -> None:
    run = read(f"{library}/doors.txt")
    assert (run.tool, run.ok, run.failed, dict(run.errors)) == (library, 1, 8, DOORS[library])


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_says_in_its_own_words_what_it_met(command: str) -> None:
    runs, _ = bench.read((DATA / command / "doors.txt").read_text(encoding="utf-8"))
    assert [run.tool for run in runs] == [command] * len(runs)
    assert [dict(run.errors) for run in runs] == COMMANDS[command]


@pytest.mark.parametrize("library", ["urllib", "httpx", "openai"])
def test_a_traceback_with_all_that_it_was_chained_to_is_one_refused_request(library: str) -> None:
    run = read(f"{library}/refused-traceback.txt")
    assert (run.failed, dict(run.errors)) == (1, {"refused": 1})


def test_the_window_is_that_of_the_requests() -> None:
    run = read("guidellm/partly.json")
    assert (run.first_at, run.last_at) == pytest.approx((1796078251.911929, 1796078253.265601))
    assert all(run.first_at <= row.at <= run.last_at for row in run.rows if row.kind and row.at and run.first_at and run.last_at)
    tests = read("junit/partly.xml")
    assert tests.last_at is not None
    assert tests.first_at is not None
    assert tests.last_at - tests.first_at == pytest.approx(3.982)  # 22:30:22.158790+00:00 and 3.982 s


def test_whom_it_asked_and_what_it_asked_for_is_kept() -> None:
    assert (read("ab/good.txt").host, read("ab/good.txt").port, read("ab/good.txt").path) == ("127.0.0.1", 8123, "/v1/completions")
    assert (read("wrk/good.txt").host, read("wrk/good.txt").port) == ("127.0.0.1", 8123)
    assert read("lm_eval/results.json").configuration == {"task": "tiny", "model_id": "m", "num_fewshot": "0"}
    assert read("guidellm/partly.json").configuration == {"strategy": "concurrent", "max_concurrency": "4"}
    assert len(read("guidellm/partly.json").samples["ttfts"]) == 33


def test_what_was_asked_of_a_serving_benchmark_and_each_of_its_requests_are_kept() -> None:
    run = read("sglang/partly.jsonl")
    assert run.configuration["request_rate"] == "inf"
    assert (run.metrics["p99_itl_ms"], run.metrics["accept_length"], run.metrics["duration"]) == pytest.approx((11.8016, 2.5, 0.420858), rel=1e-4)
    assert (len(run.samples["ttfts"]), sum(value > 0 for value in run.samples["ttfts"])) == (20, 15)  # a nought where nothing came


def test_two_runs_of_a_load_generator_in_one_file_are_two() -> None:
    text = "".join((DATA / name).read_text(encoding="utf-8") for name in ("wrk/good.txt", "hey/partly.txt", "ab/good.txt"))
    assert [(run.tool, run.asked, run.ok) for run in bench.read(text)[0]] == [("wrk", 346, 346), ("hey", 100, 87), ("ab", 100, 100)]


def test_a_summary_of_another_program_is_none_of_a_load_generator() -> None:
    assert load.read(["Summary:", "  all is well", "  Total: 12 things"]) is None


# --------------------------------------------------------------------------- what diagnose says of the file alone

SAID = {
    "wrk/good.txt": "healthy",
    "wrk/partly.txt": "unknown",
    "wrk/rejected.txt": "unknown",
    "wrk/slow.txt": "unknown",
    "ab/rejected.txt": "unknown",
    "hey/good.txt": "healthy",
    "hey/partly.txt": "unknown",
    "hey/rejected.txt": "bench-overload",
    "hey/refused.txt": "evidence-missing",
    "sglang/good.txt": "healthy",
    "sglang/good.jsonl": "healthy",
    "junit/good.xml": "healthy",
    "junit/partly.xml": "bench-overload",
    "guidellm/good.json": "healthy",
    "guidellm/partly.json": "unknown",  # 7 of 40 turned away: less than the fifth from which a share alone is called an overload
    "lm_eval/results.json": "healthy",
    "aiperf/good.txt": "healthy",
    "aiperf/good.json": "healthy",
    "aiperf/good.csv": "healthy",
    "aiperf/refused.jsonl": "evidence-missing",
    "genai_perf/good.txt": "healthy",
    "guidellm/good.csv": "healthy",
    "guidellm/good.txt": "healthy",
    "vllm/good.json": "healthy",
    "vllm/refused.txt": "evidence-missing",
}


@pytest.mark.parametrize("name", SAID)
def test_a_folder_with_the_file_alone_is_called_what_the_file_tells(name: str, tmp_path: Path) -> None:
    (tmp_path / f"bench{Path(name).suffix}").write_bytes((DATA / name).read_bytes())
    (found,) = api.diagnose([str(tmp_path)], rules=ruleset.shipped_rules())
    assert str(found.cause) == SAID[name], found.headline


def test_a_result_alone_is_told_as_what_its_client_met(tmp_path: Path) -> None:
    (tmp_path / "x17").write_bytes((DATA / "vllm" / "died.json").read_bytes())
    (found,) = api.diagnose([str(tmp_path)], rules=ruleset.shipped_rules())
    assert "client could not connect" in found.headline


BESIDE = [
    "junit/partly.xml", "guidellm/partly.json", "guidellm/partly.csv", "guidellm/partly.txt", "lm_eval/results.json", "hey/partly.txt", "aiperf/died.json", "aiperf/died.csv",
    "aiperf/died.jsonl", "aiperf/died.txt", "aiperf/refused.txt", "genai_perf/good.csv", "genai_perf/good.txt", "genai_perf/good.json", "sglang/partly.jsonl",
]  # fmt: skip


@pytest.mark.parametrize("name", BESIDE)
def test_a_result_is_recognised_beside_a_log_under_a_name_that_says_nothing(name: str, tmp_path: Path) -> None:
    (tmp_path / "x17").write_bytes((DATA / name).read_bytes())
    (tmp_path / "x18").write_bytes((DATA.parents[2] / "samples" / "healthy" / "server.log").read_bytes())
    (run,) = api.benches_of(str(tmp_path))
    assert (run.tool, run.source, run.asked, run.ok) == (name.partition("/")[0], "x17", *COUNTS[name][:2])


@pytest.mark.parametrize(("name", "its_own"), [("aiperf/partly.json", False), ("vllm/died.json", False), ("requests/doors.txt", True)])
def test_a_request_that_somebody_else_was_refused_is_not_what_the_client_met(name: str, its_own: bool, tmp_path: Path) -> None:
    """The log has somebody's POST to a path that is not there; only one of these clients met a 404."""
    (tmp_path / "x17").write_bytes((DATA / name).read_bytes())
    (tmp_path / "x18").write_bytes((DATA.parents[2] / "samples" / "healthy" / "server.log").read_bytes())
    (found,) = api.diagnose([str(tmp_path)], rules=ruleset.shipped_rules())
    assert ("/v2/completions with 404" in found.headline) is its_own


def test_a_result_of_more_than_is_read_at_once_has_all_its_figures_and_says_what_was_left_out(tmp_path: Path) -> None:
    result = json.loads((DATA / "vllm" / "died.json").read_text(encoding="utf-8"))
    result["itls"] = "@"
    text = json.dumps(result).replace('"@"', "[" + ", ".join(["[0.0123456789, 0.0123456789]"] * 1_200_000) + "]")
    assert len(text) > 33 << 20
    (tmp_path / "x17").write_text(text, encoding="utf-8")
    unread: list[str] = []
    (run,) = api.benches_of(str(tmp_path / "x17"), unread=unread)
    assert (run.asked, run.ok, run.failed, dict(run.errors)) == COUNTS["vllm/died.json"]
    assert run.metrics == read("vllm/died.json").metrics
    assert not run.samples
    assert ["itls" in told for told in unread] == [True]


# --------------------------------------------------------------------------- names of an own harness

OWN = [{"breite": 4, "laenge": 2.5, "gut": 90}, {"breite": 32, "laenge": 1.1, "gut": 20}]


def test_names_of_an_own_harness_are_read_as_they_are_said_to_mean() -> None:
    fields = matrix.fields_of("breite=budget, laenge=accept_length,gut=correct")
    assert fields == {"breite": "budget", "laenge": "accept_len", "gut": "coding_pass"}
    (run,), _ = bench.read_json(json.dumps(OWN), fields=fields)
    assert [(row.budget, row.accept_len, row.correct) for row in run.matrix] == [(4, 2.5, 0.9), (32, 1.1, 0.2)]
    (run,), _ = bench.read("| Breite | Laenge |\n|---|---|\n| 4 | 2.5 |\n| 32 | 1.1 |\n", fields=matrix.fields_of("breite=budget,laenge=accept_len"))
    assert [(row.budget, row.accept_len) for row in run.matrix] == [(4, 2.5), (32, 1.1)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("breite", "no pair"),
        ("=budget", "no pair"),
        ("a=budgett", "did you mean 'budget'"),
        ("a=budget,a=topk", "twice"),
        ("a=budget,b=width", "twice"),
    ],
)
def test_a_mapping_that_makes_no_sense_is_refused_with_its_part(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        matrix.fields_of(text)


# --------------------------------------------------------------------------- hostile results


def test_noughts_and_what_is_no_number_are_no_figures() -> None:
    item: dict[str, Any] = {"metrics": {"request_totals": {"successful": 0, "errored": 3}, "request_latency": {"successful": {"mean": 0.0}}}}
    (run,), _ = bench.read_json(json.dumps({"benchmarks": [item]}))
    assert (run.asked, run.ok, run.failed, dict(run.metrics)) == (3, 0, 3, {})
    item["metrics"]["request_totals"] = {"successful": 3, "errored": 0}
    item["metrics"]["request_latency"]["successful"] = {"mean": float("nan"), "median": float("inf")}
    (run,), _ = bench.read_json(json.dumps({"benchmarks": [item]}))
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
    assert bench.read_json(text)[0] == ()


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
    assert [(run.asked, run.ok, dict(run.metrics)) for run in bench.read(text)[0] if run.asked or run.ok or run.metrics] == []


def test_a_table_whose_cells_never_end_stays_linear() -> None:
    rows = ["NVIDIA AIPerf | LLM Metrics", "┃ Metric ┃ avg ┃", "│ Request Count (requests) │ 20 │", *(["│ and so on, and so on │  │"] * 60_000)]
    started = time.process_time()
    (run,), _ = bench.read("\n".join(rows))
    assert (run.asked, dict(run.metrics)) == (None, {})
    assert time.process_time() - started < 20


def test_a_record_of_a_request_with_times_that_are_none_counts_all_the_same() -> None:
    lines = [
        {"metadata": {"request_start_ns": at}, "metrics": {"request_latency": {"value": 1, "unit": []}}, "error": None}
        for at in (-1, 1e30, None, "9" * 400)
    ]
    (run,), _ = bench.read_json("\n".join(map(json.dumps, lines)))
    assert (run.asked, run.ok, run.first_at, dict(run.metrics)) == (4, 4, None, {})


def test_a_report_of_tests_expands_nothing_and_stays_linear() -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><testsuite tests="1"><testcase name="&b;"/></testsuite>'
    run = junit.read(bomb)
    assert run is not None
    assert run.rows[0].text == "&b;"
    broken = '<testsuite tests="9">' + '<testcase name="a' * 200_000
    assert junit.read(broken) is None


def test_of_a_result_that_breaks_off_in_its_arrays_the_figures_before_them_are_kept(tmp_path: Path) -> None:
    numbers = ", ".join(["0.123456789"] * 400_000)  # 5 MB on one line: only a head is looked at to know what it is
    text = f'{{"num_prompts": 9, "completed": 8, "failed": 1, "request_throughput": 100.5, "ttfts": [{numbers}'
    (tmp_path / "a.json").write_text(text + "]}", encoding="utf-8")
    (run,) = api.benches_of(str(tmp_path))
    assert (run.asked, run.ok, run.failed, run.metrics["request_throughput"]) == (9, 8, 1, 100.5)
    (run,), (problem,) = bench.read_json(text)
    assert (run.asked, run.ok, run.failed, run.metrics["request_throughput"]) == (9, 8, 1, 100.5)
    assert "breaks off" in problem.text
    assert bench.read_json('{"completed": 12')[0] == ()  # of 1234, perhaps

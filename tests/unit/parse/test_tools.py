"""Every figure that benchmarks print and save, as read by eye before the reader was run on it."""

from __future__ import annotations

import pytest

from forensics.parse import bench, load
from tests.unit.parse.results import COUNTS, DATA, read

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

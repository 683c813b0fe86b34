"""Give one name to a figure that benchmarks print and save under several. Never changes a value but for its unit."""

from __future__ import annotations

from collections.abc import Mapping

from forensics import lazily

# a printed label's unit, which the saved name does without
_UNIT = lazily.pattern(r"_(?:req_s|tok_s|requests_s|tokens_s)$")
_NAMES = {
    "output_token_throughput": "output_throughput", "input_token_throughput": "input_throughput", "benchmark_duration_s": "duration_s", "duration": "duration_s",
    "elapsed_time": "duration_s", "successful_requests": "completed", "failed_requests": "failed", "total_generated_tokens": "total_output_tokens",
    "total_generated_tokens_retokenized": "total_output_tokens_retokenized",
    "maximum_request_concurrency": "max_concurrency", "max_request_concurrency": "max_concurrency", "peak_concurrent_requests": "max_concurrent_requests",
    "peak_output_token_throughput": "max_output_tokens_per_s", "requests_per_second": "request_throughput", "tokens_per_second": "total_token_throughput",
    "output_tokens_per_second": "output_throughput", "acceptance_length": "accept_length", "acc_length": "accept_length", "accept_len": "accept_length",
    "spec_decode_acceptance_length": "accept_length", "spec_accept_length": "accept_length",
}  # fmt: skip
_LATENCY = lazily.pattern(r"^(?P<kind>mean|avg|median|p\d{1,2}(?:\.\d+)?)_(?P<what>e2el|e2e_latency|latency)(?P<unit>_ms|_s)?$")


def called(metrics: Mapping[str, float]) -> dict[str, float]:
    """The same figures, each under one name; of a figure that is there under two, the first counts."""
    found: dict[str, float] = {}
    for name, value in metrics.items():
        if latency := _LATENCY.match(name):
            kind = "mean" if latency["kind"] == "avg" else latency["kind"]
            found.setdefault(f"{kind}_e2e_latency_ms", value if latency["unit"] == "_ms" else value * 1000)
        else:
            bare = _UNIT.sub("", name)
            found.setdefault(_NAMES.get(bare, bare), value)
    return found

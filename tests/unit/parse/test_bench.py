"""Benchmark results, as tools really print and save them."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.model import BenchRow, BenchRun
from tests.unit.parse.results import read_json, read_text

DATA = Path(__file__).parents[2] / "data" / "parse" / "bench"


def text_of(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")


def read(name: str) -> BenchRun:
    runs, problems = read_text(text_of(name), source="bench.txt", latest=1796000000.0)
    assert problems == ()
    assert len(runs) == 1
    return runs[0]


def row_of(run: BenchRun, metric: str) -> BenchRow:
    return next(row for row in run.rows if row.metric == metric)


# --------------------------------------------------------------------------- printed


FULL_BAR = "100%|██████████| 100/100 [00:02<00:00, 34.85it/s]\n"
ONE_DONE = "============ Serving Benchmark Result ============\nSuccessful requests:                     1\nBenchmark duration (s):                  2.87\n==================================================\n"


@pytest.mark.parametrize(
    ("above", "expected"),
    [
        pytest.param(FULL_BAR, (100, 1, 99), id="a bar that came to its end"),
        pytest.param("  1%|          | 1/100 [00:02<04:45,  2.88s/it]\n", (None, 1, None), id="a bar that did not"),
        pytest.param("", (None, 1, None), id="no bar"),
        pytest.param("python3 -m sglang.bench_serving --num-prompts 30 --seed 1\n", (30, 1, 29), id="a command without a prompt before it"),
        pytest.param("vllm bench serve \\\n  --num-prompts=30 \\\n  --seed 1\n" + FULL_BAR, (100, 1, 99), id="a bar is nearer than a command"),
        pytest.param("bench --num-prompts 30\nbench --num-prompts 40\n", (None, 1, None), id="two commands"),
    ],
)
def test_what_was_sent_and_the_result_does_not_count_has_failed(above: str, expected: tuple[int | None, int, int | None]) -> None:
    (run,), _ = read_text(above + ONE_DONE)
    assert (run.asked, run.ok, run.failed) == expected


def test_a_log_with_colons_and_numbers_is_no_result():
    assert read_text("INFO: 12\nstep: 3\nTotal time: 4.5 s\n") == ((), ())


def test_a_warm_up_frame_is_no_result_block():
    runs, _ = read_text("======== Warmup Begin ========\nbatch size: 1\n======== Warmup End ========\nlatency: 1.5 s\n")
    assert runs[0].metrics == {"batch_size": 1.0, "latency": 1.5}
    assert runs[0].ok is None


def test_a_block_that_counts_its_failures():
    run = read("race.txt")
    assert (run.tool, run.asked, run.ok, run.failed, run.errors) == ("vllm bench serve", 4, 0, 4, {"refused": 4})
    assert (run.host, run.port, run.path) == ("127.0.0.1", 8000, "/v1/completions")
    assert run.metrics["successful_requests"] == 0
    assert run.metrics["failed_requests"] == 4
    assert row_of(run, "failed_requests").text == "Failed requests:                         4"
    refused = [row for row in run.rows if row.kind == "refused"]
    assert [row.text for row in refused] == ["ConnectionRefusedError: [Errno 111] Connect call failed ('127.0.0.1', 8000)"] * 4


def test_rejected_requests_that_a_tool_counts_as_successful_are_only_measured():
    run = read("rejected-counted.txt")
    assert (run.tool, run.asked, run.ok, run.failed, run.errors) == ("sglang.bench_serving", 4, 4, 0, {})
    assert run.metrics["total_generated_tokens"] == 128
    assert run.metrics["total_generated_tokens_retokenized"] == 0
    assert run.metrics["median_ttft_ms"] == 0
    assert row_of(run, "total_generated_tokens_retokenized").text == "Total generated tokens (retokenized):    0"


def test_a_row_keeps_its_spacing_so_that_it_can_be_cited():
    run = read("queue-full.txt")
    row = row_of(run, "total_generated_tokens_retokenized")
    assert row.text == "Total generated tokens (retokenized):    630"
    assert row.text == text_of("queue-full.txt").split("\n")[row.line_no - 1].rstrip()


def test_a_base_url_stands_over_the_default_port():
    run = read("wrong-port.txt")
    assert (run.host, run.port, run.errors, run.asked) == ("127.0.0.1", 8001, {"refused": 3}, None)
    assert run.first_at is not None


def test_two_commands_are_two_runs():
    runs, _ = read_text(text_of("not-ready-twice.txt"), source="b")
    assert [(r.errors, r.rows[0].line_no) for r in runs] == [({"not-ready": 1}, 5), ({"not-ready": 1}, 12)]


def test_two_result_blocks_are_two_runs():
    block = "============ Serving Benchmark Result ============\nSuccessful requests:      {}\nFailed requests:    0\n==================================================\n"
    runs, _ = read_text(block.format(3) + "\n" + block.format(5), source="b")
    assert [r.ok for r in runs] == [3, 5]


def test_few_shot_scores():
    (run,), _ = read_text("Accuracy: 0.125\nInvalid: 0.910\nLatency: 4.231 s\nOutput throughput: 1203.123 token/s\n")
    assert run.metrics == {"accuracy": 0.125, "invalid": 0.91, "latency": 4.231, "output_throughput": 1203.123}


def test_scores_of_an_evaluation_table():
    (run,), _ = read_text(
        "|Tasks|Version|     Filter     |n-shot|  Metric   |   |Value |   |Stderr|\n|gsm8k|      3|flexible-extract|     5|exact_match|↑  |0.1230|±  |0.0091|\n"
    )
    assert run.metrics == {"exact_match": 0.123}
    assert run.rows[0].line_no == 2


@pytest.mark.parametrize(
    "text",
    [
        "| budget | topk | accept_len | coding_pass |\n|---|---|---|---|\n| 32 | 4 | 2.789 | 12.5 |\n",
        "budget,topk,accept_len,coding_pass\n32,4,2.789,0.125\n",
        "budget  topk  accept_len  coding_pass\n32 4 2.789 0.125\n",
        "budget=32 topk=4 window=2048 accept_len=2.789 coding_pass=0.125\n",
    ],
    ids=["markdown", "csv", "columns", "pairs"],
)
def test_a_matrix_as_text(text):
    (run,), _ = read_text(text)
    (row,) = run.matrix
    assert (row.budget, row.topk, row.accept_len, row.correct) == (32, 4, 2.789, 0.125)


# --------------------------------------------------------------------------- JSON


def test_a_matrix_row_cites_the_label_and_the_raw_figure():
    (run,), problems = read_json(text_of("matrix.json"), source="m")
    assert problems == ()
    assert len(run.matrix) == 11
    last = run.matrix[-1]
    assert (last.label, last.budget, last.topk, last.accept_len, last.correct) == ("budget=32 topk=4 window=2048", 32, 4, 2.789, 0.125)
    assert last.label in last.text
    assert '"coding_pass": 0.125' in last.text
    assert "\n" not in last.text
    assert text_of("matrix.json").split("\n")[last.line_no - 1].strip() == "{"


def test_a_matrix_that_breaks_off_keeps_what_was_complete():
    text = text_of("matrix.json")
    (run,), problems = read_json(text[: text.rindex('"coding_pass"')], source="m")
    assert len(run.matrix) == 10
    assert len(problems) == 1
    assert problems[0].line > 100


def test_a_matrix_inside_an_object_has_its_own_lines():
    (run,), _ = read_json(
        '{\n "run": "x",\n "results": [\n  {"budget": 4, "topk": 1,\n   "accept_len": 2.0},\n  {"budget": 8, "topk": 1, "accept_len": 1.0}\n ]\n}\n'
    )
    assert [(m.line_no, m.budget) for m in run.matrix] == [(4, 4), (6, 8)]
    assert run.matrix[0].text == '{"budget": 4, "topk": 1, "accept_len": 2.0}'


def test_json_lines_of_a_speculative_sweep():
    (run,), _ = read_json(
        '{"batch_size": 1, "topk": 4, "num_draft_tokens": 16, "acc_length": 2.5, "speed": 9}\n{"batch_size": 1, "topk": 0, "num_draft_tokens": 0, "acc_length": -1}\n'
    )
    assert [(m.budget, m.topk, m.accept_len) for m in run.matrix] == [(16, 4, 2.5), (0, 0, None)]


def test_a_saved_result_with_error_texts():
    text = '{"backend": "openai", "num_prompts": 3, "completed": 1, "failed": 2, "request_throughput": 0.5, "errors": ["", "Traceback\\n  x\\nConnectionRefusedError: [Errno 111]", "odd"]}'
    (run,), _ = read_json(text)
    assert (run.tool, run.asked, run.ok, run.failed, run.errors) == ("openai", 3, 1, 2, {"refused": 1, "other": 1})
    assert run.metrics["request_throughput"] == 0.5


def test_a_result_without_a_failed_count_fails_what_is_not_completed():
    (run,), _ = read_json('{"num_prompts": 8, "completed": 5, "duration": 1.0}')
    assert (run.asked, run.ok, run.failed) == (8, 5, 3)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"object":"error","message":"The input (61709 tokens) is longer than the model\'s context length (40960 tokens).","code":400}', "too-long"),
        ('{"error":{"message":"The model `x` does not exist.","type":"NotFoundError","code":404}}', "http-404"),
        ('{"detail":"Not Found"}', "http-404"),
        ('{"error":{"message":"boom","code":500}}', "http-500"),
        ('{"error":"Connection refused"}', "refused"),
    ],
)
def test_an_error_body_is_a_failed_request(text, kind):
    (run,), _ = read_json(text)
    assert run.errors == {kind: 1}


def test_json_that_measures_nothing_is_no_run():
    assert read_json('{"a": 1, "b": [true]}') == ((), ())
    assert read_json("[]") == ((), ())

"""What benchmarks and clients really print and save, each in good and in bad states, and how many requests each file tells of as read by eye.

The files are outputs of the tools against a small server that answers, refuses, resets, stalls, or turns away a share of the requests. Long arrays are trimmed, and
folders of the machine they were made on renamed.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from forensics import ruleset
from forensics.model import BenchRun, Columns
from forensics.parse import bench, junit, matrix

COLUMNS = ruleset.shipped_rules().columns
read_text = partial(bench.read, columns=COLUMNS)
read_json = partial(bench.read_json, columns=COLUMNS)
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


def with_own(fields: str) -> Columns:
    """The names of columns with those of an own harness, as they are given on the command line."""
    return COLUMNS.with_own(matrix.fields_of(fields, COLUMNS))


def read(name: str) -> BenchRun:
    """The one run in a file."""
    text = (DATA / name).read_bytes().decode()  # as it is: progress bars and messages share lines
    if name.endswith(".xml"):
        run = junit.read(text, source="bench")
        assert run is not None
        return run
    runs, problems = read_json(text) if name.endswith((".json", ".jsonl")) else read_text(text)
    assert not problems
    assert len(runs) == 1
    return runs[0]

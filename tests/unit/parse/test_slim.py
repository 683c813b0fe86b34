"""Results of any size: what is kept of them, what is left out and said, and that the memory for it is bounded."""

from __future__ import annotations

import io
import json
import tracemalloc
from typing import Any

import pytest

from forensics.parse import bench, slim

NUMBERS = [0.123456789] * 120_000  # 1.4 MB as JSON
TEXTS = ['a "text" \\ with {braces}, [brackets] and a comma, '] * 30_000


def kept(text: str, *, chunk: int | None = None, monkeypatch: pytest.MonkeyPatch | None = None) -> tuple[list[Any], slim.Slimmed]:
    if chunk and monkeypatch:
        monkeypatch.setattr(slim, "_CHUNK", chunk)
    told = slim.Slimmed()
    return [json.loads(piece) for _, piece in slim.objects(io.BytesIO(text.encode()), told)], told


@pytest.mark.parametrize("chunk", [1, 2, 7, 64, 1 << 20])
@pytest.mark.parametrize("indent", [None, 1])
def test_what_is_not_large_is_kept_as_it_is_wherever_it_is_torn(chunk: int, indent: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"a": 12.5, "b": [1, 2, [3, {}]], "c": 'é "quoted" \\ {[,]}', "d": [], "e": {"f": [{"g": None}, {"g": True}]}}
    found, told = kept(json.dumps(value, indent=indent, ensure_ascii=False), chunk=chunk, monkeypatch=monkeypatch)
    assert found == [value]
    assert (list(told.cut), told.broken) == ([], "")


def test_objects_in_lines_and_in_an_array_come_one_by_one_with_their_lines() -> None:
    told = slim.Slimmed()
    assert [line for line, _ in slim.objects(io.BytesIO(b'{"a": 1}\n\n{"a":\n 2}\n{"a": 3}'), told)] == [1, 3, 5]
    assert kept('[{"a": 1},\n{"a": {"b": 2}}]')[0] == [{"a": 1}, {"a": {"b": 2}}]


def test_of_numbers_that_are_too_many_nothing_is_kept_and_of_texts_the_first() -> None:
    (found,), told = kept(json.dumps({"before": 1, "itls": NUMBERS, "texts": TEXTS, "lists": [[0.5] * 100] * 3000, "after": 2}))
    assert (found["before"], found["after"], found["itls"]) == (1, 2, [])
    assert 0 < len(found["texts"]) < len(TEXTS)
    assert set(found["texts"]) == set(TEXTS)
    assert 0 < len(found["lists"]) < 3000
    assert list(told.cut) == ["itls", "texts", "lists"]


def test_a_report_whose_requests_are_many_keeps_its_figures() -> None:
    item = {"requests": {"successful": [{"text": "x" * 200, "n": 1}] * 10_000, "errored": [{"n": 2}]}, "metrics": {"n": 3}}
    (found,), told = kept(json.dumps({"benchmarks": [item, item]}))
    assert [one["metrics"] for one in found["benchmarks"]] == [{"n": 3}, {"n": 3}]
    assert [one["requests"]["errored"] for one in found["benchmarks"]] == [[{"n": 2}]] * 2
    assert list(told.cut) == ["successful"]


@pytest.mark.parametrize("text", ['{"a": [1, 2', '{"a": 1]', '{"a": "' + "x" * (5 << 20), '{"a": ' + "1" * (5 << 20)])
def test_what_breaks_off_or_has_no_end_is_said(text: str) -> None:
    found, told = kept(text)
    assert found == []
    assert told.broken


def test_a_large_result_is_read_with_what_stands_behind_its_arrays_and_without_single_measurements() -> None:
    errors = [""] * 9000 + ["Too Many Requests"] * 1000
    result = {"completed": 9000, "num_prompts": 10_000, "ttfts": [0.1] * 1000, "itls": NUMBERS, "errors": errors, "p99_ttft_ms": 12.5}
    (run,), (problem,) = bench.read_large(io.BytesIO(json.dumps(result).encode()), source="a.json")
    assert (run.asked, run.ok, run.failed, dict(run.errors), run.metrics["p99_ttft_ms"]) == (10_000, 9000, 1000, {"http-429": 1000}, 12.5)
    assert not run.samples
    assert "itls" in problem.text


def test_the_memory_is_bounded_whatever_the_size() -> None:
    class Endless(io.BytesIO):
        """A result with 60 MB of texts in it."""

        left = 60

        def read(self, size: int | None = -1, /) -> bytes:
            self.left -= 1
            body = b'"' + b"x" * 1000 + b'", '
            return b'{"texts": [' if self.left == 59 else body * 1000 if self.left > 0 else b'"end"], "duration": 3}' if self.left == 0 else b""

    tracemalloc.start()
    (found,) = [json.loads(piece) for _, piece in slim.objects(Endless(), slim.Slimmed())]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found["duration"] == 3
    assert peak < 16 << 20

"""The lines that a verdict is shown with: each says something that the others do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.model import Cause
from forensics.report import json, markdown, text
from tests.cases.judge import HERE
from tests.unit.reason.telling import diagnosed, folder

JOURNAL = """2026-05-09T10:00:00+0000 node1 systemd[1]: Started llm.service - LLM.
2026-05-09T10:00:05+0000 node1 llm[100]: INFO 05-09 10:00:05 [api_server.py:1] vLLM API server version 0.9.0
2026-05-09T10:00:20+0000 node1 llm[100]: Loading safetensors checkpoint shards:  36% Completed | 4/11 [00:21<00:36,  5.1s/it]
"""
REFUSED = "2026-05-09 10:00:{:02d} attempt {}: URLError: <urlopen error [Errno 111] Connection refused>\n"


def test_attempts_that_differ_in_numbers_only_are_one_line_with_how_many_and_the_last(tmp_path: Path) -> None:
    told = diagnosed(folder(tmp_path, journal=JOURNAL, bench="".join(REFUSED.format(n + 10, n) for n in range(9))))
    assert [(e.line, e.times) for e in told.evidence if e.source == "bench.txt"] == [(1, 9), (9, 1)]
    assert "×9 2026-05-09 10:00:10 attempt 0: URLError" in " ".join(text.render(told).split())
    assert "×9 2026-05-09 10:00:10 attempt 0" in markdown.render(told)
    assert [row["times"] for row in json.as_dict(told)["evidence"] if row["source"] == "bench.txt"] == [9, 1]


def test_a_column_of_seconds_is_one_wording() -> None:
    told = diagnosed(HERE.parents[1] / "samples" / "silent-crash")
    assert [(e.line, e.times) for e in told.evidence if e.source == "health.txt"] == [(1, 61), (61, 1)]


def test_attempts_that_failed_in_other_words_each_have_a_line(tmp_path: Path) -> None:
    bench = REFUSED.format(10, 0) + "2026-05-09 10:00:11 attempt 1: ConnectionResetError: [Errno 104] Connection reset by peer\n"
    told = diagnosed(folder(tmp_path, journal=JOURNAL, bench=bench))
    assert [(e.line, e.times) for e in told.evidence if e.source == "bench.txt"] == [(1, 1), (2, 1)]


@pytest.mark.parametrize(
    "hints",
    [
        ["Possible solutions:", "1. disable cuda graph by --disable-cuda-graph", "2. set --mem-fraction-static to a smaller value", "Open an issue on GitHub https://github.com/x/y/issues/new"],
        ["For debugging consider passing CUDA_LAUNCH_BLOCKING=1", "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions."],
        ["note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace"],
        ["pip install --upgrade sgl_kernel"],
    ],
    ids=["a list", "torch", "Rust", "a command"],
)  # fmt: skip
def test_what_a_program_advises_is_not_cited_beside_the_line_that_tells_the_fault(tmp_path: Path, hints: list[str]) -> None:
    fault = "RuntimeError: CUDA error: an illegal memory access was encountered"
    (tmp_path / "log.txt").write_text("\n".join(["loading the model", "Process Process-1:1:", fault, *hints, ""]), encoding="utf-8")
    told = diagnosed(tmp_path)
    assert (told.cause, told.evidence[0].text) == (Cause.CUDA_FAULT, fault)
    assert [e.text for e in told.evidence if e.text in hints] == []


def test_advice_alone_is_shown_as_there_is_nothing_else(tmp_path: Path) -> None:
    line = "Open an issue on GitHub https://github.com/x/y/issues/new"
    (tmp_path / "log.txt").write_text(f"{line}\n", encoding="utf-8")
    told = diagnosed(tmp_path)
    assert (told.cause, [e.text for e in told.evidence]) == (Cause.UNKNOWN, [line])


def test_the_source_line_below_a_warning_of_python_is_nobodys_word(tmp_path: Path) -> None:
    warning = "/usr/lib/python3/x/protocol.py:346: SyntaxWarning: invalid escape sequence '\\e'\n  \"(e.g. 'abcd' or '\\emoji'). This feature \"\n"
    (tmp_path / "log.txt").write_text(f"{warning}  two blanks of its own\nvllm: error: unrecognized arguments: serve /models/a\n", encoding="utf-8")
    told = diagnosed(tmp_path)
    assert [e.text.strip() for e in told.evidence] == ["vllm: error: unrecognized arguments: serve /models/a", "two blanks of its own"]

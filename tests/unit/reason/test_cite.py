"""The lines that a verdict is shown with: each says something that the others do not."""

from __future__ import annotations

from pathlib import Path

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

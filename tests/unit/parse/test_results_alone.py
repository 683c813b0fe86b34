"""What is said of a result that stands alone in a folder, beside a log, or is larger than what is read at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forensics import api, ruleset
from tests.unit.parse.results import COUNTS, DATA, read, read_json

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


def test_of_a_result_that_breaks_off_in_its_arrays_the_figures_before_them_are_kept(tmp_path: Path) -> None:
    numbers = ", ".join(["0.123456789"] * 400_000)  # 5 MB on one line: only a head is looked at to know what it is
    text = f'{{"num_prompts": 9, "completed": 8, "failed": 1, "request_throughput": 100.5, "ttfts": [{numbers}'
    (tmp_path / "a.json").write_text(text + "]}", encoding="utf-8")
    (run,) = api.benches_of(str(tmp_path))
    assert (run.asked, run.ok, run.failed, run.metrics["request_throughput"]) == (9, 8, 1, 100.5)
    (run,), (problem,) = read_json(text)
    assert (run.asked, run.ok, run.failed, run.metrics["request_throughput"]) == (9, 8, 1, 100.5)
    assert "breaks off" in problem.text
    assert read_json('{"completed": 12')[0] == ()  # of 1234, perhaps

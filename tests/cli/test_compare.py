"""The command as CI calls it: exit codes, formats, and what stands in the table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forensics.cli.main import main

BASE = {"backend": "sglang", "num_prompts": 100, "completed": 100, "output_throughput": 1000.0, "median_ttft_ms": 50.0}


@pytest.fixture
def sides(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "base.jsonl").write_text(json.dumps(BASE) + "\n")
    (tmp_path / "new.jsonl").write_text(json.dumps({**BASE, "output_throughput": 880.0, "tag": "\x1b[2J|x"}) + "\n")
    return str(tmp_path / "base.jsonl"), str(tmp_path / "new.jsonl")


def test_the_exit_code_is_one_only_where_something_got_worse(sides: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    base, new = sides
    assert [main(["compare", base, base]), main(["compare", base, new]), main(["compare", new, base])] == [0, 1, 0]
    assert main(["compare", base, new, "--tolerance", "15%"]) == 0
    assert main(["compare", base, new, "--tolerance", "0.15"]) == 0
    assert "worse" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_failed_requests_are_shown_and_said_even_where_they_may_be_chance(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, failed, ttft in (("base", 0, 50.0), ("new", 2, 40.0), ("also", 2, 50.0)):
        (tmp_path / f"{name}.json").write_text(json.dumps({**BASE, "completed": 100 - failed, "failed": failed, "median_ttft_ms": ttft}))
    sides = [str(tmp_path / f"{name}.json") for name in ("base", "new", "also")]
    assert main(["compare", *sides[:2], "--format", form]) == 0
    shown = capsys.readouterr().out
    assert "more requests failed" in shown.splitlines()[0]
    assert "2 of 100 requests of the new result failed, 0 of 100 of the base" in " ".join(shown.split())
    assert "2.00%" in shown
    main(["compare", sides[2], sides[2], "--format", form])
    shown = capsys.readouterr().out
    assert "2.00%" in shown
    assert "more requests failed" not in shown
    main(["compare", sides[0], sides[0], "--format", form])
    assert "failed" not in capsys.readouterr().out


@pytest.mark.parametrize("word", ["much", "5", "-1%", "100%"])
def test_a_tolerance_that_is_none_is_usage(sides: tuple[str, str], word: str) -> None:
    assert main(["compare", *sides, "--tolerance", word]) == 2


def test_a_file_without_a_result_is_three(sides: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.txt").write_text("")
    assert main(["compare", sides[0], str(tmp_path / "empty.txt")]) == 3
    assert "hint" in capsys.readouterr().err


def test_both_from_standard_input_is_usage() -> None:
    assert main(["compare", "-", "-"]) == 2


def test_json_has_each_figure_exactly(sides: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *sides, "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["regressed"], found["tolerance"]) == ("ddforensics/comparison/1", True, 0.05)
    worst = found["differences"][0]
    assert {k: worst[k] for k in ("judgement", "metric", "base", "new", "change")} == {
        "judgement": "worse", "metric": "output_throughput", "base": 1000.0, "new": 880.0, "change": -0.12,
    }  # fmt: skip


def test_markdown_is_a_table_that_nothing_breaks_out_of(sides: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    main(["compare", *sides, "--format", "markdown", "--all"])
    lines = capsys.readouterr().out.splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len({line.replace("\\|", "").count("|") for line in rows}) == 1
    assert not any("\x1b" in line for line in lines)


def test_colours_only_where_they_are_wanted(sides: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    main(["compare", *sides])
    assert "\x1b" not in capsys.readouterr().out
    main(["compare", *sides, "--color", "always"])
    assert "\x1b[31mworse\x1b[0m" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_what_a_result_file_calls_its_settings_is_shown_harmless_and_without_secrets(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, model in (("a", "one"), ("b", "\x1b[31m<b>two</b> api_key=sk-abcdefghij0123456789")):
        result = {"model_id": model, "backend": "vllm", "request_throughput": 5.0, "mean_ttft_ms": 20.0, "completed": 10, "num_prompts": 10}
        (tmp_path / f"{name}.json").write_text(json.dumps(result), encoding="utf-8")
    main(["compare", str(tmp_path / "a.json"), str(tmp_path / "b.json"), "--format", form, "--all"])
    shown = capsys.readouterr().out
    assert "two" in shown
    assert "\x1b" not in shown
    assert "sk-abcdefghij0123456789" not in shown
    assert form != "markdown" or "<b>" not in shown

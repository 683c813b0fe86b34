"""The shipped samples: what each must say, and the exit code that goes with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cases.judge import answer

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


@pytest.fixture(scope="module")
def crash() -> tuple[dict[str, Any], int]:
    return answer(SAMPLES / "silent-crash")


@pytest.fixture(scope="module")
def race() -> tuple[dict[str, Any], int]:
    return answer(SAMPLES / "active-not-ready")


def test_the_silent_crash_exits_1_and_names_cause_phase_and_duration(crash: tuple[dict[str, Any], int]) -> None:
    found, code = crash
    assert code == 1
    assert (found["cause"], found["status"], found["direction"], found["phase"]) == ("gpu-oom-init", "established", "raise", "kv-pool")
    assert found["died_after_s"] == pytest.approx(32.969)
    assert "died after 32.9s in kv-pool" in found["headline"]


def test_the_silent_crash_gives_the_fraction_a_number_from_the_log_and_not_from_the_hint(crash: tuple[dict[str, Any], int]) -> None:
    (advice,) = [a for a in crash[0]["advice"] if a["flag"] == "--mem-fraction-static"]
    # 1 - 10.92 / 94.30 = 0.884 is what the weights take; 0.02 of room on the grid of 0.01
    assert (advice["direction"], advice["from"], advice["to"]) == ("raise", 0.88, 0.91)


def test_the_silent_crash_is_the_servers_own_kill_and_not_the_kernels(crash: tuple[dict[str, Any], int]) -> None:
    found, _ = crash
    assert found["end"] == {"kind": "signal", "by": "itself", "signal": "SIGKILL", "status": None, "result": "signal"}
    ruled_out = {h["cause"] for h in found["hypotheses"] if h["status"] == "ruled-out"}
    assert {"host-oom", "startup-race"} <= ruled_out


def test_the_silent_crash_says_what_changed_since_the_last_good_life(crash: tuple[dict[str, Any], int]) -> None:
    assert {"what": "--speculative-algorithm", "before": "NEXTN", "after": "DDTREE", "since": "the last good life"} in crash[0]["changed"]


def test_the_health_check_went_on_for_nine_and_a_half_minutes_after_the_death(crash: tuple[dict[str, Any], int]) -> None:
    assert crash[0]["client"]["wasted_s"] == pytest.approx(567.031)


def test_the_clean_stop_of_the_life_before_is_no_crash_although_it_ended_by_sigkill(crash: tuple[dict[str, Any], int]) -> None:
    first = crash[0]["lives"][0]
    assert (first["end"]["kind"], first["end"]["by"]) == ("stopped", "operator")


def test_the_race_exits_4_and_says_how_long_it_has_been_active_in_which_phase(race: tuple[dict[str, Any], int]) -> None:
    found, code = race
    assert code == 4
    assert (found["cause"], found["health"], found["phase"]) == ("startup-race", "starting", "weights")
    assert found["active_for_s"] == pytest.approx(175.0)
    assert found["progress"] == {"done": 23, "of": 64, "what": "shards", "at": "2026-05-09T11:05:01Z", "age_s": 4.0}
    assert found["died_at"] is None


def test_the_race_says_which_name_was_mistyped_and_that_empty_answers_prove_nothing(race: tuple[dict[str, Any], int]) -> None:
    warnings = {w["kind"]: w for w in race[0]["warnings"]}
    assert warnings["mistyped-unit"]["asked"] == "sglash-k26-ddtree.service"
    assert warnings["mistyped-unit"]["meant"] == "sglang-k26-ddtree.service"
    assert "two letters differ" in warnings["mistyped-unit"]["text"]
    assert "empty-grep" in warnings


def test_the_answer_of_the_old_process_is_a_false_ready(race: tuple[dict[str, Any], int]) -> None:
    assert "false-ready" in {w["kind"] for w in race[0]["warnings"]}


def test_no_number_of_seconds_too_early_before_it_is_known_when_it_is_ready(race: tuple[dict[str, Any], int]) -> None:
    assert race[0]["client"]["early_s"] is None
    assert race[0]["ready_expected_at"] is not None


@pytest.mark.parametrize(
    ("name", "cause", "code", "field", "value"),
    [
        ("signal-death", "signal-death", 1, "end", {"kind": "signal", "by": "operator", "signal": "SIGKILL", "status": None, "result": "signal"}),
        ("kernel-oom", "host-oom", 1, "died_after_s", 10.448),
        ("graph-size-mismatch", "cuda-graph-size-mismatch", 1, "phase", "cuda-graph"),
        ("mask-corruption", "mask-corruption", 1, "health", "unknown"),
        ("healthy", "healthy", 0, "health", "healthy"),
    ],
    ids=lambda v: v if isinstance(v, str) and "-" in v else "",
)
def test_a_sample_says_what_it_is_for(name: str, cause: str, code: int, field: str, value: object) -> None:
    found, exit_code = answer(SAMPLES / name)
    assert (found["cause"], exit_code, found[field]) == (cause, code, value)


def test_every_sample_is_listed() -> None:
    text = (SAMPLES / "README.md").read_text(encoding="utf-8")
    assert [p.name for p in SAMPLES.iterdir() if p.is_dir() and p.name not in text] == []

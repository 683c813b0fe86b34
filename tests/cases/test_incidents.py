"""The two incidents that the project started from, in five dresses each: other versions, a fork, another server, other moments of the same start.

The answers in each ``case.yaml`` were written down by hand before the program was asked.
"""

from __future__ import annotations

import shutil
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml

from forensics import clock
from tests.cases.judge import HERE, answer

DRESSES = sorted(p.parent for p in (HERE / "incidents").glob("*/case.yaml"))
CRASHES = [d for d in DRESSES if d.name.startswith("a-")]
RACES = [d for d in DRESSES if d.name.startswith("b-")]


@lru_cache(maxsize=16)
def told(folder: Path) -> tuple[dict[str, Any], dict[str, Any], int]:
    """What is expected, what is said, and the exit code, of the evidence alone."""
    case = yaml.safe_load((folder / "case.yaml").read_text(encoding="utf-8"))
    with TemporaryDirectory() as work:
        evidence = Path(work) / "evidence"
        shutil.copytree(folder, evidence, ignore=shutil.ignore_patterns("case.yaml"))
        found, code = answer(evidence, unit=case.get("unit"))
    return case["expect"], found, code


def times(names: tuple[str, ...], expect: dict[str, Any]) -> dict[str, float | None]:
    return {n: None if expect[n] is None else clock.parse_stamp(expect[n]) for n in names if n in expect}


def seconds(text: str | None) -> float | None:
    return None if text is None else clock.parse_stamp(text)


dresses = pytest.mark.parametrize("folder", DRESSES, ids=lambda p: p.name)
crashes = pytest.mark.parametrize("folder", CRASHES, ids=lambda p: p.name)
races = pytest.mark.parametrize("folder", RACES, ids=lambda p: p.name)


def test_there_are_five_of_each() -> None:
    assert (len(CRASHES), len(RACES)) == (5, 5)


@dresses
def test_the_cause_is_right_and_at_least_supported(folder: Path) -> None:
    expect, found, code = told(folder)
    assert found["cause"] in {expect["cause"], *expect.get("accept", [])}
    assert found["cause"] not in expect["not"]
    assert found["status"] in ("established", "supported")
    assert (code, found["health"], found["phase"]) == (expect["exit_code"], expect["health"], expect["phase"])
    assert found["direction"] == expect.get("direction")
    assert set(expect.get("also", [])) <= set(found["also"])


@dresses
def test_the_times_are_right(folder: Path) -> None:
    expect, found, _ = told(folder)
    for name, at in times(("started_at", "listening_at", "ready_at", "died_at"), expect).items():
        said = seconds(found[name])
        assert said == (None if at is None else pytest.approx(at, abs=0.5)), name
    for name in ("died_after_s", "active_for_s"):
        if name in expect:
            assert found[name] == pytest.approx(expect[name], abs=0.01), name
    for name, value in expect.get("client", {}).items():
        assert found["client"][name] == (value if value is None else pytest.approx(value, abs=1.0)), name
    assert len(found["lives"]) == expect["lives"]


@dresses
def test_the_headline_says_it(folder: Path) -> None:
    expect, found, _ = told(folder)
    assert [part for part in expect["headline"] if part not in found["headline"]] == []


@dresses
def test_the_lines_that_prove_it_are_cited(folder: Path) -> None:
    expect, found, _ = told(folder)
    cited = "\n".join(e["text"] for e in found["evidence"])
    assert [quote for quote in expect["evidence"] if quote not in cited] == []


@crashes
def test_the_end_and_who_ended_it(folder: Path) -> None:
    expect, found, _ = told(folder)
    assert {k: v for k, v in found["end"].items() if k in expect["end"]} == expect["end"]
    ruled_out = {h["cause"] for h in found["hypotheses"] if h["status"] == "ruled-out"}
    assert "startup-race" in ruled_out
    assert expect["end"].get("signal") is None or {"host-oom", "signal-death"} <= ruled_out


@crashes
def test_the_advice_goes_the_right_way_and_far_enough(folder: Path) -> None:
    expect, found, _ = told(folder)
    wanted = expect["advice"]
    (advice,) = [a for a in found["advice"] if a["flag"] == wanted["flag"] and a["direction"]]
    assert advice["direction"] == wanted["direction"]
    if "at_least" in wanted:
        assert advice["from"] == wanted["from"]
        assert wanted["at_least"] <= advice["to"] < 1


@crashes
def test_what_changed_since_the_last_good_life_is_said_and_offered_as_a_way_back(folder: Path) -> None:
    expect, found, _ = told(folder)
    changed = {c["what"]: c for c in found["changed"]}
    for what, before, after in expect["changed"]:
        assert changed[what]["since"] == "the last good life"
        assert (before or "") in (changed[what]["before"] or "")
        assert (after or "") in (changed[what]["after"] or "")
    assert any("roll back" in a["text"] for a in found["advice"])


@races
def test_how_far_it_is_and_when_it_will_be_ready(folder: Path) -> None:
    expect, found, _ = told(folder)
    bar = found["progress"] and {k: found["progress"][k] for k in ("done", "of", "what")}
    assert bar == expect["progress"]
    ready = expect["ready_expected_at"]
    if ready is None:
        assert found["ready_expected_at"] is None
    else:
        at = clock.parse_stamp(ready["at"])
        assert at is not None
        assert seconds(found["ready_expected_at"]) == pytest.approx(at, abs=ready["within_s"])


@races
def test_what_would_mislead_is_said(folder: Path) -> None:
    expect, found, _ = told(folder)
    warnings = {w["kind"]: w["text"] for w in found["warnings"]}
    assert set(warnings) == set(expect["warnings"])
    for kind, parts in expect.get("warning_says", {}).items():
        assert [part for part in parts if part not in warnings[kind]] == []


def test_of_two_ranks_at_once_the_first_to_fail_is_cited_and_the_others_follow() -> None:
    expect, found, _ = told(HERE / "incidents/a-sglang-0.5.9")
    assert found["evidence"][0]["rank"] == expect["root_rank"]
    cited = {e["rank"] for e in found["evidence"] if e["role"] == "cascade"}
    followed = {rank for f in found["follows"] for rank in f["ranks"]} | cited
    numbers = {int("".join(c for c in rank if c.isdigit())) for rank in followed if rank}  # torch counts its ranks without a name
    assert numbers == {int(rank.removeprefix("TP")) for rank in expect["follows"]}


def test_the_mistyped_name_is_named_with_what_differs() -> None:
    _, found, _ = told(HERE / "incidents/b-weights")
    (typo,) = [w for w in found["warnings"] if w["kind"] == "mistyped-unit"]
    assert (typo["asked"], typo["meant"]) == ("sglash-k26-ddtree.service", "sglang-k26-ddtree.service")
    assert "two letters differ" in typo["text"]

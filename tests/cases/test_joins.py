"""The twelve situations of a client and a server as they were staged on a real host once, from the files that somebody would have saved of them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from forensics import api, collect
from forensics.report import json as report
from forensics.report import text
from tests.cases.joins import TABLE, Truth, faults
from tests.cases.judge import HERE, rules


@pytest.mark.parametrize("name", TABLE)
def test_a_client_is_laid_over_the_lives_of_the_server_as_it_was(name: str, tmp_path: Path) -> None:
    folder, evidence = HERE / "joins" / name, tmp_path / "evidence"
    case = yaml.safe_load((folder / "case.yaml").read_text(encoding="utf-8"))
    evidence.mkdir()
    for file in ("journal.txt", "status.txt", "bench.txt"):
        shutil.copy(folder / file, evidence / file)
    (target,) = collect.parse_targets([str(evidence)])
    with collect.open_target(target) as session:
        (capture,) = api.look(session, rules(), unit=case["unit"], since=None, progress=lambda _: None)
        found = api.diagnose_capture(capture, rules(), unit=case["unit"])
        session.discard()
    truth = Truth(unit=case["unit"], port=case["port"], early_s=case["early_s"], wasted_s=case["wasted_s"])
    assert list(faults(name, report.as_dict(found), api.exit_code([found]), text.render(found, width=120), truth)) == []


def test_there_are_twelve() -> None:
    assert len(TABLE) == 12


def told(evidence: Path, unit: str) -> dict[str, Any]:
    (found,) = api.diagnose([str(evidence)], unit=unit)
    return report.as_dict(found)


def copied(name: str, to: Path, **edits: Sequence[tuple[str, str]]) -> Path:
    """The files of a situation with words replaced: ``bench=[(old, new)]``; each has to be there."""
    to.mkdir()
    for file in ("journal", "status", "bench"):
        body = (HERE / "joins" / name / f"{file}.txt").read_text(encoding="utf-8")
        for old, new in edits.get(file, ()):
            assert old in body, old
            body = body.replace(old, new)
        (to / f"{file}.txt").write_text(body, encoding="utf-8")
    return to


def test_a_server_that_turns_its_clients_away_while_it_stops_was_restarted_all_the_same(tmp_path: Path) -> None:
    slowly = copied(
        "during-a-restart",
        tmp_path / "evidence",
        journal=[("22:27:24 gpu01 systemd[1]: Stopping", "22:27:22 gpu01 systemd[1]: Stopping")],
        bench=[("22:27:23,645", "22:27:20,645"), ("22:27:24,292", "22:27:21,292"), ("22:27:24,728", "22:27:22,728")],
    )
    found = told(slowly, "join-during-a-restart.service")
    assert (found["cause"], found["status"], found["health"]) == ("startup-race", "supported", "healthy")
    assert "was restarted at 22:27:22 UTC, under the client" in found["headline"]
    assert found["client"]["early_s"] == pytest.approx(9.0, abs=1.5)


def test_without_times_nothing_is_claimed_about_how_early_or_how_long(tmp_path: Path) -> None:
    for name in TABLE:
        evidence = copied(name, tmp_path / name)
        bench = evidence / "bench.txt"
        bench.write_text(re.sub(r"(?m)^\S+ \S+ (?:INFO|ERROR) ", "", bench.read_text(encoding="utf-8")), encoding="utf-8")
        found = told(evidence, f"join-{name}.service")
        assert (found["client"]["early_s"], found["client"]["wasted_s"], found["client"]["clock_shift_s"]) == (None, None, None), name
        assert found["cause"] not in TABLE[name]["not"] or found["status"] in (None, "possible"), name


def test_a_client_that_came_hours_after_the_death_wasted_only_its_own_time(tmp_path: Path) -> None:
    later = copied("after-death", tmp_path / "evidence", bench=[("2026-11-30 22:27:", "2026-12-01 03:27:")])
    found = told(later, "join-after-death.service")
    assert found["cause"] == "gpu-oom-init"
    assert found["client"]["wasted_s"] == pytest.approx(8, abs=1.5)

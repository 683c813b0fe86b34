"""A client that failed before the stop was asked: the stop explains none of its errors, and is told beside."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from forensics.model import Cause, Diagnosis, Health, Phase
from tests.unit.reason.telling import DATA, diagnosed, folder

HERE = DATA / "stopped-later"
RACE = DATA.parent / "rules" / "race-over"
UNIT = "sglang-k26-ddtree.service"
DOWN = "because it does not run"


def stopped(tmp_path: Path, *, at: str, bench: str | None = None) -> Diagnosis:
    """A start that was asked too early, and whose unit somebody stopped at that time."""
    who = f"2026-05-09T{at}+0000 gpu01 systemd[1]:"
    stop = f"{who} Stopping {UNIT} - SGLang K2.6 with DDTree...\n{who} {UNIT}: Deactivated successfully.\n{who} Stopped {UNIT} - SGLang K2.6 with DDTree.\n"
    journal = (RACE / "journal.txt").read_text(encoding="utf-8")
    asked = (RACE / "bench.txt").read_text(encoding="utf-8") if bench is None else bench
    return diagnosed(folder(tmp_path / "e", journal=journal + stop, bench=asked), unit=UNIT)


def advice(found: Diagnosis) -> str:
    return " | ".join(a.text for a in found.advice)


def test_a_wrong_port_stays_one_though_the_server_was_stopped_before_anybody_looked(tmp_path: Path) -> None:
    found = diagnosed(Path(shutil.copytree(HERE / "wrong-port", tmp_path / "e")))
    assert found.cause == Cause.WRONG_ENDPOINT
    assert DOWN not in advice(found)
    assert "stopped later, at 20:08:56" in found.headline
    assert "8001" in found.headline
    assert "8000" in found.headline
    (stop,) = [h for h in found.hypotheses if h.cause is Cause.OPERATOR_STOP]
    assert "after the client's last error" in stop.against[0]


def test_a_server_that_was_stopped_since_is_not_ready_now(tmp_path: Path) -> None:
    found = stopped(tmp_path, at="09:30:00")
    assert "ready now" not in advice(found)
    assert found.advice[0].text.startswith("it was stopped since: start it again")
    assert found.advice[0].command == f"systemctl start {UNIT}"


def test_one_that_did_not_leave_in_time_did_not_die_of_what_the_client_met(tmp_path: Path) -> None:
    journal = (RACE / "journal.txt").read_text(encoding="utf-8")
    who = "2026-05-09T09:31:30+0000 gpu01 systemd[1]:"
    stop = (
        f"2026-05-09T09:30:00+0000 gpu01 systemd[1]: Stopping {UNIT} - SGLang K2.6 with DDTree...\n{who} {UNIT}: State 'stop-sigterm' timed out. Killing.\n"
        f"{who} {UNIT}: Main process exited, code=killed, status=9/KILL\n{who} {UNIT}: Failed with result 'timeout'.\n"
    )
    turned = "2026-05-09 09:20:0{} task/{} ERROR HTTPError: HTTP Error 503: Service Unavailable: The request queue is full.\n"
    found = diagnosed(folder(tmp_path / "e", journal=journal + stop, bench="".join(turned.format(n, n) for n in range(5))), unit=UNIT)
    assert found.cause is Cause.BENCH_OVERLOAD
    assert "was stopped after" in found.headline
    assert "died" not in found.headline


def test_of_a_client_without_times_it_is_not_said_that_it_met_a_stopped_server(tmp_path: Path) -> None:
    where = Path(shutil.copytree(HERE / "race", tmp_path / "e"))
    said = (where / "bench.txt").read_text(encoding="utf-8")
    (where / "bench.txt").write_text(
        said.replace("Skipping endpoint ready check.", "Waiting for endpoint to become up in 600 seconds"), encoding="utf-8"
    )
    found = diagnosed(where)
    assert found.client is not None
    assert found.client.refused
    assert found.client.first_error_at is None
    assert found.cause == Cause.OPERATOR_STOP
    assert DOWN not in advice(found)
    assert "if the client was refused after the stop" in advice(found)
    assert "whether before or after the stop is not known" in found.headline


def test_one_that_says_that_it_did_not_wait_asked_when_its_last_line_above_was_written(tmp_path: Path) -> None:
    found = diagnosed(Path(shutil.copytree(HERE / "race", tmp_path / "e")))
    assert found.cause is Cause.STARTUP_RACE
    assert found.phase is not Phase.STOPPING
    assert found.headline.startswith("no crash: the client came ")


def test_a_client_that_came_too_early_did_so_though_the_unit_was_stopped_later(tmp_path: Path) -> None:
    found = stopped(tmp_path, at="09:30:00")
    assert (found.cause, found.health) == (Cause.STARTUP_RACE, Health.STOPPED)
    assert "too early" in found.headline
    assert "stopped at 09:30:00 UTC" in found.headline
    assert DOWN not in advice(found)
    assert Cause.OPERATOR_STOP in found.also


def test_a_start_up_that_was_stopped_after_the_client_came_was_still_a_race(tmp_path: Path) -> None:
    journal = "".join((RACE / "journal.txt").read_text(encoding="utf-8").splitlines(keepends=True)[:11])
    who = "2026-05-09T08:46:30+0000 gpu01 systemd[1]:"
    stop = f"{who} Stopping {UNIT} - SGLang...\n{who} {UNIT}: Deactivated successfully.\n{who} Stopped {UNIT} - SGLang.\n"
    bench = (RACE / "bench.txt").read_text(encoding="utf-8")
    found = diagnosed(folder(tmp_path / "e", journal=journal + stop, bench=bench), unit=UNIT)
    assert (found.cause, found.health) == (Cause.STARTUP_RACE, Health.STOPPED)
    assert "while" in found.headline
    assert "stopped at 08:46:30 UTC" in found.headline


@pytest.mark.parametrize("first", ["2026-05-09 10:00:05", "2026-05-09 08:45:10"])
def test_a_client_that_was_refused_until_after_the_stop_met_the_stopped_server(first: str, tmp_path: Path) -> None:
    refused = "coding/00  ERROR  URLError: <urlopen error [Errno 111] Connection refused>\n"
    found = stopped(tmp_path, at="09:30:00", bench=f"{first} {refused}2026-05-09 10:00:06 {refused}")
    assert found.cause == Cause.OPERATOR_STOP
    assert DOWN in advice(found)

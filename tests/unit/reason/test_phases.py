"""The phase of a verdict where no line says one: by the length of the life, and by what a client was answered."""

from __future__ import annotations

from pathlib import Path

from forensics.model import Phase
from tests.unit.reason.telling import diagnosed, folder

STARTED = "Jan 14 22:00:00 g1 systemd[1]: Started bot.service - Bot.\n"
DIED = """\
Jan 14 {at} g1 systemd[1]: bot.service: Main process exited, code=killed, status=11/SEGV
Jan 14 {at} g1 systemd[1]: bot.service: Failed with result 'signal'.
"""
READY = """\
INFO:     Application startup complete.
INFO:     Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)
"""
TURNED_AWAY = 'INFO:     127.0.0.1:40776 - "POST /generate HTTP/1.1" 404 Not Found\n'


def _phase(tmp_path: Path, journal: str) -> Phase | None:
    return diagnosed(folder(tmp_path, journal=journal), unit="bot.service").phase


def test_what_ends_at_once_was_being_launched(tmp_path: Path) -> None:
    assert _phase(tmp_path, STARTED + DIED.format(at="22:00:01")) is Phase.LAUNCH


def test_what_nobody_described_and_ran_for_long_was_at_its_work(tmp_path: Path) -> None:
    assert _phase(tmp_path, STARTED + DIED.format(at="23:10:00")) is Phase.SERVING


def test_between_the_two_nothing_is_said(tmp_path: Path) -> None:
    assert _phase(tmp_path, STARTED + DIED.format(at="22:00:20")) is None


def test_an_excerpt_without_a_start_tells_no_phase(tmp_path: Path) -> None:
    assert _phase(tmp_path, DIED.format(at="22:00:01")) is None


def test_what_had_computed_for_minutes_was_at_its_work(tmp_path: Path) -> None:
    consumed = "Jan 14 22:00:01 g1 systemd[1]: bot.service: Consumed 10min 56.191s CPU time.\n"
    assert _phase(tmp_path, DIED.format(at="22:00:01") + consumed) is Phase.SERVING


def test_a_loop_whose_lives_end_at_once_is_being_launched(tmp_path: Path) -> None:
    lives = "".join(
        STARTED.replace(":00:00", f":00:0{n}")
        + DIED.format(at=f"22:00:0{n}")
        + f"Jan 14 22:00:0{n} g1 systemd[1]: bot.service: Scheduled restart job, restart counter is at {n}.\n"
        for n in range(1, 6)
    )
    assert _phase(tmp_path, lives) is Phase.LAUNCH


def test_a_server_that_answers_404_serves_and_one_that_was_never_reached_is_ready(tmp_path: Path) -> None:
    answered = diagnosed(folder(tmp_path / "a", log=READY + TURNED_AWAY * 3))
    elsewhere = diagnosed(Path(__file__).parents[2] / "cases/given/made-vllm-wrong-port")
    assert (answered.phase, elsewhere.phase) == (Phase.SERVING, Phase.READY)
    assert "asked port 8001, and the server listens on 8000" in elsewhere.headline


SET = """2026-05-09T10:00:00+0000 node1 systemd[1]: Started sglang.service - LLM.
2026-05-09T10:00:03+0000 node1 python[100]: [2026-05-09 10:00:03] server_args=ServerArgs(model_path='/models/x', mem_fraction_static=0.88, tp_size=1)
2026-05-09T10:00:05+0000 node1 python[100]: [2026-05-09 10:00:05 TP0] Load weight begin. avail mem=78.10 GB
2026-05-09T{h}:30:15+0000 node1 python[100]: [2026-05-09 {h}:30:15 TP0] Load weight end. type=M, dtype=torch.bfloat16, avail mem=4.30 GB, mem usage=74.10 GB.
2026-05-09T{h}:30:16+0000 node1 python[100]: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.
2026-05-09T{h}:30:17+0000 node1 systemd[1]: sglang.service: Main process exited, code=killed, status=9/KILL
2026-05-09T{h}:30:17+0000 node1 systemd[1]: sglang.service: Failed with result 'signal'.
"""
DURATION = """× sglang.service - LLM
     Loaded: loaded (/etc/systemd/system/sglang.service; disabled; preset: enabled)
     Active: failed (Result: signal) since Sat 2026-05-09 12:30:17 UTC; 20min ago
   Duration: 18.5s
   Main PID: 100 (code=killed, signal=KILL)
"""


def test_no_phase_is_longer_than_its_life_where_the_clock_was_set_forward(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=SET.format(h=12), status=DURATION))
    assert found.died_after_s == 18.5
    assert [(p.phase, p.took_s) for p in found.phases] == [("launch", 5.0), ("weights", None), ("kv-pool", None)]
    assert [w.text for w in found.warnings if w.kind == "clock-set"] == [
        "the clock was set while it ran: 2h30m by its stamps, 18.5s as systemd counted"
    ]


def test_a_life_that_ends_before_it_begins_has_no_length(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=SET.format(h="08")))
    assert (found.cause, found.died_after_s) == ("gpu-oom-init", None)
    assert [(p.phase, p.took_s) for p in found.phases] == [("launch", 5.0), ("weights", None), ("kv-pool", None)]
    (warned,) = [w.text for w in found.warnings if w.kind == "clock-set"]
    assert warned.startswith("the clock was set back while it ran: by its stamps it ended 1h29m before it started")


def test_the_time_before_systemd_calls_it_active_is_part_of_the_phases(tmp_path: Path) -> None:
    notify = SET.format(h=10).replace("Started", "Starting", 1).replace("LLM.", "LLM...", 1)
    started = "2026-05-09T10:30:15+0000 node1 systemd[1]: Started sglang.service - LLM.\n"
    head, tail = notify.split("2026-05-09T10:30:16", 1)
    status = DURATION.replace("12:30:17", "10:30:17").replace("18.5s", "2.1s")
    found = diagnosed(folder(tmp_path, journal=f"{head}{started}2026-05-09T10:30:16{tail}", status=status))
    assert ("weights", 1810.0) in [(p.phase, p.took_s) for p in found.phases]
    assert not [w for w in found.warnings if w.kind == "clock-set"]

"""A start out of a journal that was cut, and an end out of a status of hours later, are no life of hours."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics import Cause
from tests.unit.reason.telling import diagnosed, folder

LOOP = "".join(
    f"Aug 08 09:02:{second} host1 systemd[1]: Started LLM Service.\n"
    f"Aug 08 09:02:{second} host1 systemd[1]: llm.service: main process exited, code=exited, status=127/n/a\n"
    f"Aug 08 09:02:{second} host1 systemd[1]: llm.service failed.\n"
    f"Aug 08 09:02:{second + 3} host1 systemd[1]: llm.service holdoff time over, scheduling restart.\n"
    for second in (30, 33, 36)
)
CUT = LOOP + "Aug 08 09:02:39 host1 systemd[1]: Started LLM Service.\n"
STATUS = """● llm.service - LLM Service
   Loaded: loaded (/etc/systemd/system/llm.service; enabled; vendor preset: disabled)
   Active: activating (auto-restart) (Result: exit-code) since Fri 2024-08-09 15:02:38 UTC; 2s ago
  Process: 14112 ExecStart=/usr/local/bin/llm serve (code=exited, status=127)
 Main PID: 14112 (code=exited, status=127)

Aug 09 15:02:38 host1 systemd[1]: Unit llm.service entered failed state.
Aug 09 15:02:38 host1 systemd[1]: llm.service failed.
"""


def test_a_loop_has_no_life_from_the_cut_of_its_journal_to_its_status(tmp_path: Path) -> None:
    told = diagnosed(folder(tmp_path, journal=CUT, status=STATUS))
    assert told.cause in (Cause.RESTART_LOOP, Cause.EXIT_CODE_DEATH)
    assert (told.started_at, told.died_after_s) == (None, None)
    assert told.died_at is not None
    assert "1d" not in told.headline


def test_a_life_that_spoke_between_is_one(tmp_path: Path) -> None:
    told = diagnosed(folder(tmp_path, journal=CUT + "Aug 09 03:00:00 host1 llm[14112]: served 12 requests\n", status=STATUS))
    assert told.died_after_s == 29 * 3600 + 59 * 60 + 59


def test_one_that_was_not_in_a_loop_lived_for_as_long_as_that(tmp_path: Path) -> None:
    told = diagnosed(folder(tmp_path, journal="Aug 08 09:02:39 host1 systemd[1]: Started LLM Service.\n", status=STATUS))
    assert told.died_after_s == 29 * 3600 + 59 * 60 + 59


def test_an_end_soon_after_the_cut_is_of_that_life(tmp_path: Path) -> None:
    soon = STATUS.replace("Fri 2024-08-09 15:02:38", "Thu 2024-08-08 09:02:40").replace("Aug 09 15:02:38", "Aug 08 09:02:40")
    assert diagnosed(folder(tmp_path, journal=CUT, status=soon)).died_after_s == 1


def attempt(second: int, pid: int, *, upto: int = 9) -> list[str]:
    at = f"2026-05-09T10:{second // 60:02d}:{second % 60:02d}+0000 gpu01"
    server = f"{at} python[{pid}]:"
    stamp = f"[2026-05-09 10:{second // 60:02d}:{second % 60:02d}"
    return [
        f"{at} systemd[1]: Started llm.service - LLM.",
        f"{server} {stamp}] server_args=ServerArgs(model_path='/m', mem_fraction_static=0.88, port=30000)",
        f"{server} {stamp} TP0] Load weight begin. avail mem=94.30 GB",
        f"{server} Loading safetensors checkpoint shards:  50% Completed | 7/14 [00:07<00:07,  1.00it/s]",
        f"{server} {stamp} TP0] Load weight end. type=X, dtype=torch.bfloat16, avail mem=10.92 GB, mem usage=83.38 GB.",
        f"{server} {stamp} TP0] Scheduler hit an exception: Traceback (most recent call last):",
        f"{server} RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
        f"{at} systemd[1]: llm.service: Main process exited, code=killed, status=9/KILL",
        f"{at} systemd[1]: llm.service: Failed with result 'signal'.",
        f"{at} systemd[1]: llm.service: Scheduled restart job, restart counter is at {second}.",
    ][: upto + 1]


LATER = """\
× llm.service - LLM
     Loaded: loaded (/etc/systemd/system/llm.service; enabled; preset: enabled)
     Active: {active} since Sat 2026-05-09 16:12:44 UTC; {ago} ago
{duration}    Process: 88123 ExecStart=/opt/bin/python -m sglang.launch_server --port 30000 ({end})
   Main PID: 88123 ({end})
"""
KILLED = "code=killed, signal=KILL"
AGAIN = LATER.format(active="activating (auto-restart) (Result: signal)", ago="2s", duration="", end=KILLED)
GAVE_UP = LATER.format(active="failed (Result: signal)", ago="5h", duration="   Duration: 34.911s\n", end=KILLED)


def looped(*, upto: int = 3) -> str:
    return "\n".join([*attempt(0, 4711), *attempt(41, 4811), *attempt(82, 4911), *attempt(123, 5011, upto=upto)]) + "\n"


@pytest.mark.parametrize("status", [AGAIN, GAVE_UP])
def test_an_end_that_only_a_state_tells_is_that_of_the_lives_that_ended_alike(status: str, tmp_path: Path) -> None:
    told = diagnosed(folder(tmp_path, journal=looped(), status=status))
    assert (told.cause, told.phase, told.health) == (Cause.GPU_OOM_INIT, "kv-pool", "failed")
    assert told.died_after_s is not None
    assert told.died_after_s < 60
    assert not [w for w in told.warnings if w.kind == "clock-set"]


MEANWHILE = AGAIN.replace("88123", "5011").replace("16:12:44", "10:17:55")


@pytest.mark.parametrize("upto", [1, 3, 4, 6, 7])
def test_in_a_loop_a_journal_that_was_read_a_moment_before_the_state_tells_by_the_life_before(upto: int, tmp_path: Path) -> None:
    told = diagnosed(folder(tmp_path, journal=looped(upto=upto), status=MEANWHILE))
    assert (told.cause, told.phase, told.health) == (Cause.GPU_OOM_INIT, "kv-pool", "failed")
    other = MEANWHILE.replace(KILLED, "code=exited, status=2").replace("signal)", "exit-code)")
    assert upto >= 6 or diagnosed(folder(tmp_path, journal=looped(upto=upto), status=other)).cause in (Cause.RESTART_LOOP, Cause.EXIT_CODE_DEATH)


def test_one_that_ended_otherwise_is_not_explained_by_those_before(tmp_path: Path) -> None:
    told = diagnosed(folder(tmp_path, journal=looped(), status=GAVE_UP.replace(KILLED, "code=exited, status=2").replace("signal)", "exit-code)")))
    assert told.cause in (Cause.RESTART_LOOP, Cause.EXIT_CODE_DEATH)


@pytest.mark.parametrize("first", [1, 5, 7])
def test_of_a_life_whose_beginning_was_cut_off_a_later_end_is_not_the_end(first: int, tmp_path: Path) -> None:
    journal = "\n".join(attempt(0, 4711)[first:9]) + "\n"
    told = diagnosed(folder(tmp_path, journal=journal, status=GAVE_UP.replace(KILLED, "code=exited, status=2").replace("signal)", "exit-code)")))
    assert told.cause is Cause.EXIT_CODE_DEATH
    assert (told.died_after_s, len(told.lives)) == (34.911, 2)
    assert told.started_at is not None
    assert told.died_at is not None
    assert told.started_at < told.died_at


def test_a_state_of_hours_later_that_runs_is_of_a_life_of_its_own(tmp_path: Path) -> None:
    status = LATER.format(active="active (running)", ago="5h", duration="", end="python").replace(
        "    Process: 88123 ExecStart=/opt/bin/python -m sglang.launch_server --port 30000 (python)\n", ""
    )
    told = diagnosed(folder(tmp_path, journal=looped(), status=status))
    assert told.cause is Cause.GPU_OOM_INIT
    assert any("runs since 16:12:44 UTC" in w.text for w in told.warnings)


def plain(lines: list[str]) -> list[str]:
    return [line.split("]: ", 1)[1] for line in lines if " python[" in line]


SERVED = [
    "[2026-05-09 09:00:00] server_args=ServerArgs(model_path='/m', mem_fraction_static=0.88, port=30000)",
    "[2026-05-09 09:00:51] The server is fired up and ready to roll!",
    "[2026-05-09 09:02:30 TP0] Decode batch. #running-req: 4, #token: 1533, token usage: 0.01, gen throughput (token/s): 30.12, #queue-req: 0",
    'INFO:     10.0.0.7:50009 - "POST /v1/completions HTTP/1.1" 200 OK',
]


def test_a_log_that_breaks_off_behind_the_word_about_the_end_is_about_that_life(tmp_path: Path) -> None:
    told = diagnosed(folder(tmp_path, **{"server.log": "\n".join(SERVED + plain(attempt(0, 4711)))}))
    assert (told.cause, told.phase) == (Cause.GPU_OOM_INIT, "kv-pool")


def test_a_second_start_in_a_log_is_not_healthy_for_the_first(tmp_path: Path) -> None:
    told = diagnosed(folder(tmp_path, **{"server.log": "\n".join(SERVED + plain(attempt(0, 4711, upto=3)))}))
    assert (told.cause, told.phase) == (Cause.UNKNOWN, "weights")
    assert told.health != "healthy"

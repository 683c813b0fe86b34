"""The root among the cascades, and how sure the verdict may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.model import Cause, Status
from tests.unit.reason.telling import diagnosed, folder

SYSTEMD_KILLED = (
    "2026-05-09T10:15:18+0000 gpu01 systemd[1]: Started llm.service - LLM.\n"
    "2026-05-09T10:16:18+0000 gpu01 systemd[1]: llm.service: Main process exited, code=killed, status=9/KILL\n"
    "2026-05-09T10:16:18+0000 gpu01 systemd[1]: llm.service: Failed with result 'signal'.\n"
)


def test_a_kill_that_nobody_owns_up_to_is_no_memory_kill(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path / "e", journal=SYSTEMD_KILLED))
    assert (found.cause, found.status, found.end.by) == ("signal-death", Status.SUPPORTED, "unknown")
    assert any("kernel log" in h.missing[0] for h in found.hypotheses if h.missing)


def test_a_kernel_line_about_a_pid_of_the_unit_explains_the_kill(tmp_path: Path) -> None:
    journal = SYSTEMD_KILLED.replace("LLM.\n", "LLM.\n2026-05-09T10:15:20+0000 gpu01 python[4711]: loading\n", 1)
    kernel = "2026-05-09T10:16:18+0000 gpu01 kernel: Out of memory: Killed process 4711 (python) total-vm:99kB, anon-rss:9kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:9kB oom_score_adj:0\n"
    found = diagnosed(folder(tmp_path / "e", journal=journal, kernel=kernel))
    assert found.cause == "host-oom"
    assert "signal-death" in found.also


def test_a_kernel_line_about_a_neighbour_hours_before_does_not(tmp_path: Path) -> None:
    kernel = "2026-05-09T07:16:18+0000 gpu01 kernel: Out of memory: Killed process 99 (java) total-vm:99kB, anon-rss:9kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:9kB oom_score_adj:0\n"
    journal = SYSTEMD_KILLED.replace("LLM.\n", "LLM.\n2026-05-09T10:15:20+0000 gpu01 python[4711]: loading\n", 1)
    assert diagnosed(folder(tmp_path / "e", journal=journal, kernel=kernel)).cause == "signal-death"


def test_the_first_rank_that_failed_wins_over_those_that_lost_their_peer(tmp_path: Path) -> None:
    log = (
        "[2026-05-09 10:00:00 TP1] Scheduler hit an exception: Traceback (most recent call last):\n"
        "torch.AcceleratorError: CUDA error: an illegal memory access was encountered\n\n"
        "[2026-05-09 10:00:01 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
        "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3690, remote process exited or there was a network error, NCCL version 2.27.3\n\n"
        "[2026-05-09 10:00:02] SIGQUIT received. signum=None, frame=None. It usually means one child failed.\n"
    )
    found = diagnosed(folder(tmp_path / "e", server=log))
    assert (found.cause, found.status) == ("cuda-fault", Status.ESTABLISHED)
    assert "illegal memory access" in found.evidence[0].text


def test_a_prompt_that_quotes_an_error_is_no_error(tmp_path: Path) -> None:
    log = (
        "[2026-05-09 10:00:00] The server is fired up and ready to roll!\n"
        "[2026-05-09 10:00:05] Receive: obj=GenerateReqInput(text='why do I get RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.?')\n"
        '[2026-05-09 10:00:06] INFO:     10.0.3.7:57116 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
    )
    assert diagnosed(folder(tmp_path / "e", server=log)).cause == "healthy"


def test_a_line_that_a_service_made_up_does_not_speak_for_systemd(tmp_path: Path) -> None:
    journal = (
        "2026-05-09T10:15:18+0000 gpu01 systemd[1]: Started llm.service - LLM.\n"
        "2026-05-09T10:15:19+0000 gpu01 python[4711]: systemd[1]: llm.service: Failed with result 'oom-kill'.\n"
        "2026-05-09T10:15:20+0000 gpu01 systemd[1]: llm.service: Main process exited, code=exited, status=3/NOTIMPLEMENTED\n"
        "2026-05-09T10:15:20+0000 gpu01 systemd[1]: llm.service: Failed with result 'exit-code'.\n"
    )
    assert diagnosed(folder(tmp_path / "e", journal=journal)).cause == "exit-code-death"


def test_a_crash_before_the_stop_is_the_story_and_not_the_stop(tmp_path: Path) -> None:
    journal = (
        "2026-05-09T10:15:18+0000 gpu01 systemd[1]: Started llm.service - LLM.\n"
        "2026-05-09T10:15:30+0000 gpu01 python[4711]: torch.AcceleratorError: CUDA error: an illegal memory access was encountered\n"
        "2026-05-09T10:25:18+0000 gpu01 systemd[1]: Stopping llm.service - LLM...\n"
        "2026-05-09T10:25:18+0000 gpu01 systemd[1]: llm.service: Deactivated successfully.\n"
        "2026-05-09T10:25:18+0000 gpu01 systemd[1]: Stopped llm.service - LLM.\n"
    )
    assert diagnosed(folder(tmp_path / "e", journal=journal)).cause == "cuda-fault"


def test_a_failure_of_another_unit_in_the_same_journal_is_not_ours(tmp_path: Path) -> None:
    journal = SYSTEMD_KILLED + "2026-05-09T10:16:19+0000 gpu01 systemd[1]: other.service: Main process exited, code=exited, status=203/EXEC\n"
    assert diagnosed(folder(tmp_path / "e", journal=journal), unit="llm.service").cause == "signal-death"


def test_nothing_that_says_why_is_unknown_and_exits_5(tmp_path: Path) -> None:
    from forensics import api

    found = diagnosed(folder(tmp_path / "e", server="hello\nworld\n"))
    assert (found.cause, found.status, api.exit_code([found])) == (Cause.UNKNOWN, None, 5)


@pytest.mark.parametrize("name", ["status", "journal"])
def test_a_unit_that_is_not_there_is_said_to_be_missing(name: str, tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path / "e", **{name: "Unit llm.service could not be found.\n"}))
    assert found.cause == "unit-missing"


def test_an_earlier_failure_is_told_beside_a_life_that_is_ready_and_stays(tmp_path: Path) -> None:
    journal = SYSTEMD_KILLED + (
        "2026-05-09T10:16:28+0000 gpu01 systemd[1]: Started llm.service - LLM.\n"
        "2026-05-09T10:17:28+0000 gpu01 python[5000]: [2026-05-09 10:17:28] The server is fired up and ready to roll!\n"
        '2026-05-09T10:27:28+0000 gpu01 python[5000]: [2026-05-09 10:27:28] INFO:     10.0.3.7:57116 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
    )
    found = diagnosed(folder(tmp_path / "e", journal=journal))
    assert found.cause == "healthy"
    assert "earlier-failures" in {w.kind for w in found.warnings}


def test_a_ready_server_that_has_logged_nothing_since_stays_as_long_as_its_status_says(tmp_path: Path) -> None:
    journal = SYSTEMD_KILLED + (
        "2026-05-09T10:16:28+0000 gpu01 systemd[1]: Started llm.service - LLM.\n"
        "2026-05-09T10:17:28+0000 gpu01 python[5000]: [2026-05-09 10:17:28] The server is fired up and ready to roll!\n"
    )
    status = (
        "● llm.service - LLM\n     Loaded: loaded (/etc/systemd/system/llm.service; enabled; preset: enabled)\n"
        "     Active: active (running) since Sat 2026-05-09 10:16:28 UTC; {ago} ago\n   Main PID: 5000 (python)\n"
    )
    assert diagnosed(folder(tmp_path / "long", journal=journal, status=status.format(ago="3h"))).cause == "healthy"
    assert diagnosed(folder(tmp_path / "short", journal=journal, status=status.format(ago="1min 5s"))).cause != "healthy"


OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.75 GiB. GPU 0 has a total capacity of 79.25 GiB of which 612.88 MiB is free.\n"


def test_an_allocation_of_which_nobody_knows_whether_it_served_is_a_guess(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path / "e", log=f'  File "app.py", line 3, in step\n{OOM}'))
    assert found.status is Status.POSSIBLE
    told = {h.cause: h.status for h in found.hypotheses}
    assert {"gpu-oom-init", "gpu-oom-runtime"} <= set(told)


def test_the_same_allocation_is_no_guess_once_the_phase_is_known(tmp_path: Path) -> None:
    served = '[2026-05-09 10:15:18] The server is fired up and ready to roll!\n[2026-05-09 10:15:19] INFO:     10.0.0.1:5 - "POST /v1/completions HTTP/1.1" 200 OK\n'
    found = diagnosed(
        folder(tmp_path / "e", log=f"{served}[2026-05-09 10:15:20 TP0] Scheduler hit an exception: Traceback (most recent call last):\n{OOM}")
    )
    assert found.cause == "gpu-oom-runtime"
    assert found.status is not Status.POSSIBLE


@pytest.mark.parametrize(
    ("step", "cause"),
    [("ExecStartPre=/bin/prepare", Cause.EXEC_FAILURE), ("ExecStart=/usr/sbin/app --daemon", Cause.EXIT_CODE_DEATH)],
    ids=["before the program", "the program of a forking unit"],
)
def test_a_control_process_that_failed_was_the_program_or_came_before_it(step: str, cause: Cause, tmp_path: Path) -> None:
    status = (
        "x app.service - App\n     Loaded: loaded (/etc/systemd/system/app.service; enabled)\n"
        "     Active: failed (Result: exit-code) since Fri 2026-01-02 10:00:00 UTC; 1min ago\n"
        f"    Process: 552 {step} (code=exited, status=1/FAILURE)\n\n"
        "Jan 02 10:00:00 host1 systemd[1]: app.service: Control process exited, code=exited, status=1/FAILURE\n"
        "Jan 02 10:00:00 host1 systemd[1]: app.service: Failed with result 'exit-code'.\n"
    )
    assert diagnosed(folder(tmp_path / "e", status=status), unit="app.service").cause == cause

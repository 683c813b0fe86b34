"""A log that stops: what its last words say of a server that had been ready, and what they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.reason.telling import diagnosed, folder

READY = """\
[2026-05-09 10:15:50] INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)
[2026-05-09 10:15:52] The server is fired up and ready to roll!
[2026-05-09 10:16:01] INFO:     10.0.0.7:41706 - "POST /v1/chat/completions HTTP/1.1" 200 OK
"""
SERVED_ON = """\
[2026-05-09 10:20:01] INFO:     10.0.0.7:41710 - "POST /v1/chat/completions HTTP/1.1" 200 OK
[2026-05-09 10:21:01] INFO:     10.0.0.7:41711 - "POST /v1/chat/completions HTTP/1.1" 200 OK
"""
RAISED = """\
[2026-05-09 10:16:30 TP0] TpModelWorkerClient hit an exception: Traceback (most recent call last):
  File "/opt/sglang/srt/two_batch_overlap.py", line 398, in filter_batch
    raise Exception(f"{len(errors)} errors happen:")
Exception: 2 errors happen:
Field top_logprobs_nums has value, but is not yet supported (value=[0])
"""
UNEXPLAINED = """\
Exception in thread Thread-12 (transfer_thread):
Traceback (most recent call last):
  File "/opt/app/transfer.py", line 12, in run
    slot = self.slots[index]
IndexError: list index out of range
"""
ENGINE = """\
INFO:     Application startup complete.
INFO:     10.0.0.7:41706 - "POST /v1/completions HTTP/1.1" 200 OK
{died}
CRITICAL 03-18 14:46:40 [core_client.py:269] Got fatal signal from worker processes, shutting down. See stack trace above for root cause issue.
"""
OLD_WORDS = "ERROR 03-18 14:46:40 [core.py:341] EngineCore hit an exception: Traceback (most recent call last):\nERROR 03-18 14:46:40 [core.py:341] IndexError: index 1 is out of bounds for axis 0 with size 1"


@pytest.mark.parametrize("end", [pytest.param(RAISED, id="of the scheduler"), pytest.param(UNEXPLAINED, id="of some thread")])
def test_a_log_that_breaks_off_behind_an_exception_is_no_healthy_servers(tmp_path: Path, end: str) -> None:
    assert diagnosed(folder(tmp_path / "ready", log=READY)).cause == "healthy"
    found = diagnosed(folder(tmp_path / "raised", log=READY + end))
    assert (found.cause, found.health) == ("unknown", "unknown")


def test_an_exception_after_which_it_served_on_is_none_of_its_last_words(tmp_path: Path) -> None:
    assert diagnosed(folder(tmp_path, log=READY + UNEXPLAINED + SERVED_ON)).cause == "healthy"


def test_an_engine_of_0_8_that_died_is_known_by_the_words_of_that_version(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, log=ENGINE.format(died=OLD_WORDS)))
    assert found.cause == "unknown"
    assert any("IndexError: index 1" in line.text for line in found.evidence)


TRANSFER = "[2026-05-09 10:16:30 TP0] Prefill transfer failed for request rank=0 req.rid='a5ed' req.bootstrap_room=35 with exception KVTransferError(bootstrap_room=35): Failed to send kv chunk of 35 to 10.72.0.9:40000\n"


def test_fatal_words_at_the_end_of_a_log_count_unless_somebody_sees_it_alive(tmp_path: Path) -> None:
    alone = diagnosed(folder(tmp_path / "alone", log=READY + TRANSFER))
    assert (alone.cause, alone.status) == ("collective-failure", "possible")
    assert diagnosed(folder(tmp_path / "later", log=READY + TRANSFER + SERVED_ON)).cause == "healthy"
    status = "● llm.service - LLM\n     Loaded: loaded (/etc/systemd/system/llm.service; enabled)\n     Active: active (running) since Sat 2026-05-09 10:15:00 UTC; 2min ago\n   Main PID: 41 (python)\n"
    rows = "".join(f"{line[1:11]}T{line[12:20]}+0000 gpu01 python[41]: {line}\n" for line in (READY + TRANSFER).splitlines())
    alive = diagnosed(folder(tmp_path / "alive", journal=rows, status=status), unit="llm.service")
    assert alive.cause == "healthy"


SIGQUIT = "[2026-05-09 10:15:51] Received sigquit from a child process. It usually means the child failed.\n"
OOM = """\
[2026-05-09 10:15:51 TP5] Scheduler hit an exception: Traceback (most recent call last):
  File "/opt/sglang/srt/managers/scheduler.py", line 2045, in run_scheduler_process
    scheduler.event_loop_normal()
  File "/opt/sglang/srt/managers/scheduler.py", line 608, in event_loop_normal
    result = self.run_batch(batch)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.43 GiB. GPU 5 has a total capacity of 79.44 GiB of which 2.64 GiB is free.
"""


@pytest.mark.parametrize("log", [pytest.param(OOM, id="told in order"), pytest.param(SIGQUIT + OOM, id="the main process first")])
def test_a_frame_of_the_traceback_tells_the_phase_whoever_spoke_first(tmp_path: Path, log: str) -> None:
    found = diagnosed(folder(tmp_path, log=log))
    assert (found.cause, found.phase, found.status) == ("gpu-oom-runtime", "serving", "established")


CONNECT = (
    "[E329 06:28:12.542939754 socket.cpp:1023] [c10d] The client socket has timed out after 600000ms while trying to connect to (10.0.0.33, 54485).\n"
)
STACK = "".join(f"frame #{n}: ray::ServeReplica.initialize() [0x50{n:04x}]\n" for n in range(60))
LINES = "".join(f"worker said {'abcdefghij'[n % 10]} the {'klmnopqrst'[n // 10]}\n" for n in range(60))


def test_the_stack_below_a_failure_is_no_life_after_it(tmp_path: Path) -> None:
    """Of a program that nobody described, to write on is to have got over a line."""
    found = diagnosed(folder(tmp_path / "stack", log=CONNECT + STACK))
    assert (found.cause, found.status) == ("collective-failure", "established")
    assert diagnosed(folder(tmp_path / "lines", log=CONNECT + LINES)).cause == "unknown"
    remark = "what the checker says of it:\n"
    assert diagnosed(folder(tmp_path / "remark", log=CONNECT + STACK[:900] + remark + STACK[900:])).cause == "collective-failure"


SLOTS = """\
main: HTTP server is listening, hostname: 127.0.0.1, port: 8080, http threads: 15
main: server is listening on http://127.0.0.1:8080 - starting the main loop
slot launch_slot_: id  0 | task 0 | processing task
slot update_slots: id  0 | task 0 | prompt done, n_past = 4076, n_tokens = 2028
/src/llama.cpp/ggml/src/ggml-backend.cpp:750: pre-allocated tensor (cache_k_l32 (view)) in a buffer (Vulkan0) that cannot run the operation (CPY)
"""
BACKTRACE = """\
[New LWP 1580837]
#1  0x000075875b3c1682 in ggml_print_backtrace () at /src/llama.cpp/ggml/src/ggml.c:194
194             waitpid(child_pid, NULL, 0);
#2  0x000075875b3c17b5 in ggml_abort (file=0x75875b4410a0 "/src/ggml-backend.cpp", line=750, fmt=0x75875b4414f0 "pre-allocated tensor (%s) in a buffer (%s)") at /src/ggml.c:215
[Inferior 1 (process 1580786) detached]
"""


def test_a_frame_with_an_address_was_printed_also_where_it_shows_a_format(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path / "aborted", log=SLOTS + BACKTRACE))
    assert (found.cause, found.status) == ("signal-death", "supported")
    assert any("ggml_abort" in line.text for line in found.evidence)


SEGV = "(RayWorkerWrapper pid=2191173{ip}) *** SIGSEGV received at time=1746566409 on cpu 131 ***\n"
GONE = "(raylet) A worker died or was killed while executing a task by an unexpected system error. To troubleshoot the problem, check the logs for the dead worker.\n"


@pytest.mark.parametrize(
    "ip", [pytest.param("", id="here"), pytest.param(", ip=10.52.51.232", id="on another node"), pytest.param(", ip=fd00::12", id="IPv6")]
)
def test_a_worker_of_ray_speaks_for_itself_wherever_it_runs(tmp_path: Path, ip: str) -> None:
    found = diagnosed(folder(tmp_path, log=SEGV.format(ip=ip) + GONE))
    assert (found.cause, found.status) == ("signal-death", "supported")
    assert "SIGSEGV received" in found.evidence[0].text

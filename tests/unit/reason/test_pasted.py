"""What people paste from a terminal or an issue: whose words they are, and what the answers beside each other say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.reason.telling import diagnosed, folder

LIMIT = """\
-- Journal begins at Tue 2023-12-05 07:31:03 CET. --
Jan 26 16:10:47 kitchen systemd[1]: Started Wyoming Satellite.
Jan 26 16:10:48 kitchen run[1882]: INFO:root:Ready
Jan 26 16:10:48 kitchen systemd[1]: Stopping Wyoming Satellite...
Jan 26 16:10:48 kitchen systemd[1]: wyoming-satellite.service: Succeeded.
Jan 26 16:10:48 kitchen systemd[1]: Stopped Wyoming Satellite.
"""
REFUSED = """\
Jan 26 16:10:48 kitchen systemd[1]: wyoming-satellite.service: Start request repeated too quickly.
Jan 26 16:10:48 kitchen systemd[1]: wyoming-satellite.service: Failed with result 'start-limit-hit'.
Jan 26 16:10:48 kitchen systemd[1]: Failed to start Wyoming Satellite.
"""
BOOTS = """\
root@g3:~# journalctl --list-boots
 -1 0a1b2c3d4e5f60718293a4b5c6d7e8f9 Mon 2025-06-09 08:00:00 UTC\u2014Tue 2025-06-10 02:13:07 UTC
  0 1a1b2c3d4e5f60718293a4b5c6d7e8f9 Tue 2025-06-10 02:15:40 UTC\u2014Tue 2025-06-10 09:01:00 UTC
root@g3:~# journalctl -b -1 -u vllm -n 2 --no-pager
"""
SERVED = """\
Jun 10 {time}:01 g3 vllm[1201]: INFO:     10.0.0.5:41468 - "POST /v1/chat/completions HTTP/1.1" 200 OK
Jun 10 {time}:06 g3 vllm[1201]: INFO:     10.0.0.5:41470 - "POST /v1/chat/completions HTTP/1.1" 200 OK
"""
CORE = """\
           PID: 755 (systemd)
           UID: 1002 (someone)
        Signal: 11 (SEGV)
     Timestamp: Sun 2020-11-29 11:19:59 CET (33min ago)
  Command Line: /usr/lib/systemd/systemd --user
    Executable: /usr/lib/systemd/systemd
          Unit: user@1002.service
       Message: Process 755 (systemd) of user 1002 dumped core.
"""


def test_a_stop_is_a_stop(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=LIMIT))
    assert (str(found.cause), str(found.health)) == ("operator-stop", "stopped")


def test_a_stop_whose_start_systemd_refused_is_a_failed_unit(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=LIMIT + REFUSED))
    assert (str(found.cause), str(found.health)) == ("restart-loop", "failed")


def test_what_spoke_until_its_boot_ended_went_down_with_it(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, paste=BOOTS + SERVED.format(time="02:13")))
    assert str(found.cause) == "host-reboot"
    assert found.died_at is not None
    assert found.died_at == 1749521587.0  # 2025, as the list of boots says, and its last entry


def test_what_was_last_heard_an_hour_before_its_boot_ended_may_have_ended_by_itself(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, paste=BOOTS + SERVED.format(time="01:13")))
    assert str(found.cause) != "host-reboot"


def test_a_core_alone_says_which_unit_died_of_which_signal(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, paste="$ coredumpctl info 755\n" + CORE))
    assert (found.unit, str(found.cause), str(found.end.kind), found.end.signal) == ("user@1002.service", "signal-death", "signal", "SIGSEGV")


def test_a_core_does_not_speak_against_a_unit_whose_state_is_known(tmp_path: Path) -> None:
    running = "$ systemctl is-active user@1002.service\nactive\n"
    assert str(diagnosed(folder(tmp_path, paste=running + "$ coredumpctl info 755\n" + CORE)).health) != "failed"


@pytest.mark.parametrize(
    "answer",
    ["bash: journalctl: command not found", "sh: 1: journalctl: not found", "zsh: command not found: journalctl"],
)
def test_a_tool_that_is_missing_where_somebody_looks_is_a_gap_and_no_failure_of_the_service(answer: str, tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, paste=f"$ journalctl -u vllm\n{answer}\n"))
    assert str(found.cause) == "evidence-missing"


def test_a_program_that_the_service_does_not_find_is_its_failure(tmp_path: Path) -> None:
    journal = "Jun 10 09:00:01 g1 run.sh[812]: /opt/run.sh: line 4: vllm: command not found\n"
    assert str(diagnosed(folder(tmp_path, journal=journal)).cause) == "exec-failure"


def test_messages_in_the_advice_of_a_person_are_no_evidence(tmp_path: Path) -> None:
    text = 'If you see `CUDA out of memory` try another flag. Also check that the port is not already in use ("Address already in use").\n'
    assert str(diagnosed(folder(tmp_path, paste=text)).cause) == "unknown"


def test_lines_whose_stamps_lost_their_day_are_still_a_journal_and_the_gap_is_named(tmp_path: Path) -> None:
    journal = (
        "09:00:01 gpu7 systemd[1]: Started vLLM.\n09:00:30 gpu7 vllm[881]: OSError: [Errno 98] Address already in use\n"
        "09:00:40 gpu7 systemd[1]: vllm.service: Main process exited, code=exited, status=1/FAILURE\n"
        "09:00:40 gpu7 systemd[1]: vllm.service: Failed with result 'exit-code'.\n"
    )
    found = diagnosed(folder(tmp_path, paste=journal))
    assert (str(found.cause), found.unit, found.host, str(found.end.kind)) == ("port-in-use", "vllm.service", "gpu7", "exit")
    assert (found.died_at, found.died_after_s) == (None, None)
    assert any("name no day" in w.text for w in found.warnings)


def test_a_servers_own_clock_without_a_day_is_no_journal(tmp_path: Path) -> None:
    log = "09:00:01 INFO loading the model\n09:00:30 ERROR OSError: [Errno 98] Address already in use\n"
    found = diagnosed(folder(tmp_path, paste=log))
    assert (str(found.cause), found.host) == ("port-in-use", None)


@pytest.mark.parametrize(
    "answer",
    [
        "$ docker inspect myapp --format '{{.State.OOMKilled}} {{.State.ExitCode}}'\ntrue 137\n",
        "$ kubectl get pods\nNAME    READY   STATUS      RESTARTS      AGE\nvllm-0  0/1     OOMKilled   4 (57s ago)   2m40s\n",
    ],
    ids=["a template of docker inspect", "the list of pods"],
)
def test_a_short_answer_that_names_the_limit_is_enough(answer: str, tmp_path: Path) -> None:
    assert str(diagnosed(folder(tmp_path, paste=answer)).cause) == "host-oom"


def test_an_export_of_raw_lines_with_the_time_of_the_index_is_read(tmp_path: Path) -> None:
    rows = (
        '2025-06-01T10:00:01.000+00:00,gpu-a,vllm.log,"INFO 06-01 10:00:01 [api_server.py:1287] vLLM API server version 0.9.1"\n'
        "2025-06-01T10:00:02.000+00:00,gpu-a,vllm.log,ERROR 06-01 10:00:02 [core.py:515] ValueError: No available memory for the cache blocks.\n"
    )
    found = diagnosed(folder(tmp_path, export="_time,host,source,_raw\n" + rows))
    assert (str(found.cause), found.host) == ("gpu-oom-init", "gpu-a")


def test_other_units_of_the_same_journal_that_failed_as_well_are_named(tmp_path: Path) -> None:
    lines = [
        f"2026-05-09T10:15:{20 + n:02d}+0000 gpu01 systemd[1]: {unit}.service: {text}\n"
        for n, unit in enumerate(("gateway", "llm"))
        for text in ("Main process exited, code=exited, status=1/FAILURE", "Failed with result 'exit-code'.")
    ]
    found = diagnosed(folder(tmp_path / "e", journal="".join(lines)))
    assert [w.text for w in found.warnings if w.kind == "also-failed"] == [
        "no unit was named: this is about gateway.service, as it is the first of those of which the evidence says most; failed, and not looked at: llm.service (--unit)"
    ]


AT_WORK = """\
[2026-08-12 22:41:06 TP5] Prefill batch, #new-seq: 3, #new-token: 8192, #cached-token: 0, token usage: 0.92, #running-req: 41, #queue-req: 12,
[2026-08-12 22:41:09 TP5] Scheduler hit an exception: Traceback (most recent call last):
RuntimeError: Prefill out of memory. Try to lower your batch size.
Try to allocate 8192 tokens.

[2026-08-12 22:41:10] SIGQUIT received. signum=None, frame=None. It usually means one child failed.
"""


def test_an_excerpt_that_begins_with_a_server_at_work_says_nothing_of_how_long_it_lived(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path / "cut", server=AT_WORK))
    assert (found.cause, found.started_at, found.died_after_s) == ("gpu-oom-runtime", None, None)
    assert "died while serving" in found.headline
    opened = "[2026-08-12 22:40:00] server_args=ServerArgs(model_path='/m', tp_size=8, port=30000)\n"
    whole = diagnosed(folder(tmp_path / "whole", server=opened + AT_WORK))
    assert whole.died_after_s == 70.0


UNSTAMPED = """\
main: server is listening on http://0.0.0.0:9009 - starting the main loop
srv  update_slots: all slots are idle
srv  params_from_: Chat format: Content-only
slot launch_slot_: id  0 | task 0 | processing task
slot update_slots: id  0 | task 0 | kv cache rm [0, end)
CUDA error: out of memory
  current device: 2, in function alloc at /src/ggml/src/ggml-cuda/ggml-cuda.cu:466
  cuMemCreate(&handle, reserve_size, &prop, 0)
"""


def test_a_log_without_times_whose_messages_are_sentences_is_read_as_printed(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path / "e", log=UNSTAMPED))
    assert (found.cause, found.server, found.phase) == ("gpu-oom-runtime", "llama-cpp", "serving")


MENTIONED = """\
Yesterday we had it again, and I have looked at it with my colleague for an hour.
The server was up and all slots were idle when the first of our clients came.
He said that there was CUDA error: out of memory, and nobody knew what to do with it.
We will try a smaller context, and then the other card, if it is free by then.
"""


def test_a_mail_that_speaks_of_the_same_error_is_still_a_mail(tmp_path: Path) -> None:
    assert diagnosed(folder(tmp_path / "e", log=MENTIONED)).cause == "unknown"


ASSERTED = """\
(APIServer pid=1) INFO:     Application startup complete.
(EngineCore pid=755) ERROR 08-04 09:48:15 [core.py:1332] EngineCore encountered a fatal error.
(EngineCore pid=755) ERROR 08-04 09:48:15 [core.py:1332] Traceback (most recent call last):
(EngineCore pid=755) ERROR 08-04 09:48:15 [core.py:1332]     assert len(offload_keys) == len(offload_block_ids)
(EngineCore pid=755) ERROR 08-04 09:48:15 [core.py:1332] AssertionError: keys and blocks differ
"""
POINTS = "(APIServer pid=1) vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.\n"
GONE = "(APIServer pid=1) INFO:     Shutting down\n(APIServer pid=1) INFO:     Finished server process [1]\n"


def test_a_line_that_points_above_is_no_want_of_evidence_where_the_error_stands_there(tmp_path: Path) -> None:
    there = diagnosed(folder(tmp_path / "there", log=ASSERTED + POINTS + GONE))
    assert there.cause == "unknown"
    assert "AssertionError: keys and blocks differ" in there.headline
    cut = diagnosed(folder(tmp_path / "cut", log=ASSERTED.splitlines(keepends=True)[0] + POINTS + GONE))
    assert cut.cause == "evidence-missing"


REFUSED_ALONE = "Error: HTTPConnectionPool(host='10.0.0.9', port=30033): Max retries exceeded with url: /v1/models (Caused by NewConnectionError('<urllib3.connection.HTTPConnection object at 0x7f60>: Failed to establish a new connection: [Errno 111] Connection refused'))\n"


def test_a_client_that_was_refused_says_nothing_of_what_the_server_was_doing(tmp_path: Path) -> None:
    alone = diagnosed(folder(tmp_path / "alone", bench=REFUSED_ALONE))
    assert (alone.cause, alone.health) == ("evidence-missing", "unknown")
    assert "of the server there is nothing" in alone.headline
    loading = "[2026-05-09 10:00:10 TP0] Load weight begin. avail mem=78.50 GB\n"
    both = diagnosed(folder(tmp_path / "both", server=loading + REFUSED_ALONE))
    assert both.cause == "startup-race"


@pytest.mark.parametrize(("name", "why"), [("acme@.service", "missing the instance name"), ("acme!.service", "not valid")])
def test_a_name_that_systemd_refuses_is_no_missing_unit(tmp_path: Path, name: str, why: str) -> None:
    found = diagnosed(folder(tmp_path, log=f"Failed to start {name}: Unit name {name} is {why}.\n"))
    assert (found.cause, why in found.headline) == ("exec-failure", True)

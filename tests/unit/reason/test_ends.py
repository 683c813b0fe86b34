"""How a life ended and by whom, on real outputs of three systemd versions; the first part of a name is the version."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.reason.telling import DATA, diagnosed, folder

ITSELF, SYSTEMD, OPERATOR, KERNEL, UNKNOWN = "itself", "systemd", "operator", "kernel", "unknown"

ENDS = [
    ("247-child-segv-parent-kill", "signal-death", ("signal", ITSELF, "SIGKILL", None), "failed"),
    ("247-clean-exit", "operator-stop", ("stopped", UNKNOWN, None, None), "stopped"),
    ("247-exit-203-exec", "exec-failure", ("exit", ITSELF, None, 203), "failed"),
    ("247-sigabrt", "cuda-fault", ("signal", ITSELF, "SIGABRT", None), "failed"),
    ("247-start-timeout", "startup-timeout", ("timeout", SYSTEMD, "SIGTERM", None), "failed"),
    ("247-stopped-by-operator", "operator-stop", ("stopped", OPERATOR, None, None), "stopped"),
    ("247-watchdog", "watchdog-timeout", ("watchdog", SYSTEMD, "SIGABRT", None), "failed"),
    ("252-active-listening", "healthy", ("none", UNKNOWN, None, None), "healthy"),
    ("252-address-in-use", "port-in-use", ("exit", ITSELF, None, 1), "failed"),
    ("252-child-segv-parent-kill", "signal-death", ("signal", ITSELF, "SIGKILL", None), "failed"),
    ("252-clean-exit", "operator-stop", ("stopped", UNKNOWN, None, None), "stopped"),
    ("252-condition-unmet", "exec-failure", ("none", UNKNOWN, None, None), "stopped"),
    ("252-deactivating", "operator-stop", ("none", UNKNOWN, None, None), "stopped"),
    ("252-execstartpre-fails", "exec-failure", ("exit", ITSELF, None, 9), "failed"),
    ("252-exit-203-exec", "exec-failure", ("exit", ITSELF, None, 203), "failed"),
    ("252-exit-217-user", "exec-failure", ("exit", ITSELF, None, 217), "failed"),
    ("252-exit2-argparse", "bad-arguments", ("exit", ITSELF, None, 2), "failed"),
    ("252-masked", "exec-failure", ("none", UNKNOWN, None, None), "stopped"),
    ("252-oom-child-policy-continue", "host-oom", ("oom-kill", KERNEL, None, 1), "failed"),
    ("252-oom-memorymax", "host-oom", ("oom-kill", KERNEL, "SIGKILL", None), "failed"),
    ("252-runtime-max", "operator-stop", ("timeout", SYSTEMD, "SIGTERM", None), "failed"),
    ("252-sigkill-outside", "signal-death", ("signal", OPERATOR, "SIGKILL", None), "failed"),
    ("252-sigsegv-nocore", "signal-death", ("signal", ITSELF, "SIGSEGV", None), "failed"),
    ("252-sigterm-outside", "operator-stop", ("stopped", UNKNOWN, None, None), "stopped"),
    ("252-start-limit-hit", "exit-code-death", ("exit", ITSELF, None, 1), "failed"),
    ("252-start-timeout", "startup-timeout", ("timeout", SYSTEMD, "SIGTERM", None), "failed"),
    ("252-starting-notify", "startup-race", ("none", UNKNOWN, None, None), "starting"),
    ("252-stop-timeout", "operator-stop", ("timeout", SYSTEMD, "SIGKILL", None), "failed"),
    ("252-stopped-by-operator", "operator-stop", ("stopped", OPERATOR, None, None), "stopped"),
    ("252-stopped-term-143", "operator-stop", ("stopped", OPERATOR, None, 143), "stopped"),
    ("252-watchdog", "watchdog-timeout", ("watchdog", SYSTEMD, "SIGABRT", None), "failed"),
    ("257-child-segv-parent-kill", "signal-death", ("signal", ITSELF, "SIGKILL", None), "failed"),
    ("257-clean-exit", "operator-stop", ("stopped", UNKNOWN, None, None), "stopped"),
    ("257-coredump-sigsegv", "signal-death", ("signal", ITSELF, "SIGSEGV", None), "failed"),
    ("257-exit-203-exec", "exec-failure", ("exit", ITSELF, None, 203), "failed"),
    ("257-start-timeout", "startup-timeout", ("timeout", SYSTEMD, "SIGTERM", None), "failed"),
    ("257-stopped-by-operator", "operator-stop", ("stopped", OPERATOR, None, None), "stopped"),
    ("257-watchdog", "watchdog-timeout", ("watchdog", SYSTEMD, "SIGABRT", None), "failed"),
]


@pytest.mark.parametrize(("name", "cause", "end", "health"), ENDS, ids=[e[0] for e in ENDS])
def test_the_end_and_who_brought_it(name: str, cause: str, end: tuple[object, ...], health: str) -> None:
    found = diagnosed(DATA / name)
    assert (found.cause, (found.end.kind, found.end.by, found.end.signal, found.end.status), found.health) == (cause, end, health)


def test_the_duration_is_systemds_own_where_it_says_one() -> None:
    assert diagnosed(DATA / "252-sigkill-outside").died_after_s == pytest.approx(12.407)


def test_systemd_247_says_no_duration_and_the_last_lines_below_its_status_do_not_give_it() -> None:
    # the first of them is a second younger than the start, which show has: 8 s
    assert diagnosed(DATA / "247-start-timeout").died_after_s is None


def test_the_headline_of_a_crashed_child_names_the_childs_signal_and_not_the_parents() -> None:
    assert "SIGKILL" not in diagnosed(DATA / "252-child-segv-parent-kill").headline


def test_a_server_that_is_up_for_a_moment_in_a_loop_of_crashes_is_degraded_and_not_healthy(tmp_path: Path) -> None:
    lines = (DATA / "252-restart-flapping/journal.txt").read_text().splitlines(keepends=True)
    ready = max(n for n, line in enumerate(lines) if "fired up" in line)
    unit = "sglang-restart-flapping.service"
    found = diagnosed(folder(tmp_path / "e", journal="".join(lines[: ready + 1]), is_active="active\n"), unit=unit)
    assert (found.health, found.cause, found.end.status) == ("degraded", "cuda-fault", 1)


BOOTS = "-1 0123456789abcdef0123456789abcdef Sun 2026-11-29 {} UTC\n 0 fedcba9876543210fedcba9876543210 {} UTC—Sun 2026-11-29 20:40:00 UTC\n"
INACTIVE = "Id=sglang-restart-flapping.service\nLoadState=loaded\nActiveState=inactive\nSubState=dead\nResult=success\nExecMainPID=0\n"


@pytest.mark.parametrize(
    ("before", "booted", "cause", "kind"),
    [
        ("20:00:00 UTC—Sun 2026-11-29 20:17:41", "Sun 2026-11-29 20:18:30", "host-reboot", "reboot"),
        ("18:00:00 UTC—Sun 2026-11-29 19:59:00", "Sun 2026-11-29 20:00:00", "operator-stop", "stopped"),
    ],
    ids=["booted-since", "the-same-boot"],
)  # fmt: skip
def test_a_log_that_just_ends_before_the_next_boot_is_the_machine_going_down_and_no_stop(
    tmp_path: Path, before: str, booted: str, cause: str, kind: str
) -> None:
    """The journal of one unit has no mark of a boot after its last line: the list of boots has it."""
    lines = (DATA / "252-restart-flapping/journal.txt").read_text().splitlines(keepends=True)
    ready = max(n for n, line in enumerate(lines) if "fired up" in line)
    first = max(n for n, line in enumerate(lines) if "systemd[1]: Started" in line)
    evidence = folder(tmp_path / "e", journal="".join(lines[first : ready + 1]), show=INACTIVE, boots=BOOTS.format(before, booted))
    found = diagnosed(evidence, unit="sglang-restart-flapping.service")
    assert (found.cause, found.end.kind) == (cause, kind)


def test_a_unit_that_ran_and_has_no_line_in_the_journal_is_said_to_have_lost_it(tmp_path: Path) -> None:
    status = (DATA / "252-sigkill-outside/status.txt").read_text().partition("\n\n")[0] + "\n"
    lost = diagnosed(folder(tmp_path / "lost", journal="-- No entries --\n", status=status))
    assert [w.kind for w in lost.warnings] == ["journal-silent"]
    assert (lost.health, lost.end.signal) == ("failed", "SIGKILL")
    whole = diagnosed(DATA / "252-sigkill-outside")
    assert "journal-silent" not in [w.kind for w in whole.warnings]


def journal(*lines: str, unit: str = "llm.service", start: int = 0) -> str:
    """A journal of a unit, a line a second; what begins with ``systemd:`` is PID 1's."""
    rows = []
    for second, line in enumerate(lines, start):
        minutes, seconds = divmod(second, 60)
        who, text = ("systemd[1]", line.removeprefix("systemd:")) if line.startswith("systemd:") else ("python3[811]", line)
        rows.append(f"2026-05-09T10:{minutes:02d}:{seconds:02d}+0000 gpu1 {who}: {text.replace('UNIT', unit)}\n")
    return "".join(rows)


def test_what_systemd_oomd_ends_is_ended_by_systemd_and_not_by_the_kernel(tmp_path: Path) -> None:
    text = journal(
        "systemd:Started UNIT - LLM.", "loading", "systemd:UNIT: systemd-oomd killed 3 process(es) in this unit.",
        "systemd:UNIT: Main process exited, code=killed, status=9/KILL", "systemd:UNIT: Failed with result 'oom-kill'.",
    )  # fmt: skip
    found = diagnosed(folder(tmp_path, journal=text))
    assert (found.cause, found.end.kind, found.end.by) == ("host-oom", "oom-kill", SYSTEMD)
    assert "kernel" not in found.headline


def test_a_stop_long_after_a_child_was_killed_for_memory_is_a_stop(tmp_path: Path) -> None:
    text = journal("systemd:Started UNIT - LLM.", "loading", "systemd:UNIT: A process of this unit has been killed by the OOM killer.")
    text += journal("systemd:Stopping UNIT - LLM...", "systemd:UNIT: Deactivated successfully.", "systemd:Stopped UNIT - LLM.", start=1800)
    found = diagnosed(folder(tmp_path, journal=text))
    assert (found.end.kind, found.end.by, found.health) == ("stopped", OPERATOR, "stopped")


def test_the_first_of_several_answers_in_a_terminal_need_not_be_the_oldest(tmp_path: Path) -> None:
    crashed = journal("systemd:Started UNIT - LLM.", "ValueError: no", "systemd:UNIT: Main process exited, code=exited, status=3/NOTIMPLEMENTED",
                      "systemd:UNIT: Failed with result 'exit-code'.", "systemd:UNIT: Scheduled restart job, restart counter is at 1.")  # fmt: skip
    runs = journal("systemd:Started UNIT - LLM.", "hello", start=30)
    status = "● llm.service - LLM\n     Loaded: loaded (/etc/systemd/system/llm.service; enabled)\n     Active: active (running) since Sat 2026-05-09 10:00:30 UTC; 2s ago\n\n"
    text = f"root@gpu1:~# systemctl status llm.service\n{status}{runs}root@gpu1:~# journalctl -u llm.service\n{crashed}{runs}root@gpu1:~# \n"
    found = diagnosed(folder(tmp_path, terminal=text))
    assert [(str(life.end.kind), life.end.status) for life in found.lives] == [("exit", 3), ("none", None)]


def test_of_a_loop_whose_last_life_was_cut_off_the_one_before_is_told(tmp_path: Path) -> None:
    lines = (DATA / "252-restart-flapping/journal.txt").read_text().splitlines(keepends=True)
    last = max(n for n, line in enumerate(lines) if "Scheduler hit an exception" in line)
    status = "● sglang-restart-flapping.service - SGLang server\n     Loaded: loaded (/x.service; enabled)\n     Active: active (running) since Sun 2026-11-29 23:00:00 UTC; 1s ago\n\n"
    status += "Nov 29 23:00:00 tb1 systemd[1]: Started sglang-restart-flapping.service - SGLang server.\n"
    found = diagnosed(folder(tmp_path / "e", journal="".join(lines[: last + 1]), status=status))
    assert (found.cause, found.end.status) == ("cuda-fault", 1)


GOES_DOWN = """[2026-11-29 20:17:20] server_args=ServerArgs(model_path='/m', host='127.0.0.1', port=30022, tp_size=1, mem_fraction_static=0.88)
[2026-11-29 20:17:20 TP0] Load weight begin. avail mem=78.58 GB
[2026-11-29 20:17:21] INFO:     Application startup complete.
[2026-11-29 20:17:21] The server is fired up and ready to roll!
"""


@pytest.mark.parametrize(("last", "cause", "health"), [("", "healthy", "healthy"), ("INFO:     Shutting down\n", "unknown", "unknown")])
def test_a_log_that_ends_as_its_server_goes_down_is_not_called_healthy(tmp_path: Path, last: str, cause: str, health: str) -> None:
    found = diagnosed(folder(tmp_path, log=GOES_DOWN + last))
    assert (found.cause, found.health) == (cause, health)


FATAL = (
    "[2026-05-09 10:30:01 TP0] Scheduler hit an exception: Traceback (most recent call last):",
    '  File "/x/scheduler.py", line 3, in run',
    "RuntimeError: CUDA error: driver shutting down",
    "[2026-05-09 10:30:01] Received sigquit from a child process. It usually means the child failed.",
)
KILLED = (
    "systemd:UNIT: Main process exited, code=killed, status=9/KILL",
    "systemd:UNIT: Failed with result 'signal'.",
    "systemd:Stopped UNIT - LLM.",
)


def test_what_crashes_as_it_is_stopped_was_stopped(tmp_path: Path) -> None:
    found = diagnosed(
        folder(tmp_path, journal=journal("systemd:Started UNIT - LLM.", GOES_DOWN.splitlines()[0], "systemd:Stopping UNIT - LLM...", *FATAL, *KILLED))
    )
    assert (found.cause, found.end.kind, found.end.by) == ("operator-stop", "stopped", OPERATOR)


def test_what_crashed_before_it_was_stopped_crashed(tmp_path: Path) -> None:
    crash = [line.replace("driver shutting down", "an illegal memory access was encountered") for line in FATAL[:3]]
    text = journal("systemd:Started UNIT - LLM.", GOES_DOWN.splitlines()[0], *crash, "systemd:Stopping UNIT - LLM...", *KILLED)
    assert diagnosed(folder(tmp_path, journal=text)).cause == "cuda-fault"


@pytest.mark.parametrize("last", ["systemd:UNIT: Deactivated successfully.", "systemd:UNIT: Main process exited, code=exited, status=0/SUCCESS"])
def test_a_clean_exit_that_follows_a_workers_crash_is_a_crash(tmp_path: Path, last: str) -> None:
    lines = (
        "(APIServer pid=811) INFO 05-09 10:00:01 [api_utils.py:286] non-default args: {'model': '/m', 'port': 8000}",
        "(APIServer pid=811) INFO:     Application startup complete.",
        "(EngineCore pid=822) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.00 GiB is free.",
        "(APIServer pid=811) vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.",
        "(APIServer pid=811) INFO:     Shutting down", "(APIServer pid=811) INFO:     Finished server process [811]",
    )  # fmt: skip
    found = diagnosed(folder(tmp_path, journal=journal("systemd:Started UNIT - LLM.", *lines, last)))
    assert (found.cause, found.end.kind, found.end.by, found.end.status, found.health) == ("gpu-oom-runtime", "exit", ITSELF, 0, "failed")


LOOP = """2026-11-29T20:18:{a}+00:00 tx1 systemd[1]: llm.service: Scheduled restart job, restart counter is at {n}.
2026-11-29T20:18:{a}+00:00 tx1 systemd[1]: Started llm.service - LLM.
2026-11-29T20:18:{a}+00:00 tx1 python[{n}00]: [2026-11-29 20:18:{a}] server_args=ServerArgs(model_path='/models/x', port=30019, tp_size=1)
2026-11-29T20:18:{a}+00:00 tx1 python[{n}00]: [2026-11-29 20:18:{a}] The server is fired up and ready to roll!
"""
DIES = """2026-11-29T20:18:{a}+00:00 tx1 python[{n}00]: [2026-11-29 20:18:{a} TP0] Scheduler hit an exception: Traceback (most recent call last):
2026-11-29T20:18:{a}+00:00 tx1 python[{n}00]: torch.AcceleratorError: CUDA error: an illegal memory access was encountered
2026-11-29T20:18:{a}+00:00 tx1 systemd[1]: llm.service: Main process exited, code=exited, status=1/FAILURE
2026-11-29T20:18:{a}+00:00 tx1 systemd[1]: llm.service: Failed with result 'exit-code'.
"""
NOW = """● llm.service - LLM
     Loaded: loaded (/etc/systemd/system/llm.service; disabled; preset: enabled)
     Active: active (running) since Sun 2026-11-29 20:18:52 UTC; 373ms ago
   Main PID: 6942 (python)

Nov 29 20:18:49 tx1 systemd[1]: llm.service: Failed with result 'exit-code'.
Nov 29 20:18:52 tx1 systemd[1]: llm.service: Scheduled restart job, restart counter is at {n}.
Nov 29 20:18:52 tx1 systemd[1]: Started llm.service - LLM.
"""


def test_the_end_of_a_life_that_is_not_in_the_evidence_is_no_other_lifes(tmp_path: Path) -> None:
    lives = "".join(LOOP.format(a=a, n=n) + DIES.format(a=a + 1, n=n) for n, a in ((3, 30), (4, 36)))
    cut = lives + LOOP.format(a=43, n=5)  # the journal ends within the fifth; of the sixth only systemctl status has the last line
    found = diagnosed(folder(tmp_path / "cut", journal=cut, status=NOW.format(n=7)))
    assert (found.cause, found.status) == ("cuda-fault", "established")
    assert (found.died_after_s, found.end.status) == (1.0, 1)
    assert found.lives[-2].end.result is None
    whole = diagnosed(folder(tmp_path / "whole", journal=cut, status=NOW.format(n=6)))  # and where the counter goes on by one it is the fifth's
    assert whole.lives[-2].end.result == "exit-code"

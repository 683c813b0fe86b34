"""The rivals of a verdict: each with what speaks for it, what against, what is missing, and the command that would decide."""

from __future__ import annotations

import shutil
from pathlib import Path

from forensics.model import Cause, Diagnosis, Hypothesis, Status
from tests.unit.reason.telling import diagnosed, folder

SAMPLES = Path(__file__).parents[3] / "samples"
GIVEN = Path(__file__).parents[2] / "cases/given"

STARTED = "Jan 14 22:00:00 g1 systemd[1]: Started bot.service - Bot.\n"
KILLED = """\
Jan 14 22:54:43 g1 systemd[1]: bot.service: Main process exited, code=killed, status={status}
Jan 14 22:54:43 g1 systemd[1]: bot.service: Failed with result 'signal'.
"""
LEFT = """\
Jan 14 22:00:40 g1 bot[77]: starting
Jan 14 22:54:43 g1 systemd[1]: bot.service: Main process exited, code=exited, status=1/FAILURE
Jan 14 22:54:43 g1 systemd[1]: bot.service: Failed with result 'exit-code'.
"""
REFUSED = "2025-01-14 23:00:00 GET http://127.0.0.1:8000/v1/models -> URLError: <urlopen error [Errno 111] Connection refused>\n"


def _of(found: Diagnosis, cause: Cause) -> Hypothesis:
    (one,) = [h for h in found.hypotheses if h.cause is cause]
    return one


def _bot(tmp_path: Path, journal: str, **files: str) -> Diagnosis:
    return diagnosed(folder(tmp_path, journal=STARTED + journal, **files), unit="bot.service")


def test_the_verdict_comes_first_and_what_is_ruled_out_last() -> None:
    found = diagnosed(SAMPLES / "silent-crash")
    assert found.hypotheses[0].cause is found.cause
    firmness = [list(Status).index(h.status) for h in found.hypotheses[1:]]
    assert firmness == sorted(firmness)


def _case(case: Path, tmp_path: Path) -> Diagnosis:
    return diagnosed(shutil.copytree(case, tmp_path / case.name, ignore=shutil.ignore_patterns("case.yaml")))


def test_nothing_is_ruled_out_without_what_contradicts_it(tmp_path: Path) -> None:
    for case in sorted(GIVEN.iterdir()):
        for one in _case(case, tmp_path).hypotheses:
            assert one.against or one.status is not Status.RULED_OUT, (case.name, str(one.cause))
            assert one.for_ or one.status in (Status.RULED_OUT, Status.POSSIBLE) or one.cause is Cause.OPERATOR_STOP, (case.name, str(one.cause))


def test_a_sigkill_that_nobody_claims_leaves_the_kernel_and_an_operator_open(tmp_path: Path) -> None:
    found = _bot(tmp_path, KILLED.format(status="9/KILL"))
    assert found.cause is Cause.SIGNAL_DEATH
    kernel, operator = _of(found, Cause.HOST_OOM), _of(found, Cause.OPERATOR_STOP)
    assert (kernel.status, operator.status) == (Status.POSSIBLE, Status.POSSIBLE)
    assert kernel.for_ == ("journal.txt:2 bot.service: Main process exited, code=killed, status=9/KILL",)
    assert kernel.missing == ("the kernel log",)
    assert (kernel.next or "").startswith("journalctl -k --since ")
    assert "_COMM=sudo" in (operator.next or "")


def test_systemd_that_says_signal_and_not_oom_kill_speaks_against_the_kernel(tmp_path: Path) -> None:
    assert "'oom-kill'" in _of(_bot(tmp_path, KILLED.format(status="9/KILL")), Cause.HOST_OOM).against[0]


def test_another_signal_than_sigkill_is_not_the_out_of_memory_killers(tmp_path: Path) -> None:
    kernel = _of(_bot(tmp_path, KILLED.format(status="11/SEGV")), Cause.HOST_OOM)
    assert kernel.status is Status.RULED_OUT
    assert "SIGSEGV" in kernel.against[0]


def test_a_program_that_aborts_may_have_had_no_memory(tmp_path: Path) -> None:
    found = _bot(tmp_path, KILLED.format(status="6/ABRT"))
    assert not [h for h in found.hypotheses if h.cause is Cause.HOST_OOM and h.status is Status.RULED_OUT]


def test_a_status_rules_a_signal_out(tmp_path: Path) -> None:
    one = _of(_bot(tmp_path, LEFT), Cause.SIGNAL_DEATH)
    assert (one.status, one.against) == (Status.RULED_OUT, ("it left by itself, with status 1: no signal ended the main process",))


def test_an_excerpt_of_a_journal_does_not_prove_that_nobody_stopped_it(tmp_path: Path) -> None:
    assert not [h for h in _bot(tmp_path, LEFT).hypotheses if h.cause is Cause.OPERATOR_STOP]


def test_a_kernel_log_that_was_only_quoted_rules_no_kill_out(tmp_path: Path) -> None:
    found = _bot(tmp_path, LEFT, kernel="[    1.000000] EXT4-fs (sda1): mounted filesystem\n")
    assert not [h for h in found.hypotheses if h.cause is Cause.HOST_OOM]


def test_a_child_that_was_killed_leaves_the_kernel_open_although_the_server_killed_itself(tmp_path: Path) -> None:
    found = _case(GIVEN.parent / "made/sg-detok-oomkill9", tmp_path)
    kernel = _of(found, Cause.HOST_OOM)
    assert kernel.status is Status.POSSIBLE
    assert "exit code -9" in kernel.for_[0]


def test_the_servers_own_kill_is_cited_where_it_rules_the_kernel_out(tmp_path: Path) -> None:
    kernel = _of(_case(GIVEN / "made-sglang-oom-logprobs", tmp_path), Cause.HOST_OOM)
    assert kernel.status is Status.RULED_OUT
    assert "(log.txt:118)" in kernel.against[0]


def test_who_died_before_the_client_came_was_neither_early_nor_elsewhere(tmp_path: Path) -> None:
    found = _bot(tmp_path, LEFT, bench=REFUSED)
    assert [_of(found, cause).status for cause in (Cause.STARTUP_RACE, Cause.WRONG_ENDPOINT)] == [Status.RULED_OUT] * 2
    assert "it was dead from 22:54:43 on" in _of(found, Cause.WRONG_ENDPOINT).against[0]


def test_commands_name_the_unit(tmp_path: Path) -> None:
    commands = [h.next for h in _bot(tmp_path, LEFT).hypotheses if h.next and "journalctl -u" in h.next]
    assert commands
    assert all("-u bot.service " in c for c in commands)


def test_a_kill_that_was_asked_for_is_no_matter_of_how_often() -> None:
    found = diagnosed(SAMPLES / "signal-death")
    assert _of(found, Cause.OPERATOR_STOP).against == ("true as well: it tells no more than signal-death does of how it ended",)


def test_an_exit_status_is_told_as_this_kind_of_server_means_it(tmp_path: Path) -> None:
    unit = "# /etc/systemd/system/bot.service\n[Service]\nExecStart=/usr/bin/python3 -m sglang.launch_server --model-path /m\n"
    left = LEFT.replace("status=1/FAILURE", "status=3/NOTIMPLEMENTED")
    means = "exit status 3 of SGLang: the HTTP server could not start"
    assert any(means in reason for reason in _of(_bot(tmp_path / "a", left, unit=unit), Cause.EXIT_CODE_DEATH).for_)
    assert not any(reason.startswith("exit status") for reason in _of(_bot(tmp_path / "b", left), Cause.EXIT_CODE_DEATH).for_), (
        "nobody knows that server"
    )

"""What an error weighs that the life outlived, that nobody can be proved to have said, or that a log says twice; and whose the lines of a whole host are."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.reason.weigh import survived
from tests.unit.counting import steps
from tests.unit.reason.telling import diagnosed, folder, story

ARGS = "server_args=ServerArgs(model_path='/models/m', mem_fraction_static=0.88, tp_size=1, port=30000)"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 600.00 MiB is free."


def journal(*rows: tuple[str, str, str], day: str = "2026-05-09T") -> str:
    return "".join(f"{day}{clock}+0000 gpu01 {who}: {text}\n" for clock, who, text in rows)


def started(*more: tuple[str, str, str]) -> str:
    return journal(
        ("10:00:00", "systemd[1]", "Started llm.service - LLM."),
        ("10:00:05", "python[41]", f"[2026-05-09 10:00:05] {ARGS}"),
        ("10:00:10", "python[41]", "[2026-05-09 10:00:10 TP0] Load weight begin. avail mem=78.60 GB"),
        *more,
    )


ERROR = ("10:00:20", "python[41]", OOM)
KILLED = (
    ("10:04:00", "systemd[1]", "llm.service: Main process exited, code=killed, status=9/KILL"),
    ("10:04:00", "systemd[1]", "llm.service: Failed with result 'signal'."),
)


def test_an_error_after_which_the_start_up_went_on_for_minutes_is_not_why_an_unknown_kill_ended_it(tmp_path: Path) -> None:
    later = ("10:02:30", "python[41]", "[2026-05-09 10:02:30 TP0] Load weight end. type=Qwen3ForCausalLM, avail mem=62.40 GB, mem usage=16.20 GB.")
    went_on = diagnosed(folder(tmp_path / "a", journal=started(ERROR, later, *KILLED)))
    assert (went_on.cause, went_on.status) == ("signal-death", "supported")
    assert ("gpu-oom-init", "ruled-out") in {(h.cause, h.status) for h in went_on.hypotheses}
    # without the progress in between it is the last thing that the server said
    at_once = diagnosed(folder(tmp_path / "b", journal=started(ERROR, *KILLED)))
    assert at_once.cause == "gpu-oom-init"


def test_another_rank_that_went_on_does_not_outlive_it(tmp_path: Path) -> None:
    error = ("10:00:20", "python[41]", f"[2026-05-09 10:00:20 TP0] Scheduler hit an exception: {OOM}")
    other = ("10:02:30", "python[41]", "[2026-05-09 10:02:30 TP1] Load weight end. type=Qwen3ForCausalLM, avail mem=62.40 GB, mem usage=16.20 GB.")
    assert diagnosed(folder(tmp_path / "a", journal=started(error, other, *KILLED))).cause == "gpu-oom-init"


RUNS_ON = """* app.service - App
     Loaded: loaded (/etc/systemd/system/app.service; enabled; preset: enabled)
     Active: active (running) since Sat 2026-05-09 10:00:00 UTC; {ago}
   Main PID: 41 (app)
"""


@pytest.mark.parametrize(("ago", "sure"), [("20s ago", True), ("2h 5min ago", False)])
def test_a_service_that_nobody_described_outlives_what_it_says_by_running_on(tmp_path: Path, ago: str, sure: bool) -> None:
    said = journal(
        ("10:00:00", "systemd[1]", "Started app.service - App."),
        ("10:00:01", "app[41]", "Failed to initialize NVML: Driver/library version mismatch"),
    )
    found = diagnosed(folder(tmp_path / "a", journal=said, status=RUNS_ON.format(ago=ago)))
    assert (found.cause == "bad-environment" and found.status in ("supported", "established")) is sure


BARE = """Starting app.service - App...
app.service: Failed at step EXEC spawning /opt/app/run: No such file or directory
app.service: Main process exited, code=exited, status=203/EXEC
app.service: Failed with result 'exit-code'.
"""


def test_what_only_looks_like_systemds_words_does_not_establish_anything(tmp_path: Path) -> None:
    bare = diagnosed(folder(tmp_path / "a", log=BARE))
    assert (bare.cause, bare.status) == ("exec-failure", "supported")
    said = "".join(f"May 09 10:00:00 gpu01 systemd[1]: {line}\n" for line in BARE.splitlines())
    signed = diagnosed(folder(tmp_path / "b", journal=said))
    assert (signed.cause, signed.status) == ("exec-failure", "established")


def test_a_time_out_that_may_be_of_a_stop_is_only_a_possible_start_time_out(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path / "a", journal=journal(("10:00:00", "systemd[1]", "app.service: Failed with result 'timeout'."))))
    assert (found.cause, found.status) == ("startup-timeout", "possible")


def test_a_log_whose_every_line_came_twice_has_the_same_lives(tmp_path: Path) -> None:
    once = started(ERROR, *KILLED)
    twice = "".join(line * 2 for line in once.splitlines(keepends=True))
    one, other = story(folder(tmp_path / "a", journal=once)), story(folder(tmp_path / "b", journal=twice))
    assert (len(one.lives), one.issue.lived_s) == (len(other.lives), other.issue.lived_s) == (1, 240.0)


def test_two_starts_in_a_moment_with_something_in_between_are_two(tmp_path: Path) -> None:
    rows = [
        ("10:00:00", "systemd[1]", "Started app.service - App."),
        ("10:00:00", "systemd[1]", "app.service: Main process exited, code=exited, status=1/FAILURE"),
    ]
    assert len(story(folder(tmp_path / "a", journal=journal(*rows, *rows))).lives) == 2


NOISE = (
    ("10:00:30", "systemd[1]", "Started systemd-tmpfiles-clean.timer - Daily Cleanup of Temporary Directories."),
    ("10:00:31", "systemd[1]", "Starting logrotate.service - Rotate log files..."),
    ("10:00:31", "systemd[1]", "logrotate.service: Deactivated successfully."),
    ("10:00:32", "systemd[1]", "session-4.scope: Deactivated successfully."),
)


def test_timers_jobs_and_logins_of_the_host_are_nobodys_life(tmp_path: Path) -> None:
    told = story(folder(tmp_path / "a", journal=started(ERROR, *NOISE, *KILLED)))
    assert (told.unit, len(told.lives)) == ("llm.service", 1)


def test_a_job_that_was_done_while_the_server_spoke_on_is_not_the_servers_unit(tmp_path: Path) -> None:
    said = journal(
        ("10:00:10", "python[41]", "[2026-05-09 10:00:10 TP0] Load weight begin. avail mem=78.60 GB"), *NOISE[2:3], ("10:00:40", "python[41]", OOM)
    )
    found = diagnosed(folder(tmp_path / "a", journal=said))
    assert (found.unit, found.cause) == (None, "gpu-oom-init")


def test_a_unit_of_which_systemd_says_only_that_it_ended_is_meant_where_nothing_speaks_on(tmp_path: Path) -> None:
    found = diagnosed(
        folder(tmp_path / "a", journal=journal(("10:00:10", "app[41]", "bye"), ("10:00:12", "systemd[1]", "app.service: Deactivated successfully.")))
    )
    assert (found.unit, found.cause) == ("app.service", "operator-stop")


def test_a_bare_description_is_the_units_where_it_shares_a_word_with_its_name(tmp_path: Path) -> None:
    old = "May 09 10:00:{} gpu01 systemd[1]: {}\n"
    said = (
        old.format("00", "Started Ollama Service.")
        + old.format("05", "Started Daily apt download activities.")
        + old.format("09", "Started Session 5 of user ops.")
    )
    told = story(folder(tmp_path / "a", journal=said), unit="ollama.service")
    assert [life.started_at is not None for life in told.lives] == [True]
    assert told.lives[0].started_at == told.issue.started_at


def test_another_units_program_does_not_speak_for_this_one(tmp_path: Path) -> None:
    rows = (
        ("10:00:00", "systemd[1]", "Started app.service - App."),
        ("10:00:20", "embedder[77]", "Failed to initialize NVML: Driver/library version mismatch"),
        ("10:00:21", "systemd[1]", "embedder.service: Main process exited, code=exited, status=1/FAILURE"),
        ("10:00:30", "systemd[1]", "app.service: Main process exited, code=dumped, status=11/SEGV"),
        ("10:00:30", "systemd[1]", "app.service: Failed with result 'core-dump'."),
    )
    evidence = folder(tmp_path / "a", journal=journal(*rows))
    assert diagnosed(evidence, unit="app.service").cause == "signal-death"
    assert diagnosed(evidence, unit="embedder.service").cause == "bad-environment"


def test_the_client_met_a_life_whose_start_lies_above_the_first_line(tmp_path: Path) -> None:
    said = journal(
        ("10:00:00", "vllm[44]", "INFO:     Application startup complete."),
        ("11:00:00", "vllm[44]", "ERROR 05-09 11:00:00 [core.py:516] RuntimeError: CUDA error: device-side assert triggered"),
        ("11:00:02", "systemd[1]", "vllm.service: Main process exited, code=exited, status=1/FAILURE"),
        ("11:00:02", "systemd[1]", "vllm.service: Failed with result 'exit-code'."),
        ("11:00:12", "systemd[1]", "Started vllm.service - vLLM."),
        ("11:02:12", "vllm[91]", "INFO:     Application startup complete."),
    )
    bench = "2026-05-09 11:00:01,901 ERROR task 17: http 500: Internal Server Error\n2026-05-09 11:00:03,101 ERROR task 18: <urlopen error [Errno 111] Connection refused>\n"
    found = diagnosed(folder(tmp_path / "a", journal=said, bench=bench))
    assert found.cause == "cuda-fault"


def test_spaces_and_carriage_returns_at_the_ends_of_lines_mean_nothing(tmp_path: Path) -> None:
    plain, ends = started(ERROR, *KILLED), RUNS_ON.format(ago="2h ago")
    one = diagnosed(folder(tmp_path / "a", journal=plain, status=ends))
    other = diagnosed(folder(tmp_path / "b", journal=plain.replace("\n", "  \r\n"), status=ends.replace("\n", " \r\n")))
    assert (one.cause, one.status, [e.text for e in one.evidence]) == (other.cause, other.status, [e.text for e in other.evidence])


def test_a_nameless_program_that_says_the_same_a_hundred_times_is_judged_in_time_as_many_as_its_lines(tmp_path: Path) -> None:
    """Each line is asked more than once whether the program outlived it: to look at all others for that took minutes for a thousand of them."""

    def judging(errors: int) -> int:
        said = "".join(f"$ cat log{n}\n2026-05-09 10:{n // 60:02d}:{n % 60:02d} RuntimeError: {OOM}\n" for n in range(errors))
        told = story(folder(tmp_path / str(errors), app=said))
        assert len(told.of_issue()) >= errors
        return steps(lambda: [survived(told, signal) for signal in told.of_issue()])

    assert judging(150) < 4 * judging(50)

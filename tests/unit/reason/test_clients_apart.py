"""Clients that met different things are told each by itself; what a client without a time met is not made up; and a race keeps its phase when the server is gone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from forensics.model import Diagnosis
from tests.unit.reason.telling import diagnosed, folder

UNIT = "sglang-qwen.service"
LOADED = f"     Loaded: loaded (/etc/systemd/system/{UNIT}; enabled; preset: enabled)\n"
ACTIVE = (
    f"● {UNIT} - SGLang Qwen\n{LOADED}     Active: active (running) since Mon 2026-11-30 {{since}} UTC; {{ago}} ago\n   Main PID: {{pid}} (python)\n"
)


def life(at: str, *, pid: int = 4711, after: str = "") -> str:
    """A life that started at ``at`` (of an hour), loads for 30 s, listens then and is ready 10 s later, with the lines that end it."""
    hour, minute = at.split(":")[:2]

    def line(second: int, text: str, who: str = f"python[{pid}]") -> str:
        stamp = f"{hour}:{int(minute) + second // 60:02d}:{second % 60:02d}"
        return f"2026-11-30T{stamp}+0000 gpu01 {who}: {text.replace('STAMP', f'[2026-11-30 {stamp}]')}\n"

    return (
        line(0, f"Started {UNIT} - SGLang Qwen.", "systemd[1]")
        + line(5, "STAMP server_args=ServerArgs(model_path='/models/Qwen3-32B', mem_fraction_static=0.8, host='0.0.0.0', port=30000)")
        + line(9, "STAMP Load weight begin. avail mem=78.50 GB")
        + line(25, "STAMP Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, avail mem=43.00 GB, mem usage=35.50 GB.")
        + line(26, "STAMP Memory pool end. avail mem=9.02 GB")
        + line(30, "INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)")
        + line(40, "STAMP The server is fired up and ready to roll!")
        + line(50, 'INFO:     10.0.0.7:40000 - "POST /v1/completions HTTP/1.1" 200 OK')
        + after
    )


def said(at: str, text: str, who: str = "systemd[1]") -> str:
    return f"2026-11-30T{at}+0000 gpu01 {who}: {text}\n"


def stop(at: str) -> str:
    return said(at, f"Stopping {UNIT} - SGLang Qwen...") + said(at, f"{UNIT}: Deactivated successfully.") + said(at, f"Stopped {UNIT} - SGLang Qwen.")


def refused(at: str, *, port: int = 30000) -> str:
    head = at[:-2]
    rows = "".join(
        f"2026-11-30 {head}{int(at[-2:]) + n:02d} ERROR request {n}: URLError: <urlopen error [Errno 111] Connection refused>\n" for n in range(4)
    )
    return f"2026-11-30 {at} bench: 4 requests to http://gpu01:{port}/v1/completions\n{rows}"


def warned(found: Diagnosis, kind: str) -> list[str]:
    return [w.text for w in found.warnings if w.kind == kind]


def test_one_that_came_too_early_and_one_after_the_stop_are_not_told_the_same(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=life("10:00:00", after=stop("11:30:00")), early=refused("10:00:10"), late=refused("11:35:00")))
    assert (str(found.cause), str(found.phase)) == ("startup-race", "weights")
    assert found.client is not None
    assert found.client.early_s == pytest.approx(30)
    assert found.headline.endswith("; another client (late.txt) met something else")
    of_it, other = warned(found, "other-client")
    assert of_it == "this is about early.txt (failed 10:00:10 to 10:00:13 UTC)"
    assert other.startswith("late.txt (failed 11:35:00 to 11:35:03 UTC): ")
    assert other.endswith("the client asked it when it was down, and was refused (operator-stop)")
    assert not any("because it does not run" in a.text for a in found.advice)


def test_one_that_came_too_early_and_one_at_another_port_are_both_told(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=life("10:00:00"), a=refused("10:00:10"), b=refused("10:20:00", port=30001)))
    assert {str(found.cause), *(text.rpartition("(")[2] for text in warned(found, "other-client")[1:])} == {"wrong-endpoint", "startup-race)"}
    assert "30001" in found.headline


def test_two_that_met_the_same_are_one_story(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=life("10:00:00"), a=refused("10:00:10"), b=refused("10:00:14")))
    assert (str(found.cause), warned(found, "other-client")) == ("startup-race", [])
    assert found.client is not None
    assert found.client.refused == 8


def test_a_client_between_a_stop_and_the_next_start_met_the_stop_though_the_server_is_well_now(tmp_path: Path) -> None:
    lives = life("10:00:00", after=stop("10:10:00")) + life("10:20:00", pid=5220)
    found = diagnosed(folder(tmp_path, journal=lives, status=ACTIVE.format(since="10:20:00", ago="6min", pid=5220), c1=refused("10:15:00")))
    assert (str(found.cause), str(found.health)) == ("operator-stop", "healthy")
    assert "was refused" in found.headline


def test_times_after_the_look_at_a_server_that_ran_say_nothing_of_it(tmp_path: Path) -> None:
    status = ACTIVE.format(since="10:00:00", ago="9min", pid=4711)
    found = diagnosed(folder(tmp_path, journal=life("10:00:00"), status=status, bench=refused("11:00:10")))
    assert str(found.cause) == "unknown"
    assert "at a time that is not known: before that it was too early, since then it asked elsewhere" in found.headline
    (told,) = warned(found, "client-clock")
    assert "its clock or zone is another, or it ran later" in told


def test_times_a_minute_before_the_look_are_still_held_against_it(tmp_path: Path) -> None:
    status = ACTIVE.format(since="10:00:00", ago="9min", pid=4711)
    found = diagnosed(folder(tmp_path, journal=life("10:00:00"), status=status, bench=refused("10:08:00")))
    assert str(found.cause) == "wrong-endpoint"


def test_a_start_for_a_crash_is_not_told_as_no_crash(tmp_path: Path) -> None:
    oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.49 GiB. GPU 0 has a total capacity of 79.10 GiB of which 5.71 GiB is free."
    crash = (
        said("10:05:00", oom, "python[4711]")
        + said("10:05:00", "[2026-11-30 10:05:00] Received sigquit from a child process. It usually means the child failed.", "python[4711]")
        + said("10:05:01", f"{UNIT}: Main process exited, code=killed, status=9/KILL")
        + said("10:05:01", f"{UNIT}: Failed with result 'signal'.")
        + said("10:06:00", f"{UNIT}: Scheduled restart job, restart counter is at 1.")
    )
    found = diagnosed(folder(tmp_path, journal=life("10:00:00", after=crash) + life("10:06:00", pid=5220), bench=refused("10:06:10")))
    assert str(found.cause) == "startup-race"
    assert "no crash" not in found.headline
    assert "it was starting again, as it had died at 10:05:01 UTC after 5m01s (gpu-oom-runtime); the client came 30s too early" in found.headline


def test_waiting_alone_does_not_help_a_client_of_another_port(tmp_path: Path) -> None:
    starting = "".join(life("10:00:00").splitlines(keepends=True)[:3])
    found = diagnosed(folder(tmp_path, journal=starting, bench=refused("10:00:12", port=8000)))
    assert str(found.cause) == "startup-race"
    assert found.headline.endswith("; it is to listen on 30000, and the client asked port 8000")


def test_the_time_of_a_client_may_be_seconds_of_the_epoch(tmp_path: Path) -> None:
    rows = "".join(f"178003441{n}.12 ERROR ConnectError: [Errno 111] Connection refused url=http://gpu01:30000/v1/completions\n" for n in range(4))
    found = diagnosed(folder(tmp_path, journal=life("06:00:00"), bench=rows))  # 2026-05-29 06:00:10 by the clock of the epoch
    assert found.client is not None
    assert found.client.first_error_at == pytest.approx(1780034410.12)


NAMESPACE = "Namespace(subparser='bench', num_prompts=4, dataset_name='random', base_url='http://127.0.0.1:30000')\n"
RAN = (
    "(MainProcess pid=9115) INFO 11-30 10:00:12 [utils.py:88] Sampling input_len from [64, 64] and output_len from [32, 32]\n"
    "Starting initial single prompt test run...\n{wait}\nStarting main benchmark run...\nFailed requests during benchmark run detected (capping to 10):\n"
    "Error 0: ConnectionRefusedError: [Errno 111] Connect call failed ('127.0.0.1', 30000)\n"
)


@pytest.mark.parametrize(
    ("wait", "cause"),
    [("Skipping endpoint ready check.", "startup-race"), ("Waiting for endpoint to become up in 600 seconds", "operator-stop")],
    ids=["it did not wait", "it may have waited"],
)
def test_a_benchmark_without_times_asked_when_its_last_line_was_written_only_where_it_did_not_wait(wait: str, cause: str, tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=life("10:00:00", after=stop("10:30:00")), bench=NAMESPACE + RAN.format(wait=wait)))
    assert str(found.cause) == cause
    if cause == "startup-race":
        assert str(found.phase) == "weights"


def test_a_benchmark_that_prints_some_of_its_errors_failed_as_often_as_it_counted(tmp_path: Path) -> None:
    counted = "============ Serving Benchmark Result ============\nSuccessful requests:                     0\nFailed requests:                         40\n"
    found = diagnosed(
        folder(tmp_path, journal=life("10:00:00", after=stop("10:30:00")), bench=NAMESPACE.replace("=4,", "=40,") + RAN.format(wait="") + counted)
    )
    assert found.client is not None
    assert (found.client.failed, found.client.refused, found.client.asked) == (40, 1, 40)
    assert "40 of 40 failed (refused), whether before or after the stop is not known" in found.headline


def test_what_was_stopped_and_started_since_is_asked_again_and_not_started(tmp_path: Path) -> None:
    lives = life("10:00:00", after=stop("10:10:00")) + life("10:20:00", pid=5220)
    found = diagnosed(folder(tmp_path, journal=lives, status=ACTIVE.format(since="10:20:00", ago="6min", pid=5220), bench=refused("10:15:00")))
    assert "run the client again: the unit has been started since, and is ready" in [a.text for a in found.advice]
    assert not any("systemctl start" in (a.command or "") for a in found.advice)


def test_of_two_clients_that_met_the_same_both_are_named(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parents[3] / "samples" / "silent-crash", tmp_path / "evidence")
    (tmp_path / "evidence" / "curl.txt").write_text("curl: (7) Failed to connect to 127.0.0.1 port 30000 after 0 ms: Connection refused\n")
    found = diagnosed(tmp_path / "evidence")
    assert found.client is not None
    assert (found.client.tool, found.client.refused) == ("curl and health check", 62)

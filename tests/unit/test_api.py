"""The pipeline as a library: targets in, diagnoses out, and the exit code of several."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import forensics
from forensics import api
from forensics.errors import TargetError
from forensics.model import Cause, ClientView, Diagnosis, Health

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


def told(cause: Cause, health: Health = Health.FAILED, ready_at: float | None = None, client: ClientView | None = None) -> Diagnosis:
    return Diagnosis(target="t", headline="h", health=health, cause=cause, ready_at=ready_at, client=client)


@pytest.mark.parametrize(
    ("diagnosis", "code"),
    [
        (told(Cause.GPU_OOM_INIT), 1),
        (told(Cause.MISTYPED_UNIT, Health.UNKNOWN), 1),
        (told(Cause.HEALTHY, Health.HEALTHY), 0),
        (told(Cause.OPERATOR_STOP, Health.STOPPED), 0),
        (told(Cause.OPERATOR_STOP, Health.STOPPED, client=ClientView(asked=3, failed=0)), 0),
        (told(Cause.OPERATOR_STOP, Health.STOPPED, client=ClientView(refused=2, asked=2, failed=2)), 1),
        (told(Cause.STARTUP_RACE, Health.STARTING), 4),
        (told(Cause.STARTUP_RACE, Health.HEALTHY, ready_at=1.0), 1),
        (told(Cause.EVIDENCE_MISSING, Health.UNKNOWN), 3),
        (told(Cause.UNKNOWN), 5),
        (told(Cause.UNKNOWN, Health.UNKNOWN), 3),
    ],
    ids=[
        "failure",
        "mistyped",
        "healthy",
        "stopped",
        "stopped-and-answered",
        "stopped-and-refused",
        "starting",
        "race-over",
        "no-evidence",
        "unknown",
        "nothing-seen",
    ],
)
def test_the_exit_code_of_one(diagnosis: Diagnosis, code: int) -> None:
    assert api.exit_code([diagnosis]) == code


def test_the_worst_of_several_counts() -> None:
    healthy, failed, starting = told(Cause.HEALTHY, Health.HEALTHY), told(Cause.HOST_OOM), told(Cause.STARTUP_RACE, Health.STARTING)
    assert api.exit_code([healthy, starting]) == 4
    assert api.exit_code([starting, failed, healthy]) == 1
    assert api.exit_code([failed, told(Cause.UNKNOWN)]) == 5
    assert api.exit_code([told(Cause.UNKNOWN), told(Cause.EVIDENCE_MISSING)]) == 3


def test_nothing_looked_at_is_could_not_look() -> None:
    assert api.exit_code([]) == 3


def test_a_folder_through_the_public_door() -> None:
    (found,) = forensics.diagnose([str(SAMPLES / "silent-crash")])
    assert (found.cause, found.unit) == ("gpu-oom-init", "sglang-qwen.service")


def test_several_targets_give_one_diagnosis_each_in_order() -> None:
    found = api.diagnose([str(SAMPLES / "healthy"), str(SAMPLES / "kernel-oom")])
    assert [d.cause for d in found] == ["healthy", "host-oom"]


def test_a_client_beside_the_target_is_evidence(tmp_path: Path) -> None:
    bench = tmp_path / "out.txt"
    bench.write_text("urllib.error.URLError: <urlopen error [Errno 111] Connection refused>\n")
    (found,) = api.diagnose([str(SAMPLES / "kernel-oom")], bench=[bench])
    assert found.client is not None
    assert found.client.refused == 1


def test_a_window_dates_a_client_that_prints_no_times(tmp_path: Path) -> None:
    bench = tmp_path / "out.txt"
    bench.write_text("urllib.error.URLError: <urlopen error [Errno 111] Connection refused>\n")
    (found,) = api.diagnose([str(SAMPLES / "kernel-oom")], bench=[bench], bench_window=(1.0, 2.0))
    assert found.client is not None
    assert (found.client.first_error_at, found.client.last_error_at) == (1.0, 2.0)


def test_a_mistyped_unit_of_saved_files_is_resolved_from_the_names_in_them() -> None:
    (found,) = api.diagnose([str(SAMPLES / "silent-crash")], unit="sglang-qwem")
    assert found.unit == "sglang-qwen.service"
    assert next(w.kind for w in found.warnings) == "mistyped-unit"


def test_what_is_saved_has_its_names_mapped_and_what_is_told_has_not(tmp_path: Path) -> None:
    (told_raw,) = api.diagnose([str(SAMPLES / "silent-crash")], save=tmp_path / "all")
    (told_all,) = api.diagnose([str(SAMPLES / "silent-crash")], save=tmp_path / "all2", redaction="all")
    api.diagnose([str(SAMPLES / "silent-crash")], save=tmp_path / "secrets", redaction="secrets")
    api.diagnose([str(SAMPLES / "silent-crash")], save=tmp_path / "none", redaction="none")
    held = {name: "gpu01" in "".join(f.read_text() for f in (tmp_path / name).iterdir()) for name in ("all", "all2", "secrets", "none")}
    assert held == {"all": False, "all2": False, "secrets": True, "none": True}
    said = {name: json.loads((tmp_path / name / "manifest.json").read_text())["redacted"] for name in held}
    assert said == {"all": "all", "all2": "all", "secrets": "secrets", "none": "none"}
    assert (told_raw.cause, told_raw.died_after_s) == (told_all.cause, told_all.died_after_s)


def test_names_are_taken_out_of_a_diagnosis_that_is_meant_for_others(tmp_path: Path) -> None:
    (tmp_path / "journal.txt").write_text(
        "2026-05-09T10:15:00+0000 gpu01 systemd[1]: Started llm.service - LLM.\n"
        "2026-05-09T10:15:01+0000 gpu01 python[4711]: FileNotFoundError: [Errno 2] No such file or directory: '/home/zoltan/model' on gpu01 for 8.8.8.8:9\n"
        "2026-05-09T10:15:30+0000 gpu01 systemd[1]: llm.service: Main process exited, code=exited, status=1/FAILURE\n"
    )
    (raw,), (mapped,) = (api.diagnose([str(tmp_path)], redaction=how) for how in ("none", "all"))
    assert any("/home/zoltan/model' on gpu01 for 8.8.8.8:9" in e.text for e in raw.evidence)
    assert any("/home/user-1/model' on host-1 for 192.0.2.1:9" in e.text for e in mapped.evidence)
    assert not any(name in repr(mapped) for name in ("zoltan", "gpu01", "8.8.8.8"))


def test_two_hosts_have_two_names_in_one_answer(tmp_path: Path) -> None:
    for name in ("zeus7", "hera8"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "journal.txt").write_text(f"2026-05-09T10:15:00+0000 {name} python[1]: KeyError: 'x' on {name}\n")
    found = api.diagnose([str(tmp_path / "zeus7"), str(tmp_path / "hera8")], redaction="all")
    assert [f"host-{n}" in repr(d) for n, d in enumerate(found, 1)] == [True, True]
    assert not any(name in repr(found) for name in ("zeus7", "hera8"))


def test_names_are_numbered_in_the_order_of_the_targets_however_quick_each_is(tmp_path: Path) -> None:
    names = ("zeus7", "hera8", "ares9")
    for name, lines in zip(names, (20_000, 2_000, 1), strict=True):
        (tmp_path / name).mkdir()
        (tmp_path / name / "journal.txt").write_text(f"2026-05-09T10:15:00+0000 {name} python[1]: KeyError: 'x' on {name}\n" * lines)
    found = api.diagnose([str(tmp_path / name) for name in names], redaction="all")
    assert [d.host for d in found] == ["host-1", "host-2", "host-3"]


def test_saved_files_are_not_waited_for() -> None:
    from forensics.wait import wait_until_ready

    with pytest.raises(TargetError, match="do not change by waiting"):
        wait_until_ready(str(SAMPLES / "silent-crash"))


def test_a_target_that_cannot_be_seen_costs_the_others_nothing() -> None:
    found = api.diagnose([str(SAMPLES / "kernel-oom"), str(SAMPLES / "healthy"), "ssh://127.0.0.1:1"])
    assert [d.cause for d in found] == ["host-oom", "healthy", "evidence-missing"]
    assert api.exit_code(found) == 3

"""What the host around a unit adds to a diagnosis, on captures of a real host on which each of these was staged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from forensics import api
from forensics.model import Cause, Diagnosis, Status

DATA = Path(__file__).parents[2] / "data"


def of(name: str, room: str = "beside") -> Diagnosis:
    (found,) = api.diagnose(str(DATA / room / name))
    return found


def without(tmp_path: Path, name: str, section: str) -> Diagnosis:
    """The same capture, in which nobody has asked one of the questions."""
    import json

    folder = tmp_path / "capture"
    shutil.copytree(DATA / "beside" / name, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["sections"] = [s for s in manifest["sections"] if s["name"] != section]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    for path in folder.glob(f"*-{section}"):
        path.unlink()
    (found,) = api.diagnose(str(folder))
    return found


def test_who_holds_the_port_is_named_with_its_unit() -> None:
    found = of("port")
    assert (found.cause, found.status) == (Cause.PORT_IN_USE, Status.ESTABLISHED)
    assert found.advice[0].text.startswith("port 31020 is held by python3 (pid 568, other-api.service, user root, up for 11s): stop that unit")
    assert found.advice[0].command == "systemctl status other-api.service"
    assert {"sockets", "processes"} <= {line.source for line in found.evidence}


def test_where_an_account_may_not_see_the_holder_the_question_for_root_is_given() -> None:
    found = of("port-ops")
    assert found.advice[0].command == "sudo ss -ltnp 'sport = :31020'"


def test_a_process_that_its_unit_has_left_behind_is_told_from_one_that_is_looked_after() -> None:
    found = of("orphan")
    assert "sglang-orphan.service" in found.advice[0].text
    assert "left behind by that unit, which does not run any more" in found.advice[0].text
    assert found.advice[0].command == "kill -TERM 1433"


def test_where_nobody_has_looked_nobody_is_named_and_nothing_is_called_free(tmp_path: Path) -> None:
    found = without(tmp_path, "port", "sockets")
    assert found.cause is Cause.PORT_IN_USE
    assert not any("is held by" in a.text or "any more" in a.text for a in found.advice)


def test_the_full_file_system_is_named() -> None:
    found = of("disk")
    assert found.cause is Cause.DISK_FULL
    assert found.advice[0].text == "full now: /mnt/small: 0.0 of 0.1 GiB free"
    assert any(line.source == "disks" and "/mnt/small" in line.text for line in found.evidence)
    assert not any(w.kind == "disk-full" for w in found.warnings)


def test_a_leftover_on_the_gpu_is_named_before_a_flag_is_turned() -> None:
    found = of("gpu")
    assert found.cause is Cause.GPU_OOM_INIT
    assert "(pid 1445, session-1800.scope, user root, up for 11s) 38.9 GiB on GPU 0: left over from before" in found.advice[0].text
    assert found.advice[0].command == "kill -TERM 1445"
    assert any(w.kind == "gpu-ecc" and "GPU 1: 3" in w.text for w in found.warnings)


def test_of_one_card_its_number_is_not_told(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(DATA / "beside" / "gpu", tmp_path / "one-card"))
    cards = folder / "06-gpu"
    cards.write_text("".join(line for line in cards.read_text().splitlines(keepends=True) if not line.startswith("1, ")))
    (found,) = api.diagnose(str(folder))
    assert "38.9 GiB:" in found.advice[0].text


def test_without_a_list_of_processes_a_stranger_on_the_gpu_is_told_by_its_pid(tmp_path: Path) -> None:
    found = without(tmp_path, "gpu", "processes")
    assert "pid 1445 python3 38.9 GiB" in found.advice[0].text
    assert found.advice[0].command == "ps -o pid,user,lstart,cgroup,args -p 1445"


def test_a_driver_that_was_upgraded_shortly_before_is_a_change() -> None:
    (change,) = of("gpu").changed
    assert (change.what, change.before) == ("package nvidia-driver-570", "570.86.15-0ubuntu1")
    assert change.after == "570.124.06-0ubuntu1, 2h00m before this life"


def test_a_file_that_is_not_what_ran_is_warned_of_and_compared() -> None:
    found = of("flags")
    (warning,) = [w for w in found.warnings if w.kind == "unit-changed"]
    assert (
        "/etc/systemd/system/sglang-flags.service was changed at 2026-11-30T11:09:18Z, after this life began (2026-11-30T11:09:12Z)" in warning.text
    )
    assert [(c.what, c.before, c.after) for c in found.changed] == [("--mem-fraction-static", "0.88", "0.92")]
    assert found.cause is Cause.CUDA_FAULT  # the log's own root is not touched by it


def test_a_unit_that_was_stopped_because_its_rival_started_says_so() -> None:
    found = of("conflict")
    (warning,) = [w for w in found.warnings if w.kind == "unit-conflict"]
    assert warning.text.startswith("blue.service, which cannot run beside it (Conflicts=), was started at 2026-11-30T11:09:14Z")


def test_the_core_of_a_crash_is_cited_and_named() -> None:
    found = of("core")
    assert found.cause is Cause.SIGNAL_DEATH
    assert "left a core (pid 930, python3.11, SIGSEGV), in python3.11" in found.advice[0].text
    assert found.advice[0].command == "coredumpctl info 930"
    assert any(line.source == "coredumps" for line in found.evidence)


def test_a_child_that_crashed_explains_the_exit_of_its_parent() -> None:
    found = of("child-core", "rules")
    assert (found.cause, found.status, found.also) == (Cause.SIGNAL_DEATH, Status.SUPPORTED, (Cause.EXIT_CODE_DEATH,))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("boot-cut", "died after 5s while serving: the machine went down without a shutdown"),
        ("boot-panic", "died after 5s while serving: the kernel panicked"),
        ("boot-orderly", "was stopped after 6.5s: the machine was shut down or rebooted in order"),
    ],
)
def test_how_the_machine_went_down_is_said(name: str, says: str) -> None:
    found = of(name, "rules")
    assert (found.cause, found.status) == (Cause.HOST_REBOOT, Status.SUPPORTED)
    assert says in found.headline
    assert Cause.OPERATOR_STOP not in found.also

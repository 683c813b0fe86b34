"""Reboots, power cuts and journals that are gone, on a real host of its own: each is told from the others, and absence is not taken for proof. In this order."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forensics import api
from forensics.model import Cause, Coverage, Diagnosis, EndKind, Health
from tests.remote.bed import Host
from tests.remote.conftest import booted

CRASHED = "sglang-crashed.service"
SERVING = "sglang-serving.service"


@pytest.fixture(scope="module")
def spare() -> Iterator[Host]:
    """A host that may be rebooted and ruined."""
    with booted("bookworm") as [host]:
        host.add_server(CRASHED, play="crash", load_s=0.3, arguments="--model-path /m --port 31401 --mem-fraction-static 0.88")
        host.add_server(SERVING, play="serve", load_s=0.3, arguments="--model-path /m --port 31402")
        host.sh(f"systemctl start {CRASHED} {SERVING}")
        host.wait_for(CRASHED, ("failed",))
        host.wait_until(SERVING, "fired up")
        yield host


def look(host: Host, unit: str, user: str = "root") -> Diagnosis:
    [found] = api.diagnose(f"{user}@{host.name}", unit=unit, ssh_config=host.config)
    return found


def says(found: Diagnosis, text: str) -> bool:
    return any(text in w.text for w in found.warnings)


def test_a_reboot_ended_what_ran(spare: Host) -> None:
    spare.reboot()
    found = look(spare, SERVING)
    assert (found.health, found.died_at is not None) == (Health.STOPPED, True)
    assert found.cause in (Cause.HOST_REBOOT, Cause.OPERATOR_STOP)  # systemd stopped it first, in order
    assert found.end.kind in (EndKind.REBOOT, EndKind.STOPPED)


def test_what_had_crashed_before_the_reboot_has_crashed_still(spare: Host) -> None:
    found = look(spare, CRASHED)
    assert (found.cause, found.end.signal) == (Cause.GPU_OOM_INIT, "SIGKILL")
    assert found.health in (Health.FAILED, Health.STOPPED)  # systemd knows nothing of it any more


def test_a_power_cut_ended_what_ran_and_is_no_crash_of_its_own(spare: Host) -> None:
    spare.sh(f"systemctl start {SERVING}")
    spare.wait_until(SERVING, "fired up", times=2)
    spare.sh("journalctl --sync; sleep 1")
    spare.cut_power()
    spare.switch_on()
    found = look(spare, SERVING)
    assert (found.cause, found.end.kind) == (Cause.HOST_REBOOT, EndKind.REBOOT)
    assert found.health in (Health.FAILED, Health.STOPPED)  # it is down, and systemd has forgotten it


def test_a_journal_that_was_vacuumed_is_named_and_systemds_word_is_used(spare: Host) -> None:
    spare.sh(f"systemctl start {CRASHED}")
    spare.wait_for(CRASHED, ("failed",))
    spare.sh("journalctl --rotate; journalctl --vacuum-time=1s; sleep 1; journalctl --rotate; journalctl --vacuum-time=1s")
    found = look(spare, CRASHED)
    assert (found.health, found.end.signal) == (Health.FAILED, "SIGKILL")
    assert found.cause in (Cause.SIGNAL_DEATH, Cause.EVIDENCE_MISSING)
    assert found.coverage["journal"] is not Coverage.READ
    assert says(found, "journal")


def test_a_host_that_keeps_no_journal_is_named_and_systemds_word_is_used(spare: Host) -> None:
    spare.put("/etc/systemd/journald.conf.d/none.conf", b"[Journal]\nStorage=none\n")
    spare.sh("rm -rf /var/log/journal /run/log/journal; systemctl restart systemd-journald")
    found = look(spare, CRASHED)
    assert (found.health, found.end.signal) == (Health.FAILED, "SIGKILL")
    assert found.cause in (Cause.SIGNAL_DEATH, Cause.EVIDENCE_MISSING)
    assert found.coverage["journal"] in (Coverage.NOT_COLLECTED, Coverage.EMPTY)
    assert says(found, "journal")
    spare.remove("/etc/systemd/journald.conf.d/none.conf")
    spare.sh("mkdir -p /var/log/journal; systemd-tmpfiles --create --prefix /var/log/journal; systemctl restart systemd-journald")


def test_without_a_bus_the_journal_still_tells_and_the_gap_is_named(spare: Host) -> None:
    spare.sh(f"systemctl start {CRASHED}")
    spare.wait_for(CRASHED, ("failed",))
    spare.sh("systemctl stop dbus.socket dbus.service 2>/dev/null; true")
    try:
        found = look(spare, CRASHED, "ops")  # root has a socket of its own to PID 1
    finally:
        spare.inside("systemctl start dbus.socket")
    assert found.cause is Cause.GPU_OOM_INIT
    assert found.coverage["status"] is Coverage.NOT_COLLECTED
    assert found.coverage["journal"] is Coverage.READ
    assert says(found, "bus")

"""What is concluded of containers: real outputs of docker and podman, and the shapes of a cluster's (tests/data/containers/README.md says which is which)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from forensics.model import Diagnosis
from forensics.reason import manager
from tests.unit.reason.telling import diagnosed

DATA = Path(__file__).resolve().parents[2] / "data" / "containers"
ITSELF, OPERATOR, KERNEL, SYSTEMD, UNKNOWN = "itself", "operator", "kernel", "systemd", "unknown"
NONE = ("none", UNKNOWN, None, None)

ENDS = [
    ("docker-created", "operator-stop", NONE, "stopped", 1),
    ("docker-exit1", "bad-environment", ("exit", ITSELF, None, 1), "failed", 1),
    ("docker-forever", "bad-environment", ("exit", ITSELF, None, 1), "failed", 7),
    ("docker-health-starting", "startup-race", NONE, "starting", 1),
    ("docker-hostkilled", "signal-death", ("signal", UNKNOWN, "SIGKILL", None), "failed", 1),
    ("docker-killed", "signal-death", ("signal", OPERATOR, "SIGKILL", None), "failed", 1),
    ("docker-loop", "bad-environment", ("exit", ITSELF, None, 1), "failed", 4),
    ("docker-notfound", "exec-failure", (UNKNOWN, SYSTEMD, None, None), "failed", 1),
    ("docker-oom", "host-oom", ("oom-kill", KERNEL, "SIGKILL", None), "failed", 1),
    ("docker-serving", "healthy", NONE, "healthy", 1),
    ("docker-stopped", "operator-stop", ("stopped", OPERATOR, None, 0), "stopped", 1),
    ("docker-stopped-deaf", "operator-stop", ("stopped", OPERATOR, "SIGKILL", None), "stopped", 1),
    ("docker-stopped143", "operator-stop", ("stopped", OPERATOR, "SIGTERM", None), "stopped", 1),
    ("docker-unhealthy", "startup-hang", NONE, "degraded", 1),
    ("podman-exit1", "bad-environment", ("exit", ITSELF, None, 1), "failed", 1),
    ("podman-hostkilled", "signal-death", ("signal", UNKNOWN, "SIGKILL", None), "failed", 1),
    ("podman-killed", "signal-death", ("signal", OPERATOR, "SIGKILL", None), "failed", 1),
    ("podman-loop", "bad-environment", ("exit", ITSELF, None, 1), "failed", 4),
    ("podman-oom", "signal-death", ("signal", UNKNOWN, "SIGKILL", None), "failed", 1),  # its engine has not seen why
    ("podman-serving", "healthy", NONE, "healthy", 1),
    ("podman-stopped", "operator-stop", ("stopped", UNKNOWN, None, None), "stopped", 1),
    ("podman-stopped143", "operator-stop", ("stopped", UNKNOWN, "SIGTERM", None), "stopped", 1),
    ("podman-unhealthy", "startup-hang", NONE, "degraded", 1),
    ("k8s-clean-loop", "restart-loop", ("exit", ITSELF, None, 0), "failed", 1),
    ("k8s-config", "exec-failure", NONE, "failed", 1),
    ("k8s-describe", "startup-timeout", ("signal", UNKNOWN, "SIGKILL", None), "failed", 1),
    ("k8s-evicted-disk", "disk-full", NONE, "failed", 1),
    ("k8s-exec", "exec-failure", ("exit", ITSELF, None, 128), "failed", 1),
    ("k8s-image", "exec-failure", NONE, "failed", 1),
    ("k8s-init", "bad-environment", ("exit", ITSELF, None, 1), "failed", 1),
    ("k8s-liveness-serving", "watchdog-timeout", ("signal", UNKNOWN, "SIGKILL", None), "unknown", 2),
    ("k8s-liveness-starting", "startup-timeout", ("signal", UNKNOWN, "SIGKILL", None), "unknown", 2),
    ("k8s-oom", "host-oom", ("oom-kill", KERNEL, "SIGKILL", None), "unknown", 2),
    ("k8s-oom-child", "host-oom", ("oom-kill", KERNEL, None, 1), "failed", 1),
    ("k8s-panic", "signal-death", ("exit", ITSELF, None, 2), "failed", 1),
]


def end(found: Diagnosis) -> tuple[str, str, str | None, int | None]:
    return (str(found.end.kind), str(found.end.by), found.end.signal, found.end.status)


@pytest.mark.parametrize(("name", "cause", "ended", "health", "lives"), ENDS)
def test_a_container_is_judged_as_a_unit_is(name: str, cause: str, ended: tuple[str, str, str | None, int | None], health: str, lives: int) -> None:
    found = diagnosed(DATA / name)
    assert (str(found.cause), end(found), str(found.health), len(found.lives)) == (cause, ended, health, lives)


def told(found: Diagnosis) -> str:
    """All sentences and commands of a diagnosis; not what it quotes."""
    commands = [h.next for h in found.hypotheses] + [a.command for a in found.advice]
    return "\n".join([found.headline, *(a.text for a in found.advice), *(c for c in commands if c)])


@pytest.mark.parametrize("name", [name for name, *_ in ENDS])
def test_nothing_is_said_of_systemd_nor_asked_of_it(name: str) -> None:
    text = told(diagnosed(DATA / name))
    assert "systemd" not in text
    assert "systemctl" not in text
    assert "journalctl -u" not in text
    assert "CONTAINER" not in text
    assert " POD" not in text


def test_the_panic_is_reported_and_not_the_back_off() -> None:
    found = diagnosed(DATA / "k8s-panic")
    assert (found.evidence[0].source, found.evidence[0].text[:16]) == ("previous-log.txt", "[signal SIGSEGV:")
    assert any(e.text == "goroutine 1 [running]:" for e in found.evidence)
    assert "restart-loop" in [str(c) for c in found.also]


def test_the_run_that_died_is_the_one_at_issue_and_not_the_one_that_replaced_it() -> None:
    found = diagnosed(DATA / "k8s-oom")
    assert (found.lives[0].started_at, found.died_after_s) == (1796029800.0, 1203.0)
    assert found.lives[1].alive is True
    assert any(w.kind == "earlier-life" for w in found.warnings)
    assert any('"reason": "OOMKilled"' in e.text for e in found.evidence)


def test_each_run_of_a_loop_ended_as_its_engine_says() -> None:
    found = diagnosed(DATA / "docker-loop")
    assert [(str(x.end.kind), x.end.status) for x in found.lives] == [("exit", 1)] * 4
    assert all(x.lived_s is not None and 0.9 < x.lived_s < 1.2 for x in found.lives)


def test_without_events_the_last_run_is_still_told_from_those_before(tmp_path: Path) -> None:
    shutil.copytree(DATA / "docker-loop", tmp_path / "loop")
    (tmp_path / "loop" / "events.txt").unlink()
    found = diagnosed(tmp_path / "loop")
    assert [(str(x.end.kind), x.end.status) for x in found.lives] == [("unknown", None), ("exit", 1)]
    assert found.died_after_s == pytest.approx(1.00294, abs=1e-4)
    assert [e.line for e in found.evidence if e.source == "log.txt"] == [24]


def test_a_signal_that_an_operator_sent_is_not_known_without_events(tmp_path: Path) -> None:
    shutil.copytree(DATA / "docker-killed", tmp_path / "killed")
    (tmp_path / "killed" / "events.txt").unlink()
    assert end(diagnosed(tmp_path / "killed")) == ("signal", UNKNOWN, "SIGKILL", None)


def test_a_log_without_stamps_goes_to_the_run_that_its_name_says(tmp_path: Path) -> None:
    shutil.copytree(DATA / "k8s-liveness-serving", tmp_path / "pod")
    for name in ("previous-log.txt", "log.txt"):
        path = tmp_path / "pod" / name
        path.write_text("".join(line.partition(" ")[2] for line in path.read_text().splitlines(keepends=True)))
    found = diagnosed(tmp_path / "pod")
    assert (str(found.cause), found.lives[0].ready, found.lives[1].ready) == ("watchdog-timeout", True, False)


def test_a_line_that_the_container_wrote_itself_is_not_its_engines(tmp_path: Path) -> None:
    shutil.copytree(DATA / "docker-killed", tmp_path / "fake")
    log = tmp_path / "fake" / "log.txt"
    identity = json.loads((tmp_path / "fake" / "inspect.json").read_text())[0]["Id"]
    log.write_text(log.read_text() + f"2026-11-30T10:37:44.1Z container oom {identity} (image=app:1, name=killed)\n")
    assert str(diagnosed(tmp_path / "fake").cause) == "signal-death"


def test_an_exit_code_above_two_hundred_means_nothing_of_systemds(tmp_path: Path) -> None:
    shutil.copytree(DATA / "docker-exit1", tmp_path / "odd")
    inspect = tmp_path / "odd" / "inspect.json"
    inspect.write_text(inspect.read_text().replace('"ExitCode": 1,', '"ExitCode": 203,'))
    (tmp_path / "odd" / "events.txt").unlink()
    (tmp_path / "odd" / "log.txt").write_text("2026-11-30T10:37:38.863790186Z INFO working\n")
    found = diagnosed(tmp_path / "odd")
    assert (str(found.cause), found.end.status) == ("exit-code-death", 203)


# --------------------------------------------------------------------------- words and commands


@pytest.mark.parametrize(
    ("command", "docker", "kubernetes"),
    [
        ("journalctl -u web -n 100 --no-pager", "docker logs --timestamps --tail 200 web", "kubectl -n ns logs pod-0 -c web --previous --timestamps --tail=200"),
        ("journalctl -u web -g 'must match' -n 3", "docker logs --timestamps --tail 200 web 2>&1 | grep -E 'must match'", "kubectl -n ns logs pod-0 -c web --previous --timestamps --tail=200 2>&1 | grep -E 'must match'"),
        ("journalctl -u web | grep -E 'Stopping|Stopped' | tail", "docker logs --timestamps --tail 200 web 2>&1 | grep -E 'Stopping|Stopped' | tail", "kubectl -n ns logs pod-0 -c web --previous --timestamps --tail=200 2>&1 | grep -E 'Stopping|Stopped' | tail"),
        ("systemctl cat web", "docker inspect web", "kubectl -n ns describe pod pod-0"),
        ("systemctl stop web", "docker stop web", None),
        ("systemctl reset-failed web", None, None),
        ("coredumpctl info -u web", None, None),
        ("docker inspect -f '{{.State.OOMKilled}}' CONTAINER", "docker inspect -f '{{.State.OOMKilled}}' web", "kubectl -n ns describe pod pod-0"),
        ("kubectl logs --previous POD", None, "kubectl -n ns logs pod-0 -c web --previous"),
        ("ddforensics wait gpu01 --unit web", "ddforensics wait docker:web", "ddforensics wait k8s:ns/pod-0/web"),
        ("journalctl -k --since -1h | grep -i xid", "journalctl -k --since -1h | grep -i xid", "journalctl -k --since -1h | grep -i xid"),
        ("nvidia-smi -L; systemctl cat web", "nvidia-smi -L; docker inspect web", "nvidia-smi -L; kubectl -n ns describe pod pod-0"),
        (None, None, None),
    ],
)  # fmt: skip
def test_a_command_reads_as_it_is_typed_there(command: str | None, docker: str | None, kubernetes: str | None) -> None:
    from forensics.model import UnitState

    assert manager.fitting(command, UnitState(name="web", manager=("docker", "web"))) == docker
    assert manager.fitting(command, UnitState(name="web", manager=("kubectl", "ns", "pod-0", "web"))) == kubernetes
    assert manager.fitting(command, UnitState(name="web.service")) == command
    assert manager.fitting(command, None) == command

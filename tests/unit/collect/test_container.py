"""The container sessions against client programs that play captured answers, hang, flood and refuse."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from forensics import collect
from forensics.collect.command import merge_stamped
from forensics.collect.container import masked_words
from forensics.errors import TargetError
from forensics.model import Coverage, PartKind, Section
from tests.unit.collect.fakeclient import DATA, Client, cluster, engine

TOKEN = "hf_abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return folder


@pytest.fixture
def nothing_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


def asked(word: str, tmp_path: Path, **limits: Any) -> tuple[dict[str, Section], Sequence[str]]:
    """The sections of a target, by name, and the problems."""
    (target,) = collect.parse_targets([word])
    with collect.open_target(target, spool=tmp_path, limits=collect.Limits(**limits)) as session:
        sections = session.ask(())
        return {s.name: s for s in sections}, [f"{p.source}: {p.text}" for p in session.problems]


def refusal(word: str, tmp_path: Path, **limits: Any) -> TargetError:
    with pytest.raises(TargetError) as caught:
        asked(word, tmp_path, **limits)
    assert caught.value.exit_code == 3
    return caught.value


# --------------------------------------------------------------------------- docker and podman


def test_inspect_the_log_and_the_events_are_three_sections_with_what_was_run(programs: Path, tmp_path: Path) -> None:
    client = engine(programs, "docker", "docker-loop")
    sections, problems = asked("docker:loop", tmp_path)
    assert [(s.name, s.part, s.coverage, s.exit_code) for s in sections.values()] == [
        ("inspect", PartKind.CONTAINER, Coverage.READ, 0),
        ("log", PartKind.SERVER, Coverage.READ, 0),
        ("events", PartKind.EVENTS, Coverage.READ, 0),
    ]
    assert all(s.took_s is not None and s.argv.startswith("docker ") for s in sections.values())
    assert problems == []
    assert sections["log"].head().count(b"ModuleNotFoundError") == 4
    assert [line.split()[0] for line in client.asked] == ["inspect", "events", "logs"]


def test_the_environment_is_not_asked_for(programs: Path, tmp_path: Path) -> None:
    client = engine(programs, "docker", "docker-loop")
    asked("docker:loop", tmp_path)
    (inspect,) = [line for line in client.asked if line.startswith("inspect")]
    assert "--format" in inspect
    assert "Env" not in inspect
    assert "Labels" not in inspect
    assert "{{json .}}" not in inspect


def test_events_are_asked_for_by_the_whole_id_as_a_filter_by_name_takes_every_name_that_begins_so(programs: Path, tmp_path: Path) -> None:
    client = engine(programs, "docker", "docker-stopped")
    asked("docker:stopped", tmp_path)
    (events,) = [line for line in client.asked if line.startswith("events")]
    assert "container=18f4039113a1c1acad3f5224aa2615d9d1582fdfccd372fccf0a47eefe7c93db" in events
    assert "--until" in events  # without it docker goes on listening


def test_podman_is_asked_in_its_own_words(programs: Path, tmp_path: Path) -> None:
    client = engine(programs, "podman", "podman-loop")
    sections, _ = asked("podman:loop", tmp_path)
    assert sections["inspect"].argv.startswith("podman ")
    assert '"ImageName"' in client.asked[0]
    assert "--stream=false" in client.asked[1]


def test_both_streams_come_in_the_order_of_their_stamps(programs: Path, tmp_path: Path) -> None:
    client = engine(programs, "docker", "docker-exit1")
    client.cases.clear()
    client.on("inspect*", out=json.dumps(json.loads((DATA / "docker-exit1" / "inspect.json").read_text())[0]))
    client.on(
        "logs*",
        out="2026-11-30T10:00:00.1Z one\n2026-11-30T10:00:00.35Z three\n  goes on\n",
        err="2026-11-30T10:00:00.25Z two\n2026-11-30T10:00:01Z four\n",
    )
    client.on("events*")
    sections, _ = asked("docker:exit1", tmp_path)
    assert [line.split(b"Z ")[-1].strip() for line in sections["log"].head().splitlines()] == [b"one", b"two", b"three", b"goes on", b"four"]
    assert sections["events"].coverage is Coverage.EMPTY


def test_a_clock_that_was_set_back_does_not_lose_a_line(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("2026-11-30T10:00:05Z a\n2026-11-30T10:00:01Z b\n")
    (tmp_path / "err").write_text("2026-11-30T10:00:03Z c\n")
    assert merge_stamped((tmp_path / "out", tmp_path / "err"), tmp_path / "to") == ""
    assert [line[-1:] for line in (tmp_path / "to").read_text().splitlines()] == ["c", "a", "b"]


def test_a_log_that_cannot_be_read_is_a_gap_and_not_the_end(programs: Path, tmp_path: Path) -> None:
    client = Client(programs, "docker")
    client.on("inspect*", out=json.dumps(json.loads((DATA / "docker-oom" / "inspect.json").read_text())[0]))
    client.on("logs*", err="Error response from daemon: configured logging driver does not support reading\n", code=1)
    client.on("events*", out=DATA / "docker-oom" / "events.txt")
    sections, problems = asked("docker:oom", tmp_path)
    assert sections["log"].coverage is Coverage.NOT_COLLECTED
    assert problems == ["log: not collected: Error response from daemon: configured logging driver does not support reading"]


def test_there_is_no_client(nothing_on_path: None, tmp_path: Path) -> None:
    for word, name in (("docker:web", "docker"), ("podman:web", "podman"), ("k8s:ns/pod", "kubectl")):
        error = refusal(word, tmp_path)
        assert f"there is no {name} on this machine" in error.text
        assert error.hint is not None
        assert f"{name} " in error.hint
        assert ">" in error.hint


@pytest.mark.parametrize(
    ("name", "said", "wanted", "hint"),
    [
        ("docker", "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?", "docker cannot be reached", "DOCKER_HOST"),
        ("docker", "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: Get …: dial unix: connect: permission denied", "may not use docker", "group"),
        ("docker", "error during connect: Get \"http://gpu9:2375/v1.50/\": dial tcp: lookup gpu9: no such host", "docker cannot be reached", "DOCKER_HOST"),
        ("podman", "Cannot connect to Podman. Please verify your connection to the Linux system", "podman cannot be reached", "running"),
        ("docker", "template parsing error: template: :1:2: bad", "docker inspect failed: template parsing error", ""),
    ],
)  # fmt: skip
def test_each_refusal_has_its_own_words_and_a_way_out(name: str, said: str, wanted: str, hint: str, programs: Path, tmp_path: Path) -> None:
    Client(programs, name).on("inspect*", err=said + "\n", code=1)
    error = refusal(f"{name}:web", tmp_path)
    assert wanted in error.text
    assert hint in (error.hint or "")


@pytest.mark.parametrize(
    ("name", "said"),
    [("docker", "Error: No such object: vlm\n"), ("docker", "Error response from daemon: No such container: vlm\n"), ("podman", 'Error: inspecting object: no such object: "vlm"\n')],
)  # fmt: skip
def test_a_name_that_does_not_exist_brings_the_names_near_it(name: str, said: str, programs: Path, tmp_path: Path) -> None:
    client = Client(programs, name)
    client.on("inspect*", err=said, code=1)
    client.on("ps*", out="postgres\nvllm\nvllm-old\n")
    error = refusal(f"{name}:vlm", tmp_path)
    assert error.text == "no such container"
    assert error.hint is not None
    assert error.hint.startswith("near names: vllm")


def test_a_client_that_hangs_is_ended_with_all_it_started(programs: Path, tmp_path: Path) -> None:
    Client(programs, "docker").on("inspect*", then=f"sleep 471 & echo $! >{programs}/pid; wait")
    began = time.monotonic()
    error = refusal("docker:web", tmp_path, total_s=1.0)
    assert "gave no answer within 1 s" in error.text
    assert time.monotonic() - began < 5
    pid = int((programs / "pid").read_text())
    stat = Path(f"/proc/{pid}/stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


def test_a_log_that_floods_keeps_its_newest_lines_and_says_so(programs: Path, tmp_path: Path) -> None:
    client = Client(programs, "docker")
    client.on("inspect*", out=json.dumps(json.loads((DATA / "docker-loop" / "inspect.json").read_text())[0]))
    client.on("logs*", then="seq -f '2026-11-30T10:00:00Z line %g' 1 60000")
    client.on("events*")
    sections, problems = asked("docker:loop", tmp_path, log_bytes=200_000)
    log = sections["log"]
    lines = list(log.path.read_text().splitlines())
    assert lines[-1] == "2026-11-30T10:00:00Z line 60000"
    assert lines[0].startswith("2026-11-30T10:00:00Z line ")
    assert 200_000 <= log.size() <= 600_000
    assert (log.coverage, log.cut) == (Coverage.CUT, -1)
    assert problems == ["log: not all of it"]


def test_an_answer_that_is_no_json_is_an_error_for_a_person(programs: Path, tmp_path: Path) -> None:
    Client(programs, "docker").on("inspect*", out="[" * 100_000)
    assert "did not answer in JSON" in refusal("docker:web", tmp_path).text


def test_an_id_that_is_none_is_not_handed_on(programs: Path, tmp_path: Path) -> None:
    client = Client(programs, "docker")
    client.on("inspect*", out='{"Id": "--help", "Created": "2026-11-30T10:37:38Z", "Path": "x", "Args": [], "State": {}, "Name": "/web"}')
    client.on("logs*", out="2026-11-30T10:37:38Z x\n")
    sections, _ = asked("docker:web", tmp_path)
    assert list(sections) == ["inspect", "log"]


def test_a_container_can_be_asked_again(programs: Path, tmp_path: Path) -> None:
    client = engine(programs, "docker", "docker-loop")
    (target,) = collect.parse_targets(["docker:loop"])
    with collect.open_target(target, spool=tmp_path) as session:
        assert session.changes
        assert not session.live
        first, second = session.ask(()), session.ask(())
        assert [s.name for s in first] == [s.name for s in second]
        assert {s.path for s in first}.isdisjoint({s.path for s in second})
    assert len(client.asked) == 6


# --------------------------------------------------------------------------- kubernetes


POD = "k8s:serving/api-7c9d5b6f4d-x2x7q"


def test_the_log_of_the_run_that_died_is_read_and_not_only_that_of_the_restarted_one(programs: Path, tmp_path: Path) -> None:
    client = cluster(programs, "k8s-oom")
    sections, problems = asked(POD, tmp_path)
    assert [(s.name, s.part) for s in sections.values()] == [
        ("pod", PartKind.POD), ("events", PartKind.EVENTS), ("previous-log", PartKind.SERVER), ("log", PartKind.SERVER),
    ]  # fmt: skip
    assert b"rebuilding the index" in sections["previous-log"].head()
    assert problems == []
    assert all("--request-timeout=15s" in line and line.startswith("-n serving ") for line in client.asked)


def test_a_container_that_waits_for_its_restart_has_one_log(programs: Path, tmp_path: Path) -> None:
    client = cluster(programs, "k8s-panic")
    sections, _ = asked(POD, tmp_path)
    assert list(sections) == ["pod", "events", "previous-log"]
    assert b"panic: runtime error" in sections["previous-log"].head()
    assert sum(" logs " in line for line in client.asked) == 1


def test_a_container_that_never_ran_has_none(programs: Path, tmp_path: Path) -> None:
    client = cluster(programs, "k8s-image")
    sections, _ = asked(POD, tmp_path)
    assert list(sections) == ["pod", "events"]
    assert not any(" logs " in line for line in client.asked)


def test_no_environment_and_no_header_reaches_the_disk(programs: Path, tmp_path: Path) -> None:
    cluster(programs, "k8s-liveness-starting")
    assert TOKEN in (DATA / "k8s-liveness-starting" / "pod.json").read_text()
    spool = tmp_path / "spool"
    spool.mkdir()
    (target,) = collect.parse_targets([POD])
    with collect.open_target(target, spool=spool) as session:
        sections = {s.name: s for s in session.ask(())}
        kept = "".join(p.read_text() for p in spool.rglob("*") if p.is_file())
        held = json.loads(sections["pod"].path.read_text())
    assert TOKEN not in kept
    assert "Bearer" not in kept
    assert "env" not in held["spec"]["containers"][0]
    assert held["spec"]["containers"][0]["livenessProbe"] == {
        "periodSeconds": 10,
        "failureThreshold": 3,
        "httpGet": {"path": "/healthz", "port": 8080},
    }
    assert held["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 137


def test_the_init_container_that_failed_is_looked_at_and_the_others_are_named(programs: Path, tmp_path: Path) -> None:
    client = cluster(programs, "k8s-init")
    sections, problems = asked(POD, tmp_path)
    assert b"No module named 'alembic'" in sections["previous-log"].head()
    assert any(" -c migrate " in line for line in client.asked)
    assert len(problems) == 1
    assert "api (waiting: PodInitializing), proxy (waiting: PodInitializing)" in problems[0]
    assert [c["name"] for c in json.loads(sections["pod"].path.read_text())["status"]["initContainerStatuses"]] == ["migrate"]


def test_a_container_can_be_named(programs: Path, tmp_path: Path) -> None:
    cluster(programs, "k8s-init")
    sections, _ = asked(POD + "/proxy", tmp_path)
    assert [c["name"] for c in json.loads(sections["pod"].path.read_text())["status"]["containerStatuses"]] == ["proxy"]
    error = refusal(POD + "/sidecar", tmp_path)
    assert (error.text, error.hint) == ("the pod has no container sidecar", "it has: migrate, api, proxy")


@pytest.mark.parametrize(
    ("said", "wanted", "hint"),
    [
        ('Error from server (Forbidden): pods "api" is forbidden: User "dev" cannot get resource "pods" in API group "" in the namespace "serving"', "may not see it", "auth can-i"),
        ("error: You must be logged in to the server (Unauthorized)", "does not know this account", "log in again"),
        ("The connection to the server localhost:8080 was refused - did you specify the right host or port?", "cluster cannot be reached", "KUBECONFIG"),
        ("Unable to connect to the server: dial tcp 10.0.0.1:6443: i/o timeout", "cluster cannot be reached", "KUBECONFIG"),
        ('error: context "prod" does not exist', "cluster cannot be reached", "current-context"),
        ("error: the server doesn't have a resource type \"pod\"", "kubectl failed", ""),
    ],
)  # fmt: skip
def test_each_refusal_of_a_cluster_has_its_own_words(said: str, wanted: str, hint: str, programs: Path, tmp_path: Path) -> None:
    Client(programs, "kubectl").on("*' get pod '*", err=said + "\n", code=1)
    error = refusal(POD, tmp_path)
    assert wanted in error.text
    assert hint in (error.hint or "")


def test_a_pod_that_does_not_exist_brings_the_pods_near_it(programs: Path, tmp_path: Path) -> None:
    client = Client(programs, "kubectl")
    client.on("*' get pod '*", err='Error from server (NotFound): pods "api-7c9d5b6f4d-x2x7q" not found\n', code=1)
    client.on("*' get pods '*", out="pod/api-7c9d5b6f4d-9fk2l\npod/postgres-0\n")
    error = refusal(POD, tmp_path)
    assert (error.text, error.hint) == ("no such pod", "near names: api-7c9d5b6f4d-9fk2l")


def test_logs_and_events_that_are_forbidden_are_denied_and_the_pod_is_still_read(programs: Path, tmp_path: Path) -> None:
    client = Client(programs, "kubectl")
    client.on("*' get pod '*", out=DATA / "k8s-panic" / "pod.json")
    for pattern, what in (("*' get events '*", "events"), ("*' logs '*", "pods/log")):
        client.on(pattern, err=f'Error from server (Forbidden): {what} is forbidden: User "dev" cannot list resource\n', code=1)
    sections, problems = asked(POD, tmp_path)
    assert [s.coverage for s in sections.values()] == [Coverage.READ, Coverage.DENIED, Coverage.DENIED]
    assert [p.split(":")[0] for p in problems] == ["events", "previous-log"]


def test_a_log_that_the_node_has_thrown_away_is_a_gap_although_the_client_leaves_with_0(programs: Path, tmp_path: Path) -> None:
    client = cluster(programs, "k8s-panic")
    client.cases.insert(0, f"*' logs '*) echo 'unable to retrieve container logs for containerd://{'0' * 64}'; exit 0;;")
    client.on("nothing")
    sections, problems = asked(POD, tmp_path)
    assert sections["previous-log"].coverage is Coverage.NOT_COLLECTED
    assert [p[:50] for p in problems] == ["previous-log: not collected: unable to retrieve co"]


def test_a_client_that_asks_for_a_password_is_told_that_nobody_is_there(programs: Path, tmp_path: Path) -> None:
    Client(programs, "kubectl").on(
        "*' get pod '*", then='read -r answer || { echo "error: You must be logged in to the server (Unauthorized)" >&2; exit 1; }; sleep 60'
    )
    began = time.monotonic()
    assert "does not know this account" in refusal(POD, tmp_path).text
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["--port", "8080", "--api-key", "mysecret123", "-v"], ["--port", "8080", "--api-key", "[masked]", "-v"]),
        (["--api-key=mysecret123"], ["--api-key=[masked]"]),
        (["--tokenizer", "/models/x", "--max-num-batched-tokens", "8192"], ["--tokenizer", "/models/x", "--max-num-batched-tokens", "8192"]),
        (["-c", "serve --hf-token hf_abcdefghijklmnopqrstuvwxyz0123456789"], ["-c", "serve --hf-token [masked]"]),
        ([1, None, "x"], [1, None, "x"]),
        (None, None),
    ],
)
def test_a_secret_on_the_command_line_is_masked_although_its_flag_is_another_word(words: object, kept: object) -> None:
    assert masked_words(words) == kept


def test_a_secret_among_the_arguments_does_not_reach_the_disk(programs: Path, tmp_path: Path) -> None:
    held = json.loads((DATA / "docker-loop" / "inspect.json").read_text())[0]
    client = Client(programs, "docker")
    client.on("inspect*", out=json.dumps({**held, "Args": ["serve", "--api-key", "mysecret123"]}))
    client.on("logs*")
    client.on("events*")
    spool = tmp_path / "spool"
    spool.mkdir()
    (target,) = collect.parse_targets(["docker:loop"])
    with collect.open_target(target, spool=spool) as session:
        session.ask(())
        kept = "".join(p.read_text() for p in spool.rglob("*") if p.is_file())
    assert "--api-key" in kept
    assert "mysecret123" not in kept

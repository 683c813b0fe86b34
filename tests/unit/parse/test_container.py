"""What container engines and clusters say, read as unit states and runs: real outputs of docker and podman, and the shapes of a cluster's."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forensics.model import PartKind, Section, UnitState, ending
from forensics.parse import sniff
from forensics.parse.container import Read, inspect
from forensics.parse.pod import gib, pod

DATA = Path(__file__).parents[2] / "data" / "containers"


def inspected(name: str) -> UnitState:
    (state,) = inspect((DATA / name / "inspect.json").read_text(), source="inspect").states
    return state


def of_pod(name: str) -> Read:
    return pod((DATA / name / "pod.json").read_text(), source="pod")


@pytest.mark.parametrize(
    ("name", "active", "result", "code", "status", "restarts"),
    [
        ("docker-created", "inactive", None, None, None, 0),
        ("docker-exit1", "failed", "exit-code", "exited", 1, 0),
        ("docker-forever", "activating", "exit-code", "exited", 1, 7),
        ("docker-hostkilled", "failed", "signal", "killed", 9, 0),
        ("docker-killed", "failed", "signal", "killed", 9, 0),
        ("docker-loop", "failed", "exit-code", "exited", 1, 3),
        ("docker-notfound", "failed", "resources", None, None, 0),
        ("docker-oom", "failed", "oom-kill", "killed", 9, 0),
        ("docker-serving", "active", None, None, None, 0),
        ("docker-stopped", "inactive", "success", "exited", 0, 0),
        ("docker-stopped143", "inactive", "success", "killed", 15, 0),
        ("docker-unhealthy", "active", None, None, None, 0),
        ("podman-exit1", "failed", "exit-code", "exited", 1, 0),
        ("podman-forever", "active", None, None, None, 16),
        ("podman-loop", "failed", "exit-code", "exited", 1, 3),
        ("podman-oom", "failed", "signal", "killed", 9, 0),  # podman 4.3 on control groups v1 does not see it
        ("podman-stopped", "inactive", "success", "exited", 0, 0),
    ],
)
def test_an_engines_state_is_told_in_a_units_words(
    name: str, active: str, result: str | None, code: str | None, status: int | None, restarts: int
) -> None:
    state = inspected(name)
    assert (state.active, state.result, state.main_code, state.main_status, state.restarts) == (active, result, code, status, restarts)
    kind, _, own = name.partition("-")
    assert state.manager == (kind, own)
    assert state.name == own


def test_the_times_the_limit_and_the_command_are_read() -> None:
    state = inspected("docker-oom")
    assert (state.memory_max_gib, state.argv) == (24 / 1024, ("/app/eat.sh",))
    assert state.started_at == pytest.approx(1796035059.479437)
    assert state.exited_at == pytest.approx(1796035059.571358)
    assert state.duration_s == pytest.approx(0.091921, abs=1e-5)
    assert inspected("podman-oom").argv == ("/app/eat.sh",)  # podman repeats the program among its arguments
    assert inspected("docker-serving").exited_at is None  # the year 1 is no time


def test_the_lines_that_say_so_can_be_cited() -> None:
    lines = (DATA / "docker-oom" / "inspect.json").read_text().splitlines()
    cited = inspected("docker-oom").lines
    assert {key: lines[number - 1].strip() for key, (number, _) in cited.items()} == {key: text for key, (_, text) in cited.items()}
    assert {key: text for key, (_, text) in cited.items()} == {
        "active": '"Status": "exited",', "main": '"ExitCode": 137,', "result": '"OOMKilled": true,', "restarts": '"RestartCount": 0,',
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "health"),
    [("docker-serving", "healthy"), ("docker-unhealthy", "unhealthy"), ("docker-health-starting", "starting"), ("podman-unhealthy", "unhealthy"), ("podman-exit1", None)],
)  # fmt: skip
def test_a_health_check_is_told_and_its_absence_is_none(name: str, health: str | None) -> None:
    assert inspected(name).health == health


def test_of_several_containers_the_one_in_trouble_comes_first_and_each_cites_its_own_lines() -> None:
    both = [json.loads((DATA / name / "inspect.json").read_text())[0] for name in ("docker-serving", "docker-oom")]
    text = json.dumps(both, indent=4)
    read = inspect(text)
    assert [s.name for s in read.states] == ["oom", "serving"]
    oom, serving = read.states
    assert "result" not in serving.lines
    assert text.splitlines()[oom.lines["main"][0] - 1].strip() == '"ExitCode": 137,'


def test_an_answer_on_one_line_is_read_and_cited_from_the_word_on() -> None:
    (state,) = inspect(json.dumps(json.loads((DATA / "docker-oom" / "inspect.json").read_text()))).states
    assert state.result == "oom-kill"
    assert state.lines["main"][0] == 1
    assert state.lines["main"][1].startswith('"ExitCode": 137')
    assert len(state.lines["main"][1]) <= 300


def test_the_runs_that_the_engine_remembers() -> None:
    (last,) = inspect((DATA / "docker-loop" / "inspect.json").read_text()).runs
    assert (last.unit, last.code, last.status) == ("loop", "exited", 1)
    before, now = inspect((DATA / "podman-forever" / "inspect.json").read_text()).runs
    assert (before.started_at, now.ended_at) == (None, None)
    assert before.ended_at is not None
    assert now.started_at is not None
    assert before.ended_at < now.started_at


@pytest.mark.parametrize(
    ("code", "meant"),
    [
        (0, ("exited", 0)),
        (1, ("exited", 1)),
        (128, ("exited", 128)),
        (137, ("killed", 9)),
        (143, ("killed", 15)),
        (203, ("exited", 203)),
        (-1, ("exited", -1)),
    ],
)
def test_one_number_says_how_a_process_ended(code: int, meant: tuple[str, int]) -> None:
    assert ending(code) == meant


# --------------------------------------------------------------------------- pods


@pytest.mark.parametrize(
    ("name", "active", "sub", "result", "status", "restarts", "runs"),
    [
        ("k8s-panic", "activating", "auto-restart", "exit-code", 2, 6, 1),
        ("k8s-oom", "active", "running", None, None, 1, 2),
        ("k8s-oom-child", "activating", "auto-restart", "oom-kill", 1, 4, 1),
        ("k8s-image", "failed", "failed", None, None, 0, 0),
        ("k8s-config", "failed", "failed", None, None, 0, 0),
        ("k8s-exec", "activating", "auto-restart", "exit-code", 128, 4, 0),  # it never started: 1970 is no time
        ("k8s-evicted-disk", "failed", "failed", None, None, None, 0),
        ("k8s-clean-loop", "activating", "auto-restart", "success", 0, 6, 1),
        ("k8s-liveness-starting", "active", "running", None, None, 3, 2),
    ],
)
def test_a_pods_status_is_told_in_a_units_words(
    name: str, active: str, sub: str, result: str | None, status: int | None, restarts: int | None, runs: int
) -> None:
    read = of_pod(name)
    (state,) = read.states
    assert (state.active, state.sub, state.result, state.main_status, state.restarts) == (active, sub, result, status, restarts)
    assert (state.name, state.manager) == ("api", ("kubectl", "serving", "api-7c9d5b6f4d-x2x7q", "api"))
    assert len(read.runs) == runs


def test_an_end_for_memory_is_one_whatever_the_exit_code() -> None:
    for name, code in (("k8s-oom", 9), ("k8s-oom-child", 1)):
        run = of_pod(name).runs[0]
        assert (run.result, run.status) == ("oom-kill", code)


def test_the_container_that_failed_comes_first_of_a_pods() -> None:
    read = of_pod("k8s-init")
    assert [s.name for s in read.states] == ["migrate", "api", "proxy"]
    text = (DATA / "k8s-init" / "pod.json").read_text().splitlines()
    number, cited = read.states[0].lines["main"]
    assert text[number - 1].strip() == cited == '"exitCode": 1,'
    assert "main" not in read.states[1].lines  # the line of another container is not its own


def test_a_description_says_the_same_as_the_json() -> None:
    read = pod((DATA / "k8s-describe" / "describe.txt").read_text(), source="describe")
    (state,) = read.states
    assert (state.name, state.sub, state.main_code, state.main_status, state.restarts, state.duration_s) == (
        "nautobot",
        "auto-restart",
        "killed",
        9,
        12,
        90.0,
    )
    assert state.manager == ("kubectl", "default", "nautobot-68bcb95f6b-5tdtw", "nautobot")
    assert state.started_at == 1643718977.0  # Tue, 01 Feb 2022 13:36:17 +0100
    assert state.memory_max_gib == pytest.approx(1.28e9 / 2**30)
    assert state.lines["main"][1] == "Exit Code:    137"
    assert len(read.runs) == 1


def test_of_a_list_of_pods_all_are_read_and_no_line_is_cited() -> None:
    items = [json.loads((DATA / name / "pod.json").read_text()) for name in ("k8s-oom", "k8s-panic")]
    read = pod(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=4))
    assert [s.sub for s in read.states] == ["auto-restart", "running"]
    assert all(not s.lines for s in read.states)


@pytest.mark.parametrize(
    ("text", "value"),
    [("512Mi", 0.5), ("2Gi", 2.0), ("1073741824", 1.0), ("1G", 1e9 / 2**30), ("1500m", 1.5 / 2**30), ("", None), ("2 Gi", None), ("-1Gi", None), ("9" * 40 + "Gi", None)],
)  # fmt: skip
def test_a_quantity_of_memory(text: str, value: float | None) -> None:
    assert gib(text) == (None if value is None else pytest.approx(value))


def test_yaml_is_not_read_and_the_way_out_is_said() -> None:
    read = pod("apiVersion: v1\nkind: Pod\nmetadata:\n  name: x\n")
    assert read.states == ()
    assert "-o json" in read.problems[0].text


def nested(depth: int) -> str:
    return '{"kind": "Pod", "status": ' + "[" * depth + "]" * depth + "}"


HOSTILE: list[Any] = [
    {
        "State": {"Status": ["x"], "ExitCode": 10**400, "Health": [1], "StartedAt": 5},
        "Path": 1,
        "Args": {},
        "Name": {},
        "Id": 7,
        "HostConfig": {"Memory": 10**400},
    },
    {"State": {"Status": "exited", "ExitCode": "137", "StartedAt": "2026-13-99T99:99:99Z"}, "Path": "\x1b[2J", "Args": [None], "Name": "/--help"},
    {"State": {}, "Path": "x", "Args": None, "Name": "/a;reboot"},
    {
        "kind": "Pod",
        "status": {
            "containerStatuses": [{"name": "$(id)", "state": "x"}, 3, {"name": "ok", "state": {"terminated": {"exitCode": True}}, "lastState": []}]
        },
    },
    {
        "kind": "Pod",
        "metadata": {"name": "-n", "namespace": "x y"},
        "status": {"containerStatuses": [{"name": "a", "state": {"waiting": {"reason": ["x"]}}}]},
    },
    {
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "a", "command": "x", "args": [1], "resources": 3}]},
        "status": {"phase": 1, "containerStatuses": {}},
    },
    {"kind": "List", "items": [{"kind": "Pod"}]},
]


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("read", [inspect, pod])
def test_whatever_stands_in_the_fields_no_name_comes_out_that_a_shell_could_misread(value: Any, read: Callable[..., Read]) -> None:
    found = read(json.dumps(value, indent=4))
    for state in found.states:
        for word in (state.name, *state.manager):
            assert word.replace("-", "").replace("_", "").replace(".", "").isalnum()
            assert not word.startswith("-")


@pytest.mark.parametrize("text", ["", "[", "{}", "null", "[" * 100_000, nested(100_000), "Name: x\nNamespace: y\n", "\0", "{" * 50_000])
@pytest.mark.parametrize("read", [inspect, pod])
def test_what_is_no_answer_is_a_problem_and_no_exception(text: str, read: Callable[..., Read]) -> None:
    found = read(text, source="x")
    assert found.states == ()
    assert found.problems


def test_a_description_of_a_hundred_thousand_lines_takes_no_time() -> None:
    head, _, rest = (DATA / "k8s-describe" / "describe.txt").read_text().partition("Conditions:")
    began = time.monotonic()
    read = pod(head + "      Message: " + "x " * 100 + "\n" * 2 + "      k:  v\n" * 100_000 + "Conditions:" + rest)
    assert time.monotonic() - began < 5
    assert read.states[0].main_status == 9


# --------------------------------------------------------------------------- known by its content


def kinds(path: Path) -> list[PartKind]:
    return [part.kind for part in sniff.parts(Section(name="-", path=path))]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("docker-exit1/inspect.json", PartKind.CONTAINER), ("podman-exit1/inspect.json", PartKind.CONTAINER), ("docker-loop/events.txt", PartKind.EVENTS),
        ("podman-loop/events.txt", PartKind.EVENTS), ("k8s-panic/pod.json", PartKind.POD), ("k8s-panic/events.txt", PartKind.EVENTS), ("k8s-describe/describe.txt", PartKind.POD),
        ("k8s-events-table/events.txt", PartKind.EVENTS), ("docker-loop/log.txt", PartKind.SERVER), ("k8s-panic/previous-log.txt", PartKind.SERVER),
    ],
)  # fmt: skip
def test_an_answer_is_known_by_its_content_whatever_it_is_called(name: str, kind: PartKind) -> None:
    assert kinds(DATA / name) == [kind]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"apiVersion": "v1", "kind": "List", "items": [{"kind": "Event", "reason": "BackOff", "involvedObject": {"name": "x"}}]}', PartKind.EVENTS),
        ('{"log":"KeyError: \'x\'\\n","stream":"stderr","time":"2026-11-30T10:37:38.863790186Z"}\n' * 3, PartKind.SERVER),
        ("apiVersion: v1\nkind: Pod\nmetadata:\n  name: x\n", PartKind.POD),
        ('{"State": "ready", "Path": "/x", "Args": []}\n', PartKind.CLIENT),
        ("Name: x\nsomething else\n", PartKind.SERVER),
        ("2026-11-30T10:37:38Z container start is what I do\n", PartKind.SERVER),
    ],
)
def test_what_only_looks_like_it_is_not_taken_for_it(text: str, kind: PartKind, tmp_path: Path) -> None:
    path = tmp_path / "-"
    path.write_text(text)
    assert kinds(path) == [kind]


def test_a_pasted_terminal_may_hold_several_of_them(tmp_path: Path) -> None:
    inspected_text, log = ((DATA / "docker-exit1" / name).read_text() for name in ("inspect.json", "log.txt"))
    path = tmp_path / "-"
    path.write_text(
        f"$ docker inspect exit1\n{inspected_text}$ docker logs -t exit1\n{log}$ kubectl describe pod x\n{(DATA / 'k8s-describe' / 'describe.txt').read_text()}"
    )
    assert kinds(path) == [PartKind.CONTAINER, PartKind.SERVER, PartKind.POD]


def test_the_state_before_is_read_under_its_old_name_too() -> None:
    text = (DATA / "k8s-describe" / "describe.txt").read_text()
    assert "    Last State:" in text
    old = pod(text.replace("    Last State:", "    Last Termination State:"), source="describe")
    assert old.states == pod(text, source="describe").states
    assert old.runs == pod(text, source="describe").runs

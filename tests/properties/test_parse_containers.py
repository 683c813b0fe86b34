"""Whatever an engine, a cluster or somebody who plays one says: it is read, no name comes out that a shell could misread, and every cited line is in the text."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from forensics.parse.container import Read, inspect
from forensics.parse.pod import pod

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,252}")
KEYS = st.sampled_from([
    "State", "Status", "ExitCode", "OOMKilled", "Error", "StartedAt", "FinishedAt", "Health", "Log", "Output", "Name", "Id", "Path", "Args", "RestartCount", "HostConfig", "Memory",
    "kind", "items", "metadata", "namespace", "name", "spec", "status", "containers", "initContainers", "containerStatuses", "initContainerStatuses", "state", "lastState", "terminated",
    "waiting", "running", "reason", "message", "exitCode", "startedAt", "finishedAt", "restartCount", "ready", "resources", "limits", "memory", "command", "args", "phase",
])  # fmt: skip
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(0, 255), st.text(max_size=8),
    st.sampled_from(["exited", "running", "restarting", "created", "CrashLoopBackOff", "OOMKilled", "Pod", "List", "2026-11-30T10:37:38Z", "0001-01-01T00:00:00Z", "web", "-x", "$(id)", "512Mi", "a\nb"]),
)  # fmt: skip
JSON = st.recursive(LEAVES, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=8)), max_leaves=40)
STATUS = st.fixed_dictionaries(
    {"name": LEAVES, "state": st.dictionaries(KEYS, JSON, max_size=2), "lastState": st.dictionaries(KEYS, JSON, max_size=2), "restartCount": LEAVES}
)
PODS = st.fixed_dictionaries({
    "kind": st.just("Pod"), "metadata": st.dictionaries(KEYS, LEAVES), "spec": st.dictionaries(KEYS, JSON, max_size=3),
    "status": st.fixed_dictionaries({"containerStatuses": st.lists(STATUS, max_size=3), "phase": LEAVES}),
})  # fmt: skip
HELD = st.fixed_dictionaries(
    {"State": st.dictionaries(KEYS, JSON), "Path": LEAVES, "Args": JSON, "Name": LEAVES, "RestartCount": LEAVES, "HostConfig": JSON}
)
LINES = st.lists(
    st.one_of(
        st.sampled_from([
            "Name:  web-0", "Namespace:  x", "Name: $(id)", "Containers:", "Init Containers:", "  web:", "  -x:", "    State:  Waiting", "    Last State: Terminated", "      Reason: OOMKilled",
            "      Exit Code: 137", "      Exit Code: " + "9" * 400, "      Started: Tue, 01 Feb 2022 13:36:17 +0100", "      Finished: Tue, 99 Feb 2022 13:36:17 +9900", "    Restart Count: 3",
            "    Limits:", "      memory:  1280M", "    Command:", "      serve", "Events:", "", "\t",
        ]),
        st.text(max_size=20),
    ),
    max_size=40,
).map("\n".join)  # fmt: skip


def is_sound(read: Read, text: str) -> None:
    lines = text.split("\n")
    for state in read.states:
        assert all(NAME.fullmatch(word) for word in (state.name, *state.manager))
        for number, cited in state.lines.values():
            assert cited in lines[number - 1]
            assert len(cited) <= 300
    for run in read.runs:
        assert NAME.fullmatch(run.unit)
    assert read.states or read.problems


@settings(max_examples=300, deadline=None)
@given(st.one_of(JSON, HELD, st.lists(HELD, max_size=3)), st.sampled_from([None, 4]))
def test_any_answer_of_inspect_is_read(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    is_sound(inspect(text), text)


@settings(max_examples=300, deadline=None)
@given(st.one_of(JSON, PODS, st.builds(lambda items: {"kind": "List", "items": items}, st.lists(PODS, max_size=3))), st.sampled_from([None, 4]))
def test_any_pod_is_read(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    is_sound(pod(text), text)


@settings(max_examples=300, deadline=None)
@given(st.one_of(LINES, st.text(max_size=200)))
def test_any_description_is_read(text: str) -> None:
    is_sound(pod(text), text)
    is_sound(inspect(text), text)

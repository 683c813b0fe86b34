"""Turn what a cluster says of a pod (``kubectl get pod -o json``, ``kubectl describe pod``) into unit states and runs of its containers. Judges none of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from forensics import clock, lazily
from forensics.model import Problem, Run, UnitState, ending
from forensics.parse.container import NAME, Lines, Read, as_dict, as_list, result_of, text_of, time_of, trouble, whole

_STATUSES = (("initContainerStatuses", "initContainers"), ("containerStatuses", "containers"))
_WAITING_WELL = ("ContainerCreating", "PodInitializing")
_QUANTITY = lazily.pattern(r"(?P<number>\d{1,18}(?:\.\d{1,9})?)(?P<unit>[KMGTP]i?|k|m)?")
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_DESCRIBED_TIME = lazily.pattern(
    r"[A-Z][a-z]{2}, (?P<day>\d\d) (?P<month>[A-Z][a-z]{2}) (?P<year>\d{4}) (?P<time>\d\d:\d\d:\d\d) (?P<zone>[+-]\d{4})"
)
_FIELD = lazily.pattern(r"(?P<indent> *)(?P<key>[A-Z][A-Za-z ]{0,40}):(?:\s+(?P<value>\S.*))?\s*$")
_HEAD = lazily.pattern(r"  (?P<name>[a-z0-9][a-z0-9.-]{0,62}):\s*$")
_CONTAINERS = {"Init Containers": "initContainerStatuses", "Containers": "containerStatuses"}
_STATES = {"State": "state", "Last State": "lastState", "Last Termination State": "lastState"}  # so called by kubectl before 1.4


def is_pod(value: object) -> bool:
    """Whether JSON is a pod, or a list of pods."""
    if not isinstance(value, dict):
        return False
    items = value.get("items")
    return value.get("kind") == "Pod" or (
        value.get("kind") in ("List", "PodList") and isinstance(items, list) and bool(items) and all(is_pod(x) for x in items)
    )


def is_events(value: object) -> bool:
    """Whether JSON is a list of events, or one."""
    if not isinstance(value, dict):
        return False
    items = value.get("items")
    listed = (
        isinstance(items, list) and bool(items) and all(isinstance(x, dict) and ("involvedObject" in x or x.get("kind") == "Event") for x in items)
    )
    return value.get("kind") == "Event" or listed


def pod(text: str, *, source: str = "", first_line: int = 1) -> Read:
    """Read a pod as JSON, or as ``kubectl describe`` writes it; of a list all pods."""
    if text.lstrip()[:1] == "{":
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            return Read(problems=(Problem(source=source, line=first_line, text=f"no whole pod: {type(error).__name__}"),))
        items = value.get("items") if isinstance(value, dict) else None
        held = items if isinstance(items, list) else [value]
    elif text.startswith("apiVersion:"):
        said = "a pod as YAML is not read: take it with -o json, or kubectl describe pod"
        return Read(problems=(Problem(source=source, line=first_line, text=said),))
    else:
        held = described(text)
    lines = Lines(text if len(held) == 1 else "", first_line)  # of a list, no line can be told to be one pod's
    states, runs = [], []
    for one in held:
        for state, of_it in _containers(one, source, lines, json_=text.lstrip()[:1] == "{") if isinstance(one, dict) else ():
            states.append(state)
            runs.extend(of_it)
    if not states:
        return Read(problems=(Problem(source=source, line=first_line, text="a pod without containers: nothing could be read of it"),))
    return Read(tuple(sorted(states, key=trouble)), tuple(runs))


def _containers(held: Mapping[str, Any], source: str, lines: Lines, *, json_: bool) -> list[tuple[UnitState, list[Run]]]:
    metadata, status, spec = as_dict(held, "metadata"), as_dict(held, "status"), as_dict(held, "spec")
    namespace, pod_name = text_of(metadata.get("namespace")) or "default", text_of(metadata.get("name"))
    over = text_of(status.get("phase")) == "Failed"
    found = []
    for statuses, specs in _STATUSES:
        told = {text_of(s.get("name")): s for s in as_list(status, statuses)}
        wanted = {text_of(c.get("name")): c for c in as_list(spec, specs)}
        names = list(told) or (list(wanted) if specs == "containers" else [])
        for name in names:
            if NAME.fullmatch(name) and NAME.fullmatch(pod_name) and NAME.fullmatch(namespace):
                made = _Container(told.get(name, {}), wanted.get(name, {}), (namespace, pod_name, name), pod_failed=over)
                found.append((made.state(source, lines, json_=json_), made.runs()))
    return found


class _Container:
    """One container of a pod: its status, its specification, and where it is."""

    def __init__(self, status: Mapping[str, Any], spec: Mapping[str, Any], place: tuple[str, str, str], *, pod_failed: bool) -> None:
        self.status, self.spec, self.place, self.pod_failed = status, spec, place, pod_failed
        self.now, self.last = as_dict(status, "state"), as_dict(as_dict(status, "lastState"), "terminated")
        self.waiting, self.ended = as_dict(self.now, "waiting"), as_dict(self.now, "terminated")
        self.running = as_dict(self.now, "running")

    def activity(self) -> tuple[str, str]:
        """Active and sub state in systemd's words."""
        reason = text_of(self.waiting.get("reason"))
        if self.running:
            return "active", "running"
        if reason == "CrashLoopBackOff" or (self.waiting and self.last and reason not in _WAITING_WELL):
            return "activating", "auto-restart"
        if self.waiting and reason in ("", *_WAITING_WELL):
            return ("failed", "failed") if self.pod_failed else ("activating", "start-pre")
        if self.waiting or (not self.ended and self.pod_failed):
            return "failed", "failed"
        if self.ended:
            return ("inactive", "dead") if _result(self.ended) == "success" else ("failed", "failed")
        return "activating", "start-pre"

    def state(self, source: str, lines: Lines, *, json_: bool) -> UnitState:
        active, sub = self.activity()
        over = self.ended or (self.last if sub == "auto-restart" else {})
        code = whole(over.get("exitCode"))
        main_code, main_status = ending(code) if code is not None else (None, None)
        started, ended = time_of((over or self.running).get("startedAt")), time_of(over.get("finishedAt"))
        limits = as_dict(as_dict(self.spec, "resources"), "limits")
        return UnitState(
            name=self.place[2], load="loaded", active=active, sub=sub, result=_result(over) if over else None, main_code=main_code, main_status=main_status,
            since=ended if over else started, started_at=started, exited_at=ended, duration_s=ended - started if started is not None and ended is not None else None,
            restarts=whole(self.status.get("restartCount")), memory_max_gib=gib(text_of(limits.get("memory"))), argv=_words(self.spec), manager=("kubectl", *self.place),
            health=self._health(), source=source, lines=self._lines(lines, json_=json_, over=bool(over or self.last)),
        )  # fmt: skip

    def _health(self) -> str | None:
        """What its readiness probe says; without one, a cluster calls all that runs ready."""
        if not self.running or "readinessProbe" not in self.spec:
            return None
        return "healthy" if self.status.get("ready") is True else "starting"

    def _lines(self, lines: Lines, *, json_: bool, over: bool) -> dict[str, tuple[int, str]]:
        name = re.escape(self.place[2])
        if json_:
            wanted = {"restarts": r'"restartCount"\s*:'}
            if over:
                wanted |= {"main": r'"exitCode"\s*:', "result": r'"reason"\s*:\s*"(?:OOMKilled|Error|StartError|ContainerCannotRun|Completed)"'}
            if reason := text_of(self.waiting.get("reason")):
                wanted["active"] = rf'"reason"\s*:\s*"{re.escape(reason)}"'
            own = [x for key, _ in _STATUSES for x in lines.objects(key) if lines.find(rf'"name"\s*:\s*"{name}"', after=x[0], until=x[1])]
            begins, ends = own[0] if own else (0, None)
        else:
            wanted = {"active": r"^    State:", "restarts": r"^    Restart Count:"}
            if over:
                wanted |= {"main": r"^\s{6}Exit Code:", "result": r"^\s{6}Reason:\s+(?:OOMKilled|Error|StartError|ContainerCannotRun|Completed)\b"}
            head = lines.find(rf"^  {name}:")
            begins, ends = (head[0], None) if head else (0, None)
        return lines.cites(wanted, after=begins, until=ends)

    def runs(self) -> list[Run]:
        """The run before, where the cluster keeps it, and the present one."""
        found = []
        for held in (self.last, self.ended or self.running):
            started, ended, code = time_of(held.get("startedAt")), time_of(held.get("finishedAt")), whole(held.get("exitCode"))
            if started is None:
                continue
            how, number = ending(code) if code is not None else (None, None)
            result = _result(held) if code is not None else None
            found.append(
                Run(unit=self.place[2], started_at=started, ended_at=ended, code=how, status=number, result=None if result == "success" else result)
            )
        return found


def _result(ended: Mapping[str, Any]) -> str:
    return result_of(whole(ended.get("exitCode")) or 0, oom=text_of(ended.get("reason")) == "OOMKilled")


def _words(spec: Mapping[str, Any]) -> tuple[str, ...]:
    lists = [words for key in ("command", "args") if isinstance(words := spec.get(key), list)]
    return tuple(text_of(word) for words in lists for word in words)


def gib(text: str) -> float | None:
    """A quantity of memory as a manifest has it (512Mi, 24G, 1073741824) in GiB."""
    found = _QUANTITY.fullmatch(text)
    if found is None:
        return None
    unit = found["unit"] or ""
    if unit == "m":  # thousandths: nobody means it, but it is allowed
        return float(found["number"]) / 1000 / 2**30
    power = "KMGTP".index(unit[0].upper()) + 1 if unit else 0
    return float(found["number"]) * (1024.0 if unit.endswith("i") else 1000.0) ** power / 2**30


# --------------------------------------------------------------------------- kubectl describe


def described(text: str) -> list[dict[str, Any]]:
    """The pods of ``kubectl describe pod`` in the shape that the JSON has; what is not about how they fare is left out."""
    pods: list[dict[str, Any]] = []
    reader: _Described | None = None
    for line in text.split("\n"):
        found = _FIELD.match(line.rstrip("\r"))
        if found and not found["indent"] and found["key"] == "Name":
            reader = _Described(found["value"] or "")
            pods.append(reader.pod)
        elif reader is not None:
            reader.feed(line.rstrip("\r"), found)
    return pods


class _Described:
    """One pod while its description is read, line by line."""

    def __init__(self, name: str) -> None:
        self.pod: dict[str, Any] = {"metadata": {"name": name}, "spec": {"initContainers": [], "containers": []}, "status": {}}
        self._section, self._status, self._spec = "", {}, {}  # type: str, dict[str, Any], dict[str, Any]
        self._state: dict[str, Any] = {}
        self._list: list[str] | None = None
        self._limits = False

    def feed(self, line: str, found: re.Match[str] | None) -> None:
        """Take one line."""
        if found and not found["indent"]:
            self._top(found["key"], found["value"] or "")
        elif self._section and (head := _HEAD.match(line)):
            self._begin(head["name"])
        elif self._section and self._status:
            self._within(line, found)

    def _top(self, key: str, value: str) -> None:
        self._section = _CONTAINERS.get(key, "")
        self._status = {}
        status = self.pod["status"]
        if key == "Namespace":
            self.pod["metadata"]["namespace"] = value
        elif key in ("Status", "Reason", "Message") and value:
            status[{"Status": "phase"}.get(key, key.lower())] = value.split(" ", maxsplit=1)[0] if key == "Status" else value

    def _begin(self, name: str) -> None:
        self._status, self._spec, self._state, self._list = {"name": name}, {"name": name}, {}, None
        self.pod["status"].setdefault(self._section, []).append(self._status)
        self.pod["spec"][self._section.removesuffix("Statuses") + "s"].append(self._spec)

    def _within(self, line: str, found: re.Match[str] | None) -> None:
        if found and len(found["indent"]) == 4:
            self._field(found["key"], found["value"] or "")
        elif found and len(found["indent"]) == 6 and self._state:
            self._of_state(found["key"], found["value"] or "")
        elif self._limits and (memory := re.match(r" {6}memory:\s+(\S+)", line)):
            self._spec.setdefault("resources", {}).setdefault("limits", {})["memory"] = memory[1]
        elif self._list is not None and line.startswith(" " * 6):
            self._list.append(line.strip())

    def _field(self, key: str, value: str) -> None:
        self._list, self._limits, self._state = None, key == "Limits", {}
        if key in _STATES:
            self._state = self._status.setdefault(_STATES[key], {}).setdefault(value.lower(), {"described": True})
        elif key in ("Command", "Args"):
            self._list = self._spec.setdefault(key.lower(), [])
        elif key == "Restart Count" and value.isdecimal():
            self._status["restartCount"] = int(value[:9])
        elif key == "Ready":
            self._status["ready"] = value == "True"
        elif key == "Readiness":
            self._spec["readinessProbe"] = {}

    def _of_state(self, key: str, value: str) -> None:
        if key in ("Reason", "Message"):
            self._state[key.lower()] = value
        elif key == "Exit Code" and value.isdecimal():
            self._state["exitCode"] = int(value[:9])
        elif key in ("Started", "Finished"):
            self._state[key.lower() + "At"] = _iso(value)


def _iso(text: str) -> str:
    """``Tue, 01 Feb 2022 13:36:17 +0100`` as RFC 3339; an empty text where it is no time."""
    found = _DESCRIBED_TIME.match(text)
    if found is None or found["month"] not in _MONTHS:
        return ""
    month, zone = _MONTHS.index(found["month"]) + 1, found["zone"]
    written = f"{found['year']}-{month:02d}-{found['day']}T{found['time']}{zone[:3]}:{zone[3:]}"
    return written if clock.parse_stamp(written) is not None else ""

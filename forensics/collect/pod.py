"""Ask a cluster about one pod through the user's own kubectl. Changes nothing; environments and annotations never reach the disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from forensics import lazily
from forensics.collect.command import Outcome
from forensics.collect.container import LOG_LINES, ContainerSession, masked_words
from forensics.errors import TargetError
from forensics.model import PartKind, Problem, Section

REQUEST = "--request-timeout=15s"
# One line an event, its time first; the newer events of a series keep theirs in eventTime.
EVENTS = (
    "{{range .items}}{{or .lastTimestamp .eventTime .metadata.creationTimestamp}} {{.type}} {{.reason}} {{.message}}"
    '{{if .count}}{{if gt .count 1.0}} (x{{.count}} since {{.firstTimestamp}}){{end}}{{end}}{{"\\n"}}{{end}}'
)
_KEPT = {
    "metadata": ("name", "namespace", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "uid"),
    "spec": ("nodeName", "restartPolicy", "priorityClassName", "terminationGracePeriodSeconds", "activeDeadlineSeconds"),
    "container": ("name", "image", "command", "args", "resources", "ports", "restartPolicy"),
    "probe": ("initialDelaySeconds", "periodSeconds", "timeoutSeconds", "failureThreshold", "successThreshold", "tcpSocket"),
}
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_STATUSES = ("initContainerStatuses", "containerStatuses")
_WAITING_WELL = ("ContainerCreating", "PodInitializing")
_UNREACHABLE = lazily.pattern(
    r"Unable to connect|[Cc]onnection (?:to the server )?.{0,200}refused|no such host|i/o timeout|TLS handshake timeout|context deadline|no configuration has been provided|current-context|context .{0,80}does not exist|couldn't get current server API"
)


class PodSession(ContainerSession):
    """One pod: its status, its events, and the logs of the container that is in trouble, of the run that died first."""

    client = "kubectl"
    save_hint = (
        "where there is one: kubectl -n NS get pod POD -o json > pod.json; kubectl -n NS logs POD --previous --timestamps > previous.log; "
        "kubectl -n NS get events -o json > events.json"
    )

    def collect(self) -> list[Section]:
        """The status decides which container is looked at, and which of its runs have logs."""
        namespace, name, *chosen = self.target.inside
        outcome = self.command("-n", namespace, REQUEST, "get", "pod", name, "-o", "json")
        if outcome.code != 0:
            raise self._refused(outcome, "get")
        held = self.read_json(outcome)
        if not isinstance(held, dict) or held.get("kind") != "Pod":
            raise TargetError("kubectl did not answer with a pod", at=self.target.name)
        statuses = _statuses(held)
        container = chosen[0] if chosen else _most_troubled(statuses)
        names = [str(s.get("name")) for s in statuses] or [str(c.get("name")) for c in _list(_dict(held, "spec"), "containers")]
        if chosen and container not in names:
            raise TargetError(f"the pod has no container {container}", at=self.target.name, hint=f"it has: {', '.join(names)}")
        others = [f"{s.get('name')} ({_word(s)})" for s in statuses if s.get("name") != container]
        if others:
            text = f"looked at container {container} only; the pod has also: {', '.join(others)}; k8s:{namespace}/{name}/CONTAINER names another"
            self.problems.append(Problem(source="pod", text=text))
        sections = [self.spooled("pod", PartKind.POD, outcome, reduced(held, container)), self._events(namespace, name)]
        status = next((s for s in statuses if s.get("name") == container), {})
        return [*sections, *self._logs(namespace, name, container, status)]

    def _events(self, namespace: str, name: str) -> Section:
        outcome = self.command(
            "-n", namespace, REQUEST, "get", "events", "--field-selector", f"involvedObject.name={name},involvedObject.kind=Pod",
            "--sort-by=.metadata.creationTimestamp", "-o", f"go-template={EVENTS}",
        )  # fmt: skip
        return self.section("events", PartKind.EVENTS, outcome, outcome.out)

    def _logs(self, namespace: str, name: str, container: str | None, status: Mapping[str, Any]) -> list[Section]:
        """Of the run before where there was one. A container that waits for its restart has only that: asked without --previous it says the same."""
        if container is None:
            return []
        state, last = _dict(status, "state"), _dict(status, "lastState")
        after = (
            (f"--since-time={datetime.fromtimestamp(self._since, timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ')}",) if self._since is not None else ()
        )
        words = ("-n", namespace, REQUEST, "logs", name, "-c", container, "--timestamps", f"--tail={LOG_LINES}", *after)
        found = []
        if "terminated" in last:
            found.append(self.log("previous-log", *words, "--previous"))
        if "running" in state or "terminated" in state:
            found.append(self.log("log", *words))
        return found

    def _refused(self, outcome: Outcome, verb: str) -> TargetError:
        if outcome.code is None:
            return self.late(outcome)
        namespace, name, *_ = self.target.inside
        said, at = outcome.said(), self.target.name
        first = said.splitlines()[-1] if said else f"exit code {outcome.code}"
        if "orbidden" in said:
            hint = f"the account needs {verb} on pods, pods/log and events in {namespace}: kubectl auth can-i get pods/log -n {namespace}"
            return TargetError(f"this account may not see it: {first}", at=at, hint=hint)
        if "Unauthorized" in said or "must be logged in" in said:
            return TargetError(
                f"the cluster does not know this account: {first}",
                at=at,
                hint="log in again: the token or certificate of the context is no longer good",
            )
        if "NotFound" in said:
            return TargetError("no such pod", at=at, hint=self.near(name, "-n", namespace, REQUEST, "get", "pods", "-o", "name") or None)
        if _UNREACHABLE.search(said):
            return TargetError(
                f"the cluster cannot be reached: {first}",
                at=at,
                hint="KUBECONFIG and the current context decide which one is asked: kubectl config current-context",
            )
        return TargetError(f"kubectl failed: {first}", at=at)


def reduced(pod: Mapping[str, Any], container: str | None) -> dict[str, Any]:
    """The pod with what says how it fares, by a list of what is kept: an environment hides in env, envFrom, annotations and managedFields."""
    spec, status = _dict(pod, "spec"), dict(_dict(pod, "status"))
    for kind in _STATUSES:
        if kind in status:
            status[kind] = [s for s in _list(status, kind) if container is None or s.get("name") == container]
    status.pop("ephemeralContainerStatuses", None)
    kept = {key: spec[key] for key in _KEPT["spec"] if key in spec}
    for kind in ("initContainers", "containers"):
        held = [_container(c) for c in _list(spec, kind) if container is None or c.get("name") == container]
        if held:
            kept[kind] = held
    metadata = _dict(pod, "metadata")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {k: metadata[k] for k in _KEPT["metadata"] if k in metadata},
        "spec": kept,
        "status": status,
    }


def _container(held: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {key: masked_words(held[key]) if key in ("command", "args") else held[key] for key in _KEPT["container"] if key in held}
    for name in _PROBES:
        probe = held.get(name)
        if isinstance(probe, dict):
            kept[name] = {key: probe[key] for key in _KEPT["probe"] if key in probe}
            if "httpGet" in probe:  # without its headers: they authorise
                kept[name]["httpGet"] = {key: _dict(probe, "httpGet")[key] for key in ("path", "port", "scheme") if key in _dict(probe, "httpGet")}
    return kept


def _statuses(pod: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [s for kind in _STATUSES for s in _list(_dict(pod, "status"), kind)]


def _most_troubled(statuses: Sequence[Mapping[str, Any]]) -> str | None:
    """The container that keeps the pod from running: one that cannot run, else one that has failed, else the first that is no finished helper."""
    ranked = sorted(statuses, key=_trouble)
    return str(ranked[0].get("name")) if ranked else None


def _trouble(status: Mapping[str, Any]) -> int:
    state, last = _dict(status, "state"), _dict(_dict(status, "lastState"), "terminated")
    waiting, ended = _dict(state, "waiting"), _dict(state, "terminated")
    if (waiting and waiting.get("reason") not in _WAITING_WELL) or ended.get("exitCode", 0) != 0:
        return 0
    if last or status.get("restartCount"):
        return 1
    if "running" in state:
        return 2 if status.get("ready") is not True else 3
    return 4 if waiting else 5


def _word(status: Mapping[str, Any]) -> str:
    for word, held in _dict(status, "state").items():
        reason = held.get("reason") if isinstance(held, dict) else None
        return f"{word}: {reason}" if reason else str(word)
    return "no state"


def _dict(held: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = held.get(key)
    return value if isinstance(value, dict) else {}


def _list(held: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    value = held.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []

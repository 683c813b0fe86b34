"""Ask a container engine (docker, podman) about one container through its own command line. Changes nothing, and never asks for an environment."""

from __future__ import annotations

import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import Any

from forensics import lazily
from forensics.collect.command import Outcome, merge_stamped, run_command
from forensics.collect.process import Start
from forensics.collect.question import MIB, Question
from forensics.collect.session import Limits, gaps
from forensics.collect.spool import Spool
from forensics.errors import TargetError
from forensics.model import Capture, Coverage, PartKind, Problem, Section, Target
from forensics.redact import secrets

LOG_LINES = 100_000
LOG_LIMIT_S = 60.0
LIMIT_S = 20.0
_NEAR = 5
_FAILED = lazily.pattern(
    r"unable to retrieve|[Ee]rror\b|[Ff]ailed to"
)  # kubectl says of a log that is gone "unable to retrieve container logs", and leaves with 0
_REFUSED = lazily.pattern(r"[Pp]ermission denied|[Ff]orbidden|Unauthorized|must be logged in", re.ASCII)

# Of inspect only what is told about the run: no Env, no labels, no mounts.
_TEMPLATE = (
    '{"Id":{{json .ID}},"Created":{{json .Created}},"Path":{{json .Path}},"Args":{{json .Args}},"State":{{json .State}},'
    '"Image":{{json .Image}},%s"Name":{{json .Name}},"RestartCount":{{json .RestartCount}},'
    '"HostConfig":{"NetworkMode":{{json .HostConfig.NetworkMode}},"RestartPolicy":{{json .HostConfig.RestartPolicy}},'
    '"Memory":{{json .HostConfig.Memory}},"MemorySwap":{{json .HostConfig.MemorySwap}},"ShmSize":{{json .HostConfig.ShmSize}},'
    '"PidsLimit":{{json .HostConfig.PidsLimit}}},"Config":{"Image":{{json .Config.Image}}},'
    '"NetworkSettings":{"Ports":{{json .NetworkSettings.Ports}}}}'
)
_EVENTS = {"docker": ("start", "die", "kill", "oom", "stop"), "podman": ("start", "died", "kill", "stop")}
TEMPLATES = {"docker": _TEMPLATE % "", "podman": _TEMPLATE % '"ImageName":{{json .ImageName}},'}


class ContainerSession(ABC):
    """What all sessions over a local client share. ``ask`` collects everything each time it is called; there are no questions to choose from."""

    live = False
    may_sudo = False
    changes = True
    saved: Capture | None = None
    offset_s: float | None = None
    host: str | None = None
    client: str = ""
    save_hint: str = ""

    def __init__(self, target: Target, *, spool: Spool, limits: Limits, run: Start, clock: Callable[[], float], since: float | None = None) -> None:
        self.target = target
        self.at: float | None = None
        self.took_s: float | None = None
        self.problems: list[Problem] = []
        self._spool, self._limits, self._run, self._clock, self._since = spool, limits, run, clock, since
        self._until = time.monotonic() + limits.total_s

    def ask(self, questions: Sequence[Question]) -> list[Section]:
        """All there is to know of the container now. Raises TargetError where there is no client, no daemon, no such container, or no right to see it."""
        began = time.monotonic()
        self._until = began + self._limits.total_s
        self.at = self._clock()
        self.problems = []
        sections = self.collect()
        self.problems += gaps(sections)
        self.took_s = time.monotonic() - began
        return sections

    @abstractmethod
    def collect(self) -> list[Section]:
        """The sections, the state of the container first."""

    def close(self) -> None:  # noqa: B027  not for others to fill: there is nothing to close
        """Nothing is open between two commands."""

    def discard(self) -> None:
        """Remove what was collected."""
        self._spool.remove()

    def __enter__(self) -> ContainerSession:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:
            self.discard()

    def command(self, *words: str, limit_s: float = LIMIT_S, max_bytes: int = 8 * MIB) -> Outcome:
        """One command of the client; TargetError where this machine has no such program."""
        limit_s = max(0.1, min(limit_s, self._until - time.monotonic()))
        try:
            return run_command((self.client, *words), run=self._run, spool=self._spool, limit_s=limit_s, max_bytes=max_bytes)
        except FileNotFoundError as error:
            raise TargetError(f"there is no {self.client} on this machine", at=self.target.name, hint=self.save_hint) from error

    def section(self, name: str, part: PartKind, outcome: Outcome, path: Path, *, said: str | None = None) -> Section:
        """A section of what a command wrote to ``path``, with what it is worth."""
        said = outcome.said() if said is None else said
        if outcome.code is None:
            said = f"it was stopped after {outcome.took_s:.0f} s\n{said}"
        return Section(
            name=name, path=path, argv=" ".join(outcome.argv), exit_code=outcome.code, took_s=outcome.took_s, stderr=said, part=part,
            cut=-1 if outcome.lost or outcome.code is None else 0, coverage=_worth(outcome, path, said),
        )  # fmt: skip

    def log(self, name: str, *words: str) -> Section:
        """The newest lines of a log, of both streams in the order of their stamps."""
        outcome = self.command(*words, limit_s=LOG_LIMIT_S, max_bytes=self._limits.log_bytes)
        path = self._spool.path(name)
        said = merge_stamped((outcome.out, outcome.err), path)
        outcome.out.unlink()
        outcome.err.unlink()
        return self.section(name, PartKind.SERVER, outcome, path, said=said)

    def spooled(self, name: str, part: PartKind, outcome: Outcome, value: Any) -> Section:
        """A section of a JSON answer that has been cut down, laid out as the client lays it out."""
        path = self._spool.path(name)
        path.write_text(json.dumps(value, indent=4, ensure_ascii=False) + "\n", encoding="utf-8", errors="backslashreplace")
        outcome.out.unlink()
        return self.section(name, part, outcome, path)

    def read_json(self, outcome: Outcome) -> Any:
        """The JSON that a command printed; TargetError where it printed none."""
        try:
            return json.loads(outcome.out.read_text(encoding="utf-8", errors="replace"))
        except (ValueError, RecursionError) as error:
            raise TargetError(f"{self.client} did not answer in JSON", at=self.target.name, hint=outcome.said(400) or None) from error

    def near(self, name: str, *words: str) -> str:
        """A hint with the names most like the one that does not exist, out of the list that a command prints."""
        listed = self.command(*words, max_bytes=MIB)
        if listed.code != 0:
            return ""
        names = [line.strip().rpartition("/")[2] for line in listed.out.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        import difflib

        close = difflib.get_close_matches(name, names, n=_NEAR, cutoff=0.6)
        if close:
            return f"near names: {', '.join(close)}"
        return f"there are: {', '.join(names[:_NEAR])}{', …' if len(names) > _NEAR else ''}" if names else "there are none"

    def late(self, outcome: Outcome) -> TargetError:
        """The error for a client that was stopped at its limit."""
        hint = f"try it by hand: {' '.join(outcome.argv[:2])} …"
        return TargetError(f"{self.client} gave no answer within {outcome.took_s:.0f} s", at=self.target.name, hint=hint)


def masked_words(words: object) -> object:
    """A command line as a list of words, with the secrets out: JSON writes a flag and its value on two lines, where no mask sees them together."""
    if not isinstance(words, list):
        return words
    kept: list[object] = []
    for number, word in enumerate(words):
        before = words[number - 1] if number else ""
        if not isinstance(word, str) or not isinstance(before, str):
            kept.append(word)
            continue
        together = f"{before} {word}" if before.startswith("-") and before == secrets(before) else word
        kept.append(secrets(together)[len(together) - len(word) :])
    return kept


def _worth(outcome: Outcome, path: Path, said: str) -> Coverage:
    """How far an answer can be trusted to be all there is."""
    whole = outcome.code == 0 and not outcome.lost
    if path.stat().st_size:
        return Coverage.READ if whole else Coverage.CUT
    if whole and not _FAILED.search(said):
        return Coverage.EMPTY
    return Coverage.DENIED if _REFUSED.search(said) else Coverage.NOT_COLLECTED


_NO_DAEMON = lazily.pattern(
    r"[Cc]annot connect to|error during connect|[Cc]onnection refused|no such host|unable to connect to Podman|is the docker daemon running|context .{0,80}not found|i/o timeout"
)
_NO_CONTAINER = lazily.pattern(r"[Nn]o such (?:object|container)|no container with name")


class EngineSession(ContainerSession):
    """One container of docker or podman: inspect, log, and what the engine did with it. DOCKER_HOST and the like hold as in the user's own shell."""

    def __init__(self, target: Target, *, spool: Spool, limits: Limits, run: Start, clock: Callable[[], float], since: float | None = None) -> None:
        super().__init__(target, spool=spool, limits=limits, run=run, clock=clock, since=since)
        name = target.inside[0]
        self.client = str(target.kind)
        self.save_hint = f"where there is one: {self.client} inspect {name} > inspect.json; {self.client} logs --timestamps {name} > log.txt 2>&1"

    def collect(self) -> list[Section]:
        """Inspect first: it says whether there is anything to ask about, and the id that the events are filtered by."""
        name = self.target.inside[0]
        outcome = self.command("inspect", "--type", "container", "--format", TEMPLATES[self.client], name)
        if outcome.code != 0:
            raise self._refused(outcome)
        held = self.read_json(outcome)
        if isinstance(held, dict):
            held = {**held, "Args": masked_words(held.get("Args"))}
        sections = [self.spooled("inspect", PartKind.CONTAINER, outcome, [held])]
        events = self._events(held)
        after = ("--since", str(int(self._since))) if self._since is not None else ()
        # the log last: of a run whose end the events tell, every line is there
        sections.append(self.log("log", "logs", "--timestamps", "--tail", str(LOG_LINES), *after, name))
        return [*sections, events] if events is not None else sections

    def _events(self, held: Any) -> Section | None:
        """What the engine still knows that it did: docker keeps the last 256 events of all containers, so health checks are left out here, not there."""
        found, made = (str(held.get(key, "")) for key in ("Id", "Created")) if isinstance(held, dict) else ("", "")
        if not re.fullmatch(r"[0-9a-f]{12,64}", found) or not re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", made):
            return None
        # by the whole id: a filter takes every container whose name begins so
        now = datetime.fromtimestamp(self._clock(), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        # podman 4.3 gives nothing at all where --until is over
        words = ["events", "--since", made, *(("--stream=false",) if self.client == "podman" else ("--until", now))]
        for kind in _EVENTS[self.client]:
            words += ["--filter", f"event={kind}"]
        outcome = self.command(*words, "--filter", f"container={found}", "--filter", "type=container")
        return self.section("events", PartKind.EVENTS, outcome, outcome.out)

    def _refused(self, outcome: Outcome) -> TargetError:
        if outcome.code is None:
            return self.late(outcome)
        said = outcome.said()
        first = said.splitlines()[0] if said else f"exit code {outcome.code}"
        name, at = self.target.inside[0], self.target.name
        if "ermission denied" in said:
            return TargetError(
                f"this account may not use {self.client}: {first}", at=at, hint=f"root, or a member of its group, may; {self.save_hint}"
            )
        if _NO_CONTAINER.search(said):
            hint = self.near(name, "ps", "--all", "--format", "{{.Names}}")
            return TargetError("no such container", at=at, hint=hint or None)
        if _NO_DAEMON.search(said):
            return TargetError(
                f"{self.client} cannot be reached: {first}", at=at, hint="is its daemon running, and DOCKER_HOST or the context right?"
            )
        return TargetError(f"{self.client} inspect failed: {first}", at=at)

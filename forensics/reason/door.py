"""Say who answers at the unit's port before the unit itself does: its old process, another server, or itself while it still warms up. Judges no failure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from forensics import clock, lazily
from forensics.model import Asked, BenchRow, BenchRun, Evidence, Listener, PartKind, Process, Warn
from forensics.reason.around import lines_of, source_of
from forensics.reason.figures import finite, whole
from forensics.reason.join import argument
from forensics.reason.place import Story, flag_arguments
from forensics.reason.startup import OF_ALL

_MODEL = lazily.pattern(r"\"id\"\s*:\s*\"(?P<id>[^\"\\]{1,200})\"")
# what listens in the name of a server that loads: the port of a container, or of a socket unit
FORWARDERS = ("docker-proxy", "rootlessport", "rootlesskit", "slirp4netns", "pasta", "pasta.avx2", "conmon", "systemd")
EVERYWHERE = ("", "*", "0.0.0.0", "::", "[::]", "localhost")  # noqa: S104 (nothing is bound here)
_FAIR_S = 1.0  # clocks of a client and a host differ by that much without anybody minding


class Intruder(NamedTuple):
    """A process that is not of this start-up and listens on the port that it will want. ``earlier``: it is left over from an earlier run of the unit."""

    listener: Listener
    process: Process | None
    earlier: bool
    source: str

    @property
    def who(self) -> str:
        """``python3 (pid 2211)``, ``python3 (pid 2211, other.service)`` or ``a process that this account may not see``."""
        if self.listener.pid is None:
            return "a process that this account may not see"
        name = self.listener.process or (self.process.args.split()[0].rpartition("/")[2] if self.process and self.process.args else "a process")
        unit = f", {self.process.unit}" if self.process and self.process.unit else ""
        return f"{name} (pid {self.listener.pid}{unit})"

    @property
    def lines(self) -> tuple[Evidence, ...]:
        """The line of the socket, and that of the process where it is listed."""
        return lines_of(self.source, self.listener, self.process)


def port_of(story: Story) -> int | None:
    """The port that the life at issue was told to take, else the one that its kind of server takes."""
    profile = story.profile
    flag = profile.port_flag if profile is not None and profile.port_flag else "port"
    told = argument(story.issue, flag)
    if told is None and story.issue is story.lives[-1]:  # what a server logs need not be all that it was given
        line = story.state.argv if story.state and story.state.argv else story.facts.argv
        told = finite(flag_arguments(line).get(flag.lstrip("-").replace("-", "_"), ""))
    port = whole(str(int(told))) if isinstance(told, float) else None
    return port if port is not None else profile.port if profile is not None else None


def intruder(story: Story) -> Intruder | None:
    """Who holds the port of a server that has not bound it yet; None where nobody does, where nobody looked, or where it may be the server itself."""
    life, profile = story.issue, story.profile
    if life.ready or life.listening or life.alive is not True or life.phase is None or life.phase in OF_ALL or life is not story.lives[-1]:
        return None
    if story.state is not None and story.state.manager:
        return None  # the engine of a container listens for it from the beginning
    port = port_of(story)
    found = [x for x in story.facts.listeners or () if x.port == port and x.process not in FORWARDERS and not _elsewhere(story, x)]
    if port is None or not found:
        return None
    listener = next((x for x in found if x.pid), found[0])
    process = story.facts.host.process(listener.pid)
    if listener.pid is not None and (listener.pid in life.pids or (process is not None and process.unit and process.unit == story.unit)):
        return None
    # it may listen before it loads, through a child that has said nothing yet: another unit's process is surely not that
    if (profile is None or not profile.unbound_while_loading) and (process is None or not process.unit):
        return None
    earlier = any(listener.pid in x.pids for x in story.lives[:-1])
    return Intruder(listener=listener, process=process, earlier=earlier, source=source_of(story, PartKind.SOCKETS, "sockets"))


def _elsewhere(story: Story, listener: Listener) -> bool:
    """Whether it listens on one address only, and this server was told another one."""
    told = argument(story.issue, "host")
    return isinstance(told, str) and told not in EVERYWHERE and listener.address not in EVERYWHERE and told != listener.address


def false_ready(story: Story) -> Iterator[Warn]:
    """What answered and is no sign that this start-up is ready."""
    for found in (_old_process(story), _other_server(story), _warming(story)):
        if found is not None:
            yield Warn(kind="false-ready", text=found)


def _old_process(story: Story) -> str | None:
    life = story.issue
    if life.started_at is None or life.ready:
        return None
    for bench, good, bad in _attempts(story):
        before = [r for r in good if r.at is not None and r.at <= life.started_at]
        since = [r for r in bad if r.at is None or r.at >= life.started_at]
        if before and since:
            return f"{bench.source}:{before[-1].line_no} was answered by the old process, before the restart at issue: it says nothing about this one"
    return None


def _other_server(story: Story) -> str | None:
    held, model = intruder(story), _foreign_model(story)
    if held is not None:
        names = f" ({model[1]})" if model is not None else ""
        left = ", left over from an earlier run of this unit," if held.earlier else ""
        return (
            f"port {held.listener.port} is held by {held.who}{left} and this start has not bound it yet: what answers there{names} is another"
            " process, and this one cannot bind when it gets there"
        )
    if model is not None:
        asked, name = model
        return f"{asked.source}:{asked.line_no} was answered for another model ({name}) while this server was not up: another server is on that port"
    return None


def _foreign_model(story: Story) -> tuple[Asked, str] | None:
    """An answer to a question for the models at this port that names none which this life was given."""
    life, port = story.issue, port_of(story)
    if life.ready or life.listening or life.alive is not True or not life.arguments or port is None:
        return None
    own = {part for value in life.arguments.values() for part in (value, value.rstrip("/").rpartition("/")[2]) if part}
    for asked in story.facts.asked:
        if not re.search(rf":{port}/v1/models\b", asked.command) or '"data"' not in asked.text:
            continue
        names = [m["id"] for m in _MODEL.finditer(_json_text(asked.text))]
        if names and not any(n in own or n.rpartition("/")[2] in own for n in names):
            return asked, names[0]
    return None


def _json_text(text: str) -> str:
    """The list of models alone: what a model was made of has ids too."""
    try:
        tree = json.loads(text)
        return json.dumps([{"id": x.get("id")} for x in tree["data"]])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return text  # cut off: what is there


def _warming(story: Story) -> str | None:
    """An endpoint that answers as soon as the port is bound, while the server tries itself out."""
    life = story.issue
    if life.listening_at is None or (life.ready and life.ready_at is None):
        return None
    for bench, good, bad in _attempts(story):
        early = [
            r for r in good if r.at is not None and life.listening_at - _FAIR_S <= r.at and (life.ready_at is None or r.at < life.ready_at - _FAIR_S)
        ]
        if early and bad:
            until = f"ready only at {clock.hms(life.ready_at)}" if life.ready_at is not None else "and is not ready"
            return f"{bench.source}:{early[0].line_no} was answered while it warmed up: it listens since {clock.hms(life.listening_at)}, {until}"
    return None


def _attempts(story: Story) -> Iterator[tuple[BenchRun, list[BenchRow], list[BenchRow]]]:
    for bench in story.facts.benches:
        yield bench, [r for r in bench.rows if r.kind == "ok"], [r for r in bench.rows if r.kind not in ("ok", "")]

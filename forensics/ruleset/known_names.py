"""The facts that a condition may name: a closed table with type, unit, meaning and the module that owns the value. Holds no value itself.

To add a fact: one line here, and its value in the owner. ``argv.*`` (the unit's command line), ``life.argv.*`` (as the server logged its arguments)
and ``hit.*`` (captures of the line, only in ``where``) are open families; dashes of a flag become underscores: ``argv.mem_fraction_static``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from forensics.model import Coverage, EndBy, EndKind, Phase
from forensics.model.vocabulary import Word


class Fact(NamedTuple):
    """What a known fact is. ``type``: bool, number, text, version (a text that is compared as one), list (of numbers or texts), table or any.

    The unit epoch marks a point in time: what before(), after() and within() take.
    """

    type: str
    unit: str
    doc: str
    owner: str


_OWNER = {
    "unit": "reason.known", "life": "reason.lives", "client": "reason.known", "memory": "reason.memory", "kernel": "reason.known",
    "accept": "reason.acceptance", "host": "reason.hostknown", "gpu": "reason.hostknown", "evidence": "reason.known", "probe": "reason.known",
}  # fmt: skip

# name, type, unit, doc
_TABLE = """
unit.exists              bool    -      the unit is known to systemd
unit.missing             bool    -      systemd says that there is no such unit
unit.near_miss           bool    -      the unit asked for does not exist and a near name does
unit.load_state          text    -      loaded, not-found, masked, bad-setting, error
unit.active_state        text    -      active, inactive, failed, activating, deactivating, reloading
unit.sub_state           text    -      running, dead, failed, auto-restart, start, …
unit.condition_met       bool    -      false where systemd says that a Condition= or Assert= of the unit did not hold
unit.result              text    -      systemd's word for the last end: success, exit-code, signal, core-dump, oom-kill, timeout, watchdog, …
unit.restarts            number  count  restarts that systemd has counted
unit.main_code           text    -      exited, killed or dumped
unit.main_status         number  -      exit status or signal number of the main process
unit.failed_command      text    -      the setting whose command left with a status or by a signal, beside ExecStart= itself: ExecStartPre, ExecStartPost, ExecStop, …
unit.memory_peak_gib     number  GiB    highest memory of the unit's control group
unit.memory_max_gib      number  GiB    its limit
unit.manager             text    -      who runs it: systemd, docker, podman, kubectl
unit.health              text    -      of a container with a check of its own: starting, healthy, unhealthy
unit.memory_high_gib     number  GiB    where it is slowed down to stay below the limit
unit.oom_kills           number  count  kills within its control group since it was started (while it runs)
unit.need_reload         bool    -      a file of the unit has been changed since systemd loaded it
life.alive               bool    -      the main process of the life at issue lives at the time of the capture
life.listening           bool    -      its port was bound
life.ready               bool    -      it said that it is ready, or answered as a ready one does
life.served              bool    -      it answered at least one request
life.opened              bool    -      the evidence holds the beginning of the life
life.stalled             bool    -      alive, not ready, and no progress for longer than the phase should take
life.rooted              bool    -      a line of it explains a failure by itself
life.mechanism           bool    -      a line of it says how it ended
life.cascaded            bool    -      a line of it follows from another failure
life.core_at_end         bool    -      one of its processes left a core as it ended
life.stop_asked          bool    -      somebody asked it to stop
life.count               number  count  lives seen
life.failed_count        number  count  lives that failed
life.lived_s             number  s      from start to end; unknown of a life that has not ended
life.started_at          number  epoch  start of the main process
life.listening_at        number  epoch  port bound
life.ready_at            number  epoch  ready
life.ended_at            number  epoch  end of the main process
life.end.kind            text    -      signal, exit, oom-kill, timeout, watchdog, stopped, reboot, none, unknown
life.end.by              text    -      itself, a child, kernel, systemd, operator, unknown
life.end.signal          text    -      SIGKILL, …
life.end.status          number  -      exit status
life.end.result          text    -      systemd's word
life.port                number  -      where it listens: as it said, else as it was told, else the server's default
life.address             text    -      the address that it listens on: as it said, else as a list of sockets has it, else as it was told
life.not_found_share     number  share  of the requests with a body that it answered 404 or well since it was ready, those answered 404, 0 … 1
life.phase               text    -      the start-up phase it is or ended in
life.progress            number  share  done of the phase, 0 … 1
life.progress_age_s      number  s      since the last sign of progress
life.pids                list    -      process ids of the life
life.server              text    -      kind of server: name of its profile
life.version             version -      version, or range of versions
client.asked             number  count  requests made
client.ok                number  count  requests answered well
client.failed            number  count  requests that failed
client.refused           number  count  connections refused
client.reset             number  count  connections reset or closed early
client.timed_out         number  count  requests that timed out
client.not_ready         number  count  waits for a server that did not become ready
client.unconnected       number  count  connections that came to nothing for a reason that is not told
client.unresolved        number  count  host names that could not be resolved
client.http_400          number  count  answers 400
client.http_401          number  count  answers 401
client.http_403          number  count  answers 403
client.http_404          number  count  answers 404
client.http_422          number  count  answers 422
client.http_429          number  count  answers 429
client.http_500          number  count  answers 500
client.http_502          number  count  answers 502
client.http_503          number  count  answers 503
client.http_504          number  count  answers 504
client.too_long          number  count  requests refused as longer than the context
client.rejected_share    number  share  of the requests that the server turned away, 0 … 1
client.median_ttft_ms    number  ms     median time to the first token
client.retokenized_share number  share  retokenized output tokens by output tokens
client.first_error_at    number  epoch  first failed request
client.last_error_at     number  epoch  last failed request
client.before_ready      number  count  requests that failed before the life at issue was ready
client.after_ready       number  count  requests that failed once the life at issue was ready
client.across_restart    bool    -      it was answered by the life before, and failed once that was stopped
client.may_have_meant    number  count  other units with a known server that it may have asked as well: it names no port, or theirs is not known
client.host              text    -      host that was asked
client.port              number  -      port that was asked
client.path              text    -      path that was asked
memory.total_gib         number  GiB    memory of the GPU
memory.free_before_gib   number  GiB    free before the weights
memory.free_after_weights_gib number GiB free after the weights
memory.fraction          number  share  the fraction in force
memory.fraction_min      number  share  least fraction that holds the weights and a pool
memory.fraction_max      number  share  greatest fraction that leaves enough beside the pool
memory.asked_gib         number  GiB    what the failing allocation asked for
memory.held_by_others_gib number GiB    held by other processes on the GPU
kernel.oom_pids          list    -      pids that the kernel's OOM killer named
kernel.oom_in_life       bool    -      one of them is of the life
kernel.xids              list    -      NVRM Xid numbers
kernel.segfaults         list    -      pids of segmentation faults
accept.by_width          table   -      acceptance length by width of the draft tree
accept.narrow            number  share  right answers of the widest tree with a single branch, 0 … 1
accept.wide              number  share  right answers of the widest tree, 0 … 1
accept.drop              number  share  how much of the right answers is lost from the narrow tree to the wide one
accept.chance            number  share  the chance that luck alone explains that drop, corrected for the number of trees
accept.length_drop       number  share  how much shorter a tree is accepted than one that is a part of it
accept.length_chance     number  share  the chance that luck alone explains that
accept.told              text    -      these figures in words
accept.sound             bool    -      the answers hold at every width, and with a wrong tree mask they would not have
accept.sound_told        text    -      these figures in words
accept.first_bad         text    -      the narrowest tree whose answers are wrong
accept.log_drop          number  share  as length_drop, out of the server's own lines alone, where no benchmark has measured a length
accept.log_chance        number  share  the chance that luck alone explains that, if all starts were asked alike
accept.log_starts        number  count  starts of the server on the side that has fewer of them
accept.log_apart         bool    -      every start of the wide tree is accepted shorter than every one of the narrow tree
accept.log_told          text    -      these figures in words
accept.log_by_width      table   -      acceptance length by tree, out of the server's own lines
accept.intervals         number  count  intervals of the server's log that tell an acceptance length
accept.ones_share        number  share  those of them at 1.0, where no draft was accepted
accept.worst_len         number  tokens acceptance length of the widest tree
accept.best_len          number  tokens acceptance length of the widest single branch
host.units               list    -      unit names of the host
host.boots               list    -      boots in the evidence
host.rebooted            bool    -      the machine went down within or at the end of the life
host.disk_free_gib       number  GiB    least free space of the file systems seen
host.disk_full           bool    -      one of them has no room or no inodes left now
host.inodes_free         number  share  least share of free inodes
host.memory_total_gib    number  GiB    memory of the machine
host.memory_available_gib number GiB    available of it at the time of the capture
host.swap_free_gib       number  GiB    free swap
host.memory_pressure     number  %      of the last minute in which all tasks waited for memory
host.clock_offset_s      number  s      the host's clock minus that of the machine that asked
host.clock_error_s       number  s      its clock minus that of its time server
host.clock_synchronised  bool    -      its clock follows a time server
host.boot_end            text    -      how the boot ended that the life went down with: orderly, panic, abrupt
host.port_holder         number  -      pid that listens on the port that the life wanted
host.port_free           bool    -      nobody listens there any more
host.stuck               list    -      pids of the unit that wait in the kernel (state D)
host.driver              version -      version of the GPU's kernel driver
host.cuda                version -      version of CUDA that the driver offers
host.listeners           list    -      ports that something listens on
gpu.count                number  count  GPUs listed
gpu.ecc_uncorrected      number  count  uncorrected memory errors of all GPUs since the driver was loaded
gpu.held_by_others_gib   number  GiB    GPU memory that processes of others hold at the time of the capture
probe.listening          bool    -      the unit's port is bound now
probe.code               number  -      answer of the endpoint that says 'listening'
probe.ready_path_code    number  -      answer of the endpoint that says 'ready'; 0 refused, -1 no answer in time
evidence.journal         text    -      coverage of the unit's journal: read, given, empty, cut, denied, not-collected
evidence.status          text    -      coverage of systemctl status
evidence.kernel          text    -      coverage of the kernel log
evidence.log             text    -      coverage of plain server output
evidence.bench           text    -      coverage of client output
evidence.silence         text    -      why the journal gave no line: denied, filtered, window, other, rotated, silent, unknown
evidence.server_lines    number  count  lines of the server
evidence.systemd_lines   number  count  lines of systemd about the unit
evidence.printed         bool    -      a program may have printed what was given: it is no novel, no code, no table
"""


def _read() -> dict[str, Fact]:
    names: dict[str, Fact] = {}
    for line in _TABLE.strip().splitlines():
        name, type_, unit, doc = line.split(None, 3)
        names[name] = Fact(type_, "" if unit == "-" else unit, doc, _OWNER[name.split(".")[0]])
    return names


NAMES: dict[str, Fact] = _read()

# texts that are words of a closed vocabulary: compared with any other word they are never alike
WORDS: Mapping[str, type[Word]] = {
    "life.end.kind": EndKind,
    "life.end.by": EndBy,
    "life.phase": Phase,
    **{f"evidence.{what}": Coverage for what in ("journal", "status", "kernel", "log", "bench")},
}

# an open family takes any name below it
OPEN: dict[str, Fact] = {
    "argv.": Fact("any", "", "an argument of the unit's command line, as text; true for a flag without a value", "reason.known"),
    "life.argv.": Fact("any", "", "an argument as the server logged it", "reason.lives"),
    "hit.": Fact("any", "", "a capture of the line, by its type where the rule gives one; only in 'where'", "reason.place"),
}


# what a hit has beside its captures
OF_A_HIT: Mapping[str, Fact] = {
    "pid": Fact("number", "", "process that wrote the line", "reason.place"),
    "rank": Fact("text", "", "rank that wrote it", "reason.place"),
    "source": Fact("text", "", "where the line is from", "reason.place"),
    "ident": Fact("text", "", "what the log calls the writer", "reason.place"),
    "at": Fact("number", "epoch", "when it was written", "reason.place"),
}

# facts that are known where a line is placed: of its own life, which need not be the life at issue
_IN_WHERE = """
    life.alive life.listening life.ready life.served life.stop_asked life.count life.lived_s life.started_at life.listening_at life.ready_at life.ended_at
    life.not_found_share client.http_404
    life.end.kind life.end.by life.end.signal life.end.status life.end.result life.phase life.progress life.pids life.server life.version
    evidence.journal evidence.status evidence.kernel evidence.log evidence.bench evidence.server_lines evidence.systemd_lines
"""
IN_WHERE: frozenset[str] = frozenset(_IN_WHERE.split())


def in_where(name: str) -> bool:
    """Whether a ``where`` can know a fact."""
    return name in IN_WHERE or (name not in NAMES and fact(name) is not None)


def fact(name: str) -> Fact | None:
    """The entry of a name, open families included; None for a name that no condition may use."""
    known = NAMES.get(name) or (OF_A_HIT.get(name.removeprefix("hit.")) if name.startswith("hit.") else None)
    if known is not None:
        return known
    return next((f for family, f in OPEN.items() if name.startswith(family) and len(name) > len(family)), None)


def markdown() -> Iterator[str]:
    """The table as lines of Markdown, a section a family; what a ``where`` can know is marked."""
    heads = "| name | type | unit | where | what it is | owner |", "|---|---|---|---|---|---|"
    family = ""
    for name, known in NAMES.items():
        if name.split(".")[0] != family:
            if family:
                yield ""
            family = name.split(".")[0]
            yield from (f"### {family}", "", *heads)
        yield _row(name, known)
    yield from ("", "### open families", "", "Any name below them; dashes of a flag become underscores.", "", *heads)
    for name, known in OPEN.items():
        yield _row(f"{name}NAME", known)
    for name, known in OF_A_HIT.items():
        yield _row(f"hit.{name}", known)


def _row(name: str, known: Fact) -> str:
    joins = "yes" if in_where(name) else ""
    return f"| `{name}` | {known.type} | {known.unit} | {joins} | {known.doc.replace('|', '/')} | `{known.owner}` |"


if __name__ == "__main__":
    sys.stdout.write("".join(f"{line}\n" for line in markdown()))

"""Find in what the host says of itself whatever bears on the life at issue: who holds its port or GPU memory, its cores, its files, full disks.

These explain, support or rule out; none of them is a cause by itself, and an absence counts only where somebody has looked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from forensics import lazily
from forensics.model import BootEnd, Cause, Coredump, Coverage, EndKind, Evidence, FileSystem, GpuProcess, Listener, PartKind, Phase, Process
from forensics.reason.place import Story

_PORTS = lazily.pattern(r"(?:\bport[ =:]{1,3}|', |[\w\]]:)(?P<port>[1-9]\d{1,4})\b")
_PATH = lazily.pattern(r"(?<![\w:/])/[\w.@+-]{1,100}(?:/[\w.@+-]{1,100}){0,20}")
NEAR_END_S = 30.0  # a core is written, then noted, and only then does systemd say that the process is gone
GOING_DOWN_S = 120.0  # systemd stops a unit within the 90 s it has for that, and the rest of the machine after it
HELD_GIB = 0.5  # less than a context of its own takes
FULL_GIB, FULL_SHARE, SMALL_GIB = 0.05, 0.005, 0.002


def cited(source: str, line: int, text: str) -> Evidence:
    """A line of what the host says."""
    return Evidence(source=source, line=line, text=text[:2000])


def source_of(story: Story, kind: PartKind, usual: str) -> str:
    """The section or file that holds answers of a kind; its usual name where that is not known."""
    return next((name for name, kinds in story.facts.kinds.items() if kind in kinds), usual)


def started_at(story: Story, process: Process | None) -> float | None:
    """When a process began, by its age at the time of the capture."""
    return story.at - process.age_s if process is not None and process.age_s is not None and story.at is not None else None


def unit_is_over(story: Story, process: Process) -> bool:
    """Whether the unit that a process belongs to does not run any more: it was left behind."""
    state = story.facts.units.get(process.unit)
    return state is not None and state.active in ("failed", "inactive")


def is_leftover(story: Story, process: Process) -> bool:
    """Whether nobody looks after a process: of a login, of no unit, or of a run of a unit that is over. A container's is its runtime's."""
    if not process.text:
        return False  # it was never listed: whose it is is not known
    own = bool(process.unit) and process.unit == story.unit
    return own or not process.unit or process.unit.startswith("session-") or unit_is_over(story, process)


# --------------------------------------------------------------------------- the port


class Holder(NamedTuple):
    """Who listens on the port that the life wanted. ``pid`` None: this account may not see whose it is."""

    port: int
    listener: Listener
    process: Process | None = None
    source: str = "sockets"
    own: str = ""  # "earlier" or "later": a process of the same unit, left over, or the one that runs now

    @property
    def lines(self) -> tuple[Evidence, ...]:
        """The line of the socket, and that of the process."""
        return lines_of(self.source, self.listener, self.process)


def lines_of(source: str, listener: Listener, process: Process | None) -> tuple[Evidence, ...]:
    """The line of a socket, and that of the process that listens there, where it is listed."""
    of_process = (cited(process.source, process.line_no, process.text),) if process and process.text else ()
    return (cited(source, listener.line_no, listener.text), *of_process)


def wanted_port(story: Story) -> int | None:
    """The port that a line of the life at issue says is taken; else the one it was told to listen on, unless the line is about another."""
    for signal in story.of_issue():
        if signal.cause is not Cause.PORT_IN_USE or signal.record is None:
            continue
        said = [signal.captures.get(name) for name in ("port", "taken")]
        found = next((x for x in said if x and x.isdigit()), None)
        if found is None and (match := _PORTS.search(signal.record.text[:2000])):
            found = match["port"]
        if found is not None:
            return int(found)
        told = story.issue.arguments.get("port", "")
        # an address without a port in a start-up's beginning is one of those that the ranks use among themselves
        if signal.phase is Phase.BIND and told.isdigit():
            return int(told)
    return None


def port_holder(story: Story) -> Holder | None:
    """Who holds that port now; None where nobody does, or where nobody has looked."""
    port = wanted_port(story)
    listeners = [x for x in story.facts.listeners or () if x.port == port]
    if port is None or not listeners:
        return None
    listener = next((x for x in listeners if x.pid), listeners[0])
    process = story.facts.host.process(listener.pid)
    if process is None and listener.pid:
        process = Process(pid=listener.pid, args=listener.process)
    own = ""
    if process is not None and ((process.unit and process.unit == story.unit) or process.pid in story.lives[-1].pids):
        began, died = started_at(story, process), story.issue.ended_at
        own = "later" if died is not None and began is not None and began > died else "earlier"
        if process.pid in story.issue.pids and story.issue.alive:
            return None
    return Holder(port=port, listener=listener, process=process, source=source_of(story, PartKind.SOCKETS, "sockets"), own=own)


def port_is_free(story: Story) -> bool | None:
    """Whether nobody listens there any more; None where that is not known."""
    port = wanted_port(story)
    if port is None or story.facts.listeners is None or story.facts.coverage.get("sockets") is not Coverage.READ:
        return None
    return all(x.port != port for x in story.facts.listeners)


# --------------------------------------------------------------------------- GPUs


class Squatter(NamedTuple):
    """A process that holds GPU memory and is not of the life at issue; ``leftover``: nobody watches over it, or its own unit has forgotten it."""

    on: GpuProcess
    process: Process | None
    leftover: bool
    source: str = "gpu"

    @property
    def lines(self) -> tuple[Evidence, ...]:
        """Its line of nvidia-smi and that of ps."""
        of_process = (cited(self.process.source, self.process.line_no, self.process.text),) if self.process else ()
        return (cited(self.source, self.on.line_no, self.on.text), *of_process)


def squatters(story: Story) -> tuple[Squatter, ...]:
    """Who else holds GPU memory, the largest first: there before the life at issue ended, and not of the unit's present run."""
    state, last, host = story.state, story.lives[-1], story.facts.host
    found = []
    for on in story.facts.gpu_processes:
        process = host.process(on.pid)
        if (on.used_gib or 0.0) < HELD_GIB or on.pid in story.issue.pids:
            continue
        ours = on.pid in last.pids or (process is not None and process.unit and process.unit == story.unit)
        began = started_at(story, process)
        if last.alive is not False:
            if ours or process is None:
                continue  # its own workers; where nobody has listed the processes, nobody can tell
        elif state is None and process is None and any(on.pid in life.pids for life in story.lives):
            continue
        if began is not None and story.issue.ended_at is not None and began > story.issue.ended_at:
            continue  # it came later
        leftover = process is not None and is_leftover(story, process)
        found.append(Squatter(on=on, process=process, leftover=leftover, source=source_of(story, PartKind.GPU, "gpu")))
    return tuple(sorted(found, key=lambda s: -(s.on.used_gib or 0.0)))


# --------------------------------------------------------------------------- cores, boots


def core_of(story: Story) -> Coredump | None:
    """The core of the life at issue: of one of its processes, or of its unit while it lasted; the main process's or the first."""
    life = story.issue
    found = []
    for core in story.facts.host.coredumps:
        if core.at is not None and life.started_at is not None:
            end = life.ended_at if life.ended_at is not None else story.at
            if core.at < life.started_at - 2 or (end is not None and core.at > end + NEAR_END_S):
                continue
        elif core.pid not in life.pids:
            continue
        if core.pid in life.pids or (core.unit and core.unit == story.unit):
            found.append(core)
    main = story.state.main_pid if story.state else None
    return min(found, key=lambda c: (c.pid != main, not c.frames, c.at or 0.0), default=None)


def core_at_end(story: Story) -> bool | None:
    """Whether that core was written as the life ended (a crash earlier in it did not end it); None where there is none, or no time."""
    core, life = core_of(story), story.issue
    if core is None or core.at is None or life.ended_at is None or life.alive:
        return None
    return -NEAR_END_S <= core.at - life.ended_at <= NEAR_END_S


def boot_end(story: Story) -> BootEnd | None:
    """How the boot ended that the life at issue went down with, or was stopped for; None where it did not, or where nobody knows."""
    life = story.issue
    at = life.ended_at if life.ended_at is not None else life.last_at
    if at is None or life.end.kind not in (EndKind.REBOOT, EndKind.STOPPED, EndKind.TIMEOUT):
        return None
    for boot in story.facts.boots:
        if boot.index < 0 and boot.first_at is not None and boot.last_at is not None and boot.first_at - 1 <= at <= boot.last_at + 1:
            if life.end.kind is not EndKind.REBOOT and boot.last_at - at > GOING_DOWN_S:
                return None  # it was stopped, and the machine ran on
            return next((e for e in story.facts.host.boot_ends if e.index == boot.index), None)
    return None


# --------------------------------------------------------------------------- disks


def disks(story: Story) -> tuple[FileSystem, ...]:
    """The file systems that somebody's data may lie on."""
    return tuple(
        d
        for d in story.facts.host.disks or ()
        if not d.mount.startswith(("/run", "/sys", "/proc", "/snap", "/boot/efi", "/var/lib/docker/overlay", "/var/lib/kubelet/pods"))
        and not (d.mount.startswith("/dev") and not d.mount.endswith("/shm"))
        and not d.device.startswith(("/dev/loop", "/dev/sr"))  # images, full by nature
        and (d.size_gib is None or d.size_gib >= SMALL_GIB)
    )


def is_full(disk: FileSystem) -> bool:
    """Whether nothing more can be written there: no blocks, or no inodes."""
    if disk.inodes_free is not None and disk.inodes_free < FULL_SHARE:
        return True
    return disk.free_gib is not None and (
        disk.free_gib < FULL_GIB / 50 or (disk.size_gib is not None and disk.free_gib < min(FULL_GIB, FULL_SHARE * disk.size_gib))
    )


def full_disks(story: Story) -> tuple[FileSystem, ...]:
    """Those that are full now."""
    return tuple(d for d in disks(story) if is_full(d))


def disk_of(story: Story, texts: Iterable[str]) -> FileSystem | None:
    """The file system of the first path that a text names, where it is one of this machine's."""
    host = story.facts.host
    for text in texts:
        for path in _PATH.findall(text[:4000]):
            if any(_under(path, m) for m in host.remote_mounts):
                continue
            held = [d for d in host.disks or () if d.mount != "/" and _under(path, d.mount)]
            if held:
                return max(held, key=lambda d: len(d.mount))
    return None


def mounts_named(story: Story) -> frozenset[str]:
    """The mount points that the unit's command line or its server's arguments name a path of."""
    words = " ".join((*(story.state.argv if story.state else ()), *story.issue.arguments.values()))[:8000]
    paths = _PATH.findall(words)
    return frozenset(d.mount for d in story.facts.host.disks or () if d.mount != "/" and any(_under(p, d.mount) for p in paths))


def _under(path: str, mount: str) -> bool:
    return path == mount or path.startswith(mount.rstrip("/") + "/")


def described(disk: FileSystem) -> str:
    """``/var: 0.1 of 50.0 GiB free``, or the inodes where those are what is missing."""
    if disk.inodes_free is not None and disk.inodes_free < FULL_SHARE:
        return f"{disk.mount}: no inodes left (too many small files)"
    free = f"{disk.free_gib:.1f}" if disk.free_gib is not None else "?"
    return f"{disk.mount}: {free} of {disk.size_gib:.1f} GiB free" if disk.size_gib is not None else f"{disk.mount}: {free} GiB free"


# --------------------------------------------------------------------------- memory


def memory_limit(story: Story) -> tuple[float | None, float | None, tuple[Evidence, ...]]:
    """Peak and limit of the unit's control group in GiB, as systemd remembers them or as the group counts them now, with the lines."""
    state, host = story.state, story.facts.host
    peak = state.memory_peak_gib if state and state.memory_peak_gib is not None else host.figures.get("cgroup_peak_gib")
    limit = state.memory_max_gib if state and state.memory_max_gib is not None else host.figures.get("cgroup_max_gib")
    lines = []
    if state is not None:
        lines = [
            Evidence(source=state.line_sources.get(k, state.source), line=state.lines[k][0], text=state.lines[k][1])
            for k, value in (("peak", state.memory_peak_gib), ("limit", state.memory_max_gib))
            if k in state.lines and value is not None
        ]
    lines += [cited(*host.lines[k]) for k in ("cgroup_peak_gib", "cgroup_max_gib") if k in host.lines and not lines]
    return peak, limit, tuple(lines)


def stuck(story: Story) -> tuple[Process, ...]:
    """Processes of the unit that wait in the kernel and cannot be killed (state D) as the capture was made."""
    pids = set(story.lives[-1].pids)
    return tuple(p for p in story.facts.host.processes or () if p.state.startswith("D") and ((p.unit and p.unit == story.unit) or p.pid in pids))

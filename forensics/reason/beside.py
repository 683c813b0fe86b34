"""Say what the host around the unit means for the reader: warnings, changes, advice and the lines to cite. Weighs nothing and names no cause."""

from __future__ import annotations

import re
import shlex

from forensics import clock, lazily
from forensics.model import Advice, Cause, Change, Coverage, EndKind, Evidence, Process, Warn
from forensics.reason import arguments, around, door, hostmemory
from forensics.reason.manager import SYSTEMD, kind_of, operand
from forensics.reason.place import Story
from forensics.reason.verdict import Verdict

CLOCK_OFF_S = 5.0
TOGETHER_S = 5.0
WEEK_S, DAY_S = 7 * 86400.0, 86400.0
MOST_PACKAGES = 6
NOT_OF_A_CARD = (
    Cause.PORT_IN_USE, Cause.BAD_ARGUMENTS, Cause.FILE_ACCESS, Cause.EXEC_FAILURE, Cause.DISK_FULL, Cause.OPERATOR_STOP, Cause.UNIT_MISSING, Cause.MISTYPED_UNIT,
    Cause.WRONG_ENDPOINT, Cause.HOST_REBOOT,
)  # fmt: skip
# where a server's own things lie; any other disk counts only where its command line names it
_OWN_MOUNTS = lazily.pattern(r"/|/(?:var|tmp|home|root|opt|usr|srv|etc)(?:/[\w.-]+){0,2}|/dev/shm")
# what a server of models stands on; anything else counts for a day only
_BASE = lazily.pattern(
    r"(?:lib)?(?:nvidia|cuda|cudnn|nccl|cublas|rocm|hip|amdgpu)|linux-(?:image|modules)|kernel(?:-core|-modules)?$|libc6$|glibc|python3(?:\.\d+)?(?:-minimal)?$|systemd$|docker|containerd|podman"
)


# --------------------------------------------------------------------------- warnings


def warnings(story: Story, verdict: Verdict) -> list[Warn]:
    """What a reader would not think of: a file that is not what runs, a clock that is off, a rival that was started, a full disk, a sick card."""
    return [*_unit_file(story), *_clock(story), *_together(story), *_short_of(story, verdict), *_cards(story, verdict)]


def _unit_file(story: Story) -> list[Warn]:
    state, life = story.state, story.issue
    if state is None:
        return []
    later = [f for f in story.facts.host.unit_files if life.started_at is not None and f.changed_at > life.started_at + 1]
    if not later and not state.need_reload:
        return []
    unit = operand(story.unit)
    if later:
        newest = max(later, key=lambda f: f.changed_at)
        what = f"{newest.path} was changed at {_when(newest.changed_at)}, after this life began ({_when(life.started_at or 0.0)})"
    else:
        what = "a file of the unit has been changed since systemd loaded it"
    if state.need_reload:
        runs = "what runs" if life.alive else "what ran"
        return [Warn(kind="unit-changed", text=f"{what}: {runs} is not what the file says; systemctl daemon-reload && systemctl restart {unit}")]
    if life is not story.lives[-1]:
        return []  # it has been started again since: that is what the lives are for
    again = f"; systemctl restart {unit}" if life.alive else ", so the next start may differ"
    return [Warn(kind="unit-changed", text=f"{what}: this life does not know it yet{again}")]


def _when(at: float) -> str:
    return clock.iso(float(int(at)))


def _clock(story: Story) -> list[Warn]:
    off, said = story.facts.offset_s, story.facts.host.said.get("synchronised")
    loose = " and is not synchronised" if said == "no" else ""
    if off is not None and abs(off) > CLOCK_OFF_S:
        way = "ahead of" if off > 0 else "behind"
        return [
            Warn(
                kind="clock-offset",
                text=f"the host's clock is {clock.span(abs(off))} {way} this machine's{loose}{_moved(story)}",
            )
        ]
    if loose and story.facts.benches and not story.facts.clocks:
        return [Warn(kind="clock-offset", text="the host's clock is not synchronised: its times and a client's need not agree")]
    return []


def _moved(story: Story) -> str:
    """What that means for a client's times."""
    if not story.facts.benches or story.facts.clocks:
        return "; the client's times are moved to it" if story.facts.clocks else ": its times and a client's differ by that"
    return ": its times and a client's differ by that, where the client was run here"


def _together(story: Story) -> list[Warn]:
    """Another unit's start that took this one down, or the end of one that it cannot be without."""
    life, state = story.issue, story.state
    if state is None or life.ended_at is None or life.end.kind is not EndKind.STOPPED:
        return []
    for name in state.rivals:
        other = story.facts.units.get(name)
        at = (other.started_at or other.since) if other and other.active in ("active", "activating") else None
        if at is not None and abs(at - life.ended_at) <= TOGETHER_S:
            text = f"{name}, which cannot run beside it (Conflicts=), was started at {clock.iso(at)}, as this one was stopped"
            return [Warn(kind="unit-conflict", text=text)]
    for name in state.props:
        other = story.facts.units.get(name)
        at = (other.exited_at or other.since) if other and other.active in ("inactive", "failed") else None
        if at is not None and abs(at - life.ended_at) <= TOGETHER_S:
            text = f"{name}, which it cannot be without (BindsTo=, Requires= or PartOf=), ended at {clock.iso(at)}, as this one was stopped"
            return [Warn(kind="unit-conflict", text=text)]
    return []


def _short_of(story: Story, verdict: Verdict) -> list[Warn]:
    found = []
    named = around.mounts_named(story)
    full = [d for d in around.full_disks(story) if _OWN_MOUNTS.fullmatch(d.mount) or d.mount in named]
    if full and verdict.cause is not Cause.DISK_FULL:
        found.append(Warn(kind="disk-full", text="; ".join(around.described(d) for d in full[:3])))
    figures = story.facts.host.figures
    total, left = figures.get("mem_total_gib"), figures.get("mem_available_gib")
    if total and left is not None and left < 0.03 * total and left < 8:
        found.append(Warn(kind="memory-low", text=f"the host has {left:.1f} of {total:.0f} GiB of memory available now"))
    waiting = around.stuck(story)
    if waiting:
        names = ", ".join(f"{_program(p)} (pid {p.pid})" for p in waiting[:3])
        text = f"{names} waits in the kernel (state D): a driver or the disk of another machine does not answer, and no signal gets through"
        found.append(Warn(kind="stuck-process", text=text))
    return found


def _cards(story: Story, verdict: Verdict) -> list[Warn]:
    bad = [g for g in story.facts.gpus if g.ecc_uncorrected or g.pages_pending]
    if not bad or verdict.cause in NOT_OF_A_CARD:
        return []
    told = ", ".join(f"GPU {g.index}: {g.ecc_uncorrected or 0}{', a bad page waits for a reset' if g.pages_pending else ''}" for g in bad[:4])
    return [Warn(kind="gpu-ecc", text=f"uncorrected memory errors since the driver was loaded ({told}); nvidia-smi -q -d ECC,ROW_REMAPPER says more")]


# --------------------------------------------------------------------------- changes


def changes(story: Story, before_at: float | None, since: str) -> list[Change]:
    """What was changed on the host before the life at issue: packages, the unit's files; and what its file says by now. ``before_at``: when the other life began."""
    return [*_flags_on_disk(story), *_packages(story, before_at, since), *_files(story, before_at, since)]


def _flags_on_disk(story: Story) -> list[Change]:
    """What the file on disk would start, where it is not what is loaded."""
    state = story.state
    if state is None or not state.need_reload or not state.argv or not state.file_argv:
        return []
    loaded, filed = arguments.of_command(state.argv, story.profile), arguments.of_command(state.file_argv, story.profile)
    return [
        Change(what=d.flag or "command", before=d.before, after=d.after, since="it was loaded (on disk, not in force)")
        for d in arguments.differences(loaded, filed)[:8]
        if not re.search(r"[%$]", d.after or "")  # what systemd puts in there is not known here
    ]


def _files(story: Story, before_at: float | None, since: str) -> list[Change]:
    life = story.issue
    if before_at is None or life.started_at is None:
        return []
    return [
        Change(
            what=f.path,
            before="as it was",
            after=f"{'drop-in, ' if f.role == 'drop-in' else ''}written {clock.iso(f.changed_at)}, {clock.span(life.started_at - f.changed_at)} before this life",
            since=since,
        )
        for f in story.facts.host.unit_files
        if before_at + 1 < f.changed_at <= life.started_at
    ]


def _packages(story: Story, before_at: float | None, since: str) -> list[Change]:
    began = story.issue.started_at
    if began is None or _went_well(story):
        return []
    near = [
        p
        for p in story.facts.host.packages
        if 0 <= began - p.at <= (WEEK_S if _BASE.match(p.name) else DAY_S) and (before_at is None or p.at > before_at)
    ]
    near.sort(key=lambda p: (_BASE.match(p.name) is None, -p.at))
    return [
        Change(what=f"package {p.name}", before=p.before or None, after=f"{p.after or 'removed'}, {clock.span(began - p.at)} before this life", since="the week before this life" if before_at is None else since)
        for p in near[:MOST_PACKAGES]
    ]  # fmt: skip


def _went_well(story: Story) -> bool:
    """Whether nothing went wrong in the life at issue: then nobody asks what was changed."""
    return story.issue.alive is True and story.issue.ready


# --------------------------------------------------------------------------- advice


def advice(story: Story, verdict: Verdict) -> list[Advice]:
    """What to do about what the host shows; the first of it replaces a rule's general word where it names a process."""
    made = {
        Cause.PORT_IN_USE: _port,
        Cause.STARTUP_RACE: _intruder,
        Cause.GPU_OOM_INIT: _gpu,
        Cause.GPU_OOM_RUNTIME: _gpu,
        Cause.DISK_FULL: _disk,
        Cause.HOST_OOM: _memory,
        Cause.SIGNAL_DEATH: _core,
        Cause.EXIT_CODE_DEATH: _core,
    }.get(verdict.cause)
    return made(story, verdict) if made else []


def _program(process: Process) -> str:
    words = process.args.split()
    return words[0].rpartition("/")[2].rstrip(":") if words else "a process"


def _who(process: Process) -> str:
    parts = [f"pid {process.pid}"]
    if process.unit:
        parts.append(process.unit)
    elif process.text:
        parts.append("of no unit")
    if process.user:
        parts.append(f"user {process.user}")
    if process.age_s is not None:
        parts.append(f"up for {clock.span(process.age_s)}")
    return f"{_program(process)} ({', '.join(parts)})"


def _rid(story: Story, process: Process) -> str:
    """The command that looks at a process or ends it; for a person to decide on."""
    if process.pid > 1 and around.is_leftover(story, process):
        return f"kill -TERM {process.pid}"
    if process.unit.endswith(".service") and not process.unit.startswith("-"):
        return f"systemctl status {shlex.quote(process.unit)}"
    return f"ps -o pid,user,lstart,cgroup,args -p {process.pid}"


def _port(story: Story, _verdict: Verdict) -> list[Advice]:
    holder = around.port_holder(story)
    if holder is None:
        port = around.wanted_port(story)
        if around.port_is_free(story) and story.lives[-1].alive is False:
            return [Advice(text=f"nobody listens on port {port} any more: start it again", command=f"systemctl start {operand(story.unit)}")]
        return []
    if holder.process is None:
        text = f"port {holder.port} is held by a process that this account may not see: ask as root who it is; end that, or take another port"
        return [Advice(text=text, command=f"sudo ss -ltnp 'sport = :{holder.port}'")]
    process = holder.process
    if process.pid == 1 and _program(process) in ("systemd", "init"):  # to end that one is to end the machine
        text = f"systemd itself listens on port {holder.port} (pid 1), for a socket unit: stop that .socket, or take another port"
        return [Advice(text=text, command="systemctl list-sockets --all")]
    who = _who(process)
    if holder.own == "later":
        return [Advice(text=f"port {holder.port} is held by a later run of the same unit, {who}: look whether that one serves")]
    if holder.own:
        text = f"port {holder.port} is held by {who}, left over from an earlier run of the same unit: end it, then start the unit again"
    elif around.unit_is_over(story, process) and process.unit != story.unit:
        text = f"port {holder.port} is held by {who}, left behind by that unit, which does not run any more: end it, or take another port"
    elif process.unit.endswith(".service"):
        text = f"port {holder.port} is held by {who}: stop that unit, or give one of the two another port"
    else:
        text = f"port {holder.port} is held by {who}: end that if nobody needs it, or take another port"
    return [Advice(text=text, command=_rid(story, process))]


def _intruder(story: Story, _verdict: Verdict) -> list[Advice]:
    """Of a start-up that will find its port taken: waiting is no use."""
    held = door.intruder(story)
    if held is None:
        return []
    text = f"port {held.listener.port} is held by {held.who}: end that or give one of the two another port, before this start gets there and fails"
    pid = held.listener.pid
    command = f"ps -o pid,user,lstart,cgroup,args -p {pid}" if pid is not None else f"sudo ss -ltnp 'sport = :{held.listener.port}'"
    return [Advice(text=text, command=_rid(story, held.process) if held.process is not None and held.process.text else command)]


def _gpu(story: Story, _verdict: Verdict) -> list[Advice]:
    found = around.squatters(story)
    if not found:
        return []
    told = [
        f"{_who(s.process) if s.process else f'pid {s.on.pid} {s.on.name}'.strip()} {s.on.used_gib:.1f} GiB{_on_card(story, s)}" for s in found[:3]
    ]
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    first = found[0]
    began = around.started_at(story, first.process)
    before = began is not None and story.issue.started_at is not None and began < story.issue.started_at
    left = ": left over from before, end it if nobody needs it" if first.leftover and before else ": end it or leave it its room"
    if first.process is None and story.state is None:
        left = ": see what that is (another service, a leftover, or a later start of this one), and end it or leave it its room"
    text = f"GPU memory is held by others: {', '.join(told)}{more}{left}"
    return [Advice(text=text, command=_rid(story, first.process) if first.process else f"ps -o pid,user,lstart,cgroup,args -p {first.on.pid}")]


def _on_card(story: Story, squatter: around.Squatter) -> str:
    """Which of several cards it is on, by the number that CUDA_VISIBLE_DEVICES and nvidia-smi -i take."""
    cards = story.facts.gpus
    number = next((g.index for g in cards if squatter.on.gpu and squatter.on.gpu in (g.uuid, str(g.index))), None)
    return f" on GPU {number}" if number is not None and len(cards) > 1 else ""


def _disk(story: Story, verdict: Verdict) -> list[Advice]:
    texts = [s.record.text for s in verdict.signals if s.record is not None]
    named = around.disk_of(story, texts)
    full = around.full_disks(story)
    chosen = [named] if named is not None and (around.is_full(named) or not full) else list(full)
    if chosen and all(around.is_full(d) for d in chosen):
        mounts = " ".join(shlex.quote(d.mount) for d in chosen[:3])
        text = "full now: " + "; ".join(around.described(d) for d in chosen[:3])
        return [Advice(text=text, command=f"du -xh --max-depth=2 {mounts} | sort -h | tail -n 20")]
    if story.facts.host.disks and story.facts.coverage.get("disks") is Coverage.READ:
        what = f"the file system of that path has room now ({around.described(named)})" if named else "no local file system is full now"
        away = story.facts.host.remote_mounts
        other = f", or it is a disk of another machine ({', '.join(away[:3])})" if away else ""
        return [Advice(text=f"{what}: it has been freed since, or a quota ran out{other}")]
    return []


def _memory(story: Story, verdict: Verdict) -> list[Advice]:
    peak, limit, _ = around.memory_limit(story)
    figures = story.facts.host.figures
    said = " ".join(x.record.text[:2000] for x in verdict.signals if x.record is not None)
    of_the_machine = "CONSTRAINT_NONE" in said or re.search(r"(?:^|: )Out of memory: Kill", said) is not None
    if limit is not None and not of_the_machine and (peak is None or peak >= 0.9 * limit):
        met = f", and its peak was {_gib(peak)}: raise it" if peak is not None else ": where it was that one that it met, raise it"
        setting = " (MemoryMax=)" if kind_of(story.state) == SYSTEMD else ""
        spare = hostmemory.spare(story)
        command = f"systemctl edit {operand(story.unit)}"
        text = f"the unit's own limit is {_gib(limit)}{setting}{met}{f' ({spare})' if spare else ''}, or let it use less"
        return [Advice(text=text, command=command)]
    total, left = figures.get("mem_total_gib"), figures.get("mem_available_gib")
    if (limit is None or of_the_machine) and total and left is not None and story.state is not None:
        swap = "" if figures.get("swap_total_gib") else ", no swap"
        least = f"the machine ({total:.0f} GiB{swap}; {left:.1f} GiB available now) was too small for all that ran on it"
        return [Advice(text=least if of_the_machine else f"the unit has no limit of its own: {least}")]
    return []


def _gib(value: float | None) -> str:
    return "?" if value is None else f"{value:.1f} GiB" if value >= 1 else f"{value * 1024:.0f} MiB"


def _core(story: Story, verdict: Verdict) -> list[Advice]:
    core = around.core_of(story)
    if core is None or (verdict.by != "mechanism" and not core.frames and verdict.cause is not Cause.SIGNAL_DEATH):
        return []
    main = story.state.main_pid if story.state else None
    whose = "its main process" if core.pid == main else "a child" if main is not None else "a process of it"
    frame = next((f for f in core.frames if f"({core.library}" in f), "").partition(" (")[0]
    named = f" ({frame})" if frame not in ("", "n/a") else ""
    where = f", in {core.library}{named}" if core.library else ", without a stack (no symbols were read)"
    program = core.exe.rpartition("/")[2] or "?"
    return [Advice(text=f"{whose} left a core (pid {core.pid}, {program}, {core.signal}){where}", command=f"coredumpctl info {core.pid}")]


# --------------------------------------------------------------------------- evidence


def lines(story: Story, verdict: Verdict) -> list[Evidence]:
    """The lines of the host that bear on the verdict."""
    if verdict.cause is Cause.PORT_IN_USE:
        holder = around.port_holder(story)
        return list(holder.lines) if holder else []
    if verdict.cause is Cause.STARTUP_RACE:
        held = door.intruder(story)
        return list(held.lines) if held else []
    if verdict.cause in (Cause.GPU_OOM_INIT, Cause.GPU_OOM_RUNTIME):
        return [line for s in around.squatters(story)[:2] for line in s.lines]
    if verdict.cause is Cause.DISK_FULL:
        return [around.cited(d.source, d.line_no, d.text) for d in around.full_disks(story)[:2]]
    if verdict.cause is Cause.HOST_OOM:
        return list(around.memory_limit(story)[2])
    if verdict.cause in (Cause.SIGNAL_DEATH, Cause.EXIT_CODE_DEATH, Cause.UNKNOWN) and (core := around.core_of(story)) is not None:
        return [around.cited(core.source, *core.lines[k]) for k in (("signal", "frame") if "signal" in core.lines else ("pid",)) if k in core.lines]
    if verdict.cause in (Cause.STARTUP_HANG, Cause.STARTUP_TIMEOUT):
        return [around.cited(p.source, p.line_no, p.text) for p in around.stuck(story)[:2]]
    return []


def no_disk_full(story: Story) -> str:
    """Why a full disk did not do it, or "": somebody has looked at all of them soon after the end, and there is room."""
    looked = story.facts.host.disks and story.facts.coverage.get("disks") is Coverage.READ
    ended = story.issue.ended_at
    if not looked or ended is None or story.at is None or story.at - ended > 3600 or around.full_disks(story):
        return ""
    known = [(d.free_gib / d.size_gib, d) for d in around.disks(story) if d.free_gib is not None and d.size_gib]
    least = min(known, key=lambda pair: pair[0])[1] if known else None
    return f"no local file system is full (least room: {around.described(least)})" if least is not None else ""


def no_memory_limit(story: Story) -> str:
    """Why its own memory limit did not end it, or ""."""
    peak, limit, _ = around.memory_limit(story)
    if peak is None or limit is None or peak >= 0.9 * limit:
        return ""
    return f"its memory peaked at {_gib(peak)}, below its limit of {_gib(limit)}"

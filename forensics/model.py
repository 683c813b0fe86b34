"""The nouns of the project and its closed vocabularies. Standard library only; nothing here reads, judges or prints.

Times are epoch seconds in UTC (float) everywhere; a stamp that could not be read is ``None``, never a guess.
Durations are seconds, memory is GiB, sizes are bytes; the unit is in the name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import NamedTuple

# --------------------------------------------------------------------------- vocabularies


class Word(str, Enum):
    """An id out of a closed vocabulary; prints as the id itself."""

    def __str__(self) -> str:
        return str(self.value)


class Cause(Word):
    """What a diagnosis may name. The ids never change their meaning."""

    STARTUP_RACE = "startup-race"
    STARTUP_HANG = "startup-hang"
    STARTUP_TIMEOUT = "startup-timeout"
    SIGNAL_DEATH = "signal-death"
    EXIT_CODE_DEATH = "exit-code-death"
    RESTART_LOOP = "restart-loop"
    HOST_OOM = "host-oom"
    GPU_OOM_INIT = "gpu-oom-init"
    GPU_OOM_RUNTIME = "gpu-oom-runtime"
    CUDA_GRAPH_SIZE_MISMATCH = "cuda-graph-size-mismatch"
    CUDA_GRAPH_CAPTURE = "cuda-graph-capture"
    MASK_CORRUPTION = "mask-corruption"
    CUDA_FAULT = "cuda-fault"
    GPU_HARDWARE = "gpu-hardware"
    COLLECTIVE_FAILURE = "collective-failure"
    WATCHDOG_TIMEOUT = "watchdog-timeout"
    BAD_ARGUMENTS = "bad-arguments"
    BAD_ENVIRONMENT = "bad-environment"
    MODEL_LOAD = "model-load"
    PORT_IN_USE = "port-in-use"
    WRONG_ENDPOINT = "wrong-endpoint"
    EXEC_FAILURE = "exec-failure"
    FILE_ACCESS = "file-access"
    HOST_REBOOT = "host-reboot"
    DISK_FULL = "disk-full"
    OPERATOR_STOP = "operator-stop"
    MISTYPED_UNIT = "mistyped-unit"
    UNIT_MISSING = "unit-missing"
    EVIDENCE_MISSING = "evidence-missing"
    BENCH_OVERLOAD = "bench-overload"
    HEALTHY = "healthy"
    UNKNOWN = "unknown"


class Phase(Word):
    """A stretch of a server's life; phases may recur and come in any order."""

    LAUNCH = "launch"
    DISTRIBUTED_INIT = "distributed-init"
    WEIGHTS = "weights"
    KV_POOL = "kv-pool"
    ATTENTION_BACKEND = "attention-backend"
    CUDA_GRAPH = "cuda-graph"
    DRAFT_WORKER = "draft-worker"
    WARMUP = "warmup"
    BIND = "bind"
    READY = "ready"
    SERVING = "serving"
    STOPPING = "stopping"


class Role(Word):
    """What a matched line may be used for."""

    ROOT = "root"
    CASCADE = "cascade"
    MECHANISM = "mechanism"
    STATE = "state"
    SYMPTOM = "symptom"
    CONTEXT = "context"
    ADVICE_TEXT = "advice-text"
    BENIGN = "benign"


class Status(Word):
    """How firm a hypothesis is."""

    ESTABLISHED = "established"
    SUPPORTED = "supported"
    POSSIBLE = "possible"
    RULED_OUT = "ruled-out"


class Health(Word):
    """The state now, which need not be the state of the life that is explained."""

    HEALTHY = "healthy"
    STARTING = "starting"
    FAILED = "failed"
    STOPPED = "stopped"
    DEGRADED = "degraded"
    UNKNOWN = "unknown"


class EndKind(Word):
    """How the main process of a life ended."""

    SIGNAL = "signal"
    EXIT = "exit"
    OOM_KILL = "oom-kill"
    TIMEOUT = "timeout"
    WATCHDOG = "watchdog"
    STOPPED = "stopped"
    REBOOT = "reboot"
    NONE = "none"
    UNKNOWN = "unknown"


class EndBy(Word):
    """Who ended it."""

    ITSELF = "itself"
    CHILD = "a child"
    KERNEL = "kernel"
    SYSTEMD = "systemd"
    OPERATOR = "operator"
    UNKNOWN = "unknown"


class Direction(Word):
    """Which way a memory fraction (or another flag) has to go."""

    RAISE = "raise"
    LOWER = "lower"
    REBALANCE = "rebalance"


class Coverage(Word):
    """What is known about a piece of evidence; only READ proves an absence."""

    READ = "read"
    GIVEN = "given"
    EMPTY = "empty"
    CUT = "cut"
    DENIED = "denied"
    NOT_COLLECTED = "not-collected"


class Origin(Word):
    """Who wrote a line."""

    SERVER = "server"
    SYSTEMD = "systemd"
    KERNEL = "kernel"
    CLIENT = "client"
    ANY = "any"


class PartKind(Word):
    """What a stretch of a section holds."""

    IS_ACTIVE = "is-active"
    STATUS = "status"
    SHOW = "show"
    UNIT_FILE = "unit-file"
    UNITS = "units"
    SOCKETS = "sockets"
    HEALTH = "health"
    GPU = "gpu"
    CLOCK = "clock"
    BOOTS = "boots"
    JOURNAL_TEXT = "journal-text"
    JOURNAL_JSON = "journal-json"
    JOURNAL_EXPORT = "journal-export"
    KERNEL = "kernel"
    SERVER = "server"
    CLIENT = "client"
    BENCH_JSON = "bench-json"
    NOTICE = "notice"  # a message of the tool that was asked ("No journal files were opened due to …")
    EMPTY = "empty"


class MarkKind(Word):
    """What a profile's line says about the course of a life."""

    # of a server
    ARGUMENTS = "arguments"
    BEGIN = "begin"
    END = "end"
    PROGRESS = "progress"
    LISTENING = "listening"
    READY = "ready"
    SERVING = "serving"
    STOPPING = "stopping"
    SELF_KILL = "self-kill"
    CHILD_EXIT = "child-exit"
    FINISHED = "finished"
    # of systemd
    STARTING = "starting"
    STARTED = "started"
    START_FAILED = "start-failed"
    STOP_ASKED = "stop-asked"
    STOPPED = "stopped"
    DEACTIVATED = "deactivated"
    EXITED = "exited"
    FAILED = "failed"
    RESTART = "restart"
    START_LIMIT = "start-limit"
    OOM_KILL = "oom-kill"
    START_TIMEOUT = "start-timeout"
    STOP_TIMEOUT = "stop-timeout"
    WATCHDOG = "watchdog"
    KILL_SENT = "kill-sent"
    # of the machine
    BOOT = "boot"
    SHUTDOWN = "shutdown"


# --------------------------------------------------------------------------- places


class Location(NamedTuple):
    """A place in a file that a person wrote; line and col count from 1, 0 is unknown."""

    path: str
    line: int = 0
    col: int = 0

    def __str__(self) -> str:
        text = self.path
        if self.line:
            text += f":{self.line}"
            if self.col:
                text += f":{self.col}"
        return text


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """Something in the evidence that could not be read; the rest was. ``line`` counts from 1, 0 is the whole source."""

    source: str
    line: int = 0
    text: str


# --------------------------------------------------------------------------- evidence


class TargetKind(Word):
    SSH = "ssh"
    LOCAL = "local"
    FILES = "files"
    BUNDLE = "bundle"


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """Where to look. ``name`` is what the user typed; ``paths`` holds files or the folder, ``-`` is standard input."""

    kind: TargetKind
    name: str
    host: str | None = None
    paths: tuple[Path, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """One answer: the bytes of one command or file, on disk, read by ``chunks`` and never whole.

    ``cut`` is how many bytes are missing (-1: some, number unknown). ``stderr`` is at most 2 KiB.
    """

    name: str
    path: Path
    argv: str = ""
    exit_code: int | None = None
    took_s: float | None = None
    cut: int = 0
    coverage: Coverage = Coverage.READ
    stderr: str = ""
    part: PartKind | None = None  # None: to be recognised by its content

    def size(self) -> int:
        """Bytes on disk."""
        return self.path.stat().st_size

    def chunks(self, max_bytes: int = 1 << 20) -> Iterator[bytes]:
        """Yield the bytes in pieces of at most ``max_bytes``."""
        with self.path.open("rb") as stream:
            while piece := stream.read(max_bytes):
                yield piece

    def head(self, max_bytes: int = 1 << 16) -> bytes:
        """The first bytes, for recognising and for small answers."""
        with self.path.open("rb") as stream:
            return stream.read(max_bytes)


@dataclass(frozen=True, kw_only=True, slots=True)
class Pick:
    """Which unit is meant and why. ``how``: asked · mistyped · failed · restarting · starting · profile · evidence · none."""

    asked: str | None = None
    unit: str | None = None
    how: str = "none"
    why: str = ""
    distance: int = 0
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Capture:
    """All that was collected from one target. ``offset_s`` is the host's clock minus ours."""

    target: Target
    sections: tuple[Section, ...]
    host: str | None = None
    at: float | None = None
    offset_s: float | None = None
    took_s: float | None = None
    pick: Pick = field(default_factory=Pick)
    problems: tuple[Problem, ...] = ()

    def section(self, name: str) -> Section | None:
        """The section of that name, or None."""
        return next((s for s in self.sections if s.name == name), None)


# --------------------------------------------------------------------------- lines


class Frame(NamedTuple):
    """One line that a rule might want, with its wrappers and prefixes taken off. Made for candidates only, never for every line.

    ``stamp`` and ``inner`` are the outermost and the server's own time as written, not parsed. ``text`` is the message alone.
    A continuation line carries the stamp, pid and rank of the record it belongs to.
    """

    source: str
    line_no: int  # of the section, from 1
    start: int  # byte offset of the line in the section
    text: str
    origin: Origin = Origin.ANY
    continuation: bool = False
    stamp: str = ""
    inner: str = ""
    ident: str = ""
    pid: int | None = None
    rank: str = ""
    host: str = ""
    fields: Mapping[str, str] = {}  # trusted journal fields, where the format has them


class Hit(NamedTuple):
    """A rule matched a line. Nothing is known yet about its life, phase or time."""

    rule: str
    frame: Frame
    captures: Mapping[str, str]


class Record(NamedTuple):
    """A line with its time read: made for hits, first and last lines only."""

    at: float | None
    source: str
    line_no: int
    text: str
    origin: Origin
    pid: int | None = None
    ident: str = ""
    rank: str = ""
    priority: int | None = None
    boot: str = ""
    invocation: str = ""
    unit: str = ""
    transport: str = ""


class Seen(NamedTuple):
    """A hit together with the record of its line."""

    hit: Hit
    record: Record


# --------------------------------------------------------------------------- facts


@dataclass(frozen=True, kw_only=True, slots=True)
class UnitState:
    """What systemd says of a unit, from show, status and is-active together; None is not known."""

    name: str
    load: str | None = None  # loaded, not-found, masked, bad-setting
    active: str | None = None  # active, inactive, failed, activating, deactivating, reloading
    sub: str | None = None
    result: str | None = None
    main_code: str | None = None  # exited, killed, dumped
    main_status: int | None = None  # exit status or signal number
    signal: str | None = None  # SIGKILL
    main_pid: int | None = None
    since: float | None = None
    ago_s: float | None = None
    started_at: float | None = None
    exited_at: float | None = None
    duration_s: float | None = None
    restarts: int | None = None
    memory_peak_gib: float | None = None
    memory_max_gib: float | None = None
    argv: tuple[str, ...] = ()
    fragment: str | None = None
    description: str | None = None
    source: str = ""
    lines: Mapping[str, tuple[int, str]] = field(default_factory=dict)  # what says so: active/duration/process/missing → (line, text)
    line_sources: Mapping[str, str] = field(default_factory=dict)  # after a merge: key of lines → the source it is in


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchRow:
    """One line of client output that counts, so that it can be cited."""

    line_no: int
    text: str
    kind: str = ""  # of an attempt: refused, reset, timed-out, dns, tls, too-long, http-404, …, not-ready, other, ok; of a printed figure: empty
    at: float | None = None
    offset_s: float | None = None
    metric: str = ""  # the name in BenchRun.metrics whose figure this line prints


@dataclass(frozen=True, kw_only=True, slots=True)
class Matrix:
    """One measured configuration of a benchmark: tree width against what came out."""

    line_no: int
    text: str
    label: str
    topk: int | None = None
    budget: int | None = None
    accept_len: float | None = None
    correct: float | None = None  # share of right answers, 0…1 (coding pass, accuracy or greedy match)


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchRun:
    """What a client saw. ``asked``/``ok``/``failed`` are None where the output does not say."""

    source: str
    tool: str
    first_at: float | None = None
    last_at: float | None = None
    span_s: float | None = None  # of a relative clock ("600 s unhealthy …"): last minus first
    asked: int | None = None
    ok: int | None = None
    failed: int | None = None
    errors: Mapping[str, int] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    host: str | None = None
    port: int | None = None
    path: str | None = None
    rows: tuple[BenchRow, ...] = ()
    matrix: tuple[Matrix, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A command in a pasted terminal (or of the collector) and whether it answered anything."""

    source: str
    line_no: int
    command: str
    unit: str | None = None
    empty: bool = False
    filtered: bool = False  # a grep or -g stood behind it
    text: str = ""  # its first line of answer


@dataclass(frozen=True, kw_only=True, slots=True)
class Listener:
    """A listening TCP socket."""

    port: int
    address: str = ""
    pid: int | None = None
    process: str = ""
    line_no: int = 0
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """An answer of a health endpoint asked from inside the host. ``code`` 0: refused, -1: no answer in time, None: could not ask."""

    port: int
    path: str
    code: int | None
    line_no: int = 0
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuProcess:
    """A process that holds memory of a GPU, as nvidia-smi lists it."""

    pid: int
    name: str = ""
    used_gib: float | None = None
    gpu: str = ""  # index, uuid or bus id, as listed
    line_no: int = 0
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Boot:
    """One boot of the machine that the journal knows; index 0 is the current one, -1 the one before."""

    index: int
    boot_id: str
    first_at: float | None = None
    last_at: float | None = None
    line_no: int = 0
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Gpu:
    """A GPU and its memory at the time of the capture."""

    index: int
    name: str = ""
    uuid: str = ""
    total_gib: float | None = None
    used_gib: float | None = None
    line_no: int = 0
    text: str = ""


class Tail(NamedTuple):
    """The first and last lines of a source, and how many lines it has."""

    source: str
    lines: int
    first: tuple[Record, ...]
    last: tuple[Record, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """All that reasoning may lean on. ``seen`` is in source and line order."""

    seen: tuple[Seen, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)  # rule id → matches, including those not kept
    units: Mapping[str, UnitState] = field(default_factory=dict)
    unit_names: tuple[str, ...] = ()
    benches: tuple[BenchRun, ...] = ()
    asked: tuple[Asked, ...] = ()
    listeners: tuple[Listener, ...] | None = None
    probes: tuple[Probe, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    gpu_processes: tuple[GpuProcess, ...] = ()
    boots: tuple[Boot, ...] = ()
    tails: Mapping[str, Tail] = field(default_factory=dict)
    kinds: Mapping[str, tuple[PartKind, ...]] = field(default_factory=dict)  # source → what it holds
    coverage: Mapping[str, Coverage] = field(default_factory=dict)  # journal, status, kernel, bench, … → coverage
    argv: tuple[str, ...] = ()  # of the unit file or status
    problems: tuple[Problem, ...] = ()
    at: float | None = None
    offset_s: float | None = None


# --------------------------------------------------------------------------- reasoning


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseSpan:
    """A phase of one rank; ``took_s`` is None while it lasts or where the log has no times."""

    phase: Phase
    rank: str | None = None
    started_at: float | None = None
    took_s: float | None = None
    line_no: int = 0
    source: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    done: int
    of: int
    what: str = ""
    at: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class End:
    """How a life ended and by whom; ``signal`` as SIGKILL, ``status`` the exit status, ``result`` systemd's word."""

    kind: EndKind = EndKind.UNKNOWN
    by: EndBy = EndBy.UNKNOWN
    signal: str | None = None
    status: int | None = None
    result: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Life:
    """One invocation of a unit, or one run in a plain log. ``arguments`` are as the server logged or was given them, by flag name."""

    index: int
    started_at: float | None = None
    ended_at: float | None = None
    listening_at: float | None = None
    ready_at: float | None = None
    listening: bool = False
    ready: bool = False
    served: bool = False
    alive: bool | None = None
    stop_asked: bool = False
    end: End = field(default_factory=End)
    lived_s: float | None = None
    phases: tuple[PhaseSpan, ...] = ()
    phase: Phase | None = None
    progress: Progress | None = None
    last_at: float | None = None
    server: str | None = None
    version: str | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    pids: frozenset[int] = frozenset()
    invocation: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Signal:
    """A hit placed in a life, or a ``when`` rule that holds; ``certain`` is False where a condition leaned on something unknown."""

    rule: str
    role: Role
    cause: Cause | None = None
    life: int | None = None
    rank: str | None = None
    phase: Phase | None = None
    at: float | None = None
    record: Record | None = None
    lines: tuple[Evidence, ...] = ()
    captures: Mapping[str, str] = field(default_factory=dict)
    certain: bool = True
    order: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """A fact by name; ``value`` None is unknown."""

    name: str
    value: object | None
    evidence: tuple[Evidence, ...] = ()
    coverage: Coverage = Coverage.GIVEN


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """One cited line."""

    source: str
    line: int
    text: str
    at: float | None = None
    rule: str | None = None
    role: Role | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Hypothesis:
    cause: Cause
    status: Status
    for_: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    next: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Advice:
    text: str
    flag: str | None = None
    direction: Direction | None = None
    from_: float | str | None = None
    to: float | str | None = None
    command: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    what: str
    before: str | None
    after: str | None
    since: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Warn:
    """Something that would mislead a reader who does not know it."""

    kind: str
    text: str
    asked: str | None = None
    meant: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientView:
    """What the client met, against the life at issue. ``early_s``: how long before readiness it came; ``wasted_s``: how long it asked a dead service."""

    tool: str | None = None
    first_error_at: float | None = None
    last_error_at: float | None = None
    refused: int | None = None
    asked: int | None = None
    early_s: float | None = None
    wasted_s: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """One line of the timeline."""

    at: float | None
    source: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """What comes out; the fields are those of the JSON, schema ddforensics/diagnosis/1."""

    target: str
    headline: str
    health: Health
    cause: Cause
    status: Status | None = None
    host: str | None = None
    unit: str | None = None
    server: str | None = None
    server_version: str | None = None
    captured_at: float | None = None
    took_s: float | None = None
    direction: Direction | None = None
    also: tuple[Cause, ...] = ()
    phase: Phase | None = None
    progress: Progress | None = None
    started_at: float | None = None
    active_for_s: float | None = None
    listening_at: float | None = None
    ready_at: float | None = None
    ready_expected_at: float | None = None
    died_at: float | None = None
    died_after_s: float | None = None
    end: End = field(default_factory=lambda: End(kind=EndKind.NONE))
    client: ClientView | None = None
    evidence: tuple[Evidence, ...] = ()
    hypotheses: tuple[Hypothesis, ...] = ()
    advice: tuple[Advice, ...] = ()
    changed: tuple[Change, ...] = ()
    phases: tuple[PhaseSpan, ...] = ()
    lives: tuple[Life, ...] = ()
    timeline: tuple[Moment, ...] = ()
    warnings: tuple[Warn, ...] = ()
    coverage: Mapping[str, Coverage] = field(default_factory=dict)
    candidates: tuple[str, ...] = ()  # units, where several are worth a look and none was named

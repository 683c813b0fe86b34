"""What parsing makes of a capture: unit states, client runs, sockets, probes, and all of them together. Nothing here is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from forensics.model.capture import Problem, Record, Seen
from forensics.model.host import HostState
from forensics.model.noun import Noun
from forensics.model.vocabulary import Coverage, MaterialKind, PartKind


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class UnitState(Noun):
    """What systemd says of a unit, from show, status and is-active together; None is not known."""

    name: str
    load: str | None = None  # loaded, not-found, masked, bad-setting
    active: str | None = None  # active, inactive, failed, activating, deactivating, reloading
    sub: str | None = None
    result: str | None = None
    main_code: str | None = None  # exited, killed, dumped
    main_status: int | None = None  # exit status or signal number
    signal: str | None = None  # SIGKILL
    failed_command: str | None = None  # the setting whose command failed beside the program itself: ExecStartPre, ExecStop, …
    main_pid: int | None = None
    since: float | None = None
    ago_s: float | None = None
    started_at: float | None = None
    exited_at: float | None = None
    duration_s: float | None = None
    restarts: int | None = None
    memory_peak_gib: float | None = None
    memory_max_gib: float | None = None
    memory_high_gib: float | None = None
    argv: tuple[str, ...] = ()
    file_argv: tuple[str, ...] = ()  # as the file says now; argv is what is loaded, where both are known
    need_reload: bool | None = None  # the file has changed since it was loaded
    drop_ins: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()  # units that cannot run beside it (Conflicts, both ways)
    props: tuple[str, ...] = ()  # units that take it down with them (BindsTo, Requires, PartOf)
    fragment: str | None = None
    description: str | None = None
    manager: tuple[
        str, ...
    ] = ()  # who runs it, where that is not systemd: ("docker", NAME), ("podman", NAME), ("kubectl", NAMESPACE, POD, CONTAINER)
    health: str | None = None  # of a container with a check of its own: starting, healthy, unhealthy
    source: str = ""
    lines: Mapping[str, tuple[int, str]] = field(default_factory=dict)  # what says so: active/duration/process/missing → (line, text)
    line_sources: Mapping[str, str] = field(default_factory=dict)  # after a merge: key of lines → the source it is in


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Run(Noun):
    """One run of a container, as its engine or cluster keeps it: only the last one or two are known.

    ``code`` and ``status`` as of a unit; None while it runs. ``result`` oom-kill where the kernel ended it for memory.
    """

    unit: str
    started_at: float | None
    ended_at: float | None = None
    code: str | None = None
    status: int | None = None
    result: str | None = None


def ending(exit_code: int) -> tuple[str, int]:
    """How a process ended by the one number that engines and shells keep: 128 + n stands for signal n."""
    return ("killed", exit_code - 128) if 128 < exit_code <= 128 + 64 else ("exited", exit_code)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class BenchRow(Noun):
    """One line of client output that counts, so that it can be cited."""

    line_no: int
    text: str
    kind: str = (
        ""  # of an attempt: refused, reset, timed-out, dns, tls, too-long, http-404, …, unconnected, not-ready, other, ok; of a printed figure: empty
    )
    at: float | None = None
    offset_s: float | None = None
    since_boot: bool = False  # no line names a point in time: all times are seconds since the machine started, good for spans only
    metric: str = ""  # the name in BenchRun.metrics whose figure this line prints


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Matrix(Noun):
    """One measured configuration of a benchmark: tree width against what came out. A budget of 0 is the run without speculation."""

    line_no: int
    text: str
    label: str
    topk: int | None = None
    budget: int | None = None
    steps: int | None = None  # depth of the tree
    accept_len: float | None = None  # tokens a step
    correct: float | None = None  # share of right answers, 0…1 (greedy match with the plain run, coding pass or accuracy)
    asked: int | None = None  # answers that the share is of
    lost: int = 0  # requests that got no answer, where they were so many that the share is none of answers
    drafts: int | None = None  # steps that the acceptance length is the mean of
    speed: float | None = None  # tokens a second
    settings: tuple[tuple[str, str], ...] = ()  # what else it was measured under


ANY_CLIENT = "client"  # the tool of a run of which neither a command nor a shape says what made it

NOT_SET = "not set"  # in a configuration: it was saved as null

# as a benchmark prints them, and as it saves them: the answers tokenized again, and what the server counted
RETOKENIZED = (("total_generated_tokens_retokenized", "total_generated_tokens"), ("total_output_tokens_retokenized", "total_output_tokens"))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class BenchRun(Noun):
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
    samples: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # single measurements, where the result holds them: ttfts, itls, latencies
    configuration: Mapping[str, str] = field(default_factory=dict)  # what was asked for: request_rate, num_prompts, dataset_name, …
    host: str | None = None
    port: int | None = None
    path: str | None = None
    rows: tuple[BenchRow, ...] = ()
    matrix: tuple[Matrix, ...] = ()
    otherwise: Mapping[str, tuple[Matrix, ...]] = field(
        default_factory=dict
    )  # the same trees by what else says whether answers are right: greedy_match
    written_at: float | None = None  # when its file was last written, by our clock
    shift_s: float | None = None  # what was added to its times to make them the host's

    @property
    def came_back(self) -> tuple[float, float] | None:
        """Tokens that are in its answers, of those that the server counted; None where the output does not give both."""
        pairs = [(self.metrics.get(again), self.metrics.get(counted)) for again, counted in RETOKENIZED]
        return next(((again, counted) for again, counted in pairs if again is not None and counted), None)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Asked(Noun):
    """A command in a pasted terminal (or of the collector) and whether it answered anything."""

    source: str
    line_no: int
    command: str
    unit: str | None = None
    empty: bool = False
    filtered: bool = False  # a grep or -g stood behind it
    limited: str = ""  # what else can have left its answer empty: --since today, -b
    host: str | None = None  # of the ssh it was typed behind
    tool: str = ""  # the program that was asked
    text: str = ""  # its first line of answer
    user: bool = False  # asked of the systemd of the account, not of the machine's
    container: str | None = None  # the container that docker or podman was asked about


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Listener(Noun):
    """A listening TCP socket."""

    port: int
    address: str = ""
    pid: int | None = None
    process: str = ""
    line_no: int = 0
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Probe(Noun):
    """An answer of a health endpoint asked from inside the host. ``code`` 0: refused, -1: no answer in time, None: could not ask."""

    port: int
    path: str
    code: int | None
    line_no: int = 0
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class GpuProcess(Noun):
    """A process that holds memory of a GPU, as nvidia-smi lists it."""

    pid: int
    name: str = ""
    used_gib: float | None = None
    gpu: str = ""  # index, uuid or bus id, as listed
    line_no: int = 0
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Boot(Noun):
    """One boot of the machine that the journal knows; index 0 is the current one, -1 the one before."""

    index: int
    boot_id: str
    first_at: float | None = None
    last_at: float | None = None
    line_no: int = 0
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Gpu(Noun):
    """A GPU and its memory at the time of the capture."""

    index: int
    name: str = ""
    uuid: str = ""
    total_gib: float | None = None
    used_gib: float | None = None
    ecc_uncorrected: int | None = None  # since the driver was loaded
    pages_pending: bool = False  # a page of its memory is bad and will be taken out at the next reset
    driver: str = ""
    line_no: int = 0
    text: str = ""


class Material(NamedTuple):
    """What a text is that nobody recognised as a service's, and how it is called in a sentence."""

    kind: MaterialKind
    words: str


class Tail(NamedTuple):
    """The first and last lines of a source, and how many lines it has."""

    source: str
    lines: int
    first: tuple[Record, ...]
    last: tuple[Record, ...]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Facts(Noun):
    """All that reasoning may lean on. ``seen`` is in source and line order."""

    seen: tuple[Seen, ...] = ()
    written: tuple[Seen, ...] = ()  # on lines that no program printed: of a manual, a mail, a source file
    quoted: frozenset[tuple[str, int]] = (
        frozenset()
    )  # source and line of what a program printed and somebody quotes between his own words, beside a log
    material: Mapping[str, Material] = field(default_factory=dict)  # source → what kind of text it is
    counts: Mapping[str, int] = field(default_factory=dict)  # rule id → matches, including those not kept
    units: Mapping[str, UnitState] = field(default_factory=dict)
    runs: tuple[Run, ...] = ()  # of containers, in order of time
    unit_names: tuple[str, ...] = ()
    benches: tuple[BenchRun, ...] = ()
    asked: tuple[Asked, ...] = ()
    named: tuple[Asked, ...] = ()  # units that a client's own configuration names, asked or not
    listeners: tuple[Listener, ...] | None = None
    doors: Mapping[str, frozenset[int]] = field(default_factory=dict)  # unit that runs a known server → ports that it is known to have
    probes: tuple[Probe, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    gpu_processes: tuple[GpuProcess, ...] = ()
    boots: tuple[Boot, ...] = ()
    host: HostState = field(default_factory=HostState)
    tails: Mapping[str, Tail] = field(default_factory=dict)
    kinds: Mapping[str, tuple[PartKind, ...]] = field(default_factory=dict)  # source → what it holds
    # source → first line and kind of each of its parts, in order
    stretches: Mapping[str, tuple[tuple[int, PartKind], ...]] = field(default_factory=dict)
    coverage: Mapping[str, Coverage] = field(default_factory=dict)  # journal, status, kernel, bench, … → coverage
    argv: tuple[str, ...] = ()  # of the unit file or status
    about_host: str | None = None  # of several hosts in the evidence the one that all of this is about
    other_hosts: Mapping[str, int] = field(default_factory=dict)  # host → lines of it that were left out
    assumed: tuple[str, ...] = ()  # what was taken for granted about times, and why
    local: frozenset[str] = frozenset()  # sources whose times are of the host's own clock, in a zone that is not known: read as UTC
    clocks: tuple[str, ...] = ()  # by how much a client's times were moved to the host's clock, and why
    blobs: Mapping[str, int] = field(default_factory=dict)  # source → messages that are not in what was saved ("[85B blob data]", null)
    problems: tuple[Problem, ...] = ()
    at: float | None = None
    offset_s: float | None = None
    since_boot: bool = False  # no line names a point in time: all times are seconds since the machine started, good for spans only

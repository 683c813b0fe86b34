"""What reasoning makes of the facts: lives, signals, hypotheses, and the diagnosis that comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from forensics.model.capture import Record
from forensics.model.memory import Memory
from forensics.model.noun import Noun
from forensics.model.vocabulary import Cause, Coverage, Direction, EndBy, EndKind, Health, Phase, Role, Status


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class PhaseSpan(Noun):
    """A phase of one rank; ``took_s`` is None while it lasts or where the log has no times."""

    phase: Phase
    rank: str | None = None
    started_at: float | None = None
    took_s: float | None = None
    line_no: int = 0
    source: str = ""
    assumed: bool = False  # it only follows the one that ended: no line has said that it began


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Progress(Noun):
    """How far a phase has come. ``at``: of the last step forward. ``pace_s``: seconds for one of them so far, ``left_s``: what the bar itself expects."""

    done: int
    of: int
    what: str = ""
    at: float | None = None
    pace_s: float | None = None
    left_s: float | None = None
    slowest_s: float | None = None  # the longest that one of them took, between two lines
    steps: int = 0  # lines that went forward
    first_at: float | None = None
    first_done: int = 0


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Behind(Noun):
    """The rank that the others wait for: in which phase it is, since when nothing was heard of it, and where the others are.

    ``ranks`` are all that stand there, ``rank`` the first of them; ``phase`` None: it never spoke.
    """

    rank: str
    ranks: tuple[str, ...] = ()
    phase: Phase | None = None
    since: float | None = None
    others: Phase | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class End(Noun):
    """How a life ended and by whom; ``signal`` as SIGKILL, ``status`` the exit status, ``result`` systemd's word."""

    kind: EndKind = EndKind.UNKNOWN
    by: EndBy = EndBy.UNKNOWN
    signal: str | None = None
    status: int | None = None
    result: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Life(Noun):
    """One invocation of a unit, or one run in a plain log. ``arguments`` are as the server logged or was given them, by flag name."""

    index: int
    started_at: float | None = None
    active_at: float | None = None  # when systemd called it active; with Type=notify long after the start
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
    behind: Behind | None = None
    stepped_at: float | None = None  # the last step forward of its start-up
    last_at: float | None = None
    server: str | None = None
    version: str | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    pids: frozenset[int] = frozenset()
    invocation: str = ""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Signal(Noun):
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
    # order of the line that opened its traceback, where that is another one: of two that end at once the first to begin failed first
    began: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Known(Noun):
    """A fact by name; ``value`` None is unknown."""

    name: str
    value: object | None
    evidence: tuple[Evidence, ...] = ()
    coverage: Coverage = Coverage.GIVEN


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Evidence(Noun):
    """One cited line. ``times``: of a client's attempts, how many lines differ from it in nothing but numbers, itself among them."""

    source: str
    line: int
    text: str
    at: float | None = None
    rule: str | None = None
    role: Role | None = None
    rank: str | None = None
    times: int = 1


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Follow(Noun):
    """A kind of lines that only follow from the root: what it says, of which ranks, how many, and the first of them."""

    rule: str
    text: str
    ranks: tuple[str, ...] = ()
    lines: int = 1
    source: str = ""
    line: int = 0


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Hypothesis(Noun):
    cause: Cause
    status: Status
    for_: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    next: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Advice(Noun):
    """A thing to do; ``costs`` says what is lost by it."""

    text: str
    costs: str | None = None
    flag: str | None = None
    direction: Direction | None = None
    from_: float | str | None = None
    to: float | str | None = None
    command: str | None = None


LAST_GOOD = "the last good life"  # as what a change is counted from, where there is one
KERNEL_LOG, OWN_LINES = "the kernel log", "the server's own lines of that life"  # as what a hypothesis misses


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Change(Noun):
    what: str
    before: str | None
    after: str | None
    since: str


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Template(Noun):
    """Lines that differ in numbers, names and paths only: the first of them, where it stands, and how many there are."""

    text: str
    source: str
    line: int
    count: int = 1


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Warn(Noun):
    """Something that would mislead a reader who does not know it."""

    kind: str
    text: str
    asked: str | None = None
    meant: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class ClientView(Noun):
    """What the client met, against the life at issue. ``early_s``: how long before readiness it came; ``wasted_s``: how long it asked a dead service."""

    tool: str | None = None
    first_error_at: float | None = None
    last_error_at: float | None = None
    refused: int | None = None
    asked: int | None = None
    failed: int | None = None  # for whatever reason; those that were refused are among them
    early_s: float | None = None
    wasted_s: float | None = None
    errors: Mapping[str, int] = field(default_factory=dict)  # how its requests failed: refused, reset, timed-out, http-404, …
    clock_shift_s: float | None = None  # what was added to the times that it wrote, as its clock is not the host's


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Moment(Noun):
    """One line of the timeline."""

    at: float | None
    source: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class TreeFigure(Noun):
    """What was measured with one draft tree: ``value`` tokens a step, or (``share``) right answers, 0…1. ``wrong``: worse than with a tree that is a part of it."""

    metric: str
    topk: int
    budget: int
    value: float
    share: bool = False
    wrong: bool = False
    series: str = ""  # of several, which one it is of: what it was measured under and the others were not


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Diagnosis(Noun):
    """What comes out; the fields are those of the JSON, schema ddforensics/diagnosis/1. ``bundle``: where saved answers were read from, not who gave them."""

    target: str
    headline: str
    health: Health
    cause: Cause
    status: Status | None = None
    bundle: str | None = None
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
    behind: Behind | None = None
    started_at: float | None = None
    active_at: float | None = None
    active_for_s: float | None = None
    listening_at: float | None = None
    ready_at: float | None = None
    ready_expected_at: float | None = None
    died_at: float | None = None
    died_after_s: float | None = None
    end: End = field(default_factory=lambda: End(kind=EndKind.NONE))
    client: ClientView | None = None
    evidence: tuple[Evidence, ...] = ()
    follows: tuple[Follow, ...] = ()
    hypotheses: tuple[Hypothesis, ...] = ()
    advice: tuple[Advice, ...] = ()
    memory: Memory | None = None
    trees: tuple[TreeFigure, ...] = ()  # where the verdict rests on them, or nothing is wrong with them
    changed: tuple[Change, ...] = ()
    good: Life | None = None  # the last good life before, which changed, novel and absent compare with
    novel: tuple[Template, ...] = ()
    absent: tuple[Template, ...] = ()
    phases: tuple[PhaseSpan, ...] = ()
    lives: tuple[Life, ...] = ()
    timeline: tuple[Moment, ...] = ()
    warnings: tuple[Warn, ...] = ()
    coverage: Mapping[str, Coverage] = field(default_factory=dict)
    candidates: tuple[str, ...] = ()  # units, where several are worth a look and none was named

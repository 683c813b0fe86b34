"""What reasoning makes of the facts: lives, signals, hypotheses, and the diagnosis that comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from forensics.model.capture import Record
from forensics.model.vocabulary import Cause, Coverage, Direction, EndBy, EndKind, Health, Phase, Role, Status


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

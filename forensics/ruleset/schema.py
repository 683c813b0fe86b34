"""What a rule, a mark and a server profile are, once loaded. Holds no wording of any server and reads no file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from forensics.model import Cause, Location, MarkKind, Origin, Phase, Role

NOWHERE = Location("")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """A text (or a capture) that a rule has to hit or to miss. ``why`` says it for a miss, ``software`` where the text is from."""

    text: str | None = None
    capture: str | None = None
    software: str | None = None
    why: str | None = None
    from_: Origin | None = None
    at: Location | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class AdviceRule:
    """What to change. ``to`` is a value or the name of a known fact (``memory.fraction_min``); ``text`` may hold ``{capture}`` and ``{known.fact}``."""

    text: str | None = None
    flag: str | None = None
    direction: str | None = None
    to: str | float | None = None
    command: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """A ``line`` rule (a regular expression over one message) or a ``when`` rule (a condition over known facts); exactly one is set."""

    id: str
    role: Role
    cause: Cause | None = None
    line: str | None = None
    when: str | None = None
    from_: Origin = Origin.ANY
    server: tuple[str, ...] = ()
    only_in: tuple[Phase, ...] = ()
    phase: Phase | None = None
    direction: str | None = None
    where: str | None = None
    over: tuple[str, ...] = ()
    firm: str | None = None  # highest status this rule may give: established (default for a root), supported, possible
    says: str = ""
    advise: tuple[AdviceRule, ...] = ()
    next: str | None = None  # the command that would decide
    source: str = ""
    keep: int = 200  # first and last matches kept of each source
    hit: tuple[Sample, ...] = ()
    miss: tuple[Sample, ...] = ()
    at: Location = NOWHERE


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """A line that says where in its life a server (or systemd) is. Compiled and scanned like a line rule, with the id ``PROFILE:KIND[:PHASE]#N``."""

    id: str
    kind: MarkKind
    line: str
    profile: str
    from_: Origin = Origin.SERVER
    phase: Phase | None = None
    next: Phase | None = None  # the phase that an end mark opens
    draft: bool = False
    again: Phase | None = None  # what a second begin on the same rank means (a server that loads its draft model with the same words)
    opens: bool = False  # opens a life where systemd does not say
    warms: bool = False  # the server's own warm-up writes the same: says nothing before it is ready
    style: str | None = None  # of the captured arguments: kwargs, dict
    what: str | None = None  # what a progress counts
    version: str | None = None  # the versions that write this wording, "0.5.4..0.5.9"
    keep: int = 200
    hit: tuple[Sample, ...] = ()
    miss: tuple[Sample, ...] = ()
    at: Location = NOWHERE


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """A line whose capture ``value`` is a figure: ``fact`` is the name within its family, ``take`` first, last, min, max or before:FACT."""

    id: str
    fact: str
    line: str
    profile: str
    unit: str = ""
    take: str = "last"
    hit: tuple[Sample, ...] = ()
    miss: tuple[Sample, ...] = ()
    at: Location = NOWHERE


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryModel:
    """How a server budgets GPU memory. ``fraction_of``: of the free memory before the weights, or of the total."""

    flag: str
    argument: str
    fraction_of: str  # free | total
    default: float | None = None
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """A path to ask from inside the host. ``says``: what an answer proves (listening, ready)."""

    path: str
    says: str
    limit_s: float = 3.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """One kind of server, as data: how to know it, how its lines look, what its life is made of."""

    name: str
    title: str = ""
    launch: tuple[str, ...] = ()  # regular expressions over a command line
    prefixes: tuple[str, ...] = ()  # regular expressions with the groups stamp, rank, pid, proc
    marks: tuple[Mark, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    port: int | None = None
    port_flag: str | None = None
    exit_codes: Mapping[int, str] = field(default_factory=dict)
    self_kill: str | None = None  # the signal it sends to its own process tree
    exit_zero_is_crash: bool = False
    unbound_while_loading: bool = False
    memory: MemoryModel | None = None
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # flag → other spellings
    flags: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleSet:
    """All that was loaded from ``rules/``. ``rules`` and ``profiles`` are in file order."""

    rules: tuple[Rule, ...]
    profiles: tuple[Profile, ...]

    def rule(self, rule_id: str) -> Rule | None:
        """The rule of that id."""
        return next((r for r in self.rules if r.id == rule_id), None)

    def profile(self, name: str | None) -> Profile | None:
        """The profile of that name."""
        return next((p for p in self.profiles if p.name == name), None)

    @property
    def prefixes(self) -> tuple[str, ...]:
        """The line prefixes of all servers, for ``parse``."""
        return tuple(prefix for p in self.profiles for prefix in p.prefixes)

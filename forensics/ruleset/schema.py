"""What a rule, a mark and a server profile are, once loaded. Holds no wording of any server and reads no file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from forensics.model import NO_COLUMNS, BudgetOf, Cause, Columns, Frees, Location, MarkKind, Noun, Origin, Phase, Role
from forensics.ruleset.anchors import Anchor, shape

NOWHERE = Location("")


class Sample(NamedTuple):
    """A text (or a capture) that a rule has to hit or to miss. ``why`` says it for a miss, ``software`` where the text is from."""

    text: str | None = None
    capture: str | None = None
    software: str | None = None
    why: str | None = None
    from_: Origin | None = None
    at: Location | None = None


class AdviceRule(NamedTuple):
    """What to change. ``to`` is a value or the name of a known fact (``memory.fraction_min``); ``text`` may hold ``{capture}`` and ``{known.fact}``.

    ``costs`` says what is lost by it.
    """

    text: str | None = None
    costs: str | None = None
    flag: str | None = None
    direction: str | None = None
    to: str | float | None = None
    command: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Rule(Noun):
    """A ``line`` rule (a regular expression over one message) or a ``when`` rule (a condition over known facts); exactly one is set.

    A line rule may ask for lines before and after the one it cites (``sequence``), and say which of several hits counts (``pick``).
    """

    id: str
    role: Role
    was: tuple[str, ...] = ()  # former ids
    since: str | None = None  # first and last version of the server that prints it, both inclusive
    until: str | None = None
    cause: Cause | None = None
    line: str | None = None
    when: str | None = None
    from_: Origin = Origin.ANY
    server: tuple[str, ...] = ()
    only_in: tuple[Phase, ...] = ()
    phase: Phase | None = None
    direction: str | None = None
    where: str | None = None
    captures: Mapping[str, str] = field(default_factory=dict)  # name of a group → its type, see quantities
    preceded_by: tuple[str, ...] = ()  # expressions of lines before the one that is cited, in this order
    followed_by: tuple[str, ...] = ()
    not_preceded_by: tuple[str, ...] = ()  # no line of any of these
    not_followed_by: tuple[str, ...] = ()
    scope: str = "record"  # record, rank or source: where those lines are looked for, and among what ``pick`` picks
    within_lines: int = 200
    pick: str = "all"  # first, last or all of the hits within a scope and life
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

    @property
    def sequence(self) -> bool:
        """Whether it asks for other lines than the one it cites."""
        return bool(self.preceded_by or self.followed_by or self.not_preceded_by or self.not_followed_by)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Mark(Noun):
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
    library: bool = False  # a library writes it, in other programs too: says where a life is, and not which server it is
    up: bool = False  # written by a server that is up already: it loads on demand, and an excerpt may begin there
    warms: bool = False  # the server's own warm-up writes the same: says nothing before it is ready
    style: str | None = None  # of the captured arguments: kwargs, dict, map
    what: str | None = None  # what a progress counts; the name of a software (or a group ``name`` of its line)
    version: str | None = None  # the versions that write this wording, "0.5.4..0.5.9"
    keep: int = 200
    hit: tuple[Sample, ...] = ()
    miss: tuple[Sample, ...] = ()
    at: Location = NOWHERE


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Figure(Noun):
    """A line whose capture ``value`` is a figure: ``fact`` is out of ``model.FIGURES`` or ``model.ACCEPTED``, ``take`` first, second, last, min, max, sum or before:FACT.

    ``take`` picks among the lines of one rank; where several ranks say it, ``FIGURES`` knows whose counts.
    """

    id: str
    fact: str
    line: str
    profile: str
    unit: str = ""
    take: str = "last"
    version: str | None = None  # the versions that mean this by the line, "0.9.0.."
    keep: int = 200
    hit: tuple[Sample, ...] = ()
    miss: tuple[Sample, ...] = ()
    at: Location = NOWHERE


class Lever(NamedTuple):
    """Something else to give than the fraction: what it ``frees``, and the flag as the versions from ``since`` to ``until`` spell it.

    ``unless`` is an expression over the argument's present value: where it matches, the lever has been pulled already. ``given``: the argument without which it frees nothing.
    """

    flag: str
    frees: Frees
    text: str
    argument: str = ""
    unless: str | None = None
    given: str | None = None
    since: str | None = None
    until: str | None = None


class DefaultFraction(NamedTuple):
    """The fraction that versions from ``since`` to ``until`` take where none is given."""

    value: float
    since: str | None = None
    until: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class MemoryModel(Noun):
    """How a server budgets GPU memory. ``whole_request``: it refuses to start where the pool holds less than one request of full length.

    ``shaped_by`` names arguments, beside those of the levers, that change what the GPU holds: figures of a life with another value of one say nothing about this one.
    """

    flag: str | None = None  # None: it has no such fraction, its figures make a ledger all the same
    argument: str = ""
    fraction_of: BudgetOf | None = None
    default: float | None = None
    defaults: tuple[DefaultFraction, ...] = ()
    whole_request: bool = False
    shaped_by: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    levers: tuple[Lever, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Speculation(Noun):
    """How a server that drafts tokens says which tree it was given, and how long its drafts are accepted.

    Each of ``topk``, ``budget`` and ``steps`` names arguments, of which the first that is given counts; ``name.key`` is a key of an argument that is a mapping. ``paths``: the
    argument that lists the nodes of the tree, each by its path. ``given``: the argument without which nothing is drafted. ``same`` names arguments that make two
    starts incomparable where they differ. The figures' group ``value`` is the acceptance, ``weight`` (where there is one) how much went into the interval.
    """

    given: str = ""
    topk: tuple[str, ...] = ()
    budget: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    paths: str | None = None
    same: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()


class Endpoint(NamedTuple):
    """A path to ask from inside the host. ``says``: what an answer proves (listening, ready)."""

    path: str
    says: str
    limit_s: float = 3.0


class FlagSpan(NamedTuple):
    """Flags that the same checked versions have: from ``since`` to ``until``, both of them and all between."""

    since: str
    until: str
    flags: tuple[str, ...]


class Replaced(NamedTuple):
    """Flags that are no longer there, and what to say instead; ``by`` are flags of today that do the same in another way."""

    flags: tuple[str, ...]
    says: str
    by: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class FlagTable(Noun):
    """The flags of a server. ``checked``: the versions that were looked at, oldest first; empty where nobody knows which version has which flag."""

    checked: tuple[str, ...] = ()
    spans: tuple[FlagSpan, ...] = ()
    abbreviations: bool = False  # its parser takes any unique prefix of a flag
    underscores: bool = False  # its parser reads _ as -
    dotted: bool = False  # its parser takes --flag.key for a part of a flag's JSON
    renamed: Mapping[str, str] = field(default_factory=dict)  # old → new, same values
    replaced: tuple[Replaced, ...] = ()
    elsewhere: Mapping[str, str] = field(default_factory=dict)  # a flag of another server → what it is called here
    costs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # flag → raise, lower or set → what that costs
    source: str = ""
    at: Location = NOWHERE


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Profile(Noun):
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
    speculation: Speculation | None = None
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # flag → other spellings
    flags: FlagTable | None = None
    noise: tuple[str, ...] = ()  # arguments that differ at every start and say nothing
    extra: Mapping[str, Any] = field(default_factory=dict)
    at: Location = NOWHERE

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All lines of it that tell a figure."""
        return (*(self.memory.figures if self.memory else ()), *(self.speculation.figures if self.speculation else ()))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class RuleSet(Noun):
    """All that was loaded from ``rules/``. ``rules`` and ``profiles`` are in file order."""

    rules: tuple[Rule, ...]
    profiles: tuple[Profile, ...]
    columns: Columns = NO_COLUMNS  # of measured configurations
    anchors: Mapping[str, tuple[Anchor, ...]] = field(default_factory=dict, compare=False, repr=False)  # expression → what is known of it beforehand
    by_id: Mapping[str, Rule] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_id", {rule.id: rule for rule in reversed(self.rules)})  # of two of one id, the first

    def anchors_of(self, line: str) -> tuple[Anchor, ...]:
        """Texts of which one occurs wherever an expression matches."""
        known = self.anchors.get(line)
        return shape(line).anchors if known is None else known

    def rule(self, rule_id: str) -> Rule | None:
        """The rule of that id; of one that was called so, where none is now."""
        return next((r for r in self.rules if r.id == rule_id), None) or next((r for r in self.rules if rule_id in r.was), None)

    def current(self, rule_id: str) -> str:
        """The id that a rule has today, by any it ever had; an unknown one stays as it is."""
        found = self.rule(rule_id)
        return rule_id if found is None else found.id

    def profile(self, name: str | None) -> Profile | None:
        """The profile of that name."""
        return next((p for p in self.profiles if p.name == name), None)

    @property
    def prefixes(self) -> tuple[str, ...]:
        """The line prefixes of all servers, for ``parse``."""
        return tuple(prefix for p in self.profiles for prefix in p.prefixes)

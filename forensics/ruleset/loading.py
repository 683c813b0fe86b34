"""Load ``rules/``: every file, every fault of every file in one go, each with path:line:col. Never looks at evidence and never evaluates a condition."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from yaml.nodes import MappingNode, Node, SequenceNode

from forensics.errors import RuleError, RuleErrors
from forensics.model import NO_COLUMNS, Cause, Direction, Location, Origin, Phase, Role
from forensics.ruleset import known_names, sources
from forensics.ruleset.anchors import shape
from forensics.ruleset.columns import columns_of
from forensics.ruleset.flagtable import flag_table_of
from forensics.ruleset.nodes import Faults, Table, compose, suggest, text_of
from forensics.ruleset.profile import MOST_NAME, expression, expressions, profile_of
from forensics.ruleset.quantities import TYPES
from forensics.ruleset.schema import AdviceRule, FlagTable, Profile, Rule, RuleSet, Sample
from forensics.ruleset.sequence import SEQUENCE
from forensics.ruleset.versions import beyond, version

RULES = sources.SHIPPED
WITHIN = 200  # lines, of other lines that a rule asks for
KEEP = 200  # first and last matches kept of each source
_FIRM = ("established", "supported", "possible")
_NEEDS_CAUSE = frozenset({Role.ROOT, Role.MECHANISM, Role.STATE})
_PLACE = re.compile(r"\{([a-z_]+(?:\.[a-z_0-9]+)+)\}")  # {known.fact} in a text
_ID = re.compile(r"[a-z0-9]+(?:[._-][a-z0-9]+)*")
SCOPES = ("record", "rank", "source")
PICKS = ("first", "last", "all")
_DOTTED = re.compile(r"[a-z_]+(?:\.[a-z_0-9]+)+")


class Read(NamedTuple):
    """What could be read of folders and files, and what was wrong with the rest."""

    rules: RuleSet
    faults: tuple[RuleError, ...]
    files: int


def load(*paths: Path) -> RuleSet:
    """The rules of these folders and files alone; of the package where no path is given. Raises RuleErrors with all faults."""
    found = read(*paths)
    if found.faults:
        raise RuleErrors(found.faults)
    return found.rules


def read(*paths: Path, beside: RuleSet | None = None, giving_way: RuleSet | None = None) -> Read:
    """Like ``load``, but returns the faults beside the rules and profiles that are well.

    ``beside``: rules that are there already. They are not in the result, but may be named, and their ids are taken. Those that are ``giving_way`` may be
    named as well, and their ids are free.
    """
    reader = _Reader(beside, giving_way)
    done: set[str] = set()  # a folder may be named twice, or lie in another
    for root in paths or (RULES,):
        inside, faults = sources.files(root)
        reader.faults += faults
        for file in inside:
            if (own := os.path.realpath(file)) not in done:
                done.add(own)
                reader.file(file)
    whole = beside is not None or any(root.is_dir() for root in paths or (RULES,))  # one file alone may name what stands in others
    if whole:
        reader.names()
    return Read(RuleSet(rules=tuple(reader.rules), profiles=reader.with_flags(whole=whole), columns=reader.columns), tuple(reader.faults), len(done))


class _Reader:
    """Gathers over all files; ``ids`` remembers where an id was first given."""

    def __init__(self, beside: RuleSet | None = None, giving_way: RuleSet | None = None) -> None:
        self.rules: list[Rule] = []
        self.profiles: list[Profile] = []
        self.faults: list[RuleError] = []
        self.ids: dict[str, Location] = {}
        self.named: list[tuple[Rule, Table]] = []
        self.tables: list[tuple[str, FlagTable, Table]] = []
        self.columns = NO_COLUMNS
        self.there = beside.columns if beside is not None else NO_COLUMNS
        self.broken: set[str] = set()  # ids of rules with faults of their own: what asks for them is not at fault
        self.beside = (*(beside.rules if beside is not None else ()), *(giving_way.rules if giving_way is not None else ()))
        self.free = set(names_of(giving_way)) if giving_way is not None else set()
        if beside is not None:
            self.ids = {name: _from_afar(rule.at) for rule in beside.rules for name in (rule.id, *rule.was)}
            self.ids |= {f"profile {p.name}": _from_afar(p.at) for p in beside.profiles}

    def file(self, path: Path) -> None:
        faults = Faults(sources.shown(path))
        root = compose(path, faults)
        if isinstance(root, SequenceNode):
            for node in root.value:
                self._rule(Table(node, faults, "a rule"))
        elif isinstance(root, MappingNode) and any(getattr(key, "value", None) == "flags_of" for key, _ in root.value):
            self._flags(Table(root, faults, "a table of flags"))
        elif isinstance(root, MappingNode) and any(getattr(key, "value", None) == "columns" for key, _ in root.value):
            self._columns(Table(root, faults, "a table of columns"))
        elif (
            isinstance(root, MappingNode)
            and {"id", "role"} & (keys := {getattr(key, "value", None) for key, _ in root.value})
            and "profile" not in keys
        ):
            faults.add(
                root, "one rule by itself is no list of rules", hint="a list of rules begins with '- id:', and the other keys stand below 'id'"
            )
        elif root is not None:
            table = Table(root, faults, "a profile")
            profile = profile_of(table)
            self._claim(f"profile {profile.name}", table.place("profile"), faults)
            if not faults.found:
                self.profiles.append(profile)
        self.faults += sorted(faults.found, key=_by_place)

    def _flags(self, table: Table) -> None:
        server, found = flag_table_of(table)
        self._claim(f"flags of {server}", found.at, table.faults)
        if not table.faults.found:
            self.tables.append((server, found, table))

    def _columns(self, table: Table) -> None:
        found = columns_of(table, self.there.added(self.columns))
        if not table.faults.found:
            self.columns = self.columns.added(found)

    def _rule(self, table: Table) -> None:
        before = len(table.faults.found)
        rule = rule_of(table)
        if rule.id:
            self._claim(rule.id, table.place("id"), table.faults)
        for name, node in _each(table, "was"):
            self._claim(name, table.faults.place(node), table.faults)
        if len(table.faults.found) == before:
            self.rules.append(rule)
            self.named.append((rule, table))
        else:
            self.broken.update((rule.id, *rule.was))

    def _claim(self, name: str, at: Location, faults: Faults) -> None:
        self.free.discard(name)
        if name in self.ids:
            own = name.removeprefix("profile ").split(".", 1)[-1]
            new = f"my-{own}" if name.startswith("profile ") else f"my.{own}"
            while new in self.ids or f"profile {new}" in self.ids:
                new += "-2"
            hint = f"choose a name of your own, e.g. '{new}'"
            faults.found.append(RuleError(f"the id '{name}' is taken — by {self.ids[name]}", at=at, hint=hint))
        else:
            self.ids[name] = at

    def with_flags(self, *, whole: bool) -> tuple[Profile, ...]:
        """The profiles with their tables of flags. A table belongs to a profile that is read with it; nobody adds flags to one that was there before."""
        known = {profile.name: profile for profile in self.profiles}
        for server, found, table in self.tables:
            profile = known.get(server)
            if profile is None and not whole:
                continue
            if profile is None:
                hint = suggest(server, known) or "it stands beside the profile, in the same folder"
                self.faults.append(RuleError(f"there is no profile '{server}' here for these flags", at=table.place("flags_of"), hint=hint))
            elif profile.flags is not None:
                self.faults.append(
                    RuleError(f"the profile '{server}' lists its flags itself", at=table.place("flags_of"), hint=f"the list: {profile.flags.at}")
                )
            else:
                known[server] = replace(profile, flags=found)
        return tuple(known.values())

    def names(self) -> None:
        """What rules say of each other and of servers; only once all files are read. A rule that names what is not there is dropped."""
        there = self.ids.keys() | self.free
        servers = {name.removeprefix("profile ") for name in there if name.startswith("profile ")}
        known = {name for name in there if not name.startswith("profile ")} | {str(c) for c in Cause}
        lines = {name: rule for rule in (*self.beside, *(r for r, _ in self.named)) if rule.line for name in (rule.id, *rule.was)}
        wrong: set[str] = set()
        for rule, table in self.named:
            before = len(self.faults)
            for server in rule.server:
                if servers and server not in servers:
                    near = suggest(server, servers) or "there are: " + ", ".join(sorted(servers))
                    self.faults.append(RuleError(f"unknown server '{server}'", at=table.place("server"), hint=near))
            for other in rule.over:
                if other not in known:
                    hint = suggest(other, known)
                    text = f"'{rule.id}' is over '{other}', which is no rule and no cause"
                    self.faults.append(RuleError(text, at=table.place("over"), hint=hint))
            for key, text_ in (("when", rule.when), ("where", rule.where)):
                if text_ is not None:
                    self._asked(table, key, text_, lines)
            if len(self.faults) > before:
                wrong.add(rule.id)
        self.rules = [rule for rule in self.rules if rule.id not in wrong]

    def _asked(self, table: Table, key: str, text: str, lines: dict[str, Rule]) -> None:
        """The rules that a condition asks for."""
        from forensics.ruleset import condition

        for name, loc in condition.parse(text).rules:
            other = lines.get(name)
            if other is None and name not in self.broken:
                message = f"'{name}' is no line rule" if name in self.ids or name in self.free else f"unknown rule '{name}'"
                self._in_condition(table, key, condition.fault(text, loc, message, hint=suggest(name, lines)))
            elif other is not None and key == "where" and other.where and condition.parse(other.where).rules:
                message = f"the 'where' of '{name}' asks for other rules itself"
                self._in_condition(table, key, condition.fault(text, loc, message, hint="ask in a 'when'"))

    def _in_condition(self, table: Table, key: str, error: RuleError) -> None:
        self.faults.append(_placed(table, key, error))


def is_id(text: str) -> bool:
    """Whether a rule may be called so."""
    return _ID.fullmatch(text) is not None


def names_of(rules: RuleSet) -> Iterator[str]:
    """What rules and profiles are called, former names too, as they are claimed."""
    yield from (name for rule in rules.rules for name in (rule.id, *rule.was))
    yield from (f"profile {p.name}" for p in rules.profiles)


def _from_afar(at: Location) -> Location:
    """The place of a shipped rule, for somebody who works in another folder."""
    return at._replace(path=f"{RULES.parent.name}/{at.path}") if at.path.startswith(f"{RULES.name}/") else at


def rule_of(table: Table) -> Rule:
    """One rule; its faults are noted in the table's file."""
    role = table.word("role", Role, required=True)
    cause = table.word("cause", Cause)
    if role in _NEEDS_CAUSE and "cause" not in table:
        table.faults.add(table.node, f"a rule of role {role} needs a cause")
    line = _line(table)
    broken = line is not None and shape(line).error is not None  # which has been said: its groups are not known
    groups: frozenset[str] = shape(line).groups if line else frozenset()
    when, where = _condition(table, "when"), _condition(table, "where")
    if where and "line" not in table:
        table.fault("where", "'where' joins a line with facts, and there is no 'line'", hint="put it into 'when'")
    elif where and not broken:
        _joinable(table, where, groups)
    since, until = _versions(table)
    scope, within, pick = _scope(table)
    hit, miss = _samples(table)
    direction = table.word("direction", Direction)
    keep = table.whole("keep", least=1)
    id_ = table.text("id", required=True) or ""
    for key, names in (("id", (id_,) if id_ else ()), ("was", table.texts("was"))):
        for name in names:
            if len(name) > MOST_NAME:
                table.fault(key, f"an id of {len(name)} characters is too long", hint=f"at most {MOST_NAME}")
            elif not is_id(name):
                table.fault(key, f"an id is made of small letters and digits with . - _ between them: '{name}'")
    rule = Rule(
        id=id_,
        role=role or Role.CONTEXT,
        was=table.texts("was"),
        since=since,
        until=until,
        cause=cause,
        line=line,
        when=when,
        from_=table.word("from", Origin) or Origin.ANY,
        server=table.texts("server"),
        only_in=table.words("only_in", Phase),
        phase=table.word("phase", Phase),
        direction=str(direction) if direction else None,
        where=where,
        captures=_captures(table, None if broken else groups),
        preceded_by=expressions(table, "preceded_by"),
        followed_by=expressions(table, "followed_by"),
        not_preceded_by=expressions(table, "not_preceded_by"),
        not_followed_by=expressions(table, "not_followed_by"),
        scope=scope,
        within_lines=within,
        pick=pick,
        over=table.texts("over"),
        firm=table.choice("firm", _FIRM),
        says=table.text("says") or "",
        advise=_advice(table),
        next=table.text("next"),
        source=table.text("source") or "",
        keep=keep or KEEP,
        hit=hit,
        miss=miss,
        at=table.faults.place(table.node),
    )
    table.done()
    return rule


def _line(table: Table) -> str | None:
    table.get("line")
    if "line" in table and "when" in table:
        table.fault("when", "a rule has a 'line' or a 'when', not both", hint="a line is joined with facts by 'where'")
    if "line" in table:
        return expression(table, "line") or None
    if "when" not in table:
        table.faults.add(table.node, "a rule needs a 'line' or a 'when'")
    return None


def _condition(table: Table, key: str) -> str | None:
    text = table.text(key)
    if text is None:
        return None
    from forensics.ruleset import condition  # pyparsing costs 40 ms: only where there are conditions

    try:
        parsed = condition.parse(text)
    except RuleError as error:
        table.faults.found.append(_placed(table, key, error))
        return None
    if key == "when" and (odd := sorted(n for n in parsed.names if n.startswith("hit."))):
        table.fault(key, f"'{odd[0]}' belongs to a line, and a 'when' has none", hint="use 'line' with 'where'")
    return text


def _placed(table: Table, key: str, error: RuleError) -> RuleError:
    """A fault within a condition, at its column in the file."""
    offset = error.at.col - 1 if isinstance(error.at, Location) else 0
    return RuleError(error.text, at=table.place(key, inside=offset), hint=error.hint)


def _joinable(table: Table, where: str, groups: frozenset[str]) -> None:
    """A ``where`` is evaluated as its line is placed: of the facts it can know those of the line and of its own life."""
    from forensics.ruleset import condition

    parsed = condition.parse(where)
    own = sorted(groups | known_names.OF_A_HIT.keys())
    for name in sorted(parsed.names):
        family, _, rest = name.partition(".")
        if family == "hit" and rest not in own:
            error = condition.fault(
                where, parsed.where(name), f"the line captures no '{rest}'", hint=suggest(rest, own) or "known: " + ", ".join(own)
            )
        elif not known_names.in_where(name):
            hint = suggest(name, known_names.IN_WHERE) or "known: hit.*, argv.*, " + ", ".join(sorted(known_names.IN_WHERE))
            error = condition.fault(where, parsed.where(name), f"'{name}' is not known where a line is placed", hint=hint)
        else:
            continue
        table.faults.found.append(_placed(table, "where", error))


def _versions(table: Table) -> tuple[str | None, str | None]:
    since, until = table.text("since"), table.text("until")
    for key, text in (("since", since), ("until", until)):
        if text is not None and version(text) is None:
            table.fault(key, f"no version: '{text}'", hint="as in '0.5.9' or '0.6.3.post1'")
    if since is not None and until is not None and beyond(since, until):
        table.fault("since", f"since {since} is after until {until}")
    return since, until


def _captures(table: Table, groups: frozenset[str] | None) -> Mapping[str, str]:
    inner = table.table("captures")
    found: dict[str, str] = {}
    for name, (key, _) in (inner.pairs if inner is not None else {}).items():
        assert inner is not None
        type_ = inner.text(name)
        if groups is not None and name not in groups:
            hint = suggest(name, groups) or ("the groups are " + ", ".join(sorted(groups)) if groups else "write it as (?P<name>…)")
            table.faults.add(key, f"the line has no group '{name}'", hint=hint)
        elif type_ is not None and type_ not in TYPES:
            inner.fault(name, f"unknown type '{type_}'", hint=suggest(type_, TYPES) or "one of " + ", ".join(TYPES))
        elif type_ is not None:
            found[name] = type_
    return found


def _scope(table: Table) -> tuple[str, int, str]:
    """Where other lines are looked for, how far, and which of several hits counts."""
    scope, within, pick = table.choice("scope", SCOPES), table.whole("within_lines", least=1), table.choice("pick", PICKS)
    asked = [key for key in SEQUENCE if key in table]
    for key in (*asked, *(key for key in ("pick", "captures") if key in table)):
        if "line" not in table:
            table.fault(key, f"'{key}' belongs to a line, and there is no 'line'")
    if "scope" in table and not asked and pick in (None, "all"):
        table.fault("scope", "'scope' says where other lines are looked for, and none is asked for", hint="it goes with pick, " + ", ".join(SEQUENCE))
    if "within_lines" in table and not asked:
        table.fault(
            "within_lines",
            "'within_lines' says how far other lines are looked for, and none is asked for",
            hint="it goes with " + ", ".join(SEQUENCE),
        )
    return scope or "record", within or WITHIN, pick or "all"


def _each(table: Table, key: str) -> Iterator[tuple[str, Node]]:
    """The texts of a list with their places; what is none has been reported."""
    node = table.get(key)
    for item in () if node is None else node.value if isinstance(node, SequenceNode) else (node,):
        text = text_of(item, Faults(""), key)
        if text is not None:
            yield text, item


def _advice(table: Table) -> tuple[AdviceRule, ...]:
    found: list[AdviceRule] = []
    for item in table.tables("advise", "an advice"):
        to: str | float | None = None
        node = item.pairs.get("to")
        if node is not None:
            to = item.number("to") if node[1].tag.endswith((":int", ":float")) else item.text("to")
        direction = item.word("direction", Direction)
        advice = AdviceRule(
            text=item.text("text"),
            costs=item.text("costs"),
            flag=item.text("flag"),
            direction=str(direction) if direction else None,
            to=to,
            command=item.text("command"),
        )
        item.done()
        if isinstance(to, str) and _DOTTED.fullmatch(to):
            _known(item, "to", to)
        for key, text in (("text", advice.text), ("command", advice.command), ("costs", advice.costs)):
            for name in _PLACE.findall(text or ""):
                _known(item, key, name)
        if not (advice.text or advice.flag or advice.command):
            item.faults.add(item.node, "an advice needs a 'text', a 'flag' or a 'command'")
        found.append(advice)
    return tuple(found)


def _known(table: Table, key: str, name: str) -> None:
    if known_names.fact(name) is None:
        table.fault(key, f"unknown fact '{name}'", hint=suggest(name, known_names.NAMES))


def _samples(table: Table) -> tuple[tuple[Sample, ...], tuple[Sample, ...]]:
    inner = table.table("samples")
    if inner is None:
        table.faults.add(table.node, "a rule needs samples to hit and to miss", hint="samples: {hit: [{text: …}], miss: [{text: …, why: …}]}")
        return (), ()
    hit = tuple(_sample(t) for t in inner.tables("hit", "a sample"))
    miss = tuple(_sample(t) for t in inner.tables("miss", "a sample"))
    for name, found in (("hit", hit), ("miss", miss)):
        if not found:
            inner.faults.add(inner.node, f"a rule needs at least one sample to {name}")
    inner.done()
    return hit, miss


def _sample(table: Table) -> Sample:
    text, capture = table.text("text"), table.text("capture")
    if ("text" in table) == ("capture" in table):
        table.faults.add(table.node, "a sample is a 'text' or a 'capture'", hint="{text: 'one line, as it is printed'}")
    sample = Sample(
        text=text, capture=capture, software=table.text("software"), why=table.text("why"), from_=table.word("from", Origin),
        at=table.faults.place(table.node),
    )  # fmt: skip
    table.done()
    return sample


def _by_place(fault: RuleError) -> tuple[int, int]:
    return (fault.at.line, fault.at.col) if isinstance(fault.at, Location) else (0, 0)

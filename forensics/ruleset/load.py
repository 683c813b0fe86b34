"""Load ``rules/``: every file, every fault of every file in one go, each with path:line:col. Never looks at evidence and never evaluates a condition."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from yaml.nodes import SequenceNode

from forensics.errors import RuleError, RuleErrors
from forensics.model import Cause, Direction, Location, Origin, Phase, Role
from forensics.ruleset import known_names
from forensics.ruleset.nodes import Faults, Table, compose, suggest
from forensics.ruleset.profile import expression, profile_of
from forensics.ruleset.schema import AdviceRule, Profile, Rule, RuleSet, Sample

RULES = Path(__file__).resolve().parent.parent / "rules"
KEEP = 200  # first and last matches kept of each source
_FIRM = ("established", "supported", "possible")
_NEEDS_CAUSE = frozenset({Role.ROOT, Role.MECHANISM, Role.STATE})
_PLACE = re.compile(r"\{([a-z_]+(?:\.[a-z_0-9]+)+)\}")  # {known.fact} in a text
_DOTTED = re.compile(r"[a-z_]+(?:\.[a-z_0-9]+)+")


class Read(NamedTuple):
    """What could be read of a folder or file, and what was wrong with the rest."""

    rules: RuleSet
    faults: tuple[RuleError, ...]
    files: int


def load(path: Path | None = None) -> RuleSet:
    """The rules of a folder or of one file; of the package where no path is given. Raises RuleErrors with all faults."""
    found = read(path)
    if found.faults:
        raise RuleErrors(found.faults)
    return found.rules


def read(path: Path | None = None) -> Read:
    """Like ``load``, but returns the faults beside the rules and profiles that are well."""
    root = RULES if path is None else path
    files = sorted(root.rglob("*.yaml")) if root.is_dir() else [root]
    reader = _Reader()
    if not files:
        reader.faults.append(RuleError("no rules here: no file *.yaml", at=str(root)))
    for file in files:
        reader.file(file)
    if root.is_dir():  # one file alone may name what stands in others
        reader.names()
    return Read(RuleSet(rules=tuple(reader.rules), profiles=tuple(reader.profiles)), tuple(reader.faults), len(files))


class _Reader:
    """Gathers over all files; ``ids`` remembers where an id was first given."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.profiles: list[Profile] = []
        self.faults: list[RuleError] = []
        self.ids: dict[str, Location] = {}
        self.named: list[tuple[Rule, Location, Location]] = []  # with the places of 'server' and 'over'

    def file(self, path: Path) -> None:
        faults = Faults(_shown(path))
        root = compose(path, faults)
        if isinstance(root, SequenceNode):
            for node in root.value:
                self._rule(Table(node, faults, "a rule"))
        elif root is not None:
            table = Table(root, faults, "a profile")
            profile = profile_of(table)
            self._claim(f"profile {profile.name}", table.place("profile"), faults)
            self.profiles.append(profile)
        self.faults += sorted(faults.found, key=_by_place)

    def _rule(self, table: Table) -> None:
        before = len(table.faults.found)
        rule = rule_of(table)
        if rule.id:
            self._claim(rule.id, table.place("id"), table.faults)
        if len(table.faults.found) == before:
            self.rules.append(rule)
            self.named.append((rule, table.place("server"), table.place("over")))

    def _claim(self, name: str, at: Location, faults: Faults) -> None:
        if name in self.ids:
            faults.found.append(RuleError(f"the id '{name}' is taken", at=at, hint=f"by {self.ids[name]}"))
        else:
            self.ids[name] = at

    def names(self) -> None:
        """What rules say of each other and of servers; only once all files are read."""
        servers = {p.name for p in self.profiles}
        known = set(self.ids) | {str(c) for c in Cause}
        for rule, server_at, over_at in self.named:
            for server in rule.server:
                if servers and server not in servers:
                    self.faults.append(RuleError(f"unknown server '{server}'", at=server_at, hint=suggest(server, servers)))
            for other in rule.over:
                if other not in known:
                    hint = suggest(other, known)
                    self.faults.append(RuleError(f"'{rule.id}' is over '{other}', which is no rule and no cause", at=over_at, hint=hint))


def rule_of(table: Table) -> Rule:
    """One rule; its faults are noted in the table's file."""
    role = table.word("role", Role, required=True)
    cause = table.word("cause", Cause)
    if role in _NEEDS_CAUSE and "cause" not in table:
        table.faults.add(table.node, f"a rule of role {role} needs a cause")
    line = _line(table)
    when, where = _condition(table, "when"), _condition(table, "where")
    if where and "line" not in table:
        table.fault("where", "'where' joins a line with facts, and there is no 'line'", hint="put it into 'when'")
    hit, miss = _samples(table)
    direction = table.word("direction", Direction)
    keep = table.whole("keep", least=1)
    rule = Rule(
        id=table.text("id", required=True) or "",
        role=role or Role.CONTEXT,
        cause=cause,
        line=line,
        when=when,
        from_=table.word("from", Origin) or Origin.ANY,
        server=table.texts("server"),
        only_in=table.words("only_in", Phase),
        phase=table.word("phase", Phase),
        direction=str(direction) if direction else None,
        where=where,
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
        offset = error.at.col - 1 if isinstance(error.at, Location) else 0
        table.faults.found.append(RuleError(error.text, at=table.place(key, inside=offset), hint=error.hint))
        return text
    if key == "when" and (odd := sorted(n for n in parsed.names if n.startswith("hit."))):
        table.fault(key, f"'{odd[0]}' belongs to a line, and a 'when' has none", hint="use 'line' with 'where'")
    return text


def _advice(table: Table) -> tuple[AdviceRule, ...]:
    found: list[AdviceRule] = []
    for item in table.tables("advise", "an advice"):
        to: str | float | None = None
        node = item.pairs.get("to")
        if node is not None:
            to = item.number("to") if node[1].tag.endswith((":int", ":float")) else item.text("to")
        direction = item.word("direction", Direction)
        advice = AdviceRule(
            text=item.text("text"), flag=item.text("flag"), direction=str(direction) if direction else None, to=to, command=item.text("command")
        )
        item.done()
        if isinstance(to, str) and _DOTTED.fullmatch(to):
            _known(item, "to", to)
        for key, text in (("text", advice.text), ("command", advice.command)):
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
        table.faults.add(table.node, "a sample is a 'text' or a 'capture'")
    sample = Sample(
        text=text, capture=capture, software=table.text("software"), why=table.text("why"), from_=table.word("from", Origin),
        at=table.faults.place(table.node),
    )  # fmt: skip
    table.done()
    return sample


def _by_place(fault: RuleError) -> tuple[int, int]:
    return (fault.at.line, fault.at.col) if isinstance(fault.at, Location) else (0, 0)


def _shown(path: Path) -> str:
    """Short where it can be: from the package's own folder, or from where the user stands."""
    for root in (RULES.parent, Path.cwd()):
        if path.is_relative_to(root):
            return str(path.relative_to(root))
    return str(path)

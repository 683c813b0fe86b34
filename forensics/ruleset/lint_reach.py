"""The part of the lint that asks whether a rule can ever decide anything: rules that stand twice, that are always beaten, that wait for a phase that never comes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from forensics.model import Frame, Origin, Phase, Role
from forensics.ruleset.finding import Level, Note
from forensics.ruleset.places import place
from forensics.ruleset.scan import Matcher
from forensics.ruleset.schema import Rule, RuleSet

_WINS = (Role.ROOT, Role.MECHANISM, Role.STATE)
# keys that narrow a rule: where one of these differs, two rules with one line are two rules
_NARROWING = (
    "server",
    "only_in",
    "where",
    "since",
    "until",
    "preceded_by",
    "followed_by",
    "not_preceded_by",
    "not_followed_by",
    "scope",
    "within_lines",
)


def notes(rules: RuleSet, whole: RuleSet) -> Iterator[Note]:
    """Findings about rules that can never win."""
    own = {rule.id for rule in rules.rules}
    yield from _same(whole, own)
    yield from _beaten(rules, whole)
    yield from _never_there(rules, whole)


def _narrow(rule: Rule) -> tuple[object, ...]:
    return tuple(getattr(rule, key) or None for key in _NARROWING)


def _same(whole: RuleSet, own: set[str]) -> Iterator[Note]:
    first: dict[tuple[object, ...], Rule] = {}
    for rule in whole.rules:
        what = (rule.line, rule.when, rule.from_, _narrow(rule))
        other = first.setdefault(what, rule)
        if other is not rule and rule.id in own:
            key = "line" if rule.line else "when"
            text = f"'{rule.id}' has the same '{key}' as '{other.id}', and nothing that tells them apart"
            yield Note(text=text, at=place(rule.at, key), hint=f"{other.at}; 'only_in', 'server' or 'where' would tell them apart", level=Level.FAULT)


def _beaten(rules: RuleSet, whole: RuleSet) -> Iterator[Note]:
    """A rule whose every sample another one takes that is over it and asks for nothing more: it can never win."""
    over: dict[str, list[Rule]] = defaultdict(list)
    for rule in whole.rules:
        for name in rule.over:
            over[name].append(rule)
    matcher = Matcher(whole)
    for rule in rules.rules:
        # over a rule only what can win itself; over a cause also a harmless line, of which no word then speaks for that cause
        rivals = [r for r in over.get(rule.id, ()) if r.role in _WINS]
        rivals += [r for r in over.get(str(rule.cause or ""), ()) if r.role in (*_WINS, Role.BENIGN)]
        rivals = [r for r in rivals if r is not rule and r.line and _asks_less(r, rule)]
        if not rivals or not rule.line or rule.role not in _WINS:
            continue
        always = _always(rule, matcher)
        for rival in rivals:
            if rival.id in always and rival.id not in rule.over:  # over each other: neither beats the other always
                text = f"'{rule.id}' can never win: '{rival.id}' takes every one of its hits and is over it"
                yield Note(text=text, at=rule.at, hint=f"{rival.at}; narrow that one, or drop this one", level=Level.FAULT)


def _asks_less(rival: Rule, rule: Rule) -> bool:
    """Whether the rival holds wherever the rule does: each of its conditions is absent, or the same."""
    for key in _NARROWING:
        theirs, ours = getattr(rival, key) or None, getattr(rule, key) or None
        if theirs is None or theirs == ours or key in ("scope", "within_lines"):
            continue
        if key in ("only_in", "server") and ours is not None and set(ours) <= set(theirs):
            continue
        return False
    return rival.from_ in (Origin.ANY, rule.from_)


def _always(rule: Rule, matcher: Matcher) -> set[str]:
    """The ids of all rules that take each of a rule's hits."""
    common: set[str] | None = None
    for sample in rule.hit:
        if sample.text is None:
            continue
        taken: set[str] = set()
        for line in sample.text.splitlines():
            frame = Frame(source="sample", line_no=1, start=0, text=line, origin=sample.from_ or rule.from_)
            taken |= {hit.rule for hit in matcher.feed(frame)}
        common = taken if common is None else common & taken
    return common or set()


def _never_there(rules: RuleSet, whole: RuleSet) -> Iterator[Note]:
    """``only_in`` with phases that no profile of the rule's servers ever enters."""
    any_server = {phase for p in whole.profiles if not (p.launch or p.prefixes) for phase in _phases(whole, p.name)}
    for rule in rules.rules:
        names = rule.server or tuple(p.name for p in whole.profiles)
        there = {Phase.LAUNCH, *any_server, *(phase for name in names for phase in _phases(whole, name))}
        if rule.only_in and not there & set(rule.only_in):
            text = f"'{rule.id}' is only_in {', '.join(rule.only_in)}, and no mark of {', '.join(names)} leads there"
            hint = f"the phases of {'it' if len(names) == 1 else 'them'}: {', '.join(sorted(there))}"
            yield Note(text=text, at=place(rule.at, "only_in"), hint=hint, level=Level.FAULT)


def _phases(whole: RuleSet, name: str) -> set[Phase]:
    profile = whole.profile(name)
    found = {phase for mark in (profile.marks if profile else ()) for phase in (mark.phase, mark.next, mark.again) if phase is not None}
    return found | {Phase.SERVING} if Phase.READY in found else found  # after it is ready a server counts as serving

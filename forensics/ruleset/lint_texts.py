"""The part of the lint that reads what rules say: blanks, captures, flags, sources. Looks at no expression's cost and at no other rule."""

from __future__ import annotations

import re
from collections.abc import Iterator

from forensics.ruleset import condition, flags, known_names, quantities
from forensics.ruleset.anchors import shape
from forensics.ruleset.expressions import expressions
from forensics.ruleset.finding import Level, Note
from forensics.ruleset.nodes import suggest
from forensics.ruleset.places import place
from forensics.ruleset.schema import AdviceRule, Profile, Rule, RuleSet
from forensics.ruleset.versions import spoken

_BLANK = re.compile(r"\{([A-Za-z_][\w.]*)\}")
# filled without a capture of that name: the unit at issue
_GIVEN = frozenset({"unit"})
# what the reasoning reads of a rule's hits by name, whether or not a text has them (docs/rules.md, "Captures")
READ_BY_NAME = frozenset({"pid", "unit", "cgroup", "port", "taken", "xid", "asked"})


def notes(rules: RuleSet, whole: RuleSet) -> Iterator[Note]:
    """Findings about the texts of each rule and profile."""
    for rule in rules.rules:
        yield from _missing(rule)
        yield from _blanks(rule)
        yield from _unused(rule)
        yield from _unreadable(rule)
        yield from _advised_flags(rule, whole)
    for profile in rules.profiles:
        yield from _own_flags(profile)


def _missing(rule: Rule) -> Iterator[Note]:
    if not rule.says:
        yield Note(
            text=f"{rule.id} has no 'says'", at=rule.at, hint="one sentence: what the line means to whoever reads the report", level=Level.FAULT
        )
    if not rule.source:
        hint = "which program and versions print it, and where: 'acme-server 1.4 … 2.0, loader'; not known: 'seen in …'"
        yield Note(text=f"{rule.id} has no 'source'", at=rule.at, hint=hint, level=Level.FAULT)


def _texts(rule: Rule) -> Iterator[tuple[str, str]]:
    """Key and text of all that is shown with blanks filled."""
    yield "says", rule.says
    yield "next", rule.next or ""
    for advice in rule.advise:
        for text in (advice.text, advice.command, advice.costs, advice.to if isinstance(advice.to, str) else None):
            yield "advise", text or ""


def _groups(rule: Rule) -> frozenset[str]:
    return shape(rule.line).groups if rule.line else frozenset()


def _blanks(rule: Rule) -> Iterator[Note]:
    groups = _groups(rule)
    for key, text in _texts(rule):
        for name in _BLANK.findall(text):
            if name in groups or name in _GIVEN:
                continue
            if "." in name:
                if known_names.fact(name) is None:
                    yield Note(
                        text=f"{rule.id}: unknown fact '{name}'",
                        at=place(rule.at, key),
                        hint=suggest(name, known_names.NAMES) or "",
                        level=Level.FAULT,
                    )
            else:
                there = ", ".join(sorted(groups)) or "it captures nothing"
                around = next((key_ for key_, pattern in expressions(rule) if name in shape(pattern).groups), "")
                hint = (
                    f"'{around}' has it, and only those of 'line' are kept" if around else suggest(name, groups) or f"captures of its line: {there}"
                )
                text_ = f"{rule.id}: nothing fills '{{{name}}}': no such capture"
                yield Note(text=text_, at=place(rule.at, key), hint=hint, level=Level.FAULT)


def _unused(rule: Rule) -> Iterator[Note]:
    used = {name for _, text in _texts(rule) for name in _BLANK.findall(text)} | READ_BY_NAME
    if rule.where:
        used |= {name[4:] for name in condition.parse(rule.where).names if name.startswith("hit.")}
    for key, pattern in expressions(rule):
        for name in sorted(shape(pattern).groups - (used if key == "line" else set())):
            hint = f"say it in 'says' as {{{name}}}, or write (?:…)" if key == "line" else "only those of 'line' are kept: write (?:…)"
            yield Note(text=f"{rule.id}: nobody uses the capture '{name}'", at=place(rule.at, key), hint=hint, level=Level.REMARK)


def _unreadable(rule: Rule) -> Iterator[Note]:
    """Captures that a rule gives a type, and that cannot be read as one in a sample of its own."""
    expression = re.compile(rule.line) if rule.line and rule.captures else None
    for sample in rule.hit if expression else ():
        for found in filter(None, (expression.search(line) for line in (sample.text or "").splitlines() if expression)):
            for name, type_ in rule.captures.items():
                text = found.groupdict().get(name)
                if text is not None and quantities.read(text, type_) is None:
                    what = f"{rule.id}: {text!r}, captured as '{name}', is no {type_}: it will be unknown"
                    yield Note(text=what, at=sample.at or rule.at, hint="mend the expression or the type", level=Level.FAULT)


def _advised_flags(rule: Rule, whole: RuleSet) -> Iterator[Note]:
    """A flag has to be one of the server that the rule is of, by 'server' or by its name; else of some server. Servers without a list of flags know all."""
    named = rule.server or tuple(p.name for p in whole.profiles if p.name == rule.id.split(".")[0])
    about = [p for p in whole.profiles if not named or p.name in named]
    lists = [flags.all_flags(p) for p in about if p.launch]
    if not lists or not all(lists):
        return
    known = frozenset().union(*lists)
    span = f"{rule.since or ''}…{rule.until or ''}" if rule.since or rule.until else None
    for number, advice in enumerate(rule.advise):
        flag = _flag(advice)
        if flag is None:
            continue
        at = place(rule.at, "advise", number, "flag")
        if flag not in known:
            where = f"of {', '.join(p.name for p in about)}" if named else "of any server"
            text = f"{rule.id}: '{flag}' is no flag {where}"
            yield Note(text=text, at=at, hint=suggest(flag, known) or "the table of flags beside the profile lists them", level=Level.FAULT)
        elif span and all(flags.spelled(p, flag, span) is None for p in about if p.launch):
            tables = [(p, found) for p in about if p.flags is not None and (found := flags.span_of(p.flags, flag)) is not None]
            when = "; ".join(f"{p.name} has it {flags.lasts(p.flags, found)}" for p, found in tables if p.flags is not None and p.flags.checked)
            yield Note(text=f"{rule.id}: no version that it is for ({spoken(span)}) has '{flag}'", at=at, hint=when, level=Level.FAULT)


def _flag(advice: AdviceRule) -> str | None:
    return advice.flag.split("=")[0].split()[0] if advice.flag and advice.flag.startswith("--") else None


def _own_flags(profile: Profile) -> Iterator[Note]:
    known = flags.all_flags(profile)
    levers = profile.memory.levers if profile.memory else ()
    for key, flag in (
        ("port_flag", profile.port_flag),
        ("memory", profile.memory.flag if profile.memory else None),
        *(("levers", lever.flag if lever.flag.startswith("--") else None) for lever in levers),
    ):
        if known and flag and flag not in known:
            text = f"profile {profile.name}: '{flag}' is not among its flags"
            yield Note(text=text, at=profile.at, hint=f"{key}: {suggest(flag, known) or 'add it to its flags'}", level=Level.FAULT)

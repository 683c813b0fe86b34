"""Read a server's table of flags: which version has which, what was renamed or replaced, what a change costs. Never asks whether a version has a flag.

The table is a file of its own beside the profile, since it is long and made from other sources than the profile: ``flags_of`` names the server. A profile
whose versions nobody compared has a plain list of ``flags`` instead.
"""

from __future__ import annotations

from collections.abc import Mapping

from yaml.nodes import SequenceNode

from forensics import lazily
from forensics.ruleset.nodes import Table, suggest, text_of
from forensics.ruleset.schema import FlagSpan, FlagTable, Replaced
from forensics.ruleset.versions import version

FLAG = lazily.pattern(r"--?[A-Za-z0-9][A-Za-z0-9_.-]{0,100}")
WAYS = ("raise", "lower", "set")


def plain_list(table: Table) -> FlagTable | None:
    """The flags of a profile that only lists them; None where it does not."""
    flags = _flags(table, "flags")
    return FlagTable(spans=(FlagSpan(since="", until="", flags=flags),), at=table.place("flags")) if flags else None


def flag_table_of(table: Table) -> tuple[str, FlagTable]:
    """The server that a table is of, and the table; its faults are noted in the table's file."""
    name = table.text("flags_of", required=True) or ""
    checked = _checked(table)
    spans = _spans(table, checked)
    there = {flag for span in spans for flag in span.flags}
    found = FlagTable(
        checked=checked,
        spans=spans,
        abbreviations=table.flag("abbreviations"),
        underscores=table.flag("underscores"),
        dotted=table.flag("dotted"),
        renamed=_pairs(table, "renamed", to=there, of=there),
        replaced=_replaced(table, there),
        elsewhere=_pairs(table, "elsewhere", to=there, keyed=table.flag("dotted")),
        costs=_costs(table, there),
        source=table.text("source", required=True) or "",
        at=table.place("flags_of"),
    )
    table.done()
    return name, found


def _checked(table: Table) -> tuple[str, ...]:
    texts = table.texts("checked")
    if "checked" not in table:
        table.faults.add(table.node, f"{table.what} has no 'checked'", hint="the versions that were looked at, oldest first")
    known = []
    for text in texts:
        if (one := version(text)) is None:
            table.fault("checked", f"no version: '{text}'", hint="as in '0.5.9' or '0.6.3.post1'")
        else:
            known.append(one.key)
    if known != sorted(set(known)):
        table.fault("checked", "the versions have to be in order, oldest first, each once")
    return texts


def _spans(table: Table, checked: tuple[str, ...]) -> tuple[FlagSpan, ...]:
    inner = table.table("flags")
    if inner is None:
        table.faults.add(table.node, f"{table.what} has no 'flags'", hint="flags: {0.5.3..0.5.9: [--a, --b]}")
        return ()
    seen: dict[str, str] = {}
    spans: list[FlagSpan] = []
    for key, (node, _) in inner.pairs.items():
        since, dots, until = key.partition("..")
        until = until if dots else since
        for word in dict.fromkeys((since, until)):
            if word not in checked:
                inner.faults.add(node, f"'{word}' is not among the versions that were checked", hint=suggest(word, checked) or ", ".join(checked))
        if since in checked and until in checked and checked.index(since) > checked.index(until):
            inner.faults.add(node, f"{since} is after {until}")
        flags = _flags(inner, key)
        for flag in flags:
            if flag in seen:
                inner.fault(key, f"'{flag}' stands twice", hint=f"also from {seen[flag]}")
            seen[flag] = key
        spans.append(FlagSpan(since=since, until=until, flags=flags))
    return tuple(spans)


def _flags(table: Table, key: str) -> tuple[str, ...]:
    """A list of flags; each that is none is reported where it stands."""
    node = table.get(key)
    found: list[str] = []
    for item in () if node is None else node.value if isinstance(node, SequenceNode) else (node,):
        text = text_of(item, table.faults, key)
        if text is not None and not FLAG.fullmatch(text):
            table.faults.add(item, f"no flag: '{text[:80]}'", hint="as in --max-batch")
        elif text is not None:
            found.append(text)
    return tuple(found)


def _pairs(table: Table, key: str, *, to: set[str], of: set[str] | None = None, keyed: bool = False) -> Mapping[str, str]:
    """Flag → flag. What a flag is called here has to be in the table (where they are ``keyed``, what stands before a dot); with ``of``, the other one too."""
    inner = table.table(key)
    found: dict[str, str] = {}
    for old, (node, _) in (inner.pairs if inner is not None else {}).items():
        assert inner is not None
        new = inner.text(old)
        if of is not None and old not in of:
            inner.faults.add(node, f"'{old}' is not among the flags", hint=suggest(old, of))
        if new is not None and (new.partition(".")[0] if keyed else new) not in to:
            inner.fault(old, f"'{new}' is not among the flags", hint=suggest(new, to))
        elif new is not None:
            found[old] = new
    return found


def _replaced(table: Table, there: set[str]) -> tuple[Replaced, ...]:
    found = []
    for item in table.tables("replaced", "a replacement"):
        flags, by, says = _flags(item, "flags"), _flags(item, "by"), item.text("says", required=True)
        for key, names in (("flags", flags), ("by", by)):
            for name in names:
                if name not in there:
                    item.fault(key, f"'{name}' is not among the flags", hint=suggest(name, there))
        item.done()
        found.append(Replaced(flags=flags, by=by, says=says or ""))
    return tuple(found)


def _costs(table: Table, there: set[str]) -> Mapping[str, Mapping[str, str]]:
    inner = table.table("costs")
    found: dict[str, Mapping[str, str]] = {}
    for flag, (node, _) in (inner.pairs if inner is not None else {}).items():
        assert inner is not None
        if flag not in there:
            inner.faults.add(node, f"'{flag}' is not among the flags", hint=suggest(flag, there))
        ways = inner.table(flag)
        if ways is None:
            continue
        found[flag] = {way: text for way in WAYS if (text := ways.text(way)) is not None}
        ways.done()
    return found

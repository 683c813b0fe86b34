"""Build a server's profile (marks, figures, memory model, endpoints) out of its YAML. Never looks at a log and knows no server by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from yaml.nodes import Node, ScalarNode, SequenceNode

from forensics.errors import RuleError
from forensics.model import MarkKind, Origin, Phase
from forensics.ruleset.anchors import shape
from forensics.ruleset.nodes import Faults, Table, plain, scalar_of, suggest, text_of
from forensics.ruleset.schema import Endpoint, Figure, Mark, MemoryModel, Profile, Sample

_TAKES = ("first", "last", "min", "max")
_PREFIX_GROUPS = frozenset({"stamp", "rank", "pid", "proc"})


def profile_of(table: Table) -> Profile:
    """The profile; its faults are noted in the table's file."""
    name = table.text("profile", required=True) or ""
    from_ = table.word("from", Origin) or Origin.SERVER
    port = table.whole("port")
    if port is not None and not 0 < port < 65536:
        table.fault("port", f"no port: {port}")
    profile = Profile(
        name=name,
        title=table.text("title") or "",
        launch=_expressions(table, "launch"),
        prefixes=_prefixes(table),
        marks=_marks(table, name, from_),
        endpoints=tuple(_endpoint(t) for t in table.tables("endpoints", "an endpoint")),
        port=port,
        port_flag=table.text("port_flag"),
        exit_codes=_exit_codes(table),
        self_kill=table.text("self_kill"),
        exit_zero_is_crash=table.flag("exit_zero_is_crash"),
        unbound_while_loading=table.flag("unbound_while_loading"),
        memory=_memory(table, name),
        aliases=_aliases(table),
        flags=table.texts("flags"),
        extra=_extra(table),
    )
    table.done()
    return profile


def expression(table: Table, key: str, *, anchored: bool = True) -> str:
    """A regular expression that can be scanned for: it compiles and holds literal text that has to occur."""
    text = table.text(key, required=True)
    if text is not None:
        check_expression(text, table.pairs[key][1], table.faults, anchored=anchored)
    return text or ""


def check_expression(text: str, node: Node, faults: Faults, *, anchored: bool = True) -> None:
    """Note what is wrong with a regular expression."""
    known = shape(text)
    if known.error is not None:
        at = faults.place(node, inside=known.error_at)
        faults.found.append(RuleError(f"no regular expression: {known.error}", at=at))
    elif anchored and not known.anchors:
        hint = "every alternative needs a literal word, so that lines can be sorted out without the expression"
        faults.add(node, "this expression has no literal text of 4 characters that must occur", hint=hint)


def samples_of(table: Table, key: str) -> tuple[Sample, ...]:
    """The plain texts of a mark's samples."""
    found: list[Sample] = []
    for node in table.items(key):
        text = text_of(node, table.faults, "a sample")
        if text is not None:
            found.append(Sample(text=text, at=table.faults.place(node)))
    return tuple(found)


def _both_samples(table: Table, what: str) -> tuple[tuple[Sample, ...], tuple[Sample, ...]]:
    samples = table.table("samples")
    if samples is None:
        table.faults.add(table.node, f"{what} has no samples", hint="samples: {hit: ['…'], miss: ['…']}")
        return (), ()
    hit, miss = samples_of(samples, "hit"), samples_of(samples, "miss")
    if not hit:
        samples.faults.add(samples.node, f"{what} has no sample to hit")
    samples.done()
    return hit, miss


def _marks(table: Table, name: str, from_: Origin) -> tuple[Mark, ...]:
    numbers: Counter[str] = Counter()
    marks: list[Mark] = []
    for item in table.tables("marks", "a mark"):
        kind = item.word("mark", MarkKind, required=True)
        phase = item.word("phase", Phase)
        base = f"{name}:{kind}:{phase}" if phase else f"{name}:{kind}"
        numbers[base] += 1
        at = item.faults.place(item.node)
        line = expression(item, "line")
        hit, miss = _both_samples(item, "a mark")
        own_from = item.word("from", Origin)
        keep = item.whole("keep", least=1)
        next_, again = item.word("next", Phase), item.word("again", Phase)
        draft, opens, warms = item.flag("draft"), item.flag("opens"), item.flag("warms")
        style = item.choice("style", ("kwargs", "dict"))
        what, version = item.text("what"), item.text("version")
        item.done()
        if kind is None:
            continue
        mark = Mark(
            id=f"{base}#{numbers[base]}", kind=kind, line=line, profile=name, from_=own_from or from_, phase=phase, next=next_, again=again,
            draft=draft, opens=opens, warms=warms, style=style, what=what, version=version, keep=keep or 200, hit=hit, miss=miss, at=at,
        )  # fmt: skip
        marks.append(mark)
    return tuple(marks)


def _memory(table: Table, name: str) -> MemoryModel | None:
    inner = table.table("memory")
    if inner is None:
        return None
    numbers: Counter[str] = Counter()
    model = MemoryModel(
        flag=inner.text("flag", required=True) or "",
        argument=inner.text("argument", required=True) or "",
        fraction_of=inner.choice("fraction_of", ("free", "total")) or "",
        default=inner.number("default"),
        figures=tuple(_figure(item, name, numbers) for item in inner.tables("figures", "a figure")),
    )
    if "fraction_of" not in inner:
        inner.faults.add(inner.node, "'memory' has no 'fraction_of'", hint="free or total")
    inner.done()
    return model


def _figure(item: Table, name: str, numbers: Counter[str]) -> Figure:
    fact = item.text("fact", required=True) or ""
    numbers[fact] += 1
    line = expression(item, "line")
    known = shape(line)
    if line and known.error is None and "value" not in known.groups:
        item.fault("line", "a figure's expression needs a group named 'value'")
    take = item.text("take") or "last"
    if take not in _TAKES and not take.startswith("before:"):
        item.fault("take", f"unknown take '{take}'", hint=suggest(take, _TAKES) or "first, last, min, max or before:FACT")
    hit, miss = _both_samples(item, "a figure")
    figure = Figure(
        id=f"{name}:figure:{fact}#{numbers[fact]}", fact=fact, line=line, profile=name, unit=item.text("unit") or "",
        take=take, hit=hit, miss=miss, at=item.faults.place(item.node),
    )  # fmt: skip
    item.done()
    return figure


def _endpoint(item: Table) -> Endpoint:
    path = item.text("path", required=True) or ""
    if path and not path.startswith("/"):
        item.fault("path", f"a path begins with a slash: '{path}'")
    says = item.text("says", required=True) or ""
    limit_s = item.number("limit_s")
    item.done()
    return Endpoint(path=path, says=says) if limit_s is None else Endpoint(path=path, says=says, limit_s=limit_s)


def _prefixes(table: Table) -> tuple[str, ...]:
    prefixes = _expressions(table, "prefixes")
    for text in prefixes:
        for group in sorted(shape(text).groups - _PREFIX_GROUPS):
            table.fault("prefixes", f"a prefix has no group '{group}'", hint="stamp, rank, pid or proc")
    return prefixes


def _expressions(table: Table, key: str) -> tuple[str, ...]:
    texts = table.texts(key)
    node = table.get(key)
    if node is not None:
        items = node.value if isinstance(node, SequenceNode) else [node]
        for item in items:
            if isinstance(item, ScalarNode):
                check_expression(str(item.value), item, table.faults, anchored=False)
    return texts


def _exit_codes(table: Table) -> Mapping[int, str]:
    inner = table.table("exit_codes")
    codes: dict[int, str] = {}
    for key, (node, value) in (inner.pairs if inner is not None else {}).items():
        code = scalar_of(node, table.faults, "exit_codes")
        text = text_of(value, table.faults, key)
        if isinstance(code, bool) or not isinstance(code, int):
            table.faults.add(node, f"an exit code is a whole number, not '{key}'")
        elif text is not None:
            codes[code] = text
    return codes


def _aliases(table: Table) -> Mapping[str, tuple[str, ...]]:
    inner = table.table("aliases")
    return {key: inner.texts(key) for key in inner.pairs} if inner is not None else {}


def _extra(table: Table) -> Mapping[str, Any]:
    node = table.get("extra")
    value: Any = {} if node is None else plain(node, table.faults, "extra")
    if not isinstance(value, dict):
        table.fault("extra", "'extra' has to be a mapping")
        return {}
    return value

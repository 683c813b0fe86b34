"""Build a server's profile (marks, figures, memory model, endpoints) out of its YAML. Never looks at a log and knows no server by name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from yaml.nodes import Node, ScalarNode, SequenceNode

from forensics.errors import RuleError
from forensics.model import ACCEPTED, FIGURES, BudgetOf, Frees, MarkKind, Origin, Phase
from forensics.ruleset import flagtable
from forensics.ruleset.anchors import shape
from forensics.ruleset.nodes import Faults, Table, plain, scalar_of, suggest, text_of, word_of
from forensics.ruleset.schema import DefaultFraction, Endpoint, Figure, Lever, Mark, MemoryModel, Profile, Sample, Speculation
from forensics.ruleset.versions import backwards, range_of, version

_TAKES = ("first", "second", "last", "min", "max", "sum")
UNITS = ("GiB", "MiB", "GB", "MB")  # of a memory figure; G and M count by 1024
# kinds of marks that the lines of a server have; the others are of systemd, a container engine or the machine
OF_A_SERVER = tuple(MarkKind)[: tuple(MarkKind).index(MarkKind.STARTING)]
_NAME = re.compile(r"[a-z0-9]+(?:[._-][a-z0-9]+)*")
MOST_NAME = 80  # characters of a profile's name, and of a rule's id
_PATH = re.compile(r"/[A-Za-z0-9_.~/?=&%:+-]{0,200}")  # no more is asked for on a host
_MOST_LIMIT_S = 60
_PREFIX_GROUPS = frozenset({"stamp", "rank", "pid", "proc"})


def profile_of(table: Table) -> Profile:
    """The profile; its faults are noted in the table's file."""
    name = table.text("profile", required=True) or ""
    if name and not (_NAME.fullmatch(name) and len(name) <= MOST_NAME):
        table.fault("profile", f"a profile's name is made of small letters and digits with . - _ between them: '{name[:MOST_NAME]}'")
    from_ = table.word("from", Origin) or Origin.SERVER
    port = table.whole("port")
    if port is not None and not 0 < port < 65536:
        table.fault("port", f"no port: {port}")
    profile = Profile(
        name=name,
        title=table.text("title") or "",
        launch=expressions(table, "launch", anchored=False),
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
        speculation=_speculation(table, name),
        aliases=_aliases(table),
        flags=flagtable.plain_list(table),
        noise=table.texts("noise"),
        extra=_extra(table),
        at=table.place("profile"),
    )
    table.done()
    return profile


def expression(table: Table, key: str) -> str:
    """A regular expression that can be scanned for: it compiles and holds literal text that has to occur."""
    text = table.text(key, required=True)
    if text is not None:
        check_expression(text, table.pairs[key][1], table.faults)
    return text or ""


def expressions(table: Table, key: str, *, anchored: bool = True) -> tuple[str, ...]:
    """Several of them, or one."""
    texts = table.texts(key)
    node = table.get(key)
    if node is not None:
        for item in node.value if isinstance(node, SequenceNode) else [node]:
            if isinstance(item, ScalarNode):
                check_expression(str(item.value), item, table.faults, anchored=anchored)
    return texts


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
        kind = _kind(item, from_)
        phase = item.word("phase", Phase)
        base = f"{name}:{kind}:{phase}" if phase else f"{name}:{kind}"
        numbers[base] += 1
        at = item.faults.place(item.node)
        line = expression(item, "line")
        hit, miss = _both_samples(item, "a mark")
        own_from = item.word("from", Origin)
        keep = item.whole("keep", least=1)
        next_, again = item.word("next", Phase), item.word("again", Phase)
        draft, opens, up, warms, library = (item.flag(name) for name in ("draft", "opens", "up", "warms", "library"))
        style = item.choice("style", ("kwargs", "dict", "map"))
        what, version = item.text("what"), _versions(item)
        if kind is MarkKind.SOFTWARE:
            _check_software(item, line, what)
        item.done()
        if kind is None:
            continue
        mark = Mark(
            id=f"{base}#{numbers[base]}", kind=kind, line=line, profile=name, from_=own_from or from_, phase=phase, next=next_, again=again,
            draft=draft, opens=opens, up=up, warms=warms, library=library, style=style, what=what, version=version, keep=keep or 200, hit=hit, miss=miss,
            at=at,
        )  # fmt: skip
        marks.append(mark)
    return tuple(marks)


def _kind(item: Table, from_: Origin) -> MarkKind | None:
    """What a mark says; those of a phase say which."""
    text = item.text("mark", required=True)
    if text is None:
        return None
    if from_ is Origin.SERVER and text not in set(map(str, MarkKind)):
        of_a_server = [str(kind) for kind in OF_A_SERVER]
        item.fault("mark", f"unknown mark '{text}'", hint=suggest(text, of_a_server) or "of a server: " + ", ".join(of_a_server))
        return None
    kind = word_of(text, MarkKind, item.pairs["mark"][1], item.faults)
    if (kind in (MarkKind.BEGIN, MarkKind.PROGRESS) or (kind is MarkKind.END and "next" not in item)) and "phase" not in item:
        item.fault("mark", f"a mark '{kind}' says of which phase", hint="phase: " + ", ".join(map(str, Phase)))
    return kind


def _versions(item: Table) -> str | None:
    text = item.text("version")
    if text is not None and range_of(text) is None:
        item.fault("version", f"no version and no range of versions: '{text}'", hint="'0.5.4..0.5.9', '0.5.20..' or '..0.5.19'")
    elif text is not None and backwards(text):
        item.fault("version", f"a range that holds no version: '{text}'", hint="the older one stands first, as in '0.5.4..0.5.9'")
    return text


def _check_software(item: Table, line: str, what: str | None) -> None:
    """A software's line tells its value, and its name unless the mark has one."""
    known = shape(line)
    if not line or known.error is not None:
        return
    if "value" not in known.groups:
        item.fault("line", "a software's expression needs a group named 'value'")
    if what is None and "name" not in known.groups:
        item.fault("line", "nobody says what software that is", hint="what: NAME, or a group named 'name'")


def _memory(table: Table, name: str) -> MemoryModel | None:
    inner = table.table("memory")
    if inner is None:
        return None
    numbers: Counter[str] = Counter()
    default = inner.number("default")
    if default is not None and not 0 < default <= 1:
        inner.fault("default", "a 'default' is a share, above 0 and at most 1", hint=f"{default / 100:g}?" if 1 < default <= 100 else None)
    model = MemoryModel(
        flag=inner.text("flag"),
        argument=inner.text("argument") or "",
        fraction_of=BudgetOf(of) if (of := inner.choice("fraction_of", [str(word) for word in BudgetOf])) else None,
        default=default,
        defaults=tuple(_default(item) for item in inner.tables("defaults", "a default")),
        whole_request=inner.flag("whole_request"),
        shaped_by=inner.texts("shaped_by"),
        figures=tuple(_figure(item, name, numbers) for item in inner.tables("figures", "a figure")),
        levers=tuple(_lever(item) for item in inner.tables("levers", "a lever")),
    )
    told = [key for key in ("flag", "argument", "fraction_of") if key in inner]
    if told and len(told) < 3:
        lacking = " and ".join(f"'{key}'" for key in ("flag", "argument", "fraction_of") if key not in told)
        inner.faults.add(inner.node, f"'memory' has no {lacking}", hint="free, total or remaining" if "fraction_of" not in told else None)
    inner.done()
    return model


def _speculation(table: Table, name: str) -> Speculation | None:
    inner = table.table("speculation")
    if inner is None:
        return None
    numbers: Counter[str] = Counter()
    model = Speculation(
        given=inner.text("given", required=True) or "",
        topk=inner.texts("topk"),
        budget=inner.texts("budget"),
        steps=inner.texts("steps"),
        paths=inner.text("paths"),
        same=inner.texts("same"),
        figures=tuple(_figure(item, name, numbers, drafts=True) for item in inner.tables("figures", "a figure of drafts")),
    )
    if not model.figures:
        inner.faults.add(inner.node, "'speculation' has no figure", hint="figures: the lines that tell how long its drafts are accepted")
    if not (model.budget or model.paths):
        inner.faults.add(inner.node, "nothing of 'speculation' says how large its tree is", hint="budget: the arguments that do")
    inner.done()
    return model


def _default(item: Table) -> DefaultFraction:
    value = item.number("value")
    if value is None or not 0 < value <= 1:
        item.faults.add(item.node, "a default has a 'value' above 0 and at most 1")
    since, until = _bound(item, "since"), _bound(item, "until")
    item.done()
    return DefaultFraction(value=value or 1.0, since=since, until=until)


def _lever(item: Table) -> Lever:
    flag = item.text("flag", required=True) or ""
    unless = item.text("unless")
    if unless is not None:
        check_expression(unless, item.pairs["unless"][1], item.faults, anchored=False)
    lever = Lever(
        flag=flag, frees=item.word("frees", Frees, required=True) or Frees.REQUESTS, text=item.text("text", required=True) or "",
        argument=item.text("argument") or flag.lstrip("-").replace("-", "_"), unless=unless, given=item.text("given"),
        since=_bound(item, "since"), until=_bound(item, "until"),
    )  # fmt: skip
    item.done()
    return lever


def _bound(item: Table, key: str) -> str | None:
    text = item.text(key)
    if text is not None and version(text) is None:
        item.fault(key, f"no version: '{text}'")
    return text


def _figure(item: Table, name: str, numbers: Counter[str], *, drafts: bool = False) -> Figure:
    facts: Collection[str] = ACCEPTED if drafts else FIGURES
    fact = item.text("fact", required=True) or ""
    if fact and fact not in facts:
        item.fault("fact", f"unknown figure '{fact}'", hint=suggest(fact, facts) or ", ".join(facts))
    numbers[fact] += 1
    line = expression(item, "line")
    known = shape(line)
    if line and known.error is None and "value" not in known.groups:
        item.fault("line", "a figure's expression needs a group named 'value'")
    take = "last" if drafts else item.text("take") or "last"
    before = take.removeprefix("before:")
    if before == take and take not in _TAKES:
        item.fault("take", f"unknown take '{take}'", hint=suggest(take, _TAKES) or "first, second, last, min, max, sum or before:FACT")
    elif before != take and before not in FIGURES:
        item.fault("take", f"unknown figure '{before}'", hint=suggest(before, FIGURES) or ", ".join(FIGURES))
    unit = "" if drafts else item.text("unit") or ""
    if unit and fact in facts and not fact.endswith("_gib"):
        item.fault("unit", f"'{fact}' is no size, and has no unit")
    elif unit and unit not in UNITS:
        item.fault("unit", f"unknown unit '{unit}'", hint="one of " + ", ".join(UNITS))
    version, keep = (_versions(item), item.whole("keep", least=1)) if drafts else (None, None)
    hit, miss = _both_samples(item, "a figure")
    figure = Figure(
        id=f"{name}:figure:{fact}#{numbers[fact]}", fact=fact, line=line, profile=name, unit=unit,
        take=take, version=version, keep=keep or 200, hit=hit, miss=miss, at=item.faults.place(item.node),
    )  # fmt: skip
    item.done()
    return figure


def _endpoint(item: Table) -> Endpoint:
    path = item.text("path", required=True) or ""
    if path and not path.startswith("/"):
        item.fault("path", f"a path begins with a slash: '{path}'")
    elif path and not _PATH.fullmatch(path):
        item.fault("path", f"a path of letters, digits and ._~/?=&%:+- is asked for, not '{path[:80]}'")
    item.text("says", required=True)
    says = item.choice("says", ("listening", "ready")) or ""
    limit_s = item.number("limit_s")
    if limit_s is not None and not 0 < limit_s <= _MOST_LIMIT_S:
        item.fault("limit_s", f"'limit_s' is more than 0 and at most {_MOST_LIMIT_S} seconds")
    item.done()
    return Endpoint(path=path, says=says) if limit_s is None else Endpoint(path=path, says=says, limit_s=limit_s)


def _prefixes(table: Table) -> tuple[str, ...]:
    prefixes = expressions(table, "prefixes", anchored=False)
    for text in prefixes:
        for group in sorted(shape(text).groups - _PREFIX_GROUPS):
            table.fault("prefixes", f"a prefix has no group '{group}'", hint="stamp, rank, pid or proc")
    return prefixes


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

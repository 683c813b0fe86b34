"""Write the beginning of a rule out of one log line, or of a profile out of a name: it loads, and passes the lint and its own samples as it stands. Never claims to know the cause."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from forensics.errors import UsageError
from forensics.model import Frame, Noun, Origin, Role
from forensics.ruleset.anchors import shape
from forensics.ruleset.expressions import slow
from forensics.ruleset.scan import MAX_TEXT, Matcher
from forensics.ruleset.schema import Rule, RuleSet

MASK = "[masked]"  # what stands in a line in place of a secret, as redact writes it
_MOST_TEXT = 600  # characters of the line that the expression asks for
_MOST_CAPTURES = 4
_HEAD = 200  # how far into a line the message may begin
_NEAR = 55.0  # how alike a sample has to be to be worth showing, of 100
# what stands before a message in logs of many programs: a time, a level, a logger's name
_BEFORE = re.compile(
    r"(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]? ?|\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]? "
    r"|\[?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL|trace|debug|info|warn|warning|error|critical|fatal)\]?:? {1,8}|- ){0,6}"
)
# what differs from time to time, longest first: name of the capture, how it looks, what the rule asks for
_VARIABLE: tuple[tuple[str, str, str], ...] = (
    ("", re.escape(MASK), r"\S{1,1000}"),  # a secret, and no capture: a report would show it
    ("", r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?", r"[\d-]{10}[T ][\d:.,]{8,18}"),
    ("", r"\b\d\d:\d\d:\d\d(?:[.,]\d{1,9})?", r"[\d:.,]{8,18}"),
    ("url", r"\b[a-z]{2,6}://[^\s'\"<>)\],]{1,200}", r"\w{2,6}://[^\s'\"]{1,200}"),
    ("path", r"(?<![\w.])/[\w.@+-]{1,100}(?:/[\w.@+-]{1,100}){1,20}", r"/[^\s'\"]{1,300}"),
    ("size", r"\b\d{1,15}(?:\.\d{1,9})? ?[KMGT]i?B\b", r"[\d.]{1,20} ?[KMGT]i?B"),
    ("address", r"\b0x[0-9a-fA-F]{1,32}\b", r"0x[0-9a-fA-F]{1,32}"),
    ("host", r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b", r"[\d.:]{7,21}"),
    ("key", r"\b(?=[0-9a-f-]{0,30}\d)[0-9a-f]{8}[0-9a-f-]{0,60}\b", r"[0-9a-f-]{8,70}"),
    ("number", r"(?<![\w.])-?\d{1,15}(?:\.\d{1,15})?(?![\w.])", r"-?\d{1,15}(?:\.\d{1,15})?"),
    ("", r"\d{1,30}", r"\d{1,30}"),  # a part of a word: no capture
)
_ANY = re.compile("|".join(f"(?P<v{number}>{looks})" for number, (_, looks, _) in enumerate(_VARIABLE)))
_MASKED = re.compile(re.escape(MASK))
_WIDER = (r"\S+", r"[^\n]{1,1000}", r"[^\n]+")  # for a secret that is longer, or more than a word
_WORD = re.compile(r"[A-Za-z]{3,}")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Near(Noun):
    """A shipped rule whose sample is like the line."""

    rule: Rule
    alike: float
    sample: str
    takes: bool = False  # it takes this very line


def rule_skeleton(line: str, known: RuleSet, *, origin: Origin = Origin.ANY, id_: str | None = None, printed: str | None = None) -> str:
    """A rule file with one rule that takes the line. Raises UsageError where the line holds no literal text that could be looked for.

    ``origin`` is who wrote the line, where something says so; ``printed`` the line as it was before secrets in it were masked, which the rule takes as well.
    """
    text = line[:MAX_TEXT]
    pattern, names = _expression(text, text if printed is None else printed[:MAX_TEXT])
    near = nearest(text, known, origin=origin)
    taken = {rule.id for rule in known.rules}
    best = near[0].rule if near else None
    sure = best is not None and best.role in (Role.ROOT, Role.CASCADE, Role.MECHANISM, Role.SYMPTOM, Role.BENIGN) and near[0].alike >= 75
    blanks = ", ".join(f"{name} {{{name}}}" for name in names)
    rows = [
        "# What each key means: docs/rules.md. Check with: ddforensics rules lint FILE && ddforensics rules test FILE",
        *_comments(near),
        f"- id: {id_ or _name(text, taken)}",
        f"  role: {best.role if sure and best is not None else Role.CONTEXT}  # root: explains the failure by itself; cascade: follows from another; benign: loud and harmless",
        *([f"  cause: {best.cause}  # that of the nearest shipped rule: is it this one's?"] if sure and best is not None and best.cause else []),
        *([] if sure and best is not None and best.cause else ["  # cause: a root needs one, see docs/rules.md"]),
        f"  from: {Origin.SERVER if origin is Origin.ANY else origin}",
        f"  line: {_quoted(pattern)}",
        f"  says: {_quoted('say here in one sentence what it means' + (f' ({blanks})' if blanks else ''))}",
        "  source: seen in a log of my own",
        "  samples:",
        "    hit:",
        f"      - {{text: {_quoted(text)}}}",
        "    miss:",
        f"      - {{why: made up; put a real line here that is near and means something else, text: {_quoted(_near_miss(text, pattern))}}}",
    ]
    return "\n".join(rows) + "\n"


def _comments(near: Sequence[Near]) -> list[str]:
    if not near:
        return ["# No shipped rule has a sample that is like this line."]
    rows = ["# The nearest shipped rules (ddforensics rules show ID):"]
    return rows + [
        f"#   {n.rule.id}: {n.rule.role}{f', {n.rule.cause}' if n.rule.cause else ''}, {'it takes this line' if n.takes else f'{n.alike:.0f} of 100 alike'}"
        for n in near
    ]


def nearest(text: str, known: RuleSet, *, origin: Origin = Origin.ANY, most: int = 3) -> list[Near]:
    """Shipped rules that take the line, or whose samples are like it; the best first."""
    from rapidfuzz import fuzz, process

    frame = Frame(source="line", line_no=1, start=0, text=text, origin=origin)
    takes = {hit.rule for hit in Matcher(RuleSet(rules=known.rules, profiles=())).feed(frame)}
    samples = [(rule, sample.text) for rule in known.rules if rule.line for sample in rule.hit if sample.text]
    best: dict[str, Near] = {}
    for _, score, index in process.extract(text, [s for _, s in samples], scorer=fuzz.token_sort_ratio, limit=20, score_cutoff=_NEAR):
        rule, sample = samples[index]
        if rule.id not in best:
            best[rule.id] = Near(rule=rule, alike=float(score), sample=sample)
    for rule in known.rules:
        if rule.id in takes:
            best[rule.id] = Near(rule=rule, alike=100.0, sample=text, takes=True)
    return sorted(best.values(), key=lambda n: (-n.alike, not n.takes))[:most]


def _expression(text: str, printed: str) -> tuple[str, list[str]]:
    """The expression for a line and its captures: as many numbers and paths opened as leave something to look for."""
    for captures in (_MOST_CAPTURES, 0, -1, -2):
        made, names = _made(text, captures)
        for pattern in dict.fromkeys((made, *(made.replace(_VARIABLE[0][2], wider) for wider in _WIDER))):
            known = shape(pattern)
            if known.error is None and known.anchors and not slow(pattern) and re.search(pattern, text) and re.search(pattern, printed):
                return pattern, names
    raise UsageError(
        "this line has no literal text that could be looked for",
        hint="a rule needs four characters in a row with a word of three ASCII letters in them",
    )


def _made(text: str, captures: int) -> tuple[str, list[str]]:
    """An expression that takes the text; ``captures``: how many values get a name, -1: not one is opened, -2: nor is what stands before the message left out."""
    before = _BEFORE.match(text) if captures > -2 else None
    start = before.end() if before else 0
    head = text[:start]
    quoted = any(char in head for char in "'\"")
    parts = ["" if quoted else f"^[^'\"\\n]{{0,{_HEAD}}}"]
    names: list[str] = []
    at, end = start, min(len(text), start + _MOST_TEXT)
    end = next((m.start() for m in _MASKED.finditer(text) if m.start() < end < m.end()), end)
    for found in (_ANY if captures >= 0 else _MASKED).finditer(text, start, end):
        name, _, asked = _VARIABLE[int((found.lastgroup or "v0")[1:])]
        parts.append(re.escape(text[at : found.start()]).replace(r"\ ", " "))
        if name and len(names) < captures:
            own = name if name not in names else f"{name}_{sum(n.startswith(name) for n in names) + 1}"
            names.append(own)
            parts.append(f"(?P<{own}>{asked})")
        else:
            parts.append(f"(?:{asked})" if asked.startswith("-?") else asked)
        at = found.end()
    parts.append(re.escape(text[at:end]).replace(r"\ ", " "))
    return "".join(parts), names


def _near_miss(text: str, pattern: str) -> str:
    """A line that is like it and is not taken: quoted by a request, as a server that logs its requests would; else with a word of it missing."""
    expression = re.compile(pattern)
    words = sorted({m.group() for m in _WORD.finditer(text)}, key=len, reverse=True)
    tries = [f"Receive: text='{text}'", *(text.replace(word, word[::-1]) for word in words), "another line", "-"]
    return next(made for made in tries if not expression.search(made))


def _name(text: str, taken: Collection[str]) -> str:
    """``my.`` and the first telling words."""
    before = _BEFORE.match(text)
    words = [w.lower() for w in _WORD.findall(text[before.end() if before else 0 :].replace(MASK, ""))][:4]
    name = "my." + ("-".join(words)[:60] or "line")
    number = 1
    while (own := name if number == 1 else f"{name}-{number}") in taken:
        number += 1
    return own


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def profile_skeleton(name: str, *, known: RuleSet | None = None, port: int | None = None) -> str:
    """The file of a server profile: every wording in it is an example to be replaced. Raises UsageError for a name that is none, or taken."""
    if not (2 <= len(name) <= 31 and re.fullmatch(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*", name)):
        raise UsageError(f"no name of a server: '{name}'", hint="small letters, digits and dashes, as 'acme-server'")
    if known is not None and known.profile(name) is not None:
        raise UsageError(f"there is a profile '{name}' already", hint=f"ddforensics rules show {name}")
    word = re.escape(name)
    return _PROFILE.format(name=name, title=name, launch=_quoted(rf"(?:^|[\s/]){word}\b"), port=port or 8000)


_PROFILE = r"""# What each key means: docs/rules.md. Every 'line' and sample here is made up: put those of the server in their place.
# Check with: ddforensics rules lint FILE && ddforensics rules test FILE
profile: {name}
title: {title}
launch:  # over the command line of the unit
  - {launch}
port: {port}
port_flag: --port
# prefixes: what stands before its messages, taken off before rules look: groups stamp, rank, pid, proc
prefixes:
  - '^\[(?P<stamp>\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d)(?: (?P<rank>rank\d{{1,4}}))?\] '
unbound_while_loading: true  # the port refuses connections until it is ready
endpoints:
  - {{path: /health, says: ready, limit_s: 3.0}}
exit_codes:
  1: it could not start; the message says why
marks:
  - mark: arguments  # the first line of a life, with all it was told
    line: '{name} starting with \{{(?P<args>[^\n]+)\}}'
    opens: true
    style: dict
    samples:
      hit: ["{name} starting with {{'port': {port}, 'model': '/models/m'}}"]
      miss: ['{name} stopped']
  - mark: begin
    phase: weights
    line: '^{name}: loading weights'
    samples: {{hit: ['{name}: loading weights from /models/m'], miss: ['{name}: weights loaded']}}
  - mark: progress
    phase: weights
    what: shards
    line: '^{name}: weights (?P<done>\d{{1,6}}) of (?P<of>\d{{1,6}})'
    samples: {{hit: ['{name}: weights 3 of 12'], miss: ['{name}: weights loaded']}}
  - mark: end
    phase: weights
    next: warmup
    line: '^{name}: weights loaded'
    samples: {{hit: ['{name}: weights loaded'], miss: ['{name}: loading weights from /models/m']}}
  - mark: listening
    phase: bind
    line: '^{name}: listening on port (?P<port>\d{{1,5}})'
    samples: {{hit: ['{name}: listening on port {port}'], miss: ['{name}: ready']}}
  - mark: ready
    phase: ready
    line: '^{name}: ready for requests'
    samples: {{hit: ['{name}: ready for requests'], miss: ['{name}: loading weights from /models/m']}}
  - mark: stopping
    phase: stopping
    line: '^{name}: shutting down'
    samples: {{hit: ['{name}: shutting down'], miss: ['{name}: ready for requests']}}
"""

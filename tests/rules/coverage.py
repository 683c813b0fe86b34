"""Read the tables of known messages (tests/data/facts/*.tsv), ask the rules who takes each, and write docs/coverage.md. Judges no life: a line alone.

``python -m tests.rules.coverage`` prints the document, ``--write`` writes it.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from forensics import ruleset
from forensics.model import Cause, Frame, Origin, Phase, Role
from forensics.ruleset.scan import Matcher
from forensics.ruleset.schema import Figure, Mark, Rule, RuleSet
from tests.rules.pages import put

ROOT = Path(__file__).resolve().parents[2]
TABLES = ROOT / "tests" / "data" / "facts"
DOCUMENT = ROOT / "docs" / "coverage.md"
NOTHING = "nothing"
_COLUMNS = ("section", "since", "until", "from", "tells", "text", "why")
_ROLES = {"advice": Role.ADVICE_TEXT} | {str(r): r for r in (Role.CASCADE, Role.MECHANISM, Role.SYMPTOM, Role.CONTEXT, Role.BENIGN)}
_CAUSES = {str(c) for c in Cause}
_EXPLAINS = (Role.ROOT, Role.MECHANISM, Role.STATE)
_ENDS = {
    "self-kill",
    "child-exit",
    "exited",
    "failed",
    "oom-kill",
    "start-timeout",
    "stop-timeout",
    "watchdog",
    "kill-sent",
}  # marks that say how it ended
_MARKS = {"listening", "ready", "serving", "arguments", "version"}
# what makes it depend on more than the line; a rule language without one of these has no such rule
_DEPENDS = ("only_in", "where", "preceded_by", "followed_by", "not_preceded_by", "not_followed_by", "since", "until")
_SHOWN = 110  # characters of a message
_HEAD = """# Which message is known

Every message that the fact sheets behind the rules quote, and what takes it: a rule, a mark of a server's profile, or a figure. Made from
`tests/data/facts/*.tsv` by `python -m tests.rules.coverage --write`; a test holds that it is up to date and that each message is taken as its row says.

*Tells* is what the message says by itself: a cause (a rule that may explain a failure), `cascade`, `mechanism`, `symptom`, `context`, `advice` or `benign`
(the role of the rule), `phase:…`, `listening`, `ready`, `serving`, `arguments`, `version` or `mark:…` (a mark), `figure:…` (a number that is read), or `nothing`: deliberately
no rule, and why. *Versions* are those of the program that print it (`-`: not known). Several ids: which one counts depends on the phase.
"""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One message as a program prints it, without the log's prefix."""

    table: str
    number: int  # line of the file
    section: str
    since: str
    until: str
    from_: Origin
    tells: str
    text: str
    why: str

    def __str__(self) -> str:
        return f"{self.table}.tsv:{self.number}"

    @property
    def versions(self) -> str:
        """``0.5.3 … 0.5.9``; open ends left away."""
        since, until = self.since.strip("-"), self.until.strip("-")
        if since == until:
            return since or "-"
        return " ".join(part for part in (since, "…", until) if part)


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What one rule, mark or figure makes of a row's message."""

    id: str
    label: str  # role and cause, kind of mark, or figure
    agrees: bool
    owner: Rule | Mark | Figure


@dataclass(frozen=True, kw_only=True)
class Answer:
    """All who take a row, and what is wrong with that; empty where all is well."""

    row: Row
    taken: tuple[Taken, ...]
    wrong: str

    @property
    def good(self) -> tuple[Taken, ...]:
        """Those that take it as the row says."""
        return tuple(t for t in self.taken if t.agrees)


def tables() -> list[Path]:
    """The tables, by name."""
    return sorted(TABLES.glob("*.tsv"))


def rows(path: Path) -> list[Row]:
    """The rows of a table; a row that does not read is a ValueError with its place."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = line.split("\t")
        if cells == list(_COLUMNS):
            continue
        if len(cells) == len(_COLUMNS) - 1:
            cells.append("")
        if len(cells) != len(_COLUMNS):
            raise ValueError(f"{path.name}:{number}: {len(cells)} cells, not {len(_COLUMNS)}: {', '.join(_COLUMNS)}")
        section, since, until, from_, tells, text, why = cells
        if fault := _fault(tells, why):
            raise ValueError(f"{path.name}:{number}: {fault}")
        found.append(
            Row(table=path.stem, number=number, section=section, since=since, until=until, from_=Origin(from_), tells=tells, text=text, why=why)
        )
    return found


def _fault(tells: str, why: str) -> str:
    kind, _, name = tells.partition(":")
    if tells == NOTHING:
        return "" if why.strip() else "a row that tells nothing needs a why"
    if (kind == "phase" and name in {str(p) for p in Phase}) or (kind in ("figure", "mark") and name):
        return ""
    if tells in _CAUSES or tells in _ROLES or tells in _MARKS:
        return ""
    return f"'{tells}' is no cause, role, phase, mark or figure"


class Coverage:
    """The rules of one rule set, ready to be asked about rows."""

    def __init__(self, rules: RuleSet) -> None:
        self.matcher = Matcher(rules)
        self.servers = {p.name for p in rules.profiles if p.launch}
        self.owners: dict[str, Rule | Mark | Figure] = {r.id: r for r in rules.rules}
        for profile in rules.profiles:
            self.owners |= {m.id: m for m in profile.marks}
            self.owners |= {f.id: f for f in profile.figures}

    def ask(self, row: Row) -> Answer:
        """Who takes a row's message, and whether that is as the row says."""
        frame = Frame(source=str(row), line_no=1, start=0, text=row.text, origin=row.from_)
        taken = []
        for hit in self.matcher.feed(frame):
            owner = self.owners.get(hit.rule)  # None: a line that a rule asks for beside its own
            if owner is not None and self._speaks_of(owner, row):
                taken.append(Taken(id=hit.rule, label=_label(owner), agrees=_agrees(owner, row, hit.captures), owner=owner))
        return Answer(row=row, taken=tuple(taken), wrong=_wrong(row, taken))

    def _speaks_of(self, owner: Rule | Mark | Figure, row: Row) -> bool:
        """Whether it would be asked in a log of the table's server; a table that is no server's is anybody's."""
        if row.table not in self.servers:
            return True
        if isinstance(owner, Rule):
            return not owner.server or row.table in owner.server
        return owner.profile == row.table or owner.profile not in self.servers


def _label(owner: Rule | Mark | Figure) -> str:
    if isinstance(owner, Rule):
        return f"{owner.role}: {owner.cause}" if owner.cause and owner.role in _EXPLAINS else str(owner.role)
    return "figure" if isinstance(owner, Figure) else "mark"


def _agrees(owner: Rule | Mark | Figure, row: Row, captures: Mapping[str, str]) -> bool:
    kind, _, name = row.tells.partition(":")
    if kind == "figure":
        return owner.fact == name if isinstance(owner, Figure) else name in captures
    if kind == "version" and "version" in captures:
        return True
    if isinstance(owner, Mark):
        if not _within(row, owner.version):
            return False
        if kind == "mark":
            return str(owner.kind) == name
        if kind == "phase":
            return name in {str(p) for p in (owner.phase, owner.next, owner.again) if p is not None}
        return str(owner.kind) == row.tells or (row.tells == "mechanism" and str(owner.kind) in _ENDS)
    if isinstance(owner, Rule):
        least, most = getattr(owner, "since", None), getattr(owner, "until", None)
        if not _within(row, f"{least or ''}..{most or ''}"):
            return False
        if row.tells in _ROLES:
            return owner.role is _ROLES[row.tells]
        return owner.role in _EXPLAINS and str(owner.cause) == row.tells
    return False


def _wrong(row: Row, taken: Sequence[Taken]) -> str:
    """What contradicts the row: nobody, somebody where there should be none, or a root that says something else whatever the phase is."""
    if row.tells == NOTHING:
        return f"tells nothing, and is taken by {', '.join(t.id for t in taken)}" if taken else ""
    if not any(t.agrees for t in taken):
        others = ", ".join(f"{t.id} ({t.label})" for t in taken)
        return f"no rule, mark or figure takes it as '{row.tells}'; taken by {others or 'nobody'}"
    if row.tells not in _CAUSES and row.tells not in _ROLES:
        return ""  # a mark or a figure beside a rule says nothing against it
    beaten = {name for t in taken if isinstance(t.owner, Rule) for name in t.owner.over}
    for other in taken:
        rule = other.owner
        if not isinstance(rule, Rule) or rule.role is not Role.ROOT or other.agrees:
            continue
        depends = any(getattr(rule, name, None) for name in _DEPENDS)
        if not (depends or rule.id in beaten or str(rule.cause) in beaten or rule.firm == "possible"):
            return f"says '{row.tells}', and {rule.id} makes a root of it: {rule.cause}"
    return ""


def _within(row: Row, versions: str | None) -> bool:
    """Whether a mark's versions (``0.5.4..0.5.9``) hold all of the row's, as far as those are known."""
    if not versions:
        return True
    least, _, most = versions.partition("..")
    too_old = bool(least) and row.since != "-" and _key(row.since) < _key(least)
    too_new = bool(most) and row.until != "-" and _key(row.until) > _key(most)
    return not (too_old or too_new)


def _key(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d{1,9}", version.partition("post")[0]))


def document(rules: RuleSet | None = None) -> str:
    """The whole of docs/coverage.md."""
    coverage = Coverage(rules or ruleset.load())
    return "\n".join([_HEAD, *(line for path in tables() for line in _section(path, coverage))]).rstrip() + "\n"


def _section(path: Path, coverage: Coverage) -> Iterator[str]:
    answers = [coverage.ask(row) for row in rows(path)]
    yield f"## {path.stem}\n"
    yield f"{_summary(answers)}\n"
    yield "| § | message | versions | tells | taken by |"
    yield "|---|---|---|---|---|"
    for answer in answers:
        row = answer.row
        by = ", ".join(f"`{t.id}` ({t.label})" for t in answer.good) or row.why
        yield f"| {_cell(row.section)} | {_code(row.text)} | {row.versions} | {row.tells} | {_cell(by)} |"
    yield ""


def _summary(answers: Sequence[Answer]) -> str:
    kinds: Counter[str] = Counter()
    for answer in answers:
        tells = answer.row.tells
        kinds["a cause" if tells in _CAUSES else tells.partition(":")[0]] += 1
    told = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items(), key=lambda k: (-k[1], k[0])))
    left = kinds[NOTHING]
    return f"{len(answers)} messages, {len(answers) - left} of them taken by {len({t.id for a in answers for t in a.good})} rules, marks and figures: {told}."


def _code(text: str) -> str:
    """A message as code in a cell, cut; a tick in it asks for two around it."""
    shown = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    tick = "``" if "`" in shown else "`"
    space = " " if "`" in shown else ""
    return f"{tick}{space}{_cell(shown)}{space}{tick}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main(words: Sequence[str]) -> int:
    """Print the document, or write it; messages that are not taken as their rows say are told on standard error."""
    rules = ruleset.load()
    text = document(rules)
    put(text, DOCUMENT, words)
    coverage = Coverage(rules)
    wrong = [answer for path in tables() for row in rows(path) if (answer := coverage.ask(row)).wrong]
    for answer in wrong:
        sys.stderr.write(f"{answer.row}: {answer.wrong}: {answer.row.text[:160]}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

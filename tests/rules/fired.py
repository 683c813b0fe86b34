"""Which rule, mark and figure fires on which kind of evidence, as a table. Judges no answer.

python -m tests.rules.fired [--write]      prints the table, or writes tests/data/rules/fired.tsv anew; review what changed
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from forensics.model import Frame, Origin
from forensics.ruleset.loading import load
from forensics.ruleset.scan import Matcher
from forensics.ruleset.schema import RuleSet
from tests.rules import coverage
from tests.rules.evidence import KINDS, Told, pieces, told, unpacked
from tests.rules.pages import put

FILE = Path(__file__).resolve().parents[1] / "data/rules/fired.tsv"
REAL = ("sample", "given", "host")


class Row(NamedTuple):
    """A rule: how many distinct messages of the evidence and of the fact sheets its expression takes, and in how many pieces of each kind it fired
    (in its place, its condition held)."""

    id: str
    messages: int
    sheet: int
    pieces: tuple[int, ...]  # by KINDS


def rows(rules: RuleSet, evidence: Iterable[Told]) -> list[Row]:
    """One row a rule, mark and figure, in the order of the files."""
    counts: dict[str, Counter[str]] = {}
    messages = set()
    for one in evidence:
        messages |= one.lines
        for id_ in one.fired:
            counts.setdefault(id_, Counter())[one.piece.kind] += 1
    matcher = Matcher(rules)
    taken = _taken(matcher, messages)
    sheet = _taken(matcher, {(row.from_, row.text) for table in coverage.tables() for row in coverage.rows(table)})
    ids = [rule.id for rule in rules.rules]
    ids += [item.id for item in matcher.items if item.id not in set(ids)]
    return [Row(id_, taken[id_], sheet[id_], tuple(counts.get(id_, Counter())[kind] for kind in KINDS)) for id_ in ids]


def _taken(matcher: Matcher, messages: Iterable[tuple[Origin, str]]) -> Counter[str]:
    taken: Counter[str] = Counter()
    for origin, text in messages:
        taken.update({hit.rule for hit in matcher.feed(Frame(source="evidence", line_no=1, start=0, text=text, origin=origin))})
    return taken


def gathered(rules: RuleSet) -> list[Told]:
    """All evidence, read."""
    with unpacked() as folder:
        return [one for piece in pieces(Path(folder)) if (one := told(piece, rules, lines=True)) is not None]


def text_of(found: Sequence[Row]) -> str:
    """The table as it stands in the repository."""
    head = "\t".join(["# id", "messages", "sheet", *KINDS])
    return "\n".join([head, *("\t".join([row.id, str(row.messages), str(row.sheet), *map(str, row.pieces)]) for row in found)]) + "\n"


def unreal(found: Sequence[Row]) -> list[str]:
    """Ids that no real evidence fires: at most cases that were made."""
    return [row.id for row in found if not any(count for kind, count in zip(KINDS, row.pieces, strict=True) if kind in REAL)]


def main(words: list[str]) -> int:
    """Print or write the table."""
    rules = load()
    found = rows(rules, gathered(rules))
    put(text_of(found), FILE, words)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

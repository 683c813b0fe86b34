"""Spell out what each expression of the rules takes: one line for every alternative and every part that may be absent, and lines that its anchors and classes keep out.

    python -m tests.rules.spell --write      writes tests/data/rules/wordings.tsv anew; review what changed

The lines say what an expression takes today, so that no change of it goes unnoticed; they are no evidence that a server prints them. That is what the samples in
the rule files, the cases and the facts are for.
"""

from __future__ import annotations

import json
import re
import string
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from forensics.model import Frame, Origin
from forensics.ruleset.anchors import accepts, shape
from forensics.ruleset.loading import load
from forensics.ruleset.scan import Matcher
from forensics.ruleset.schema import RuleSet
from tests.rules.mutants import Mutant, of_line
from tests.rules.pages import put

FILE = Path(__file__).resolve().parents[1] / "data/rules/wordings.tsv"
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_MOST = 400  # spellings of one expression
_TYPICAL = "x7 aA-_./:'\"=,;()[]{}<>#*%&|+@!?~\\$^`\t0123456789" + string.ascii_letters
_FILLS = ("", " ", " x ")  # what stands for a part that may be absent and take anything
_AROUND = (
    '"{}',
    "'{}",
    'it said "{}"',
    "the text '{}' was logged",
    "x{}",
    "{}x",
    "x {}",
    "{} x",
    "7{}",
    "{}7",
    "_{}",
    "{}_",
    ": {}",
    "{}: x",
    "\t{}",
    "{}.",
    "({})",
    '{}"',
)
Path_ = tuple[int, ...]


class Wording(NamedTuple):
    """A line that an expression takes, or does not; and what it captures of it."""

    id: str
    takes: bool
    origin: Origin
    captures: str  # as JSON; empty where it takes nothing
    text: str

    @property
    def expected(self) -> str | None:
        """What ``answer`` has to be."""
        return self.captures if self.takes else None

    def answer(self, item: Any) -> str | None:
        """What an expression captures of the line; None where it does not take it."""
        return _captured(item, self.text)


class _Speller:
    """One walk through a parsed expression; ``choices`` says which alternative to take where, and ``open`` gathers where there were others."""

    def __init__(self, choices: dict[Path_, int], fill: str) -> None:
        self.choices = choices
        self.fill = fill
        self.open: list[tuple[Path_, int]] = []
        self.groups: dict[int, str] = {}

    def text(self, tree: Any, at: Path_ = ()) -> str:
        return "".join(self._node(op.name, value, (*at, number)) for number, (op, value) in enumerate(tree))

    def _choose(self, at: Path_, count: int) -> int:
        self.open.append((at, count))
        return self.choices.get(at, 0)

    def _node(self, op: str, value: Any, at: Path_) -> str:
        if op == "LITERAL":
            return chr(value)
        if op in ("NOT_LITERAL", "IN", "ANY"):
            return next((c for c in _TYPICAL if (op == "ANY" or accepts(op, value, ord(c)))), "é")
        if op == "BRANCH":
            number = self._choose(at, len(value[1]))
            return self.text(value[1][number], (*at, number))
        if op == "SUBPATTERN":
            text = self.groups[value[0]] = self.text(value[3], at)
            return text
        if op in _REPEATS:
            least, most, inner = value
            if self.fill and least <= 1 and most > 2 and _wide(inner):
                return self.fill
            times = least or (self._choose(at, 2) if most else 0)
            return "".join(self.text(inner, at) for _ in range(min(max(times, least), 50)))
        if op == "GROUPREF":
            return self.groups.get(value, "")
        if op == "ATOMIC_GROUP":
            return self.text(value, at)
        return ""


def _wide(inner: Any) -> bool:
    return len(inner) == 1 and inner[0][0].name in ("IN", "ANY", "NOT_LITERAL") and accepts(inner[0][0].name, inner[0][1], ord(" "))


def spellings(pattern: str) -> Iterator[tuple[str, ...]]:
    """Texts that an expression should take, each in several forms; together they go through every alternative, and leave out and put in every part that may be absent."""
    tree = shape(pattern).tree
    done: set[tuple[Path_, int]] = set()
    waiting: list[dict[Path_, int]] = [{}]
    for _ in range(_MOST):
        if not waiting:
            return
        choices = waiting.pop(0)
        spellers = [_Speller(choices, fill) for fill in _FILLS]
        yield tuple(speller.text(tree) for speller in spellers)
        speller = spellers[0]
        for at, count in speller.open:
            for number in range(count):
                if number != speller.choices.get(at, 0) and (at, number) not in done:
                    done.add((at, number))
                    waiting.append({**choices, at: number})


def hits(item: Any) -> list[str]:
    """Spelled lines that the expression really takes, as they are or with a blank or a word around."""
    found = []
    for forms in spellings(item.line):
        around = [f"{a}{text}{b}" for text in forms for a, b in (("", ""), ("", " "), (" ", ""), (" ", " "), ("x ", ""), ("", " x"), ("", "x"))]
        taken = max(
            (text for text in around if _plain(text) and _takes(item, text)), key=lambda text: (_captured(item, text) or "").count(":"), default=None
        )
        if taken is not None:
            found.append(taken)
    return list(dict.fromkeys(found))


def _plain(text: str) -> bool:
    return not re.search(r"[\t\r\n]", text) and text == text.strip("\n")


def _takes(item: Any, text: str) -> bool:
    return _captured(item, text) is not None


def _captured(item: Any, text: str) -> str | None:
    hit = item.match(Frame(source="wording", line_no=1, start=0, text=text, origin=_origin(item)))
    return None if hit is None else json.dumps(hit.captures, ensure_ascii=False) if hit.captures else ""


def _origin(item: Any) -> Origin:
    return item.origin if item.origin is not Origin.ANY else Origin.SERVER


def misses(item: Any, taken: Iterable[str]) -> list[str]:
    """For each anchor and class a line that only a broken expression would take."""
    from dataclasses import replace

    texts = list(taken)
    found: list[str] = []
    for mutant in of_line(item.id, item.line):
        if not mutant.how.startswith(("without ^", "without $", r"without \b", "anything")):
            continue
        other = replace(item, line=mutant.text, compiled=None, figures=None)
        if shape(mutant.text).error is None and not any(_takes(other, text) for text in found):
            text = next((t for t in _candidates(texts, mutant) if _plain(t) and not _takes(item, t) and _takes(other, t)), None)
            if text is not None:
                found.append(text)
    return found


def _candidates(texts: list[str], mutant: Mutant) -> Iterator[str]:
    for text in texts[:40]:
        for form in _AROUND:
            yield form.format(text) if "{}" in form else text
    excluded = [c for c in _TYPICAL + "\"':/" if c in mutant.how]
    for text in texts[:12]:  # the excluded character somewhere in the midst
        for at in range(min(len(text), 160) + 1):
            for char in excluded:
                yield text[:at] + char + text[at:]
                yield f"{text[:at]} {char} {text[at:]}"


def wordings(rules: RuleSet) -> Iterator[Wording]:
    """All lines, by rule in file order."""
    for item in Matcher(rules).items:
        taken = hits(item)
        for text in taken:
            yield Wording(item.id, True, _origin(item), _captured(item, text) or "", text)
        for text in misses(item, taken):
            yield Wording(item.id, False, _origin(item), "", text)


def read() -> list[Wording]:
    """The lines as they are in the repository."""
    rows = (row.split("\t", 4) for row in FILE.read_text(encoding="utf-8").splitlines() if not row.startswith("#"))
    return [Wording(id_, takes == "takes", Origin(origin), captures, text) for id_, takes, origin, captures, text in rows]


def main(words: list[str]) -> int:
    """Print the lines, or write the file."""
    rows = [f"{w.id}\t{'takes' if w.takes else 'leaves'}\t{w.origin}\t{w.captures}\t{w.text}" for w in wordings(load())]
    text = "# id, what it does, origin, captures, line: made by python -m tests.rules.spell --write\n" + "".join(f"{row}\n" for row in rows)
    put(text, FILE, words)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

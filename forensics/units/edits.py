"""Say in words, and truthfully, how one name differs from another. Judges not whether they are near."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from forensics.units.names import parts, unescaped

SEPARATORS = "-_."
_SLIGHT = 0.25  # of the letter's other case, or of another separator: a slip that changes no word
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


class Edit(NamedTuple):
    """One step from what was asked to what exists. ``kind``: swapped, differs, case, separator, extra or missing."""

    kind: str
    asked: str
    meant: str


def edits(asked: str, meant: str) -> list[Edit]:
    """The fewest steps from one to the other, in order, where neighbours that are swapped are one step. Takes the product of both lengths."""
    rows, columns = len(asked) + 1, len(meant) + 1
    cost = [[0.0] * columns for _ in range(rows)]
    for i in range(rows):
        for j in range(columns):
            cost[i][j] = min((cost[i - di][j - dj] + price for di, dj, price, _ in _steps(asked, meant, i, j)), default=0.0)
    found: list[Edit] = []
    i, j = len(asked), len(meant)
    while i or j:
        di, dj, _, kind = min(_steps(asked, meant, i, j), key=lambda step: cost[i - step[0]][j - step[1]] + step[2])
        i, j = i - di, j - dj
        if kind:
            found.append(Edit(kind, asked[i : i + di], meant[j : j + dj]))
    return found[::-1]


def _steps(asked: str, meant: str, i: int, j: int) -> Iterator[tuple[int, int, float, str]]:
    """The steps that can have led to this place: how far back in each, at what price, of what kind."""
    if i and j:
        a, b = asked[i - 1], meant[j - 1]
        if a == b:
            yield 1, 1, 0.0, ""
        elif a.lower() == b.lower():
            yield 1, 1, _SLIGHT, "case"
        elif a in SEPARATORS and b in SEPARATORS:
            yield 1, 1, _SLIGHT, "separator"
        else:
            yield 1, 1, 1.0, "differs"
    if i > 1 and j > 1 and asked[i - 2 : i] == meant[j - 2 : j][::-1] and asked[i - 1] != asked[i - 2]:
        yield 2, 2, 1.0, "swapped"
    if i:
        yield 1, 0, 1.0, "extra"
    if j:
        yield 0, 1, 1.0, "missing"


class Said(NamedTuple):
    """One thing that differs: in words, and the letters that it is about, which may be brackets themselves."""

    what: str
    letters: str = ""


def told(steps: list[Edit]) -> str:
    """``two letters differ (s for n, h for g)``, ``one letter too many (n)``, ``two neighbouring letters are swapped (ga for ag)``."""
    return _listed(f"{one.what} ({one.letters})" if one.letters else one.what for one in _said(steps))


def edit(asked: str, meant: str) -> str:
    """How one word differs from another, of whatever kind they are, to stand within brackets: ``one letter is missing: i``."""
    return _listed(f"{one.what}: {one.letters}" if one.letters else one.what for one in _said(edits(asked, meant)))


def _said(steps: list[Edit]) -> Iterator[Said]:
    counts = Counter(step.kind for step in steps)
    if n := counts["swapped"]:
        pairs = "two neighbouring" if n == 1 else f"{_number(n)} pairs of neighbouring"
        yield Said(f"{pairs} {_word(steps, 'swapped', 2)} are swapped", _shown(steps, "swapped"))
    if n := counts["differs"]:
        yield Said(f"{_number(n)} {_word(steps, 'differs', n)} differ{'s' if n == 1 else ''}", _shown(steps, "differs"))
    if n := counts["extra"]:
        yield Said(f"{_number(n)} {_word(steps, 'extra', n)} too many", "".join(s.asked for s in steps if s.kind == "extra"))
    if n := counts["missing"]:
        yield Said(
            f"{_number(n)} {_word(steps, 'missing', n)} {'is' if n == 1 else 'are'} missing", "".join(s.meant for s in steps if s.kind == "missing")
        )
    if counts["separator"]:
        yield Said(f"it is written with {_shown(steps, 'separator')}")
    if counts["case"]:
        yield Said("upper and lower case differ" if len(counts) > 1 else "only upper and lower case differ")


def _listed(pieces: Iterable[str]) -> str:
    said = list(pieces)
    return " and ".join([", ".join(said[:-1]), said[-1]] if len(said) > 1 else said)


def difference(asked: str, meant: str, *, sure: bool = True) -> str:
    """The whole sentence: which name does not exist, which does, and how they differ. Not ``sure``: the evidence speaks of one and not of the other."""
    if not sure:
        return f"the evidence says nothing of {asked}, and speaks of {_named(meant)}: {_how(asked, meant)}"
    return f"{asked} does not exist; {_named(meant)} does: {_how(asked, meant)}"


def _how(asked: str, meant: str) -> str:
    ours, theirs = parts(asked), parts(meant)
    kind = f"a {theirs.suffix}, not a {ours.suffix}" if theirs.suffix else "run by a container engine, not by systemd"
    if ours.suffix == theirs.suffix:
        return _stems(asked, meant)
    if ours.stem == theirs.stem:
        return kind
    return f"{kind}, and {_stems(asked, meant)}"


def _stems(asked: str, meant: str) -> str:
    ours, theirs = parts(asked), parts(meant)
    if ours.base == theirs.base and ours.stem != theirs.stem:
        if not ours.instance and theirs.instance:
            return f"an instance of the template {theirs.base}@" if ours.instance is None else "the only instance of this template"
        if theirs.instance is None:
            return "it has no instances"
        if ours.instance is not None and unescaped(ours.instance) == unescaped(theirs.instance):
            return "its instance is written escaped"
    return told(edits(ours.stem, theirs.stem))


def _named(meant: str) -> str:
    return meant if parts(meant).suffix else f"the container {meant}"


def _shown(steps: list[Edit], kind: str) -> str:
    return ", ".join(dict.fromkeys(f"{step.asked} for {step.meant}" for step in steps if step.kind == kind))


def _number(n: int) -> str:
    return _NUMBERS[n] if n < len(_NUMBERS) else str(n)


def _word(steps: list[Edit], kind: str, n: int) -> str:
    letters = all((step.asked + step.meant).isalpha() for step in steps if step.kind == kind)
    return ("letter" if letters else "character") + ("s" if n != 1 else "")

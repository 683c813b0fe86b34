"""Judge measured trees: do answers or acceptance collapse as the tree gets wider, and may chance alone explain it? Reads matrices, never a log.

A lossless method gives the answers of the plain run at every width, and a tree that holds another as a part is accepted at least as long. Signatures of a tree
mask that is ignored, or read with a wrong stride, were measured on a real server: with one branch nothing differs, with several the answers break.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from forensics import lazily, significance
from forensics.model import BenchRun, Evidence, Matrix
from forensics.reason.trees import FEWEST, SPREAD, Cell, by_chance, looked_for

DROP = 0.15  # of the share of right answers: less is not worth a night, however sure
CHANCE = 0.005  # a matrix is called wrong by chance once in two hundred
MOST_ASKED = 400  # shares of more answers than that give no denominator away
FEWEST_ASKED = 8  # answers of the wide tree: of fewer nothing is said, however many the others gave
_OF_DRAFTS = lazily.pattern("draft|algorithm")
MOST_ALIKE, LONGEST = 3, 40  # series that are named beside the worst, and characters of a value in their names
ALONE = 6  # rows on each side, where a row is worth one answer


class Acceptance(NamedTuple):
    """One series: trees measured under the same conditions. Shares 0…1, lengths in tokens a step, ``chance`` that nothing but luck is behind the fall.

    ``narrow`` is a single branch (or the plain run), ``wide`` the branching tree that differs most from it.
    """

    narrow: float | None = None
    wide: float | None = None
    narrow_len: float | None = None
    wide_len: float | None = None
    narrow_right: tuple[int, int] | None = None  # right answers, of how many
    wide_right: tuple[int, int] | None = None
    chance: float | None = None
    length_chance: float | None = None
    shorter_than: str | None = None  # the tree that is accepted longer, though it is a part of the wide one
    narrow_label: str | None = None
    wide_label: str | None = None
    first_bad: str | None = None
    settings: str = ""
    where: str = ""  # which of several series: what it was measured under and the others were not
    alike: tuple[str, ...] = ()  # the others in which the same is seen
    by_width: tuple[tuple[str, float], ...] = ()  # label and acceptance length, narrow to wide
    lines: tuple[Evidence, ...] = ()
    cells: tuple[Cell, ...] = ()  # all of the series, narrow to wide
    branching: int = 0  # how many of them, the last, have several branches
    plain: tuple[Cell, ...] = ()  # without speculation, under the same conditions

    @property
    def drop(self) -> float | None:
        """How much of the share of right answers is lost from the narrow tree to the wide one."""
        return None if self.narrow is None or self.wide is None else self.narrow - self.wide

    @property
    def length_drop(self) -> float | None:
        """How much of the acceptance length is lost against the tree that is a part of the wide one; None where no tree is."""
        if self.length_chance is None:
            return None
        return 1 - (self.wide_len or 0.0) / self.narrow_len if self.shorter_than is not None and self.narrow_len else 0.0

    @property
    def told(self) -> str | None:
        """The figures in words; None where too little was measured to say anything."""
        if self.chance is not None and self.drop is not None and self.drop >= DROP:
            of = [f"{right} of {n}" for right, n in filter(None, (self.narrow_right, self.wide_right))] or [f"{self.narrow:.0%}", f"{self.wide:.0%}"]
            figures = f"{of[0]} right with {self.narrow_label}, {of[1]} with {self.wide_label}"
            return f"{self._named}{figures}; {by_chance(self.chance)}{self._others}"
        if self.shorter_than is not None and self.length_chance is not None:
            figures = f"{self.narrow_len:.2f} tokens a step with {self.shorter_than}, {self.wide_len:.2f} with {self.wide_label}"
            return f"{self._named}{figures}; {by_chance(self.length_chance)}{self._others}"
        return None

    @property
    def _named(self) -> str:
        return f"{self.where}: " if self.where else ""

    @property
    def _others(self) -> str:
        more = f" and {len(self.alike) - MOST_ALIKE} more" if len(self.alike) > MOST_ALIKE else ""
        return f"; the same with {', '.join(self.alike[:MOST_ALIKE])}{more}" if self.alike else ""

    @property
    def falls(self) -> bool:
        """Whether the answers or the lengths fall, and by more than chance."""
        fallen = ((self.drop, self.chance), (self.length_drop, self.length_chance))
        return any(drop is not None and drop >= DROP and chance is not None and chance < CHANCE for drop, chance in fallen)

    @property
    def likeliness(self) -> tuple[float, float]:
        """What sorts series, the most telling first: how unlikely the fall of the answers is, then that of the length."""
        return (1.0 if self.chance is None else self.chance, 1.0 if self.length_chance is None else self.length_chance)


def acceptance(benches: tuple[BenchRun, ...]) -> Acceptance | None:
    """The series that falls most; None where nothing was measured by width."""
    found = [one for bench in benches for one in judged(bench)]
    if len(found) < 2:
        return found[0] if found else None
    told = told_apart(found)
    worst = min(range(len(found)), key=lambda n: found[n].likeliness)
    alike = tuple(dict.fromkeys(told[n] for n, other in enumerate(found) if n != worst and other.falls and told[n] not in ("", told[worst])))
    return found[worst]._replace(where=told[worst], alike=alike)


def told_apart(series: Sequence[Acceptance]) -> list[str]:
    """``variant=stride concurrency=16`` for each: the file and the settings in which they differ."""
    named = [{"file": one.lines[0].source.rpartition("/")[2] if one.lines else "", **dict(one.cells[-1].settings)} for one in series]
    differing = [name for name in dict.fromkeys(chain(*named)) if len({one.get(name) for one in named}) > 1]
    return [" ".join(f"{name}={_short(one[name])}" for name in differing if one.get(name)) for one in named]


def _short(value: str) -> str:
    return value if len(value) <= LONGEST else f"{value[: LONGEST - 1]}…"


def judged(bench: BenchRun) -> Iterator[Acceptance]:
    """Each series of a result by itself."""
    for straight, branching, alone in _parted(bench):
        if branching and (straight or alone):
            yield _judge(straight or alone, branching)._replace(branching=len(branching), plain=tuple(alone))


def unjudged(bench: BenchRun) -> list[Cell]:
    """Trees with several branches of the series that have neither a single branch nor a plain run to be held against."""
    return [cell for straight, branching, alone in _parted(bench) if not straight and not alone for cell in branching]


def _parted(bench: BenchRun) -> Iterator[tuple[list[Cell], list[Cell], list[Cell]]]:
    """For each series the trees with a single branch, those with several, and the plain run; narrow to wide."""
    asked = _asked(bench.matrix)
    for plain, rows in _series(bench.matrix):
        cells, alone = (_cells(bench.source, group, asked) for group in (rows, plain))
        straight = [c for c in cells if (c.topk or 0) <= 1] if any(c.topk is not None for c in cells) else cells[:1]
        yield straight, cells[len(straight) :], alone


def _series(matrix: Sequence[Matrix]) -> Iterator[tuple[list[Matrix], list[Matrix]]]:
    """Rows that were measured under the same conditions, each with the plain run of these conditions; narrow to wide."""
    rows = [r for r in matrix if r.budget is not None or r.topk is not None]
    plain: dict[tuple[tuple[str, str], ...], list[Matrix]] = {}
    groups: dict[tuple[tuple[str, str], ...], list[Matrix]] = {}
    for row in rows:
        if not row.budget and not (row.topk or 0) > 1:
            plain.setdefault(_conditions(row.settings), []).append(row)
        else:
            groups.setdefault(row.settings, []).append(row)
    for settings, members in groups.items():
        yield plain.get(_conditions(settings), []), sorted(members, key=lambda r: ((r.topk or 0) > 1, r.budget or 0, r.topk or 0))


def _conditions(settings: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """What the plain run has in common with the runs that it is the measure of: its own variant has a name of its own, and nothing drafts for it."""
    return tuple(pair for pair in settings if pair[0] != "variant" and not _OF_DRAFTS.search(pair[0]))


def _cells(source: str, rows: Sequence[Matrix], asked: int | None) -> list[Cell]:
    """One for each tree, in the order of the rows: what was measured of it again and again is one."""
    trees: dict[tuple[int | None, int | None, int | None], list[Matrix]] = {}
    for row in rows:
        trees.setdefault((row.topk, row.budget, row.steps), []).append(row)
    return [_cell(source, members, asked) for members in trees.values()]


def _cell(source: str, rows: Sequence[Matrix], asked: int | None) -> Cell:
    """Repetitions ask the same questions, and a tie that breaks the wrong way does so each time: their answers count as those of one run."""
    from statistics import fmean  # which loads fractions, decimals and random generators

    lengths = [r.accept_len for r in rows if r.accept_len]
    shares = [r.correct for r in rows if r.correct is not None]
    first = rows[0]
    # of several the one that says most of what their mean says
    told = min(rows, key=lambda r: (r.correct is None, abs((r.correct or 0.0) - fmean(shares))) if shares else (False, 0.0))
    return Cell(
        label=first.label,
        topk=first.topk,
        budget=first.budget,
        steps=first.steps,
        correct=fmean(shares) if shares else None,
        asked=max((r.asked or asked or 0 for r in rows if r.correct is not None), default=0) or None,
        lost=sum(r.lost for r in rows),
        length=fmean(lengths) if lengths else first.accept_len,
        error=_error(rows, lengths),
        samples=tuple(lengths) if len(lengths) >= FEWEST else (),
        lengths=tuple(lengths),
        settings=first.settings,
        lines=(Evidence(source=source, line=told.line_no, text=told.text),),
    )


def _error(rows: Sequence[Matrix], lengths: Sequence[float]) -> float:
    """Standard error of an acceptance length. Of so many steps, each between 1 and depth + 1 tokens, it has no greater one than this."""
    from statistics import fmean, stdev  # which loads fractions, decimals and random generators

    if not lengths:
        return 0.0
    length, most = fmean(lengths), max(*lengths, (rows[0].steps or rows[0].budget or 8) + 1.0)
    drafts = [r.drafts for r in rows if r.accept_len]
    if all(drafts):
        return max(math.sqrt(max(length - 1, 0.0) * (most - length) / sum(n or 0 for n in drafts)), 0.005 * length)
    among = stdev(lengths) if len(lengths) >= FEWEST else 0.0
    return max(SPREAD * length, among) / math.sqrt(len(lengths))


def _asked(matrix: Sequence[Matrix]) -> int | None:
    """How many answers each share is of, where no row says: the least number that gives all of them (0.6875 and 0.375 are of sixteen).

    One of them has to need it: 0.5417 and 0.675 are of 24 and 40, and not both of 120.
    """
    shares = [r.correct for r in matrix if r.correct is not None and r.asked is None]
    if all(share in (0.0, 1.0) for share in shares):
        return None
    found = _least(shares)
    return found if found is not None and any(_least([share]) == found for share in shares) else None


def _least(shares: Sequence[float]) -> int | None:
    return next(
        (n for n in range(2, MOST_ASKED) if all(abs(share * n - round(share * n)) <= 0.0005 * n + 1e-9 and _close(share, n) for share in shares)),
        None,
    )


def _close(share: float, n: int) -> bool:
    """As it would be printed with four digits, or with three."""
    exact = round(share * n) / n
    return abs(exact - share) < 0.000051 or round(exact, 3) == share or round(exact, 2) == share


def _judge(straight: Sequence[Cell], branching: Sequence[Cell]) -> Acceptance:
    narrow, wide, chance, counts = _answers(straight, branching)
    fall, paired = looked_for(straight, branching)
    length_chance = fall.chance if fall is not None else 1.0 if paired else None
    if fall is not None and (wide is None or (1.0 if chance is None else chance) >= CHANCE > fall.chance):
        narrow, wide = fall.narrow, fall.wide
    wide, narrow = wide or branching[-1], narrow or straight[-1]
    bad = next((c for c in branching if _less_right(c, narrow)), None)
    lines = tuple(dict.fromkeys(line for c in (wide, bad or wide, narrow) for line in c.lines))
    return Acceptance(
        narrow=narrow.correct,
        wide=wide.correct,
        narrow_len=narrow.length,
        wide_len=wide.length,
        narrow_right=counts[0],
        wide_right=counts[1],
        chance=chance,
        length_chance=length_chance,
        shorter_than=fall.narrow.tree if fall is not None else None,
        narrow_label=narrow.tree if len(straight) == 1 else "a single branch",
        wide_label=wide.tree,
        first_bad=bad.tree if bad is not None and chance is not None and chance < CHANCE else None,
        settings=", ".join(f"{name} {value}" for name, value in wide.settings),
        by_width=tuple((c.label, c.length) for c in chain(straight, branching) if c.length is not None),
        lines=lines,
        cells=(*straight, *branching),
    )


def _less_right(cell: Cell, narrow: Cell) -> bool:
    return cell.correct is not None and narrow.correct is not None and cell.correct < narrow.correct - DROP


# --------------------------------------------------------------------------- answers

_Counts = tuple[tuple[int, int] | None, tuple[int, int] | None]


def _answers(straight: Sequence[Cell], branching: Sequence[Cell]) -> tuple[Cell | None, Cell | None, float | None, _Counts]:
    """The narrow and the wide tree that tell most, and the chance of so great a fall; corrected for how many trees it was looked for in."""
    narrow = [c for c in straight if c.correct is not None]
    wide = [c for c in branching if c.correct is not None]
    if not narrow or not wide:
        return None, None, None, (None, None)
    right = sum(c.correct or 0.0 for c in narrow) / len(narrow)
    typical = min(narrow, key=lambda c: (abs((c.correct or 0.0) - right), -(c.budget or 0)))
    worst = min(wide, key=lambda c: (c.correct or 0.0, -(c.budget or 0)))
    # of all narrow trees together: they were asked the same, so that what differs between them is luck, and what they have in common is not
    theirs = [count for c in narrow if (count := c.answers)]
    if not theirs or all(c.answers is None for c in wide):
        return typical, worst, *_by_rows(narrow, wide)
    together = (sum(right for right, _ in theirs), sum(n for _, n in theirs))
    told = {
        c: significance.fewer(*count, *together) for c in wide if (count := c.answers) and count[1] >= FEWEST_ASKED and together[1] >= FEWEST_ASKED
    }
    if not told:
        return typical, worst, 1.0, (together, worst.answers)
    # the least likely, not the one with the least share: 0 of 8 tells less than 20 of 200
    worst = min(told, key=lambda c: (told[c], c.correct or 0.0, -(c.budget or 0)))
    return typical, worst, min(1.0, told[worst] * len(wide)), (together, worst.answers)


def _by_rows(narrow: Sequence[Cell], wide: Sequence[Cell]) -> tuple[float | None, _Counts]:
    """Nobody says of how many answers a share is: each tree is worth one."""
    if len(narrow) + len(wide) < ALONE:
        return None, (None, None)
    good, all_good = (sum((c.correct or 0.0) > 0.5 for c in cells) for cells in (wide, narrow))
    return significance.fewer(good, len(wide), all_good, len(narrow)), (None, None)

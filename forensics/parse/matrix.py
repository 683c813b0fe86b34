"""Read measured configurations of a benchmark, one a row: tree width and settings against what came out. Never says which of them are bad.

A row is a JSON object, ``key=value`` pairs of a printed line, or a line of a table. Which names mean what the rules say (``Columns``), with names of one's own.
Whether 0.5 is a half or half a per cent, and 12 a count or per cent, no row says by itself: rows are ``read`` one by one and ``settled`` together.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from forensics import lazily
from forensics.errors import UsageError
from forensics.model import NO_COLUMNS, Columns, Matrix
from forensics.parse.wording import classify

_FEW_LOST = 0.05  # of what was asked: with more of them unanswered, a share of right answers is not one of answers
_MOST_SAID = 100
_LONGEST = 60  # characters of what may be a condition: more are an output
_NOTHING = ("", "-", "n/a", "na", "nan", "none", "null", "true", "false")
MOST = 10**12  # of requests, answers or tokens: more is no count, and what is reckoned of it would not be exact
_PAIR = lazily.pattern(r"(?P<key>[a-z_]{2,40})\s*[=:]\s*(?P<value>-?\d+(?:\.\d+)?)")
_PERCENT = lazily.pattern(r"\s*(-?\d{1,9}(?:\.\d{1,12})?)\s*%\s*")
_OF = lazily.pattern(r"\s*(\d{1,9})\s*(?:/|of)\s*(\d{1,9})\s*")
_DECIMAL_COMMA = lazily.pattern(r"-?\d{1,9},\d{1,12}")
_SHARE_NAME = lazily.pattern(r"rate|acc|pct|percent|%|match|share|ratio")
_TRUTHS = {"true": 1.0, "false": 0.0}


def fields_of(text: str, columns: Columns) -> dict[str, str]:
    """``mine=accept_len,width=budget`` as a mapping. Every name that is read as such may stand on the right: it means the first of its list.

    Raises UsageError, saying which of them is no pair, names nothing that is known, or is said twice.
    """
    found: dict[str, str] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        own, sign, meant = (part.strip() for part in pair.partition("="))
        if not (own and sign and meant):
            raise UsageError(f"{pair!r} is no pair of names", hint="NAME=MEANING, several with commas: my_len=accept_len,my_width=budget")
        name = next((names[0] for names in columns.measured if meant in names), meant)
        if name not in columns.known:
            import difflib

            near = difflib.get_close_matches(meant, [*(n for names in columns.measured for n in names), *columns.conditions], 1)
            hint = f"did you mean {near[0]!r}?" if near else f"one of {', '.join(columns.known)}"
            raise UsageError(f"nothing is called {meant!r} in a matrix", hint=hint)
        if own in found or name in found.values():
            raise UsageError(f"{own if own in found else meant!r} is given twice")
        found[own] = name
    return found


class Right(NamedTuple):
    """A share of right answers as it stands, of how many where it says so itself, and its scale."""

    name: str
    share: float
    of: int | None
    scale: str


class Read(NamedTuple):
    """A row with its share of right answers as it stood. ``scale``: share (surely 0…1), each (one answer), percent or count (what its name says of a number above 1)."""

    row: Matrix
    scale: str
    question: str = ""
    lost: float = 0.0  # requests that got no answer
    failed: float = 0.0  # … or whose answer was wrong
    otherwise: tuple[Right, ...] = ()  # what else it says of its answers
    texts: tuple[tuple[str, str], ...] = ()  # what it says in words under names that no rule has

    @property
    def measured(self) -> bool:
        """Whether anything came out: else its cells are empty, or hold no number."""
        return self.row.correct is not None or self.row.accept_len is not None


def snake(label: str) -> str:
    """``Mean E2E Latency (ms)`` → ``mean_e2e_latency_ms``."""
    return re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")


def number_of(value: object) -> float | None:
    """A finite number, from JSON or from text with thousands separators; a bool is none."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    try:
        number = float(value.replace(",", "") if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def first(values: Mapping[str, Any], names: Sequence[str]) -> float | None:
    """The first of these names that holds a number."""
    for name in names:
        if (value := number_of(values.get(name))) is not None:
            return value
    return None


def count(values: Mapping[str, Any], names: Sequence[str]) -> int | None:
    """The first of these names that holds a count."""
    number = first(values, names)
    return int(number) if number is not None and 0 <= number <= MOST else None


def printed(lines: Sequence[str], first_line: int = 1, columns: Columns = NO_COLUMNS) -> Iterator[Read]:
    """Rows of ``budget=32 topk=4 … accept_len=2.8 coding_pass=0.125``, or of a table (``|``, commas, semicolons or blanks) whose head names such columns."""
    head: list[str] = []
    meant = _meant(columns)
    own_names = {name: own for own, name in meant.items()}
    for number, raw in enumerate(lines, first_line):
        if len(raw) > 2000 or not (head or _names_width(raw, columns)):
            continue
        line = raw.strip()
        cells = _cells(line)
        names = _names(cells, meant)
        if _names_matrix(names, columns):
            head = names
            continue
        if head and len(cells) == len(head):
            values: dict[str, Any] = dict(zip(head, cells, strict=True))
        else:
            if line and set(line) - set("|-+: ="):
                head = head if len(cells) > 1 and "|" in line else []
            values = {meant.get(found["key"], found["key"]): found["value"] for found in _PAIR.finditer(line)}
            if not _names_matrix(list(values), columns):
                continue
        found_row = read(values, number, line, columns, called=own_names)
        if found_row is not None:
            yield found_row


def is_head(line: str, columns: Columns) -> bool:
    """Whether a line is the head of a table of such rows."""
    return len(line) <= 2000 and _names_width(line, columns) and _names_matrix(_names(_cells(line.strip()), _meant(columns)), columns)


def _meant(columns: Columns) -> dict[str, str]:
    """Names of an own harness, as cells of a head are compared, and what they mean."""
    return {snake(own): name for own, name in columns.own.items()}


def _names(cells: Iterable[str], meant: Mapping[str, str]) -> list[str]:
    return [meant.get(name := snake(cell), name) for cell in cells]


def read(
    values: Mapping[str, Any], line_no: int, text: str, columns: Columns = NO_COLUMNS, *, called: Mapping[str, str] | None = None
) -> Read | None:
    """One configuration; None where it names no width, or nothing that came out (a cell that holds no number is one that nobody measured, and is kept as that).

    A budget of 0 is the run without speculation.
    ``called``: what those names are in the file that were renamed already; else names of an own harness are put beside their own.
    """
    if called is None and columns.own:
        called = {meant: own for own, meant in columns.own.items() if own in values}
        values = {**values, **{meant: values[own] for meant, own in called.items()}}
    budget, topk = count(values, columns.budget), count(values, columns.topk)
    accept = first(values, columns.accepted)
    judged = [found for name in _measures(columns, budget, topk) if (found := _right(name, values.get(name), called)) is not None]
    name, correct, of, scale = judged[0] if judged else ("", None, None, "share")
    unanswered = _unanswered(values, columns)
    if (budget is None and topk is None) or (accept is None and not name and not unanswered and columns.outcomes.isdisjoint(values)):
        return None
    steps, asked, drafts = (count(values, names) for names in (columns.steps, columns.asked, columns.drafted))
    label = next((str(values[name]) for name in columns.label if values.get(name)), "")
    if not label:
        label = " ".join(f"{name}={value}" for name, value in (("budget", budget), ("topk", topk)) if value is not None)
    row = Matrix(
        line_no=line_no,
        text=text,
        label=label,
        topk=topk,
        budget=budget,
        steps=steps,
        accept_len=None if accept is not None and accept < 0 else accept,
        correct=correct,
        asked=of or asked or None,
        drafts=drafts or None,
        speed=first(values, columns.speed),
        settings=_settings(values, columns),
    )
    question = next((str(values[name])[:80] for name in columns.question if values.get(name) not in (None, "")), "")
    lost = math.inf if unanswered else first(values, columns.lost) or 0.0
    return Read(row, scale, question, lost, first(values, columns.lost_or_wrong) or 0.0, tuple(judged[1:]), _texts(values, columns))


def _unanswered(values: Mapping[str, Any], columns: Columns) -> bool:
    """Whether a row says that its requests were refused, timed out or met an error of the server: what it counts as wrong nobody answered."""
    told = [item for name in columns.why for item in (values[name] if isinstance(values.get(name), list) else [values.get(name)])]
    return any(isinstance(item, str) and classify(item) is not None for item in told[:_MOST_SAID])


def _measures(columns: Columns, budget: int | None, topk: int | None) -> tuple[str, ...]:
    """The names under which a row may hold its share of right answers."""
    plain = not budget and not topk and 0 in (budget, topk)
    return tuple(name for name in columns.correct if not (plain and name in columns.against_plain))


def _settings(values: Mapping[str, Any], columns: Columns) -> tuple[tuple[str, str], ...]:
    """What a row says of its conditions, itself or in a mapping of its own: ``"sampling": {"temperature": 0}``."""
    inner = {name: told for item in values.values() if isinstance(item, dict) for name, told in item.items()}
    said = {**inner, **values}
    return tuple(
        (name, str(said[name])[:80]) for name in columns.conditions if said.get(name) not in (None, "") and not isinstance(said[name], (dict, list))
    )


def _texts(values: Mapping[str, Any], columns: Columns) -> tuple[tuple[str, str], ...]:
    told = ((name, item.strip()) for name, item in values.items() if isinstance(item, str) and name not in columns.named)
    return tuple((name, text[: _LONGEST + 1]) for name, text in told if text.lower() not in _NOTHING)


def _under_conditions(reads: list[Read]) -> list[Read]:
    """Words that several trees have in common and others have not are what they were measured under, under whatever name; a word of each tree's own is its name or its output."""
    names = {name for r in reads for name, _ in r.texts}
    if not names:
        return reads
    trees = {(r.row.topk, r.row.budget) for r in reads if r.row.budget or (r.row.topk or 0) > 1}
    said: dict[str, dict[object, set[str]]] = {name: {tree: set() for tree in trees} for name in sorted(names)}
    for r in reads:
        if (tree := (r.row.topk, r.row.budget)) in trees:
            texts = dict(r.texts)
            for name, by_tree in said.items():
                by_tree[tree].add(texts.get(name, ""))
    singly = any(r.scale == "each" for r in reads)
    conditions = {name for name, by_tree in said.items() if _is_condition(list(by_tree.values()), singly)}
    return [r._replace(row=replace(r.row, settings=(*r.row.settings, *(pair for pair in r.texts if pair[0] in conditions)))) for r in reads]


def _is_condition(by_tree: Sequence[set[str]], singly: bool) -> bool:
    """``singly``: rows are answers, and what differs within one tree is said of them."""
    every = set[str]().union(*by_tree)
    if any(len(text) > _LONGEST or not (text == "" or text[0].isalpha()) for text in every) or (singly and any(len(texts) > 1 for texts in by_tree)):
        return False
    return any(texts != by_tree[0] for texts in by_tree) and sum(map(len, by_tree)) > len(every)


def settled(found: Iterable[Read]) -> tuple[Matrix, ...]:
    """All rows of one result, with shares 0…1: by what all of them together can mean. A share that can mean nothing is none, nor is one of requests that were lost."""
    reads = _under_conditions(list(found))
    if not any(r.measured for r in reads):
        return ()
    plain = [r.row.correct for r in reads if r.scale in ("percent", "count") and r.row.correct is not None]
    counted = [r.row for r in reads if r.scale == "count" and r.row.correct is not None]
    if max(plain, default=0.0) <= 1.0:
        by = "share"
    elif len(counted) == len(plain) and all(r.asked and (r.correct or 0.0) <= r.asked and (r.correct or 0.0).is_integer() for r in counted):
        by = "count"
    else:
        by = "percent"
    singly = any(r.scale == "each" for r in reads)
    each = [r.scale == "each" or (singly and r.row.correct is None and r.lost == math.inf) for r in reads]
    return tuple(
        [_scaled(r, by) for r, one in zip(reads, each, strict=True) if not one] + _counted([r for r, one in zip(reads, each, strict=True) if one])
    )


def otherwise(found: Sequence[Read]) -> dict[str, tuple[Matrix, ...]]:
    """The same by each other measure of right answers that rows have beside the one that counts: answers alone."""
    names = dict.fromkeys(right.name for r in found for right in r.otherwise)
    return {name: settled(_by(right, r) for r in found for right in r.otherwise if right.name == name) for name in names}


def _by(right: Right, found: Read) -> Read:
    return found._replace(row=replace(found.row, correct=right.share, asked=right.of or found.row.asked, accept_len=None), scale=right.scale)


def _scaled(found: Read, by: str) -> Matrix:
    row = found.row
    if row.correct is None:
        return replace(row, lost=_how_many(found)) if found.lost else row
    of = 1.0 if found.scale == "share" or by == "share" else 100.0 if by == "percent" else float(row.asked or 1)
    share = row.correct / of
    lost = found.lost if found.lost or not row.asked or abs(row.asked * (1 - share) - found.failed) < 1 else found.failed
    if by == "percent" and found.scale != "share" and 0.0 < row.correct <= 1.0:
        return replace(row, correct=None)  # half a per cent, or a half: whole answers of any number that are the one can be the other
    answered = not lost or (row.asked is not None and lost <= _FEW_LOST * row.asked)
    return replace(row, correct=share if answered and 0.0 <= share <= 1.0 else None, lost=0 if answered else _how_many(found._replace(lost=lost)))


def _how_many(found: Read) -> int:
    """Requests that got no answer, of at least how many a row says so: where it says it in words alone, of all that it asked."""
    told = found.lost if math.isfinite(found.lost) else found.failed or found.row.asked or 1
    return int(min(told, MOST))


def _counted(reads: Sequence[Read]) -> list[Matrix]:
    """Rows of one answer each as one row a tree: how many of the different questions were answered right."""
    trees: dict[tuple[object, ...], list[Read]] = {}
    for found in reads:
        trees.setdefault((found.row.topk, found.row.budget, found.row.steps, found.row.settings), []).append(found)
    rows = []
    for tried in trees.values():
        members = [r for r in tried if not r.lost]
        if not members:
            rows.append(replace(tried[0].row, correct=None, accept_len=None, lost=len(tried)))
            continue
        lengths = [r.row.accept_len for r in members if r.row.accept_len is not None]
        rows.append(replace(
            members[0].row, correct=_mean([r.row.correct or 0.0 for r in members]), accept_len=_mean(lengths) if lengths else None,
            asked=len({r.question or number for number, r in enumerate(members)}), lost=len(tried) - len(members),
        ))  # fmt: skip
    return rows


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _right(name: str, value: object, called: Mapping[str, str] | None) -> Right | None:
    if isinstance(value, bool) or (isinstance(value, str) and value.strip().lower() in _TRUTHS):
        return Right(name, _TRUTHS[str(value).strip().lower()], 1, "each")
    if isinstance(value, str):
        if part := _PERCENT.fullmatch(value):
            return Right(name, float(part[1]) / 100, None, "share")
        if (part := _OF.fullmatch(value)) and 0 < int(part[2]) >= int(part[1]):
            return Right(name, int(part[1]) / int(part[2]), int(part[2]), "share")
    number = number_of(value)
    if number is None or number < 0:
        return None
    return Right(name, number, None, "percent" if _SHARE_NAME.search((called or {}).get(name, name).lower()) else "count")


def _names_width(line: str, columns: Columns) -> bool:
    """Whether a line can name a width at all, asked of every line of a client."""
    low = line.lower()
    return any(name in low for name in columns.widths) or any(own.lower() in low for own in columns.own)


def _cells(line: str) -> list[str]:
    if line.count("|") >= 2:
        return [cell.strip() for cell in line.strip("|").split("|")]
    mark = max(",;\t", key=line.count)
    if line.count(mark) < 2:
        return line.split()
    import csv

    try:
        cells = [cell.strip() for cell in next(csv.reader([line], delimiter=mark, skipinitialspace=True), [])]
    except csv.Error:
        cells = [cell.strip() for cell in line.split(mark)]
    return [cell.replace(",", ".") if mark != "," and _DECIMAL_COMMA.fullmatch(cell) else cell for cell in cells]


def _names_matrix(names: Sequence[str], columns: Columns) -> bool:
    return not columns.widths.isdisjoint(names) and not columns.outcomes.isdisjoint(names)

"""Hold two results of one benchmark against each other: what got worse beyond noise, and what did not. Judges figures only, never why they changed."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from forensics import lazily, significance
from forensics.errors import TargetError
from forensics.model import BenchRun, Matrix
from forensics.model.comparison import FAILED, Comparison, Difference, Judgement
from forensics.model.facts import NOT_SET
from forensics.parse.called import called
from forensics.parse.unlike import reckoned, unlike
from forensics.ruleset.shipped import shipped_rules

if TYPE_CHECKING:
    from forensics.ruleset.schema import RuleSet

TOLERANCE = 0.05
CHANCE = 0.001  # above it a difference is what the same benchmark run twice may give: a result has a dozen figures, and CI asks every day
OF_REPETITIONS = 0.05  # of a handful of repetitions no more can be asked
OF_FAILURES = 0.05  # one figure of each pair, and what it tells is no noise of a clock: a request that failed was not answered
_UP = lazily.pattern(
    r"throughput|tok(?:en)?s?_per_s|requests_per_second|goodput|accept|accuracy|pass|correct|match|(?:^|_)acc(?:_|$)|score|cache_hit|(?:^|_)f1$|speed|came_back"
)
_DOWN = lazily.pattern(r"ttft|tpot|itl|e2el?(?:_|$)|latency|step_time|invalid")
# what was asked for or merely counted, how far values lay apart, and greatest values, which belong to one request: no figure to judge by
_NEITHER = lazily.pattern(r"^std_|^max_|^peak_|request_rate|num_prompts|drafts|draft_tokens|accepted_tokens|concurrency|total_(?!token_throughput)")
_OF = lazily.pattern(r"(?:(?P<kind>mean|avg|median|p\d{1,2}(?:\.\d+)?)_)?(?P<what>ttft|tpot|itl|e2e_latency|e2el|latency)(?:_m?s)?$")
_SAMPLES = {
    "ttft": ("ttfts",), "tpot": ("tpots",), "itl": ("itls",), "e2e_latency": ("e2e_latencies", "latencies"), "e2el": ("e2e_latencies", "latencies"),
    "latency": ("latencies",),
}  # fmt: skip
_SHARES = lazily.pattern(r"accuracy|pass|correct|match|(?:^|_)acc(?:_|$)|invalid|rate$|(?:^|_)f1$|share")
# what tools call by one name and reckon each in its own way: the gaps of one request, or all gaps, with or without the first token
_OWN = lazily.pattern(r"(?:^|_)(?:itl|tpot)(?:_|$)")
CORRECT, LENGTH, CAME_BACK = "correct", "acceptance length", "share of the tokens that came back"
HALF = 0.5  # of the tokens that were generated: with fewer in the answers, they were turned away or cut, and quick for that
WELCH = "Welch"
Runs = Sequence[BenchRun]
Rows = Sequence[Matrix]
T = TypeVar("T")


def compare(
    base_word: str, new_word: str, *, tolerance: float = TOLERANCE, fields: str | None = None, load: Callable[[str], Runs] | None = None
) -> Comparison:
    """Two files (folders, bundles) with results of one benchmark: the new one against the base.

    A figure is worse where it moved the wrong way by more than ``tolerance`` (0.05: five per cent of the base; of figures that are shares themselves, five
    points) and, where the results hold enough to tell, by more than chance does. Failed requests are worse where chance explains their rise with less than 5 %,
    or where none failed before and more than ``tolerance`` of them do now; a lesser rise is a warning.
    ``fields`` ("my_len=accept_len,…") says what names of an own harness mean. Raises TargetError where one of them holds no result, and where no request of
    either succeeded: who goes on only where nothing got worse must not go on then.
    """
    rules = cache(shipped_rules)  # asked for where results have to be read, or their conditions told apart
    sides = []
    warnings: list[str] = []
    for word in (base_word, new_word):
        runs = [r for r in (load(word) if load else _load(word, rules(), fields, warnings)) if r.metrics or r.matrix or r.asked]
        if not runs:
            hint = "a printed result block, its JSON or JSONL, or a matrix of configurations"
            raise TargetError("no benchmark result was found in it", at=word, hint=hint)
        sides.append(runs)
    if all(_hollow(side, side) for side in sides):
        raise TargetError(
            "no request of either succeeded: there is nothing to compare",
            at=f"{base_word}, {new_word}",
            hint="ddforensics diagnose says of each why its requests failed",
        )
    found: list[Difference] = []
    pairs, only_base, only_new = _paired(*map(_by_configuration, sides))
    for label, before, after in pairs:
        found.extend(_of_runs(label if len(pairs) > 1 else "", before, after, tolerance))
    for label, before, after in pairs:
        warnings.extend(
            [*_hollow(before, after), *_cut_short(before, after)] or _unanswered(label if len(pairs) > 1 else "", before, after, tolerance)
        )
    if len(pairs) == 1:
        warnings.extend(unlike(*pairs[0][1:]))
    trees, trees_new = (_by_tree(*both, of_server=lambda: rules().columns.of_server) for both in (sides, sides[::-1]))
    rows, rows_base, rows_new = _paired(trees, trees_new)
    if rows and trees.keys() != trees_new.keys() and not rows_base and not rows_new:
        warnings.append(f"the base was measured with {', '.join(trees)}, the new result with {', '.join(trees_new)}")
    for label, one, other in rows:
        found.extend(_of_rows(label, one, other, tolerance))
    if not found:
        raise _nothing_in_common(base_word, new_word, *sides)
    order = list(Judgement)
    rank = {FAILED: 0, CORRECT: 1, LENGTH: 2}  # an answer that is wrong or missing, before one that is late
    return Comparison(
        base=base_word,
        new=new_word,
        tolerance=tolerance,
        differences=tuple(sorted(found, key=lambda d: (order.index(d.judgement), rank.get(d.metric, len(rank))))),
        only_base=(*only_base, *rows_base, *_figures_of_one(pairs), *_cells_of_one(rows)),
        only_new=(*only_new, *rows_new, *_figures_of_one(_turned(pairs)), *_cells_of_one(_turned(rows))),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _nothing_in_common(base_word: str, new_word: str, base: Runs, new: Runs) -> TargetError:
    """The error that says of both what they are, where nothing in one can be held against anything in the other."""
    told = f"the base is {_described(base)}, the new result {_described(new)}"
    hint = "two results of the same benchmark, measured under the same settings, are needed"
    return TargetError(f"they have no figure in common: {told}", at=f"{base_word}, {new_word}", hint=hint)


def _described(runs: Runs) -> str:
    """``of wrk with mean_latency_ms, … (max_concurrency 4)``, or a matrix with what its rows are measured over."""
    rows = [row for run in runs for row in run.matrix]
    if rows:
        return f"a matrix of {len(rows)} configurations"
    settings = [label for label in _by_configuration(runs) if label]
    names = [
        name
        for name in dict.fromkeys(name for run in runs for name in run.metrics)
        if not _NEITHER.search(name) and (_UP.search(name) or _DOWN.search(name))
    ]
    few = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    return f"of {runs[0].tool}" + (f" with {few}" if few else "") + (f" ({'; '.join(settings[:3])[:200]})" if settings else "")


def _load(word: str, rules: RuleSet, fields: str | None, unread: list[str]) -> Runs:
    from forensics import api

    return api.benches_of(word, rules=rules, fields=fields, unread=unread)


# --------------------------------------------------------------------------- what is held against what


def _by_configuration(runs: Runs) -> dict[str, list[BenchRun]]:
    """Runs of one configuration together: several are repetitions."""
    found: dict[str, list[BenchRun]] = {}
    for run in runs:
        if run.metrics or run.asked:
            told = {k: v for k, v in run.configuration.items() if k not in ("backend", "tag", "model_id") and v != NOT_SET}
            found.setdefault(", ".join(f"{name} {value}" for name, value in sorted(told.items())), []).append(run)
    return found


def _by_tree(runs: Runs, beside: Runs, *, of_server: Callable[[], Collection[str]]) -> dict[str, list[Matrix]]:
    """Rows of one configuration together, called by what tells them from others. What tells the sides apart (a variant, an engine) is no part of it, unless a side has several."""
    rows = [row for run in runs for row in run.matrix]
    every = [*rows, *(row for run in beside for row in run.matrix)]
    varied = {name for name in {n for row in rows for n, _ in row.settings} if _varies(name, rows if name in of_server() else every)}
    found: dict[str, list[Matrix]] = {}
    for row in rows:
        shape = [(name, str(v)) for name, v in (("budget", row.budget), ("topk", row.topk), ("steps", row.steps)) if v is not None]
        settings = [(name, v) for name, v in row.settings if name in varied]
        found.setdefault(" ".join(f"{name}={v}" for name, v in (*shape, *settings)), []).append(row)
    return found


def _varies(name: str, rows: Sequence[Matrix]) -> bool:
    """Of the runs with speculation: the plain run calls its variant otherwise."""
    return len({dict(row.settings).get(name) for row in rows if row.budget or (row.topk or 0) > 1}) > 1


def _paired(base: Mapping[str, list[T]], new: Mapping[str, list[T]]) -> tuple[list[tuple[str, list[T], list[T]]], tuple[str, ...], tuple[str, ...]]:
    if len(base) == len(new) == 1:  # one each: they are meant, and how they differ is said
        return [(label, one, other) for (label, one), other in zip(base.items(), new.values(), strict=True)], (), ()
    return (
        [(label, base[label], new[label]) for label in base if label in new],
        tuple(label for label in base if label not in new),
        tuple(label for label in new if label not in base),
    )


def _hollow(base: Runs, new: Runs) -> list[str]:
    """What is said of a side of which no request was answered."""
    return [
        f"no request of the {side} succeeded: its other figures say nothing"
        for side, runs in (("base", base), ("new result", new))
        if all(run.ok == 0 for run in runs)
    ]


def _unanswered(where: str, base: Runs, new: Runs, tolerance: float) -> list[str]:
    """What has to be read beside the latencies where the sides did not fail alike: they are of the requests that were answered."""
    before, after = _lost(base), _lost(new)
    at = f"{where}: " if where else ""
    only = "latencies are of the answered ones only"
    if before is None or after is None:
        known, side, other = (after, "new result", "base") if before is None else (before, "base", "new result")
        if known is None or not known[0]:
            return []
        return [f"{at}{known[0]} of {known[1]} requests of the {side} failed, and the {other} does not say how many of its own did; {only}"]
    (failed, asked), (failed_new, asked_new) = before, after
    if failed * asked_new == failed_new * asked:
        return []
    chance = significance.differ(failed_new, asked_new, failed, asked)
    told = f"{at}{failed_new} of {asked_new} requests of the new result failed, {failed} of {asked} of the base; {only}"
    if chance < OF_FAILURES:
        return [told]
    by_share = f", but it is more than {100 * tolerance:.3g}% where none failed before" if _beyond(before, after, tolerance) else ""
    return [f"{told}. The difference may be chance (p = {chance:.2g}){by_share}: more requests would tell"]


def _came_back(runs: Runs) -> float | None:
    """Which share of the tokens that a server counted is in its answers; None where no run says."""
    again = [run.came_back for run in runs if run.came_back is not None]
    counted = sum(of for _, of in again)
    return sum(tokens for tokens, _ in again) / counted if counted else None


def _cut_short(base: Runs, new: Runs) -> list[str]:
    """What is said of a side whose requests count as answered, and were not: a queue that is full ends them with nothing."""
    return [
        f"of the tokens that the {side} counts {share:.0%} came back: its requests were turned away or cut, and its other figures say nothing"
        for side, share in (("base", _came_back(base)), ("new result", _came_back(new)))
        if share is not None and share < HALF
    ]


# --------------------------------------------------------------------------- figures of runs


def _figures_of_one(pairs: Sequence[tuple[str, list[BenchRun], list[BenchRun]]]) -> Iterator[str]:
    """Figures to judge by that only the first side has, of two by the same tool in which something was answered: they are no number in the other, or were left out."""
    for label, ours, theirs in pairs:
        if ours[0].tool == theirs[0].tool and all(any(run.ok != 0 for run in side) for side in (ours, theirs)):
            there = {name for run in theirs for name in (*run.metrics, *called(run.metrics))}
            names = dict.fromkeys(name for run in ours for name in run.metrics if name not in there and not there & called({name: 0.0}).keys())
            yield from (f"{label} {name}" if len(pairs) > 1 else name for name in names if _sense(name))


def _turned(pairs: Sequence[tuple[str, T, T]]) -> list[tuple[str, T, T]]:
    return [(label, new, base) for label, base, new in pairs]


def _of_runs(where: str, base: Runs, new: Runs, tolerance: float) -> Iterator[Difference]:
    lost = _failures(where, base, new, tolerance)
    if lost is not None:
        yield lost
    if not all(any(run.ok != 0 for run in side) for side in (base, new)):
        return  # figures of a run in which nothing was answered are noughts, and look like a fast server
    before_back, after_back = _came_back(base), _came_back(new)
    if before_back is not None and after_back is not None:
        yield judged(where, CAME_BACK, before_back, after_back, tolerance, chance=None)
    if before_back is not None and after_back is not None and min(before_back, after_back) < HALF:
        return
    apart = reckoned(base[0]) != reckoned(new[0])
    for metric, before, after in _figures(base, new):
        chance, by, of = _chance(metric, before, after, base, new)
        found = judged(where, metric, _mean(before), _mean(after), tolerance, chance=chance, by=by, of=of)
        yield replace(found, judgement=Judgement.NOTED) if apart and _OWN.search(metric) else found


def _figures(base: Runs, new: Runs) -> Iterator[tuple[str, list[float], list[float]]]:
    """Figures that both sides have, with their values: under the name that both give them, else under one for what each calls otherwise."""
    ours, theirs = ({name for run in side for name in run.metrics} for side in (new, base))
    both = ours & theirs
    for metric in dict.fromkeys(name for run in base for name in run.metrics if name in both):
        if not metric.startswith(("failed", "num_failed")):
            yield (
                metric,
                [run.metrics[metric] for run in base if metric in run.metrics],
                [run.metrics[metric] for run in new if metric in run.metrics],
            )
    known = called(dict.fromkeys(both, 0.0)).keys()
    before, after = ([called({name: v for name, v in run.metrics.items() if name not in both}) for run in side] for side in (base, new))
    for metric in dict.fromkeys(name for told in before for name in told):
        if metric not in known and metric != "failed" and any(metric in told for told in after):
            yield metric, [told[metric] for told in before if metric in told], [told[metric] for told in after if metric in told]


def _lost(runs: Runs) -> tuple[int, int] | None:
    """How many requests failed, of how many; None where no run says."""
    known = [(run.failed, run.asked) for run in runs if run.failed is not None and run.asked]
    return (sum(min(failed, asked) for failed, asked in known), sum(asked for _, asked in known)) if known else None


def _beyond(before: tuple[int, int], after: tuple[int, int], tolerance: float) -> bool:
    """Whether none failed before and a share beyond the tolerance does now: of few requests chance rules out nothing, and they failed all the same."""
    return before[0] == 0 and after[0] / after[1] > tolerance


def _failures(where: str, base: Runs, new: Runs, tolerance: float) -> Difference | None:
    before, after = _lost(base), _lost(new)
    if before is None or after is None:
        return None
    (failed, asked), (failed_new, asked_new) = before, after
    chance = significance.differ(failed_new, asked_new, failed, asked)
    more = failed_new * asked - failed * asked_new
    told = more != 0 and (chance < OF_FAILURES or _beyond(before, after, tolerance))
    return Difference(
        where=where, metric=FAILED, base=failed / asked, new=failed_new / asked_new, change=_change(failed / asked, failed_new / asked_new),
        judgement=Judgement.SAME if not told else Judgement.WORSE if more > 0 else Judgement.BETTER, chance=chance, by="Fisher", of=(asked, asked_new),
    )  # fmt: skip


def _chance(metric: str, before: Sequence[float], after: Sequence[float], base: Runs, new: Runs) -> tuple[float | None, str, tuple[int, int] | None]:
    """By single requests where both results hold them, else by repetitions, else not at all."""
    named = _OF.fullmatch(metric)
    ours, theirs = (_single(named["what"], side) if named else () for side in (new, base))
    if named and ours and theirs:
        of = (len(theirs), len(ours))
        if (named["kind"] or "").startswith("p"):
            return _tails(float(named["kind"][1:]), theirs, ours), "Fisher", of
        return significance.rank_sum(ours, theirs), "Mann-Whitney", of
    asked = [[run.asked for run in side if run.asked] for side in (base, new)]
    if _SHARES.search(metric) and all(asked) and all(0.0 <= value <= 1.0 for value in (*before, *after)) and len(before) == len(after) == 1:
        n, m = asked[0][0], asked[1][0]
        return significance.differ(round(after[0] * m), m, round(before[0] * n), n), "Fisher", (n, m)
    if len(before) > 1 and len(after) > 1:
        return significance.means(after, before), WELCH, (len(before), len(after))
    return None, "", None


def _single(what: str, runs: Runs) -> tuple[float, ...]:
    """Single measurements of all repetitions; of requests that failed there is a nought, or none."""
    return tuple(value for run in runs for name in _SAMPLES[what] if name in run.samples for value in run.samples[name] if value > 0)


def _tails(percentile: float, base: Sequence[float], new: Sequence[float]) -> float:
    """The chance that the tails differ so: how many of each side lie above the percentile of both together."""
    both = sorted([*base, *new])
    limit = both[min(len(both) - 1, math.floor(len(both) * percentile / 100))]
    return significance.differ(sum(x >= limit for x in new), len(new), sum(x >= limit for x in base), len(base))


# --------------------------------------------------------------------------- rows of a matrix


_MEASURES = (("correct", CORRECT), ("accept_len", LENGTH), ("speed", "tokens per second"))


def _cells_of_one(rows: Sequence[tuple[str, Rows, Rows]]) -> tuple[str, ...]:
    """What only the first side measured of trees that both have: a cell of the other is empty, or holds no number."""
    found: list[str] = []
    for measure, name in _MEASURES:
        ours, theirs = ({label for label, *sides in rows if any(getattr(row, measure) is not None for row in sides[n])} for n in (0, 1))
        found += [f"{label} {name}" for label, *_ in rows if label in ours - theirs] if theirs else [name] if ours else []
    return tuple(found)


def _of_rows(where: str, base: Sequence[Matrix], new: Sequence[Matrix], tolerance: float) -> Iterator[Difference]:
    for metric, name in _MEASURES:
        before, after = ([v for row in side if (v := getattr(row, metric)) is not None] for side in (base, new))
        if not before or not after:
            continue
        chance, by, of = None, "", None
        if metric == "correct" and all(row.asked for row in (*base, *new)):
            (right, n), (right_new, m) = _answers(base), _answers(new)
            chance, by, of = significance.differ(right_new, m, right, n), "Fisher", (n, m)
        elif len(before) > 1 and len(after) > 1:
            chance, by, of = significance.means(after, before), WELCH, (len(before), len(after))
        tree = (base[0].topk, base[0].budget)
        yield replace(judged(where, name, _mean(before), _mean(after), tolerance, chance=chance, by=by, of=of), tree=tree)


def _answers(rows: Sequence[Matrix]) -> tuple[int, int]:
    return sum(round((row.correct or 0.0) * (row.asked or 0)) for row in rows), sum(row.asked or 0 for row in rows)


# --------------------------------------------------------------------------- judging


def judged(
    where: str, metric: str, base: float, new: float, tolerance: float, *, chance: float | None, by: str = "", of: tuple[int, int] | None = None
) -> Difference:
    """One figure with what its difference means: by its name it is better higher or lower, or it is only noted."""
    change = _change(base, new)
    moved = (
        new - base if _SHARES.search(metric) and 0 <= base <= 1 and 0 <= new <= 1 else change if change is not None else math.copysign(math.inf, new)
    )
    sense = _sense(metric)
    if sense == 0:
        judgement = Judgement.NOTED
    elif new == base or abs(moved) <= tolerance or (chance is not None and chance >= (OF_REPETITIONS if by == WELCH else CHANCE)):
        judgement = Judgement.SAME
    else:
        judgement = Judgement.BETTER if moved * sense > 0 else Judgement.WORSE
    return Difference(where=where, metric=metric, base=base, new=new, change=change, judgement=judgement, chance=chance, by=by, of=of)


def _sense(metric: str) -> int:
    """1 where higher is better, -1 where lower is, 0 where it is no figure to judge by."""
    name = metric.replace(" ", "_")
    return 0 if _NEITHER.search(name) else 1 if _UP.search(name) or name == "tokens_per_second" else -1 if _DOWN.search(name) else 0


def _mean(values: Sequence[float]) -> float:
    """Their mean; of so great ones that their sum has no room in a float as well."""
    return math.fsum(value / len(values) for value in values)


def _change(base: float, new: float) -> float | None:
    return (new - base) / abs(base) if base else None

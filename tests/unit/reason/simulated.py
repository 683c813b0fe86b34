"""Matrices of tree speculation drawn at random around what was measured, to count false alarms and misses: ``python -m tests.unit.reason.simulated [MATRICES]``.

Measured: SGLang 0.5.11 and a copy model on an H200, healthy, with the tree mask ignored (``causal``) and with a wrong row stride (``stride``). Around them vary how many
answers a share is of, how many a healthy run gets right (a task, a temperature), how good the draft is, and how loaded the machine was.

``tidy`` matrices have all cells, each measured once with as many answers as the others, answers and lengths. ``rough`` ones are as people write them: cells are missing, down
to two trees; each has its own number of answers, said or not; some were measured again, with the same questions; there are several concurrencies in one file, or lengths
differ more from run to run than in the real one; answers alone, lengths alone, or both.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from forensics import ruleset
from forensics.model import BenchRun, Cause, Matrix
from forensics.reason.acceptance import Acceptance, acceptance
from forensics.ruleset import condition

# (topk, budget) → acceptance length and share of right answers: healthy, mask ignored, wrong stride
MEASURED = {
    (1, 1): ((1.684, 1.0), (1.684, 1.0), (1.684, 1.0)), (1, 2): ((2.196, 1.0), (2.196, 1.0), (2.196, 1.0)), (1, 4): ((2.811, 1.0), (2.811, 1.0), (2.811, 1.0)),
    (1, 8): ((3.209, 1.0), (3.209, 1.0), (3.209, 1.0)), (2, 2): ((2.222, 1.0), (2.222, 1.0), (1.529, 0.0)), (2, 4): ((2.943, 1.0), (2.943, 1.0), (1.466, 0.0)),
    (2, 8): ((3.529, 1.0), (3.219, 0.625), (1.496, 0.0)), (2, 16): ((3.912, 1.0), (3.47, 0.375), (1.515, 0.0)), (2, 32): ((3.97, 1.0), (3.459, 0.125), (1.741, 0.0)),
    (4, 4): ((2.958, 1.0), (2.958, 1.0), (1.474, 0.0)), (4, 8): ((3.626, 1.0), (3.385, 0.6875), (1.534, 0.0)), (4, 16): ((4.235, 1.0), (3.549, 0.1875), (1.545, 0.0)),
    (4, 32): ((4.606, 1.0), (3.407, 0.0625), (1.563, 0.0)),
}  # fmt: skip
KINDS = {"healthy": 0, "poor draft": 0, "temperature": 0, "overload": 0, "causal": 1, "stride": 2}


@dataclass(frozen=True, kw_only=True)
class Drawn:
    kind: str
    run: BenchRun
    design: Rough | None = None

    @property
    def corrupted(self) -> bool:
        return KINDS[self.kind] > 0


def draw(kind: str, seed: int) -> Drawn:
    """One matrix. What differs from one seed to the next is what differs from one honest benchmark to the next."""
    luck = random.Random(f"{kind} {seed}")
    asked = luck.choice([16, 24, 32, 64, 200])
    base = luck.uniform(0.55, 0.95) if kind == "temperature" else luck.choice([1.0, 1.0, luck.uniform(0.7, 1.0)])
    draft = luck.uniform(0.05, 0.3) if kind == "poor draft" else luck.uniform(0.8, 1.1)
    rows = []
    for number, ((topk, budget), measured) in enumerate(MEASURED.items(), 1):
        length, share = measured[KINDS[kind]]
        right = sum(luck.random() < base * share for _ in range(asked))
        length = 1 + (length - 1) * draft
        speed = 1000 * length / topk * (luck.uniform(0.2, 1.0) if kind == "overload" else luck.gauss(1, 0.1))
        rows.append(
            Matrix(line_no=number, text=f"row {number}", label=f"budget={budget} topk={topk}", topk=topk, budget=budget,
                   accept_len=round(max(1.0, length * luck.gauss(1, 0.025)), 3), correct=round(right / asked, 4), asked=luck.choice([asked, None]), speed=speed)
        )  # fmt: skip
    return Drawn(kind=kind, run=BenchRun(source="bench.json", tool="benchmark", matrix=tuple(rows)))


@dataclass(frozen=True, kw_only=True)
class Rough:
    """How one rough matrix is made. ``what``: answers, lengths or both."""

    what: str
    trees: tuple[tuple[int, int], ...]
    repeats: int
    loads: tuple[int, ...]
    steps: bool
    asked: tuple[int, ...]
    noise: float

    said: bool  # whether a row says of how many answers its share is

    def tells(self, kind: str) -> bool:
        """Whether what was measured can show a fault of the size of the real ones.

        An ignored mask is accepted about as long as one branch, so that lengths alone don't show it; a wrong stride they show where a tree holds a chain that is accepted
        long. Shares of nobody says how many answers are of too few, unless there are many trees.
        """
        if self.what != "lengths" and self.said:
            return True
        chains = [t for t in self.trees if t[0] == 1 and t[1] >= 4]
        return self.what != "answers" and kind == "stride" and any(b >= c[1] and b >= 4 * k for c in chains for k, b in self.trees if k > 1)


def rough(kind: str, seed: int) -> Drawn:
    """One matrix as people write them."""
    luck = random.Random(f"rough {kind} {seed}")
    narrow, wide = [t for t in MEASURED if t[0] == 1], [t for t in MEASURED if MEASURED[t][KINDS[kind] or 1][1] <= 0.4]
    others = [t for t in MEASURED if t not in narrow and t not in wide]
    shape = luck.choice(["two", "few", "most"])
    trees = [luck.choice(narrow), luck.choice(wide)]  # wide enough to show it
    rest = [t for t in (*narrow, *wide, *others) if t not in trees]
    trees += [] if shape == "two" else luck.sample(rest, luck.randint(1, 4) if shape == "few" else len(rest) - 2)
    design = Rough(
        what=luck.choice(["answers", "lengths", "both"]), trees=tuple(sorted(trees)), repeats=luck.choice([1, 1, 2, 3]),
        loads=tuple(luck.sample([1, 8, 32], luck.choice([1, 1, 2]))), steps=luck.random() < 0.5, asked=(16, 24, 40, 64, 200), noise=luck.choice([0.01, 0.025, 0.04]), said=luck.random() < 0.7,
    )  # fmt: skip
    return Drawn(kind=kind, run=BenchRun(source="bench.json", tool="benchmark", matrix=tuple(_rows(kind, design, luck))), design=design)


def _rows(kind: str, design: Rough, luck: random.Random) -> Iterator[Matrix]:
    base = luck.uniform(0.55, 0.95) if kind == "temperature" else luck.choice([1.0, 1.0, luck.uniform(0.7, 1.0)])
    draft = luck.uniform(0.05, 0.3) if kind == "poor draft" else luck.uniform(0.8, 1.1)
    for load in design.loads:
        for topk, budget in design.trees:
            length, share = MEASURED[topk, budget][KINDS[kind]]
            asked = luck.choice(design.asked)
            questions = [luck.random() for _ in range(asked)]  # how hard each is: the same in each repetition
            for number in range(design.repeats):
                right = sum((q < base * share) if luck.random() < 0.9 else (luck.random() < base * share) for q in questions)
                measured = 1 + (length - 1) * draft
                yield Matrix(
                    line_no=number + 1, text=f"row {topk} {budget} {load} {number}", label=f"budget={budget} topk={topk}", topk=topk, budget=budget,
                    steps=(budget if topk == 1 else 8) if design.steps else None,
                    accept_len=round(max(1.0, measured * luck.gauss(1, design.noise)), 3) if design.what != "answers" else None,
                    correct=round(right / asked, 4) if design.what != "lengths" else None,
                    asked=asked if design.said else None,
                    speed=1000 * length / topk * (luck.uniform(0.2, 1.0) if kind == "overload" else luck.gauss(1, 0.1)),
                    settings=(("concurrency", str(load)),),
                )  # fmt: skip


def alarmed(found: Acceptance | None) -> bool:
    """Whether a shipped rule takes the matrix for corrupted: its own condition, over the figures of the matrix alone."""
    if found is None:
        return False
    values = {
        "accept.drop": found.drop,
        "accept.chance": found.chance,
        "accept.length_drop": found.length_drop,
        "accept.length_chance": found.length_chance,
    }
    return any(condition.parse(when).evaluate(values.get) is True for when in _conditions())


@cache
def _conditions() -> tuple[str, ...]:
    rules = ruleset.shipped_rules().rules
    return tuple(
        r.when for r in rules if r.cause is Cause.MASK_CORRUPTION and r.when and "accept.chance" in r.when.replace("length_chance", "chance")
    )


def counted(matrices: int, drawing: Callable[[str, int], Drawn] = draw) -> tuple[Counter[str], Counter[str]]:
    """How many of each kind were drawn, and how many of them gave an alarm; rough ones by what was measured as well."""
    drawn, alarms = Counter[str](), Counter[str]()
    for seed in range(matrices):
        one = drawing(list(KINDS)[seed % len(KINDS)], seed)
        told = one.design is None or not one.corrupted or one.design.tells(one.kind)
        name = one.kind if one.design is None else f"{one.kind}, {one.design.what}{'' if told else ', too little to tell'}"
        drawn[name] += 1
        alarms[name] += alarmed(acceptance((one.run,)))
    return drawn, alarms


def main() -> None:
    """Print how often which kind gave an alarm."""
    for drawing in (draw, rough):
        drawn, alarms = counted(int(sys.argv[1]) if len(sys.argv) > 1 else 200, drawing)
        for name, number in sorted(drawn.items()):
            fault = KINDS[name.partition(",")[0]]
            print(
                f"{'tidy' if drawing is draw else 'rough'}, {name}: {number} matrices, {number - alarms[name] if fault else alarms[name]} {'missed' if fault else 'false alarms'}"
            )


if __name__ == "__main__":
    main()

"""Draw what a server's log tells of its drafts, start after start: for tests that need more of it than a real run wrote. ``python -m tests.unit.reason.drawn_logs`` makes the captures of the rules.

Lengths are those that were measured (see ``simulated.MEASURED``). From line to line they differ as in the real logs beside: by 6 % of the length, less what a mean over
several requests takes away, and a line is like the one before, as both may tell of one long answer. What is asked of one start is not what is asked of another.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forensics.model import Evidence
from forensics.reason import drafted
from forensics.reason.decoded import Interval, Start
from tests.unit.reason.simulated import MEASURED

LINE = 0.06  # of a length, from one line to the next
ALIKE = 0.5  # how much of a line's luck is that of the line before
DATA = Path(__file__).parents[2] / "data" / "rules"
HEALTHY, CAUSAL, STRIDE = 0, 1, 2


@dataclass(frozen=True, kw_only=True)
class Tree:
    """One start: its tree, and how its drafts fare there. ``factor`` is of what was asked of it: the accepted drafts of a task against those of another."""

    topk: int
    budget: int
    length: float
    lines: int = 40
    factor: float = 1.0
    steps: int = 7
    requests: int = 1


def of(topk: int, budget: int, variant: int, **more: Any) -> Tree:
    """A tree as it was measured."""
    return Tree(topk=topk, budget=budget, length=MEASURED[topk, budget][variant][0], **more)


def log(starts: Sequence[Tree], seed: int = 1) -> str:
    """All starts in one log, each beginning with its arguments and ending with an orderly stop, the last one but for that."""
    luck, at, lines = random.Random(seed), 0, list[str]()
    for number, tree in enumerate(starts):
        lines += [
            f"{_stamp(at)} server_args=ServerArgs(model_path='/models/target', host='127.0.0.1', port=30000, mem_fraction_static=0.8, speculative_algorithm='EAGLE', "
            f"speculative_draft_model_path='/models/draft', speculative_num_steps={tree.steps}, speculative_eagle_topk={tree.topk}, speculative_num_draft_tokens={tree.budget})",
            f"{_stamp(at + 9)} Load weight begin. avail mem=133.88 GB",
            f"{_stamp(at + 40)} The server is fired up and ready to roll!",
        ]
        at, off = at + 45, 0.0
        for _ in range(tree.lines):
            off = ALIKE * off + luck.gauss(0, LINE * (1 - ALIKE**2) ** 0.5 / tree.requests**0.5)
            length = max(1.0, (1 + (tree.length - 1) * tree.factor) * (1 + off))
            rate = (length - 1) / max(1, tree.budget - 1)
            lines.append(
                f"{_stamp(at)} Decode batch, #running-req: {tree.requests}, #token: {luck.randint(60, 9000)}, token usage: 0.02, accept len: {length:.2f}, "
                f"accept rate: {rate:.2f}, cuda graph: True, gen throughput (token/s): {120 * length:.2f}, #queue-req: 0"
            )
            at += 2
        if number < len(starts) - 1:
            lines.append(f"{_stamp(at)} SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
            lines.append(f"{_stamp(at + 1)} Gracefully exiting... Remaining number of requests 0. Remaining requests remaining_rids=[].")
            at += 20
    return "\n".join(lines) + "\n"


def alarms(variant: int, seeds: int, starts: int = 1) -> tuple[int, int]:
    """Of so many draws of one branch and a wider tree, ``starts`` of each: how many are possibly, and how many are taken for corrupted (the conditions of the rules)."""
    possible = firm = 0
    for seed in range(seeds):
        luck = random.Random(f"{variant} {seed} {starts}")
        chain, wide = luck.choice([(1, 4), (1, 8)]), luck.choice([(2, 8), (2, 16), (2, 32), (4, 16), (4, 32)])
        draft = luck.uniform(0.5, 1.0)
        found = [
            _start(tree, MEASURED[tree][variant][0], draft * max(0.1, luck.gauss(1, 0.2)), luck) for _ in range(starts) for tree in (chain, wide)
        ]
        told = drafted.judged([start._replace(life=n, source=f"{n}.log") for n, start in enumerate(found)])
        alarm = told is not None and told.drop >= 0.15 and told.chance < 0.005
        possible, firm = possible + alarm, firm + (alarm and told is not None and told.starts >= 3 and told.apart)
    return possible, firm


def _start(tree: tuple[int, int], length: float, factor: float, luck: random.Random) -> Start:
    line, off, told = Evidence(source="a.log", line=1, text=""), 0.0, list[Interval]()
    requests = luck.choice([1, 4, 16])
    for _ in range(luck.choice([8, 20, 100, 400])):
        off = ALIKE * off + luck.gauss(0, LINE * (1 - ALIKE**2) ** 0.5 / requests**0.5)
        told.append(Interval(length=round(max(1.0, (1 + (length - 1) * factor) * (1 + off)), 2), weight=float(luck.randint(1, requests)), line=line))
    return Start(source="a.log", life=0, topk=tree[0], budget=tree[1], steps=8, same=(), version=None, intervals=tuple(told))


def _stamp(at: int) -> str:
    return f"[2026-11-29 {20 + at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d}]"


CAPTURES = {
    "accept-log-falls": [of(*tree, STRIDE, factor=f) for f in (1.0, 0.85, 1.1) for tree in ((1, 8), (2, 16))],
    "accept-log-one-start": [of(1, 8, STRIDE), of(2, 16, STRIDE)],
    "accept-log-healthy": [of(*tree, HEALTHY, factor=f) for f in (1.0, 0.85, 1.1) for tree in ((1, 8), (2, 16))],
    "accept-log-poor-draft": [Tree(topk=topk, budget=budget, length=1.15) for _ in range(3) for topk, budget in ((1, 8), (2, 16))],
}

if __name__ == "__main__":
    for starts in (1, 3):
        for variant, called in ((HEALTHY, "healthy"), (CAUSAL, "causal"), (STRIDE, "stride")):
            print(called, "of 200 pairs of trees,", starts, "starts each: possibly corrupted, corrupted:", *alarms(variant, 200, starts))
    for name, trees in CAPTURES.items():
        (DATA / name).mkdir(exist_ok=True)
        (DATA / name / "log.txt").write_text(log(trees))

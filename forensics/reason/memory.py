"""Work out the memory budget of the life at issue: its ledger, the fractions that can work, and what a token takes. Knows kinds of budget, no server.

What the life does not say itself is taken from another life of the same unit, where nothing speaks against that both held the same: model, flags that shape the memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from forensics.model import BudgetOf, Cause, Direction, Evidence, Life, Memory, Noun, PartKind, Phase
from forensics.reason import around, hostmemory
from forensics.reason.absurd import Odd, beyond
from forensics.reason.figures import figure as number
from forensics.reason.good import last_good
from forensics.reason.ledger import OF_A_GPU, Holder, Ledger, Told, failed_allocation, holders, ledger, pool, rows, values
from forensics.reason.levers import Lever, levers
from forensics.reason.place import Story
from forensics.reason.window import Window, window
from forensics.ruleset.schema import MemoryModel
from forensics.ruleset.versions import compare, may_be

NEAR_LIVES = 4  # before and after the life at issue: what was tried longer ago is another story
SAME = 0.02  # of a figure: what differs by less is the same
# what another life may lend, and what has to agree between the two beside the arguments
_LENT = (
    "free_before_gib",
    "free_after_weights_gib",
    "total_gib",
    "weights_gib",
    "draft_weights_gib",
    "context_tokens",
    "graph_gib",
    "activation_gib",
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Budget(Noun):
    """Figures in GiB as the server logged them; fractions 0…1. Everything may be unknown. ``borrowed`` names the figures that another life said."""

    flag: str | None = None
    fraction_of: BudgetOf | None = None
    told: Ledger = field(default_factory=dict)
    window: Window = field(default_factory=Window)
    token_gib: float | None = None
    request_gib: float | None = None
    others: tuple[Holder, ...] = ()
    good: Mapping[str, float] = field(default_factory=dict)  # figures of the last good life, comparable or not
    after_pool: bool = False
    borrowed: frozenset[str] = frozenset()
    levers: tuple[Lever, ...] = ()
    odd: tuple[Odd, ...] = ()  # figures that cannot be true, and were left out

    def figure(self, name: str) -> float | None:
        """A figure by its name, None where nobody said it."""
        told = self.told.get(name)
        return told.value if told is not None else None

    def known(self, name: str) -> object | None:
        """The value of the fact ``memory.NAME``."""
        if name in ("fraction", "fraction_min", "fraction_max"):
            return {"fraction": self.window.fraction, "fraction_min": self.window.low, "fraction_max": self.window.high}[name]
        return self.figure(name)

    def settled(self, failed_by: Direction | None) -> Budget:
        """Without the bound that the failure itself contradicts."""
        return replace(self, window=self.window.believed(failed_by))

    @property
    def lines(self) -> tuple[Evidence, ...]:
        """The lines that say the figures, each once."""
        return tuple(dict.fromkeys(told.evidence for told in self.told.values() if not told.earlier))

    def grown_gib(self, name: str) -> float | None:
        """By how much a figure is greater than in the last good life (less: negative); None where one of the two is not known, or both are about the same."""
        now, then = self.figure(name), self.good.get(name)
        told = self.told.get(name)
        if now is None or then is None or (told is not None and told.earlier) or abs(now - then) <= max(SAME * max(now, then), 0.1):
            return None
        return now - then

    @property
    def held_at_start_gib(self) -> float | None:
        """What was not free before the server began, or before its weights, by its own figures."""
        total, free = self.figure("total_gib"), self.figure("free_at_start_gib")
        free = free if free is not None else self.figure("free_before_gib")
        return total - free if total is not None and free is not None and total >= free else None

    @property
    def taken_meanwhile_gib(self) -> float | None:
        """What others hold of the GPU beyond all that was not free before the weights: it was taken while the server ran, and no fraction could know of it."""
        others, held = self.figure("held_by_others_gib"), self.held_at_start_gib
        return max(0.0, others - held) if others is not None and held is not None else None


def budget(story: Story) -> Budget:
    """Read the budget of the life at issue. Source of the formulas: the servers' own sizing code, see the profiles' ``memory``."""
    model = story.profile.memory if story.profile else None
    life = story.issue
    odd: list[Odd] = []
    told = ledger(story, model, life.index, odd)
    _from_driver(story, told)
    fraction = _fraction(model, life, told)
    after_pool = _after_pool(story, told)
    borrowed = _borrow(story, model, told) if model is not None else {}
    v = values(told)
    if fraction is not None:
        v["fraction"] = fraction
    if "free_before_gib" not in v and "draft_weights_gib" not in v and {"free_after_weights_gib", "weights_gib"} <= set(v):
        v["free_before_gib"] = v["free_after_weights_gib"] + v["weights_gib"]
    token = _token(v) or borrowed.get("token_gib")
    request = _request(v, token)
    if request is not None:
        v["request_gib"] = request
    good = last_good(story)
    kind = model.fraction_of if model else None
    found = window(kind, v, whole_request=bool(model and model.whole_request), after_pool=after_pool)
    if (lent := borrowed.get("fraction_max")) is not None and (found.high is None or lent < found.high):
        found = found._replace(high=lent)
    else:
        borrowed.pop("fraction_max", None)
    return Budget(
        flag=model.flag if model else None,
        fraction_of=kind,
        told=told,
        window=found,
        token_gib=token,
        request_gib=request,
        others=holders(story, life.index),
        good=values(ledger(story, model, good.index)) if model is not None and good is not None else {},
        after_pool=after_pool,
        borrowed=frozenset(borrowed) | {name for name, one in told.items() if one.earlier},
        levers=levers(model.levers, v, life, token_gib=token) if model else (),
        odd=tuple(odd),
    )


def view(story: Story, found: Budget, cause: Cause) -> Memory | None:
    """The budget as it is given out; None where nothing is known of the memory of GPU or host. Levers are for who lacks memory of a GPU."""
    kept = (*rows({**_seen_now(story), **found.told}), *hostmemory.rows(story))
    if not kept:
        return None
    w = found.window
    return Memory(
        kind=found.fraction_of,
        flag=found.flag,
        fraction=w.fraction,
        fraction_min=_share(w.low, up=True),
        fraction_max=_share(w.high, up=False),
        fits=w.fits,
        token_gib=found.token_gib,
        request_gib=found.request_gib,
        rows=kept,
        levers=tuple(lever.given for lever in found.levers) if cause in OF_A_GPU else (),
    )


def _share(value: float | None, *, up: bool) -> float | None:
    """A bound with four digits, never better than it is."""
    return None if value is None else (math.ceil if up else math.floor)(round(value * 10000, 6)) / 10000


# --------------------------------------------------------------------------- what is known of the life itself


def _fraction(model: MemoryModel | None, life: Life, told: Mapping[str, Told]) -> float | None:
    """The fraction in force: as an error tells it, as it was given, else the default of a version that is known."""
    if "fraction" in told:
        return told["fraction"].value
    if model is None or model.flag is None:
        return None
    given = number(life.arguments.get(model.argument) or life.arguments.get(model.flag.lstrip("-").replace("-", "_")))
    if given is not None:
        return given if 0 < given <= 1 else None  # whatever that means, it is no share
    if model.default is not None:
        return model.default
    fitting = {d.value for d in model.defaults if life.version and may_be(life.version, since=d.since, until=d.until) and _known(life.version, model)}
    return fitting.pop() if len(fitting) == 1 else None


def _known(version: str, model: MemoryModel) -> bool:
    """Whether a version surely lies within one of the ranges whose default is known: between two of them nobody has looked."""
    return any(
        (d.since is None or compare(">=", version, d.since) is True) and (d.until is None or not compare(">", version, f"{d.until}.999"))
        for d in model.defaults
    )


def _after_pool(story: Story, told: Mapping[str, Told]) -> bool:
    """Whether the allocation that failed came with the pool in place: only then has it anything to do with the fraction."""
    failed = failed_allocation(story, story.issue.index)
    if failed is None:
        return False
    placed = {"free_after_pool_gib", "pool_gib", "pool_k_gib", "pool_tokens"} & set(told)
    if placed:
        return any(told[name].evidence.line < failed.lines[0].line or told[name].evidence.source != failed.lines[0].source for name in placed)
    return failed.cause is Cause.GPU_OOM_RUNTIME or (failed.phase in (Phase.CUDA_GRAPH, Phase.WARMUP, Phase.SERVING, Phase.READY))


def _token(v: Mapping[str, float]) -> float | None:
    """What a token takes: the pool by its tokens, or one request by its length."""
    held, tokens = pool(v), v.get("pool_tokens")
    held = held if held is not None else v.get("kv_available_gib")
    if held and tokens:
        return held / tokens
    needed, context = v.get("kv_needed_gib"), v.get("context_tokens")
    return needed / context if needed and context else None


def _request(v: Mapping[str, float], token_gib: float | None) -> float | None:
    """What one request of full length takes in the pool: as the server says, else by its tokens."""
    if v.get("kv_needed_gib"):  # 0.0 is less than its digits can say
        return v["kv_needed_gib"]
    held, concurrency = pool(v) or v.get("kv_available_gib"), v.get("concurrency")
    if held and concurrency:
        return held / concurrency
    context = v.get("context_tokens")
    return token_gib * context if token_gib is not None and context else None


def _from_driver(story: Story, told: Ledger) -> None:
    """The size of the GPU out of nvidia-smi, where no line of the server has it: of a life of now, and where all GPUs are alike (which of them it uses is not known)."""
    gpus = [(g.total_gib, g) for g in story.facts.gpus if g.total_gib]
    if "total_gib" in told or not gpus or story.issue.index != story.lives[-1].index:
        return
    (least, gpu), most = min(gpus, key=lambda x: x[0]), max(size for size, _ in gpus)
    if most - least <= SAME * most:
        if any(name.startswith("free_") and beyond(least, one.value) for name, one in told.items()):
            return  # another machine's, or another time's
        told["total_gib"] = Told(least, around.cited(around.source_of(story, PartKind.GPU, "gpu"), gpu.line_no, gpu.text))


def _seen_now(story: Story) -> Ledger:
    """What others hold of the GPUs by the host's own list, at the time of the capture."""
    found = around.squatters(story)
    held = sum(s.on.used_gib or 0.0 for s in found)
    return {"held_by_others_gib": Told(held, found[0].lines[0])} if found else {}


# --------------------------------------------------------------------------- what other lives say


def _borrow(story: Story, model: MemoryModel, told: Ledger) -> dict[str, float]:
    """Fill in from the nearest comparable lives what the life at issue does not say; figures that follow from several are returned by their names."""
    near = sorted((x for x in story.lives if x.index != story.issue.index), key=lambda x: (abs(x.index - story.issue.index), x.index))
    lent: dict[str, float] = {}
    own_pool = pool(values(told)) is not None
    for life in [x for x in near if abs(x.index - story.issue.index) <= NEAR_LIVES]:
        other = ledger(story, model, life.index)
        if not other or not _alike(model, story.issue, life, told, other):
            continue
        for name in _LENT:
            if name in other and name not in told and _lends(name, other):
                told[name] = other[name]._replace(earlier=True)
        v = values(other)
        fraction = _fraction(model, life, other)
        if fraction is not None:
            v["fraction"] = fraction
        if not own_pool and "token_gib" not in lent and (token := _token(v)) is not None:
            lent["token_gib"] = token
        after = failed_allocation(story, life.index) is not None and ("free_after_pool_gib" in v or pool(v) is not None)
        high = window(model.fraction_of, v, whole_request=False, after_pool=after).high
        if high is not None and model.fraction_of is not BudgetOf.TOTAL:
            lent["fraction_max"] = min(high, lent.get("fraction_max", 1.0))
    return lent


def _lends(name: str, other: Mapping[str, Told]) -> bool:
    """Whether a figure of another life means the same in this one; graphs only of a life that had them all."""
    return name != "graph_gib" or "free_when_ready_gib" in other


def _alike(model: MemoryModel, issue: Life, life: Life, told: Mapping[str, Told], other: Mapping[str, Told]) -> bool:
    """Whether two lives held the same: something has to agree (arguments that shape the memory, weights, what was free before them), and nothing may differ."""
    agrees = False
    if issue.arguments and life.arguments:
        shaping = {*model.shaped_by, *(lever.argument for lever in model.levers)}
        named = [n for n in shaping if n in issue.arguments or n in life.arguments]
        if any(issue.arguments.get(n) != life.arguments.get(n) for n in named):
            return False
        agrees = bool(named)
    for name in ("weights_gib", "free_before_gib", "total_gib"):
        a, b = told.get(name), other.get(name)
        if a is not None and b is not None and not a.earlier:
            if abs(a.value - b.value) > max(SAME * max(a.value, b.value), 0.1):
                return False
            agrees = agrees or name != "total_gib"
    return agrees

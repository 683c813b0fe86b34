"""The memory of a GPU and of the host as somebody's log counted it: the kinds of budget, the figures a profile may name, and the ledger that comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from forensics.model.noun import Noun
from forensics.model.vocabulary import Word


class BudgetOf(Word):
    """What the fraction of a server is a fraction of."""

    FREE = "free"  # what was free before the weights; the weights come out of it
    TOTAL = "total"  # the whole GPU; weights, activations and whatever else the server measures come out of it
    REMAINING = "remaining"  # what is free once the weights are loaded; the pool alone comes out of it


class Frees(Word):
    """What a lever gives back, as far as it can be reckoned."""

    WEIGHTS_HALF = "weights-half"  # on each GPU, of twice as many GPUs
    DRAFT = "draft"  # weights and pool of the draft model
    POOL_HALF = "pool-half"  # half of what a token takes in the pool
    CONTEXT = "context"  # what one request of full length takes beyond what there is room for
    GRAPHS = "graphs"  # all that the captured graphs took
    ACTIVATIONS = "activations"  # a part of the peak beside weights and pool: how much is not known beforehand
    WEIGHTS_PART = "weights-part"  # of the weights: how much no log says beforehand
    REQUESTS = "requests"  # what comes with each request that runs: how much no log says


# figure of a profile → which of several ranks' figures counts: the least of what there is, the most of what is needed
FIGURES: Mapping[str, str] = {
    "total_gib": "least",
    "free_at_start_gib": "least",
    "needed_gib": "most",
    "free_before_gib": "least",
    "weights_gib": "most",
    "draft_weights_gib": "most",
    "free_after_weights_gib": "least",
    "activation_gib": "most",
    "non_torch_gib": "most",
    "requested_gib": "least",
    "kv_available_gib": "least",
    "kv_needed_gib": "most",
    "pool_gib": "least",
    "pool_k_gib": "least",
    "pool_v_gib": "least",
    "draft_pool_gib": "most",
    "draft_pool_k_gib": "most",
    "draft_pool_v_gib": "most",
    "state_gib": "most",
    "free_after_pool_gib": "least",
    "graph_gib": "most",
    "free_when_ready_gib": "least",
    "pool_tokens": "least",
    "context_tokens": "most",
    "concurrency": "least",
    "fraction": "most",
    "wanted_min": "most",
}


# how a profile's line tells what became of the drafts: tokens a step with the one that the target makes anyway, or the accepted drafts alone
ACCEPTED: tuple[str, ...] = ("accept_len", "accepted_drafts")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class MemoryRow(Noun):
    """One figure with the line that says it. ``on``: gpu or host. ``rank``: whose it is where ranks differ. ``earlier``: of another life of the unit."""

    what: str
    gib: float
    on: str = "gpu"
    rank: str | None = None
    source: str | None = None
    line: int | None = None
    earlier: bool = False


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class MemoryLever(Noun):
    """Something else to give than the fraction. ``frees_gib`` is None where the log does not let it be reckoned; ``to`` a value that would do."""

    flag: str
    text: str
    frees_gib: float | None = None
    to: float | str | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Memory(Noun):
    """The ledger of the life at issue. ``fits``: whether any fraction can work; None where a bound is not known. Fractions are 0 … 1."""

    kind: BudgetOf | None = None
    flag: str | None = None
    fraction: float | None = None
    fraction_min: float | None = None
    fraction_max: float | None = None
    fits: bool | None = None
    token_gib: float | None = None  # what one token takes in the pool
    request_gib: float | None = None  # and one request of full length
    rows: tuple[MemoryRow, ...] = ()
    levers: tuple[MemoryLever, ...] = ()

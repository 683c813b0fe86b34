"""Gather what a server's log says of memory in one life: which figure, of which rank, on which line. Reckons nothing but sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from forensics.model import FIGURES, Cause, Evidence, MemoryRow, Role, Signal
from forensics.reason.absurd import Odd, absurd, beyond
from forensics.reason.figures import figure as number
from forensics.reason.figures import whole
from forensics.reason.lives import Placed
from forensics.reason.place import Story
from forensics.reason.signals import evidence
from forensics.ruleset.quantities import typed
from forensics.ruleset.schema import Figure, MemoryModel

OF_A_GPU = (Cause.GPU_OOM_INIT, Cause.GPU_OOM_RUNTIME)
# captures of a rule, in GiB → figures of the allocation that failed
_OF_ALLOCATION = {"asked": "asked_gib", "total": "total_gib", "free": "free_at_failure_gib"}
NAMES = frozenset({*FIGURES, *_OF_ALLOCATION.values(), "held_by_others_gib"})  # all that a ledger may hold
KEPT_GIB = 2.0  # a driver, and what its figures round, keep less
# rows of the ledger, in the order of their use: name → figures that add up to it
_ROWS: Mapping[str, tuple[str, ...]] = {
    "total": ("total_gib",),
    "held by others": ("held_by_others_gib",),
    "free at start": ("free_at_start_gib",),
    "free before the weights": ("free_before_gib",),
    "needed in all": ("needed_gib",),
    "weights": ("weights_gib",),
    "draft weights": ("draft_weights_gib",),
    "free after the weights": ("free_after_weights_gib",),
    "peak of activations": ("activation_gib",),
    "outside of PyTorch": ("non_torch_gib",),
    "left for the KV pool": ("kv_available_gib",),
    "needed for one request": ("kv_needed_gib",),
    "KV pool": ("pool_gib", "pool_k_gib", "pool_v_gib"),
    "state cache": ("state_gib",),
    "draft KV pool": ("draft_pool_gib", "draft_pool_k_gib", "draft_pool_v_gib"),
    "free after the pool": ("free_after_pool_gib",),
    "graphs": ("graph_gib",),
    "free when ready": ("free_when_ready_gib",),
    "asked for": ("asked_gib",),
    "free then": ("free_at_failure_gib",),
}


class Told(NamedTuple):
    """One figure: GiB, tokens or a share. ``rank`` only where the ranks differ."""

    value: float
    evidence: Evidence
    rank: str | None = None
    earlier: bool = False


class Holder(NamedTuple):
    """The largest process that the allocator names as another one on the same GPU; ``all_gib`` is what all of them hold."""

    pid: int
    gib: float
    all_gib: float
    evidence: Evidence


Ledger = dict[str, Told]


def ledger(story: Story, model: MemoryModel | None, life: int, odd: list[Odd] | None = None) -> Ledger:
    """All figures of a life by name; those of the allocation that failed in it as well. What cannot be true is left out, and put into ``odd``."""
    odd = [] if odd is None else odd
    found = {**_of_failed(story, life, odd), **(_of_server(story, model, life, odd) if model is not None else {})}
    total = found.get("total_gib")
    for name in [n for n in found if n.startswith("free_")]:
        if total is not None and (why := beyond(total.value, found[name].value)) is not None:
            odd.append(Odd(name, found[name].value, why, found.pop(name).evidence))
    return found


def _of_server(story: Story, model: MemoryModel, life: int, odd: list[Odd]) -> Ledger:
    hits: dict[str, list[Placed]] = {}
    wanted = {f.id for f in model.figures}
    for placed in story.placed:
        if placed.life == life and placed.seen.hit.rule in wanted:
            hits.setdefault(placed.seen.hit.rule, []).append(placed)
    by_fact: dict[str, list[Figure]] = {}
    for figure in model.figures:
        by_fact.setdefault(figure.fact, []).append(figure)
    told = {fact: _told(figures, by_fact, hits, odd) for fact, figures in by_fact.items()}
    return {fact: one for fact, one in told.items() if one is not None}


def _of_failed(story: Story, life: int, odd: list[Odd]) -> Ledger:
    """Of the allocation that failed, as the allocator tells it."""
    failed = failed_allocation(story, life)
    if failed is None:
        return {}
    found: Ledger = {}
    for name, value in gib_of(story, failed).items():
        if name not in _OF_ALLOCATION:
            continue
        if (why := absurd(_OF_ALLOCATION[name], value)) is not None:
            odd.append(Odd(_OF_ALLOCATION[name], value, why, failed.lines[0]))
        else:
            found[_OF_ALLOCATION[name]] = Told(value, failed.lines[0], failed.rank if name != "total" else None)
    if others := _others(story, failed):
        found["held_by_others_gib"] = Told(sum(h.all_gib for h in others), others[0].evidence, failed.rank)
    elif (rest := _not_its_own(story, failed, found)) is not None:
        found["held_by_others_gib"] = Told(rest, failed.lines[0], failed.rank)
    return found


def _told(figures: Sequence[Figure], by_fact: Mapping[str, Sequence[Figure]], hits: Mapping[str, list[Placed]], odd: list[Odd]) -> Told | None:
    """The figure of the rank that counts, out of its lines; a line that was written twice counts once."""
    take = figures[0].take
    limit = take.removeprefix("before:")
    until = _firsts(p for f in by_fact.get(limit, ()) for p in hits.get(f.id, ())) if limit != take else {}
    by_rank: dict[str, list[tuple[float, Placed]]] = {}
    seen: set[tuple[str, str]] = set()
    for order, figure, placed in sorted(((p.order, f, p) for f in figures for p in hits.get(f.id, ())), key=lambda x: x[0]):
        value, rank = number((placed.seen.hit.captures.get("value") or "").replace(",", "")), placed.seen.record.rank or ""
        if value is None or (rank, placed.seen.record.text) in seen:
            continue
        if order > until.get(rank, until.get(None, order)):
            continue
        seen.add((rank, placed.seen.record.text))
        value = value / 1024 if figure.unit in ("MiB", "MB") else value
        if (why := absurd(figure.fact, value)) is not None:
            odd.append(Odd(figure.fact, value, why, evidence(placed.seen.record)))
            continue
        by_rank.setdefault(rank, []).append((value, placed))
    taken = {rank: one for rank, found in by_rank.items() if (one := _taken(take, found)) is not None}
    if not taken:
        return None
    rank = (min if FIGURES[figures[0].fact] == "least" else max)(taken, key=lambda r: taken[r][0])
    value, placed = taken[rank]
    return Told(value, evidence(placed.seen.record), rank if rank and len({v for v, _ in taken.values()}) > 1 else None)


def _firsts(placed: Iterable[Placed]) -> dict[str | None, int]:
    """By rank, and of all (None): where the first of them stands."""
    first: dict[str | None, int] = {}
    for one in placed:
        for key in (one.seen.record.rank or "", None):
            first[key] = min(first.get(key, one.order), one.order)
    return first


def _taken(take: str, found: Sequence[tuple[float, Placed]]) -> tuple[float, Placed] | None:
    if take == "second":
        return found[1] if len(found) > 1 else None
    if take == "sum":
        return sum(v for v, _ in found), found[-1][1]
    if take in ("min", "max"):
        return (min if take == "min" else max)(found, key=lambda f: f[0])
    return found[0] if take == "first" else found[-1]


# --------------------------------------------------------------------------- the allocation that failed


def failed_allocation(story: Story, life: int) -> Signal | None:
    """The first allocation of a life that failed for good, as a rule tells it that captures what was asked for in GiB."""
    return next((s for s in story.signals if s.life == life and s.cause in OF_A_GPU and s.record is not None and "asked" in gib_of(story, s)), None)


def gib_of(story: Story, signal: Signal) -> dict[str, float]:
    """The captures of a signal that are sizes, in GiB."""
    rule = story.rules.by_id.get(signal.rule)
    if rule is None or not rule.captures:
        return {}
    return {k: v for k, v in typed(rule.captures, signal.captures).items() if isinstance(v, float) and rule.captures.get(k) in ("gib", "gibs")}


def holders(story: Story, life: int) -> tuple[Holder, ...]:
    """Who else held the GPU when the allocation of a life failed, by the allocator's word, the largest first."""
    failed = failed_allocation(story, life)
    return _others(story, failed) if failed is not None else ()


def _not_its_own(story: Story, failed: Signal, found: Ledger) -> float | None:
    """What is neither free nor this server's, where the allocator names nobody else: a container hides the others, or lists itself among them.

    Of those that it lists the server is the one that holds as much as its own pool, where only one of them does. None for what a driver keeps for itself.
    """
    total, free = found.get("total_gib"), found.get("free_at_failure_gib")
    if total is None or free is None:
        return None
    for signal in _beside(story, failed):
        sizes, listed = gib_of(story, signal), signal.captures.get("listed")
        fits = [sizes["own"]] if "own" in sizes else []
        if not fits and listed and "allocated" in sizes:
            each = (typed({"one": "gibs"}, {"one": part}).get("one") for part in listed.split(". Process "))
            fits = [size for size in each if isinstance(size, float) and size >= sizes["allocated"]]
        if len(fits) == 1 and total.value - free.value - fits[0] >= KEPT_GIB:
            return total.value - free.value - fits[0]
    return None


def _beside(story: Story, failed: Signal) -> Iterable[Signal]:
    """What else is said on the line of the allocation that failed."""
    if failed.record is None:
        return
    place = (failed.record.source, failed.record.line_no)
    for signal in story.signals:
        if (
            signal.role is Role.CONTEXT
            and signal.life == failed.life
            and signal.record is not None
            and (signal.record.source, signal.record.line_no) == place
        ):
            yield signal


def _others(story: Story, failed: Signal) -> tuple[Holder, ...]:
    found = []
    for signal in _beside(story, failed):
        sizes, pid = gib_of(story, signal), whole(signal.captures.get("holder"))
        if "others" in sizes and "held" in sizes and pid is not None:
            found.append(Holder(pid=pid, gib=sizes["held"], all_gib=sizes["others"], evidence=signal.lines[0]))
    return tuple(sorted(found, key=lambda h: -h.gib))


# --------------------------------------------------------------------------- rows


def rows(told: Ledger) -> tuple[MemoryRow, ...]:
    """The ledger for a reader: one row a figure in GiB, halves of a pool added up."""
    found = []
    for name, parts in _ROWS.items():
        known = [told[part] for part in parts if part in told]
        if not known:
            continue
        first = known[0]
        found.append(
            MemoryRow(
                what=name,
                gib=round(sum(t.value for t in known), 4),
                rank=first.rank,
                source=first.evidence.source or None,
                line=first.evidence.line or None,
                earlier=first.earlier,
            )
        )
    return tuple(found)


def values(told: Ledger) -> dict[str, float]:
    """The bare numbers."""
    return {name: one.value for name, one in told.items()}


def pool(v: Mapping[str, float]) -> float | None:
    """What the pool took: as one figure, or as keys and values."""
    parts = [v[name] for name in _ROWS["KV pool"] if name in v]
    return sum(parts) if parts else None


def draft(v: Mapping[str, float]) -> float | None:
    """What the draft model took: its weights and its pool."""
    parts = [v[name] for name in ("draft_weights_gib", *_ROWS["draft KV pool"]) if name in v]
    return sum(parts) if parts else None

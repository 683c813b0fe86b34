"""Turn a memory budget into what to do: free the GPU, which way the fraction has to go and to what, what else to give. Never a number that the figures don't carry."""

from __future__ import annotations

import math
from collections.abc import Sequence

from forensics.model import Advice, BudgetOf, Cause, Direction, Frees, Phase
from forensics.reason.ledger import Holder, failed_allocation
from forensics.reason.levers import Lever, helpful
from forensics.reason.memory import Budget
from forensics.reason.place import Story
from forensics.reason.verdict import Verdict
from forensics.ruleset.quantities import shown

MUCH_GIB, MUCH_SHARE = 0.5, 0.05  # less than both is what a driver and a desktop take
NOT_OWN_SHARE = 0.1  # of the GPU: contexts and buffers of communication, which a server takes before its weights, are less
BEFORE_POOL = (Phase.LAUNCH, Phase.DISTRIBUTED_INIT, Phase.WEIGHTS)
LEAST = "memory.fraction_min"
WHO = "nvidia-smi --query-compute-apps=pid,used_memory,process_name --format=csv"
_OF = {BudgetOf.FREE: "free memory", BudgetOf.TOTAL: "total memory", BudgetOf.REMAINING: "memory that the weights leave"}


def direction_of(story: Story, verdict: Verdict, budget: Budget) -> Direction | None:
    """Which way the memory fraction has to go; ``rebalance`` where neighbouring attempts failed in opposite ways, or where the figures leave no fraction that works."""
    if verdict.cause is not Cause.GPU_OOM_INIT:
        return None
    ways: dict[int, str] = {}
    for signal in story.signals:
        rule = story.rules.rule(signal.rule)
        if signal.cause is Cause.GPU_OOM_INIT and rule is not None and rule.direction and signal.life is not None:
            ways.setdefault(signal.life, rule.direction)
    index = story.issue.index
    near = {ways[i] for i in (index - 1, index, index + 1) if i in ways}
    if {"raise", "lower"} <= near:
        return Direction.REBALANCE
    own = failed_by(story, verdict)
    asked, total = budget.figure("asked_gib"), budget.figure("total_gib")
    if own is Direction.LOWER and asked is not None and total is not None and asked >= total:
        return None  # no share of a GPU makes room for more than all of it
    if own is Direction.LOWER and taken_meanwhile(budget):
        return None  # the share had left room enough, and who took it takes as much again
    return budget.window.direction(own)


def failed_by(story: Story, verdict: Verdict) -> Direction | None:
    """The way that the rule of the verdict says: whether the life at issue had too little for its pool or too much."""
    if verdict.cause is Cause.GPU_OOM_RUNTIME:
        return Direction.LOWER if failed_allocation(story, story.issue.index) is not None else None
    if verdict.cause is not Cause.GPU_OOM_INIT:
        return None
    own = verdict.rule.direction if verdict.rule else None
    own = own or next((r.direction for s in verdict.signals if (r := story.rules.rule(s.rule)) is not None and r.direction), None)
    if (
        own == str(Direction.LOWER)
        and verdict.signals[0].phase is Phase.DRAFT_WORKER
        and not any(s.phase is Phase.KV_POOL for s in story.issue.phases)
    ):
        return None  # the draft model is loaded before the pool here: a smaller pool would free nothing yet
    return Direction(own) if own else None


def advice(story: Story, verdict: Verdict, budget: Budget, direction: Direction | None, *, told: bool) -> list[Advice]:
    """What to do, the most direct first. ``told``: who else holds the GPU has been said already, from the host's own list."""
    if verdict.cause not in (Cause.GPU_OOM_INIT, Cause.GPU_OOM_RUNTIME):
        return []
    found = [] if told else _others(story, budget)
    if verdict.cause is Cause.GPU_OOM_RUNTIME:
        return found if found and taken_meanwhile(budget) else [*found, *_serving(budget)]
    if budget.flag is not None and direction is not None:
        found.append(_fraction(budget, direction, sure=budget.window.fraction is not None or _for_the_least(verdict, budget)))
    return [*found, *_levers(budget, direction, verdict)]


# --------------------------------------------------------------------------- who else


def _others(story: Story, budget: Budget) -> list[Advice]:
    """Memory that is not this server's comes first: no fraction gives it back."""
    for holder in budget.others[:1]:
        if _much(holder.gib, budget):
            rest = f", all others together {all_gib:.1f}" if (all_gib := sum(h.all_gib for h in budget.others)) > holder.gib + 0.05 else ""
            text = f"{_who(story, holder)} holds {holder.gib:.1f} GiB of the same GPU{rest}: end it, or leave it its room"
            return [Advice(text=text, command=f"ps -o pid,user,lstart,cgroup,args -p {holder.pid}")]
    if not budget.others and taken_meanwhile(budget):
        text = f"{budget.taken_meanwhile_gib:.1f} GiB of the GPU were taken by others after this server had begun: see by whom, and end that, or leave it its room"
        return [Advice(text=text, command=WHO)]
    less = -(budget.grown_gib("free_before_gib") or 0.0)
    if less >= MUCH_GIB and not budget.others:
        then, now = budget.good["free_before_gib"], budget.figure("free_before_gib")
        text = f"{now:.1f} GiB were free before the weights, {less:.1f} less than in the last good life ({then:.1f}): something else holds them, see what, and free that first"
        return [Advice(text=text, command=WHO)]
    held, total = budget.held_at_start_gib, budget.figure("total_gib")
    if held is None or total is None or not _much(held, budget) or not _short_at_start(budget, held / total):
        return []
    when = "taken before it began" if budget.figure("free_at_start_gib") is not None else "not free before the weights"
    text = f"{held:.1f} of the {total:.1f} GiB were {when}: see by whom, and free that first (a leftover of the last start?)"
    return [Advice(text=text, command=WHO)]


def _short_at_start(budget: Budget, share: float) -> bool:
    """Whether it lacked already then: less was free than the fraction asks for, or more was held than contexts and libraries of its own take."""
    if budget.figure("free_at_start_gib") is None:
        return share >= NOT_OWN_SHARE
    return budget.window.fraction is None or budget.window.high is None or budget.window.fraction > budget.window.high


def _who(story: Story, holder: Holder) -> str:
    earlier = next((x for x in story.lives if x.index != story.issue.index and holder.pid in x.pids), None)
    if earlier is not None and earlier.index < story.issue.index:
        return f"pid {holder.pid}, of an earlier run of the same unit and still there,"
    process = story.facts.host.process(holder.pid)
    return f"pid {holder.pid} ({process.args.split()[0].rpartition('/')[2]})" if process is not None and process.args.split() else f"pid {holder.pid}"


def taken_meanwhile(budget: Budget) -> bool:
    """Whether what failed would have had room but for what others took while the server ran."""
    taken, asked, free = budget.taken_meanwhile_gib, budget.figure("asked_gib"), budget.figure("free_at_failure_gib")
    return taken is not None and asked is not None and _much(taken, budget) and taken + (free or 0.0) >= asked


def _much(gib: float, budget: Budget) -> bool:
    total = budget.figure("total_gib")
    return gib >= MUCH_GIB and (total is None or gib >= MUCH_SHARE * total)


# --------------------------------------------------------------------------- the fraction


def _for_the_least(verdict: Verdict, budget: Budget) -> bool:
    """Whether the rule says that the least fraction is what lacked; of a pool that was there and too small for something nobody knows how much it lacked."""
    return any(rule.flag == budget.flag and rule.to == LEAST for rule in (verdict.rule.advise if verdict.rule else ()))


def _fraction(budget: Budget, direction: Direction, *, sure: bool) -> Advice:
    """``sure``: the fraction in force is known, or the failure says that it is below the least; else no number can be said to be more than it was."""
    w = budget.window
    of = _OF.get(budget.fraction_of, "memory") if budget.fraction_of else "memory"
    to = w.suggest(direction)
    if direction is Direction.RAISE and not sure:
        return Advice(text=f"raise {budget.flag}", flag=budget.flag, direction=direction)
    if direction is Direction.REBALANCE or w.fits is False:
        return Advice(text=_rebalance(budget, to), flag=budget.flag, direction=Direction.REBALANCE, from_=w.fraction, to=to)
    if direction is Direction.RAISE:
        why = f": {_need(budget)} need{'s' if _need(budget).startswith('one') else ''} {_up(w.low)} of the {of}" if w.low is not None else ""
        grown = budget.grown_gib("weights_gib")
        why += f"; the weights take {grown:.1f} GiB more than in the last good life" if grown is not None and grown > 0 else ""
        text = f"raise {budget.flag} to at least {to}{why}" if to is not None else f"raise {budget.flag}{why}"
        if to is None and w.low is not None:
            text = f"{budget.flag} would have to be above {_up(w.low)}, which leaves no room for anything else: use more GPUs or a smaller (quantized) model"
        elif to is None:
            text += _reach(budget)
    else:
        why = f": {_room(budget)}" if w.high is not None else ""
        text = f"lower {budget.flag} to at most {to}{why}" if to is not None else f"lower {budget.flag}{why}"
        if to is None and w.high is not None:
            text = f"{budget.flag} cannot go as low as it would have to ({w.high:.3f}): {_room(budget)}"
        elif to is None and (asked := budget.figure("asked_gib")) is not None:
            text += f", so that {shown(asked, 'gib')} more stay free"
    return Advice(text=text + _as_before(budget, direction), flag=budget.flag, direction=direction, from_=w.fraction, to=to)


def _reach(budget: Budget) -> str:
    """How far all of a GPU would reach, where its size is not said: what one request lacks, by the share that is not given yet."""
    needed, available, now = budget.figure("kv_needed_gib"), budget.figure("kv_available_gib"), budget.window.fraction
    if budget.fraction_of is not BudgetOf.TOTAL or needed is None or available is None or now is None or now >= 1 or needed <= available:
        return ""
    lacks = needed - available
    return f": {lacks:.2f} GiB more are needed, and what is left above {now:g} holds them only if the GPU has over {math.ceil(lacks / (1 - now))} GiB"


def _binding(budget: Budget) -> bool:
    return budget.window.useful is not None and budget.window.low == budget.window.useful


def _need(budget: Budget) -> str:
    if budget.fraction_of is BudgetOf.TOTAL:
        return "weights and one request of full length" if _binding(budget) and budget.request_gib else "weights and activations alone"
    return "one request of full length" if budget.fraction_of is BudgetOf.REMAINING else "the weights alone"


def _room(budget: Budget) -> str:
    high = budget.window.high or 0.0
    return f"only {_cut(high)} of the total is free" if _of_start(budget) else f"above {_cut(high)} there is no room for what comes after it"


def _up(share: float) -> str:
    """Three digits, never rounded down."""
    return f"{math.ceil(round(share * 1000, 6)) / 1000:.3f}"


def _cut(share: float) -> str:
    """Three digits, never rounded up: 0.9996 would read as all of it."""
    return f"{int(share * 1000 + 1e-6) / 1000:.3f}"


def _of_start(budget: Budget) -> bool:
    """Whether the upper bound is what was free at the start."""
    start, total, high = budget.figure("free_at_start_gib"), budget.figure("total_gib"), budget.window.high
    return budget.fraction_of is BudgetOf.TOTAL and bool(start is not None and total and high is not None and abs(high - start / total) < 1e-6)


def _as_before(budget: Budget, direction: Direction) -> str:
    leans = {"fraction_max"} if direction is Direction.LOWER else {"fraction_max", "free_before_gib", "free_after_weights_gib"}
    return " (by the figures of another life of the unit)" if leans & budget.borrowed else ""


def _rebalance(budget: Budget, to: float | None) -> str:
    w = budget.window
    if w.low is not None and w.low >= 1.0 and w.high is None:
        return f"no value of {budget.flag} fits: {_need(budget)} would take {_up(w.low)} of the memory; use more GPUs or a smaller (quantized) model"
    if w.low is None or w.high is None:
        return f"{budget.flag} alone does not help: raised it fails one way, lowered the other"
    after = "what is free at the start" if _of_start(budget) else "what comes after the pool"
    bounds = f"at least {_up(w.low)} for {_need(budget)}, at most {_cut(w.high)} for {after}"
    lent = " (bounds of several lives of the unit)" if {"fraction_max", "free_before_gib", "free_after_weights_gib"} & budget.borrowed else ""
    if not w.fits:
        return f"no single value of {budget.flag} fits: {bounds}{lent}"
    tokens = f", {w.room_gib / budget.token_gib:.0f} tokens" if w.room_gib and budget.token_gib else ""
    room = f"the pool would have {w.room_gib:.2f} GiB at most{tokens}"
    if w.narrow:
        return f"hardly any value of {budget.flag} fits: {bounds}{lent}; {room}"
    return f"{f'set {budget.flag} to {to}' if to is not None else f'{budget.flag} has to be between its bounds'}: {bounds}{lent}; {room}"


def between(budget: Budget) -> str:
    """What a rebalance comes to, in a few words."""
    w = budget.window
    if w.fits is False:
        return f"the figures leave no value of {budget.flag} that works"
    if w.suggest(Direction.REBALANCE) is not None:
        return "the attempt beside it failed the other way: what works lies between the two"
    return f"the attempt beside it failed the other way, so {'hardly any' if w.narrow else 'perhaps no'} value in between fits either"


# --------------------------------------------------------------------------- what else


def _levers(budget: Budget, direction: Direction | None, verdict: Verdict) -> list[Advice]:
    """What else to give: where no fraction does it alone, and where a shorter request would do as well."""
    w = budget.window
    measured = budget.fraction_of is BudgetOf.TOTAL
    phase = verdict.signals[0].phase if verdict.signals else None
    # of these the message has the number itself
    named = {rule.flag for rule in (verdict.rule.advise if verdict.rule else ()) if rule.text and "{" in rule.text}
    if direction is Direction.REBALANCE and w.suggest(direction) is not None:
        return []  # there is a value between the two that failed
    chosen: tuple[Lever, ...] = ()
    if direction is Direction.REBALANCE or w.fits is False:
        chosen = helpful(budget.levers, before=True, after=True, measured=True, request=_binding(budget) or w.narrow)
    elif direction is Direction.RAISE and w.low is not None and w.suggest(direction) is None:
        chosen = helpful(budget.levers, before=True, after=False, measured=measured, request=_binding(budget))
    elif direction is Direction.RAISE:
        chosen = tuple(lever for lever in budget.levers if lever.frees is Frees.CONTEXT and lever.given.to is not None)
    elif direction is Direction.LOWER and not _of_start(budget):
        chosen = tuple(lever for lever in budget.levers if lever.frees is Frees.GRAPHS and lever.given.frees_gib is not None)[:1]
    elif direction is None and phase in BEFORE_POOL:
        chosen = helpful(budget.levers, before=True, after=False, measured=measured, request=False)
    chosen = tuple(lever for lever in chosen if lever.given.flag not in named)
    reckoned = any(lever.given.frees_gib is not None or lever.given.to is not None for lever in chosen)
    return _said(chosen) if reckoned or (chosen and direction is Direction.REBALANCE) else []  # without a number the rule's own words do


def _said(chosen: Sequence[Lever]) -> list[Advice]:
    if not chosen:
        return []
    if len(chosen) == 1:
        one = chosen[0].given
        return [Advice(text=f"or {one.flag}{f' {one.to}' if one.to is not None else ''}: {one.text}", flag=one.flag, to=one.to)]
    parts = [f"{x.given.flag}{f' {x.given.to}' if x.given.to is not None else ''} ({x.given.text}{_frees(x)})" for x in chosen]
    return [Advice(text=f"what else gives room: {'; '.join(parts)}")]


def _frees(lever: Lever) -> str:
    gib = lever.given.frees_gib
    return f", {gib:.2f} GiB less" if gib is not None and gib >= 0.01 and lever.frees is not Frees.GRAPHS else ""


def _serving(budget: Budget) -> list[Advice]:
    """While serving: one large allocation, or memory that went away bit by bit; and what makes room for it."""
    asked, left, ready = budget.figure("asked_gib"), budget.figure("free_at_failure_gib"), budget.figure("free_when_ready_gib")
    found = []
    chosen = helpful(budget.levers, before=False, after=True, measured=True, request=False)
    chosen = tuple(sorted(chosen, key=lambda x: x.frees is not Frees.ACTIVATIONS))
    if asked is not None and left is not None and asked > left:
        what = f"{shown(asked, 'gib')} were asked for at once with {shown(left, 'gib')} free"
        if ready is not None and ready - left > asked:
            what += f", of {ready:.2f} GiB when it was ready: the rest went away while it served (caches, longer batches, a leak)"
        elif ready is not None:
            what += f", of {ready:.2f} GiB when it was ready: one large request, no leak"
        knobs = " or ".join(x.given.flag for x in chosen if x.frees is Frees.ACTIVATIONS)
        found.append(Advice(text=f"{what}{f'; a smaller {knobs} asks for less' if knobs else ''}"))
    to = budget.window.suggest(Direction.LOWER)
    if budget.flag is not None and to is not None:
        why = f"above {_cut(budget.window.high or 0.0)} that allocation finds no room"
        text = f"or lower {budget.flag} to at most {to}: {why}, and a smaller pool holds fewer tokens"
        found.append(Advice(text=text, flag=budget.flag, direction=Direction.LOWER, from_=budget.window.fraction, to=to))
    return found

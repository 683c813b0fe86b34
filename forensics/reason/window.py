"""Between which fractions a server can start, from figures alone: what comes out of its budget before the pool, and what has to stay free beside it. Knows kinds of budget, no server."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from forensics.model import BudgetOf, Direction

ROOM = 0.02  # of the budget: below this the pool holds a handful of requests and the next start fails again
CEILING = 0.97
FLOOR = 0.1
ERROR = 0.005  # figures have two digits, and a server rounds before it says them
_SLACK = 1e-9


class Window(NamedTuple):
    """Fractions 0 … 1. ``low``: below it the server cannot start; ``high``: above it what comes beside the pool finds no room; ``useful``: holds one full request."""

    fraction: float | None = None
    most: float | None = None  # where the fraction is not known: it is no greater than this, by what the pool left
    low: float | None = None
    high: float | None = None
    useful: float | None = None
    base_gib: float | None = None  # what one whole is

    @property
    def fits(self) -> bool | None:
        """Whether any fraction works; None where a bound is unknown that could still leave one."""
        if self.low is not None and self.low >= 1.0:
            return False  # more than all of it is wanted, whatever has to stay free beside
        return None if self.low is None or self.high is None else self.low < self.high

    @property
    def room_gib(self) -> float | None:
        """The largest pool that the window allows."""
        return None if self.low is None or self.high is None or self.base_gib is None else max(0.0, (self.high - self.low) * self.base_gib)

    @property
    def narrow(self) -> bool:
        """Whether there is hardly a pool in it, though it is not empty."""
        return bool(self.fits) and self.low is not None and self.high is not None and self.high - self.low < ROOM

    def direction(self, own: Direction | None) -> Direction | None:
        """The way that a rule says, unless the figures show that it would only change one failure into the other."""
        if own not in (Direction.RAISE, Direction.LOWER):
            return own
        w = self.believed(own)
        below = w.fraction is not None and w.low is not None and w.fraction < w.low
        above = w.fraction is not None and w.high is not None and w.fraction > w.high
        return Direction.REBALANCE if (below if own is Direction.LOWER else above) or w.fits is False else own

    def believed(self, own: Direction | None) -> Window:
        """Without a bound that the failure itself contradicts: what has failed for too little is not above the least that works, nor the other way round."""
        w, now = self, self.fraction if self.fraction is not None else self.most
        if now is not None and own is Direction.RAISE and w.low is not None and now > w.low + ERROR:
            w = w._replace(low=None, useful=None)
        if now is not None and own is Direction.LOWER and w.high is not None and now < w.high + _SLACK:
            w = w._replace(high=None)
        return w

    def suggest(self, direction: Direction | None) -> float | None:
        """The fraction to try, on a grid of 0.01, always within the window; None where the figures give none or none would fit."""
        if self.fits is False:
            return None
        if direction is Direction.RAISE and self.low is not None:
            return self._raised(self.low)
        if direction is Direction.LOWER and self.high is not None:
            return self._lowered(self.high)
        if direction is Direction.REBALANCE and self.low is not None and self.high is not None and not self.narrow:
            return self._within(_down(max((self.low + self.high) / 2, self.high - 2 * ROOM)))
        return None

    def _raised(self, low: float) -> float | None:
        least = low + ROOM
        if self.useful is not None and self.high is not None and low < self.useful <= self.high:
            least = max(least, self.useful)  # more than the least only where it is known to leave room for the rest
        if self.fraction is not None and _up(least) <= self.fraction:
            least = self.fraction + ROOM  # within the error of the figures
        to = _up(least)
        if self.high is not None and to > self.high:  # less headroom, where there is no more than that
            to = _down(self.high)
        if to > CEILING or (self.fraction is not None and to <= self.fraction):
            return None
        return self._within(to)

    def _lowered(self, high: float) -> float | None:
        now = self.fraction if self.fraction is not None else self.most
        to = _down(high - ROOM / 2)
        if now is not None and to >= now:
            to = _down(now - ROOM)
        if self.low is not None and to < self.low:
            to = _down(high)
        if to <= FLOOR or (now is not None and to >= now):
            return None
        return self._within(to)

    def _within(self, to: float) -> float | None:
        low_ok = self.low is None or to >= self.low - _SLACK
        return to if low_ok and (self.high is None or to <= self.high + _SLACK) else None


def window(kind: BudgetOf | None, v: Mapping[str, float], *, whole_request: bool, after_pool: bool) -> Window:
    """The window out of figures in GiB by their names.

    ``fraction`` is what is in force, ``request_gib`` what one request of full length takes in the pool; ``asked_gib`` and ``free_at_failure_gib`` count only where
    the allocation failed with the pool in place (``after_pool``).
    """
    base = (
        {BudgetOf.FREE: v.get("free_before_gib"), BudgetOf.TOTAL: v.get("total_gib"), BudgetOf.REMAINING: v.get("free_after_weights_gib")}.get(kind)
        if kind
        else None
    )
    fraction, request = v.get("fraction"), v.get("request_gib")
    if kind is None or not base or base <= 0:
        return Window(fraction=fraction, low=v.get("wanted_min"))
    spent = _spent(kind, v, base)
    low = useful = None
    refused = v.get("kv_needed_gib", 0.0) > v.get("kv_available_gib", math.inf)  # it says itself that one request has to fit
    if spent is not None:
        low = useful = max(0.0, spent / base)
        if request is not None:
            useful = (spent + request) / base
            low = useful if whole_request or refused else low
        elif whole_request and v.get("kv_available_gib", 0.0) > 0:
            low = useful = None  # the weights have their room already: what one request needs is the bound, and nobody says it
    if v.get("wanted_min"):
        low = v["wanted_min"]
    high = _high(kind, v, base, after_pool=after_pool)
    beside = v.get("free_after_pool_gib")
    most = 1 - beside / base if fraction is None and beside is not None and kind is not BudgetOf.TOTAL else None
    return Window(fraction=fraction, most=most, low=low, high=high, useful=useful, base_gib=base)


def _spent(kind: BudgetOf, v: Mapping[str, float], base: float) -> float | None:
    """What comes out of the budget before the pool."""
    if kind is BudgetOf.REMAINING:
        return 0.0 if "request_gib" in v else None
    if kind is BudgetOf.FREE:
        after = v.get("free_after_weights_gib")
        return base - after if after is not None and 0 <= after <= base else None
    fraction, available = v.get("fraction"), v.get("kv_available_gib")
    if fraction is not None and available is not None:
        return fraction * base - available
    measured = [v.get(name) for name in ("weights_gib", "activation_gib", "non_torch_gib")]
    known = [m for m in measured if m is not None]
    return sum(known) if len(known) == len(measured) else None


def _high(kind: BudgetOf, v: Mapping[str, float], base: float, *, after_pool: bool) -> float | None:
    """The greatest fraction that leaves enough beside the pool: the least of all bounds that are known.

    What lacked in a life that failed, or was left in one that became ready, is taken from its own fraction; where that is not known, from what the pool left.
    """
    found = []
    now, beside = v.get("fraction"), v.get("free_after_pool_gib")
    if now is None and beside is not None and kind is not BudgetOf.TOTAL:
        now = 1 - beside / base
    asked, left, ready = v.get("asked_gib"), v.get("free_at_failure_gib"), v.get("free_when_ready_gib")
    if now is not None and after_pool and asked is not None and left is not None and asked > left:
        found.append(now - (asked - left) / base)
    if now is not None and ready is not None and kind is not BudgetOf.TOTAL:
        found.append(now + ready / base)
    if kind is BudgetOf.TOTAL and (start := v.get("free_at_start_gib")) is not None:
        found.append(start / base)
    return max(0.0, min(1.0, *found)) if found else None


def _up(value: float) -> float:
    return math.ceil(round(value * 100, 6)) / 100


def _down(value: float) -> float:
    return math.floor(round(value * 100, 6)) / 100

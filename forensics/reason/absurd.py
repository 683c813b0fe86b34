"""Tell figures of memory that cannot be true from those that are merely odd. A log can hold any number; nothing is reckoned with what no machine has."""

from __future__ import annotations

from typing import NamedTuple

from forensics.model import Evidence

MOST_GIB = 4096.0  # of one GPU, with what it shares with its host: eight times the largest that is sold
_SLACK = 1.02, 0.5  # two programs measure one GPU: a share, and GiB
# rests and differences that a server reckons out: less than nothing is what they say when something was freed meanwhile, or is lacking
_RESTS = frozenset({"kv_available_gib", "activation_gib", "non_torch_gib", "graph_gib"})
_WANTED = frozenset({"needed_gib", "kv_needed_gib", "asked_gib"})  # may well be more than there is: that is why it failed


class Odd(NamedTuple):
    """A figure that is not used, what it is of, and why not."""

    what: str
    value: float
    why: str
    evidence: Evidence


def absurd(fact: str, value: float) -> str | None:
    """Why a figure cannot be true; None where it can."""
    if fact == "fraction":
        return None if 0 < value <= 1 else "no share of anything"
    if not fact.endswith(("_gib", "_tokens")) and fact != "concurrency":
        return None
    if value < 0 and fact not in _RESTS:
        return "less than nothing"
    if fact.endswith("_gib") and abs(value) > MOST_GIB and fact not in _WANTED:
        return "more than any GPU has"
    return None


def beyond(total_gib: float | None, free_gib: float) -> str | None:
    """Why so much cannot have been free of so much."""
    if total_gib is None or free_gib <= total_gib * _SLACK[0] + _SLACK[1]:
        return None
    return f"more than the {total_gib:g} GiB that the GPU has"

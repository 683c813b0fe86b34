"""Tell the ranks of a start-up apart: who directs whom, and which one the others wait for. Believes no rank behind that may only be silent."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from forensics import lazily
from forensics.model import Behind, Phase, PhaseSpan

_NUMBER = lazily.pattern(r"[0-9]")
_LAST = lazily.pattern(r"^(?P<kind>.*?)(?P<number>[0-9]{1,4})$")


def numbered(rank: str) -> bool:
    """Whether it is one of several that do the same: ``TP3``, ``DP0 TP1``; a main process or an engine is not."""
    return _NUMBER.search(rank) is not None


def directs(other: str, rank: str) -> bool:
    """Whether one process waits for another: a main process or an engine for its ranks, the head of a group (``DP0``) for its members (``DP0_TP1``)."""
    return not numbered(other) or (rank != other and rank.startswith(other) and not rank[len(other)].isalnum())


def behind(
    spans: Sequence[PhaseSpan],
    open_of: Mapping[str, int],
    done: Mapping[str, set[Phase]],
    heard: Mapping[str, float | None],
    spoke: Mapping[str, frozenset[Phase]],
) -> Behind | None:
    """The rank that stands in a phase which the others have left, or that has not spoken at all while they have.

    A rank need not say what another says for it: many servers let the first one speak for all. So it is behind only where more have gone on than stand
    with it, or where it is the first of them, or where it has named what comes next in another life (``spoke``).
    """
    ranks = sorted(_workers(open_of), key=_order)
    if len(ranks) < 2:
        return _unheard(ranks, spans, open_of, spoke)
    at = {rank: spans[open_of[rank]].phase for rank in ranks}
    been: dict[str, set[Phase]] = {rank: set(done.get(rank, ())) for rank in ranks}
    for span in spans:
        if span.rank in been and not span.assumed:
            been[span.rank].add(span.phase)
    for phase in dict.fromkeys(at[rank] for rank in ranks):
        there = [r for r in ranks if at[r] is phase and phase not in done.get(r, ())]
        standing = set(there)
        ahead = [r for r in ranks if r not in standing and phase in been[r]]
        seen = set().union(*(been[r] for r in there)) if there else set()
        ahead = [r for r in ahead if phase in done.get(r, ()) or at[r] not in seen]
        if not there or len(there) + len(ahead) < len(ranks) or not ahead or not _would_say(there, ahead, at, spoke, ranks[0]):
            continue
        since = [t for r in there if (t := heard.get(r)) is not None]
        others = Counter(at[r] for r in ahead).most_common(1)[0][0]
        return Behind(rank=there[0], ranks=tuple(there), phase=phase, since=max(since, default=None), others=others)
    return _unheard(ranks, spans, open_of, spoke)


def _workers(open_of: Mapping[str, int]) -> list[str]:
    ranks = [r for r in open_of if numbered(r)]
    heads = {r[:end] for r in ranks for end in range(1, len(r)) if not r[end].isalnum()}
    return [r for r in ranks if r not in heads]


def _would_say(there: Sequence[str], ahead: Sequence[str], at: Mapping[str, Phase], spoke: Mapping[str, frozenset[Phase]], first: str) -> bool:
    reached = {at[r] for r in ahead}
    return len(ahead) > len(there) or first in there or all(spoke.get(r, frozenset()) & reached for r in there)


def _unheard(ranks: Sequence[str], spans: Sequence[PhaseSpan], open_of: Mapping[str, int], spoke: Mapping[str, frozenset[Phase]]) -> Behind | None:
    """A rank that spoke in another life and not in this one, or whose number is missing among those that did."""
    if not ranks:
        return None
    missing = [r for r in spoke if numbered(r) and r not in ranks and spoke[r] and spoke[r] & {spans[open_of[x]].phase for x in ranks}]
    if not missing:
        missing = _gaps(ranks)
    if not missing or len(missing) >= len(ranks):
        return None
    missing.sort(key=_order)
    others = Counter(spans[open_of[r]].phase for r in ranks).most_common(1)[0][0]
    return Behind(rank=missing[0], ranks=tuple(missing), others=others)


def _gaps(ranks: Sequence[str]) -> list[str]:
    found = [(m["kind"], int(m["number"])) for r in ranks if (m := _LAST.match(r))]
    kinds = {kind for kind, _ in found}
    if len(kinds) != 1 or len(found) < len(ranks):
        return []
    numbers = {number for _, number in found}
    (kind,) = kinds
    return [f"{kind}{n}" for n in range(max(numbers)) if n not in numbers] if max(numbers) < 2 * len(numbers) else []


def _order(rank: str) -> tuple[object, ...]:
    return tuple((len(part), part) for part in re.findall(r"[0-9]+|[^0-9]+", rank))

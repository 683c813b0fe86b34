"""Put the results of scans that followed each other together, as if one scan had seen all. Never looks at a line again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from forensics.model import Hit
from forensics.ruleset.scan import Matcher, ScanResult


def moved(result: ScanResult, shift: int) -> ScanResult:
    """The result with its lines counted from the start of their source."""
    if not shift:
        return result
    return replace(result, hits=[hit._replace(frame=hit.frame.moved(shift)) for hit in result.hits])


def merged(results: Sequence[ScanResult], matcher: Matcher) -> ScanResult:
    """One result of several, in the order of the lines: of each expression and source the first and the last that are kept, and the exact counts."""
    if len(results) == 1:
        return results[0]
    keep = {item.id: item.keep for item in matcher.items}
    sources: dict[str, list[Hit]] = {}
    counts: dict[str, int] = {}
    for result in results:
        for hit in result.hits:
            sources.setdefault(hit.frame.source, []).append(hit)
        for rule, count in result.counts.items():
            counts[rule] = counts.get(rule, 0) + count
    return ScanResult(hits=[hit for hits in sources.values() for hit in _kept(hits, keep)], counts=counts)


def _kept(hits: list[Hit], keep: dict[str, int]) -> list[Hit]:
    """Those that a single scan would have kept of a source: each of the scans has kept as many of its own."""
    total: dict[str, int] = {}
    for hit in hits:
        total[hit.rule] = total.get(hit.rule, 0) + 1
    seen: dict[str, int] = {}
    kept: list[Hit] = []
    for hit in sorted(hits, key=lambda hit: hit.frame.line_no):
        number = seen[hit.rule] = seen.get(hit.rule, 0) + 1
        if number <= keep[hit.rule] or number > total[hit.rule] - keep[hit.rule]:
            kept.append(hit)
    return kept

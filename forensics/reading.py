"""Read every line of a capture once: frames, hits, and the two ends of each source. Large parts are read by several processes. Never judges what it reads.

What comes out is the same however many processes there are: a part is cut where one process would have begun a new piece of it, and each stretch inherits of the
lines above it what it would have inherited.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from forensics import parse, ruleset
from forensics.model import Capture
from forensics.parse.lines import PIECE

if TYPE_CHECKING:
    from forensics.parse.block import Block
    from forensics.parse.frame import Stretch
    from forensics.parse.tails import Ends
    from forensics.ruleset import Matcher, RuleSet, Scanner, ScanResult

LARGE = 32 << 20  # bytes of a part; less is read before a second process has warmed to its work
_LEAST = 48 << 20  # bytes of a stretch: each opens its own first and last hits, and learns its lines' shapes anew
_STRETCHES = 3  # at most, for each process: the cores of a busy machine are not equally fast
_WARM = 4  # blocks
_TELL_S = 1.0

Progress = Callable[[str], None]


def read(
    capture: Capture,
    rules: RuleSet | Matcher,
    prefixes: Sequence[str],
    *,
    progress: Progress | None = None,
    processes: int | None = None,
    large: int = LARGE,
    every: int | None = None,
    step: int = PIECE,
) -> tuple[ScanResult, Ends]:
    """The hits and the ends of all sections. ``progress`` hears about once a second how much of a large part has been read.

    ``processes`` (None: one for each core, if this process can be forked), ``large``, ``every`` (bytes of a stretch) and ``step`` (bytes of a reading) are
    there for tests: the outcome does not hang on them.
    """
    matcher = rules if isinstance(rules, ruleset.Matcher) else ruleset.Matcher(rules)
    ends = parse.Ends()
    results: list[ScanResult] = []
    small: list[Stretch] = []
    for stretch in parse.stretches(capture, prefixes, step=step):
        size = stretch.size()
        if size < large:
            small.append(stretch)
            continue
        cores = ruleset.usable() if processes is None else processes
        told = Told(stretch.section.name, size, progress)
        found = stretch.cut(every or _share(size, cores)) if cores > 1 or every else [stretch]
        if small:
            results.append(_scanned(small, matcher, ends))
            small = []
        if len(found) == 1:
            results.append(_scanned(found, matcher, ends, told.advance))
            continue
        scanner = ruleset.Scanner(matcher)
        often = scanner.often(scanner.scan(islice(found[0].blocks(), _WARM)))  # what is learnt of a source's lines once, all processes know
        jobs = [partial(_job, one, scanner, often if number else ()) for number, one in enumerate(found)]
        for number, (result, own) in enumerate(ruleset.spread(jobs, processes=cores, advance=told.advance)):
            shift = ends.next_line[stretch.section.name] - 1 if number else 0
            ends.add(own, shift)
            results.append(ruleset.moved(result, shift))
    if small or not results:
        results.append(_scanned(small, matcher, ends))
    return ruleset.merged(results, matcher), ends


def _share(size: int, processes: int) -> int:
    """How many bytes a stretch has: as many stretches for each process."""
    number = processes * min(_STRETCHES, max(1, size // (processes * _LEAST)))
    return -(-size // number)


def _job(stretch: Stretch, scanner: Scanner, begun: Collection[str], advance: Callable[[int], None]) -> tuple[ScanResult, Ends]:
    ends = parse.Ends()
    result = _scanned([stretch], scanner, ends, advance, begun=begun)
    ends.close()
    return result, ends


def _scanned(
    stretches: Iterable[Stretch], by: Matcher | Scanner, ends: Ends, advance: Callable[[int], None] | None = None, *, begun: Collection[str] = ()
) -> ScanResult:
    blocks = (block for stretch in stretches for block in stretch.blocks())
    scanner = ruleset.Scanner(by) if isinstance(by, ruleset.Matcher) else by
    return scanner.scan(ends.watch(_counted(blocks, advance) if advance else blocks), begun=begun)


def _counted(blocks: Iterable[Block], advance: Callable[[int], None]) -> Iterator[Block]:
    for block in blocks:
        yield block
        advance(block.length)


class Told:
    """Says how much of a large part has been read, about once a second."""

    def __init__(self, name: str, size: int, progress: Progress | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._size = size
        self._progress = progress
        self._clock = clock
        self._done = 0
        self._next = clock() + _TELL_S

    def advance(self, size: int) -> None:
        """Note that so many bytes more have been read."""
        self._done += size
        if self._progress is not None and self._clock() >= self._next:
            self._next = self._clock() + _TELL_S
            self._progress(f"{self._name}: {min(99, 100 * self._done // max(1, self._size))} % read")

"""Leave out lines that only repeat the one right above them, as a log with two handlers writes them. Never touches lines whose time is not known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from forensics.model import Origin, Record, Seen

OF_THE_MACHINE = (Origin.SYSTEMD, Origin.KERNEL)


def once(some: Iterable[Seen]) -> Iterator[Seen]:
    """The seen lines without those repeats; they come by source and line, all hits of a line together.

    The same words under the same stamp, in the next line: whoever starts, or dies, twice in a moment says something in between.
    """
    above: Seen | None = None  # the last line that was let through, moved down over its repeats
    repeated = False
    for seen in some:
        if above is not None and (seen.record.source, seen.record.line_no) == (above.record.source, above.record.line_no):
            if not repeated:
                yield seen
            continue
        repeated = above is not None and _repeats(seen, above)
        above = seen
        if not repeated:
            yield seen


def _repeats(seen: Seen, above: Seen) -> bool:
    one, other = seen.record, above.record
    if _said(one) != _said(other) or (one.source, one.line_no) != (other.source, other.line_no + 1):
        return False
    frame, before = seen.hit.frame, above.hit.frame
    return (frame.stamp, frame.inner) == (before.stamp, before.inner) and (one.at is not None or one.origin in OF_THE_MACHINE)


def _said(record: Record) -> tuple[str, float | None, int | None, str, str]:
    """Two ranks say the same in the same moment."""
    return record.text, record.at, record.pid, record.ident, record.rank

"""Find the stretches of a text whose lines have a shape of their own: journals, what systemd prints, tables of a host. Never says whose the other lines are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forensics import lazily
from forensics.model import Origin, PartKind
from forensics.parse import shape
from forensics.parse.dress import FILLER
from forensics.parse.unwrap import journal_line, separator

_STATUS_RECORDS = 10  # what systemctl status shows of the journal, unless told otherwise
OTHER = None  # a run that has no shape of its own: a server's or a client's


@dataclass(slots=True, eq=False, repr=False)
class Run:
    """Lines ``first`` up to ``stop`` of one shape."""

    kind: PartKind | None
    first: int
    stop: int
    problem: str = ""


def run_at(texts: Sequence[str], at: int, stop: int, before: Sequence[Run]) -> Run | None:
    """The run that begins at this line, where the line has a shape; None for other text and blank lines."""
    text = texts[at]
    if not text.strip():
        return None
    if shape.SHOW_LINE.match(text):
        return _show(texts, at, stop)
    if (described := _described(texts, at, stop)) is not None:
        return described
    kind = shape.kind_of(text)
    if kind is None or kind is PartKind.CLIENT:
        return None
    if kind is PartKind.IS_ACTIVE:
        # a lone "failed" within a log is a word of that log
        begins = not before or before[-1].kind is not OTHER or not texts[at - 1].strip()
        ends = at + 1 == stop or not texts[at + 1].strip() or shape.kind_of(texts[at + 1]) is not None
        return Run(kind, at, at + 1) if begins and ends else None
    if kind is PartKind.EMPTY:
        return Run(OTHER if _within_a_log(texts, at, at + 1, before) else kind, at, at + 1)
    if kind is PartKind.STATUS:
        return _status(texts, at, stop)
    if kind is PartKind.UNIT_FILE:
        return _unit_file(texts, at, stop)
    if kind is PartKind.JOURNAL_TEXT or (kind is PartKind.KERNEL and journal_line(text)):
        run = _journal(texts, at, stop)
        if not _within_a_log(texts, at, run.stop, before):
            return run
        # as far as nothing parts it from that log: each of its lines would be looked at from there to its end again
        return Run(OTHER, at, next((n for n in range(at, run.stop) if not texts[n].strip()), run.stop))
    return _alike(texts, at, stop, kind)


def _within_a_log(texts: Sequence[str], at: int, stop: int, before: Sequence[Run]) -> bool:
    """A program may write lines that look like the journal's: a few of them, straight after lines of its log, are that log's."""
    if not before or before[-1].kind is not OTHER or not texts[at - 1].strip() or shape.CLIENT_SURE.match(texts[at - 1]):
        return False
    above = at - before[-1].first
    return stop - at <= above and (above >= 5 or any(shape.LOGGED.match(texts[n]) for n in range(before[-1].first, at)))


def _status(texts: Sequence[str], at: int, stop: int) -> Run | None:
    if shape.STATUS_HEAD.match(texts[at]) and not any(shape.STATUS_KEY.match(t) for t in texts[at + 1 : at + 3]):
        return None
    end, tail, records = at + 1, 0, 0
    while end < stop:
        text = texts[end]
        if opened := journal_line(text):
            tail, records = tail or end, records + 1
            if records > _STATUS_RECORDS or opened.stamp[0].isdigit():  # status writes "May 09 10:15:51": this is a journal pasted below it
                return Run(PartKind.STATUS, at, tail)
        elif not text.strip():
            if tail:
                break
        elif shape.STATUS_HEAD.match(text) or shape.MISSING_UNIT.match(text):
            tail = records = 0
        elif not (shape.STATUS_KEY.match(text) or shape.STATUS_TREE.match(text) or text.startswith(("Warning: ", "Hint: Some lines", "Notice: "))):
            break
        end += 1
    return Run(PartKind.STATUS, at, end)


def _show(texts: Sequence[str], at: int, stop: int) -> Run | None:
    """The block that begins here; lines of that form which are none are a run without a shape, as a whole."""
    end = at
    while end < stop and (
        shape.SHOW_LINE.match(texts[end])
        or texts[end] == FILLER
        or (not texts[end].strip() and end + 1 < stop and shape.SHOW_LINE.match(texts[end + 1]))
    ):
        end += 1
    sure = sum(1 for t in texts[at:end] if shape.SHOW_SURE.match(t))
    alone = sure and not any(texts[n].strip() for n in range(end, stop))  # show -p Result
    return Run(PartKind.SHOW if sure >= 2 or alone else OTHER, at, end)


def _described(texts: Sequence[str], at: int, stop: int) -> Run | None:
    """``kubectl describe pod``, or a pod as YAML: known by two lines together, and all that is laid out like their own further lines."""
    two = texts[at : min(stop, at + 2)]
    if len(two) < 2:
        return None
    if two[0].startswith("Name:") and two[1].startswith("Namespace:") and all(shape.DESCRIBED.match(t) for t in two):
        end = at + 2
        while end < stop and shape.DESCRIBED_LINE.match(texts[end]):
            end += 1
        return Run(PartKind.POD, at, end)
    if shape.POD_YAML.match(two[0]) and two[1].strip() == "kind: Pod":
        return Run(PartKind.POD, at, stop)
    return None


def _unit_file(texts: Sequence[str], at: int, stop: int) -> Run:
    end = at + 1
    while end < stop and (texts[end - 1].endswith("\\") or shape.UNIT_SECTION.match(texts[end]) or shape.UNIT_LINE.match(texts[end])):
        end += 1
    return Run(PartKind.UNIT_FILE, at, end)


def _journal(texts: Sequence[str], at: int, stop: int) -> Run:
    """Journal text with the further lines of its messages; all of it from the kernel makes it a kernel log."""
    end, kernel, others = at, 0, 0
    while end < stop:
        text = texts[end]
        opened = journal_line(text) or separator(text)
        if opened is not None:
            if text.startswith("-- No entries"):
                if not kernel + others:  # "-- Journal begins at … --" stood above it
                    return Run(PartKind.EMPTY, at, end + 1)
                break
            kernel += opened.origin is Origin.KERNEL
            others += opened.origin is not Origin.KERNEL and opened.ident != "journalctl"
        elif end == at or shape.CLIENT_SURE.match(text) or not (text.startswith((" ", "\t", "░░", "-- ")) or not text.strip()):
            break
        end += 1
    # early systemd and udev write to the kernel's log as well
    return Run(PartKind.KERNEL if kernel > 9 * others else PartKind.JOURNAL_TEXT, at, end)


_GOES_ON = {
    PartKind.NOTICE: lazily.pattern(r"\s{2,}\S"),
    PartKind.UNITS: shape.UNITS_TAIL,
    PartKind.GPU: lazily.pattern(r"[|+]|(?:\d{1,10}|GPU-[0-9a-f-]{4,40}|[0-9A-Fa-f]{8}:[0-9A-Fa-f:.]{4,10}), \S"),
    PartKind.DISKS: shape.DISKS_TAIL,
    PartKind.MACHINE: lazily.pattern(r"[A-Z]\w{1,30}(?:\(\w{1,16}\))?:\s{1,16}\d"),
    PartKind.PROCESSES: shape.PROCESSES_TAIL,
    PartKind.COREDUMPS: lazily.pattern(r"\s+\S"),
    PartKind.KERNEL: lazily.pattern(r"\s+\S"),
}


def _alike(texts: Sequence[str], at: int, stop: int, kind: PartKind) -> Run:
    """Lines of the same shape, and those that only ever follow them."""
    follows = _GOES_ON.get(kind)
    end = at + 1
    while end < stop:
        text = texts[end]
        if text.strip() and shape.kind_of(text) is not kind and not (follows and follows.match(text)):
            break
        end += 1
    while not texts[end - 1].strip():
        end -= 1
    return Run(kind, at, end)

"""Decide whose the lines are that have no shape of their own: a server's, a client's or the kernel's; and join what a stray line has cut in two. Never reads a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from forensics import lazily
from forensics.model import Columns, PartKind
from forensics.parse import matrix, shape
from forensics.parse.asked import simples
from forensics.parse.shaped import OTHER, Run

_KERNEL_COMMAND = lazily.pattern(r"\bdmesg\b|\bjournalctl\b.* (?:-k\b|--dmesg\b)")
_CLIENT_COMMAND = lazily.pattern(r"\b(?:curl|wget|http|hey|wrk|ab|oha|locust|guidellm|genai-perf|aiperf|k6)\b|bench|client|health|load_?test|eval")
_LOG_COMMAND = lazily.pattern(
    r"\b(?:docker|podman|kubectl|nerdctl)\b.*\blogs?\b|\b(?:tail|cat|less|head|more|zcat|journalctl|grep)\b|\b(?:launch|serve)"
)
_KERNEL_NAME = lazily.pattern(r"kern|dmesg")
_SERVER_NAME = lazily.pattern(r"(?:^|[._-])log(?:[._-]|$)|server|stdout|stderr|container|pod")
_LONGEST_COMMAND = 1024  # characters of a command that are looked at for what it asks
_BEFORE_A_TABLE = 8  # lines that may say what a table of measured configurations is of


def healed(texts: Sequence[str], runs: list[Run]) -> list[Run]:
    """Join what a stray line has cut in two: a journal line that a terminal has wrapped, a blank line, the head of a table."""
    whole: list[Run] = []
    for index, run in enumerate(runs):
        if run.kind is OTHER and whole:
            blank = not any(t.strip() for t in texts[run.first : run.stop])
            before, after = whole[-1], runs[index + 1] if index + 1 < len(runs) else None
            torn = (
                before.kind in (PartKind.JOURNAL_TEXT, PartKind.KERNEL) and after is not None and after.kind is before.kind
                and run.stop - run.first <= 40 and not any(shape.LOGGED.match(t) or shape.CLIENT_SURE.match(t) for t in texts[run.first : run.stop])
            )  # fmt: skip
            cut_off = after is None and run.stop - run.first == 1 and before.kind is PartKind.JOURNAL_TEXT and run.stop - before.first > 50  # head -c
            if blank or torn or cut_off:
                before.stop = run.stop
                continue
        if whole and whole[-1].kind is run.kind and run.kind in (PartKind.JOURNAL_TEXT, PartKind.KERNEL, PartKind.IS_ACTIVE, PartKind.STATUS):
            whole[-1].stop = run.stop
            continue
        if (
            run.kind is PartKind.UNIT_FILE
            and whole
            and whole[-1].kind is OTHER
            and all(t[:1] in "#;" for t in texts[whole[-1].first : whole[-1].stop])
        ):
            run.first = whole.pop().first
        if (
            run.kind is PartKind.GPU
            and whole
            and whole[-1].kind is OTHER
            and all(t[:1] in "+|" or t[:3].istitle() or not t.strip() for t in texts[whole[-1].first : whole[-1].stop])
        ):
            run.first = whole.pop().first
        whole.append(run)
    return whole


def decided(texts: Sequence[str], run: Run, command: str | None, name: str, usual: PartKind | None, columns: Columns) -> Iterator[Run]:
    """Whose text a run without a shape is: the client's, the kernel's or the server's; cut at a blank line where one follows the other."""
    if run.kind is not OTHER:
        yield run
        return
    hinted = usual if usual and not command else _hint(command, name)
    if hinted is None and (border := _border(texts, run)):
        yield from decided(texts, Run(OTHER, run.first, border), command, name, usual, columns)
        yield from decided(texts, Run(OTHER, border, run.stop), command, name, usual, columns)
        return
    lines = texts[run.first : run.stop]
    if any(shape.CLIENT_SURE.match(t) for t in lines) and hinted is not PartKind.KERNEL:
        logged = sum(1 for t in lines if shape.LOGGED.match(t))
        run.kind = PartKind.SERVER if hinted is PartKind.SERVER and logged > len(lines) // 4 else PartKind.CLIENT
    elif hinted is not None:
        run.kind = hinted
    else:
        likely = sum(1 for t in lines if shape.CLIENT_LIKELY.search(t[:4096]))
        logged = sum(1 for t in lines if shape.LOGGED.match(t))
        table = not logged and any(matrix.is_head(t, columns) for t in lines[:_BEFORE_A_TABLE])
        asks = sum(
            1 for t in lines if shape.CLIENT_ASKS.search(t[:4096]) and (shape.CLIENT_LIKELY.search(t[:4096]) or shape.UNANSWERED.search(t[:4096]))
        )
        run.kind = PartKind.CLIENT if (likely and likely > logged) or table or 2 * asks > len(lines) else PartKind.SERVER
    yield run


def _border(texts: Sequence[str], run: Run) -> int | None:
    """The blank line that has all of a client's own lines on its one side and all of a log's on the other."""
    client = [i for i in range(run.first, run.stop) if shape.CLIENT_SURE.match(texts[i])]
    logged = [i for i in range(run.first, run.stop) if shape.LOGGED.match(texts[i]) and not shape.CLIENT_SURE.match(texts[i])]
    if not client or len(logged) < 2:
        return None
    low, high = (client[-1], logged[0]) if client[-1] < logged[0] else (logged[-1], client[0])
    if low >= high:
        return None
    return next((i + 1 for i in range(low, high) if not texts[i].strip()), None)


def _hint(command: str | None, name: str) -> PartKind | None:
    if command:
        command = command[:_LONGEST_COMMAND]
        if _KERNEL_COMMAND.search(command):
            return PartKind.KERNEL
        if any(simple.tool == "journalctl" for simple in simples(command)):
            return PartKind.SERVER  # whatever the unit is called
        if _CLIENT_COMMAND.search(command):
            return PartKind.CLIENT
        return PartKind.SERVER if _LOG_COMMAND.search(command) else None
    for pattern, kind in ((_KERNEL_NAME, PartKind.KERNEL), (shape.CLIENT_NAME, PartKind.CLIENT), (_SERVER_NAME, PartKind.SERVER)):
        if pattern.search(name):
            return kind
    return None


def joined(runs: Sequence[Run]) -> list[Run]:
    whole: list[Run] = []
    for run in runs:
        if whole and whole[-1].kind is run.kind and run.kind in (PartKind.SERVER, PartKind.CLIENT):
            whole[-1].stop = run.stop
        else:
            whole.append(run)
    return whole

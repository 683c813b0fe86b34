"""What the report formats share: washed strings, cited places, cut and wrapped text, plain words for how a life ended. Never decides anything."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, NamedTuple

from forensics import clock
from forensics.model import Advice, ClientView, Diagnosis, Direction, End, EndBy, EndKind, Evidence, Life, Phase, PhaseSpan

ELLIPSIS = "…"
Wash = Callable[[str], str]
NO_ZONE = "a time whose line names no zone is taken as UTC"


def washed(diagnosis: Diagnosis, wash: Wash) -> Diagnosis:
    """The same diagnosis with every string in it sent through ``wash``: none can be forgotten."""
    result = _washed(diagnosis, wash)
    assert isinstance(result, Diagnosis)
    return result


def _washed(value: Any, wash: Wash) -> Any:
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return wash(value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _washed(getattr(value, f.name), wash) for f in fields(value)})
    if isinstance(value, tuple):
        return tuple(_washed(v, wash) for v in value)
    if isinstance(value, Mapping):
        return {_washed(k, wash): _washed(v, wash) for k, v in value.items()}
    return value


# --------------------------------------------------------------------------- places and times


def where(evidence: Evidence) -> str:
    """``journal:118``; a figure of a whole source has no line."""
    return f"{evidence.source}:{evidence.line}" if evidence.line else evidence.source


def stamp(at: float | None) -> str:
    """``2026-05-09 10:15:51 UTC``, or nothing."""
    return "" if at is None else f"{clock.iso(at)[:19].replace('T', ' ')} UTC"


def day(at: float) -> str:
    """``2026-05-09``."""
    return clock.iso(at)[:10]


def took(seconds: float | None) -> str:
    """A duration as the headline prints it: cut, never rounded."""
    return "" if seconds is None else clock.span(seconds)


# --------------------------------------------------------------------------- width


def display_width(text: str) -> int:
    """Columns that ``text`` takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def cut(text: str, columns: int) -> str:
    """``text`` in at most ``columns``, with an ellipsis where something is missing."""
    if display_width(text) <= columns:
        return text
    kept, used = [], 0
    for char in text:
        used += display_width(char)
        if used > columns - 1:
            break
        kept.append(char)
    return "".join(kept).rstrip() + ELLIPSIS


def wrapped(text: str, columns: int, max_lines: int = 0) -> list[str]:
    """``text`` in lines of at most ``columns``, broken at spaces where there are any; cut after ``max_lines`` (0: all)."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        while display_width(word) > columns:  # a path or an argument longer than the line
            room = columns - display_width(line) - 1 if line else columns
            if room < 8:
                lines.append(line)
                line, room = "", columns
            head = _head(word, room)
            lines.append(f"{line} {head}".strip())
            line, word = "", word[len(head) :]
        joined = f"{line} {word}" if line else word
        if display_width(joined) <= columns:
            line = joined
        else:
            lines.append(line)
            line = word
    if line:
        lines.append(line)
    if max_lines and len(lines) > max_lines:
        lines = [*lines[: max_lines - 1], cut(" ".join(lines[max_lines - 1 :]), columns)]
    return lines


def _head(word: str, columns: int) -> str:
    """As much of ``word`` as fits, broken behind a separator where there is one in the second half."""
    used = 0
    for index, char in enumerate(word):
        used += display_width(char)
        if used > columns:
            head = word[: max(index, 1)]
            last = max(head.rfind(mark) for mark in ",;/&|")
            return head[: last + 1] if last > len(head) // 2 else head
    return word


# --------------------------------------------------------------------------- words


_BY = {
    EndBy.ITSELF: "its own doing",
    EndBy.CHILD: "a child's doing",
    EndBy.KERNEL: "by the kernel",
    EndBy.SYSTEMD: "by systemd",
    EndBy.OPERATOR: "by the operator",
    EndBy.UNKNOWN: "by whom is not known",
}


def ended(end: End) -> str:
    """How a life ended, in words: ``killed by SIGKILL, sent by itself``."""
    by = _BY[end.by]
    match end.kind:
        case EndKind.SIGNAL:
            what = f"killed by {end.signal or 'a signal'}"
        case EndKind.EXIT:
            what = f"exited with status {end.status}" if end.status is not None else "exited"
            by = "" if end.by in (EndBy.UNKNOWN, EndBy.ITSELF) else by
        case EndKind.OOM_KILL:
            what = "killed for want of memory (oom-kill)"
        case EndKind.TIMEOUT:
            what = "timed out"
        case EndKind.WATCHDOG:
            what = "killed by a watchdog"
        case EndKind.STOPPED:
            what, by = ("stopped by the operator", "") if end.by is EndBy.OPERATOR else ("stopped", "" if end.by is EndBy.UNKNOWN else by)
        case EndKind.REBOOT:
            what, by = "the machine rebooted", ""
        case EndKind.NONE:
            return ""
        case _:
            return "ended, how is not known"
    return f"{what}, {by}" if by else what


def advice_line(advice: Advice) -> str:
    """One action: its text, and flag, direction and number where the text does not hold them already."""
    change = flag_change(advice)
    if not change or (advice.flag and advice.flag in advice.text and _has_number(advice)):
        return advice.text
    return f"{advice.text} [{change}]" if advice.text else change


def _has_number(advice: Advice) -> bool:
    return advice.to is None or number(advice.to) in advice.text


def flag_change(advice: Advice) -> str:
    """``--mem-fraction-static: raise, 0.88 → 0.91``."""
    if not advice.flag:
        return ""
    steps = [number(v) for v in (advice.from_, advice.to) if v is not None]
    if advice.from_ is None and advice.to is not None:
        steps = [f"to {steps[0]}"]
    words = [str(advice.direction)] if advice.direction else []
    if steps:
        words.append(" → ".join(steps))
    return f"{advice.flag}: {', '.join(words)}" if words else advice.flag


def number(value: float | str) -> str:
    """A figure as a person would type it."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def requests(client: ClientView) -> str:
    """How many were refused: ``9 of 9 requests refused``."""
    if client.refused:
        return f"{client.refused} of {client.asked} requests refused" if client.asked is not None else f"{client.refused} requests refused"
    if client.asked is None:
        return ""
    return f"{client.asked} requests{', none refused' if client.refused == 0 else ''}"


def way(direction: Direction | None) -> str:
    """What to do with the memory fraction, in words."""
    return {
        None: "",
        Direction.RAISE: "raise the fraction",
        Direction.LOWER: "lower the fraction",
        Direction.REBALANCE: "rebalance: neither more nor less alone helps",
    }[direction]


def ready_after_s(life: Life) -> float | None:
    """Seconds from start to ready, where both are known."""
    return None if life.ready_at is None or life.started_at is None else life.ready_at - life.started_at


def life_line(life: Life) -> str:
    """One life in words: how far it came, and how it ended."""
    after = ready_after_s(life)
    if life.ready:
        reached = f"ready after {took(after)}" if after is not None else "was ready"
    else:
        reached = f"never ready, last in {life.phase}" if life.phase and not life.alive else f"in {life.phase}" if life.phase else ""
    state = "alive" if life.alive else ended(life.end)
    return "; ".join(part for part in (reached, state) if part)


class PhaseRow(NamedTuple):
    """A phase over all ranks: of the rank that took longest; ``uneven`` where another was at least a second quicker."""

    span: PhaseSpan
    ranks: int
    took_s: float | None
    uneven: bool


def by_phase(spans: Sequence[PhaseSpan]) -> list[PhaseRow]:
    """One row a phase and visit: ranks run side by side, and eight rows for one phase would hide the one that matters."""
    visits: dict[tuple[Phase, int], list[PhaseSpan]] = {}  # phase and the how-manieth time of a rank in it → its ranks
    turns: Counter[tuple[Phase, str | None]] = Counter()
    for span in spans:
        turns[span.phase, span.rank] += 1
        visits.setdefault((span.phase, turns[span.phase, span.rank]), []).append(span)
    return [_phase_row(ranks) for ranks in visits.values()]


def _phase_row(ranks: Sequence[PhaseSpan]) -> PhaseRow:
    times = [span.took_s for span in ranks if span.took_s is not None]
    if len(times) < len(ranks):  # not over on every rank, or without times
        return PhaseRow(next(span for span in ranks if span.took_s is None), len(ranks), None, uneven=False)
    slowest = max(ranks, key=lambda span: span.took_s or 0.0)
    return PhaseRow(slowest, len(ranks), slowest.took_s, uneven=max(times) - min(times) >= 1.0)

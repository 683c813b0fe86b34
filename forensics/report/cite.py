"""What the report formats share: washed strings, cited places, cut and wrapped text, plain words for how a life ended. Never decides anything."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, NamedTuple

from forensics import clock, lazily
from forensics.model import (
    LAST_GOOD,
    Advice,
    Cause,
    Change,
    ClientView,
    Diagnosis,
    Direction,
    End,
    EndBy,
    EndKind,
    Evidence,
    Life,
    Phase,
    PhaseSpan,
    Template,
)
from forensics.model.counted import counted

ELLIPSIS = "…"
_BLANK = lazily.pattern(r"(?<![\w$'])(?:HOST|UNIT|PORT|PID|MODEL)(?![\w'=])")
_FAIR_S = 2.0  # stamps of two programs on one event
_LEAST_SECRET = 4  # characters: what is shorter stands in many a word
Wash = Callable[[str], str]
NO_ZONE = "a time without an offset (or UTC) beside it is taken as UTC"


def washed(diagnosis: Diagnosis, wash: Wash) -> Diagnosis:
    """The same diagnosis with every string in it sent through ``wash``: none can be forgotten.

    What is masked behind the name of an argument is masked wherever it stands: "roll back --api-key one → other".
    """
    hidden: dict[str, str] = {}
    for change in diagnosis.changed:
        for text in filter(None, (change.before, change.after)):
            if len(text) >= _LEAST_SECRET and (clean := _beside(change.what, text, wash)) != wash(text):
                hidden[text] = clean
    result = _washed(diagnosis, (lambda text: wash(_hiding(text, hidden))) if hidden else wash)
    assert isinstance(result, Diagnosis)
    return result


def _hiding(text: str, hidden: Mapping[str, str]) -> str:
    for secret in sorted(hidden, key=len, reverse=True):
        text = text.replace(secret, hidden[secret])
    return text


def _washed(value: Any, wash: Wash) -> Any:
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return wash(value)
    if isinstance(value, Change):  # a value by itself does not say that it is a key
        told = {side: _beside(value.what, text, wash) if (text := getattr(value, side)) is not None else None for side in ("before", "after")}
        return replace(value, what=wash(value.what), since=wash(value.since), **told)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _washed(getattr(value, f.name), wash) for f in fields(value)})
    if isinstance(value, tuple):
        return tuple(_washed(v, wash) for v in value)
    if isinstance(value, Mapping):
        return {_washed(k, wash): _washed(v, wash) for k, v in value.items()}
    return value


def _beside(name: str, text: str, wash: Wash) -> str:
    """A value as it is washed behind its name, where that stays what it is."""
    clean = wash(name)
    washed = wash(f"{name} {text}")
    return washed.removeprefix(f"{clean} ") if washed.startswith(f"{clean} ") else wash(text)


def blanks(commands: Iterable[str], *, after: Iterable[str] = ()) -> str | None:
    """What the words in capitals are that the evidence had no name for, so that nobody runs a command with one in it; None where there is none.

    Those in the commands ``after`` which these stand have been told.
    """
    told = {word for command in after for word in _BLANK.findall(command)}
    found = list(dict.fromkeys(word for command in commands for word in _BLANK.findall(command) if word not in told))
    if not found:
        return None
    names = f"{', '.join(found[:-1])} and {found[-1]} stand" if len(found) > 1 else f"{found[0]} stands"
    return f"({names} for what this evidence does not name)"


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


def looked_at(diagnosis: Diagnosis) -> str:
    """The target; of a bundle where it was read from as well: what it calls its target may be another machine's ``local``."""
    return f"{diagnosis.bundle}, collected from {diagnosis.target}" if diagnosis.bundle else diagnosis.target


# --------------------------------------------------------------------------- against the last good life

MOST_CHANGES, MOST_NEW, MOST_UNSAID = 6, 3, 2
UNEXPLAINED = (Cause.UNKNOWN, Cause.STARTUP_HANG, Cause.STARTUP_TIMEOUT)


def since(diagnosis: Diagnosis) -> str:
    """What the changes are counted from, with its end where that is known."""
    good = diagnosis.good.ended_at if diagnosis.good is not None else None
    ended = "" if good is None else f" (ended {clock_of(good, diagnosis.started_at or good)})"
    named = list(dict.fromkeys(change.since for change in diagnosis.changed)) or [LAST_GOOD]
    return ", ".join(f"{LAST_GOOD}{ended}" if one == LAST_GOOD else one for one in named)


def unheard(diagnosis: Diagnosis) -> tuple[Template, ...]:
    """The few lines that the good life never said and that are not cited already."""
    cited = {(e.source, e.line) for e in diagnosis.evidence} | {("", " ".join(e.text.split())) for e in diagnosis.evidence}
    fresh = [t for t in diagnosis.novel if (t.source, t.line) not in cited and ("", " ".join(t.text.split())) not in cited]
    return tuple(fresh[:MOST_NEW])


def unsaid(diagnosis: Diagnosis) -> tuple[Template, ...]:
    """What the good life said and this one did not, where nothing else explains it: the last two."""
    return diagnosis.absent[:MOST_UNSAID] if diagnosis.cause in UNEXPLAINED else ()


def clock_of(at: float, reference: float) -> str:
    """The time of day, with the date where that is not the one of ``reference``."""
    return clock.hms(at) if day(at) == day(reference) else f"{day(at)} {clock.hms(at)}"


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
    broken: set[int] = set()  # lines that begin within a word: no blank stands before them
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
            broken.add(len(lines))
        joined = f"{line} {word}" if line else word
        if display_width(joined) <= columns:
            line = joined
        else:
            lines.append(line)
            line = word
    if line:
        lines.append(line)
    if max_lines and len(lines) > max_lines:
        kept = lines[max_lines - 1 :]
        rest = "".join(part if not n or max_lines - 1 + n in broken else f" {part}" for n, part in enumerate(kept))
        lines = [*lines[: max_lines - 1], cut(rest, columns)]
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
    """One action: its text, flag, direction and number where the text does not hold them already, and what it costs."""
    change = flag_change(advice)
    costs = f"; then {advice.costs}" if advice.costs else ""
    if not change or (advice.flag and advice.flag in advice.text and _has_number(advice)):
        return f"{advice.text}{costs}"
    return (f"{advice.text} [{change}]" if advice.text else change) + costs


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
    """How many failed, and how: ``9 of 9 requests refused``, ``8 of 8 requests failed: 8 × http-404``."""
    asked = counted(client.asked, "request") if client.asked is not None else "requests"
    if client.refused and set(client.errors) <= {"refused"}:
        more = (client.failed or 0) - client.refused
        otherwise = f" ({more} more failed, and how is not told)" if more > 0 else ""
        return (
            f"{client.refused} of {asked} refused{otherwise}"
            if client.asked is not None
            else f"{counted(client.refused, 'request')} refused{otherwise}"
        )
    if client.errors:
        failed = sum(client.errors.values())
        kinds = ", ".join(f"{count} × {kind}" for kind, count in sorted(client.errors.items(), key=lambda one: -one[1])[:4])
        return f"{failed} of {asked} failed: {kinds}" if client.asked is not None and failed <= client.asked else f"failed: {kinds}"
    if client.failed:
        return (
            f"{client.failed} of {asked} failed{', none refused' if client.refused == 0 else ''}"
            if client.asked is not None
            else f"{counted(client.failed, 'request')} failed"
        )
    if client.asked is None:
        return ""
    return f"{asked}{', none refused' if client.refused == 0 else ''}"


def of_the_dead(d: Diagnosis) -> str:
    """For how long the client asked a server that was dead, "" where that is not known."""
    client = d.client
    if client is None or client.wasted_s is None:
        return ""
    late = client.first_error_at - d.died_at if client.first_error_at is not None and d.died_at is not None else 0.0
    if late > 1:
        return f"came {took(late)} after the death and asked a dead server for {took(client.wasted_s)}"
    return f"went on for {took(client.wasted_s)} after the death"


def way(d: Diagnosis) -> str:
    """What to do with the memory fraction, in words; of a program that nobody knows to have one, what the fraction stands for."""
    flag = d.server or (d.memory and d.memory.flag) or any(advice.flag for advice in d.advice)
    return {
        None: "",
        Direction.RAISE: "raise the fraction" if flag else "it needs more of the GPU's memory",
        Direction.LOWER: "lower the fraction" if flag else "it needs to ask for less",
        Direction.REBALANCE: "rebalance: neither more nor less alone helps",
    }[d.direction]


def server_named(d: Diagnosis) -> str:
    """``… up to 0.5.19``: the kind of server and what its wordings tell of its version."""
    if not d.server:
        return ""
    first, dots, last = (d.server_version or "").partition(ELLIPSIS)
    known = f"{first} to {last}" if first and last else f"{first} or later" if dots and first else f"up to {last}" if last else first
    return f"{d.server} {known}".rstrip()


_COVERED = {
    "kernel": "kernel log",
    "bench": "client's output",
    "units": "list of units",
    "sockets": "who listens",
    "health": "answers of its endpoints",
    "gpu": "state of the GPUs",
    "log": "its own log file",
}


def covered(name: str) -> str:
    """A place of evidence as a person would call it; the JSON keeps its short name."""
    return _COVERED.get(name, name)


def age_s(d: Diagnosis) -> float | None:
    """Seconds from the last step of the progress to the look at it, where both times are known and it is still under way."""
    return None if d.progress is None or d.died_at is not None else clock.between(d.progress.at, d.captured_at)


def steps(d: Diagnosis) -> str:
    """``23 of 64 shards, the last 4.5s ago``."""
    if d.progress is None:
        return ""
    age = age_s(d)
    said = f"{d.progress.done} of {d.progress.of} {d.progress.what}".rstrip()
    return f"{said}, the last {took(age)} ago" if age is not None and d.progress.done else said


def following(d: Diagnosis) -> str:
    """``TP2 failed first; 5 more lines follow from it: the same on TP0; another rank was gone first (TP1, TP3)``, or nothing."""
    count = sum(f.lines for f in d.follows)
    if not count:
        return ""
    parts = []
    for f in d.follows:
        ranks = ", ".join(map(rank_name, f.ranks[:8])) + (f" and {len(f.ranks) - 8} more" if len(f.ranks) > 8 else "")
        parts.append(f"{f.text} on {ranks}" if ranks and f.text == "the same" else f"{f.text} ({ranks})" if ranks else f.text)
    first = d.evidence[0].rank if d.evidence else None
    told = f"{rank_name(first)} failed first; " if first and any(f.ranks for f in d.follows) else ""
    return f"{told}{count} more line{'s follow' if count > 1 else ' follows'} from it: {'; '.join(dict.fromkeys(parts))}"


def rank_name(rank: str) -> str:
    """``TP3``; of a rank that is only counted, ``rank 3``."""
    return f"rank {rank}" if rank.isdigit() else rank


def ready_after_s(life: Life) -> float | None:
    """Seconds from start to ready, where both are known and agree."""
    return clock.between(life.started_at, life.ready_at)


def life_line(life: Life) -> str:
    """One life in words: how far it came, and how it ended."""
    after = ready_after_s(life)
    if life.ready:
        reached = f"ready after {took(after)}" if after is not None else "was ready"
    else:
        reached = f"never ready, last in {life.phase}" if life.phase and not life.alive else f"in {life.phase}" if life.phase else ""
    state = "alive" if life.alive else ended(life.end)
    return "; ".join(part for part in (reached, state) if part)


def until_death(d: Diagnosis, since: float) -> float | None:
    """Seconds from a moment of the life to its end, None where that is longer than all of it: the clock was set meanwhile."""
    if d.died_at is None:
        return None
    seconds = max(0.0, d.died_at - since)
    starting = max(0.0, d.active_at - d.started_at) if d.active_at is not None and d.started_at is not None else 0.0
    return None if d.died_after_s is not None and seconds > d.died_after_s + starting + _FAIR_S else seconds


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

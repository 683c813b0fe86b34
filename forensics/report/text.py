"""A Diagnosis as text for a tired reader: the answer first, then what it rests on, then what to do. Never longer than it must be, never an empty section.

Everything from a log is shown harmless (see ``redact``) and with its secrets masked. Colours are for a terminal only and never carry meaning alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from forensics import clock, redact
from forensics.model import Cause, Coverage, Diagnosis, EndKind, Evidence, Health, Hypothesis, Life, Phase, Role, Status, Template
from forensics.report import cite, gaps, grid, ledger

_INDENT = "  "
_MAX_PLACE = 30  # columns for "source:line"
_ROOT_LINES, _OTHER_LINES = 3, 2  # lines that a root's text may take, and another's
_MAX_LIVES = 6
_MAX_OTHERS = 6
_MAX_REASONS, _MAX_REASON = 2, 160  # of a cause that is only possible: how many, and columns of each

_BOLD, _RED, _GREEN, _YELLOW, _CYAN, _DIM = "1", "31", "32", "33", "36", "2"
Paint = Callable[[str, str], str]

_GAPS = {
    Coverage.DENIED: "denied",
    Coverage.CUT: "cut short",
    Coverage.EMPTY: "empty",
    Coverage.NOT_COLLECTED: "not collected",
    Coverage.GIVEN: "as it was saved",  # what is not in it may still have happened
}


def render(
    diagnosis: Diagnosis, *, width: int = 80, color: bool = False, verbose: bool = False, brief: bool = False, mask: cite.Wash = redact.secrets
) -> str:
    """The whole report, with a line end. ``width`` below 60 counts as 60; ``verbose`` adds the timeline and cuts nothing.

    ``brief`` is the answer alone, for one of several units of a host. ``mask`` is what every text goes through before it is written.
    """
    width = max(width, 60)
    d = cite.washed(diagnosis, lambda text: mask(redact.neutralise(text)))
    paint: Paint = (lambda text, code: f"\x1b[{code}m{text}\x1b[0m") if color else (lambda text, code: text)
    blocks = [
        _headline(d, width, paint),
        _warnings(d, width, paint),
        _summary(d, width, paint),
        *([] if brief else _sections(d, width, paint, verbose=verbose)),
    ]
    return "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks if block) + "\n"


def _sections(d: Diagnosis, width: int, paint: Paint, *, verbose: bool) -> list[list[str]]:
    return [
        _section("WHAT TO DO", _actions(d, width, paint), paint),
        _section(_dated("EVIDENCE", [e.at for e in d.evidence]), _evidence(d, width, paint, verbose), paint),
        _section("MEMORY", _bullets(ledger.shown(d, verbose=verbose), width), paint),
        _section("TREES", grid.shown(d, width, paint, _RED), paint),
        _section("PHASES" if d.ready_at or _served(d) else "START-UP", _phases(d, width, paint), paint),
        _section(f"LIVES ({len(d.lives)})", _lives(d, width, verbose), paint) if len(d.lives) > 1 else [],
        _section(f"CHANGED since {cite.since(d)}", _changes(d, width, verbose), paint),
        _section(f"NEW IN THE LOG since {cite.since(replace(d, changed=()))}", _lines_of(cite.unheard(d), width), paint),
        _section("NOT SAID THIS TIME", _lines_of(cite.unsaid(d), width), paint),
        _section("ALSO POSSIBLE", _hypotheses(_others(d), width, _for), paint),
        _section("RULED OUT", _hypotheses([h for h in d.hypotheses if h.status is Status.RULED_OUT], width, _against), paint),
        _section(_dated("TIMELINE", [m.at for m in d.timeline]), _timeline(d, width), paint) if verbose else [],
        _section("UNITS WORTH A LOOK", _candidates(d, width), paint),
        _section("NEXT", _next(d, paint), paint),
        _section("GAPS IN THE EVIDENCE", _gaps(d, width), paint),
    ]


def worth_a_look(diagnosis: Diagnosis, *, width: int = 80, color: bool = False, mask: cite.Wash = redact.secrets) -> str:
    """The list of units that could be meant, for below several brief reports; "" where there is none."""
    d = cite.washed(diagnosis, lambda text: mask(redact.neutralise(text)))
    paint: Paint = (lambda text, code: f"\x1b[{code}m{text}\x1b[0m") if color else (lambda text, code: text)
    lines = _section("UNITS WORTH A LOOK", _candidates(d, max(width, 60)), paint)
    return "\n".join(line.rstrip() for line in lines) + "\n" if lines else ""


# --------------------------------------------------------------------------- the answer


def _headline(d: Diagnosis, width: int, paint: Paint) -> list[str]:
    good = d.cause in (Cause.HEALTHY, Cause.OPERATOR_STOP) and not (d.client is not None and d.client.failed)
    code = _GREEN if good else _YELLOW if d.health is Health.STARTING else _RED
    return [paint(line, f"{_BOLD};{code}") for line in cite.wrapped(d.headline, width)]


def _warnings(d: Diagnosis, width: int, paint: Paint) -> list[str]:
    lines = []
    for warning in d.warnings:
        told = all(name in warning.text for name in (warning.asked, warning.meant) if name)
        named = "" if told else f"{warning.asked} → {warning.meant}: " if warning.asked and warning.meant else f"{warning.asked or warning.meant}: "
        text = named + warning.text
        for index, line in enumerate(cite.wrapped(f"{warning.kind}: {text}", width - 3)):
            lines.append(paint(f"{'!!' if not index else '  '} {line}", f"{_BOLD};{_YELLOW}"))
    return lines


def _summary(d: Diagnosis, width: int, paint: Paint) -> list[str]:
    own = _own(d)
    rows = [
        ("cause", _cause(d)),
        *(("why" if not i else "", reason) for i, reason in enumerate(_reasons(d, own.for_) if own else ())),
        *(("but" if not i else "", reason) for i, reason in enumerate(own.against if own else ())),
        ("missing", gaps.undecided(d)),
        ("end", _end(d)),
        ("life", _life(d)),
        ("now", _now(d)),
        ("client", _client(d)),
        ("where", _place(d)),
    ]
    return _labelled([row for row in rows if row[1]], width, paint)


def _reasons(d: Diagnosis, said: Sequence[str]) -> list[str]:
    """The first reason, and those that do not merely cite a line that stands under EVIDENCE."""
    cited = tuple(f"{cite.where(e)} " for e in d.evidence)
    return [reason for index, reason in enumerate(said) if not index or not reason.startswith(cited)]


def _own(d: Diagnosis) -> Hypothesis | None:
    return next((h for h in d.hypotheses if h.cause is d.cause and h.status is not Status.RULED_OUT), None)


def _cause(d: Diagnosis) -> str:
    parts = [str(d.cause)]
    if d.status:
        parts.append(str(d.status))
    if d.direction:
        parts.append(cite.way(d))
    return ", ".join(parts) + (f"  (also: {', '.join(map(str, d.also))})" if d.also else "")


def _end(d: Diagnosis) -> str:
    words = cite.ended(d.end) if d.died_at or d.died_after_s is not None or d.end.kind not in (EndKind.NONE, EndKind.UNKNOWN) else ""
    return f"{words}; systemd's result: {d.end.result}" if words and d.end.result else words


def _life(d: Diagnosis) -> str:
    if d.started_at is None:
        return f"died {cite.stamp(d.died_at)}" if d.died_at else ""
    starting = d.health is Health.STARTING and d.phase is not None
    together = d.active_at is not None and abs(d.active_at - d.started_at) < 1
    # of an excerpt only the first stamp is known: that is no start
    begun = d.active_at is not None or d.died_after_s is not None or starting or any(span.phase is Phase.LAUNCH for span in d.phases)
    parts = [f"{'started' if begun else 'first seen'}{' and active' if together and starting else ''} {cite.stamp(d.started_at)}"]
    moments = (("active", None if together else d.active_at), ("listening", d.listening_at), ("ready", d.ready_at), ("died", d.died_at))
    parts += [f"{word} {_clock(at, d.started_at)}" for word, at in moments if at]
    if starting:
        parts += [f"not {word} yet" for word, at in (("listening", d.listening_at), ("ready", d.ready_at)) if at is None]
    if d.died_after_s is not None:
        parts[-1] += f" after {cite.took(d.died_after_s)}"
    heard = {d.coverage.get(name) for name in ("journal", "log")} - {None, Coverage.DENIED, Coverage.NOT_COLLECTED}
    if not d.ready_at and d.died_at and (heard or not d.coverage):  # of a server that nobody could hear it is not known
        parts.append("never ready")
    return ", ".join(parts)


def _now(d: Diagnosis) -> str:
    parts = [str(d.health)]
    if d.active_for_s is not None and not d.died_at:
        parts.append(f"active for {cite.took(d.active_for_s)}")
    if d.phase and not d.died_at and d.health is Health.STARTING:
        parts.append(f"in {d.phase}")
        if d.progress:
            parts.append(cite.steps(d))
    if d.ready_expected_at:
        parts.append(f"ready expected about {_clock(d.ready_expected_at, d.captured_at or d.ready_expected_at)}")
    seen = f" (seen {cite.stamp(d.captured_at)})" if d.captured_at else ""
    return ", ".join(parts) + seen


def _client(d: Diagnosis) -> str:
    c = d.client
    if c is None:
        return ""
    parts = [cite.requests(c)]
    if c.first_error_at is not None:
        last = f" to {_clock(c.last_error_at, c.first_error_at)}" if c.last_error_at is not None and c.last_error_at != c.first_error_at else ""
        parts.append(f"{_clock(c.first_error_at, d.started_at or c.first_error_at)}{last}")
    if c.early_s is not None:
        parts.append(f"{cite.took(c.early_s)} too early")
    parts.append(cite.of_the_dead(d))
    text = ", ".join(part for part in parts if part)
    return f"{c.tool}: {text}" if c.tool not in (None, "client") and text else text


def _place(d: Diagnosis) -> str:
    server = cite.server_named(d)
    parts = [d.unit or "", f"on {d.host}" if d.host and d.host != d.target else "", f"from {cite.looked_at(d)}", f"({server})" if server else ""]
    return " ".join(part for part in parts if part)


# --------------------------------------------------------------------------- what it rests on


def _evidence(d: Diagnosis, width: int, paint: Paint, verbose: bool) -> list[str]:
    if not d.evidence:
        return []
    places = [_short_place(e) for e in d.evidence]
    stamps = _stamps([e.at for e in d.evidence])
    room = width - len(_INDENT) - max(map(cite.display_width, places)) - max(map(len, stamps)) - 2 * (2 if any(stamps) else 1)
    room = max(room, 24)
    rows = []
    for place, at, evidence in zip(places, stamps, d.evidence, strict=True):
        root = evidence.role is Role.ROOT
        # runs of blanks carry nothing in a log line, and columns are dear
        text = " ".join(evidence.text.split())
        lines = cite.wrapped(
            f"×{evidence.times} {text}" if evidence.times > 1 else text, room, 0 if verbose else _ROOT_LINES if root else _OTHER_LINES
        )
        rows.append([place, at, "\n".join(paint(line, _BOLD) if root else line for line in lines)])
    return [*_table(rows), *_folded(d, width)]


def _folded(d: Diagnosis, width: int) -> list[str]:
    return [_INDENT + line for line in cite.wrapped(cite.following(d), width - len(_INDENT))]


def _short_place(evidence: Evidence) -> str:
    place = cite.where(evidence)
    return place if cite.display_width(place) <= _MAX_PLACE else cite.ELLIPSIS + place[-(_MAX_PLACE - 1) :]


def _served(d: Diagnosis) -> bool:
    """Whether it was beyond its start-up, also where nobody saw when it became ready."""
    return any(span.phase in (Phase.READY, Phase.SERVING) for span in d.phases)


def _phases(d: Diagnosis, width: int, paint: Paint) -> list[str]:
    spans = cite.by_phase(d.phases)
    room = width - len(_INDENT) - max((len(row.span.phase) for row in spans), default=0) - 10
    rows = []
    for index, (span, ranks, seconds, uneven) in enumerate(spans):
        last = index == len(spans) - 1
        notes = [_last_phase(d)] if last else []
        if last and d.progress and d.phase is span.phase and d.progress.done < d.progress.of:
            notes.append(f"{d.progress.done} of {d.progress.of} {d.progress.what}".strip())
        if d.behind is not None and span.phase is d.behind.phase:
            notes.append(f"{', '.join(map(cite.rank_name, d.behind.ranks[:4]))} {'behind' if d.died_at else 'still here'}")
        if ranks > 1:
            notes.append(f"{ranks} ranks{f', slowest {span.rank}' if uneven else ''}")
        if last and seconds is None and d.died_at and span.started_at:
            seconds = cite.until_death(d, span.started_at)
        unknown = "…" if last and not d.died_at else "?"
        lines = cite.wrapped(", ".join(note for note in notes if note), max(24, room))
        rows.append([str(span.phase), cite.took(seconds) or unknown, "\n".join(paint(line, _BOLD) if last else line for line in lines)])
    return _table(rows, align="lrl")


def _last_phase(d: Diagnosis) -> str:
    if d.died_at:
        return "← stopped here" if d.end.kind is EndKind.STOPPED else "← died here"
    return "← here now" if d.health is Health.STARTING else ""


def _lives(d: Diagnosis, width: int, verbose: bool) -> list[str]:
    kept: Sequence[Life] = d.lives if verbose else d.lives[-_MAX_LIVES:]
    rows = []
    if len(kept) < len(d.lives):
        rows.append([f"… {len(d.lives) - len(kept)} earlier", "", ""])
    room = width - len(_INDENT) - 23 - 2 - 9 - 2
    for life in kept:
        lived = life.lived_s if life.lived_s is not None else clock.between(life.started_at, life.ended_at)
        rows.append([cite.stamp(life.started_at) or "start not seen", cite.took(lived), "\n".join(cite.wrapped(cite.life_line(life), room))])
    return _table(rows, align="lrl")


def _changes(d: Diagnosis, width: int, verbose: bool) -> list[str]:
    rows = []
    for change in d.changed if verbose else d.changed[: cite.MOST_CHANGES]:
        before, after = change.before or "(not there)", change.after or "(gone)"
        rows.append(
            [change.what, "\n".join(cite.wrapped(f"{before} → {after}", max(24, width - len(_INDENT) - 2 - cite.display_width(change.what))))]
        )
    lines = _table(rows)
    return [*lines, f"{_INDENT}… and {len(d.changed) - len(rows)} more"] if len(rows) < len(d.changed) else lines


def _lines_of(templates: Sequence[Template], width: int) -> list[str]:
    places = [_short_place(Evidence(source=t.source, line=t.line, text=t.text)) for t in templates]
    room = max(24, width - len(_INDENT) - max(map(cite.display_width, places), default=0) - 2)
    texts = [" ".join(t.text.split()) + (f" (and {t.count - 1} more of it)" if t.count > 1 else "") for t in templates]
    return _table([[place, "\n".join(cite.wrapped(text, room, _OTHER_LINES))] for place, text in zip(places, texts, strict=True)])


def _others(d: Diagnosis) -> list[Hypothesis]:
    own = _own(d)
    return [h for h in d.hypotheses if h is not own and h.status is not Status.RULED_OUT and h.cause not in d.also][:_MAX_OTHERS]


def _for(hypothesis: Hypothesis) -> str:
    shown = [cite.cut(reason, _MAX_REASON) for reason in hypothesis.for_[:_MAX_REASONS]]
    if more := len(hypothesis.for_) - len(shown):
        shown.append(f"and {more} more")
    parts = [str(hypothesis.status) if hypothesis.status is not Status.POSSIBLE else "", "; ".join(shown)]
    if hypothesis.against:
        parts.append(f"against it: {'; '.join(hypothesis.against)}")
    if hypothesis.missing:
        parts.append(f"not known: {'; '.join(hypothesis.missing)}")
    return "; ".join(part for part in parts if part)


def _against(hypothesis: Hypothesis) -> str:
    return "; ".join(hypothesis.against)


def _hypotheses(chosen: Sequence[Hypothesis], width: int, say: Callable[[Hypothesis], str]) -> list[str]:
    if not chosen:
        return []
    room = width - len(_INDENT) - max(len(h.cause) for h in chosen) - 2
    return _table([[str(h.cause), "\n".join(cite.wrapped(say(h), room))] for h in chosen])


def _timeline(d: Diagnosis, width: int) -> list[str]:
    stamps = _stamps([m.at for m in d.timeline])
    room = width - len(_INDENT) - max(map(len, stamps), default=0) - 2 - max((len(m.source) for m in d.timeline), default=0) - 2
    return _table([[at, m.source, cite.cut(" ".join(m.text.split()), max(24, room))] for at, m in zip(stamps, d.timeline, strict=True)])


# --------------------------------------------------------------------------- what to do


def _actions(d: Diagnosis, width: int, paint: Paint) -> list[str]:
    lines = []
    told: set[str] = set()
    for number, advice in enumerate(d.advice, 1):
        lead = f"{number}. "
        for index, line in enumerate(cite.wrapped(cite.advice_line(advice), width - len(_INDENT) - len(lead))):
            lines.append(f"{_INDENT}{lead if not index else ' ' * len(lead)}{line}")
        if advice.command and advice.command not in told:
            told.add(advice.command)
            lines.append(f"{_INDENT}{' ' * len(lead)}{paint('$ ' + advice.command, _CYAN)}")  # never wrapped: it is there to be copied
    return [*lines, *_blanks(told)]


def _blanks(commands: Iterable[str], *, after: Iterable[str] = ()) -> list[str]:
    return [f"{_INDENT}{text}"] if (text := cite.blanks(commands, after=after)) else []


def _next(d: Diagnosis, paint: Paint) -> list[str]:
    taken = {advice.command for advice in d.advice}
    own = _own(d)
    order = [*([own] if own else []), *_others(d)]
    asked: dict[str, str] = {}
    for command in [h.next for h in order if h.next and h.next not in taken]:
        source = command.partition(" | grep ")[0]  # the same log, filtered more or less: the wider filter shows both
        asked[source] = max(asked.get(source, ""), command, key=len)
    shown = list(asked.values())[:3]
    return [*(f"{_INDENT}{paint('$ ' + command, _CYAN)}" for command in shown), *_blanks(shown, after=[command for command in taken if command])]


def _candidates(d: Diagnosis, width: int) -> list[str]:
    if not d.candidates:
        return []
    return [*_bullets(d.candidates, width), f"{_INDENT}name one with --unit"]


def _gaps(d: Diagnosis, width: int) -> list[str]:
    rows = [(_GAPS[kind], named) for kind, named in gaps.grouped(d) if kind in _GAPS]
    if Coverage.GIVEN in d.coverage.values():
        rows.append(("time zone", cite.NO_ZONE))
    if open_ := gaps.left_open(d):
        rows.append(("not known", open_))
    room = width - len(_INDENT) - max(map(len, [what for what, _ in rows]), default=0) - 2
    return _table([[what, "\n".join(cite.wrapped(named, room))] for what, named in rows])


# --------------------------------------------------------------------------- layout


def _section(title: str, lines: list[str], paint: Paint) -> list[str]:
    return [paint(title, _BOLD), *lines] if lines else []


def _table(rows: Sequence[Sequence[str]], align: str = "") -> list[str]:
    """Columns side by side, without those that are empty; ``align`` has a letter a column: l, r."""
    full = [index for index in range(len(rows[0])) if any(row[index] for row in rows)] if rows else []
    if not full:
        return []
    from tabulate import tabulate  # 13 ms: not where there is nothing to lay out

    sides = [{"l": "left", "r": "right"}[align[index] if align else "l"] for index in full]
    text = tabulate([[row[index] for index in full] for row in rows], tablefmt="plain", disable_numparse=True, colalign=sides)
    return [_INDENT + line for line in text.splitlines()]


def _labelled(rows: Sequence[tuple[str, str]], width: int, paint: Paint) -> list[str]:
    lines = []
    for label, text in rows:
        for index, line in enumerate(cite.wrapped(text, width - len(_INDENT) - 8, 3)):
            shown = f"{label if not index else '':<8}"
            lines.append(f"{_INDENT}{paint(shown, _DIM)}{paint(line, _BOLD) if label == 'cause' else line}")
    return lines


def _bullets(texts: Iterable[str], width: int) -> list[str]:
    lines = []
    for text in texts:
        for index, line in enumerate(cite.wrapped(text, width - len(_INDENT) - 2)):
            lines.append(f"{_INDENT}{'- ' if not index else '  '}{line}")
    return lines


def _dated(title: str, times: Sequence[float | None]) -> str:
    days = sorted({cite.day(at) for at in times if at is not None})
    return f"{title} (UTC, {days[0]})" if len(days) == 1 else f"{title} (UTC)" if days else title


def _stamps(times: Sequence[float | None]) -> list[str]:
    several_days = len({cite.day(at) for at in times if at is not None}) > 1
    return ["" if at is None else f"{cite.day(at)[5:]} {clock.hms(at)}" if several_days else clock.hms(at) for at in times]


def _clock(at: float | None, beside: float) -> str:
    """The time of day, with its day where that is another one than the day beside it."""
    return "" if at is None else cite.clock_of(at, beside)

"""A Diagnosis as a post-mortem in Markdown: summary, timeline, root cause with its evidence, ruled out, actions, gaps. Never lets text from a log act as markup.

Log lines stand in code fences that are longer than any run of backticks in them; everything else from outside is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from forensics import clock, lazily, redact
from forensics.model import Coverage, Diagnosis, Hypothesis, Status, Template
from forensics.report import cite, gaps, grid, ledger

_MARKUP = lazily.pattern(r"([\\`*_\[\]|~$])")
_START = lazily.pattern(r"^(?:(#{1,6}|[-+])|(\d{1,9})([.)]))(?=\s|$)")  # what opens a list or a heading
_GAPS = {
    Coverage.GIVEN: "excerpts that somebody saved (what is not in them may still have happened)",
    Coverage.EMPTY: "asked, and the answer was empty",
    Coverage.CUT: "cut, a part is missing",
    Coverage.DENIED: "denied, no permission to read it",
    Coverage.NOT_COLLECTED: "not collected",
}


def render(diagnosis: Diagnosis, *, mask: cite.Wash = redact.secrets) -> str:
    """The whole document, with a line end. Times are UTC. ``mask`` is what every text goes through before it is written."""
    d = cite.washed(diagnosis, lambda text: mask(redact.neutralise(text)))
    blocks = [
        f"# Post-mortem: {escaped(d.headline)}",
        _summary(d),
        _section("Warnings", [f"- **{escaped(w.kind)}**: {escaped(w.text)}{_meant(w.asked, w.meant)}" for w in d.warnings]),
        _section("Timeline (UTC)", _timeline(d)),
        _section("Root cause", _root_cause(d)),
        _section("Memory", [f"- {escaped(text)}" for text in ledger.shown(d)]),
        _section("Trees", fenced(trees) if (trees := grid.shown(d, 100)) else []),
        _section("Start-up", _phases(d)),
        _section("Lives", _lives(d) if len(d.lives) > 1 else []),
        _section("What changed", _changes(d)),
        _section(f"New in the log since {escaped(cite.since(replace(d, changed=())))}", _lines_of(cite.unheard(d))),
        _section("Not said this time", _lines_of(cite.unsaid(d))),
        _section("Also possible", _hypotheses(d, ruled_out=False)),
        _section("Ruled out", _hypotheses(d, ruled_out=True)),
        _section("Actions", _actions(d)),
        _section("Gaps in the evidence", _gaps(d)),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def escaped(text: str) -> str:
    """``text`` as itself in a paragraph, a heading or a table cell: no markup, no HTML, no list, on one line."""
    text = " ".join(text.split())
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _START.sub(lambda m: f"\\{m[1]}" if m[1] else f"{m[2]}\\{m[3]}", _MARKUP.sub(r"\\\1", text))


def fenced(lines: Sequence[str], language: str = "text") -> list[str]:
    """A code block that no line in it can end."""
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *lines, fence]


def code(text: str) -> str:
    """``text`` as inline code, whatever backticks it has. Not for table cells: a pipe ends those even in code."""
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


# --------------------------------------------------------------------------- sections


def _section(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"## {title}", "", *lines]) if lines else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    return [f"| {' | '.join(head)} |", f"|{'|'.join(' --- ' for _ in head)}|", *(f"| {' | '.join(row)} |" for row in rows)]


def _summary(d: Diagnosis) -> str:
    server = cite.server_named(d)
    verdict = ", ".join(part for part in (str(d.cause), str(d.status) if d.status else "", cite.way(d)) if part)
    progress = f"{d.progress.done} of {d.progress.of} {d.progress.what}".strip() if d.progress else ""
    rows = [
        ("Unit", d.unit or ""),
        ("Host", d.host or ""),
        ("Server", server),
        ("Cause", verdict),
        ("Also", ", ".join(map(str, d.also))),
        ("Missing", gaps.undecided(d)),
        ("State when looked at", str(d.health)),
        ("Started", cite.stamp(d.started_at)),
        ("Listening", cite.stamp(d.listening_at)),
        ("Ready", cite.stamp(d.ready_at)),
        ("Ready expected", cite.stamp(d.ready_expected_at)),
        ("Died", cite.stamp(d.died_at)),
        ("Lived", cite.took(d.died_after_s)),
        ("Active for", cite.took(d.active_for_s)),
        ("Phase", " ".join(part for part in (str(d.phase) if d.phase else "", f"({progress})" if progress else "") if part)),
        ("End", cite.ended(d.end) if d.died_at is not None or d.died_after_s is not None else ""),
        ("Clients", _client(d)),
        ("Looked at", " ".join(part for part in (cite.looked_at(d), f"({cite.stamp(d.captured_at)})" if d.captured_at else "") if part)),
    ]
    return _section("Summary", _table(("", ""), [(name, escaped(value)) for name, value in rows if value]))


def _client(d: Diagnosis) -> str:
    c = d.client
    if c is None:
        return ""
    parts = [
        cite.requests(c),
        f"first error {cite.stamp(c.first_error_at)}" if c.first_error_at is not None else "",
        f"last error {cite.stamp(c.last_error_at)}" if c.last_error_at is not None else "",
        f"{cite.took(c.early_s)} too early" if c.early_s is not None else "",
        cite.of_the_dead(d),
    ]
    text = ", ".join(part for part in parts if part)
    return f"{c.tool}: {text}" if c.tool not in (None, "client") and text else text


def _meant(asked: str | None, meant: str | None) -> str:
    return f" (asked for {code(asked)}, meant is {code(meant)})" if asked and meant else ""


def _timeline(d: Diagnosis) -> list[str]:
    return _table(("when", "source", "what"), [(clock.iso(m.at) if m.at is not None else "", escaped(m.source), escaped(m.text)) for m in d.timeline])


def _root_cause(d: Diagnosis) -> list[str]:
    own = next((h for h in d.hypotheses if h.cause is d.cause and h.status is not Status.RULED_OUT), None)
    lines = [f"**{d.cause}**" + (f" ({d.status})" if d.status else "") + f": {escaped(d.headline)}"]
    for title, said in (("For it", own.for_ if own else ()), ("Against it", own.against if own else ()), ("Not known", own.missing if own else ())):
        if said:
            lines += ["", f"{title}:", "", *(f"- {escaped(text)}" for text in said)]
    if d.evidence:
        shown = [
            f"{cite.where(e)}  {clock.iso(e.at) + '  ' if e.at is not None else ''}{f'×{e.times} ' if e.times > 1 else ''}{e.text}"
            for e in d.evidence
        ]
        lines += ["", "Evidence (source:line, time, text):", "", *fenced(shown)]
        if folded := cite.following(d):
            lines += ["", escaped(folded)]
    return lines


def _phases(d: Diagnosis) -> list[str]:
    rows = []
    for span, ranks, seconds, _ in cite.by_phase(d.phases):
        who = f"{ranks} ranks" if ranks > 1 else span.rank or ""
        rows.append((str(span.phase), cite.stamp(span.started_at), cite.took(seconds) or "not known", escaped(who)))
    return _table(("phase", "began", "took", "ranks"), rows)


def _lives(d: Diagnosis) -> list[str]:
    return _table(
        ("started", "ended", "lived", "what"),
        [(cite.stamp(life.started_at), cite.stamp(life.ended_at), cite.took(life.lived_s), escaped(cite.life_line(life))) for life in d.lives],
    )


def _changes(d: Diagnosis) -> list[str]:
    return _table(
        ("what", "before", "after", "since"),
        [(escaped(c.what), escaped(c.before or "(not there)"), escaped(c.after or "(gone)"), escaped(c.since)) for c in d.changed],
    )


def _lines_of(templates: Sequence[Template]) -> list[str]:
    fresh = [f"{t.source}:{t.line} {' '.join(t.text.split())}" for t in templates]
    return fenced(fresh) if fresh else []


def _hypotheses(d: Diagnosis, *, ruled_out: bool) -> list[str]:
    chosen = [h for h in d.hypotheses if (h.status is Status.RULED_OUT) is ruled_out and (ruled_out or h.cause is not d.cause)]
    return [f"- **{h.cause}**: {_said(h)}" for h in chosen]


def _said(h: Hypothesis) -> str:
    if h.status is Status.RULED_OUT:
        return escaped("; ".join(h.against) or "ruled out")
    parts = [str(h.status), *h.for_, *(f"against it: {a}" for a in h.against), *(f"not known: {m}" for m in h.missing)]
    return escaped("; ".join(parts)) + (f"; to decide: {code(h.next)}" if h.next else "")


def _actions(d: Diagnosis) -> list[str]:
    lines = []
    for advice in d.advice:
        lines.append(f"- [ ] {escaped(cite.advice_line(advice))}")
        if advice.command:
            lines += ["", *(f"  {line}" for line in fenced([advice.command], "sh")), ""]
    own = next((h for h in d.hypotheses if h.cause is d.cause and h.next), None)
    if own and own.next and own.next not in {advice.command for advice in d.advice}:
        lines.append(f"- [ ] To be surer, run {code(own.next)}")
    shown = [*(a.command for a in d.advice if a.command), *((own.next,) if own and own.next else ())]
    return [*lines, "", escaped(blanks)] if (blanks := cite.blanks(shown)) else lines


def _gaps(d: Diagnosis) -> list[str]:
    rows = [f"- {_GAPS[kind]}: {escaped(named)}" for kind, named in gaps.grouped(d) if kind in _GAPS]
    return [*rows, f"- time zone: {cite.NO_ZONE}"] if Coverage.GIVEN in d.coverage.values() else rows

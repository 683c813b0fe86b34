"""A Diagnosis as one line of JSON, schema ``ddforensics/diagnosis/1``. Every key is always there; secrets are masked. Never cuts or rounds what a reader may compute with.

Keys may be added within schema 1, never renamed or dropped. ``captured_at``, ``took_s``, ``active_for_s`` are the fields that differ between
two looks at the same evidence. Control characters in log lines stay what they are, escaped by JSON itself.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from forensics import clock, redact
from forensics.model import Advice, Behind, ClientView, Diagnosis, End, Evidence, Follow, Hypothesis, Life, Memory, PhaseSpan, Template
from forensics.report import cite

SCHEMA = "ddforensics/diagnosis/1"
SCHEMA_FILE = Path(__file__).with_name("diagnosis.schema.json")


def render(diagnosis: Diagnosis, *, mask: cite.Wash = redact.secrets) -> str:
    """One line, pure ASCII, no line end: several targets make a JSON Lines stream."""
    return json.dumps(as_dict(diagnosis, mask=mask), ensure_ascii=True, allow_nan=False)


def as_dict(diagnosis: Diagnosis, *, mask: cite.Wash = redact.secrets) -> dict[str, Any]:
    """The document as plain Python objects, in the order of the keys that the documentation has. ``mask`` is what every text goes through."""
    d = cite.washed(diagnosis, lambda text: _clean(mask(text)))
    return {
        "schema": SCHEMA,
        "captured_at": _time(d.captured_at),
        "took_s": _seconds(d.took_s),
        "target": d.target,
        "bundle": d.bundle,
        "host": d.host,
        "unit": d.unit,
        "server": d.server,
        "server_version": d.server_version,
        "health": str(d.health),
        "cause": str(d.cause),
        "status": _word(d.status),
        "direction": _word(d.direction),
        "also": [str(cause) for cause in d.also],
        "headline": d.headline,
        "phase": _word(d.phase),
        "progress": _progress(d) if d.progress else None,
        "behind": _behind(d.behind) if d.behind else None,
        "started_at": _time(d.started_at),
        "active_at": _time(d.active_at),
        "active_for_s": _seconds(d.active_for_s),
        "listening_at": _time(d.listening_at),
        "ready_at": _time(d.ready_at),
        "ready_expected_at": _time(d.ready_expected_at),
        "died_at": _time(d.died_at),
        "died_after_s": _seconds(d.died_after_s),
        "end": _end(d.end),
        "client": _client(d.client) if d.client else None,
        "evidence": [_evidence(e) for e in d.evidence],
        "follows": [_follow(f) for f in d.follows],
        "hypotheses": [_hypothesis(h) for h in d.hypotheses],
        "advice": [_advice(a) for a in d.advice],
        "memory": _memory(d.memory) if d.memory else None,
        "trees": [
            {"metric": t.metric, "topk": t.topk, "budget": t.budget, "value": t.value, "share": t.share, "wrong": t.wrong, "series": t.series}
            for t in d.trees
        ],
        "changed": [{"what": c.what, "before": c.before, "after": c.after, "since": c.since} for c in d.changed],
        "good_life": _life(d.good) if d.good else None,
        "novel": [_template(t) for t in d.novel],
        "absent": [_template(t) for t in d.absent],
        "phases": [_phase(p) for p in d.phases],
        "lives": [_life(life) for life in d.lives],
        "timeline": [{"at": _time(m.at), "source": m.source, "text": m.text} for m in d.timeline],
        "warnings": [{"kind": w.kind, "asked": w.asked, "meant": w.meant, "text": w.text} for w in d.warnings],
        "coverage": {name: str(coverage) for name, coverage in d.coverage.items()},
        "candidates": list(d.candidates),
    }


def _clean(text: str) -> str:
    # A byte that was no UTF-8 would become a lone surrogate, which strict readers of JSON refuse.
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _word(word: object | None) -> str | None:
    return None if word is None else str(word)


def _time(at: float | None) -> str | None:
    return None if at is None else clock.iso(at)


def _seconds(seconds: float | None) -> float | None:
    # microseconds, what a journal has: without it differences of epoch seconds print as 566.9999999
    return None if seconds is None or not math.isfinite(seconds) else round(float(seconds), 6)


def _progress(d: Diagnosis) -> dict[str, Any]:
    bar = d.progress
    assert bar is not None
    return {"done": bar.done, "of": bar.of, "what": bar.what or None, "at": _time(bar.at), "age_s": _seconds(cite.age_s(d))}


def _behind(behind: Behind) -> dict[str, Any]:
    return {
        "rank": behind.rank,
        "ranks": list(behind.ranks),
        "phase": _word(behind.phase),
        "since": _time(behind.since),
        "others": _word(behind.others),
    }


def _end(end: End) -> dict[str, Any]:
    return {"kind": str(end.kind), "by": str(end.by), "signal": end.signal, "status": end.status, "result": end.result}


def _client(client: ClientView) -> dict[str, Any]:
    return {
        "tool": client.tool,
        "first_error_at": _time(client.first_error_at),
        "last_error_at": _time(client.last_error_at),
        "refused": client.refused,
        "asked": client.asked,
        "failed": client.failed,
        "early_s": _seconds(client.early_s),
        "wasted_s": _seconds(client.wasted_s),
        "errors": dict(client.errors),
        "clock_shift_s": _seconds(client.clock_shift_s),
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {
        "source": evidence.source,
        "line": evidence.line or None,
        "at": _time(evidence.at),
        "text": evidence.text,
        "rule": evidence.rule,
        "role": _word(evidence.role),
        "rank": evidence.rank or None,
        "times": evidence.times,
    }


def _follow(follow: Follow) -> dict[str, Any]:
    return {
        "rule": follow.rule or None,
        "text": follow.text,
        "ranks": list(follow.ranks),
        "lines": follow.lines,
        "source": follow.source,
        "line": follow.line or None,
    }


def _hypothesis(hypothesis: Hypothesis) -> dict[str, Any]:
    return {
        "cause": str(hypothesis.cause),
        "status": str(hypothesis.status),
        "for": list(hypothesis.for_),
        "against": list(hypothesis.against),
        "missing": list(hypothesis.missing),
        "next": hypothesis.next,
    }


def _advice(advice: Advice) -> dict[str, Any]:
    return {
        "text": advice.text,
        "flag": advice.flag,
        "direction": _word(advice.direction),
        "from": advice.from_,
        "to": advice.to,
        "command": advice.command,
        "costs": advice.costs,
    }


def _memory(memory: Memory) -> dict[str, Any]:
    return {
        "kind": _word(memory.kind),
        "flag": memory.flag,
        "fraction": memory.fraction,
        "fraction_min": memory.fraction_min,
        "fraction_max": memory.fraction_max,
        "fits": memory.fits,
        "token_gib": memory.token_gib,
        "request_gib": memory.request_gib,
        "rows": [
            {"what": r.what, "on": r.on, "gib": r.gib, "rank": r.rank, "source": r.source, "line": r.line, "earlier": r.earlier} for r in memory.rows
        ],
        "levers": [{"flag": x.flag, "to": x.to, "frees_gib": x.frees_gib, "text": x.text} for x in memory.levers],
    }


def _template(template: Template) -> dict[str, Any]:
    return {"source": template.source, "line": template.line or None, "text": template.text, "count": template.count}


def _phase(span: PhaseSpan) -> dict[str, Any]:
    return {"phase": str(span.phase), "rank": span.rank or None, "started_at": _time(span.started_at), "took_s": _seconds(span.took_s)}


def _life(life: Life) -> dict[str, Any]:
    return {
        "started_at": _time(life.started_at),
        "ended_at": _time(life.ended_at),
        "end": _end(life.end),
        "ready_after_s": _seconds(cite.ready_after_s(life)),
    }

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
from forensics.model import Advice, ClientView, Diagnosis, End, Evidence, Hypothesis, Life, PhaseSpan
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
        "progress": {"done": d.progress.done, "of": d.progress.of, "what": d.progress.what or None} if d.progress else None,
        "started_at": _time(d.started_at),
        "active_for_s": _seconds(d.active_for_s),
        "listening_at": _time(d.listening_at),
        "ready_at": _time(d.ready_at),
        "ready_expected_at": _time(d.ready_expected_at),
        "died_at": _time(d.died_at),
        "died_after_s": _seconds(d.died_after_s),
        "end": _end(d.end),
        "client": _client(d.client) if d.client else None,
        "evidence": [_evidence(e) for e in d.evidence],
        "hypotheses": [_hypothesis(h) for h in d.hypotheses],
        "advice": [_advice(a) for a in d.advice],
        "changed": [{"what": c.what, "before": c.before, "after": c.after, "since": c.since} for c in d.changed],
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


def _end(end: End) -> dict[str, Any]:
    return {"kind": str(end.kind), "by": str(end.by), "signal": end.signal, "status": end.status, "result": end.result}


def _client(client: ClientView) -> dict[str, Any]:
    return {
        "tool": client.tool,
        "first_error_at": _time(client.first_error_at),
        "last_error_at": _time(client.last_error_at),
        "refused": client.refused,
        "asked": client.asked,
        "early_s": _seconds(client.early_s),
        "wasted_s": _seconds(client.wasted_s),
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {
        "source": evidence.source,
        "line": evidence.line or None,
        "at": _time(evidence.at),
        "text": evidence.text,
        "rule": evidence.rule,
        "role": _word(evidence.role),
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
    }


def _phase(span: PhaseSpan) -> dict[str, Any]:
    return {"phase": str(span.phase), "rank": span.rank or None, "started_at": _time(span.started_at), "took_s": _seconds(span.took_s)}


def _life(life: Life) -> dict[str, Any]:
    return {
        "started_at": _time(life.started_at),
        "ended_at": _time(life.ended_at),
        "end": _end(life.end),
        "ready_after_s": _seconds(cite.ready_after_s(life)),
    }

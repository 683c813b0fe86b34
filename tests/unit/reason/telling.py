"""Text in, story out: the pipeline up to the reasoning, for tests that are about the reasoning."""

from __future__ import annotations

from pathlib import Path

from forensics import api, collect, reason
from forensics.model import Diagnosis
from forensics.reason.place import Story, story_of
from tests.cases.judge import rules

DATA = Path(__file__).resolve().parents[2] / "data" / "reason"


def folder(path: Path, **files: str) -> Path:
    """A folder with those files; ``journal`` is journal.txt."""
    path.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (path / f"{name.replace('_', '-')}.txt").write_text(text, encoding="utf-8")
    return path


def story(evidence: Path, *, unit: str | None = None) -> Story:
    """The story that a folder tells."""
    (target,) = collect.parse_targets([str(evidence)])
    with collect.open_target(target) as session:
        (capture,) = api.look(session, rules(), unit=unit, since=None, progress=lambda text: None)
        facts, capture = api.facts_of(capture, rules(), unit=unit)
        session.discard()
    return story_of(facts, rules(), capture.pick.unit, at=facts.at, pick=capture.pick)


def diagnosed(evidence: Path, *, unit: str | None = None) -> Diagnosis:
    """The diagnosis of a folder."""
    (target,) = collect.parse_targets([str(evidence)])
    with collect.open_target(target) as session:
        (capture,) = api.look(session, rules(), unit=unit, since=None, progress=lambda text: None)
        facts, capture = api.facts_of(capture, rules(), unit=unit)
        found = reason.diagnose(facts, rules(), capture)
        session.discard()
    return found

"""Run the pipeline on a case folder and judge the answer as a fair reader would. Reads case.yaml only after the program has answered."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from forensics import api, collect, ruleset
from forensics.report import json as report
from forensics.report import markdown, text
from forensics.ruleset.schema import RuleSet
from tests.cases.harm import harms

HERE = Path(__file__).parent


@lru_cache(maxsize=1)
def rules() -> RuleSet:
    return ruleset.load()


def answer(evidence: Path, *, unit: str | None = None) -> tuple[dict[str, Any], int]:
    """The JSON of one folder's diagnosis, and the exit code that goes with it."""
    (target,) = collect.parse_targets([str(evidence)])
    with collect.open_target(target) as session:
        (capture,) = api.look(session, rules(), unit=unit, since=None, progress=lambda text: None)
        diagnosis = api.diagnose_capture(capture, rules(), unit=unit)
        session.discard()
    assert text.render(diagnosis).endswith("\n")  # what is found can be written in every form
    assert markdown.render(diagnosis).startswith("# Post-mortem: ")
    return report.as_dict(diagnosis), api.exit_code([diagnosis])


@dataclass(frozen=True, kw_only=True)
class Judged:
    """right, missed (unknown), wrong, or misleading: wrong and sure of it, or named as what it must not be."""

    id: str
    verdict: str
    cause: str
    status: str | None
    wanted: str
    quotes: tuple[int, int]  # cited, wanted
    direction: bool
    phase: bool
    firm: bool
    harms: tuple[str, ...]  # what somebody could come to harm by who does as the advice says
    hypotheses: tuple[tuple[str, str, bool], ...] = ()  # cause, status, whether that is what happened


def judge(folder: Path, work: Path) -> Judged:
    """The answer to a case on a copy of its inputs alone."""
    case = yaml.safe_load((folder / "case.yaml").read_text(encoding="utf-8"))
    evidence = work / "evidence"
    evidence.mkdir(parents=True)
    for file in folder.iterdir():
        if file.name != "case.yaml":
            shutil.copy(file, evidence / file.name)
    found, _ = answer(evidence, unit=case.get("unit"))
    expect = case["expect"]
    cause, status = found["cause"], found["status"]
    if cause in {expect["cause"], *(expect.get("accept") or [])}:
        verdict = "right"
    elif cause == "unknown":
        verdict = "missed"
    else:
        verdict = "misleading" if cause in (expect.get("not") or []) or status == "established" else "wrong"
    cited = "\n".join(e["text"] for e in found["evidence"])
    quotes = expect.get("evidence") or []
    return Judged(
        id=folder.name,
        verdict=verdict,
        cause=cause,
        status=status,
        wanted=expect["cause"],
        quotes=(sum(q in cited for q in quotes), len(quotes)),
        direction=expect.get("direction") in (None, found["direction"]),
        phase=expect.get("phase") in (None, found["phase"]),
        firm=status in ("established", "supported"),
        harms=tuple(harms(found, rules())),
        hypotheses=tuple((h["cause"], h["status"], h["cause"] in {expect["cause"], *(expect.get("accept") or [])}) for h in found["hypotheses"]),
    )

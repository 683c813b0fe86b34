"""A case's files as text that can be changed, and what the program says of them. Changes nothing itself."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from forensics import api, collect
from forensics.model import Role
from forensics.report import json as report
from tests.cases.judge import HERE, rules

SAMPLES = HERE.parents[1] / "samples"
SETS = {"given": HERE / "given", "made": HERE / "made", "samples": SAMPLES}
Answer = dict[str, Any]

_STAMP = (
    r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,6})?"
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,6})?[+-]\d\d:?\d\d"
    r"|[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})? [A-Z]{2,5})"
)
# a line of journalctl: its stamp, its host, who wrote it and under which number, and what
JOURNAL = re.compile(rf"(?P<stamp>{_STAMP}) (?P<host>[\w.-]+) (?P<ident>[\w./@()+-]+(?:\[(?P<pid>\d+)\])?): (?P<text>.*)", re.DOTALL)
# what the servers and most others begin a line of their own with: here a new record begins
RECORD = re.compile(
    rf"{_STAMP} |\[?\d{{4}}[-/]\d\d[-/]\d\d[ T]|\((?:\w+)[^()\n]{{0,40}} pid=\d+\) |(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)[: ]|[IWEF]\d{{4}} \d\d:|\[\s*\d+\.\d{{6}}\]"
    r"|time=\S|\[(?:GIN|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d )"
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """Files by name, with the unit that is asked for."""

    id: str
    unit: str | None
    files: Mapping[str, str]
    expect: Mapping[str, Any] = field(default_factory=dict)

    def having(self, **changes: str) -> Case:
        """The same with some files changed; a key is a name with its dots as they are."""
        return replace(self, files={**self.files, **changes})


@dataclass(frozen=True, kw_only=True)
class Said:
    """A line that a rule matched: its file, its number from 1, the rule, what the rule is for, and the message without its prefixes."""

    source: str
    line: int
    rule: str
    role: Role | None
    cause: str | None
    origin: str
    text: str


def cases(which: str) -> Iterator[Case]:
    """The cases of a set (given, made, samples), by their names."""
    for folder in sorted(p for p in SETS[which].iterdir() if p.is_dir()):
        label = folder / "case.yaml"
        told = yaml.safe_load(label.read_text(encoding="utf-8")) if label.exists() else {}
        files = {f.name: f.read_bytes().decode("utf-8", "surrogateescape") for f in sorted(folder.iterdir()) if f != label}
        yield Case(id=f"{which}/{folder.name}", unit=told.get("unit"), files=files, expect=told.get("expect") or {})


def case(name: str) -> Case:
    """One case by its id (``given/sglang-4330``)."""
    return next(c for c in cases(name.partition("/")[0]) if c.id == name)


def write(case: Case, folder: Path) -> None:
    """The files of a case into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in case.files.items():
        (folder / name).write_bytes(text.encode("utf-8", "surrogateescape"))


def answer(case: Case) -> Answer:
    """What the program says of a case, as JSON."""
    with tempfile.TemporaryDirectory() as work:
        write(case, Path(work) / "evidence")
        (target,) = collect.parse_targets([str(Path(work) / "evidence")])
        with collect.open_target(target) as session:
            (capture,) = api.look(session, rules(), unit=case.unit, since=None, progress=lambda text: None)
            diagnosis = api.diagnose_capture(capture, rules(), unit=case.unit)
            session.discard()
    return report.as_dict(diagnosis)


def said(case: Case) -> list[Said]:
    """Every line that a rule or a profile matches, also where nothing comes of it."""
    by_id = rules().by_id
    with tempfile.TemporaryDirectory() as work:
        write(case, Path(work) / "evidence")
        (target,) = collect.parse_targets([str(Path(work) / "evidence")])
        with collect.open_target(target) as session:
            (capture,) = api.look(session, rules(), unit=case.unit, since=None, progress=lambda text: None)
            facts, _ = api.facts_of(capture, rules(), unit=case.unit)
            session.discard()
    found = []
    for seen in facts.seen:
        rule = by_id.get(seen.hit.rule)
        found.append(
            Said(
                source=seen.record.source, line=seen.record.line_no, rule=seen.hit.rule, role=rule.role if rule else None,
                cause=str(rule.cause) if rule and rule.cause else None, origin=str(seen.record.origin), text=seen.record.text,
            )
        )  # fmt: skip
    return found


def verdict(answer: Answer) -> tuple[str, str | None]:
    """What must not change: the cause, and for a GPU's memory at start-up which way to turn."""
    return answer["cause"], answer["direction"] if answer["cause"] == "gpu-oom-init" else None


def sure(answer: Answer, cause: str) -> bool:
    """Whether it says outright that this was the cause."""
    return answer["cause"] == cause and answer["status"] in ("established", "supported")


def lines(text: str) -> list[str]:
    """The lines of a file without their ends; the last is empty where the file ends with one."""
    return text.split("\n")


def is_json(text: str) -> bool:
    """Whether a file is data and not lines."""
    return text.lstrip()[:1] in ("{", "[") and text.rstrip()[-1:] in ("}", "]") and re.match(r"\s*[\[{]\s*[\[{\"]", text) is not None

"""What must hold of anything that reading makes of anything. Raises ``Broken`` with what does not hold; never repairs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import jsonschema

from forensics.model import Diagnosis, Evidence, Facts, PartKind, Problem
from forensics.parse import turned
from forensics.parse.lines import MAX_LINE
from forensics.report import json as report_json
from forensics.report import markdown, text
from forensics.report.json import SCHEMA_FILE

SGR = re.compile(r"\x1b\[[0-9;]*m")
_ANSI = re.compile(r"\x1b(?:\[[0-9;:<=>?]*[ -/]*[@-~]|[\]_P^][^\x07\x1b\n]*(?:\x07|\x1b\\)|[ -/]?[0-Z\\^-~])|#033\[[0-9;]*[A-Za-z]")
# what stands in these is taken apart before it is cited
_STRUCTURED = frozenset({PartKind.JOURNAL_JSON, PartKind.JOURNAL_EXPORT, PartKind.BENCH_JSON, PartKind.UNIT_FILE})
# probes, sockets and GPUs don't know their section: they are cited by the name that it has on a host
_BY_KIND = frozenset({"health", "sockets", "gpu"})


class Broken(AssertionError):
    """Something that must always hold does not."""


def hold(condition: object, what: str) -> None:
    """Raise unless the condition holds."""
    if not condition:
        raise Broken(what)


def problems_in(problems: Iterable[Problem], *, first: int, last: int, source: str | None = None) -> None:
    """Every problem has its source, and a line of it (0: the whole)."""
    for problem in problems:
        hold(source is None or problem.source == source, f"a problem of another source: {problem}")
        hold(problem.line == 0 or first <= problem.line <= last, f"a problem beyond the lines {first}…{last}: {problem}")


def lines_of(data: bytes) -> list[str]:
    """The lines as they are counted."""
    return data.decode("utf-8", "replace").split("\n")


def facts_hold(facts: Facts, sources: Mapping[str, Sequence[str]]) -> None:
    """Whatever has a line number has one that its file has; figures are finite."""
    for seen in facts.seen:
        hold(1 <= seen.record.line_no <= len(sources[seen.record.source]), f"a hit beyond its file: {seen.record}")
    for tail in facts.tails.values():
        for record in (*tail.first, *tail.last):
            hold(1 <= record.line_no <= len(sources[record.source]), f"an end beyond its file: {record}")
    for state in facts.units.values():
        for key, (line, _) in state.lines.items():
            hold(1 <= line <= len(sources[state.line_sources[key]]), f"a state's line beyond its file: {key} {line}")
    for run in facts.benches:
        for line in (*(row.line_no for row in run.rows), *(row.line_no for row in run.matrix)):
            hold(1 <= line <= len(sources[run.source]), f"a client's line beyond its file: {line}")
    for asked in facts.asked:
        hold(0 <= asked.line_no <= len(sources[asked.source]), f"a command beyond its file: {asked}")
    for problem in facts.problems:
        problems_in([problem], first=1, last=len(sources.get(problem.source, ("",))))
    hold(set(facts.kinds) <= set(sources), "kinds of a source that there is not")


def diagnosis_holds(diagnosis: Diagnosis, facts: Facts, sources: Mapping[str, Sequence[str]]) -> None:
    """What is cited is there, and what is printed is harmless and of the documented shape."""
    hold(len(diagnosis.evidence) <= 12, "more than twelve lines of evidence")
    for evidence in diagnosis.evidence:
        if evidence.line:
            if evidence.source in _BY_KIND and evidence.source not in sources:
                continue
            hold(evidence.source in sources, f"evidence of no file: {evidence}")
            hold(evidence.line <= len(sources[evidence.source]), f"evidence beyond its file: {evidence}")
            _stands_there(evidence, facts, sources[evidence.source][evidence.line - 1])
    report_holds(diagnosis)


def _stands_there(evidence: Evidence, facts: Facts, line: str) -> None:
    kinds = facts.kinds.get(evidence.source, ())
    said = {problem.text for problem in facts.problems if problem.source == evidence.source}
    if set(kinds) & _STRUCTURED or line.lstrip(" [(")[:1] == "{" or '{"log":' in line or said & {turned.TURNED} or len(line) >= MAX_LINE // 2:
        return
    # as it was written, or without its escapes: taken off once, since what is left may make up new ones
    cited = (_squashed(evidence.text), _squashed(_ANSI.sub("", evidence.text)))
    there = (_squashed(line), _squashed(_ANSI.sub("", line)))
    hold(any(text in whole for text in cited for whole in there), f"evidence that is not in its line: {evidence} against {line[:300]!r}")


def _squashed(text: str) -> str:
    return "".join(c for c in text.replace("\0", "\ufffd") if not c.isspace() and c != "\ufeff")


def report_holds(diagnosis: Diagnosis) -> None:
    """The three reports: no control characters but line ends (and colours where they are on), JSON by its schema."""
    for verbose in (False, True):
        _harmless(text.render(diagnosis, verbose=verbose), "the report")
    _harmless(SGR.sub("", text.render(diagnosis, color=True, verbose=True)), "the coloured report")
    _harmless(markdown.render(diagnosis), "the Markdown")
    line = report_json.render(diagnosis)
    hold(line.isascii() and line.isprintable(), "JSON is not one line of ASCII")
    faults = [f"{'/'.join(map(str, error.path))}: {error.message[:200]}" for error in _validator().iter_errors(json.loads(line))]
    hold(not faults, f"JSON is not as documented: {faults[:3]}")


def _harmless(report: str, what: str) -> None:
    odd = next((c for c in report if c != "\n" and not c.isprintable()), None)
    hold(odd is None, f"{what} has the control character {odd!r}")


@lru_cache(maxsize=1)
def _validator() -> Any:
    return jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))

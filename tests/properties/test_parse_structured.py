"""Whatever comes in: nothing is raised, every problem has a line of the text, every citation is in the text."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from forensics import parse
from forensics.model import Capture, PartKind, Section, Target, TargetKind
from forensics.parse import bench, client, endings, host, machine, packages, processes, systemd, unitnow, unitstate, wording
from tests.unit.parse.results import read_json, read_text

DATA = Path(__file__).parents[1] / "data" / "parse"
SEEDS = [p.read_text(encoding="utf-8", errors="replace")[:6000] for p in sorted(DATA.rglob("*.txt")) + sorted(DATA.rglob("*.json"))]


def machine_figures(text: str, *, source: str, first_line: int) -> Any:
    return (machine.machine(text, machine.Said(), source=source, first_line=first_line),)


def unit_figures(text: str, *, source: str, first_line: int) -> Any:
    return unitnow.unit_now(text, machine.Said(), source=source, first_line=first_line)


PARSERS: list[Callable[..., Any]] = [
    systemd.status, systemd.show, systemd.is_active, unitstate.unit_file, host.listeners, host.probes, host.clock, host.boots, host.units, host.gpus, bench.read, bench.read_json, client.read, processes.processes, machine.disks, machine_figures, unit_figures, endings.coredumps, endings.boot_ends, packages.packages,
]  # fmt: skip


@st.composite
def broken(draw: st.DrawFn) -> str:
    """A real text, cut, doubled, or with something odd put into it."""
    text = draw(st.sampled_from(SEEDS))
    a, b = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
    odd = draw(
        st.one_of(
            st.text(max_size=40),
            st.sampled_from(
                ["\x00", "\r", "\ufffd", "\n\n", "=" * 60, "{", "[", '"', "(code=", "Active: ", "\x1b[31m", "¹²³", "٣", "code=killed, status=99999/"]
            ),
        )
    )
    return text[:a] + odd + draw(st.sampled_from([text[b:], text[a:], ""]))


@pytest.mark.parametrize("parse", PARSERS, ids=lambda p: f"{p.__module__.rpartition('.')[2]}.{p.__name__}")
@given(text=st.one_of(broken(), st.text(max_size=400)))
@example(text="")
@example(text="\n")
@settings(max_examples=60, deadline=None)
def test_every_parser_is_total_and_its_problems_have_lines(parse, text):
    result = parse(text, source="s", first_line=11)
    problems = result[-1]
    lines = text.count("\n") + 1
    assert all(p.source == "s" and 11 <= p.line < 11 + lines for p in problems)


@given(text=broken())
@settings(max_examples=150, deadline=None)
def test_what_a_client_run_cites_stands_in_its_line(text):
    lines = text.split("\n")
    runs, _ = read_text(text, source="s", first_line=1)
    for run in runs:
        for row in run.rows:
            assert row.text in lines[row.line_no - 1]


@given(text=broken())
@settings(max_examples=150, deadline=None)
def test_what_a_status_cites_stands_in_its_line(text):
    lines = text.split("\n")
    states, _ = systemd.status(text, source="s")
    for state in states:
        for line_no, cited in state.lines.values():
            assert cited in systemd.ANSI.sub("", lines[line_no - 1])


def _alternatives(pattern: str) -> list[str]:
    """The branches of a pattern at its top: each is tried, for a draw from the whole seldom meets each of forty."""
    branches, depth, at, begun = [], 0, 0, 0
    while at < len(pattern):
        char = pattern[at]
        if char == "[":
            at = pattern.index("]", at + 2)
        depth += (char == "(") - (char == ")")
        if char == "|" and not depth:
            branches.append(pattern[begun:at])
            begun = at + 1
        at += 2 if char == "\\" else 1
    return [*branches, pattern[begun:]]


BRANCHES = [pytest.param(branch, p.flags, id=f"{kind}-{n}") for kind, p in wording.KINDS for n, branch in enumerate(_alternatives(p.pattern))]


@pytest.mark.parametrize(("branch", "flags"), BRANCHES)
def test_the_quick_look_lets_nothing_go_that_a_pattern_knows(branch: str, flags: int) -> None:
    @given(st.from_regex(re.compile(branch, flags)))
    @settings(max_examples=20, deadline=None)
    def looked_at(text: str) -> None:
        assert wording.worth_a_look(text)

    looked_at()


@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {
                "label": st.text(max_size=20),
                "topk": st.integers(0, 64),
                "budget": st.integers(0, 512),
                "accept_len": st.floats(0, 64),
                "coding_pass": st.floats(0, 1),
            }
        ),
        max_size=8,
    ),
    indent=st.sampled_from([None, 1, 2]),
)
@settings(max_examples=80, deadline=None)
def test_a_matrix_survives_any_json_layout(rows, indent):
    text = json.dumps(rows, indent=indent)
    runs, problems = read_json(text, source="s")
    assert problems == ()
    found = [m for run in runs for m in run.matrix]
    assert [(m.topk, m.budget, m.accept_len, m.correct) for m in found] == [(r["topk"], r["budget"], r["accept_len"], r["coding_pass"]) for r in rows]
    for m, row in zip(found, rows, strict=True):
        assert f'"coding_pass": {json.dumps(row["coding_pass"])}' in m.text


@given(
    texts=st.lists(st.one_of(broken(), st.tuples(broken(), broken()).map("\n".join)), min_size=1, max_size=3),
    part=st.sampled_from([None, None, None, *PartKind]),
)
@settings(max_examples=120, deadline=None)
def test_facts_are_gathered_from_anything_and_cite_what_is_there(texts, part):
    with tempfile.TemporaryDirectory() as folder:
        sections = []
        for number, text in enumerate(texts):
            path = Path(folder) / f"file{number}.txt"
            path.write_text(text, encoding="utf-8", newline="")
            sections.append(Section(name=path.name, path=path, part=part if number == 0 else None))
        capture = Capture(target=Target(kind=TargetKind.FILES, name="x"), sections=tuple(sections))
        blocks, tails = parse.watch(parse.frames(capture, ()))
        for _ in blocks:
            pass
        facts = parse.facts(capture, SimpleNamespace(hits=[], counts={}), tails=tails)
        lines = {f"file{number}.txt": text.split("\n") for number, text in enumerate(texts)}
        assert set(facts.kinds) == set(lines)
        for state in facts.units.values():
            for key, (line_no, cited) in state.lines.items():
                written = lines[state.line_sources[key]][line_no - 1]
                there = systemd.ANSI.sub("", written)  # of a terminal; show has no colours, and its values are as they are
                # what is continued over several lines is cited whole
                assert cited in there or cited in written or (key == "start" and there.strip().rstrip("\\").partition("=")[2].strip()[:5] in cited)
        for run in facts.benches:
            told = [*(row.line_no for row in run.rows), *(row.line_no for row in run.matrix)]
            assert all(1 <= line_no <= len(lines[run.source]) for line_no in told)
        assert all(p.line <= len(lines[p.source]) for p in facts.problems)

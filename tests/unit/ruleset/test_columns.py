"""What columns of results are called: read, refused with its place, and added to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import api, load_rules
from forensics.model import MEANINGS, Columns
from forensics.ruleset import RuleSet
from forensics.ruleset.columns import ABOUT, PARTS
from forensics.ruleset.shipped import shipped_rules

OWN = """
    columns:
      budget: [nodes]
      accepted: [mean_run]
      correct: [right_answers]
      conditions: [kernel_build]
      of_server: [kernel_build]
    source: our own sweep
"""


def test_each_meaning_has_shipped_names_and_is_explained() -> None:
    columns = shipped_rules().columns
    assert [name for name in MEANINGS if not getattr(columns, name)] == []
    assert tuple(ABOUT) == MEANINGS
    assert PARTS.keys() < ABOUT.keys()


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("columns: {budget: [a], topk: [a]}", "1:31: 'a' means 'budget' already"),
        ("columns: {budget: [a, a]}", "1:23: 'a' stands twice"),
        ("columns: {why: [a, a]}", "1:20: 'a' stands twice"),
        ("columns: {budget: [Tree Width]}", "1:20: no name of a column: 'Tree Width' (small letters and digits with _ between them, as tree_width)"),
        ("columns: {conditions: [model], of_server: [modl]}", "1:44: 'modl' is not among 'conditions' (did you mean 'model'?)"),
        ("columns: {correct: [right], against_plain: [match]}", "1:45: 'match' is not among 'correct'"),
        ("columns: {budgett: [a]}", "1:11: unknown key 'budgett' in 'columns' (did you mean 'budget'?)"),
        ("columns: {budget: [a]}\nbudget: [b]", "2:1: unknown key 'budget' in a table of columns"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused_where_it_does_not(faults_of: Callable[..., list[str]], said: str, fault: str) -> None:
    assert [one for one in faults_of(bench__own=f"{said}\nsource: here\n") if one.startswith(f"bench/own.yaml:{fault}")], said


def test_a_column_of_words_may_have_the_name_of_a_number(rules_of: Callable[..., RuleSet]) -> None:
    read = rules_of(bench__own="columns: {lost: [oops], why: [oops]}\nsource: here\n").columns
    assert read.lost == read.why == ("oops",)


def test_a_table_says_where_its_names_are_from(faults_of: Callable[..., list[str]]) -> None:
    (fault,) = faults_of(bench__own="columns: {budget: [a]}\n")
    assert "source" in fault


def test_two_files_may_not_give_a_name_two_meanings(faults_of: Callable[..., list[str]]) -> None:
    (fault,) = faults_of(bench__a="columns: {budget: [a]}\nsource: here\n", bench__b="columns: {steps: [a]}\nsource: there\n")
    assert fault.startswith("bench/b.yaml:1:19: 'a' means 'budget' already")


def test_a_table_is_read_as_it_stands(rules_of: Callable[..., RuleSet]) -> None:
    assert rules_of(bench__own=OWN).columns == Columns(
        budget=("nodes",), accepted=("mean_run",), correct=("right_answers",), conditions=("kernel_build",), of_server=("kernel_build",)
    )


def test_names_of_a_users_own_are_read_beside_the_shipped_ones(write: Callable[..., Path], tmp_path: Path) -> None:
    rules = load_rules(write(own__bench=OWN))
    shipped = shipped_rules().columns
    assert (rules.columns.budget, rules.columns.topk) == ((*shipped.budget, "nodes"), shipped.topk)
    rows = [{"nodes": 4, "mean_run": 2.5, "kernel_build": "a"}, {"nodes": 32, "mean_run": 1.5, "kernel_build": "b"}]
    (tmp_path / "sweep.json").write_text(json.dumps(rows), encoding="utf-8")
    (run,) = api.benches_of(str(tmp_path / "sweep.json"), rules=rules)
    assert [(row.budget, row.accept_len, row.settings) for row in run.matrix] == [
        (4, 2.5, (("kernel_build", "a"),)),
        (32, 1.5, (("kernel_build", "b"),)),
    ]
    assert api.benches_of(str(tmp_path / "sweep.json")) == ()


def test_a_users_name_does_not_get_another_meaning_than_the_shipped_one(write: Callable[..., Path]) -> None:
    with pytest.raises(Exception, match="'depth' means 'steps' already"):
        load_rules(write(own="columns: {budget: [depth]}\nsource: here\n"))

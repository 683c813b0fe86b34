"""Trees over top-k and budget: readable at any width, and never without the mark of what breaks."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from forensics.model import Cause, Diagnosis, Health, TreeFigure
from forensics.report import grid, markdown, text


def diagnosis(*figures: TreeFigure) -> Diagnosis:
    return Diagnosis(target="t", headline="h", health=Health.UNKNOWN, cause=Cause.MASK_CORRUPTION, trees=figures)


def figure(topk: int, budget: int, value: float, *, wrong: bool = False, share: bool = False) -> TreeFigure:
    return TreeFigure(metric="right answers" if share else "tokens a step", topk=topk, budget=budget, value=value, wrong=wrong, share=share)


THREE = (figure(1, 4, 2.3), figure(4, 4, 2.4), figure(4, 32, 1.5, wrong=True))


def test_a_report_without_trees_has_no_such_section() -> None:
    assert "TREES" not in text.render(diagnosis())
    assert "## Trees" not in markdown.render(diagnosis())


def test_two_trees_stand_in_the_headline_already() -> None:
    assert grid.shown(diagnosis(*THREE[1:]), 80) == []


def test_what_breaks_bears_a_mark_without_any_colour() -> None:
    lines = grid.shown(diagnosis(*THREE), 80)
    assert [line for line in lines if "1.50!" in line] == [lines[3]]
    assert "2.40!" not in "".join(lines)
    assert lines[-1].startswith("! ")


def test_of_several_series_it_says_which_one_it_is_of() -> None:
    assert not any(line.startswith("of ") for line in grid.shown(diagnosis(*THREE), 80))
    lines = grid.shown(diagnosis(*(replace(one, series="variant=stride " + "concurrency=16 " * 12) for one in THREE)), 80)
    told = lines[lines.index("", 3) + 1 : -1]
    assert told[0].startswith("of variant=stride concurrency=16 ")
    assert max(map(len, lines)) <= 80


def test_colour_is_only_added() -> None:
    plain, painted = (text.render(diagnosis(*THREE), color=color) for color in (False, True))
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == plain


@pytest.mark.parametrize(("topks", "budgets"), [(2, 12), (12, 2), (12, 12), (40, 40)])
@pytest.mark.parametrize("width", [60, 80])
def test_it_never_runs_over_the_width(topks: int, budgets: int, width: int) -> None:
    figures = [figure(k, 4 * b, 1.0 + k / 10, wrong=k == 2) for k in range(1, topks + 1) for b in range(1, budgets + 1)]
    lines = grid.shown(diagnosis(*figures), width)
    assert lines
    assert max(map(len, lines)) <= width


def test_the_markdown_has_the_same_table_in_a_fence() -> None:
    found = markdown.render(diagnosis(*THREE))
    assert "## Trees\n\n```text\n" + "\n".join(grid.shown(diagnosis(*THREE), 100)) + "\n```" in found


@pytest.mark.parametrize(("value", "among", "wanted"), [(0.0, [0.0, 0.0], "▁"), (0.0, [0.0, 1.0], "▁"), (1.0, [0.0, 1.0], "█"), (0.5, [1.0], "▅")])
def test_a_bar_is_as_high_as_its_figure(value: float, among: list[float], wanted: str) -> None:
    assert grid.bar(value, among) == wanted

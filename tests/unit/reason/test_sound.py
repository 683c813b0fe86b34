"""Trees that are called sound: only where nothing falls, and where a wrong mask would have shown. The corrupted ones are as they were measured on a real GPU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from forensics.model import BenchRun, Matrix
from forensics.reason.sound import Sound, sound
from tests.unit.reason import simulated
from tests.unit.reason.test_acceptance import row, run_of


def said(*rows: Matrix) -> Sound:
    found = sound((BenchRun(source="b", tool="b", matrix=rows),))
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["m-copy-fp32.json", "sglang-matrix.json"])
def test_a_healthy_run_is_sound_and_its_answers_make_it_so(name: str) -> None:
    found = sound((run_of(name, "baseline", "healthy"),))
    assert found is not None
    assert (found.told or "").startswith(
        "the answers stay right as the draft tree widens (100% right with a single branch, 100% with budget=32 topk=4, as with all "
    )
    assert "of how many answers is not said" in (found.told or "")
    lengths = sound((run_of(name, "baseline", "healthy", without=("coding_pass", "greedy_match")),))
    assert lengths is not None
    assert lengths.told is None
    assert (lengths.doubt or "").startswith("a wrong tree mask is neither seen nor ruled out: whether the answers are right was not measured")


@pytest.mark.parametrize(("name", "variant"), [("m-copy-fp32.json", "causal"), ("m-copy-fp32.json", "stride"), ("sglang-matrix.json", "mask-causal")])
def test_of_a_corrupted_run_no_part_is_sound(name: str, variant: str) -> None:
    run = run_of(name, "baseline", variant)
    assert sound((run,)) is None
    assert sound((run_of(name, "baseline", "healthy"), run)) is None
    straight = [r for r in run.matrix if not (r.topk or 0) > 1]
    for one in run.matrix:
        found = sound((replace(run, matrix=(*straight, one)),)) if (one.topk or 0) > 1 else None
        assert found is None or found.told is None, one.label


@pytest.mark.parametrize("drawing", [simulated.draw, simulated.rough], ids=["tidy", "rough"])
def test_no_drawn_matrix_with_a_wrong_mask_is_sound_and_tidy_healthy_ones_mostly_are(drawing: Callable[[str, int], simulated.Drawn]) -> None:
    held, drawn = Counter[bool](), Counter[bool]()
    for seed in range(900):
        one = drawing(list(simulated.KINDS)[seed % len(simulated.KINDS)], seed)
        found = sound((one.run,))
        drawn[one.corrupted] += 1
        held[one.corrupted] += found is not None and found.told is not None
    assert held[True] == 0
    assert held[False] >= (0.5 if drawing is simulated.draw else 0.1) * drawn[False]


def test_what_falls_a_little_is_a_doubt_and_no_verdict() -> None:
    found = said(row(1, 8, 1.0, asked=16), row(4, 16, 0.8125, asked=16), row(4, 32, 1.0, asked=16))
    assert found.told is None
    assert (
        found.doubt
        == "a wrong tree mask is neither seen nor ruled out: 16 of 16 right with budget=8 topk=1, 13 of 16 with budget=16 topk=4; chance alone does that often, which is not enough to tell"
    )


def test_too_narrow_trees_and_too_few_answers_show_no_mask() -> None:
    narrow = said(row(1, 4, 1.0, asked=16), row(2, 4, 1.0, asked=16), row(4, 4, 1.0, asked=16))
    few = said(row(1, 8, 1.0, asked=2), row(4, 16, 1.0, asked=1))
    for found in (narrow, few):
        assert found.told is None
        assert (found.doubt or "").startswith("a wrong tree mask is neither seen nor ruled out: it shows in wide trees and in many answers")
    assert said(row(1, 8, 1.0, asked=16), row(4, 16, 1.0, asked=16)).told is not None


def test_answers_that_are_mostly_wrong_need_a_plain_run_beside_them() -> None:
    half = (row(1, 8, 0.5, asked=64), row(4, 32, 0.5, asked=64))
    assert (said(*half).doubt or "").startswith(
        "a wrong tree mask is neither seen nor ruled out: 50% of the answers are right with a single branch, and no plain run"
    )
    assert said(row(0, 0, 0.5, asked=64), *half).told is not None
    worse = said(row(0, 0, 0.9, asked=64), *half)
    assert (
        worse.doubt == "speculation itself gives wrong answers, whatever the width of its tree: 50% are right with a single branch and 90% without it"
    )


def test_a_draft_of_which_hardly_anything_is_accepted_is_said_so() -> None:
    found = said(row(1, 8, 1.0, 1.1, asked=16), row(4, 32, 1.0, 1.15, asked=16))
    assert (found.told or "").endswith("with 1.10 to 1.15 tokens a step, so hardly a draft is accepted")


MEASURED = (row(0, 0, 0.95, 1.0, asked=200), row(1, 4, 0.95, 2.3, asked=200), row(4, 8, 0.95, 2.9, asked=200), row(4, 16, 0.95, 3.2, asked=200))


@pytest.mark.parametrize(
    ("widest", "doubt"),
    [
        (row(4, 32, None, 3.4, asked=200), "the answers of the widest tree budget=32 topk=4 were not measured"),
        (row(4, 32, asked=200), "the answers of the widest tree budget=32 topk=4 were not measured"),
        (replace(row(4, 32, None, 3.4, asked=200), lost=179), "the answers of the widest tree budget=32 topk=4 were not measured (179 requests of it got no answer)"),
        (row(8, 8, None, 3.0, asked=200), "the answers of the widest tree budget=8 topk=8 were not measured"),
        (row(4, 32, 1.0, 3.4, asked=1), "only 1 answer of the widest tree budget=32 topk=4 was measured"),
        (replace(row(4, 32, 1.0, 3.4, asked=3), lost=37), "only 3 answers of the widest tree budget=32 topk=4 were measured (37 requests of it got no answer)"),
    ],
)  # fmt: skip
def test_the_widest_trees_have_to_be_measured(widest: Matrix, doubt: str) -> None:
    assert said(*MEASURED).told is not None
    found = said(*MEASURED, widest)
    assert (found.told, found.doubt) == (None, f"a wrong tree mask is neither seen nor ruled out: {doubt}")
    assert said(*MEASURED, row(4, 32, 0.95, 3.4, asked=200)).told is not None


def test_each_series_has_to_have_its_widest_tree_measured() -> None:
    def under(load: int, *rows: Matrix) -> list[Matrix]:
        return [replace(r, settings=(("concurrency", str(load)),)) for r in rows]

    whole, wide = under(1, *MEASURED, row(4, 32, 0.95, 3.4, asked=200)), row(4, 32, None, 3.4, asked=200)
    assert said(*whole, *under(16, *MEASURED)).told is not None
    found = said(*whole, *under(16, *MEASURED, wide))
    assert found.doubt == "a wrong tree mask is neither seen nor ruled out: the answers of the widest tree budget=32 topk=4 were not measured"
    assert found.where == "concurrency=16"
    alone = said(*under(1, *MEASURED), *under(16, row(4, 32, 0.5, 3.4, asked=200)))
    assert (
        alone.doubt
        == "a wrong tree mask is neither seen nor ruled out: budget=32 topk=4 was measured with concurrency=16 only, and neither a single branch nor a plain run was measured so"
    )
    assert said(*whole, *under(16, row(4, 32, 0.5, 3.4, asked=200))).told is not None  # the same tree was measured beside its narrow ones


def test_where_another_measure_of_the_answers_falls_nothing_is_called_sound() -> None:
    greedy = [row(1, 4, 0.99, asked=200), row(4, 8, 0.6, asked=200), row(4, 16, 0.05, asked=200)]

    def beside(*rows: Matrix) -> Sound:
        found = sound((BenchRun(source="b", tool="b", matrix=MEASURED, otherwise={"greedy_match": rows}),))
        assert found is not None
        return found

    found = beside(*greedy)
    assert (found.told, found.doubt) == (
        None,
        "a wrong tree mask is neither seen nor ruled out: one measure of the answers stays as the draft tree widens, and greedy_match falls"
        " (198 of 200 right with budget=4 topk=1, 10 of 200 with budget=16 topk=4; chance alone does that less than once in a million million)",
    )
    assert beside(*(replace(r, correct=0.97) for r in greedy)).told is not None


def test_where_wide_and_narrow_trees_were_measured_under_different_conditions_the_doubt_names_them() -> None:
    def under(suite: str, *rows: Matrix) -> list[Matrix]:
        return [replace(r, settings=(("suite", suite),)) for r in rows]

    narrow, wide = under("a", row(1, 4, 0.95, asked=200), row(1, 8, 0.95, asked=200)), under("b", row(4, 32, 0.6, asked=164))
    for rows in (
        [*narrow, *wide],
        [*narrow, *under("a", row(4, 8, 0.95, asked=200)), *wide],
        [*narrow, *under("a", row(4, 4, 0.95, asked=20)), *wide],
    ):
        assert (said(*rows).doubt or "").startswith(
            "a wrong tree mask is neither seen nor ruled out: budget=32 topk=4 was measured with suite=b only, and neither a single branch"
        )
    assert sound((BenchRun(source="b", tool="b", matrix=tuple(wide)),)) is None

"""Trees as they were measured on a real GPU, healthy and with a corrupted mask, and what must not be taken for it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from forensics.model import BenchRun, Matrix
from forensics.reason.acceptance import acceptance
from tests.unit.parse.results import read_json
from tests.unit.reason import simulated

MASK = Path(__file__).parents[2] / "data" / "mask"


TREES = ((1, 2), (1, 4), (1, 8), (2, 8), (4, 8), (4, 16), (4, 32))


def run_of(name: str, *variants: str, without: tuple[str, ...] = ()) -> BenchRun:
    """The rows of some variants of a measured file, as a file of their own."""
    rows = [{k: v for k, v in row.items() if k not in without} for row in json.loads((MASK / name).read_text()) if row["variant"] in variants]
    ((run,), _) = read_json(json.dumps(rows), source=name)
    return run


def row(
    topk: int, budget: int, correct: float | None = None, accept_len: float | None = None, *, steps: int | None = None, asked: int | None = None
) -> Matrix:
    return Matrix(
        line_no=1, text=f"{topk} {budget}", label="", topk=topk, budget=budget, correct=correct, accept_len=accept_len, steps=steps, asked=asked
    )


def judged(*rows: Matrix) -> bool:
    return simulated.alarmed(acceptance((BenchRun(source="b", tool="b", matrix=rows),)))


@pytest.mark.parametrize("name", ["m-copy-fp32.json", "sglang-matrix.json"])
def test_a_healthy_run_is_not_called_corrupted(name: str) -> None:
    assert not simulated.alarmed(acceptance((run_of(name, "baseline", "healthy"),)))
    assert not simulated.alarmed(acceptance((run_of(name, "baseline", "healthy", without=("coding_pass", "greedy_match")),)))


@pytest.mark.parametrize(
    ("name", "variant", "narrow", "wide", "first_bad"),
    [
        ("m-copy-fp32.json", "causal", (96, 96), (1, 16), "budget=8 topk=2"),
        ("m-copy-fp32.json", "stride", None, None, "budget=1 topk=2"),  # all or nothing: no share says of how many answers it is
        ("sglang-matrix.json", "mask-causal", (16, 16), (2, 16), "budget=8 topk=4"),
    ],
)
def test_every_corrupted_run_is(name: str, variant: str, narrow: tuple[int, int] | None, wide: tuple[int, int] | None, first_bad: str) -> None:
    found = acceptance((run_of(name, "baseline", variant),))
    assert simulated.alarmed(found)
    assert found is not None
    assert (found.narrow_right, found.wide_right, found.first_bad) == (narrow, wide, first_bad)
    assert found.chance is not None
    assert found.chance < 1e-4


@pytest.mark.parametrize(("name", "variant"), [("m-copy-fp32.json", "causal"), ("m-copy-fp32.json", "stride"), ("sglang-matrix.json", "mask-causal")])
def test_each_single_tree_that_is_wide_enough_tells_it_beside_the_plain_run(name: str, variant: str) -> None:
    whole = run_of(name, "baseline", variant)
    plain = next(r for r in whole.matrix if r.budget == 0)
    wrong = [r for r in whole.matrix if (r.topk or 0) > 1 and (r.correct or 0.0) <= 0.5]
    assert wrong
    for one in wrong:
        found = acceptance((replace(whole, matrix=tuple(replace(r, asked=16) for r in (plain, one))),))
        assert simulated.alarmed(found), one.label


def test_of_several_variants_in_one_file_the_worst_is_told() -> None:
    found = acceptance((run_of("m-copy-fp32.json", "baseline", "healthy", "causal"),))
    assert found is not None
    assert "variant causal" in found.settings


def test_the_headline_names_the_variant_that_is_broken() -> None:
    stride = acceptance((run_of("m-copy-fp32.json", "baseline", "healthy", "stride"),))
    assert stride is not None
    assert stride.told is not None
    assert stride.told.startswith("variant=stride: 100% right with a single branch, 0% with budget=32 topk=2; ")
    assert "the same with" not in stride.told
    both = acceptance((run_of("m-copy-fp32.json", "baseline", "healthy", "causal", "stride"),))
    assert both is not None
    assert both.told is not None
    assert both.told.startswith("variant=stride: ")
    assert both.told.endswith("; the same with variant=causal")
    lengths = acceptance((run_of("m-copy-fp32.json", "baseline", "healthy", "stride", without=("coding_pass", "greedy_match")),))
    assert lengths is not None
    assert (lengths.told or "").startswith("variant=stride: ")


def test_of_several_files_the_broken_one_is_named_and_one_series_alone_needs_no_name() -> None:
    good, bad = run_of("sglang-matrix.json", "baseline", "healthy"), run_of("sglang-matrix.json", "baseline", "mask-causal")
    same = tuple(replace(r, settings=tuple(pair for pair in r.settings if pair[0] != "variant")) for r in bad.matrix)
    plain = tuple(replace(r, settings=tuple(pair for pair in r.settings if pair[0] != "variant")) for r in good.matrix)
    found = acceptance((replace(good, source="run/old.json", matrix=plain), replace(bad, source="run/new.json", matrix=same)))
    assert found is not None
    assert (found.told or "").startswith("file=new.json: 16 of 16 right with ")
    alone = acceptance((bad,))
    assert alone is not None
    assert (alone.where, (alone.told or "")[:17]) == ("", "16 of 16 right wi")


def test_a_wrong_stride_is_seen_without_any_answer_being_checked() -> None:
    found = acceptance((run_of("m-copy-fp32.json", "stride", without=("coding_pass", "greedy_match")),))
    assert simulated.alarmed(found)
    assert found is not None
    assert (
        found.told == "3.21 tokens a step with budget=8 topk=1, 1.50 with budget=8 topk=2; chance alone does that less than once in a million million"
    )


def test_three_answers_say_nothing() -> None:
    assert not judged(row(1, 4, 1.0, asked=3), row(4, 32, 0.0, asked=3))


def test_a_task_of_which_half_is_solved_at_every_width_is_no_corruption() -> None:
    assert not judged(*[row(1, b, 0.5, asked=64) for b in (4, 8)], *[row(4, b, c, asked=64) for b, c in ((8, 0.47), (16, 0.42), (32, 0.5))])


def test_a_poor_draft_is_short_at_every_width() -> None:
    assert not judged(row(1, 4, 1.0, 1.1, asked=16), row(4, 16, 1.0, 1.15, asked=16), row(4, 32, 1.0, 1.12, asked=16))


def test_answers_that_are_wrong_without_branches_as_well_are_no_matter_of_the_width() -> None:
    assert not judged(row(1, 4, 0.1, asked=64), row(4, 16, 0.1, asked=64), row(4, 32, 0.08, asked=64))


def test_a_flatter_tree_may_be_accepted_a_little_shorter_than_a_deep_chain() -> None:
    assert not judged(row(1, 6, None, 3.5, steps=5), row(8, 64, None, 3.1, steps=3))
    assert not judged(row(1, 6, None, 3.5), row(8, 64, None, 3.1))


def test_trees_measured_under_other_conditions_are_never_held_against_each_other() -> None:
    short, long = (("context", "59"),), (("context", "32000"),)
    assert not judged(replace(row(1, 4, 1.0, asked=64), settings=short), replace(row(4, 32, 0.4, asked=64), settings=long))


@pytest.mark.parametrize("condition", ["quant", "tp_size", "backend", "split", "gpu"])
def test_what_a_column_says_of_the_conditions_keeps_trees_apart(condition: str) -> None:
    """An int4 server with a wide tree is no measure of the fp16 one with a narrow one."""

    def rows(apart: bool) -> str:
        trees = [
            {
                "topk": k,
                "num_draft_tokens": b,
                condition: "a" if k == 1 or not apart else "b",
                "accuracy": 0.82 if k == 1 else 0.6,
                "num_prompts": 200,
            }
            for k, b in TREES
        ]
        return json.dumps(trees)

    for apart in (True, False):
        ((run,), _) = read_json(rows(apart), source="b.json")
        assert simulated.alarmed(acceptance((run,))) is not apart


def test_a_share_gives_away_of_how_many_answers_it_is() -> None:
    found = acceptance((BenchRun(source="b", tool="b", matrix=(row(1, 4, 1.0), row(4, 16, 0.1875), row(4, 32, 0.0625))),))
    assert found is not None
    assert found.wide_right == (1, 16)


@pytest.mark.parametrize("drawing", [simulated.draw, simulated.rough], ids=["tidy", "rough"])
def test_of_nine_hundred_simulated_matrices_hardly_any_is_judged_wrong(drawing: Callable[[str, int], simulated.Drawn]) -> None:
    drawn, alarms = simulated.counted(900, drawing)
    well = [name for name in drawn if not simulated.KINDS[name.partition(",")[0]]]
    ill = [name for name in drawn if name not in well and not name.endswith("too little to tell")]
    assert sum(alarms[name] for name in well) <= 0.01 * sum(drawn[name] for name in well)
    assert sum(drawn[name] - alarms[name] for name in ill) <= 0.05 * sum(drawn[name] for name in ill)
    assert sum(drawn[name] for name in ill) > 180


def test_what_was_asked_again_counts_once() -> None:
    again = [row(1, 8, 1.0, asked=4), row(4, 32, 0.0, asked=4)] * 20
    assert not judged(*again)


def test_shares_of_different_numbers_of_answers_are_not_of_their_common_multiple() -> None:
    shares = [row(1, 4, 0.675), row(1, 8, 0.5417), row(4, 32, 0.375)]  # of 40, 24 and 8
    found = acceptance((BenchRun(source="b", tool="b", matrix=tuple(shares)),))
    assert found is not None
    assert found.chance is None


def test_a_tree_with_more_branches_and_no_more_tokens_has_less_room_for_depth() -> None:
    assert not judged(row(1, 8, None, 3.2), row(4, 8, None, 1.9), row(8, 8, None, 1.7))
    assert judged(row(1, 8, None, 3.2), row(4, 32, None, 1.5))


def test_the_tree_whose_fall_is_least_likely_is_told_and_not_the_least_share() -> None:
    found = acceptance((BenchRun(source="b", tool="b", matrix=(row(1, 8, 0.9, asked=400), row(2, 8, 0.5, asked=8), row(4, 32, 0.6, asked=400))),))
    assert found is not None
    assert found.wide_right == (240, 400)


def test_thousands_of_rows_take_time_as_many_as_they_are() -> None:
    def seconds(count: int) -> float:
        rows = [replace(row(i % 8 + 1, i % 64 + 1, 0.5, 2 + i % 7 / 10), line_no=i + 1) for i in range(count)]
        began = time.process_time()
        judged(*rows, *(replace(r, budget=0, topk=1) for r in rows))
        return time.process_time() - began

    assert seconds(8000) < 4.0  # each held against each takes a minute


def test_so_many_rows_are_judged_as_a_few_are() -> None:
    trees = [row(1, 8, accept_len=4.0), row(4, 16, accept_len=2.0)] * 300
    rows = [replace(tree, line_no=number, drafts=1000) for number, tree in enumerate(trees, 1)]
    assert judged(*rows)
    assert judged(*rows[:2])


NARROW: dict[str, object] = {"budget": 8, "topk": 1, "num_steps": 7, "accept_len": 4.1, "drafts": 5000, "accuracy": 0.9, "n": 200}
WIDE: dict[str, object] = {"budget": 64, "topk": 4, "num_steps": 7, "accept_len": 2.0, "drafts": 5000, "accuracy": 0.3, "n": 200}


def read_and_judged(*rows: Mapping[str, object]) -> bool:
    ((run,), _) = read_json(json.dumps(rows))
    return simulated.alarmed(acceptance((run,)))


def test_these_two_rows_alone_are_an_alarm() -> None:
    assert read_and_judged(NARROW, WIDE)
    assert read_and_judged({**NARROW, "sampling": {"temperature": 0}}, {**WIDE, "sampling": {"temperature": 0}})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"benchmark": "code"}, {"benchmark": "chat"}),
        ({"max_tokens": 2048}, {"max_tokens": 64}),
        ({"draft_model": "full"}, {"draft_model": "tiny"}),
        ({"kv_cache_dtype": "bf16"}, {"kv_cache_dtype": "fp8"}),
        ({"speculative_algorithm": "EAGLE3"}, {"speculative_algorithm": "NGRAM"}),
        ({"sampling": {"temperature": 0}}, {"sampling": {"temperature": 1.0}}),
    ],
)
def test_rows_of_other_conditions_are_not_held_against_each_other(one: dict[str, object], other: dict[str, object]) -> None:
    assert not read_and_judged({**NARROW, **one}, {**WIDE, **other})


def test_a_plain_run_is_held_against_drafts_whatever_model_makes_them() -> None:
    plain = {"budget": 0, "topk": 0, "accuracy": 0.9, "n": 200}
    assert read_and_judged(plain, {**WIDE, "draft_model": "tiny", "algorithm": "EAGLE"})


@pytest.mark.parametrize("lost", [{"failed_requests": 130}, {"timeouts": 130}, {"failed": 130}])
def test_requests_that_were_lost_are_no_wrong_answers(lost: dict[str, object]) -> None:
    long = {"accept_len": 4.5}
    assert not read_and_judged({**NARROW, "failed": 0}, {**WIDE, **long, **lost})
    assert read_and_judged({**NARROW, "failed": 20}, {**WIDE, **long, "failed": 140}), "what failed are the answers that were wrong"
    assert read_and_judged(NARROW, {**WIDE, **long, "failed_requests": 2})


def test_that_the_plain_run_matches_itself_says_nothing() -> None:
    plain = {"budget": 0, "topk": 0, "greedy_match": 1.0, "n": 64}
    wide = {"budget": 32, "topk": 4, "greedy_match": 0.7, "n": 64}
    assert not read_and_judged(plain, wide)
    assert read_and_judged(plain, {**wide, "budget": 4, "topk": 1, "greedy_match": 1.0}, wide), "drafts in a line match, and those in a tree do not"

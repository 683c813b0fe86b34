"""Two results of one benchmark: what is worse, what is noise, and what cannot be compared. Chances are held against scipy's on the same data."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from forensics.compare import TOLERANCE, compare
from forensics.errors import TargetError, UsageError
from forensics.model.comparison import Comparison, Difference, Judgement

MASK = Path(__file__).parents[1] / "data" / "mask" / "m-copy-fp32.json"


def result(seed: int, *, slower: float = 1.0, asked: int = 300, failed: int = 0, tail: float = 1.0, samples: bool = True) -> dict[str, Any]:
    """A result object as ``vllm bench serve --save-detailed`` has it, of drawn requests."""
    luck = random.Random(seed)
    ttfts = [luck.lognormvariate(-2, 0.4) * slower * (tail if luck.random() < 0.03 else 1.0) for _ in range(asked - failed)]
    ordered = sorted(ttfts)
    found: dict[str, Any] = {
        "backend": "vllm", "num_prompts": asked, "completed": asked - failed, "failed": failed, "duration": 60 * slower,
        "output_throughput": 5000 / slower, "mean_ttft_ms": 1000 * sum(ttfts) / len(ttfts), "p99_ttft_ms": 1000 * ordered[int(len(ordered) * 0.99)],
    }  # fmt: skip
    return {**found, "ttfts": ttfts} if samples else found


def compared(tmp_path: Path, base: Any, new: Any, *, tolerance: float = TOLERANCE) -> Comparison:
    for name, side in (("base", base), ("new", new)):
        lines = side if isinstance(side, list) and "budget" not in side[0] else [side]
        (tmp_path / f"{name}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return compare(str(tmp_path / "base.json"), str(tmp_path / "new.json"), tolerance=tolerance)


def of(found: Comparison, metric: str) -> Difference:
    return next(d for d in found.differences if d.metric == metric)


def judgements(found: Comparison) -> dict[str, str]:
    return {d.metric: str(d.judgement) for d in found.differences}


def test_a_result_beside_itself_is_the_same(tmp_path: Path) -> None:
    found = compared(tmp_path, result(1), result(1))
    assert not found.regressed
    assert {d.judgement for d in found.differences} == {Judgement.SAME, Judgement.NOTED}


def test_another_run_of_the_same_is_noise(tmp_path: Path) -> None:
    assert not any(compared(tmp_path, result(seed), result(seed + 1000)).regressed for seed in range(20))


def test_a_server_that_is_a_fifth_slower_is_worse(tmp_path: Path) -> None:
    found = compared(tmp_path, result(1), result(2, slower=1.2))
    assert judgements(found)["mean_ttft_ms"] == judgements(found)["output_throughput"] == "worse"
    assert found.regressed


def test_one_that_is_faster_is_better_and_no_regression(tmp_path: Path) -> None:
    found = compared(tmp_path, result(1), result(2, slower=0.8))
    assert judgements(found)["mean_ttft_ms"] == judgements(found)["output_throughput"] == "better"
    assert not found.regressed


def test_the_tolerance_holds_where_nothing_tells_of_noise(tmp_path: Path) -> None:
    base, new = result(1, samples=False), {**result(1, samples=False), "output_throughput": 4700.0}
    assert compared(tmp_path, base, new).regressed
    assert not compared(tmp_path, base, new, tolerance=0.1).regressed


def test_only_the_tail_got_worse(tmp_path: Path) -> None:
    found = compared(tmp_path, result(1, asked=3000), result(2, asked=3000, tail=10.0))
    assert judgements(found)["p99_ttft_ms"] == "worse"


def test_more_failed_requests_are_worse_beyond_chance_only(tmp_path: Path) -> None:
    assert of(compared(tmp_path, result(1), result(1, failed=1)), "failed requests").judgement is Judgement.SAME
    found = of(compared(tmp_path, result(1), result(1, failed=12)), "failed requests")
    assert found.judgement is Judgement.WORSE
    assert found.chance == pytest.approx(stats.fisher_exact([[12, 288], [0, 300]]).pvalue)


@pytest.mark.parametrize(
    ("asked", "before", "after", "judgement"),
    [
        (300, 0, 1, "same"),  # a third of a per cent, and any run may have it
        (300, 0, 6, "worse"),  # two per cent: less than the tolerance, and no chance (p = 0.03)
        (20, 0, 4, "worse"),  # chance may do so (p = 0.11), and a fifth was not answered
        (20, 0, 1, "same"),  # just the tolerance
        (20, 3, 5, "same"),  # some always failed
        (20, 3, 12, "worse"),
        (20, 4, 0, "same"),  # four fewer of twenty are no proof that it was mended
        (300, 12, 0, "better"),
        (300, 7, 7, "same"),
    ],
)
def test_failed_requests_are_judged_by_chance_at_five_per_cent_and_by_the_tolerance_where_none_failed(
    tmp_path: Path, asked: int, before: int, after: int, judgement: str
) -> None:
    found = compared(tmp_path, *({**result(1, asked=asked, failed=failed, samples=False), "mean_ttft_ms": 50.0} for failed in (before, after)))
    lost = of(found, "failed requests")
    assert str(lost.judgement) == judgement
    assert lost.chance == pytest.approx(stats.fisher_exact([[after, asked - after], [before, asked - before]]).pvalue)
    told = [warning for warning in found.warnings if "answered ones only" in warning]
    if before == after:
        assert not told
    else:
        assert told[0].startswith(f"{after} of {asked} requests of the new result failed, {before} of {asked} of the base")
        assert ("may be chance (p = " in told[0]) == (lost.chance is not None and lost.chance >= 0.05)


def test_a_tolerance_that_allows_the_share_leaves_a_note(tmp_path: Path) -> None:
    found = compared(tmp_path, result(1, asked=20, samples=False), result(1, asked=20, failed=4, samples=False), tolerance=0.25)
    assert of(found, "failed requests").judgement is Judgement.SAME
    assert any("4 of 20 requests of the new result failed, 0 of 20 of the base" in warning for warning in found.warnings)


def test_failures_beside_a_result_that_does_not_say_how_many_failed_are_said(tmp_path: Path) -> None:
    base = {"backend": "vllm", "output_throughput": 80.0, "mean_ttft_ms": 50.0}
    found = compared(tmp_path, base, {**base, "num_prompts": 20, "completed": 16, "failed": 4})
    assert found.warnings == (
        "4 of 20 requests of the new result failed, and the base does not say how many of its own did; latencies are of the answered ones only",
    )


@pytest.mark.parametrize(("tool", "form", "counts"), [
    ("vllm", "json", "4 of 20"), ("vllm", "txt", "4 of 20"), ("sglang", "jsonl", "5 of 20"), ("aiperf", "json", "5 of 20"), ("guidellm", "json", "7 of 40"),
])  # fmt: skip
def test_a_server_that_answers_fewer_is_never_only_faster(tool: str, form: str, counts: str) -> None:
    found = held(f"{tool}/good.{form}", f"{tool}/partly.{form}")
    assert found.regressed
    assert of(found, "failed requests").judgement is Judgement.WORSE
    assert any(warning.startswith(f"{counts} requests of the new result failed") for warning in found.warnings)


def test_a_run_in_which_all_failed_is_no_fast_server(tmp_path: Path) -> None:
    dead = {**result(1, samples=False), "completed": 0, "failed": 300, "mean_ttft_ms": 0.0, "p99_ttft_ms": 0.0, "output_throughput": 0.0}
    found = compared(tmp_path, result(1), dead)
    assert judgements(found) == {"failed requests": "worse"}
    assert found.warnings == ("no request of the new result succeeded: its other figures say nothing",)


def test_two_runs_in_which_all_failed_are_no_pass(tmp_path: Path) -> None:
    dead = {**result(1, samples=False), "completed": 0, "failed": 300, "mean_ttft_ms": 0.0, "p99_ttft_ms": 0.0, "output_throughput": 0.0}
    with pytest.raises(TargetError, match="no request of either succeeded") as told:
        compared(tmp_path, dead, dead)
    assert told.value.exit_code == 3
    assert judgements(compared(tmp_path, dead, result(1)))["failed requests"] == "better"


def test_chances_are_scipys(tmp_path: Path) -> None:
    base, new = result(1), result(2, slower=1.1)
    found = compared(tmp_path, base, new)
    assert of(found, "mean_ttft_ms").chance == pytest.approx(stats.mannwhitneyu(base["ttfts"], new["ttfts"], method="asymptotic").pvalue)
    runs = [
        [{"task": "gsm8k", "accuracy": a, "latency": t} for a, t in side]
        for side in (((0.8, 9.1), (0.81, 9.3), (0.8, 9.2)), ((0.8, 11.0), (0.8, 11.3)))
    ]
    found = compared(tmp_path, *runs)
    assert of(found, "latency").chance == pytest.approx(stats.ttest_ind([9.1, 9.3, 9.2], [11.0, 11.3], equal_var=False).pvalue)
    assert of(found, "latency").judgement is Judgement.WORSE


def test_an_accuracy_is_judged_by_how_many_questions_it_is_of(tmp_path: Path) -> None:
    def score(accuracy: float, n: int) -> dict[str, object]:
        return {"task": "gsm8k", "accuracy": accuracy, "num_requests": n, "latency": 9.0}

    few, many = compared(tmp_path, score(0.8, 20), score(0.7, 20)), compared(tmp_path, score(0.8, 1319), score(0.7, 1319))
    assert (of(few, "accuracy").judgement, of(many, "accuracy").judgement) == (Judgement.SAME, Judgement.WORSE)
    assert of(many, "accuracy").chance == pytest.approx(stats.fisher_exact([[923, 396], [1055, 264]]).pvalue)


def test_a_corrupted_mask_is_worse_at_the_wide_trees_and_nowhere_else(tmp_path: Path) -> None:
    rows = json.loads(MASK.read_text())
    base, new = ([row for row in rows if row["variant"] == variant] for variant in ("healthy", "causal"))
    found = compared(tmp_path, base, new)
    assert {d.where for d in found.differences if d.metric == "correct" and d.judgement is Judgement.WORSE} == {
        f"budget={budget} topk={topk}" for topk in (2, 4) for budget in (8, 16, 32)
    }


@pytest.mark.parametrize("name", ["commit", "quant", "engine"])
def test_rows_of_two_servers_are_held_against_each_other(name: str, tmp_path: Path) -> None:
    rows = [row for row in json.loads(MASK.read_text()) if row["variant"] == "healthy"]
    base, new = ([{**row, name: side} for row in rows] for side in ("a", "b"))
    found = compared(tmp_path, base, new)
    assert len([d for d in found.differences if d.metric == "correct"]) == len(rows)
    assert not found.only_base


def test_settings_that_differ_are_said(tmp_path: Path) -> None:
    found = compared(tmp_path, result(1), {**result(1), "request_rate": 8.0, "backend": "sglang"}, tolerance=0.5)
    assert found.warnings == ("backend was vllm, and is sglang now", "the base is of vllm, the new one of sglang")


def test_configurations_that_one_side_lacks_are_said(tmp_path: Path) -> None:
    base, new = ([{**result(1), "request_rate": rate} for rate in rates] for rates in ((1.0, 2.0), (2.0, 4.0)))
    found = compared(tmp_path, base, new)
    assert [name.rpartition(" ")[2] for name in (*found.only_base, *found.only_new)] == ["1.0", "4.0"]


def test_what_holds_no_result_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "novel.txt").write_text("It was a dark and stormy night.\n")
    (tmp_path / "base.json").write_text(json.dumps(result(1)))
    with pytest.raises(TargetError, match="no benchmark result") as caught:
        compare(str(tmp_path / "base.json"), str(tmp_path / "novel.txt"))
    assert str(caught.value.at).endswith("novel.txt")
    with pytest.raises((TargetError, UsageError)):
        compare(str(tmp_path / "base.json"), "nowhere.example.org")


def test_numbers_that_no_benchmark_has_end_nothing(tmp_path: Path) -> None:
    row = {"budget": 32, "topk": 4, "accept_len": 2.5, "correct": 0.5}
    run = {"completed": 100, "num_prompts": 100, "duration": 10.0, "mean_ttft_ms": 5.0, "output_throughput": 100.0}
    odd = [[{**row, "n": n}] for n in (10**9, 1e308, -5)] + [{**run, "num_prompts": n, "completed": n - 5} for n in (10**9, 1e308, -5)]
    odd += [{**run, "failed": -3}, {**run, "failed": 1e308, "completed": 1.7e308}]
    for number, content in enumerate(odd):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(content), encoding="utf-8")
        assert not [d for d in compare(str(file), str(file)).differences if d.judgement is Judgement.WORSE]


def test_repetitions_with_the_greatest_of_floats(tmp_path: Path) -> None:
    run = {"completed": 100, "num_prompts": 100, "duration": 10.0}
    base, new = tmp_path / "base.jsonl", tmp_path / "new.jsonl"
    base.write_text("".join(json.dumps({**run, "mean_ttft_ms": v}) + "\n" for v in (1.6e308, 1.7e308)), encoding="utf-8")
    new.write_text("".join(json.dumps({**run, "mean_ttft_ms": v}) + "\n" for v in (-1.6e308, 1.7e308)), encoding="utf-8")
    assert compare(str(base), str(new)).differences


# --------------------------------------------------------------------------- other forms, other tools

BENCH = Path(__file__).parents[1] / "data" / "bench"


def held(base: str, new: str) -> Comparison:
    return compare(str(BENCH / base), str(BENCH / new))


@pytest.mark.parametrize(
    ("base", "new", "judged"),
    [
        ("vllm/good.txt", "vllm/good.json", 20),
        ("aiperf/partly.csv", "aiperf/partly.jsonl", 16),
        ("aiperf/good.txt", "aiperf/good.json", 15),
        ("genai_perf/good.csv", "genai_perf/good.txt", 12),
        ("guidellm/partly.json", "guidellm/partly.csv", 24),
        ("vllm/latency.json", "vllm/latency.txt", 7),
        ("vllm/throughput.txt", "vllm/throughput.json", 2),
    ],
)
def test_a_run_in_one_form_beside_itself_in_another_is_the_same(base: str, new: str, judged: int) -> None:
    for found in (held(base, new), held(new, base)):
        assert not found.regressed
        assert {d.judgement for d in found.differences} <= {Judgement.SAME, Judgement.NOTED}
        assert sum(d.judgement is Judgement.SAME for d in found.differences) == judged


def test_a_figure_that_is_printed_and_saved_under_two_names_is_one() -> None:
    found = held("vllm/good.txt", "vllm/died.json")
    assert {"request_throughput", "output_throughput", "total_token_throughput", "p99_e2el_ms"} <= {
        d.metric for d in found.differences if d.judgement is Judgement.WORSE
    }
    assert len({d.metric for d in found.differences}) == len(found.differences)


def test_what_two_tools_reckon_each_in_its_own_way_is_noted_and_never_judged() -> None:
    found = held("vllm/good.json", "guidellm/good.json")
    assert {str(d.judgement) for d in found.differences if "itl" in d.metric or "tpot" in d.metric} == {"noted"}
    assert judgements(found)["mean_ttft_ms"] == "worse"
    assert any("reckoned each in its own way" in warning for warning in found.warnings)
    assert of(held("aiperf/good.json", "genai_perf/good.json"), "mean_itl_ms").judgement is Judgement.SAME


def test_a_run_in_several_files_of_a_folder_is_one_and_no_repetitions(tmp_path: Path) -> None:
    for side, name in (("base", "good"), ("new", "died")):
        (tmp_path / side).mkdir()
        for kind in ("txt", "json", "csv"):
            (tmp_path / side / f"x.{kind}").write_bytes((BENCH / f"aiperf/{name}.{kind}").read_bytes())
    found = compare(str(tmp_path / "base"), str(tmp_path / "new"))
    assert of(found, "failed requests").of == (20, 100)
    assert {d.by for d in found.differences} == {"Fisher", ""}


def test_two_results_of_which_nothing_can_be_held_against_anything_are_an_error_that_says_what_they_are() -> None:
    with pytest.raises(
        TargetError, match=r"the base is a matrix of 55 configurations, the new result of openai with request_throughput, .*max_concurrency 4"
    ):
        compare(str(MASK), str(BENCH / "vllm/good.json"))
    with pytest.raises(TargetError, match=r"of benchmark with avg_latency, .*of benchmark with .*per_second"):
        held("vllm/latency.txt", "vllm/throughput.json")


def test_one_tree_against_another_is_said(tmp_path: Path) -> None:
    for name, shape in (("base", '"budget": 4, "topk": 1'), ("new", '"budget": 64, "topk": 4')):
        (tmp_path / f"{name}.json").write_text(f'[{{{shape}, "accept_len": 2.1}}]')
    same = str(tmp_path / "base.json")
    assert compare(same, str(tmp_path / "new.json")).warnings == ("the base was measured with budget=4 topk=1, the new result with budget=64 topk=4",)
    assert compare(same, same).warnings == ()


def test_a_run_whose_tokens_did_not_come_back_is_worse_however_quick_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    base, full = "samples/healthy/bench.txt", "tests/cases/given/made-sglang-queue-full/bench.txt"
    found = compare(base, full)
    told = [(d.metric, d.judgement) for d in found.differences]
    assert told == [("share of the tokens that came back", Judgement.WORSE), ("failed requests", Judgement.SAME)]
    assert (round(found.differences[0].base, 2), round(found.differences[0].new, 2)) == (1.05, 0.1)
    assert any("of the tokens that the new result counts 10% came back" in w for w in found.warnings)
    assert "a request had 32 output tokens on the mean, and has 200 now: that is another load" in found.warnings
    assert not compare(base, base).warnings


def printed(asked: int = 200, *, again: int | None = None, ttft: float | str = 120.0) -> str:
    lines = [f"Successful requests: {asked}", "Failed requests: 0", f"Total generated tokens: {128 * asked}"]
    lines += [f"Total generated tokens (retokenized): {again}"] if again is not None else []
    return "\n".join(
        [
            "============ Serving Benchmark Result ============",
            *lines,
            "Output token throughput (tok/s): 426.67",
            f"Mean TTFT (ms): {ttft}",
            "=" * 50,
            "",
        ]
    )


def of_text(tmp_path: Path, base: str, new: str) -> Comparison:
    for name, text in (("base.txt", base), ("new.txt", new)):
        (tmp_path / name).write_text(text)
    return compare(str(tmp_path / "base.txt"), str(tmp_path / "new.txt"))


@pytest.mark.parametrize(
    ("again", "judgement"), [(25400, Judgement.SAME), (23800, Judgement.WORSE), (15000, Judgement.WORSE), (2400, Judgement.WORSE), (None, None)]
)
def test_the_share_of_the_tokens_that_came_back_is_a_figure_like_others(again: int | None, judgement: Judgement | None, tmp_path: Path) -> None:
    found = of_text(tmp_path, printed(again=25500), printed(again=again, ttft=60.0))
    told = [d for d in found.differences if d.metric == "share of the tokens that came back"]
    assert [(d.judgement, round(d.base, 4), round(d.new, 4)) for d in told] == (
        [] if again is None else [(judgement, 0.9961, round(again / 25600, 4))]
    )
    assert ("mean_ttft_ms" in {d.metric for d in found.differences}) == (again is None or again > 12800)


def test_another_number_of_requests_and_a_limit_that_was_not_set_are_said(tmp_path: Path) -> None:
    assert of_text(tmp_path, printed(), printed(1000)).warnings == ("200 requests were asked, and 1000 are now",)
    assert of_text(tmp_path, printed(), printed()).warnings == ()
    base, new = result(1, samples=False), result(2, samples=False)
    assert compared(tmp_path, {**base, "max_concurrency": None}, {**new, "max_concurrency": 4}).warnings == (
        "max_concurrency was not set, and is 4 now",
    )
    assert compared(tmp_path, {**base, "max_concurrency": 4}, {**new, "max_concurrency": None}).warnings == (
        "max_concurrency was 4, and is not set now",
    )
    assert compared(tmp_path, {**base, "max_concurrency": None}, {**new, "max_concurrency": None}).warnings == ()
    assert compared(tmp_path, base, {**new, "max_concurrency": 4}).warnings == ()  # nobody says what it was


def test_what_is_no_number_on_one_side_is_named(tmp_path: Path) -> None:
    rows = [{"budget": b, "topk": k, "accept_len": 2.0, "accuracy": 0.95, "n": 200} for b, k in [(4, 1), (16, 4), (32, 4)]]
    lost = [*rows[:2], {**rows[2], "accuracy": float("nan")}]
    found = compared(tmp_path, rows, lost)
    assert (found.only_base, found.only_new) == (("budget=32 topk=4 correct",), ())
    found = compared(tmp_path, [*rows[:2], {**rows[2], "accuracy": None, "accept_len": None}], rows)
    assert (found.only_base, found.only_new) == ((), ("budget=32 topk=4 correct", "budget=32 topk=4 acceptance length"))
    without = [{name: item for name, item in row.items() if name != "accuracy"} for row in rows]
    assert compared(tmp_path, rows, without).only_base == ("correct",)
    assert of_text(tmp_path, printed(), printed(ttft="nan")).only_base == ("mean_ttft_ms",)

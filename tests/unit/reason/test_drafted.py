"""What a server's own log tells of its drafts: starts with their trees, and what must not be taken for a corrupted mask."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.model import Cause, Evidence, Status
from forensics.reason import decoded, drafted
from forensics.reason.decoded import Interval, Start
from tests.unit.reason import drawn_logs, telling
from tests.unit.reason.drawn_logs import CAUSAL, HEALTHY, STRIDE, Tree, of

LOGS = Path(__file__).parents[2] / "data" / "mask" / "logs"
VLLM = """\
(APIServer pid=1) INFO 11-29 20:{minute}:00 [utils.py:263] non-default args: {{'model': '/models/target', 'speculative_config': {{'method': 'eagle', 'model': '/models/draft', 'num_speculative_tokens': {tokens}{more}}}}}
(EngineCore pid=2) INFO 11-29 20:{minute}:10 [core.py:133] Initializing a V1 LLM engine (v{version}) with config: model='/models/target'
(APIServer pid=1) INFO:     Application startup complete.
"""
VLLM_LINE = (
    "(APIServer pid=1) INFO 11-29 20:{minute}:{second:02d} [metrics.py:100] SpecDecoding metrics: Mean acceptance length: {length:.2f}, Accepted throughput: 110.20 tokens/s, "
    "Drafted throughput: 250.00 tokens/s, Accepted: 1102 tokens, Drafted: {drafted} tokens, Per-position acceptance rate: 0.812, 0.601, Avg Draft acceptance rate: 44.1%\n"
)


def evidence(folder: Path, *texts: str) -> Path:
    """Each text as a log of its own."""
    folder.mkdir(exist_ok=True)
    for number, text in enumerate(texts):
        (folder / f"server-{number}.log").write_text(text, encoding="utf-8")
    return folder


def rules_of(folder: Path) -> tuple[Cause, Status | None]:
    found = telling.diagnosed(folder)
    return found.cause, found.status


def start(topk: int, budget: int, *lengths: float, version: str | None = None, life: int = 0, source: str = "a.log", same: str = "m") -> Start:
    line = Evidence(source=source, line=1, text="")
    told = tuple(Interval(length=length, weight=1.0, line=line) for length in lengths)
    return Start(source=source, life=life, topk=topk, budget=budget, steps=7, same=(("model", same),), version=version, intervals=told)


def vllm(*starts: tuple[int, str, float], version: str = "0.33.0") -> str:
    text = ""
    for minute, (tokens, more, length) in enumerate(starts, 10):
        text += VLLM.format(minute=minute, tokens=tokens, more=more, version=version)
        text += "".join(VLLM_LINE.format(minute=minute, second=20 + n, length=length + n % 3 / 50, drafted=1000 + n) for n in range(12))
    return text


# --------------------------------------------------------------------------- real logs


@pytest.mark.parametrize("variant", ["healthy", "mask-causal"])
def test_of_real_logs_each_start_has_its_own_tree_and_lines(variant: str, tmp_path: Path) -> None:
    files = [f"{variant}-k1-n4", f"{variant}-k4-n16", f"{variant}-k4-n32"]
    found = decoded.starts(telling.story(evidence(tmp_path / "logs", *((LOGS / f"{name}.log").read_text() for name in files))))
    assert [(s.topk, s.budget, s.steps) for s in found] == [(1, 4, 3), (4, 16, 5), (4, 32, 5)]
    assert [len(s.intervals) for s in found] == ([10, 7, 7] if variant == "healthy" else [10, 8, 8])
    lengths = [2.27, 3.17, 3.33] if variant == "healthy" else [2.27, 2.98, 2.69]  # of what the server itself reckoned over its life
    assert [s.length for s in found] == pytest.approx(lengths, abs=0.01)


@pytest.mark.parametrize("variant", ["healthy", "mask-causal"])
def test_eight_lines_of_a_real_start_are_too_few_for_a_fall_of_a_tenth(variant: str, tmp_path: Path) -> None:
    files = [f"{variant}-k1-n4", f"{variant}-k4-n16", f"{variant}-k4-n32"]
    cause, _ = rules_of(evidence(tmp_path / "logs", *((LOGS / f"{name}.log").read_text() for name in files)))
    assert cause is Cause.OPERATOR_STOP


# --------------------------------------------------------------------------- what tells it


@pytest.mark.parametrize(
    ("capture", "wanted"),
    [
        ("accept-log-falls", (Cause.MASK_CORRUPTION, Status.SUPPORTED)),
        ("accept-log-one-start", (Cause.MASK_CORRUPTION, Status.POSSIBLE)),
        ("accept-log-healthy", (Cause.HEALTHY, None)),
        ("accept-log-poor-draft", (Cause.HEALTHY, None)),
    ],
)
def test_captures_are_as_they_are_drawn_and_judged_as_they_are(capture: str, wanted: tuple[Cause, Status | None]) -> None:
    folder = drawn_logs.DATA / capture
    assert (folder / "log.txt").read_text() == drawn_logs.log(drawn_logs.CAPTURES[capture])
    assert rules_of(folder) == wanted


def test_two_logs_that_were_written_at_once_are_told_apart(tmp_path: Path) -> None:
    narrow, wide = (drawn_logs.log([of(*tree, STRIDE)], seed=seed) for seed, tree in enumerate(((1, 8), (2, 16))))
    assert rules_of(evidence(tmp_path / "logs", narrow, wide)) == (Cause.MASK_CORRUPTION, Status.POSSIBLE)


def test_the_ignored_mask_of_a_real_run_falls_too_little_to_be_seen_in_a_log(tmp_path: Path) -> None:
    trees = [of(*tree, CAUSAL) for _ in range(3) for tree in ((1, 8), (4, 32))]
    assert rules_of(evidence(tmp_path / "logs", drawn_logs.log(trees)))[0] is Cause.HEALTHY


def test_a_unit_that_was_rolled_back_to_one_branch_is_well_now(tmp_path: Path) -> None:
    trees = [of(1, 8, STRIDE), of(2, 16, STRIDE), of(1, 8, STRIDE)]
    assert rules_of(evidence(tmp_path / "logs", drawn_logs.log(trees)))[0] is Cause.HEALTHY


# --------------------------------------------------------------------------- what does not


@pytest.mark.parametrize(
    ("why", "trees"),
    [
        ("three lines are no sample", [of(1, 8, STRIDE, lines=3), of(2, 16, STRIDE, lines=3)]),
        ("a poor draft is short at every width", [Tree(topk=1, budget=8, length=1.2), Tree(topk=2, budget=16, length=1.15)]),
        ("another task is drafted for worse", [of(1, 8, HEALTHY, factor=1.15), of(2, 16, HEALTHY, factor=0.7)]),
        ("a load changes the pace and not the length", [of(1, 8, HEALTHY, requests=1), of(2, 16, HEALTHY, requests=48)]),
        ("a tree of as many tokens as the chain has less room for depth", [of(1, 8, HEALTHY), Tree(topk=4, budget=8, length=2.1)]),
        ("only one branch was ever tried", [of(1, 4, STRIDE), of(1, 8, STRIDE)]),
    ],
)
def test_no_alarm(why: str, trees: list[Tree], tmp_path: Path) -> None:
    assert rules_of(evidence(tmp_path / "logs", drawn_logs.log(trees)))[0] is Cause.HEALTHY, why


def test_starts_of_two_models_or_versions_are_never_held_against_each_other() -> None:
    narrow, wide = start(1, 8, *[3.2, 3.3] * 6), start(2, 16, *[1.5, 1.6] * 6, life=1)
    assert (found := drafted.judged([narrow, wide])) is not None
    assert found.chance < 0.005
    assert drafted.judged([narrow, wide._replace(same=(("model", "other"),))]) is None
    assert drafted.judged([narrow._replace(version="0.5.9"), wide._replace(version="0.5.11")]) is None
    assert drafted.judged([narrow._replace(version="…0.5.19"), wide._replace(version="0.5.11")]) is not None


def test_lines_that_follow_each_other_are_no_independent_samples() -> None:
    # forty lines of two long answers: as many stretches as there are, and a wide spread between them
    found = drafted.judged([start(1, 8, *[3.0] * 12), start(2, 16, *[1.2] * 6, *[3.6] * 6)])
    assert found is not None
    assert found.chance > 0.005


def test_an_interval_of_many_requests_weighs_more() -> None:
    line = Evidence(source="a.log", line=1, text="")
    told = (Interval(length=3.0, weight=9.0, line=line), Interval(length=1.0, weight=1.0, line=line))
    assert start(1, 8)._replace(intervals=told).length == pytest.approx(2.8)


def test_hardly_any_drawn_start_is_judged_wrong() -> None:
    assert drawn_logs.alarms(HEALTHY, 60) == (0, 0)
    assert drawn_logs.alarms(HEALTHY, 40, starts=3) == (0, 0)
    possible, firm = drawn_logs.alarms(STRIDE, 40, starts=3)
    assert possible >= 38  # nineteen of twenty
    assert firm >= 38
    assert drawn_logs.alarms(STRIDE, 40)[1] == 0  # one start of each is never enough to be sure


# --------------------------------------------------------------------------- another server's words


def test_a_chain_has_one_branch_and_a_list_of_paths_several(tmp_path: Path) -> None:
    paths = ", 'speculative_token_tree': '[(0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1), (0, 0, 0), (0, 0, 1)]'"
    found = decoded.starts(telling.story(evidence(tmp_path / "logs", vllm((3, "", 2.4), (8, paths, 1.2)))))
    assert [(s.topk, s.budget, s.steps) for s in found] == [(1, 3, 3), (2, 8, 3)]
    assert found[0].intervals[0].weight == 1000
    assert rules_of(tmp_path / "logs") == (Cause.MASK_CORRUPTION, Status.POSSIBLE)


def test_a_version_that_counted_otherwise_is_left_out(tmp_path: Path) -> None:
    assert decoded.starts(telling.story(evidence(tmp_path / "logs", vllm((3, "", 2.4), version="0.8.5")))) == []


def test_without_drafts_there_is_no_start(tmp_path: Path) -> None:
    text = (LOGS / "healthy-k0-n0.log").read_text()
    assert decoded.starts(telling.story(evidence(tmp_path / "logs", text))) == []


def test_lines_whose_arguments_are_not_in_the_evidence_tell_no_tree(tmp_path: Path) -> None:
    text = "".join(line for line in (LOGS / "healthy-k4-n16.log").read_text().splitlines(keepends=True) if "server_args" not in line)
    found = telling.story(evidence(tmp_path / "logs", text))
    assert decoded.starts(found) == []
    assert len(decoded.intervals(found, found.issue.index)) == 7


def test_the_trees_of_a_verdict_are_shown_and_those_of_no_verdict_are_not() -> None:
    found = telling.diagnosed(drawn_logs.DATA / "accept-log-falls")
    assert [(t.topk, t.budget, t.wrong) for t in found.trees] == [(1, 8, False), (2, 16, True)]
    assert telling.diagnosed(drawn_logs.DATA / "accept-log-healthy").trees == ()


def test_an_error_about_sizes_says_why_and_the_lengths_do_not(tmp_path: Path) -> None:
    error = "[2026-11-29 20:04:30] RuntimeError: The size of tensor a (33) must match the size of tensor b (32) at non-singleton dimension 0\n"
    stack = (
        "[2026-11-29 20:04:30] Scheduler hit an exception: Traceback (most recent call last):\n"
        + '  File "/sglang/srt/model_executor/cuda_graph_runner.py", line 811, in replay\n'
    )
    text = drawn_logs.log(drawn_logs.CAPTURES["accept-log-one-start"])
    cause, _ = rules_of(evidence(tmp_path / "logs", text + stack + error.partition("] ")[2]))
    assert cause is not Cause.MASK_CORRUPTION

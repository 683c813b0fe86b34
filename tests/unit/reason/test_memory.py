"""The memory fraction: which way, and to what number, from the log's own figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.model import Direction
from forensics.reason.memory import Budget, budget
from tests.unit.reason.telling import diagnosed, folder, story

HEAD = "[2026-05-09 10:00:00] server_args=ServerArgs(model_path='/m', mem_fraction_static={fraction}, tp_size=1, port=30000)\n"


def failed_start(fraction: float, free: float, after: float, error: str) -> str:
    return (
        HEAD.format(fraction=fraction)
        + f"[2026-05-09 10:00:10 TP0] Load weight begin. avail mem={free:.2f} GB\n"
        + f"[2026-05-09 10:00:40 TP0] Load weight end. type=X, dtype=torch.bfloat16, avail mem={after:.2f} GB, mem usage={free - after:.2f} GB.\n"
        + error
    )


RAISE = "[2026-05-09 10:00:40 TP0] Scheduler hit an exception: Traceback (most recent call last):\nRuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n\n[2026-05-09 10:00:41] Received sigquit from a child process. It usually means the child failed.\n"


def test_what_the_weights_take_is_the_lower_bound(tmp_path: Path) -> None:
    found = budget(story(folder(tmp_path / "e", server=failed_start(0.8, 78.50, 10.20, RAISE))))
    assert found.fraction == 0.8
    assert found.fraction_min == pytest.approx(1 - 10.20 / 78.50)
    assert found.suggest(Direction.RAISE) == 0.9


def test_a_model_that_takes_all_of_it_gets_no_number(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path / "e", server=failed_start(0.9, 23.20, 0.40, RAISE)))
    (advice, *_) = [a for a in found.advice if a.flag == "--mem-fraction-static"]
    assert advice.to is None
    assert "more GPUs" in advice.text


def test_the_number_that_the_server_prints_itself_is_taken(tmp_path: Path) -> None:
    error = (
        "[2026-05-09 10:00:40 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
        "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.8. Raise --mem-fraction-static above 0.871 "
        "(minimum viable = 1 - available/pre = 0.8701). If using speculative decoding, draft weights are now counted.\n"
    )
    found = diagnosed(folder(tmp_path / "e", server=failed_start(0.8, 78.50, 10.20, error)))
    assert (found.direction, found.advice[0].to) == (Direction.RAISE, 0.9)


def test_graphs_that_find_no_room_lower_it_although_the_hint_list_is_printed_for_everything(tmp_path: Path) -> None:
    error = (
        "[2026-05-09 10:00:41 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 401234, K size: 24.49 GB, V size: 24.49 GB\n"
        "[2026-05-09 10:00:41 TP0] Memory pool end. avail mem=1.10 GB\n"
        "[2026-05-09 10:00:42 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=1.05 GB\n"
        "[2026-05-09 10:00:45 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
        "Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 79.25 GiB of which "
        "100.06 MiB is free. \nPossible solutions:\n1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)\n"
    )
    found = diagnosed(folder(tmp_path / "e", server=failed_start(0.88, 78.50, 40.00, error)))
    assert (found.cause, found.direction, found.phase) == ("gpu-oom-init", Direction.LOWER, "cuda-graph")
    (advice, *_) = [a for a in found.advice if a.flag == "--mem-fraction-static"]
    assert isinstance(advice.to, float)
    assert 0.8 <= advice.to < 0.88


def test_the_same_hint_list_after_another_failure_is_no_matter_of_memory(tmp_path: Path) -> None:
    error = (
        "[2026-05-09 10:00:42 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=21.05 GB\n"
        "[2026-05-09 10:00:45 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
        "Exception: Capture cuda graph failed: CUDA error: operation not permitted when stream is capturing\n"
        "Possible solutions:\n1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)\n"
    )
    found = diagnosed(folder(tmp_path / "e", server=failed_start(0.88, 78.50, 40.00, error)))
    assert (found.cause, found.direction) == ("cuda-graph-capture", None)


def test_opposite_failures_of_two_attempts_are_one_story(tmp_path: Path) -> None:
    oom = (
        "[2026-05-09 10:00:41 TP0] KV Cache is allocated. #tokens: 178164, K size: 11.17 GB, V size: 11.17 GB\n"
        "[2026-05-09 10:00:41 TP0] Memory pool end. avail mem=1.01 GB\n"
        "[2026-05-09 10:00:42 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=1.05 GB\n"
        "[2026-05-09 10:00:43 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 44.42 GiB of which 817.38 MiB is free.\n\n"
        "[2026-05-09 10:00:43] Received sigquit from a child process. It usually means the child failed.\n"
    )
    second = failed_start(0.60, 44.08, 16.0, RAISE).replace("10:00:", "10:05:")
    found = diagnosed(folder(tmp_path / "e", server=failed_start(0.66, 44.08, 16.0, oom) + second))
    assert (found.cause, found.direction, len(found.lives)) == ("gpu-oom-init", Direction.REBALANCE, 2)


@pytest.mark.parametrize(
    ("low", "high", "fits"), [(0.7, 0.9, True), (0.9, 0.8, False), (None, 0.9, None), (0.7, None, None)], ids=["room", "none", "no-low", "no-high"]
)
def test_whether_any_fraction_fits(low: float | None, high: float | None, fits: bool | None) -> None:
    assert Budget(fraction_min=low, fraction_max=high).fits is fits


def test_a_suggestion_is_never_what_has_just_failed() -> None:
    assert Budget(fraction=0.9, fraction_min=0.5).suggest(Direction.RAISE) == 0.92
    assert Budget(fraction=0.7, fraction_max=0.95).suggest(Direction.LOWER) == 0.68

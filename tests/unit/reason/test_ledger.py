"""The ledger of the GPU: real logs worked out on paper, several ranks, other lives of the unit, and who else holds the memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.model import Cause, Diagnosis, Direction
from tests.unit.reason.memorylogs import CASES, HEAD, RAISE, failed_start
from tests.unit.reason.telling import diagnosed, folder

# --------------------------------------------------------------------------- real logs, worked out on paper
# of each: the fraction in force, the least and the greatest that work (four digits, the least rounded up and the greatest down), the way, and the number

ON_PAPER = {
    # 1 - 2.61/23.20 = 0.8875; + 0.02 of room → 0.9075, on the grid 0.91
    "given/sglang-4895": (0.88, 0.8875, None, "raise", 0.91),
    # 'minimum viable' is printed
    "made/r2-sg-journal-raise": (0.8, 0.8701, None, "raise", 0.9),
    # 1 - 5.20/44.02 = 0.88187
    "made/sg-k8s-raise": (0.8, 0.8819, None, "raise", 0.91),
    # 1 - 21.73/188.32 = 0.88461; the fraction was left to the server, and this failure says that it is below that
    "made/sg-neg-profiled": (None, 0.8847, None, "raise", 0.91),
    # what was free before the weights is what they took and what they left: 15.40 + 45.31 = 60.71; 15.40/60.71 = 0.25366
    "made/gps-3831": (0.2, 0.2537, None, "raise", 0.28),
    # at least 1 - 8.00/23.50 = 0.65957. The pool left 1.31 of 23.50, so 0.94426 is the most that was in force; 1002 - 500 MiB lacked: 0.49023/23.50 = 0.02086 → 0.92339
    "made/r2-draft-load-oom-old": (None, 0.6596, 0.9233, "lower", 0.91),
    # this life: 1 - 10.97/78.08 = 0.85951; the one before, at 0.88: 2.00 - 612.88/1024 GiB lacked, of 78.08: 0.01795 → 0.86204. Too narrow for a number
    "made/sg-rebalance": (0.8, 0.8596, 0.8620, "rebalance", None),
    # 0.95 - (8.49 - 5.71)/138.22 = 0.92988; 1 - 132.63/138.22 = 0.04045
    "given/made-sglang-oom-logprobs": (0.95, 0.0405, 0.9298, "lower", 0.91),
    # 59.32/79.15 = 0.74946; the fraction stands in the message
    "given/kvcached-29": (0.9, None, 0.7494, "lower", 0.73),
    # 7.02/23.64 = 0.29695
    "made/r2-vllm-free-mem": (0.9, None, 0.2969, "lower", 0.28),
    # 0.49/79.32 = 0.00617: no server starts with that
    "made/h-omni-276": (0.6, None, 0.0061, "lower", None),
    # 19.77/22.05 = 0.89659
    "made/h-pt-175666": (0.9, None, 0.8965, "lower", 0.88),
    # 0.88 - (2.00 - 1.00)/78.00 = 0.86717; 1 - 60.00/78.00 = 0.23077
    "made/sgl-generate-warmup-only": (0.88, 0.2308, 0.8671, "lower", 0.85),
    # a share of what the engine left; how much lacked is not said
    "made/trtllm-oom-init": (0.9, None, None, "lower", None),
    # the failure at 0.84 is not for the weights of the target (0.343 would do): no least, and no number
    "given/sglang-4330": (0.84, None, 0.8454, "rebalance", None),
}


@pytest.fixture(scope="module")
def worked_out() -> dict[str, Diagnosis]:
    return {name: diagnosed(CASES / name) for name in ON_PAPER}


@pytest.mark.parametrize("name", ON_PAPER)
def test_the_figures_of_a_real_log_are_those_on_paper(name: str, worked_out: dict[str, Diagnosis]) -> None:
    fraction, low, high, way, to = ON_PAPER[name]
    memory = worked_out[name].memory
    assert memory is not None
    assert (memory.fraction, memory.fraction_min, memory.fraction_max) == (fraction, low, high)
    (advice,) = [a for a in worked_out[name].advice if a.flag == memory.flag]
    assert (advice.direction, advice.to) == (Direction(way), to)
    if worked_out[name].cause is Cause.GPU_OOM_INIT:
        assert worked_out[name].direction is Direction(way)


def row(found: Diagnosis, what: str) -> tuple[float, int | None]:
    assert found.memory is not None
    return next((r.gib, r.line) for r in found.memory.rows if r.what == what)


def test_every_figure_of_the_ledger_has_its_line(worked_out: dict[str, Diagnosis]) -> None:
    found = worked_out["given/made-sglang-oom-logprobs"]
    assert row(found, "weights") == (5.59, 30)
    assert row(found, "KV pool") == (125.72, 32)  # 62.86 of keys and 62.86 of values
    assert row(found, "free when ready") == (6.21, 49)
    assert row(found, "asked for") == (8.49, 116)
    assert found.memory is not None
    assert found.memory.token_gib == pytest.approx(125.72 / 4119474)
    assert found.memory.request_gib == pytest.approx(125.72 / 4119474 * 32768)


def test_one_large_request_is_told_from_memory_that_went_away(worked_out: dict[str, Diagnosis]) -> None:
    texts = " ".join(a.text for a in worked_out["given/made-sglang-oom-logprobs"].advice)
    assert "one large request, no leak" in texts
    assert "--chunked-prefill-size" in texts


def test_what_others_hold_is_to_be_freed_before_the_fraction_is_touched(worked_out: dict[str, Diagnosis]) -> None:
    first, second, *_ = worked_out["made/r2-vllm-free-mem"].advice
    assert "16.6 of the 23.6 GiB were taken before it began" in first.text
    assert second.flag == "--gpu-memory-utilization"


def test_bounds_of_another_life_are_said_to_be_that(worked_out: dict[str, Diagnosis]) -> None:
    found = worked_out["made/sg-rebalance"]
    texts = " ".join(a.text for a in found.advice)
    assert "several lives" in texts
    assert "0.20 GiB at most" in texts  # (0.86204 - 0.85951) of 78.08
    assert "--tp-size" in texts
    assert found.memory is not None
    assert {r.what for r in found.memory.rows if r.earlier} == {"total"}


# --------------------------------------------------------------------------- several ranks, several lives, others


def ranks(*frees: tuple[float, float]) -> str:
    lines = [HEAD.format(fraction=0.8)]
    for rank, (free, after) in enumerate(frees):
        lines.append(f"[2026-05-09 10:00:10 TP{rank}] Load weight begin. avail mem={free:.2f} GB\n")
        lines.append(
            f"[2026-05-09 10:00:40 TP{rank}] Load weight end. type=X, dtype=torch.bfloat16, avail mem={after:.2f} GB, mem usage={free - after:.2f} GB.\n"
        )
    return "".join([*lines, RAISE])


def test_the_rank_with_least_room_counts_and_is_named(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path / "e", server=ranks((78.5, 10.2), (70.0, 5.0), (78.5, 10.2))))
    assert found.memory is not None
    rows = {r.what: (r.gib, r.rank) for r in found.memory.rows}
    assert rows["free before the weights"] == (70.0, "TP1")
    assert rows["free after the weights"] == (5.0, "TP1")
    assert found.memory.fraction_min == pytest.approx(1 - 5.0 / 70.0, abs=1e-4)


def test_a_line_that_was_written_twice_counts_once(tmp_path: Path) -> None:
    text = failed_start(0.8, 78.50, 10.20, RAISE)
    twice = "".join(line * 2 for line in text.splitlines(keepends=True))
    one, two = (diagnosed(folder(tmp_path / name, server=log)).memory for name, log in (("a", text), ("b", twice)))
    assert one is not None
    assert two is not None
    assert {r.what: r.gib for r in one.rows} == {r.what: r.gib for r in two.rows}  # no draft weights out of nothing


def test_a_value_between_two_opposite_failures_is_given_where_there_is_room_for_one(tmp_path: Path) -> None:
    oom = (
        "[2026-05-09 10:00:41 TP0] KV Cache is allocated. #tokens: 140000, K size: 18.00 GB, V size: 18.00 GB\n"
        "[2026-05-09 10:00:41 TP0] Memory pool end. avail mem=1.50 GB\n"
        "[2026-05-09 10:00:42 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=1.40 GB\n"
        "[2026-05-09 10:00:45 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 612.00 MiB. GPU 0 has a total capacity of 79.25 GiB of which 100.00 MiB is free. \n\n"
        "[2026-05-09 10:00:46] Received sigquit from a child process. It usually means the child failed.\n"
    )
    second = failed_start(0.45, 78.50, 40.00, RAISE).replace("10:00:", "10:05:")
    found = diagnosed(folder(tmp_path / "e", server=failed_start(0.98, 78.50, 40.00, oom) + second))
    assert found.direction is Direction.REBALANCE
    assert found.memory is not None
    # 1 - 40.00/78.50 = 0.49045; 0.98 - 0.5/78.50 = 0.97363
    assert (found.memory.fraction_min, found.memory.fraction_max) == (0.4905, 0.9736)
    (advice,) = [a for a in found.advice if a.flag == "--mem-fraction-static"]
    assert advice.to == 0.93
    assert "lies between the two" in found.headline


def test_of_several_processes_that_hold_the_gpu_the_largest_is_named_and_all_are_counted(tmp_path: Path) -> None:
    error = (
        "[2026-05-09 10:00:41 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total capacity of 79.25 GiB of which 213.56 MiB is free. "
        "Process 1817 has 40.51 GiB memory in use. Process 1900 has 20.00 GiB memory in use. Including non-PyTorch memory, this process has 18.07 GiB memory in "
        "use. Of the allocated memory 17.10 GiB is allocated by PyTorch, and 312.11 MiB is reserved by PyTorch but unallocated.\n"
    )
    log = HEAD.format(fraction=0.88) + "[2026-05-09 10:00:10 TP0] Load weight begin. avail mem=18.50 GB\n" + error
    found = diagnosed(folder(tmp_path / "e", server=log))
    assert row(found, "held by others")[0] == 60.51
    assert "pid 1817 holds 40.5 GiB of the same GPU, all others together 60.5" in found.advice[0].text


def test_memory_that_was_free_in_the_last_good_life_is_looked_for_first(tmp_path: Path) -> None:
    good = (
        failed_start(0.8, 78.50, 30.00, "")
        + "[2026-05-09 10:00:41 TP0] KV Cache is allocated. #tokens: 100000, K size: 7.00 GB, V size: 7.00 GB\n"
        + "[2026-05-09 10:00:41 TP0] Memory pool end. avail mem=15.00 GB\n"
        + "[2026-05-09 10:00:50] INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)\n"
        + "[2026-05-09 10:00:55] The server is fired up and ready to roll!\n"
    )
    bad = failed_start(0.8, 50.00, 1.50, RAISE).replace("10:00:", "10:05:")
    found = diagnosed(folder(tmp_path / "e", server=good + bad))
    assert found.cause is Cause.GPU_OOM_INIT
    assert "28.5 less than in the last good life (78.5)" in found.advice[0].text


def test_what_was_not_free_before_the_weights_is_looked_for_where_nobody_names_its_holder(tmp_path: Path) -> None:
    error = (
        "[2026-05-09 10:00:41 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total capacity of 79.25 GiB of which 213.56 MiB is free. \n"
    )
    log = HEAD.format(fraction=0.88) + "[2026-05-09 10:00:10 TP0] Load weight begin. avail mem={:.2f} GB\n" + error
    held = diagnosed(folder(tmp_path / "a", server=log.format(18.5)))
    assert "60.8 of the 79.2 GiB were not free before the weights" in held.advice[0].text
    assert held.direction is None
    own = diagnosed(folder(tmp_path / "b", server=log.format(77.5)))
    assert not any("not free before" in a.text for a in own.advice)


def test_figures_of_a_life_with_another_model_are_not_borrowed(tmp_path: Path) -> None:
    good = (
        failed_start(0.8, 78.50, 60.00, "").replace("'/m'", "'/other'")
        + "[2026-05-09 10:00:41 TP0] KV Cache is allocated. #tokens: 100000, K size: 22.00 GB, V size: 22.00 GB\n"
        + "[2026-05-09 10:00:41 TP0] Memory pool end. avail mem=15.00 GB\n"
        + "[2026-05-09 10:00:49 TP0] max_total_num_tokens=100000, max_prefill_tokens=16384, max_running_requests=256, context_len=32768, available_gpu_mem=6.00 GB\n"
        + "[2026-05-09 10:00:55] The server is fired up and ready to roll!\n"
    )
    bad = failed_start(0.8, 78.50, 1.50, RAISE).replace("10:00:", "10:05:")
    found = diagnosed(folder(tmp_path / "e", server=good + bad))
    assert found.memory is not None
    assert (found.memory.fraction_max, found.memory.token_gib) == (None, None)
    assert not any(r.earlier for r in found.memory.rows)
    assert found.direction is Direction.RAISE


def test_a_process_of_an_earlier_run_that_still_holds_the_gpu_is_named_so(tmp_path: Path) -> None:
    def unit(pid: int, minute: int, text: str) -> str:
        return f"2026-05-09T10:{minute:02}:00+0000 h {text}\n" if pid == 1 else f"2026-05-09T10:{minute:02}:10+0000 h python[{pid}]: {text}\n"

    oom = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total capacity of 79.25 GiB of which 0.50 GiB is free. "
        "Process 1817 has 60.50 GiB memory in use. Including non-PyTorch memory, this process has 18.00 GiB memory in use. Of the allocated memory 17.10 GiB is "
        "allocated by PyTorch, and 312.11 MiB is reserved by PyTorch but unallocated."
    )
    journal = (
        unit(1, 0, "systemd[1]: Started s.service - S.")
        + unit(1817, 0, "[2026-05-09 10:00:10] server_args=ServerArgs(model_path='/m', port=30000)")
        + unit(1817, 1, "[2026-05-09 10:01:10] The server is fired up and ready to roll!")
        + unit(1, 2, "systemd[1]: s.service: Main process exited, code=killed, status=9/KILL")
        + unit(1, 2, "systemd[1]: s.service: Failed with result 'signal'.")
        + unit(1, 3, "systemd[1]: Started s.service - S.")
        + unit(2001, 3, "[2026-05-09 10:03:10] server_args=ServerArgs(model_path='/m', port=30000)")
        + unit(2001, 4, "[2026-05-09 10:04:10] Load weight begin. avail mem=18.40 GB")
        + unit(2001, 5, "[2026-05-09 10:05:10] Scheduler hit an exception: Traceback (most recent call last):")
        + unit(2001, 5, oom)
        + unit(1, 6, "systemd[1]: s.service: Main process exited, code=killed, status=9/KILL")
        + unit(1, 6, "systemd[1]: s.service: Failed with result 'signal'.")
    )
    found = diagnosed(folder(tmp_path / "e", journal=journal))
    assert found.cause is Cause.GPU_OOM_INIT
    assert "pid 1817, of an earlier run of the same unit and still there, holds 60.5 GiB" in found.advice[0].text


def test_memory_that_went_away_while_serving_is_no_single_request(tmp_path: Path) -> None:
    text = (
        failed_start(0.88, 78.50, 40.00, "")
        + "[2026-05-09 10:00:41 TP0] KV Cache is allocated. #tokens: 100000, K size: 14.00 GB, V size: 14.00 GB\n"
        + "[2026-05-09 10:00:41 TP0] Memory pool end. avail mem=9.00 GB\n"
        + "[2026-05-09 10:00:49 TP0] max_total_num_tokens=100000, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=256, context_len=32768, available_gpu_mem=6.00 GB\n"
        + "[2026-05-09 10:00:50] INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)\n"
        + "[2026-05-09 10:00:55] The server is fired up and ready to roll!\n"
        + "[2026-05-09 11:00:45 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
        + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 128.00 MiB. GPU 0 has a total capacity of 79.25 GiB of which 20.06 MiB is free. \n"
    )
    found = diagnosed(folder(tmp_path / "e", server=text))
    assert found.cause is Cause.GPU_OOM_RUNTIME
    assert "the rest went away while it served" in found.advice[0].text


@pytest.mark.parametrize(("held", "way"), [("54.10 GiB", None), ("1.20 GiB", Direction.LOWER)])
def test_what_another_process_took_meanwhile_is_no_fault_of_the_fraction(held: str, way: Direction | None, tmp_path: Path) -> None:
    log = HEAD.format(fraction=0.6) + (
        "[2026-05-09 10:00:10] Load weight begin. avail mem=138.22 GB\n"
        "[2026-05-09 10:00:40] Load weight end. type=X, dtype=torch.bfloat16, avail mem=132.63 GB, mem usage=5.59 GB.\n"
        "[2026-05-09 10:00:41] Memory pool end. avail mem=55.00 GB\n"
        "[2026-05-09 10:00:41] Capture cuda graph begin. This can take up to several minutes. avail mem=54.90 GB\n"
        "[2026-05-09 10:00:45] Scheduler hit an exception: Traceback (most recent call last):\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 16.00 MiB. GPU 0 has a total capacity of 139.80 GiB of which 13.88 MiB is free. "
        f"Process 4752 has {held} memory in use. Including non-PyTorch memory, this process has 85.60 GiB memory in use.\n\n"
        "[2026-05-09 10:00:46] Received sigquit from a child process. It usually means the child failed.\n"
    )
    found = diagnosed(folder(tmp_path, **{"server.log": log}))
    assert (found.cause, found.direction) == (Cause.GPU_OOM_INIT, way)
    assert any(a.flag == "--mem-fraction-static" for a in found.advice) is (way is not None)
    assert ("pid 4752 holds 54.1 GiB" in found.advice[0].text) is (way is None)
    assert ("others took 52.5 GiB" in found.headline) is (way is None)


SERVED = HEAD.format(fraction=0.6) + (
    "[2026-05-09 10:00:10] Load weight begin. avail mem={free} GB\n"
    "[2026-05-09 10:00:40] Load weight end. type=X, dtype=torch.bfloat16, avail mem=63.44 GB, mem usage=30.86 GB.\n"
    "[2026-05-09 10:00:41] Memory pool end. avail mem=21.90 GB\n"
    "[2026-05-09 10:00:46] Capture cuda graph begin. This can take up to several minutes. avail mem=21.80 GB\n"
    "[2026-05-09 10:00:50] Scheduler hit an exception: Traceback (most recent call last):\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 94.50 GiB of which 204.80 MiB is free. {who}"
    "Of the allocated memory 73.00 GiB is allocated by PyTorch, and 1.02 GiB is reserved by PyTorch but unallocated.\n"
    "[2026-05-09 10:00:51] Received sigquit from a child process. It usually means the child failed.\n"
)


@pytest.mark.parametrize(
    ("who", "free", "meanwhile"),
    [
        # a container lists itself under its number on the host: it is the one that holds as much as its pool
        ("Process 7001 has 18.00 GiB memory in use. Process 4802 has 76.30 GiB memory in use. ", 94.30, True),
        ("Process 71 has 9.00 GiB memory in use. Process 72 has 9.00 GiB memory in use. Process 73 has 76.30 GiB memory in use. ", 94.30, True),
        # and hides those of other containers: what is neither free nor its own is theirs
        ("Including non-PyTorch memory, this process has 76.30 GiB memory in use. ", 94.30, True),
        ("Process 4802 has 76.30 GiB memory in use. ", 94.30, True),
        ("Process 7001 has 18.00 GiB memory in use. Process 4802 has 76.30 GiB memory in use. ", 76.30, False),  # it was there before
        ("Process 4802 has 93.90 GiB memory in use. ", 94.30, False),
        ("Process 1 has 74.10 GiB memory in use. Process 2 has 76.30 GiB memory in use. ", 94.30, False),  # which of them it is nobody knows
        ("Process 7001 has 18.00 GiB memory in use. ", 94.30, False),
    ],
)
def test_a_container_does_not_name_who_else_holds_the_gpu(who: str, free: float, meanwhile: bool, tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, **{"server.log": SERVED.format(who=who, free=f"{free:.2f}")}))
    assert found.cause is Cause.GPU_OOM_INIT
    assert (found.direction is None) is meanwhile
    assert ("others took 17.8 GiB" in found.headline) is meanwhile
    assert any("lower" in a.text for a in found.advice) is not meanwhile

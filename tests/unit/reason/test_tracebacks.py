"""Tracebacks of several ranks, line by line between each other's."""

from __future__ import annotations

import shutil
from pathlib import Path

from forensics import api
from tests.unit.reason.telling import diagnosed, folder, story

LINE = "May 09 10:15:{second} gpu01 python[{pid}]: {text}\n"


def said(second: int, pid: int, text: str) -> str:
    return LINE.format(second=second, pid=pid, text=text)


INTERLEAVED = (
    "May 09 10:15:18 gpu01 systemd[1]: Started llm.service - LLM.\n"
    + said(20, 4711, "[2026-05-09 10:15:20] server_args=ServerArgs(model_path='/m', tp_size=2, mem_fraction_static=0.88)")
    + said(34, 4822, "[2026-05-09 10:15:34 TP0] Load weight begin. avail mem=94.30 GB")
    + said(34, 4823, "[2026-05-09 10:15:34 TP1] Load weight begin. avail mem=94.30 GB")
    + said(50, 4823, "[2026-05-09 10:15:50 TP1] Scheduler hit an exception: Traceback (most recent call last):")
    + said(50, 4822, "[2026-05-09 10:15:50 TP0] Scheduler hit an exception: Traceback (most recent call last):")
    + said(50, 4823, '  File "/opt/x/scheduler.py", line 2297, in run_scheduler_process')
    + said(50, 4822, '  File "/opt/x/scheduler.py", line 2297, in run_scheduler_process')
    + said(50, 4822, "    scheduler = Scheduler(server_args)")
    + said(50, 4711, "[2026-05-09 10:15:50] some other line of the parent")
    + said(50, 4823, "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.")
    + said(50, 4822, "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/x.cpp:1, remote process exited or there was a network error")
    + said(51, 4711, "[2026-05-09 10:15:51] Received sigquit from a child process. It usually means the child failed.")
    + "May 09 10:15:51 gpu01 systemd[1]: llm.service: Main process exited, code=killed, status=9/KILL\n"
)


def test_an_exception_is_of_the_rank_whose_traceback_it_ends(tmp_path: Path) -> None:
    seen = story(folder(tmp_path, journal=INTERLEAVED)).facts.seen
    ranks = {(s.record.line_no, s.record.pid, s.record.rank) for s in seen if s.record.line_no in (11, 12)}
    assert ranks == {(11, 4823, "TP1"), (12, 4822, "TP0")}


def test_the_rank_that_failed_first_is_cited_and_its_neighbour_only_follows(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=INTERLEAVED))
    assert (str(found.cause), found.evidence[0].line) == ("gpu-oom-init", 11)
    assert found.evidence[0].text == "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."


def test_workers_that_name_themselves_on_every_line_keep_their_exceptions(tmp_path: Path) -> None:
    log = """\
(Worker_TP0 pid=201) ERROR 05-09 10:15:50 [multiproc_executor.py:1] Traceback (most recent call last):
(Worker_TP1 pid=202) ERROR 05-09 10:15:50 [multiproc_executor.py:1] Traceback (most recent call last):
(Worker_TP1 pid=202) ERROR 05-09 10:15:50 [multiproc_executor.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.10 GiB
(Worker_TP0 pid=201) ERROR 05-09 10:15:50 [multiproc_executor.py:1] torch.distributed.DistBackendError: NCCL error
"""
    seen = story(folder(tmp_path, server_log=log)).facts.seen
    assert {(s.record.line_no, s.record.pid, s.record.rank) for s in seen if s.hit.rule == "python.exception"} == {(3, 202, "TP1"), (4, 201, "TP0")}


# ---------------------------------------------------------------- who failed first, and what only follows

HEAD = "[2026-05-09 10:15:50 TP{rank}] Scheduler hit an exception: Traceback (most recent call last):"
FRAME = '  File "/opt/x/scheduler.py", line 2297, in run_scheduler_process'
ENOUGH = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."
NCCL = "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:268, unhandled system error (run with NCCL_DEBUG=INFO for details)"
PEER = "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/x.cpp:1, remote process exited or there was a network error"
BEGUN = (
    "May 09 10:15:18 gpu01 systemd[1]: Started llm.service - LLM.\n"
    + said(20, 4711, "[2026-05-09 10:15:20] server_args=ServerArgs(model_path='/m', tp_size=4, mem_fraction_static=0.88)")
    + "".join(said(34, 4820 + r, f"[2026-05-09 10:15:34 TP{r}] Load weight begin. avail mem=94.30 GB") for r in range(4))
)
LOADED = "".join(
    said(49, 4820 + r, f"[2026-05-09 10:15:49 TP{r}] Load weight end. type=X, dtype=torch.bfloat16, avail mem=10.92 GB, mem usage=83.38 GB.")
    for r in range(4)
)
KILLED = (
    said(51, 4711, "[2026-05-09 10:15:51] Received sigquit from a child process. It usually means the child failed.")
    + "May 09 10:15:51 gpu01 systemd[1]: llm.service: Main process exited, code=killed, status=9/KILL\n"
)
FIRST = (
    said(50, 4822, HEAD.format(rank=2))
    + said(50, 4820, HEAD.format(rank=0))
    + said(50, 4820, FRAME)
    + said(50, 4820, NCCL)
    + said(50, 4822, FRAME)
    + said(50, 4822, ENOUGH)
)


def test_the_rank_whose_traceback_began_first_failed_first_though_its_last_line_came_later(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=BEGUN + LOADED + FIRST + KILLED))
    assert (str(found.cause), found.evidence[0].rank, found.phase and str(found.phase)) == ("gpu-oom-init", "TP2", "kv-pool")


def test_a_journal_that_is_exported_newest_first_gives_the_same(tmp_path: Path) -> None:
    text = BEGUN + LOADED + FIRST + KILLED
    found = diagnosed(folder(tmp_path, journal="".join(reversed(text.splitlines(keepends=True)))))
    assert (str(found.cause), found.evidence[0].rank) == ("gpu-oom-init", "TP2")


def test_a_traceback_that_arrives_before_the_lines_it_follows_keeps_the_phase_that_they_say(tmp_path: Path) -> None:
    early = said(49, 4822, HEAD.format(rank=2).replace("10:15:50", "10:15:49")) + said(49, 4822, FRAME) + said(49, 4822, ENOUGH)
    found = diagnosed(folder(tmp_path, journal=BEGUN + early + LOADED + KILLED))
    assert (str(found.cause), str(found.phase)) == ("gpu-oom-init", "kv-pool")


def test_a_fault_of_running_kernels_before_it_was_ready_is_where_it_happened(tmp_path: Path) -> None:
    """Most of them break a request; this one never came to serve."""
    fault = (
        said(50, 4821, HEAD.format(rank=1))
        + said(50, 4821, FRAME)
        + said(50, 4821, "torch.AcceleratorError: CUDA error: an illegal memory access was encountered")
    )
    found = diagnosed(folder(tmp_path, journal=BEGUN + LOADED + fault + KILLED))
    assert (str(found.cause), str(found.phase)) == ("cuda-fault", "kv-pool")


def test_what_the_others_say_of_it_is_folded_with_their_ranks_and_counted_once(tmp_path: Path) -> None:
    fault = (
        said(50, 4821, HEAD.format(rank=1))
        + said(50, 4821, FRAME)
        + said(50, 4821, "torch.AcceleratorError: CUDA error: an illegal memory access was encountered")
    )
    others = "".join(said(50, 4820 + r, HEAD.format(rank=r)) + said(50, 4820 + r, PEER.replace("x.cpp:1", f"x.cpp:{r}")) for r in (0, 2, 3))
    found = diagnosed(folder(tmp_path, journal=BEGUN + LOADED + fault + others + KILLED))
    assert (str(found.cause), found.evidence[0].rank) == ("cuda-fault", "TP1")
    told = [(e.source, e.line) for e in found.evidence]
    assert len(told) == len(set(told))
    ranks = {rank for f in found.follows for rank in f.ranks} | {e.rank for e in found.evidence if e.role == "cascade"}
    assert {"TP0", "TP2", "TP3"} <= ranks
    assert all((f.source, f.line) not in told for f in found.follows)


def test_of_exceptions_that_led_to_each_other_the_one_that_came_first_is_the_root(tmp_path: Path) -> None:
    chain = "".join(
        said(50, 4822, text)
        for text in (
            HEAD.format(rank=2), FRAME, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 2 has a total capacity of 79.10 GiB",
            "", "The above exception was the direct cause of the following exception:", "", "Traceback (most recent call last):", FRAME,
            "RuntimeError: Failed to load the model",
        )
    )  # fmt: skip
    found = diagnosed(folder(tmp_path, journal=BEGUN + chain + KILLED))
    assert found.evidence[0].text.startswith("torch.OutOfMemoryError")


def test_an_exception_while_another_was_handled_is_no_reason_where_the_first_was_harmless(tmp_path: Path) -> None:
    chain = "".join(
        said(50, 4822, text)
        for text in (
            HEAD.format(rank=2), FRAME, "KeyError: 'quantization'", "", "During handling of the above exception, another exception occurred:", "",
            "Traceback (most recent call last):", FRAME, "FileNotFoundError: [Errno 2] No such file or directory: '/m/model-00003-of-00014.safetensors'",
        )
    )  # fmt: skip
    found = diagnosed(folder(tmp_path, journal=BEGUN + chain + KILLED))
    assert (str(found.cause), found.evidence[0].text[:17]) == ("model-load", "FileNotFoundError")


def test_advice_that_a_server_prints_is_no_evidence(tmp_path: Path) -> None:
    advice = "".join(
        said(50, 4822, text)
        for text in (
            HEAD.format(rank=2), FRAME, "Exception: Capture cuda graph failed: CUDA error: operation not permitted when stream is capturing", "Possible solutions:",
            "1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)", "2. set --cuda-graph-max-bs to a smaller value (e.g., 16)",
        )
    )  # fmt: skip
    found = diagnosed(folder(tmp_path, journal=BEGUN + LOADED + advice + KILLED))
    assert str(found.cause) == "cuda-graph-capture"
    assert found.direction is None


def test_the_head_of_the_traceback_that_tells_the_root_does_not_follow_from_it(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parents[3] / "samples" / "silent-crash", tmp_path / "evidence")
    (found,) = api.diagnose([str(tmp_path / "evidence")])
    assert found.evidence[0].text.startswith("RuntimeError: Not enough memory")
    assert found.follows == ()

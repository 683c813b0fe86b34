"""Tracebacks of several ranks, line by line between each other's."""

from __future__ import annotations

from pathlib import Path

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

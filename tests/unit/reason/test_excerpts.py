"""What an excerpt does not hold: a phase that no line of it tells, and a beginning that lies above it."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.report import text
from tests.unit.reason.telling import diagnosed, folder

SHAPE = "RuntimeError: shape '[0, -1, 64]' is invalid for input of size 256"
SIZES = "RuntimeError: The size of tensor a (50) must match the size of tensor b (56) at non-singleton dimension 0"
TRACEBACK = """\
    return self._call_impl(*args, **kwargs)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/opt/sglang/srt/models/llama.py", line 206, in forward_prepare_native
    q, k = self.rotary_emb(positions, q, k)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
{frame}{error}

[2026-11-29 20:44:52] SIGQUIT received. signum=None, frame=None. It usually means one child failed.
"""
CAPTURING = """\
  File "/opt/sglang/srt/model_executor/cuda_graph_runner.py", line 601, in capture_one_batch_size
    run_once()
"""
BEGUN = "[2026-11-29 20:44:04] server_args=ServerArgs(model_path='/m', tp_size=1, port=30000)\n"


@pytest.mark.parametrize("error", [SHAPE, SIZES])
def test_sizes_that_do_not_fit_are_no_graphs_where_no_line_speaks_of_a_graph(tmp_path: Path, error: str) -> None:
    found = diagnosed(folder(tmp_path, log=TRACEBACK.format(frame="", error=error)))
    assert (found.cause, found.phase) == ("unknown", None)
    assert not found.advice or "draft tokens" not in found.advice[0].text


@pytest.mark.parametrize("error", [SHAPE, SIZES])
def test_sizes_that_do_not_fit_below_a_frame_that_captures_are_the_graphs(tmp_path: Path, error: str) -> None:
    found = diagnosed(folder(tmp_path, log=TRACEBACK.format(frame=CAPTURING, error=error)))
    assert (found.cause, found.phase) == ("cuda-graph-size-mismatch", "cuda-graph")


@pytest.mark.parametrize("error", [SHAPE, SIZES])
def test_a_capture_that_was_begun_is_enough(tmp_path: Path, error: str) -> None:
    begun = "[2026-11-29 20:44:30] Capture cuda graph begin. This can take up to several minutes. avail mem=54.92 GB\n"
    found = diagnosed(folder(tmp_path, log=begun + TRACEBACK.format(frame="", error=error)))
    assert (found.cause, found.phase) == ("cuda-graph-size-mismatch", "cuda-graph")


def test_an_excerpt_of_which_only_the_end_has_a_stamp_has_no_start_and_no_length(tmp_path: Path) -> None:
    cut = TRACEBACK.format(frame="", error=SHAPE)
    found = diagnosed(folder(tmp_path / "cut", log=cut))
    assert (found.started_at, found.died_after_s, found.died_at) == (None, None, 1795985092.0)
    assert " 0s" not in found.headline
    assert "life    died 2026-11-29 20:44:52 UTC\n" in text.render(found)
    whole = diagnosed(folder(tmp_path / "whole", log=BEGUN + cut))
    assert whole.died_after_s == 48.0
    assert "after 48s, never ready" in text.render(whole)


def test_an_excerpt_that_begins_as_the_server_binds_its_port_does_not_count_from_there(tmp_path: Path) -> None:
    bound = "[2026-11-29 20:44:49] INFO:     Uvicorn running on http://127.0.0.1:30581 (Press CTRL+C to quit)\n"
    served = '[2026-11-29 20:44:51] INFO:     127.0.0.1:40732 - "POST /generate HTTP/1.1" 200 OK\n'
    cut = bound + served + TRACEBACK.format(frame="", error=SHAPE)
    found = diagnosed(folder(tmp_path / "cut", log=cut))
    assert (found.started_at, found.died_after_s) == (None, None)
    assert "after" not in found.headline
    assert diagnosed(folder(tmp_path / "whole", log=BEGUN + cut)).died_after_s == 48.0

"""What somebody quotes between his own words beside a log may be of any run: never more than possible, and no word about now."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.model import Cause, Health, Status
from tests.unit.reason.telling import diagnosed

ERROR = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.28 GiB."
LOG = """\
[2026-11-29 20:38:10] server_args=ServerArgs(model_path='/m', port=30000)
[2026-11-29 20:38:36] Load weight begin. avail mem=138.39 GB
[2026-11-29 20:40:02] The server is fired up and ready to roll!
[2026-11-29 20:40:10] INFO:     127.0.0.1:1 - "POST /generate HTTP/1.1" 200 OK
[2026-11-29 20:41:20] INFO:     127.0.0.1:1 - "POST /generate HTTP/1.1" 200 OK
[2026-11-29 20:41:21] INFO:     127.0.0.1:1 - "POST /generate HTTP/1.1" 200 OK
"""


@pytest.mark.parametrize(
    ("log", "notes"),
    [
        (LOG, f"{ERROR}\n^^^ this was gpu02 yesterday\n"),
        (LOG, f"On Friday I got\n{ERROR}\n"),
        (f"{LOG}\nOn Friday I got\n{ERROR}\nbut today it is only slow\n", ""),
    ],
    ids=["a remark below it", "a remark above it", "below the log itself"],
)
def test_a_quoted_error_beside_a_log_is_possible_at_most(tmp_path: Path, log: str, notes: str) -> None:
    found = diagnosed(folder(tmp_path, log, notes))
    assert found.cause is Cause.GPU_OOM_RUNTIME
    assert found.status is Status.POSSIBLE
    assert found.health is not Health.FAILED


def test_printed_by_the_server_it_is_as_sure_as_ever(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, f"{LOG}[2026-11-29 20:41:22] Scheduler hit an exception: Traceback (most recent call last):\n{ERROR}\n", ""))
    assert found.status is Status.ESTABLISHED


def test_where_the_quotation_is_all_there_is_it_counts(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, "", f"Hello, on Friday I got\n{ERROR}\nand nothing else\n"))
    assert found.cause in (Cause.GPU_OOM_RUNTIME, Cause.GPU_OOM_INIT)


def folder(tmp_path: Path, log: str, notes: str) -> Path:
    for name, text in (("server.log", log), ("notes.txt", notes)):
        if text:
            (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path

"""A line that a service wrote may hold anything where a number is expected: the diagnosis stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics import api, ruleset
from forensics.model import Capture, Cause, Section, Target, TargetKind
from forensics.reason.figures import figure, finite, whole

LONG = "9" * 5000


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("-9", -9), ("4822", 4822), ("²", None), ("٣", None), (LONG, None), ("", None), (None, None), ("1.0", None), (" 1", None)],
)
def test_a_whole_number_is_of_plain_digits_and_not_too_many(text: str | None, number: int | None) -> None:
    assert whole(text) == number


@pytest.mark.parametrize(
    ("text", "number"), [("2.00", 2.0), ("-1", -1.0), ("1.2.3", None), (".", None), (LONG, None), ("nan", None), ("", None), (None, None)]
)
def test_a_figure_is_one_number(text: str | None, number: float | None) -> None:
    assert figure(text) == number


@pytest.mark.parametrize(("text", "number"), [("1e3", 1000.0), ("nan", None), ("inf", None), ("1e400", None), (LONG, None), ("x", None)])
def test_a_finite_number_can_be_reckoned_with(text: str, number: float | None) -> None:
    assert finite(text) == number


LOG = """[2026-05-09 10:15:18] server_args=ServerArgs(model_path='x', mem_fraction_static=nan, port=#, tp_size=²)
[2026-05-09 10:15:20] Loading safetensors checkpoint shards:  36% Completed | #/# [00:21<00:36,  1.1it/s]
[2026-05-09 10:15:21] Process # died with exit code #
[2026-05-09 10:15:34] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.2.3 GiB. GPU 0 has a total capacity of 1.2.3 GiB of which ... GiB is free. Process # has 1..2 GiB memory in use.
[2026-05-09 10:15:34] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate # GiB. GPU 0 has a total capacity of # GiB of which # GiB is free.
"""
JOURNAL = """May 09 10:15:18 gpu01 systemd[1]: Started x.service - X.
May 09 10:15:34 gpu01 kernel: Out of memory: Killed process # (python) total-vm:#kB, anon-rss:#kB
May 09 10:15:34 gpu01 kernel: NVRM: Xid (PCI:0000:01:00): #, pid=#, GPU has fallen off the bus.
May 09 10:15:34 gpu01 systemd[1]: x.service: Main process exited, code=killed, status=#/KILL
May 09 10:15:34 gpu01 systemd[1]: x.service: Failed with result 'signal'.
May 09 10:15:35 gpu01 systemd[1]: x.service: Scheduled restart job, restart counter is at #.
"""


@pytest.mark.parametrize("digits", [LONG, "²", "٣", "1.2.3", "7"])
@pytest.mark.parametrize(("name", "text"), [("server.log", LOG), ("journal.txt", JOURNAL)])
def test_a_diagnosis_stands_whatever_is_written_where_a_number_belongs(name: str, text: str, digits: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text.replace("#", digits), encoding="utf-8")
    capture = Capture(target=Target(kind=TargetKind.FILES, name="x"), sections=(Section(name=name, path=path),))
    diagnosis = api.diagnose_capture(capture, ruleset.load())
    assert diagnosis.cause not in (Cause.HEALTHY, Cause.EVIDENCE_MISSING)
    assert diagnosis.evidence

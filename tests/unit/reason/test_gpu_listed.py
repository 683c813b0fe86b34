"""Who holds a GPU by a list that somebody saved beside the journal, with neither a status nor a list of processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.reason.telling import diagnosed, folder

JOURNAL = """\
2026-11-30T10:05:00+0000 gpu01 systemd[1]: Started vllm.service - vLLM.
2026-11-30T10:05:05+0000 gpu01 vllm[6000]: (APIServer pid=6000) INFO 11-30 10:05:05 [api_utils.py:286] non-default args: {'model': '/models/q', 'gpu_memory_utilization': 0.5}
2026-11-30T10:05:20+0000 gpu01 vllm[6000]: (EngineCore pid=6100) ERROR 11-30 10:05:20 [core.py:1510] ValueError: Free memory on device cuda:0 (30.10/79.10 GiB) on startup is less than desired GPU memory utilization (0.5, 39.55 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.
2026-11-30T10:05:23+0000 gpu01 systemd[1]: vllm.service: Main process exited, code=exited, status=1/FAILURE
2026-11-30T10:05:23+0000 gpu01 systemd[1]: vllm.service: Failed with result 'exit-code'.
"""
LISTED = "pid, process_name, used_gpu_memory [MiB]\n{rows}"


@pytest.mark.parametrize("pid", [333, 3333, 1933333], ids=["three digits", "four", "seven"])
def test_the_process_that_the_list_names_is_told_before_the_share_is_lowered(pid: int, tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=JOURNAL, smi=LISTED.format(rows=f"{pid}, VLLM::EngineCore, 48100 MiB\n")))
    assert str(found.cause) == "gpu-oom-init"
    first, second = found.advice[:2]
    assert first.text.startswith(f"GPU memory is held by others: pid {pid} VLLM::EngineCore 47.0 GiB: see what that is")
    assert first.command == f"ps -o pid,user,lstart,cgroup,args -p {pid}"
    assert second.flag == "--gpu-memory-utilization"
    assert f"{pid}, VLLM::EngineCore, 48100 MiB" in [line.text for line in found.evidence]
    assert "log" not in found.coverage or str(found.coverage["log"]) != "given"


def test_a_process_of_the_life_itself_is_nobody_else(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=JOURNAL, smi=LISTED.format(rows="6000, vllm, 48100 MiB\n")))
    assert not any("held by others" in advice.text for advice in found.advice)


def test_the_end_of_the_plain_table_is_enough(tmp_path: Path) -> None:
    rule = "+" + "-" * 89 + "+\n"
    table = f"{rule}| Processes:{' ' * 78}|\n|{'=' * 89}|\n|    0   N/A  N/A           41877      C   VLLM::EngineCore                      48100MiB |\n{rule}"
    found = diagnosed(folder(tmp_path, journal=JOURNAL, smi=table))
    assert found.advice[0].text.startswith("GPU memory is held by others: pid 41877 VLLM::EngineCore 47.0 GiB")

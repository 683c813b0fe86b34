"""What is said of now, where logs alone tell it: of the last life, and not of the one that the cause is about."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from forensics import api

MADE = Path(__file__).parents[2] / "cases" / "made"


@pytest.mark.parametrize(
    ("case", "now"),
    [
        pytest.param("e-vllm-crash-then-restart-ready", "healthy", id="started again, and ready"),
        pytest.param("reboot-then-started", "unknown", id="started again, and not ready as far as its log goes"),
        pytest.param("model-ollama-arch", "degraded", id="a server that loads on demand stays up where a load fails"),
        pytest.param("sig-ollama-illegal-instr", "degraded", id="also where its runner is killed"),
        pytest.param("gps-470", "failed", id="the last life failed"),
    ],
)
def test_now_is_that_of_the_last_life(case: str, now: str, tmp_path: Path) -> None:
    shutil.copytree(MADE / case, tmp_path / "evidence", ignore=shutil.ignore_patterns("case.yaml"))
    (found,) = api.diagnose([str(tmp_path / "evidence")])
    assert str(found.health) == now

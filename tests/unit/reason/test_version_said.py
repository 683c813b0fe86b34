"""A server that says its version is believed; wordings give a range only where it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.reason.place import _version
from tests.unit.reason.telling import folder, story

INIT = (
    "(EngineCore pid=7) INFO 11-29 20:07:20 [core.py:133] Initializing a V1 LLM engine (v{version}) with config: model='/m', dtype=torch.bfloat16\n"
)
LOAD = "(EngineCore pid=7) INFO 11-29 20:07:21 [gpu_model_runner.py:5040] Starting to load model /m...\n"
BANNER = "(APIServer pid=3) INFO 11-29 20:07:12 [api_utils.py:347]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.32.0\n"


@pytest.mark.parametrize("text", [BANNER + LOAD, INIT.format(version="0.32.0") + LOAD], ids=["the banner", "the engine's first line"])
def test_a_server_says_its_own_version(tmp_path: Path, text: str) -> None:
    assert story(folder(tmp_path / "e", server=text)).issue.version == "0.32.0"


def test_a_line_that_names_no_version_says_none(tmp_path: Path) -> None:
    assert story(folder(tmp_path / "e", server=LOAD)).issue.version is None


@pytest.mark.parametrize(
    ("wordings", "version"),
    [
        (["0.5.4..0.5.9", "0.5.6.."], "0.5.6…0.5.9"),
        (["..0.6", "0.32.0..0.32.0", "0.32.0..0.32.0"], "0.32.0"),
        (["0.32.0..0.32.0", "0.11.0..0.11.0"], None),
        ([], None),
    ],
    ids=["ranges", "its own word beats a wording", "two versions are none", "nothing seen"],
)
def test_the_version_of_what_was_seen(wordings: list[str], version: str | None) -> None:
    assert _version(wordings) == version

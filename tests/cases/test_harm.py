"""The walk for harm finds harm: each of its complaints, on a diagnosis that was bent for it; and the samples and staged ends are free of it."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.cases.harm import harms
from tests.cases.judge import answer, rules

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted(p for p in (ROOT / "samples").iterdir() if p.is_dir())
STAGED = sorted(p for p in (ROOT / "tests/data/reason").iterdir() if p.is_dir())


@pytest.fixture(scope="module")
def crash() -> dict[str, Any]:
    return answer(ROOT / "samples/silent-crash")[0]


@pytest.mark.parametrize("folder", [*SAMPLES, *STAGED], ids=lambda p: p.name)
def test_samples_and_staged_ends_give_no_harmful_advice(folder: Path) -> None:
    assert list(harms(answer(folder)[0], rules())) == []


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"command": "journalctl -u 'x"}, "No closing quotation"),
        ({"command": "journalctl -u UNIT"}, "the unit is known"),
        ({"command": "namei -l {path}"}, "a blank"),
        ({"command": "kill -9 4711"}, "changes or destroys"),
        ({"command": "rm -rf /var/cache/x"}, "changes or destroys"),
        ({"command": "systemctl restart x.service"}, "changes or destroys"),
        ({"command": "systemctl stop x.service"}, "not said"),
        ({"text": "raise it to {nothing}"}, "a blank in a sentence"),
        ({"text": "set --cuda-graph-max-bs-decode"}, "has no --cuda-graph-max-bs-decode"),
        ({"flag": "--max-model-len"}, "has no --max-model-len"),
        ({"direction": "lower"}, "where the direction is raise"),
    ],
    ids=lambda x: next(iter(x.values())) if isinstance(x, dict) else None,
)
def test_harm_is_found(crash: dict[str, Any], change: dict[str, str], complaint: str) -> None:
    bent = deepcopy(crash)
    bent["server_version"] = "0.5.9"
    bent["advice"][0].update(change)
    assert any(complaint in harm for harm in harms(bent, rules()))

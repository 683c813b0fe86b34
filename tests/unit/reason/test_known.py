"""Every name that a condition may use has somebody who computes it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from forensics.reason import hostknown, known
from forensics.reason.memory import Budget
from forensics.ruleset.known_names import NAMES

TEXTS = {
    node.value
    for owner in (known, hostknown)
    for node in ast.walk(ast.parse(Path(str(owner.__file__)).read_text(encoding="utf-8")))
    if isinstance(node, ast.Constant) and isinstance(node.value, str)
}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_known_fact_has_an_owner(name: str) -> None:
    family, _, rest = name.partition(".")
    if family == "memory":
        assert hasattr(Budget(), rest)
    elif family == "evidence" or rest.startswith(("end.", "argv", "http_")):
        assert family in known.FAMILIES
    else:
        assert rest in TEXTS, f"{name} is in the table and nobody computes it"

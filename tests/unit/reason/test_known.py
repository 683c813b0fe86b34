"""Every name that a condition may use has somebody who computes it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from forensics.reason import hostknown, known
from forensics.reason.ledger import NAMES as FIGURES
from forensics.ruleset.known_names import NAMES
from tests.unit.reason.telling import folder, story

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
        assert rest in {*FIGURES, "fraction_min", "fraction_max"}
    elif family == "evidence" or rest.startswith(("end.", "argv", "http_")):
        assert family in known.FAMILIES
    else:
        assert rest in TEXTS, f"{name} is in the table and nobody computes it"


@pytest.mark.parametrize(
    ("command", "port"),
    [
        ("tritonserver --model-repository=/m", 8000),
        ("tritonserver --model-repository=/m --http-port=9000", 9000),
        ("tritonserver --model-repository=/m --port=9000", 8000),
        ("python3 app.py --port 9000", 9000),
    ],
)
def test_the_port_is_that_of_the_flag_by_which_this_server_is_told_it(command: str, port: int, tmp_path: Path) -> None:
    unit = f"# /etc/systemd/system/llm.service\n[Unit]\nDescription=LLM\n\n[Service]\nExecStart=/usr/bin/{command}\n"
    journal = "2026-05-09T10:00:00+0000 gpu01 systemd[1]: Started llm.service - LLM.\n"
    assert known.known_facts(story(folder(tmp_path, journal=journal, unit=unit), unit="llm.service")).value("life.port") == port

"""Names of an own harness, given on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from forensics.cli.main import cli
from forensics.errors import TargetError


def _matrices(folder: Path) -> tuple[str, str]:
    for name, correct in (("base", 0.9), ("new", 0.2)):
        rows = [{"breite": 4, "gut": 0.9}, {"breite": 32, "gut": correct}]
        (folder / f"{name}.json").write_text(json.dumps(rows), encoding="utf-8")
    return str(folder / "base.json"), str(folder / "new.json")


def test_two_matrices_with_names_of_their_own_are_compared_once_the_names_are_said(tmp_path: Path) -> None:
    base, new = _matrices(tmp_path)
    assert isinstance(CliRunner().invoke(cli, ["compare", base, new]).exception, TargetError)  # no result in it
    found = CliRunner().invoke(cli, ["compare", base, new, "--fields", "breite=budget,gut=correct"])
    assert found.exit_code == 1
    assert "budget=32" in found.output


@pytest.mark.parametrize(("fields", "told"), [("breite", "is no pair of names"), ("breite=budgett", "did you mean 'budget'")])
def test_a_mapping_that_makes_no_sense_is_a_usage_error_of_its_option(fields: str, told: str, tmp_path: Path) -> None:
    base, new = _matrices(tmp_path)
    for arguments in (["compare", base, new, "--fields", fields], ["diagnose", base, "--bench-fields", fields]):
        found = CliRunner().invoke(cli, arguments)
        assert found.exit_code == 2
        assert told in found.output

"""The unpacked outputs, once a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics import ruleset
from forensics.ruleset.schema import RuleSet
from tests.testbed.bed import lifecycle, unpack


@pytest.fixture(scope="session")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("outputs.tar.xz", tmp_path_factory.mktemp("testbed"))


@pytest.fixture(scope="session")
def rules() -> RuleSet:
    return ruleset.load()


@pytest.fixture(scope="session")
def marks(rules: RuleSet) -> RuleSet:
    return lifecycle(rules)

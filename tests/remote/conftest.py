"""The fixtures of the tests that need a real host. Where none can be booted they say why and skip, or fail where they are required."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remote import bed

REQUIRED = "DDFORENSICS_REQUIRE_REMOTE"  # "1": no skipping (CI)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of this folder are marked ``remote``."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.remote)


@pytest.fixture(scope="session")
def host() -> Iterator[bed.Host]:
    """One booted host for the whole run; its state folder, processes, namespace and cgroup are gone afterwards."""
    why = bed.why_not()
    if why and os.environ.get(REQUIRED) == "1":
        pytest.fail(f"a test host is required here, and cannot be booted: {why}")
    if why:
        pytest.skip(f"no test host: {why}")
    state = Path(tempfile.mkdtemp(prefix="ddf-"))
    try:
        yield bed.boot(state)
    finally:
        bed.down(state)

"""The fixtures of the tests that need a real host. Where none can be booted they say why and skip, or fail where they are required."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

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
    if why := bed.why_not():
        without_host(why)
    state = Path(tempfile.mkdtemp(prefix="ddf-"))
    try:
        try:
            booted = bed.boot(state)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            without_host(str(error))
        yield booted
    finally:
        bed.down(state)


def without_host(why: str) -> NoReturn:
    """Skip, or fail where a host is required."""
    if os.environ.get(REQUIRED) == "1":
        pytest.fail(f"a test host is required here, and cannot be booted: {why}")
    pytest.skip(f"no test host: {why}")

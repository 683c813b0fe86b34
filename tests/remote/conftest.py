"""The fixtures of the tests that need a real host. Where none can be booted they say why and skip, or fail where they are required."""

from __future__ import annotations

import contextlib
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


@contextlib.contextmanager
def booted(suite: str, count: int = 1) -> Iterator[list[bed.Host]]:
    """Hosts for as long as they are wanted; their state folder, processes, namespaces and cgroups are gone afterwards."""
    if why := bed.why_not(suite):
        without_host(why)
    state = Path(tempfile.mkdtemp(prefix="ddf-"))
    try:
        try:
            hosts = bed.boot(state, suite=suite, count=count)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            without_host(str(error))
        yield hosts
    finally:
        bed.down(state)


@pytest.fixture(scope="session")
def host() -> Iterator[bed.Host]:
    """One host for the whole run, of the suite that most tests look at."""
    with booted(bed.SUITE) as hosts:
        yield hosts[0]


@pytest.fixture(scope="session")
def bullseye() -> Iterator[bed.Host]:
    """A host with systemd 247."""
    with booted("bullseye") as hosts:
        yield hosts[0]


@pytest.fixture(scope="session")
def trixie() -> Iterator[bed.Host]:
    """A host with systemd 257."""
    with booted("trixie") as hosts:
        yield hosts[0]


@pytest.fixture(scope="session")
def bookworm(request: pytest.FixtureRequest) -> Iterator[bed.Host]:
    """A host with systemd 252: the one that most tests look at, unless TB_SUITE says another."""
    if bed.SUITE == "bookworm":
        yield request.getfixturevalue("host")
        return
    with booted("bookworm") as hosts:
        yield hosts[0]


@pytest.fixture(scope="session", params=["bullseye", "bookworm", "trixie"], ids=["247", "252", "257"])
def each_host(request: pytest.FixtureRequest) -> bed.Host:
    """A host of each version of systemd in turn."""
    found: bed.Host = request.getfixturevalue(request.param)
    return found


def without_host(why: str) -> NoReturn:
    """Skip, or fail where a host is required."""
    if os.environ.get(REQUIRED) == "1":
        pytest.fail(f"a test host is required here, and cannot be booted: {why}")
    pytest.skip(f"no test host: {why}")

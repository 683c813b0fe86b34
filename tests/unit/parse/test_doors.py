"""What libraries and commands say of the doors that a server opens or shuts: each in its own words."""

from __future__ import annotations

import pytest

from forensics.parse import bench
from tests.unit.parse.results import DATA, read

# library: what the nine doors look like through it, in order: answered, refused, reset, stalled, 404, 503, 429, https on http, no such host
DOORS = {
    "urllib": {"refused": 1, "reset": 1, "timed-out": 1, "http-404": 1, "http-503": 1, "http-429": 1, "tls": 1, "dns": 1},
    "requests": {"refused": 1, "reset": 1, "timed-out": 1, "http-404": 1, "http-503": 1, "http-429": 1, "tls": 1, "dns": 1},
    "httpx": {"refused": 1, "reset": 1, "timed-out": 1, "http-404": 1, "http-503": 1, "http-429": 1, "tls": 1, "dns": 1},
    "aiohttp": {"refused": 1, "reset": 1, "timed-out": 1, "http-404": 1, "http-503": 1, "http-429": 1, "tls": 1, "dns": 1},
    # its message is "Connection error." for four of them: which one it was only the traceback says
    "openai": {"other": 4, "timed-out": 1, "http-404": 1, "http-503": 1, "http-429": 1},
}
COMMANDS = {
    "curl": [{}, {"refused": 1}, {"reset": 1}, {"timed-out": 1}, {"http-404": 1}, {"tls": 1}, {"dns": 1}, {"http-503": 1}, {"http-429": 1}],
    "wget": [{}, {"refused": 1}, {"reset": 1}, {"timed-out": 1}, {"http-404": 1}, {"tls": 1}, {"dns": 1}],
}


@pytest.mark.parametrize("library", DOORS)
def test_each_library_says_in_its_own_words_what_it_met(library: str) -> None:
    run = read(f"{library}/doors.txt")
    assert (run.tool, run.ok, run.failed, dict(run.errors)) == (library, 1, 8, DOORS[library])


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_says_in_its_own_words_what_it_met(command: str) -> None:
    runs, _ = bench.read((DATA / command / "doors.txt").read_text(encoding="utf-8"))
    assert [run.tool for run in runs] == [command] * len(runs)
    assert [dict(run.errors) for run in runs] == COMMANDS[command]


@pytest.mark.parametrize("library", ["urllib", "httpx", "openai"])
def test_a_traceback_with_all_that_it_was_chained_to_is_one_refused_request(library: str) -> None:
    run = read(f"{library}/refused-traceback.txt")
    assert (run.failed, dict(run.errors)) == (1, {"refused": 1})

"""Whose a process is, of a journal that names no unit on its lines."""

from __future__ import annotations

import pytest

from forensics.units.owners import _beside, _owners, _Ran

EVER = float("inf")
KEY = ("journal.txt", "python", 4711)


@pytest.mark.parametrize(
    ("heard", "ran", "owner"),
    [
        ((10, 20), [_Ran("llm.service", 9, 21), _Ran("cron.service", 30, EVER)], "llm.service"),
        ((10, 20), [_Ran("llm.service", 9, EVER), _Ran("cron.service", 0, EVER)], None),
        ((100, 200), [_Ran("llm.service", 95, EVER), _Ran("cron.service", 0, EVER)], "llm.service"),
        ((100, 200), [_Ran("llm.service", 40, EVER), _Ran("cron.service", 0, EVER)], None),
        ((10, 20), [_Ran("llm.service", 9, 21), _Ran("cron.service", 0, EVER)], "llm.service"),
        ((10, 80), [_Ran("llm.service", 9, 21), _Ran("cron.service", 0, EVER)], None),
        ((10, 80), [_Ran("llm.service", 9, 21), _Ran("cron.service", 30, EVER)], None),
        ((10, 20), [_Ran("python.service", 0, EVER), _Ran("cron.service", 0, EVER)], "python.service"),
        ((40, 50), [_Ran("llm.service", 9, 21), _Ran("llm.service", 39, 51), _Ran("job.service", 60, 61)], "llm.service"),
        ((22, 23), [_Ran("llm.service", 9, 21), _Ran("job.service", 60, 61)], "llm.service"),
        ((25, 26), [_Ran("llm.service", 9, 21), _Ran("job.service", 60, 61)], None),
    ],
    ids=[
        "the only one that ran",
        "two that ran on, started together",
        "one had just been started",
        "both started long before",
        "the one that ended with its last words",
        "it outlived its unit, beside one that runs on",
        "it outlived its unit, and another began then",
        "called like its unit",
        "in the second life",
        "what was still in the pipe",
        "after all of them",
    ],
)
def test_a_process_is_of_the_unit_that_alone_can_have_run_it(heard: tuple[float, float], ran: list[_Ran], owner: str | None) -> None:
    assert _owners({KEY: heard}, ran).get(KEY) == owner


def test_what_began_while_two_ran_is_of_the_one_that_nothing_else_of_that_name_is_of() -> None:
    ran = [_Ran("llm@0.service", 0, 41), _Ran("llm@1.service", 0, EVER)]
    first, second = ("journal.txt", "python", 1), ("journal.txt", "python", 2)
    assert _owners({first: (1, 40), second: (1, 200)}, ran) == {first: "llm@0.service", second: "llm@1.service"}


@pytest.mark.parametrize(
    ("heard", "owner"),
    [
        ((10, 200), "cron.service"),
        ((10, 10.5), "cron.service"),
        ((100, 200), None),
        ((100, 100.5), None),
        ((102, 103), None),
        ((110, 111), "cron.service"),
    ],
    ids=["long before it", "ended before it", "it outlived the unit", "in its life", "what was still in the pipe", "after its end"],
)
def test_what_a_unit_cannot_have_run_is_given_to_one_that_can(heard: tuple[float, float], owner: str | None) -> None:
    ran = [_Ran("backup.service", 100, 101), _Ran("cron.service", 0, EVER), _Ran("ssh.service", 0, EVER)]
    assert _beside("backup.service", {KEY: heard}, ran).get(KEY) == owner
    assert _beside("unheard.service", {KEY: heard}, ran) == {}

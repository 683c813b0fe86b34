"""A start out of a journal that was cut, and an end out of a status of hours later, are no life of hours."""

from __future__ import annotations

from pathlib import Path

from forensics import Cause
from tests.unit.reason.telling import diagnosed, folder

LOOP = "".join(
    f"Aug 08 09:02:{second} host1 systemd[1]: Started LLM Service.\n"
    f"Aug 08 09:02:{second} host1 systemd[1]: llm.service: main process exited, code=exited, status=127/n/a\n"
    f"Aug 08 09:02:{second} host1 systemd[1]: llm.service failed.\n"
    f"Aug 08 09:02:{second + 3} host1 systemd[1]: llm.service holdoff time over, scheduling restart.\n"
    for second in (30, 33, 36)
)
CUT = LOOP + "Aug 08 09:02:39 host1 systemd[1]: Started LLM Service.\n"
STATUS = """● llm.service - LLM Service
   Loaded: loaded (/etc/systemd/system/llm.service; enabled; vendor preset: disabled)
   Active: activating (auto-restart) (Result: exit-code) since Fri 2024-08-09 15:02:38 UTC; 2s ago
  Process: 14112 ExecStart=/usr/local/bin/llm serve (code=exited, status=127)
 Main PID: 14112 (code=exited, status=127)

Aug 09 15:02:38 host1 systemd[1]: Unit llm.service entered failed state.
Aug 09 15:02:38 host1 systemd[1]: llm.service failed.
"""


def test_a_loop_has_no_life_from_the_cut_of_its_journal_to_its_status(tmp_path: Path) -> None:
    told = diagnosed(folder(tmp_path, journal=CUT, status=STATUS))
    assert told.cause in (Cause.RESTART_LOOP, Cause.EXIT_CODE_DEATH)
    assert (told.started_at, told.died_after_s) == (None, None)
    assert told.died_at is not None
    assert "1d" not in told.headline


def test_a_life_that_spoke_between_is_one(tmp_path: Path) -> None:
    told = diagnosed(folder(tmp_path, journal=CUT + "Aug 09 03:00:00 host1 llm[14112]: served 12 requests\n", status=STATUS))
    assert told.died_after_s == 29 * 3600 + 59 * 60 + 59


def test_one_that_was_not_in_a_loop_lived_for_as_long_as_that(tmp_path: Path) -> None:
    told = diagnosed(folder(tmp_path, journal="Aug 08 09:02:39 host1 systemd[1]: Started LLM Service.\n", status=STATUS))
    assert told.died_after_s == 29 * 3600 + 59 * 60 + 59


def test_an_end_soon_after_the_cut_is_of_that_life(tmp_path: Path) -> None:
    soon = STATUS.replace("Fri 2024-08-09 15:02:38", "Thu 2024-08-08 09:02:40").replace("Aug 09 15:02:38", "Aug 08 09:02:40")
    assert diagnosed(folder(tmp_path, journal=CUT, status=soon)).died_after_s == 1

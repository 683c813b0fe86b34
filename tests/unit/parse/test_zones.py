"""Times without a zone or a year, beside times that have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics import clock
from forensics.model import Diagnosis
from tests.unit.reason.telling import diagnosed, folder

END = clock.parse_stamp("2026-05-09T10:15:51Z")
SHORT = """\
May 09 {hour}:15:18 gpu01 systemd[1]: Started llm.service - LLM.
May 09 {hour}:15:50 gpu01 python[4822]: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.
May 09 {hour}:15:51 gpu01 systemd[1]: llm.service: Main process exited, code=killed, status=9/KILL
May 09 {hour}:15:51 gpu01 systemd[1]: llm.service: Failed with result 'signal'.
"""
ISO = "".join(line.replace("May 09 {hour}", "2026-05-09T{hour}").replace(" gpu01", "{zone} gpu01", 1) + "\n" for line in SHORT.splitlines())
STATUS = """\
× llm.service - LLM
     Loaded: loaded (/etc/systemd/system/llm.service; enabled; preset: enabled)
     Active: failed (Result: signal) since Sat 2026-05-09 {hour}:15:51 {zone}; 9min ago
   Duration: 32.969s
   Main PID: 4711 (code=killed, signal=KILL)
"""
SHOW = "Id=llm.service\nLoadState=loaded\nActiveState=failed\nSubState=failed\nResult=signal\nExecMainExitTimestamp=Sat 2026-05-09 {hour}:15:51 {zone}\nExecMainStatus=9\nExecMainCode=2\n"


def zones_of(found: Diagnosis) -> list[str]:
    return [w.text for w in found.warnings if w.kind == "assumed-zone"]


def test_a_journal_without_year_and_zone_is_read_by_the_status_beside_it(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=SHORT.format(hour="12"), status=STATUS.format(hour="10", zone="UTC")))
    assert (found.died_at, str(found.cause), len(found.lives)) == (END, "gpu-oom-init", 1)
    (said,) = zones_of(found)
    assert said.startswith("the times of journal.txt have no zone: read as UTC+02:00, because status.txt has the same end 120 minutes earlier")


def test_a_journal_without_year_and_zone_is_read_by_show(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=SHORT.format(hour="05"), show=SHOW.format(hour="10", zone="UTC")))
    assert found.died_at == END
    assert "UTC-05:00" in zones_of(found)[0]


def test_a_status_in_a_named_zone_is_read_by_the_journal_beside_it(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=ISO.format(hour="10", zone="+0000"), status=STATUS.format(hour="12", zone="CEST")))
    assert END is not None
    assert (found.died_at, found.captured_at) == (END, END + 540)
    assert "the times of status.txt have no zone: read as UTC+02:00" in zones_of(found)[0]


def test_the_same_lines_in_two_zones_are_one_life(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, a_journal=SHORT.format(hour="15"), b_journal=ISO.format(hour="10", zone="+0000")))
    assert (len(found.lives), found.died_at, found.died_after_s) == (1, END, 33.0)
    assert "UTC+05:00" in zones_of(found)[0]


def test_offsets_that_change_within_a_file_are_each_their_own(tmp_path: Path) -> None:
    text = ISO.format(hour="12", zone="+0200").splitlines(keepends=True)
    mixed = "".join(text[:2]) + "".join(line.replace("T12", "T11").replace("+0200", "+0100") for line in text[2:])
    found = diagnosed(folder(tmp_path, journal=mixed))
    assert (found.died_at, found.died_after_s, zones_of(found)) == (END, 33.0, [])


@pytest.mark.parametrize(
    ("journal", "status"),
    [
        pytest.param(SHORT.format(hour="10"), STATUS.format(hour="10", zone="UTC"), id="they agree"),
        pytest.param(SHORT.format(hour="12"), STATUS.format(hour="12", zone="CEST"), id="neither has a zone that is believed"),
        pytest.param(SHORT.format(hour="12").replace(":15:51", ":19:02"), STATUS.format(hour="10", zone="UTC"), id="another end"),
        pytest.param(SHORT.format(hour="12").replace("llm.service", "chat.service"), STATUS.format(hour="10", zone="UTC"), id="another unit"),
    ],
)
def test_without_the_same_event_nothing_is_assumed(journal: str, status: str, tmp_path: Path) -> None:
    assert zones_of(diagnosed(folder(tmp_path, journal=journal, status=status))) == []


def test_december_before_a_january_is_of_the_year_before(tmp_path: Path) -> None:
    text = SHORT.format(hour="23").replace("May 09 23:15:18", "Dec 31 23:59:40").replace("May 09 23", "Jan 01 00")
    found = diagnosed(folder(tmp_path, journal=text, status=STATUS.format(hour="00", zone="UTC").replace("Sat 2026-05-09", "Fri 2027-01-01")))
    assert found.lives[0].started_at == clock.parse_stamp("2026-12-31T23:59:40Z")
    assert found.died_at == clock.parse_stamp("2027-01-01T00:15:51Z")


def test_an_hour_that_comes_twice_keeps_the_order_of_its_lines(tmp_path: Path) -> None:
    text = SHORT.format(hour="02").replace("02:15:18", "02:59:40").replace("May 09", "Oct 25")
    found = diagnosed(folder(tmp_path, journal=text))
    assert (str(found.cause), len(found.lives), str(found.end.kind)) == ("gpu-oom-init", 1, "signal")


@pytest.mark.parametrize(
    ("stamp", "known"),
    [
        ("2026-05-09T10:15:51Z", True), ("2026-05-09T10:15:51+0200", True), ("Sat 2026-05-09 10:15:51 UTC", True), ("1778321751.000000", True), ("Sat 2026-05-09 10:15:51 CEST", False),
        ("May 09 10:15:51", False), ("2026-05-09 10:15:51", False), ("", False), ("x", False),
    ],
)  # fmt: skip
def test_a_zone_is_known_where_it_says_what_it_is(stamp: str, known: bool) -> None:
    assert clock.has_zone(stamp) is known

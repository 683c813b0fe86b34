"""Times without a zone or a year, beside times that have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics import clock
from forensics.model import Diagnosis
from forensics.report import cite
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
    assert [text for text in zones_of(diagnosed(folder(tmp_path, journal=journal, status=status))) if "because" in text] == []


@pytest.mark.parametrize(
    ("zone", "wrong_by"),
    [
        ("PDT", "where it is UTC-07:00, add 7 h"),
        ("CEST", "where it is UTC+02:00, take 2 h off"),
        ("JST", "where it is UTC+09:00, take 9 h off"),
        ("CST", "where it is UTC-06:00, add 6 h; where it is UTC+08:00, take 8 h off; where it is UTC-05:00, add 5 h"),
        ("WET", "where it is UTC+00:00, that is right"),
        ("NDT", "where it is UTC-02:30, add 2.5 h"),
        ("XJT", "how far that is off is not known"),
    ],
)
def test_a_zone_by_its_name_alone_is_never_read_as_utc_in_silence(zone: str, wrong_by: str, tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, status=STATUS.format(hour="10", zone=zone)))
    assert found.died_at == END
    assert zones_of(found) == [f"{zone} in status.txt:3 is read as UTC, as the name of a zone proves no offset: {wrong_by}"]


def test_of_utc_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert zones_of(diagnosed(folder(tmp_path, status=STATUS.format(hour="10", zone="UTC")))) == []


def commands_of(found: Diagnosis) -> str:
    return " ".join([*(h.next or "" for h in found.hypotheses), *(a.command or "" for a in found.advice)])


@pytest.mark.parametrize(
    ("journal", "zone", "since"),
    [
        pytest.param(SHORT.format(hour="05"), "PDT", "--since '2026-05-09 05:15:18'", id="by the host's own clock, which journalctl takes it for"),
        pytest.param(SHORT.format(hour="10"), "UTC", "--since '2026-05-09 10:15:18 UTC'", id="the status says that it is UTC"),
        pytest.param(ISO.format(hour="12", zone="+0200"), "CEST", "--since '2026-05-09 10:15:18 UTC'", id="an offset"),
    ],
)
def test_a_command_names_utc_only_where_the_time_is_known_in_it(journal: str, zone: str, since: str, tmp_path: Path) -> None:
    status = STATUS.format(hour=journal.partition(":")[0][-2:], zone=zone)
    found = diagnosed(folder(tmp_path, journal=journal.replace("RuntimeError: Not enough memory", "RuntimeError: It is over"), status=status))
    assert since in commands_of(found)
    assert ("UTC" in commands_of(found)) is ("UTC" in since)
    assert "@" not in commands_of(found)


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


RUNS = """\
● llm.service - LLM
     Loaded: loaded (/etc/systemd/system/llm.service; enabled; preset: enabled)
     Active: active (running) since Sat 2026-05-09 {hour}:15:58 {zone}; 9min ago
   Main PID: 4822 (python)

May 09 {hour}:15:58 gpu01 systemd[1]: Started llm.service - LLM.
"""


@pytest.mark.parametrize(
    ("number", "hour", "name", "read"),
    [
        pytest.param("+0200", "12", "CEST", "UTC+02:00", id="one reading"),
        pytest.param("-0700", "03", "PDT", "UTC-07:00", id="west"),
        pytest.param("+0800", "18", "CST", "UTC+08:00", id="the one of several that fits: China"),
        pytest.param("-0600", "04", "CST", "UTC-06:00", id="the one of several that fits: Chicago"),
    ],
)
def test_a_name_is_believed_where_the_journal_has_its_offset(number: str, hour: str, name: str, read: str, tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=ISO.format(hour=hour, zone=number), status=RUNS.format(hour=hour, zone=name)))
    assert END is not None
    assert zones_of(found) == [f"the times of status.txt have no zone: read as {read}, because it names {name}, and journal.txt has that offset"]
    assert [life.started_at for life in found.lives] == [END - 33, END + 7]
    assert found.captured_at == END + 547


@pytest.mark.parametrize(
    ("number", "hour", "name"),
    [
        pytest.param("+0200", "12", "PDT", id="a journal of elsewhere"),
        pytest.param("+0200", "12", "XJT", id="a name that nobody knows"),
        pytest.param("+0000", "10", "CEST", id="a journal in UTC"),
    ],
)
def test_a_name_is_not_believed_where_the_offset_is_another(number: str, hour: str, name: str, tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=ISO.format(hour=hour, zone=number), status=RUNS.format(hour=hour, zone=name)))
    (said,) = zones_of(found)
    assert said.startswith(f"{name} in status.txt:3 is read as UTC, as the name of a zone proves no offset")


def test_a_journal_without_zones_is_read_by_a_status_whose_name_is_believed(tmp_path: Path) -> None:
    kernel = "2026-05-09T12:14:00+0200 gpu01 kernel: NVRM: Xid (PCI:0000:3b:00): 13, pid=4711\n"
    found = diagnosed(folder(tmp_path, a_journal=SHORT.format(hour="12"), b_kernel=kernel, status=STATUS.format(hour="12", zone="CEST")))
    assert (found.died_at, len(found.lives)) == (END, 1)


RACE = """\
2026-05-09T21:00:00+0000 gpu01 systemd[1]: Started llm.service - LLM.
2026-05-09T21:00:09+0000 gpu01 python[4711]: [2026-05-09 21:00:09] server_args=ServerArgs(model_path='/m', host='0.0.0.0', port=30000)
2026-05-09T21:00:47+0000 gpu01 python[4711]: INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)
2026-05-09T21:00:51+0000 gpu01 python[4711]: [2026-05-09 21:00:51] The server is fired up and ready to roll!
"""
SERVES = "● llm.service - LLM\n     Active: active (running) since Sat 2026-05-09 21:00:00 UTC; 5min ago\n   Main PID: 4711 (python)\n"
REFUSED = "{} request {} failed: URLError: <urlopen error [Errno 111] Connection refused>\n"


def refused(stamp: str) -> str:
    return "".join(REFUSED.format(stamp.format(second=second), second) for second in range(20, 25))


@pytest.mark.parametrize(
    ("stamp", "read_as"),
    [
        ("Sat May  9 23:00:{second} CEST 2026:", "UTC+02:00"),  # as date prints it
        ("2026-05-09 14:00:{second} PDT ERROR", "UTC-07:00"),
        ("[Sun May 10 07:00:{second} AEST 2026]", "UTC+10:00"),
    ],
)
def test_a_client_in_a_zone_with_a_name_is_read_by_its_one_offset(stamp: str, read_as: str, tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=RACE, status=SERVES, bench=refused(stamp)))
    assert str(found.cause) == "startup-race"
    assert found.client is not None
    assert found.client.early_s == pytest.approx(31.0)
    (said,) = zones_of(found)
    assert said.endswith(f"bench.txt:1 is read as {read_as}")


@pytest.mark.parametrize(
    "stamp", ["Sun May 10 02:30:{second} IST 2026:", "2026-05-09 15:00:{second} CST ERROR", "2026-05-09 13:00:{second} PST ERROR"]
)
def test_a_client_in_one_of_several_zones_of_a_name_has_no_times(stamp: str, tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=RACE, status=SERVES, bench=refused(stamp)))
    assert str(found.cause) == "unknown"
    assert found.client is not None
    assert (found.client.refused, found.client.first_error_at, found.client.early_s) == (5, None, None)
    (said,) = zones_of(found)
    assert "may be more than one zone" in said


def test_a_client_in_the_zone_that_the_host_names_is_read_as_the_host_is(tmp_path: Path) -> None:
    journal = (
        RACE.replace("2026-05-09T21:00:", "May 09 21:00:")
        .replace("+0000 gpu01", " gpu01")
        .replace("[2026-05-09 21:00:09] ", "")
        .replace("[2026-05-09 21:00:51] ", "")
    )
    found = diagnosed(
        folder(tmp_path, journal=journal, status=SERVES.replace(" UTC;", " CEST;"), bench=refused("Sat May  9 21:00:{second} CEST 2026:"))
    )
    assert str(found.cause) == "startup-race"
    assert found.client is not None
    assert found.client.early_s == pytest.approx(31.0)


def test_a_word_behind_a_time_is_no_zone(tmp_path: Path) -> None:
    for word in ("ERROR", "POST", "FAIL"):
        found = diagnosed(folder(tmp_path / word, journal=RACE, status=SERVES, bench=refused(f"2026-05-09 21:00:{{second}} {word}")))
        assert (str(found.cause), zones_of(found)) == ("startup-race", [])


STARTED = """\
2026-05-09T11:02:10{number} gpu01 systemd[1]: Started llm.service - LLM.
2026-05-09T11:02:21{number} gpu01 python[9120]: [2026-05-09 11:02:21] server_args=ServerArgs(model_path='/m', host='0.0.0.0', port=30000)
2026-05-09T11:02:36{number} gpu01 python[9121]: [2026-05-09 11:02:36] Load weight begin. avail mem=78.90 GB
2026-05-09T11:03:02{number} gpu01 python[9121]: Loading safetensors checkpoint shards:  42% Completed | 6/14 [00:25<00:10,  1.10it/s]
"""
IN_UTC = STARTED.format(number="+0000")
ACTIVE = "● llm.service - LLM\n     Active: active (running) since Sat 2026-05-09 {at}; {ago} ago\n   Main PID: 9120 (python)\n"
BEGAN = clock.parse_stamp("2026-05-09T11:02:10Z")


def again(at: str) -> str:
    """The unit is started anew at that time."""
    return f"2026-05-09T{at}+0000 gpu01 systemd[1]: Started llm.service - LLM.\n"


def stopped(at: str) -> str:
    return f"2026-05-09T{at}+0000 gpu01 systemd[1]: llm.service: Deactivated successfully.\n"


@pytest.mark.parametrize(
    ("journal", "at", "read"),
    [
        pytest.param(IN_UTC, "13:02:10 CEST", "UTC+02:00", id="east"),
        pytest.param(IN_UTC, "12:02:10 CET", "UTC+01:00", id="one hour"),
        pytest.param(IN_UTC, "04:02:10 PDT", "UTC-07:00", id="west"),
        pytest.param(IN_UTC, "16:32:10 IST", "UTC+05:30", id="the one of several that fits"),
        pytest.param(IN_UTC, "16:47:10 XJT", "UTC+05:45", id="a name that nobody knows"),
        pytest.param(
            IN_UTC.replace("Started llm.service - LLM.", "Started LLM."), "13:02:10 CEST", "UTC+02:00", id="by its description, as before 250"
        ),
        pytest.param(again("11:02:04") + stopped("11:02:06") + IN_UTC, "13:02:10 CEST", "UTC+02:00", id="started twice"),
        pytest.param(
            again("10:47:10") + stopped("10:50:00") + IN_UTC, "13:02:10 CEST", "UTC+02:00", id="the other is a quarter off, which the name forbids"
        ),
        pytest.param(IN_UTC + stopped("11:20:00") + again("11:20:09"), "13:02:10 CEST", "UTC+02:00", id="started again after the status"),
    ],
)
def test_a_running_unit_is_read_by_its_start(journal: str, at: str, read: str, tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=journal, status=ACTIVE.format(at=at, ago="1min 2s")))
    (said,) = zones_of(found)
    assert said.startswith(f"the times of status.txt have no zone: read as {read}, because journal.txt has the same start ")
    assert said.endswith(": llm.service")


def test_what_runs_for_a_minute_does_not_hang_for_two_hours(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=IN_UTC, status=ACTIVE.format(at="13:02:10 CEST", ago="1min 2s")))
    assert BEGAN is not None
    assert (str(found.health), found.started_at, found.captured_at, found.active_for_s) == ("starting", BEGAN, BEGAN + 62, 62.0)
    assert str(found.cause) != "startup-hang"


def test_a_unit_that_is_being_started_is_read_by_the_beginning_of_it(tmp_path: Path) -> None:
    status = ACTIVE.format(at="13:02:10 CEST", ago="1min 2s").replace("active (running)", "activating (start)")
    found = diagnosed(folder(tmp_path, journal=IN_UTC.replace("Started llm.service - LLM.", "Starting llm.service - LLM..."), status=status))
    assert zones_of(found)[0].startswith("the times of status.txt have no zone: read as UTC+02:00, because")


def test_a_journal_without_zones_is_read_by_a_status_in_utc_of_what_runs(tmp_path: Path) -> None:
    short = "".join(
        line.replace("2026-05-09T11", "May 09 13").replace(" [2026-05-09 11", " [2026-05-09 13") + "\n"
        for line in STARTED.format(number="").splitlines()
    )
    found = diagnosed(folder(tmp_path, journal=short, status=ACTIVE.format(at="11:02:10 UTC", ago="1min 2s")))
    assert zones_of(found)[0].startswith("the times of journal.txt have no zone: read as UTC+02:00, because status.txt has the same start")
    assert (found.started_at, found.active_for_s) == (BEGAN, 62.0)


def test_what_show_says_of_a_running_unit_is_read_by_its_start(tmp_path: Path) -> None:
    show = "Id=llm.service\nLoadState=loaded\nActiveState=active\nSubState=running\nMainPID=9120\nActiveEnterTimestamp=Sat 2026-05-09 13:02:10 CEST\nExecMainStartTimestamp=Sat 2026-05-09 13:02:10 CEST\n"
    found = diagnosed(folder(tmp_path, journal=IN_UTC, show=show))
    assert zones_of(found)[0].startswith("the times of show.txt have no zone: read as UTC+02:00, because journal.txt has the same start")
    assert found.started_at == BEGAN


@pytest.mark.parametrize(
    ("journal", "status"),
    [
        pytest.param(IN_UTC, ACTIVE.format(at="13:04:10 CEST", ago="1min 2s"), id="no whole quarter"),
        pytest.param(IN_UTC, ACTIVE.format(at="14:02:10 CEST", ago="1min 2s"), id="not the offset of that name"),
        pytest.param(IN_UTC.replace("llm.service - LLM", "chat.service - Chat"), ACTIVE.format(at="13:02:10 CEST", ago="1min 2s"), id="another unit"),
        pytest.param(
            again("10:47:10") + stopped("10:50:00") + IN_UTC,
            ACTIVE.format(at="13:02:10 XJT", ago="1min 2s"),
            id="either start, by a name that nobody knows",
        ),
        pytest.param(
            IN_UTC + stopped("11:20:00") + again("11:20:09"), ACTIVE.format(at="13:02:10 CEST", ago="1h 2min"), id="started again before the status"
        ),
        pytest.param(
            IN_UTC.replace("Started", "Starting"),
            ACTIVE.format(at="13:02:10 CEST", ago="2s").replace("active (running)", "activating (auto-restart)"),
            id="waits to be started",
        ),
        pytest.param(
            IN_UTC.replace("Started", "Starting"), ACTIVE.format(at="13:02:10 CEST", ago="1min 2s"), id="began to start, and the status is of its end"
        ),
    ],
)
def test_without_the_start_of_what_runs_nothing_is_assumed(journal: str, status: str, tmp_path: Path) -> None:
    assert [text for text in zones_of(diagnosed(folder(tmp_path, journal=journal, status=status))) if "because" in text] == []


def test_times_that_contradict_each_other_give_no_duration(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=IN_UTC, status=ACTIVE.format(at="04:09:10 PDT", ago="1min 2s")))
    assert (found.active_for_s, cite.age_s(found)) == (None, None)


def test_a_journal_without_zones_is_read_by_what_runs_in_a_zone_whose_name_is_believed(tmp_path: Path) -> None:
    kernel = "2026-05-09T13:00:00+0200 gpu01 kernel: NVRM: Xid (PCI:0000:3b:00): 13, pid=4711\n"
    short = IN_UTC.replace("2026-05-09T11", "May 09 13").replace("+0000", "").replace("[2026-05-09 11", "[2026-05-09 13")
    found = diagnosed(folder(tmp_path, a_journal=short, b_kernel=kernel, status=ACTIVE.format(at="13:02:10 CEST", ago="1min 2s")))
    assert (found.started_at, len(found.lives), found.active_for_s) == (BEGAN, 1, 62.0)

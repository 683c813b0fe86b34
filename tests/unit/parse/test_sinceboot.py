"""Stamps that count from the start of a machine."""

from __future__ import annotations

import pytest

from forensics.model import Frame, Origin
from forensics.parse import sinceboot
from forensics.parse.unwrap import journal_line

BOOT = 1795981882.848  # 2026-11-29 19:51:22.848 UTC


def framed(line_no: int, stamp: str, inner: str = "", *, source: str = "journal") -> Frame:
    return Frame(source=source, line_no=line_no, start=0, text="x", origin=Origin.SERVER, stamp=stamp, inner=inner)


def test_a_service_that_logs_its_own_time_gives_the_start_of_the_machine_away_to_the_second() -> None:
    found = sinceboot.starts(
        [framed(1, "1556.097704"), framed(2, "1556.128052", "2026-11-29 20:17:18"), framed(3, "1563.660000", "2026-11-29 20:17:26")]
    )
    assert found["journal"] == pytest.approx(BOOT, abs=1.0)


def test_without_such_a_line_the_start_of_the_machine_is_not_known() -> None:
    frames = [framed(1, "1556.097704"), framed(2, "1556.128052")]
    assert sinceboot.starts(frames) == {"journal": None}
    assert sinceboot.only_since_boot(frames, sinceboot.starts(frames))


def test_beside_a_line_that_names_a_point_in_time_the_seconds_alone_are_no_times() -> None:
    frames = [framed(1, "1556.097704"), framed(1, "2026-11-29T20:17:18+0000", source="other")]
    assert not sinceboot.only_since_boot(frames, sinceboot.starts(frames))


def test_seconds_of_several_boots_in_one_file_have_no_one_start() -> None:
    frames = [framed(1, "1556.000000", "2026-11-29 20:17:18"), framed(2, "12.000000", "2026-11-29 20:27:18")]
    assert sinceboot.starts(frames) == {"journal": None}


def test_a_file_without_such_stamps_is_no_business_of_it() -> None:
    assert sinceboot.starts([framed(1, "1795983438.945847"), framed(2, "Nov 29 20:17:18")]) == {}


def test_stamps_in_a_language_that_is_not_known_are_reported_once() -> None:
    (problem,) = sinceboot.unread([framed(4, "Xyz 29 20:17:18"), framed(5, "Xyz 29 20:17:19"), framed(1, "Nov 29 20:17:18", source="other")])
    assert (problem.source, problem.line) == ("journal", 4)
    assert "another language" in problem.text


@pytest.mark.parametrize(
    ("line", "stamp", "host", "ident"),
    [
        pytest.param("[ 1556.097704                ] tb1 systemd[1]: Started x.", "1556.097704", "tb1", "systemd", id="short-delta, first line"),
        pytest.param("[ 1556.128052 <    0.030348 >] tb1 launch_server.p[270]: x", "1556.128052", "tb1", "launch_server.p", id="short-delta"),
        pytest.param("Nov 29 20:17:18 systemd[1]: Started x.", "Nov 29 20:17:18", "", "systemd", id="no hostname"),
        pytest.param("Nov 29 20:17:18 kernel: Out of memory: Killed process 1", "Nov 29 20:17:18", "", "kernel", id="no hostname, kernel"),
        pytest.param("nov. 29 16:47:18 tb1 systemd[1]: Started x.", "nov. 29 16:47:18", "tb1", "systemd", id="French"),
        pytest.param("11月 30 02:02:18 tb1 systemd[1]: Started x.", "11月 30 02:02:18", "tb1", "systemd", id="Japanese"),
    ],
)
def test_the_prefix_of_a_journal_line_in_odd_formats(line: str, stamp: str, host: str, ident: str) -> None:
    opened = journal_line(line)
    assert opened is not None
    assert (opened.stamp, opened.host, opened.ident) == (stamp, host, ident)


def test_a_line_of_dmesg_by_systemd_is_no_journal_line_without_a_host() -> None:
    assert journal_line("[    3.456789] systemd[1]: Set hostname to <tb1>.") is None

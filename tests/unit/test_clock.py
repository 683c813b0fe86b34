"""Stamps and spans as programs write them."""

from __future__ import annotations

import pytest

from forensics import clock
from forensics.errors import UsageError

AT = 1778321718.0  # 2026-05-09T10:15:18Z


@pytest.mark.parametrize(
    "text",
    [
        "10:15:18",
        "",
        "May 09",
        "Foo 09 10:15:18",
        "7063.247407",
        "2026-13-09 10:15:18",
        "2026-05-09 25:15:18",
        "Feb 30 10:15:18",
        "2026-05-09",
        "[2026]",
        "-1",
        "٢٠٢٦",
    ],
)
def test_what_is_no_full_stamp_is_none_and_not_a_guess(text: str) -> None:
    assert clock.parse_stamp(text, year=2026) is None


@pytest.mark.parametrize("text", ["May 09 10:15:18", "05-09 10:15:18", "0509 10:15:18.5"])
def test_a_stamp_without_a_year_is_none_unless_the_caller_knows_it(text: str) -> None:
    assert clock.parse_stamp(text) is None
    assert clock.lacks_year(text)
    assert clock.parse_stamp(text, year=2026) == pytest.approx(AT, abs=0.6)


@pytest.mark.parametrize(
    ("text", "after_s"),
    [
        pytest.param("2026-05-09T10:15:18", 0.0, id="iso"),
        pytest.param("2026-05-09 10:15:18", 0.0, id="iso with a space"),
        pytest.param("[2026-05-09 10:15:18]", 0.0, id="in brackets"),
        pytest.param("2026-05-09 10:15:18,123", 0.123, id="python logging"),
        pytest.param("2026-05-09T10:15:18.123456+0000", 0.123456, id="short-iso-precise, systemd 252"),
        pytest.param("2026-05-09T10:15:18+00:00", 0.0, id="short-iso, systemd 257"),
        pytest.param("2026-05-09T10:15:18.159073700Z", 0.1590737, id="docker"),
        pytest.param("2026-05-09T12:15:18+02:00", 0.0, id="east"),
        pytest.param("2026-05-09T03:15:18-0700", 0.0, id="west"),
        pytest.param("2026-05-09T16:00:18+0545", 0.0, id="Kathmandu"),
        pytest.param("Sat 2026-05-09 10:15:18 UTC", 0.0, id="systemctl status"),
        pytest.param("Sat 2026-05-09 12:15:18 +02", 0.0, id="numeric zone of two digits"),
        pytest.param("Sat May  9 10:15:18 2026", 0.0, id="dmesg -T"),
        pytest.param("1778321718.250000", 0.25, id="short-unix"),
        pytest.param("@1778321718", 0.0, id="epoch"),
        pytest.param("May 09 10:15:18", 0.0, id="short"),
        pytest.param("May  9 10:15:18.319781", 0.319781, id="short-precise"),
        pytest.param("05-09 10:15:18", 0.0, id="month and day"),
        pytest.param("I0509 10:15:18.446154", 0.446154, id="glog"),
        pytest.param("2026/05/09 - 10:15:18", 0.0, id="gin"),
        pytest.param("2026-05-09 10:15:60", 42.0, id="leap second"),
    ],
)
def test_stamps_are_read_in_every_wording_seen(text: str, after_s: float) -> None:
    assert clock.parse_stamp(text, year=2026) == pytest.approx(AT + after_s, abs=1e-6)


def test_a_stamp_without_a_zone_is_in_the_zone_given() -> None:
    assert clock.parse_stamp("2026-05-09 10:15:18", zone_s=7200.0) == AT - 7200
    assert clock.parse_stamp("2026-05-09T10:15:18Z", zone_s=7200.0) == AT


def test_the_name_of_a_zone_is_not_believed() -> None:
    # CST is China's and Chicago's; the journal beside it has the same wall clock and no zone at all
    assert clock.parse_stamp("Fri 2024-08-09 15:02:38 CST") == clock.parse_stamp("2024-08-09 15:02:38")
    assert clock.parse_stamp("Fri 2024-08-09 15:02:38 CST", zone_s=8 * 3600.0) == clock.parse_stamp("2024-08-09 07:02:38")


def test_december_before_january_is_of_the_year_before() -> None:
    january = clock.parse_stamp("2027-01-02 08:00:00") or 0.0
    assert clock.year_for("Dec 31 23:59:00", latest=january) == 2026
    assert clock.year_for("Jan 02 07:00:00", latest=january) == 2027
    assert clock.year_for("Jan 02 20:00:00", latest=january) == 2027  # the host may be hours ahead
    assert clock.year_for("12-31 23:59:00", latest=january) == 2026


def test_a_leap_day_is_of_a_leap_year() -> None:
    assert clock.year_for("Feb 29 10:00:00", latest=AT) == 2024


@pytest.mark.parametrize("text", ["", "x", "1s x", "-5s", "1 fortnight", "5 5", "s"])
def test_what_is_no_span_is_none(text: str) -> None:
    assert clock.parse_span(text) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("32.969s", 32.969), ("1min 34.9s", 94.9), ("2h 3min", 7380.0), ("60ms", 0.06), ("9min", 540.0), ("1 week 2 days", 777600.0), ("1month 3d", 2889000.0), ("250us", 0.00025),
     ("5h 17min 34.893s", 19054.893), ("90", 90.0)],
)  # fmt: skip
def test_spans_are_read_as_systemd_writes_them(text: str, seconds: float) -> None:
    assert clock.parse_span(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "-x", "soon", "@x", "99:99", "x ago"])
def test_a_time_that_cannot_be_read_is_a_usage_error_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match="as a time") as raised:
        clock.parse_typed(text, now=AT)
    assert "-1h" in (raised.value.hint or "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-1h", "2026-05-09T09:15:18Z"), ("10 min ago", "2026-05-09T10:05:18Z"), ("1h 30min ago", "2026-05-09T08:45:18Z"), ("today", "2026-05-09T00:00:00Z"),
        ("yesterday", "2026-05-08T00:00:00Z"), ("now", "2026-05-09T10:15:18Z"), ("@1747298118", "2025-05-15T08:35:18Z"), ("2026-05-01", "2026-05-01T00:00:00Z"),
        ("2026-05-09 10:15", "2026-05-09T10:15:00Z"), ("May 9 08:00", "2026-05-09T08:00:00Z"), ("09:30", "2026-05-09T09:30:00Z"), ("2026-05-09T10:15:18+02:00", "2026-05-09T08:15:18Z"),
    ],
)  # fmt: skip
def test_times_are_read_as_people_type_them(text: str, expected: str) -> None:
    assert clock.iso(clock.parse_typed(text, now=AT)) == expected


def test_milliseconds_are_written_only_where_they_are_not_zero_and_never_rounded() -> None:
    assert clock.iso(AT) == "2026-05-09T10:15:18Z"
    assert clock.iso(AT + 0.123) == "2026-05-09T10:15:18.123Z"
    assert clock.iso(AT + 0.9999) == "2026-05-09T10:15:18.999Z"
    assert clock.hms(AT + 0.9) == "10:15:18"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(32.969, "32.9s"), (94.99, "1m34.9s"), (7383.0, "2h03m"), (9.0, "9s"), (600.0, "10m00s"), (0.06, "0.0s"), (0.0, "0s"), (2.3, "2.3s"), (59.99, "59.9s"), (3599.99, "59m59.9s"),
     (86400 * 3 + 4 * 3600 + 59 * 60, "3d04h"), (-5.25, "-5.2s")],
)  # fmt: skip
def test_spans_are_cut_and_never_rounded(seconds: float, text: str) -> None:
    assert clock.span(seconds) == text


@pytest.mark.parametrize("text", ["@nan", "@inf", "@1e400", "-" + "9" * 400 + "s", "10:15 ZJ"])
def test_a_time_that_no_clock_shows_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="as a time"):
        clock.parse_typed(text, now=AT)


@pytest.mark.parametrize(
    ("text", "when"), [("@1e14", "in the future"), ("2999-01-01", "in the future"), ("@-5", "before 1970"), ("-9999999999h", "before 1970")]
)
def test_a_time_that_is_not_yet_is_a_usage_error_that_says_what_now_is(text: str, when: str) -> None:
    with pytest.raises(UsageError, match=when) as raised:
        clock.parse_typed(text, now=AT)
    assert "now it is 2026-05-09T10:15:18Z" in (raised.value.hint or "")


def test_a_day_of_grace_is_given_for_zones_that_were_not_typed() -> None:
    assert clock.parse_typed("2026-05-09 19:15:18", now=AT) == AT + 9 * 3600
    assert clock.iso(clock.parse_typed("Dec 24 10:00:00", now=AT)) == "2025-12-24T10:00:00Z"


@pytest.mark.parametrize("at", [1e308, -1e308, 1e18, 253402300800.0, -62135596801.0])
def test_what_no_calendar_holds_is_written_as_epoch_seconds(at: float) -> None:
    assert clock.iso(at) == clock.hms(at) == f"@{at:.15g}"


def test_the_last_second_of_the_calendar_and_a_span_without_end_are_written() -> None:
    assert clock.iso(253402300798.9996) == "9999-12-31T23:59:58.999Z"
    assert clock.span(1e308) == "1e+308s"
    assert clock.span(-1e308) == "-1e+308s"


def test_a_time_that_no_calendar_holds_has_a_year_all_the_same() -> None:
    assert clock.year_for("May 09 10:15:18", latest=1e308) == 9999


@pytest.mark.parametrize(
    ("text", "month"),
    [
        ("févr. 14 10:15:18", 2),
        ("Mär 14 10:15:18", 3),
        ("Okt 14 10:15:18", 10),
        ("ago 14 10:15:18", 8),
        ("11月 14 10:15:18", 11),
        ("11월 14 10:15:18", 11),
        ("май 14 10:15:18", 5),
    ],
)
def test_months_of_other_languages_are_read(text: str, month: int) -> None:
    assert clock.parse_stamp(text, year=2026) == clock.parse_stamp(f"2026-{month:02d}-14 10:15:18")
    assert clock.lacks_year(text)


def test_a_word_that_is_no_month_is_no_time() -> None:
    assert clock.parse_stamp("Xyz 14 10:15:18", year=2026) is None
    assert clock.parse_stamp("13月 14 10:15:18", year=2026) is None


@pytest.mark.parametrize(
    ("began", "ended", "seconds"),
    [(100.0, 162.0, 62.0), (100.0, 100.0, 0.0), (100.0, 98.5, 0.0), (100.0, 97.0, None), (None, 100.0, None), (100.0, None, None), (0.0, 5.0, 5.0)],
)
def test_times_that_contradict_each_other_have_no_span_between_them(began: float | None, ended: float | None, seconds: float | None) -> None:
    assert clock.between(began, ended) == seconds

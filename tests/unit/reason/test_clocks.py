"""A client's times are put on the host's clock only where something says how far the two are apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from forensics.model import BenchRow, BenchRun, Capture, Facts, Frame, Hit, Origin, Record, Seen, Target, TargetKind
from forensics.reason.clocks import on_host_clock

T = 1_796_076_850.0


def row(at: float, kind: str, text: str = "2026-11-30 22:14:12,870 request 1") -> BenchRow:
    return BenchRow(line_no=1, text=text, kind=kind, at=at)


def run(rows: Sequence[BenchRow], *, written_at: float | None = None) -> BenchRun:
    times = [r.at for r in rows if r.at is not None]
    return BenchRun(
        source="bench", tool="client", path="/v1/completions", rows=tuple(rows), first_at=min(times), last_at=max(times), written_at=written_at
    )


def answered(at: float, status: str = "200", path: str = "/v1/completions", source: str = "journal") -> Seen:
    text = f'"POST {path} HTTP/1.1" {status}'
    frame = Frame(source=source, line_no=1, start=0, text=text, origin=Origin.SERVER)
    hit = Hit(rule="client.answered", frame=frame, captures={"answered": status, "asked": path})
    return Seen(hit, Record(at=at, source=source, line_no=1, text=text, origin=Origin.SERVER))


def capture(*, at: float | None = None, offset_s: float | None = None) -> Capture:
    return Capture(target=Target(kind=TargetKind.FILES, name="x"), sections=(), at=at, offset_s=offset_s)


def shift(bench: BenchRun, *, seen: Sequence[Seen] = (), offset_s: float | None = None, of: Capture | None = None) -> float | None:
    facts = on_host_clock(Facts(benches=(bench,), seen=tuple(seen), offset_s=offset_s), of or capture(offset_s=offset_s))
    return facts.benches[0].shift_s


UNEVEN = (0.0, 1.0, 2.7, 3.1, 6.0)


def test_nothing_is_moved_where_nothing_says_how_far() -> None:
    assert shift(run([row(T + s, "refused") for s in UNEVEN])) is None


def test_the_answers_that_the_server_logged_tell_the_distance() -> None:
    bench = run([row(T - 90, "refused"), *(row(T - 80 + s, "ok") for s in UNEVEN)])
    assert shift(bench, seen=[answered(T + 10 + s) for s in UNEVEN]) == pytest.approx(90, abs=0.1)


def test_answers_of_another_status_or_under_another_path_prove_nothing() -> None:
    bench = run([row(T - 80 + s, "ok") for s in UNEVEN])
    assert shift(bench, seen=[answered(T + 10 + s, "404") for s in UNEVEN]) is None
    assert shift(bench, seen=[answered(T + 10 + s, path="/health") for s in UNEVEN]) is None


def test_two_answers_are_too_few() -> None:
    bench = run([row(T - 80, "ok"), row(T - 77, "ok")])
    assert shift(bench, seen=[answered(T + 10), answered(T + 13)]) is None


def test_where_the_answers_fit_at_several_distances_none_is_believed() -> None:
    bench = run([row(T - 90 + 10 * k, "ok") for k in range(5)])
    assert shift(bench, seen=[answered(T + 10 * k) for k in range(40)]) is None


def test_a_client_on_the_hosts_clock_is_left_alone() -> None:
    bench = run([row(T + s, "ok") for s in UNEVEN])
    assert shift(bench, seen=[answered(T + s + 0.2) for s in UNEVEN]) is None


def test_a_distance_near_a_quarter_of_an_hour_is_a_zone_where_the_stamps_have_none() -> None:
    bench = run([row(T + 19800.8 + s, "ok") for s in UNEVEN])
    assert shift(bench, seen=[answered(T + s) for s in UNEVEN]) == -19800
    zoned = replace(bench, rows=tuple(replace(r, text="2026-11-30T22:14:12.870Z request 1") for r in bench.rows))
    assert shift(zoned, seen=[answered(T + s) for s in UNEVEN]) == pytest.approx(-19800.8, abs=0.1)


def test_the_offset_of_the_capture_moves_a_client_of_this_machine() -> None:
    rows = [row(T + s, "refused") for s in UNEVEN]
    assert shift(run(rows, written_at=T + 6.5), offset_s=90.0) == 90.0
    assert shift(run(rows), offset_s=90.0) == 90.0


def test_a_client_that_wrote_by_the_hosts_clock_is_not_moved_by_the_offset() -> None:
    assert shift(run([row(T + s, "refused") for s in UNEVEN], written_at=T + 6 - 90), offset_s=90.0) is None


def test_a_file_that_was_written_whole_quarters_later_tells_the_zone_only_of_times_that_fit_nothing() -> None:
    bench = run([row(T - 7200 + s, "refused") for s in UNEVEN], written_at=T + 6.4)
    assert shift(bench, of=capture(at=T + 20)) is None  # they may be true: two hours ago
    ahead = run([row(T + 7200 + s, "refused") for s in UNEVEN], written_at=T + 6.4)
    assert shift(ahead, of=capture(at=T + 20)) == -7200


def test_times_after_the_look_are_dropped_and_it_is_said() -> None:
    facts = on_host_clock(Facts(benches=(run([row(T + 500 + s, "refused") for s in UNEVEN]),)), capture(at=T))
    assert [r.at for r in facts.benches[0].rows] == [None] * len(UNEVEN)
    assert "how its requests lie to the server's life is not known" in facts.clocks[0]

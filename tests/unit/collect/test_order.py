from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from forensics.collect import order
from tests.unit.collect.fakehost import DATA

REAL = (DATA / "child-segv.export").read_bytes()  # systemd 252; its tqdm lines are binary fields


def entry(number: int, message: bytes) -> bytes:
    head = b"__CURSOR=s=1;i=%d\n__REALTIME_TIMESTAMP=%d\n" % (number, number)
    if b"\n" in message or b"\0" in message:
        return head + b"MESSAGE\n" + len(message).to_bytes(8, "little") + message + b"\n_PID=1\n\n"
    return head + b"MESSAGE=" + message + b"\n_PID=1\n\n"


def reversed_file(folder: Path, data: bytes) -> tuple[bytes, int]:
    path = folder / "journal"
    path.write_bytes(data)
    dropped = order.reverse_export(path)
    return path.read_bytes(), dropped


def test_a_real_export_turned_round_twice_is_itself(tmp_path: Path) -> None:
    once, dropped = reversed_file(tmp_path, REAL)
    assert dropped == 0
    assert once != REAL
    assert sorted(once.split(b"\n")) == sorted(REAL.split(b"\n"))
    assert reversed_file(tmp_path, once)[0] == REAL


@given(st.lists(st.sampled_from([b"x", b"a\nb", b"\n\n", b"\n\n__CURSOR=s=2\n\n", b"MESSAGE\n", b"\n", b"\0\n\n\n", b"NAME\nNAME\n\n"]), max_size=8))
def test_entries_keep_together_whatever_their_values_hold(messages: list[bytes]) -> None:
    entries = [entry(n, m) for n, m in enumerate(messages)]
    data = b"".join(entries)
    assert [data[a:b] for a, b in order.export_entries(data)] == entries


@given(st.integers(0, len(REAL)))
def test_an_export_that_is_cut_off_loses_no_more_than_its_last_entry(size: int) -> None:
    whole = [REAL[a:b] for a, b in order.export_entries(REAL)]
    cut = [REAL[a:b] for a, b in order.export_entries(REAL[:size])]
    assert cut == whole[: len(cut)]
    assert size - sum(map(len, cut)) < max(map(len, whole))


def test_of_a_text_whose_start_was_lost_the_half_line_goes(tmp_path: Path) -> None:
    path = tmp_path / "kernel"
    path.write_bytes(b"lf a line\nwhole\nlast\n")
    assert order.drop_first_line(path) == 10
    assert path.read_bytes() == b"whole\nlast\n"


def stamps(data: bytes) -> list[int]:
    return [int(line.partition(b"=")[2]) for line in data.split(b"\n") if line.startswith(b"__REALTIME_TIMESTAMP=")]


def completed(folder: Path, kept: bytes, pieces: bytes) -> bytes:
    (folder / "journal").write_bytes(kept)
    (folder / "lives").write_bytes(pieces)
    order.complete_export(folder / "journal", folder / "lives")
    return (folder / "journal").read_bytes()


MARK = b"\nDD_PIECE=1\n\n"


def test_what_is_there_already_is_not_taken_twice(tmp_path: Path) -> None:
    assert completed(tmp_path, REAL, REAL + MARK + REAL + MARK) == REAL


def test_older_entries_come_before_in_the_order_of_time(tmp_path: Path) -> None:
    entries = [entry(n, b"m%d" % n) for n in range(20)]
    systemd = b"".join(entries[n] for n in (0, 9, 15))
    life = b"".join(entries[1:6]) + entries[6][:30] + b"\n"
    got = completed(tmp_path, b"".join(entries[12:]), systemd + MARK + life + MARK + b"".join(entries[2:5]) + MARK)
    assert stamps(got) == [0, 1, 2, 3, 4, 5, 9, *range(12, 20)]


def test_a_piece_that_ends_within_a_binary_value_costs_no_other_piece(tmp_path: Path) -> None:
    cut = entry(2, b"one\ntwo\nthree\n" * 50)[:200]
    got = completed(tmp_path, entry(9, b"x"), entry(0, b"a") + entry(1, b"b") + cut + MARK + entry(3, b"c") + entry(4, b"d") + MARK)
    assert stamps(got) == [0, 1, 3, 9]


@given(st.binary(max_size=400))
def test_noise_is_no_entry_and_no_error(data: bytes) -> None:
    assert sum(b - a for a, b in order.export_entries(data)) <= len(data)

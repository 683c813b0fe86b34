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

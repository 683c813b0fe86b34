from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.collect.wire import Begin, Code, Done, End, FrameReader

WORD = "00112233445566778899aabbccddeeff"
MARK = b"\n@" + WORD.encode() + b" "


def frames(*answers: tuple[str, bytes, int]) -> bytes:
    out = b""
    for name, content, code in answers:
        out += MARK + f"begin {name} plain\n".encode() + content + MARK + f"said {name}\noh".encode() + MARK + f"code {code}\n{name}\n".encode()
        out += MARK + f"end {name} 10.25 11.50\n".encode()
    return out + MARK + b"done 1\n"


def read(data: bytes, sizes: list[int]) -> tuple[dict[str, bytes], list[object]]:
    got: dict[str, bytes] = {}
    events: list[object] = []

    def sink(mark: str) -> Callable[[str, bytes], None]:
        return lambda name, piece: got.update({name + mark: got.get(name + mark, b"") + piece})

    reader = FrameReader(WORD, sink(""), sink("!"))
    at = 0
    for size in [*sizes, len(data)]:
        events += reader.feed(data[at : at + size])
        at += size
    reader.finish()
    return got, events


CONTENT = st.lists(
    st.sampled_from([b"\n", b"@", WORD.encode(), b" begin x\n", MARK[:-1], b"\n@" + WORD[:-1].encode() + b"0 end b 0\n", b"\0\xff", b"line\n"]),
    max_size=12,
).map(b"".join)


@given(CONTENT, CONTENT, st.lists(st.integers(1, 40), max_size=60))
def test_any_content_comes_out_byte_for_byte_however_the_stream_is_cut(first: bytes, second: bytes, sizes: list[int]) -> None:
    for content in (first, second):
        if MARK in content + MARK[:-1]:
            return
    got, events = read(b"motd\n" + frames(("a", first, 0), ("b", second, 3)), sizes)
    assert got.get("a", b"") == first
    assert got.get("b", b"") == second
    assert got[""] == b"motd\n"
    assert (got["a!"], got["b!"]) == (b"oha\n", b"ohb\n")
    assert events == [Begin("a"), Code("a", 0), End("a", 1.25), Begin("b"), Code("b", 3), End("b", 1.25), Done(1)]


def test_a_frame_of_another_run_is_content() -> None:
    other = b"\n@ffffffffffffffffffffffffffffffff end a 0\n"
    got, events = read(frames(("a", other, 0)), [])
    assert got["a"] == other
    assert len(events) == 4


def test_a_code_in_the_answer_itself_is_content_of_nobody() -> None:
    _, events = read(MARK + b"begin a plain\nx" + MARK + b"code 0\n" + MARK + b"said a\n" + MARK + b"code 9\n", [])
    assert events == [Begin("a"), Code("a", 9)]


def test_a_mark_without_a_line_end_does_not_hold_the_stream_up() -> None:
    got, events = read(MARK + b"begin a plain\nx" + MARK + b"y" * 300 + MARK + b"done 1\n", [])
    assert events == [Begin("a"), Done(1)]
    assert got["a"] == b"x" + MARK + b"y" * 300


@pytest.mark.parametrize("times", ["- -", "nan nan", "5.00 4.00", "1 x"])
def test_a_host_that_cannot_say_how_long_it_took_leaves_that_open(times: str) -> None:
    _, events = read(MARK + b"begin a plain\n" + MARK + f"end a {times}\n".encode(), [])
    assert events == [Begin("a"), End("a", None)]


def test_what_was_held_back_is_given_when_the_stream_ends() -> None:
    data = MARK + b"begin a plain\ntext\n@0011"
    got, _ = read(data, [])
    assert got["a"] == b"text\n@0011"

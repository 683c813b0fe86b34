from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from forensics.collect.wire import Begin, Done, End, FrameReader

WORD = "00112233445566778899aabbccddeeff"
MARK = b"\n@" + WORD.encode() + b" "


def frames(*answers: tuple[str, bytes, int]) -> bytes:
    out = b""
    for name, content, code in answers:
        out += MARK + b"begin " + name.encode() + b"\n" + content + MARK + f"end {name} {code}\n".encode()
    return out + MARK + b"done 1\n"


def read(data: bytes, sizes: list[int]) -> tuple[dict[str, bytes], list[object]]:
    got: dict[str, bytes] = {}
    events: list[object] = []
    reader = FrameReader(WORD, lambda name, piece: got.update({name: got.get(name, b"") + piece}))
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
    assert events == [Begin("a"), End("a", 0), Begin("b"), End("b", 3), Done(1)]


def test_a_frame_of_another_run_is_content() -> None:
    other = b"\n@ffffffffffffffffffffffffffffffff end a 0\n"
    got, events = read(frames(("a", other, 0)), [])
    assert got["a"] == other
    assert len(events) == 3


def test_an_end_that_comes_twice_counts_once() -> None:
    _, events = read(frames(("a", b"x\n", 0))[: -len(MARK + b"done 1\n")] + MARK + b"end a 124\n", [])
    assert events == [Begin("a"), End("a", 0)]


def test_what_was_held_back_is_given_when_the_stream_ends() -> None:
    data = MARK + b"begin a\ntext\n@0011"
    got, _ = read(data, [])
    assert got["a"] == b"text\n@0011"

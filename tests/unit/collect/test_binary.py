"""Text and what is none, by the first bytes."""

from __future__ import annotations

import pytest

from forensics.collect import binary

LOG = b"[2026-11-29 20:40:02] The server is fired up and ready to roll!\n"


@pytest.mark.parametrize("hole", [0, 40, 4096, 8000])
def test_a_log_with_a_hole_in_it_is_text(hole: int) -> None:
    assert binary.kind((LOG * 3 + bytes(hole) + LOG * 3)[: binary.HEAD_BYTES]) == ""


def test_nothing_but_noughts_is_no_text_and_neither_is_what_has_them_everywhere() -> None:
    assert binary.kind(bytes(binary.HEAD_BYTES)) == "no text"
    assert binary.kind(b"\x01\x00\x02a" * 500 + bytes(4000)) == "no text"
    assert binary.kind(b"a\x00b\x00c\x00" * 500) == "no text"

"""Messages cut out of a JSON journal, where what stands there is none."""

from __future__ import annotations

from forensics.parse.jsonjournal import messages_in


def test_a_line_with_a_backslash_that_is_no_entry_is_let_be() -> None:
    assert messages_in([b"\x00\\\x00"])[2] == [0]

from __future__ import annotations

import pytest

from forensics.model.counted import counted


@pytest.mark.parametrize(("number", "told"), [(0, "0 lines"), (1, "1 line"), (2, "2 lines")])
def test_one_is_no_plural(number: int, told: str) -> None:
    assert counted(number, "line") == told

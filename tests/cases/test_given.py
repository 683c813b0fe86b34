"""The given cases as a whole: how often the answer is right, and how sure it may be. Prints the calibration of each status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cases.judge import GIVEN, Judged, judge

FOLDERS = sorted(p.parent for p in GIVEN.glob("*/case.yaml"))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Judged]:
    work = tmp_path_factory.mktemp("cases")
    return [judge(folder, work / folder.name) for folder in FOLDERS]


def test_nothing_is_misleading(judged: Sequence[Judged]) -> None:
    assert [j for j in judged if j.verdict == "misleading"] == []


def test_what_is_called_established_is_right(judged: Sequence[Judged], capsys: pytest.CaptureFixture[str]) -> None:
    right = Counter(j.status for j in judged if j.verdict == "right")
    total = Counter(j.status for j in judged)
    with capsys.disabled():
        print("\n  status of the given cases: " + ", ".join(f"{s or 'none'} right {right[s]} of {total[s]}" for s in total))
    assert right["established"] == total["established"] > 0


def test_nine_of_ten_are_right_and_most_of_them_firmly(judged: Sequence[Judged]) -> None:
    right = [j for j in judged if j.verdict == "right"]
    assert len(right) >= 0.9 * len(FOLDERS), [(j.id, j.wanted, j.cause) for j in judged if j.verdict != "right"]
    blamed = [j for j in right if j.cause not in ("healthy", "unknown")]
    assert sum(j.firm for j in blamed) >= 0.8 * len(blamed)


def test_the_direction_of_the_memory_fraction_is_never_the_opposite(judged: Sequence[Judged]) -> None:
    assert [j.id for j in judged if j.verdict == "right" and not j.direction] == []


def test_the_lines_that_matter_are_cited(judged: Sequence[Judged]) -> None:
    cited, wanted = (sum(j.quotes[i] for j in judged) for i in (0, 1))
    assert cited >= 0.9 * wanted


@pytest.mark.parametrize("folder", [GIVEN / "sglang-4330", GIVEN / "systemd-2643"], ids=lambda p: p.name)
def test_a_case_copied_elsewhere_gives_the_same(folder: Path, tmp_path: Path) -> None:
    assert judge(folder, tmp_path / "a") == judge(folder, tmp_path / "b")

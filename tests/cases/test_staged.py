"""Faults that were staged on real hosts, as cases: the labels say what was done there, not what the program says. Prints the calibration of each status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cases.staged import LABELS, UNBLAMED, Answered, asked, cases
from tests.testbed.bed import FAULTS, unpack


@pytest.fixture(scope="module")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("outputs.tar.xz", tmp_path_factory.mktemp("staged-outputs"))


@pytest.fixture(scope="module")
def answered(testbed: Path, tmp_path_factory: pytest.TempPathFactory) -> Sequence[Answered]:
    work = tmp_path_factory.mktemp("staged")
    return [asked(case, work) for case in cases(testbed)]


def wrong(answered: Sequence[Answered]) -> str:
    return "\n".join(map(str, answered))


def test_every_fault_on_every_host_has_a_label(testbed: Path) -> None:
    told = {(host, label.get("of", name)) for name, label in LABELS["faults"].items() for host in label.get("where", FAULTS)}
    assert not [(host, f.name) for host in FAULTS for f in (testbed / host).iterdir() if f.is_dir() and (host, f.name) not in told]


def test_there_are_enough_of_them_in_the_dress_of_a_journal_with_its_status(answered: Sequence[Answered]) -> None:
    assert len({a.case.fault for a in answered if a.case.dress in ("a", "host")}) >= 80
    assert sum(a.case.dress == "a" for a in answered) == sum(FAULTS.values())


def test_nothing_is_misleading(answered: Sequence[Answered]) -> None:
    assert not (found := [a for a in answered if a.verdict == "misleading"]), wrong(found)


def test_what_is_called_established_is_right(answered: Sequence[Answered], capsys: pytest.CaptureFixture[str]) -> None:
    right = Counter(a.found["status"] for a in answered if a.verdict == "right")
    total = Counter(a.found["status"] for a in answered)
    with capsys.disabled():
        print(f"\n  {len(answered)} staged cases: " + ", ".join(f"{s or 'healthy and unknown'} right {right[s]} of {total[s]}" for s in total))
    assert right["established"] == total["established"] > 0


def test_nineteen_of_twenty_are_right_and_most_of_them_firmly(answered: Sequence[Answered]) -> None:
    right = [a for a in answered if a.verdict == "right"]
    assert len(right) >= 0.99 * len(answered), wrong([a for a in answered if a.verdict != "right"])
    blamed = [a for a in right if a.found["cause"] not in UNBLAMED]
    assert sum(a.firm for a in blamed) >= 0.9 * len(blamed)


@pytest.mark.parametrize("dress", ["a", "b", "c", "d", "e", "k", "p", "host"])
def test_each_dress_is_right(answered: Sequence[Answered], dress: str) -> None:
    mine = [a for a in answered if a.case.dress == dress]
    off = [a for a in mine if a.verdict != "right"]
    assert mine
    assert len(off) <= max(1, 0.02 * len(mine)), wrong(off)


def test_the_phase_is_right(answered: Sequence[Answered]) -> None:
    off = [a for a in answered if not a.phase]
    assert len(off) <= 0.01 * len(answered), wrong(off)


def test_how_long_a_life_lasted_is_right_wherever_it_can_be_known(answered: Sequence[Answered]) -> None:
    assert not (off := [a for a in answered if not a.lived]), wrong(off)


def test_how_a_life_ended_and_by_whom_is_right(answered: Sequence[Answered]) -> None:
    assert not (off := [a for a in answered if a.end]), wrong(off)


def test_the_mechanisms_beside_the_cause_are_named(answered: Sequence[Answered]) -> None:
    off = [a for a in answered if a.case.dress in "acd" and a.verdict == "right" and not a.also]
    assert not off, wrong(off)


def test_the_lines_that_matter_are_cited(answered: Sequence[Answered]) -> None:
    cited, missed = (sum(len(a.quotes[i]) for a in answered) for i in (0, 1))
    assert missed <= 0.01 * (cited + missed), wrong([a for a in answered if a.quotes[1]])

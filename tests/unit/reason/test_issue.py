"""Which life is at issue, and why: each reason has a case, and each has one in which it is no reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forensics import api, ruleset
from forensics.model import BenchRow, BenchRun, End, EndBy, EndKind, Facts, Life
from forensics.reason.issue import REASONS, Choice, life_at_issue

UNSEEN = End(kind=EndKind.UNKNOWN, by=EndBy.UNKNOWN)
KILLED = End(kind=EndKind.SIGNAL, by=EndBy.KERNEL, signal="SIGKILL")
EXITED = End(kind=EndKind.EXIT, by=EndBy.ITSELF, status=1)
STOPPED = End(kind=EndKind.STOPPED, by=EndBy.OPERATOR)
RUNS = End(kind=EndKind.NONE)
MET, BEFORE, RUNS_ON, BREAKS_OFF, HEARD, ALIKE, SEEN, FAILED, READY, LAST = (reason.says for reason in REASONS)


def lives(*told: dict[str, Any]) -> tuple[Life, ...]:
    """Lives of a hundred seconds each, one after the other, unless told otherwise."""
    return tuple(
        replace(Life(index=n, started_at=n * 100.0, ended_at=n * 100.0 + 90, lived_s=90.0, last_at=n * 100.0 + 90), **one)
        for n, one in enumerate(told)
    )


def alive(**more: Any) -> dict[str, Any]:
    return {"end": RUNS, "alive": True, "ended_at": None, "lived_s": None, **more}


def failed_at(*times: float) -> Facts:
    rows = tuple(BenchRow(line_no=n, text="refused", kind="refused", at=at) for n, at in enumerate(times, 1))
    return Facts(benches=(BenchRun(source="bench", tool="client", rows=rows, errors={"refused": len(rows)}),)) if times else Facts()


def choice(of: tuple[Life, ...], facts: Facts | None = None, **more: Any) -> Choice:
    return Choice(lives=of, facts=facts or Facts(), **{"at": 1000.0, "known_server": True, **more})


CASES: dict[str, tuple[tuple[int, str], Choice]] = {
    "nothing failed and nothing runs": ((1, LAST), choice(lives({"end": STOPPED}, {"end": STOPPED}))),
    "the first request failed in a life": ((0, MET), choice(lives({"end": KILLED}, {"end": EXITED}), failed_at(50, 250))),
    "that life was stopped, and the next began while it failed on": ((1, MET), choice(lives({"end": STOPPED}, {"end": EXITED}), failed_at(85, 150))),
    "… but had not begun when it gave up": ((0, MET), choice(lives({"end": STOPPED}, {"end": EXITED}), failed_at(85, 95))),
    "its start was above the first line": ((0, MET), choice(lives({"end": KILLED, "started_at": None}, {"end": EXITED}), failed_at(50))),
    "the first request failed between two lives": ((0, BEFORE), choice(lives({"end": STOPPED}, {"end": EXITED}), failed_at(95))),
    "the first request failed before all of them": ((0, FAILED), choice(lives({"end": KILLED}, {"end": STOPPED}), failed_at(-50))),
    "a service without a profile runs on": ((1, RUNS_ON), choice(lives({"end": KILLED}, alive()), known_server=False, at=161.0)),
    "… but only for a moment": ((0, FAILED), choice(lives({"end": KILLED}, alive()), known_server=False, at=159.0)),
    "a log breaks off behind its own word": ((1, BREAKS_OFF), choice(lives({"end": KILLED}, {"end": RUNS}), by_itself={1})),
    "… or without one": ((0, FAILED), choice(lives({"end": KILLED}, {"end": RUNS}))),
    "of the last there is no line, and one before it ended so": ((0, HEARD), choice(lives({"end": KILLED}, {"end": EXITED}, {"end": KILLED}), unheard=True)),
    "… and none did": ((1, HEARD), choice(lives({"end": EXITED}, {"end": KILLED}), unheard=True)),
    "… but it is silent and did not fail": ((0, FAILED), choice(lives({"end": EXITED}, alive()), unheard=True)),
    "its state alone says that it ended, as the one before did": ((0, ALIKE), choice(lives({"end": EXITED}, {"end": EXITED}), told={0}, by_itself={0}, half_heard=True)),
    "… and it tells a cause itself": ((1, FAILED), choice(lives({"end": EXITED}, {"end": EXITED}), told={0, 1}, by_itself={0, 1}, half_heard=True)),
    "… and the one before told none": ((1, FAILED), choice(lives({"end": EXITED}, {"end": EXITED}), half_heard=True)),
    "… and the one before ended otherwise": ((1, FAILED), choice(lives({"end": KILLED}, {"end": EXITED}), told={0}, by_itself={0}, half_heard=True)),
    "nobody saw its end, but that of the one before": ((0, SEEN), choice(lives({"end": KILLED}, {"end": UNSEEN}))),
    "… and somebody said a cause in it": ((1, FAILED), choice(lives({"end": KILLED}, {"end": UNSEEN}), told={1})),
    "of one nothing is known but that another began": ((0, FAILED), choice(lives({"end": KILLED}, {"end": UNSEEN}, {"end": STOPPED}))),
    "it failed, and the next has just become ready": ((0, FAILED), choice(lives({"end": KILLED}, alive(ready=True, ready_at=150.0)), at=160.0)),
    "it failed, and the next became ready and stayed": ((1, READY), choice(lives({"end": KILLED}, alive(ready=True, ready_at=150.0)), at=220.0)),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_first_reason_that_answers_decides(case: str) -> None:
    expected, given = CASES[case]
    life, why = life_at_issue(given)
    assert (life.index, why.says) == expected


def test_every_reason_has_a_case() -> None:
    assert {why for (_, why), _ in CASES.values()} == {reason.says for reason in REASONS}


STARTED_AGAIN = """\
May 09 10:15:18 gpu01 systemd[1]: Started llm.service - LLM.
May 09 10:15:48 gpu01 systemd[1]: llm.service: Main process exited, code=exited, status=3/NOTIMPLEMENTED
May 09 10:15:48 gpu01 systemd[1]: llm.service: Failed with result 'exit-code'.
May 09 10:16:18 gpu01 systemd[1]: Started llm.service - LLM.
May 09 10:16:19 gpu01 llm[77]: hello
"""


def test_of_an_earlier_life_it_is_told_why_it_is_the_one(tmp_path: Path) -> None:
    (tmp_path / "journal.txt").write_text(STARTED_AGAIN, encoding="utf-8")
    (found,) = api.diagnose([str(tmp_path)], rules=ruleset.shipped_rules())
    assert ["the last one that failed" in w.text for w in found.warnings if w.kind == "earlier-life"] == [True]

"""The way back to the last good configuration, and the command that opens the place where a setting stands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forensics.model import Cause, Change, Status, UnitState
from forensics.reason import rollback
from forensics.reason.place import Story
from forensics.reason.verdict import Verdict
from tests.unit.reason.telling import folder, story

LOG = "[2026-05-09 10:15:20] server_args=ServerArgs(model_path='/m', port=30000, mem_fraction_static=0.9)\n"
VERDICT = Verdict(cause=Cause.GPU_OOM_INIT, status=Status.SUPPORTED, by="root")
DROP_IN = "/etc/systemd/system/llm.service.d/10-args.conf"
FRAGMENT = "/etc/systemd/system/llm.service"


@pytest.fixture
def told(tmp_path: Path) -> Story:
    state = UnitState(name="llm.service", fragment=FRAGMENT)
    return replace(story(folder(tmp_path, log=LOG)), unit="llm.service", state=state)


def change(what: str, before: str | None, after: str | None, since: str = "the last good life") -> Change:
    return Change(what=what, before=before, after=after, since=since)


def test_each_former_value_is_named_and_one_alone_is_a_change_of_that_flag(told: Story) -> None:
    made = rollback.advice(told, VERDICT, [change("--mem-fraction-static", "0.85", "0.9")])
    assert made is not None
    assert made.text == "or roll back to the last good life: --mem-fraction-static 0.85 (now 0.9)"
    assert (made.flag, made.from_, made.to, made.command) == ("--mem-fraction-static", "0.9", "0.85", "systemctl edit --full llm.service")


def test_what_is_new_is_taken_out_and_what_is_gone_is_put_back(told: Story) -> None:
    made = rollback.advice(told, VERDICT, [change("--enable-x", None, "true"), change("--tp-size", "8", None)])
    assert made is not None
    assert made.text == "or roll back to the last good life: without --enable-x (now true), --tp-size 8 (now unset)"


def test_the_file_that_was_written_since_is_the_one_to_open(told: Story) -> None:
    made = rollback.advice(told, VERDICT, [change("--mem-fraction-static", "0.85", "0.9"), change(DROP_IN, "as it was", "written today")])
    assert made is not None
    assert made.text.endswith(f"--mem-fraction-static 0.85 (now 0.9) in {DROP_IN}")
    assert made.command == f"sudoedit {DROP_IN}"
    alone = rollback.advice(told, VERDICT, [change(FRAGMENT, "as it was", "written today")])
    assert alone is not None
    assert (alone.text, alone.command) == (
        f"or roll back to the last good life: undo what was written since then in {FRAGMENT}",
        "systemctl edit --full llm.service",
    )


def test_the_name_of_a_file_cannot_break_out_of_the_command(told: Story) -> None:
    made = rollback.advice(told, VERDICT, [change("/etc/x; touch y.conf", "as it was", "written today")])
    assert made is not None
    assert made.command == "sudoedit '/etc/x; touch y.conf'"


@pytest.mark.parametrize(
    ("verdict", "changed"),
    [
        (VERDICT, []),
        (VERDICT, [change("--x", "1", "2", since="the attempt before")]),  # that one was not good either
        (VERDICT._replace(cause=Cause.DISK_FULL), [change(FRAGMENT, "as it was", "written")]),
        (VERDICT._replace(by="unknown"), [change("--x", "1", "2")]),
    ],
    ids=["nothing changed", "no good life", "no setting did it", "no verdict"],
)
def test_there_is_no_way_back_where_none_is_known(told: Story, verdict: Verdict, changed: list[Change]) -> None:
    assert rollback.advice(told, verdict, changed) is None


def test_a_unit_with_drop_ins_is_shown_whole_as_nobody_knows_which_file_sets_it(told: Story) -> None:
    assert told.state is not None
    assert rollback.place_to_edit(replace(told, state=replace(told.state, drop_ins=(DROP_IN,)))) == "systemctl cat llm.service"


def test_a_container_is_inspected(told: Story) -> None:
    assert told.state is not None
    assert rollback.place_to_edit(replace(told, state=replace(told.state, manager=("docker", "llm")))) == "docker inspect llm"

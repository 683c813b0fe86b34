"""Every answer of systemctl about every fault is read as ``systemctl show`` of the same moment has it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from forensics.model import UnitState
from forensics.ruleset.schema import RuleSet
from tests.testbed import truth
from tests.testbed.bed import FAULTS, HOSTS, View, look
from tests.testbed.formats import EXITS, JOURNALS, MOVING, STATES, State, explained

CODES = {"1": "exited", "2": "killed", "3": "dumped"}
SINCE = {"active": "ActiveEnter", "inactive": "InactiveEnter", "failed": "InactiveEnter", "activating": "InactiveExit", "deactivating": "ActiveExit"}
Expected = tuple[str, object, object]  # what, the value, what was found


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("name", STATES)
def test_an_answer_of_systemctl_is_read_as_show_has_it(testbed: Path, marks: RuleSet, host: str, name: str) -> None:
    wrong = []
    for file in sorted((testbed / host).glob(f"*/{name}.out")):
        if file.stat().st_size == 0 or file.parent.name in MOVING:
            continue
        view = look(file, rules=marks)
        shown = truth.show(file.parent / "show.out")
        state = view.facts.units.get(shown["Id"]) or view.facts.units.get("")
        told = [f"problem in line {p.line}: {p.text}" for p in view.facts.problems if not explained(p.text, file)]
        if state is None:
            told.append(f"nothing of {shown['Id']}, only of {list(view.facts.units)}")
        else:
            told += [
                f"{what} {value!r}, found {found!r}" for what, value, found in _expected(STATES[name], shown, state, view, file) if value != found
            ]
        wrong += [f"{host}/{file.parent.name}/{name}: {what}" for what in told]
    assert not wrong, "\n".join(wrong)


def _expected(form: State, shown: Mapping[str, str], state: UnitState, view: View, file: Path) -> Iterator[Expected]:
    if form.name:
        yield "name", shown["Id"], state.name
    if form.load:
        yield "load", shown["LoadState"], state.load
    if shown["LoadState"] == "not-found" and form.status:
        return  # "Unit … could not be found." is all it says
    if form.active:
        yield "active", shown["ActiveState"], state.active
    if form.sub:
        yield "sub", shown["SubState"], state.sub
    if form.status or form.show:
        yield from _ended(form, shown, state)
        yield from _times(form, shown, state, view, file)
    if form.show:
        yield "restarts", int(shown["NRestarts"]) if "NRestarts" in shown else None, state.restarts
        yield "fragment", shown.get("FragmentPath") or None, state.fragment


def _ended(form: State, shown: Mapping[str, str], state: UnitState) -> Iterator[Expected]:
    code = CODES.get(shown["ExecMainCode"])
    number = int(shown["ExecMainStatus"]) if code else None
    if form.status and shown["Result"] == "success":
        yield "result", None, state.result  # status only says it where it is another
    else:
        yield "result", shown["Result"], state.result
    yield "code", code, state.main_code
    yield "status", number, state.main_status
    yield "signal", truth.SIGNALS[number or 0] if code in ("killed", "dumped") else None, state.signal
    main = int(shown["MainPID"]) or int(shown["ExecMainPID"]) or None
    yield "main pid", main, state.main_pid


def _times(form: State, shown: Mapping[str, str], state: UnitState, view: View, file: Path) -> Iterator[Expected]:
    since = SINCE[shown["ActiveState"]] + "Timestamp"
    if form.wall and not (form.show and since not in file.read_text(errors="replace")):
        yield "since", truth.stamp(shown.get(since, "")), state.since
    if form.show:
        yield "start", truth.stamp(shown.get("ExecMainStartTimestamp", "")), state.started_at
        yield "exit", truth.stamp(shown.get("ExecMainExitTimestamp", "")), state.exited_at
    begun, ended = (int(shown[f"Active{edge}TimestampMonotonic"]) for edge in ("Enter", "Exit"))
    over = shown["ActiveState"] in ("failed", "inactive") and ended > begun > 0
    said = "Duration:" in file.read_text(errors="replace") if form.status else form.duration
    if not said:
        yield "duration", None, state.duration_s
    elif over:
        yield "duration", (ended - begun) // 1000, round((state.duration_s or 0) * 1000)
        yield "died after", (ended - begun) // 1000, round((view.diagnosis.died_after_s or 0) * 1000)


def _bare(command: str) -> str:
    """show drops the quotes until 252 and doubles backslashes."""
    return re.sub(r"[\"']", "", command).replace("\\\\", "\\")


@pytest.mark.parametrize("host", HOSTS)
def test_the_file_of_a_unit_with_its_drop_ins_gives_the_command_it_starts(testbed: Path, marks: RuleSet, host: str) -> None:
    wrong = []
    for file in sorted((testbed / host).glob("*/cat.out")):
        shown = truth.show(file.parent / "show.out")
        if (found := re.search(r"argv\[\]=(.*?) ; ", shown.get("ExecStart", ""))) is None or not file.stat().st_size:
            continue
        view = look(file, rules=marks)
        state = view.facts.units.get(shown["Id"]) or view.facts.units["sglang@.service"]  # the file of an instance may be its template's
        if _bare(" ".join(state.argv)) != _bare(found[1]):
            wrong.append(f"{host}/{file.parent.name}: {found[1]!r}, found {state.argv}")
        wrong += [f"{host}/{file.parent.name}: problem in line {p.line}: {p.text}" for p in view.facts.problems]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("name", EXITS)
def test_the_time_of_an_exit_is_read_in_every_style_of_stamps(testbed: Path, marks: RuleSet, host: str, name: str) -> None:
    wrong = []
    for file in sorted((testbed / host).glob(f"*/{name}.out")):
        if file.parent.name in MOVING or not file.stat().st_size:  # systemd 247 knows no --timestamp=unix
            continue
        expected = truth.stamp(truth.show(file.parent / "show.out").get("ExecMainExitTimestamp", ""))
        view = look(file, rules=marks)
        found = next(iter(view.facts.units.values())).exited_at
        if (expected is None) != (found is None) or (found is not None and not 0 <= found - (expected or 0) - EXITS[name] < 1):
            wrong.append(f"{host}/{file.parent.name}/{name}: {expected}, found {found}")
        wrong += [f"{host}/{file.parent.name}/{name}: {p.text}" for p in view.facts.problems]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("name", ["is-failed", "is-enabled"])
def test_other_words_of_systemctl_are_no_trouble(testbed: Path, marks: RuleSet, host: str, name: str) -> None:
    for file in sorted((testbed / host).glob(f"*/{name}.out")):
        if file.stat().st_size:
            view = look(file, rules=marks)
            assert not view.facts.problems, file
            assert len(view.diagnosis.lives) == 1
            assert view.diagnosis.died_after_s is None


@pytest.mark.parametrize("host", HOSTS)
def test_every_output_of_a_fault_is_in_one_of_the_tables(testbed: Path, host: str) -> None:
    known = {f"journal-{name}" for name in JOURNALS} | set(STATES) | set(EXITS) | {"is-failed", "is-enabled", "cat"}
    assert {file.stem for file in (testbed / host).glob("*/*.out")} <= known
    assert len({file.parent for file in (testbed / host).glob("*/show.out")}) == FAULTS[host]

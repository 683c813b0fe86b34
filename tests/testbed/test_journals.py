"""Every format of the journal of every fault tells the same lives, ends, codes and spans."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from forensics.model import Life as Found
from forensics.ruleset.schema import RuleSet
from tests.testbed import truth
from tests.testbed.bed import HOSTS, View, look
from tests.testbed.formats import JOURNALS, MOVING, OTHER_YEAR, SILENT, Journal, explained, is_cut


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("name", JOURNALS)
def test_a_journal_in_any_format_tells_the_lives_of_its_unit(testbed: Path, marks: RuleSet, host: str, name: str) -> None:
    wrong, form = [], JOURNALS[name]
    for file in sorted((testbed / host).glob(f"*/journal-{name}.out")):
        if form.tail and file.parent.name in MOVING:
            continue
        if file.stat().st_size == 0:  # a version that does not know the format, or a unit without a line in a format that says nothing then
            assert (file.parent / f"journal-{name}.err").exists() or name in SILENT
            continue
        wrong += [f"{host}/{file.parent.name}/{name}: {what}" for what in _differences(file, form, look(file, rules=marks))]
    assert not wrong, "\n".join(wrong)


def _differences(file: Path, form: Journal, view: View) -> Iterator[str]:
    """Expected against found, one line each."""
    yield from (f"problem in line {p.line}: {p.text}" for p in view.facts.problems if not explained(p.text, file))
    expected, later = _expected(file, form)
    found = list(view.diagnosis.lives)
    unit = truth.show(file.parent / "show-sel.out")["Id"]
    named = unit in file.read_text(errors="replace").replace("\\\\", "\\")  # systemd 247 says "Started SGLang server."
    if form.unit and named and expected and view.diagnosis.unit != unit:
        yield f"unit {unit}, found {view.diagnosis.unit}"
    if not expected:
        if len(found) > 1 or found[0].started_at is not None or found[0].end.result:
            yield f"no life, found {[_short(life) for life in found]}"
        return
    if later:  # it went on before this file was written
        expected.pop()
        found = found[: len(expected)]
    if len(expected) != len(found):
        yield f"{len(expected)} lives, found {len(found)}"
        return
    for number, (life, seen) in enumerate(zip(expected, found, strict=True), 1):
        yield from (f"life {number}: {what}" for what in _unlike(life, seen, form, other_year=(file.parent.name in OTHER_YEAR)))


def _expected(file: Path, form: Journal) -> tuple[list[truth.Life], bool]:
    """The lives that the file tells of, by as many of PID 1's lines as it has; and whether the last of them is left open: the file was cut, or is younger."""
    told = truth.events(file.parent)
    if not form.unit:
        return truth.lives(told), file.parent.name in MOVING
    held = len(re.findall(form.pid_one, file.read_text(errors="replace")))
    if not form.tail:
        return truth.lives(told[:held]), held > len(told) or is_cut(file)
    above = truth.lives(told[: len(told) - held])
    whole = truth.lives(told)
    if above:
        whole = whole[len(above) - 1 :]  # its end is below, at least in part
        whole[0].above = True
    return whole, False


def _unlike(life: truth.Life, seen: Found, form: Journal, *, other_year: bool) -> Iterator[str]:
    for what, expected, found in (
        ("end", life.kind, seen.end.kind.value), ("signal", life.signal, seen.end.signal), ("status", life.status, seen.end.status), ("result", life.result, seen.end.result),
    ):  # fmt: skip
        if expected != found:
            yield f"{what} {expected}, found {found}"
    for what, event, got in (("start", life.start, seen.started_at), ("exit", life.exit, seen.ended_at)):
        if life.above and event is life.start and got is None:
            continue
        if form.since_boot and got is not None and not other_year and not _near(event and event.at, event and event.late, got, 1.0):
            yield f"{what} {event and event.at}, found {got}"
        if form.wall and not (other_year and not form.year) and not _near(event and event.at, event and event.late, got, form.step_s):
            yield f"{what} {event and event.at}, found {got}"
    least = life.exit.at - life.start.late if life.exit and life.start else None
    most = life.exit.late - life.start.at if life.exit and life.start else None
    if life.above and seen.lived_s is None:
        return
    if form.stamped and not _near(least and max(0.0, least - form.step_s), most and most + form.step_s, seen.lived_s, form.step_s):
        yield f"lived {least}, found {seen.lived_s}"


def _near(least: float | None, most: float | None, got: float | None, step_s: float) -> bool:
    """Stamps are cut, not rounded, to the format's step."""
    if least is None or most is None or got is None:
        return least is None and got is None
    return least - step_s <= got <= most + 1e-5


def _short(life: Found) -> tuple[object, ...]:
    return (life.started_at, life.end.kind.value, life.end.signal, life.end.status, life.end.result)

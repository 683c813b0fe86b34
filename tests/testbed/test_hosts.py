"""What a host says when more than one unit is at stake: accounts, reboots, a power cut, rotation, no journal, no bus, no systemd."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from forensics.model import Cause, Coverage, EndKind, Health, Origin
from forensics.ruleset.schema import RuleSet
from tests.testbed import truth
from tests.testbed.bed import View, look
from tests.testbed.formats import JOURNALS, explained

HOSTS = ("extra-bullseye-247", "extra-bookworm-252", "extra-trixie-257")
FORMATS = (
    "short",
    "short-full",
    "short-iso",
    "short-precise",
    "short-iso-precise",
    "short-monotonic",
    "short-unix",
    "json",
    "export",
    "verbose",
    "with-unit",
)


def given(testbed: Path, rules: RuleSet, *names: str) -> View:
    """Outputs with what was written to stderr beside them; empty files are left out."""
    files = [path for name in names for path in (testbed / f"{name}.out", testbed / f"{name}.err")]
    return look(*(file for file in files if file.exists() and file.stat().st_size), rules=rules)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("name", FORMATS)
def test_a_power_cut_ends_a_life_as_a_reboot_in_every_format(testbed: Path, rules: RuleSet, host: str, name: str) -> None:
    folder = testbed / host / "power-cut"
    told = truth.events(folder, "1-after-journal-")
    expected = truth.lives(told)
    assert [life.kind for life in expected] == ["stopped", "stopped", "reboot", "none"]
    view = look(folder / f"1-after-journal-{name}.out", rules=rules)
    assert [life.end.kind.value for life in view.diagnosis.lives] == [life.kind for life in expected]
    assert view.diagnosis.cause is Cause.HOST_REBOOT
    assert view.diagnosis.lives[2].alive is not True
    assert not [p.text for p in view.facts.problems if not explained(p.text, folder / name)]
    if JOURNALS[name].wall:
        for life, seen in zip(expected, view.diagnosis.lives, strict=True):
            assert life.start is not None
            assert seen.started_at is not None
            assert life.start.at - JOURNALS[name].step_s <= seen.started_at <= life.start.late + 1e-5


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("name", FORMATS)
def test_a_reboot_by_the_operator_stops_a_life_in_every_format(testbed: Path, marks: RuleSet, host: str, name: str) -> None:
    view = look(testbed / host / "rebooted" / f"2-after-running-journal-{name}.out", rules=marks)
    expected = truth.lives(truth.events(testbed / host / "rebooted", "2-after-running-journal-"))
    assert [life.end.kind.value for life in view.diagnosis.lives] == [life.kind for life in expected] == ["stopped", "stopped", "none"]


@pytest.mark.parametrize("host", HOSTS)
def test_the_boots_of_a_machine_are_read_with_their_ends(testbed: Path, marks: RuleSet, host: str) -> None:
    file = testbed / host / "power-cut" / "1-list-boots.out"
    view = look(file, rules=marks)
    rows = [line for line in file.read_text().splitlines() if re.search(r"\b[0-9a-f]{32}\b", line)]
    assert [boot.boot_id for boot in view.facts.boots] == [row.split()[1] for row in rows]
    days = [[truth.stamp(f"Sun {day}") for day in re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", row)] for row in rows]
    assert [[boot.first_at, boot.last_at] for boot in view.facts.boots] == days


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("account", ["deploy", "nolog"])
def test_no_entries_for_an_account_without_rights_is_denied_and_not_empty(testbed: Path, rules: RuleSet, host: str, account: str) -> None:
    view = given(testbed / host / "users", rules, f"{account}-journal-sglang-boot.service")
    assert view.facts.coverage["journal"] is Coverage.DENIED
    assert view.diagnosis.cause is Cause.EVIDENCE_MISSING


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("account", ["root", "ops"])
def test_an_account_with_rights_sees_how_the_service_died(testbed: Path, rules: RuleSet, host: str, account: str) -> None:
    view = given(testbed / host / "users", rules, f"{account}-journal-sglang-boot.service")
    assert (view.diagnosis.end.kind, view.diagnosis.end.signal) == (EndKind.SIGNAL, "SIGABRT")
    assert view.facts.coverage["journal"] is Coverage.GIVEN


@pytest.mark.parametrize("host", HOSTS)
def test_no_entries_of_a_unit_that_is_not_there_is_empty_for_root(testbed: Path, rules: RuleSet, host: str) -> None:
    view = given(testbed / host / "users", rules, "root-journal-none.service", "root-status-none.service")
    assert view.facts.coverage["journal"] is Coverage.EMPTY
    assert view.diagnosis.cause is Cause.UNIT_MISSING


@pytest.mark.parametrize("host", HOSTS)
def test_the_owner_of_a_service_without_rights_sees_its_lines_and_no_systemd(testbed: Path, rules: RuleSet, host: str) -> None:
    view = given(testbed / host / "users", rules, "nolog-journal-sglang-asuser.service")
    assert view.facts.coverage["journal"] is not Coverage.READ  # what is missing there proves nothing
    assert view.diagnosis.cause is Cause.CUDA_FAULT


@pytest.mark.parametrize("host", HOSTS)
def test_the_last_lines_below_a_status_do_not_say_when_the_life_began(testbed: Path, rules: RuleSet, host: str) -> None:
    view = given(testbed / host / "users", rules, "nolog-status-sglang-asuser.service")
    lived = view.diagnosis.died_after_s
    assert lived is None if "247" in host else lived == pytest.approx(3.07, abs=0.03)


@pytest.mark.parametrize("host", HOSTS)
def test_a_running_service_started_when_status_says_and_not_with_the_lines_below_it(testbed: Path, rules: RuleSet, host: str) -> None:
    shown = truth.show(testbed / host / "power-cut" / "1-after-show.out")
    for file in ("power-cut/1-after-status", "rotated/1-status-running"):
        view = given(testbed / host, rules, file)
        assert view.diagnosis.started_at == truth.stamp(shown["ActiveEnterTimestamp"])
        assert view.diagnosis.health is Health.HEALTHY


@pytest.mark.parametrize("host", HOSTS)
def test_the_kernels_log_that_was_refused_says_nothing_of_the_journal(testbed: Path, marks: RuleSet, host: str) -> None:
    coverage = given(testbed / host / "users", marks, "nolog-dmesg").facts.coverage
    assert (coverage["kernel"], coverage["journal"]) == (Coverage.DENIED, Coverage.NOT_COLLECTED)


@pytest.mark.parametrize("host", HOSTS)
def test_a_rotated_journal_proves_no_absence(testbed: Path, rules: RuleSet, host: str) -> None:
    view = given(testbed / host / "rotated", rules, "1-journal", "1-status")
    assert view.facts.coverage["journal"] is Coverage.EMPTY
    assert view.diagnosis.cause in (Cause.SIGNAL_DEATH, Cause.EVIDENCE_MISSING)
    assert (view.diagnosis.end.kind, view.diagnosis.end.signal) == (EndKind.SIGNAL, "SIGABRT")


@pytest.mark.parametrize("host", HOSTS)
def test_a_host_that_keeps_no_journal_is_named_and_its_status_still_read(testbed: Path, rules: RuleSet, host: str) -> None:
    assert given(testbed / host / "no-journal", rules, "1-journal").diagnosis.cause is Cause.EVIDENCE_MISSING
    view = given(testbed / host / "no-journal", rules, "1-journal", "1-status")
    assert (view.diagnosis.end.kind, view.diagnosis.end.status) == (EndKind.EXIT, 1)


@pytest.mark.parametrize("host", HOSTS)
def test_a_bus_that_does_not_answer_is_named(testbed: Path, rules: RuleSet, host: str) -> None:
    view = given(testbed / host / "no-dbus", rules, "ops-status", "ops-is-active")
    assert view.diagnosis.cause is Cause.EVIDENCE_MISSING
    assert "could not reach systemd" in view.diagnosis.headline


@pytest.mark.parametrize("host", HOSTS)
def test_a_machine_without_systemd_is_named(testbed: Path, rules: RuleSet, host: str) -> None:
    view = given(testbed / host / "not-systemd", rules, "systemctl-status---no-pager-x", "systemctl-is-active-x", "systemctl-show-x")
    assert view.diagnosis.cause is Cause.EVIDENCE_MISSING
    assert "systemd does not run there" in view.diagnosis.headline


@pytest.mark.parametrize("name", ["dmesg-T.txt", "kernel-short.txt", "kernel.json"])
def test_the_kernels_log_of_the_machine_names_whom_it_killed(testbed: Path, rules: RuleSet, name: str) -> None:
    folder = testbed / "qemu-bookworm-252"
    view = look(folder / name, folder / "oom-global" / "show.out", rules=rules)
    main = truth.show(folder / "oom-global" / "show.out")["ExecMainPID"]
    assert main in {seen.hit.captures.get("pid") for seen in view.facts.seen if seen.record.origin is Origin.KERNEL}
    assert (view.diagnosis.cause, view.diagnosis.end.kind) == (Cause.HOST_OOM, EndKind.OOM_KILL)
    assert not view.facts.problems


@pytest.mark.parametrize("host", HOSTS)
def test_a_life_whose_end_nobody_saw_is_no_reason_to_doubt_the_present_one(testbed: Path, rules: RuleSet, host: str) -> None:
    # messages alone: nothing tells of the power cut between the two
    found = look(testbed / host / "power-cut" / "1-after-journal-cat.out", rules=rules).diagnosis
    assert (found.cause, found.health) == (Cause.HEALTHY, Health.HEALTHY)
    assert found.started_at == found.lives[-1].started_at
    assert [w.kind for w in found.warnings if w.kind in ("earlier-life", "earlier-failures")] == ["earlier-failures"]

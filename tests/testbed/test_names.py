"""Names that do not exist, on real hosts: a typing error, nothing like it, a template, an escaped instance, a masked unit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forensics import api, collect
from forensics.model import Diagnosis
from forensics.ruleset.schema import RuleSet
from tests.testbed import truth
from tests.testbed.bed import look

HOSTS = ("bullseye-247", "bookworm-252", "trixie-257")
ESCAPED = r"sglang@llama\x2d3.1\x2d8b.service"


def asked(testbed: Path, rules: RuleSet, host: str, fault: str, work: Path, *, unit: str | None = None, listed: bool = True) -> Diagnosis:
    """What the answers about a fault say, with the list of the host's units beside them, of the unit that was asked for."""
    folder = testbed / host / fault
    for name in ("status.out", "status.err", "journal-short.out", "is-active.out"):
        if (folder / name).exists() and (folder / name).stat().st_size:
            (work / name.replace(".", "-").replace("-out", ".txt").replace("-err", "-err.txt")).write_bytes((folder / name).read_bytes())
    if listed:
        (work / "list-units.txt").write_text("".join(sorted(f.read_text() for f in (testbed / host).glob("*/list-units.out"))))
    (target,) = collect.parse_targets([str(work)])
    name = unit or truth.show(folder / "show-sel.out")["Id"]
    with collect.open_target(target) as session:
        (capture,) = api.look(session, rules, unit=name, since=None, progress=lambda text: None)
        found = api.diagnose_capture(capture, rules, unit=name)
        session.discard()
    return found


@pytest.mark.parametrize("host", HOSTS)
def test_a_mistyped_name_finds_the_units_own_among_all_units_of_the_host(testbed: Path, rules: RuleSet, host: str, tmp_path: Path) -> None:
    found = asked(testbed, rules, host, "near-miss-typo", tmp_path)
    assert (found.cause, found.unit) == ("mistyped-unit", "sglang-active-listening.service")
    (warned,) = [w for w in found.warnings if w.kind == "mistyped-unit"]
    assert warned.text.startswith("sglang-active-listenning.service does not exist; sglang-active-listening.service does: one letter too many (n)")


@pytest.mark.parametrize("host", HOSTS)
def test_a_name_that_nothing_is_near_to_is_missing_and_none_is_taken(testbed: Path, rules: RuleSet, host: str, tmp_path: Path) -> None:
    found = asked(testbed, rules, host, "nonexistent", tmp_path)
    assert (found.cause, found.unit) == ("unit-missing", "sglang-nonexistent.service")
    assert [w for w in found.warnings if w.kind == "mistyped-unit"] == []


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("unit", ["sglang", "sglang@", "sglang@1"])
def test_a_template_with_two_instances_names_both_and_takes_none(testbed: Path, rules: RuleSet, host: str, unit: str, tmp_path: Path) -> None:
    found = asked(testbed, rules, host, "nonexistent", tmp_path, unit=unit)
    assert found.unit not in ("sglang@0.service", ESCAPED)
    assert found.cause in ("evidence-missing", "unit-missing")


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("unit", ["sglang@0", "sglang@0.service"])
def test_an_instance_is_found_by_its_name(testbed: Path, rules: RuleSet, host: str, unit: str, tmp_path: Path) -> None:
    found = asked(testbed, rules, host, "template", tmp_path, unit=unit)
    assert (found.cause, found.unit) == ("cuda-fault", "sglang@0.service")


@pytest.mark.parametrize("host", HOSTS)
def test_an_instance_asked_for_as_it_is_spoken_is_found_as_it_is_escaped(testbed: Path, rules: RuleSet, host: str, tmp_path: Path) -> None:
    found = asked(testbed, rules, host, "template-odd-name", tmp_path, unit="sglang@llama-3.1-8b.service", listed=False)
    assert (found.cause, found.unit, found.end.status) == ("exit-code-death", ESCAPED, 4)
    assert any("written escaped" in w.text for w in found.warnings)


@pytest.mark.parametrize("host", HOSTS)
def test_a_masked_unit_exists(testbed: Path, rules: RuleSet, host: str, tmp_path: Path) -> None:
    assert asked(testbed, rules, host, "masked", tmp_path).cause == "exec-failure"


@pytest.mark.parametrize("host", HOSTS)
def test_a_suffix_that_is_another_kind_of_unit_finds_the_service(testbed: Path, rules: RuleSet, host: str, tmp_path: Path) -> None:
    found = asked(testbed, rules, host, "sigabrt", tmp_path, unit="sglang-sigabrt.timer", listed=False)
    assert (found.cause, found.unit) == ("cuda-fault", "sglang-sigabrt.service")
    assert any("a service, not a timer" in w.text for w in found.warnings)


def of_an_account(line: str) -> str:
    """An entry of the machine's systemd or of its service as an account's own systemd has it (systemd.journal-fields(7))."""
    entry = json.loads(line)
    if entry.get("_PID") == "1":
        entry |= {
            "_PID": "2001",
            "USER_UNIT": entry.pop("UNIT", ""),
            "_SYSTEMD_USER_UNIT": "init.scope",
            "USER_INVOCATION_ID": entry.pop("INVOCATION_ID", ""),
        }
    else:
        entry |= {"_SYSTEMD_USER_UNIT": entry["_SYSTEMD_UNIT"]}
    return json.dumps(entry | {"_UID": "1000", "_SYSTEMD_UNIT": "user@1000.service", "_SYSTEMD_INVOCATION_ID": "f" * 32})


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("fault", ["template-odd-name", "sigabrt", "address-in-use", "clean-exit"])
def test_a_unit_of_an_account_is_told_as_the_same_unit_of_the_machine(testbed: Path, rules: RuleSet, host: str, fault: str, tmp_path: Path) -> None:
    whole = testbed / host / fault / "journal-json.out"
    (tmp_path / "journal.json").write_text("".join(of_an_account(line) + "\n" for line in whole.read_text().splitlines()))
    mine, of_machine = (look(path, rules=rules).diagnosis for path in (tmp_path / "journal.json", whole))
    assert [(x.end, x.phase, x.ready_at, x.lived_s) for x in mine.lives] == [(x.end, x.phase, x.ready_at, x.lived_s) for x in of_machine.lives]
    assert (mine.unit, mine.cause) == (of_machine.unit, of_machine.cause)

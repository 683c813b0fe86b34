"""A name that was typed, or that a benchmark is set up with, and that is not the unit's."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics import api
from tests.cases.judge import HERE
from tests.unit.reason.telling import DATA, diagnosed, folder

UNIT = "sglang-k26-ddtree.service"
JOURNAL = (HERE.parents[1] / "samples/active-not-ready/journal.txt").read_text()
CONTAINERS = HERE.parent / "data" / "containers"
NOT_FOUND = "Unit {} could not be found.\n"
NO_ENTRIES = "-- No entries --\n"


def terminal(*answers: tuple[str, str]) -> str:
    return "".join(f"root@gpu01:~# {command}\n{answer}" for command, answer in answers) + "root@gpu01:~# \n"


def said(path: Path, kind: str, *, unit: str | None = None, **files: str) -> list[str]:
    return [w.text for w in diagnosed(folder(path, **files), unit=unit).warnings if w.kind == kind]


@pytest.mark.parametrize(
    ("asked", "how"),
    [
        ("sglash-k26-ddtree", "two letters differ (s for n, h for g)"),
        ("sglnag-k26-ddtree", "two neighbouring letters are swapped (na for an)"),
        ("sglang_k26_ddtree", "it is written with _ for -"),
        ("sglang-k26-ddtree.timer", "a service, not a timer"),
    ],
)
@pytest.mark.parametrize("tool", ["journalctl -u {}", "systemctl status {}"])
def test_a_name_asked_in_vain_in_a_terminal_is_told_with_what_it_was_meant_for(tmp_path: Path, asked: str, how: str, tool: str) -> None:
    full = asked if "." in asked else f"{asked}.service"
    answer = NO_ENTRIES if tool.startswith("journalctl") else NOT_FOUND.format(full)
    text = terminal((tool.format(asked), answer), (f"journalctl -u {UNIT}", JOURNAL))
    found = diagnosed(folder(tmp_path, terminal=text))
    (warned,) = [w for w in found.warnings if w.kind == "mistyped-unit"]
    assert (found.unit, warned.asked, warned.meant) == (UNIT, full, UNIT)
    assert how in warned.text


def test_the_machines_systemd_has_what_the_accounts_does_not(tmp_path: Path) -> None:
    text = terminal((f"systemctl --user status {UNIT}", NOT_FOUND.format(UNIT)), (f"journalctl -u {UNIT}", JOURNAL))
    found = diagnosed(folder(tmp_path, terminal=text))
    assert found.cause != "unit-missing"
    assert [w.text for w in found.warnings if w.kind == "user-unit"] == [
        f"{UNIT} is a unit of the machine: the systemd of the account (--user) does not have it, and its answer (terminal.txt:1) says nothing"
    ]


def test_the_accounts_systemd_has_what_the_machines_does_not(tmp_path: Path) -> None:
    text = terminal(
        (f"systemctl status {UNIT}", NOT_FOUND.format(UNIT)), (f"journalctl -u {UNIT}", NO_ENTRIES), (f"journalctl --user -u {UNIT}", JOURNAL)
    )
    found = diagnosed(folder(tmp_path, terminal=text))
    assert found.cause != "unit-missing"
    (warned,) = [w.text for w in found.warnings if w.kind == "user-unit"]
    assert "is a unit of the account" in warned


def test_a_unit_that_neither_has_is_missing(tmp_path: Path) -> None:
    text = terminal((f"systemctl status {UNIT}", NOT_FOUND.format(UNIT)), (f"systemctl --user status {UNIT}", NOT_FOUND.format(UNIT)))
    found = diagnosed(folder(tmp_path, terminal=text))
    assert (found.cause, [w.kind for w in found.warnings if w.kind == "user-unit"]) == ("unit-missing", [])


@pytest.mark.parametrize("name", ["sglang-k26-ddtree", "sglang-k26-ddtree.service", "sglang-k26_ddtree"])
def test_a_container_that_is_none_is_the_unit_of_that_name(tmp_path: Path, name: str) -> None:
    text = terminal((f"docker logs --tail 20 {name}", f"Error response from daemon: No such container: {name}\n"), (f"journalctl -u {UNIT}", JOURNAL))
    (warned,) = said(tmp_path, "mistyped-unit", terminal=text)
    assert warned == f"there is no container {name} (terminal.txt:1); {UNIT} is a unit, and systemd runs it"


@pytest.mark.parametrize(("engine", "asked"), [("docker", "qwen-server.service"), ("docker", "qwen_server.service"), ("podman", "qwen-sevrer")])
def test_a_unit_that_is_none_is_the_container_of_that_name(tmp_path: Path, engine: str, asked: str) -> None:
    inspect = (CONTAINERS / f"{engine}-exit1" / "inspect.json").read_text()
    (tmp_path / "inspect.json").write_text(inspect.replace("exit1", "qwen-server"))
    found = diagnosed(tmp_path, unit=asked)
    (warned,) = [w.text for w in found.warnings if w.kind == "mistyped-unit"]
    assert found.unit == "qwen-server"
    assert "the container qwen-server" in warned
    assert "run by a container engine, not by systemd" in warned


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("config", "benchmark:\n  url: http://127.0.0.1:30000\n  server:\n    unit: sglash-k26-ddtree.service\n"),
        ("config", '{"num_prompts": 64, "base_url": "http://127.0.0.1:30000", "systemd_unit": "sglash-k26-ddtree.service"}\n'),
        ("run-bench", "#!/bin/bash\nUNIT=sglash-k26-ddtree.service\nsudo systemctl restart $UNIT\npython3 bench.py --port 30000\n"),
        ("run-bench", "#!/bin/bash\njournalctl -fu sglash-k26-ddtree > server.log &\npython3 bench.py --port 30000\n"),
        ("run-bench", "#!/bin/bash\nsystemctl --no-pager restart sglash-k26-ddtree && python3 bench.py --port 30000\n"),
    ],
)
def test_a_mistyped_unit_in_the_benchmarks_own_configuration_is_told(tmp_path: Path, file: str, text: str) -> None:
    (warned,) = said(tmp_path, "mistyped-unit", journal=JOURNAL, **{file: text})
    assert "two letters differ (s for n, h for g)" in warned
    assert f"{file}.txt:" in warned


@pytest.mark.parametrize("named", ["sglang-k26-ddtree.service", "nginx.service", "sglang-k27-ddtree.service", "sglang-k26-ddtree.timer"])
def test_another_unit_in_a_configuration_is_no_mistake(tmp_path: Path, named: str) -> None:
    assert said(tmp_path, "mistyped-unit", journal=JOURNAL, config=f"unit: {named}\nurl: http://127.0.0.1:30000\n") == []


@pytest.mark.parametrize("asked", ["nginx", "sglang-k27-ddtree", "sglang@gpu1"])
def test_another_units_journal_is_never_told_as_the_asked_ones(tmp_path: Path, asked: str) -> None:
    text = JOURNAL.replace("sglang-k26-ddtree", "sglang@gpu0") if "@" in asked else JOURNAL
    found = diagnosed(folder(tmp_path, journal=text), unit=asked)
    assert found.cause == "evidence-missing"
    assert found.headline.startswith(f"the evidence says nothing of {asked}.service")
    held = "sglang@gpu0.service" if "@" in asked else "sglang-k26-ddtree.service"
    assert held in found.headline
    assert (found.lives, found.phases, found.server, found.started_at, found.health) == ((), (), None, None, "unknown")


def test_answers_collected_about_one_unit_are_never_told_as_anothers() -> None:
    saved = DATA.parent / "beside" / "gpu"  # of a host, about sglang-oom.service
    (about,) = api.diagnose([str(saved)])
    assert (about.unit, about.cause) == ("sglang-oom.service", "gpu-oom-init")
    (other,) = api.diagnose([str(saved)], unit="nginx")
    assert (other.unit, other.cause, api.exit_code([other])) == ("nginx.service", "evidence-missing", 3)
    assert "collected about sglang-oom.service" in other.headline
    assert (other.lives, other.died_at, other.end.kind, other.also, other.server) == ((), None, "none", (), None)
    assert other.advice[0].command == "ddforensics diagnose tb1 --unit nginx.service"
    (slip,) = api.diagnose([str(saved)], unit="sglang-omo")
    assert (slip.unit, slip.cause) == ("sglang-oom.service", "gpu-oom-init")
    assert "two neighbouring letters are swapped" in slip.warnings[0].text

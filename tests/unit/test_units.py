"""Which unit is meant."""

from __future__ import annotations

import pytest

from forensics import units
from forensics.errors import UsageError
from forensics.model import UnitState

NAMES = (
    "sglang-k26-ddtree.service",
    "sglang-qwen.service",
    "nginx.service",
    "sshd.service",
    "vllm-1.service",
    "vllm-2.service",
    "getty@tty1.service",
)


@pytest.mark.parametrize("asked", ["-rf", "a b", "$(id)", "unit;reboot", "", "ünit", "a/b", "`x`", "x\n"])
def test_an_odd_name_is_refused_before_it_comes_near_a_shell(asked: str) -> None:
    with pytest.raises(UsageError):
        units.full_name(asked)


def test_a_name_without_suffix_is_a_service() -> None:
    assert units.full_name("sglang-qwen") == "sglang-qwen.service"
    assert units.full_name("a.timer") == "a.timer"
    assert units.full_name("python3.11") == "python3.11.service"


def test_names_that_differ_in_digits_only_are_two_units_and_no_misspelling() -> None:
    assert units.near("vllm-3.service", NAMES)[0] is None


def test_two_names_equally_near_are_candidates_and_none_is_meant() -> None:
    meant, _, close = units.near("nginy.service", ("nginx.service", "nginz.service"))
    assert meant is None
    assert set(close) == {"nginx.service", "nginz.service"}


def test_a_name_of_another_suffix_is_never_meant() -> None:
    assert units.near("sglang-qwem.timer", NAMES)[0] is None


def test_the_mistyped_name_of_the_incident_is_resolved_with_its_distance() -> None:
    pick = units.resolve("sglash-k26-ddtree.service", NAMES, {})
    assert (pick.unit, pick.how, pick.distance) == ("sglang-k26-ddtree.service", "mistyped", 2)
    assert "two letters differ" in pick.why


def test_swapped_letters_count_as_one() -> None:
    assert units.near("slgang-qwen.service", NAMES)[:2] == ("sglang-qwen.service", 1)


def test_a_unit_that_systemd_does_not_know_is_resolved_although_show_answered() -> None:
    states = {"sglang-qwan.service": UnitState(name="sglang-qwan.service", load="not-found", active="inactive")}
    assert units.resolve("sglang-qwan", (*NAMES, "sglang-qwan.service"), states).unit == "sglang-qwen.service"


def test_an_instance_of_a_known_template_exists() -> None:
    assert units.resolve("sglang@7.service", ("sglang@.service",), {}).how == "asked"


def state(name: str, active: str, sub: str, argv: str = "/bin/x") -> tuple[str, UnitState]:
    return name, UnitState(name=name, load="loaded", active=active, sub=sub, argv=tuple(argv.split()))


SERVER = "/opt/bin/server --serve"


def test_without_a_name_a_failed_known_server_beats_an_unrelated_failed_unit() -> None:
    states = dict([state("logrotate.service", "failed", "failed"), state("llm.service", "failed", "failed", SERVER)])
    pick = units.resolve(None, list(states), states, [r"\bserver --serve"])
    assert (pick.unit, pick.how) == ("llm.service", "failed")


def test_without_a_name_several_that_could_be_meant_are_candidates() -> None:
    states = dict([state("a.service", "failed", "failed"), state("b.service", "failed", "failed")])
    pick = units.resolve(None, list(states), states)
    assert pick.unit is None
    assert pick.candidates == ("a.service", "b.service")


def test_without_a_name_and_nothing_wrong_the_known_server_is_taken() -> None:
    states = dict([state("ssh.service", "active", "running"), state("llm.service", "active", "running", SERVER)])
    pick = units.resolve(None, list(states), states, [r"\bserver --serve"])
    assert (pick.unit, pick.how) == ("llm.service", "profile")


def test_without_a_name_and_nothing_that_fits_none_is_taken_and_it_is_said() -> None:
    states = dict([state("ssh.service", "active", "running"), state("cron.service", "active", "running")])
    pick = units.resolve(None, list(states), states)
    assert pick.unit is None
    assert "no unit failed" in pick.why


def test_a_failed_unit_beside_a_healthy_server_is_not_passed_over() -> None:
    states = {
        "gateway.service": UnitState(name="gateway.service", load="loaded", active="failed"),
        "llm.service": UnitState(name="llm.service", load="loaded", active="active", argv=("python3", "-m", "llmserver.launch")),
    }
    pick = units.resolve(None, list(states), states, [r"llmserver\.launch"])
    assert (pick.unit, pick.candidates) == (None, ("gateway.service", "llm.service"))


def test_a_known_server_in_trouble_comes_before_another_failed_unit_that_is_named() -> None:
    states = {
        "gateway.service": UnitState(name="gateway.service", load="loaded", active="failed"),
        "llm.service": UnitState(name="llm.service", load="loaded", active="failed", argv=("python3", "-m", "llmserver.launch")),
    }
    pick = units.resolve(None, list(states), states, [r"llmserver\.launch"])
    assert (pick.unit, pick.candidates) == ("llm.service", ("gateway.service",))


@pytest.mark.parametrize(
    ("asked", "meant"),
    [("llm.servce", "llm.service"), ("llm.sevice", "llm.service"), ("llm.service", "llm.service"), ("llm", "llm.service"), ("llm.v2", "llm.v2.service"), ("llm.server", "llm.server.service"), ("llm.socket", "llm.socket")],
)  # fmt: skip
def test_a_suffix_with_a_slip_is_service(asked: str, meant: str) -> None:
    assert units.full_name(asked) == meant

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


def test_where_no_unit_could_be_listed_that_is_said() -> None:
    assert units.resolve(None, [], {}).why == "no unit could be listed there"


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


@pytest.mark.parametrize(
    ("asked", "meant", "how"),
    [
        ("sglash-k26-ddtree.service", "sglang-k26-ddtree.service", "two letters differ (s for n, h for g)"),
        ("sgalng.service", "sglang.service", "two neighbouring letters are swapped (al for la)"),
        ("vlml-wsa.service", "vllm-was.service", "two pairs of neighbouring letters are swapped (ml for lm, sa for as)"),
        ("sglng.service", "sglang.service", "one letter is missing (a)"),
        ("sglaang.service", "sglang.service", "one letter too many (a)"),
        ("llm-serv.service", "llm-server.service", "two letters are missing (er)"),
        ("sglamg.service", "sglang.service", "one letter differs (m for n)"),
        ("llm1.service", "llm.service", "one character too many (1)"),
        ("sglang_qwen.service", "sglang-qwen.service", "it is written with _ for -"),
        ("SGLang.service", "sglang.service", "only upper and lower case differ"),
        ("Sglnag.service", "sglang.service", "two neighbouring letters are swapped (na for an) and upper and lower case differ"),
        ("llm.timer", "llm.service", "a service, not a timer"),
        ("llm.service", "llm.socket", "a socket, not a service"),
        ("llm.service", "llm@gpu0.service", "an instance of the template llm@"),
        ("llm@.service", "llm@gpu0.service", "the only instance of this template"),
        ("llm@gpu0.service", "llm.service", "it has no instances"),
        (r"llm@a-b.service", r"llm@a\x2db.service", "its instance is written escaped"),
    ],
)  # fmt: skip
def test_how_two_names_differ_is_said_as_it_is(asked: str, meant: str, how: str) -> None:
    assert units.difference(asked, meant) == f"{asked} does not exist; {meant} does: {how}"
    assert units.related(asked, [meant, "nginx.service", "ssh.service"]).meant == meant


def test_a_swap_is_one_step_and_what_is_no_swap_is_not_called_one() -> None:
    assert units.near("sgalng.service", ["sglang.service"]).distance == 1
    assert units.near("sglash-k26-ddtree.service", ["sglang-k26-ddtree.service"]).distance == 2
    assert "swapped" not in units.difference("sglash.service", "sglang.service")


def test_a_container_of_the_name_is_meant_and_called_one() -> None:
    found = units.related("vllm.service", ["vllm", "nginx.service"])
    assert found.meant == "vllm"
    assert (
        units.difference("vllm.service", "vllm") == "vllm.service does not exist; the container vllm does: run by a container engine, not by systemd"
    )


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ("llm.service", ("llm@gpu0.service", "llm@gpu1.service")),  # which of the two?
        ("llm@gpu2.service", ("llm@gpu0.service", "llm@gpu1.service")),
        ("llm@gpu2.service", ("llm@gpu0.service",)),  # another one
        ("llm-gpu2.service", ("lml-gpu1.service",)),  # not only the number, but the number too
        ("app.service", ("apt.service", "api.service")),
        ("ab.service", ("ac.service",)),  # too short to be a slip
        ("sglang.service", ("postgres.service", "nginx.service")),
        ("docker.service", ("docker.slice", "docker.mount")),  # made for it, and not it
        ("web.timer", ("web.socket", "web.path")),
        ("llm_a.service", ("llm-a.service", "llm.a.service")),
    ],
)  # fmt: skip
def test_no_far_name_and_none_of_two_equally_near_is_taken(asked: str, names: tuple[str, ...]) -> None:
    assert units.related(asked, names).meant is None
    assert units.resolve(asked, names, {}).how == "missing"


def test_a_template_that_is_there_has_every_instance_and_the_asked_one_is_taken() -> None:
    assert units.resolve("llm@gpu7.service", ("llm@.service", "llm@gpu0.service"), {}).how == "asked"


def test_several_instances_are_the_candidates_of_a_template_that_was_asked_for() -> None:
    assert units.resolve("llm@.service", ("llm@gpu0.service", "llm@gpu1.service"), {}).candidates == ("llm@gpu0.service", "llm@gpu1.service")


def test_two_long_names_are_compared_at_once() -> None:
    assert len(units.difference("a" * 247 + ".service", "b" * 247 + ".service")) < 2000


@pytest.mark.parametrize(
    ("asked", "meant", "words"),
    [
        ("a(b", "ab", "one character too many: ("),
        ("ab", "a)b", "one character is missing: )"),
        ("f (x", "f [x", "one character differs: ( for ["),
        ("llm", "Lm", "one letter too many: l and upper and lower case differ"),
    ],
)
def test_letters_that_are_brackets_stay_what_they_are(asked: str, meant: str, words: str) -> None:
    assert units.edit(asked, meant) == words

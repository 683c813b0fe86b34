from __future__ import annotations

import shlex
import shutil
import subprocess
from dataclasses import dataclass

import pytest

from forensics.collect import plan, probe, script
from forensics.collect.question import MIB
from forensics.errors import UsageError


@dataclass(frozen=True)
class Endpoint:
    path: str
    limit_s: float = 3.0


ALL = (*plan.overview("x"), *plan.unit("sglang@llama\\x2d3.service", ports=[30000], endpoints=[Endpoint("/v1/models")], since=1747298118.9))


@pytest.mark.parametrize("name", ["-x", "a b", "a;b", "a'b", "*", "a/b", "$x", "", "x" * 300, "a\n", "ünit"])
def test_a_name_that_no_unit_can_have_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        plan.unit_name(name)


def test_a_name_without_suffix_is_a_service() -> None:
    assert plan.unit_name("sglang-qwen") == "sglang-qwen.service"
    assert plan.unit_name("a.timer") == "a.timer"
    assert plan.unit_name("llama.cpp") == "llama.cpp.service"


@pytest.mark.parametrize(("port", "path"), [(0, "/x"), (70000, "/x"), (1, "x"), (1, "/a b"), (1, "/'"), (1, "/$(id)"), (1, "/a\n")])
def test_an_endpoint_that_is_none_is_refused(port: int, path: str) -> None:
    with pytest.raises(UsageError):
        probe.health([(port, path, 3.0)])


def test_the_sections_have_their_fixed_names() -> None:
    assert [q.name for q in plan.overview()] == ["clock", "units"]
    names = [q.name for q in ALL[2:]]
    of_unit = ["is-active", "status", "show", "unit-file", "journal", "lives", "unit-now", "coredumps"]
    of_host = ["boot-ends", "processes", "machine", "disks", "packages", "gpu"]
    assert names == [*of_unit, "kernel", "boots", "sockets", "health", *of_host]
    assert [q.name for q in plan.unit(None)] == ["kernel", "boots", "sockets", *of_host]


def test_no_environment_is_asked_for() -> None:
    assert not any("Environment" in q.script for q in ALL)


def test_the_time_is_turned_into_an_epoch_here() -> None:
    journal = next(q for q in ALL if q.name == "journal")
    assert "--since=@1747298118 " in journal.script


def test_what_can_hang_has_a_lane_of_its_own_that_all_the_others_pass_by() -> None:
    assert [q.name for q in ALL if q.lane == script.LANES[0]] == ["gpu"]


def test_what_a_broken_link_must_not_cost_comes_first_and_the_largest_answer_next() -> None:
    assert {q.name for q in ALL if q.lane == script.LANES[-1]} >= {"is-active", "status", "show", "clock", "units"}
    assert {q.name for q in ALL if q.lane == script.LANES[-2]} == {"journal", "lives", "coredumps"}


def test_an_answer_that_waits_for_others_is_held_in_memory_or_fits_into_a_pipe() -> None:
    """A command that cannot get rid of its answer would run into its limit."""
    large = {q.name for q in ALL if q.lane not in script.LANES[-2:] and q.max_bytes > MIB and not q.keep_end}
    assert large == set()


@pytest.mark.parametrize("shell", ["sh", "bash", "dash"])
def test_every_script_is_sh(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    texts = [*(q.script for q in ALL), script.first_line("ab") + script.round_script(1, ALL)]
    for text in texts:
        done = subprocess.run([shell, "-n"], input=text, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), text


def test_the_word_of_the_frames_is_in_no_argument() -> None:
    """What is in an argument can be read in /proc, and logged."""
    whole = script.first_line("secretword") + script.round_script(1, ALL)
    assert whole.count("secretword") == 1
    assert whole.startswith("dd_word=@secretword\n")


def test_a_unit_name_reaches_the_shell_as_one_word() -> None:
    journal = next(q for q in ALL if q.name == "journal")
    assert shlex.quote("sglang@llama\\x2d3.service") in journal.script

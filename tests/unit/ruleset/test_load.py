from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics.errors import RuleErrors
from forensics.model import Cause, Origin, Phase, Role
from forensics.ruleset import RuleSet, load
from forensics.ruleset.load import read

Rules = Callable[..., RuleSet]
Faults = Callable[..., list[str]]

WELL = """
    - id: sglang.kv-pool-too-small
      cause: gpu-oom-init
      role: root
      from: server
      line: 'Not enough memory\\. Please try to increase --mem-fraction-static'
      only_in: [weights, kv-pool]
      phase: kv-pool
      direction: raise
      advise: [{flag: --mem-fraction-static, to: memory.fraction_min, text: 'it is {memory.fraction}'}]
      samples:
        hit: [{software: sglang 0.5.10, text: 'RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.'}]
        miss: [{why: another message, text: 'Not enough memory for the batch'}]
"""


def _with(old: str, new: str) -> str:
    assert old in WELL
    return WELL.replace(old, new)


def test_a_rule_is_read_with_all_that_it_says(rules_of: Rules) -> None:
    (rule,) = rules_of(causes__memory=WELL).rules

    assert (rule.id, rule.cause, rule.role, rule.from_) == ("sglang.kv-pool-too-small", Cause.GPU_OOM_INIT, Role.ROOT, Origin.SERVER)
    assert rule.only_in == (Phase.WEIGHTS, Phase.KV_POOL)
    assert (rule.phase, rule.direction, rule.keep) == (Phase.KV_POOL, "raise", 200)
    assert rule.advise[0].to == "memory.fraction_min"
    assert rule.hit[0].software == "sglang 0.5.10"
    assert (rule.at.line, rule.at.col) == (1, 3)


def test_the_rules_of_the_package_are_found_without_a_path() -> None:
    found = read()
    assert found.files > 2
    assert {p.name for p in found.rules.profiles} >= {"sglang", "systemd"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param(_with("gpu-oom-init", "oom"), "2:10: unknown cause 'oom' (did you mean 'host-oom'?)", id="unknown cause"),
        pytest.param(_with("role: root", "role: rot"), "3:9: unknown role 'rot' (did you mean 'root'?)", id="unknown role"),
        pytest.param(_with("from: server", "from: servr"), "4:9: unknown origin 'servr' (did you mean 'server'?)", id="unknown origin"),
        pytest.param(_with("phase: kv-pool", "phase: kv_pool"), "7:10: unknown phase 'kv_pool' (did you mean 'kv-pool'?)", id="unknown phase"),
        pytest.param(_with("[weights,", "[wieghts,"), "6:13: unknown phase 'wieghts' (did you mean 'weights'?)", id="unknown phase in a list"),
        pytest.param(_with("direction: raise", "direction: up"), "8:14: unknown direction 'up' (one of raise, lower, rebalance)", id="unknown direction"),
        pytest.param(_with("phase: kv-pool", "phse: kv-pool"), "7:3: unknown key 'phse' in a rule (did you mean 'phase'?)", id="unknown key"),
        pytest.param(_with("phase: kv-pool", "cause: host-oom"), "7:3: the key 'cause' stands twice in a rule (first in line 2)", id="key twice"),
        pytest.param(_with("phase: kv-pool", "says: on"), "7:9: plain 'on' is a boolean in YAML 1.1 (quote it, or write true or false)", id="bare on"),
        pytest.param(_with("phase: kv-pool", "no: kv-pool"), "7:3: plain 'no' is a boolean in YAML 1.1 (quote it)", id="bare no as a key"),
        pytest.param(_with("phase: kv-pool", "source: 0.5"), "7:11: 'source' has to be a text, this is a number (quote it)", id="number for a text"),
        pytest.param(_with("phase: kv-pool", "keep: 1_0"), "7:9: '1_0' is an odd number in YAML 1.1 (quote it, or write it in decimal)", id="odd number"),
        pytest.param(_with("phase: kv-pool", "keep: 0"), "7:9: 'keep' has to be a whole number, 1 or more", id="keep of nothing"),
        pytest.param(_with("phase: kv-pool", "next: [a]"), "7:9: 'next' has to be a text, this is a list", id="list for a text"),
        pytest.param(_with("phase: kv-pool", "firm: sure"), "7:9: unknown firm 'sure' (one of established, supported, possible)", id="unknown firm"),
        pytest.param(_with("to: memory.fraction_min", "to: memory.fraction_mn"), "9:46: unknown fact 'memory.fraction_mn' (did you mean 'memory.fraction_min'?)", id="unknown fact to advise"),
        pytest.param(_with("{memory.fraction}", "{memory.fractio}"), "9:73: unknown fact 'memory.fractio' (did you mean 'memory.fraction'?)", id="unknown fact in a text"),
        pytest.param(_with("'Not enough memory\\.", "'Not (enough memory\\."), "5:14: no regular expression: missing ), unterminated subpattern", id="broken expression"),
        pytest.param(_with("phase: kv-pool", "when: life.alive"), "7:9: a rule has a 'line' or a 'when', not both (a line is joined with facts by 'where')", id="line and when"),
        pytest.param(_with("software: sglang 0.5.10, text", "software: sglang 0.5.10, txt"), "11:37: unknown key 'txt' in a sample (did you mean 'text'?)", id="unknown key in a sample"),
        pytest.param(_with("why: another message,", "why: a, comma here,"), "12:21: unknown key 'comma here' in a sample (inside {…} a text with a comma has to be quoted)", id="comma in a text"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_place_and_a_way_out(faults_of: Faults, text: str, fault: str) -> None:
    assert f"causes/memory.yaml:{fault}" in faults_of(causes__memory=text)


def test_all_faults_of_all_files_come_in_one_go(faults_of: Faults) -> None:
    faults = faults_of(causes__memory=_with("gpu-oom-init", "oom").replace("role: root", "role: rot"), causes__other=_with("[weights,", "[wieghts,"))
    assert [fault.split(":")[0] for fault in faults] == ["causes/memory.yaml"] * 2 + ["causes/other.yaml"] * 2


def test_an_id_stands_once_in_all_files(faults_of: Faults) -> None:
    (fault,) = faults_of(causes__memory=WELL, causes__other=WELL)
    assert fault.startswith("causes/other.yaml:1:7: the id 'sglang.kv-pool-too-small' is taken (by ")
    assert fault.endswith("causes/memory.yaml:1:7)")


def test_a_rule_needs_a_line_or_a_condition_a_cause_and_samples_of_both_kinds(faults_of: Faults) -> None:
    faults = faults_of(causes__memory="- {id: a.b, role: root, samples: {hit: [], miss: []}}\n- {id: a.c, role: benign, line: 'harmless words'}\n")
    assert faults == [
        "causes/memory.yaml:1:3: a rule of role root needs a cause",
        "causes/memory.yaml:1:3: a rule needs a 'line' or a 'when'",
        "causes/memory.yaml:1:34: a rule needs at least one sample to hit",
        "causes/memory.yaml:1:34: a rule needs at least one sample to miss",
        "causes/memory.yaml:2:3: a rule needs samples to hit and to miss (samples: {hit: [{text: …}], miss: [{text: …, why: …}]})",
    ]


def test_a_rule_may_be_over_rules_and_causes_that_exist_only(faults_of: Faults, rules_of: Rules) -> None:
    assert rules_of(causes__memory=_with("phase: kv-pool", "over: [gpu-oom-runtime]")).rules
    (fault,) = faults_of(causes__memory=_with("phase: kv-pool", "over: [gpu-oom-runtme]"))
    assert fault == (
        "causes/memory.yaml:7:9: 'sglang.kv-pool-too-small' is over 'gpu-oom-runtme', which is no rule and no cause (did you mean 'gpu-oom-runtime'?)"
    )


def test_an_unknown_server_is_refused_once_there_are_profiles(faults_of: Faults) -> None:
    profile = "profile: sglang\n"
    (fault,) = faults_of(causes__memory=_with("phase: kv-pool", "server: [sglan]"), servers__sglang=profile)
    assert fault == "causes/memory.yaml:7:11: unknown server 'sglan' (did you mean 'sglang'?)"


def test_a_fault_in_a_condition_has_the_column_of_the_word(faults_of: Faults) -> None:
    text = """
        - id: startup-race
          cause: startup-race
          role: state
          when: client.refused > 0 and life.alive and not life.redy
          samples: {hit: [{capture: samples/active-not-ready}], miss: [{why: it died, capture: samples/silent-crash}]}
    """
    (fault,) = faults_of(causes__race=text)
    assert fault == (
        "causes/race.yaml:4:51: unknown fact 'life.redy'\n"
        "  client.refused > 0 and life.alive and not life.redy\n"
        f"  {' ' * 42}^ (did you mean 'life.ready'?)"
    )


def test_the_captures_of_a_line_cannot_be_named_where_there_is_no_line(faults_of: Faults) -> None:
    text = "- {id: a, role: state, cause: healthy, when: 'hit.pid in life.pids', samples: {hit: [{capture: x}], miss: [{capture: y}]}}\n"
    assert faults_of(causes__a=text) == ["causes/a.yaml:1:46: 'hit.pid' belongs to a line, and a 'when' has none (use 'line' with 'where')"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param("- id: [\n", "causes/a.yaml:2:1: not YAML: ", id="unclosed"),
        pytest.param("- id: x\n\trole: y\n", "causes/a.yaml:2:1: not YAML: found a tab character that violates indentation", id="tab"),
        pytest.param("a: 1\n---\nb: 2\n", "causes/a.yaml:2:1: not YAML: but found another document", id="two documents"),
        pytest.param("just words\n", "causes/a.yaml:1:1: a profile has to be a mapping, this is a text", id="no rules at all"),
        pytest.param("- just words\n", "causes/a.yaml:1:3: a rule has to be a mapping, this is a text", id="no rule"),
        pytest.param("- id: &x [*x]\n", "causes/a.yaml:1:7: 'id' has to be a text, this is a list", id="a loop of aliases"),
        pytest.param("- !!python/object/apply:os.system ['true']\n", "causes/a.yaml:1:3: a rule has to be a mapping, this is a list", id="a tag that would run a command"),
    ],
)  # fmt: skip
def test_what_is_no_rule_file_is_said_with_its_place(faults_of: Faults, text: str, fault: str) -> None:
    assert any(found.startswith(fault) for found in faults_of(causes__a=text))


def test_bytes_that_are_no_utf8_are_a_fault_of_their_file(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"- id: caf\xe9\n")
    with pytest.raises(RuleErrors, match="not YAML"):
        load(tmp_path)


def test_an_empty_file_holds_no_rules_and_no_fault(rules_of: Rules) -> None:
    assert len(rules_of(causes__memory=WELL, causes__empty="# nothing yet\n").rules) == 1


def test_a_folder_without_rules_and_a_missing_file_are_said(tmp_path: Path) -> None:
    with pytest.raises(RuleErrors, match="no rules here"):
        load(tmp_path)
    with pytest.raises(RuleErrors, match=r"nowhere\.yaml: cannot be read: No such file or directory"):
        load(tmp_path / "nowhere.yaml")


def test_one_file_alone_may_be_over_rules_of_other_files(tmp_path: Path) -> None:
    file = tmp_path / "memory.yaml"
    file.write_text(_with("phase: kv-pool", "over: [torch.oom]"))
    assert load(file).rules[0].over == ("torch.oom",)


def test_what_is_well_can_be_had_beside_the_faults(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(WELL)
    (tmp_path / "b.yaml").write_text(WELL.replace("sglang.kv-pool-too-small", "b").replace("gpu-oom-init", "oom"))
    found = read(tmp_path)
    assert ([rule.id for rule in found.rules.rules], len(found.faults), found.files) == (["sglang.kv-pool-too-small"], 1, 2)

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics.errors import RuleErrors
from forensics.model import Cause, Origin, Phase, Role
from forensics.ruleset import RuleSet, load
from forensics.ruleset.loading import read

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
        pytest.param(_with("phase: kv-pool", "keep: .inf"), "7:9: '.inf' is no finite number", id="endless number"),
        pytest.param(_with("phase: kv-pool", "keep: -.Inf"), "7:9: '-.Inf' is no finite number", id="endless number below nothing"),
        pytest.param(_with("phase: kv-pool", "keep: .nan"), "7:9: '.nan' is no finite number", id="no number"),
        pytest.param(_with("phase: kv-pool", "keep: 1.0e+400"), "7:9: '1.0e+400' is no finite number", id="number beyond all"),
        pytest.param(_with("phase: kv-pool", "keep: " + "9" * 5000), "7:9: a number of 5000 characters is too long", id="long number"),
        pytest.param(_with("phase: kv-pool", "keep: " + "9" * 300), "7:9: 'keep' has to be a whole number, 1 or more (at most 1000000000000)", id="large number"),
        pytest.param(_with("to: memory.fraction_min", "to: .inf"), "9:46: '.inf' is no finite number", id="endless number to advise"),
        pytest.param(_with("sglang.kv-pool-too-small", "a" * 81), "1:7: an id of 81 characters is too long (at most 80)", id="long id"),
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


def test_of_a_broken_expression_nothing_else_is_said(faults_of: Faults) -> None:
    text = _with("'Not enough memory\\.", "'Not (enough memory\\.").replace("phase: kv-pool", "captures: {n: int}\n      where: hit.m > 5", 1)
    (fault,) = faults_of(causes__memory=text)
    assert "no regular expression" in fault


def test_a_rule_that_is_in_no_list_is_said_once(faults_of: Faults) -> None:
    (fault,) = faults_of(causes__memory="id: my.rule\nrole: context\nline: 'no memory'\nsays: it\n")
    assert (
        fault
        == "causes/memory.yaml:1:1: one rule by itself is no list of rules (a list of rules begins with '- id:', and the other keys stand below 'id')"
    )


def test_all_faults_of_all_files_come_in_one_go(faults_of: Faults) -> None:
    faults = faults_of(causes__memory=_with("gpu-oom-init", "oom").replace("role: root", "role: rot"), causes__other=_with("[weights,", "[wieghts,"))
    assert [fault.split(":")[0] for fault in faults] == ["causes/memory.yaml"] * 2 + ["causes/other.yaml"] * 2


def test_a_taken_id_hints_at_one_that_is_free(faults_of: Faults) -> None:
    own = _with("sglang.kv-pool-too-small", "my.words")
    (fault,) = faults_of(causes__memory=own, causes__more=own)
    assert fault.endswith("(choose a name of your own, e.g. 'my.words-2')")


def test_an_id_stands_once_in_all_files(faults_of: Faults) -> None:
    (fault,) = faults_of(causes__memory=WELL, causes__other=WELL)
    assert fault.startswith("causes/other.yaml:1:7: the id 'sglang.kv-pool-too-small' is taken — by ")
    assert fault.endswith("causes/memory.yaml:1:7 (choose a name of your own, e.g. 'my.kv-pool-too-small')")


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
        pytest.param("- id: &x [*x]\n", "causes/a.yaml:1:7: an alias (*name) is not taken in rules", id="a loop of aliases"),
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


# --------------------------------------------------------------------------- sequences, versions, types, former ids

JOINED = """
    - id: a.worker
      cause: gpu-oom-init
      role: root
      was: [a.old-worker]
      since: "0.5.9"
      until: "0.6"
      line: 'worker (?P<rank>\\d+) asked for (?P<asked>[\\d.]+ GiB)'
      captures: {asked: gib, rank: int}
      preceded_by: ['^Traceback', 'in forward']
      followed_by: 'gave up'
      not_preceded_by: 'warm-up'
      not_followed_by: ['recovered', 'came back']
      scope: rank
      within_lines: 50
      pick: first
      where: hit.asked > 4 and not seen('b.calm')
      samples: {hit: [{text: worker 3 asked for 5 GiB}], miss: [{text: worker, why: nothing asked}]}
    - id: b.calm
      role: benign
      line: 'all is calm'
      samples: {hit: [{text: all is calm}], miss: [{text: calm, why: not all}]}
    - id: c.when
      role: state
      cause: startup-hang
      when: seen('a.old-worker') and before('a.worker', life.ended_at)
      samples: {hit: [{capture: x}], miss: [{capture: y, why: another}]}
"""


def test_a_rule_is_read_with_all_that_it_asks_for(rules_of: Rules) -> None:
    found = rules_of(causes__joined=JOINED)
    rule = found.rules[0]
    assert (rule.was, rule.since, rule.until, rule.captures) == (("a.old-worker",), "0.5.9", "0.6", {"asked": "gib", "rank": "int"})
    assert (rule.preceded_by, rule.followed_by) == (("^Traceback", "in forward"), ("gave up",))
    assert (rule.not_preceded_by, rule.not_followed_by) == (("warm-up",), ("recovered", "came back"))
    assert (rule.scope, rule.within_lines, rule.pick, rule.sequence) == ("rank", 50, "first", True)
    assert found.rule("a.old-worker") is rule
    assert (found.current("a.old-worker"), found.current("gpu-oom-init")) == ("a.worker", "gpu-oom-init")


def test_a_rule_that_asks_for_nothing_looks_in_its_record_and_counts_every_hit(rules_of: Rules) -> None:
    (rule,) = rules_of(causes__memory=WELL).rules
    assert (rule.scope, rule.within_lines, rule.pick, rule.sequence, rule.captures) == ("record", 200, "all", False, {})


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        pytest.param("[a.old-worker]", "[b.calm]", "18:7: the id 'b.calm' is taken — by causes/joined.yaml:4:9 (choose a name of your own, e.g. 'my.calm')", id="a former id that another has"),
        pytest.param("[a.old-worker]", "[a.worker]", "4:9: the id 'a.worker' is taken — by causes/joined.yaml:1:7 (choose a name of your own, e.g. 'my.worker')", id="a former id of its own"),
        pytest.param("id: b.calm", "id: b.Calm/2", "18:7: an id is made of small letters and digits with . - _ between them: 'b.Calm/2'", id="an odd id"),
        pytest.param('"0.5.9"', '"newest"', "5:10: no version: 'newest' (as in '0.5.9' or '0.6.3.post1')", id="no version"),
        pytest.param('"0.5.9"', "0.5", "5:10: 'since' has to be a text, this is a number (quote it)", id="a version without quotes"),
        pytest.param('"0.5.9"', '"0.7"', "5:10: since 0.7 is after until 0.6", id="since after until"),
        pytest.param("{asked: gib,", "{askd: gib,", "8:14: the line has no group 'askd' (did you mean 'asked'?)", id="a capture that is no group"),
        pytest.param("asked: gib,", "asked: gb,", "8:21: unknown type 'gb' (did you mean 'gib'?)", id="an unknown type"),
        pytest.param("'^Traceback',", "'^.*',", "9:17: this expression has no literal text of 4 characters that must occur (every alternative needs a literal word, so that lines can be sorted out without the expression)", id="a neighbour without a literal"),
        pytest.param("'in forward'", "'in (forward'", "9:35: no regular expression: missing ), unterminated subpattern", id="a neighbour that is no expression"),
        pytest.param("scope: rank", "scope: ranks", "13:10: unknown scope 'ranks' (did you mean 'rank'?)", id="an unknown scope"),
        pytest.param("within_lines: 50", "within_lines: 0", "14:17: 'within_lines' has to be a whole number, 1 or more", id="no lines"),
        pytest.param("pick: first", "pick: frist", "15:9: unknown pick 'frist' (did you mean 'first'?)", id="an unknown pick"),
        pytest.param("hit.asked", "hit.askd", "16:10: the line captures no 'askd'\n  hit.askd > 4 and not seen('b.calm')\n  ^ (did you mean 'asked'?)", id="a hit without that capture"),
        pytest.param("hit.asked > 4", "life.stalled", "16:10: 'life.stalled' is not known where a line is placed\n  life.stalled and not seen('b.calm')\n  ^ (did you mean 'life.started_at'?)", id="a fact that no where knows"),
        pytest.param("seen('b.calm')", "seen('b.clam')", "16:37: unknown rule 'b.clam'\n  hit.asked > 4 and not seen('b.clam')\n                             ^ (did you mean 'b.calm'?)", id="an unknown rule in a where"),
        pytest.param("seen('b.calm')", "seen('c.when')", "16:37: 'c.when' is no line rule\n  hit.asked > 4 and not seen('c.when')\n                             ^", id="a rule without a line"),
        pytest.param("seen('b.calm')", "seen('a.worker')", "16:37: the 'where' of 'a.worker' asks for other rules itself\n  hit.asked > 4 and not seen('a.worker')\n                             ^ (ask in a 'when')", id="a where that asks for one that asks"),
        pytest.param("before('a.worker'", "before('a.wroker'", "25:41: unknown rule 'a.wroker'\n  seen('a.old-worker') and before('a.wroker', life.ended_at)\n                                  ^ (did you mean 'a.worker'?)", id="an unknown rule in a when"),
        pytest.param("      line: 'all is calm'\n", "      line: 'all is calm'\n      scope: source\n", "21:10: 'scope' says where other lines are looked for, and none is asked for (it goes with pick, preceded_by, followed_by, not_preceded_by, not_followed_by)", id="a scope for nothing"),
        pytest.param("      line: 'all is calm'\n", "      line: 'all is calm'\n      within_lines: 9\n", "21:17: 'within_lines' says how far other lines are looked for, and none is asked for (it goes with preceded_by, followed_by, not_preceded_by, not_followed_by)", id="a reach for nothing"),
        pytest.param("      when: seen", "      followed_by: gave up\n      when: seen", "25:16: 'followed_by' belongs to a line, and there is no 'line'", id="a neighbour of no line"),
        pytest.param("      when: seen", "      pick: last\n      when: seen", "25:9: 'pick' belongs to a line, and there is no 'line'", id="a pick of no line"),
    ],
)  # fmt: skip
def test_a_fault_in_what_a_rule_asks_for_is_named_with_its_place(faults_of: Faults, old: str, new: str, fault: str) -> None:
    assert old in JOINED
    wanted = f"causes/joined.yaml:{fault}".partition("(by")[0]
    assert wanted in [found.partition("(by")[0] for found in faults_of(causes__joined=JOINED.replace(old, new))]


def test_what_asks_for_a_rule_that_is_broken_is_not_at_fault_itself(faults_of: Faults) -> None:
    (fault,) = faults_of(causes__joined=JOINED.replace("asked: gib,", "asked: gb,"))
    assert "unknown type 'gb'" in fault


def test_the_versions_of_a_mark_are_a_range(faults_of: Faults) -> None:
    profile = "profile: x\nmarks:\n  - {mark: ready, phase: ready, line: 'is ready now', version: 0.5 up, samples: {hit: ['is ready now'], miss: [ready]}}\n"
    (fault,) = faults_of(servers__x=profile)
    assert fault == "servers/x.yaml:3:64: no version and no range of versions: '0.5 up' ('0.5.4..0.5.9', '0.5.20..' or '..0.5.19')"


@pytest.mark.parametrize(
    ("mark", "wanted"),
    [
        (
            "{mark: software, what: NCCL, line: 'NCCL version \\d', samples: {hit: ['NCCL version 2']}}",
            "a software's expression needs a group named 'value'",
        ),
        ("{mark: software, line: 'NCCL version (?P<value>\\d)', samples: {hit: ['NCCL version 2']}}", "nobody says what software that is"),
    ],
    ids=["no value", "no name"],
)
def test_the_mark_of_a_software_has_a_value_and_a_name(mark: str, wanted: str, faults_of: Faults) -> None:
    (fault,) = faults_of(servers__x=f"profile: x\nmarks:\n  - {mark}\n")
    assert wanted in fault


def test_the_mark_of_a_software_may_take_its_name_from_the_line_and_a_profile_names_its_noise(rules_of: Rules) -> None:
    mark = "{mark: software, line: '(?P<name>NCCL_\\w{1,20}) set to (?P<value>\\d)', samples: {hit: [NCCL_DEBUG set to 1]}}"
    (profile,) = rules_of(servers__x=f"profile: x\nnoise: [random_seed]\nmarks:\n  - {mark}\n").profiles
    assert (profile.marks[0].what, profile.noise) == (None, ("random_seed",))

"""The table of a server's flags by version: what is read, what is refused, and what is answered for a version, a range, or none."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from forensics.ruleset import RuleSet, flags
from forensics.ruleset.describe import lines
from forensics.ruleset.lint import lint
from forensics.ruleset.plain import plain, read
from forensics.ruleset.schema import Profile
from forensics.ruleset.shipped import shipped_rules

PROFILE = """
    profile: acme
    title: Acme
    launch: ['\\bacme\\b']
    aliases: {--pool-size: [-p]}
"""
TABLE = """
    flags_of: acme
    source: acme, all its releases
    checked: ['1.0', '1.1', '2.0', '3.0']
    abbreviations: true
    flags:
      1.0..3.0: [--port, --pool-size, --max-batch]
      1.0..1.1: [--old-name, --gone]
      2.0..3.0: [--new-name]
      '1.1': [--short-lived]
      '3.0': [--newest]
    renamed: {--old-name: --new-name}
    replaced: [{flags: [--gone], by: [--port], says: the port says it}]
    elsewhere: {--batch: --max-batch}
    costs: {--max-batch: {raise: more memory is taken}}
"""
Rules = Callable[..., RuleSet]


@pytest.fixture
def acme(rules_of: Rules) -> Profile:
    profile = rules_of(servers__acme=PROFILE, servers__acme_flags=TABLE).profile("acme")
    assert profile is not None
    return profile


@pytest.mark.parametrize(
    ("flag", "version", "there"),
    [
        ("--port", "1.0", True),
        ("--port", "1.5", True),
        ("--port", "0.9", None),  # nobody looked at that one
        ("--port", "3.5", None),
        ("--port", None, None),
        ("--old-name", "1.1", True),
        ("--old-name", "1.5", None),  # gone somewhere between
        ("--old-name", "2.0", False),
        ("--old-name", "3.5", False),
        ("--old-name", "1.0…1.1", True),
        ("--old-name", "1.1…2.0", None),
        ("--old-name", "2.0…", False),
        ("--new-name", "…1.1", False),
        ("--new-name", "…2.0", None),
        ("--short-lived", "1.1", True),
        ("--short-lived", "1.0", False),
        ("--never", "1.0", False),
        ("--never", None, False),
        ("-p", "1.0", True),  # as the flag that it is short for
        ("--no-port", "1.0", None),  # a switch may have it, and a list of flags does not tell
        ("--no-newest", "1.0", False),
    ],
)
def test_whether_a_version_has_a_flag(acme: Profile, flag: str, version: str | None, there: bool | None) -> None:
    assert flags.has(acme, flag, version) is there


@pytest.mark.parametrize(
    ("flag", "version", "said"),
    [
        ("--old-name", "1.0", "--old-name"),
        ("--old-name", "2.0", "--new-name"),
        ("--new-name", "1.0…1.1", "--old-name"),
        ("--new-name", "2.0…", "--new-name"),
        ("--old-name", "1.0…2.0", "--new-name (--old-name up to 1.1)"),
        ("--old-name", None, "--new-name (--old-name up to 1.1)"),
        ("--pool-size", None, "--pool-size"),
        ("-p", "1.0", "-p"),
    ],
)
def test_a_flag_is_spelled_as_the_version_does_and_both_ways_where_a_range_has_both(acme: Profile, flag: str, version: str | None, said: str) -> None:
    assert str(flags.spelled(acme, flag, version)) == said


@pytest.mark.parametrize(("flag", "version"), [("--never", None), ("--newest", "1.0"), ("--gone", "2.0"), ("--short-lived", "2.0…3.0")])
def test_a_flag_that_the_version_does_not_have_has_no_spelling(acme: Profile, flag: str, version: str | None) -> None:
    assert flags.spelled(acme, flag, version) is None


def test_another_servers_flag_is_told_by_its_name_here(acme: Profile) -> None:
    assert str(flags.called_here(acme, "--batch", "1.0")) == "--max-batch"
    assert flags.called_here(acme, "--never", "1.0") is None


def test_a_profile_without_a_table_is_taken_at_its_word() -> None:
    assert str(flags.spelled(Profile(name="x"), "--whatever", "1.0")) == "--whatever"
    assert flags.has(Profile(name="x"), "--whatever", "1.0") is None


def test_when_a_flag_was_there_is_said_by_the_versions_that_were_checked(acme: Profile) -> None:
    assert acme.flags is not None
    told = {
        flag: flags.lasts(acme.flags, span)
        for flag in ("--port", "--old-name", "--new-name", "--short-lived")
        if (span := flags.span_of(acme.flags, flag))
    }
    assert told == {"--port": "", "--old-name": "up to 1.1", "--new-name": "from 2.0 on", "--short-lived": "in 1.1 only"}


def test_the_cost_is_that_of_the_way(acme: Profile) -> None:
    assert flags.cost_of(acme, "--max-batch", "raise") == "more memory is taken"
    assert flags.cost_of(acme, "--max-batch", "lower") is None
    assert flags.cost_of(None, "--max-batch", "raise") is None


def test_rules_show_lists_the_flags_with_their_versions(acme: Profile) -> None:
    told = list(lines(acme))
    assert "flags of 1.0 … 1.1: --old-name, --gone" in told
    assert "renamed: --old-name → --new-name" in told
    assert "costs: raise --max-batch: more memory is taken" in told


def test_the_table_is_part_of_the_compiled_rules(acme: Profile) -> None:
    assert read(json.dumps(plain(acme))) == acme
    compiled = {p.name for p in shipped_rules().profiles if p.flags is not None and p.flags.checked}
    assert {"sglang", "vllm", "tgi"} <= compiled


def test_every_fault_of_a_table_is_said_with_its_place(faults_of: Callable[..., list[str]]) -> None:
    wrong = """
        flags_of: acme
        source: x
        checked: ['1.1', '1.0', new]
        flags:
          1.0..9.0: [--port, port, --port]
        renamed: {--port: --porter}
        costs: {--prot: {rise: x}}
        speed: 3
    """
    found = faults_of(servers__acme=PROFILE, servers__acme_flags=wrong)
    assert [f.partition(" (")[0] for f in found] == [
        "servers/acme_flags.yaml:3:10: no version: 'new'",
        "servers/acme_flags.yaml:3:10: the versions have to be in order, oldest first, each once",
        "servers/acme_flags.yaml:5:3: '9.0' is not among the versions that were checked",
        "servers/acme_flags.yaml:5:13: '--port' stands twice",
        "servers/acme_flags.yaml:5:22: no flag: 'port'",
        "servers/acme_flags.yaml:6:19: '--porter' is not among the flags",
        "servers/acme_flags.yaml:7:9: '--prot' is not among the flags",
        "servers/acme_flags.yaml:7:18: unknown key 'rise' in '--prot'",
        "servers/acme_flags.yaml:8:1: unknown key 'speed' in a table of flags",
    ]


def test_a_table_of_a_profile_that_is_not_there_or_lists_its_flags_itself_is_a_fault(faults_of: Callable[..., list[str]]) -> None:
    (alone,) = faults_of(servers__acme=PROFILE.replace("acme", "acne"), servers__flags=TABLE)
    assert alone == "servers/flags.yaml:1:11: there is no profile 'acme' here for these flags (did you mean 'acne'?)"
    twice = faults_of(servers__acme=PROFILE + "    flags: [--port]\n", servers__flags=TABLE)
    assert any("lists its flags itself" in fault for fault in twice)


RULE = """
    - id: acme.full
      cause: gpu-oom-init
      role: root
      from: server
      server: [acme]
      until: '1.1'
      line: 'the pool of acme is full'
      says: it is full
      advise:
        - {text: well}
        - {flag: --newest, direction: raise}
      source: acme 1.0
      samples: {hit: [{text: the pool of acme is full}], miss: [{text: the pool of acme is half full, why: not yet}]}
"""


def test_a_flag_out_of_the_versions_of_its_rule_is_a_fault_at_its_place(rules_of: Rules) -> None:
    (note,) = lint(rules_of(servers__acme=PROFILE, servers__acme_flags=TABLE, causes__x=RULE))
    assert note.text == "acme.full: no version that it is for (1.1 or older) has '--newest'"
    assert note.hint == "acme has it from 3.0 on"
    assert str(note.at).endswith("causes/x.yaml:11:14")
    assert note.fault


def test_a_flag_that_only_another_spelling_of_has_in_those_versions_is_none(rules_of: Rules) -> None:
    assert lint(rules_of(servers__acme=PROFILE, servers__acme_flags=TABLE, causes__x=RULE.replace("--newest", "--new-name"))) == []


def test_a_misspelt_flag_gets_a_suggestion(rules_of: Rules) -> None:
    (note,) = lint(rules_of(servers__acme=PROFILE, servers__acme_flags=TABLE, causes__x=RULE.replace("--newest", "--max-bacth")))
    assert (note.text, note.hint) == ("acme.full: '--max-bacth' is no flag of acme", "did you mean '--max-batch'?")

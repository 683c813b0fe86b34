from __future__ import annotations

from collections.abc import Callable

import pytest

from forensics.model import MarkKind, Origin, Phase
from forensics.ruleset import RuleSet
from forensics.ruleset.loading import read

Rules = Callable[..., RuleSet]
Faults = Callable[..., list[str]]

WELL = """
    profile: sglang
    title: SGLang
    launch: ['sglang\\.launch_server']
    port: 30000
    port_flag: --port
    prefixes: ['^\\[(?P<stamp>[^\\]]{1,30})(?: (?P<rank>TP\\d+))?\\] ']
    self_kill: SIGKILL
    unbound_while_loading: true
    exit_codes: {2: the command line was refused, -9: killed}
    endpoints:
      - {path: /v1/models, says: listening}
      - {path: /health, says: ready, limit_s: 2.5}
    aliases: {--tp-size: [--tp, --tensor-parallel-size]}
    extra: {first_wait_s: 20, words: [a, {b: true}]}
    marks:
      - {mark: begin, phase: weights, draft: true, again: draft-worker, line: 'Load weight begin', samples: {hit: [Load weight begin. avail mem=94.30 GB]}}
      - {mark: begin, phase: weights, line: 'Loading model from', samples: {hit: [Loading model from /models/x]}}
      - {mark: end, phase: weights, next: kv-pool, line: 'Load weight end', keep: 7, samples: {hit: [Load weight end.], miss: [Load weight begin.]}}
      - {mark: ready, from: any, line: 'ready to roll', version: 0.4..0.5, samples: {hit: ['The server is fired up and ready to roll!']}}
    memory:
      flag: --mem-fraction-static
      argument: mem_fraction_static
      fraction_of: free
      figures:
        - {fact: free_after_weights_gib, line: 'avail mem=(?P<value>[\\d.]+) GB', take: last, unit: GiB, samples: {hit: [avail mem=54.75 GB]}}
"""


def _with(old: str, new: str) -> str:
    assert old in WELL
    return WELL.replace(old, new)


def test_a_profile_is_read_with_all_that_it_says(rules_of: Rules) -> None:
    profile = rules_of(servers__sglang=WELL).profile("sglang")

    assert profile is not None
    assert (profile.port, profile.port_flag, profile.self_kill, profile.exit_zero_is_crash, profile.unbound_while_loading) == (
        30000,
        "--port",
        "SIGKILL",
        False,
        True,
    )
    assert profile.exit_codes == {2: "the command line was refused", -9: "killed"}
    assert [(e.path, e.says, e.limit_s) for e in profile.endpoints] == [("/v1/models", "listening", 3.0), ("/health", "ready", 2.5)]
    assert profile.aliases == {"--tp-size": ("--tp", "--tensor-parallel-size")}
    assert profile.extra == {"first_wait_s": 20, "words": ["a", {"b": True}]}
    assert profile.memory is not None
    assert [(f.id, f.fact, f.take) for f in profile.memory.figures] == [("sglang:figure:free_after_weights_gib#1", "free_after_weights_gib", "last")]


def test_marks_have_ids_of_profile_kind_phase_and_number(rules_of: Rules) -> None:
    (profile,) = rules_of(servers__sglang=WELL).profiles

    assert [mark.id for mark in profile.marks] == ["sglang:begin:weights#1", "sglang:begin:weights#2", "sglang:end:weights#1", "sglang:ready#1"]
    first, _, end, ready = profile.marks
    assert (first.draft, first.again, first.from_, first.keep) == (True, Phase.DRAFT_WORKER, Origin.SERVER, 200)
    assert (end.kind, end.next, end.keep) == (MarkKind.END, Phase.KV_POOL, 7)
    assert (ready.from_, ready.version) == (Origin.ANY, "0.4..0.5")


def test_marks_are_from_whom_the_profile_is_from(rules_of: Rules) -> None:
    (profile,) = rules_of(lifecycle__systemd=_with("title: SGLang", "from: systemd")).profiles
    assert [str(mark.from_) for mark in profile.marks] == ["systemd", "systemd", "systemd", "any"]


def test_the_lifecycle_of_units_is_told_by_systemd_alone() -> None:
    systemd = read().rules.profile("systemd")
    assert systemd is not None
    assert {mark.from_ for mark in systemd.marks} == {Origin.SYSTEMD}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param(_with("mark: ready", "mark: redy"), "19:12: unknown mark 'redy' (did you mean 'ready'?)", id="unknown mark"),
        pytest.param(_with("mark: ready", "mark: start"), "19:12: unknown mark 'start' (of a server: arguments, begin, end, progress, listening,", id="mark of others"),
        pytest.param(_with("mark: begin, phase: weights, line", "mark: begin, line"), "17:12: a mark 'begin' says of which phase (phase: launch, distributed-init,", id="begin without a phase"),
        pytest.param(_with("mark: end, phase: weights, next: kv-pool", "mark: end"), "18:12: a mark 'end' says of which phase", id="end without a phase"),
        pytest.param(_with("mark: end, phase: weights, next: kv-pool", "mark: progress"), "18:12: a mark 'progress' says of which phase", id="progress without a phase"),
        pytest.param(_with("0.4..0.5", "0.9..0.5"), "19:62: a range that holds no version: '0.9..0.5' (the older one stands first, as in '0.5.4..0.5.9')", id="range the wrong way"),
        pytest.param(_with("unit: GiB", "unit: pages"), "25:96: unknown unit 'pages' (one of GiB, MiB, GB, MB)", id="unknown unit"),
        pytest.param(_with("fact: free_after_weights_gib", "fact: pool_tokens"), "25:85: 'pool_tokens' is no size, and has no unit", id="unit of no size"),
        pytest.param(_with("take: last", "take: before:pool_gb"), "25:84: unknown figure 'pool_gb' (did you mean 'pool_gib'?)", id="before no figure"),
        pytest.param(_with("fraction_of: free", "fraction_of: free\n      default: 80"), "24:12: a 'default' is a share, above 0 and at most 1 (0.8?)", id="default in per cent"),
        pytest.param(_with("fraction_of: free", "fraction_of: free\n      default: -0.1"), "24:12: a 'default' is a share, above 0 and at most 1", id="default below 0"),
        pytest.param(_with("next: kv-pool", "next: kvpool"), "18:39: unknown phase 'kvpool' (did you mean 'kv-pool'?)", id="unknown phase"),
        pytest.param(_with("draft: true", "draft: yes"), "16:42: plain 'yes' is a boolean in YAML 1.1 (quote it, or write true or false)", id="yes"),
        pytest.param(_with("draft: true", "draft: 1"), "16:42: 'draft' has to be true or false, this is a number", id="number for a flag"),
        pytest.param(_with("port: 30000", "port: 300000"), "4:7: no port: 300000", id="no port"),
        pytest.param(_with("port: 30000", "port: '30000'"), "4:7: 'port' has to be a number, this is a text", id="text for a number"),
        pytest.param(_with("(?P<rank>", "(?P<runk>"), "6:11: a prefix has no group 'runk' (stamp, rank, pid or proc)", id="unknown group"),
        pytest.param(_with("{1,30})(", "{1,30}("), "6:16: no regular expression: missing ), unterminated subpattern", id="broken prefix"),
        pytest.param(_with("fraction_of: free", "fraction_of: fre"), "23:16: unknown fraction_of 'fre' (did you mean 'free'?)", id="unknown budget"),
        pytest.param(_with("(?P<value>", "("), "25:44: a figure's expression needs a group named 'value'", id="figure without a value"),
        pytest.param(_with("take: last", "take: lst"), "25:84: unknown take 'lst' (did you mean 'last'?)", id="unknown take"),
        pytest.param(_with("{2:", "{two:"), "9:14: an exit code is a whole number, not 'two'", id="exit code in words"),
        pytest.param(_with("path: /health", "path: health"), "12:12: a path begins with a slash: 'health'", id="path without a slash"),
        pytest.param(_with("'ready to roll'", "'[a-z]+'"), "19:36: this expression has no literal text of 4 characters that must occur", id="no anchor"),
        pytest.param(_with(", miss: [Load weight begin.]", ", mis: [Load weight begin.]"), "18:117: unknown key 'mis' in 'samples' (did you mean 'miss'?)", id="unknown key"),
        pytest.param(_with("samples: {hit: [Loading model from /models/x]}", "what: x"), "17:5: a mark has no samples", id="no samples"),
        pytest.param(_with("extra: {first_wait_s: 20, words: [a, {b: true}]}", "extra: 3"), "14:8: 'extra' has to be a mapping", id="extra"),
        pytest.param(_with("profile: sglang", "name: sglang"), "1:1: a profile has no 'profile'", id="no name"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_place(faults_of: Faults, text: str, fault: str) -> None:
    found = faults_of(servers__sglang=text)
    assert any(f.startswith(f"servers/sglang.yaml:{fault}") for f in found), found


def test_two_profiles_of_one_name_are_refused(faults_of: Faults) -> None:
    (fault,) = faults_of(servers__a=WELL, servers__b=WELL)
    assert fault.startswith("servers/b.yaml:1:10: the id 'profile sglang' is taken")


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("profile: sglang", 'profile: "a\\e[31mb"', "a profile's name is made of small letters and digits with . - _ between them"),
        ("profile: sglang", "profile: " + "a" * 81, "a profile's name is made of small letters"),
        ("port: 30000", "port: .inf", "'.inf' is no finite number"),
        ("path: /health", "path: /health$(id)", "a path of letters, digits and ._~/?=&%:+- is asked for, not '/health$(id)'"),
        ("limit_s: 2.5", "limit_s: -1", "'limit_s' is more than 0 and at most 60 seconds"),
        ("limit_s: 2.5", "limit_s: 86400", "'limit_s' is more than 0 and at most 60 seconds"),
    ],
)
def test_what_no_host_could_be_asked_with_is_refused_as_it_is_loaded(faults_of: Faults, old: str, new: str, fault: str) -> None:
    (found,) = faults_of(servers__sglang=_with(old, new))
    assert fault in found

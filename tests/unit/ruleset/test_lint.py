from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from forensics.ruleset import RuleSet
from forensics.ruleset.lint import Level, lint, slow
from forensics.ruleset.loading import read
from forensics.ruleset.places import layout

Rules = Callable[..., RuleSet]


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        pytest.param(r"(a+)+b", "an endless repeat within a repeat", id="nested"),
        pytest.param(r"(?:\w+\s*)*failed", "an endless repeat within a repeat", id="words with or without spaces"),
        pytest.param(r"(?:x.*){2,9}y", "an endless repeat within a repeat", id="anything, several times"),
        pytest.param(r"(?:[a-z]{0,200}){0,200}b", "an endless repeat within a repeat", id="bounded, but by much"),
        pytest.param(r"Capture.*failed.*out.*memory", "more than 2 endless repeats", id="three stars"),
        pytest.param(r"(?:Capture.*)(?:failed.*)out\S+memory", "more than 2 endless repeats", id="three stars in groups"),
        pytest.param(r"(\w+) \1 twice", "a back reference", id="back reference"),
        pytest.param(r"Capture.*failed", None, id="one star"),
        pytest.param(r"rank( TP\d+)* died", None, id="turns that begin with what no digit is"),
        pytest.param(r"Capture (?:\w+ ){1,3}graph end", None, id="turns that end with what no letter is"),
        pytest.param(r"a[^\n]{0,200}b[^\n]{0,200}c[^\n]{0,200}d", None, id="bounded"),
        pytest.param(r"(?:a.*|b.*|c.*) end", None, id="one star in each alternative"),
        pytest.param(r"(?<!not )ready", "look-ahead and look-behind", id="look-behind"),
        pytest.param(r"ready(?! or not)", "look-ahead and look-behind", id="look-ahead"),
    ],
)
def test_an_expression_that_can_take_long_is_refused(pattern: str, fault: str | None) -> None:
    found = slow(pattern)
    assert bool(found) is bool(fault), found
    assert not fault or any(text.startswith(fault) for text in found)


def test_what_the_lint_takes_for_fast_is_fast_on_a_bad_line() -> None:
    import re

    line = "Capture graph failed " * 400
    for pattern in (r"Capture.*failed.*xout", r"(?:\w+ ){1,3}graph end", r"rank( TP\d+)* died"):
        assert not slow(pattern)
        start = time.perf_counter()
        re.search(pattern, line[:8192])
        assert time.perf_counter() - start < 10


@pytest.mark.skipif(sys.version_info < (3, 11), reason="re has them from Python 3.11 on")
def test_what_older_pythons_do_not_know_is_refused() -> None:
    assert slow("(?>ab)+c") == ["possessive repeats and atomic groups need Python 3.11"]


def test_without_re2_the_lint_does_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    assert slow(r"out of memory") == []
    assert slow(r"(a+)+b")


def test_an_expression_that_re2_refuses_is_named_where_re2_is_installed() -> None:
    pytest.importorskip("re2")
    assert slow(r"x{1001}")[0].startswith("RE2 refuses it: ")


TWO = """
    - id: a
      cause: gpu-oom-init
      role: root
      line: 'out of memory in the pool'
      says: the pool is too small
      source: seen here
      samples: {hit: [{text: out of memory in the pool}], miss: [{text: out of memory elsewhere}, {text: out of memory elsewhere}]}
    - id: b
      cause: gpu-oom-init
      role: root
      line: 'out of memory'
      says: something is too small
      source: seen here
      samples: {hit: [{text: out of memory}], miss: [{text: no memory}]}
"""


def test_a_sample_that_stands_twice_is_a_fault(rules_of: Rules) -> None:
    faults = [str(note) for note in lint(rules_of(causes__x=TWO)) if note.fault]
    assert len(faults) == 1
    assert faults[0].endswith("causes/x.yaml:7:95: a: this sample stands twice: 'out of memory elsewhere'")


def test_a_rule_that_takes_the_misses_of_its_neighbour_is_a_warning(rules_of: Rules) -> None:
    warnings = {note.text for note in lint(rules_of(causes__x=TWO)) if not note.fault}
    assert warnings == {"'b' matches a miss of 'a', of the same cause: 'out of memory elsewhere'"}


def test_there_is_no_warning_where_one_of_the_two_is_over_the_other(rules_of: Rules) -> None:
    assert not [note for note in lint(rules_of(causes__x=TWO.replace("- id: a\n", "- id: a\n      over: [b]\n"))) if not note.fault]


def test_the_prefixes_of_a_profile_are_looked_at_too(rules_of: Rules) -> None:
    (note,) = lint(rules_of(servers__x="profile: x\nprefixes: ['^(?:(?P<rank>\\w+)\\s*)*: ']\n"))
    assert "servers/x.yaml:1:10: profile x, prefixes: an endless repeat within a repeat, as in '(a+)+' (bound or drop one of the two, or" in str(note)
    assert note.hint.endswith("; it is ^(?:(?P<rank>\\w+)\\s*)*: ")


# --------------------------------------------------------------------------- one rule, one finding

WELL = """
    - id: a.well
      cause: gpu-oom-init
      role: root
      from: server
      line: 'out of memory in pool (?P<pool>\\d{1,4})'
      says: 'pool {pool} is too small'
      advise: [{text: 'make pool {pool} larger', flag: --pool-size}]
      source: seen here
      samples: {hit: [{text: out of memory in pool 7}], miss: [{text: out of memory elsewhere}]}
"""


def _with(old: str, new: str) -> str:
    assert old in WELL
    return WELL.replace(old, new)


def test_nothing_is_said_of_a_rule_that_is_well(rules_of: Rules) -> None:
    assert lint(rules_of(causes__x=WELL)) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(_with("'pool {pool} is too small'", '""'), "1:3: a.well has no 'says'", id="no says"),
        pytest.param(_with("      source: seen here\n", ""), "1:3: a.well has no 'source'", id="no source"),
        pytest.param(_with("'pool {pool} is", "'pool {pol} is"), "6:9: a.well: nothing fills '{pol}': no such capture (did you mean 'pool'?)", id="unknown blank"),
        pytest.param(_with("make pool {pool} larger", "make {hit} larger"), "7:11: a.well: nothing fills '{hit}': no such capture (captures of its line: pool)", id="unknown blank in an advice"),
        pytest.param(_with("in pool 7}]", "in pool seven}]"), "9:19: a.well does not match its own hit", id="hit not taken"),
        pytest.param(_with("memory elsewhere", "memory in pool 12"), "9:60: a.well matches its own miss", id="miss taken"),
        pytest.param(_with("in pool (", "in pool(?<!x) ("), "5:9: a.well: look-ahead and look-behind cannot run in linear time", id="look-behind"),
        pytest.param(_with("      source:", "      captures: {pool: gib}\n      source:").replace("\\d{1,4}", "\\w{1,4}").replace("pool 7}", "pool x7}"), "10:19: a.well: 'x7', captured as 'pool', is no gib", id="a type that cannot be read"),
        pytest.param(_with("      from: server", "      only_in: [draft-worker]\n      from: server"), "4:12: 'a.well' is only_in draft-worker, and no mark of s leads there", id="a phase that never comes"),
    ],
)  # fmt: skip
def test_a_fault_is_said_with_its_place(rules_of: Rules, text: str, said: str) -> None:
    server = "profile: s\nlaunch: ['\\bs\\b']\n"
    notes = [str(note).split("causes/x.yaml:")[-1] for note in lint(rules_of(causes__x=text, servers__s=server)) if note.fault]
    assert len(notes) == 1, notes
    assert notes[0].startswith(said)


def test_a_capture_that_nobody_uses_is_a_remark(rules_of: Rules) -> None:
    (note,) = lint(rules_of(causes__x=_with("'pool {pool} is too small'", "a pool is too small").replace("pool {pool} larger", "it larger")))
    assert (note.level.value, note.text) == ("remark", "a.well: nobody uses the capture 'pool'")


def test_a_capture_of_a_line_around_fills_nothing(rules_of: Rules) -> None:
    text = _with("      says: 'pool {pool} is", "      preceded_by: 'first of all (?P<all>\\d{1,4})'\n      says: '{all} pool {pool} is")
    text = text.replace("{text: out of memory in pool 7}", '{text: "first of all 3\\nout of memory in pool 7"}')
    said = [(note.level, note.text, note.hint) for note in lint(rules_of(causes__x=text))]
    assert said == [
        (Level.REMARK, "a.well: nobody uses the capture 'all'", "only those of 'line' are kept: write (?:…)"),
        (Level.FAULT, "a.well: nothing fills '{all}': no such capture", "'preceded_by' has it, and only those of 'line' are kept"),
    ]


def test_a_flag_that_the_server_does_not_have_is_a_fault(rules_of: Rules) -> None:
    server = "profile: a\nlaunch: ['\\ba\\b']\nflags: [--pool-sizes, --port]\n"
    (note,) = lint(rules_of(causes__x=WELL, servers__a=server))
    assert note.text == "a.well: '--pool-size' is no flag of a"
    assert note.hint == "did you mean '--pool-sizes'?"
    assert note.fault


def test_a_server_without_a_list_of_flags_knows_all(rules_of: Rules) -> None:
    assert lint(rules_of(causes__x=WELL, servers__a="profile: a\nlaunch: ['\\ba\\b']\n")) == []


def test_a_rule_that_stands_twice_under_two_names_is_a_fault(rules_of: Rules) -> None:
    (note,) = lint(rules_of(causes__x=WELL, causes__y=WELL.replace("a.well", "b.well")))
    assert note.text == "'b.well' has the same 'line' as 'a.well', and nothing that tells them apart"
    assert str(note.at).endswith("causes/y.yaml:5:9")


def test_two_rules_of_one_line_in_different_phases_are_two_rules(rules_of: Rules) -> None:
    first = _with("      from: server", "      only_in: [launch]\n      from: server")
    second = _with("      from: server", "      only_in: [launch, weights]\n      from: server").replace("a.well", "b.well")
    assert lint(rules_of(causes__x=first, causes__y=second)) == []


def test_a_rule_that_is_always_beaten_is_a_fault(rules_of: Rules) -> None:
    general = (
        WELL.replace("a.well", "b.general").replace("memory in pool (", "memory(?: in|) pool (").replace("source:", "over: [a.well]\n      source:")
    )
    (note,) = lint(rules_of(causes__x=WELL, causes__y=general))
    assert note.text == "'a.well' can never win: 'b.general' takes every one of its hits and is over it"


@pytest.mark.parametrize(("over", "beaten"), [("gpu-oom-init", True), ("a.well", False)])
def test_a_harmless_line_beats_causes_and_no_rules(rules_of: Rules, over: str, beaten: bool) -> None:
    harmless = (
        WELL.replace("a.well", "b.harmless")
        .replace("in pool (", "in( )pool (")
        .replace("role: root", "role: benign")
        .replace("source:", f"over: [{over}]\n      source:")
    )
    notes = lint(rules_of(causes__x=WELL, causes__y=harmless.replace("      cause: gpu-oom-init\n", "")))
    assert [note.text.split(":")[0] for note in notes if note.fault] == (["'a.well' can never win"] if beaten else [])


def test_a_rule_that_is_beaten_on_a_condition_can_win(rules_of: Rules) -> None:
    general = (
        WELL.replace("a.well", "b.general")
        .replace("memory in pool (", "memory(?: in|) pool (")
        .replace("source:", "over: [a.well]\n      where: life.ready\n      source:")
    )
    assert lint(rules_of(causes__x=WELL, causes__y=general)) == []


def test_only_what_is_asked_about_is_looked_at(rules_of: Rules, tmp_path: Path) -> None:
    wrong = _with("      source: seen here\n", "")
    known = rules_of(causes__x=wrong)
    own = read(
        _file(tmp_path, WELL.replace("a.well", "b.well").replace("in pool", "in the pool").replace("memory in pool 7", "memory in the pool 7")),
        beside=known,
    )
    assert not own.faults
    assert lint(own.rules, beside=known) == []


def _file(folder: Path, text: str) -> Path:
    path = folder / "own.yaml"
    path.write_text(textwrap.dedent(text))
    return path


def test_blanks_at_line_ends_are_found(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("- id: é  \n\n  role: root\t\n  cause: x\n")
    assert [str(fault).rpartition("x.yaml:")[2] for fault in layout([path])] == [
        "1:8: blanks at the end of the line (remove them)",
        "3:13: blanks at the end of the line (remove them)",
    ]


def test_line_ends_of_windows_are_said_once(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"- id: x\n  role: root\r\n  cause: x \r\n")
    assert [str(fault).rpartition("x.yaml:")[2] for fault in layout([path])] == [
        "2:1: Windows line ends (in 2 lines) (save it with plain line feeds)",
        "3:11: blanks at the end of the line (remove them)",
    ]


@pytest.mark.parametrize(
    ("pattern", "way"),
    [
        (r"(a+)+b pool", "begin each turn with a character that the inner one cannot take"),
        (r"(?:[ab]{0,9}){0,99} pool", "bound or drop one of the two"),
        (r"(?P<a>\d) in pool (?P=a)", "'where: hit.a == hit.b'"),
    ],
)
def test_a_slow_expression_has_a_way_out(pattern: str, way: str, rules_of: Rules) -> None:
    (note,) = [
        note
        for note in lint(rules_of(causes__x=_with("line: 'out of memory in pool", f"line: '{pattern}")))
        if "repeat" in note.text or "back reference" in note.text
    ]
    assert way in note.hint

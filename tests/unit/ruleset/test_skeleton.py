"""What ``rules new`` writes: it loads and passes the lint and its samples, whatever the line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forensics import redact
from forensics.errors import UsageError
from forensics.model import Origin
from forensics.ruleset import RuleSet
from forensics.ruleset.lint import lint
from forensics.ruleset.loading import load, read
from forensics.ruleset.schema import Rule
from forensics.ruleset.skeleton import MASK, profile_skeleton, rule_skeleton

NONE = RuleSet(rules=(), profiles=())
SHIPPED = load()
WORDS = ["out of memory", "rank 3", "0x7f00beef", "/models/q/x.safetensors", "12.50 GiB", "10:00:01.250", "2026-05-09 10:00:00,123", "127.0.0.1:8000", "'", '"', "''", "{}", "{x}", "%",
         "\\", "#", ": ", "- ", "& *a", "!", "(", "[", "]+", "^", "$", "ERROR", "INFO:", "8f14e45f-ceea-467f", "https://example.org/a?b=c", "日本語", "…", "é", "id=7", "-1", "1e9", "null", "on"]  # fmt: skip
printable = st.characters(exclude_categories=("C", "Zl", "Zp"), exclude_characters="\xa0").filter(str.isprintable)
lines = st.one_of(
    st.text(printable, min_size=1, max_size=200),
    st.lists(st.sampled_from(WORDS) | st.text(printable, max_size=8), min_size=1, max_size=25).map(" ".join),
)


def _rule(text: str, path: Path, known: RuleSet) -> Rule:
    path.write_text(text, encoding="utf-8")
    found = read(path, beside=known)
    assert not found.faults, "\n".join(map(str, found.faults)) + "\n" + text
    notes = [note for note in lint(found.rules) if note.fault]
    assert not notes, "\n".join(map(str, notes)) + "\n" + text
    (rule,) = found.rules.rules
    return rule


@given(line=lines)
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_printable_line_gives_a_rule_that_passes(line: str, tmp_path: Path) -> None:
    line = line.strip()
    try:
        text = rule_skeleton(line, NONE) if line else ""
    except UsageError:
        assert not re.search(r"[A-Za-z_]{4}", line), "there was something to look for"
        return
    if line:
        rule = _rule(text, tmp_path / "x.yaml", NONE)
        assert rule.line is not None
        assert re.search(rule.line, line)
        assert rule.hit[0].text == line


def test_every_shipped_sample_gives_a_rule_that_passes_beside_the_shipped_ones(tmp_path: Path) -> None:
    samples = [sample.text for rule in SHIPPED.rules if rule.line for sample in rule.hit if sample.text and sample.text.isprintable()]
    for text in samples[::23]:
        rule = _rule(rule_skeleton(text, SHIPPED), tmp_path / "x.yaml", SHIPPED)
        assert re.search(rule.line or "", text)


def test_numbers_paths_and_sizes_become_captures_that_the_text_uses(tmp_path: Path) -> None:
    rule = _rule(rule_skeleton("ERROR loader: shard 7 in /models/q/x.bin is truncated, 12.5 GiB wanted", NONE), tmp_path / "x.yaml", NONE)
    found = re.search(rule.line or "", "loader: shard 12 in /srv/y.bin is truncated, 3 MiB wanted")
    assert found is not None
    assert found.groupdict() == {"number": "12", "path": "/srv/y.bin", "size": "3 MiB"}
    assert "{number}" in rule.says
    assert "{path}" in rule.says


def test_a_masked_secret_is_anything(tmp_path: Path) -> None:
    assert MASK == redact.MASK
    rule = _rule(rule_skeleton("hub refused hf_[masked] of acme", NONE, printed="hub refused hf_a1b2c3 of acme"), tmp_path / "x.yaml", NONE)
    assert re.search(rule.line or "", "hub refused hf_9z8y7x of acme")


def test_a_stamp_and_a_level_are_not_asked_for(tmp_path: Path) -> None:
    rule = _rule(rule_skeleton("2026-05-09 10:00:00,123 ERROR loader: shard is truncated", NONE), tmp_path / "x.yaml", NONE)
    assert re.search(rule.line or "", "loader: shard is truncated")


def test_a_prompt_that_quotes_the_line_is_the_first_miss(tmp_path: Path) -> None:
    rule = _rule(rule_skeleton("loader: shard is truncated", NONE), tmp_path / "x.yaml", NONE)
    assert rule.miss[0].text == "Receive: text='loader: shard is truncated'"


def test_the_nearest_shipped_rule_is_named_and_its_cause_proposed(tmp_path: Path) -> None:
    text = rule_skeleton("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", SHIPPED, origin=Origin.SERVER)
    assert "#   sglang.kv-pool-too-small: root, gpu-oom-init, it takes this line" in text
    rule = _rule(text, tmp_path / "x.yaml", SHIPPED)
    assert (str(rule.role), str(rule.cause)) == ("root", "gpu-oom-init")


def test_a_word_in_common_is_no_likeness() -> None:
    assert "# No shipped rule has a sample that is like this line.\n" in rule_skeleton("first", SHIPPED)


def test_an_id_that_is_taken_gets_a_number() -> None:
    rule = Rule(id="my.loader-shard-truncated", role=SHIPPED.rules[0].role)
    assert "- id: my.loader-shard-truncated-2\n" in rule_skeleton(
        "loader: shard is truncated".replace(" is", ""), RuleSet(rules=(rule,), profiles=())
    )


@pytest.mark.parametrize("line", ["12 34", "日本語エラー", "a b c d", "????"])
def test_a_line_without_words_is_refused_with_the_reason(line: str) -> None:
    with pytest.raises(UsageError, match="no literal text"):
        rule_skeleton(line, NONE)


@given(name=st.from_regex(r"[a-z][a-z0-9]{1,9}(?:-[a-z0-9]{1,9}){0,2}", fullmatch=True))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_name_gives_a_profile_that_passes(name: str, tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(profile_skeleton(name), encoding="utf-8")
    found = read(path)
    assert not found.faults, "\n".join(map(str, found.faults))
    assert [str(note) for note in lint(found.rules) if note.fault] == []
    assert [profile.name for profile in found.rules.profiles] == [name]


@pytest.mark.parametrize("name", ["", "A", "a b", "../x", "x" * 40, "a'b", "1a", "a-", "a--b"])
def test_what_is_no_name_of_a_server_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="no name of a server"):
        profile_skeleton(name)

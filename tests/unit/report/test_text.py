"""The text report answers first, fits the width, and lets nothing from a log act on the terminal."""

from __future__ import annotations

import dataclasses

import pytest

from forensics.model import Cause, Coverage, Diagnosis, Evidence, Health, Life, Phase, Role, Warn
from forensics.report import cite, text
from tests.unit.report import example

BARE = Diagnosis(target="x", headline="nothing is known", health=Health.UNKNOWN, cause=Cause.UNKNOWN)


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
@pytest.mark.parametrize("diagnosis", [example.died(), example.loading()], ids=["died", "loading"])
def test_no_line_is_wider_than_asked_but_for_commands_to_copy(diagnosis: Diagnosis, width: int) -> None:
    for line in text.render(diagnosis, width=width).splitlines():
        assert cite.display_width(line) <= width or line.lstrip().startswith("$ "), line


def test_the_headline_comes_first_and_the_answer_within_a_screen() -> None:
    report = text.render(example.died(), width=80)
    assert report.startswith("sglang-qwen.service died after 32.9s in kv-pool")
    top = " ".join(report.splitlines()[:20])
    for fact in ("gpu-oom-init, established", "killed by SIGKILL, its own doing", "to at least 0.91"):
        assert fact in top


def test_what_was_seen_is_cited_with_source_line_and_time() -> None:
    assert "journal.txt:26  10:15:50  RuntimeError: Not enough memory." in text.render(example.died(), width=120)


def test_ruled_out_changed_lives_and_gaps_are_told() -> None:
    report = text.render(example.died(), width=100)
    assert "startup-race  it died before it was ready" in report
    assert "CHANGED since the last good life\n  --speculative-algorithm  NEXTN → DDTREE" in report
    assert "LIVES (2)" in report
    assert "ready after 1m34.9s; stopped by the operator" in report
    assert "not collected    kernel" in report


def test_a_starting_server_shows_phase_progress_and_the_mistyped_name() -> None:
    report = text.render(example.loading(), width=100)
    assert "!! mistyped-unit: sglash-k26-ddtree.service → sglang-k26-ddtree.service: two letters differ" in report
    assert "in weights, 23 of 64 shards" in report
    assert "8 ranks, slowest TP7" in report
    assert "never ready" not in report


def test_nothing_known_gives_no_empty_section() -> None:
    report = text.render(BARE)
    assert report == "nothing is known\n\n  cause   unknown\n  now     unknown\n  where   from x\n"


def test_no_section_title_stands_alone() -> None:
    lines = text.render(example.died(), verbose=True).splitlines()
    for title, after in zip(lines, [*lines[1:], ""], strict=True):
        assert not (title.isupper() and not after.strip()), title


def test_without_color_there_is_no_escape_and_with_color_the_words_are_the_same() -> None:
    import re

    plain = text.render(example.died(), width=100)
    colored = text.render(example.died(), width=100, color=True)
    assert "\x1b" not in plain
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain


def test_escapes_of_a_log_stay_visible_text() -> None:
    nasty = Evidence(source="log\x1b[2J", line=3, text="\x1b]0;owned\x07 \u202e --api-key s3cr3t \x00", role=Role.ROOT)
    report = text.render(dataclasses.replace(BARE, evidence=(nasty,), headline="bad \x1b[2J"), width=120)
    assert "\x1b" not in report
    assert "\x00" not in report
    assert "s3cr3t" not in report
    assert "\\x1b]0;owned\\x07 \\u202e --api-key [masked] \\x00" in report


def test_a_long_line_is_cut_with_an_ellipsis_and_whole_when_verbose() -> None:
    long = Evidence(source="log", line=1, text="x" * 400)
    diagnosis = dataclasses.replace(BARE, evidence=(long,))
    assert "…" in text.render(diagnosis)
    verbose = text.render(diagnosis, verbose=True)
    assert verbose.count("x") >= 400
    assert "…" not in verbose


def test_wide_characters_count_as_two_columns() -> None:
    diagnosis = dataclasses.replace(BARE, evidence=(Evidence(source="log", line=1, text="模型" * 100),))
    assert all(cite.display_width(line) <= 80 for line in text.render(diagnosis).splitlines())


def test_evidence_of_several_days_carries_its_days() -> None:
    lines = (Evidence(source="a", line=1, text="one", at=example.A), Evidence(source="a", line=2, text="two", at=example.A + 86400))
    assert "a:2  05-10 10:15:18  two" in text.render(dataclasses.replace(BARE, evidence=lines))


def test_candidates_are_listed_with_the_way_on() -> None:
    report = text.render(dataclasses.replace(BARE, candidates=("a.service", "b.service")))
    assert "UNITS WORTH A LOOK\n  - a.service\n  - b.service\n  name one with --unit" in report


def test_many_lives_are_shortened() -> None:
    lives = tuple(Life(index=n, started_at=example.A + n * 10, ended_at=example.A + n * 10 + 9, phase=Phase.LAUNCH) for n in range(20))
    report = text.render(dataclasses.replace(BARE, lives=lives))
    assert "LIVES (20)" in report
    assert "… 14 earlier" in report


def test_a_warning_that_tells_both_names_does_not_tell_them_twice() -> None:
    warn = Warn(kind="mistyped-unit", asked="a.service", meant="b.service", text="a.service is not there, b.service is")
    assert "!! mistyped-unit: a.service is not there, b.service is" in text.render(dataclasses.replace(BARE, warnings=(warn,)))


def test_gaps_are_gathered_by_kind() -> None:
    coverage = {
        "journal": Coverage.GIVEN,
        "kernel": Coverage.NOT_COLLECTED,
        "status": Coverage.GIVEN,
        "gpu": Coverage.NOT_COLLECTED,
        "show": Coverage.READ,
    }
    report = text.render(dataclasses.replace(BARE, coverage=coverage))
    assert report.endswith("GAPS IN THE EVIDENCE\n  not collected    kernel, gpu\n  as it was saved  journal, status\n")

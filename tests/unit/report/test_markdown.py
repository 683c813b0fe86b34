"""The post-mortem reads in order and lets no text from a log act as markup."""

from __future__ import annotations

import dataclasses

import pytest

from forensics.model import Advice, Cause, Coverage, Diagnosis, Evidence, Health, Hypothesis, Moment, Status, Template
from forensics.report import markdown
from tests.unit.report import example

BARE = Diagnosis(target="x", headline="nothing is known", health=Health.UNKNOWN, cause=Cause.UNKNOWN)


def test_the_sections_of_a_post_mortem_stand_in_order() -> None:
    titles = [line for line in markdown.render(example.died()).splitlines() if line.startswith("#")]
    assert titles[0].startswith("# Post-mortem: sglang-qwen.service died after 32.9s")
    assert titles[1:] == [
        "## Summary",
        "## Timeline (UTC)",
        "## Root cause",
        "## Start-up",
        "## Lives",
        "## What changed",
        "## Also possible",
        "## Ruled out",
        "## Actions",
        "## Gaps in the evidence",
    ]


def test_the_evidence_stands_in_a_fence_with_source_line_and_time() -> None:
    assert "journal.txt:26  2026-05-09T10:15:50Z  RuntimeError: Not enough memory." in markdown.render(example.died())


def test_nothing_known_gives_only_a_summary_and_a_cause() -> None:
    titles = [line for line in markdown.render(BARE).splitlines() if line.startswith("## ")]
    assert titles == ["## Summary", "## Root cause"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a|b", "a\\|b"),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("`code` *bold* _em_", "\\`code\\` \\*bold\\* \\_em\\_"),
        ("[text](http://x)", "\\[text\\](http://x)"),
        ("# title", "\\# title"),
        ("- item", "\\- item"),
        ("1. item", "1\\. item"),
        ("0.91 is a number", "0.91 is a number"),
        ("32.9s", "32.9s"),
        ("--flag value", "--flag value"),
        ("two\nlines", "two lines"),
        ("&lt;", "&amp;lt;"),
        ("$x$", "\\$x\\$"),
    ],
)
def test_text_is_escaped(text: str, shown: str) -> None:
    assert markdown.escaped(text) == shown


def test_a_line_with_a_fence_in_it_does_not_end_the_fence() -> None:
    nasty = Evidence(source="log", line=1, text="````\n# owned <img src=x>")
    lines = markdown.render(dataclasses.replace(BARE, evidence=(nasty,))).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("`````text"))
    assert lines[start + 1].startswith("log:1  ````")
    assert lines[start + 2] == "`````"


def test_a_pipe_in_a_log_line_does_not_add_a_column() -> None:
    moment = Moment(at=example.A, source="server", text="a | b <b>")
    row = next(line for line in markdown.render(dataclasses.replace(BARE, timeline=(moment,))).splitlines() if "a " in line and "&lt;b" in line)
    assert row == "| 2026-05-09T10:15:18Z | server | a \\| b &lt;b&gt; |"


def test_secrets_do_not_leave() -> None:
    dirty = dataclasses.replace(BARE, timeline=(Moment(at=None, source="server", text="--api-key s3cr3t"),))
    assert "s3cr3t" not in markdown.render(dirty)


def test_a_command_stands_in_its_action_and_inline_code_survives_backticks() -> None:
    own = Hypothesis(cause=Cause.UNKNOWN, status=Status.POSSIBLE, next="echo `date`")
    report = markdown.render(dataclasses.replace(BARE, advice=(Advice(text="wait", command="ddforensics wait x"),), hypotheses=(own,)))
    assert "- [ ] wait\n\n  ```sh\n  ddforensics wait x\n  ```" in report
    assert "`` echo `date` ``" in report


def test_lines_that_were_never_said_stand_in_a_fence() -> None:
    died = example.died()
    new = Template(source="journal.txt", line=31, text="``` **never** said |")
    report = markdown.render(dataclasses.replace(died, good=died.lives[0], novel=(new,)))
    assert "## New in the log since the last good life (ended 10:14:18)\n\n````text\njournal.txt:31 ``` **never** said |\n````" in report


def test_gaps_are_gathered_by_kind() -> None:
    coverage = {
        "journal": Coverage.GIVEN,
        "status": Coverage.GIVEN,
        "kernel": Coverage.NOT_COLLECTED,
        "gpu": Coverage.NOT_COLLECTED,
        "log": Coverage.NOT_COLLECTED,
    }
    report = markdown.render(dataclasses.replace(BARE, coverage=coverage))
    assert report.partition("## Gaps in the evidence\n\n")[2].splitlines() == [
        "- not collected: kernel log, state of the GPUs",
        "- excerpts that somebody saved (what is not in them may still have happened): journal, status",
        "- time zone: a time without an offset (or UTC) beside it is taken as UTC",
    ]
    assert "| Missing | the kernel log (whether it was killed, or a GPU failed) |" in report

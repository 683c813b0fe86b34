"""The text report answers first, fits the width, and lets nothing from a log act on the terminal."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

import pytest

from forensics.model import (
    Advice,
    BudgetOf,
    Cause,
    Change,
    ClientView,
    Coverage,
    Diagnosis,
    Direction,
    End,
    EndBy,
    EndKind,
    Evidence,
    Health,
    Hypothesis,
    Life,
    Memory,
    Phase,
    PhaseSpan,
    Role,
    Status,
    Template,
    Warn,
)
from forensics.report import cite, json, ledger, markdown, text
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


def compared(**more: object) -> Diagnosis:
    died = example.died()
    new = [Template(source="journal.txt", line=n, text=f"line {n} was never said", count=1 + n % 2) for n in (31, 30, 29, 28)]
    cited = Template(source="journal.txt", line=26, text=died.evidence[0].text)
    return dataclasses.replace(died, good=died.lives[0], novel=(cited, *new), **more)  # type: ignore[arg-type]


def test_the_last_good_life_is_named_by_its_end_and_new_lines_that_are_not_cited_are_shown() -> None:
    report = text.render(compared(), width=100)
    assert "CHANGED since the last good life (ended 10:14:18)\n" in report
    _, _, new = report.partition("NEW IN THE LOG since the last good life (ended 10:14:18)\n")
    assert new.partition("\n\n")[0].splitlines() == [
        "  journal.txt:31  line 31 was never said (and 1 more of it)",
        "  journal.txt:30  line 30 was never said",
        "  journal.txt:29  line 29 was never said (and 1 more of it)",
    ]


def test_a_good_life_of_another_day_is_named_with_it() -> None:
    died = compared()
    assert died.good is not None
    assert "(ended 2026-05-08 10:14:18)" in text.render(
        dataclasses.replace(died, good=dataclasses.replace(died.good, ended_at=example.A - 60 - 86400))
    )


def test_what_the_good_life_said_is_missed_only_where_nothing_else_explains_the_end() -> None:
    absent = tuple(Template(source="journal.txt", line=n, text=f"step {n} of the plugin") for n in (9, 8, 7))
    assert "NOT SAID" not in text.render(compared(absent=absent))
    report = text.render(compared(absent=absent, cause=Cause.UNKNOWN, status=None))
    assert "NOT SAID THIS TIME\n  journal.txt:9  step 9 of the plugin\n  journal.txt:8  step 8 of the plugin\n\n" in report


def test_of_many_changes_six_are_shown_and_the_rest_counted() -> None:
    many = tuple(Change(what=f"--flag-{n}", before="1", after="2", since="the last good life") for n in range(9))
    report = text.render(compared(changed=many), width=100)
    assert "--flag-5" in report
    assert "--flag-6" not in report
    assert "  … and 3 more\n" in report
    assert "--flag-8" in text.render(compared(changed=many), width=100, verbose=True)


def test_a_key_that_was_changed_is_masked_on_both_sides_and_in_the_advice() -> None:
    change = Change(what="--api-key", before="hunter1abc", after="hunter2abc", since="the last good life")
    advice = Advice(text="or roll back what changed since the last good life: --api-key hunter1abc → hunter2abc")
    for report in (text.render(compared(changed=(change,), advice=(advice,))), json.render(compared(changed=(change,), advice=(advice,)))):
        assert "--api-key" in report
        assert "hunter" not in report


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
    assert report.endswith(
        "GAPS IN THE EVIDENCE\n  not collected    kernel log, state of the GPUs\n  as it was saved  journal, status\n  time zone        a time without an offset (or UTC) beside it is taken as UTC\n"
    )


@pytest.mark.parametrize(
    ("coverage", "missing", "shown"),
    [
        ({"status": Coverage.GIVEN, "kernel": Coverage.NOT_COLLECTED}, ("the kernel log",), ["not collected    kernel log"]),
        ({"kernel": Coverage.READ}, ("the kernel log",), ["not known  the kernel log"]),  # a part of it, which is not that of the life
        (
            {"journal": Coverage.NOT_COLLECTED, "kernel": Coverage.NOT_COLLECTED, "log": Coverage.NOT_COLLECTED},
            ("the kernel log", "the server's own lines of that life"),
            ["not collected  journal or its own log file, kernel log"],
        ),
        (
            {"journal": Coverage.READ, "kernel": Coverage.READ},
            ("the server's own lines of that life", "whether the process is alive (systemctl is-active)"),
            ["not known  the server's own lines of that life; whether the process is alive (systemctl is-active)"],
        ),
    ],
    ids=["a place that was not asked", "a place that was", "two places for one thing", "two things"],
)
def test_what_is_missing_is_said_once(coverage: Mapping[str, Coverage], missing: tuple[str, ...], shown: list[str]) -> None:
    own = Hypothesis(cause=Cause.SIGNAL_DEATH, status=Status.POSSIBLE, missing=missing)
    report = text.render(dataclasses.replace(BARE, cause=Cause.SIGNAL_DEATH, hypotheses=(own,), coverage=coverage), width=120)
    gaps = [line.strip() for line in report.partition("GAPS IN THE EVIDENCE\n")[2].splitlines()]
    assert [line for line in gaps if not line.startswith(("as it was saved", "time zone"))] == shown


@pytest.mark.parametrize(
    ("coverage", "end", "shown"),
    [
        ({"log": Coverage.GIVEN}, End(), "its status (whether it runs, how it ended), the kernel log (whether it was killed, or a GPU failed)"),
        ({"kernel": Coverage.READ, "journal": Coverage.DENIED}, End(), "its own log (its last words), its status (whether it runs, how it ended)"),
        ({"log": Coverage.GIVEN}, End(kind=EndKind.SIGNAL), "the kernel log (whether it was killed, or a GPU failed)"),
        ({"log": Coverage.GIVEN}, End(kind=EndKind.SIGNAL, by=EndBy.ITSELF), "nothing that is usually asked for: no rule knows what these lines say"),
    ],
    ids=["a log alone", "not its log", "how it ended is known", "and by whom"],
)
def test_an_unknown_cause_says_what_would_tell_more(coverage: Mapping[str, Coverage], end: End, shown: str) -> None:
    report = text.render(dataclasses.replace(BARE, coverage=coverage, end=end), width=160)
    assert f"  cause   unknown\n  missing {shown}\n" in report
    assert "missing" not in text.render(dataclasses.replace(BARE, cause=Cause.HOST_OOM, coverage=coverage, end=end), width=160)


def test_what_a_word_in_capitals_stands_for_is_said_once() -> None:
    own = Hypothesis(cause=Cause.PORT_IN_USE, status=Status.POSSIBLE, next="curl http://HOST:PORT/health; systemctl cat UNIT")
    advice = (Advice(text="look", command="systemctl show UNIT"),)
    report = text.render(dataclasses.replace(BARE, cause=Cause.PORT_IN_USE, advice=advice, hypotheses=(own,)))
    assert [line.strip() for line in report.splitlines() if "for what this evidence does not name" in line] == [
        "(UNIT stands for what this evidence does not name)",
        "(HOST and PORT stand for what this evidence does not name)",
    ]


def test_a_command_that_two_actions_share_is_shown_once() -> None:
    twice = (Advice(text="wait", command="ddforensics wait x"), Advice(text="then start", command="ddforensics wait x"))
    assert text.render(dataclasses.replace(BARE, advice=twice)).count("$ ddforensics wait x") == 1


def test_reasons_that_only_cite_the_evidence_again_are_left_out_but_for_the_first() -> None:
    lines = tuple(Evidence(source="log", line=n, text=f"line {n}") for n in (1, 2))
    own = Hypothesis(
        cause=Cause.UNKNOWN, status=Status.POSSIBLE, for_=("log:1 line 1", "log:2 line 2", "two figures agree"), missing=("the kernel log",)
    )
    report = text.render(dataclasses.replace(BARE, evidence=lines, hypotheses=(own,)))
    assert "  why     log:1 line 1\n          two figures agree\n" in report
    assert "not known  the kernel log" in report


def test_many_reasons_of_another_cause_are_shortened() -> None:
    other = Hypothesis(cause=Cause.HOST_OOM, status=Status.SUPPORTED, for_=tuple(f"reason {n}" for n in range(5)), against=("no kernel line",))
    report = text.render(dataclasses.replace(BARE, hypotheses=(other,)), width=120)
    assert "host-oom  supported; reason 0; reason 1; and 3 more; against it: no kernel line" in report


def test_how_many_requests_were_refused_is_told_in_words() -> None:
    def shown(*, refused: int, asked: int | None = None, errors: Mapping[str, int] = MappingProxyType({})) -> str:
        return text.render(dataclasses.replace(BARE, client=ClientView(tool="bench", refused=refused, asked=asked, errors=errors)))

    assert "bench: 3 of 9 requests refused" in shown(refused=3, asked=9)
    assert "bench: 3 requests refused" in shown(refused=3)
    assert "bench: 16 requests, none refused" in shown(refused=0, asked=16)
    assert "bench: 8 of 8 requests failed: 8 × http-404" in shown(refused=0, asked=8, errors={"http-404": 8})
    assert "bench: 3 of 9 requests failed: 2 × refused, 1 × reset" in shown(refused=2, asked=9, errors={"reset": 1, "refused": 2})


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (End(kind=EndKind.EXIT, by=EndBy.ITSELF, status=1), "exited with status 1"),
        (End(kind=EndKind.EXIT, by=EndBy.CHILD), "exited, a child's doing"),
        (End(kind=EndKind.OOM_KILL, by=EndBy.KERNEL), "killed for want of memory (oom-kill), by the kernel"),
        (End(kind=EndKind.TIMEOUT, by=EndBy.SYSTEMD), "timed out, by systemd"),
        (End(kind=EndKind.WATCHDOG, by=EndBy.SYSTEMD), "killed by a watchdog, by systemd"),
        (End(kind=EndKind.STOPPED, by=EndBy.OPERATOR), "stopped by the operator"),
        (End(kind=EndKind.REBOOT), "the machine rebooted"),
        (End(kind=EndKind.SIGNAL, signal="SIGSEGV"), "killed by SIGSEGV, by whom is not known"),
        (End(kind=EndKind.UNKNOWN), "ended, how is not known"),
        (End(kind=EndKind.NONE), ""),
    ],
)
def test_an_end_is_told_in_words(end: End, words: str) -> None:
    assert cite.ended(end) == words


def test_an_action_without_words_tells_the_flag() -> None:
    assert cite.advice_line(Advice(text="", flag="--tp", to=8.0)) == "--tp: to 8"
    assert cite.advice_line(Advice(text="more GPUs", flag="--tp", direction=Direction.RAISE, from_="4", to="8")) == "more GPUs [--tp: raise, 4 → 8]"


def test_one_of_several_units_is_answered_in_brief() -> None:
    whole, brief = text.render(example.died()), text.render(example.died(), brief=True)
    assert whole.startswith(brief.rstrip("\n"))
    assert "EVIDENCE" not in brief


def test_that_it_was_never_ready_is_not_said_of_a_server_that_could_not_be_heard() -> None:
    died = example.died()
    assert "died 10:15:50 after 32.9s, never ready" in " ".join(text.render(died, width=100).split())
    for unheard in (Coverage.DENIED, Coverage.NOT_COLLECTED):
        deaf = dataclasses.replace(died, coverage={**died.coverage, "journal": unheard, "log": Coverage.NOT_COLLECTED})
        assert "died 10:15:50 after 32.9s, never ready" not in " ".join(text.render(deaf, width=100).split())


def test_a_word_that_is_broken_over_lines_is_whole_again_where_the_rest_is_cut() -> None:
    text_ = "oom-kill: task_memcg=/system.slice/sglang-with-a-long-name.service/and/more"
    lines = cite.wrapped(f"{text_} and words that are cut", 30, 3)
    assert len(lines) == 3
    assert "".join(lines).startswith(text_)  # no blank where the log has none
    assert all(cite.display_width(line) <= 30 for line in lines)


@pytest.mark.parametrize(
    ("client", "words"),
    [
        (ClientView(refused=9, asked=9, failed=9), "9 of 9 requests refused"),
        (ClientView(refused=9, asked=12, failed=11), "9 of 12 requests refused (2 more failed, and how is not told)"),
        (ClientView(refused=0, asked=16, failed=16), "16 of 16 requests failed, none refused"),
        (ClientView(refused=0, asked=16, failed=0), "16 requests, none refused"),
    ],
)
def test_requests_that_failed_without_being_refused_are_not_passed_over(client: ClientView, words: str) -> None:
    assert cite.requests(client) == words


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("…0.5.19", "sglang up to 0.5.19"),
        ("0.5.21…", "sglang 0.5.21 or later"),
        ("0.5.4…0.5.9", "sglang 0.5.4 to 0.5.9"),
        ("0.5.9", "sglang 0.5.9"),
        (None, "sglang"),
    ],
)
def test_a_range_of_versions_is_told_in_words(version: str | None, words: str) -> None:
    assert cite.server_named(dataclasses.replace(BARE, server="sglang", server_version=version)) == words


def test_the_fraction_is_named_only_where_the_program_has_one() -> None:
    out = dataclasses.replace(BARE, cause=Cause.GPU_OOM_INIT, direction=Direction.LOWER)
    assert "gpu-oom-init, it needs to ask for less" in text.render(out)
    assert "gpu-oom-init, lower the fraction" in text.render(dataclasses.replace(out, server="sglang"))


def test_the_first_stamp_of_an_excerpt_is_no_start() -> None:
    assert "life    first seen 2026-05-09 10:15:18 UTC" in text.render(dataclasses.replace(BARE, started_at=example.A))
    launched = dataclasses.replace(BARE, started_at=example.A, phases=example.died().phases)
    assert "life    started 2026-05-09 10:15:18 UTC" in text.render(launched)


def test_a_server_that_served_is_not_in_its_start_up() -> None:
    serving = dataclasses.replace(BARE, phases=(PhaseSpan(phase=Phase.SERVING),))
    assert "PHASES\n  serving" in text.render(serving)
    assert "START-UP\n  weights" in text.render(dataclasses.replace(BARE, phases=(PhaseSpan(phase=Phase.WEIGHTS),)))


def test_the_bounds_of_the_fraction_do_not_read_like_an_advice() -> None:
    memory = Memory(flag="--mem-fraction-static", kind=BudgetOf.FREE, fraction=0.88, fraction_min=0.8842, fraction_max=0.93)
    shown = ledger.shown(dataclasses.replace(BARE, cause=Cause.GPU_OOM_INIT, memory=memory))
    assert shown == ["--mem-fraction-static (of what was free before the weights): 0.88 in force, below 0.8842 is too little, above 0.93 is too much"]


def test_one_bound_can_leave_no_fraction_that_works() -> None:
    """Weights that take all of the GPU: what has to stay free beside them nobody knows, nor need know."""
    memory = Memory(flag="--mem-fraction-static", fraction=0.85, fraction_min=1.0, fits=False)
    shown = ledger.shown(dataclasses.replace(BARE, cause=Cause.GPU_OOM_INIT, memory=memory))
    assert shown == ["--mem-fraction-static: 0.85 in force, none works: below 1 is too little"]
    both = ledger.shown(dataclasses.replace(BARE, cause=Cause.GPU_OOM_INIT, memory=dataclasses.replace(memory, fraction_min=0.9, fraction_max=0.8)))
    assert both == ["--mem-fraction-static: 0.85 in force, none works: below 0.9 is too little, above 0.8 is too much"]


def test_the_same_log_is_not_asked_for_twice_with_two_filters() -> None:
    nexts = ("journalctl -k | grep -iE 'oom|killed'", "journalctl -k | grep -iE 'oom|killed|segfault'", "journalctl -k -n 5")
    causes = (Cause.SIGNAL_DEATH, Cause.HOST_OOM, Cause.OPERATOR_STOP)
    rivals = tuple(Hypothesis(cause=cause, status=Status.POSSIBLE, next=command) for cause, command in zip(causes, nexts, strict=True))
    report = text.render(dataclasses.replace(BARE, hypotheses=rivals))
    assert "NEXT\n  $ journalctl -k | grep -iE 'oom|killed|segfault'\n  $ journalctl -k -n 5\n" in report


@pytest.mark.parametrize(
    ("ready_at", "ended_at", "lived", "words"),
    [
        (142.0, 190.0, "1m30s", "ready after 42s"),
        (99.0, 190.0, "1m30s", "ready after 0s"),  # stamps of two programs
        (40.0, 190.0, "1m30s", "was ready"),
        (40.0, 50.0, "", "was ready"),
    ],
)
def test_a_life_whose_times_contradict_each_other_has_no_negative_duration(ready_at: float, ended_at: float, lived: str, words: str) -> None:
    life = Life(index=0, started_at=100.0, ready_at=ready_at, ready=True, ended_at=ended_at, lived_s=None, end=End(kind=EndKind.UNKNOWN))
    found = dataclasses.replace(example.died(), lives=(life, life))
    (row, _) = text.render(found).partition("LIVES (2)\n")[2].splitlines()[:2]
    assert row.split("UTC")[1].split(";")[0].split() == [*lived.split(), *words.split()]
    assert ("ready after" in markdown.render(found)) is ("after" in words)

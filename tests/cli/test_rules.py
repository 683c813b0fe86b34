"""``ddforensics rules`` and ``--rules``: what is found, shown and tried; and what an own rule does in a diagnosis."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from forensics.cli.main import main
from forensics.cli.rules_known import complete_ids
from forensics.ruleset.loading import load
from tests.cli.conftest import OWN
from tests.cli.test_main import ROOT, Fake
from tests.unit.report import example

CRASH = ROOT / "samples" / "silent-crash"
WHEN = """\
- id: my.short-share
  cause: model-load
  role: root
  when: seen('my.truncated') and not life.ready
  says: a shard is short
  source: seen here
  samples: {hit: [{capture: short}], miss: [{capture: well}]}
"""


def _said(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(words)
    out, err = capsys.readouterr()
    return code, out, err


# --------------------------------------------------------------------------- --rules


def test_two_rules_that_are_over_each_other_do_not_both_lose_to_a_third(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = own.parent / "both.yaml"
    first = OWN.replace("  says:", "  over: [my.other]\n  says:")
    rules.write_text(first + first.replace("over: [my.other]", "over: [my.truncated]").replace("id: my.truncated", "id: my.other"), encoding="utf-8")
    log = own.parent / "log.txt"
    log.write_text(
        "[2025-11-20 10:00:00] shard 7 is 3 GiB short\n[2025-11-20 10:00:01] RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB\n",
        encoding="utf-8",
    )
    code, out, _ = _said(["diagnose", str(log), "--rules", str(rules), "--format", "json"], capsys)
    assert (code, json.loads(out)["cause"]) == (1, "model-load")


@pytest.mark.parametrize("command", ["diagnose", "run", "wait", "collect"])
def test_every_command_that_needs_rules_takes_ones_own(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([command, "--help"])
    assert "--rules PATH" in capsys.readouterr().out


def test_an_own_rule_decides_a_diagnosis(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("log.txt").write_text(
        "2026-05-09T10:00:00+00:00 gpu07 systemd[1]: Started llm.service - LLM.\n"
        "2026-05-09T10:00:02+00:00 gpu07 llm[7]: shard 7 is 3 GiB short\n"
        "2026-05-09T10:00:03+00:00 gpu07 systemd[1]: llm.service: Main process exited, code=exited, status=1/FAILURE\n"
        "2026-05-09T10:00:03+00:00 gpu07 systemd[1]: llm.service: Failed with result 'exit-code'.\n"
    )
    assert json.loads(_said(["diagnose", "log.txt", "--format", "json"], capsys)[1])["cause"] == "exit-code-death"
    found = json.loads(_said(["diagnose", "log.txt", "--format", "json", "--rules", "mine.yaml"], capsys)[1])
    assert found["cause"] == "model-load"
    assert "shard 7 is 3 GiB short" in found["headline"]


def test_a_diagnosis_without_own_rules_asks_the_pipeline_for_nothing_more(own: Path) -> None:
    fake = Fake(example.died())
    main(["diagnose", "gpu01"], pipeline=fake)
    assert "rules" not in fake.asked[0][1]


def test_a_fault_in_a_named_file_stops_the_program(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own.write_text(OWN.replace("role: root", "role: rot"))
    fake = Fake(example.died())
    assert main(["diagnose", "gpu01", "--rules", "mine.yaml"], pipeline=fake) == 2
    assert capsys.readouterr().err.splitlines() == ["ddforensics: mine.yaml:3:9: unknown role 'rot'", "ddforensics:   hint: did you mean 'root'?"]
    assert fake.asked == []


def test_a_benchmark_is_not_begun_with_faulty_rules(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own.write_text(OWN.replace("role: root", "role: rot"))
    assert main(["run", "--rules", "mine.yaml", "--", "touch", "begun"]) == 2
    assert not Path("begun").exists()


def test_of_many_faults_in_the_home_folder_ten_are_said(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = own.parent / "config" / "ddforensics" / "rules"
    home.mkdir(parents=True)
    (home / "odd.yaml").write_text("- 1\n" * 30, encoding="utf-8")
    code, _, err = _said(["diagnose", str(CRASH)], capsys)
    assert code == 1
    lines = err.splitlines()
    assert len(lines) == 12
    assert lines[-1].startswith("  … and ")
    assert lines[-1].endswith(" more: ddforensics rules lint shows all")


def test_the_rules_that_the_help_names_are_there() -> None:
    from forensics.cli import rules_try
    from forensics.ruleset import describe

    known = {id_ for id_, _ in describe.items(load())}
    assert "gpu.xid-hardware" in known
    assert "rules try gpu.xid-hardware journal.txt" in rules_try.EPILOG


def test_a_fault_in_the_home_folder_is_said_and_the_rest_is_used(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = own.parent / "config" / "ddforensics" / "rules"
    home.mkdir(parents=True)
    (home / "good.yaml").write_text(OWN)
    (home / "bad.yaml").write_text(OWN.replace("my.truncated", "my.bad").replace("role: root", "role: rot"))
    fake = Fake(example.died())
    assert main(["diagnose", "gpu01"], pipeline=fake) == 1
    err = capsys.readouterr().err
    assert "WARNING: 1 fault in your own rules; what is well in them is used:" in err
    assert "bad.yaml:3:9: unknown role 'rot' (did you mean 'root'?)" in err
    rules = fake.asked[0][1]["rules"]
    assert rules.rule("my.truncated") is not None
    assert rules.rule("my.bad") is None


def test_own_endpoints_are_in_the_script_that_is_shown(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("p.yaml").write_text("profile: loom\nlaunch: ['\\bloom\\b']\nport: 9090\nendpoints: [{path: /loom/is/open, says: ready}]\n")
    assert "/loom/is/open" not in _said(["diagnose", "gpu01", "--show-script"], capsys)[1]
    assert "/loom/is/open" in _said(["diagnose", "gpu01", "--show-script", "--rules", "p.yaml"], capsys)[1]


# --------------------------------------------------------------------------- lint and test


def test_a_path_is_checked_alone_with_the_shipped_rules_known(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _said(["rules", "lint", "mine.yaml"], capsys)
    assert (code, out) == (0, "")
    assert err == "1 file, 1 rule, 0 profiles with 0 marks and figures: 0 faults, 0 warnings\n"
    assert _said(["rules", "test", "mine.yaml"], capsys) == (0, "", "2 samples tried, 0 went the wrong way\n")


def test_an_id_that_is_taken_is_found_by_the_lint(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own.write_text(OWN.replace("my.truncated", "sglang.kv-pool-too-small"))
    code, out, _ = _said(["rules", "lint", "mine.yaml"], capsys)
    assert code == 1
    assert out.startswith("mine.yaml:1:7: the id 'sglang.kv-pool-too-small' is taken — by forensics/rules/causes/memory.yaml:")


def test_the_lint_speaks_json(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own.write_text(OWN.replace("  source: seen here\n", "").replace("shard {shard} is {left}", "it is {left}"))
    _, out, _ = _said(["rules", "lint", "mine.yaml", "--format", "json", "--all"], capsys)
    found = [json.loads(line) for line in out.splitlines()]
    assert [(note["level"], note["path"], note["line"], note["col"]) for note in found] == [
        ("fault", "mine.yaml", 1, 3),
        ("remark", "mine.yaml", 4, 9),
    ]


def test_without_a_path_all_rules_there_are_get_checked(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own.write_text(OWN + "\n# blanks at the end: \n")
    code, out, err = _said(["rules", "lint", "--rules", "mine.yaml"], capsys)
    assert code == 1
    assert out == "mine.yaml:10:21: blanks at the end of the line (remove them)\n"
    assert int(err.split(" files, ")[1].split(" rules")[0]) == len(load().rules) + 1


def test_a_failed_sample_is_named(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own.write_text(OWN.replace("text: shard 7 is well", "text: shard 8 is 2 MiB short"))
    code, out, err = _said(["rules", "test", "mine.yaml"], capsys)
    assert code == 1
    assert out == "mine.yaml:8:59: my.truncated matches what it should not: 'shard 8 is 2 MiB short'\n"
    assert err == "2 samples tried, 1 went the wrong way\n"


def test_a_fault_in_a_condition_is_shown_below_its_line(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own.write_text(OWN.replace("  says:", "  where: hit.shard > 3 and hit.lft > 2\n  says:"))
    code, out, _ = _said(["rules", "lint", "mine.yaml"], capsys)
    assert code == 1
    assert out == "mine.yaml:6:28: the line captures no 'lft' (did you mean 'left'?)\n  hit.shard > 3 and hit.lft > 2\n                    ^\n"


@pytest.fixture
def home(own: Path) -> Path:
    """The user's own folder, with a profile."""
    folder = Path("config/ddforensics/rules")
    folder.mkdir(parents=True)
    (folder / "loom.yaml").write_text("profile: loom\nprefixes: ['^\\[loom \\d{1,5}\\] ']\n")
    return folder


def test_the_home_folder_is_known_to_a_path_that_is_checked(own: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own.write_text(OWN.replace("  line:", "  server: [loom]\n  line:"))
    assert _said(["rules", "lint", "mine.yaml"], capsys)[:2] == (0, "")
    (home / "mine.yaml").write_text(own.read_text())
    assert _said(["rules", "lint", "mine.yaml"], capsys)[:2] == (0, "")  # a copy of what is there
    assert _said(["rules", "lint", str(home / "mine.yaml")], capsys)[:2] == (0, "")  # a part of it, which names another part
    assert _said(["rules", "test", str(home)], capsys)[:2] == (0, "")


def test_a_copy_of_the_home_folder_is_tried_in_its_place(own: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "mine.yaml").write_text(OWN)
    own.write_text(OWN.replace("is (?P<left>", "is just (?P<left>").replace("7 is 3", "7 is just 3"))
    Path("log.txt").write_text("shard 7 is just 3 GiB short\n")
    assert _said(["rules", "try", "mine.yaml", "log.txt"], capsys)[0] == 0
    assert _said(["rules", "try", "my.truncated", "log.txt"], capsys)[0] == 1
    assert _said(["diagnose", "log.txt", "--rules", "mine.yaml"], capsys)[0] == 1
    assert len(_said(["rules", "list", "--own", "--rules", "mine.yaml"], capsys)[1].splitlines()) == 1


def test_an_empty_home_folder_is_no_fault(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("config/ddforensics/rules").mkdir(parents=True)
    assert _said(["rules", "list", "--own"], capsys) == (0, "", "")


def test_a_sample_with_its_prefix_is_told_so(own: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own.write_text(
        OWN.replace("line: 'shard", "line: '^shard").replace("text: shard 7 is 3", "text: '[loom 12] shard 7 is 3").replace("short}]", "short'}]")
    )
    for command in ("lint", "test"):
        code, out, _ = _said(["rules", command, "mine.yaml"], capsys)
        assert code == 1
        assert out.endswith("(a sample stands without the prefix that a profile takes off: 'shard 7 is 3 GiB short')\n")


@pytest.mark.parametrize(
    ("asked", "lacking"),
    [
        ("preceded_by: '^loading shard'", "'line' takes a line of it; look at preceded_by#1"),
        ("not_followed_by: '^all is well'", "'line' takes a line of it; look at not_followed_by#1"),
        ("followed_by: ['^all is well', '^first of all']", "'line' takes a line of it; look at the order of the others"),
    ],
)
def test_what_lacks_around_the_line_of_a_sample_is_told(own: Path, asked: str, lacking: str, capsys: pytest.CaptureFixture[str]) -> None:
    own.write_text(
        OWN.replace("  says:", f"  {asked}\n  says:").replace(
            "{text: shard 7 is 3 GiB short}", '{text: "first of all\\nshard 7 is 3 GiB short\\nall is well"}'
        )
    )
    code, out, _ = _said(["rules", "test", "mine.yaml"], capsys)
    assert code == 1
    assert out.endswith(f"({lacking})\n")


def test_after_it_is_ready_a_server_counts_as_serving(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ready = "marks: [{mark: ready, phase: ready, line: '^loom is open', samples: {hit: [loom is open], miss: [loom is closed]}}]\n"
    Path("loom.yaml").write_text("profile: loom\n" + ready)
    own.write_text(OWN.replace("  says:", "  server: [loom]\n  only_in: [serving]\n  says:"))
    assert _said(["rules", "lint", "mine.yaml", "--rules", "loom.yaml"], capsys)[:2] == (0, "")


def test_captures_of_ones_own_are_tried(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path("rules")
    for name, words in (("short", "shard 7 is 3 GiB short"), ("well", "all is well")):
        (folder / name).mkdir(parents=True)
        (folder / name / "log.txt").write_text(f"2026-05-09 10:00:00 {words}\n")
    (folder / "mine.yaml").write_text(OWN + WHEN)
    assert _said(["rules", "test", "rules"], capsys) == (0, "", "4 samples tried, 0 went the wrong way\n")
    (folder / "mine.yaml").write_text(OWN + WHEN.replace("seen('my.truncated') and", "life.alive and life.ready and"))
    code, out, _ = _said(["rules", "test", "rules"], capsys)
    assert code == 1
    assert out.startswith("rules/mine.yaml:15:19: my.short-share does not hold for short\n")
    (folder / "mine.yaml").write_text(OWN + WHEN.replace("capture: well", "capture: nowhere"))
    assert "my.short-share: no capture 'nowhere' (looked for in rules and here)" in _said(["rules", "test", "rules"], capsys)[1]


# --------------------------------------------------------------------------- list and show


@pytest.mark.parametrize(
    ("id_", "kind"),
    [("sglang.kv-pool-too-small", "rule"), ("sglang", "profile"), ("sglang:ready:ready#1", "mark"), ("sglang:figure:weights_gib#1", "figure")],
)
def test_whatever_has_an_id_is_shown(own: Path, id_: str, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _said(["rules", "show", id_], capsys)
    assert code == 0
    assert "at: rules/" in out
    found = json.loads(_said(["rules", "show", id_, "--format", "json"], capsys)[1])
    assert found["kind"] == kind
    assert id_ in (found.get("id"), found.get("name"))


def test_a_rule_is_shown_by_a_former_name(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own.write_text(OWN.replace("  cause:", "  was: [my.short]\n  cause:"))
    code, out, err = _said(["rules", "show", "my.short", "--rules", "mine.yaml"], capsys)
    assert (code, err) == (0, "my.short is a former name of my.truncated\n")
    assert out.startswith("id: my.truncated\n")


def test_own_rules_are_listed_alone(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _said(["rules", "list", "--own", "--rules", "mine.yaml", "--format", "json"], capsys)
    assert code == 0
    assert [json.loads(line)["id"] for line in out.splitlines()] == ["my.truncated"]


def test_what_a_terminal_has_no_room_for_ends_in_an_ellipsis(own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    code, out, _ = _said(["rules", "list"], capsys)
    cut = [line for line in out.splitlines() if line.endswith("…")]
    assert code == 0
    assert cut
    assert all(len(line) <= 80 for line in out.splitlines())
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    whole = _said(["rules", "list"], capsys)[1].splitlines()
    assert all(any(line.startswith(short.removesuffix("…")) for line in whole) for short in cut)


def test_profiles_and_marks_are_listed_too(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "sglang" in [line.split()[0] for line in _said(["rules", "list", "--what", "profiles"], capsys)[1].splitlines()]
    marks = _said(["rules", "list", "--what", "marks", "--server", "sglang"], capsys)[1].splitlines()
    assert marks
    assert all(line.startswith("sglang:") for line in marks)


def test_a_shell_completes_ids_causes_and_servers(own: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}

    def completed(words: str) -> list[str]:
        how = {"_DDFORENSICS_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
        program = "import sys; sys.argv = ['ddforensics']; from forensics.cli.main import cli; cli(prog_name='ddforensics')"
        done = subprocess.run([sys.executable, "-c", program], env={**env, **how}, capture_output=True, text=True, check=False)
        return [line.partition(",")[2] for line in done.stdout.splitlines()]

    assert "sglang.kv-pool-too-small" in completed("ddforensics rules show sglang.kv")
    assert completed("ddforensics rules list --cause gpu-oom-i") == ["gpu-oom-init"]
    assert completed("ddforensics rules list --server sgl") == ["sglang"]
    assert "my.truncated" in completed("ddforensics rules try --rules mine.yaml my.")


def test_completion_says_nothing_of_faults(own: Path) -> None:
    own.write_text("- nonsense")
    ctx = click.Context(click.Command("x"))
    ctx.params["rule_paths"] = (own,)
    items = complete_ids(ctx, click.Argument(["x"]), "sglang.kv-pool-t")
    assert [item.value for item in items] == ["sglang.kv-pool-too-small"]


# --------------------------------------------------------------------------- try

LOG = """\
2026-05-09T10:00:01+00:00 gpu07 llm[7]: shard 6 is well
2026-05-09T10:00:02+00:00 gpu07 llm[7]: shard 7 is 3 GiB short
2026-05-09T10:00:03+00:00 gpu07 llm[7]: SHARD 7 IS 3 GIB SHORT
2026-05-09T10:00:04+00:00 gpu07 llm[7]: shard 70 is 20 MiB short
2026-05-09T10:00:05+00:00 gpu07 llm[7]: shard 8 is 4 TiB short
"""


def test_a_rule_is_tried_on_a_file(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("log.txt").write_text(LOG)
    code, out, err = _said(["rules", "try", "mine.yaml", "log.txt"], capsys)
    assert code == 0
    assert out.splitlines() == [
        "log.txt:2: shard 7 is 3 GiB short",
        "    shard = 7 (int, of '7')",
        "    left = 3 GiB (mib, of '3 GiB')",
        "log.txt:3: near: SHARD 7 IS 3 GIB SHORT",
        "    upper and lower case differ: (?i) takes both",
        "log.txt:4: shard 70 is 20 MiB short",
        "    shard = 70 (int, of '70')",
        "    left = 20 MiB (mib, of '20 MiB')",
        "log.txt:5: near: shard 8 is 4 TiB short",
        "    it holds the literal text, and the expression asks for more",
    ]
    assert err == "my.truncated: 2 taken, 2 near\n"


def test_standard_input_is_a_file(own: Path) -> None:
    words = [sys.executable, "-m", "forensics", "rules", "try", f"{own}:my.truncated", "-"]
    done = subprocess.run(words, input=LOG, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr == "my.truncated: 2 taken, 2 near\n"


def test_near_misses_and_lines_are_bounded_and_all_are_counted(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("log.txt").write_text(LOG * 30)
    _, out, err = _said(["rules", "try", "mine.yaml", "log.txt", "--near", "1", "--most", "3"], capsys)
    assert out.count("near:") == 1
    assert out.count("shard = ") == 3
    assert err == "my.truncated: 60 taken, 60 near\n"


def test_a_line_of_another_writer_is_near(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own.write_text(OWN.replace("  line:", "  from: kernel\n  line:"))
    Path("log.txt").write_text(LOG)
    code, out, _ = _said(["rules", "try", "mine.yaml", "log.txt"], capsys)
    assert code == 1
    assert "written by server, and it is 'from: kernel'" in out


@pytest.mark.parametrize("id_", ["sglang.kv-pool-too-small", "sglang:ready:ready#1", "sglang:figure:free_before_gib#1", "sglang"])
def test_shipped_rules_marks_and_figures_are_tried_by_id(own: Path, id_: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _said(["rules", "try", id_, str(CRASH)], capsys)
    assert code == 0
    assert "journal.txt:" in out


def test_a_file_that_is_shipped_is_tried_whole(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _said(["rules", "try", str(ROOT / "rules" / "causes" / "memory.yaml"), str(CRASH)], capsys)
    assert code == 0
    assert "sglang.kv-pool-too-small: " in out


def test_a_condition_beside_lines_is_said_to_take_none(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own.write_text(OWN + WHEN)
    Path("log.txt").write_text(LOG)
    code, _, err = _said(["rules", "try", "mine.yaml", "log.txt"], capsys)
    assert code == 0
    assert err.splitlines()[-1] == "my.short-share: a condition ('when'), which takes no line: a diagnosis says whether it holds"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["my.trunc", "log.txt", "--rules", "mine.yaml"], "did you mean my.truncated?"),
        (["mine.yaml:my.truncate", "log.txt"], "mine.yaml: no rule has the id 'my.truncate'"),
        (["sglang.kv-pool-to-small", "log.txt"], "did you mean sglang.kv-pool-too-small?"),
        (["startup-race", "log.txt"], "a condition ('when') and no line"),
        (["mine.yaml", "nosuch"], "no file of that name"),
    ],
)
def test_what_cannot_be_tried_is_said(own: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("log.txt").write_text(LOG)
    code, _, err = _said(["rules", "try", *words], capsys)
    assert code == 2
    assert said in err

"""The command line: help that reads well, one line for an error, and the exit codes of the design."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forensics.cli.main import COMMANDS, main
from forensics.errors import RuleError, RuleErrors, TargetError, UsageError
from forensics.model import Diagnosis, Evidence, Location
from tests.unit.report import example

ROOT = Path(__file__).resolve().parents[2]
DDFORENSICS = [sys.executable, "-m", "forensics"]


SILENT = str(ROOT / "samples" / "silent-crash")


class Fake:
    """Stands in for the pipeline: answers with a fixed diagnosis, or raises."""

    def __init__(self, *found: Diagnosis, code: int = 1, error: BaseException | None = None) -> None:
        self.found = found
        self.code = code
        self.error = error
        self.asked: list[tuple[Any, dict[str, Any]]] = []

    def diagnose(self, target_words: Sequence[str] | str, /, **how: Any) -> Sequence[Diagnosis]:
        self.asked.append((target_words, how))
        how["progress"]("gpu01: reading")
        if self.error:
            raise self.error
        return self.found

    def exit_code(self, diagnoses: Sequence[Diagnosis], /) -> int:
        return self.code


# --------------------------------------------------------------------------- help


@pytest.mark.parametrize("words", [[], *([name] for name in COMMANDS), ["rules", "list"], ["rules", "lint"]], ids=" ".join)
def test_every_help_fits_80_columns_and_says_something(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--help"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Usage: ddforensics")
    assert all(len(line) <= 80 for line in text.splitlines())
    assert len(text.splitlines()) > 5


def test_the_help_tells_the_exit_codes_and_gives_examples(capsys: pytest.CaptureFixture[str]) -> None:
    main(["diagnose", "--help"])
    text = capsys.readouterr().out
    assert re.search(r"0 +nothing wrong", text)
    assert "4  still starting now" in text
    assert "ddforensics diagnose gpu01 --unit llm.service" in text


def test_the_help_lists_every_command_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    text = capsys.readouterr().out
    for name, (_, line) in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(line)}$", text, re.MULTILINE)


def test_help_starts_at_once() -> None:
    """By what it does not load: seconds say more about the machine. benchmarks/start.py measures them."""
    program = "import sys; from forensics.cli.main import main; code = main(['--help']); print('\\nLOADED', code, *sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    loaded = done.stdout.rpartition("LOADED ")[2].split()
    assert loaded[0] == "0"
    heavy = {"yaml", "pyparsing", "dateutil", "rapidfuzz", "tabulate", "zstandard", "jsonschema"}
    assert heavy & {name.partition(".")[0] for name in loaded} == set()
    assert [name for name in loaded if re.match(r"forensics\.(?:api|collect|lazily|model|parse|ruleset|reason|report|redact)\b", name)] == []


def test_the_shell_gets_its_completion() -> None:
    done = subprocess.run(
        DDFORENSICS, cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ | {"_DDFORENSICS_COMPLETE": "bash_source"}
    )
    assert "_ddforensics_completion" in done.stdout


# --------------------------------------------------------------------------- diagnose


@pytest.mark.parametrize("code", [0, 1, 3, 4, 5])
def test_the_exit_code_is_the_verdicts(code: int) -> None:
    assert main(["diagnose", "gpu01"], pipeline=Fake(example.died(), code=code)) == code


def test_options_reach_the_pipeline(tmp_path: Path) -> None:
    bench, config = tmp_path / "bench.txt", tmp_path / "config"
    bench.write_text("")
    config.write_text("")
    fake = Fake(example.died())
    words = [
        "diagnose",
        "a",
        "b",
        "--unit",
        "u.service",
        "--since",
        "-2h",
        "--bench",
        str(bench),
        "-F",
        str(config),
        "--save",
        str(tmp_path / "x"),
        "--sudo",
    ]
    main(words, pipeline=fake)
    [(targets, how)] = fake.asked
    assert list(targets) == ["a", "b"]
    assert {k: v for k, v in how.items() if k != "progress"} == {
        "unit": "u.service",
        "bench_fields": None,
        "since": "-2h",
        "bench": (bench,),
        "save": tmp_path / "x",
        "ssh_config": config,
        "sudo": True,
    }


def test_text_is_plain_where_standard_output_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    main(["diagnose", "gpu01"], pipeline=Fake(example.died()))
    out, err = capsys.readouterr()
    assert out.startswith("sglang-qwen.service died after 32.9s")
    assert "\x1b" not in out
    assert err == ""  # no progress where nobody watches


def test_color_and_width_can_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    main(["diagnose", "gpu01", "--color", "always", "--width", "70"], pipeline=Fake(example.died()))
    out = capsys.readouterr().out
    assert "\x1b[1" in out
    assert max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in out.splitlines() if "$ " not in line) <= 70


def test_json_of_several_targets_is_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    import json

    main(["diagnose", "a", "b", "--format", "json"], pipeline=Fake(example.died(), example.loading()))
    assert [json.loads(line)["cause"] for line in capsys.readouterr().out.splitlines()] == ["gpu-oom-init", "startup-race"]


def test_the_suffix_of_the_file_chooses_the_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "a", "-o", str(tmp_path / "p.md")], pipeline=Fake(example.died())) == 1
    assert (tmp_path / "p.md").read_text().startswith("# Post-mortem: ")
    assert capsys.readouterr() == ("", "")
    main(["diagnose", "a", "-o", str(tmp_path / "p.md"), "--format", "json"], pipeline=Fake(example.died()))
    assert (tmp_path / "p.md").read_text().startswith('{"schema"')


def test_verbose_tells_the_steps_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    main(["diagnose", "a", "-v"], pipeline=Fake(example.died()))
    out, err = capsys.readouterr()
    assert err == "gpu01: reading\n"
    assert "TIMELINE" in out


# --------------------------------------------------------------------------- errors


def test_an_error_is_a_place_a_text_and_a_hint_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    error = TargetError("connection refused", at="gpu01", hint="is sshd running?\x1b[2J")
    assert main(["diagnose", "gpu01"], pipeline=Fake(error=error)) == 3
    assert capsys.readouterr() == ("", "ddforensics: gpu01: connection refused\nddforensics:   hint: is sshd running?\\x1b[2J\n")


def test_an_odd_unit_name_is_a_usage_error() -> None:
    assert main(["diagnose", "gpu01"], pipeline=Fake(error=UsageError("not a unit name"))) == 2


def test_all_faults_of_the_rules_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    faults = RuleErrors(
        [RuleError("unknown cause 'oom'", at=Location("a.yaml", 3, 7), hint="did you mean 'host-oom'?"), RuleError("no id", at=Location("b.yaml", 1))]
    )
    assert main(["diagnose", "x"], pipeline=Fake(error=faults)) == 2
    assert capsys.readouterr().err.splitlines() == [
        "ddforensics: a.yaml:3:7: unknown cause 'oom'",
        "ddforensics:   hint: did you mean 'host-oom'?",
        "ddforensics: b.yaml:1: no id",
    ]


def test_a_fault_of_our_own_does_not_look_like_an_explained_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "x"], pipeline=Fake(error=ZeroDivisionError())) == 3
    assert "a fault of ddforensics itself" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["diagnose"],
        ["diagnose", "--unit", "x"],
        ["diagnose", "--show-script"],
        ["diagnose", "x", "--format", "yaml"],
        ["nonsense"],
        ["diagnose", "x", "-F", "/no/such/file"],
        ["samples", "nonsense"],
        ["run"],
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_2_and_prints_nothing_on_standard_output(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err


def test_the_output_of_a_benchmark_is_diagnosed_alone_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("local").write_bytes((ROOT / "samples/mask-corruption/bench.json").read_bytes())
    assert main(["diagnose", "--bench", "local", "--format", "json"]) == 1
    got = json.loads(capsys.readouterr().out)
    assert (got["cause"], got["target"]) == ("mask-corruption", "local")
    Path("other.txt").write_bytes(Path("local").read_bytes())
    assert main(["diagnose", "--bench", "local", "--bench", "other.txt", "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["target"] == "local other.txt"


def test_a_report_that_cannot_be_written_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "x", "-o", "/no/such/folder/p.md"], pipeline=Fake(example.died())) == 3
    assert "/no/such/folder/p.md: cannot write the report: No such file or directory" in capsys.readouterr().err


def test_an_interrupt_exits_130(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "x"], pipeline=Fake(error=KeyboardInterrupt())) == 130
    assert capsys.readouterr().err.strip() == "ddforensics: interrupted"


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_reading_leaves_nothing_behind(tmp_path: Path, signum: signal.Signals, code: int) -> None:
    env = os.environ | {"TMPDIR": str(tmp_path)}
    child = subprocess.Popen(
        [*DDFORENSICS, "diagnose", "-v", "-"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env
    )
    with child:
        assert child.stdin is not None
        assert child.stderr is not None
        child.stderr.readline()  # it is up, and waits for its input
        child.stdin.write(b"half a line")
        child.stdin.flush()
        time.sleep(0.3)
        child.send_signal(signum)
        assert child.wait(timeout=20) == code
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "code"),
    [("rules list", 0), ("rules list --format json", 0), ("rules show sglang.kv-pool-too-small", 0), ("samples", 0), ("collect local --show-script", 0),
     ("diagnose $S", 1), ("--help", 141), ("rules try sglang.kv-pool-too-small $S/journal.txt", 141)],
)  # fmt: skip
def test_a_reader_that_leaves_early_is_no_error(words: str, code: int) -> None:
    """The verdict stands, a list was asked for and is given; what was not said to its end has the code of a broken pipe, and never one of a verdict."""
    child = subprocess.Popen([*DDFORENSICS, *words.replace("$S", SILENT).split()], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        assert child.stderr.read() == b""
        child.wait(timeout=30)
    assert child.returncode == code


@pytest.mark.parametrize(
    ("words", "code"),
    [("diagnose nothing.txt", 3), ("diagnose samples/healthy/bench.txt nothing.txt", 3), ("collect nothing.txt", 3), ("compare nothing.txt samples/healthy", 3), ("compare samples/healthy nothing.txt", 3),
     ("rules try sglang.kv-pool-too-small nothing.txt", 3), ("diagnose samples/healthy --bench nothing.txt", 3), ("collect samples/healthy --bench nothing.txt", 3),
     ("diagnose samples/healthy --bench samples", 2), ("diagnose", 2), ("compare samples/healthy", 2), ("compare - -", 2), ("diagnose ''", 2)],
)  # fmt: skip
def test_a_missing_file_could_not_be_looked_at_and_a_missing_word_is_wrong_usage(words: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the README's table of exit codes has it, whatever the command."""
    monkeypatch.chdir(ROOT)
    assert main(shlex.split(words)) == code


def test_a_locale_without_utf_8_costs_an_arrow_and_not_the_report() -> None:
    code = "import sys; from forensics.cli.main import main; from tests.cli.test_main import Fake, example; sys.exit(main(['diagnose', 'x'], pipeline=Fake(example.died())))"
    env = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False, env=env)
    assert done.returncode == 1, done.stderr
    assert b"NEXTN \\u2192 DDTREE" in done.stdout


# --------------------------------------------------------------------------- standard streams that are closed or full


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of sh in which ``$D`` is the program."""
    line = line.replace("$D", " ".join(DDFORENSICS)).replace("$S", SILENT)
    return subprocess.run(["sh", "-c", line], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def test_closed_standard_input_is_an_error_that_says_so() -> None:
    done = shell("$D diagnose - <&-")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.splitlines()[0] == "ddforensics: -: standard input is closed"


@pytest.mark.parametrize(
    ("line", "code"),
    [("$D diagnose $S >&-", 1), ("$D diagnose $S >&- 2>&-", 1), ("$D diagnose $S --format json >&-", 1), ("$D run -- echo hi >&-", 0), ("$D run -- sh -c 'exit 3' <&- >&-", 3),
     ("$D --help >&-", 0), ("$D rules list >&-", 0)],
)  # fmt: skip
def test_with_closed_standard_output_the_exit_code_stands(line: str, code: int) -> None:
    done = shell(line)
    assert done.returncode == code
    assert "Traceback" not in done.stderr


def test_closed_standard_input_does_not_hinder_what_reads_files() -> None:
    done = shell("$D diagnose $S <&-")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("sglang-qwen.service died")


@pytest.mark.parametrize("how", ["", " --format json", " --format markdown", " -o -"])
def test_a_full_disk_is_one_line_and_could_not_look(how: str) -> None:
    done = shell(f"$D diagnose $S{how} >/dev/full")
    assert (done.returncode, done.stderr) == (3, "ddforensics: cannot write the report: No space left on device\n")


@pytest.mark.parametrize("words", ["rules list", "samples", "--help"])
def test_other_commands_say_a_full_disk_in_one_line(words: str) -> None:
    done = shell(f"$D {words} >/dev/full")
    assert (done.returncode, done.stderr) == (3, "ddforensics: cannot write: No space left on device\n")


def test_an_error_that_cannot_be_said_keeps_its_exit_code() -> None:
    assert shell("$D diagnose /no/such/file 2>/dev/full").returncode == 3


def test_a_pipe_of_the_shell_is_a_file() -> None:
    done = subprocess.run(
        ["bash", "-c", f"{' '.join(DDFORENSICS)} diagnose <(cat {SILENT}/journal.txt) <(cat {SILENT}/status.txt)"],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("sglang-qwen.service died after 32.9s")


def test_a_target_that_is_said_twice_can_be_saved(tmp_path: Path) -> None:
    assert main(["diagnose", SILENT, SILENT, "--save", str(tmp_path / "saved")]) == 1
    assert (tmp_path / "saved" / "manifest.json").is_file()


@pytest.mark.parametrize(("how", "asked"), [([], {}), (["--redact", "all"], {"redaction": "all"}), (["--redact", "none"], {"redaction": "none"})])
def test_what_is_to_be_masked_is_handed_on(how: list[str], asked: dict[str, str]) -> None:
    fake = Fake(example.died())
    assert main(["diagnose", "gpu01", *how], pipeline=fake) == 1
    assert {name: value for name, value in fake.asked[0][1].items() if name == "redaction"} == asked


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_secrets_are_shown_only_where_that_is_asked_for(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = replace(example.died(), evidence=(Evidence(source="journal", line=1, text="password=hunter2x refused"),))
    for how, shown in (([], False), (["--redact", "secrets"], False), (["--redact", "all"], False), (["--redact", "none"], True)):
        main(["diagnose", "gpu01", "--format", form, *how], pipeline=Fake(told))
        assert ("hunter2x" in capsys.readouterr().out) is shown


def test_a_save_that_cannot_be_is_an_error_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["diagnose", SILENT, "--save", str(tmp_path / "file" / "x")]) == 3
    assert capsys.readouterr().err == f"ddforensics: {tmp_path / 'file' / 'x'}: cannot save the capture: Not a directory\n"


# --------------------------------------------------------------------------- what was meant


@pytest.mark.parametrize("since", ["@nan", "@1e400", "@1e14", "2999-01-01"])
def test_a_time_that_cannot_be_meant_is_wrong_usage(since: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", SILENT, "--since", since]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "hint: " in err


@pytest.mark.parametrize("words", [["diagnose", "x", "-o", "pm.html"], ["run", "--report", "pm.html", "--", "true"]], ids=["diagnose", "run"])
def test_a_format_that_is_not_known_yet_is_not_written_as_text(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    fake = Fake(example.died())
    assert main(words, pipeline=fake) == 2
    assert fake.asked == []  # said before anything is done
    assert capsys.readouterr().err.splitlines()[0] == "ddforensics: pm.html: html is not supported yet"


def test_a_suffix_does_not_matter_where_the_format_is_said(tmp_path: Path) -> None:
    assert main(["diagnose", "x", "-o", str(tmp_path / "pm.html"), "--format", "markdown"], pipeline=Fake(example.died())) == 1
    assert main(["diagnose", "x", "-o", str(tmp_path / "pm.2026-05-09")], pipeline=Fake(example.died())) == 1


def test_the_bare_name_of_a_shipped_sample_gets_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    unknown = TargetError("there is no host of that name: ssh: Could not resolve hostname silent-crash", at="ssh silent-crash", hint="another")
    assert main(["diagnose", "silent-crash"], pipeline=Fake(error=unknown)) == 3
    assert capsys.readouterr().err.splitlines()[1] == (
        'ddforensics:   hint: a shipped sample has that name: ddforensics diagnose "$(ddforensics samples silent-crash)"'
    )
    refused = TargetError("nothing takes ssh connections there", at="ssh silent-crash")  # there is such a host
    assert main(["diagnose", "silent-crash"], pipeline=Fake(error=refused)) == 3
    assert "sample" not in capsys.readouterr().err

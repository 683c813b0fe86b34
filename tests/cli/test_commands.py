"""The smaller commands: samples, rules, run."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from forensics.cli import samples
from forensics.cli.main import main
from forensics.errors import ForensicsError
from forensics.model import Cause, Diagnosis, Health
from tests.cli.test_main import DDFORENSICS, ROOT, Fake
from tests.unit.report import example

# --------------------------------------------------------------------------- samples


def test_every_sample_is_listed_with_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["samples"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == samples.names()
    assert {"silent-crash", "active-not-ready", "healthy"} <= set(samples.names())
    assert all(len(line.split()) > 3 for line in lines)


def test_a_name_gives_the_path_of_the_sample(capsys: pytest.CaptureFixture[str]) -> None:
    main(["samples", "silent-crash"])
    assert (Path(capsys.readouterr().out.strip()) / "journal.txt").is_file()


def test_a_sample_is_copied_and_nothing_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["samples", "silent-crash", "--copy", str(tmp_path)]) == 0
    assert (tmp_path / "silent-crash" / "status.txt").is_file()
    (tmp_path / "silent-crash" / "status.txt").write_text("mine")
    assert main(["samples", "silent-crash", "--copy", str(tmp_path)]) == 2
    assert (tmp_path / "silent-crash" / "status.txt").read_text() == "mine"
    assert "is there already" in capsys.readouterr().err


def test_all_samples_are_copied_without_a_name(tmp_path: Path) -> None:
    main(["samples", "--copy", str(tmp_path / "new")])
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == samples.names()


def test_a_shipped_sample_typed_elsewhere_gets_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    fake = Fake(example.died())
    assert main(["diagnose", "samples/silent-crash"], pipeline=fake) == 3
    assert 'ddforensics diagnose "$(ddforensics samples silent-crash)"' in capsys.readouterr().err
    assert fake.asked == []


# --------------------------------------------------------------------------- rules


def test_rules_are_listed_by_cause(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "list", "--cause", "gpu-oom-init"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines
    assert all("gpu-oom-init" in line for line in lines)


def test_a_rule_is_shown_with_its_place_and_samples(capsys: pytest.CaptureFixture[str]) -> None:
    from forensics import load_rules

    rule = load_rules().rules[0]
    assert main(["rules", "show", rule.id]) == 0
    out = capsys.readouterr().out
    assert f"id: {rule.id}" in out
    assert f"at: {rule.at}" in out
    assert "hits" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cause", "nonsense"], ("no rule is of the cause 'nonsense'", "there are: bad-arguments, ")),
        (["--cause", "host-om"], ("no rule is of the cause 'host-om'", "did you mean host-oom?")),
        (["--server", "sglan"], ("no rule is of the server 'sglan'", "did you mean sglang?")),
    ],
)
def test_rules_of_what_is_not_known_are_wrong_usage(words: list[str], said: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "list", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert all(text in err for text in said)


def test_a_rule_that_is_like_none_gets_no_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "show", "nosuch"]) == 2
    assert capsys.readouterr().err.splitlines()[1] == "ddforensics:   hint: ddforensics rules list shows all"


def test_a_misspelt_rule_gets_the_near_ones(capsys: pytest.CaptureFixture[str]) -> None:
    from forensics import load_rules

    rule = load_rules().rules[0]
    assert main(["rules", "show", rule.id + "x"]) == 2
    assert rule.id in capsys.readouterr().err


def test_the_shipped_rules_pass_their_lint_and_their_samples() -> None:
    assert main(["rules", "lint"]) == 0
    assert main(["rules", "test"]) == 0


def test_a_broken_rule_file_fails_the_lint_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.yaml").write_text("- id: x\n  cause: oom\n  role: root\n  line: 'something'\n")
    assert main(["rules", "lint", "--rules", str(tmp_path)]) == 1
    assert "bad.yaml:2:10: " in capsys.readouterr().out


# --------------------------------------------------------------------------- run


def test_run_keeps_output_and_exit_code_of_a_success() -> None:
    done = subprocess.run([*DDFORENSICS, "run", "--", "sh", "-c", "printf out; printf err >&2"], cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"out", b"err")


def test_run_takes_the_command_without_the_two_dashes_and_its_options_with_it() -> None:
    done = subprocess.run([*DDFORENSICS, "run", sys.executable, "-c", "print('--host')"], cwd=ROOT, capture_output=True, check=False)
    assert done.stdout == b"--host\n"


def test_run_of_a_command_that_is_not_there_exits_127() -> None:
    done = subprocess.run([*DDFORENSICS, "run", "--", "no-such-command-here"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (127, "ddforensics: no-such-command-here: no such command\n")


def test_run_diagnoses_a_failure_on_standard_error_and_keeps_the_exit_code(capfd: pytest.CaptureFixture[str]) -> None:
    fake = RunFake(example.loading())
    assert main(["run", "--host", "gpu01", "--", "sh", "-c", "echo out; exit 7"], pipeline=fake) == 7
    out, err = capfd.readouterr()
    assert out == "out\n"
    assert err.startswith("ddforensics: the command failed (exit code 7); looking at gpu01\n\nsglang-k26-ddtree.service has not crashed")


def test_run_writes_a_post_mortem(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "post-mortem.md"
    assert main(["run", "--report", str(report), "--", "false"], pipeline=RunFake(example.died())) == 1
    assert report.read_text().startswith("# Post-mortem: ")
    assert f"(see {report})" in capfd.readouterr().err


def test_run_keeps_the_exit_code_where_the_report_cannot_be_written(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--report", "/no/such/folder/r.md", "--", "sh", "-c", "exit 5"], pipeline=RunFake(example.died())) == 5
    assert "no diagnosis: /no/such/folder/r.md" in capfd.readouterr().err


class RunFake(Fake):
    """The runner shows no progress."""

    def diagnose(self, target_words: Any, /, **how: Any) -> Any:
        assert set(how) == {"unit", "bench", "bench_window", "ssh_config", "sudo"}
        return super().diagnose(target_words, progress=lambda _: None, **how)


@pytest.mark.parametrize(("script", "code"), [("echo hi", 0), ("echo hi; trap '' PIPE; exit 7", 7)])
def test_run_says_once_that_output_was_lost_and_keeps_the_exit_code(script: str, code: int) -> None:
    line = f'exec {" ".join(DDFORENSICS)} run --host samples/healthy -- sh -c "{script}" >/dev/full'
    done = subprocess.run(["sh", "-c", line], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert done.stderr.count("ddforensics: not all of the command's output could be written: No space left on device\n") == 1
    assert done.stderr.count("could be written") == 1


# --------------------------------------------------------------------------- wait


def waited(monkeypatch: pytest.MonkeyPatch, found: Diagnosis, *, took_s: float = 0.0) -> list[dict[str, Any]]:
    """Stands in for the waiting: gives the diagnosis after so long by the clock."""
    import time

    from forensics import wait

    asked: list[dict[str, Any]] = []
    now = [1000.0]

    def until_ready(target: str, **how: Any) -> Diagnosis:
        asked.append(how)
        how["progress"]("loading weights: 3 of 14")
        how["progress"]("loading weights: 4 of 14")
        now[0] += took_s
        return found

    monkeypatch.setattr(wait, "wait_until_ready", until_ready)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return asked


def test_wait_says_that_it_gave_up_and_shows_its_progress_where_nobody_watches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    waited(monkeypatch, example.loading(), took_s=8.5)
    assert main(["wait", "gpu01", "--limit", "8"]) == 4
    out, err = capsys.readouterr()
    assert err == "loading weights: 3 of 14\nddforensics: gave up after 8s\n"
    assert out.startswith("sglang-k26-ddtree.service has not crashed")


def test_wait_for_what_died_gives_up_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    waited(monkeypatch, example.died(), took_s=2.0)
    assert main(["wait", "gpu01", "--limit", "8"]) == 1
    assert "gave up" not in capsys.readouterr().err


def test_wait_for_what_was_stopped_is_no_success(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A benchmark behind && would meet nobody."""
    stopped = dataclasses.replace(example.died(), cause=Cause.OPERATOR_STOP, health=Health.STOPPED, status=None)
    waited(monkeypatch, stopped, took_s=2.0)
    assert main(["wait", "gpu01", "--limit", "8"]) == 1


def test_a_copy_that_fails_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ForensicsError):
        samples.copy("silent-crash", tmp_path / "file")

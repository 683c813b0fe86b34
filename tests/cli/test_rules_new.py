"""``ddforensics rules new``: the beginning of a rule out of a line that was pasted."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from forensics.cli.main import main
from tests.cli.conftest import OWN
from tests.cli.test_rules import _said


def test_a_pasted_journal_line_becomes_a_rule_that_passes(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = "May 09 10:00:02 gpu07 llm[7]: ERROR loader: tensor 12 of /models/q/x.bin is torn"
    assert main(["rules", "new", line, "-o", "new.yaml"]) == 0
    text = Path("new.yaml").read_text()
    assert "gpu07" not in text
    assert "tensor (?P<number>" in text
    assert main(["rules", "lint", "new.yaml"]) == 0
    assert main(["rules", "test", "new.yaml"]) == 0
    Path("log.txt").write_text(line.replace("12", "99") + "\n")
    assert main(["rules", "try", "new.yaml", "log.txt"]) == 0


def test_nothing_is_written_over(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "new", "some words of a log", "-o", "mine.yaml"]) == 2
    assert own.read_text() == OWN
    assert "is there already" in capsys.readouterr().err


def test_a_line_comes_from_standard_input_too(own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\n\x1b[31mloader: tensor is torn\x1b[0m\nmore\n")))
    code, out, _ = _said(["rules", "new", "-"], capsys)
    assert code == 0
    assert "'loader: tensor is torn'" in out
    assert "31m" not in out


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ("ERROR hub: the token hf_abcdefghijklmnopqrstuvwxyz12345678 was refused", "abcdefghijklmnopqrstuvwxyz"),
        ("cannot log in: password=hunter2secret user=acme", "hunter2secret"),
        (f"the token eyJ{'a1B' * 200}.{'c2D' * 100}.{'e3F' * 50} is no good", "a1Ba1B"),
        ("store refused password='two words 77' of acme", "two words"),
        (f"the store said no {'x ' * 285}password=hunter2secret and no more", "hunter2secret"),
    ],
)
def test_a_secret_in_the_line_is_in_no_part_of_the_rule(own: Path, line: str, secret: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = _said(["rules", "new", line, "-o", "new.yaml"], capsys)
    assert code == 0
    assert "masked" in err
    made = (own.parent / "new.yaml").read_text(encoding="utf-8")
    assert secret not in made
    assert "[masked]" in made
    assert main(["rules", "lint", "new.yaml"]) == 0
    assert main(["rules", "test", "new.yaml"]) == 0
    (own.parent / "log.txt").write_text(f"{line}\n", encoding="utf-8")
    assert main(["rules", "try", "new.yaml", "log.txt"]) == 0


def test_a_line_without_a_secret_is_not_said_to_be_masked(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "masked" not in _said(["rules", "new", "shard 7 of 12 is truncated"], capsys)[2]


@pytest.mark.parametrize(
    "line", ["Loading:  50%|##  | 1/2\rERROR loader: shard 7 is truncated", "Loading:  50%|##  | 1/2\rERROR loader: shard 7 is truncated\r\r\n"]
)
def test_of_a_line_that_was_written_over_the_last_is_taken(own: Path, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _said(["rules", "new", line], capsys)
    assert code == 0
    assert "{text: 'ERROR loader: shard 7 is truncated'}" in out
    assert "Loading" not in out
    assert err == ""


def test_of_several_lines_it_is_said_which_is_taken(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _said(["rules", "new", "\nERROR loader: shard 7 is truncated\nthe loader gave up\n\nbye\n"], capsys)
    assert code == 0
    assert "gave up" not in out
    assert err == "the first of 3 lines is taken, the others are left: ERROR loader: shard 7 is truncated\n"


def test_a_profile_is_begun_with_a_name(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "new", "--profile", "acme-server", "-o", "acme.yaml"]) == 0
    assert main(["rules", "lint", "acme.yaml"]) == 0
    assert main(["rules", "test", "acme.yaml"]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--profile", "acme", "a line"], "--profile begins with a name, and takes no line"),
        (["   "], "an empty line is no beginning"),
        (["12 34"], "no literal text"),
        (["--id", "torch.oom", "some words of a log"], "the id 'torch.oom' is taken"),
        (["--id", "My.Rule", "some words of a log"], "no id of a rule: 'My.Rule'"),
        (["--profile", "sglang"], "there is a profile 'sglang' already"),
    ],
)
def test_what_is_no_beginning_is_said(own: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _said(["rules", "new", *words], capsys)
    assert (code, out) == (2, "")
    assert said in err

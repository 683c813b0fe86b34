from __future__ import annotations

from pathlib import Path

import pytest

from forensics.ruleset.loading import read
from forensics.ruleset.selftest import failures, main, trials

RULES = """
- id: a
  cause: gpu-oom-init
  role: root
  from: server
  line: 'out of memory'
  says: it has none left
  source: seen here
  samples:
    hit: [{text: out of memory}, {text: all is well}, {capture: samples/silent-crash}]
    miss: [{text: out of memory, from: client}, {text: out of memory again, why: an advice}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.yaml").write_text(RULES)
    return tmp_path


def test_captures_are_left_to_the_tests_of_the_pipeline(folder: Path) -> None:
    assert [str(trial) for trial in trials(read(folder).rules)] == ["a-hit-1", "a-hit-2", "a-miss-1", "a-miss-2"]


def test_a_sample_that_goes_the_wrong_way_is_named_with_its_place(folder: Path) -> None:
    wrong = [str(failure).replace(f"{folder}/", "") for failure in failures(read(folder).rules)]
    assert wrong == [
        "a.yaml:10:34: a does not match its sample: 'all is well'",
        "a.yaml:11:49: a matches what it should not (an advice): 'out of memory again'",
    ]


def test_a_sample_of_several_lines_is_tried_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        RULES.replace("text: all is well", 'text: "first\\nout of memory\\nlast"').replace("out of memory again", "another")
    )
    assert failures(read(tmp_path).rules) == []


def test_the_command_leaves_with_1_where_something_is_wrong(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(folder)]) == 1
    out, err = capsys.readouterr()
    assert [line.split(": ")[1] for line in out.splitlines()] == ["a does not match its own hit", "a matches its own miss"]
    assert err == "1 file, 1 rule, 0 profiles with 0 marks and figures, 4 samples: 2 faults, 0 warnings, 0 remarks\n"


def test_the_command_leaves_with_0_where_all_is_well(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(RULES.replace("all is well", "out of memory!").replace("out of memory again", "another"))
    assert main([str(tmp_path)]) == 0


def test_the_lines_of_a_sample_are_one_record_and_are_joined(tmp_path: Path) -> None:
    rules = """
- id: a
  cause: model-load
  role: root
  line: '^ValueError: shape'
  preceded_by: '^Traceback'
  samples:
    hit: [{text: "Traceback (most recent call last)\\n  File x\\nValueError: shape"}, {text: "ValueError: shape"}]
    miss: [{text: "ValueError: shape\\nTraceback (most recent call last)"}, {text: "Traceback (most)\\nValueError: shapes", why: another}]
"""
    (tmp_path / "a.yaml").write_text(rules)
    assert [str(failure.trial) for failure in failures(read(tmp_path).rules)] == ["a-hit-2", "a-miss-2"]

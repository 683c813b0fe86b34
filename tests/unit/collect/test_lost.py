"""Files that are there when they are listed, and gone or unreadable when they are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import api, collect
from forensics.errors import TargetError
from forensics.model import Capture, Diagnosis
from forensics.redact.redactor import Redactor
from tests.cases.judge import rules

LOG = "INFO 05-09 10:00:05 [api_server.py:1839] vLLM API server version 0.11.0\n"
TAKEN = "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 44319): address already in use\n"


def gone(file: Path) -> None:
    file.unlink()


def turned_into_a_folder(file: Path) -> None:  # the one kind of unreadable that holds for root as well
    file.unlink()
    file.mkdir()


def listed(folder: Path, *names: str) -> Capture:
    for name in names:
        (folder / name).write_text(LOG + TAKEN)
    (target,) = collect.parse_targets([str(folder)])
    with collect.open_target(target) as session:
        (capture,) = api.look(session, rules(), unit=None, since=None, progress=lambda text: None)
    return capture


def diagnosed(capture: Capture) -> Diagnosis:
    return api.diagnose_capture(capture, rules())


@pytest.mark.parametrize(("lose", "why"), [(gone, "No such file or directory"), (turned_into_a_folder, "Is a directory")], ids=["gone", "folder"])
def test_what_is_lost_is_said_and_the_rest_is_read(tmp_path: Path, lose: Callable[[Path], None], why: str) -> None:
    capture = listed(tmp_path, "one.log", "two.log")
    lose(tmp_path / "one.log")
    found = diagnosed(capture)
    assert found.cause == "port-in-use"
    assert {e.source for e in found.evidence} == {"two.log"}
    assert [w.text for w in found.warnings if w.kind == "unread"] == [f"one.log: cannot be read: {why}"]


def test_where_nothing_is_left_the_error_names_the_file(tmp_path: Path) -> None:
    capture = listed(tmp_path, "one.log")
    gone(tmp_path / "one.log")
    with pytest.raises(TargetError) as raised:
        diagnosed(capture)
    assert str(raised.value) == f"{tmp_path / 'one.log'}: cannot be read: No such file or directory"


def test_names_are_gathered_from_what_is_left(tmp_path: Path) -> None:
    capture = listed(tmp_path, "one.log", "two.log")
    gone(tmp_path / "two.log")
    _, left = collect.read_what_is_left(capture, Redactor().learn)
    assert [section.name for section in left.sections] == ["one.log"]


def test_a_fault_that_is_about_no_file_of_the_capture_is_raised_as_it_is(tmp_path: Path) -> None:
    def full(_: Capture) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        collect.read_what_is_left(listed(tmp_path, "one.log"), full)

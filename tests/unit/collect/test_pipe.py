"""What can be read only once is copied, and nobody is waited for without end."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from forensics import collect
from forensics.collect import pipe
from forensics.collect.pipe import Copied
from forensics.errors import TargetError
from forensics.model import Coverage
from tests.unit.collect.test_files import capture, names


@contextmanager
def written(fifo: Path, *pieces: bytes, pause_s: float = 0.0) -> Iterator[None]:
    """Somebody who writes into a pipe."""

    def write() -> None:
        with suppress(BrokenPipeError), fifo.open("wb", buffering=0) as stream:
            for piece in pieces:
                time.sleep(pause_s)
                stream.write(piece)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    yield
    thread.join(10)


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "fifo")
    return tmp_path / "fifo"


def test_a_named_pipe_is_copied_to_its_end(fifo: Path) -> None:
    with written(fifo, b"one\n", b"two\n", pause_s=0.1):
        made = capture(fifo)
    assert names(made) == [str(fifo)]
    assert (made.sections[0].head(), made.sections[0].coverage) == (b"one\ntwo\n", Coverage.GIVEN)
    assert made.sections[0].path.is_file()


def test_a_pipe_of_the_shell_is_copied_and_may_be_empty() -> None:
    for text in (b"one\n", b""):
        read_end, write_end = os.pipe()
        os.write(write_end, text)
        os.close(write_end)
        began = time.monotonic()
        [section] = capture(f"/dev/fd/{read_end}").sections
        os.close(read_end)
        assert section.head() == text
        assert time.monotonic() - began < 20


def test_a_pipe_that_nobody_writes_to_is_given_up(fifo: Path, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="nobody writes to") as error:
        pipe.copy_named(fifo, tmp_path / "copy", 1 << 20, writer_s=0.2)
    assert error.value.at == str(fifo)


def test_beside_other_files_a_pipe_without_a_writer_is_left_out_and_said(fifo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipe.copy_named, "__kwdefaults__", {"writer_s": 0.1})
    (tmp_path / "a.txt").write_text("x\n")
    made = capture(fifo, tmp_path / "a.txt")
    assert names(made) == ["a.txt"]
    assert "nobody writes to" in made.problems[0].text


def test_an_endless_pipe_is_cut(fifo: Path) -> None:
    with written(fifo, *[b"y\n" * 4096] * 10):
        [section] = capture(fifo, limits=collect.Limits(stdin_bytes=1 << 14)).sections
        assert section.coverage is Coverage.CUT
        assert section.size() <= 1 << 14


def test_a_device_without_end_is_no_text_and_one_without_bytes_is_empty(tmp_path: Path) -> None:
    assert pipe.copy_named(Path("/dev/zero"), tmp_path / "copy", 1 << 30) == Copied(0, what="no text")
    assert [s.coverage for s in capture("/dev/null").sections] == [Coverage.EMPTY]


def test_a_stream_that_is_no_text_is_not_kept(tmp_path: Path) -> None:
    assert pipe.copy(io.BytesIO(b"\x1f\x8b\x08rest"), tmp_path / "copy", 1 << 20).what == "compressed with gzip"


def test_standard_input_that_is_closed_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(TargetError, match="standard input is closed"):
        capture("-")

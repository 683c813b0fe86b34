"""Width, colours and progress follow the terminal, and nothing is shown where nobody watches."""

from __future__ import annotations

import contextlib
import io

import pytest

from forensics.cli import screen


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def test_the_width_is_the_one_asked_for_else_the_terminals_else_fit_for_a_ticket(monkeypatch: pytest.MonkeyPatch) -> None:
    assert screen.width(72, Terminal()) == 72
    assert screen.width(None, io.StringIO()) == 100
    monkeypatch.setenv("COLUMNS", "90")
    assert screen.width(None, Terminal()) == 90
    assert screen.width(None, io.StringIO()) == 90
    monkeypatch.setenv("COLUMNS", "400")
    assert screen.width(None, Terminal()) == 160


def test_colors_are_for_terminals_that_can_unless_no_color_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    assert screen.color("auto", Terminal())
    assert not screen.color("auto", io.StringIO())
    assert screen.color("always", io.StringIO())
    assert not screen.color("never", Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not screen.color("auto", Terminal())
    assert screen.color("always", Terminal())
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not screen.color("auto", Terminal())


def test_progress_is_one_line_that_is_wiped_at_the_end() -> None:
    stream = Terminal()
    with screen.Progress(stream) as progress:
        progress("gpu01: connecting")
        progress("gpu01: \x1b[2Jreading")
    assert stream.getvalue() == "\r\x1b[Kgpu01: connecting\r\x1b[Kgpu01: \\x1b[2Jreading\r\x1b[K"


def test_progress_is_wiped_when_an_error_ends_it() -> None:
    stream = Terminal()
    with contextlib.suppress(ZeroDivisionError), screen.Progress(stream) as progress:
        progress("gpu01: connecting")
        raise ZeroDivisionError
    assert stream.getvalue().endswith("\r\x1b[K")


def test_progress_is_silent_where_nobody_watches_and_lines_where_they_are_wanted() -> None:
    quiet, lines = io.StringIO(), io.StringIO()
    with screen.Progress(quiet) as progress:
        progress("gpu01: connecting")
    with screen.Progress(lines, lines=True) as progress:
        progress("gpu01: connecting")
    assert quiet.getvalue() == ""
    assert lines.getvalue() == "gpu01: connecting\n"


def test_where_nobody_watches_progress_is_at_most_a_line_a_minute() -> None:
    now = [100.0]
    stream = io.StringIO()
    with screen.Progress(stream, every_s=60.0, clock=lambda: now[0]) as progress:
        for second in range(0, 125, 3):
            now[0] = 100.0 + second
            progress(f"{second} s")
    assert stream.getvalue() == "0 s\n60 s\n120 s\n"


def test_progress_that_cannot_be_shown_is_no_error() -> None:
    tried = []

    class Full(io.StringIO):
        def write(self, text: str) -> int:
            tried.append(text)
            raise OSError(28, "No space left on device")

    with screen.Progress(Full(), lines=True) as progress:
        progress("gpu01: connecting")
    assert tried == ["gpu01: connecting\n"]

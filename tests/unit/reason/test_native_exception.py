"""An uncaught C++ exception: its own words are the reason, the frames below them are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics import Cause, Diagnosis, diagnose
from tests.unit.reason.telling import diagnosed, folder

FRAMES = "".join(f"frame #{n}: <unknown function> + 0x{n}ecdb4 (0x7faf54cecdb{n % 10} in /lib/x86_64-linux-gnu/libc.so.6)\n" for n in range(11))
THROWN = "terminate called after throwing an instance of 'c10::Error'\n"
WORDS = "draft worker thread: expected tree mask of 64 elements but got 96"
TEXT = f"{THROWN}  what():  {WORDS}\nException raised from operator() at /src/ab.cpp:3 (most recent call first):\n{FRAMES}"
GDB = "".join(f"#{n}  0x00007f31a2c9e8{n}c in __pthread_kill_implementation () from /lib64/libc.so.6\n" for n in range(9))
START = "2026-05-09T10:00:00+0000 node1 systemd[1]: Started llm.service - LLM.\n"
END = (
    "2026-05-09T10:00:06+0000 node1 systemd[1]: llm.service: Main process exited, code=killed, status=6/ABRT\n"
    "2026-05-09T10:00:06+0000 node1 systemd[1]: llm.service: Failed with result 'signal'.\n"
)


def _journal(text: str) -> str:
    return START + "".join(f"2026-05-09T10:00:05+0000 node1 llm[100]: {line}\n" for line in text.splitlines()) + END


def _log(tmp_path: Path, text: str) -> Diagnosis:
    path = tmp_path / "server.log"
    path.write_text(text)
    return diagnose(str(path))[0]


def test_a_text_that_is_all_exception_and_frames_was_printed_by_a_program_and_its_words_come_first(tmp_path: Path) -> None:
    told = _log(tmp_path, TEXT)
    assert told.cause is Cause.SIGNAL_DEATH
    assert WORDS in told.headline
    assert [e.line for e in told.evidence] == [2, 1]


def test_of_a_life_that_ended_by_sigabrt_the_words_come_first_and_nothing_asks_for_them(tmp_path: Path) -> None:
    told = diagnosed(folder(tmp_path, journal=_journal(TEXT)))
    assert told.cause is Cause.SIGNAL_DEATH
    assert told.headline.endswith(f"its words: {WORDS}")
    assert told.evidence[0].text.strip() == f"what():  {WORDS}"
    assert not any("frame #" in e.text for e in told.evidence)
    assert told.hypotheses[0].next == "coredumpctl info"


def test_libcxx_says_it_in_one_line(tmp_path: Path) -> None:
    told = diagnosed(folder(tmp_path, journal=_journal("libc++abi: terminating due to uncaught exception of type std::out_of_range: vector")))
    assert told.headline.endswith("(SIGABRT); its words: vector")


def test_an_exception_without_words_is_told_as_before(tmp_path: Path) -> None:
    told = diagnosed(folder(tmp_path, journal=_journal("terminate called without an active exception")))
    assert told.headline.endswith("an uncaught C++ exception aborted the process (SIGABRT)")
    assert "terminate called" in (told.hypotheses[0].next or "")


def test_what_says_why_in_words_that_are_known_is_that_cause(tmp_path: Path) -> None:
    told = diagnosed(
        folder(
            tmp_path,
            journal=_journal("terminate called after throwing an instance of 'std::system_error'\n  what():  Resource temporarily unavailable"),
        )
    )
    assert told.cause is Cause.BAD_ENVIRONMENT


@pytest.mark.parametrize("frames", [FRAMES, GDB])
def test_a_line_of_words_is_shown_before_the_frames_below_it(tmp_path: Path, frames: str) -> None:
    told = diagnosed(folder(tmp_path, journal=_journal("the tree mask has a shape that nobody wanted\n" + "".join(frames.splitlines(True)[:3]))))
    assert any("nobody wanted" in e.text for e in told.evidence)
    assert not any("libc.so.6" in e.text for e in told.evidence)


def test_where_there_are_frames_only_they_are_shown(tmp_path: Path) -> None:
    assert _log(tmp_path, FRAMES).evidence


def test_a_letter_that_speaks_of_such_an_exception_is_no_death(tmp_path: Path) -> None:
    told = _log(
        tmp_path,
        "Hello,\n\nyesterday we saw that terminate called after throwing an instance of was in the log, and I do not know\nwhat(): is there to say about it. My colleague thinks that it is harmless.\n\nThanks\n",
    )
    assert told.cause is not Cause.SIGNAL_DEATH


LOADED = "main: server is listening on http://127.0.0.1:8080 - starting the main loop\nsrv  update_slots: all slots are idle\n"


def test_a_log_that_ends_in_an_abort_is_of_no_healthy_server(tmp_path: Path) -> None:
    told = _log(
        tmp_path, f"{LOADED}terminate called after throwing an instance of 'std::out_of_range'\n  what():  unordered_map::at\nAborted (core dumped)\n"
    )
    assert (told.cause, told.health) == (Cause.SIGNAL_DEATH, "failed")


@pytest.mark.parametrize(
    ("kind", "words", "cause"),
    [
        (
            "std::filesystem::filesystem_error",
            "filesystem error: cannot create directories: Permission denied [/var/cache/flashinfer]",
            Cause.FILE_ACCESS,
        ),
        ("std::runtime_error", "Failed to open /models/a.safetensors: No space left on device", Cause.DISK_FULL),
        ("std::runtime_error", "grammar matcher: vocab size mismatch 151936 vs 152064", Cause.SIGNAL_DEATH),
    ],
)
def test_words_that_a_rule_knows_are_the_cause(kind: str, words: str, cause: Cause, tmp_path: Path) -> None:
    told = diagnosed(folder(tmp_path, journal=_journal(f"terminate called after throwing an instance of '{kind}'\n  what():  {words}\n")))
    assert told.cause is cause

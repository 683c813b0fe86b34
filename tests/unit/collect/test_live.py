"""The script in a real sh against programs that are made up; each shell that is here is tried."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from forensics import collect
from forensics.collect import plan
from forensics.collect.process import Start, start_process
from forensics.collect.question import Question
from forensics.errors import TargetError
from forensics.model import Coverage, PartKind, Section, Target, TargetKind
from tests.unit.collect.fakehost import DATA, FakeHost, command

MUCH = "i=0; while [ $i -lt 2000 ]; do echo 0123456789; i=$((i+1)); done"  # head passes on no less than a block
HOST = Target(kind=TargetKind.SSH, name="gpu01", host="gpu01")
REAL = (DATA / "child-segv.export").read_bytes()
# sh is one of them, or another; mksh and ksh keep what exec has opened from the programs they start
SHELLS = {os.path.realpath(found): name for name in ("bash", "dash", "mksh", "ksh", "yash", "zsh", "sh") if (found := shutil.which(name))}


@pytest.fixture(params=sorted(SHELLS.values()))
def fake(request: pytest.FixtureRequest, tmp_path: Path) -> FakeHost:
    return FakeHost(tmp_path / "host", request.param)


def ask(fake: FakeHost, *questions: Question, limits: collect.Limits | None = None) -> dict[str, Section]:
    with collect.open_target(HOST, run=fake.run, limits=limits) as session:
        return {s.name: s for s in session.ask(questions)}


def question(script: str, **other: object) -> Question:
    values: dict[str, object] = {"name": "tried", "part": PartKind.SERVER, "argv": script, **other}
    return Question(script=script, **values)  # type: ignore[arg-type]


def reversed_export(data: bytes) -> bytes:
    from forensics.collect.order import export_entries

    return b"".join(data[a:b] for a, b in reversed(list(export_entries(data))))


def test_both_rounds_go_through_one_process(fake: FakeHost) -> None:
    fake.answers("systemctl", b"a.service loaded active running A\n")
    fake.answers("journalctl", b"")
    with collect.open_target(HOST, run=fake.run) as session:
        first = session.ask(plan.overview("a"))
        rest = session.ask(plan.unit("a"))
    assert len(fake.started) == 1
    assert fake.started[0][0] == "ssh"
    assert fake.started[0][-3:] == ["--", "gpu01", "exec sh -s"]
    assert "BatchMode=yes" in fake.started[0]
    assert [s.name for s in first] == ["clock", "units"]
    assert "a.service loaded active" in first[1].head().decode()
    assert [s.name for s in rest][:3] == ["is-active", "status", "show"]


def test_the_answer_is_kept_byte_for_byte_with_its_exit_code(fake: FakeHost) -> None:
    got = ask(fake, question(r"printf 'a\0b\n\n@word end tried 0\nno line end'; exit 7"))["tried"]
    assert got.head() == b"a\0b\n\n@word end tried 0\nno line end"
    assert got.exit_code == 7
    assert (got.cut, got.coverage) == (0, Coverage.READ)


def test_an_empty_answer_is_empty_and_not_missing(fake: FakeHost) -> None:
    got = ask(fake, question("true"))["tried"]
    assert (got.size(), got.exit_code, got.coverage) == (0, 0, Coverage.EMPTY)


def test_what_is_said_on_stderr_belongs_to_its_section(fake: FakeHost) -> None:
    got = ask(fake, question("echo one >&2", name="first"), question("echo two >&2; echo x", name="second"))
    assert (got["first"].stderr.strip(), got["second"].stderr.strip()) == ("one", "two")


def test_commands_cannot_read_the_script(fake: FakeHost) -> None:
    got = ask(fake, question('cat; read -r x; echo "[$x]"', name="greedy"), question("echo here", name="second"))
    assert got["greedy"].head() == b"[]\n"
    assert got["second"].head() == b"here\n"


def test_a_long_answer_is_cut_at_its_end_and_says_so(fake: FakeHost) -> None:
    got = ask(fake, question("i=0; while :; do echo line$i; i=$((i+1)); done", max_bytes=1000), question("echo after", name="second"))
    assert got["tried"].size() == 1000
    assert got["tried"].head().startswith(b"line0\nline1\n")
    assert (got["tried"].cut, got["tried"].coverage) == (-1, Coverage.CUT)
    assert got["second"].head() == b"after\n"


def test_a_long_answer_whose_end_counts_loses_its_start_up_to_a_whole_line(fake: FakeHost) -> None:
    got = ask(fake, question("i=0; while [ $i -lt 500 ]; do echo line$i; i=$((i+1)); done", max_bytes=100, keep_end=True))["tried"]
    lines = got.head().decode().splitlines()
    assert lines[-1] == "line499"
    assert all(len(line) == 7 for line in lines)
    assert (got.cut, got.coverage) == (-1, Coverage.CUT)


def test_an_answer_of_exactly_the_limit_is_not_cut(fake: FakeHost) -> None:
    for keep_end in (False, True):
        got = ask(fake, question("echo 1234567", max_bytes=8, keep_end=keep_end))["tried"]
        assert (got.head(), got.cut) == (b"1234567\n", 0)


@pytest.mark.parametrize("without_timeout", [False, True], ids=["timeout", "no-timeout"])
def test_a_command_that_hangs_costs_its_limit_and_keeps_what_it_said(fake: FakeHost, *, without_timeout: bool) -> None:
    if without_timeout:
        fake.program("timeout", "exit 1\n")
    began = time.monotonic()
    got = ask(fake, question("echo begun; exec sleep 60", limit_s=1), question("echo after", name="second"))
    assert time.monotonic() - began < 30
    assert got["tried"].head() == b"begun\n"
    assert got["tried"].coverage is Coverage.CUT
    assert "stopped after 1 s" in got["tried"].stderr
    assert got["second"].head() == b"after\n"


def test_a_command_in_the_background_overlaps_with_the_others_and_comes_last(fake: FakeHost) -> None:
    began = time.monotonic()
    got = ask(fake, question("sleep 3; echo front", name="front"), question("sleep 3.2; echo back; exit 5", name="back", lane="gpu"))
    assert time.monotonic() - began < 6
    assert (got["front"].head(), got["back"].head(), got["back"].exit_code) == (b"front\n", b"back\n", 5)


def test_a_background_command_that_cannot_be_ended_is_left(fake: FakeHost, tmp_path: Path) -> None:
    """As one that hangs in a driver: it keeps its pipe open whatever it is sent."""
    pid = tmp_path / "pid"
    # out of its group and deaf to TERM, with the pipe as its standard output
    hang = f"setsid sh -c 'echo $$ >{pid}; trap \"\" TERM; while :; do sleep 0.2; done' & wait"
    began = time.monotonic()
    try:
        got = ask(fake, question("echo front", name="front"), question(hang, name="back", lane="gpu", limit_s=1))
        assert time.monotonic() - began < 30
        assert got["front"].head() == b"front\n"
        assert got["back"].coverage is Coverage.NOT_COLLECTED
    finally:
        os.kill(int(pid.read_text()), signal.SIGKILL)


def test_a_journal_that_comes_newest_first_is_kept_oldest_first(fake: FakeHost) -> None:
    fake.answers("journalctl", reversed_export(REAL))
    with collect.open_target(HOST, run=fake.run) as session:
        journal = {s.name: s for s in session.ask(plan.unit("x"))}["journal"]
    assert journal.head(1 << 20) == REAL
    assert journal.coverage is Coverage.READ


def test_of_a_journal_that_is_too_long_the_newest_whole_entries_are_kept(fake: FakeHost) -> None:
    fake.answers("journalctl", reversed_export(REAL))
    with collect.open_target(HOST, run=fake.run) as session:
        journal = {s.name: s for s in session.ask(plan.unit("x", journal_bytes=10000))}["journal"]
    kept = journal.head(1 << 20)
    assert REAL.endswith(kept)
    assert kept.startswith(b"__CURSOR=")
    assert 8000 < len(kept) <= 10000
    assert (journal.cut, journal.coverage) == (-1, Coverage.CUT)


def test_a_journal_that_is_too_long_keeps_the_beginnings_of_its_lives(fake: FakeHost) -> None:
    fake.answers("newest-first", reversed_export(REAL))
    fake.answers("oldest-first", REAL)
    fake.program(
        "journalctl",
        'case "$*" in *--help*) echo "--output-fields=LIST";; *"-n 1 "*) ;; *"-r"*) newest-first;; *=INVOCATION_ID*) echo INVOCATION_ID=abc; echo INVOCATION_ID=abc;; '
        "*_SYSTEMD_INVOCATION_ID=abc*) oldest-first | head -n 120;; esac\n",
    )
    with collect.open_target(HOST, run=fake.run) as session:
        sections = session.ask(plan.unit("x", journal_bytes=10000))
    assert "lives" not in [s.name for s in sections]
    journal = next(s for s in sections if s.name == "journal")
    assert journal.coverage is Coverage.CUT
    data = journal.head(1 << 20)
    assert data.startswith(REAL[:1000])
    assert data.endswith(REAL[-8000:])
    assert 10000 < len(data) < len(REAL)


HINT = "Hint: You are currently not seeing messages from other users and the system.\n      Users in groups 'adm', 'systemd-journal' can see all messages.\n"


def test_a_journal_that_may_not_be_read_is_denied_not_empty(fake: FakeHost) -> None:
    fake.program("journalctl", f'case "$*" in *export*) exit 0;; *--help*) exit 0;; *) printf "%s" "{HINT}" >&2;; esac\n')
    fake.answers("systemctl", b"active\n")
    with collect.open_target(HOST, run=fake.run) as session:
        capture = collect.capture_from(session, session.ask(plan.unit("x")))
    section = capture.section("journal")
    assert section is not None
    assert section.coverage is Coverage.DENIED
    assert any(p.source == "journal" and "may not read" in p.text for p in capture.problems)


def test_a_program_that_is_not_there_leaves_a_gap_and_the_rest(fake: FakeHost) -> None:
    got = ask(
        fake,
        question("command -v no-such-program >/dev/null || { echo 'no-such-program: not found' >&2; exit 127; }"),
        question("echo x", name="second"),
    )
    assert got["tried"].coverage is Coverage.NOT_COLLECTED
    assert got["second"].coverage is Coverage.READ


def test_a_unit_that_is_down_makes_systemctl_fail_and_is_read_all_the_same(fake: FakeHost) -> None:
    fake.answers("systemctl", b"failed\n", code=3)
    got = ask(fake, *[q for q in plan.unit("x") if q.name == "is-active"])["is-active"]
    assert (got.head(), got.exit_code, got.coverage) == (b"failed\n", 3, Coverage.READ)


def test_the_hosts_clock_is_compared_with_ours(fake: FakeHost) -> None:
    fake.program("date", "echo 1778321718.250000000\n")
    with collect.open_target(HOST, run=fake.run, clock=lambda: 1778321700.0) as session:
        capture = collect.capture_from(session, session.ask(plan.overview()))
    assert capture.at == 1778321718.25
    assert capture.offset_s is not None
    assert 18.2 <= capture.offset_s < 20
    assert capture.host == os.uname().nodename


@pytest.mark.parametrize("said", ["nan", "inf", "1e308", "-1"])
def test_a_clock_that_shows_no_time_is_not_believed(fake: FakeHost, said: str) -> None:
    fake.program("date", f"echo {said}\n")
    with collect.open_target(HOST, run=fake.run) as session:
        session.ask(plan.overview())
        assert (session.at, session.offset_s) == (None, None)
        assert "did not say what time it is" in session.problems[0].text


def test_a_clock_without_fractions_is_read(fake: FakeHost) -> None:
    fake.program("date", "echo 1778321718.%N\n")  # busybox
    with collect.open_target(HOST, run=fake.run) as session:
        session.ask(plan.overview())
        assert session.at == 1778321718.0


def test_noise_before_the_first_answer_is_no_answer(tmp_path: Path) -> None:
    [section] = _ask_with(command("echo 'Welcome to gpu01!'; echo; exec sh -s"), question("echo x"))
    assert section.head() == b"x\n"


def _ask_with(run: object, *questions: Question, limits: collect.Limits | None = None) -> list[Section]:
    with collect.open_target(HOST, run=run, limits=limits) as session:  # type: ignore[arg-type]
        return session.ask(questions)


def counted(calls: list[Sequence[str]], start: Start) -> Start:
    def run(argv: Sequence[str]) -> subprocess.Popen[bytes]:
        calls.append(argv)
        return start(argv)

    return run


@pytest.mark.parametrize("said", ["kex_exchange_identification: Connection closed by remote host", "Connection reset by 10.0.0.1 port 22"])
def test_a_host_that_hangs_up_before_the_login_is_called_once_more(fake: FakeHost, said: str) -> None:
    """As sshd does at MaxStartups."""
    calls: list[Sequence[str]] = []

    def run(argv: Sequence[str]) -> subprocess.Popen[bytes]:
        calls.append(argv)
        return command(f"echo '{said}' >&2; exit 255")(argv) if len(calls) == 1 else fake.run(argv)

    with collect.open_target(HOST, run=run) as session:
        [section] = session.ask([question("echo x")])
        assert section.head() == b"x\n"
        [problem] = session.problems
    assert problem.text == f"the first try was turned away before the login ({said}); this is the second"
    calls.clear()
    with pytest.raises(TargetError, match="it closed the connection before the login was done"):
        _ask_with(counted(calls, command(f"echo '{said}' >&2; exit 255")), question("echo x"))
    assert len(calls) == 2


def test_a_refused_login_is_not_tried_again() -> None:
    calls: list[Sequence[str]] = []
    with pytest.raises(TargetError, match="it refuses the login"):
        _ask_with(counted(calls, command("echo 'me@gpu01: Permission denied (publickey).' >&2; exit 255")), question("echo x"))
    assert len(calls) == 1


def test_an_account_without_a_shell_is_an_error_that_says_so() -> None:
    with pytest.raises(TargetError, match=r"the login works, but no POSIX shell answered.*not available"):
        _ask_with(command("echo 'This account is currently not available.'; exit 1"), question("echo x"))


def test_a_host_that_never_answers_is_given_up() -> None:
    limits = collect.Limits(connect_s=1, answer_s=0.2, total_s=30)
    began = time.monotonic()
    with pytest.raises(
        TargetError, match=r"the login works, but the shell there waits for something \(its start-up files\?\): no answer within 1 s"
    ) as error:
        _ask_with(command("exec sleep 60"), question("echo x"), limits=limits)
    assert time.monotonic() - began < 30
    assert "no file of the name" not in str(error.value)


def test_a_start_up_file_that_eats_the_script_is_said_to_wait() -> None:
    limits = collect.Limits(connect_s=1, answer_s=0.2, total_s=30)
    with pytest.raises(TargetError, match="the shell there waits for something"):
        _ask_with(command("read a; exec sh -s 2>/dev/null"), question("echo x"), limits=limits)


def test_what_a_start_up_file_asks_is_in_the_error() -> None:
    limits = collect.Limits(connect_s=1, answer_s=0.2, total_s=30)
    with pytest.raises(TargetError, match=r"no answer within \d+ s; the last it said: pick one: 1\) bash 2\) zsh"):
        _ask_with(command("printf 'hello\n\npick one: 1) bash 2) zsh '; exec sleep 60"), question("echo x"), limits=limits)


def test_a_connection_that_is_killed_before_anything_is_answered_is_lost() -> None:
    with pytest.raises(TargetError, match=r"the connection was lost before anything was answered \(ssh was ended by signal 9\)") as error:
        _ask_with(command("echo 'tput: no terminal' >&2; kill -9 $$"), question("echo x"))
    assert str(error.value).endswith("the last line on its standard error: tput: no terminal")


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("tput: no terminal", "the connection was lost (the last line on its standard error: tput: no terminal)"),
        ("Connection to gpu01 closed by remote host.", "the connection was lost: Connection to gpu01 closed by remote host."),
    ],
)
def test_what_the_far_shell_wrote_is_no_reason_for_a_lost_connection(tmp_path: Path, said: str, problem: str) -> None:
    group = tmp_path / "group"
    run = command(f"echo $$ >{group}; echo '{said}' >&2; exec sh -s")
    with collect.open_target(HOST, run=run) as session:
        session.ask([question("echo x", name="first"), question(f"kill -9 -$(cat {group}); sleep 1", name="second", limit_s=3)])
        assert [p.text for p in session.problems] == [problem]


def test_a_connection_that_breaks_in_between_keeps_what_was_there(fake: FakeHost, tmp_path: Path) -> None:
    group = tmp_path / "group"

    def run(argv: Sequence[str]) -> subprocess.Popen[bytes]:
        process = fake.run(argv)
        group.write_text(str(process.pid))
        return process

    with collect.open_target(HOST, run=run) as session:
        first = session.ask([question("echo x", name="first")])
        # the second lets what was said pass through the pipe before everything in it is killed
        cut = question(f"{MUCH}; sleep 1; kill -9 -$(cat {group}); sleep 1", name="third", limit_s=8)
        rest = session.ask([question("echo y", name="second"), cut, question("echo z", name="fourth")])
        more = session.ask([question("echo z", name="fifth")])
        capture = collect.capture_from(session, [*first, *rest, *more])
    coverages = {s.name: s.coverage for s in capture.sections}
    assert coverages["first"] is coverages["second"] is Coverage.READ
    assert coverages["fourth"] is coverages["fifth"] is Coverage.NOT_COLLECTED
    assert coverages["third"] is Coverage.CUT
    assert any("connection was lost" in p.text for p in capture.problems)


def test_a_host_that_falls_silent_is_given_up_with_what_was_there(fake: FakeHost) -> None:
    fake.program("timeout", 'case "$*" in "-k 1 9 true") exit 0;; esac; exec sleep 60\n')  # a limit that does not hold
    limits = collect.Limits(grace_s=0.5)
    began = time.monotonic()
    with collect.open_target(HOST, run=fake.run, limits=limits) as session:
        sections = session.ask([question("echo y", limit_s=0.5)])
    assert time.monotonic() - began < 30
    assert sections[0].coverage is Coverage.NOT_COLLECTED
    assert any("did not come to an end" in p.text for p in session.problems)


def test_the_whole_has_a_deadline(fake: FakeHost) -> None:
    limits = collect.Limits(total_s=1.5)
    began = time.monotonic()
    got = ask(fake, question(f"while :; do {MUCH}; sleep 0.1; done", limit_s=60, max_bytes=1 << 24), question("echo y", name="second"), limits=limits)
    assert time.monotonic() - began < 30
    assert (got["tried"].coverage, got["second"].coverage) == (Coverage.CUT, Coverage.NOT_COLLECTED)


def test_an_interruption_ends_the_process_and_removes_the_answers(fake: FakeHost, tmp_path: Path) -> None:
    processes = []

    def run(argv: object) -> object:
        processes.append(fake.run(["ssh"]))
        return processes[0]

    spool = tmp_path / "spool"
    spool.mkdir()

    def interrupted() -> None:
        with collect.open_target(HOST, run=run, spool=spool) as session:  # type: ignore[arg-type]
            session.ask([question("echo x")])
            assert len(list(spool.iterdir())) == 1
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert processes[0].returncode is not None
    assert list(spool.iterdir()) == []


def test_the_answers_stay_until_they_are_discarded(fake: FakeHost, tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    with collect.open_target(HOST, run=fake.run, spool=spool) as session:
        [section] = session.ask([question("echo x")])
    assert section.head() == b"x\n"
    assert section.path.stat().st_mode & 0o077 == 0 or section.path.parent.stat().st_mode & 0o077 == 0
    session.discard()
    assert list(spool.iterdir()) == []


def test_the_same_question_twice_keeps_both_answers(fake: FakeHost) -> None:
    with collect.open_target(HOST, run=fake.run) as session:
        [one] = session.ask([question("echo one")])
        [two] = session.ask([question("echo two")])
        capture = collect.capture_from(session, [one, two])
    assert (one.head(), two.head()) == (b"one\n", b"two\n")
    assert [s.head() for s in capture.sections] == [b"two\n"]


def test_this_machine_is_asked_with_the_same_script() -> None:
    with collect.open_target(Target(kind=TargetKind.LOCAL, name="local")) as session:
        [clock, _] = session.ask(plan.overview())
    assert clock.coverage is Coverage.READ
    assert session.host == os.uname().nodename
    assert session.offset_s is not None
    assert abs(session.offset_s) < 1


def test_without_ssh_on_this_machine_it_says_so() -> None:
    def run(argv: object) -> object:
        raise FileNotFoundError("ssh")

    with pytest.raises(TargetError, match="there is no ssh on this machine"):
        collect.open_target(HOST, run=run)  # type: ignore[arg-type]


def test_a_shell_that_was_told_to_refuse_unset_names_is_asked_all_the_same(tmp_path: Path) -> None:
    fake = FakeHost(tmp_path / "host", "bash")

    def start(argv: Sequence[str]) -> subprocess.Popen[bytes]:
        return start_process(["bash", "-u", "-e", "-s"], env={"PATH": f"{fake.bin}:{os.environ['PATH']}", "HOME": "/nonexistent"})

    with collect.open_target(HOST, run=start) as session:
        got = {s.name: s for s in session.ask([question("echo one", name="first"), question("echo two", name="second", lane="host")])}
    assert [s.coverage for s in got.values()] == [Coverage.READ, Coverage.READ]


def test_a_host_that_gives_an_answer_twice_is_heard_once(tmp_path: Path) -> None:
    frame = (
        r"""give() { printf '\n%s begin tried plain\n%s\n%s said tried\n\n%s code 0\n\n%s end tried 1 2\n' "$w" "$1" "$w" "$w" "$w"; }"""
        r"""; read -r w; w=${w#dd_word=}; give first; sleep 0.2; give second; sleep 0.2; printf '\n%s done 1\n' "$w"; sleep 1"""
    )
    twice = command(frame)
    with collect.open_target(HOST, run=twice) as session:
        [got] = session.ask([question("x")])
    assert got.head() == b"first"
    assert got.exit_code == 0

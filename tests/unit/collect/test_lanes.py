"""What travels between the host and us: lanes side by side, packed answers, and more rights where they are given."""

from __future__ import annotations

import gzip
import shutil
import time
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from forensics import collect
from forensics.collect import packed, plan
from forensics.collect.answer import Answer
from forensics.collect.question import MIB, Question
from forensics.model import Coverage, PartKind, Section, Target, TargetKind
from tests.unit.collect.fakehost import FakeHost

HOST = Target(kind=TargetKind.SSH, name="gpu01", host="gpu01")
THIS = Target(kind=TargetKind.LOCAL, name="local")


@pytest.fixture
def fake(tmp_path: Path) -> FakeHost:
    return FakeHost(tmp_path / "host")


def question(script: str, name: str = "tried", **other: object) -> Question:
    values: dict[str, object] = {"name": name, "part": PartKind.SERVER, "argv": script, **other}
    return Question(script=script, **values)  # type: ignore[arg-type]


def ask(fake: FakeHost, *questions: Question, target: Target = HOST, sudo: bool = False) -> tuple[dict[str, Section], list[str]]:
    with collect.open_target(target, run=fake.run, sudo=sudo) as session:
        sections = {s.name: s for s in session.ask(questions)}
        return sections, [p.text for p in session.problems]


# ------------------------------------------------------------------ lanes


def test_lanes_run_side_by_side_and_questions_of_a_lane_one_after_the_other(fake: FakeHost, tmp_path: Path) -> None:
    log = tmp_path / "log"
    slow = f"echo begin >>{log}; sleep 1; echo end >>{log}"
    ask(fake, *[question(slow, name=name, lane=lane) for name, lane in (("a", "gpu"), ("b", "kernel"), ("c", "unit"), ("d", "journal"))])
    assert log.read_text().split() == ["begin"] * 4 + ["end"] * 4
    log.unlink()
    ask(fake, question(slow, name="a"), question(slow, name="b"))
    assert log.read_text().split() == ["begin", "end"] * 2


def test_every_lane_gives_its_answers_whole_however_large(fake: FakeHost) -> None:
    """More than a pipe holds, in each."""
    big = "i=0; while [ $i -lt 20000 ]; do echo 0123456789-{}; i=$((i+1)); done"
    lanes = ("gpu", "probe", "kernel", "host", "unit", "journal")
    asked = [question(big.format(lane), name=lane, lane=lane, pack=lane != "gpu") for lane in lanes]
    got, problems = ask(fake, *asked)
    for lane in lanes:
        assert got[lane].path.read_text() == f"0123456789-{lane}\n" * 20000
        assert (got[lane].exit_code, got[lane].coverage) == (0, Coverage.READ)
    assert problems == []


def test_an_order_of_questions_that_is_not_that_of_the_lanes_is_that_of_the_answers(fake: FakeHost) -> None:
    with collect.open_target(HOST, run=fake.run) as session:
        sections = session.ask([question("echo j", name="journal", lane="journal"), question("echo g", name="gpu", lane="gpu")])
    assert [(s.name, s.head()) for s in sections] == [("journal", b"j\n"), ("gpu", b"g\n")]


def test_what_is_still_waited_for_is_told(fake: FakeHost) -> None:
    told: list[str] = []
    with collect.open_target(HOST, run=fake.run, progress=told.append) as session:
        session.ask([question("echo a", name="a"), question("sleep 1; echo b", name="b")])
    assert told == ["gpu01: 1 of 2 answers; waiting for b"]


def test_a_lane_that_nobody_knows_is_refused(fake: FakeHost) -> None:
    with pytest.raises(ValueError, match="no lane"):
        ask(fake, question("true", lane="elsewhere"))


def test_how_long_a_command_ran_is_the_hosts_word_and_not_how_long_we_waited(fake: FakeHost) -> None:
    got, _ = ask(fake, question("true", name="quick", lane="gpu"), question("sleep 1.2", name="slow", lane="journal"))
    assert got["quick"].took_s is not None
    assert got["slow"].took_s is not None
    assert got["quick"].took_s < 1 <= got["slow"].took_s


def test_much_on_standard_error_is_cut_and_harms_nobody(fake: FakeHost) -> None:
    noise = "i=0; while [ $i -lt 30000 ]; do echo 'a line of noise' >&2; i=$((i+1)); done; echo said; exit 4"
    got, _ = ask(fake, question(noise), question("echo after", name="second"))
    assert (got["tried"].head(), got["tried"].exit_code) == (b"said\n", 4)
    assert 1900 < len(got["tried"].stderr) <= 2048
    assert got["second"].head() == b"after\n"


# ------------------------------------------------------------------ packed


def pack(data: bytes, encoding: str) -> bytes:
    return zstandard.compress(data) if encoding == "zstd" else gzip.compress(data) if encoding == "gzip" else data


@pytest.mark.parametrize("encoding", ["zstd", "gzip", "plain"])
def test_a_large_answer_travels_packed_with_what_the_host_has(fake: FakeHost, tmp_path: Path, encoding: str) -> None:
    log = tmp_path / "log"
    for name in ("zstd", "gzip"):
        if encoding in ("gzip", "plain") and (name == "zstd" or encoding == "plain"):
            fake.program(name, "exit 127\n")
        elif (real := shutil.which(name)) is None:
            pytest.skip(f"no {name}")
        else:
            fake.program(name, f'echo {name} >>{log}; exec {real} "$@"\n')
    got, problems = ask(
        fake, question("i=0; while [ $i -lt 3000 ]; do echo line$i; i=$((i+1)); done; exit 3", pack=True), question("echo x", "small")
    )
    assert got["tried"].path.read_text() == "".join(f"line{i}\n" for i in range(3000))
    assert (got["tried"].exit_code, got["tried"].coverage, got["small"].head(), problems) == (3, Coverage.READ, b"x\n", [])
    assert (log.read_text().split()[-1] if log.exists() else "plain") == encoding


def test_a_packed_answer_is_cut_at_its_limit(fake: FakeHost) -> None:
    got, _ = ask(fake, question("while :; do echo 0123456789; done", pack=True, max_bytes=4400))
    assert (got["tried"].size(), got["tried"].cut) == (4400, -1)


def test_nothing_is_packed_on_this_machine(fake: FakeHost) -> None:
    fake.program("zstd", "exit 99\n")
    got, _ = ask(fake, question("echo x", pack=True), target=THIS)
    assert got["tried"].head() == b"x\n"


@given(data=st.binary(max_size=5000), sizes=st.lists(st.integers(1, 700), max_size=30), encoding=st.sampled_from(["zstd", "gzip", "plain"]))
def test_what_was_packed_comes_out_however_it_arrives(data: bytes, sizes: list[int], encoding: str) -> None:
    sent = pack(data, encoding)
    unpack, got, at = packed.unpacker(encoding), b"", 0
    for size in [*sizes, len(sent)]:
        got += b"".join(unpack.feed(sent[at : at + size]))
        at += size
    assert got == data


@given(data=st.binary(max_size=400), encoding=st.sampled_from(["zstd", "gzip", "other"]))
def test_what_is_damaged_costs_only_itself(data: bytes, encoding: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    answer = Answer(question("true"), tmp_path_factory.mktemp("answer") / "a", encoding=encoding)
    answer.write(data)
    answer.write(b"and more")
    answer.end(0)
    assert answer.section("").coverage in (Coverage.NOT_COLLECTED, Coverage.CUT, Coverage.EMPTY)


@pytest.mark.parametrize("encoding", ["zstd", "gzip"])
def test_a_bomb_is_cut_at_the_limit_of_the_answer(tmp_path: Path, encoding: str) -> None:
    bomb = pack(bytes(256 * MIB), encoding)
    answer = Answer(question("true", max_bytes=1000), tmp_path / "a", encoding=encoding)
    answer.write(bomb)
    answer.end(0)
    got = answer.section("")
    assert (got.size(), got.coverage) == (1000, Coverage.CUT)


def test_a_piece_of_a_bomb_is_never_more_than_a_few_mib() -> None:
    bomb = zstandard.compress(bytes(64 * MIB))
    assert max(len(piece) for piece in packed.unpacker("zstd").feed(bomb)) <= 8 * MIB


# ------------------------------------------------------------------ sudo


SUDO = 'log "$@"; [ "$1" = -n ] || exit 9; shift; exec env -i PATH="$PATH" AS=root "$@"\n'


def sudo(fake: FakeHost, tmp_path: Path, rest: str) -> Path:
    fake.program("id", "case $1 in -u) echo 1000;; *) echo users;; esac\n")
    fake.program("sudo", f'log() {{ echo "$*" | head -n 1 >>{tmp_path}/sudo.log; }}\n{rest}')
    return tmp_path / "sudo.log"


def test_what_root_may_see_is_asked_with_sudo_in_the_same_language_and_zone(fake: FakeHost, tmp_path: Path) -> None:
    sudo(fake, tmp_path, SUDO)
    say = 'echo "${AS-me} $LC_ALL $TZ"'
    got, problems = ask(fake, question(say, sudo=True), question(say, "other"), plan.overview()[0], sudo=True)
    assert (got["tried"].head(), got["other"].head(), problems) == (b"root C UTC\n", b"me C UTC\n", [])
    assert b"sudo=all" in got["clock"].head()


def test_sudo_is_not_tried_where_it_was_not_asked_for(fake: FakeHost, tmp_path: Path) -> None:
    log = sudo(fake, tmp_path, SUDO)
    got, _ = ask(fake, question('echo "${AS-me}"', sudo=True))
    assert got["tried"].head() == b"me\n"
    assert not log.exists()


def test_sudo_that_wants_a_password_is_said_and_the_rest_is_asked_without(fake: FakeHost, tmp_path: Path) -> None:
    sudo(fake, tmp_path, "echo 'sudo: a password is required' >&2; exit 1\n")
    got, problems = ask(fake, plan.overview()[0], question('echo "${AS-me}"', sudo=True), sudo=True)
    assert got["tried"].head() == b"me\n"
    [said] = problems
    assert said.startswith("refused (a password is required): nothing was read with more rights")


def test_a_sudo_that_allows_some_programs_is_used_for_those(fake: FakeHost, tmp_path: Path) -> None:
    allowed = 'case "$2" in journalctl) shift; exec env -i PATH="$PATH" AS=root "$@";; esac; echo "sudo: not allowed" >&2; exit 1\n'
    sudo(fake, tmp_path, allowed)
    fake.program("journalctl", 'echo "journal of ${AS-me}"\n')
    got, problems = ask(fake, plan.overview()[0], question('journalctl; echo "${AS-me}"', sudo=True), sudo=True)
    assert got["tried"].head() == b"journal of root\nme\n"
    assert problems == ["refused (not allowed): only journalctl could be run with it"]


def test_root_needs_no_sudo(fake: FakeHost, tmp_path: Path) -> None:
    log = sudo(fake, tmp_path, SUDO)
    fake.program("id", "case $1 in -u) echo 0;; *) echo root;; esac\n")
    got, problems = ask(fake, question('echo "${AS-me}"', sudo=True), sudo=True)
    assert (got["tried"].head(), problems) == (b"me\n", [])
    assert not log.exists()


def test_a_command_that_hangs_under_sudo_costs_its_limit(fake: FakeHost, tmp_path: Path) -> None:
    sudo(fake, tmp_path, SUDO)
    began = time.monotonic()
    got, _ = ask(fake, question("echo begun; exec sleep 60", sudo=True, limit_s=1), sudo=True)
    assert time.monotonic() - began < 30
    assert got["tried"].head() == b"begun\n"


def test_a_function_that_a_login_exports_stands_in_for_no_program(tmp_path: Path) -> None:
    if shutil.which("bash") is None:
        pytest.skip("no bash: only it exports functions")
    fake = FakeHost(tmp_path / "host", "bash")
    fake.program("listening", "exec env 'BASH_FUNC_journalctl%%=() { echo FAKE; }' 'BASH_FUNC_timeout%%=() { echo FAKE; }' bash -s\n")
    fake.answers("journalctl", b"real\n")
    fake.shell = str(fake.bin / "listening")
    got, _ = ask(fake, question("journalctl"))
    assert got["tried"].head() == b"real\n"

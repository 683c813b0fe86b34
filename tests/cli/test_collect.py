"""``ddforensics collect`` as it is typed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from forensics.cli.main import main
from tests.cli.test_main import DDFORENSICS, ROOT

SILENT = str(ROOT / "samples" / "silent-crash")


def run(*words: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*DDFORENSICS, "collect", *words],
        cwd=cwd,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        stdin=subprocess.DEVNULL,
    )


def fake_ssh(folder: Path, script: str) -> str:
    """A PATH on which ssh is a script of ours."""
    folder.mkdir()
    (folder / "ssh").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "ssh").chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def test_the_path_is_the_result_and_the_rest_is_said_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "case.tar.zst"
    assert main(["collect", SILENT, "-o", str(place)]) == 0
    out, err = capsys.readouterr()
    assert out == f"{place}\n"
    assert err == f"{SILENT}: 5 answers, {place.stat().st_size} bytes\n"
    assert main(["diagnose", str(place)]) == 1
    assert "gpu-oom-init, established" in capsys.readouterr().out


def test_without_a_name_it_lies_in_the_current_directory_under_host_unit_and_time(tmp_path: Path) -> None:
    # what a host says of a unit, through the real script; this machine may have no systemd
    (tmp_path / "here").mkdir()
    done = run("gpu01", "--unit", "x", cwd=tmp_path / "here", PATH=fake_ssh(tmp_path / "bin", "exec sh -s"))
    assert done.returncode == 0, done.stderr
    [file] = (tmp_path / "here").iterdir()
    assert done.stdout.decode() == f"{file.name}\n"
    assert file.name.endswith("Z.tar.zst")
    assert file.stat().st_mode & 0o777 == 0o600
    assert b"answers" in done.stderr


def test_what_is_missing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/journal.txt").write_text("x\n")
    (tmp_path / "in/core").write_bytes(b"\x7fELF\2\1\1\0")
    assert main(["collect", str(tmp_path / "in"), "-o", str(tmp_path / "x.tar")]) == 0
    assert "  missing: core: a program or a core: not read\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["ssh://127.0.0.1:1"], 3, "Connection refused"),
        ([SILENT, "-o", "x.zip"], 2, "no bundle has that suffix"),
        (["nothing.txt"], 3, "no such file"),
        ([], 2, "Missing argument"),
        (["ssh://127.0.0.1:1", "ssh://127.0.0.2:1", "-o", "all"], 3, "nothing could be collected"),
    ],
    ids=["no-host", "suffix", "no-file", "no-target", "no-hosts"],
)
def test_what_cannot_be_is_said_with_its_exit_code(tmp_path: Path, words: list[str], code: int, said: str) -> None:
    done = run(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, b"")
    assert said in done.stderr.decode()
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over_unless_it_is_forced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "x.tar.zst"
    place.write_text("mine")
    assert main(["collect", SILENT, "-o", str(place)]) == 2
    assert "--force" in capsys.readouterr().err
    assert place.read_text() == "mine"
    assert main(["collect", SILENT, "-o", str(place), "--force"]) == 0
    assert place.read_bytes()[:4] == b"\x28\xb5\x2f\xfd"


def test_secrets_are_masked_unless_told_otherwise(tmp_path: Path) -> None:
    secret = "hf_abcdefghijklmnopqrstuvwx"
    (tmp_path / "server.log").write_text(f"HF_TOKEN={secret}\n")
    for words, there in (([], False), (["--redact", "secrets"], False), (["--redact", "none"], True)):
        place = tmp_path / "-".join(["out", *words])
        assert main(["collect", str(tmp_path / "server.log"), "-o", str(place), *words]) == 0
        assert any(secret in f.read_text() for f in place.iterdir()) is there


def test_a_pipe_gets_the_archive_and_diagnose_takes_it_from_there(tmp_path: Path) -> None:
    made = run(SILENT, "-o", "-", cwd=tmp_path)
    assert made.stdout[:4] == b"\x28\xb5\x2f\xfd"
    done = subprocess.run([*DDFORENSICS, "diagnose", "-"], cwd=ROOT, input=made.stdout, capture_output=True, check=False)
    assert done.returncode == 1
    assert b"gpu-oom-init, established" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_terminal_gets_no_archive() -> None:
    leader, follower = os.openpty()
    done = subprocess.run([*DDFORENSICS, "collect", SILENT, "-o", "-"], cwd=ROOT, stdout=follower, stderr=subprocess.PIPE, check=False)
    os.close(follower)
    os.close(leader)
    assert done.returncode == 2
    assert b"an archive is not for a terminal" in done.stderr


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "term"])
def test_an_interrupted_collection_leaves_nothing_behind(tmp_path: Path, signum: int) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "tmp").mkdir()
    # the first round is answered; then the host is silent
    path = fake_ssh(tmp_path / "bin", f"touch {tmp_path}/started; sh -s & sleep 60")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": path, "TMPDIR": str(tmp_path / "tmp")}
    child = subprocess.Popen([*DDFORENSICS, "collect", "gpu01", "-o", "x.tar.zst"], cwd=tmp_path / "here", env=env, stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while not (tmp_path / "started").exists() and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.3)
    child.send_signal(signum)
    child.communicate(timeout=60)
    assert child.returncode in (130, 128 + signum)
    assert list((tmp_path / "here").iterdir()) == []
    assert list((tmp_path / "tmp").iterdir()) == []


def test_on_a_terminal_the_question_that_is_waited_for_is_shown(tmp_path: Path) -> None:
    path = fake_ssh(tmp_path / "bin", "exec sh -s")
    leader, follower = os.openpty()
    done = subprocess.Popen(
        [*DDFORENSICS, "collect", "gpu01", "-o", str(tmp_path / "x.tar.zst")], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=follower,
        env={**os.environ, "PATH": path, "TERM": "xterm"},
    )  # fmt: skip
    os.close(follower)
    shown = bytearray()
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(leader)
    assert done.wait(60) == 0
    assert b"answers; waiting for" in shown
    assert b"answers" in shown

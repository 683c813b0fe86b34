from __future__ import annotations

from pathlib import Path

import pytest

from forensics.collect import Limits
from forensics.collect.ssh import CONFIG_VARIABLE, explain, ssh_argv
from forensics.model import Target, TargetKind
from tests.unit.collect.fakehost import DATA

HOST = Target(kind=TargetKind.SSH, name="gpu01", host="gpu01")


def said(stderr: str, exit_code: int | None = 255, before: str = "", name: str = "gpu01") -> str:
    return str(explain(Target(kind=TargetKind.SSH, name=name, host="gpu01"), exit_code, stderr, before))


@pytest.mark.parametrize(
    ("file", "meaning"),
    [
        ("refused", "the connection was refused"),
        ("wrong-key", "it refuses the login"),
        ("no-such-user", "it refuses the login"),
        ("unknown-host-key", "its host key is not known here"),
        ("changed-host-key", "its host key is not the one that is known"),
        ("sshd-down", "it closed the connection before the login was done"),
    ],
)
def test_what_openssh_said_is_said_in_other_words_with_its_last_line(file: str, meaning: str) -> None:
    stderr = (DATA / "ssh" / f"{file}.txt").read_text()
    text = said(stderr)
    assert text.startswith("ssh gpu01: ")
    assert meaning in text
    assert stderr.strip().splitlines()[-1].strip() in text


@pytest.mark.parametrize(
    ("stderr", "meaning"),
    [
        ("ssh: Could not resolve hostname gpu01: Name or service not known\n", "no host of that name"),
        ("ssh: connect to host gpu01 port 22: Connection timed out\n", "no answer in time"),
        ("ssh: connect to host gpu01 port 22: No route to host\n", "no route to it"),
        ("/home/u/.ssh/config: line 3: Bad configuration option: foo\n/home/u/.ssh/config: terminating, 1 bad configuration options\n", "does not like its configuration"),
        ("root@gpu01: Permission denied (publickey,gssapi-keyex,gssapi-with-mic).\n", "it refuses the login"),
        ("Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures\n", "it refuses the login"),
        ("something new\n", "ssh could not connect: something new"),
        ("", "it did not say why"),
    ],
)  # fmt: skip
def test_other_ends_of_ssh_have_their_meaning(stderr: str, meaning: str) -> None:
    assert meaning in said(stderr)


def test_a_name_that_is_not_resolved_could_have_been_a_file() -> None:
    stderr = "ssh: Could not resolve hostname journal.txt: Name or service not known\n"
    assert "no file of the name 'journal.txt' exists here" in said(stderr, name="journal.txt")
    assert "file" not in said(stderr, name="ssh:journal.txt")


def test_a_shell_that_answers_nothing_is_no_failed_login() -> None:
    text = said("", exit_code=1, before="This account is currently not available.\n")
    assert "the login works" in text
    assert "not available" in text


def test_host_keys_are_not_weakened_and_no_master_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CONFIG_VARIABLE, raising=False)
    argv = ssh_argv(HOST, Limits())
    assert not [word for word in argv if "StrictHostKeyChecking" in word or "KnownHosts" in word or "ControlPersist" in word or "ControlPath" in word]
    assert "ControlMaster=no" in argv
    assert "-F" not in argv


def test_another_ssh_configuration_can_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONFIG_VARIABLE, "/from/the/environment")
    assert ssh_argv(HOST, Limits())[4:6] == ["-F", "/from/the/environment"]
    assert ssh_argv(HOST, Limits(), Path("/given"))[4:6] == ["-F", "/given"]


@pytest.mark.parametrize(
    "stderr",
    [
        "Connection to gpu01 closed by remote host.\n",
        "client_loop: send disconnect: Broken pipe\n",
        "Read from remote host gpu01: Connection reset by peer\n",
    ],
)
def test_a_connection_that_stood_and_broke_is_lost_and_not_refused(stderr: str) -> None:
    text = said("-bash: fortune: command not found\n" + stderr)
    assert "the connection was lost before anything was answered" in text
    assert stderr.strip() in text
    assert text.endswith("the last line on its standard error: -bash: fortune: command not found")

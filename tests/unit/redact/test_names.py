"""Users, hosts and addresses are called the same in all of one capture, and what only looks like one is left alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics import collect, redact, ruleset
from forensics.collect import order
from forensics.model import Capture, Coverage, PartKind, Pick, Section, Target, TargetKind
from forensics.redact import words


def captured(folder: Path, *texts: str | bytes, host: str | None = "gpu01", unit: str | None = None, part: PartKind | None = None) -> Capture:
    sections = []
    for number, text in enumerate(texts):
        path = folder / f"s{number}"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        sections.append(Section(name=f"s{number}", path=path, coverage=Coverage.GIVEN, part=part))
    return Capture(target=Target(kind=TargetKind.FILES, name="saved"), sections=tuple(sections), host=host, pick=Pick(unit=unit))


# known in it: the users anna.k and llm, the hosts gpu01 (gpu01.corp.example.net) and node
TOLD = (
    "2026-05-09T10:15:18+0000 node python[12]: up\n"
    "Static hostname: gpu01.corp.example.net\nUser=llm\ncd /home/anna.k/models\nsglang-llm.service: x\n"
    "Accepted publickey for bert7 from 10.0.0.1 port 22\n"
)
SURVIVES = [
    "/home/ubuntu/x /home/runner/work /root/x User=root USER=www-data uid=0(root)",
    "sglang-llm.service llm@gpu01.service gpu01-llm.service user@1000.service getty@tty1.service",
    "--gpu01 --host-gpu01 gpu01_x xgpu01 gpu011 my.gpu01.model gpu01.log /models/gpu01-7b",
    "driver 570.86.10.01 Driver Version: 12.8.1.2 CUDA 12.4.1.0 cudnn 9.1.0.70 NCCL version 2.21.5.1",
    "nvidia-cublas-cu12==12.1.3.1 nvidia-cudnn-cu12 9.1.0.70 libcudnn9 8.9.7.29-1+cuda12.2 x-12.4.1.2.tar.gz v12.4.1.2",
    "Mozilla/5.0 Chrome/120.0.0.0 Safari/537.36 /usr/local/cuda-12.4.1.2/lib64",
    "127.0.0.1 10.1.2.3 172.16.0.9 192.168.1.1 169.254.1.1 100.64.0.20 0.0.0.0 255.255.255.0 192.0.2.10 203.0.113.4 224.0.0.1",
    "::1 fe80::1 fd00::1 [::]:30000 2001:db8::5 std::vector<c10::Error> 10:15:51 0000:41:00.0 aa:bb:cc:dd:ee:ff 2026:10:15:51",
    "git@github.com:o/r.git system@000661701d8c856b-e84177c67e656262.journal reg:5000/img@sha256:abc pkg@1.2.3 noreply@example.com unit@host.service user@h",
    "96.00.61.00.01 1.2.3.4.5 1.2.3 300.1.2.3 1.2.3.04",
    "the llm node is up, node: 3, nodes, llm",
    "gen throughput (token/s): 41.20, load average: 0.10 0.20 0.30",
]
MAPPED = [
    ("at /home/anna.k/x and /srv/anna.k", "at /home/user-1/x and /srv/user-1"),
    ("anna.k@gpu01:~$ ls", "user-1@host-1:~$ ls"),
    (
        "sudo:   anna.k : TTY=pts/0 ; PWD=/home/anna.k ; USER=root ; COMMAND=/bin/ls",
        "sudo:   user-1 : TTY=pts/0 ; PWD=/home/user-1 ; USER=root ; COMMAND=/bin/ls",
    ),
    ("Accepted publickey for bert7 from 10.0.0.1 port 22", "Accepted publickey for user-3 from 10.0.0.1 port 22"),
    ("User=llm", "User=user-2"),
    ("gpu01 http://gpu01:30000 (gpu01) host=gpu01, gpu01.local", "host-1 http://host-1:30000 (host-1) host=host-1, host-1"),
    ("gpu01.corp.example.net and gpu01.", "host-1 and host-1."),
    ("line\\ngpu01 up", "line\\nhost-1 up"),
    ("2026-05-09T10:15:18+0000 node python[12]: node 3", "2026-05-09T10:15:18+0000 host-2 python[12]: node 3"),
    ("May 09 10:15:18 node kernel: node 3", "May 09 10:15:18 host-2 kernel: node 3"),
    ("_HOSTNAME=node", "_HOSTNAME=host-2"),
    ("from 8.8.8.8:443, 8.8.4.4 and 8.8.8.8", "from 192.0.2.1:443, 192.0.2.2 and 192.0.2.1"),
    ("driver update from 8.8.8.8", "driver update from 192.0.2.1"),
    ("2a00:1450:4001:81b::200e and [2a00:1450:4001:81b::200e]:443", "2001:db8::1 and [2001:db8::1]:443"),
    ("mail anna@corp.io, Anna@corp.io", "mail mail-1@example.invalid, mail-1@example.invalid"),
]


@pytest.fixture
def redactor(tmp_path: Path) -> redact.Redactor:
    return redact.Redactor.for_capture(captured(tmp_path, TOLD))


@pytest.mark.parametrize("text", SURVIVES)
def test_what_is_no_name_survives(redactor: redact.Redactor, text: str) -> None:
    assert redactor.text(text) == text


@pytest.mark.parametrize(("text", "shown"), MAPPED, ids=[text[:40] for text, _ in MAPPED])
def test_a_name_is_mapped_whole_and_nothing_else(redactor: redact.Redactor, text: str, shown: str) -> None:
    assert redactor.text(text) == shown
    assert redactor.text(shown) == shown


# what names a user or a host in a log, with the name X
USERS = [
    "/home/X/a", "/Users/X/a", "USER=X", "user=X rest", "user='X'", "LOGNAME=X", "uid=1001(X) gid=1001(X)", "pam_unix(sudo:session): session opened for user root(uid=0) by X(uid=1001)",
    "pam_unix(sshd:session): session opened for user X(uid=1001) by (uid=0)", "Failed password for invalid user X from 10.0.0.1 port 1 ssh2", "New session 3 of user X.",
    "Session 3 of User X.", "CRON[7]: (X) CMD (true)", 'audit: acct="X" exe="/x"', "Disconnected from user X 10.0.0.1 port 1", "X : TTY=pts/0 ; PWD=/ ; USER=root ; COMMAND=/x",
    "USER         PID %CPU %MEM COMMAND\nX           12  0.0  0.1 bash", "COMMAND  PID USER   FD\npython    12 X   4u", "drwxr-xr-x 2 X X 4096 May  9 10:15 a", "$ ssh X@box uptime", "[X@box ~]$ ls",
]  # fmt: skip
HOSTS = [
    "_HOSTNAME=X", '{"_HOSTNAME" : "X", "A": 1}', "   Static hostname: X", "HOSTNAME=X", "hostname='X'", "systemd[1]: Hostname set to <X>.", "May 09 10:15:18 X systemd[1]: a", "ann@X:~# ls",
    "2026-05-09T10:15:18+0000 X kernel: a", "2026-05-09T10:15:18.123456+00:00 X app[1]: a", "1778321718.123456 X app[1]: a", "[    1.123456] X app[1]: a",
    "Sat 2026-05-09 10:15:18 UTC X app[1]: a", "scp x ann@X:/tmp",
]  # fmt: skip


@pytest.mark.parametrize("line", USERS)
@pytest.mark.parametrize("name", ["zoltan", "mark", "server", "j.doe-2"])
def test_a_user_is_known_by_the_place_of_the_name(tmp_path: Path, line: str, name: str) -> None:
    text = line.replace("X", name) + "\n"
    mapped = redact.Redactor.for_capture(captured(tmp_path, text, host=None)).text(text)
    assert mapped.replace("host-1", "box") in {line.replace("X", "user-1") + "\n", line.replace("X", "user-2") + "\n"}


@pytest.mark.parametrize("line", HOSTS)
@pytest.mark.parametrize("name", ["zeus-gpu7", "gpu", "h200", "ip-10-0-3-7.ec2.internal"])
def test_a_host_is_known_by_the_place_of_the_name(tmp_path: Path, line: str, name: str) -> None:
    text = line.replace("X", name) + "\n"
    mapped = redact.Redactor.for_capture(captured(tmp_path, text, host=None)).text(text)
    assert mapped.replace("user-1", "ann") == line.replace("X", "host-1") + "\n"


def test_a_name_that_no_account_has_is_mapped_where_it_was_tried_and_nowhere_else(tmp_path: Path) -> None:
    text = "Invalid user oracle from 10.0.0.1 port 9\nTraceback of oracle\n"
    assert redact.Redactor.for_capture(captured(tmp_path, text)).text(text) == text.replace("user oracle", "user user-1")


def test_the_rules_words_are_never_taken_for_names_in_running_text() -> None:
    assert {"cuda", "memory", "scheduler", "kernel", "killed"} <= words.kept()
    assert "anna.k" not in words.kept()
    read = {word for rule in ruleset.load().rules for word in re.findall(r"(?<![\\\w\]?])[a-z]{4,}(?![\w?*\[({])", rule.line or "")}
    assert len(read) > 500
    assert read - words.kept() == set()


def test_the_map_is_the_same_in_every_section_and_in_the_manifest(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    capture = captured(
        tmp_path / "raw", "May 09 10:15:18 zeus7 app[1]: from 8.8.8.8\n", "zeus7 at 8.8.4.4 and 8.8.8.8 by /home/zoltan\n", host="zeus7"
    )
    collect.save(capture, tmp_path / "saved", mask=redact.Redactor.for_capture(capture))
    first, second = (section.path.read_text() for section in collect.load(tmp_path / "saved").sections)
    assert first == "May 09 10:15:18 host-1 app[1]: from 192.0.2.1\n"
    assert second == "host-1 at 192.0.2.2 and 192.0.2.1 by /home/user-1\n"
    manifest = (tmp_path / "saved" / "manifest.json").read_text()
    assert (json.loads(manifest)["redacted"], json.loads(manifest)["host"]) == ("all", "host-1")
    assert not {"zeus7", "zoltan"} & set(manifest.replace('"', " ").split())


def test_what_was_mapped_once_stays_as_it_is_when_it_is_saved_again(tmp_path: Path) -> None:
    text = "May 09 10:15:18 host-1 app[1]: by /home/user-1 from 192.0.2.1, mail-1@example.invalid\n_HOSTNAME=zeus7\n"
    redactor = redact.Redactor.for_capture(captured(tmp_path, text, host="host-1"))
    assert redactor.text(text) == text.replace("zeus7", "host-2")


def test_a_host_that_is_a_word_is_still_mapped_where_it_is_all_there_is(tmp_path: Path) -> None:
    redactor = redact.Redactor.for_capture(captured(tmp_path, "x\n", host="gpu"))
    assert (redactor.name("gpu"), redactor.name("root@gpu"), redactor.text("the gpu is hot")) == ("host-1", "root@host-1", "the gpu is hot")


def test_the_lengths_of_binary_fields_stay_true(tmp_path: Path) -> None:
    value = b"zeus7 says\nhf_abcdefghijklmnopqrstuvwxyz0123 from 8.8.8.8"
    entry = b"__CURSOR=s=1;i=1\n_HOSTNAME=zeus7\nMESSAGE\n" + len(value).to_bytes(8, "little") + value + b"\n_PID=7\n\n"
    capture = captured(tmp_path, entry + b"__CURSOR=s=1;i=2\n_HOSTNAME=zeus7\nMESSAGE=zeus7\n\n", host=None, part=PartKind.JOURNAL_EXPORT)
    collect.save(capture, tmp_path / "saved", mask=redact.Redactor.for_capture(capture))
    data = next((tmp_path / "saved").glob("00-*")).read_bytes()
    shown = b"host-1 says\nhf_[masked] from 192.0.2.1"
    assert data.startswith(b"__CURSOR=s=1;i=1\n_HOSTNAME=host-1\nMESSAGE\n" + len(shown).to_bytes(8, "little") + shown + b"\n_PID=7\n\n")
    assert data.endswith(b"_HOSTNAME=host-1\nMESSAGE=host-1\n\n")
    assert len(list(order.export_entries(data))) == 2


def test_an_export_that_somebody_saved_is_known_by_its_content_and_keeps_its_lines(tmp_path: Path) -> None:
    value = b"\x1b[1mzeus7 " + b"x" * 2000 + b"\n"
    entry = b"__CURSOR=s=1;i=1\n_HOSTNAME=zeus7\nMESSAGE\n" + len(value).to_bytes(8, "little") + value + b"\n\n"
    data = entry * 4_000 + b"\n\n" + entry + b"__CURSOR=s=2\nMESSAGE=cut off zeus7"  # more than is read at once, with a gap, and cut off
    capture = captured(tmp_path, data, host=None)
    collect.save(capture, tmp_path / "saved", mask=redact.Redactor.for_capture(capture))
    masked = next((tmp_path / "saved").glob("00-*")).read_bytes()
    assert b"zeus7" not in masked
    assert len(list(order.export_entries(masked))) == len(list(order.export_entries(data))) > 4_000
    assert masked.count(b"\n") == data.count(b"\n")
    assert masked.endswith(b"MESSAGE=cut off host-1")
    collect.save(capture, tmp_path / "raw", mask=redact.secrets_in_bytes)
    assert next((tmp_path / "raw").glob("00-*")).read_bytes() == data


def test_a_message_in_bytes_is_masked_in_bytes(tmp_path: Path) -> None:
    line = json.dumps({"_HOSTNAME": "zeus7", "MESSAGE": list(b"\x1b[1mzeus7 HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz0123")}) + "\n"
    capture = captured(tmp_path, line, host=None)
    collect.save(capture, tmp_path / "saved", mask=redact.Redactor.for_capture(capture))
    entry = json.loads(next((tmp_path / "saved").glob("00-*")).read_text())
    assert (entry["_HOSTNAME"], bytes(entry["MESSAGE"])) == ("host-1", b"\x1b[1mhost-1 HF_TOKEN=[masked]")


def test_more_addresses_than_the_documentation_has_are_still_told_apart(tmp_path: Path) -> None:
    addresses = [f"8.{a}.{b}.1" for a in range(4) for b in range(250)]
    mapped = redact.Redactor.for_capture(captured(tmp_path, "x\n")).text(" ".join(addresses)).split()
    assert len(set(mapped)) == len(addresses)
    assert not set(mapped) & set(addresses)


PIECES = (
    "gpu01",
    "zoltan",
    "8.8.8.8",
    "a@b.io",
    "/home/",
    " ",
    "\n",
    "=",
    "@",
    ":",
    ".",
    "-",
    "User=",
    "2a00::1",
    "\\n",
    "x",
    "\xe9",
    "[1]: ",
    "uid=1(",
    ")",
    " PID USER ",
)


@given(st.lists(st.sampled_from(PIECES), max_size=20))
def test_mapping_keeps_lines_and_twice_is_once(pieces: list[str]) -> None:
    redactor = redact.Redactor()
    redactor.learn_target(Target(kind=TargetKind.SSH, name="zoltan@gpu01", host="zoltan@gpu01"))
    text = "".join(pieces)
    once = redactor.text(text)
    assert once.count("\n") == text.count("\n")
    assert redactor.text(once) == once


@pytest.mark.parametrize(
    "piece",
    [
        "@a",
        "a.",
        "1.",
        "1.1.1.1.",
        "2a00:",
        " PID USER\n",
        "x (uid=",
        "TTY=",
        "/home/a.",
        "User=",
        "a@b:",
        "USER ",
        "-rw-r--r-- 1 a a 4",
        "\n1778321718.123456 ",
        "x.service",
        "_HOSTNAME=",
    ],
)
def test_no_repeated_text_costs_more_than_its_length(tmp_path: Path, piece: str) -> None:
    import time

    text = piece * (300_000 // len(piece))
    began = time.process_time()
    redactor = redact.Redactor.for_capture(captured(tmp_path, text))
    assert redactor.text(text).count("\n") == text.count("\n")
    assert time.process_time() - began < 20.0

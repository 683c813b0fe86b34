"""Lines of several hosts in one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.model import Frame, Hit, Origin
from forensics.parse import hosts
from tests.unit.reason.telling import diagnosed, folder

DEAD = """\
2026-05-09T10:15:18+0000 gpu01 systemd[1]: Started llm.service - LLM.
2026-05-09T10:15:34+0000 gpu01 python[4822]: [2026-05-09 10:15:34 TP0] Load weight begin. avail mem=94.30 GB
2026-05-09T10:15:50+0000 gpu01 python[4822]: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.
2026-05-09T10:15:51+0000 gpu01 systemd[1]: llm.service: Main process exited, code=killed, status=9/KILL
2026-05-09T10:15:51+0000 gpu01 systemd[1]: llm.service: Failed with result 'signal'.
"""
WELL = """\
2026-05-09T10:15:30+0000 gpu02 systemd[1]: Started llm.service - LLM.
2026-05-09T10:15:40+0000 gpu02 python[991]: [2026-05-09 10:15:40 TP0] Load weight begin. avail mem=94.30 GB
2026-05-09T10:15:55+0000 gpu02 python[991]: INFO:     Application startup complete.
2026-05-09T10:15:56+0000 gpu02 python[991]: The server is fired up and ready to roll!
"""


def mixed(*journals: str) -> str:
    return "".join(sorted("".join(journals).splitlines(keepends=True), key=lambda line: line[:19]))


def test_two_hosts_with_one_unit_are_two_stories(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=mixed(DEAD, WELL)))
    assert (found.host, str(found.cause), found.died_after_s, len(found.lives)) == ("gpu01", "gpu-oom-init", 33.0, 1)
    (warned,) = [w for w in found.warnings if w.kind == "other-hosts"]
    assert "about gpu01" in warned.text
    assert "gpu02" in warned.text


def test_two_files_of_two_hosts_are_told_apart_too(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal_a=DEAD, journal_b=WELL))
    assert (found.host, len(found.lives)) == ("gpu01", 1)


def test_the_unit_that_is_asked_about_says_which_host(tmp_path: Path) -> None:
    other = WELL.replace("llm.service", "chat.service")
    found = diagnosed(folder(tmp_path, journal=mixed(DEAD, other)), unit="chat.service")
    assert (found.host, found.unit, str(found.cause)) == ("gpu02", "chat.service", "healthy")


def test_the_host_behind_the_ssh_of_a_paste_is_the_one_that_is_meant(tmp_path: Path) -> None:
    paste = "$ ssh root@gpu02.example.com 'journalctl -m -u llm.service'\n" + mixed(DEAD, WELL)
    assert diagnosed(folder(tmp_path, paste=paste)).host == "gpu02"


@pytest.mark.parametrize("name", ["localhost", "gpu01.example.com", "GPU01"])
def test_one_machine_may_have_two_names(name: str, tmp_path: Path) -> None:
    journal = DEAD.replace(" gpu01 systemd[1]: Started", f" {name} systemd[1]: Started")
    found = diagnosed(folder(tmp_path, journal=journal))
    assert found.host == "gpu01"  # as most of its lines write it
    assert not [w for w in found.warnings if w.kind == "other-hosts"]
    assert found.died_after_s == 33.0


def test_without_two_names_there_is_nothing_to_choose() -> None:
    frame = Frame(source="x", line_no=1, start=0, text="x", origin=Origin.SERVER, host="gpu01")
    assert hosts.meant([Hit("r", frame, {})], [frame._replace(host="")]) == ("", {})
    assert hosts.of_host(frame._replace(host=""), "gpu02")
    assert not hosts.of_host(frame, "gpu02")
    assert hosts.name_of(frame._replace(host="10.0.0.7")) == "10.0.0.7"


def test_the_one_host_of_a_paste_is_named_as_its_lines_write_it(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, paste=DEAD.replace(" gpu01 ", " GPU01.example.com ")))
    assert (found.host, found.died_after_s) == ("GPU01.example.com", 33.0)


def test_without_a_host_in_the_lines_the_ssh_of_a_paste_names_it(tmp_path: Path) -> None:
    paste = "$ ssh root@gpu07 systemctl is-active llm.service\nfailed\n"
    assert diagnosed(folder(tmp_path, paste=paste)).host == "gpu07"


def test_lines_of_no_host_name_none(tmp_path: Path) -> None:
    assert diagnosed(folder(tmp_path, log="RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n")).host is None

"""Collecting from a real host over real ssh: one login, nothing changed, every refusal said."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from forensics import collect
from forensics.collect import plan
from forensics.errors import TargetError
from forensics.model import Capture, Coverage
from tests.remote.bed import Host, free_port

UNIT = "sglang-tried.service"
DEAD = "sglang-dead.service"


@dataclass(frozen=True)
class Endpoint:  # what a profile's endpoint looks like to the collector
    path: str
    limit_s: float = 2.0


ENDPOINTS = (Endpoint("/v1/models"), Endpoint("/health"), Endpoint("/no-such-page"))


@pytest.fixture(scope="module", autouse=True)
def servers(host: Host) -> Iterator[None]:
    """One server that serves and one that has died."""
    host.add_server(UNIT, play="serve", load_s=0.4, arguments="--model-path /models/x --port 31000")
    host.add_server(DEAD, play="crash", load_s=0.4, arguments="--model-path /models/x --port 31001 --mem-fraction-static 0.88")
    host.sh(f"systemctl start {UNIT} {DEAD}")
    host.wait_for(DEAD, ("failed",))
    host.wait_until(UNIT, "fired up")
    yield
    host.sh(f"systemctl stop {UNIT}; systemctl reset-failed {DEAD}", check=False)


def look(host: Host, destination: str, unit: str | None, *, limits: collect.Limits | None = None, ports: tuple[int, ...] = (31000, 31001)) -> Capture:
    [target] = collect.parse_targets([destination])
    with collect.open_target(target, ssh_config=host.config, limits=limits) as session:
        first = session.ask(plan.overview(unit))
        rest = session.ask(plan.unit(unit, ports=ports, endpoints=ENDPOINTS))
        return collect.capture_from(session, [*first, *rest])


def text(capture: Capture, name: str) -> str:
    section = capture.section(name)
    assert section is not None
    return section.head(1 << 20).decode("utf-8", "replace")


def coverage(capture: Capture, name: str) -> Coverage:
    section = capture.section(name)
    assert section is not None
    return section.coverage


def test_both_rounds_are_one_login(host: Host) -> None:
    before = host.logins()
    look(host, host.name, DEAD)
    assert host.logins() - before == 1


def test_nothing_on_the_host_is_changed(host: Host) -> None:
    host.state_of_things()  # the first login of a boot starts more than the later ones
    before = host.state_of_things()
    look(host, host.name, DEAD)
    look(host, host.name, "no-such-thing.service")
    after = host.state_of_things()
    assert after == before


def test_a_dead_unit_is_seen_whole(host: Host) -> None:
    capture = look(host, host.name, DEAD)
    assert text(capture, "is-active") == "failed\n"
    assert "Result: signal" in text(capture, "status")
    assert "Result=signal" in text(capture, "show")
    assert "Environment" not in text(capture, "show")
    assert "FAKE_PLAY" in text(capture, "unit-file")
    assert f"Id={DEAD}" in text(capture, "units")
    assert "--mem-fraction-static 0.88" in text(capture, "units")
    assert ":31000" in text(capture, "sockets")
    assert capture.host == host.name
    assert capture.at is not None
    assert capture.offset_s is not None
    assert abs(capture.offset_s) < 1
    journal = text(capture, "journal")
    assert "Not enough memory" in journal
    assert "UNIT_RESULT=signal" in journal or "Failed with result 'signal'" in journal
    assert all(
        coverage(capture, n) is Coverage.READ for n in ("clock", "units", "is-active", "status", "show", "unit-file", "journal", "boots", "sockets")
    )


def test_the_journal_is_oldest_first(host: Host) -> None:
    journal = text(look(host, host.name, DEAD), "journal")
    stamps = [int(line.partition("=")[2]) for line in journal.splitlines() if line.startswith("__REALTIME_TIMESTAMP=")]
    assert stamps == sorted(stamps)
    assert len(stamps) > 15


def test_of_a_long_journal_the_beginning_of_the_life_is_kept(host: Host) -> None:
    [target] = collect.parse_targets([host.name])
    with collect.open_target(target, ssh_config=host.config) as session:
        sections = session.ask(plan.unit(DEAD, journal_bytes=4000))
    journal = next(s for s in sections if s.name == "journal")
    data = journal.head(1 << 20).decode("utf-8", "replace")
    assert journal.coverage is Coverage.CUT
    assert "MESSAGE=Started " in data
    assert "server_args=ServerArgs(" in data
    assert "Failed with result 'signal'" in data


def test_its_journal_file_is_read_from_outside(host: Host) -> None:
    [file] = (host.folder / "root/var/log/journal").glob("*/system.journal")
    [target] = collect.parse_targets([str(file)])
    with collect.open_target(target) as session:
        [section] = session.ask(())
    assert b"Not enough memory" in b"".join(section.chunks())
    assert section.coverage is Coverage.READ


def test_endpoints_are_asked_from_inside(host: Host) -> None:
    lines = text(look(host, host.name, UNIT), "health").splitlines()
    assert sorted(lines) == sorted([
        "31000 /health 200", "31000 /no-such-page 404", "31000 /v1/models 200",
        "31001 /health 000 refused", "31001 /no-such-page 000 refused", "31001 /v1/models 000 refused",
    ])  # fmt: skip


def test_a_server_that_does_not_answer_is_told_from_one_that_refuses(host: Host) -> None:
    main = host.sh(f"systemctl show -P MainPID {UNIT}").strip()
    host.sh(f"kill -STOP {main}")
    try:
        began = time.monotonic()
        lines = text(look(host, host.name, UNIT, ports=(31000,)), "health").splitlines()
        assert {line.split()[2] for line in lines} == {"-1"}
        assert time.monotonic() - began < 12  # all at once, not one after the other
    finally:
        host.sh(f"kill -CONT {main}")


def test_a_unit_that_is_not_there_brings_the_names_that_are(host: Host) -> None:
    capture = look(host, host.name, "sglagn-dead.service")
    assert text(capture, "is-active") == "inactive\n"
    assert "LoadState=not-found" in text(capture, "units")
    assert DEAD in text(capture, "units")
    assert coverage(capture, "journal") is Coverage.EMPTY


def test_an_account_without_rights_on_the_journal_is_denied_it_and_sees_the_rest(host: Host) -> None:
    capture = look(host, f"nolog@{host.name}", DEAD)
    assert coverage(capture, "journal") is Coverage.DENIED
    assert text(capture, "is-active") == "failed\n"
    assert "Result=signal" in text(capture, "show")
    assert any(p.source == "journal" and "may not read" in p.text and "systemd-journal" in section_stderr(capture) for p in capture.problems)


def section_stderr(capture: Capture) -> str:
    section = capture.section("journal")
    assert section is not None
    return section.stderr


def test_an_account_in_the_journals_group_reads_it_without_being_root(host: Host) -> None:
    capture = look(host, f"ops@{host.name}", DEAD)
    assert coverage(capture, "journal") is Coverage.READ
    assert "Not enough memory" in text(capture, "journal")


def test_a_host_without_journalctl_leaves_a_gap_and_the_rest(host: Host) -> None:
    there = host.sh("command -v journalctl").strip()  # /bin on bullseye
    host.sh(f"mv {there} {there}.away")
    try:
        capture = look(host, host.name, DEAD)
    finally:
        host.sh(f"mv {there}.away {there}")
    assert coverage(capture, "journal") is Coverage.NOT_COLLECTED
    assert any(p.source == "journal" and "journalctl: not found" in p.text for p in capture.problems)
    assert text(capture, "is-active") == "failed\n"


def test_a_command_that_never_returns_costs_its_limit_and_leaves_nothing_behind(host: Host) -> None:
    host.put("/usr/local/bin/nvidia-smi", b"#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 7; done\n", 0o755)
    try:
        began = time.monotonic()
        capture = look(host, host.name, DEAD)
        took = time.monotonic() - began
    finally:
        host.remove("/usr/local/bin/nvidia-smi")
    assert 7 < took < 16
    assert coverage(capture, "gpu") is Coverage.NOT_COLLECTED
    assert any(p.source == "gpu" and "stopped after 8 s" in p.text for p in capture.problems)
    assert "Not enough memory" in text(capture, "journal")
    time.sleep(1)
    assert "nvidia-smi" not in host.sh("ps -eo args=")


def test_without_timeout_on_the_host_it_is_bounded_all_the_same(host: Host) -> None:
    host.sh("mv /usr/bin/timeout /usr/bin/timeout.away")
    host.put("/usr/local/bin/nvidia-smi", b"#!/bin/sh\nexec sleep 33\n", 0o755)
    try:
        began = time.monotonic()
        capture = look(host, host.name, DEAD)
        took = time.monotonic() - began
    finally:
        host.remove("/usr/local/bin/nvidia-smi")
        host.sh("mv /usr/bin/timeout.away /usr/bin/timeout")
    assert took < 13
    assert coverage(capture, "gpu") is Coverage.NOT_COLLECTED
    assert "Not enough memory" in text(capture, "journal")
    until = time.monotonic() + 10  # what ends it on the host ends a moment after the connection, on a busy machine
    while "sleep 33" in host.sh("ps -eo args= | grep -v grep"):
        assert time.monotonic() < until
        time.sleep(0.5)


def test_a_connection_that_says_nothing_is_given_up(host: Host) -> None:
    limits = collect.Limits(connect_s=2, answer_s=1.0, total_s=6.0)
    host.sh("pkill -STOP -o -x sshd")  # the listening one: the kernel still takes the connection
    try:
        began = time.monotonic()
        with pytest.raises(TargetError, match="cannot be reached") as error:
            look(host, host.name, DEAD, limits=limits)
        assert time.monotonic() - began < 30
        assert error.value.exit_code == 3
    finally:
        init = subprocess.run(
            ["pgrep", "-P", (host.folder / "nspawn_pid").read_text().strip()], capture_output=True, text=True, check=True
        ).stdout.split()[0]
        subprocess.run(["nsenter", "-t", init, "-m", "-p", "pkill", "-CONT", "-x", "sshd"], check=True)


def refusal(config: Path, name: str) -> TargetError:
    [target] = collect.parse_targets([name])
    with collect.open_target(target, ssh_config=config) as session, pytest.raises(TargetError) as error:
        session.ask(plan.overview(None))
    assert error.value.exit_code == 3
    return error.value


def test_a_port_where_nobody_listens_is_said_to_refuse(host: Host, tmp_path: Path) -> None:
    said = str(refusal(host.config_with(tmp_path, Port=str(free_port())), host.name))
    assert "connection was refused" in said
    assert "sshd" in said


def test_a_key_that_is_not_accepted_is_said_to_be_refused(host: Host, tmp_path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "other")], check=True)
    said = str(refusal(host.config_with(tmp_path, IdentityFile=str(tmp_path / "other")), host.name))
    assert "refuses the login" in said
    assert "ssh-add -l" in said


def test_a_host_key_that_nobody_knows_is_not_accepted(host: Host, tmp_path: Path) -> None:
    known = tmp_path / "known_hosts"
    known.touch()
    said = str(refusal(host.config_with(tmp_path, UserKnownHostsFile=str(known), GlobalKnownHostsFile="/dev/null"), host.name))
    assert "host key is not known here" in said
    assert known.read_text() == ""


def test_a_host_key_that_has_changed_is_refused_and_said(host: Host, tmp_path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "other")], check=True)
    known = tmp_path / "known_hosts"
    known.write_text(f"[127.0.0.1]:{host.port} {' '.join((tmp_path / 'other.pub').read_text().split()[:2])}\n")
    said = str(refusal(host.config_with(tmp_path, UserKnownHostsFile=str(known)), host.name))
    assert "not the one that is known" in said


def test_a_name_that_is_no_host_says_that_it_is_no_file_either(host: Host, tmp_path: Path) -> None:
    said = str(refusal(host.config_with(tmp_path, HostName="no-such-host.invalid"), host.name))
    assert "no host of that name" in said
    assert f"no file of the name '{host.name}'" in said


def test_an_account_without_a_shell_is_told_from_one_that_cannot_log_in(host: Host) -> None:
    said = str(refusal(host.config, f"noshell@{host.name}"))
    assert "the login works, but no POSIX shell answered" in said


def test_a_saved_capture_comes_back_as_it_was(host: Host, tmp_path: Path) -> None:
    capture = look(host, host.name, DEAD)
    collect.save(capture, tmp_path / "saved", mask=None)
    again = collect.load(tmp_path / "saved")
    assert (again.at, again.offset_s, again.host, again.pick, again.problems) == (
        capture.at,
        capture.offset_s,
        capture.host,
        capture.pick,
        capture.problems,
    )
    assert [(s.name, s.coverage, s.exit_code, s.head(1 << 20)) for s in again.sections] == [
        (s.name, s.coverage, s.exit_code, s.head(1 << 20)) for s in capture.sections
    ]

"""The same dead server seen by root, by the journal's group, through sudo, and without rights: what is denied is named, and nothing is made up for it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.remote.bed import Host

DEAD = "sglang-accounts.service"


@pytest.fixture(scope="module", autouse=True)
def servers(each_host: Host) -> Iterator[None]:
    each_host.add_server(DEAD, play="crash", load_s=0.4, arguments="--model-path /models/x --port 31201 --mem-fraction-static 0.88")
    each_host.sh(f"systemctl start {DEAD}")
    each_host.wait_for(DEAD, ("failed",))
    yield
    each_host.sh(f"systemctl reset-failed {DEAD}", check=False)


def diagnose(host: Host, user: str, *words: str) -> tuple[int, dict[str, Any], str]:
    argv = [sys.executable, "-m", "forensics", "diagnose", f"{user}@{host.name}", "--unit", DEAD, "-F", str(host.config), "--format", "json", *words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=90, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


@pytest.mark.parametrize("user", ["root", "ops"])
def test_who_may_read_the_journal_gets_the_cause_from_the_servers_own_words(each_host: Host, user: str) -> None:
    code, found, _ = diagnose(each_host, user)
    assert (code, found["cause"], found["status"], found["direction"]) == (1, "gpu-oom-init", "established", "raise")
    assert found["coverage"]["journal"] == "read"
    assert found["end"]["by"] == "itself"


@pytest.mark.parametrize("user", ["nolog", "deploy"])
def test_who_may_not_read_the_journal_gets_what_systemd_says_and_the_gap_by_name(each_host: Host, user: str) -> None:
    code, found, _ = diagnose(each_host, user)
    assert found["coverage"]["journal"] == "denied"
    assert (found["health"], found["unit"]) == ("failed", DEAD)
    assert (found["end"]["kind"], found["end"]["signal"], found["end"]["result"]) == ("signal", "SIGKILL", "signal")
    assert found["end"]["by"] in ("unknown", "itself")  # that nobody else sent it is not known: the kernel's log and the journal are closed
    # the signal is known, why it was sent is not: no cause but the mechanism, and whoever reads on is told what is missing
    assert (code, found["cause"]) == (1, "signal-death")
    assert any("journal" in w["text"] and "may not read" in w["text"] for w in found["warnings"]), found["warnings"]
    assert not any(h["cause"] == "host-oom" and h["status"] == "ruled-out" for h in found["hypotheses"])
    told = json.dumps([found["advice"], found["hypotheses"], found["warnings"]])
    assert "systemd-journal" in told or "sudo" in told  # how to get it


def test_with_sudo_the_same_account_gets_all_that_root_gets(each_host: Host) -> None:
    code, found, _ = diagnose(each_host, "deploy", "--sudo")
    assert (code, found["cause"], found["status"]) == (1, "gpu-oom-init", "established")
    assert found["coverage"]["journal"] == "read"


def test_where_sudo_is_refused_that_is_said_and_the_rest_is_used(each_host: Host) -> None:
    code, found, _ = diagnose(each_host, "nolog", "--sudo")
    assert (code, found["health"], found["cause"]) == (1, "failed", "signal-death")
    assert found["coverage"]["journal"] == "denied"
    assert any("sudo" in w["text"] for w in found["warnings"]), found["warnings"]


def test_sudo_is_not_used_unless_it_is_asked_for(each_host: Host) -> None:
    def used() -> int:
        return each_host.journal("-t", "sudo").count("COMMAND=")

    before = used()
    diagnose(each_host, "deploy")
    assert used() == before

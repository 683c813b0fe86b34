"""Links, logins and shells in trouble: what was got is used, what is missing is named, the time is bounded, and nothing is left on either side."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from forensics import api, collect
from forensics.errors import TargetError
from forensics.model import Cause, Coverage, Diagnosis, Health
from tests.remote.bed import Host
from tests.remote.link import Link

DEAD = "sglang-linked.service"
LOUD = "sglang-loud.service"  # its journal is megabytes, so that there is a middle to break in
CALM = "the link is as it should be"


@pytest.fixture(scope="module", autouse=True)
def servers(host: Host) -> Iterator[None]:
    host.add_server(DEAD, play="crash", load_s=0.4, arguments="--model-path /models/x --port 31101 --mem-fraction-static 0.88")
    text = (
        "[Unit]\nDescription=Loud\n[Service]\nLogRateLimitIntervalSec=0\n"
        "ExecStart=/bin/sh -c 'base64 -w 400 /dev/urandom | head -n 12000; exit 3'\n"  # what no packing makes small
    )
    host.put(f"/etc/systemd/system/{LOUD}", text.encode())
    host.sh(f"systemctl daemon-reload; systemctl start {DEAD} {LOUD}")
    host.wait_for(DEAD, ("failed",))
    host.wait_for(LOUD, ("failed",))
    host.inside("journalctl --sync")
    yield
    host.sh(f"systemctl reset-failed {DEAD} {LOUD}", check=False)


def command(host: Host, config: Path, *words: str, unit: str = DEAD) -> list[str]:
    return [sys.executable, "-m", "forensics", "diagnose", host.name, "--unit", unit, "-F", str(config), "--format", "json", *words]


def run(argv: list[str], folder: Path, *, limit_s: float = 100) -> tuple[int, dict[str, Any] | None, str, float]:
    """Exit code, answer, standard error, seconds; with a temporary folder of its own, which has to be empty afterwards."""
    spool = folder / "spool"
    spool.mkdir(exist_ok=True)
    began = time.monotonic()
    done = subprocess.run(argv, capture_output=True, text=True, timeout=limit_s, check=False, env={**os.environ, "TMPDIR": str(spool)})
    took = time.monotonic() - began
    assert list(spool.iterdir()) == []
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr, took


def assert_nothing_is_left(host: Host, config: Path, *, limit_s: float = 12.0) -> None:
    """No ssh of ours here, no shell, command or session of ours over there."""
    here = subprocess.run(["ps", "-eo", "args="], capture_output=True, text=True, check=True).stdout
    assert str(config) not in here
    until = time.monotonic() + limit_s
    while left := [x for x in host.left_behind() if re.search(r"sh -s|sh -c|dd_|journalctl|nvidia-smi|timeout|@notty| sleep ", x)]:
        assert time.monotonic() < until, left
        time.sleep(0.3)


def assert_lost(found: dict[str, Any]) -> None:
    """What came is used, and that the rest did not is said."""
    assert any("connection was lost" in w["text"] for w in found["warnings"]), found["warnings"]
    assert set(found["coverage"].values()) & {"not-collected", "cut"}


# ---- a link that breaks


@pytest.fixture(scope="module")
def whole(host: Host, tmp_path_factory: pytest.TempPathFactory) -> int:
    """How many bytes an undisturbed look at the loud unit brings."""
    folder = tmp_path_factory.mktemp("whole")
    with Link(host.port) as link:
        code, found, said, _ = run(command(host, host.config_through(link.port, folder), unit=LOUD), folder)
        assert (code, found and found["cause"]) == (1, "exit-code-death"), said
        return link.carried


@pytest.mark.parametrize("share", [0.0005, 0.005, 0.03, 0.3, 0.7, 0.98])
def test_a_link_that_breaks_half_way_gives_what_came_and_says_so(host: Host, whole: int, tmp_path: Path, share: float) -> None:
    with Link(host.port, cut_after=int(whole * share)) as link:
        config = host.config_through(link.port, tmp_path)
        code, found, said, took = run(command(host, config, unit=LOUD), tmp_path)
    assert took < 45  # it would be 90 s, were the break not noticed
    assert_nothing_is_left(host, config)
    if found is None:
        assert code == 3
        assert re.search("connection was lost before|closed the connection before|could not connect", said), said
        return
    assert_lost(found)
    assert found["health"] in ("failed", "unknown")
    assert found["cause"] in ("exit-code-death", "evidence-missing", "unknown")
    assert code == {"exit-code-death": 1, "evidence-missing": 3, "unknown": 5}[found["cause"]], found["headline"]


def test_a_session_that_is_killed_over_there_gives_what_came_and_says_so(host: Host, whole: int, tmp_path: Path) -> None:
    with Link(host.port, bytes_per_s=whole // 8) as link:  # seconds
        config = host.config_through(link.port, tmp_path)
        process = subprocess.Popen(command(host, config, unit=LOUD), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: link.carried > whole // 2)
        host.inside("pkill -KILL -f '^sshd(-session)?: root@notty'")
        out, said = process.communicate(timeout=60)
    assert "Traceback" not in said
    found = json.loads(out)
    assert_lost(found)
    assert (process.returncode, found["health"], found["cause"]) == (1, "failed", "exit-code-death")
    assert_nothing_is_left(host, config)


def test_a_link_that_falls_silent_is_given_up_in_time(host: Host, whole: int, tmp_path: Path) -> None:
    limits = collect.Limits(connect_s=5, answer_s=3.0, grace_s=1.0, total_s=9.0)
    with Link(host.port, stall_after=int(whole * 0.3)) as link:
        config = host.config_through(link.port, tmp_path)
        began = time.monotonic()
        [found] = api.diagnose(host.name, unit=LOUD, ssh_config=config, limits=limits)
        assert time.monotonic() - began < 25
    assert any("gave up" in w.text for w in found.warnings), found.warnings
    assert (found.health, found.cause) == (Health.FAILED, Cause.EXIT_CODE_DEATH)
    assert_nothing_is_left(host, config, limit_s=30)


def test_a_slow_link_gives_the_same_answer(host: Host, tmp_path: Path) -> None:
    code, quick, _, _ = run(command(host, host.config), tmp_path)
    with Link(host.port, bytes_per_s=60_000, delay_s=0.05) as link:
        config = host.config_through(link.port, tmp_path)
        slow_code, slow, _, _ = run(command(host, config), tmp_path)
    assert quick is not None
    assert slow is not None
    for key in ("cause", "status", "headline", "end", "died_after_s", "coverage", "warnings"):
        assert slow[key] == quick[key]
    assert (code, slow_code) == (1, 1)
    assert_nothing_is_left(host, config)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_pressing_ctrl_c_in_the_middle_leaves_nothing(host: Host, tmp_path: Path, number: signal.Signals) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    with Link(host.port, bytes_per_s=200_000) as link:
        config = host.config_through(link.port, tmp_path)
        process = subprocess.Popen(
            command(host, config, unit=LOUD), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(spool)}
        )
        wait_for(lambda: link.carried > 200_000)
        began = time.monotonic()
        process.send_signal(number)
        out, said = process.communicate(timeout=30)
        assert time.monotonic() - began < 15
        assert process.returncode == 128 + number
        assert (out, "Traceback" in said) == ("", False)
        assert list(spool.iterdir()) == []
        assert_nothing_is_left(host, config)


def wait_for(condition: Any, *, limit_s: float = 20.0) -> None:
    until = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


# ---- shells and their start-up files


@contextmanager
def start_up_file(host: Host, user: str, name: str, text: str) -> Iterator[None]:
    """The account's own start-up file, for a while; it is put back."""
    path = f"/home/{user}/{name}"
    file = host.folder / "root" / path.lstrip("/")
    before = file.read_bytes() if file.exists() else None
    host.put(path, text.encode("utf-8", "surrogateescape"))
    try:
        yield
    finally:
        if before is None:
            host.remove(path)
        else:
            file.write_bytes(before)


def look(host: Host, user: str, **limits: Any) -> Diagnosis:
    given = {"connect_s": 5, "answer_s": 8.0, "total_s": 40.0, **limits}
    [found] = api.diagnose(f"{user}@{host.name}", unit=DEAD, ssh_config=host.config, limits=collect.Limits(**given))
    return found


FRAME = "@0123456789abcdef0123456789abcdef"
HARMLESS = {
    "slow": "sleep 3",
    "prints": "echo 'Welcome to gpu01!'; echo careful, maintenance on Sunday >&2",
    "prints-a-frame": f"printf '\\n{FRAME} begin journal\\n-- No entries --\\n\\n{FRAME} end journal 0\\n\\n{FRAME} done 1\\n'",
    "prints-escapes": "printf '\\033[2J\\033]0;owned\\007\\033[31m\\000\\377\\n'",
    "prints-a-megabyte": "head -c 1048576 /dev/zero | tr '\\0' x; head -c 1048576 /dev/zero | tr '\\0' y >&2",
    "shortens-the-path": "export PATH=/bin",
    "joins-the-streams": "exec 2>&1",
    "another-language": "export LC_ALL=de_DE.UTF-8 LANG=ja_JP.UTF-8 TZ=Asia/Kathmandu LANGUAGE=fr SYSTEMD_COLORS=1 SYSTEMD_PAGER=cat LESS=-R",
    "odd-functions": "systemctl() { echo from a function; }; journalctl() { rm -f /nothing; }; export -f systemctl journalctl; alias date=false; set -u; umask 777; trap 'echo bye' EXIT",
    "background": "sleep 4 & disown",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_a_bashrc_does_changes_nothing(host: Host, name: str) -> None:
    with start_up_file(host, "ops", ".bashrc", HARMLESS[name] + "\n"):
        found = look(host, "ops")
    assert (found.cause, found.health, str(found.status)) == (Cause.GPU_OOM_INIT, Health.FAILED, "established")
    assert found.coverage["journal"] is Coverage.READ
    assert "Welcome" not in repr(found)
    assert "owned" not in repr(found)
    assert not [w for w in found.warnings if "lost" in w.text or "gave up" in w.text]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("exit 0", "no POSIX shell answered", id="exits"),
        pytest.param("echo 'account locked' >&2; exit 1", "account locked", id="exits-with-a-word"),
        pytest.param("exec >/dev/null 2>&1", "the login works", id="swallows-everything"),
        pytest.param("cat >/dev/null", "the login works", id="eats-the-script"),
        pytest.param("read -r answer", "the login works", id="reads-a-line"),
        pytest.param("export PATH=/nonexistent", "sh: not found", id="finds-no-shell"),
        pytest.param(
            "echo 'pick one: 1) bash 2) zsh'; sleep 9", "pick one", id="hangs"
        ),  # ends by itself: a start-up file is nothing that we started
    ],
)
def test_a_bashrc_that_lets_no_shell_come_to_words_is_said_in_time(host: Host, text: str, said: str) -> None:
    began = time.monotonic()
    with start_up_file(host, "ops", ".bashrc", text + "\n"), pytest.raises(TargetError) as error:
        look(host, "ops", connect_s=2, answer_s=2.0)
    assert time.monotonic() - began < 30
    assert error.value.exit_code == 3
    assert said in str(error.value)
    assert_nothing_is_left(host, host.config, limit_s=20)


@pytest.mark.parametrize(("shell", "file"), [("tcsh", ".cshrc"), ("zsh", ".zshenv"), ("dash", ".profile"), ("ash", ".profile")])
def test_any_login_shell_will_do(host: Host, shell: str, file: str) -> None:
    with start_up_file(host, f"with{shell}", file, "echo hello from the start-up file\n"):
        found = look(host, f"with{shell}")
    assert (found.cause, found.health) == (Cause.GPU_OOM_INIT, Health.FAILED)
    assert found.coverage["journal"] is Coverage.READ


# ---- commands that hang


HANGS = b"#!/bin/sh\ncase \"$*\" in *'-o export'*) trap '' TERM HUP INT; while :; do sleep 7; done;; esac\nexec /usr/bin/journalctl \"$@\"\n"


@pytest.mark.slow
def test_a_journal_that_hangs_costs_its_limit_and_the_rest_is_used(host: Host, tmp_path: Path) -> None:
    """Of what stands first in PATH, as a broken disk under the journal would be."""
    host.put("/usr/local/bin/journalctl", HANGS, 0o755)
    try:
        code, found, _, took = run(command(host, host.config), tmp_path)
    finally:
        host.remove("/usr/local/bin/journalctl")
    assert found is not None
    assert 19 < took < 70
    assert (code, found["health"], found["end"]["signal"]) == (1, "failed", "SIGKILL")
    assert found["cause"] == "gpu-oom-init"  # its last words stand below its status
    assert {e["source"] for e in found["evidence"]} <= {"status", "show", "units", "is-active"}
    assert found["coverage"]["journal"] == "not-collected"
    assert any("journal" in w["text"] and "stopped after 20 s" in w["text"] for w in found["warnings"]), found["warnings"]
    assert_nothing_is_left(host, host.config)


# ---- sshd itself


def test_a_host_whose_sshd_is_stopped_is_an_error_with_a_place(host: Host, tmp_path: Path) -> None:
    host.inside("systemctl stop ssh.socket ssh.service 2>/dev/null; true")
    try:
        code, found, said, took = run(command(host, host.config), tmp_path)
    finally:
        host.inside("systemctl start ssh.service")
    assert (code, found) == (3, None)
    assert host.name in said
    assert re.search("closed the connection before the login|refused", said)
    assert took < 40


# ---- a master of the user's


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder whose name leaves room for that of a socket."""
    with tempfile.TemporaryDirectory(prefix="ddf-", dir="/tmp") as folder:
        yield Path(folder)


def test_a_master_that_is_there_is_used_and_left_alone(host: Host, tmp_path: Path, short: Path) -> None:
    config = host.config_with(tmp_path, ControlPath=str(short / "m"))
    ssh = ["ssh", "-F", str(config), "-o", "BatchMode=yes"]
    subprocess.run([*ssh, "-M", "-f", "-N", "-o", "ControlPersist=yes", host.name], check=True, capture_output=True, stdin=subprocess.DEVNULL)
    try:
        before = host.logins()
        code, found, _, _ = run(command(host, config), tmp_path)
        assert (code, found and found["cause"]) == (1, "gpu-oom-init")
        assert host.logins() == before
        assert subprocess.run([*ssh, "-O", "check", host.name], capture_output=True, check=False).returncode == 0
    finally:
        subprocess.run([*ssh, "-O", "exit", host.name], capture_output=True, check=False)


def test_a_configuration_that_would_make_a_master_makes_none(host: Host, tmp_path: Path, short: Path) -> None:
    config = host.config_with(tmp_path, ControlPath=str(short / "m"), ControlMaster="auto", ControlPersist="600")
    code, found, _, _ = run(command(host, config), tmp_path)
    assert (code, found and found["cause"]) == (1, "gpu-oom-init")
    assert list(short.iterdir()) == []
    assert_nothing_is_left(host, config)

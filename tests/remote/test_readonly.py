"""A host that is looked at is only looked at: every program that a diagnosis starts there and every file it touches, seen from outside by strace, against a bare login's."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from forensics import api
from forensics.model import Cause
from tests.remote.bed import Host

UNIT = "sglang-watched.service"
# whatever takes a path, and what changes a file or a process without one
CALLS = "%file,connect,bind,kill,tkill,tgkill,ftruncate,fchmod,fchown,fsetxattr,fallocate,settimeofday,clock_settime,reboot,sethostname"
CHANGES = re.compile(
    r"^(?:creat|unlink|unlinkat|rename|renameat2?|mkdir|mkdirat|rmdir|chmod|fchmod|fchmodat2?|chown|lchown|fchown|fchownat|truncate|ftruncate|link|linkat|symlink|symlinkat"
    r"|mknod|mknodat|utimensat|utimes?|setxattr|lsetxattr|fsetxattr|removexattr|fallocate|mount|umount2|pivot_root|chroot|settimeofday|clock_settime|reboot|sethostname|swapon)\("
)
OPENS = re.compile(r"^open(?:at)?\(.*\bO_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND)\b")
PROGRAMS = frozenset({
    "sh", "bash", "dash", "timeout", "true", "cat", "head", "tail", "sleep", "date", "uname", "id", "grep", "sed", "uniq", "ss", "netstat", "dmesg", "systemctl", "journalctl", "nvidia-smi",
    "curl", "wget", "python3", "gzip", "zstd", "pager", "ps", "awk", "mawk", "gawk", "df", "stat", "readlink", "cut", "tr", "coredumpctl", "chronyc",
})  # fmt: skip


def outer_pid(host: Host, inner: int) -> int:
    """A process of the host, as this machine numbers it."""
    space = Path(f"/proc/{host.init_pid()}/ns/pid").readlink()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "ns/pid").readlink() == space and re.search(rf"^NSpid:.*\s{inner}$", (folder / "status").read_text(), re.MULTILINE):
                return int(folder.name)
        except OSError:
            continue
    raise AssertionError(f"no process {inner} in {host.name}")


@contextmanager
def watched(host: Host, to: Path) -> Iterator[int]:
    """All that sshd and what it starts do, written to a file; gives sshd's own number there."""
    sshd = outer_pid(host, int(host.inside("cat /run/sshd.pid")))
    argv = ["strace", "-f", "--decode-pids=pidns", "-s", "2000", "-e", f"trace={CALLS}", "-e", "signal=none", "-o", str(to), "-p", str(sshd)]
    tracer = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        assert tracer.stderr is not None
        line = tracer.stderr.readline()
        assert "attached" in line, line
        yield sshd
        time.sleep(0.5)  # the session's own end
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.communicate(timeout=20)


def made(file: Path) -> list[tuple[str, str]]:
    """The calls that succeeded, each with the process that made it; one that was interrupted is put together."""
    open_calls: dict[str, str] = {}
    found = []
    for line in file.read_text(errors="replace").splitlines():
        pid, _, call = line.partition(" ")
        call = call.strip()
        if call.endswith("<unfinished ...>"):
            open_calls[pid] = call.removesuffix("<unfinished ...>")
            continue
        resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", call)
        if resumed:
            call = open_calls.pop(pid, "") + resumed[1]
        if not re.search(r"= (?:-1 E\w+|\? ERESTART\w+)", call):
            found.append(
                (pid, re.sub(r"\s*\)\s+= ", ") = ", call))
            )  # strace lines up results: how far depends on the length, and on whether it was interrupted
    return found


def calls(file: Path) -> list[str]:
    """Those calls without their processes."""
    return [call for _, call in made(file)]


def changing(made: list[str]) -> set[str]:
    """Those that change something, numbers apart: a pid or a time is another one each time."""
    return {
        re.sub(r"\d+|0x[0-9a-f]+", "N", call)
        for call in made
        if (CHANGES.match(call) or OPENS.match(call)) and '"/dev/null"' not in call and '"/dev/tty"' not in call
    }


def signals(file: Path, sshd: int) -> list[str]:
    """Signals to others than whom the trace saw begin. A question that takes too long is ended by timeout(1): it sends to its child, and to the group that it made for it."""
    found = made(file)
    begun = {pid for pid, _ in found} - {str(sshd)}  # it was there before
    program: dict[str, str] = {}
    strange = []
    for pid, call in found:
        if started := re.match(r'execve\("([^"]*)"', call):
            program[pid] = started[1].rpartition("/")[2]
        sent = re.match(r"t?g?kill\((-?\d+)(?: /\* (\d+) in strace's PID NS \*/)?, (\w+)", call)
        if sent and sent[3] != "0" and (sent[2] or sent[1]) not in begun and not (sent[1] == "0" and program.get(pid) == "timeout"):
            strange.append(call)
    return strange


def programs(made: list[str]) -> list[list[str]]:
    """argv of each program that was started."""
    found = []
    for call in made:
        if call.startswith("execve("):
            argv = re.search(r'^execve\("(?:[^"\\]|\\.)*", \[(.*?)\](?:, |\))', call, re.DOTALL)
            found.append(re.findall(r'"((?:[^"\\]|\\.)*)"', argv[1]) if argv else [call])
    return found


def talked_to(made: list[str]) -> set[str]:
    """The addresses of the network that were connected to."""
    return {m for call in made if call.startswith("connect(") for m in re.findall(r'inet_(?:addr\(|pton\(AF_INET6, )"([^"]+)"', call)}


def test_a_call_reads_the_same_whether_strace_was_interrupted_in_it_or_not(tmp_path: Path) -> None:
    whole = '9 openat(AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3\n9 chroot("/run/sshd")                     = 0\n'
    parts = (
        '9 openat(AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY|O_CREAT|O_TRUNC, 0666 <unfinished ...>\n8 chdir("/") = 0\n9 <... openat resumed>)             = 3\n'
        '9 unlink("/x" <unfinished ...>\n9 <... unlink resumed>)  = ? ERESTARTNOINTR (To be restarted)\n9 chroot("/run/sshd" <unfinished ...>\n9 <... chroot resumed>) = 0\n'
    )
    for name, text in (("whole", whole), ("parts", parts)):
        (tmp_path / name).write_text(text)
    assert (
        changing(calls(tmp_path / "whole"))
        == changing(calls(tmp_path / "parts"))
        == {'openat(AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY|O_CREAT|O_TRUNC, N) = N', 'chroot("/run/sshd") = N'}
    )


@pytest.fixture
def served(each_host: Host) -> Iterator[Host]:
    """A host with a server that serves, so that its endpoints are asked as well."""
    each_host.add_server(UNIT, play="serve", load_s=0.3, arguments="--model-path /models/x --port 31301")
    each_host.inside(f"systemctl start {UNIT}")
    each_host.wait_until(UNIT, "fired up")
    yield each_host
    each_host.inside(f"systemctl stop {UNIT}")


def test_a_diagnosis_starts_only_what_reads_and_changes_no_more_than_a_bare_login(served: Host, tmp_path: Path) -> None:
    host = served
    host.sh("true")
    with watched(host, tmp_path / "login") as sshd:
        host.sh("true")
    with watched(host, tmp_path / "diagnosis"):
        [found] = api.diagnose(host.name, unit=UNIT, ssh_config=host.config)
        [other] = api.diagnose(host.name, unit="no-such-thing.service", ssh_config=host.config)
    assert (found.cause, other.cause) == (Cause.HEALTHY, Cause.UNIT_MISSING)
    login, diagnosis = calls(tmp_path / "login"), calls(tmp_path / "diagnosis")
    assert changing(login)  # a login does leave something: the listening itself works
    assert changing(diagnosis) <= changing(login)
    sent = [{re.sub(r"\d+", "N", call) for call in signals(tmp_path / name, sshd)} for name in ("login", "diagnosis")]
    assert sent[1] <= sent[0]
    bare = {a[0].rpartition("/")[2] for a in programs(login) if a}
    started = [a for a in programs(diagnosis) if a[0].rpartition("/")[2] not in bare or a[0].rpartition("/")[2] in PROGRAMS]
    assert {a[0].rpartition("/")[2] for a in started} <= PROGRAMS
    asked = [a for a in started if a[0] == "systemctl"]
    assert asked
    assert {a[1] for a in asked} <= {"show", "status", "cat", "is-active", "list-units", "list-unit-files", "--version"}
    for argv in [a for a in started if a[0] == "journalctl"]:
        assert not [
            w for w in argv if re.match(r"--(?:rotate|vacuum|flush|sync|relinquish|smart-relinquish|setup-keys|update-catalog|cursor-file)", w)
        ], argv
    assert talked_to(diagnosis) <= {"127.0.0.1"} | talked_to(login)


def test_who_ends_a_question_that_takes_too_long_signals_nobody_else(each_host: Host, tmp_path: Path) -> None:
    host = each_host
    with watched(host, tmp_path / "ended") as sshd:
        host.sh("timeout -k 2 1 sleep 9; true")
    assert any(call.startswith("kill(") and "SIGTERM" in call for call in calls(tmp_path / "ended"))
    assert not signals(tmp_path / "ended", sshd)
    with watched(host, tmp_path / "other") as sshd:
        host.sh("kill -s CONT $(cat /run/sshd.pid)")
    assert [re.sub(r"\d+", "N", call).split()[-3:] for call in signals(tmp_path / "other", sshd)] == [["SIGCONT)", "=", "N"]]


def test_a_host_is_the_same_before_and_after(served: Host) -> None:
    host = served
    host.state_of_things()  # the first login of a boot starts more than the later ones
    before = host.state_of_things()
    api.diagnose(host.name, unit=UNIT, ssh_config=host.config)
    api.diagnose(f"nolog@{host.name}", unit=UNIT, ssh_config=host.config)
    api.diagnose(host.name, ssh_config=host.config)
    after = host.state_of_things()
    assert after == before

"""A real systemd host to test against: its own PID 1, journald and sshd, booted through tests/remote/testbed. Installs nothing."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

TESTBED = Path(__file__).parent / "testbed"
PROGRAMS = ("systemd-nspawn", "ip", "ssh", "ssh-keygen", "journalctl", "pgrep")
CACHE = Path(os.environ.get("TB_CACHE", "/var/tmp/ddforensics-testbed"))
SUITE = os.environ.get("TB_SUITE", "bookworm")
SYSTEMD = {"bullseye": 247, "bookworm": 252, "trixie": 257}  # the systemd of each suite


def why_not(suite: str = SUITE) -> str:
    """Why no host of that suite can be booted here, "" where one can."""
    if os.name != "posix" or not Path("/proc/self/ns/net").exists():
        return "needs Linux"
    if os.geteuid() != 0:
        return "needs root, to boot a container"
    missing = [p for p in PROGRAMS if shutil.which(p) is None]
    if not (CACHE / suite / ".testbed-ready").exists() and shutil.which("mmdebstrap") is None:
        missing.append("mmdebstrap")
    if missing:
        return f"needs {', '.join(missing)}: tests/remote/testbed/install.sh installs what is missing"
    if "cgroup" not in Path("/proc/mounts").read_text():
        return "needs a cgroup file system"
    return ""


# what a collection starts over there
_COLLECTING = ("journalctl", "systemctl", "nvidia-smi", "timeout", "sh -s", "sh -c", "dd_", "sshd: ", "sshd-session", "sleep", "dmesg", "curl")


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def free_ports(count: int) -> int:
    """The first of so many ports in a row that nobody listens on now."""
    while True:
        first = free_port() if count == 1 else random.randrange(20000, 32000)  # below where the kernel takes ports of its own
        try:
            with contextlib.ExitStack() as stack:
                for port in range(first, first + count):
                    stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
        except OSError:
            continue
        return first


@dataclass(frozen=True, kw_only=True)
class Host:
    """A booted host. ``config`` is an ssh configuration in which ``name`` is it, as root.

    ``user@name``: ops (may read the journal), nolog (may not), deploy (may not, but may sudo), noshell, and withtcsh, withzsh, withdash, withash.
    """

    name: str
    port: int
    state: Path
    suite: str = SUITE

    @property
    def config(self) -> Path:
        return self.state / "ssh_config"

    @property
    def folder(self) -> Path:
        return self.state / self.name

    def config_with(self, folder: Path, **other: str) -> Path:
        """The ssh configuration with some of it replaced or added, in a folder of the test's."""
        lines = []
        for line in self.config.read_text().splitlines():
            key = line.split()[0]
            lines.append(f"  {key} {other.pop(key)}" if key in other else line)
        lines += [f"  {key} {value}" for key, value in other.items()]
        config = folder / "ssh_config"
        config.write_text("\n".join(lines) + "\n")
        return config

    def config_through(self, port: int, folder: Path, **other: str) -> Path:
        """The same through another port of this machine; the host's key still has to be its own."""
        return self.config_with(folder, Port=str(port), HostKeyAlias=f"[127.0.0.1]:{self.port}", **other)

    def sh(self, command: str, *, user: str = "root", data: bytes | None = None, check: bool = True) -> str:
        """What a command on the host prints; over ssh, so that it counts as a login."""
        argv = ["ssh", "-F", str(self.config), "-o", "BatchMode=yes", "-o", "LogLevel=ERROR", "-l", user, self.name, command]
        done = subprocess.run(argv, input=data or b"", capture_output=True, timeout=60, check=False)
        assert not check or done.returncode == 0, f"{command}: {done.returncode}: {done.stderr.decode()}"
        return done.stdout.decode("utf-8", "replace")

    def put(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """A file on the host, written from outside."""
        file = self.folder / "root" / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        file.chmod(mode)

    def remove(self, path: str) -> None:
        """Take such a file away again."""
        (self.folder / "root" / path.lstrip("/")).unlink(missing_ok=True)

    def inside(self, command: str, *, check: bool = True) -> str:
        """What a command prints that is run on the host from outside: no sshd is needed and no login counted."""
        argv = ["nsenter", "-t", str(self.init_pid()), "-m", "-u", "-i", "-n", "-p", "-C", "sh", "-c", command]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
        assert not check or done.returncode == 0, f"{command}: {done.returncode}: {done.stderr.decode()}"
        return done.stdout.decode("utf-8", "replace")

    def init_pid(self) -> int:
        """The host's own PID 1, as this machine numbers it."""
        outer = (self.folder / "nspawn_pid").read_text().strip()
        return int(subprocess.run(["pgrep", "-P", outer], capture_output=True, text=True, check=True).stdout.split()[0])

    def cut_power(self) -> None:
        """End its PID 1 as a power cut would: nothing is written down any more. ``switch_on`` boots it again."""
        keeper = int((self.folder / "pid").read_text().split()[0])
        os.kill(self.init_pid(), signal.SIGKILL)
        self._until(lambda: not _runs(keeper), "did not go down")

    def switch_on(self) -> None:
        """Boot it again after ``cut_power``, with all that is on its disk."""
        # a grandchild, as with up.sh: nobody here waits for it, and down.sh ends it by what "pid" names
        script = 'setsid "$0" "$1" "$2" </dev/null >>"$2/console.log" 2>&1 & echo $!'
        argv = ["sh", "-c", script, str(TESTBED / "run-host.sh"), self.name, str(self.folder)]
        environment = {**os.environ, "TB_GROUP": (self.state / "group").read_text()}
        keeper = subprocess.run(argv, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        started = Path(f"/proc/{keeper}/stat").read_text().rpartition(") ")[2].split()[19]
        (self.folder / "pid").write_text(f"{keeper} {started}\n")
        self.wait_until_up()

    def reboot(self) -> None:
        """An orderly reboot, from inside."""
        boot = self.sh("cat /proc/sys/kernel/random/boot_id; systemctl show --value -p UserspaceTimestampMonotonic").split()[-1]
        self.inside("systemctl reboot", check=False)
        time.sleep(1)
        self._until(lambda: self.sh("systemctl show --value -p UserspaceTimestampMonotonic", check=False).strip() not in ("", boot), "did not reboot")
        self.wait_until_up()

    def wait_until_up(self) -> None:
        """Until systemd says that it has booted."""
        self._until(lambda: self.sh("systemctl is-system-running", check=False).strip() in ("running", "degraded"), "did not come up")

    def _until(self, condition: Callable[[], bool], otherwise: str, limit_s: float = 60.0) -> None:
        until = time.monotonic() + limit_s
        while not condition():
            assert time.monotonic() < until, f"{self.name} {otherwise}"
            time.sleep(0.2)

    def left_behind(self) -> list[str]:
        """What a collection may have left running: every process but PID 1's own services and this look, looked at from outside."""
        mine = ("ps -eo", "nsenter", "sh -c ps")
        lines = self.inside("ps -eo user:20=,comm:32=,args= --sort=pid").splitlines()
        return [" ".join(x.split()) for x in lines if any(w in x for w in _COLLECTING) and not any(m in x for m in mine)]

    def journal(self, *matches: str) -> str:
        """Messages of its journal, read from outside: no login is needed."""
        argv = ["journalctl", "--no-pager", "-q", "-o", "cat", "-D", str(self.folder / "root/var/log/journal"), *matches]
        return subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=60, check=False).stdout

    def logins(self) -> int:
        """How often anybody has logged in over ssh."""
        return self.journal("-t", "sshd", "-t", "sshd-session").count("Accepted publickey")

    def state_of_things(self) -> dict[str, str]:
        """Files, unit states, processes and settings, but for what any login leaves (the journal, lastlog, its own session)."""
        upper = self.folder / "upper"
        files = {}
        for file in sorted(upper.rglob("*")):
            name, info = str(file.relative_to(upper)), file.lstat()
            if not name.startswith(("var/log", "var/lib/systemd")) and not file.is_dir():
                files[name] = f"{info.st_mode:o} {info.st_size} {info.st_mtime_ns}"
        units = self.sh(
            "systemctl list-units --all --plain --no-legend | awk '{print $1, $2, $3, $4}' | grep -Ev '^(session-|user|run-user-|system-user)'; true"
        )
        processes = self.sh(
            "ps -eo ppid=,comm=,args= | grep -Ev '(defunct|\\[grep\\]|sshd|systemd --user|\\(sd-pam\\)|ps -eo|grep -Ev|bash -c| awk | sort )' | sort; true"
        )
        run = self.sh("find /run /tmp /var/tmp /dev/shm -xdev -type f ! -path '/run/systemd/*' ! -path '/run/user/*' ! -path '/run/log/*' | sort")
        return {"files": "\n".join(f"{k} {v}" for k, v in files.items()), "units": units, "processes": processes, "run": run}

    def add_server(
        self, unit: str, *, play: str, load_s: float, shards: int = 14, arguments: str = "", service: str = "", description: str = ""
    ) -> None:
        """Install a unit that plays an inference server (see testbed/fake_server.py); it is not started."""
        self.put("/opt/sglang/sglang/__init__.py", b"")
        self.put("/opt/sglang/sglang/launch_server.py", (TESTBED / "fake_server.py").read_bytes())
        text = (
            f"[Unit]\nDescription={description or 'SGLang server'}\n[Service]\nWorkingDirectory=/opt/sglang\n"
            f"Environment=FAKE_PLAY={play} FAKE_LOAD_S={load_s} FAKE_SHARDS={shards} PYTHONDONTWRITEBYTECODE=1\n"
            f"ExecStart=/usr/bin/python3 -m sglang.launch_server {arguments}\n{service}\n[Install]\nWantedBy=multi-user.target\n"
        )
        self.put(f"/etc/systemd/system/{unit}", text.encode())
        self.sh("systemctl daemon-reload")

    def wait_for(self, unit: str, states: tuple[str, ...], *, limit_s: float = 30.0) -> str:
        """Wait until the unit is in one of the states."""
        until = time.monotonic() + limit_s
        while (state := self.sh(f"systemctl is-active {unit}", check=False).strip()) not in states:
            assert time.monotonic() < until, f"{unit} is {state}"
            time.sleep(0.2)
        return state

    def wait_until(self, unit: str, says: str, *, times: int = 1, limit_s: float = 30.0) -> None:
        """Wait until the unit's journal holds a text so many times."""
        until = time.monotonic() + limit_s
        while self.journal("-u", unit).count(says) < times:
            assert time.monotonic() < until, f"{unit} never said {says!r}"
            time.sleep(0.1)


_BOOTS = itertools.count(1)
_INOTIFY = Path("/proc/sys/fs/inotify/max_user_instances")


def _make_room(state: Path, count: int) -> None:
    """Raise the number of inotify instances for as long as many hosts run: a systemd takes seven, and the kernel's 128 are for all of root's."""
    had, wanted = int(_INOTIFY.read_text()), 128 + 10 * count
    if had < wanted:
        (state / "inotify").write_text(f"{had} {wanted}")
        _INOTIFY.write_text(str(wanted))


def _give_back(state: Path) -> None:
    if (state / "inotify").exists():
        had, set_to = (state / "inotify").read_text().split()
        if _INOTIFY.read_text().strip() == set_to:
            _INOTIFY.write_text(had)


def boot(state: Path, *, suite: str = SUITE, count: int = 1) -> list[Host]:
    """Boot hosts with names and ports of their own; about 2 s for one, 12 s for twenty, and a minute more where the root tree has to be built."""
    group = f"ddf{os.getpid() % 100000}{suite[:2]}{next(_BOOTS)}x"  # a name of a network namespace and of a cgroup: no two may share it
    (state / "group").write_text(group)
    if count > 10:
        _make_room(state, count)
    first = free_ports(count)
    environment = {**os.environ, "TB_STATE": str(state), "TB_CACHE": str(CACHE), "TB_GROUP": group}
    argv = [str(TESTBED / "up.sh"), "-s", suite, "-n", str(count), "-p", str(first), "-N", group]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise RuntimeError(f"the test host did not come up: {done.stderr[-2000:]}")
    return [Host(name=f"{group}{k + 1}", port=first + k, state=state, suite=suite) for k in range(count)]


def down(state: Path) -> None:
    """End all that ``boot`` started under this state folder."""
    group = (state / "group").read_text() if (state / "group").exists() else state.name
    environment = {**os.environ, "TB_STATE": str(state), "TB_GROUP": group}
    subprocess.run([str(TESTBED / "down.sh")], env=environment, capture_output=True, timeout=180, check=False)
    _give_back(state)
    shutil.rmtree(state, ignore_errors=True)

"""A real systemd host to test against: its own PID 1, journald and sshd, booted through tests/remote/testbed. Installs nothing."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

TESTBED = Path(__file__).parent / "testbed"
PROGRAMS = ("systemd-nspawn", "ip", "ssh", "ssh-keygen", "journalctl", "pgrep")
CACHE = Path(os.environ.get("TB_CACHE", "/var/tmp/ddforensics-testbed"))
SUITE = os.environ.get("TB_SUITE", "bookworm")


def why_not() -> str:
    """Why no host can be booted here, "" where one can."""
    if os.name != "posix" or not Path("/proc/self/ns/net").exists():
        return "needs Linux"
    if os.geteuid() != 0:
        return "needs root, to boot a container"
    missing = [p for p in PROGRAMS if shutil.which(p) is None]
    if not (CACHE / SUITE / ".testbed-ready").exists() and shutil.which("mmdebstrap") is None:
        missing.append("mmdebstrap")
    if missing:
        return f"needs {', '.join(missing)}: tests/remote/testbed/install.sh installs what is missing"
    if "cgroup" not in Path("/proc/mounts").read_text():
        return "needs a cgroup file system"
    return ""


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True, kw_only=True)
class Host:
    """The booted host. ``config`` is an ssh configuration in which ``name`` is it, as root; ``user@name`` for ops (may read the journal), nolog (may not), noshell."""

    name: str
    port: int
    state: Path

    @property
    def config(self) -> Path:
        return self.state / "ssh_config"

    @property
    def folder(self) -> Path:
        return self.state / self.name

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
            "ps -eo ppid=,comm=,args= | grep -Ev '(sshd|systemd --user|\\(sd-pam\\)|ps -eo|grep -Ev|bash -c| awk | sort )' | sort; true"
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


def boot(state: Path) -> Host:
    """Boot one host with a name and a port of its own; about 2 s, and a minute more where the root tree has to be built."""
    prefix = f"ddf{os.getpid() % 100000}x"  # a name of a network namespace and of a cgroup: no two runs may share it
    port = free_port()
    environment = {**os.environ, "TB_STATE": str(state), "TB_CACHE": str(CACHE), "TB_GROUP": prefix}
    argv = [str(TESTBED / "up.sh"), "-s", SUITE, "-p", str(port), "-N", prefix]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise RuntimeError(f"the test host did not come up: {done.stderr[-2000:]}")
    return Host(name=f"{prefix}1", port=port, state=state)


def down(state: Path) -> None:
    """End all that ``boot`` started under this state folder."""
    prefix = f"ddf{os.getpid() % 100000}x"
    environment = {**os.environ, "TB_STATE": str(state), "TB_GROUP": prefix}
    subprocess.run([str(TESTBED / "down.sh")], env=environment, capture_output=True, timeout=120, check=False)
    shutil.rmtree(state, ignore_errors=True)

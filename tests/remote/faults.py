"""The faults that a real host is given: one unit each, how it is brought about, and what is right to say of it. Stages them all at once, judges nothing.

``causes`` are all the answers that a fair judge allows. What a row leaves open (None) is not looked at. The rows were written from what the unit does and
what systemd's manual says, never from what the program answers.
"""

from __future__ import annotations

import io
import re
import tarfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from tests.remote.bed import TESTBED, Host

SERVER = "/opt/sglang/bin/launch_server.py"
FLAPS = "Restart=always\nRestartSec={}"
FOR_EVER = "StartLimitIntervalSec=0"
FAILED, STOPPED, STARTING, HEALTHY = ("failed",), ("stopped",), ("starting",), ("healthy",)
NEVER = ("none", "unknown")  # no process was ever started


@dataclass(frozen=True, kw_only=True)
class Fault:
    """``then`` is run on the host (with $U) once the server listens; the fault is there when the unit is in one of ``settles`` (active, failed, …)."""

    exec_: str = ""  # ExecStart=; "" is the stand-in for a server with ``die``
    die: str = ""
    after: float = 1.5
    load: float = 1.0
    port: int | None = None
    service: str = ""
    section: str = ""  # more lines of [Unit]
    description: str = "SGLang server"
    text: str | None = None  # the whole unit file instead
    unit: str = ""
    start: bool = True
    then: str = ""
    settles: tuple[str, ...] = ("failed",)
    restarts: int = 0  # as many at least
    says: str = ""  # and its journal has to match this: an inactive unit may just not have been started yet
    # what is right
    causes: tuple[str, ...]
    health: tuple[str, ...] = FAILED
    kind: tuple[str, ...]
    by: tuple[str, ...] | None = None
    signal: str | None = None
    status: int | None = None
    code: int | None = None  # of the program; else 1
    also: tuple[str, ...] = ()
    phase: tuple[str, ...] | None = None
    meant: str = ""  # the unit that is looked at instead


# who leaves with 203 is a process of systemd's own, before it has become the program
_BEFORE = ("systemd", "itself")
_CLEAN = "Deactivated successfully|Succeeded\\."


def _sh(script: str) -> str:
    return f"/bin/sh -c '{script}'"


# A killed child is told by 128 + its signal; a signal from outside leaves no word of who sent it.
FAULTS: dict[str, Fault] = {
    # ---- killed by a signal
    "sigabrt": Fault(die="abort", service="LimitCORE=0", causes=("cuda-fault",), kind=("signal",), signal="SIGABRT", also=("signal-death",)),
    "sigabrt-corefile": Fault(die="abort", service="WorkingDirectory=/tmp\nLimitCORE=infinity", causes=("cuda-fault",), kind=("signal",), signal="SIGABRT"),
    "sigsegv-nocore": Fault(die="segv", service="LimitCORE=0", causes=("signal-death",), kind=("signal",), signal="SIGSEGV"),
    "sigbus": Fault(die="sig7", service="LimitCORE=0", causes=("signal-death",), kind=("signal",), signal="SIGBUS"),
    # whoever asks systemd to send it is the operator (252 and 257 say so; 247 keeps silent)
    "sigkill-outside": Fault(
        die="no", then="systemctl kill -s KILL --kill-who=main $U", causes=("signal-death", "operator-stop"), kind=("signal", "stopped"), signal="SIGKILL",
        by=("operator", "unknown"),
    ),
    "sigkill-by-pid": Fault(
        die="no", then="kill -9 $(systemctl show -P MainPID $U 2>/dev/null || systemctl show --value -p MainPID $U)", causes=("signal-death",), kind=("signal",), signal="SIGKILL", by=("unknown",),
    ),
    # systemd calls it a clean end and forgets it: only "Deactivated successfully" without "Stopping" is left
    "sigterm-outside": Fault(
        die="no", then="kill -TERM $(systemctl show --value -p MainPID $U)", settles=("inactive",), causes=("operator-stop",), health=STOPPED, kind=("stopped", "exit", "signal", "unknown"),
        by=("unknown", "operator", "itself"), code=0,
    ),
    "child-segv-parent-kill": Fault(
        die="child-segv", service="LimitCORE=0", causes=("signal-death",), kind=("signal",), signal="SIGKILL", by=("itself", "a child"),
    ),
    "child-segv-parent-kill-core": Fault(
        die="child-segv", service="WorkingDirectory=/tmp\nLimitCORE=infinity", causes=("signal-death",), kind=("signal",), signal="SIGKILL", by=("itself", "a child"),
    ),
    "child-sigkill-parent-quit": Fault(die="child-killed", service="LimitCORE=0", causes=("signal-death",), kind=("signal",), signal="SIGQUIT", by=("itself", "a child", "unknown")),
    "exit-137-shell": Fault(
        exec_=_sh(f'echo "launching under a shell"; {SERVER} --model-path /m --port 30901 --die sig9 --after 1 --load 1; exit $?'),
        causes=("signal-death", "exit-code-death"), kind=("exit", "signal"), status=137,
    ),
    "log-to-file": Fault(
        die="abort", service="StandardOutput=append:/var/log/sglang.out\nStandardError=append:/var/log/sglang.err\nLimitCORE=0", causes=("signal-death",), kind=("signal",), signal="SIGABRT",
    ),
    "template": Fault(die="abort", unit="sglang@0.service", description="SGLang server on GPU %i", service="LimitCORE=0", causes=("cuda-fault",), kind=("signal",), signal="SIGABRT"),
    # ---- left with a status
    "exit1-traceback": Fault(die="traceback", causes=("cuda-fault",), kind=("exit",), by=("itself",), status=1, phase=("serving", "ready")),
    "exit2-argparse": Fault(exec_=f"{SERVER} --model-path /m --tensor-paralel 8", causes=("bad-arguments",), kind=("exit",), by=("itself",), status=2),
    "exit-255": Fault(die="exit255", causes=("exit-code-death",), kind=("exit",), by=("itself",), status=255),
    "enabled-then-failed": Fault(die="exit3", causes=("exit-code-death",), kind=("exit",), by=("itself",), status=3),
    "disabled-then-failed": Fault(die="exit3", causes=("exit-code-death",), kind=("exit",), by=("itself",), status=3),
    "template-odd-name": Fault(die="exit4", unit="sglang@llama\\x2d3.1\\x2d8b.service", causes=("exit-code-death",), kind=("exit",), by=("itself",), status=4),
    "dropin": Fault(die="exit5", causes=("exit-code-death",), kind=("exit",), by=("itself",), status=5),
    # its lines play systemd's, with a SIGKILL and a boot that never were
    "dirty-log": Fault(exec_="/opt/sglang/bin/dirty.py", causes=("exit-code-death",), kind=("exit",), by=("itself",), status=3),
    "rate-limited-log": Fault(
        exec_=_sh('i=0; while [ $i -lt 600 ]; do echo "[fake] decode batch $i"; i=$((i+1)); done; sleep 2; echo last words; exit 7'),
        service="LogRateLimitIntervalSec=30s\nLogRateLimitBurst=60", causes=("exit-code-death",), kind=("exit",), by=("itself",), status=7,
    ),
    "unit-changed-on-disk": Fault(die="traceback", causes=("cuda-fault",), kind=("exit",), status=1),
    "address-in-use": Fault(die="no", port=30500, load=8, causes=("port-in-use",), kind=("exit",), by=("itself",), status=1),
    # ---- systemd did not or could not start it
    "exit-203-exec": Fault(exec_="/opt/sglang/bin/no-such-python -m sglang.launch_server", causes=("exec-failure",), kind=("exit",), by=_BEFORE, status=203),
    "exit-203-noexec-perm": Fault(exec_="/etc/hostname --port 1", causes=("exec-failure",), kind=("exit",), by=_BEFORE, status=203),
    "exit-217-user": Fault(die="no", service="User=sglang-nobody", causes=("exec-failure",), kind=("exit",), by=_BEFORE, status=217),
    "exit-216-group": Fault(die="no", service="Group=no-such-group", causes=("exec-failure",), kind=("exit",), by=_BEFORE, status=216),
    "exit-200-chdir": Fault(die="no", service="WorkingDirectory=/srv/models/none", causes=("exec-failure",), kind=("exit",), by=_BEFORE, status=200),
    "exit-226-namespace": Fault(die="no", service="ReadWritePaths=/srv/none", causes=("exec-failure",), kind=("exit",), by=_BEFORE, status=226),
    "exit-209-stdout": Fault(die="no", service="StandardOutput=append:/no/such/dir/log", causes=("exec-failure",), kind=("exit",), by=_BEFORE, status=209),
    "env-file-missing": Fault(die="no", service="EnvironmentFile=/etc/sglang/none.env", causes=("exec-failure",), kind=NEVER),
    "bad-unit": Fault(exec_="launch_server.py --model-path /m", service="Restart=allways\nMemoryMaxx=4G", causes=("exec-failure",), kind=("exit",), by=_BEFORE, status=203),
    "bad-unit-no-exec": Fault(text="[Unit]\nDescription=SGLang server\n[Service]\nType=simple\n", settles=("inactive",), causes=("exec-failure",), health=("failed", "stopped"), kind=NEVER),
    "bad-unit-no-header": Fault(text="ExecStart=/bin/true\n", settles=("inactive",), causes=("exec-failure",), health=("failed", "stopped"), kind=NEVER),
    "masked": Fault(settles=("inactive",), causes=("exec-failure", "operator-stop"), health=STOPPED, kind=NEVER, code=None),
    "condition-unmet": Fault(die="no", section="ConditionPathExists=/dev/nvidia0", settles=("inactive",), says="unmet condition|Condition check resulted", causes=("exec-failure",), health=("stopped", "failed"), kind=NEVER),
    "assert-failed": Fault(die="no", section="AssertPathExists=/dev/nvidia0", settles=("inactive", "failed"), says="Assertion failed", causes=("exec-failure",), health=("stopped", "failed"), kind=NEVER),
    "execstartpre-fails": Fault(
        die="no", service=f"ExecStartPre={_sh('echo checking GPU...; echo no devices were found >&2; exit 9')}", causes=("exec-failure", "gpu-hardware", "bad-environment"), kind=("exit",), status=9,
    ),
    "dependency-failed2": Fault(
        die="no", section="Requires=sglang-execstartpre-fails.service\nAfter=sglang-execstartpre-fails.service", settles=("inactive",), says="Dependency failed", causes=("exec-failure",), health=("stopped", "failed"), kind=NEVER,
    ),
    # nobody logs that a unit that is not there was wanted: only the unit file says it
    "dependency-failed": Fault(
        die="no", section="Requires=sglang-exit-notexist.service\nAfter=sglang-exit-notexist.service", settles=("inactive",), causes=("exec-failure", "unknown", "operator-stop"), health=STOPPED, kind=NEVER, code=None,
    ),
    # ---- time-outs and watchdogs
    "start-timeout": Fault(die="never-ready", service="Type=notify\nTimeoutStartSec=8", causes=("startup-timeout",), kind=("timeout",), by=("systemd",)),
    "forking-pidfile": Fault(
        exec_=_sh("sleep 600 & echo started"), service="Type=forking\nPIDFile=/run/sglang-none.pid\nTimeoutStartSec=5", causes=("startup-timeout",), kind=("timeout",), by=("systemd",),
    ),
    "watchdog": Fault(die="watchdog", service="Type=notify\nWatchdogSec=4\nLimitCORE=0", causes=("watchdog-timeout",), kind=("watchdog",), by=("systemd",), signal="SIGABRT"),
    # it was ready and served: no start-up, no watchdog, no crash of its own
    "runtime-max": Fault(die="no", service="RuntimeMaxSec=8", causes=("signal-death", "operator-stop", "unknown"), kind=("timeout",), by=("systemd",), code=None),
    # ---- again and again
    "start-limit-hit": Fault(
        exec_=_sh("echo [fake] cannot open model; exit 1"), service="Restart=on-failure\nRestartSec=300ms", section="StartLimitIntervalSec=60\nStartLimitBurst=5", restarts=4,
        causes=("restart-loop", "exit-code-death"), kind=("exit",), status=1, also=("restart-loop",),
    ),
    "restart-flapping": Fault(
        die="traceback", after=0.5, load=0.5, service=FLAPS.format(3), section=FOR_EVER, settles=("active", "activating", "failed"), restarts=3,
        causes=("cuda-fault",), health=("failed", "starting", "degraded"), kind=("exit",), status=1, also=("restart-loop",),
    ),
    "restart-flapping-activating": Fault(  # looked at long before the next try
        exec_=_sh("echo [fake] out of memory; exit 1"), service=FLAPS.format(900), section=FOR_EVER, settles=("activating",),
        causes=("restart-loop", "exit-code-death"), health=("failed", "starting", "degraded"), kind=("exit",), status=1,
    ),
    # ---- stopped, or left on its own accord
    "clean-exit": Fault(die="exit0", settles=("inactive",), says=_CLEAN, causes=("operator-stop",), health=STOPPED, kind=("exit", "stopped"), code=0),
    "success-exit-status": Fault(die="exit42", service="SuccessExitStatus=42", settles=("inactive",), says=_CLEAN, causes=("operator-stop",), health=STOPPED, kind=("exit", "stopped"), code=0),
    "stopped-by-operator": Fault(die="no", then="systemctl stop $U", settles=("inactive",), causes=("operator-stop",), health=STOPPED, kind=("stopped",), by=("operator",), code=0),
    "stopped-term-143": Fault(die="term-143", then="systemctl stop $U", causes=("operator-stop",), health=("failed", "stopped"), kind=("stopped", "exit"), status=143, code=0),
    "stop-timeout": Fault(
        die="ignore-term", service="TimeoutStopSec=4", then="systemctl stop --no-block $U", causes=("operator-stop",), health=("failed", "stopped"), kind=("timeout", "stopped", "signal"), signal="SIGKILL",
        by=("systemd", "operator"), code=0,
    ),
    "deactivating": Fault(
        die="ignore-term", service="TimeoutStopSec=900", then="systemctl stop --no-block $U", settles=("deactivating",), causes=("operator-stop",), health=("stopped", "degraded"), kind=("none", "stopped", "unknown"), code=0,
    ),
    # ---- alive
    "starting-notify": Fault(die="never-ready", service="Type=notify\nTimeoutStartSec=900", settles=("activating",), causes=("startup-race", "healthy"), health=STARTING, kind=("none",), code=4),
    "starting-not-listening": Fault(die="loading", settles=("active",), causes=("startup-race", "healthy"), health=STARTING, kind=("none",), phase=("weights",), code=4),
    "active-listening": Fault(die="no", port=30500, load=0.3, settles=("active",), causes=("healthy",), health=HEALTHY, kind=("none",), code=0),
    "long-cmdline": Fault(
        exec_=_sh("sleep 900; :") + " " + " ".join(f"--json-model-override-args-{i}=x" for i in range(60)), settles=("active",), causes=("healthy",), health=HEALTHY, kind=("none",), code=0,
    ),
    # ---- nothing to look at
    "not-started-inactive": Fault(die="no", start=False, settles=("inactive",), causes=("operator-stop", "unknown", "healthy"), health=STOPPED, kind=NEVER, code=None),
    "nonexistent": Fault(start=False, settles=(), causes=("unit-missing",), health=("unknown",), kind=NEVER),
    "near-miss-typo": Fault(
        unit="sglang-active-listenning.service", start=False, settles=(), causes=("mistyped-unit", "healthy"), health=HEALTHY, kind=("none",), code=None, meant="sglang-active-listening.service",
    ),
}  # fmt: skip

# what is put beside the units: a drop-in, an enabled one, a masked one
EXTRA = {
    "etc/systemd/system/sglang-dropin.service.d/10-memory.conf": b"[Service]\nMemoryMax=32G\nEnvironment=CUDA_VISIBLE_DEVICES=0,1\n",
    "etc/systemd/system/sglang-dropin.service.d/override.conf": b"[Service]\nNice=5\n",
}


def unit_of(name: str) -> str:
    """The unit in which a fault is staged."""
    return FAULTS[name].unit or f"sglang-{name}.service"


def _units() -> Iterator[tuple[str, bytes]]:
    port = 30000
    for name, fault in FAULTS.items():
        port += 1
        if fault.text is not None:
            text = fault.text
        elif fault.exec_ or fault.die:
            run = fault.exec_ or (
                f"{SERVER} --model-path /models/llama-3.1-8b --port {fault.port or port} --die {fault.die} --after {fault.after} --load {fault.load}"
            )
            text = (
                f"[Unit]\nDescription={fault.description}\nAfter=network.target\n{fault.section}\n[Service]\nExecStart={run}\n{fault.service}\n"
                "[Install]\nWantedBy=multi-user.target\n"
            )
        else:
            continue
        file = "sglang@.service" if fault.unit.startswith("sglang@0") else unit_of(name)
        yield f"etc/systemd/system/{file}", text.encode()


def _archive() -> bytes:
    kept = io.BytesIO()
    with tarfile.open(fileobj=kept, mode="w") as tar:
        programs = {
            f"opt/sglang/bin/{to}": b"#!/usr/bin/python3\n" + (TESTBED / here).read_bytes()
            for to, here in (("launch_server.py", "fake_sglang.py"), ("dirty.py", "dirty.py"))
        }
        for path, data in {**programs, **EXTRA, **dict(_units())}.items():
            member = tarfile.TarInfo(path)
            member.size, member.mtime = len(data), int(time.time())
            member.mode = 0o755 if path in programs else 0o644
            tar.addfile(member, io.BytesIO(data))
    return kept.getvalue()


def stage(host: Host, *, limit_s: float = 150.0) -> None:
    """Put all units on the host, start them at once, and return when each is where its row wants it."""
    host.sh("tar -C / -xf - && mkdir -p /models/llama-3.1-8b", data=_archive())
    host.sh(
        "ln -sfn /dev/null /etc/systemd/system/sglang-masked.service; systemctl daemon-reload; systemctl -q enable sglang-enabled-then-failed.service"
    )
    host.sh("systemctl start --no-block " + " ".join(f"'{unit_of(n)}'" for n, f in FAULTS.items() if f.start), check=False)
    waiting = {n for n, f in FAULTS.items() if f.settles}
    to_do = {n for n, f in FAULTS.items() if f.then}
    until = time.monotonic() + limit_s
    while waiting:
        assert time.monotonic() < until, f"not where they should be: {sorted(waiting)}"
        time.sleep(0.7)
        states, ready = _look(host)
        now = {n for n in to_do if unit_of(n) in ready}
        _do(host, now)
        to_do -= now
        waiting -= {n for n in waiting - to_do - now if _settled(host, n, states)}
    host.sh("f=/etc/systemd/system/sglang-unit-changed-on-disk.service; echo '# changed' >>$f; touch -d '+1 minute' $f")


def _look(host: Host) -> tuple[dict[str, dict[str, str]], set[str]]:
    """The properties of each unit, and the units whose servers say that they are ready."""
    units = " ".join(f"'{unit_of(n)}'" for n, f in FAULTS.items() if f.settles)
    said = host.sh(f"systemctl show -p Id,ActiveState,SubState,Result,NRestarts,ExecMainPID -- {units}", check=False)
    states = {}
    for block in said.split("\n\n"):
        fields = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        states[fields.get("Id", "")] = fields
    ready = {n for n in FAULTS if FAULTS[n].then and "fired up" in host.journal("-u", unit_of(n))}
    return states, {unit_of(n) for n in ready}


def _do(host: Host, names: set[str]) -> None:
    if names:
        host.sh("\n".join(f"U='{unit_of(n)}'; {FAULTS[n].then}" for n in sorted(names)), check=False)


def _settled(host: Host, name: str, states: dict[str, dict[str, str]]) -> bool:
    fault, state = FAULTS[name], states.get(unit_of(name), {})
    if fault.says and not re.search(fault.says, host.journal("UNIT=" + unit_of(name), "_PID=1")):
        return False
    return state.get("ActiveState", "") in fault.settles and int(state.get("NRestarts") or 0) >= fault.restarts


def stage_all(hosts: list[Host]) -> None:
    """Stage on several hosts side by side: what takes the time is waiting."""
    errors: list[BaseException] = []

    def one(host: Host) -> None:
        try:
            stage(host)
        except BaseException as error:  # noqa: BLE001 - handed on below
            errors.append(error)

    threads = [threading.Thread(target=one, args=(h,)) for h in hosts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]

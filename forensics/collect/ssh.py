"""Reach a host with the system's own ssh: the user's configuration, agent and known hosts hold. Weakens no check, leaves no master."""

from __future__ import annotations

import os
import re
from pathlib import Path

from forensics import lazily
from forensics.collect.session import Limits
from forensics.errors import TargetError
from forensics.model import Target

_NO_SUCH_HOST = "there is no host of that name"
CONFIG_VARIABLE = "DDFORENSICS_SSH_CONFIG"  # an ssh configuration instead of the user's own


def ssh_argv(target: Target, limits: Limits, config: Path | None = None) -> list[str]:
    """The ssh command for a shell that takes its script from standard input."""
    if config is None and os.environ.get(CONFIG_VARIABLE):
        config = Path(os.environ[CONFIG_VARIABLE])
    options = [
        "BatchMode=yes",  # a question for a password would wait for ever
        f"ConnectTimeout={limits.connect_s}",
        "ControlMaster=no",  # a master that is there is used, none is made
        "ClearAllForwardings=yes",
        "PermitLocalCommand=no",
        "RemoteCommand=none",
        "LogLevel=ERROR",
    ]
    argv = ["ssh", "-T", "-a", "-x"]
    if config is not None:
        argv += ["-F", str(config)]
    for option in options:
        argv += ["-o", option]
    return [*argv, "--", target.host or target.name, "exec sh -s"]


_JUMP = "a VPN or a jump host (ProxyJump in ~/.ssh/config) may be missing"

# What ssh says, what it means, and the way out; the first that is found counts.
_MEANINGS: tuple[tuple[str, str, str], ...] = (
    (
        r"REMOTE HOST IDENTIFICATION HAS CHANGED|Host key for .* has changed",
        "its host key is not the one that is known",
        "it was installed anew, or somebody is in between: check the fingerprint, then ssh-keygen -R HOST",
    ),
    (
        r"host key is known for .* requested strict checking|Host key verification failed",
        "its host key is not known here",
        "connect once with ssh by hand and check the fingerprint",
    ),
    (r"Could not resolve hostname|Name or service not known|nodename nor servname", _NO_SUCH_HOST, ""),
    (
        r"Permission denied \(|Too many authentication failures|No more authentication methods",
        "it refuses the login: no key that it accepts",
        "ssh-add -l shows the agent's keys, USER@HOST names another account; a password cannot be asked for",
    ),
    (r"Connection refused", "nothing takes ssh connections there: the connection was refused", "is sshd running, and is it that port?"),
    (r"No route to host|Network is unreachable|Host is down", "it cannot be reached: there is no route to it", _JUMP),
    (r"timed out|Timeout, server", "it cannot be reached: no answer in time", f"is it up? {_JUMP}"),
    (
        r"Connection (?:reset|closed) by|kex_exchange_identification|Broken pipe|closed by remote host",
        "it closed the connection before the login was done",
        "sshd may be overloaded (MaxStartups), stopping, or refuse this address",
    ),
    (r"[Bb]ad (?:SSH2 )?configuration option|Bad owner or permissions|Can't open user config file", "ssh does not like its configuration", ""),
    (r"Identity file .* not accessible|invalid format|error in libcrypto", "the key cannot be used", ""),
)

# sshd with too many logins under way (MaxStartups) hangs up on some of them at random
_BUSY = lazily.pattern(r"Connection (?:reset|closed) by|kex_exchange_identification|closed by remote host")


def busy(said: str) -> bool:
    """Whether a host that turned us away before the login may let us in a moment later."""
    return _BUSY.search(said) is not None


# what ssh says where a connection breaks that stood
_LOST = lazily.pattern(
    r"^(?:Connection to \S+ closed by remote host|client_loop: |Read from remote host |Write failed: |Timeout, server )", re.MULTILINE
)


def explain(target: Target, exit_code: int | None, stderr: str, before: str) -> TargetError:
    """The error for an ssh that ended, or was ended, without one answer."""
    name = target.host or target.name
    said = _last_line(stderr)
    no_file = "" if target.name.startswith("ssh:") else f"and no file of the name {target.name!r} exists here"
    if exit_code is not None and (exit_code < 0 or _LOST.search(stderr)):
        how = f"ssh was ended by signal {-exit_code}" if exit_code < 0 else next(line.strip() for line in stderr.splitlines() if _LOST.search(line))
        return TargetError(f"the connection was lost before anything was answered ({how}){_there(stderr)}", at=f"ssh {name}")
    for pattern, meaning, way_out in _MEANINGS:
        if re.search(pattern, stderr):
            return TargetError(f"{meaning}: {said}", at=f"ssh {name}", hint=way_out or (no_file if meaning is _NO_SUCH_HOST else "") or None)
    if exit_code is None:
        # ssh itself gives up on a host that does not answer after ConnectTimeout: this one took the connection
        return TargetError(
            f"the login works, but the shell there waits for something (its start-up files?): {before}{_there(stderr)}", at=f"ssh {name}",
            hint=f"a read or a menu in ~/.bashrc must not run without a terminal; try: ssh {name} true </dev/null",
        )  # fmt: skip
    if exit_code == 255:
        return TargetError(f"ssh could not connect: {said or 'it did not say why'}", at=f"ssh {name}", hint=no_file or None)
    said = said or _last_line(before)
    return TargetError(
        f"the login works, but no POSIX shell answered (exit code {exit_code}){': ' + said if said else ''}", at=f"ssh {name}",
        hint="the account may be restricted to one command, or have no shell",
    )  # fmt: skip


def _there(stderr: str) -> str:
    """What else stands on standard error: of the far side, and no reason for anything."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip() and not _LOST.search(line)]
    return f"; the last line on its standard error: {lines[-1]}" if lines else ""


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""

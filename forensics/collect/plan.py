"""What a host is asked, as two visible tuples of questions. Only reads there, and never asks for an environment.

Each script is a fragment for a POSIX ``sh -c`` (where sudo lets only some programs run, functions stand in for them: no ``exec`` of those); it runs with ``LC_ALL=C TZ=UTC``, standard input from /dev/null, an own time limit and
an own size limit.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Protocol

from forensics import lazily
from forensics.collect import hostplan, probe
from forensics.collect.hostplan import MAY_READ, need
from forensics.collect.question import MIB, Question
from forensics.errors import UsageError
from forensics.model import PartKind

JOURNAL_BYTES = 32 * MIB

_UNIT = lazily.pattern(r"[A-Za-z0-9:_.\\@][A-Za-z0-9:_.\\@-]{0,254}")
_SUFFIXES = (".service", ".socket", ".target", ".timer", ".mount", ".automount", ".path", ".slice", ".scope", ".device", ".swap")

UNITS_SHOWN = "Id,LoadState,ActiveState,SubState,Result,NRestarts,MainPID,ExecMainStartTimestamp,ExecStart"
# No Environment: it is where the tokens are. A property that a version does not know is left out by systemctl in silence.
SHOWN = (
    "Id,Names,Description,LoadState,LoadError,ActiveState,SubState,Result,FragmentPath,DropInPaths,UnitFileState,NeedDaemonReload,Type,User,WorkingDirectory,"
    "Restart,RestartUSec,NRestarts,MainPID,ControlPID,ExecMainPID,ExecMainCode,ExecMainStatus,ExecMainStartTimestamp,ExecMainExitTimestamp,"
    "ActiveEnterTimestamp,ActiveExitTimestamp,InactiveEnterTimestamp,InactiveExitTimestamp,StateChangeTimestamp,ConditionResult,ConditionTimestamp,AssertResult,"
    "ExecStart,ExecStartPre,TimeoutStartUSec,TimeoutStopUSec,RuntimeMaxUSec,WatchdogUSec,StartLimitBurst,StartLimitIntervalUSec,KillMode,KillSignal,"
    "MemoryCurrent,MemoryPeak,MemoryMax,MemoryHigh,OOMPolicy,TasksMax,CPUUsageNSec,InvocationID,StatusText,StatusErrno,ControlGroup,Conflicts,ConflictedBy,BindsTo,Requires,PartOf"
)
# What a reader of a unit's journal needs, of the 25 fields an entry has: nearly twice the history in the same bytes.
FIELDS = (
    "MESSAGE,MESSAGE_ID,PRIORITY,SYSLOG_IDENTIFIER,_PID,_UID,_COMM,_HOSTNAME,_TRANSPORT,_LINE_BREAK,_SYSTEMD_UNIT,_SYSTEMD_INVOCATION_ID,"
    "_SOURCE_REALTIME_TIMESTAMP,UNIT,INVOCATION_ID,OBJECT_SYSTEMD_UNIT,UNIT_RESULT,EXIT_CODE,EXIT_STATUS,JOB_TYPE,JOB_RESULT,N_RESTARTS,COMMAND,"
    "COREDUMP_UNIT,COREDUMP_PID,COREDUMP_SIGNAL,COREDUMP_SIGNAL_NAME,COREDUMP_EXE,CPU_USAGE_NSEC,MEMORY_PEAK"
)


class Asks(Protocol):
    """A path to ask of a port on the host (``ruleset``'s Endpoint is one)."""

    @property
    def path(self) -> str: ...

    @property
    def limit_s(self) -> float: ...


def unit_name(word: str) -> str:
    """The unit's full name (``.service`` is added where there is no suffix); UsageError for a name that systemd could not have."""
    if not _UNIT.fullmatch(word):
        raise UsageError(f"{word!r} is no name of a unit", hint="letters, digits and : _ . \\ @ -, not a dash first; no patterns")
    return word if word.endswith(_SUFFIXES) else word + ".service"


def overview(unit: str | None = None) -> tuple[Question, ...]:
    """The first round: the clock, and the services with their states and command lines (and ``unit``'s, whether loaded or not)."""
    asked = shlex.quote(unit_name(unit)) if unit else ""
    # Names of what is not loaded cost 0.3 s, and are only wanted to find the near name of one that does not exist.
    names = (
        f'case "$(systemctl show -p LoadState -- {asked})" in *not-found*)\n'
        "echo; systemctl list-unit-files --type=service --no-legend --no-pager;; esac\n"
    )
    return (
        Question(name="clock", part=PartKind.CLOCK, argv="date +%s.%N", limit_s=5, max_bytes=8192, script=_CLOCK,
                 files=("clock.txt", "sos_commands/date/date*")),
        Question(
            name="units", part=PartKind.UNITS, argv="systemctl list-units --all --type=service", limit_s=15, max_bytes=4 * MIB,
            script=(
                f"{need('systemctl')}\n"
                "systemctl list-units --all --type=service --no-legend --plain --no-pager; r=$?\n"
                f"{names if asked else ''}{_STOPPED}"
                f"set -f; echo; systemctl show --no-pager -p {UNITS_SHOWN} -- {asked} $n '*.service'\n"
                "exit $r"
            ),
            files=("units*.txt", "list-units*.txt", "sos_commands/systemd/systemctl_list-units*", "sos_commands/systemd/systemctl_show_service*"),
        ),
    )  # fmt: skip


def unit(
    name: str | None,
    *,
    ports: Sequence[int] = (),
    endpoints: Sequence[Asks] = (),
    since: float | None = None,
    journal_bytes: int = JOURNAL_BYTES,
) -> tuple[Question, ...]:
    """The second round: all about one unit, or only about the host where ``name`` is None. ``since`` is epoch seconds."""
    after = f" --since=@{int(since)}" if since is not None else ""
    mine = (*_of_unit(unit_name(name), after, journal_bytes), *hostplan.of_unit(unit_name(name))) if name else ()
    return (*mine, *_of_host(after, ports, endpoints))


def _of_unit(name: str, after: str, journal_bytes: int) -> tuple[Question, ...]:
    u = shlex.quote(name)
    systemctl = need("systemctl")
    return (
        Question(name="is-active", part=PartKind.IS_ACTIVE, argv=f"systemctl is-active {u}", limit_s=5, max_bytes=4096,
                 script=f"{systemctl}\nexec systemctl is-active -- {u}",
                 files=("is-active*", "is_active*", "isactive*")),
        Question(name="status", part=PartKind.STATUS, argv=f"systemctl status -n 10 --no-pager -l {u}", limit_s=10, max_bytes=MIB,
                 script=f"{systemctl}\nexec systemctl status -n 10 --no-pager -l -- {u}",
                 files=("status*.txt", "status", "systemctl-status*", "systemctl_status*")),
        Question(name="show", part=PartKind.SHOW, argv=f"systemctl show {u}", limit_s=5, max_bytes=MIB,
                 script=f"{systemctl}\nexec systemctl show --no-pager -p {SHOWN} -- {u}",
                 files=("show*.txt", "show", "systemctl-show*", "systemctl_show*")),
        Question(name="unit-file", part=PartKind.UNIT_FILE, argv=f"systemctl cat {u}", limit_s=5, max_bytes=MIB,
                 script=f"{systemctl}\nexec systemctl cat --no-pager -- {u}",
                 files=("*.service", "unit-file*.txt", "unit.txt", "systemctl-cat*", "systemctl_cat*", "etc/systemd/system/*.service.d/*.conf")),
        Question(name="journal", part=PartKind.JOURNAL_EXPORT, argv=f"journalctl -u {u} -o export -r{after}",
                 limit_s=20, max_bytes=journal_bytes, newest_first=True, lane="journal", pack=True, sudo=True,
                 script=(
                     f"{need('journalctl')}\n{MAY_READ}\n"
                     f"f=; case \"$(journalctl --help 2>/dev/null)\" in *--output-fields*) f=--output-fields={FIELDS};; esac\n"
                     f"journalctl -u {u} -o export --no-pager -r{after} $f"
                 ),
                 files=("journal*.txt", "journal*.log", "journal*.json", "journal*.export", "journal", "journalctl*", "*.journal", "syslog*", "messages*",
                        "sos_commands/*/journalctl_--no-pager*", "var/log/syslog*", "var/log/messages*")),
        Question(name="lives", part=PartKind.JOURNAL_EXPORT, argv=f"journalctl -u {u} _PID=1 -o export{after}", limit_s=8, max_bytes=4 * MIB,
                 completes="journal", lane="journal", pack=True, sudo=True,
                 script=f"{need('journalctl')}\nu={u} after={after.strip() or chr(39) * 2} fields={FIELDS}\n{_LIVES}"),
    )  # fmt: skip


def _of_host(after: str, ports: Sequence[int], endpoints: Sequence[Asks]) -> tuple[Question, ...]:
    return (
        Question(name="kernel", part=PartKind.KERNEL, argv=f"journalctl _TRANSPORT=kernel -o short-iso-precise -n 20000{after}",
                 limit_s=15, max_bytes=4 * MIB, keep_end=True, lane="kernel", pack=True, sudo=True,
                 script=(
                     # -k would be this boot only, and a kernel that went down is in the one before
                     "if command -v journalctl >/dev/null 2>&1 && journalctl _TRANSPORT=kernel -n 1 -q -o cat --no-pager 2>/dev/null | grep -q .\n"
                     f"then {MAY_READ}; journalctl _TRANSPORT=kernel -o short-iso-precise --no-pager -n 20000{after}\n"
                     "else exec dmesg -T; fi"
                 ),
                 files=("kernel*.txt", "kernel*.log", "kern.log*", "dmesg*", "sos_commands/kernel/dmesg*", "var/log/kern.log*", "var/log/dmesg*",
                        "nvidia-bug-report*.log*")),
        Question(name="boots", part=PartKind.BOOTS, argv="journalctl --list-boots", limit_s=8, max_bytes=65536, keep_end=True, lane="kernel", sudo=True,
                 script=f"{need('journalctl')}\njournalctl --list-boots --no-pager",
                 files=("boots*.txt", "list-boots*.txt", "journalctl_--list-boots*", "sos_commands/*/journalctl_--list-boots*")),
        Question(name="sockets", part=PartKind.SOCKETS, argv="ss -ltnp", limit_s=5, max_bytes=MIB, lane="host", sudo=True,
                 script=(
                     "if command -v ss >/dev/null 2>&1; then exec ss -ltnp\n"
                     "elif command -v netstat >/dev/null 2>&1; then exec netstat -ltnp\n"
                     "else exec cat /proc/net/tcp /proc/net/tcp6; fi"
                 ),
                 files=("ss.txt", "ss_*", "ss-*.txt", "sockets*.txt", "netstat*", "sos_commands/networking/ss_-peaonmi*", "sos_commands/networking/netstat*")),
        *probe.health([(port, e.path, e.limit_s) for e in endpoints for port in ports]),
        *hostplan.of_host(),
        hostplan.gpu(),
    )  # fmt: skip


# systemd forgets a unit that was stopped and is not enabled; the machine's own ones are asked for by name.
_STOPPED = """\
n=; for f in /etc/systemd/system/*.service /run/systemd/system/*.service; do
  [ -f "$f" ] || continue
  b=${f##*/}; case $b in -*|*@.service|*[!A-Za-z0-9:_.@-]*) ;; *) n="$n $b";; esac
done
"""

# All that systemd says of a unit, and the first few hundred lines of its last lives: a server that has logged for days has said at
# the very beginning what it was started with. A piece may end within an entry; the line DD_PIECE=1 follows each.
_LIVES = """\
case "$(journalctl --help 2>/dev/null)" in *--output-fields*) ;; *) exit 0;; esac
j="journalctl --no-pager -q -o export $after"
$j -u "$u" _PID=1 -n 1000 --output-fields=$fields; echo; echo DD_PIECE=1; echo
for i in $($j -u "$u" _PID=1 -n 1000 --output-fields=INVOCATION_ID | sed -n 's/^INVOCATION_ID=//p' | uniq | tail -n 4); do
  $j _SYSTEMD_INVOCATION_ID="$i" --output-fields=$fields 2>/dev/null | head -n 8000; echo; echo DD_PIECE=1; echo
done
exit 0"""

_CLOCK = """\
date +%s.%N
read -r u rest </proc/uptime && echo "uptime_s=$u"
read -r b </proc/sys/kernel/random/boot_id && echo "boot_id=$b"
echo "hostname=$(uname -n)"
echo "kernel=$(uname -r)"
echo "uid=$(id -u)"
echo "groups=$(id -Gn)"
echo "systemd=$(systemctl --version 2>/dev/null | { read -r l; echo "$l"; })"
[ -z "${DD_SUDO-}" ] || echo "sudo=$DD_SUDO"
exit 0"""

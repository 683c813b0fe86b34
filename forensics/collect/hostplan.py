"""What a host is asked about itself: processes, memory, disks, clock, packages, cores, how earlier boots ended, the GPUs, and a unit's files and control group.

Each answer is cheap (a few files of /proc, a few processes) and bounded. Nothing here talks over D-Bus to what it could start (``timedatectl`` and its
kin do), and nothing is asked of a file system that hangs when its server is away.
"""

from __future__ import annotations

import shlex

from forensics.collect.question import Question
from forensics.model import PartKind

KIB = 1024


def need(program: str) -> str:
    """The head of a script that cannot do without a program."""
    return f"command -v {program} >/dev/null 2>&1 || {{ echo '{program}: not found' >&2; exit 127; }}"


# An account without rights gets an empty export, an empty stderr and exit code 0; only the text format says why.
MAY_READ = "journalctl -n 1 --no-pager >/dev/null </dev/null"


def of_unit(name: str) -> tuple[Question, ...]:
    """What the host knows of one unit beside its state: its files, its control group, its cores."""
    u = shlex.quote(name)
    return (
        Question(name="unit-now", part=PartKind.UNIT_NOW, argv=f"stat the files of {u}; cat memory.* of its control group", limit_s=5, max_bytes=64 * KIB,
                 script=f"{need('systemctl')}\nu={u}\n{_UNIT_NOW}", files=("unit-now*.txt",)),
        Question(name="coredumps", part=PartKind.COREDUMPS, argv=f"coredumpctl -1 info COREDUMP_UNIT={u}", limit_s=6, max_bytes=64 * KIB,
                 lane="journal", sudo=True, script=f"u={u}\n{_COREDUMPS}", files=("*coredumpctl*",)),
    )  # fmt: skip


def of_host() -> tuple[Question, ...]:
    """What it knows of itself."""
    return (
        Question(name="boot-ends", part=PartKind.BOOT_ENDS, argv="journalctl -b -1 -n 15 -o short-iso-precise", limit_s=8, max_bytes=64 * KIB,
                 lane="kernel", sudo=True, script=f"{need('journalctl')}\n{MAY_READ}\n{_BOOT_ENDS}", files=("boot-ends*.txt",)),
        Question(name="processes", part=PartKind.PROCESSES, argv="ps -eo pid,ppid,stat,etimes,rss,user,unit,args --sort=-rss", limit_s=5,
                 max_bytes=512 * KIB, lane="host", sudo=True, pack=True, script=f"{need('ps')}\n{_PROCESSES}",
                 files=("ps", "ps.txt", "ps_*", "ps-*", "process*list*.txt", "processes*.txt", "sos_commands/process/ps_*")),
        Question(name="machine", part=PartKind.MACHINE, argv="cat /proc/meminfo /proc/pressure/*", limit_s=5, max_bytes=64 * KIB, lane="host", script=_MACHINE,
                 files=("meminfo*", "proc/meminfo", "free", "free.txt", "free_*", "free-*", "sos_commands/memory/free*", "*chronyc*tracking*")),
        Question(name="disks", part=PartKind.DISKS, argv="df -Pkl; df -Pil", limit_s=5, max_bytes=128 * KIB, lane="disk", script=_DISKS,
                 files=("df", "df.txt", "df_*", "df-*", "sos_commands/filesys/df_*")),
        Question(name="packages", part=PartKind.PACKAGES, argv="tail /var/log/dpkg.log", limit_s=5, max_bytes=128 * KIB, lane="host", keep_end=True,
                 script=_PACKAGES, files=("dpkg.log*", "var/log/dpkg.log*", "dnf.rpm.log*", "yum.log*", "pacman.log*", "zypp/history*")),
    )  # fmt: skip


def gpu() -> Question:
    """The cards and who is on them: a driver in trouble never lets it return."""
    return Question(
        name="gpu", part=PartKind.GPU, argv="nvidia-smi --query-gpu=… --format=csv", limit_s=8, max_bytes=262144, lane="gpu",
        script=f"{need('nvidia-smi')}\n{_GPU}", files=("gpu*.txt", "nvidia-smi*", "nvidia_smi*", "sos_commands/*/nvidia-smi*"),
    )  # fmt: skip


# A unit that does not run has no control group any more; what systemd remembers of it is in show.
_UNIT_NOW = """\
set -f
systemctl show --no-pager -p FragmentPath,SourcePath,DropInPaths,ControlGroup -- "$u" | {
  f= c=
  while IFS='=' read -r k v; do
    case $k in FragmentPath|SourcePath|DropInPaths) f="$f $v";; ControlGroup) c=$v;; esac
  done
  case $f in */*) stat -c 'file=%Y %n' -- $f;; esac
  case $c in ''|/) exit 0;; esac
  echo "cgroup=$c"
  for d in "/sys/fs/cgroup$c" "/sys/fs/cgroup/memory$c"; do
    for n in memory.max memory.high memory.peak memory.current memory.swap.current memory.limit_in_bytes memory.max_usage_in_bytes memory.usage_in_bytes; do
      [ -r "$d/$n" ] && read -r v <"$d/$n" && echo "$n=$v"
    done
    for n in memory.events memory.oom_control; do
      [ -r "$d/$n" ] && while read -r k v; do echo "$n.$k=$v"; done <"$d/$n"
    done
  done
  exit 0
}"""

_COREDUMPS = """\
command -v coredumpctl >/dev/null 2>&1 || { echo 'coredumpctl: not found'; exit 0; }
journalctl -n 1 --no-pager >/dev/null </dev/null
coredumpctl --no-pager -r list "COREDUMP_UNIT=$u" 2>/dev/null </dev/null | head -n 12
echo
coredumpctl --no-pager -1 info "COREDUMP_UNIT=$u" 2>/dev/null </dev/null
exit 0"""

# Only PID 1, journald and the kernel: a service can log that the machine goes down.
_BOOT_ENDS = """\
for b in -1 -2; do
  echo "== boot $b"
  journalctl -b "$b" _PID=1 + _TRANSPORT=kernel + _COMM=systemd-journal -n 15 -o short-iso-precise --no-pager -q 2>/dev/null </dev/null || break
done
exit 0"""

# Kernel threads have no memory of their own; they count where they stand in D.
_PROCESSES = """\
w='NR == 1 || $5 != 0 || $3 ~ /^[DZ]/ { $1 = $1; print substr($0, 1, 480) }'
for o in pid,ppid,stat,etimes,rss,user:20,unit:120,args pid,ppid,stat,etimes,rss,user:20,cgroup:250,args; do
  ps -o "${o%,args}" -p $$ >/dev/null 2>&1 || continue
  ps -eo "$o" --sort=-rss | awk "$w"
  exit 0
done
ps -o pid,ppid,stat,rss,user,args 2>/dev/null | awk '{ $1 = $1; print substr($0, 1, 480) }'
exit 0"""

_MACHINE = """\
grep -E '^(MemTotal|MemFree|MemAvailable|SwapTotal|SwapFree|Shmem|Committed_AS|CommitLimit|HugePages_Total|Hugepagesize):' /proc/meminfo
for n in memory cpu io; do
  [ -r /proc/pressure/$n ] && while read -r l; do echo "pressure.$n $l"; done 2>/dev/null </proc/pressure/$n
done
read -r l </proc/loadavg && echo "loadavg=$l"
z=$(readlink /etc/localtime) && echo "zone=${z##*zoneinfo/}"
[ -r /proc/driver/nvidia/version ] && read -r l </proc/driver/nvidia/version && echo "$l"
if [ -e /run/chrony/chronyd.pid ] || [ -e /run/chronyd.pid ]; then
  echo synchronised_by=chrony
  chronyc -n tracking 2>/dev/null </dev/null | grep -E '^(Reference ID|Stratum|System time|Leap status)'
elif [ -e /run/systemd/timesync/synchronized ]; then echo synchronised_by=systemd-timesyncd; echo synchronised=yes
elif [ -d /run/systemd/timesync ]; then echo synchronised_by=systemd-timesyncd; echo synchronised=no
fi
exit 0"""

# -l: what a dead server holds is not asked. A helper's own file system (fuse) counts as local, and may hang as well.
_DISKS = """\
x=; for t in fuse.sshfs fuse.s3fs fuse.gcsfuse fuse.juicefs fuse.rclone fuse.mount-s3 fuse.glusterfs fuse.ceph-fuse ceph lustre beegfs wekafs gpfs 9p squashfs; do x="$x -x $t"; done
if df -Pkl / >/dev/null 2>&1 </dev/null; then df -Pkl $x; echo; df -Pil $x
else
  m=$(awk '$3 ~ /^(ext[234]|xfs|btrfs|zfs|f2fs|vfat|tmpfs)$/ && $2 !~ /\\\\/ { print $2 }' /proc/mounts)
  df -Pk $m
fi
echo
awk '$3 ~ /^(nfs|nfs4|cifs|smb3|ceph|lustre|beegfs|wekafs|gpfs|9p|fuse\\.[a-z0-9-]+)$/ { print "remote=" $3 " " $2 }' /proc/mounts
exit 0"""

# dpkg writes the host's own wall clock without a zone; the others are told apart by their form.
_PACKAGES = """\
echo "zone=$(unset TZ; date +%z)"
for f in /var/log/dpkg.log.1 /var/log/dpkg.log; do
  [ -r $f ] && tail -c 2000000 $f | grep -E '^[0-9-]{10} [0-9:]{8} (install|upgrade|remove) ' | tail -n 300
done
for f in /var/log/dnf.rpm.log /var/log/yum.log; do [ -r $f ] && tail -c 1000000 $f | grep -E ' (Installed|Upgraded|Upgrade|Erase|Erased|Updated): ' | tail -n 300; done
[ -r /var/log/pacman.log ] && tail -c 1000000 /var/log/pacman.log | grep -F '[ALPM] ' | grep -E '(installed|upgraded|removed) ' | tail -n 300
[ -r /var/log/zypp/history ] && tail -c 1000000 /var/log/zypp/history | grep -E '^[0-9: -]{19}\\|(install|remove ?)\\|' | cut -c 1-200 | tail -n 300
exit 0"""

_GPU = """\
exec 2>&1
g=index,uuid,name,driver_version,memory.total,memory.used,memory.free,utilization.gpu,temperature.gpu,ecc.errors.uncorrected.volatile.total
more=,retired_pages.pending
a=$(nvidia-smi --query-gpu=$g$more --format=csv); r=$?
# a driver that does not know one of the names says nothing else
case $a in *'is not a valid field'*) nvidia-smi --query-gpu=$g --format=csv; r=$?;; *) printf '%s\\n' "$a";; esac
echo
nvidia-smi --query-compute-apps=gpu_uuid,pid,process_name,used_memory --format=csv
echo
nvidia-smi --version 2>/dev/null | grep -i '^cuda'
exit $r"""

#!/bin/bash
# up.sh [-s SUITE] [-n COUNT] -p FIRST_PORT -N PREFIX : starts COUNT real systemd hosts (default 1), each with its own PID 1, journald,
# sshd, network namespace, cgroup and writable overlay, reachable at 127.0.0.1:PORT. Installs nothing (install.sh does).
# TB_STATE: a folder of its own for keys and run state (made by the caller, cleared by down.sh); TB_CACHE: where root trees are kept.
# Writes TB_STATE/ssh_config with one Host a name. Needs root. Needs no systemd on this machine.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${TB_STATE:?}" "${TB_CACHE:?}"
export TB_STATE TB_CACHE TB_GROUP=${TB_GROUP:-$(basename "$TB_STATE")}
suite=bookworm count=1 port0='' prefix=''
while getopts s:n:p:N: o; do case $o in s) suite=$OPTARG;; n) count=$OPTARG;; p) port0=$OPTARG;; N) prefix=$OPTARG;; *) exit 2;; esac; done
[ -n "$port0" ] && [ -n "$prefix" ] || { echo "up.sh: -p and -N are needed" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "up.sh: must be root" >&2; exit 1; }
for p in systemd-nspawn ip ssh ssh-keygen python3; do command -v $p >/dev/null || { echo "up.sh: $p is missing (install.sh installs it)" >&2; exit 1; }; done
mkdir -p "$TB_CACHE"; chmod 755 "$TB_STATE"
exec 9>"$TB_CACHE/.lock"; flock 9                        # two runs at once build one tree
root=$TB_CACHE/$suite
if [ "$(cat "$root/.testbed-ready" 2>/dev/null)" != "$(md5sum <"$here/build-root.sh")" ]; then
  command -v mmdebstrap >/dev/null || { echo "up.sh: mmdebstrap is missing (install.sh installs it)" >&2; exit 1; }
  "$here/build-root.sh" "$suite" "$root" >"$TB_STATE/build.log" 2>&1 9>&- || { tail -20 "$TB_STATE/build.log" >&2; exit 1; }
fi
flock -u 9
key=$TB_STATE/id_ed25519
[ -e "$key" ] || ssh-keygen -q -t ed25519 -N '' -C testbed -f "$key"
started() { awk '{sub(/^.*\) /,""); if ($1 != "Z") print $20}' "/proc/$1/stat" 2>/dev/null; }       # its start time tells a pid from a re-used one
alive() { [ -s "$1/pid" ] && read -r p t <"$1/pid" && [ "$(started "$p")" = "$t" ]; }

for ((i = 0; i < count; i++)); do
  n=$prefix$((i + 1)) d=$TB_STATE/$prefix$((i + 1)) port=$((port0 + i))
  alive "$d" && continue
  mkdir -p "$d"/{upper,work,root}
  mountpoint -q "$d/root" || mount -t overlay overlay -o "lowerdir=$root,upperdir=$d/upper,workdir=$d/work" "$d/root"
  md5sum <<<"$n-$RANDOM$RANDOM$(date +%N)" | cut -c1-32 >"$d/root/etc/machine-id"
  echo "$n" >"$d/root/etc/hostname"; printf '127.0.0.1 localhost %s\n::1 localhost\n' "$n" >"$d/root/etc/hosts"
  ssh-keygen -q -t ed25519 -N '' -C "$n" -f "$d/root/etc/ssh/ssh_host_ed25519_key"
  for u in root ops nolog noshell deploy withtcsh withzsh withdash withash; do
    h=/home/$u; [ $u = root ] && h=/root
    chroot "$d/root" id $u >/dev/null 2>&1 || continue
    mkdir -p "$d/root$h/.ssh"; cp "$key.pub" "$d/root$h/.ssh/authorized_keys"; chmod 700 "$d/root$h/.ssh"
    chroot "$d/root" chown -R "$u:" "$h/.ssh"
  done
  ip netns add "$n"; ip -n "$n" link set lo up
  setsid "$here/run-host.sh" "$n" "$d" </dev/null >"$d/console.log" 2>&1 9>&- & p=$!
  for ((k = 0; k < 50; k++)); do [ -n "$(started $p)" ] && break; sleep 0.02; done
  echo "$p $(started $p)" >"$d/pid"; echo "$port" >"$d/port"; disown $p
done
# one forwarder for all hosts of this state folder
for d in "$TB_STATE"/*/; do [ -e "$d/port" ] && alive "$d" && echo "$(<"$d/port") /run/netns/$(basename "$d")"; done | sort -u >"$TB_STATE/map"; rm -f "$TB_STATE/map.ready"
if [ -s "$TB_STATE/forward.pid" ] && read -r p t <"$TB_STATE/forward.pid" && [ "$(started "$p")" = "$t" ]; then kill -HUP "$p"
else setsid python3 "$here/forward.py" "$TB_STATE/map" </dev/null >"$TB_STATE/forward.log" 2>&1 9>&- & p=$!; sleep 0.05; echo "$p $(started $p)" >"$TB_STATE/forward.pid"; disown $p; fi
for ((k = 0; k < 100; k++)); do [ -e "$TB_STATE/map.ready" ] && break; sleep 0.1; done
for d in "$TB_STATE"/*/; do
  [ -e "$d/port" ] || continue
  echo "[127.0.0.1]:$(<"$d/port") $(cut -d' ' -f1,2 "$d/root/etc/ssh/ssh_host_ed25519_key.pub")" >>"$TB_STATE/known_hosts.new"
  printf 'Host %s\n  HostName 127.0.0.1\n  Port %s\n  User root\n  IdentityFile %s\n  IdentitiesOnly yes\n  UserKnownHostsFile %s\n' \
    "$(basename "$d")" "$(<"$d/port")" "$key" "$TB_STATE/known_hosts" >>"$TB_STATE/ssh_config.new"
done
mv "$TB_STATE/known_hosts.new" "$TB_STATE/known_hosts"; mv "$TB_STATE/ssh_config.new" "$TB_STATE/ssh_config"
rc=0
for ((i = 0; i < count; i++)); do
  n=$prefix$((i + 1)) d=$TB_STATE/$prefix$((i + 1)) ok=
  for ((k = 0; k < 120; k++)); do                       # 60 s at most
    alive "$d" || { echo "up.sh: $n died while starting:" >&2; tail -5 "$d/console.log" >&2; break; }
    s=$(ssh -F "$TB_STATE/ssh_config" -o BatchMode=yes -o ConnectTimeout=5 "$n" systemctl is-system-running --wait 2>/dev/null 9>&-) || true
    case $s in running|degraded) ok=$s; break;; esac; sleep 0.5
  done
  [ -n "$ok" ] || { rc=1; echo "up.sh: $n is not up" >&2; continue; }
  echo "name=$n port=$(<"$d/port") init_pid=$(pgrep -P "$(<"$d/nspawn_pid")" | head -1) state=$ok"
done
exit $rc

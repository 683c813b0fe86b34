#!/bin/bash
# down.sh : ends all that up.sh started under TB_STATE, each by its pid, and removes overlays, network namespaces and cgroups.
# TB_STATE itself and the root trees in TB_CACHE stay. Can be called twice, and after an up.sh that failed half-way.
set -uo pipefail
: "${TB_STATE:?}"; group=${TB_GROUP:-$(basename "$TB_STATE")}
[ -d "$TB_STATE" ] || exit 0
cg2=$(awk '$3=="cgroup2"{print $2; exit}' /proc/mounts)
started() { awk '{sub(/^.*\) /,""); if ($1 != "Z") print $20}' "/proc/$1/stat" 2>/dev/null; }
mine() { [ -s "$1" ] && read -r p t <"$1" && [ -n "$t" ] && [ "$(started "$p")" = "$t" ]; }
names=$(cd "$TB_STATE" && for d in */; do [ -d "$d/root" ] && echo "${d%/}"; done)
for n in $names; do mine "$TB_STATE/$n/pid" && kill -TERM "$p"; done              # asks each to power off, all at once
for n in $names; do
  d=$TB_STATE/$n
  for ((k = 0; k < 100; k++)); do mine "$d/pid" || break; sleep 0.1; done         # 10 s
  if mine "$d/pid"; then
    s=$(pgrep -P "$p" | head -1); init=$([ -n "$s" ] && pgrep -P "$s" | head -1)
    for x in $init $s; do kill -KILL "$x" 2>/dev/null; sleep 0.3; done
    mine "$d/pid" && kill -KILL "$p"
  fi
  for c in "$cg2" /sys/fs/cgroup/systemd /sys/fs/cgroup/memory; do
    g=$c/$group/$n; [ -n "$c" ] && [ -d "$g" ] || continue
    [ -e "$g/cgroup.kill" ] && echo 1 >"$g/cgroup.kill"; sleep 0.05
    find "$g" -depth -type d -exec rmdir {} \; 2>/dev/null
  done
  mountpoint -q "$d/root" && { umount "$d/root" 2>/dev/null || umount -l "$d/root"; }
  [ -e "/run/netns/$n" ] && ip netns del "$n"
  rm -rf --one-file-system "/run/systemd/nspawn/propagate/$n" "/run/systemd/nspawn/unix-export/$n" "$d"
done
mine "$TB_STATE/forward.pid" && { kill -TERM "$p"; for ((k = 0; k < 30; k++)); do mine "$TB_STATE/forward.pid" || break; sleep 0.1; done; }
for c in "$cg2" /sys/fs/cgroup/systemd /sys/fs/cgroup/memory; do [ -n "$c" ] && rmdir "$c/$group" 2>/dev/null; done
rm -f "$TB_STATE"/{forward.pid,map,map.ready,id_ed25519,id_ed25519.pub,known_hosts,ssh_config,forward.log,build.log}
exit 0

#!/bin/bash
# run-host.sh NAME DIR : (started by up.sh) keeps one host going. nspawn with --keep-unit leaves with status 133 when the host
# inside reboots, and expects its caller to start it again; any other end is the end. TERM powers the host off.
n=$1 d=$2 stop= c=
group=${TB_GROUP:?}
cg2=$(awk '$3=="cgroup2"{print $2; exit}' /proc/mounts)
trap 'stop=1; [ -n "$c" ] && kill -TERM "$c" 2>/dev/null' TERM
export SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 SYSTEMD_NSPAWN_LOCK=0
while :; do
  # the host goes into a cgroup of its own, this shell stays out of it (cgroup2: no processes in inner nodes)
  ( for g in "$cg2" /sys/fs/cgroup/systemd; do
      [ -n "$g" ] && [ -d "$g" ] && mkdir -p "$g/$group/$n" && echo $BASHPID >"$g/$group/$n/cgroup.procs"
    done
    m=/sys/fs/cgroup/memory/$group/$n        # where memory is a cgroup1 controller: a fake that leaks must not eat the machine
    [ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ] && mkdir -p "$m" && echo "${TB_MEMORY:-2G}" >"$m/memory.limit_in_bytes" && echo $BASHPID >"$m/cgroup.procs"
    exec systemd-nspawn --quiet --boot -D "$d/root" -M "$n" --register=no --keep-unit --kill-signal=SIGRTMIN+3 \
      --network-namespace-path="/run/netns/$n" --resolv-conf=off --timezone=off --link-journal=no --console=pipe ) & c=$!
  echo "$c" >"$d/nspawn_pid"
  wait "$c"; rc=$?
  while kill -0 "$c" 2>/dev/null; do wait "$c"; rc=$?; done
  [ "$rc" = 133 ] && [ -z "$stop" ] || exit "$rc"
done

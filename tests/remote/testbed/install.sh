#!/bin/bash
# install.sh [engine] : installs what the test bed (or the tests against a container engine) needs and this machine lacks (Debian, Ubuntu).
# Called by CI; nothing else in the tests installs anything.
set -euo pipefail
need=()
if [ "${1-}" = engine ]; then
  command -v podman >/dev/null || need+=(podman)
  command -v runc >/dev/null || need+=(runc)
  dpkg -s busybox-static >/dev/null 2>&1 || need+=(busybox-static)    # the test's image is nothing but that
else
command -v systemd-nspawn >/dev/null || need+=(systemd-container)
command -v mmdebstrap >/dev/null || need+=(mmdebstrap)
command -v ip >/dev/null || need+=(iproute2)
command -v ssh >/dev/null || need+=(openssh-client)
command -v strace >/dev/null || need+=(strace)                        # to listen whether a look only reads
[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || need+=(debian-archive-keyring)
fi
[ ${#need[@]} = 0 ] && exit 0
[ "$(id -u)" = 0 ] || { echo "install.sh: must be root to install ${need[*]}" >&2; exit 1; }
apt-get -o DPkg::Lock::Timeout=600 -q update
DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 -qy install --no-install-recommends "${need[@]}"

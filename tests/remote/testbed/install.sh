#!/bin/bash
# install.sh : installs what the test bed needs and this machine lacks (Debian, Ubuntu). Called by CI; nothing else in the tests installs anything.
set -euo pipefail
need=()
command -v systemd-nspawn >/dev/null || need+=(systemd-container)
command -v mmdebstrap >/dev/null || need+=(mmdebstrap)
command -v ip >/dev/null || need+=(iproute2)
command -v ssh >/dev/null || need+=(openssh-client)
command -v strace >/dev/null || need+=(strace)                        # to listen whether a look only reads
[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || need+=(debian-archive-keyring)
[ ${#need[@]} = 0 ] && exit 0
[ "$(id -u)" = 0 ] || { echo "install.sh: must be root to install ${need[*]}" >&2; exit 1; }
apt-get -o DPkg::Lock::Timeout=600 -q update
DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 -qy install --no-install-recommends "${need[@]}"

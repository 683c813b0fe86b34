#!/bin/bash
# build-root.sh SUITE DEST : makes a Debian root tree with systemd, journald and sshd, to be booted many times through an overlay.
# bullseye has systemd 247, bookworm 252, trixie 257. About 40 s and 60 MB of packages. TB_DEBCACHE keeps the packages.
set -euo pipefail
suite=$1 dest=$2 tmp=$2.building.$$
debs=${TB_DEBCACHE:-$(dirname "$dest")/debs}
mkdir -p "$debs"
trap 'rm -rf --one-file-system "$tmp"' EXIT
trap 'exit 130' INT TERM HUP
TMPDIR=$(dirname "$dest") mmdebstrap --variant=minbase --mode=root \
  --aptopt='Acquire::Languages "none"' --aptopt='Acquire::Check-Valid-Until "false"' \
  --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='force-unsafe-io' \
  --skip=essential/unlink --skip=cleanup/apt \
  --setup-hook='mkdir -p "$1/var/cache/apt/archives"' \
  --setup-hook="cp -n $debs/*.deb \"\$1/var/cache/apt/archives/\" 2>/dev/null || true" \
  --customize-hook="cp -n \"\$1\"/var/cache/apt/archives/*.deb $debs/ 2>/dev/null || true" \
  --customize-hook='rm -rf "$1"/var/cache/apt/archives/*.deb "$1"/var/lib/apt/lists/*' \
  --include=systemd-sysv,dbus,openssh-server,python3-minimal,iproute2,procps,tzdata,libpam-systemd,sudo,tcsh,zsh,busybox "$suite" "$tmp" http://deb.debian.org/debian
printf 'LANG=C.UTF-8\n' >"$tmp/etc/default/locale"
rm -f "$tmp/etc/machine-id" "$tmp/var/lib/dbus/machine-id" "$tmp"/etc/ssh/ssh_host_* "$tmp/etc/resolv.conf"
: >"$tmp/etc/machine-id"
: >"$tmp/etc/resolv.conf"
mkdir -p "$tmp/var/log/journal" "$tmp/etc/ssh/sshd_config.d"          # a journal that is kept, as on Ubuntu's servers
for u in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer e2scrub_reap.service systemd-networkd.service \
  systemd-resolved.service systemd-timesyncd.service systemd-tmpfiles-clean.timer getty@tty1.service getty-static.service console-getty.service; do
  ln -sf /dev/null "$tmp/etc/systemd/system/$u"
done
chroot "$tmp" useradd -m -s /bin/bash -G systemd-journal ops          # may read the journal, is not root
chroot "$tmp" useradd -m -s /bin/bash nolog                           # may not
chroot "$tmp" useradd -m -s /usr/sbin/nologin noshell                 # has no shell
chroot "$tmp" useradd -m -s /bin/bash -G sudo deploy                  # root through sudo only
echo 'deploy ALL=(ALL) NOPASSWD: ALL' >"$tmp/etc/sudoers.d/deploy"
chmod 440 "$tmp/etc/sudoers.d/deploy"
mkdir -p "$tmp/usr/local/bin"
ln -s /bin/busybox "$tmp/usr/local/bin/ash"
for s in tcsh zsh dash; do chroot "$tmp" useradd -m -s "/bin/$s" -G systemd-journal "with$s"; done
chroot "$tmp" useradd -m -s /usr/local/bin/ash -G systemd-journal withash                # busybox
printf 'UseDNS no\nPermitRootLogin prohibit-password\nMaxStartups 100:30:200\n' >"$tmp/etc/ssh/sshd_config.d/testbed.conf"
trap - EXIT
rm -rf --one-file-system "$dest"
mv "$tmp" "$dest"
md5sum <"$0" >"$dest/.testbed-ready"                                  # a tree of another recipe is built anew

"""Which names are nobody's: accounts of systems and services, and words that rules and parsers read. Never a name from a capture."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import forensics
from forensics import lazily

# Accounts that a distribution, an image or a package makes: they say nothing of a person.
_USERS = (
    "root nobody nogroup daemon bin sys sync games man lp mail news uucp proxy www-data www backup list irc gnats operator adm shutdown halt ftp sshd dbus "
    "messagebus polkitd rtkit avahi avahi-autoipd colord gdm sddm lightdm geoclue usbmux dnsmasq libvirt-qemu qemu kvm tss uuidd syslog tcpdump landscape "
    "pollinate fwupd-refresh lxd chrony ntp rpc rpcuser nfsnobody statd postfix dovecot mysql mariadb postgres redis mongodb rabbitmq nginx apache httpd tomcat "
    "caddy haproxy envoy etcd docker containerd git gitlab-runner jenkins grafana prometheus node_exporter node-exporter alertmanager influxdb telegraf loki "
    "elasticsearch kibana logstash nvidia-persistenced dcgm slurm munge ubuntu debian centos fedora rocky almalinux cloud-user ec2-user azureuser opc core "
    "vagrant pi admin administrator user users username test guest anonymous none null unknown app service system default lost+found linuxbrew runner "
    "coder jovyan conda sandbox nonroot appuser svc systemd kernel_log somebody you yourname your-user your_user me name masked sudo wheel video render plugdev dialout cdrom audio "
    "staff input netdev lpadmin sambashare ssh crontab kmem tty disk tape floppy fax voice src shadow utmp"
)
SYSTEM_USERS = frozenset(_USERS.split())
_HOSTS = "localhost localhost.localdomain localhost4 localhost6 ip6-localhost ip6-loopback broadcasthost none null unknown host hostname masked str"
SYSTEM_HOSTS = frozenset(_HOSTS.split())
# What parsers read, and first names and host names that are words as well; the words of the rules come to these.
_COMMON = (
    "kernel systemd sudo sshd cron crond python python2 python3 node docker podman kubelet containerd dockerd journal journald unit service server client worker "
    "gpu cpu gpus node nodes master main head login host hosts user users name names mail home data models model logs log tmp opt var run srv mnt etc usr bin lib dev "
    "ai ml llm llms api app apps web www db cache proxy gateway router storage compute cluster test tests prod production staging stage demo lab box machine server "
    "computer desktop laptop workstation rig dgx hgx info warn warning error err debug trace fatal notice crit alert emerg out in to from for by at on off of the and "
    "will mark may art bill grant max rank drew chance major guy rich hope faith grace joy ray rob pat sandy april june august dean page case chase lance miles wade "
    "ward dale glen cliff forest heath brook rose ivy iris jack sun kit don sue gene frank victor sterling hunter mason cooper parker taylor carter porter archer "
    "fisher baker cook smith king young long short white black brown green gray stone field hill rush core prime star moon mars venus apollo zeus atlas titan "
    "active inactive loaded failed process duration tasks memory cgroup status invocation triggers docs entries reboot boot activating exited killed dumped signal "
    "result code pid uid started stopped starting stopping stopped scheduled job restart counter succeeded finished reached target slice scope session"
)
_WORD = lazily.pattern(r"[A-Za-z][A-Za-z0-9_-]+")
_ESCAPES = lazily.pattern(r"\\[A-Za-z]")  # \bkilled
_CASES = lazily.pattern(r"\[([A-Za-z])[A-Za-z]\]")  # [Kk]illed
_SAMPLES = lazily.pattern(r"( *)(?:- )?samples:")


@lru_cache(maxsize=1)
def kept() -> frozenset[str]:
    """Words, in small letters, that a name in running text could be taken for: those that the rules read, and common ones."""
    found: set[str] = set(_COMMON.split())
    for file in sorted((Path(forensics.__file__).parent / "rules").rglob("*.yaml")):
        text = _CASES.sub(r"\1", _ESCAPES.sub(" ", "\n".join(_without_samples(file.read_text(encoding="utf-8")))))
        found.update(_WORD.findall(text.lower()))
    for word in [word for word in found if "-" in word or "_" in word]:
        found.update(part for part in word.replace("-", "_").split("_") if len(part) > 1)
    return frozenset(found)


def _without_samples(text: str) -> list[str]:
    """The lines of a rule file but for its samples: those are logs of somebody, with names in them."""
    lines: list[str] = []
    inside: int | None = None
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip(" "))
        if inside is not None and (depth > inside or not line.strip()):
            continue
        inside = None
        if found := _SAMPLES.match(line):
            inside = len(found[1])
            continue
        lines.append(line.partition("samples: {")[0])
    return lines

"""Tell apart the lines of several hosts in one capture (``journalctl -m``, a syslog server's file, a folder of two machines). Never joins two hosts that one name may not mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from forensics.model import Frame, Hit, Origin
from forensics.parse.unwrap import unit_in

# what a machine calls itself before it knows its name, and collectors that know none
_NO_NAME = frozenset({"", "localhost", "unknown", "-", "none"})
_OF_TROUBLE = (
    "Main process exited",
    "Failed with result",
    "entered failed state",
    "Scheduled restart job",
    "OOM killer",
    "Watchdog timeout",
    "Start request repeated",
)
_TROUBLE, _ABOUT = 1_000, 1_000_000


def name_of(frame: Frame) -> str:
    """The host that a collector wrote before a line, without its domain; empty where it wrote none, or no name."""
    return name_of_host(frame.host)


def name_of_host(written: str) -> str:
    """The same of a name alone."""
    host = written.lower()
    if host.replace(".", "").isdigit() or ":" in host:
        return host  # an address has no domain
    host = host.partition(".")[0]
    return "" if host in _NO_NAME else host


def meant(
    hits: Sequence[Hit], frames: Iterable[Frame], *, asked: Sequence[str | None] = (), about: str | None = None
) -> tuple[str, Mapping[str, int]]:
    """The host that the capture is about, and how many lines that matter each other one has; empty where there are not two of them.

    ``asked`` are names of the host that was looked at; else it is the one on which ``about`` (a unit) is, then the one whose units are in trouble, then the
    one that is heard most.
    """
    lines = Counter(name_of(hit.frame) for hit in hits)
    for frame in frames:
        lines[name_of(frame)] += 0
    names = [name for name in lines if name]
    if len(names) < 2:
        return "", {}
    votes = Counter({name: lines[name] for name in names})
    for hit in hits:
        host, frame = name_of(hit.frame), hit.frame
        if host:
            unit = frame.fields.get("UNIT") or frame.fields.get("_SYSTEMD_UNIT") or unit_in(frame.text) or hit.captures.get("unit", "")
            votes[host] += _ABOUT * bool(about and unit == about)
            votes[host] += _TROUBLE * (frame.origin is Origin.SYSTEMD and any(words in frame.text for words in _OF_TROUBLE))
    known = [short for name in asked if name and (short := name.lower().partition(".")[0]) in votes]
    chosen = known[0] if known else max(names, key=lambda name: (votes[name], name))
    return chosen, {name: lines[name] for name in sorted(names) if name != chosen}


def only(hits: Sequence[Hit], frames: Iterable[Frame], *, asked: Sequence[str | None] = ()) -> str | None:
    """The one host that the lines name, as they write it; else the one that was asked over ssh; None where there is none, or more than one."""
    written = Counter(frame.host for frame in (*(hit.frame for hit in hits), *frames) if name_of(frame))
    if written:
        return written.most_common(1)[0][0] if len({name_of_host(host) for host in written}) == 1 else None
    over_ssh = {host for host in asked if host and name_of_host(host)}
    return over_ssh.pop() if len(over_ssh) == 1 else None


def of_host(frame: Frame, host: str) -> bool:
    """Whether a line is of that host, or of none that is named."""
    return name_of(frame) in ("", host)

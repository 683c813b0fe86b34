"""Know a line of the kernel's log and take its stamp off. Never says what the line means.

Writers: ``dmesg`` plain (seconds since boot), ``-T`` (local wall clock), ``--time-format iso``, ``-x`` (facility and level in front), ``grep -n`` of one of them,
and ``journalctl -k`` or a syslog file, where the journal's own prefix has been taken off already.
"""

from __future__ import annotations

from typing import NamedTuple

from forensics import lazily

_LEVEL = r"(?:<\d{1,3}>|[a-z]{3,8} *: ?[a-z]{3,6} *: )?"
_SINCE_BOOT = r"\[ *(?P<boot>\d{1,9}\.\d{3,6})\] ?"
_WALL = r"\[(?P<wall>[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]?\d \d\d:\d\d:\d\d \d{4})\] ?"
_ISO = r"(?P<iso>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d,\d{6}[+-]\d\d:?\d\d) "
_PREFIX = lazily.pattern(rf"(?:\d{{1,7}}[:-])?{_LEVEL}(?:{_SINCE_BOOT}|{_WALL}|{_ISO})(?:\[ *[TC]\d{{1,7}}\] )?")
# what the kernel's own words look like where the stamp is missing (someone's excerpt)
_BARE = lazily.pattern(r"NVRM: |(?:Memory cgroup out of memory|Out of memory): Killed process \d|oom-kill:constraint=|oom_reaper: reaped process"
                   r"|[\w:./-]{1,16} invoked oom-killer: gfp_mask=|[\w:./-]{1,16}\[\d+\]: segfault at |traps: [\w:./-]{1,16}\[\d+\] |nvidia-nvswitch\d*: |Kernel panic - not syncing")  # fmt: skip


class Stamped(NamedTuple):
    """A kernel line without its prefix; ``since_boot`` are the seconds of plain ``dmesg``, which name no point in time by themselves."""

    stamp: str
    since_boot: str
    text: str


def strip(text: str) -> Stamped | None:
    """Take a ``dmesg`` prefix off, or None where there is none."""
    found = _PREFIX.match(text)
    if found is None:
        return None
    return Stamped(found["wall"] or found["iso"] or "", found["boot"] or "", text[found.end() :])


def looks_kernel(text: str) -> bool:
    """True for a line with a ``dmesg`` prefix, or one without that only the kernel or one of its drivers writes."""
    return bool(_PREFIX.match(text) or _BARE.match(text))

"""Which question a file answers, by where it lies: in a support archive, in somebody's own export. A hint only: what a file says of itself is stronger. Opens nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum
from functools import cache

from forensics import lazily
from forensics.collect import plan
from forensics.model import PartKind

# what no host is asked for, since only its owner knows where it lies
OTHERS: tuple[tuple[PartKind, tuple[str, ...]], ...] = (
    (PartKind.CLIENT, (
        "bench.txt", "bench*.txt", "bench*.log", "client*.txt", "client*.log", "healthcheck*.txt", "healthcheck*.log", "health-check*.log", "load*test*.txt",
    )),
    (PartKind.BENCH_JSON, ("bench*.json", "bench*.jsonl", "result*.json", "result*.jsonl", "*bench*.json", "*bench*.jsonl")),
    (PartKind.SERVER, (
        "server*.log", "server*.txt", "stdout*", "stderr*", "container*.log", "docker*.log", "pod*.log", "var/log/pods/*/*/*.log*", "var/log/containers/*.log",
        "sos_commands/docker/docker_logs*", "sos_commands/podman/podman_logs*", "sos_commands/*/containers/*/*logs*",
    )),
)  # fmt: skip

SUPPORT = "sos_commands"  # a folder that only a support archive of a whole machine has
_PACKED = lazily.pattern(r"\.(?:gz|xz|zst|bz2)\Z")
_OUTPUT = lazily.pattern(r"\.out\Z")  # what some call a command's output, and others .txt
# of a machine's whole tree, as support archives copy it: nothing in there is a log of a service
_TREES = frozenset({
    "proc", "sys", "dev", "boot", "lib", "lib32", "lib64", "usr", "bin", "sbin", "etc", "run", "sos_commands", "sos_logs", "sos_reports", "sos_strings", "node_modules", "site-packages",
    "__pycache__",
})  # fmt: skip
_LOGLIKE = lazily.pattern(
    r"\.(?:log|txt|out|err|journal|export|jsonl?|md)(?:[.-][0-9]{1,8})?(?:\.(?:gz|xz|zst|bz2))?\Z|(?:\A|/)[^/]*(?:log|journal)[^/]*\Z"
)
# what a machine logs that is about no service of ours
_ASIDE = lazily.pattern(
    r"(?:\A|/)(?:installed-(?:debs|rpms)|anaconda|cups|dnf|yum|apt|installer|unattended-upgrades|dist-upgrade|sa|audit|alternatives\.log.*|dpkg\.log.*|auth\.log.*|secure.*)(?:\Z|/)"
)


class Worth(IntEnum):
    """How much a file is worth reading where not all can be read."""

    NAMED = 0
    LIKELY = 1
    OTHER = 2
    NONE = 3


def kind_of(path: str) -> PartKind | None:
    """The kind of answer that a file of this path usually holds; None where the catalogue does not name it."""
    parts = _OUTPUT.sub(".txt", _PACKED.sub("", path.lower())).split("/")
    for depth, pattern, kinds in _patterns():
        if depth <= len(parts) and (found := pattern.fullmatch("/".join(parts[-depth:]))):
            return kinds[(found.lastindex or 1) - 1]
    return None


def worth(path: str) -> Worth:
    """How much a file is worth by its path alone. ``NONE``: of a tree that a whole machine has, and named by no question."""
    kind, low = kind_of(path), path.lower()
    if kind is PartKind.UNIT_FILE and _TREES & set(low.split("/")[:-1]):  # a machine has hundreds; its owner's are in /etc
        return Worth.LIKELY if "etc/systemd/system/" in low else Worth.NONE
    if kind is not None:
        return Worth.NAMED
    if _TREES & set(low.split("/")[:-1]) or _ASIDE.search(low):
        return Worth.NONE
    return Worth.LIKELY if _LOGLIKE.search(low) else Worth.OTHER


def tree(path: str) -> str:
    """The part of a machine that a file lies in: its first two folders at most."""
    return "/".join(path.split("/")[:-1][:2]) or "."


@cache
def _patterns() -> tuple[tuple[int, re.Pattern[str], tuple[PartKind, ...]], ...]:
    """For each number of path components one expression, and the kind behind each of its groups; the deepest first."""
    questions = (*plan.overview(), *plan.unit("x.service"))
    named: Iterable[tuple[PartKind, tuple[str, ...]]] = (*((q.part, q.files) for q in questions), *OTHERS)
    by_depth: dict[int, list[tuple[str, PartKind]]] = {}
    for kind, patterns in named:
        for pattern in patterns:
            by_depth.setdefault(pattern.count("/") + 1, []).append((pattern, kind))
    for rows in by_depth.values():
        rows.sort(key=lambda row: -len(row[0].replace("*", "")))  # the most exact first: journalctl_--list-boots before journalctl*
    return tuple(
        (depth, lazily.pattern("|".join(f"({_regex(pattern)})" for pattern, _ in rows)), tuple(kind for _, kind in rows))
        for depth, rows in sorted(by_depth.items(), reverse=True)
    )


def _regex(pattern: str) -> str:
    """As fnmatch has it, but that a star ends at a slash."""
    return "".join("[^/]*" if c == "*" else "[^/]" if c == "?" else re.escape(c) for c in pattern)

"""Take the wrappers of one line off, layer by layer: the journal's prefix, container and CI prefixes, colours, the kernel's stamp, then the server's own prefix.

Never looks at a second line (what a line inherits is ``frame``'s business) and never names a server: their prefixes come as regular expressions
with the groups ``stamp``, ``rank``, ``pid`` and ``proc``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from forensics import lazily
from forensics.model import Origin, PartKind
from forensics.parse import kernel

# colours, links and titles; APC strings are how Buildkite writes its times
ANSI = lazily.pattern(r"\x1b(?:\[[0-9:;<=>?]*[ -/]*[@-~]|[\]_P^][^\x07\x1b\n]*(?:\x07|\x1b\\)|[ -/]?[0-Z\\^-~])")
ANSI_BYTES = lazily.pattern(ANSI.pattern.encode("ascii"))
_RSYSLOG_ESCAPE = lazily.pattern(r"#033\[[0-9;]*[A-Za-z]")

_SHORT = r"(?:[^\W\d_]{3,6}\.?|\d{1,2}[月월]) +\d{1,2} \d\d:\d\d:\d\d(?:\.\d{1,6})?"
_ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,6})?[+-]\d\d:?\d\d"
_FULL = r"[^\W\d_]{2,4}\.? \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})? [A-Za-z0-9+:-]{1,8}"
# a stamp that lost its day on the way (journalctl -o short, cut): only before a host and an identifier with its pid
_CLOCK = r"\d\d:\d\d:\d\d(?:\.\d{1,6})?(?= [\w.-]{1,128} [\w./@()+-]{1,64}\[\d{1,10}\]: )"
_UNIX = r"\d{9,10}\.\d{6}"
_MONOTONIC = r"\[ *\d{1,9}\.\d{6}(?: (?:< *\d{1,9}\.\d{6} >| +))?\]"  # short-delta has the time since the line above as well
# journalctl --no-hostname leaves the host out: what follows then is the identifier with its pid, or the kernel
_HOST = r"(?:(?!kernel: )([\w.:-]+) (?=\S)|(?=[\w./@()+-]{1,64}\[\d{1,10}\]: |kernel: ))"
_JOURNAL = lazily.pattern(rf"(?:<\d{{1,3}}>)?({_ISO}|{_SHORT}|{_CLOCK}|{_FULL}|{_UNIX}|{_MONOTONIC}) {_HOST}")
_MAX_HEAD = 160
_PIECES = 8  # of either end of a line with carriage returns
_MAX_PID = 10  # digits
SEPARATOR = lazily.pattern(r"-- (?:Boot (?P<boot>[0-9a-f]{32})|Reboot|No entries|(?:Journal|Logs) begin\b.*) ?--|-- (?:Journal|Logs) begin")
_IDENT = lazily.pattern(r"[\w./@()+-]{1,64}(?: [\w./@()+-]{1,32})?")

_RFC3339 = lazily.pattern(r"(?P<stamp>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)) (?:std(?:out|err) [FP] )?")
# docker events, podman events, and events of a cluster with their time first
_EVENT = lazily.pattern(
    r"(?P<day>\d{4}-\d\d-\d\d)[T ](?P<time>\d\d:\d\d:\d\d(?:\.\d{1,9})?)(?:(?P<utc>Z)| ?(?P<hours>[+-]\d\d):?(?P<minutes>\d\d))(?: [A-Z+-]\w{1,5})? "
)
_CI_STAMP = lazily.pattern(r"\[(?P<stamp>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z)\] ?")
_BUILDKITE = lazily.pattern(r"\x1b_bk;t=(?P<millis>\d{13})\x07")
_CI_STEP = lazily.pattern(r"[^\t\n]{1,100}\t[^\t\n]{1,100}\t\ufeff?(?=\d{4}-\d\d-\d\dT)")  # gh run view --log
_COMPOSE = lazily.pattern(r"(?P<name>[A-Za-z0-9][\w.-]{0,63}) *\| |\s{1,40}\| ")  # a cut one has lost its name
_COMPOSE_END = lazily.pattern(r"(?P<name>[a-z0-9][\w.-]{0,60}-\d{1,3}) exited with code \d{1,3}$")  # its own word, with no bar before it
_POD = lazily.pattern(r"\[pod/(?P<name>[\w./-]{1,200})\] ")
# stern: a pod's name ends as a cluster makes them (its letters make no words), or counts from 0; what follows has to look like a log
_STERN = lazily.pattern(r"(?P<name>[a-z0-9][a-z0-9.-]{0,200}-(?:[bcdfghjklmnpqrstvwxz2456789]{5}|\d{1,4}) [a-z0-9][a-z0-9-]{0,62}) ")
_LIKE_A_LOG = lazily.pattern(
    r"[\[{(<]|\d{4}-\d\d-|(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\b|Traceback \(most|[A-Z]\w{1,60}(?:Error|Exception): |(?:level|time|ts)=|panic: "
)
_FOREMAN = lazily.pattern(r"\d\d:\d\d:\d\d (?P<name>[A-Za-z0-9][\w.-]{0,63}) +\| ")
# only ever behind a stamp: GitLab's stream marks, the labels of logcli, and "app[web.1]: ", "app[3d8d1] fra [info] " of hosting services
_AFTER_STAMP = lazily.pattern(r"[0-9a-f]{2}[OE](?: |\+| ?$)|\{[a-z_]{1,60}=\"[^\"\n]{0,200}\"(?:, ?[a-z_]{1,60}=\"[^\"\n]{0,200}\"){0,30}\} "
                          r"|(?P<name>[a-z]{1,20}\[[\w.-]{1,40}\])(?:: | (?:[a-z]{3} )?\[(?:trace|debug|info|warn|warning|error|fatal)\] ?)")  # fmt: skip
_WRAPPED = frozenset("0123456789[{")  # what a container's or a CI's prefix begins with, but for names before a bar or a tab
_LEVELS = frozenset({"TRACE", "DEBUG", "INFO", "WARN", "WARNING", "ERROR", "CRITICAL", "FATAL"})
# what a child of PID 1 writes before it becomes the program (old versions call it systemd, with its own pid)
_BEFORE_EXEC = lazily.pattern(r"(?:[\w:.\\@-]{1,250}\.(?:service|scope|socket|mount|swap): )?(?:Failed at step |Failed to (?!start|stop|listen|mount|enqueue|reload|connect|activate|kill)|Changing to the requested working directory failed|Unable to locate executable"
                          r"|Executable \S{1,300} missing|[^\n]{0,100}\bspawning\b)")  # fmt: skip
# systemd's own programs; others are called systemd-docker, systemd-cron, …
_OF_SYSTEMD = lazily.pattern(
    r"(?:journald|logind|udevd?|coredump|oomd|networkd(?:-wait-online)?|resolved?|timesyncd|timedated|hostnamed|localed|machined|homed|userdbd|userwork|importd|portabled|sysext|sysupdated?"
    r"|tmpfiles|sysusers|sysctl|modules-load|modprobe|fsck|fsckd|quotacheck|remount-fs|growfs|makefs|repart|random-seed|update-(?:utmp|done)|user-(?:sessions|runtime-dir)|vconsole-setup"
    r"|backlight|rfkill|binfmt|cryptsetup|veritysetup|integritysetup|pstore|bless-boot|boot-check-no-failures|shutdown|sleep|hibernate-resume|halt|reboot|cgroups-agent|executor|nspawn"
    r"|socket-proxyd|stdio-bridge|journal-(?:upload|remote|gatewayd)|inhibit|ask-password|tty-ask-password-agent|initctl|reply-password|volatile-root|battery-check|pcr(?:extend|lock|phase)"
    r"|tpm2-setup|storagetm|mountwork|nsresourced|bootctl|firstboot|machine-id-setup|[a-z-]{1,40}-generator)"
)
# PID 1 on a unit, in journalctl -o cat: no prefix says who wrote it. Only what names the unit is taken for its word at once
_SAYS = r"(?:(?:Main|Control) process exited, code=|Failed with result '|Scheduled restart job, |Deactivated successfully\.|Succeeded\.|Start request repeated too quickly|start operation timed out"\
        r"|State 'stop|Watchdog timeout \(|A process of this unit has been killed by the OOM killer|Killing process \d|Sent signal SIG|Service reached runtime time limit|Consumed \d"\
        r"|Starting requested but asserts failed|Job \S{1,256} failed with result)"  # fmt: skip
_JOB = r"(?:Start(?:ed|ing)|Stopp(?:ed|ing)|Failed to start|(?:Assertion|Dependency) failed for)"
BARE_PID_ONE = lazily.pattern(rf"[A-Za-z0-9:_.\\@-]{{1,250}}\.(?:service|scope): {_SAYS}|{_JOB} [A-Za-z0-9:_.\\@-]{{1,250}}\.(?:service|scope) - ")
BARE_PID_ONE_BYTES = lazily.pattern(rb"(?m)^(?:" + BARE_PID_ONE.pattern.encode("ascii") + rb")")
# 247 and older give the description alone: only where other lines are PID 1's
_BARE_JOB = lazily.pattern(rf"{_JOB} [^\n]{{1,400}}\.$")
_UNIT_HEAD = lazily.pattern(r"(?P<unit>[\w:.\\@-]{1,250}\.(?:service|scope|socket|slice|mount|timer|target))\b")


def pid_of(digits: str) -> int | None:
    """The number of a process, or None: anything may stand in its place, digits without end too."""
    return int(digits) if len(digits) <= _MAX_PID and digits.isascii() and digits.isdecimal() else None


class Opened(NamedTuple):
    """One line without its wrappers. ``outer``: it had a prefix of a collector (journal, container, CI); ``own``: it had the server's."""

    text: str
    origin: Origin
    outer: bool = False
    own: bool = False
    indent: int = 0
    stamp: str = ""
    inner: str = ""
    host: str = ""
    ident: str = ""
    pid: int | None = None
    inner_pid: int | None = None
    rank: str = ""
    trusted: bool = False
    since_boot: str = ""
    boot: str = ""
    order: int = 0  # as of its frame


class _Prefix(NamedTuple):
    """A server's prefix with the numbers of its groups; 0 where it has none of that name."""

    match: Callable[[str], re.Match[str] | None]
    stamp: int
    rank: int
    proc: int
    pid: int
    msg: int


class Taken(NamedTuple):
    """A message without the server's prefixes, and what they said."""

    text: str
    inner: str = ""
    rank: str = ""
    pid: int | None = None
    own: bool = False


class ServerPrefixes:
    """The line prefixes of all servers, tried at the start of a message."""

    def __init__(self, patterns: Sequence[str]) -> None:
        compiled = [re.compile(pattern.removeprefix("^")) for pattern in patterns]
        self._prefixes = [_Prefix(p.match, *(p.groupindex.get(name, 0) for name in ("stamp", "rank", "proc", "pid", "msg"))) for p in compiled]

    def begins(self, text: str) -> bool:
        """True where the text begins with one of them."""
        return any((found := prefix.match(text)) and found.end() for prefix in self._prefixes)

    def take(self, text: str) -> Taken:
        """Strip up to three prefixes (one tool's inside another's), each pattern once."""
        inner, rank, pid, own = "", "", None, False
        left = self._prefixes
        for _ in range(3):
            for prefix in left:
                found = prefix.match(text)
                if found is not None and found.end():
                    break
            else:
                break
            inner = inner or (prefix.stamp and found[prefix.stamp]) or ""
            rank = rank or (prefix.rank and found[prefix.rank]) or (prefix.proc and found[prefix.proc]) or ""
            digits = (prefix.pid and found[prefix.pid]) or ""
            if pid is None:
                pid = pid_of(digits)
            text = found[prefix.msg] if prefix.msg and found[prefix.msg] is not None else text[found.end() :]
            own = True
            left = [other for other in left if other is not prefix]
        return Taken(text, inner, rank.strip(), pid, own)


def clean(text: str) -> str:
    """Without colours, NUL and a trailing carriage return."""
    if "\x1b" in text:
        text = ANSI.sub("", text)
    if "#033[" in text:
        text = _RSYSLOG_ESCAPE.sub("", text)
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    return text.rstrip("\r").removeprefix("\ufeff")


def journal_line(text: str) -> Opened | None:
    """A line of ``journalctl`` text or of a syslog file, or None where it has no prefix."""
    found = _JOURNAL.match(text)
    if found is None:
        return None
    begin = found.end()
    colon = text.find(": ", begin, begin + _MAX_HEAD)
    if colon < 0:
        colon = len(text) - 1  # an empty message
        if colon - begin > _MAX_HEAD or text[colon] != ":":
            return None
    head, pid = text[begin:colon], None
    if head.endswith("]"):
        head, _, digits = head[:-1].rpartition("[")
        pid = pid_of(digits)
        if pid is None:
            return None
    elif not _IDENT.fullmatch(head):
        return None
    stamp, host = found.groups()
    if stamp[0] == "[":
        if host is None or (pid is None and head != "kernel"):
            return None  # "[   12.345678] usb 1-1: new device" is dmesg, not a host and an identifier; so is "[    3.456789] systemd[1]: …"
        stamp = stamp.strip("[] ").partition(" ")[0]
    origin, trusted = origin_of(head, pid)
    message, since_boot = text[colon + 2 :], ""
    if origin is Origin.KERNEL and (stamped := kernel.strip(message)):
        message, since_boot = stamped.text, stamped.since_boot
    return Opened(message, origin, True, False, colon + 2, stamp, "", host or "", head, pid, None, "", trusted, since_boot)


def origin_of(ident: str, pid: int | None) -> tuple[Origin, bool]:
    """Who wrote a line of journal text, and whether the pid proves it.

    Only PID 1 is believed: any process may choose its identifier, but journald itself writes the pid. ``kernel`` without a pid is the kernel's,
    a service's line always has one. ``init.scope`` is PID 1 under ``-o with-unit``; ``(…)`` is a child of systemd before its exec.
    """
    if ident == "kernel" and pid is None:
        return Origin.KERNEL, True
    if ident in ("systemd", "init.scope") or ident.startswith("(") or (ident.startswith("systemd-") and _OF_SYSTEMD.fullmatch(ident, 8)):
        return Origin.SYSTEMD, pid == 1 and not ident.startswith(("systemd-", "("))
    return Origin.SERVER, False


def separator(text: str) -> Opened | None:
    """A line that ``journalctl`` itself writes between records (``-- Boot … --``), or None."""
    if not text.startswith("-- "):
        return None
    found = SEPARATOR.match(text)
    if found is None:
        return None
    return Opened(text, Origin.SYSTEMD, True, ident="journalctl", trusted=True, boot=found["boot"] or "")


class Unwrapper:
    """Opens the lines of one part; ``kind`` decides which wrappers are believed. ``has_init``: says, where it matters, whether PID 1 writes in the same source under its own number.

    ``bare``: a log without prefixes in which PID 1 is heard all the same (``journalctl -o cat``). Nothing proves that it is, and it is not trusted.
    """

    def __init__(self, kind: PartKind, prefixes: ServerPrefixes, *, has_init: Callable[[], bool] | None = None, bare: bool = False) -> None:
        self.kind = kind
        self._bare = bare
        self._has_init = has_init
        self._prefixes = prefixes
        self.journal = kind in (PartKind.JOURNAL_TEXT, PartKind.STATUS)
        self.plain_origin = {PartKind.CLIENT: Origin.CLIENT, PartKind.NOTICE: Origin.ANY, PartKind.KERNEL: Origin.KERNEL}.get(kind, Origin.SERVER)
        self.plain = kind in (PartKind.SERVER, PartKind.CLIENT, PartKind.NOTICE) and not bare
        self._managed = kind in (PartKind.CONTAINER, PartKind.POD, PartKind.EVENTS)

    def open(self, line: str) -> Opened:
        """Take everything off one line, and the spaces that an editor or a terminal left at its end."""
        opened = self._open(line)
        return opened._replace(text=opened.text.rstrip()) if opened.text[-1:].isspace() else opened

    def _open(self, line: str) -> Opened:
        if self.journal or self.kind is PartKind.KERNEL:
            text = clean(line)
            opened = journal_line(text) or separator(text)
            if opened is not None:
                if self._has_init is not None and not opened.trusted and self._pretends(opened) and self._has_init():
                    opened = opened._replace(origin=Origin.SERVER)  # a user's own manager, or somebody who calls himself so
                return self.message(opened) if opened.origin is Origin.SERVER else opened
            if self.journal:
                # catalogue texts of journalctl -x; the rest is a further line of a message, or a line that a terminal has broken
                return Opened(text, Origin.SYSTEMD if text.startswith("░░") else Origin.ANY)
            stamped = kernel.strip(text)
            if stamped is None:
                return Opened(text, Origin.KERNEL)
            return Opened(stamped.text, Origin.KERNEL, True, stamp=stamped.stamp, since_boot=stamped.since_boot)
        if self._managed:
            return _managed(clean(line), self.kind)
        if self.kind is PartKind.NOTICE:
            return Opened(clean(line), Origin.ANY)
        if self._bare and (BARE_PID_ONE.match(text := clean(line)) or _BARE_JOB.match(text)):
            return Opened(text, Origin.SYSTEMD)
        return self.message(Opened(line, self.plain_origin))

    @staticmethod
    def _pretends(opened: Opened) -> bool:
        """Whether somebody else speaks as PID 1: how a unit fares is for nobody else to say."""
        if opened.ident == "systemd":
            return opened.pid not in (None, 1) and not _BEFORE_EXEC.match(opened.text)
        return opened.ident.startswith("systemd-") and bool(unit_in(opened.text))

    def message(self, opened: Opened) -> Opened:
        """Take container, CI and server prefixes off a message."""
        text, stamp, ident, outer = opened.text, opened.stamp, opened.ident, opened.outer
        if "\x1b" in text and (found := _BUILDKITE.match(text)):
            stamp, outer = stamp or f"{int(found['millis']) / 1000:.3f}", True
        text = clean(text)
        if text[:1] in _WRAPPED or "| " in text[:80] or "\t" in text[:100] or ("-" in text[:200] and text[:1].islower()):
            text, stamp, ident, outer = self._containers(text, stamp, ident, outer)
        text, inner, rank, inner_pid, own = self._prefixes.take(text) if "\r" not in text else self._written_over(text)
        return Opened(
            text, opened.origin, outer, own, opened.indent, stamp, inner, opened.host, ident, opened.pid, inner_pid, rank, opened.trusted, opened.since_boot, opened.boot
        )  # fmt: skip

    def _written_over(self, text: str) -> Taken:
        """A progress bar and what was logged while it stood there: of each piece the prefix comes off, and the last one that has a prefix says whose it is."""
        pieces = text.split("\r")
        taken = [self._prefixes.take(piece) if at < _PIECES or at >= len(pieces) - _PIECES else Taken(piece) for at, piece in enumerate(pieces)]
        last = next((one for one in reversed(taken) if one.own), taken[0])
        return last._replace(text="\r".join(one.text for one in taken))

    def _containers(self, text: str, stamp: str, ident: str, outer: bool) -> tuple[str, str, str, bool]:
        if text.startswith(('{"log":"', '{"log": "')):
            text, stamp = _docker_json(text, stamp)
        for _ in range(4):
            if (text[10:11] == "T" and (found := _RFC3339.match(text))) or (text[11:12] == "T" and (found := _CI_STAMP.match(text))):
                stamp, outer = stamp or found["stamp"], True
            elif "| " in text[:80] and (found := _COMPOSE.match(text)) and found["name"] not in _LEVELS and self._is_compose(found, text):
                ident, outer = ident or found["name"] or "", True
            elif found := _POD.match(text):
                ident, outer = ident or found["name"], True
            elif (found := _STERN.match(text)) and (_LIKE_A_LOG.match(text, found.end()) or self._prefixes.begins(text[found.end() :])):
                ident, outer = ident or found["name"].replace(" ", "/"), True
            elif (found := _FOREMAN.match(text)) or (stamp and (found := _AFTER_STAMP.match(text))):
                ident, outer = ident or found["name"] or "", True
            elif not (found := _CI_STEP.match(text)):
                break
            text = text[found.end() :]
        if not ident and " exited with code " in text[:90] and (found := _COMPOSE_END.match(text)):
            ident = found["name"]
        return text, stamp, ident, outer

    def _is_compose(self, found: re.Match[str], text: str) -> bool:
        """A column of a table looks the same: ``model | value``. Two spaces before the bar, or a known prefix behind it, tell them apart."""
        rest = text[found.end() :]
        return text[: found.end()].endswith("  | ") or bool(_RFC3339.match(rest)) or self._prefixes.begins(rest)


def _managed(text: str, kind: PartKind) -> Opened:
    """What an engine or a cluster says of a container: as systemd of a unit. An event is its own word; its states also quote what the container wrote."""
    found = _EVENT.match(text) if kind is PartKind.EVENTS else None
    if found is None:
        return Opened(text, Origin.SYSTEMD, trusted=kind is PartKind.EVENTS)
    stamp = f"{found['day']}T{found['time']}{found['utc'] or found['hours'] + ':' + found['minutes']}"
    return Opened(text[found.end() :], Origin.SYSTEMD, True, stamp=stamp, trusted=True)


def _docker_json(text: str, stamp: str) -> tuple[str, str]:
    """A line of Docker's json-file log."""
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError):
        return text, stamp
    if not isinstance(entry, dict) or not isinstance(entry.get("log"), str):
        return text, stamp
    return clean(entry["log"].rstrip("\n")), stamp or str(entry.get("time", ""))


def unit_in(text: str) -> str:
    """The unit that a message of systemd begins with, or an empty string."""
    found = _UNIT_HEAD.match(text)
    return found["unit"] if found else ""

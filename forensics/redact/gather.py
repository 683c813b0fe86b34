"""Find the names in a capture, users and hosts, by the places where only a name can stand. Changes nothing, and never guesses from a word alone.

Places are (start, end) in a block of whole lines. Every pattern begins with a literal, or is tried only around one: what is not there costs next to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from forensics import lazily

Place = tuple[int, int]

_USER = rb"([A-Za-z_][A-Za-z0-9_.-]{0,31}?)"
_USER_ENDS = rb"(?![A-Za-z0-9_-]|\.\w)"
_VALUE_ENDS = rb"(?=[\"'\s,;)\\\x00]|$)"
_HOST = rb"([A-Za-z0-9](?:[A-Za-z0-9_.-]{0,252}?[A-Za-z0-9])?)"

_Forward = tuple[tuple[bytes, re.Pattern[bytes]], ...]


def _forward(*pairs: tuple[bytes, bytes]) -> _Forward:
    return tuple((hint, lazily.pattern(pattern)) for hint, pattern in pairs)


_USERS = _forward(
    (b"/home/", rb"/home/" + _USER + _USER_ENDS),
    (b"/Users/", rb"/Users/" + _USER + _USER_ENDS),
    (b"\\Users\\", rb"\\Users\\{1,2}" + _USER + _USER_ENDS),
    (b"ser=", rb"ser=(?<=[^A-Za-z_-][Uu]ser=)[\"']?" + _USER + _VALUE_ENDS),
    (b"USER=", rb"USER=[\"']?" + _USER + _VALUE_ENDS),
    (b"LOGNAME=", rb"LOGNAME=[\"']?" + _USER + _VALUE_ENDS),
    (b"logname=", rb"logname=" + _USER + rb"(?=\s|$)"),
    (b"acct=", rb"acct=[\"']" + _USER + rb"(?=[\"'])"),
    (b"uid=", rb"uid=[0-9]{1,10}\(" + _USER + rb"\)"),
    (b"gid=", rb"gid=[0-9]{1,10}\(" + _USER + rb"\)"),
    (b"publickey for ", rb"publickey for (?:invalid user )?" + _USER + rb"(?= from )"),
    (b"password for ", rb"password for (?:invalid user )?" + _USER + rb"(?= from )"),
    (b"pam for ", rb"pam for (?:invalid user )?" + _USER + rb"(?= from )"),
    (b"nvalid user ", rb"nvalid user " + _USER + rb"(?= (?:from |[0-9a-fA-F]{1,4}[.:]))"),
    (b"authenticating user ", rb"authenticating user " + _USER + rb"(?= )"),
    (b"isconnected from user ", rb"isconnected from user " + _USER + rb"(?= )"),
    (b"onnection closed by user ", rb"onnection closed by user " + _USER + rb"(?= )"),
    (b"opened for user ", rb"opened for user " + _USER + rb"(?=[\s(]|\.?\s|\.?$)"),
    (b"closed for user ", rb"closed for user " + _USER + rb"(?=[\s(]|\.?\s|\.?$)"),
    (b"ession ", rb"ession [\w-]{1,12} of [Uu]ser " + _USER + rb"(?=\.?\s|\.?$)"),
)
# the name stands before the literal
_USERS_BEFORE = _forward(
    (b"(uid=", rb"(?<![\w.-])" + _USER + rb"$"),
    (b"TTY=", rb"(?<![\w.-])" + _USER + rb" : (?:[\w ,]{1,60} ; ){0,2}$"),
    (b") CMD (", rb"\(" + _USER + rb"$"),
)
_HOSTS = _forward(
    (b"_HOSTNAME=", rb"_HOSTNAME=" + _HOST + rb"(?=\n|$)"),
    (b'"_HOSTNAME"', rb"\"_HOSTNAME\"[ ]{0,2}:[ ]{0,2}\"" + _HOST + rb"\""),
    (b"tatic hostname: ", rb"tatic hostname: " + _HOST + rb"(?=\s|$)"),
    (b"HOSTNAME=", rb"HOSTNAME=(?<![A-Za-z_]HOSTNAME=)[\"']?" + _HOST + _VALUE_ENDS),
    (b"hostname=", rb"hostname=[\"']?" + _HOST + _VALUE_ENDS),
    (b"ostname set to <", rb"ostname set to <" + _HOST + rb">"),
    (b"et hostname to <", rb"et hostname to <" + _HOST + rb">"),
)
# The column of the host in what journalctl prints. Only with an identifier and a pid, or the kernel, behind it: a server's own line may look much like it.
_STAMPS = (
    rb"[A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8}(?:\.[0-9]{1,9})?",
    rb"[A-Z][a-z]{2} [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}(?:\.[0-9]{1,9})? [A-Z][A-Za-z/_+-]{1,20}",
    rb"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:[.,][0-9]{1,9})?(?:Z|[+-][0-9]{2}:?[0-9]{2})",
    rb"[0-9]{10}\.[0-9]{6}",
    rb"\[ {0,8}[0-9]{1,9}\.[0-9]{6}\]",
)
_COLUMN = lazily.pattern(rb"\n(?:" + b"|".join(_STAMPS) + rb") " + _HOST + rb" (?:[\w./@()-]{1,80}\[[0-9]{1,10}\]|kernel): ")
_AT_HOST = lazily.pattern(rb"@([A-Za-z0-9][A-Za-z0-9_.-]{0,252})")
_LOGIN_USER = lazily.pattern(rb"(?:^|(?<=[\s\[\"'\x00]))([A-Za-z_][\w.-]{0,31})$")
# a prompt: "ann@box:~$ ", "[ann@box log]# "
_PROMPT = lazily.pattern(rb":[^\s:]{0,200}[$#%>](?:\s|$)| [^\s\]]{1,200}\][$#%>]")
_SSH = lazily.pattern(rb"\b(?:ssh|scp|sftp|rsync|mosh|ssh-copy-id)[\s\"'\x00]")
_LISTED = lazily.pattern(rb"\n[dlbcps-][rwxsStT-]{9}[.+@]? +[0-9]+ " + _USER + rb" +(\S{1,64}) +[0-9]")
_NAME = lazily.pattern(rb"[a-z_][a-z0-9_.-]{0,31}")
_ROW_WORD = lazily.pattern(rb"\S+")
_CLAIMED = lazily.pattern(rb"nvalid user " + _USER + rb"(?= (?:from |[0-9a-fA-F]{1,4}[.:]))")
_STEM = lazily.pattern(rb"[A-Za-z0-9:_.\\@-]{1,255}$")
_ROWS = 5000


def users(block: bytes) -> Iterator[Place]:
    """Where names of users stand. ``block`` begins with a line end, or its first line is looked at less closely."""
    for hint, pattern in _USERS:
        if hint in block:
            yield from (found.span(1) for found in pattern.finditer(block))
    for hint, pattern in _USERS_BEFORE:
        at = block.find(hint)
        while at >= 0:
            begin = max(0, at - 160)
            if found := pattern.search(block[begin:at]):
                yield begin + found.start(1), begin + found.end(1)
            at = block.find(hint, at + 1)
    if b" PID" in block:
        yield from _owners(block)
    if b"\n-rw" in block or b"\ndrw" in block or b"\nlrw" in block:
        for found in _LISTED.finditer(block):
            yield from (found.span(group) for group in (1, 2) if _NAME.fullmatch(found[group]))
    if b"@" in block:
        yield from (user for user, _ in _logins(block))


def hosts(block: bytes) -> Iterator[Place]:
    """Where names of hosts stand."""
    for hint, pattern in _HOSTS:
        if hint in block:
            yield from (found.span(1) for found in pattern.finditer(block))
    yield from (found.span(1) for found in _COLUMN.finditer(block))
    if b"@" in block:
        yield from (host for _, host in _logins(block))


def claimed(block: bytes) -> Iterator[bytes]:
    """Names that somebody tried to log in by, and that no account has: words of whoever tried, "server" or "oracle" among them."""
    if b"nvalid user " in block:
        yield from (found[1] for found in _CLAIMED.finditer(block))


def units(block: bytes) -> Iterable[bytes]:
    """The stems of the services that a block names."""
    found: set[bytes] = set()
    for before in set(map(_before_suffix, block.split(b".service")[:-1])):
        if stem := _STEM.search(before):
            found.add(stem[0])
    return found


def _before_suffix(piece: bytes) -> bytes:
    return piece[-80:].rpartition(b" ")[2]


def _logins(block: bytes) -> Iterator[tuple[Place, Place]]:
    """``ann@box`` where that is a login: in a prompt, or an argument of ssh and its kin."""
    for found in _AT_HOST.finditer(block):
        at, host = found.start(), found[1].rstrip(b".-_")
        user = _LOGIN_USER.search(block[max(0, at - 33) : at])
        if user is None:
            continue
        line = block[max(block.rfind(b"\n", 0, at) + 1, at - 200) : at]
        if _PROMPT.match(block[at + 1 + len(host) : at + 240 + len(host)]) or _SSH.search(line):
            yield (at - len(user[1]), at), (at + 1, at + 1 + len(host))


def _owners(block: bytes) -> Iterator[Place]:
    """The column USER of ``ps``, ``top`` and ``lsof``."""
    at = block.find(b" PID")
    while at >= 0:
        begin, stop = block.rfind(b"\n", 0, at) + 1, block.find(b"\n", at)
        head = block[begin : stop if stop >= 0 else len(block)][:400].split()
        column = next((head.index(name) for name in (b"USER", b"UID") if name in head), None)
        if column is not None and head and all(word.upper() == word for word in head):
            yield from _column_of(block, stop, column, len(head))
        at = block.find(b" PID", stop) if stop >= 0 else -1


def _column_of(block: bytes, at: int, column: int, words: int) -> Iterator[Place]:
    for _ in range(_ROWS):
        stop = block.find(b"\n", at + 1)
        end = stop if stop >= 0 else len(block)
        row = [found.span() for _, found in zip(range(words), _ROW_WORD.finditer(block, at, min(end, at + 4096)), strict=False)]
        if at < 0 or len(row) < words - 1 or not any(block[a:b].isdigit() for a, b in row):
            return
        name = block[slice(*row[column])].rstrip(b"+")
        if _NAME.fullmatch(name):
            yield row[column][0], row[column][0] + len(name)
        if stop < 0:
            return
        at = stop

"""Whom a client asked, and which client it was, as far as its output and its command line tell. Never opens a connection."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from forensics import lazily
from forensics.model import BenchRow
from forensics.parse.wording import MAX_LINE

_URL = lazily.pattern(r"\b(?P<scheme>https?)://(?P<host>\[[0-9a-fA-F:]+\]|[\w.-]+)(?::(?P<port>\d{1,5}))?(?P<path>/[^\s'\"()<>,?}\]]*)?")
_POOL = lazily.pattern(r"\bhost='(?P<host>[^']+)', port=(?P<port>\d{1,5})\b")
_WITH_URL = lazily.pattern(r"with url: (?P<path>/[^\s?(]*)")
_HOST_PORT = lazily.pattern(
    r"(?:connect to host|connect to|Failed to connect to|Connecting to|dial tcp) \(?(?P<host>\[[0-9a-fA-F:]+\]|[\w.-]+?)(?: port |:)(?P<port>\d{1,5})\b"
)
_CALL = lazily.pattern(r"Connect call failed \('(?P<host>[^']+)', (?P<port>\d{1,5})\b")
_BARE_PEER = lazily.pattern(r"(?<![\w/.:@-])(?P<host>localhost|\d+\.\d+\.\d+\.\d+|[a-z][\w-]*):(?P<port>\d{2,5})(?P<path>/[^\s'\"?]*)?(?![\w:])")
_ARGS = {
    "base_url": lazily.pattern(r"\bbase_url='(?P<v>[^']+)'"),
    "host": lazily.pattern(r"[(\s]host='(?P<v>[^']+)'"),
    "port": lazily.pattern(r"[(\s]port=(?P<v>\d{1,5})\b"),
    "path": lazily.pattern(r"[(\s]endpoint='(?P<v>/[^']*)'"),
    "prompts": lazily.pattern(r"[(\s]num_prompts=(?P<v>\d{1,15})\b"),
}
ACCESS = lazily.pattern(r"\"(?:GET|POST|PUT|HEAD|OPTIONS) (?P<path>\S+) HTTP/[\d.]+\" (?P<code>\d{3})\b")
COMMAND = lazily.pattern(r"^(?:\[?[\w.-]+@[\w.-]+[ :~][^$#]{0,80})?[$#] (?P<command>\S.*)$")


@dataclass
class Peer:
    """Host, port and path as far as the output tells."""

    host: str | None = None
    port: int | None = None
    path: str | None = None

    def take(self, host: str | None, port: int | None, path: str | None) -> None:
        """Fill in what is missing; a port only together with its host or where there is none."""
        if self.host is None or self.host == host:
            self.host = self.host or host
            self.port = self.port or port
        self.path = self.path or path


def asked_of(text: str) -> Peer:
    """The peer named in one line. Links to documentation are not peers: a URL counts with a port, an address or a name without dots."""
    peer = Peer()
    for pattern in (_CALL, _POOL, _HOST_PORT):
        if found := pattern.search(text):
            peer.take(found["host"].strip("[]"), int(found["port"]), None)
            break
    for found in _URL.finditer(text):
        host, port = found["host"].strip("[]"), found["port"]
        if port or host == "localhost" or "." not in host or re.fullmatch(r"[\d.]+", host) or ":" in host:
            path = (found["path"] or "").rstrip(".:;\\") or None
            peer.take(host, int(port) if port else (443 if found["scheme"] == "https" else 80), path if path != "/" else None)
            break
    if peer.host is None and (typed := command_line(text)) and (found := _BARE_PEER.search(typed)):
        peer.take(found["host"], int(found["port"]), found["path"])
    if found := _WITH_URL.search(text) or ACCESS.search(text):
        peer.path = peer.path or found["path"]
    return peer


def configured(text: str) -> tuple[Peer, int | None]:
    """The peer and the number of prompts in a dump of arguments; a base URL stands over host and port, which may be defaults."""
    values = {name: found["v"] for name, pattern in _ARGS.items() if (found := pattern.search(text))}
    peer = asked_of(values["base_url"]) if "base_url" in values else Peer()
    if peer.host is None:
        peer.take(values.get("host"), int(values["port"]) if "port" in values else None, None)
    peer.path = values.get("path") or peer.path
    return peer, int(values["prompts"]) if "prompts" in values else None


def peer_of(lines: Sequence[str], rows: Sequence[BenchRow], first_line: int) -> tuple[Peer, int | None]:
    """Whom the client asked: failed attempts first, then its arguments and command, then any other line. And the number of prompts, if told."""
    peer, prompts = Peer(), None
    texts = [row.text for row in rows if row.kind != "ok"][:50]
    for row in rows[:1]:
        texts += lines[max(0, row.line_no - first_line - 1) : row.line_no - first_line + 8]
    for text in texts:
        found = asked_of(text)
        peer.take(found.host, found.port, found.path)
    for text in lines[:400]:
        if config_line(text):
            found, told = configured(text)
            prompts = prompts or told
            peer.take(found.host, found.port, found.path)
    if peer.host is None or peer.path is None:
        for text in lines[:400]:
            if not config_line(text):
                found = asked_of(text[:MAX_LINE])
                waits = "ready" in text  # a readiness check asks elsewhere than the requests do
                peer.take(found.host, found.port, found.path if peer.host in (None, found.host) and not waits else None)
    return peer, prompts


def command_line(text: str) -> str | None:
    """The command on a line that begins with a shell's prompt."""
    found = COMMAND.match(text[:MAX_LINE])
    return found["command"] if found else None


def config_line(text: str) -> bool:
    """Whether a line is a program's dump of its own arguments, which is full of words like timeout."""
    return "Namespace(" in text[:200]


def command_tool(command: str) -> str:
    """``python3 -m pkg.bench --x`` is pkg.bench, ``/opt/x/bin/tool bench serve --y`` is tool bench serve, ``python3 bench.py`` is bench.py."""
    command = command[:MAX_LINE]
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    while words and (re.fullmatch(r"\w+=.*", words[0]) or words[0] in ("sudo", "env", "time", "nohup", "exec")):
        words = words[1:]
    if not words:
        return ""
    name = words[0].rpartition("/")[2]
    if re.fullmatch(r"python[\d.]*|uv|pypy\d?", name):
        if "-m" in words[:-1]:
            return words[words.index("-m") + 1]
        return next((word.rpartition("/")[2] for word in words[1:] if not word.startswith("-")), name)
    for word in words[1:3]:
        if not re.fullmatch(r"[a-z][a-z_]{0,40}", word):
            break
        name += " " + word
    return name

"""Take secrets and names out of what is passed on: users, hosts, e-mail and public addresses by a map that is the same in all of one capture. Keeps the map in memory only."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from forensics import lazily
from forensics.model import Capture, Section, Target, TargetKind, Word
from forensics.redact import gather
from forensics.redact.addresses import Addresses
from forensics.redact.values import secrets_in_bytes
from forensics.redact.words import SYSTEM_HOSTS, SYSTEM_USERS, kept

_BLOCK_BYTES = 1 << 20
_LONG_LINE = 1 << 22
_PSEUDONYM = lazily.pattern(r"(?:user|host)-[0-9]{1,6}")
_ADDRESS = lazily.pattern(r"[0-9.]+|[0-9a-fA-F]{0,4}:[0-9a-fA-F:.]*|\[.*\]")
_HOST = lazily.pattern(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,252}")
_USER = lazily.pattern(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}")
# endings of a host's name that say nothing of whose it is, so that box.local is the host box
_LOCAL = "local|lan|internal|localdomain|home|intranet|corp"
_MOST_NAMES = 4096
_OF_CODE = frozenset({"self", "args", "config", "cfg", "kwargs", "os", "socket", "settings", "options", "opts", "str"})


class Redaction(Word):
    """What is taken out of what leaves the program."""

    SECRETS = "secrets"
    ALL = "all"
    NONE = "none"


class Redactor:
    """A mask for bytes and texts of one capture, or of several that are told of together. ``for_capture`` makes one.

    A user is ``user-1``, a host ``host-1``, a mail ``mail-1@example.invalid``, a public address one of those that are reserved for documentation. A name is
    mapped as a whole word only, never within the name of a unit, a flag or a longer name; one that is a word of the rules, only where the place says that it is a name.
    """

    def __init__(self) -> None:
        self._users: dict[str, str] = {}
        self._hosts: dict[str, str] = {}
        self._unit_words: set[str] = set()
        self._claimed: set[str] = set()
        self._rules: list[tuple[bytes, re.Pattern[bytes], bytes]] | None = None
        self._by_place = False
        self._addresses = Addresses(self._is_host)

    @classmethod
    def for_capture(cls, *captures: Capture) -> Redactor:
        """One that knows the names in all sections of the captures."""
        made = cls()
        for capture in captures:
            made.learn(capture)
        return made

    def learn(self, capture: Capture) -> None:
        """Gather the names of one more capture; those that are known keep what stands for them."""
        self.learn_target(capture.target)
        if capture.host:
            self._add_host(capture.host)
        for unit in filter(None, (capture.pick.unit, *capture.pick.candidates)):
            self._add_unit(unit.rpartition(".")[0])
        for section in capture.sections:
            for block in _blocks(section):
                self._learn_block(block)
            self._learn_block(f"\n{section.name}\n{section.argv}\n{section.stderr}\n".encode(errors="replace"))
        for problem in capture.problems:
            self._learn_block(f"\n{problem.text}\n".encode(errors="replace"))

    def learn_target(self, target: Target) -> None:
        """The host that somebody typed, with the account before it."""
        for typed in (target.host, target.name if target.kind is TargetKind.SSH else None):
            user, _, host = (typed or "").removeprefix("ssh:").rpartition("@")
            self._add_host(host)
            self._add_user(user)
        for path in target.paths:
            self._learn_block(f"\n{path}\n".encode(errors="replace"))
        self._learn_block(f"\n{target.name}\n".encode(errors="replace"))

    def __call__(self, data: bytes) -> bytes:
        """Secrets and names taken out of whole lines; what is neither stays byte for byte."""
        return self.names(secrets_in_bytes(data))

    @staticmethod
    def secrets(data: bytes) -> bytes:
        """Only the secrets: what this takes out of a line does not depend on which digits stand in it."""
        return secrets_in_bytes(data)

    def names(self, data: bytes) -> bytes:
        """Only the names and addresses. Best given many lines at once."""
        data = self._addresses.mask_mails(data)
        if self._rules is None:
            self._rules = self._compiled()
        if self._by_place:
            data = self._masked_by_place(data)
        for name, pattern, instead in self._rules:
            if name in data:
                data = pattern.sub(instead, data)
        return self._addresses.mask(data)

    def text(self, text: str) -> str:
        """The names in a text; its secrets are left to whoever writes it."""
        return self.names(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def name(self, text: str) -> str:
        """A text that is a name as a whole: of a host, or ``user@host``. Anything else as ``text``."""
        prefix = "ssh:" if text.startswith("ssh:") else ""
        user, at, host = text.removeprefix("ssh:").rpartition("@")
        if host in self._hosts:
            return f"{prefix}{self._users.get(user, user)}{at}{self._hosts[host]}"
        return self.text(text)

    # ------------------------------------------------------------------ what is known

    def _learn_block(self, block: bytes) -> None:
        for stem in gather.units(block):
            self._add_unit(stem.decode("latin-1"))
        self._claimed.update(name.decode("latin-1") for name in gather.claimed(block))
        for add, places in ((self._add_host, gather.hosts), (self._add_user, gather.users)):
            for name in dict.fromkeys(block[start:end] for start, end in places(block)):
                add(name.decode("latin-1"))

    def _add_unit(self, stem: str) -> None:
        words = set(re.split(r"[^a-z0-9]+", stem.lower()))
        if not words <= self._unit_words:
            self._unit_words |= words
            self._rules = None

    def _add_user(self, name: str) -> None:
        low = name.lower()
        if name in self._users or not _USER.fullmatch(name) or low in SYSTEM_USERS or low.startswith(("systemd-", "_")) or low.endswith("-data"):
            return
        if low.partition(".")[0] in _OF_CODE:  # user=self.user
            return
        self._add(name, self._users, "user")

    def _add_host(self, name: str) -> None:
        name = name.rstrip(".")
        if name in self._hosts or not _HOST.fullmatch(name) or _ADDRESS.fullmatch(name) or name.lower() in SYSTEM_HOSTS or name.endswith(".service"):
            return
        short, _, _ = name.partition(".")
        if short in _OF_CODE:  # hostname=self.host
            return
        if short != name and short.lower() not in SYSTEM_HOSTS and not short.isdigit():
            self._add(short, self._hosts, "host")
            self._hosts.setdefault(name, self._hosts.get(short, short))
            self._rules = None
        else:
            self._add(name, self._hosts, "host")

    def _add(self, name: str, known: dict[str, str], kind: str) -> None:
        if name in known or len(known) >= _MOST_NAMES:
            return
        if _PSEUDONYM.fullmatch(name):  # of a capture that was redacted before
            known[name] = name
            return
        taken = set(known.values())
        number = len(taken) + 1
        while f"{kind}-{number}" in taken:
            number += 1
        known[name] = f"{kind}-{number}"
        self._rules = None

    def _is_host(self, domain: bytes) -> bool:
        name = domain.decode("latin-1")
        return name in self._hosts or name.partition(".")[0] in self._hosts

    # ------------------------------------------------------------------ masking

    def _compiled(self) -> list[tuple[bytes, re.Pattern[bytes], bytes]]:
        domains = {re.escape(name.partition(".")[2]) for name in self._hosts if name.count(".") > 1}
        ending = rf"(?:\.(?:{'|'.join([*sorted(domains, key=len, reverse=True), _LOCAL])}))?"
        rules, self._by_place = [], False
        known = [(name, instead, ending if "." not in name else "") for name, instead in self._hosts.items()]
        known += [(name, instead, "") for name, instead in self._users.items() if name not in self._hosts]
        for name, instead, more in sorted(known, key=lambda k: (-len(k[0]), k[0])):
            if name == instead:
                continue
            if not self._is_telling(name):
                self._by_place = True
                continue
            word = re.escape(name)
            # "\n" in a printed text, and the m that ends a colour, are no letters of the word behind them
            pattern = rf"{word}(?:(?<![\w.-]{word})|(?<=\\[nrt]{word})|(?<=[0-9\[]m{word})){more}(?![\w-]|\.\w)"
            rules.append((name.encode("latin-1"), re.compile(pattern.encode("latin-1")), instead.encode()))
        return rules

    def _is_telling(self, name: str) -> bool:
        """Whether the name means somebody wherever it stands, and is no word that a rule reads or a unit is named by."""
        low = name.lower()
        return len(low) > 2 and name not in self._claimed and low not in kept() and low not in self._unit_words and not low.isdigit()

    def _masked_by_place(self, data: bytes) -> bytes:
        block = b"\n" + data
        spans: list[tuple[int, int, str]] = []
        for known, places in ((self._hosts, gather.hosts), (self._users, gather.users)):
            for start, end in places(block):
                name = block[start:end].decode("latin-1")
                if known.get(name, name) != name:
                    spans.append((start, end, known[name]))
        pieces, done = [], 1
        for start, end, instead in sorted(spans):
            if start >= done:
                pieces += [block[done:start], instead.encode()]
                done = end
        return b"".join([*pieces, block[done:]])


def _blocks(section: Section) -> Iterator[bytes]:
    """A section in pieces of whole lines, each with a line end before it."""
    rest = b""
    for piece in section.chunks(_BLOCK_BYTES):
        lines, end, rest = (rest + piece).rpartition(b"\n")
        if end:
            yield b"\n" + lines + end
        elif len(rest) > _LONG_LINE:
            yield b"\n" + rest
            rest = b""
    if rest:
        yield b"\n" + rest


def mask_for(redaction: Redaction, redactor: Redactor) -> Callable[[bytes], bytes] | None:
    """The mask that ``bundle.save`` wants; ``redactor`` has to know the capture already."""
    return {Redaction.NONE: None, Redaction.SECRETS: secrets_in_bytes, Redaction.ALL: redactor}[redaction]

"""Public addresses and e-mail addresses in a log, and what they are called instead. Private addresses and version numbers are left alone."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from itertools import count

from forensics import lazily

# Digits first, then what may not stand before them: a pattern that begins with a look-behind is tried at every byte.
_V4 = lazily.pattern(rb"[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}(?![0-9]|\.[0-9]|[\w+~]|-[0-9a-zA-Z])")
_V6 = lazily.pattern(rb"[23][0-9a-fA-F]{3}:[0-9a-fA-F:]{2,36}(?:\.[0-9]{1,3}){0,3}(?![\w:]|\.[0-9])")
_BEFORE = 48
_NOT_BEFORE = lazily.pattern(rb"(?:[\w.~+-]|[A-Za-z0-9_]/|[a-z]-)$")
# A number of four parts is a version where something before it says so; an address where it has a port, a prefix length or a scheme.
_VERSION = lazily.pattern(
    rb"(?i)(?:versions?|\bver\b|\bv|driver|cuda|cudnn|nccl|cublas|cu1[0-9]|nvidia[\w-]*|torch[\w-]*|triton|rocm|hip|firmware|vbios|bios|build|release|revision|rev"
    rb"|toolkit|runtime|kernel(?!:)|packages?|lib[\w+-]+|python[\w.-]*|glibc|java|jdk|chrome|[=<>~!]=)(?:[\"']?[ \t]{0,20}[:=(]?[ \t\"']{0,20})$"
)
_PLACE = lazily.pattern(rb":[0-9]{1,5}(?![0-9])|/[0-9]{1,2}(?![0-9.])")
_PLACED = lazily.pattern(rb"(?:://|@|\b(?:from|src=|dst=|SRC=|DST=|rhost=|addr=|address|client|peer|inet) ?)$")

_MAIL = lazily.pattern(rb"@([A-Za-z0-9][A-Za-z0-9-]{0,62}(?:\.[A-Za-z0-9][A-Za-z0-9-]{0,62}){1,6})(?![\w@-]|\.\w)")
_LOCAL = lazily.pattern(rb"[A-Za-z0-9._%+-]{1,64}$")
_NO_DOMAIN = lazily.pattern(
    rb"(?i)(?:^|\.)(?:service|socket|timer|mount|automount|slice|scope|target|path|device|swap|invalid|example|localhost|py|so|log|journal|gz|xz|zst|tar|img|deb|rpm|whl|bin|pt|gguf|onnx|html|xml|txt|json|yaml|yml|conf|sh|js|ts|git"
    rb"|[0-9][\w-]*)$|^lists\.|^example\.(?:com|org|net)$"
)
_NO_PERSON = frozenset({b"git", b"noreply", b"no-reply", b"hg", b"svn"})

_POOLS = tuple(ipaddress.ip_network(n) for n in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "198.18.0.0/15"))  # RFC 5737, RFC 2544
_POOL_V6 = int(ipaddress.IPv6Address("2001:db8::"))  # RFC 3849


class Addresses:
    """The public addresses seen so far, each with the documentation address that stands for it. ``hosts`` says which domains are hosts' own."""

    def __init__(self, is_host: Callable[[bytes], bool]) -> None:
        self._is_host = is_host
        self._known: dict[bytes, bytes] = {}
        self._mails: dict[bytes, bytes] = {}
        self._free_v4 = (str(address) for pool in _POOLS for address in pool.hosts())
        self._free_v6 = (str(ipaddress.IPv6Address(_POOL_V6 + n)) for n in count(1))

    def mask(self, data: bytes) -> bytes:
        """``data`` with every public address replaced by the one that stands for it."""
        data = _V4.sub(self._v4, data)
        if b":" in data:
            data = _V6.sub(self._v6, data)
        return data

    def mask_mails(self, data: bytes) -> bytes:
        """``data`` with every e-mail address replaced; one at a known host is a login, and left to whoever knows hosts."""
        if b"@" not in data:
            return data
        pieces: list[bytes] = []
        done = 0
        for found in _MAIL.finditer(data):
            local = _LOCAL.search(data, max(done, found.start() - 64), found.start())
            if local is None or local[0] in _NO_PERSON or _NO_DOMAIN.search(found[1]) or self._is_host(found[1]):
                continue
            if data[max(0, local.start() - 3) : local.start()].endswith((b"://", b":", b"/")):
                continue  # a login in a URL, an image by its digest
            mail = data[local.start() : found.end()].lower()
            pieces += [data[done : local.start()], self._mails.setdefault(mail, b"mail-%d@example.invalid" % (len(self._mails) + 1))]
            done = found.end()
        return b"".join([*pieces, data[done:]]) if pieces else data

    def _v4(self, found: re.Match[bytes]) -> bytes:
        text = found[0]
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = text if not _is_public(text) else b""
        if known == text:  # private, or no address at all
            return text
        before = found.string[max(0, found.start() - _BEFORE) : found.start()]
        if _NOT_BEFORE.search(before):
            return text
        placed = _PLACE.match(found.string, found.end()) or _PLACED.search(before)
        if not placed and _VERSION.search(before):
            return text
        if not known:
            known = self._known[text] = next(self._free_v4, "198.19.255.254").encode()
        return known

    def _v6(self, found: re.Match[bytes]) -> bytes:
        text = found[0]
        end = text.rstrip(b":") if not text.endswith(b"::") else text
        if re.search(rb"[\w:.-]$", found.string[max(0, found.start() - 1) : found.start()]) or not _is_public(end):
            return text
        if end not in self._known:
            self._known[end] = next(self._free_v6).encode()
        return self._known[end] + text[len(end) :]


def _is_public(text: bytes) -> bool:
    try:
        address = ipaddress.ip_address(text.decode("ascii"))
    except ValueError:  # no address: 570.86.10.01
        return False
    return address.is_global and not address.is_multicast

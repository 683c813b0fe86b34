"""Make text from a log safe to show on a terminal: control characters become visible. Never hides a word of it."""

from __future__ import annotations

from forensics import lazily

# Colours alone (SGR) are dropped: servers colour their own prefixes, and no text can hide behind the lack of a colour.
_SGR = lazily.pattern(r"\x1b\[[0-9;:]{0,64}m")


def neutralise(text: str) -> str:
    """Show ``text`` as one harmless line: escapes, control characters, bidi overrides and NUL become visible (``\\x1b``, ``\\u202e``).

    A tab and any other kind of space become a plain space, an undecodable byte ``\\xNN``.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _visible(c) for c in _SGR.sub("", text))


def _visible(char: str) -> str:
    code = ord(char)
    if char == "\t" or (char.isspace() and code >= 0xA0 and code not in (0x2028, 0x2029)):
        return " "
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was no UTF-8, kept by surrogateescape
        return f"\\x{code - 0xDC00:02x}"
    if char in "\r\n":
        return {"\r": "\\r", "\n": "\\n"}[char]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

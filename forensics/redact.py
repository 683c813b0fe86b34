"""Make text from a log safe to show: control characters visible, secrets masked. Never changes what is kept in memory.

``neutralise`` is for what goes to a terminal, ``secrets`` for all that leaves the program. Masking is idempotent, so that a saved
capture and the live one it came from print the same.
"""

from __future__ import annotations

import re

MASK = "[masked]"

# --------------------------------------------------------------------------- control characters

# Colours alone (SGR) are dropped: servers colour their own prefixes, and no text can hide behind the lack of a colour.
_SGR = re.compile(r"\x1b\[[0-9;:]{0,64}m")


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


# --------------------------------------------------------------------------- secrets

_NAME = (
    r"(?:[a-z0-9]{0,12}passwo?r?d|passphrase|secret(?:[_-]?access)?(?:[_-]?key)?|api[_-]?key"
    r"|(?:access|private|auth|encryption|signing|license|master)[_-]?key|credentials?|token)"
)
_VALUE = r"""(?:"[^"\n]{0,2048}"|'[^'\n]{0,2048}'|[^\s"',;&)}\]]{1,2048})"""

# Order matters: whole blocks first, then names with a value, then values that are known by their own shape.
_BEGIN, _END = r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----", r"-----END [A-Z ]{0,40}PRIVATE KEY-----"
_PRIVATE_KEY = re.compile(rf"({_BEGIN})((?:(?!-----BEGIN ).){{0,20000}}?)({_END})", re.DOTALL)
# Cut off before its end: only lines that end like a key. A message that merely names the marker must not cost the log behind it.
_OPEN_PRIVATE_KEY = re.compile(rf"({_BEGIN})((?:\s{{0,4}}[^\n]{{0,200}}?[A-Za-z0-9+/]{{24,}}={{0,2}}[ \t\r]{{0,4}}(?=\n|$)){{1,400}})()")
_LAST_WORD = re.compile(r"\S+(?=\s*$)")
_URL_LOGIN = re.compile(r"(?i)\b([a-z][a-z0-9+.-]{1,20}://)([^/\s:@'\"]{0,256}):([^/\s@'\"]{1,1024})@")
_URL_TOKEN = re.compile(r"(?i)\b(https?://)([^/\s:@'\"]{20,1024})@")
_AUTH_HEADER = re.compile(
    r"(?i)\b(bearer|basic|authorization['\"]?\s{0,4}[:=]\s{0,4}['\"]?(?:bearer|basic|token))(\s{1,4})(?=[^\s'\",]*[0-9=_.-])([A-Za-z0-9._~+/=-]{8,4096})"
)
_FLAG = re.compile(rf"(?i)(?<![\w-])(--?(?:[a-z0-9]{{1,24}}[-_]){{0,5}}{_NAME})(=|\s{{1,4}})({_VALUE})")
_NAMED = re.compile(rf"""(?i)(?<![a-z0-9-])((?:[a-z0-9]{{1,24}}[_-]){{0,5}}{_NAME})(['"]?\s{{0,4}}[=:]\s{{0,4}})({_VALUE})""")
_SHAPES = re.compile(
    r"(?<![A-Za-z0-9_])(?:"
    r"(hf_)[A-Za-z0-9]{16,}"
    r"|(sk-)[A-Za-z0-9_-]{16,}"
    r"|(nvapi-)[A-Za-z0-9_-]{16,}"
    r"|(AIza)[A-Za-z0-9_-]{35}"
    r"|((?:AKIA|ASIA))[0-9A-Z]{16}(?![0-9A-Z])"
    r"|(gh[pousr]_|github_pat_|glpat-|xox[abprs]-)[A-Za-z0-9_-]{10,}"
    r"|(eyJ)[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}"
    r")"
)
_HINT = re.compile(
    r"(?i)passw|passphrase|secret|key|token|credential|bearer|basic|://|hf_|sk-|nvapi|AIza|AKIA|ASIA|gh[pousr]_|github_pat|glpat|xox|eyJ"
)
_HARMLESS = frozenset({"none", "null", "true", "false", "yes", "no", "auto", "empty", "set", "unset", "required", "", MASK})
_NUMBER = re.compile(r"[-+]?[0-9][0-9_,.]*(?:e[-+]?[0-9]+)?(?:%|[kmgt]i?b?|ms|s)?", re.IGNORECASE)
# Token of the tokenizer's kind: eos_token='<|im_end|>', next token: the, per token
_OF_TEXT = re.compile(
    r"(?i)(?:^|[_-])(?:bos|eos|pad|unk|sep|cls|mask|image|video|audio|special|stop|next|first|last|new|extra|draft|prompt|thinking|end|start|tool)[_-]token$"
)


def secrets(text: str) -> str:
    """Mask keys, tokens, passwords, logins in URLs and private keys in ``text``. Numbers, flags and the names of the secrets stay."""
    if not _HINT.search(text):
        return text
    if "PRIVATE KEY-----" in text:
        text = _OPEN_PRIVATE_KEY.sub(_masked_key, _PRIVATE_KEY.sub(_masked_key, text))
    text = _URL_LOGIN.sub(lambda m: f"{m[1]}{m[2]}:{MASK}@", text)
    text = _URL_TOKEN.sub(lambda m: f"{m[1]}{MASK}@", text)
    text = _AUTH_HEADER.sub(lambda m: f"{m[1]}{m[2]}{MASK}", text)
    text = _FLAG.sub(_masked_value, text)
    text = _NAMED.sub(_masked_value, text)
    return _SHAPES.sub(lambda m: f"{next(g for g in m.groups() if g)}{MASK}", text)


def secrets_in_bytes(data: bytes) -> bytes:
    """``secrets`` for whole lines of bytes in any encoding; what is not masked stays byte for byte."""
    return secrets(data.decode("latin-1")).encode("latin-1")


def _masked_key(match: re.Match[str]) -> str:
    # Line by line: what stands before the key in a line (a stamp) stays, and so do the numbers of the lines.
    first, *lines = match[2].split("\n")
    if not lines:
        return f"{match[1]}{MASK}{match[3]}"
    masked = [_LAST_WORD.sub(MASK, line) for line in (first, *(lines if not match[3] else lines[:-1]))]
    return match[1] + "\n".join(masked if not match[3] else [*masked, lines[-1]]) + match[3]


def _masked_value(match: re.Match[str]) -> str:
    name, between, value = match[1], match[2], match[3]
    quote = value[0] if value[0] in "\"'" else ""
    bare = value[1:-1] if quote else value
    if _stays(name, between, bare):
        return match[0]
    return f"{name}{between}{quote}{MASK}{quote}"


def _stays(name: str, between: str, value: str) -> bool:
    if value.lower() in _HARMLESS or value.startswith(MASK[:-1]):
        return True
    if between.isspace() and value.startswith("-"):  # the next flag: this one had no value
        return True
    if not name.lower().endswith("token"):
        return False
    if _NUMBER.fullmatch(value) or value.startswith("<") or _OF_TEXT.search(name):
        return True
    # prose ("unexpected token: identifier"): a bare word without a digit behind a colon is no secret
    return name.lower() == "token" and ":" in between and value.isalpha()

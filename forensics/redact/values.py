"""Mask what is secret in a text: keys, tokens, passwords, logins in URLs, private keys. Never changes what is kept in memory."""

from __future__ import annotations

import re

from forensics import lazily
from forensics.redact.cover import MASK, without
from forensics.redact.named import entry_spans, flag_spans, login_spans, lower, named_spans

# Whole blocks first, then logins in URLs, names with a value, commands, and last the values that are known by their own shape. Names are found
# by their last word alone and looked at from there: a pattern that begins with any word would be tried at every letter of every line.

_BEGIN, _END = r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----", r"-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_PRIVATE_KEY = lazily.pattern(rf"({_BEGIN})((?:(?!-----BEGIN ).){{0,20000}}?)({_END})", re.DOTALL)
# Cut off before its end: only lines that end like a key. A message that merely names the marker must not cost the log behind it.
_OPEN_PRIVATE_KEY = lazily.pattern(rf"({_BEGIN})((?:\s{{0,4}}[^\n]{{0,200}}?[A-Za-z0-9+/]{{24,}}={{0,2}}[ \t\r]{{0,4}}(?=\n|$)){{1,400}})()")
_LAST_WORD = lazily.pattern(r"\S+(?=\s*$)")
# The values in a Kubernetes Secret, whatever they are called; only where the document says that it is one.
_KUBERNETES = lazily.pattern(r"^(?:data|stringData):[ \t]*\n(?:[ \t]+[^\n]*(?:\n|$)){1,400}", re.MULTILINE)
_ENTRY = lazily.pattern(r"^([ \t]+[\w.-]{1,253}:[ \t]+)(?!\[masked\][ \t]*$|\|)(\S[^\n]*)$", re.MULTILINE)
# One line of a key's inside, without the lines around it (a report cites lines one by one): of such a length, of three kinds of characters, alone at the end.
_KEY_LINES = frozenset({64, 70, 76})
_KEY_LINE = lazily.pattern(r"(?=[a-z0-9+/]{0,75}[A-Z])(?=[A-Z0-9+/]{0,75}[a-z])(?=[A-Za-z+/]{0,75}[0-9])[A-Za-z0-9+][A-Za-z0-9+/]{63,75}")
_URL_TOKEN = lazily.pattern(r"(?i)(https?://)([^/\s:@'\"]{20,1024})((?::(?:x-oauth-basic|\[masked\]))?@)")
_WEBHOOK = lazily.pattern(r"(?i)(hooks\.slack\.com/[a-z]{1,20}/|discord(?:app)?\.com/api/webhooks/|\.webhook\.office\.com/)([a-z0-9_@/-]{8,512})")
_BEARER = lazily.pattern(
    r"(?i)\b(bearer[ \t]{1,4})(?!(?:tokens?|auth[a-z]{0,20}|schemes?|realm|errors?|format|prefix|headers?|credentials?|required)\b)([a-z0-9._~+/=-]{8,})"
)
_BASIC = lazily.pattern(r"\b([Bb]asic[ \t]{1,4})(?=[A-Za-z0-9+/]{0,40}(?:[0-9=]|[a-z][A-Z]))([A-Za-z0-9+/=]{8,})")
_DIGEST = lazily.pattern(r"(?i)\b(digest[ \t]{1,4})(?=username=)([^\n]{1,4096})")
_SHAPES = lazily.pattern(
    # behind "\\n" in a printed text, behind %3D, and behind the m of a colour a word begins as well
    r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f][0-9A-Fa-f])|(?<=[0-9\[]m))(?:"
    r"((?:hf|npm|r8|gsk)_)[A-Za-z0-9]{16,}"
    r"|(sk-|nvapi-|xai-)[A-Za-z0-9_-]{16,}"
    r"|([rs]k_(?:live|test)_|whsec_)[A-Za-z0-9]{8,}"
    r"|(AIza)[A-Za-z0-9_-]{35}"
    r"|((?:AKIA|ASIA))[0-9A-Z]{16}(?![0-9A-Z])"
    r"|(gh[pousr]_|github_pat_|gl(?:pat|dt|rt|ptt)-|xox[abeprs]-|xapp-|dckr_[po]at_)[A-Za-z0-9_-]{10,}"
    r"|(pypi-)(?=[A-Za-z0-9_-]{0,40}[A-Z])[A-Za-z0-9_-]{16,}"
    r"|(eyJ)[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}"
    r"|(ya29\.|GOCSPX-|hvs\.|AGE-SECRET-KEY-1|pplx-|tvly-|lin_api_|shp(?:at|ss)_|dop_v1_|wandb_v1_)[A-Za-z0-9_-]{20,}"
    r"|(SG\.)[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"
    r"|((?:bot)?[0-9]{6,12}:)(?=[a-z0-9_-]{0,40}[A-Z])[A-Za-z0-9_-]{30,}"
    r")"
)
_SHAPE_HINTS = (
    *(
        "hf_",
        "npm_",
        "r8_",
        "gsk_",
        "sk-",
        "nvapi-",
        "xai-",
        "sk_live",
        "sk_test",
        "rk_live",
        "rk_test",
        "whsec_",
        "AIza",
        "AKIA",
        "ASIA",
        "ghp_",
        "gho_",
    ),
    *(
        "ghu_",
        "ghs_",
        "ghr_",
        "github_pat_",
        "glp",
        "gld",
        "glr",
        "xox",
        "xapp-",
        "dckr_",
        "pypi-",
        "eyJ",
        "ya29.",
        "GOCSPX-",
        "hvs.",
        "AGE-SEC",
        "pplx-",
    ),
    *("tvly-", "lin_api", "shpa", "shpss", "dop_v1", "wandb_v1", "SG."),
)
_LONG_AFTER_NUMBER = lazily.pattern(r":(?<=[0-9]:)[A-Za-z0-9_-]{30}")
# What commands.py could have to do with: nearly every line of a log is answered here.
_WORDS = (
    *(
        "mysql",
        "mariadb",
        "sshpass",
        "redis-cli",
        "mongo",
        "login",
        "curl",
        "ldap",
        "zip",
        "7z",
        "ipmitool",
        "smbclient",
        "mount.cifs",
        "rabbitmqctl",
    ),
    *(
        "htpasswd",
        "vault",
        "wandb",
        "aws ",
        "aws'",
        "aws\0",
        "ngrok",
        "echo ",
        "asswor",
        "assphrase",
        "asscode",
        "PASS",
        "key ",
        "Key ",
        "KEY ",
        'key" ',
    ),
    *("-key-data", "oken ", "OKEN ", "AKIA", "ASIA"),
)
_ROUNDS = 4


def secrets(text: str) -> str:
    """Mask keys, tokens, passwords, logins in URLs and private keys in ``text``. Numbers, flags and the names of the secrets stay."""
    for _ in range(_ROUNDS):  # until nothing changes: what is masked may uncover a name before it
        masked = _once(text)
        if masked == text:
            break
        text = masked
    return text


def secrets_in_bytes(data: bytes) -> bytes:
    """``secrets`` for whole lines of bytes in any encoding; what is not masked stays byte for byte."""
    return secrets(data.decode("latin-1")).encode("latin-1")


def _once(text: str) -> str:
    if "PRIVATE KEY" in text:
        text = _OPEN_PRIVATE_KEY.sub(_masked_key, _PRIVATE_KEY.sub(_masked_key, text))
    if "kind: Secret" in text:
        text = _KUBERNETES.sub(_masked_values, text)
    text = _without_key_line(text)
    if "//" in text:
        if "@" in text:
            text = without(text, login_spans(text))
            text = _URL_TOKEN.sub(lambda m: f"{m[1]}{MASK}{m[3]}", text)
        text = _WEBHOOK.sub(lambda m: f"{m[1]}{MASK}", text) if "hook" in text else text
    low = lower(text)
    if spans := flag_spans(text, low):
        text = without(text, spans)
        low = lower(text)
    text = without(text, named_spans(text, low))
    if "value" in text and "name" in text:
        text = without(text, entry_spans(text, lower(text)))
    if any(word in text for word in _WORDS):
        from forensics.redact.commands import command_spans, line_spans  # only now: its patterns cost more to make than --help to print

        text = without(text, command_spans(text))
        text = without(text, line_spans(text))
    for word, pattern in (("earer", _BEARER), ("asic", _BASIC), ("igest", _DIGEST), ("EARER", _BEARER)):
        if word in text:
            text = pattern.sub(lambda m: f"{m[1]}{MASK}", text)
    if any(hint in text for hint in _SHAPE_HINTS) or _LONG_AFTER_NUMBER.search(text):
        text = _SHAPES.sub(lambda m: f"{next(g for g in m.groups() if g)}{MASK}", text)
    return text


def _masked_values(match: re.Match[str]) -> str:
    document = match.string[max(0, match.start() - 4000) : match.end() + 4000]
    mine = match.start() - max(0, match.start() - 4000)
    first, last = document.rfind("\n---", 0, mine), document.find("\n---", mine)
    if "kind: Secret" not in document[max(first, 0) : last if last >= 0 else len(document)]:
        return match[0]  # of a neighbour: a ConfigMap
    return _ENTRY.sub(lambda m: f"{m[1]}{MASK}", match[0])


def _without_key_line(text: str) -> str:
    line = text.rstrip()
    at = max(line.rfind(" "), line.rfind("\n"), line.rfind("\t")) + 1
    if len(line) - at not in _KEY_LINES or not _KEY_LINE.fullmatch(line, at) or line.count("/", at) > 6:
        return text
    return f"{line[:at]}{MASK}{text[len(line) :]}"


def _masked_key(match: re.Match[str]) -> str:
    # Line by line: what stands before the key in a line (a stamp) stays, and so do the numbers of the lines.
    first, *lines = match[2].split("\n")
    if not lines:
        return f"{match[1]}{MASK}{match[3]}"
    masked = [_LAST_WORD.sub(MASK, line) for line in (first, *(lines if not match[3] else lines[:-1]))]
    return match[1] + "\n".join(masked if not match[3] else [*masked, lines[-1]]) + match[3]

"""Secrets that only the words around them give away: ``mysql -pX``, ``curl -u a:X``, a netrc line, ``password is X``. Never by a name with an equals sign."""

from __future__ import annotations

from forensics import lazily
from forensics.redact.cover import Span, cover, span

# Words of a command stand apart by spaces, by NUL (/proc/PID/cmdline), or as the elements of a printed list.
_SEP = r"(?:[ \t\x00]{1,4}|[\"'],[ \t]{0,4}[\"'])"
_STARTS = r"(?<![^\s\x00\"'=;|&(/\[])"
_VALUE_CHARS = r"[^\s\"'\x00,;|&<>()]"
_COMMAND_CHARS = 400

# program, then in its own words: what stands before the value, the value
_PROGRAMS = tuple(
    (hint, lazily.pattern(rf"{_STARTS}(?:{program})(?={_SEP})"), lazily.pattern(rf"{_SEP}{before}(?![\"'\\]?(?:\$|%s|\[masked\]|<))"))
    for hint, program, before in (
        (("mysql", "mariadb"), r"mysql[a-z]{0,10}|mariadb(?:-[a-z]{1,10})?", r"-p(?=[^\s\"'\x00])"),
        (("sshpass",), r"sshpass", rf"-p{_SEP}?"),
        (("redis-cli",), r"redis-cli", rf"(?:-a|--pass){_SEP}"),
        (("mongo",), r"mongo(?:sh|dump|restore|export|import|stat|top)?", rf"-p{_SEP}"),
        (("login",), rf"(?:docker|podman|nerdctl|helm{_SEP}registry|skopeo|buildah|crane{_SEP}auth|oras|az){_SEP}login", rf"-p{_SEP}?(?=\S)"),
        (("curl",), r"curl", rf"(?:-u|--user|-U|--proxy-user)(?:{_SEP}|=)?[\"']?[^\s:\"'\x00]{{0,80}}:(?=\S)"),
        (("ldap",), r"ldap(?:search|modify|add|delete|whoami)", rf"-w{_SEP}"),
        (("zip", "7z"), r"zip|unzip|7za?|7zz", r"-P[ \t]{0,4}(?=\S)"),
        (("ipmitool",), r"ipmitool", rf"-P{_SEP}"),
        (("smbclient", "mount.cifs"), r"smbclient|mount\.cifs", rf"-U{_SEP}[^\s%\"']{{1,80}}%"),
        (("rabbitmqctl",), r"rabbitmqctl", rf"(?:add_user|change_password){_SEP}[\w.@-]{{1,80}}{_SEP}"),
        (("htpasswd",), r"htpasswd", rf"-[a-zA-Z]{{0,6}}b[a-zA-Z]{{0,6}}{_SEP}\S{{1,200}}{_SEP}[\w.@-]{{1,80}}{_SEP}"),
        (("vault",), r"vault", rf"login{_SEP}(?!-)(?=[\w.-]{{0,60}}[0-9])"),
        (("wandb",), r"wandb", rf"login{_SEP}(?:--[a-z-]{{1,20}}{_SEP}){{0,4}}(?=[0-9A-Za-z_-]{{32}})"),
        (("aws",), r"aws", rf"configure{_SEP}set{_SEP}(?:[\w.-]{{1,80}}\.)?aws_(?:secret_access_key|session_token){_SEP}"),
        (("ngrok",), r"ngrok", rf"(?:config{_SEP}add-)?authtoken{_SEP}"),
    )
)  # fmt: skip
_ENDS_COMMAND = lazily.pattern(r"[\n;|&]")
_VALUE = lazily.pattern(rf"{_VALUE_CHARS}{{1,512}}")

# One line of words: before the value, and the value. The value of a prose line needs letters and digits, or it is a word.
_MIXED = r"(?=[^\s\"']{0,64}[0-9])(?=[^\s\"']{0,64}[A-Za-z])"
_AT_ONCE = r"(?!(?:md5|sha-?[0-9]{1,3}|scram|base64|utf-?8|bcrypt|argon2|pbkdf2|aes|rsa|ed25519|v[0-9]|\d+[a-z]{1,5}\b|0x|[A-Za-z]{1,20}Error)(?![A-Za-z0-9]))"
_LINES = tuple(
    (hint, lazily.pattern(pattern))
    for hint, pattern in (
        # ~/.netrc, in one line or over several
        ("password", r"(?i)(?:machine[ \t]{1,4}\S{1,255}|default)[ \t]{1,4}login[ \t]{1,4}\S{1,255}[ \t]{1,4}password[ \t]{1,4}"),
        ("password", rf"(?im)^[ \t]{{0,8}}password[ \t]{{1,8}}(?={_MIXED}\S{{5,200}}[ \t\r]{{0,8}}$)"),
        ("login ", r"(?im)\blogin[ \t]{1,4}[\w.@-]{1,100}[ \t]{1,4}password[ \t]{1,4}"),
        ("pass", rf"(?i)\bpass(?:word|phrase|code)s?[ \t]{{1,4}}(?:is|was|set[ \t]to|changed[ \t]to)[ \t]{{0,4}}[:=]?[ \t]{{0,4}}[\"'`]?{_AT_ONCE}(?={_MIXED}[^\s\"']{{5}})"),
        ("key", rf"(?i)\b(?:api|access|secret)[ _-](?:access[ _-])?key[\"']?[ \t]{{1,4}}(?:(?:is|was)[ \t:]{{1,4}})?[\"']?(?={_MIXED}[A-Za-z0-9_+/.-]{{16}})"),
        ("oken", rf"(?i)\b(?:access|session|api|auth|refresh|secret|bearer)[_-]token[ \t]{{1,4}}[\"']?(?={_MIXED}[A-Za-z0-9_+/.-]{{16}})"),
        ("-key-data", r"(?i)\bclient-key-data[\"']?[ \t\x00]{0,4}[:=]?[ \t\x00]{0,4}[\"']?(?=[A-Za-z0-9+/]{16})"),
        # the two halves of an AWS key, side by side as people paste them
        ("ia", r"(?<![A-Z0-9])A[KS]IA(?:[0-9A-Z]{16}|\[masked\])[\"']?[ \t:,;/|]{1,4}[\"']?(?=[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=]))"),
        ("wandb", r"(?i)wandb[^\n]{0,100}?(?:\bkey\b|wandb\.ai)[^\n]{0,40}?(?<![0-9a-zA-Z/])(?=[0-9a-f]{40}(?![0-9a-zA-Z]))"),
        ("echo", r"\becho[ \t]{1,4}(?:-n[ \t]{1,4})?[\"']?(?=[^\s\"'|]{1,200}[\"']?[ \t]{0,4}\|[ \t]{0,4}(?:sudo[ \t]{1,4}-\w{0,4}S|docker[ \t]login|podman[ \t]login|su\b|kinit\b|passwd\b))"),
        ("echo", r"\becho[ \t]{1,4}(?:-n[ \t]{1,4})?[\"']?[\w.-]{1,64}:(?=[^\s\"'|]{1,200}[\"']?[ \t]{0,4}\|[ \t]{0,4}(?:sudo[ \t]{1,4})?chpasswd)"),
    )
)  # fmt: skip


def command_spans(text: str) -> list[Span]:
    """The passwords that programs are given by a flag that other programs use for something else."""
    spans: list[Span] = []
    for hints, program, before in _PROGRAMS:
        if not any(hint in text for hint in hints):
            continue
        for found in program.finditer(text):
            limit = min(len(text), found.end() + _COMMAND_CHARS)
            stop = _ENDS_COMMAND.search(text, found.end(), limit)
            end = stop.start() if stop else limit
            for flag in before.finditer(text, found.end(), end):
                spans += _value(text, flag.end())
    return _in_order(spans)


def line_spans(text: str) -> list[Span]:
    """The values that stand behind plain words, where those can mean nothing else."""
    low = text.lower()
    spans: list[Span] = []
    for hint, pattern in _LINES:
        if hint in low:
            for found in pattern.finditer(text):
                spans += _value(text, found.end())
    return _in_order(spans)


def _value(text: str, at: int) -> list[Span]:
    if text[at : at + 1] in {"'", '"'}:
        return cover(text, at)[0]
    found = _VALUE.match(text, at)
    return span(text, at, found.end()) if found else []


def _in_order(spans: list[Span]) -> list[Span]:
    """Sorted, and none within another."""
    kept: list[Span] = []
    for start, end in sorted(spans):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept

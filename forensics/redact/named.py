"""Secrets that are known by the name before them: flags, assignments, headers, logins in URLs. Never by what they look like."""

from __future__ import annotations

import re

from forensics import lazily
from forensics.redact.cover import ENDS, HARMLESS, NUMBER, QUERY_RUN, RUN, Span, cover, cover_header, end_of_run, span

_LOGIN = lazily.pattern(r"//(?<!///)([^\s/:'\"]{0,256}):(?!\d{1,5}[/,;?#])")  # a number before a slash is a port
_AUTHORITY = lazily.pattern(r"[^\s/'\"]+")
# All of these are matched on lower-case text: re skips fast over letters only where the case is plain. The counts of a
# server (#token: 1234) are left out here, because every line has some.
_CORE = (
    r"(passwo?r?ds?|pass(?:phrases?|codes?)?|pwd|secret(?:[_-]?access)?(?:[_-]?key)?(?:[_-]?base)?s?|credentials?|creds?"
    r"|tokens?(?![\"']?[ \t]{0,4}:[ \t]{0,4}[0-9]{1,7}(?:[,\s]|$))|keys?|auth(?:orization)?|cookies?|sig(?:nature)?)"
)
_COLOUR = r"(?:\x1b\[[0-9;:]{0,16}m){0,2}"
_ASSIGN = rf"(?:\\{{0,7}}[\"']|&quot;|%22)?{_COLOUR}[ \t]{{0,4}}(?:={{1,3}}>?|:=?|%(?:25)?3[ad])[ \t]{{0,4}}{_COLOUR}(?:&quot;|%22)?"
_NAMED = lazily.pattern(rf"{_CORE}({_ASSIGN}|[\"'],[ \t]{{0,4}}(?=b?[\"']))")
# a flag and its value: in a command, in a printed list (also over lines), in a YAML list
_FLAG = lazily.pattern(
    rf"-(?<![\w-]-)(-?(?!-)[a-z0-9_-]{{0,80}}?){_CORE}([ \t\x00]{{1,4}}(?:\\\r?\n[ \t]{{0,80}})?|[\"'],\s{{0,80}}(?=[\"'])|[\"']?\r?\n[ \t]{{0,80}}-[ \t]{{1,4}}"
    # kubectl describe: an argument a line, and nothing before it
    r"|\r?\n[ \t]{1,80}(?=[^\s-])(?=\S{0,64}[0-9])(?=\S{8}))"
)
# One more value of the same flag. A key travels in a header, so it is ASCII.
_NEXT = lazily.pattern(r"[ \t\x00]{1,4}(?=[\"']|[!-~]{1,512}(?:[\s\"'\x00]|$))(?![;|&<>(){}\\\[\]-]|[\"']-|2>)")
_NEXT_ITEM = lazily.pattern(r",\s{0,80}(?=[\"'](?!-))")
_OWNER_CHARS = "abcdefghijklmnopqrstuvwxyz0123456789_./#$?&~-"
_QUERY = lazily.pattern(r"[?&][a-z0-9_.-]{0,40}$")
_HEADER_OWNER = lazily.pattern(r"(?:api|auth)-$")
_OFF = lazily.pattern(r"-(?:no|disable|enable|with|without|require|skip)-")
_QUALIFIED_KEY = lazily.pattern(
    r"(?:api|access|private|auth|encryption|signing|licen[cs]e|master|account|storage|shared|client|consumer|service|admin|deploy|ssh|webhook|hmac"
    r"|subscription|session|sas|app|application)[_-]?$"
)
_QUALIFIED_KEYS = lazily.pattern(r"(?:api|access|private|auth|encryption|signing|master|admin)[_-]?$")
_QUALIFIED_TOKEN = lazily.pattern(
    r"(?:api|access|auth|bearer|refresh|secret|session|hf|hub|bot|csrf|xsrf|admin|personal|private|github|gitlab|slack|telegram|discord|registration"
    r"|service|security|jwt|oauth|login|join|vault|wandb|deploy|identity|webhook)[_-]?$"
)
# Token of the tokenizer's kind: eos_token='<|im_end|>', next token: the
_OF_TEXT = lazily.pattern(
    r"(?:^|[^a-z])(?:bos|eos|pad|unk|sep|cls|mask|image|video|audio|special|stop|next|first|last|new|extra|draft|prompt|thinking|end|start|tool|per|max|min|num)[_-]$"
)
_METHOD = lazily.pattern(rf"(?:basic|bearer|digest|ldap|oauth2?|md5|scram-sha-256|trust|peer|disabled|enabled){ENDS}|<")
_PLACE = lazily.pattern(r"<|\{[a-z_]{1,20}\}")
# an entry of env: in a pod, {"name": "DB_PASSWORD", "value": "x"}, in one line or two
_ENTRY_OF_ENV = lazily.pattern(
    r"\bname[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?[a-z0-9_.-]{0,80}(?:passw(?:or)?d|pass|pwd|token|secret|api_?key|access_?key|private_?key|secret_?key|credentials?)"
    r"(?:_?[0-9]{1,3})?[\"']?,?\s{0,80}[\"']?value[\"']?[ \t]{0,4}[:=][ \t]{0,4}(?=[^\s,}])"
)
_NEXT_NAME = lazily.pattern(r"[a-z_][a-z0-9_]{0,80}=")
_SMALL = lazily.pattern(rf"[0-9]{{1,3}}{ENDS}")
_TYPE = lazily.pattern(r"(?:str|string|bytes|bool|int|any|optional|union|list|secretstr)\b(?=[ ]{0,2}[|\[,)=]|[ ]{0,2}(?:\n|$))")
_ATTRIBUTE = lazily.pattern(rf"(?:self|args|server_args|config|cfg|settings|kwargs|os)\.[a-z_.]{{1,80}}(?:\(\))?{ENDS}")
_PATH = lazily.pattern(rf"(?:~|\.{{1,2}})?/[\w./-]{{0,200}}{ENDS}|[~.]{ENDS}")
_FILE = lazily.pattern(rf"(?:~|\.{{1,2}})?/[\w./-]{{0,200}}\.[a-z]{{2,5}}{ENDS}")
_WORD = lazily.pattern(r"[^\W\d_]{1,19}(?=[\s\"',;.:)\]}]|$)")
_WORDS = lazily.pattern(r"[a-z]{1,19} {1,4}[a-z(]")
_FLAG_PROSE = lazily.pattern(r"(?:to|or|and|is|are|was|flag|option|argument|with|for|the|must|if|in|not|when|has|can|should|as)(?=[\s,.]|$)")
# behind one key only: where a second one could stand, a sentence goes on
_MORE_PROSE = lazily.pattern(
    r"(?:exited|failed|died|crashed|started|stopped|returned|killed|then|but|because|while|after|before|from|at|on|by|via|which|that|it|does|did|will)(?=[\s,.]|$)"
)
# What the system says of a call that failed, of two words and more: no value that is not quoted has a space
_FAULT = lazily.pattern(
    r"(?:invalid argument|permission denied|operation not (?:permitted|supported)|no such (?:file or directory|process|device)|not a directory|is a directory"
    r"|file exists|bad address|input/output error|resource temporarily unavailable|device or resource busy|too many open files|no space left on device"
    r"|read-only file system|function not implemented|protocol error|bad message|cannot allocate memory|invalid cross-device link|required key not available"
    r"|key has (?:expired|been revoked)|connection (?:refused|timed out|reset by peer)|broken pipe|value too large for defined data type|no data available)"
    r"(?=\.?[ \t]{0,4}(?:$|[\r\n\x00\x1b\"')\]};,]))"
)
_SIGNED = lazily.pattern(r"[\"']?(?=[a-z%+/=_.-]{0,200}[0-9])(?=[0-9%+/=_.-]{0,200}[a-z])[a-z0-9%+/=_.-]{8}")


def lower(text: str) -> str:
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower() if c.isascii() else c for c in text)


def login_spans(text: str) -> list[Span]:
    """Passwords in URLs: up to the last @ of the authority; only where the authority has none may a password hold a slash."""
    spans: list[Span] = []
    done = 0
    for match in _LOGIN.finditer(text):
        at = match.end()
        if match.start() < done:
            continue
        last = text.rfind("@", at, end_of_run(text, at, _AUTHORITY, trim=False))
        if last < 0 and "@" not in match[1]:
            done = end_of_run(text, at, RUN, trim=False)
            last = text.rfind("@", at, done)
        if last > at:
            spans += span(text, at, last)
            done = last
    return spans


def flag_spans(text: str, low: str) -> list[Span]:
    spans: list[Span] = []
    done = 0
    for match in _FLAG.finditer(low):
        before, core, between, at = f"-{match[1]}", match[2], match[3], match.end()
        if match.start() < done or _OFF.search(before) or core.startswith("sig") or not _is_secret(core, before):
            continue
        if low[at : at + 1] in "-;|&<>" or (between[0] not in "\"'" and _FLAG_PROSE.match(low, at)) or _stays(core, before, between, low, at):
            continue
        # the help of a program: [--api-key API_KEY], [--api-key [API_KEY ...]]
        if re.compile(rf"\[?{re.escape((before.lstrip('-') + core).replace('-', '_').upper())}(?=[\s\]])").match(text, at):
            continue
        after = _NEXT_ITEM if between[0] in "\"'" else _NEXT
        found, done = cover(text, at)
        spans += found
        several = core.startswith("key") and before.endswith(("api-", "api_", "api"))  # --api-key K1 K2
        while several and (more := after.match(low, done)) and not (_FLAG_PROSE.match(low, more.end()) or _MORE_PROSE.match(low, more.end())):
            found, done = cover(text, more.end())
            spans += found
    return spans


def named_spans(text: str, low: str) -> list[Span]:
    spans: list[Span] = []
    done = 0
    for match in _NAMED.finditer(low):
        start, core, between, at = match.start(), match[1], match[2], match.end()
        if start < done or at == len(text):
            continue
        window = low[max(0, start - 64) : start]
        before = window[len(window.rstrip(_OWNER_CHARS)) :]
        # camelCase is as good as a hyphen: accessToken, dbPass
        hump = before[-1:].isalpha() and text[start].isupper() and text[start - 1].islower()
        if not _is_secret(core, f"{before}-" if hump else before):
            continue
        if "," in between and not (core in {"authorization", "cookie"} or _HEADER_OWNER.search(before)):
            continue  # ('authorization', 'Bearer …') is a header, ('token', 'user') is not
        if ("/" in before and ":" in between and not _QUERY.search(before)) or _stays(core, before, between, low, at, text[start].isupper()):
            continue
        if core in {"authorization", "cookie"}:
            found, done = cover_header(text, low, start - len(before), at, core)
        else:
            found, done = cover(text, at, QUERY_RUN if _QUERY.search(before) else RUN, numbers=core.startswith(("token", "auth")))
        spans += found
    return spans


def entry_spans(text: str, low: str) -> list[Span]:
    """The values of ``env`` entries whose name is a secret's."""
    spans: list[Span] = []
    for match in _ENTRY_OF_ENV.finditer(low):
        if not HARMLESS.match(low, match.end() + (low[match.end()] in "\"'")):
            spans += cover(text, match.end())[0]
    return spans


def _is_secret(core: str, before: str) -> bool:
    """Whether the word, with what stands before it in the same name, names a secret at all."""
    if core.startswith(("passw", "passp", "passc", "secret", "cred")):
        return True
    if core.startswith("key"):
        return bool((_QUALIFIED_KEY if core == "key" else _QUALIFIED_KEYS).search(before) or before.endswith(("?", "&")))
    if core == "tokens":
        return bool(_QUALIFIED_TOKEN.search(before))
    return not before[-1:].isalnum() or (core == "token" and bool(_QUALIFIED_TOKEN.search(before)))


def _stays(core: str, before: str, between: str, low: str, at: int, upper: bool = False) -> bool:
    """Whether the value at ``at`` is none that has to be hidden. Looks at a bounded piece of it only."""
    inner = at + 1 if low[at : at + 1] in {'"', "'"} else at
    prose = ":" in between and between[0] not in "\"'\\"
    if HARMLESS.match(low, inner) or (prose and _FAULT.match(low, at)) or _ATTRIBUTE.match(low, at) or (":" in between and _TYPE.match(low, at)):
        return True
    if between == "= " and _NEXT_NAME.match(low, at):  # an empty one: HF_TOKEN= PORT=30000
        return True
    if core.startswith("key"):
        return bool(_FILE.match(low, inner))
    if core == "passwd" and prose:  # the program: passwd: permission denied
        return before.endswith("no") or bool(_WORDS.match(low, at))
    if core.startswith(("passw", "passp", "passc", "secret", "cred")):
        return False
    if core.startswith("sig"):
        return not (_QUERY.search(before) or ("=" in between and _SIGNED.match(low, at)))
    if core.startswith("token"):
        if _OF_TEXT.search(before) or _PLACE.match(low, inner):
            return True
        if NUMBER.match(low, inner):
            return core == "tokens" or not _QUALIFIED_TOKEN.search(before)
        # prose ("unexpected token: identifier") and the tokens of a text: a bare word behind a colon is no secret
        return before in {"", "#"} and ":" in between and bool(_WORD.match(low, inner))
    if NUMBER.match(low, inner) and (core not in {"pass", "pwd"} or not upper or "=" not in between or _SMALL.match(low, inner)):
        return True
    if core == "pwd":
        return bool(_PATH.match(low, inner))
    if core in {"pass", "auth"} and prose:  # "auth: could not identify", "PASS: test_1"
        run = RUN.match(low, at, at + 64)
        return (upper and core == "pass" and before[-1:] not in {"_", "-"}) or run is None or not any(c.isdigit() for c in run[0])
    return core == "auth" and bool(_METHOD.match(low, inner))

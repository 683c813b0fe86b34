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

# Whole blocks first, then logins in URLs, names with a value, and last the values that are known by their own shape. Names are found by
# their last word alone and looked at from there: a pattern that begins with any word would be tried at every letter of every line.

_BEGIN, _END = r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----", r"-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_PRIVATE_KEY = re.compile(rf"({_BEGIN})((?:(?!-----BEGIN ).){{0,20000}}?)({_END})", re.DOTALL)
# Cut off before its end: only lines that end like a key. A message that merely names the marker must not cost the log behind it.
_OPEN_PRIVATE_KEY = re.compile(rf"({_BEGIN})((?:\s{{0,4}}[^\n]{{0,200}}?[A-Za-z0-9+/]{{24,}}={{0,2}}[ \t\r]{{0,4}}(?=\n|$)){{1,400}})()")
_LAST_WORD = re.compile(r"\S+(?=\s*$)")

_LOGIN = re.compile(r"//(?<!///)([^\s/:'\"]{0,256}):(?!\d{1,5}[/,;?#])")  # a number before a slash is a port
_AUTHORITY = re.compile(r"[^\s/'\"]+")
_URL_TOKEN = re.compile(r"(?i)(https?://)([^/\s:@'\"]{20,1024})@")
_WEBHOOK = re.compile(r"(?i)(hooks\.slack\.com/[a-z]{1,20}/|discord(?:app)?\.com/api/webhooks/|\.webhook\.office\.com/)([a-z0-9_@/-]{8,512})")

_BEARER = re.compile(
    r"(?i)\b(bearer[ \t]{1,4})(?!(?:tokens?|auth[a-z]{0,20}|schemes?|realm|errors?|format|prefix|headers?|credentials?|required)\b)([a-z0-9._~+/=-]{8,})"
)
_BASIC = re.compile(r"\b([Bb]asic[ \t]{1,4})(?=[A-Za-z0-9+/]{0,40}(?:[0-9=]|[a-z][A-Z]))([A-Za-z0-9+/=]{8,})")
_DIGEST = re.compile(r"(?i)\b(digest[ \t]{1,4})(?=username=)([^\n]{1,4096})")

_SHAPES = re.compile(
    r"(?<![A-Za-z0-9_])(?:"
    r"((?:hf|npm|r8|gsk)_)[A-Za-z0-9]{16,}"
    r"|(sk-|nvapi-|xai-)[A-Za-z0-9_-]{16,}"
    r"|([rs]k_(?:live|test)_|whsec_)[A-Za-z0-9]{8,}"
    r"|(AIza)[A-Za-z0-9_-]{35}"
    r"|((?:AKIA|ASIA))[0-9A-Z]{16}(?![0-9A-Z])"
    r"|(gh[pousr]_|github_pat_|gl(?:pat|dt|rt|ptt)-|xox[abeprs]-|xapp-|dckr_[po]at_)[A-Za-z0-9_-]{10,}"
    r"|(pypi-)(?=[A-Za-z0-9_-]{0,40}[A-Z])[A-Za-z0-9_-]{16,}"
    r"|(eyJ)[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}"
    r"|((?:bot)?[0-9]{6,12}:)(?=[a-z0-9_-]{0,40}[A-Z])[A-Za-z0-9_-]{30,}"
    r")"
)
_SHAPE_HINT = re.compile(
    r"hf_|npm_|r8_|gsk_|sk-|nvapi-|xai-|sk_live|sk_test|rk_live|rk_test|whsec_|AIza|AKIA|ASIA|ghp_|gho_|ghu_|ghs_|ghr_|github_pat_|gl[pdr]|xox|xapp-"
    r"|dckr_|pypi-|eyJ|[0-9]:[A-Za-z0-9_-]{30}"
)

# All of these are matched on lower-case text: re skips fast over letters only where the case is plain. The counts of a
# server (#token: 1234) are left out here, because every line has some.
_CORE = (
    r"(passwo?r?ds?|pass(?:phrases?|codes?)?|pwd|secret(?:[_-]?access)?(?:[_-]?key)?(?:[_-]?base)?s?|credentials?|creds?"
    r"|tokens?(?![\"']?[ \t]{0,4}:[ \t]{0,4}[0-9]{1,7}(?:[,\s]|$))|keys?|auth(?:orization)?|cookies?|sig(?:nature)?)"
)
_COLOUR = r"(?:\x1b\[[0-9;:]{0,16}m){0,2}"
_ASSIGN = rf"(?:\\{{0,7}}[\"'])?{_COLOUR}[ \t]{{0,4}}(?:={{1,3}}>?|:=?|%3[ad])[ \t]{{0,4}}{_COLOUR}"
_NAMED = re.compile(rf"{_CORE}({_ASSIGN}|[\"'],[ \t]{{0,4}}(?=b?[\"']))")
# a flag and its value: in a command, in a printed list (also over lines), in a YAML list
_FLAG = re.compile(
    rf"-(?<![\w-]-)(-?(?!-)[a-z0-9_-]{{0,80}}?){_CORE}([ \t\x00]{{1,4}}(?:\\\r?\n[ \t]{{0,80}})?|[\"'],\s{{0,80}}(?=[\"'])|[\"']?\r?\n[ \t]{{0,80}}-[ \t]{{1,4}})"
)
# One more value of the same flag. A key travels in a header, so it is ASCII.
_NEXT = re.compile(r"[ \t\x00]{1,4}(?=[\"']|[!-~]{1,512}(?:[\s\"'\x00]|$))(?![;|&<>(){}\\\[\]-]|[\"']-|2>)")
_NEXT_ITEM = re.compile(r",\s{0,80}(?=[\"'](?!-))")
_OWNER_CHARS = "abcdefghijklmnopqrstuvwxyz0123456789_./#$?&~-"
_QUERY = re.compile(r"[?&][a-z0-9_.-]{0,40}$")
_HEADER_OWNER = re.compile(r"(?:api|auth)-$")
_OFF = re.compile(r"-(?:no|disable|enable|with|without|require|skip)-")

_QUALIFIED_KEY = re.compile(
    r"(?:api|access|private|auth|encryption|signing|licen[cs]e|master|account|storage|shared|client|consumer|service|admin|deploy|ssh|webhook|hmac"
    r"|subscription|session|sas|app|application)[_-]?$"
)
_QUALIFIED_KEYS = re.compile(r"(?:api|access|private|auth|encryption|signing|master|admin)[_-]?$")
_QUALIFIED_TOKEN = re.compile(
    r"(?:api|access|auth|bearer|refresh|secret|session|hf|hub|bot|csrf|xsrf|admin|personal|private|github|gitlab|slack|telegram|discord|registration"
    r"|service|security|jwt|oauth|login|join|vault|wandb|deploy|identity|webhook)[_-]?$"
)
# Token of the tokenizer's kind: eos_token='<|im_end|>', next token: the
_OF_TEXT = re.compile(
    r"(?:^|[^a-z])(?:bos|eos|pad|unk|sep|cls|mask|image|video|audio|special|stop|next|first|last|new|extra|draft|prompt|thinking|end|start|tool|per|max|min|num)[_-]$"
)

_ENDS = r"(?=\.?(?:[\"'\s)}\]&\x1b]|$|[,;](?:[\s\"']|$|\w{1,80}=)))"
_HARMLESS = re.compile(rf"(?:none|null|nil|true|false|yes|no|auto|empty|set|unset|required|\*{{3,40}}|%[sdr]|<[a-z_ -]{{1,20}}>){_ENDS}")
_METHOD = re.compile(rf"(?:basic|bearer|digest|ldap|oauth2?|md5|scram-sha-256|trust|peer|disabled|enabled){_ENDS}|<")
_PLACE = re.compile(r"<|\{[a-z_]{1,20}\}")
_NEXT_NAME = re.compile(r"[a-z_][a-z0-9_]{0,80}=")
_NUMBER = re.compile(rf"[-+]?[0-9][0-9_,.]{{0,40}}(?:e[-+]?[0-9]{{1,4}})?(?:%|[kmgt]i?b?|ms|s)?{_ENDS}")
_SMALL = re.compile(rf"[0-9]{{1,3}}{_ENDS}")
_TYPE = re.compile(r"(?:str|string|bytes|bool|int|any|optional|union|list|secretstr)\b(?=[ ]{0,2}[|\[,)=]|[ ]{0,2}(?:\n|$))")
_ATTRIBUTE = re.compile(rf"(?:self|args|server_args|config|cfg|settings|kwargs|os)\.[a-z_.]{{1,80}}(?:\(\))?{_ENDS}")
_PATH = re.compile(rf"(?:~|\.{{1,2}})?/[\w./-]{{0,200}}{_ENDS}|[~.]{_ENDS}")
_FILE = re.compile(rf"(?:~|\.{{1,2}})?/[\w./-]{{0,200}}\.[a-z]{{2,5}}{_ENDS}")
_WORD = re.compile(r"[^\W\d_]{1,19}(?=[\s\"',;.:)\]}]|$)")
_WORDS = re.compile(r"[a-z]{1,19} {1,4}[a-z(]")
_FLAG_PROSE = re.compile(r"(?:to|or|and|is|are|was|flag|option|argument|with|for|the|must|if|in|not|when|has|can|should|as)(?=[\s,.]|$)")
_SIGNED = re.compile(r"[\"']?(?=[a-z%+/=_.-]{0,200}[0-9])(?=[0-9%+/=_.-]{0,200}[a-z])[a-z0-9%+/=_.-]{8}")

_SCHEME = re.compile(r"(?:bearer|basic|token|apikey|api-key|key|negotiate|ntlm)[ \t]{1,4}(?=\S)")
_LONG_SCHEME = re.compile(r"(?:digest|aws4-hmac-sha256|hawk|oauth|signature|gnap|dpop)[ \t]{1,4}(?=\S)")

_WRAPPER = re.compile(r"<?[A-Za-z_][\w.]{0,80}\((?:\w{1,30}=)?(?=[bBuUrRfF]{0,2}[\"'])")
_QUOTE = re.compile(r"[bBuUrRfF]{0,2}(\\{0,7})([\"'])(?:\2\2)?")
_RUN = re.compile(r"[^\s\"'\x00\x1b]+")
_QUERY_RUN = re.compile(r"[^\s\"'\x00\x1b&#]+")
_JOINED_QUOTE = re.compile(r"[\"'](?=\w)")
_ITEM = re.compile(rf"{re.escape(MASK)}|[ \t\r]+|\n|[,:]|[\[({{]|[\])}}]|[bBuU]?\\{{0,7}}[\"']|[^\s,:\[\](){{}}\"'\\]+|\\")
_KEY_OF_MAP = re.compile(r"[A-Za-z_]{1,20}\\{0,7}[\"']\s{0,4}:")
_AFTER_GROUP = re.compile(r"[\s,;)}\]\"'&.|<>\\\x1b]|$")
_GROUP_CHARS, _BARE_GROUP_CHARS = 1 << 16, 256
_ROUNDS = 4

_Span = tuple[int, int]


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
    if "//" in text:
        if "@" in text:
            text = _without(text, _login_spans(text))
            text = _URL_TOKEN.sub(lambda m: f"{m[1]}{MASK}@", text)
        text = _WEBHOOK.sub(lambda m: f"{m[1]}{MASK}", text) if "hook" in text else text
    low = _lower(text)
    if spans := _flag_spans(text, low):
        text = _without(text, spans)
        low = _lower(text)
    text = _without(text, _named_spans(text, low))
    for word, pattern in (("earer", _BEARER), ("asic", _BASIC), ("igest", _DIGEST), ("EARER", _BEARER)):
        if word in text:
            text = pattern.sub(lambda m: f"{m[1]}{MASK}", text)
    if _SHAPE_HINT.search(text):
        text = _SHAPES.sub(lambda m: f"{next(g for g in m.groups() if g)}{MASK}", text)
    return text


def _lower(text: str) -> str:
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower() if c.isascii() else c for c in text)


def _without(text: str, spans: list[_Span]) -> str:
    pieces, done = [], 0
    for start, end in spans:
        pieces += [text[done:start], MASK]
        done = end
    return "".join([*pieces, text[done:]]) if pieces else text


def _masked_key(match: re.Match[str]) -> str:
    # Line by line: what stands before the key in a line (a stamp) stays, and so do the numbers of the lines.
    first, *lines = match[2].split("\n")
    if not lines:
        return f"{match[1]}{MASK}{match[3]}"
    masked = [_LAST_WORD.sub(MASK, line) for line in (first, *(lines if not match[3] else lines[:-1]))]
    return match[1] + "\n".join(masked if not match[3] else [*masked, lines[-1]]) + match[3]


# --------------------------------------------------------------------------- names and their values


def _login_spans(text: str) -> list[_Span]:
    """Passwords in URLs: up to the last @ of the authority; only where the authority has none may a password hold a slash."""
    spans: list[_Span] = []
    done = 0
    for match in _LOGIN.finditer(text):
        at = match.end()
        if match.start() < done:
            continue
        last = text.rfind("@", at, _end_of_run(text, at, _AUTHORITY, trim=False))
        if last < 0 and "@" not in match[1]:
            done = _end_of_run(text, at, _RUN, trim=False)
            last = text.rfind("@", at, done)
        if last > at:
            spans += _span(text, at, last)
            done = last
    return spans


def _flag_spans(text: str, low: str) -> list[_Span]:
    spans: list[_Span] = []
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
        found, done = _cover(text, at)
        spans += found
        several = core.startswith("key") and before.endswith(("api-", "api_", "api"))  # --api-key K1 K2
        while several and (more := after.match(low, done)) and not _FLAG_PROSE.match(low, more.end()):
            found, done = _cover(text, more.end())
            spans += found
    return spans


def _named_spans(text: str, low: str) -> list[_Span]:
    spans: list[_Span] = []
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
            found, done = _cover_header(text, low, start - len(before), at, core)
        else:
            found, done = _cover(text, at, _QUERY_RUN if _QUERY.search(before) else _RUN, numbers=core.startswith(("token", "auth")))
        spans += found
    return spans


def _is_secret(core: str, before: str) -> bool:
    """Whether the word, with what stands before it in the same name, names a secret at all."""
    if core.startswith(("passw", "passp", "passc", "secret", "cred")):
        return True
    if core.startswith("key"):
        return bool((_QUALIFIED_KEY if core == "key" else _QUALIFIED_KEYS).search(before) or before.endswith(("?", "&")))
    if core == "tokens":
        return bool(_QUALIFIED_TOKEN.search(before))
    return not before[-1:].isalnum()


def _stays(core: str, before: str, between: str, low: str, at: int, upper: bool = False) -> bool:
    """Whether the value at ``at`` is none that has to be hidden. Looks at a bounded piece of it only."""
    inner = at + 1 if low[at : at + 1] in {'"', "'"} else at
    prose = ":" in between and between[0] not in "\"'\\"
    if _HARMLESS.match(low, inner) or _ATTRIBUTE.match(low, at) or (":" in between and _TYPE.match(low, at)):
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
        if _NUMBER.match(low, inner):
            return core == "tokens" or not _QUALIFIED_TOKEN.search(before)
        # prose ("unexpected token: identifier") and the tokens of a text: a bare word behind a colon is no secret
        return before in {"", "#"} and ":" in between and bool(_WORD.match(low, inner))
    if _NUMBER.match(low, inner) and (core not in {"pass", "pwd"} or not upper or "=" not in between or _SMALL.match(low, inner)):
        return True
    if core == "pwd":
        return bool(_PATH.match(low, inner))
    if core in {"pass", "auth"} and prose:  # "auth: could not identify", "PASS: test_1"
        run = _RUN.match(low, at, at + 64)
        return (upper and core == "pass") or run is None or not any(c.isdigit() for c in run[0])
    return core == "auth" and bool(_METHOD.match(low, inner))


def _cover(text: str, at: int, run: re.Pattern[str] = _RUN, *, numbers: bool = False) -> tuple[list[_Span], int]:
    """What to mask of the value that begins at ``at``, and where it ends: a quoted text, a list, or all up to the next space."""
    if not text.startswith(MASK, at):
        if wrapper := _WRAPPER.match(text, at):  # SecretStr('x')
            at = wrapper.end()
        if quote := _QUOTE.match(text, at):
            start, end = quote.end(), _closing(text, quote.end(), quote[2], len(quote[1]))
            return _span(text, start, end), min(len(text), end + len(quote[1]) + 1)
        if text[at : at + 1] in {"[", "(", "{"} and (group := _cover_group(text, at, numbers=numbers)):
            return group
    end = _end_of_run(text, at, run)
    return _span(text, at, end), end


def _cover_header(text: str, low: str, name: int, at: int, core: str) -> tuple[list[_Span], int]:
    """The value of an ``Authorization`` or ``Cookie`` header goes to the end of the line or of the quotes around it; its scheme stays."""
    if quote := _QUOTE.match(text, at):
        at = quote.end()
        end = _closing(text, at, quote[2], len(quote[1]))
    elif around := text[name - 1 : name] if text[name - 1 : name] in {'"', "'"} else "":
        end = _closing(text, at, around, 0)
    elif text[at : at + 1] in {"[", "(", "{"} and not text.startswith(MASK, at) and (group := _cover_group(text, at, numbers=False)):
        return group
    else:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
    if core == "authorization":
        if scheme := _SCHEME.match(low, at, end):
            at = scheme.end()
            end = min(end, _end_of_run(text, at, _RUN))
        elif scheme := _LONG_SCHEME.match(low, at, end):
            at = scheme.end()
    while end > at and text[end - 1] in " \t\r":
        end -= 1
    return _span(text, at, end), end


def _cover_group(text: str, at: int, *, numbers: bool) -> tuple[list[_Span], int] | None:
    """The elements of a printed list, tuple, set or map; None if this is none. Over several lines only what is quoted belongs to it."""
    spans: list[_Span] = []
    depth, position, lines, quoted = 0, at, False, False
    while position < at + (_GROUP_CHARS if quoted else _BARE_GROUP_CHARS) and (item := _ITEM.match(text, position)):
        word, start, position = item[0], position, item.end()
        if word in {"[", "(", "{"}:
            depth += 1
        elif word in {"]", ")", "}"}:
            depth -= 1
            if depth == 0:
                return (spans, position) if _AFTER_GROUP.match(text, position) else None
        elif word[-1] in "\"'":
            quoted = quoted or not spans
            if key := _KEY_OF_MAP.match(text, position):
                position = key.end()
                continue
            slashes = word.count("\\")
            end = _closing(text, position, word[-1], slashes)
            spans += _span(text, position, end)
            position = min(len(text), end + slashes + 1)
        elif word == "\n":
            lines = True
        elif not (word == MASK or word.isspace() or word in {",", ":"}):
            if lines:
                return (spans, position) if quoted else None
            piece = text[start : start + 64].lower()
            if not (_HARMLESS.match(piece) or (numbers and _NUMBER.match(piece))):
                spans.append((start, position))
    return (spans, position) if quoted or position < len(text) else None  # cut off, or too long to be looked at again and again


def _span(text: str, start: int, end: int) -> list[_Span]:
    return [] if end <= start or (end - start == len(MASK) and text.startswith(MASK, start)) else [(start, end)]


def _closing(text: str, at: int, quote: str, slashes: int) -> int:
    """Where the quoted text that begins at ``at`` ends; ``slashes`` stood before its opening quote. Without an end: the end of the line."""
    found = text.find(quote, at)
    while found >= 0:
        first = found
        while first > at and text[first - 1] == "\\":
            first -= 1
        escapes = found - first
        if (escapes <= slashes) if slashes else escapes % 2 == 0:
            found = first if slashes else found
            break
        found = text.find(quote, found + 1)
    line = text.find("\n", at, found if found >= 0 else len(text))
    return line if line >= 0 else found if found >= 0 else len(text)


def _end_of_run(text: str, at: int, run: re.Pattern[str], *, trim: bool = True) -> int:
    end = at
    while match := run.match(text, end):
        end = match.end()
        if joined := _JOINED_QUOTE.match(text, end):  # pa'ss
            end = joined.end()
    for _ in range(8 if trim else 0):  # what closes a list or a call around the value is none of it
        last = text[end - 1 : end]
        if end <= at or text.startswith(MASK, end - len(MASK)):
            break
        opening = {")": "(", "]": "[", "}": "{"}.get(last)
        if last not in {",", ";", "\\"} and not (opening and text.count(last, at, end) > text.count(opening, at, end)):
            break
        end -= 1
    return end

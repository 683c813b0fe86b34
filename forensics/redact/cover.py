"""How far a secret reaches from where it begins: quotes, lists, headers, the next space. Never decides what is one."""

from __future__ import annotations

import re

from forensics import lazily

MASK = "[masked]"
ENDS = r"(?=\.?(?:[\"'\s)}\]&\x1b]|$|[,;](?:[\s\"']|$|\w{1,80}=)))"
HARMLESS = lazily.pattern(rf"(?:none|null|nil|true|false|yes|no|auto|empty|set|unset|required|\*{{3,40}}|%[sdr]|<[a-z_ -]{{1,20}}>){ENDS}")
NUMBER = lazily.pattern(rf"[-+]?[0-9][0-9_,.]{{0,40}}(?:e[-+]?[0-9]{{1,4}})?(?:%|[kmgt]i?b?|ms|s)?{ENDS}")
_SCHEME = lazily.pattern(r"(?:bearer|basic|token|apikey|api-key|key|negotiate|ntlm)[ \t]{1,4}(?=\S)")
_LONG_SCHEME = lazily.pattern(r"(?:digest|aws4-hmac-sha256|hawk|oauth|signature|gnap|dpop)[ \t]{1,4}(?=\S)")
_WRAPPER = lazily.pattern(r"<?[A-Za-z_][\w.]{0,80}\((?:\w{1,30}=)?(?=[bBuUrRfF]{0,2}[\"'])")
_QUOTE = lazily.pattern(r"[bBuUrRfF]{0,2}(\\{0,7})([\"'])(?:\2\2)?")
RUN = lazily.pattern(r"[^\s\"'\x00\x1b]+")
QUERY_RUN = lazily.pattern(r"[^\s\"'\x00\x1b&#]+")
_JOINED_QUOTE = lazily.pattern(r"[\"'](?=\w)")
_ITEM = lazily.pattern(rf"{re.escape(MASK)}|[ \t\r]+|\n|[,:]|[\[({{]|[\])}}]|[bBuU]?\\{{0,7}}[\"']|[^\s,:\[\](){{}}\"'\\]+|\\")
_KEY_OF_MAP = lazily.pattern(r"[A-Za-z_]{1,20}\\{0,7}[\"']\s{0,4}:")
_AFTER_GROUP = lazily.pattern(r"[\s,;)}\]\"'&.|<>\\\x1b]|$")
_GROUP_CHARS, _BARE_GROUP_CHARS = 1 << 16, 256
Span = tuple[int, int]


def without(text: str, spans: list[Span]) -> str:
    pieces, done = [], 0
    for start, end in spans:
        pieces += [text[done:start], MASK]
        done = end
    return "".join([*pieces, text[done:]]) if pieces else text


def cover(text: str, at: int, run: re.Pattern[str] = RUN, *, numbers: bool = False) -> tuple[list[Span], int]:
    """What to mask of the value that begins at ``at``, and where it ends: a quoted text, a list, or all up to the next space."""
    if not text.startswith(MASK, at):
        if wrapper := _WRAPPER.match(text, at):  # SecretStr('x')
            at = wrapper.end()
        if quote := _QUOTE.match(text, at):
            start, end = quote.end(), closing(text, quote.end(), quote[2], len(quote[1]))
            return span(text, start, end), min(len(text), end + len(quote[1]) + 1)
        if text[at : at + 1] in {"[", "(", "{"} and (group := _cover_group(text, at, numbers=numbers)):
            return group
    end = end_of_run(text, at, run)
    return span(text, at, end), end


def cover_header(text: str, low: str, name: int, at: int, core: str) -> tuple[list[Span], int]:
    """The value of an ``Authorization`` or ``Cookie`` header goes to the end of the line or of the quotes around it; its scheme stays."""
    if quote := _QUOTE.match(text, at):
        at = quote.end()
        end = closing(text, at, quote[2], len(quote[1]))
    elif around := text[name - 1 : name] if text[name - 1 : name] in {'"', "'"} else "":
        end = closing(text, at, around, 0)
    elif text[at : at + 1] in {"[", "(", "{"} and not text.startswith(MASK, at) and (group := _cover_group(text, at, numbers=False)):
        return group
    else:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
    if core == "authorization":
        if scheme := _SCHEME.match(low, at, end):
            at = scheme.end()
            end = min(end, end_of_run(text, at, RUN))
        elif scheme := _LONG_SCHEME.match(low, at, end):
            at = scheme.end()
    while end > at and text[end - 1] in " \t\r":
        end -= 1
    return span(text, at, end), end


def _cover_group(text: str, at: int, *, numbers: bool) -> tuple[list[Span], int] | None:
    """The elements of a printed list, tuple, set or map; None if this is none. Over several lines only what is quoted belongs to it."""
    spans: list[Span] = []
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
            end = closing(text, position, word[-1], slashes)
            spans += span(text, position, end)
            position = min(len(text), end + slashes + 1)
        elif word == "\n":
            lines = True
        elif not (word == MASK or word.isspace() or word in {",", ":"}):
            if lines:
                return (spans, position) if quoted else None
            piece = text[start : start + 64].lower()
            if not (HARMLESS.match(piece) or (numbers and NUMBER.match(piece))):
                spans.append((start, position))
    return (spans, position) if quoted or position < len(text) else None  # cut off, or too long to be looked at again and again


def span(text: str, start: int, end: int) -> list[Span]:
    return [] if end <= start or (end - start == len(MASK) and text.startswith(MASK, start)) else [(start, end)]


def closing(text: str, at: int, quote: str, slashes: int) -> int:
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


def end_of_run(text: str, at: int, run: re.Pattern[str], *, trim: bool = True) -> int:
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

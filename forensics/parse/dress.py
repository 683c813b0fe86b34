"""Take off a paste what a chat, a mail, an issue or a terminal has put around it: quote marks, indentation, line numbers, entities, fences, broken lines.

Line for line: what is read stands on the line of the file it stood on. Never changes a word of a line, and nothing where taking off shows no more than before.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

from forensics import lazily
from forensics.parse import prompt, shape
from forensics.parse.unwrap import clean, journal_line, separator

MAX_BYTES = 4 << 20
FILLER = "      \u200b"  # stands for a line that was joined to the one above: no parser takes it for anything, nor for an empty line
_LOOK = 400  # lines by which a paste is judged

_QUOTED = lazily.pattern(r"(?:> ?){1,6}")
_WHOLLY = 8  # lines
_BORDERS = ("│", "┃", "║")
_BORDER = lazily.pattern(r"^[│┃║] ?|\s*[│┃║]\s*$")
_OF_CURL = lazily.pattern(r"[<>*] (?:GET|POST|HEAD|PUT|HTTP/|Host:|User-Agent:|Accept:|Content-|Connected|Trying|TCP_NODELAY)")
_NUMBER = lazily.pattern(r"\s{0,10}(?P<n>\d{1,7})(?:[:|)] ?|\t| {1,4}(?:\| ?)?)")
_ENTITY = lazily.pattern(r"&(?:gt|lt|amp|quot|apos|nbsp|#39|#x27|#34|#96|#160);")
_ENTITIES = {
    "&gt;": ">", "&lt;": "<", "&amp;": "&", "&quot;": '"', "&apos;": "'", "&nbsp;": " ", "&#39;": "'", "&#x27;": "'", "&#34;": '"', "&#96;": "`", "&#160;": " ",
}  # fmt: skip
_DIGIT = lazily.pattern(r"\d")  # a level alone is a word of a table as well
_DIGITS = dict.fromkeys(map(ord, "0123456789"))
_NAMED = lazily.pattern(
    r"[A-Za-z][\w.-]{0,60} {0,20}\| |\[(?:pod|container)/|[\w.-]{2,60} [\w.-]{2,60} \d{4}-\d\d-\d\dT"
)  # whose line it is: compose, kubectl, stern
_TAG = lazily.pattern(r"<[A-Za-z/][^<>\n]{0,200}>")
_BREAK = lazily.pattern(r"<br ?/?>\s*$")
_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2007": " ", "\u2009": " ", "\u200b": None, "\ufeff": None})
_PAGER = lazily.pattern(r"(?:lines \d{1,7}-\d{1,7}(?:/\d{1,7} \(END\)| \(END\))?|\(END\)|~|\.\.\.skipping\.\.\.|:)\s*$")
# a fence of a paste ends what a command has answered
FENCE = lazily.pattern(
    r"\s{0,3}(?:```|~~~)[\w+. -]{0,40}\s*$|\s*\{(?:code|noformat|quote|panel)(?::[^}\n]{0,100})?\}\s*$"
    r"|\s*</?(?:details|summary|pre|code|blockquote)\b[^<>\n]{0,100}>(?:[^\n]{0,200}</(?:summary|details|pre|code)>)?\s*$"
)
_FENCE_HEAD = lazily.pattern(
    r"(?:\{(?:code|noformat)(?::[^}\n]{0,100})?\}|```(?:bash|console|shell|text|log|sh)?|<(?:pre|code)>(?:<code[^<>]{0,60}>)?)(?=\S)"
)
_FENCE_TAIL = lazily.pattern(r"(?:\{(?:code|noformat)\}|```|</code>|</pre>){1,3}\s*$")

_BARE_KEY = lazily.pattern(r"(?:Loaded|Drop-In|Transient|Active|Duration|Invocation|Docs|Process|Main PID|Cntrl PID|Status|Error|Tasks|Memory|CPU|CGroup|Condition|Assert|IP|IO"
                       r"|Triggers|TriggeredBy|FD Store|Until|Since|Trigger): ")  # fmt: skip
_BARE_LOADED = lazily.pattern(r"Loaded: (?:loaded|not-found|masked|error|bad-setting|bad) ?(?:\(|$)")
_BARE_ACTIVE = lazily.pattern(r"Active: (?:active|inactive|failed|activating|deactivating|reloading|maintenance)\b")
_BARE_MORE = lazily.pattern(r"(?:[├└│|`]|man:|https?://|/system\.slice/|\d{1,10} /\S)")
_BARE_HEAD = lazily.pattern(r"[\w:.\\@-]{1,250}\.(?:service|socket|timer|target|scope|mount)(?: - .*)?\s*$")

Lines = list[str]
Step = Callable[[Lines], "Lines | None"]


def undressed(data: bytes) -> bytes | None:
    """What was pasted, line for line; None where there was nothing around it, or too much to look at."""
    if len(data) > MAX_BYTES or not data.strip():
        return None
    lines = data.decode("utf-8", "replace").split("\n")
    changed = False
    for step in _STEPS:
        done = step(lines)
        if done is not None and done != lines:
            lines, changed = done, True
    return "\n".join(lines).encode("utf-8", "replace") if changed else None


def known(text: str) -> bool:
    """Whether a line is one of those that a parser goes by: of a journal, a state, a shell, or a program's log."""
    text = clean(text)
    return bool(
        journal_line(text) or separator(text) or shape.STATUS_HEAD.match(text) or shape.STATUS_LOADED.match(text) or shape.MISSING_UNIT.match(text)
        or ((logged := shape.LOGGED.match(text)) and _DIGIT.search(logged[0])) or prompt.command_in(text)
    )  # fmt: skip


# --------------------------------------------------------------------------- one line after another


def _spaces(lines: Lines) -> Lines | None:
    """Spaces that do not break, and what has no width: chats put them in."""
    if not any(c in line for line in lines for c in ("\u00a0", "\u202f", "\u2007", "\u200b", "\ufeff")):
        return None
    return [line.translate(_SPACES) for line in lines]


def _entities(lines: Lines) -> Lines | None:
    """Only where the whole paste was escaped: no sign stands for itself but in tags."""
    if not any(_ENTITY.search(line) for line in lines) or any("<" in (bare := _TAG.sub("", line)) or ">" in bare for line in lines):
        return None
    return [_ENTITY.sub(lambda m: _ENTITIES[m[0]], line) for line in lines]


def _breaks(lines: Lines) -> Lines | None:
    found = sum(1 for line in lines if _BREAK.search(line))
    return [_BREAK.sub("", line) for line in lines] if found >= 2 else None


def _quotes(lines: Lines) -> Lines | None:
    """Runs of lines that all begin with ``>``; where every line does, it is a quotation whatever the lines are."""
    said = [text for text in lines if text.strip()]
    if len(said) >= _WHOLLY and all(map(_quoted, said)):
        return [_QUOTED.sub("", text, count=1) for text in lines]
    return _runs(lines, _quoted, lambda text: _QUOTED.sub("", text, count=1), at_least=2)


def _quoted(text: str) -> bool:
    return bool(_QUOTED.match(text)) and not _OF_CURL.match(text)


def _bordered(lines: Lines) -> Lines | None:
    """What a pane of a terminal has drawn at its left edge, and at its right one."""
    said = [text for text in lines if text.strip()]
    if len(said) < _WHOLLY or 10 * sum(text[:1] in _BORDERS for text in said) < 9 * len(said):
        return None
    bare = [_BORDER.sub("", text) if text[:1] in _BORDERS else text for text in lines]
    tabular = sum(any(sign in text for sign in _BORDERS) for text in bare)
    return bare if 10 * tabular <= len(said) else None  # columns have borders between them


def _numbers(lines: Lines) -> Lines | None:
    """Line numbers: each one more than the one above."""
    found = [(at, m) for at, line in enumerate(lines) if line.strip() and (m := _NUMBER.match(line))]
    if len(found) < 3 or 10 * len(found) < 9 * sum(1 for line in lines if line.strip()):
        return None
    steps = sum(1 for (_, a), (_, b) in itertools.pairwise(found) if int(b["n"]) - int(a["n"]) == 1)
    if 10 * steps < 9 * (len(found) - 1):
        return None
    # of a right-aligned number and two spaces behind it, what is more belongs to the line
    sure = min(len(m[0]) - len(m[0].rstrip(" ")) for _, m in found) if not any("\t" in m[0] for _, m in found) else 0
    numbers = dict(found)
    bare = [line[len(numbers[at][0].rstrip(" ")) + sure :] if at in numbers else line for at, line in enumerate(lines)]
    return bare if _gain(lines, bare) else None


def _indents(lines: Lines) -> Lines | None:
    """Blocks that are indented as a whole, or all of it. Below a line of a journal that is not indented they are the further lines of its message."""
    journal = any(journal_line(clean(line)) is not None for line in lines if line[:1].isalnum() or line[:1] in "[<")
    for blocks in (_whole(lines), iter(()) if journal else _blocks(lines)):
        out, changed = list(lines), False
        for start, stop in blocks:
            block = lines[start:stop]
            width = min((len(line) - len(line.lstrip(" \t")) for line in block if line.strip()), default=0)
            if not width:
                continue
            bare = [line[width:] if line.strip() else line for line in block]
            if _gain(block, bare) and not shape.STATUS_LOADED.match(next(line for line in block if line.strip())):
                out[start:stop], changed = bare, True
        if changed:
            return out
    return None


def _fences(lines: Lines) -> Lines | None:
    """A fence on the line of the text it holds: ``{noformat}$ systemctl …``."""
    out = []
    for line in lines:
        if ("`" in line or "{" in line or "<" in line) and not FENCE.match(line):
            line = _FENCE_HEAD.sub("", line) if _FENCE_HEAD.match(line) and known(_FENCE_HEAD.sub("", line, count=1)) else line
            if (tail := _FENCE_TAIL.search(line)) and known(line):
                line = line[: tail.start()]
        out.append(line)
    return out


def _pagers(lines: Lines) -> Lines | None:
    """What less leaves on the screen; only where it says so."""
    if not any((line.startswith("lines ") and _PAGER.match(line)) or line.startswith("...skipping") for line in lines):
        return None
    return ["" if _PAGER.match(line) else line for line in lines]


def _status(lines: Lines) -> Lines | None:
    """A status whose indentation is lost, and perhaps its bullet: both are put back."""
    out = list(lines)
    for at, line in enumerate(lines):
        if not _BARE_LOADED.match(line) or not any(_BARE_ACTIVE.match(next_) for next_ in lines[at + 1 : at + 8]):
            continue
        head = at - 1
        while head >= 0 and at - head < 3 and not lines[head].strip():
            head -= 1
        if head >= 0 and _BARE_HEAD.match(lines[head]):
            out[head] = "● " + lines[head]
            for gap in range(head + 1, at):
                out[gap] = FILLER
        end = at
        while end < len(lines) and (_BARE_KEY.match(lines[end]) or _BARE_MORE.match(lines[end])):
            out[end] = "     " + lines[end]
            end += 1
    return out


# --------------------------------------------------------------------------- lines that a terminal has broken


def _wrapped(lines: Lines) -> Lines | None:
    """Lines broken at the width of a terminal are put together again; fillers keep the count."""
    full = [line.removesuffix("\r") for line in lines]
    width = max(map(len, full))
    broken = [at for at, line in enumerate(full[:-1]) if len(line) == width]
    if not 60 <= width <= 400 or len(broken) < 2 or sum(1 for line in full if line.strip()) > 20_000:
        return None
    if len({full[at].translate(_DIGITS) for at in broken}) < 2:
        return None  # one message, said again and again
    follows = [at for at in broken if _goes_on(full[at + 1])]
    heads = sum(1 for line in full if known(line) or shape.STATUS_KEY.match(line))
    if 10 * len(follows) < 9 * len(broken) or not heads:
        return None
    out = list(full)
    at = 0
    while at < len(out) - 1:
        stop, text = at + 1, full[at]
        # a terminal leaves the space out that would have been the last one of a row
        while (
            stop < len(full)
            and len(full[stop - 1]) in (width, width - 1)
            and _goes_on(full[stop])
            and (len(full[stop - 1]) == width or known(full[at]))
        ):
            text += ("" if len(full[stop - 1]) == width else " ") + full[stop]
            stop += 1
        if stop > at + 1:
            out[at] = text
            out[at + 1 : stop] = [FILLER] * (stop - at - 1)
        at = stop
    return out


def _goes_on(text: str) -> bool:
    """Whether a line can be the rest of the one above."""
    return bool(text.strip()) and not (
        _NAMED.match(text)
        or known(text)
        or shape.STATUS_KEY.match(text)
        or shape.STATE_WORD.fullmatch(text)
        or FENCE.match(text)
        or prompt.command_in(text) is not None
    )


# --------------------------------------------------------------------------- helpers


def _gain(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether more lines are known without what was around them."""
    seen = [at for at, line in enumerate(after) if line.strip()][:_LOOK]
    return sum(known(after[at]) for at in seen) > sum(known(before[at]) for at in seen)


def _runs(lines: Lines, has: Callable[[str], bool], bare: Callable[[str], str], *, at_least: int) -> Lines | None:
    out, changed, start = list(lines), False, 0
    while start < len(lines):
        stop = start
        while stop < len(lines) and has(lines[stop]):
            stop += 1
        if stop - start >= at_least:
            done = [bare(line) for line in lines[start:stop]]
            if _gain(lines[start:stop], done):
                out[start:stop], changed = done, True
        start = max(stop, start + 1)
    return out if changed else None


def _whole(lines: Lines) -> Iterator[tuple[int, int]]:
    yield 0, len(lines)


def _blocks(lines: Lines) -> Iterator[tuple[int, int]]:
    """Runs of lines that are indented or blank, between lines that are not."""
    start = None
    for at, line in enumerate([*lines, "."]):
        inside = not line.strip() or line[0] in " \t"
        if inside and start is None and line.strip():
            start = at
        elif not inside and start is not None:
            yield start, at
            start = None


_STEPS: tuple[Step, ...] = (_spaces, _entities, _breaks, _quotes, _bordered, _numbers, _indents, _fences, _pagers, _wrapped, _status)

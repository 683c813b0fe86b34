"""Tell a shell's prompt with the command behind it from a line of a log. Never runs a command and never looks at two lines, but to join one that goes on."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

from forensics import lazily
from forensics.parse import shape
from forensics.parse.unwrap import journal_line

_MAX = 400  # characters that are looked at for a prompt
_SIGN = "$#%>❯➜λ»✗✔"
_VENV = r"(?:\([\w./@ +-]{1,60}\) ){0,3}"
_BEFORE = r"(?:\[[\d:.]{5,12}\] ?|[╭┌]?[─-]{0,2}|[╰└]─{1,2} ?|[✔✘✗✓] )?"
# what is a prompt whatever follows it: somebody at a host, or one of the signs that only a shell draws
_SURE = lazily.pattern(
    rf"{_BEFORE}{_VENV}(?:[\w.-]{{1,64}}@[\w.-]{{1,128}}(?:(?:[: ~/\[(][^\s$#%>]{{0,100}}(?: [^\s$#%>]{{1,60}}){{0,2}} ?)?[$#]|:[^\s%>]{{0,100}}[%>]| [^\s%>]{{1,100}} [%>])(?= |$)"
    r"|\[[\w.-]{1,64}@[\w.-]{1,128} [^\]\n]{1,200}\][$#%](?= |$)"
    r"|\$(?= [\w./~\"'({-]|\s*$)"
    r"|❯(?= |$)|➜(?: {1,3}[\w~./-]{1,100}(?: [\w./-]{1,30}:\([\w./ -]{1,100}\))?(?: ?[✗✔*±])?)?(?= |$)"
    r"|PS [A-Z]:\\[^>\n]{0,200}>(?= |$)|PS [/~][^>\n]{0,200}>(?= |$)|[A-Z]:\\[^<>:|*?\"\n]{0,200}>(?=\S|$)"
    r"|(?:ba|z|da|k)?sh-\d{1,2}\.\d{1,2}[$#](?= |$)|[╰└]─{1,2}[$#%❯➜>λ](?= |$))"
    r" *(?P<command>\S.*)?$"
)
_TOOLS = (
    r"journalctl|systemctl|dmesg|ss|netstat|lsof|nvidia-smi|rocm-smi|curl|wget|docker|podman|kubectl|crictl|coredumpctl|loginctl|hostnamectl"
    r"|ssh(?= +(?:-|\S+@|\S+ +(?:['\"]|sudo|systemctl|journalctl|dmesg)))|(?:free|df|uptime)(?= -|$)"
)
# a bare sign, or a name before it: a prompt only before a command that gives evidence (configuration files have comments, and quotes begin alike)
_LIKELY = lazily.pattern(
    rf"{_BEFORE}{_VENV}(?:[\w.@~:/\\\[\]()+*-]{{1,60}}(?: [\w.@~:/\\\[\]()+*-]{{1,60}}){{0,3}} ?)?[{_SIGN}+] ?"
    rf"(?P<command>(?:(?:sudo|doas|env|time|watch|LC_ALL=\w+|LANG=\w+|TZ=\S+|-\w+)\s+){{0,4}}(?:/usr/s?bin/|/s?bin/)?(?:{_TOOLS})\b.*)$"
)
# typed on a line of its own where the prompt was left out
_BARE = lazily.pattern(
    r"(?:sudo (?:-\w+ )?)?(?:journalctl(?: -\S.*| \S+\.service.*)?|systemctl (?:status|show|is-active|is-failed|cat|list-units)(?: \S.*)?|dmesg(?: -\S.*)?)$"
)
_FIRST = frozenset(_SIGN + "+([╭┌╰└─-✔✘✓~/")
# p10k and the like write the time, the duration or the last status at the right edge
_RIGHT = lazily.pattern(
    r"\s{4,}(?:[✔✘✗✓↵|·]|\d{1,3} ?↵|\[?\d{1,2}:\d\d(?::\d\d)?(?: [AP]M)?\]?|\d{1,4}(?:\.\d)?m?s\b|(?:at |in )|[\w.-]{1,40}@[\w.-]{1,60}|[\[(<❮][^\n]{0,60}$)[^\n]{0,60}$"
)
_SMART = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u00a0": " ", "\u2011": "-"})
_DASH = lazily.pattern(r"(?<=\s)[\u2013\u2014](?=[a-z])")


class Typed(NamedTuple):
    """A command as it was typed (None: the prompt stood there empty), and how many lines it took."""

    command: str | None
    lines: int = 1
    prefix: str = ""  # the prompt itself


def typed(texts: Sequence[str], at: int, prefixes: Container[str] = ()) -> Typed | None:
    """The command that was typed at this line, or None where it is no prompt. A line that ends in a backslash goes on in the next.

    ``prefixes`` are the prompts met above: one of them alone is a prompt with nothing behind it, also where its sign alone would be none.
    """
    text = texts[at]
    if len(text) < _MAX and text.rstrip() in prefixes:
        return Typed(None, prefix=text.rstrip())
    found = command_in(text)
    if found is None:
        return None
    command, used = found or None, 1
    prefix = text.rstrip() if command is None else text[: text.find(command.split(" ", 1)[0])].rstrip()
    while command is not None and command.endswith("\\") and not command.endswith("\\\\") and at + used < len(texts) and used < 20:
        command = f"{command[:-1].rstrip()} {texts[at + used].strip().removeprefix('> ').strip()}"
        used += 1
    return Typed(command, used, prefix)


def command_in(text: str) -> str | None:
    """What stands behind a prompt (an empty string: nothing), or None where the line has none."""
    head = text[:_MAX].rstrip()
    if not head or not (head[0] in _FIRST or "@" in head[:80] or head.startswith(("PS ", "bash-", "sh-", "zsh-", "C:\\")) or _signed(head)):
        return None
    found = _SURE.match(head) or (_LIKELY.match(head) if not shape.LOGGED.match(head) else None)
    if found is None or journal_line(text) is not None:
        return None
    command = found["command"] or ""
    if command and len(text) > _MAX:
        command = text[found.start("command") :].rstrip()
    return straight(_RIGHT.sub("", command))


def bare_command(text: str) -> str | None:
    """A command that gives evidence, alone on its line and without any prompt."""
    found = _BARE.match(text[:_MAX].strip()) if len(text) < _MAX else None
    return straight(found[0]) if found else None


def straight(command: str) -> str:
    """Without what a chat makes of quotes and dashes: a curly quote is no quote for a shell, and ``—no-pager`` was ``--no-pager``."""
    return _DASH.sub("--", command.translate(_SMART)).strip()


def _signed(head: str) -> bool:
    """A sign of a prompt near the beginning, with a word behind it that a shell might run."""
    at = min((i for sign in "$#%>❯" if (i := head.find(sign, 0, 80)) >= 0), default=-1)
    return at >= 0 and head[at + 1 : at + 2] in (" ", "") and not head[:1].isspace()

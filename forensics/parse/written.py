"""Tell lines that somebody wrote about failures, or for them, from lines that a program printed. Judges no cause, and reads nothing that is large.

A program prints a stamp, a level, the class of an exception, its own name or a traceback in front of what it says. In a manual, a mail, a chat, a source file, a
table or a diff the same words stand inside a sentence, a string or a comment. What stands in a fence or behind a prompt was printed, unless it is code itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from forensics import lazily
from forensics.model import Origin, Section, Seen
from forensics.parse.dress import FENCE
from forensics.parse.prompt import command_in
from forensics.parse.shape import LOGGED
from forensics.parse.unwrap import clean, journal_line

MAX_BYTES = 1 << 20  # nobody wrote a longer text about a failure
LOOK = 400  # lines by which a text is judged
LONGEST = 600  # characters of a line that are looked at
GUIDE = 100  # lines of sentences
AROUND = 12  # lines of a paragraph above and below

_PRINTED = lazily.pattern(
    r"[\s│┃|]{0,12}(?:E\s{1,6})?(?:Traceback \(most recent|File \"|(?:[A-Za-z_]\w*\.){0,8}(?:[A-Z]\w*)?(?:Error|Exception|Interrupt|Exit|Warning|Fault)\b(?:\s*$|: ?|\()"
    r"|at [\w.$<>/]+\(|(?:frame )?#\d+:? +(?:0x|<unknown)|frame #\d+: |terminate called (?:after throwing an instance of '|without an active exception|recursively)|what\(\):  |libc\+\+abi: |panic: |goroutine \d|thread '|(?:Fatal|fatal|FATAL|Error|error|ERROR|WARNING|Warning|warning|INFO|DEBUG|CRITICAL|PANIC|NOTICE)\b ?[\d :\]\[-]"
    r"|\[(?![ xX]\]|\d\d?:\d\d(?::\d\d)?\])[^\]\n]{1,80}\](?!\()[ :]|(?:time|ts|level|lvl|t|msg)=|\w+=(?:\"[^\"\n]*\"|\S+) \w+=(?:\"[^\"\n]*\"|\S+)(?: \w+=|\s*$)"
    r"|\{\s*\"(?:level|severity|time|ts|timestamp|msg|message|log|error|detail|object|status|code)\"\s*:|\(\d{1,4}\)\w"
    r"|[\w./@+-]{1,60}(?: [\w-]{1,20})?(?:\[\d+\])? ?: (?:[\w .-]{1,60}: )?\[?(?:[Ee]rror|ERROR|[Ff]atal|FATAL|emerg|crit|alert|[Ww]arn(?:ing)?)\b"
    r"|\([A-Za-z][\w.:-]{1,60}(?: [\w=]{1,20})? pid=\d+[^)\n]{0,80}\)|\([\w.-]{1,40}\) \[\d{4}-\d\d-\d\d[ T]\d|[a-z]{2,5} {2,20}[a-z]\w*_\w*: |[a-z]{2,5} {1,20}[a-z]\w*_\w*: id +-?\d{1,6} \||[a-z]\w*_\w+: |\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d|\w{3} [ \d]\d \d\d:\d\d:\d\d )"
)
_NAMED = lazily.pattern(r"\s{0,4}<?(?P<who>[\w./@+-]{1,40}(?:\[\d+\])?)>?: ")  # a program's name, or that of somebody in a chat
_CLOCKED = lazily.pattern(r"\s{0,4}\[?\d\d?:\d\d(?::\d\d)?\]?\s+<?(?P<who>[\w.@-]{1,30})>?: ")
_ATTEMPT = lazily.pattern(
    r"\s{0,4}[A-Za-z]\w{0,15}(?: #?\d{1,9})?: [A-Z]\w{2,40}(?:Error|Exception|Timeout)\b[:(]"
)  # a client counts its requests, and prints what each raised
_DATED = lazily.pattern(
    r"\[?[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?:[A-Z]{2,5} )?\d{4}\b"
)  # as date prints it; IST is a zone there, and no word
_WORDS = lazily.pattern(r"[^\W\d_]+(?:'[a-z]+)?")
# words that tie a sentence together: a message has few of them, a text hardly a line without
_TIES = (
    "a about after again all also am an and another any are as at auf be because been before bei both but by can could das dem den der des "
    "did die do does du each ein eine elle er es est et for from had has hat have he her here his how i ich if il im in "
    "into is ist it its la le les may me might mit must my nicht no nobody nor not oder of on once only or other our out over pas "
    "she should sie so some somebody than that the their them then there these they this those to un und under une up us very von war was we were "
    "what when where which while who whom whose why will wir wird with would you your zu "
)
_TYING = frozenset(_TIES.split())
# who speaks so is no program
_PERSON = lazily.pattern(
    r"(?i)\b(?:i|we|he|she|they|my|our|his|their|somebody|someone|nobody|everybody|yesterday|hello|thanks?|hi|ich|wir|jemand|niemand|gestern|hallo|danke|je|nous|merci|hola|gracias)\b(?!/)|\b(?:[Ii]'m|[Ww]e've|[Ii]'ve|[Ii]t's)\b"
)
# a frame of a native stack, with its address: a debugger shows the arguments of each, and a format among them has no values
_ADDRESSED = lazily.pattern(r"(?:frame )?#\d{1,4}:? +0x[0-9a-f]{6,16} in ")
_IN_BACKTICKS = lazily.pattern(r"`[^`\n]*[A-Za-z]{2,}[^`\n]* [^`\n]*`")
_MARK = lazily.pattern(r"\s*(?:[-*+\u2022]|\d{1,3}[.)]|#{1,6}|>+)\s+\S")
_TABLE_RULE = lazily.pattern(r"\s*\|?(?: ?:?-{3,}:? ?\|)+(?: ?:?-{3,}:? ?)?\s*$")
_TAGGED = lazily.pattern(r"\s*</?(?:p|h\d|li|ul|ol|td|tr|div|html|head|body|title|code|pre|span|a|table|meta|link|script)\b[^<>\n]{0,200}>", 2)
_COMMENT = lazily.pattern(r"\s*(?:#(?!\d)|//|/\*|\*(?:/|\s|$)|--\s|;;?\s|<!--|\.\\\")")
DIFF = lazily.pattern(r"diff --git |@@ -\d+(?:,\d+)? \+\d+|(?:---|\+\+\+) [ab]/")
_STRING = r"(?:\"[^\"\n]*[A-Za-z]{2}[^\"\n]* [^\"\n]*\"|'[^'\n]*[A-Za-z]{2}[^'\n]* [^'\n]*')"
# a string of more words than one, where code has it: behind a call's bracket, a sign of equality, a key
_LITERAL = lazily.pattern(
    rf"(?:[\w)\]]\s?\((?:[^()\"'\n]{{0,60}}, ?)?|[\w\"'\])]\s?(?:[:=]=?|[=!]~|=>|\+=)\s{{0,4}}|^\s*[-+]?\s*[(\[{{]?|^\s*[\w.-]+ (?:-\w+ )*|, ?|\breturn |\bin |\bif )[rfbuLFRB]{{0,2}}{_STRING}"
)
_CODE = lazily.pattern(
    r"\s*(?:(?:async )?def \w|class \w[\w.]*\s*[:({]|import [\w.{*]|from [\w.]+ import|package \w|use \w+::|#include|#define|#!/|func \w|fn \w|public |private |static |const |let |var "
    r"|if ?[(\[]|\}? ?else\b|for ?[(]|while ?[(\[]|return\b|raise \w|throw |try\s*[:{]|except\b.*:|catch ?\(|assert\b|@\w[\w.]*(?:\(|$)|case .*:|switch ?\(|print(?:f|ln)?\("
    r"|(?:INSERT INTO|CREATE TABLE|SELECT |COPY |ALTER |UPDATE |DELETE FROM|COMMIT;|BEGIN;|SET )|msg(?:id|str) \"|(?:echo|grep|sed|awk|export|set -|trap|fi|done|then|esac)\b)"
    r"|[\[({]\s*[\"'][^\"'\n]+[\"'],|E[A-Z]{3,14}\b[ \t=,(]{1,20}-?\d{1,3}\b|.*[;{}]\s*(?:/[/*].*|\\?)$|\s*[\])}]+[,;]?\s*$|.*\\$|.*\)\s*(?:->.*)?:$|.*=> ?[({]\s*$"
)
_TEMPLATE = lazily.pattern(r"\\[.\[\]()|]|%\{\w+|%l{0,2}[dusx]\b|\(\?[:P]|\{\{ ?[$.\w]")
_FIELD = lazily.pattern(r"(?:^|,)(\"(?:[^\"]|\"\")*\"|[^,]*)")
_COLUMN = lazily.pattern(r"\s*[A-Za-z_@][\w @.-]{0,30}$")
_COLUMNS = (
    "container content date host hostname level line log message msg pod raw service severity source stream text textpayload time timestamp unit"
)
_OF_LOGS = frozenset(_COLUMNS.split())
_KEY = lazily.pattern(
    r"\s*(?:- )?[\"']?[A-Za-z_][\w.-]*[\"']?\s?[:=](?:\s*$|\s+[\"'\[{|>&]|\s?[\"'])|\s*[\[{]{1,2}\"?[\w.-]+\"?[\]}]{0,2}[:,]?\s*$|\s*[{}\[\]]+,?\s*$"
)


class _Share(NamedTuple):
    """How much of a text is what, of its lines that are not blank; lines may be nothing, or several."""

    lines: int
    printed: float
    prose: float
    code: float
    keys: float


class Page:
    """The lines of one text, and what they are together."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self._fenced = _fenced(texts)
        self._diff = any(DIFF.match(t) for t in texts[:2000])
        self._ruled = any(_TABLE_RULE.match(t) for t in texts[:2000])
        self.share = self._shared()
        self.is_chat = self._looks_like_a_chat()
        self._rows = _rows_of_words(texts)

    @property
    def is_code(self) -> bool:
        """Whether the whole of it is code, a configuration, a diff or a dump."""
        return (
            self._diff
            or self.texts[0].startswith("#!")
            or (self.share.lines >= 4 and self.share.printed < 0.1 and self.share.code + self.share.keys >= 0.5)
        )

    @property
    def is_prose(self) -> bool:
        """Whether the most of it is sentences."""
        return self.share.prose >= 0.3 and self.share.prose > 2 * self.share.printed

    def written(self, at: int) -> bool:
        """Whether somebody wrote line ``at`` (from 0)."""
        text = self.texts[at][:LONGEST]
        if not text.strip() or _stamped(text) or _ADDRESSED.match(text) or self._framed(at):
            return False
        printed = bool(_PRINTED.match(text))
        if (self._diff and text[:1] in "+- @") or len(_TEMPLATE.findall(text)) >= 2 or (not printed and self._is_source(at, text)):
            return True
        if self._fenced[at]:
            return self.is_prose and self.share.lines >= GUIDE  # an example in a guide: who reports a failure writes less about it
        if command_in(text) is not None:
            return False
        if self.is_chat or (self._ruled and text.lstrip()[:1] == "|") or (_TAGGED.match(text) and not self._above_printed(at)):
            return True
        return not printed and (self._is_mention(text) or self._in_a_text(at))

    def quoted(self, at: int) -> bool:
        """Whether line ``at`` (from 0) is a message by itself in a paragraph in which somebody speaks: no stamp, no stack, nothing else that was printed."""
        if self._fenced[at] or self._framed(at) or _stamped(self.texts[at][:LONGEST]):
            return False
        around = self._paragraph(at)
        beside = [t for t in around if t != self.texts[at][:LONGEST]]
        return any(_PERSON.search(t) and _speaks(t) for t in beside) and not any(_is_printed(t) for t in beside)

    def _is_source(self, at: int, text: str) -> bool:
        """A line of code, of a configuration or a table: what it says is a string, a comment or a field."""
        if self.is_code or self._rows:
            return True
        return bool(_LITERAL.search(text) and (_CODE.match(text) or _KEY.match(text))) and not self._above_printed(at)

    def _is_mention(self, text: str) -> bool:
        """A sentence with a message in it, by itself."""
        outside = text.split("`", 1)[0] + text.rpartition("`")[2]
        if _IN_BACKTICKS.search(text) and len(_WORDS.findall(outside)) >= 2:
            return True
        return _is_prose(text) and bool(_PERSON.search(text) or _MARK.match(text))

    def _in_a_text(self, at: int) -> bool:
        """A line of a paragraph in which people speak, or of a text of sentences, none of which a program printed."""
        around = self._paragraph(at)
        if any(_is_printed(t) for t in around):
            return False
        prose = sum(_is_prose(t) for t in around)
        if 2 * prose > len(around) and any(_PERSON.search(t) for t in around):
            return True  # messages are sentences as well, but nobody speaks in them
        return self.is_prose and self.share.printed < 0.02 and self.share.lines >= 8

    def _framed(self, at: int) -> bool:
        """The line of code that a traceback shows: it did run."""
        above = next((t for t in reversed(self.texts[max(0, at - 2) : at]) if t.strip()), "")
        return above.lstrip().startswith(('File "', "at ", "Traceback"))

    def _above_printed(self, at: int) -> bool:
        return any(_is_printed(t) for t in self.texts[max(0, at - 2) : at] if t.strip())

    def _paragraph(self, at: int) -> list[str]:
        first = at
        while first > max(0, at - AROUND) and self.texts[first - 1].strip() and not FENCE.match(self.texts[first - 1]):
            first -= 1
        stop = at + 1
        while stop < min(len(self.texts), at + AROUND) and self.texts[stop].strip() and not FENCE.match(self.texts[stop]):
            stop += 1
        return [t[:LONGEST] for t in self.texts[first:stop]]

    def _shared(self) -> _Share:
        lines = [t[:LONGEST] for t, fenced in zip(self.texts, self._fenced, strict=True) if t.strip() and not fenced]
        every = max(1, len(lines) // LOOK)
        lines = lines[::every]
        count = max(1, len(lines))
        code = sum(1 for t in lines if _CODE.match(t))
        remarks = sum(1 for t in lines if _COMMENT.match(t) and not _CODE.match(t))  # headings and lists look alike
        return _Share(
            lines=len(lines),
            printed=sum(map(_is_printed, lines)) / count,
            prose=sum(map(_is_prose, lines)) / count,
            code=(code + min(remarks, code)) / count,
            keys=sum(1 for t in lines if _KEY.match(t) and not _CODE.match(t) and not _COMMENT.match(t)) / count,
        )

    def _looks_like_a_chat(self) -> bool:
        """Several people, by turns, one of whom speaks as people do."""
        lines = [t for t in self.texts[:LOOK] if t.strip()]
        said = [m["who"] for t in lines if (m := _CLOCKED.match(t) or _NAMED.match(t)) and not _stamped(t)]
        if len(lines) < 3 or 10 * len(said) < 7 * len(lines) or not 2 <= len(set(said)) <= max(2, len(said) // 2):
            return False
        return 5 * sum(1 for t in lines if _PERSON.search(t)) >= len(lines) and sum(map(_is_prose, lines)) * 3 >= len(lines)


class Pages:
    """The pages of a capture's files, each made when somebody asks. Only the last one is kept: whoever asks goes through one file after the other."""

    def __init__(self, sections: Iterable[Section]) -> None:
        self._sections = {section.name: section for section in sections}
        self._last: tuple[str, Page | None] = ("", None)

    def of(self, name: str) -> Page | None:
        """The page of a file that was given, where it is small enough to be a text that somebody wrote."""
        if self._last[0] != name:
            self._last = name, self._made(self._sections.get(name))
        return self._last[1]

    def _made(self, section: Section | None) -> Page | None:
        if section is None or section.part is not None or section.entries is not None or section.size() > MAX_BYTES:
            return None
        with section.open() as stream:
            return Page([clean(line) for line in stream.read().decode("utf-8", "replace").split("\n")])


def parted(seen: Sequence[Seen], pages: Pages) -> tuple[list[Seen], list[Seen]]:
    """Hits on lines that a program printed, and those on lines that somebody wrote. They come file by file."""
    said: dict[tuple[str, int], bool] = {}
    printed: list[Seen] = []
    written: list[Seen] = []
    for one in seen:
        source, at = one.record.source, one.record.line_no - 1
        page = pages.of(source) if _may_be(one) else None
        if page is None or not 0 <= at < len(page.texts):
            printed.append(one)
            continue
        if (source, at) not in said:
            said[source, at] = page.written(at)
        (written if said[source, at] else printed).append(one)
    return printed, written


def quoted(seen: Sequence[Seen], pages: Pages) -> frozenset[tuple[str, int]]:
    """Printed lines that stand between somebody's own words, where there is a log as well: of which run, and of which machine, nobody but he knows."""
    if all(_may_be(one) for one in seen):
        return frozenset()  # the quotation is all there is
    found = set()
    for one in seen:
        source, at = one.record.source, one.record.line_no - 1
        page = pages.of(source) if one.record.origin is not Origin.SYSTEMD else None
        if page is not None and 0 <= at < len(page.texts) and page.quoted(at):
            found.add((source, one.record.line_no))
    return frozenset(found)


def without(page: Page | None, first_line: int, text: str) -> str:
    """The text of a part, its lines that people wrote left blank: what a mail says of refused connections, no client met."""
    if page is None or not (page.is_prose or page.is_chat):
        return text
    lines = text.split("\n")
    for number in range(len(lines)):
        at = first_line - 1 + number
        if at < len(page.texts) and page.written(at):
            lines[number] = ""
    return "\n".join(lines)


def _may_be(seen: Seen) -> bool:
    frame = seen.hit.frame
    return not (frame.stamp or frame.inner or frame.ident or frame.fields or frame.rank) and seen.record.origin is not Origin.SYSTEMD


def _stamped(text: str) -> bool:
    return bool(LOGGED.match(text) or _DATED.match(text)) or journal_line(text) is not None


def _is_printed(text: str) -> bool:
    return bool(_PRINTED.match(text)) or _stamped(text)


def _speaks(text: str) -> bool:
    """Words of a person's, be they no whole sentence."""
    words = _WORDS.findall(text)
    return len(words) >= 3 and not _PRINTED.match(text) and any(w.lower() in _TYING for w in words)


def _is_prose(text: str) -> bool:
    """A sentence, or a part of one: words, tied together as people do."""
    if _ATTEMPT.match(text):
        return False
    if _PRINTED.match(text):
        return False
    words = _WORDS.findall(text)
    if len(words) < 5 or len(text) < 24:
        return False
    tying = sum(1 for w in words if w.lower() in _TYING)
    letters = sum(map(len, words))
    return tying >= 2 and 7 * tying >= len(words) and 3 * letters >= 2 * len(text.replace(" ", ""))


def _rows_of_words(texts: Sequence[str]) -> bool:
    """Whether it is a table of somebody's, with commas: the names of its columns are not those that logs are exported with."""
    rows = [_FIELD.findall(t[:LONGEST]) for t in texts[:LOOK] if t.strip()]
    if (
        len(rows) < 3
        or len(rows[0]) < 3
        or not all(_COLUMN.match(name) for name in rows[0])
        or 10 * sum(len(row) == len(rows[0]) for row in rows) < 9 * len(rows)
    ):
        return False
    return not {name.strip().lower().lstrip("@_") for name in rows[0]} & _OF_LOGS


def _fenced(texts: Iterable[str]) -> list[bool]:
    found, inside = [], False
    for text in texts:
        fence = bool(FENCE.match(text))
        if fence:
            inside = not inside
        found.append(inside or fence)
    return found

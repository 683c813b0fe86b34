"""Read a journal in json, one object a line (json-seq's record separators are tolerated), a block at a time. Never parses an entry that nobody asks for.

MESSAGE is a string, a list of byte values (any escape or carriage return in it), null or absent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from itertools import accumulate, compress, repeat
from operator import contains, itemgetter
from typing import Any

from forensics import lazily
from forensics.model import PartKind, Problem, Section
from forensics.parse.block import Block, Context
from forensics.parse.journal import CARRY, KEPT_FIELDS, WRITER_FIELDS, EntryBlock, decoded, split_message, writer_of
from forensics.parse.lines import Piece, counted_back, last_lines
from forensics.parse.part import Part
from forensics.parse.spoken import Spoken
from forensics.parse.unwrap import ServerPrefixes, Unwrapper

MAX_ENTRY_LINE = 1 << 20  # a message of 48 KiB as a list of byte values takes about 200 KB
_JSON_WRITER = tuple(f'"{name}":"'.encode() for name in WRITER_FIELDS)
_NULL = lazily.pattern(rb'"MESSAGE" ?: ?null[,}]')  # too long for journalctl without -a
_MESSAGE = b'"MESSAGE":"'
_KERNEL, _INIT = b'"_TRANSPORT":"kernel"', b'"_PID":"1"'  # opened in any case, if they matter
_SPOKEN = {"stdout": b'"_TRANSPORT":"stdout"', "init": _INIT, "last": _INIT, "pid": b'"_PID":"'}
_FIRST, _LAST = itemgetter(0), itemgetter(-2)  # the very last byte is a line feed
_BEGINS, _ENDS = frozenset(b"{\x1e"), frozenset(b"}")
_PLAIN = bytes(range(0x20, 0x7F)) + b"\n"
_DECODE = json.JSONDecoder().raw_decode


class JsonBlock(EntryBlock):
    """Lines of ``journalctl -o json``, each with its line feed."""

    __slots__ = ()

    def _parse(self, raw: bytes) -> tuple[dict[str, str], list[str]]:
        try:
            entry = json.loads(raw.lstrip(b"\x1e").decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            entry = None
        if not isinstance(entry, dict):  # a cut line, or a notice among the entries
            return {}, decoded(message_in(raw))
        fields = {key: value if isinstance(value, str) else _scalar(value) for key, value in entry.items() if key in KEPT_FIELDS}
        return fields, decoded(split_message(_message(entry.get("MESSAGE"))))

    def _line(self, number: int) -> int:
        return self.first_line + number

    def _writer(self, raw: bytes) -> bytes:
        # what looks like an entry but was cut has the fields of none: it must not be taken for one whose word counts
        if _KERNEL in raw or _INIT in raw or raw[:1] != b"{" or not raw.endswith((b"}\n", b"}")):
            return b""
        values = []
        for name in _JSON_WRITER:
            at = raw.find(name)
            values.append(raw[at : raw.find(b'"', at + len(name))] if at >= 0 else b"")
        return writer_of(values) if any(values) else b""

    def _places(self) -> tuple[Sequence[int], Sequence[int]]:
        return list(accumulate(map(len, self._raw), initial=self._start)), range(self.first_line, self.first_line + len(self._raw))


def json_blocks(
    section: Section, part: Part, server: ServerPrefixes, found: Iterable[Piece], *, first_line: int = 1, above: Iterable[Piece] = ()
) -> Iterator[Block]:
    """The blocks of a journal in json, of pieces of its lines. A line that is no entry is kept as its own text, with a problem.

    ``above`` are pieces that have been read elsewhere, of which these lines inherit; ``first_line`` is the number of the first line, where they are not numbered.
    """
    unwrapper, context, spoken = Unwrapper(PartKind.SERVER, server), Context(), Spoken(**_SPOKEN)
    for last in counted_back(above, lambda data: last_lines(data, CARRY)):  # each line has one key at least
        _json_block(last, section.name, part, unwrapper, context, spoken).carry_over(context)
    line = first_line
    for piece in found:
        if not piece.line:
            piece = Piece(piece.data, line, piece.start, tuple(replace(problem, line=problem.line or line) for problem in piece.problems))
        block = _json_block(piece, section.name, part, unwrapper, context, spoken)
        line = block.first_line + block.lines
        yield block
        block.carry_over(context)


def _json_block(piece: Piece, source: str, part: Part, unwrapper: Unwrapper, context: Context, spoken: Spoken) -> JsonBlock:
    data = piece.data if piece.data.endswith(b"\n") else piece.data + b"\n"
    raw = BytesIO(data).readlines() if piece.data else []  # three times as fast as split()
    problems: list[Problem] = []
    if not _all_whole(raw):
        problems = [
            Problem(source=source, line=piece.line + n, text="no complete journal entry")
            for n, line in enumerate(raw)
            if line != b"\n" and not _is_whole(line)
        ]
    texts, where, absent = messages_in(raw)
    block = JsonBlock(
        raw, texts, where, source=source, part=part.kind, line=piece.line, start=piece.start, data=piece.data, unwrapper=unwrapper, context=context,
        problems=(*piece.problems, *problems[:20]), spoken=spoken
    )  # fmt: skip
    block.lines = len(raw)
    block.blobs = sum(1 for number in absent if _NULL.search(raw[number]))
    return block


def _all_whole(raw: list[bytes]) -> bool:
    """Whether every line looks like an entry; False where one may not. Asks the first and the last byte of all of them at once."""
    try:
        return _BEGINS.issuperset(map(_FIRST, raw)) and _ENDS.issuperset(map(_LAST, raw))
    except IndexError:  # an empty line
        return False


def _is_whole(line: bytes) -> bool:
    return line[0] in _BEGINS and line.removesuffix(b"\n").rstrip(b"\r")[-1:] == b"}"


def messages_in(raw: list[bytes]) -> tuple[list[bytes], Sequence[int] | None, list[int]]:
    """The lines of the messages of some entries, the entry of each (None: each has one), and the entries whose message is no string.

    Strings without escapes, most of all, are cut out without looking at the rest; so are those with quotes only. The others are read one by one.
    """
    size = len(_MESSAGE)
    alone: list[int] = []  # entries to be read one by one
    absent: list[int] = []
    try:
        texts = [line[(at := line.index(_MESSAGE) + size) : line.index(b'"', at)] for line in raw]
    except ValueError:  # one without a message, or without the end of it
        starts = [line.find(_MESSAGE) + size for line in raw]
        absent = [number for number, start in enumerate(starts) if start < size]
        texts = [line[start : line.find(b'"', start)] for line, start in zip(raw, starts, strict=True)]
        alone = [number for number, (line, start) in enumerate(zip(raw, starts, strict=True)) if start < size or line.find(b'"', start) < 0]
    odd = list(compress(range(len(texts)), map(contains, texts, repeat(b"\\"))))
    if alone:
        odd = sorted(set(odd).difference(alone))
    alone = sorted(alone + _unquote(raw, texts, odd)) if odd else alone
    return *_put_in(texts, [(number, message_in(raw[number])) for number in alone]), absent


def _put_in(texts: list[bytes], read: list[tuple[int, list[bytes]]]) -> tuple[list[bytes], Sequence[int] | None]:
    """Put the lines of messages that were read one by one in their places."""
    longer = [(number, lines) for number, lines in read if len(lines) != 1]
    for number, lines in read:
        texts[number] = lines[0]
    if not longer:
        return texts, None
    all_: list[bytes] = []
    where: list[int] = []
    done = 0
    for number, lines in longer:
        all_ += texts[done:number]
        where += range(done, number)
        all_ += lines
        where += [number] * len(lines)
        done = number + 1
    all_ += texts[done:]
    where += range(done, len(texts))
    return all_, where


def _unquote(raw: list[bytes], texts: list[bytes], odd: list[int]) -> list[int]:
    """Put messages that hold quotes but no other escapes in their places (an access log has them in every line); those that may be of another kind are left."""
    size = len(_MESSAGE)
    try:
        cut = [line[(at := line.index(_MESSAGE) + size) : line.index(b'","', at)] for line in map(raw.__getitem__, odd)]
    except ValueError:  # the last field of an entry
        ended = [number for number in odd if raw[number].find(b'","', raw[number].find(_MESSAGE) + size) >= 0]
        return sorted(_unquote(raw, texts, ended) + sorted(set(odd).difference(ended))) if ended else odd
    quoted = b"\n".join(cut)
    bare = quoted.replace(b'\\"', b"")
    for number, text in zip(odd, quoted.replace(b'\\"', b'"').split(b"\n"), strict=True):
        texts[number] = text
    others = [sign for sign in (b"\\", b'"') if sign in bare]
    plain = bare.isascii() and not bare.translate(None, _PLAIN)
    if plain and not others:
        return []
    rest = bare.split(b"\n")
    left = {at for sign in others for at in compress(range(len(odd)), map(contains, rest, repeat(sign)))}
    if not plain:
        left.update(at for at, text in enumerate(rest) if text.translate(None, _PLAIN))
    return sorted(map(odd.__getitem__, left))


def message_in(line: bytes) -> list[bytes]:
    """The lines of the message of an entry, found without reading the rest of it; of one that was cut short, what there is.

    The quotes within a JSON string are escaped, so ``"MESSAGE":`` cannot be part of a value.
    """
    line = line.removesuffix(b"\n")
    at = line.find(b'"MESSAGE":')
    if at < 0:
        return [line] if line and line[0] not in b"{\x1e" else [b""]
    at += 10
    if line[at : at + 1] == b'"':
        end = line.find(b'"', at + 1)
        text = line[at + 1 : end if end >= 0 else None]
        if b"\\" not in text:
            return [text]
    try:
        value, _ = _DECODE(line[at:].decode("utf-8", "replace").lstrip())
    except (ValueError, RecursionError):
        return [line[at:].strip(b'"{}')]
    return split_message(_message(value))


def _message(value: Any) -> bytes:
    """A MESSAGE as bytes: text, byte values, a field given more than once, null (it was too long for ``journalctl`` without ``-a``) or missing."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, list):
        try:
            return bytes(value)
        except (TypeError, ValueError):
            return b"\n".join(_message(item) for item in value if not isinstance(item, (int, float)))
    return b""


def _scalar(value: Any) -> str:
    if isinstance(value, list) and value and not isinstance(value[0], int):
        value = value[-1]
    return (
        value
        if isinstance(value, str)
        else _message(value).decode("utf-8", "replace")
        if isinstance(value, list)
        else ""
        if value is None
        else str(value)
    )

"""Turn what a log collector exports (JSON lines, JSON arrays, CSV of Loki, Elastic, CloudWatch, vector, fluent-bit) into entries as ``journalctl -o json`` writes them.

An entry stands on the line on which it began. Never takes a result of a benchmark, or a journal in json, for an export, and never believes a field that journald
would not have set.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from forensics import clock, lazily
from forensics.model import PartKind
from forensics.parse.journal import KEPT_FIELDS
from forensics.parse.unwrap import journal_line

MAX_BYTES = 64 << 20
_LOOK = 20  # entries by which an export is judged
_TIMES = (
    "@timestamp",
    "timestamp",
    "__REALTIME_TIMESTAMP",
    "_SOURCE_REALTIME_TIMESTAMP",
    "_time",
    "ts",
    "time",
    "Time",
    "date",
    "Date",
    "datetime",
    "tsNs",
    "eventTime",
    "receiveTimestamp",
)
_MESSAGES = ("MESSAGE", "message", "@message", "Message", "msg", "line", "Line", "log", "body", "Body", "content", "Content", "textPayload", "_raw")
# what an error was, where it stands beside the message
_MORE = ("exc_info", "exception", "stack_trace", "stacktrace", "stack", "traceback", "error", "err")
_INSIDE = (
    "_source",
    "fields",
    "labels",
    "attributes",
    "result",
    "stream",
    "record",
    "entry",
    "systemd",
    "process",
    "host",
    "log",
    "syslog",
    "journald",
    "kubernetes",
    "values",
)
_UNITS = ("_SYSTEMD_UNIT", "systemd_unit", "systemd.unit", "unit", "Unit")
_HOSTS = ("_HOSTNAME", "hostname", "host.name", "host.hostname", "host", "Host", "nodename", "node_name", "node")
_PIDS = ("_PID", "pid", "process.pid", "systemd_pid")
_IDENTS = ("SYSLOG_IDENTIFIER", "syslog_identifier", "identifier", "syslog.identifier", "comm", "_COMM")
_UNIT = lazily.pattern(r"[\w:.\\@-]{1,250}\.(?:service|scope|socket|timer|mount|target)")
_HOST = lazily.pattern(r"[\w.:-]{1,128}")


class Entry(NamedTuple):
    """One exported line."""

    line: int  # of the file, from 1
    at: float | None
    message: str
    fields: Mapping[str, str]


class Export(NamedTuple):
    """An export as entries, one a line of the file; and what it is evidence of."""

    text: bytes
    kind: PartKind
    moved: bool = False  # some entries stood on one line: they are counted, and not the lines


def looks(head: bytes) -> bool:
    """Whether a file that begins so may be an export; of a large log nothing more is read for it."""
    text = head.decode("utf-8", "replace").removeprefix("\ufeff").lstrip()
    first = text.partition("\n")[0]
    if text[:1] == "{":
        return any(f'"{name}"' in text for name in _MESSAGES) and any(f'"{name}"' in text for name in _TIMES)
    if text[:1] == "[":
        return text[1:].lstrip()[:1] == "{"
    stamp, tab, _ = first.partition("\t")
    return _is_table(first) or bool(tab and clock.parse_exported(stamp) is not None)


def export_of(data: bytes) -> Export | None:
    """The entries of an export, or None where it is none. A message of journal text is given as such."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    start = text.lstrip()[:1]
    if start in ("{", "["):
        found = _of_json(text)
    elif _is_table(text[: text.find("\n")] if "\n" in text else text):
        found = _of_csv(text)
    else:
        found = _of_lines(text)
    if not found or sum(1 for entry in found if entry.message.strip()) * 2 < len(found):
        return None
    moved = any(a.line == b.line for a, b in pairwise(found))
    whole = [entry for entry in found if "\n" not in entry.message and journal_line(entry.message) is not None]
    if 2 * len(whole) > len(found):  # a syslog that was shipped: its lines say more than the fields around them
        return Export(_placed((entry.line, entry.message.replace("\n", " ")) for entry in found), PartKind.JOURNAL_TEXT, moved)
    of_journal = any("_SYSTEMD_UNIT" in entry.fields or "_TRANSPORT" in entry.fields for entry in found)
    return Export(_placed((entry.line, _as_json(entry)) for entry in found), PartKind.JOURNAL_JSON if of_journal else PartKind.SERVER, moved)


def _as_json(entry: Entry) -> str:
    fields = dict(entry.fields)
    if entry.at is not None:
        fields["__REALTIME_TIMESTAMP"] = str(round(entry.at * 1e6))
    return json.dumps({**fields, "MESSAGE": entry.message}, separators=(",", ":"))


def _placed(entries: Iterable[tuple[int, str]]) -> bytes:
    """Each entry on its line; of several on one line the later ones follow it."""
    out: list[str] = []
    for line, text in entries:
        while len(out) < line - 1:
            out.append("")
        out.append(text)
    return ("\n".join(out) + "\n").encode("utf-8", "replace")


# --------------------------------------------------------------------------- JSON


def _of_json(text: str) -> list[Entry] | None:
    found: list[Entry] = []
    seen = printed = 0
    try:
        for line, value in _objects(text):
            if isinstance(value, str):  # what a child printed between them: a traceback, most often
                found.append(Entry(line=line, at=None, message=value, fields={}))
                printed += 1
                continue
            seen += 1
            entry = _entry(line, value)
            if entry is not None:
                found.append(entry)
            if seen == _LOOK and (len(found) - printed) * 10 < seen * 8:
                return None
    except RecursionError:
        return None
    entries = len(found) - printed
    return found if entries and entries * 10 >= seen * 8 else None


def _objects(text: str) -> Iterator[tuple[int, Any]]:
    """The objects of a text in JSON lines, in an array, or within the one array that an object holds, each with the line it begins on.

    Between JSON lines there may be plain ones: each is given as a text.
    """
    decoder = json.JSONDecoder()
    at, line = 0, 1
    begin = text.lstrip()[:1]
    head = _WRAPPER.match(text)
    if head is not None:
        at = head.end()
        line += text.count("\n", 0, at)
    elif begin == "[":
        at = text.index("[") + 1
        line += text.count("\n", 0, at)
    mixed = head is None and begin == "{"
    while True:
        found = text.find("{", at)
        if mixed:
            stop = _plain_until(text, at, found)
            yield from _plain(text, at, stop, line)
            line += text.count("\n", at, stop)
            at = stop
            if found < at:
                if found < 0:
                    return
                continue  # the brace stood within one of them
        if found < 0:
            return
        line += text.count("\n", at, found)
        try:
            value, stop = decoder.raw_decode(text, found)
        except ValueError:  # a cut line
            stop = text.find("\n", found)
            if stop < 0:
                return
            value = None
        yield line, value
        line += text.count("\n", found, stop)
        at = stop


def _plain_until(text: str, at: int, found: int) -> int:
    """Where the plain lines end that stand before the next object: at the beginning of its line, or behind the line in whose midst the brace stands."""
    if found < 0:
        return len(text)
    begin = text.rfind("\n", at, found) + 1
    if begin == 0:
        begin = at
    if not text[begin:found].strip() or (begin == at and text[at - 1 : at] not in ("", "\n")):
        return begin
    end = text.find("\n", found)
    return len(text) if end < 0 else end + 1


def _plain(text: str, at: int, stop: int, line: int) -> Iterator[tuple[int, str]]:
    """The lines of a piece of text that are not blank, but for what is left of a line on which an object ended."""
    for number, piece in enumerate(text[at:stop].split("\n"), line):
        if piece.strip() and (number > line or text[at - 1 : at] in ("", "\n")):
            yield number, piece


# aws logs get-log-events, Elastic's hits, a response of Loki
_WRAPPER = lazily.pattern(
    r'\s*\{\s*(?:"\w{1,40}"\s*:\s*(?:"[^"\n]{0,200}"|\d{1,20}|\{[^{}]{0,400}\}|true|false|null)\s*,\s*){0,8}"(?:events|hits|entries|logs|data|results)"\s*:\s*(?:\{[^\[\]]{0,400}"hits"\s*:\s*)?\['
)


def _entry(line: int, value: Any) -> Entry | None:
    if not isinstance(value, dict):
        return None
    if "__CURSOR" in value and "MESSAGE" in value:
        return None  # journalctl's own: read as it is
    if value.keys() >= {"log", "stream", "time"}:
        return None  # Docker's file: the prefixes of its lines are taken off elsewhere
    flat = _flat(value)
    at = next((t for name in _TIMES if name in flat and (t := clock.parse_exported(flat[name])) is not None), None)
    message = next((flat[name] for name in _MESSAGES if isinstance(flat.get(name), str)), None)
    if at is None or message is None:
        return None
    more = [str(flat[name]) for name in _MORE if isinstance(flat.get(name), str) and flat[name] and flat[name] not in message]
    return Entry(line, at, "\n".join([message.rstrip("\n"), *more]), _fields(flat))


def _flat(value: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """An object with what it holds inside; of two values of one name the outer one counts."""
    flat: dict[str, Any] = {name: item for name, item in value.items() if not isinstance(item, dict)}
    for name, item in value.items():
        if isinstance(item, dict) and depth < 3 and name in _INSIDE:
            for key, inner in _flat(item, depth + 1).items():
                flat.setdefault(f"{name}.{key}", inner)
                flat.setdefault(key, inner)
    return {name: item[0] if isinstance(item, list) and len(item) == 1 else item for name, item in flat.items()}


def _fields(flat: Mapping[str, Any]) -> dict[str, str]:
    fields = {name: str(item) for name, item in flat.items() if name in KEPT_FIELDS and name != "MESSAGE" and isinstance(item, (str, int))}
    fields.pop("__REALTIME_TIMESTAMP", None)
    shaped: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = (("_SYSTEMD_UNIT", _UNITS, _UNIT), ("_HOSTNAME", _HOSTS, _HOST))
    for field, names, shape in shaped:
        told = next((str(flat[name]) for name in names if isinstance(flat.get(name), str) and shape.fullmatch(flat[name])), None)
        if told is not None:
            fields.setdefault(field, told)
    plain: tuple[tuple[str, tuple[str, ...]], ...] = (("_PID", _PIDS), ("SYSLOG_IDENTIFIER", _IDENTS))
    for field, names in plain:
        told = next((str(flat[name]) for name in names if isinstance(flat.get(name), (str, int)) and str(flat[name])), None)
        if told is not None and "_SYSTEMD_UNIT" in fields:
            fields.setdefault(field, told)
    if fields.get("_SYSTEMD_UNIT") == "init.scope":  # only PID 1 lives there
        fields.setdefault("_PID", "1")
        fields.setdefault("SYSLOG_IDENTIFIER", "systemd")
    return fields


# --------------------------------------------------------------------------- tables


def _is_table(head: str) -> bool:
    """Whether the first line names a column of times and one of messages."""
    if len(head) > 4000 or ("," not in head and ";" not in head):
        return False
    names = _columns(head)
    return any(name in names for name in _TIMES) and any(name in names for name in _MESSAGES)


def _columns(head: str) -> list[str]:
    import csv

    try:
        (names,) = csv.reader([head.strip()], delimiter="," if "," in head else ";")
    except (csv.Error, ValueError):
        return []
    return [name.strip() for name in names]


def _of_csv(text: str) -> list[Entry] | None:
    import csv

    head = text[: text.find("\n")]
    names = _columns(head)
    found: list[Entry] = []
    before = 0
    csv.field_size_limit(MAX_BYTES)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter="," if "," in head else ";")
    try:
        for row in reader:
            line, before = before + 1, reader.line_num
            if line == 1 or not row:
                continue
            flat = dict(zip(names, row, strict=False))
            at = next((t for name in _TIMES if name in flat and (t := clock.parse_exported(flat[name])) is not None), None)
            message = next((flat[name] for name in _MESSAGES if name in flat), None)
            if message is not None and (at is not None or found):
                found.append(Entry(line, at, message.rstrip("\n"), _fields(flat)))
    except csv.Error:
        return None
    return found if sum(1 for entry in found if entry.at is not None) * 10 >= len(found) * 8 else None


def _of_lines(text: str) -> list[Entry] | None:
    """A time, a tab and the line: what Grafana saves as text."""
    found: list[Entry] = []
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        stamp, tab, message = line.partition("\t")
        at = clock.parse_exported(stamp) if tab and len(stamp) <= 40 else None
        if at is not None:
            found.append(Entry(number, at, message.rstrip("\r"), {}))
        elif number <= _LOOK and line.strip() and not found:
            return None
        elif found and line.strip():  # the rest of a message of several lines
            found.append(Entry(number, None, line.rstrip("\r"), {}))
    return found if sum(1 for entry in found if entry.at is not None) * 2 >= len(found) else None

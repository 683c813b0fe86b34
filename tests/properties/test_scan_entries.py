"""Entries of a journal are counted by what is alike in them; that must give what opening every single line gives."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from forensics import parse, ruleset
from forensics.model import Capture, PartKind, Section, Target, TargetKind

RULES = ruleset.shipped_rules()
MATCHER = ruleset.Matcher(RULES)

WRITERS = st.fixed_dictionaries(
    {},
    optional={
        "_TRANSPORT": st.sampled_from(["stdout", "stdout", "journal", "kernel", "syslog"]),
        "_PID": st.sampled_from(["1", "11", "4711", "123456789012"]),
        "_COMM": st.sampled_from(["systemd", "python", "(python)", 'py"x']),
        "SYSLOG_IDENTIFIER": st.sampled_from(["systemd", "kernel", "python", "(x)"]),
        "SYSLOG_PID": st.sampled_from(["1", "22"]),
        "_UID": st.sampled_from(["0", "1000"]),
    },
)
MESSAGES = st.sampled_from([
    "Started x.service - X.",
    "Starting x.service - X...",
    "x.service: Main process exited, code=killed, status=9/KILL",
    "Out of memory: Killed process 4711 (python) total-vm:1kB",
    "NVRM: Xid (PCI:0000:41:00): 79, pid=1",
    "[2026-05-01 10:15:13 TP0] Watchdog timeout (self.watchdog_timeout=300)",
    'INFO:     10.0.0.1:4 - "POST /v1/completions HTTP/1.1" 404 Not Found',
    'INFO:     10.0.0.1:4 - "GET /v1/models HTTP/1.1" 200 OK',
    'é "GET /v1/models HTTP/1.1" 200 OK',
    "Traceback (most recent call last):\n  x\nRuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n",
    "\x1b[31mtorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB.\x1b[0m",
    "stdout\x1fStarted x.service - X.",
    "\x1fpid\x1fStarted x.service - X.",
    "",
])  # fmt: skip
ENTRIES = st.lists(
    st.tuples(WRITERS, MESSAGES, st.integers(0, 6), st.sampled_from([1, 1, 2, 12]), st.sampled_from([0, 0, 0, 1, 9, 60]), st.booleans()),
    min_size=1,
    max_size=12,
)


def _line(fields: dict[str, str], message: str, at: int, cut: int, ascii_only: bool) -> bytes:
    pairs = list(fields.items())
    pairs.insert(at, ("MESSAGE", message))
    line = json.dumps(dict(pairs), ensure_ascii=ascii_only, separators=(",", ":")).encode()
    return line[: len(line) - cut] if cut < len(line) else line


def _check(raw: bytes, part: PartKind) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(raw)
        capture = Capture(target=Target(kind=TargetKind.FILES, name="x"), sections=(Section(name="x", path=path, part=part),))
        opened: Counter[str] = Counter()
        for block in parse.frames(capture, RULES.prefixes):
            opened.update(hit.rule for i in range(len(block.keys)) for hit in MATCHER.feed(block.frame(i)))
        assert ruleset.scan(parse.frames(capture, RULES.prefixes), MATCHER).counts == opened


@settings(max_examples=100, deadline=None)
@given(ENTRIES)
def test_entries_in_json_are_counted_as_if_each_was_opened(entries: list[tuple[dict[str, str], str, int, int, int, bool]]) -> None:
    lines = [_line(fields, message, at, cut, ascii_only) for fields, message, at, times, cut, ascii_only in entries for _ in range(times)]
    _check(b"\n".join(lines), PartKind.JOURNAL_JSON)


@settings(max_examples=60, deadline=None)
@given(ENTRIES)
def test_entries_in_the_export_format_are_counted_as_if_each_was_opened(entries: list[tuple[dict[str, str], str, int, int, int, bool]]) -> None:
    raw = b""
    for fields, message, _, times, _, _ in entries:
        text = message.encode()
        told = b"MESSAGE=" + text if message.isprintable() else b"MESSAGE\n" + len(text).to_bytes(8, "little") + text
        entry = [b"__CURSOR=s=1", *(f"{name}={value}".encode() for name, value in fields.items()), told]
        raw += (b"\n".join(entry) + b"\n\n") * times
    _check(raw, PartKind.JOURNAL_EXPORT)


def test_entries_that_were_cut_do_not_speak_for_whole_ones() -> None:
    whole = _line({"_TRANSPORT": "journal", "_PID": "1", "_COMM": "systemd", "_UID": "0", "_BOOT_ID": "ab"}, "Started x.service - X.", 0, 0, True)
    for cut in (1, 5, 20):
        _check(b"\n".join([whole[:-cut]] * 20 + [whole] * 3), PartKind.JOURNAL_JSON)

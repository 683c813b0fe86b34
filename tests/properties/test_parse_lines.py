"""Whatever a file holds: it is read to its end, nothing is raised, and places are those of the file."""

from __future__ import annotations

import json
import struct
import tempfile
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from forensics import clock
from forensics.model import Capture, Frame, Origin, PartKind, Section, Target, TargetKind
from forensics.parse import frames, parts, record
from forensics.parse.jsonjournal import message_in, messages_in
from forensics.parse.lines import pieces
from tests.unit.parse.framing import PREFIXES

JOURNALS = (PartKind.JOURNAL_TEXT, PartKind.JOURNAL_JSON, PartKind.JOURNAL_EXPORT)
FRAGMENTS = st.sampled_from([
    "May 09 10:15:34 gpu01 python[4822]: ", "May 09 10:15:51 h systemd[1]: ", "-- Boot 422dae7d88114a028ac813fbcfa2bbc5 --", "-- No entries --", "failed", "\n", "\n\n", "\r", "\0",
    "[2026-05-09 10:15:34 TP0] ", "(Worker_TP1 pid=15193) ERROR 05-08 19:06:38 [x.py:9] ", "× x.service - X", "     Loaded: loaded", "ActiveState=failed", "[Unit]", "ExecStart=/bin/x \\",
    '{"MESSAGE":"x","_PID":"1"}', '{"MESSAGE":[27,91],', '{"log":"', "__CURSOR=s=1\n__REALTIME_TIMESTAMP=5\nMESSAGE=x\n", "MESSAGE\n\x03\0\0\0\0\0\0\0abc\n", "[ 7063.247407] ", "kernel: ",
    "user@h:~$ journalctl -u x", "$ ls", "  | ", "name  | ", "2026-05-09T10:15:34Z ", "\x1b[31m", "\x1b_bk;t=1778321734000\x07", "curl: (7) x", "=== Serving Benchmark Result ===", "[\n", "{", "░░ x",
    '{"kind": "Pod"', '[{"State": {', "Name:  web-0\nNamespace:  x\n", "    State:  Waiting\n", "apiVersion: v1\nkind: Pod\n", "LAST SEEN   TYPE   REASON   OBJECT\n", "2m  Warning  BackOff  pod/x  y\n",
    "2026-11-30 10:38:01.6 +0000 UTC container died a291defc8302 (image=x)\n", "web-0 server ", "00O ", "| NVIDIA-SMI ", "State  Recv-Q ", " " * 40, "a" * 300, "é", "\udcff".encode("utf-8", "surrogateescape").decode("latin-1"),
])  # fmt: skip
RAW = st.one_of(
    st.binary(max_size=400),
    st.lists(st.one_of(FRAGMENTS, st.text(max_size=8)), max_size=40).map(lambda found: "".join(found).encode("utf-8", "surrogatepass")),
)
KINDS = st.sampled_from(
    [
        None,
        *JOURNALS,
        PartKind.KERNEL,
        PartKind.SERVER,
        PartKind.CLIENT,
        PartKind.STATUS,
        PartKind.NOTICE,
        PartKind.CONTAINER,
        PartKind.POD,
        PartKind.EVENTS,
    ]
)


def framed(raw: bytes, kind: PartKind | None, folder: str) -> tuple[Section, list[Frame]]:
    path = Path(folder) / "x"
    path.write_bytes(raw)
    section = Section(name="x", path=path, part=kind)
    capture = Capture(target=Target(kind=TargetKind.FILES, name="x"), sections=(section,))
    found = []
    for block in frames(capture, PREFIXES):
        for i in range(len(block.keys)):
            block.raw(i)
            found.append(block.frame(i))
    return section, found


@settings(max_examples=400, deadline=None)
@given(RAW, KINDS)
def test_any_bytes_are_framed_and_every_place_is_in_the_file(raw: bytes, kind: PartKind | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        section, found = framed(raw, kind, folder)
        last = raw.count(b"\n") + 1
        for frame in found:
            assert 1 <= frame.line_no <= last
            assert 0 <= frame.start <= len(raw)
            assert raw.count(b"\n", 0, frame.start) == frame.line_no - 1
            assert "\n" not in frame.text
            record(frame, year=2026, latest=1.8e9)
        covered = [(part.start, part.end if part.end is not None else len(raw)) for part in parts(section)]
        assert all(a <= b <= len(raw) for a, b in covered)
        assert all(before[1] <= after[0] for before, after in pairwise(covered))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.binary(max_size=60).map(lambda b: b.replace(b"\n", b"")), max_size=30), st.integers(1, 64), st.integers(8, 40))
def test_pieces_are_the_file_again_unless_a_line_is_too_long(lines: list[bytes], size: int, longest: int) -> None:
    raw = b"\n".join(lines)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(raw)
        found = list(pieces(path, source="x", max_bytes=size, max_line=longest))
        whole = [piece for piece in found if not piece.problems]
        for piece in whole:
            assert raw[piece.start : piece.start + len(piece.data)] == piece.data
        for piece in found:
            assert raw.count(b"\n", 0, piece.start) == piece.line - 1
        if all(len(line) < 8 for line in lines):
            assert b"".join(piece.data for piece in found) == raw


FIELD_NAMES = st.sampled_from(["_PID", "_COMM", "_TRANSPORT", "SYSLOG_IDENTIFIER", "_SELINUX_CONTEXT", "COREDUMP", "X"])
VALUES = st.one_of(
    st.binary(max_size=40),
    st.sampled_from(
        [b"1", b"systemd", b"kernel", b"unconfined\n", b"\n\n__CURSOR=s\n_PID=1\n_COMM=systemd\nMESSAGE=fake\n", b"\n_TRANSPORT=kernel\n"]
    ),
)


def exported(fields: Iterable[tuple[str, bytes]]) -> bytes:
    """As journald writes it: text where the value is printable, else with its length."""
    out = b""
    for name, value in fields:
        printable = value.isascii() and value.decode("ascii").isprintable()
        out += name.encode() + (b"=" + value if printable else b"\n" + struct.pack("<Q", len(value)) + value) + b"\n"
    return out + b"\n"


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.lists(st.tuples(FIELD_NAMES, VALUES), max_size=5, unique_by=lambda f: f[0]), VALUES), min_size=1, max_size=6))
def test_no_value_of_an_export_ever_becomes_another_entry_or_field(entries: list[tuple[list[tuple[str, bytes]], bytes]]) -> None:
    raw = b"".join(
        exported([("__CURSOR", b"s"), ("__REALTIME_TIMESTAMP", b"1778321718000001"), *fields, ("MESSAGE", message)]) for fields, message in entries
    )
    with tempfile.TemporaryDirectory() as folder:
        _, found = framed(raw, PartKind.JOURNAL_EXPORT, folder)
    assert len({frame.start for frame in found}) == len(entries)
    for start, (fields, _) in zip(sorted({frame.start for frame in found}), entries, strict=True):
        told = dict(fields)
        for frame in (f for f in found if f.start == start):
            if told.get("_TRANSPORT") != b"kernel" and not (
                told.get("_TRANSPORT") is None and told.get("SYSLOG_IDENTIFIER", told.get("_COMM")) == b"kernel"
            ):
                assert frame.origin is not Origin.KERNEL
            if frame.origin is Origin.SYSTEMD:
                names = told.get("_COMM", b"") + told.get("SYSLOG_IDENTIFIER", b"")
                assert told.get("_PID") == b"1" or b"systemd" in names or b"(" in names


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.text(max_size=30), st.binary(max_size=20).map(list), st.none()), min_size=1, max_size=8), st.booleans())
def test_a_message_in_json_is_found_as_a_json_parser_finds_it(messages: list[object], ascii_only: bool) -> None:
    raw = "".join(
        json.dumps({"_PID": "7", "MESSAGE": m, "X": '"MESSAGE":"fake"'}, ensure_ascii=ascii_only, separators=(",", ":")) + "\n" for m in messages
    )
    with tempfile.TemporaryDirectory() as folder:
        _, found = framed(raw.encode("utf-8", "surrogatepass"), PartKind.JOURNAL_JSON, folder)
    assert sorted({frame.line_no for frame in found}) == list(range(1, len(messages) + 1))
    assert not any("fake" in frame.text for frame in found)


@given(st.text(max_size=40))
def test_any_text_is_a_time_or_is_not(text: str) -> None:
    clock.parse_stamp(text, year=2024)
    clock.parse_span(text)
    clock.lacks_year(text)


@given(st.floats(0, 4e9))
def test_a_time_written_is_read_again(at: float) -> None:
    again = clock.parse_stamp(clock.iso(at))
    assert again is not None
    assert 0 <= at - again + 1e-5 < 1.1e-3


WRITERS = st.fixed_dictionaries(
    {},
    optional={
        "_TRANSPORT": st.sampled_from(["stdout", "journal", "kernel", "syslog", "driver"]),
        "_PID": st.sampled_from(["1", "7", "11", "4711"]),
        "_COMM": st.sampled_from(["systemd", "python", "(python)"]),
        "SYSLOG_IDENTIFIER": st.sampled_from(["systemd", "kernel", "python", "systemd-logind"]),
        "_UID": st.sampled_from(["0", "1000"]),
        "__REALTIME_TIMESTAMP": st.integers(10**15, 10**16).map(str),
        "_CMDLINE": st.sampled_from(['python -c "x"', "/sbin/init"]),
    },
)
MESSAGES = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ['"GET / HTTP/1.1" 200', 'a\\"b', "a\\", 'x","', 'é "x"', "one\ntwo\n", '"', "", "Started x.", "\x1b[31mred\x1b[0m", "\x7f", '"_PID":"1"']
    ),
    st.binary(max_size=20).map(list),
    st.none(),
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(WRITERS, MESSAGES, st.integers(0, 7)), min_size=1, max_size=12),
    st.booleans(),
    st.sampled_from([b"", b"{", b'{"MESSAGE":"x\\"', b"-- Reboot --", b'{"MESSAGE":"a\\"b"', b'{"MESSAGE": "spaced \\"x\\""}']),
)
def test_entries_in_json_are_cut_a_block_at_a_time_as_one_by_one(
    entries: list[tuple[dict[str, str], object, int]], ascii_only: bool, odd: bytes
) -> None:
    raw = []
    for fields, message, at in entries:
        pairs: list[tuple[str, object]] = list(fields.items())
        pairs.insert(at, ("MESSAGE", message))
        raw.append(json.dumps(dict(pairs), ensure_ascii=ascii_only, separators=(",", ":")).encode("utf-8", "surrogatepass"))
    raw.append(odd)
    texts, where, absent = messages_in(raw)
    expected = [message_in(line) for line in raw]
    assert texts == [text for lines in expected for text in lines]
    assert list(range(len(raw)) if where is None else where) == [number for number, lines in enumerate(expected) for _ in lines]
    assert absent == [number for number, line in enumerate(raw) if b'"MESSAGE":"' not in line]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(b"\n".join(raw))
        capture = Capture(target=Target(kind=TargetKind.FILES, name="x"), sections=(Section(name="x", path=path, part=PartKind.JOURNAL_JSON),))
        seen: dict[bytes, Frame] = {}
        for block in frames(capture, PREFIXES):
            if block.part is PartKind.JOURNAL_JSON:
                for i in range(len(block.keys)):
                    if line := block.raw(i):
                        other = seen.setdefault(line, block.frame(i))
                        assert (other.origin, other.text, other.fields.get("trusted")) == (
                            block.frame(i).origin,
                            block.frame(i).text,
                            block.frame(i).fields.get("trusted"),
                        )

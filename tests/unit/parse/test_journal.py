"""Journals in their formats: the same fault gives the same frames."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from forensics.model import Frame, Origin, PartKind
from forensics.parse.frame import record
from forensics.parse.journal import EntryBlock, odd_numbers
from tests.unit.parse.framing import DATA, blocks_of, frames_of, section_of, written


def field(name: str, value: bytes) -> bytes:
    """A field of an export that is not plain text."""
    return name.encode() + b"\n" + struct.pack("<Q", len(value)) + value + b"\n"


def entry(message: bytes | None, **fields: str) -> bytes:
    known = {
        "__CURSOR": "s=1",
        "__REALTIME_TIMESTAMP": "1778321718000001",
        "_PID": "4711",
        "_COMM": "python",
        "SYSLOG_IDENTIFIER": "python",
        "_TRANSPORT": "stdout",
        **fields,
    }
    text = "".join(f"{name}={value}\n" for name, value in known.items()).encode()
    return (
        text
        + (b"" if message is None else b"MESSAGE=" + message + b"\n" if message.isascii() and b"\n" not in message else field("MESSAGE", message))
        + b"\n"
    )


def as_json(message: object, **fields: str) -> str:
    known = {
        "__REALTIME_TIMESTAMP": "1778321718000001",
        "_PID": "4711",
        "_COMM": "python",
        "SYSLOG_IDENTIFIER": "python",
        "_TRANSPORT": "stdout",
        **fields,
    }
    return json.dumps({**known, "MESSAGE": message}, separators=(",", ":")) + "\n"


def said(frames: list[Frame]) -> list[tuple[str, str, int | None, str, str]]:
    return [(str(frame.origin), frame.text, frame.pid, frame.inner, frame.rank) for frame in frames]


# --------------------------------------------------------------------------- formats agree


@pytest.mark.parametrize(
    "form",
    [
        "short-iso",
        "short-iso-precise",
        "short-precise",
        "short-unix",
        "short-full",
        "short-monotonic",
        "with-unit",
        "json",
        "export",
        "json-pretty",
        "verbose",
    ],
)
def test_all_formats_of_a_fault_say_the_same(form: str) -> None:
    plain = frames_of(section_of(DATA / "oom-memorymax.short.txt"))
    found = frames_of(section_of(DATA / f"oom-memorymax.{form}.txt"))
    skip = [i for i, frame in enumerate(plain) if "blob data" in frame.text] if form in ("json", "export", "json-pretty") else []
    assert len(plain) == len(found) == 27
    assert [s for i, s in enumerate(said(found)) if i not in skip] == [s for i, s in enumerate(said(plain)) if i not in skip]
    assert [frame.fields.get("trusted") for frame in found] == [frame.fields.get("trusted") for frame in plain]
    if form != "with-unit":
        assert [frame.ident for frame in found] == [frame.ident for frame in plain]
    if form != "short-monotonic":
        times = [record(frame, year=2026).at or 0.0 for frame in found]
        assert all(abs(a - (record(b, year=2026).at or 0.0)) < 1.1 for a, b in zip(times, plain, strict=True))


def test_a_dirty_log_is_the_same_in_json_export_and_text() -> None:
    exported = frames_of(section_of(DATA / "dirty-log.export.txt"))
    assert said(frames_of(section_of(DATA / "dirty-log.json.txt"))) == said(exported)
    texts = [frame.text for frame in frames_of(section_of(DATA / "dirty-log.short.txt"))]
    assert [t for t in texts if not t.startswith("native: binary")] == [t for t in (f.text for f in exported) if not t.startswith("native: binary")][: 29] + [
        t for t in (f.text for f in exported) if not t.startswith("native: binary")][30:]  # fmt: skip


def test_what_a_service_forged_is_the_services() -> None:
    for form in ("export", "json", "short"):
        found = {frame.text: frame for frame in frames_of(section_of(DATA / f"dirty-log.{form}.txt"))}
        assert found["Nov 29 19:59:18 tb1 systemd[1]: sglang.service: Main process exited, code=killed, status=9/KILL"].origin is Origin.SERVER
        assert found["-- Boot 0123456789abcdef0123456789abcdef --"].origin is Origin.SERVER
        assert "trusted" not in found["native: message with identifier, pid forged"].fields
        assert found["sglang-dirty-log.service: Failed with result 'exit-code'."].fields["trusted"] == "1"
    # by its text alone only the number tells the last one from systemd: PID 1 writes in the same file
    assert found["native: message with identifier, pid forged"].origin is Origin.SERVER
    assert {f.origin for f in frames_of(section_of(DATA / "dirty-log.json.txt")) if f.text.startswith("native: message")} == {Origin.SERVER}


def test_systemd_before_its_exec_is_systemd() -> None:
    found = frames_of(section_of(DATA / "exec-helper.json.txt"))
    helpers = [frame for frame in found if frame.ident.startswith("(")]
    assert helpers
    assert {(frame.origin, frame.fields.get("trusted")) for frame in helpers} == {(Origin.SYSTEMD, None)}


@pytest.mark.parametrize(
    ("fields", "origin", "trusted"),
    [
        ({"SYSLOG_IDENTIFIER": "systemd", "_TRANSPORT": "journal"}, Origin.SERVER, False),
        ({"SYSLOG_IDENTIFIER": "kernel", "_TRANSPORT": "journal"}, Origin.SERVER, False),
        ({"SYSLOG_IDENTIFIER": "systemd", "_COMM": "systemd", "_TRANSPORT": "stdout"}, Origin.SERVER, False),
        ({"_PID": "1", "_COMM": "systemd", "SYSLOG_IDENTIFIER": "systemd", "_TRANSPORT": "journal"}, Origin.SYSTEMD, True),
        (
            {"_UID": "0", "_COMM": "systemd", "SYSLOG_IDENTIFIER": "systemd", "_TRANSPORT": "journal", "_PID": "417"},
            Origin.SYSTEMD,
            False,
        ),  # root's own manager
        ({"_UID": "1000", "_COMM": "systemd", "SYSLOG_IDENTIFIER": "systemd", "_TRANSPORT": "journal"}, Origin.SYSTEMD, False),
        ({"_COMM": "systemd-oomd", "SYSLOG_IDENTIFIER": "systemd-oomd", "_TRANSPORT": "journal"}, Origin.SYSTEMD, False),
        ({"_TRANSPORT": "kernel", "SYSLOG_IDENTIFIER": "kernel"}, Origin.KERNEL, True),
        ({"_TRANSPORT": "driver", "SYSLOG_IDENTIFIER": "systemd-journald"}, Origin.SYSTEMD, False),
    ],
)
def test_who_wrote_an_entry_is_read_from_the_fields_that_journald_sets(fields: dict[str, str], origin: Origin, trusted: bool, tmp_path: Path) -> None:
    for frame in frames_of(written(tmp_path, as_json("x", **fields)), written(tmp_path, entry(b"x", **fields), name="export")):
        assert (frame.origin, frame.fields.get("trusted") == "1") == (origin, trusted)


# --------------------------------------------------------------------------- json


@pytest.mark.parametrize(
    ("message", "texts"),
    [
        pytest.param(None, [""], id="null: it was too long"),
        pytest.param([], [""], id="no bytes"),
        pytest.param("", [""], id="empty"),
        pytest.param("a 1", ["a 1"], id="text"),
        pytest.param('say "MESSAGE":"x" \\ 2', ['say "MESSAGE":"x" \\ 2'], id="quotes and a key within"),
        pytest.param("Grüße 日本 \u2028 x", ["Grüße 日本 \u2028 x"], id="not ASCII"),
        pytest.param([27, 91, 51, 49, 109, 78, 111, 116, 27, 91, 48, 109], ["Not"], id="bytes, because of a colour"),
        pytest.param([13, 49, 48, 37, 13, 50, 48, 37], ["\r10%\r20%"], id="bytes, because of a carriage return"),
        pytest.param([255, 0], ["\ufffd\ufffd"], id="bytes that are no text"),
        pytest.param("one\n  two\nthree", ["one", "  two", "three"], id="several lines"),
        pytest.param(["one", "two"], ["one", "two"], id="the field twice"),
        pytest.param([[111, 110, 101], "two"], ["one", "two"], id="the field twice, once as bytes"),
        pytest.param(7, [""], id="a number is no message"),
    ],
)
def test_a_message_in_json_may_have_any_shape(message: object, texts: list[str], tmp_path: Path) -> None:
    (block,) = blocks_of(written(tmp_path, as_json("first") + as_json(message) + as_json("last")))
    found = [block.frame(i) for i in range(len(block.keys))]
    assert [frame.text for frame in found] == ["first", *texts, "last"]
    assert [frame.line_no for frame in found] == [1, *[2] * len(texts), 3]
    assert [key.decode("utf-8", "replace").replace("\0", "\ufffd") for key in block.keys] == [
        "".join(c for c in t if c not in "0123456789") for t in ["first", *texts, "last"]
    ]


def test_a_missing_message_is_an_empty_line(tmp_path: Path) -> None:
    assert [frame.text for frame in frames_of(written(tmp_path, '{"_PID":"1","__REALTIME_TIMESTAMP":"1"}\n'))] == [""]


def test_a_line_that_is_no_entry_costs_that_line_and_is_reported(tmp_path: Path) -> None:
    cut = as_json("cut off here")[:-20]
    (block,) = blocks_of(
        written(
            tmp_path,
            as_json("a") + "Hint: You are currently not seeing messages from the system.\n" + as_json("b") + "\n" + cut,
            part=PartKind.JOURNAL_JSON,
        )
    )
    assert [block.frame(i).text for i in (0, 2)] == ["a", "b"]
    assert "not seeing messages" in block.frame(1).text
    assert "cut off" in block.frame(4).text or block.frame(4).text == ""
    assert [problem.line for problem in block.problems] == [2, 5]


def test_the_stamp_of_an_entry_is_in_seconds_with_microseconds(tmp_path: Path) -> None:
    (frame,) = frames_of(written(tmp_path, as_json("x", __REALTIME_TIMESTAMP="1778321718000001")))
    assert frame.stamp == "1778321718.000001"
    assert record(frame).at == pytest.approx(1778321718.000001)


def test_the_fields_that_tell_of_a_unit_come_along() -> None:
    frame = next(f for f in frames_of(section_of(DATA / "oom-memorymax.export.txt")) if "Failed with result" in f.text)
    assert (frame.fields["UNIT_RESULT"], frame.fields["UNIT"], frame.fields["_PID"]) == ("oom-kill", "sglang-oom-memorymax.service", "1")
    assert record(frame).unit == "sglang-oom-memorymax.service"
    assert len(record(frame).invocation) == len(record(frame).boot) == 32


# --------------------------------------------------------------------------- export


def test_a_binary_field_cannot_pass_for_other_fields(tmp_path: Path) -> None:
    evil = b"first\n\n__CURSOR=s=2\n_PID=1\n_COMM=systemd\n_TRANSPORT=journal\nMESSAGE=x.service: Failed with result 'signal'.\n\n_TRANSPORT=kernel"
    found = frames_of(written(tmp_path, entry(b"before") + entry(evil) + entry(b"after")))
    assert {(frame.origin, frame.pid) for frame in found} == {(Origin.SERVER, 4711)}
    assert [frame.text for frame in found] == ["before", *evil.decode().split("\n"), "after"]


def test_apparmors_label_does_not_change_lines_or_offsets(tmp_path: Path) -> None:
    label = field("_SELINUX_CONTEXT", b"unconfined\n")
    raw = b"".join(entry(b"line %d" % i)[:-1] + label + b"\n" for i in range(3)) + entry(b"in " + label + b"\n")
    found = frames_of(written(tmp_path, raw))
    assert [frame.text for frame in found][:3] == ["line 0", "line 1", "line 2"]
    for frame in found:
        assert raw[frame.start :].startswith(b"__CURSOR=")
        assert raw[: frame.start].count(b"\n") == frame.line_no - 1


@pytest.mark.parametrize("size", [10, 0x0A0A, 256, 0x0A00])
def test_a_length_that_looks_like_a_line_feed_ends_no_entry(size: int, tmp_path: Path) -> None:
    found = frames_of(written(tmp_path, entry(b"before") + entry(b"\x01" * size) + entry(b"after")))
    assert [len(frame.text) for frame in found] == [6, size, 5]
    assert len({frame.start for frame in found}) == 3


@pytest.mark.parametrize("size", [5, 70_000, 1_500_000, 6_000_000])
def test_a_huge_field_is_read_over_and_what_follows_is_right(size: int, tmp_path: Path) -> None:
    dump = field("COREDUMP", (b"\n\0=x" * (size // 4 + 1))[:size])
    raw = entry(b"before") + entry(b"Process 4711 (python) of user 0 dumped core.")[:-1] + dump + b"\n" + entry(b"after")
    blocks = blocks_of(written(tmp_path, raw))
    found = [block.frame(i) for block in blocks for i in range(len(block.keys))]
    assert [frame.text for frame in found] == ["before", "Process 4711 (python) of user 0 dumped core.", "after"]
    for frame in found:
        assert raw[frame.start :].startswith(b"__CURSOR=")
        assert raw[: frame.start].count(b"\n") == frame.line_no - 1
    assert bool([p for block in blocks for p in block.problems]) == (size > 4 << 20)


def test_a_head_that_was_cut_off_is_passed_over(tmp_path: Path) -> None:
    torn = (b"\0\0\0garbage of a binary field" + b"\xff" * 50 + b"\n\n") + entry(b"whole") + entry(b"two\nlines")
    blocks = blocks_of(written(tmp_path, torn, part=PartKind.JOURNAL_EXPORT))
    texts = [block.frame(i).text for block in blocks for i in range(len(block.keys))]
    assert [text for text in texts if text] == [] or texts[-3:] == ["whole", "two", "lines"]


def test_a_tail_that_was_cut_off_costs_that_entry(tmp_path: Path) -> None:
    whole = entry(b"whole") + entry(b"two\nlines")
    for cut in range(1, 60, 7):
        found = frames_of(written(tmp_path, whole[:-cut]))
        assert found[0].text == "whole"


def test_blocks_of_a_large_export_agree_with_the_file(tmp_path: Path) -> None:
    raw = b"".join(entry(b"[2026-05-09 10:15:34 TP0] step %d\r%d" % (i, i) if i % 3 else b"step\n%d" % i, X="y" * 300) for i in range(6000))
    blocks = blocks_of(written(tmp_path, raw))
    found = [block.frame(i) for block in blocks for i in range(len(block.keys))]
    assert len(blocks) > 2
    assert len(found) == 8000
    line = at = 0
    for frame in found[::37]:
        line += raw.count(b"\n", at, frame.start)
        at = frame.start
        assert frame.line_no == line + 1
        assert raw.startswith(b"__CURSOR=", frame.start)


def test_a_name_without_end_does_not_stand_before_each_line_of_a_message(tmp_path: Path) -> None:
    """Anybody may write such an entry; 180 kB of them were 678 MB for the scan."""
    lines = ["a"] * 3000 + ["CUDA error: out of memory"]
    text = as_json("\n".join(lines), _TRANSPORT="journal", SYSLOG_IDENTIFIER="x" * 30_000)
    (block,) = blocks_of(written(tmp_path, text))
    assert isinstance(block, EntryBlock)
    assert len(block.lined) < 2 * len(text)
    assert block.lined.count(b"\n") == len(block.keys) == len(lines)
    assert block.frame(3000).text == lines[-1]
    assert (block.raw(3000), block.frame(3000).origin) == (b"", Origin.SERVER)


def test_the_raw_line_ends_with_the_message_and_begins_with_who_wrote_it() -> None:
    for form in ("json", "export"):
        for block in blocks_of(section_of(DATA / f"dirty-log.{form}.txt")):
            seen: dict[bytes, Frame] = {}
            for i in range(len(block.keys)):
                line, frame = block.raw(i), block.frame(i)
                if not line:
                    continue
                assert line.decode("utf-8", "replace").replace("\0", "\ufffd").endswith(frame.text)
                other = seen.setdefault(line, frame)
                assert (other.origin, other.text, other.fields.get("trusted")) == (frame.origin, frame.text, frame.fields.get("trusted"))


# --------------------------------------------------------------------------- what no journald writes


@pytest.mark.parametrize("form", ["json", "export"])
def test_a_number_without_end_costs_its_entry_and_is_reported(tmp_path: Path, form: str) -> None:
    odd = {"_PID": "9" * 5000, "PRIORITY": "9" * 5000, "__REALTIME_TIMESTAMP": "9" * 6000}
    text = (
        (as_json("first") + as_json("second", **odd) + as_json("third")).encode()
        if form == "json"
        else entry(b"first") + entry(b"second", **odd) + entry(b"third")
    )
    (block,) = blocks_of(written(tmp_path, text))
    found = [block.frame(i) for i in range(3)]
    assert [(frame.text, frame.pid) for frame in found] == [("first", 4711), ("second", None), ("third", 4711)]
    assert [record(frame).at is None for frame in found] == [False, True, False]
    assert record(found[1]).priority is None
    assert [(p.line, p.text) for p in odd_numbers([*found, found[1]])] == [
        (found[1].line_no, "_PID and PRIORITY and __REALTIME_TIMESTAMP of this entry cannot be: not read")
    ]


def test_a_number_of_json_without_end_costs_its_entry(tmp_path: Path) -> None:
    bare = as_json("second").replace('"4711"', "9" * 5000)
    assert [frame.text for frame in frames_of(written(tmp_path, as_json("first") + bare + as_json("third")))] == ["first", "second", "third"]

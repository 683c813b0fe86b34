"""Lines with their wrappers taken off, and what they inherit."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.model import Frame, Origin, PartKind
from forensics.parse import watch
from forensics.parse.block import TextBlock
from forensics.parse.frame import record
from tests.unit.parse.framing import DATA, blocks_of, frames_of, section_of, written

SERVER_LINE = "[2026-05-09 10:15:34 TP0] Load weight begin. avail mem=94.30 GB"
TEXT = "Load weight begin. avail mem=94.30 GB"


def one(tmp_path: Path, line: str, part: PartKind) -> Frame:
    (frame,) = frames_of(written(tmp_path, line + "\n", part=part))
    return frame


# --------------------------------------------------------------------------- who wrote it


@pytest.mark.parametrize(
    ("line", "origin", "trusted"),
    [
        pytest.param("May 09 10:15:51 h python[4711]: May 09 10:15:51 h systemd[1]: x.service: Failed with result 'signal'.", Origin.SERVER, False, id="systemd's words in a message"),
        pytest.param("May 09 10:15:51 h python[4711]: -- Boot 422dae7d88114a028ac813fbcfa2bbc5 --", Origin.SERVER, False, id="a boot mark in a message"),
        pytest.param("May 09 10:15:51 h python[4711]: kernel: Out of memory: Killed process 1", Origin.SERVER, False, id="the kernel's words in a message"),
        pytest.param("May 09 10:15:51 h kernel[4711]: Out of memory: Killed process 1", Origin.SERVER, False, id="a service that calls itself kernel"),
        pytest.param("May 09 10:15:51 h systemd[563]: x.service: Failed with result 'signal'.", Origin.SYSTEMD, False, id="a systemd where PID 1 writes nothing"),
        pytest.param("May 09 10:15:51 h systemd[1]: x.service: Failed with result 'signal'.", Origin.SYSTEMD, True, id="PID 1"),
        pytest.param("Sat 2026-05-09 10:15:51 UTC h init.scope[1]: x.service: Failed with result 'signal'.", Origin.SYSTEMD, True, id="PID 1 under with-unit"),
        pytest.param("May 09 10:15:51 h systemd-oomd[840]: Killed /system.slice/x.service due to memory pressure", Origin.SYSTEMD, False, id="systemd-oomd"),
        pytest.param("May 09 10:15:51 h (erver.py)[399]: x.service: Failed at step EXEC spawning /opt/x: Permission denied", Origin.SYSTEMD, False, id="systemd before its exec"),
        pytest.param("May 09 10:15:51 h kernel: Out of memory: Killed process 1", Origin.KERNEL, True, id="the kernel"),
        pytest.param("-- Boot 422dae7d88114a028ac813fbcfa2bbc5 --", Origin.SYSTEMD, True, id="a boot mark of journalctl"),
        pytest.param("-- Reboot --", Origin.SYSTEMD, True, id="a boot mark of an older journalctl"),
    ],
)  # fmt: skip
def test_who_wrote_a_line_of_a_journal(line: str, origin: Origin, trusted: bool, tmp_path: Path) -> None:
    frame = one(tmp_path, line, PartKind.JOURNAL_TEXT)
    assert (frame.origin, frame.fields.get("trusted") == "1") == (origin, trusted)


@pytest.mark.parametrize(
    ("message", "origin"),
    [
        ("x.service: Failed with result 'signal'.", Origin.SERVER),
        ("Failed to start x.service - X.", Origin.SERVER),
        ("Started x.service - X.", Origin.SERVER),
        ("x.service: Failed at step EXEC spawning /opt/x: Permission denied", Origin.SYSTEMD),
        ("x.service: Failed to locate executable /opt/x: No such file or directory", Origin.SYSTEMD),
        ("x.service: Failed to determine user credentials: No such process", Origin.SYSTEMD),
        ("x.service: Changing to the requested working directory failed: No such file or directory", Origin.SYSTEMD),
    ],
)
def test_where_pid_1_writes_another_systemd_is_believed_only_before_its_exec(message: str, origin: Origin, tmp_path: Path) -> None:
    text = f"May 09 10:15:51 h systemd[563]: {message}\nMay 09 10:15:52 h systemd[1]: x.service: Failed with result 'signal'.\n"
    for kind in (PartKind.JOURNAL_TEXT, PartKind.STATUS):
        first, last = frames_of(written(tmp_path, text, part=kind))
        assert (first.origin, "trusted" in first.fields) == (origin, False)
        assert (last.origin, "trusted" in last.fields) == (Origin.SYSTEMD, True)


def test_a_pid_without_end_is_none(tmp_path: Path) -> None:
    frame = one(tmp_path, f"May 09 10:15:51 h python[{'9' * 100}]: x", PartKind.JOURNAL_TEXT)
    assert frame.pid is None
    frame = one(tmp_path, f"(EngineCore pid={'9' * 5000}) x", PartKind.SERVER)
    assert frame.pid is None


def test_a_container_line_of_brackets_without_end_is_text(tmp_path: Path) -> None:
    line = '{"log":"x","a":' + "[" * 60_000
    assert one(tmp_path, line, PartKind.SERVER).text == line


def test_a_boot_mark_carries_its_boot_and_a_line_of_systemd_its_unit() -> None:
    found = frames_of(section_of(DATA / "rebooted.short.txt"))
    (mark,) = [frame for frame in found if frame.text.startswith("-- Boot")]
    assert (mark.ident, mark.fields["_BOOT_ID"]) == ("journalctl", "422dae7d88114a028ac813fbcfa2bbc5")
    assert [frame.fields["UNIT"] for frame in found if "Main process exited" in frame.text] == ["sglang-boot.service"] * 2


def test_no_line_of_a_plain_log_is_systemds(tmp_path: Path) -> None:
    found = frames_of(
        written(tmp_path, SERVER_LINE + "\nMay 09 10:15:51 h systemd[1]: x.service: Failed with result 'signal'.\n" + SERVER_LINE + "\n")
    )
    assert {frame.origin for frame in found} == {Origin.SERVER}


def test_client_output_is_the_clients_and_a_notice_nobodys(tmp_path: Path) -> None:
    assert one(tmp_path, "curl: (7) Failed to connect", PartKind.CLIENT).origin is Origin.CLIENT
    assert one(tmp_path, "No journal files were opened due to insufficient permissions.", PartKind.NOTICE).origin is Origin.ANY


# --------------------------------------------------------------------------- wrappers


@pytest.mark.parametrize(
    ("prefix", "part", "stamp", "ident"),
    [
        pytest.param("", PartKind.SERVER, "", "", id="plain"),
        pytest.param("May 09 10:15:34 gpu01 python[4822]: ", PartKind.JOURNAL_TEXT, "May 09 10:15:34", "python", id="short"),
        pytest.param("<6>May 09 10:15:34 gpu01 python[4822]: ", PartKind.JOURNAL_TEXT, "May 09 10:15:34", "python", id="syslog with priority"),
        pytest.param("Mai 09 10:15:34 gpu01 python[4822]: ", PartKind.JOURNAL_TEXT, "Mai 09 10:15:34", "python", id="short in German"),
        pytest.param("2026-05-09T10:15:34+00:00 gpu01 sglang::schedul[4822]: ", PartKind.JOURNAL_TEXT, "2026-05-09T10:15:34+00:00", "sglang::schedul", id="colons in the identifier"),
        pytest.param("May 09 10:15:34 gpu01 python[4822]: qwen-1  | ", PartKind.JOURNAL_TEXT, "May 09 10:15:34", "python", id="compose under systemd"),
        pytest.param("2026-05-09T10:15:34.159073700Z ", PartKind.SERVER, "2026-05-09T10:15:34.159073700Z", "", id="docker logs -t"),
        pytest.param("2026-05-09T10:15:34.104604+00:00 stdout F ", PartKind.SERVER, "2026-05-09T10:15:34.104604+00:00", "", id="a container runtime's file"),
        pytest.param("[2026-05-09T10:15:34Z] ", PartKind.SERVER, "2026-05-09T10:15:34Z", "", id="a CI"),
        pytest.param("bench\tRun it\t2026-05-09T10:15:34.1590737Z ", PartKind.SERVER, "2026-05-09T10:15:34.1590737Z", "", id="a CI's downloaded log"),
        pytest.param("\x1b_bk;t=1778321734000\x07", PartKind.SERVER, "1778321734.000", "", id="another CI"),
        pytest.param("vllm-mxfp4  | ", PartKind.SERVER, "", "vllm-mxfp4", id="compose"),
        pytest.param("qwen | ", PartKind.SERVER, "", "qwen", id="compose v1, longest name"),
        pytest.param("  | ", PartKind.SERVER, "", "", id="compose, cut"),
        pytest.param("qwen-1  | 2026-05-09T10:15:34.159073700Z ", PartKind.SERVER, "2026-05-09T10:15:34.159073700Z", "qwen-1", id="compose -t"),
        pytest.param("[pod/qwen-0/server] ", PartKind.SERVER, "", "qwen-0/server", id="kubectl --prefix"),
        pytest.param("[pod/qwen-0/server] 2026-05-09T10:15:34.159Z ", PartKind.SERVER, "2026-05-09T10:15:34.159Z", "qwen-0/server", id="kubectl --prefix --timestamps"),
        pytest.param("qwen-7c9d5b6f4d-x2x7q server ", PartKind.SERVER, "", "qwen-7c9d5b6f4d-x2x7q/server", id="stern"),
        pytest.param("qwen-0 server 2026-05-09T10:15:34.159Z ", PartKind.SERVER, "2026-05-09T10:15:34.159Z", "qwen-0/server", id="stern -t"),
        pytest.param("2026-05-09T10:15:34.159000Z 00O ", PartKind.SERVER, "2026-05-09T10:15:34.159000Z", "", id="GitLab"),
        pytest.param("2026-05-09T10:15:34.159000Z 01E+", PartKind.SERVER, "2026-05-09T10:15:34.159000Z", "", id="GitLab, a line that goes on"),
        pytest.param('2026-05-09T10:15:34Z {app="qwen", pod="qwen-0"} ', PartKind.SERVER, "2026-05-09T10:15:34Z", "", id="logcli"),
        pytest.param("2026-05-09T10:15:34Z app[3d8d1] fra [info] ", PartKind.SERVER, "2026-05-09T10:15:34Z", "app[3d8d1]", id="a hosting service"),
        pytest.param("2026-05-09T10:15:34.15+00:00 app[web.1]: ", PartKind.SERVER, "2026-05-09T10:15:34.15+00:00", "app[web.1]", id="another hosting service"),
        pytest.param("10:15:34 web.1   | ", PartKind.SERVER, "", "web.1", id="foreman"),
        pytest.param("\x1b[33mqwen-1  |\x1b[0m ", PartKind.SERVER, "", "qwen-1", id="compose in colour"),
        pytest.param("\x1b[32m", PartKind.SERVER, "", "", id="colour"),
        pytest.param("#033[32m", PartKind.SERVER, "", "", id="colour, as rsyslog writes it"),
        pytest.param("\ufeff", PartKind.SERVER, "", "", id="byte order mark"),
    ],
)  # fmt: skip
def test_wrappers_come_off_in_layers(prefix: str, part: PartKind, stamp: str, ident: str, tmp_path: Path) -> None:
    frame = one(tmp_path, prefix + SERVER_LINE + "\r", part)
    assert frame == Frame(
        "-", 1, 0, TEXT, Origin.SERVER, False, stamp, "2026-05-09 10:15:34", ident, frame.pid, "TP0", frame.host, frame.fields, 4096, 4096
    )
    assert (frame.pid, frame.host) == ((4822, "gpu01") if part is PartKind.JOURNAL_TEXT else (None, ""))


@pytest.mark.parametrize("line", ["model | accept length", "INFO | main | started", "| NVIDIA-SMI 550.54 |", "a: b | c"])
def test_a_column_of_a_table_is_no_wrapper(line: str, tmp_path: Path) -> None:
    assert one(tmp_path, line, PartKind.SERVER).text == line


@pytest.mark.parametrize(
    "line", ["step-1 done with it", "fp8-quant layer 3", "layer-0 norm Error", "a-12 b", "app[web.1]: started", "gpt-2 model ValueError"]
)
def test_two_words_and_a_number_are_no_pod(line: str, tmp_path: Path) -> None:
    assert one(tmp_path, line, PartKind.SERVER).text == line


def test_an_event_of_an_engine_is_its_own_word_and_its_time_is_read(tmp_path: Path) -> None:
    for line, stamp in (
        ("2026-11-30T10:37:39.899509864Z container die 880a0a86cad0 (exitCode=1, image=app:1, name=exit1)", "2026-11-30T10:37:39.899509864Z"),
        ("2026-11-30 10:38:01.69373474 +0000 UTC container died a291defc8302 (image=app:1, name=exit1)", "2026-11-30T10:38:01.69373474+00:00"),
        ("2026-11-30 12:38:01 +0200 CEST container died a291defc8302 (image=app:1, name=exit1)", "2026-11-30T12:38:01+02:00"),
    ):
        frame = one(tmp_path, line, PartKind.EVENTS)
        assert (frame.origin, frame.stamp, frame.fields["trusted"]) == (Origin.SYSTEMD, stamp, "1")
        assert frame.text.startswith("container d")


def test_what_a_state_quotes_of_the_container_is_not_trusted(tmp_path: Path) -> None:
    frame = one(tmp_path, '    "Output": "web.service: Main process exited, code=killed, status=9/KILL"', PartKind.CONTAINER)
    assert (frame.origin, frame.fields) == (Origin.SYSTEMD, {})


def test_a_line_of_dockers_own_file_is_opened(tmp_path: Path) -> None:
    frame = one(tmp_path, '{"log":"' + SERVER_LINE + '\\n","stream":"stderr","time":"2026-05-09T10:15:34.5Z"}', PartKind.SERVER)
    assert (frame.text, frame.stamp) == (TEXT, "2026-05-09T10:15:34.5Z")


def test_rank_and_pid_come_from_the_servers_prefix(tmp_path: Path) -> None:
    frame = one(tmp_path, "(Worker_TP1 pid=15193) ERROR 05-08 19:06:38 [multiproc_executor.py:962] CUDA error", PartKind.SERVER)
    assert (frame.rank, frame.pid, frame.inner, frame.text) == ("Worker_TP1", 15193, "05-08 19:06:38", "CUDA error")
    frame = one(
        tmp_path, "May 09 10:15:34 h vllm[99]: (Worker_TP1 pid=15193) ERROR 05-08 19:06:38 [executor.py:962] CUDA error", PartKind.JOURNAL_TEXT
    )
    assert (frame.pid, frame.fields) == (15193, {"outer_pid": "99"})


# --------------------------------------------------------------------------- continuation


def test_a_traceback_carries_the_stamp_and_rank_of_its_record(tmp_path: Path) -> None:
    text = f"{SERVER_LINE}\nTraceback (most recent call last):\n\nRuntimeError: Not enough memory.\n[2026-05-09 10:15:35] bye\nlast words\n"
    found = frames_of(written(tmp_path, "before any record\n" + text))
    assert [(frame.inner[-8:], frame.rank, frame.continuation) for frame in found] == [
        ("", "", False), ("10:15:34", "TP0", False), ("10:15:34", "TP0", True), ("10:15:34", "TP0", True), ("10:15:34", "TP0", True), ("10:15:35", "", False), ("10:15:35", "", True),
    ]  # fmt: skip


def test_another_writer_in_between_does_not_break_a_record(tmp_path: Path) -> None:
    head = "May 09 10:15:34 h python[4822]: "
    text = f"{head}{SERVER_LINE}\n{head}Traceback:\nMay 09 10:15:34 h systemd[1]: Reloading.\nMay 09 10:15:34 h python[4711]: [2026-05-09 10:15:40] other\n{head}RuntimeError: x\n"
    found = frames_of(written(tmp_path, text))
    assert [(frame.text, frame.inner, frame.rank) for frame in found if frame.continuation] == [
        ("Traceback:", "2026-05-09 10:15:34", "TP0"),
        ("RuntimeError: x", "2026-05-09 10:15:34", "TP0"),
    ]
    assert found[2].inner == ""


def test_lines_may_be_opened_in_any_order(tmp_path: Path) -> None:
    text = (f"{SERVER_LINE}\n" + "x\n" * 9 + "[2026-05-09 10:15:35 TP1] Load weight end.\n" + "y\n" * 9) * 5
    ordered = frames_of(written(tmp_path, text))
    (block,) = blocks_of(written(tmp_path, text))
    assert [block.frame(i) for i in reversed(range(len(ordered)))] == ordered[::-1]


def test_a_record_goes_on_in_the_next_block(tmp_path: Path) -> None:
    filler = "[2026-05-09 10:15:33 TP1] " + "x" * 90 + "\n"
    lines = filler * ((1 << 20) // len(filler)) + SERVER_LINE + "\n"
    found = blocks_of(written(tmp_path, lines + "  File x.py\n" * 90_000))
    assert len(found) > 2
    last = found[1].frame(5)
    assert (last.text, last.inner, last.rank, last.continuation) == ("  File x.py", "2026-05-09 10:15:34", "TP0", True)


def test_further_lines_of_a_message_are_its_writers_and_others_nobodys(tmp_path: Path) -> None:
    head = "May 09 10:15:34 h systemd[1]: "
    found = frames_of(
        written(tmp_path, f"{head}first line\n{' ' * len(head)}  second line\nx.service: Failed with result 'signal'.\n", part=PartKind.JOURNAL_TEXT)
    )
    assert [(frame.text, frame.origin, frame.fields.get("trusted", "")) for frame in found] == [
        ("first line", Origin.SYSTEMD, "1"),
        ("  second line", Origin.SYSTEMD, "1"),
        ("x.service: Failed with result 'signal'.", Origin.SERVER, ""),
    ]
    assert [frame.stamp for frame in found] == ["May 09 10:15:34"] * 3


# --------------------------------------------------------------------------- places and bounds


def test_lines_of_windows_are_known_by_their_shapes_and_stand_where_they_do_in_the_file(tmp_path: Path) -> None:
    lines = ["a first line\r", "short", "\r", "10 %\r20 %\r", "two\r\r", *(f"line {n}\r" for n in range(200)), "the last\r"]
    raw = "\n".join(lines).encode() + b"\n"
    section = written(tmp_path, raw, part=PartKind.SERVER)
    (block,) = blocks_of(section)
    assert isinstance(block, TextBlock)
    assert block.zeroed.split(b"\n")[:6] == [b"a first line", b"short", b"", b"00 %\r00 %", b"two\r", b"line 0"]
    assert block.raw(0) == b"a first line"
    found = [block.frame(i) for i in range(len(block.keys))]
    assert [frame.text for frame in found] == [line.rstrip("\r") for line in lines]
    assert all(raw[frame.start :].startswith(lines[frame.line_no - 1].encode() + b"\n") for frame in found)


def test_line_numbers_and_offsets_are_those_of_the_file(tmp_path: Path) -> None:
    raw = (DATA / "rebooted.short.txt").read_bytes()
    lines = raw.split(b"\n")
    for frame in frames_of(section_of(DATA / "rebooted.short.txt")):
        line = lines[frame.line_no - 1]
        assert raw[frame.start : frame.start + len(line)] == line
        assert line.decode().endswith(frame.text)


def test_only_the_log_lines_of_a_status_are_framed() -> None:
    found = frames_of(section_of(DATA / "exit1-traceback.status.txt"))
    assert [frame.line_no for frame in found] == list(range(8, 18))
    assert found[4].text == "RuntimeError: CUDA error: an illegal memory access was encountered"
    assert (found[-1].origin, found[-1].fields["trusted"]) == (Origin.SYSTEMD, "1")
    assert {block.part for block in blocks_of(section_of(DATA / "exit1-traceback.status.txt"))} == {PartKind.STATUS}


def test_answers_that_are_no_logs_are_not_framed(tmp_path: Path) -> None:
    for kind in (
        PartKind.SHOW,
        PartKind.IS_ACTIVE,
        PartKind.UNITS,
        PartKind.SOCKETS,
        PartKind.HEALTH,
        PartKind.GPU,
        PartKind.CLOCK,
        PartKind.UNIT_FILE,
        PartKind.BENCH_JSON,
    ):
        assert frames_of(written(tmp_path, "May 09 10:15:34 h systemd[1]: x\n", part=kind)) == []


@pytest.mark.parametrize("length", [100_000, 3_000_000, 10_000_000])
def test_an_endless_line_is_cut_with_a_problem_and_the_rest_is_read(length: int, tmp_path: Path) -> None:
    raw = b"first\n" + b"a" * length + b" the end\nlast\n"
    found = blocks_of(written(tmp_path, raw, part=PartKind.SERVER))
    frames = [block.frame(i) for block in found for i in range(len(block.keys))]
    assert [frame.text[:5] for frame in frames] == ["first", "aaaaa", "last"]
    assert frames[1].text.endswith("the end")
    assert len(frames[1].text) < 70_000
    assert [(frame.line_no, frame.start) for frame in frames] == [(1, 0), (2, 6), (3, 6 + length + 9)]
    assert [(problem.line, str(length + 9) in problem.text) for block in found for problem in block.problems] == [(2, True)]


def test_a_progress_bar_of_one_endless_line_keeps_its_last_step(tmp_path: Path) -> None:
    raw = b"".join(b"shards: %d/9999\r" % i for i in range(9000)) + b"\n"
    (frame,) = frames_of(written(tmp_path, raw, part=PartKind.SERVER))
    assert frame.text.split("\r")[-1] == "shards: 8999/9999"


def test_what_is_not_text_survives_as_replacement_characters(tmp_path: Path) -> None:
    found = frames_of(written(tmp_path, b"\xff\xfe caf\xe9\nnul \0 in\nno end", part=PartKind.SERVER))
    assert [frame.text for frame in found] == ["\ufffd\ufffd caf\ufffd", "nul \ufffd in", "no end"]


def test_keys_are_the_lines_without_digits_and_colours(tmp_path: Path) -> None:
    (block,) = blocks_of(written(tmp_path, "a 12 b\n\x1b[1;31mNot enough\x1b[0m memory 3\n\nlast", part=PartKind.SERVER))
    assert block.keys == [b"a  b", b"Not enough memory ", b"", b"last"]
    assert block.raw(0) == b"a 12 b"


# --------------------------------------------------------------------------- records and ends


def frame_with(**fields: object) -> Frame:
    return Frame(source="journal", line_no=3, start=9, text="x", origin=Origin.SERVER)._replace(**fields)  # type: ignore[arg-type]


def test_the_time_of_a_record_is_its_outermost_stamp_that_can_be_read() -> None:
    assert record(frame_with(stamp="2026-05-09T10:15:18+0000", inner="2026-05-09 12:15:18")).at == 1778321718.0
    assert record(frame_with(stamp="1556.471614", inner="2026-05-09 10:15:18")).at == 1778321718.0
    assert record(frame_with(inner="10:15:18")).at is None
    assert record(frame_with()).at is None


def test_a_stamp_without_a_year_is_completed_from_what_is_known() -> None:
    frame = frame_with(stamp="Dec 31 23:59:00")
    assert record(frame).at is None
    assert record(frame, year=2026).at == 1798761540.0
    assert record(frame, latest=1798800000.0).at == 1798761540.0  # 2027-01-01
    assert record(frame_with(stamp="2020-01-01 00:00:00"), latest=1798800000.0).at == 1577836800.0


def test_what_a_service_says_of_units_is_not_believed() -> None:
    fields = {
        "UNIT": "a.service",
        "_SYSTEMD_UNIT": "b.service",
        "INVOCATION_ID": "a",
        "_SYSTEMD_INVOCATION_ID": "b",
        "PRIORITY": "3",
        "_BOOT_ID": "c",
        "_TRANSPORT": "stdout",
    }
    told = record(frame_with(fields=fields))
    assert (told.unit, told.invocation, told.priority, told.boot, told.transport) == ("b.service", "b", 3, "c", "stdout")
    told = record(frame_with(fields=fields, origin=Origin.SYSTEMD))
    assert (told.unit, told.invocation) == ("a.service", "a")


def test_the_ends_of_a_source_are_known_once_its_blocks_have_gone_by(tmp_path: Path) -> None:
    text = "".join(f"[2026-05-09 10:15:34 TP0] line {i} {'x' * 60}\n\n" for i in range(30_000))
    source = written(tmp_path, text, part=PartKind.SERVER)
    blocks = blocks_of(source)
    passing, ends = watch(blocks)
    assert list(passing) == blocks
    assert len(blocks) > 2
    tail = ends.tails(record)["-"]
    assert tail.lines == 60_000
    assert [told.text.split()[1] for told in tail.first] == ["0", "1", "2", "3", "4"]
    assert [told.text.split()[1] for told in tail.last] == [str(i) for i in range(29_960, 30_000)]

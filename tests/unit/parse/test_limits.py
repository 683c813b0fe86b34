"""What a hostile log or answer holds: each of these once ended in an exception, a hang, or memory without end."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from forensics import parse
from forensics.model import NO_COLUMNS, PartKind
from forensics.parse import client, export, host, peer, sniff, systemd, tails, unitstate
from forensics.parse.asked import asked_unit
from forensics.parse.part import Part
from tests.unit.counting import steps
from tests.unit.parse.framing import blocks_of, frames_of, section_of, written

LONG = "9" * 5000  # more digits than int() takes since Python 3.11
ENTRY = b"__CURSOR=s=%d\n__REALTIME_TIMESTAMP=177832171800%04d\n_PID=7\nMESSAGE=%s\n\n"


# --------------------------------------------------------------------------- figures that cannot be


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (systemd.show, "Id=x.service\nActiveState=failed\nResult=signal\nNRestarts=#\nMainPID=#\nExecMainCode=2\nExecMainStatus=#\n"),
        (systemd.status, "× x.service - X\n     Active: failed (Result: signal)\n   Main PID: # (code=killed, status=#/KILL)\n"),
        (systemd.status, "× x.service - X\n     Active: failed\n    Process: # ExecStart=/bin/x (code=exited, status=#)\n"),
        (systemd.status, "● x.service - X\n     Active: active\n   Main PID: 5 (x)\n     CGroup: /x\n             └─# /bin/x\n"),
        (host.listeners, 'LISTEN 0 128 0.0.0.0:80 0.0.0.0:* users:(("x",pid=#,fd=3))\nLISTEN 0 128 0.0.0.0:# 0.0.0.0:*\n'),
        (host.gpus, "index, name, memory.total [MiB]\n0, x, # MiB\n#, x, 1 MiB\npid, process_name, used_gpu_memory [MiB]\n#, x, 1 MiB\n7, x, 1 MiB\n|    0   N/A  N/A    #      C   python      5MiB |"),
        (client.read, "HTTPConnectionPool(host='h', port=#): refused\nConnect call failed ('h', #)\nNamespace(port=#, num_prompts=#)"),
    ],
    ids=["show", "main-pid", "process", "cgroup", "sockets", "gpus", "client"],
)  # fmt: skip
def test_a_number_with_more_digits_than_python_reads_costs_only_itself(read: Callable[..., Any], text: str) -> None:
    found = read(text.replace("#", LONG))[0]
    assert found, "the rest was read"


def test_a_number_that_cannot_be_a_pid_is_none_and_the_rest_of_the_answer_stands() -> None:
    [state], problems = systemd.show(f"Id=x.service\nActiveState=failed\nResult=signal\nMainPID={LONG}\nNRestarts=3\n")
    assert (state.name, state.active, state.main_pid, state.restarts) == ("x.service", "failed", None, 3)
    assert problems == ()
    assert [p.pid for p in host.gpus(f"pid, process_name, used_gpu_memory [MiB]\n{LONG}, x, 1 MiB\n7, y, 1 MiB")[1]] == [7]
    assert host.gpus("index, name, memory.total [MiB]\n²,x,1\n")[0] == ()


@pytest.mark.parametrize("word", ["@nan", "@inf", "@-inf", "@1e400", "@1e9", "@", "@" + LONG])
def test_a_time_that_is_no_finite_number_is_none(word: str) -> None:
    assert systemd.stamp(word) is None


def test_sizes_and_spans_without_end_are_none() -> None:
    assert systemd.gib(LONG) is None
    [state], _ = systemd.status(f"× x.service - X\n     Active: failed since Sat 2026-05-09 10:15:51 UTC; {LONG}d ago\n   Duration: {LONG}s\n")
    assert (state.ago_s, state.duration_s) == (None, None)
    assert state.since is not None
    assert math.isfinite(state.since)


# --------------------------------------------------------------------------- what must not take for ever


def test_a_path_of_many_units_in_a_unit_file_is_one_path() -> None:
    path = "/" + "a.service.d/" * 40_000
    [state], _ = unitstate.unit_file(f"# {path}x.service\n[Service]\nExecStart=/bin/x\n")
    assert (state.name, state.fragment) == ("x.service", f"{path}x.service")
    assert unitstate.unit_file("# /" + "a" * 400_000 + "\n[Service]\nExecStart=/bin/x\n")[0][0].name == ""


def test_a_drop_in_is_no_name_of_a_unit() -> None:
    [state], _ = unitstate.unit_file(
        "# /etc/systemd/system/x.service\n[Service]\nExecStart=/bin/x\n\n# /etc/systemd/system/x.service.d/a.conf\n[Service]\nNice=1\n"
    )
    assert (state.name, state.fragment, state.argv) == ("x.service", "/etc/systemd/system/x.service", ("/bin/x",))


def test_a_command_line_of_megabytes_is_taken_apart_at_its_blanks() -> None:
    word = "a" * 2_000_000
    assert systemd.words(f"/bin/x {word} 'b c'") == ("/bin/x", word, "'b", "c'")
    [state], problems = unitstate.unit_file(f"[Service]\nExecStart=/bin/x {word}\n")
    assert state.argv == ("/bin/x", word)
    assert len(problems) == 1
    assert asked_unit(f"journalctl -u x {word}") == "x.service"
    assert peer.command_tool(f"/opt/x/bench {word}") == "bench"


def test_a_start_command_that_repeats_its_own_marks_is_none() -> None:
    [state], _ = systemd.show("Id=x.service\nActiveState=failed\nResult=x\nExecStart=" + "argv[]=" * 100_000)
    assert state.argv == ()
    [state], _ = systemd.show("Id=x.service\nActiveState=failed\nExecStart={ path=/bin/x ; argv[]=/bin/x --a b ; ignore_errors=no }")
    assert state.argv == ("/bin/x", "--a", "b")


@pytest.mark.parametrize(
    ("line", "task"),
    [("task1 ERROR refused", True), ("task-12 ERROR refused", True), ("t_1 ERROR refused", True), ("a/b ERROR refused", True), ("12 ERROR refused", True), ("1 ERROR x", False), ("task ERROR x", False)],
)  # fmt: skip
def test_the_rows_of_a_task_table_begin_with_a_numbered_word(line: str, task: bool) -> None:
    assert bool(client._TASK.match(line)) == task


def test_lines_of_digits_are_no_task_table() -> None:
    assert client._TASK.match("1" * 8192) is None
    assert client._TASK.match("1-" * 4096) is None
    run, _ = client.read("curl: (7) refused\n" + ("1" * 8191 + "\n") * 20)
    assert run is not None
    assert run.failed == 1


def test_blanks_without_end_are_no_loop_no_task_and_no_table() -> None:
    spaces = " " * 8000
    text = "curl: (7) refused\n" + f"{spaces}x\na/b{spaces}x\n" * 40
    run, _ = client.read(text)
    assert run is not None
    assert run.failed == 1
    assert client._TASK.match("a/b   [ ERROR ] refused")
    assert client._TASK.match("[1/5] a/b ( FAILED ) refused")
    assert client._LOOP.match("  [ t=5 s] unhealthy")
    assert client._LOOP.match("[5s] unhealthy")
    row = "|    0   N/A  N/A    7      C   python" + " " * 200_000 + "x"
    assert host.gpus(row)[1] == ()
    boot = "-1 422dae7d88114a028ac813fbcfa2bbc5 Sat 2026-05-09 10:15:18 UTC" + " 10:15:18" * 50_000
    assert host.boots(boot)[0] == ()


def test_a_command_that_says_the_same_again_and_again_is_what_it_begins_with(tmp_path: Path) -> None:
    [part] = _parts(b"$ " + b"docker journalctl " * 50_000 + b"\nhello\n", tmp_path)
    assert part.kind is PartKind.SERVER


def _parts(text: bytes, folder: Path) -> list[Part]:
    return sniff.parts(written(folder, text, name="x.txt"))


@pytest.mark.parametrize(
    "family",
    [
        lambda n: b"Abc=d\n" * n,
        lambda n: b"Result=x\nfoo\n" * n,
        lambda n: b"INFO: started\n" * n + b"May 09 10:15:34 gpu01 python[4822]: hello\n" * n,
        lambda n: b"INFO: started\nMay 09 10:15:34 gpu01 python[4822]: hello\n" * n,
        lambda n: b"INFO: started\n" * n + b"May 09 10:15:34 gpu01 python[4822]: hello\n\n" * n,
        lambda n: b"-- No entries --\nx\n" * n,
        lambda n: b"user@h:~$ journalctl -u x.service\nMay 09 10:15:34 gpu01 python[4822]: hello\n" * n,
        lambda n: b"active\nx\n" * n,
        lambda n: b"[Unit]\nA=b\nx y\n" * n,
    ],
    ids=[
        "show-like",
        "show-parted",
        "log-then-journal",
        "log-and-journal",
        "log-then-parted-journal",
        "no-entries",
        "prompts",
        "states",
        "unit-files",
    ],
)
def test_twice_the_lines_take_twice_the_steps(family: Callable[[int], bytes], tmp_path: Path) -> None:
    def read(n: int) -> int:
        section = written(tmp_path, family(n), name=f"x{n}.txt")

        def once() -> None:
            blocks, ends = parse.watch(iter(blocks_of(section)))
            for _ in blocks:
                pass
            parse.facts(SimpleNamespace(sections=(section,), columns=NO_COLUMNS, problems=(), at=1.8e9, offset_s=None, host=None, target=SimpleNamespace(host=None), pick=SimpleNamespace(unit=None, candidates=())), SimpleNamespace(hits=[], counts={}), tails=ends)  # type: ignore[arg-type]  # fmt: skip

        return steps(once)

    read(10)  # what is compiled once, whichever test comes first, is none of the steps
    assert read(500) <= 2.5 * read(250)


def test_a_log_keeps_the_journal_lines_that_a_program_wrote_into_it(tmp_path: Path) -> None:
    lines = b"INFO: started\n" * 10 + b"May 09 10:15:34 gpu01 systemd[1]: x.service: Failed with result 'signal'.\n" * 4 + b"INFO: goes on\n"
    assert [(p.kind, p.first_line, p.last_line) for p in _parts(lines, tmp_path)] == [(PartKind.SERVER, 1, 15)]
    parted = b"INFO: started\n" * 10 + b"\nMay 09 10:15:34 gpu01 systemd[1]: x.service: Failed with result 'signal'.\n" * 2
    assert [p.kind for p in _parts(parted, tmp_path)] == [PartKind.SERVER, PartKind.JOURNAL_TEXT]


# --------------------------------------------------------------------------- what must not be held


def test_an_export_whose_entry_never_ends_is_passed_over_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "_MAX_ENTRY", 1 << 20)
    raw = ENTRY % (1, 1, b"first") + b"__CURSOR=s=2\nMESSAGE=" + b"a" * (5 << 20) + b"\n\n" + ENTRY % (3, 3, b"last")
    section = written(tmp_path, raw, name="x.export", part=PartKind.JOURNAL_EXPORT)
    held: list[int] = []
    read = export._Entries._read

    def noted(self: export._Entries, size: int) -> bytes:
        held.append(len(self.buffer))
        return read(self, size)

    monkeypatch.setattr(export._Entries, "_read", noted)
    blocks = blocks_of(section)
    frames = [block.frame(i) for block in blocks for i in range(len(block.keys))]
    assert [(f.text, f.line_no) for f in frames if f.text in ("first", "last")] == [("first", 1), ("last", 9)]
    assert all(raw.count(b"\n", 0, f.start) == f.line_no - 1 for f in frames if f.text in ("first", "last"))
    assert any("without an end" in p.text for block in blocks for p in block.problems)
    assert max(held) <= 3 << 20


@pytest.mark.parametrize("read", [host.probes, host.boots, host.listeners, host.gpus, systemd.show, systemd.status], ids=lambda read: read.__name__)
def test_an_answer_of_another_kind_has_few_problems(read: Callable[..., Any]) -> None:
    text = "NVIDIA-SMI has failed LISTEN users: x\n" * 3000 + "\n× x.service - X\n" * 3000
    assert 1 <= len(read(text, source="s")[-1]) <= systemd.MOST_PROBLEMS + 1


def test_thousands_of_entries_that_are_none_are_told_of_a_few_times(tmp_path: Path) -> None:
    bad = b"__CURSOR=s\n__REALTIME_TIMESTAMP=1778321718000001\nMESSAGE\n" + struct.pack("<Q", 5) + b"x\n\n"
    blocks = blocks_of(written(tmp_path, bad * 5000, name="x.export", part=PartKind.JOURNAL_EXPORT))
    assert 1 <= sum(len(block.problems) for block in blocks) <= 20


@pytest.mark.parametrize("line", [b"\n", b"12345\n", b" \n" * 200 + b"x\n" + b"\n" * 800], ids=["blank", "digits", "hardly-any"])
def test_of_blocks_that_say_nothing_only_a_few_are_held(line: bytes, tmp_path: Path) -> None:
    section = written(tmp_path, b"first\n" + line * (12 * (1 << 20) // len(line)), name="x.log", part=PartKind.SERVER)
    blocks, ends = parse.watch(iter(blocks_of(section)))
    assert sum(1 for _ in blocks) >= 12
    assert sum(map(len, ends._held.values())) <= tails.MOST_BLOCKS
    assert ends.first["x.log"][0].text == "first"


def test_a_field_of_a_verbose_journal_keeps_all_its_lines_in_order(tmp_path: Path) -> None:
    head = "Sat 2026-05-09 10:15:34.000000 UTC [s=a;i=1;b=2;m=3;t=4;x=5]\n"
    text = head + "    MESSAGE=first\n" + "".join(f"            {n}\n" for n in range(50_000)) + "    _PID=7\n"
    frames = frames_of(written(tmp_path, text, name="x.txt"))
    assert [f.text for f in frames] == ["first", *map(str, range(50_000))]
    assert {f.pid for f in frames} == {7}


def test_an_entry_of_blank_lines_without_end_is_not_held(tmp_path: Path) -> None:
    section = written(tmp_path, b"{\n" + b"\n" * (1 << 20) + b'\t"MESSAGE" : "x"\n}\n', name="x.json", part=PartKind.JOURNAL_JSON)
    assert [f.text for f in frames_of(section)] == []


HUGE = {
    "nul": b"\0" * 1_500_000,
    "no-utf-8": b"\xff\xfe" * 750_000,
    "returns": b"x\r" * 750_000,
    "escapes": b"\x1b[31" * 375_000,
    "10-mb": b"a" * 10_000_000,
}
KINDS = (None, PartKind.JOURNAL_TEXT, PartKind.JOURNAL_JSON, PartKind.KERNEL, PartKind.SERVER, PartKind.CLIENT)


@pytest.mark.parametrize(
    ("name", "part"), [*((name, part) for name in HUGE for part in KINDS if name != "10-mb"), ("10-mb", None), ("10-mb", PartKind.SERVER)]
)
def test_one_line_of_megabytes_is_cut_and_said(name: str, part: PartKind | None, tmp_path: Path) -> None:
    section = section_of(tmp_path / "x", part=part)
    section.path.write_bytes(HUGE[name] + b"\nlast\n")
    blocks = blocks_of(section)
    frames = [block.frame(i) for block in blocks for i in range(len(block.keys))]
    assert all(len(f.text) <= 1 << 16 for f in frames)
    assert frames[-1].line_no == 2
    assert any("cut to its first" in p.text for block in blocks for p in block.problems)

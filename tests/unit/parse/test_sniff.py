"""What a file or a pasted terminal holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.model import PartKind
from forensics.parse import sniff
from forensics.parse.part import Part
from tests.unit.parse.framing import DATA, blocks_of, section_of, written

K = PartKind

STATUS = """\
× sglang-qwen.service - SGLang Qwen with DDTree
     Loaded: loaded (/etc/systemd/system/sglang-qwen.service; enabled; preset: enabled)
     Active: failed (Result: signal) since Sat 2026-05-09 10:15:51 UTC; 9min ago
   Duration: 32.969s
   Main PID: 4711 (code=killed, signal=KILL)
        CPU: 41.228s

May 09 10:15:50 gpu01 python[4822]: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.
May 09 10:15:51 gpu01 systemd[1]: sglang-qwen.service: Main process exited, code=killed, status=9/KILL
"""
JOURNAL = "May 09 10:15:51 gpu01 systemd[1]: sglang-qwen.service: Failed with result 'signal'.\nMay 09 10:15:51 gpu01 python[4711]: bye\n"
HEALTH = "  0 s unhealthy URLError(ConnectionRefusedError(111, 'Connection refused'))\n 10 s unhealthy URLError(ConnectionRefusedError(111, 'Connection refused'))\n"
SERVER = "[2026-05-09 10:15:34 TP0] Load weight begin. avail mem=94.30 GB\n[2026-05-09 10:15:50 TP0] Load weight end.\nTraceback (most recent call last):\n"


def kinds(text: str | bytes, folder: Path, name: str = "-") -> list[PartKind]:
    return [part.kind for part in sniff.parts(written(folder, text, name=name))]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param("it failed\n", K.SERVER, id="a word within a sentence is no state"),
        pytest.param("-- Subject: Unit failed\n", K.SERVER, id="not every line of dashes is journalctl's"),
        pytest.param("[Wed] 12\n", K.SERVER, id="a bracket is no kernel stamp"),
        pytest.param("Result=3\n[2026-05-09 10:15:34] x=1\n", K.SERVER, id="one assignment is no show output"),
        pytest.param("2022-06-23 09:50:41,489 INFO: Lock owner: None; I am pg-0\n", K.SERVER, id="a stamp with a space is no journal"),
        pytest.param("2026-09-23T08:13:03.159073700Z RuntimeError: NCCL error: unhandled cuda error\n", K.SERVER, id="docker's stamp is no journal"),
        pytest.param("requests.exceptions.ConnectionError: HTTPSConnectionPool(host='huggingface.co')\n" + SERVER * 2, K.SERVER, id="a server may be a client"),
        pytest.param("", K.EMPTY, id="nothing"),
        pytest.param("\n \n", K.EMPTY, id="blank lines"),
        pytest.param("-- No entries --\n", K.EMPTY, id="no entries"),
        pytest.param("-- Journal begins at Sun 2026-11-29 20:05:39 UTC, ends at Sun 2026-11-29 20:17:24 UTC. --\n-- No entries --\n", K.EMPTY, id="no entries, systemd 247"),
        pytest.param("failed\n", K.IS_ACTIVE, id="is-active"),
        pytest.param("activating\nactive\n", K.IS_ACTIVE, id="is-active of two"),
        pytest.param("Unit ollama.service could not be found.\n", K.STATUS, id="unit not found"),
        pytest.param(STATUS, K.STATUS, id="status"),
        pytest.param(STATUS.replace("×", "x"), K.STATUS, id="status under LC_ALL=C"),
        pytest.param(STATUS.replace("×", "●"), K.STATUS, id="status of systemd 247"),
        pytest.param(STATUS.replace("×", "\x1b[0;1;31m×\x1b[0m"), K.STATUS, id="status in colour"),
        pytest.param("ActiveState=failed\nSubState=failed\nResult=signal\n", K.SHOW, id="show"),
        pytest.param("Type=simple\nRestart=no\nMainPID=0\nExecMainStatus=9\n\nId=b.service\nActiveState=active\n", K.SHOW, id="show of two units"),
        pytest.param("# /etc/systemd/system/x.service\n[Unit]\nDescription=x\n\n[Service]\nExecStart=/bin/x \\\n  --port 1\n", K.UNIT_FILE, id="unit file"),
        pytest.param(JOURNAL, K.JOURNAL_TEXT, id="short"),
        pytest.param("-- Boot 422dae7d88114a028ac813fbcfa2bbc5 --\n" + JOURNAL, K.JOURNAL_TEXT, id="boot mark first"),
        pytest.param('{"__CURSOR":"s=1","MESSAGE":"x","__REALTIME_TIMESTAMP":"1"}\n', K.JOURNAL_JSON, id="json"),
        pytest.param('\x1e{"MESSAGE":"x","__REALTIME_TIMESTAMP":"1"}\n', K.JOURNAL_JSON, id="json-seq"),
        pytest.param("__CURSOR=s=1\n__REALTIME_TIMESTAMP=1\nMESSAGE=x\n\n", K.JOURNAL_EXPORT, id="export"),
        pytest.param("[ 7063.247407] Memory cgroup out of memory: Killed process 63214 (uwsgi)\n", K.KERNEL, id="dmesg"),
        pytest.param("[Wed Jun 24 15:44:20 2026] NVRM: Xid (PCI:0000:70:00): 13, Graphics\n", K.KERNEL, id="dmesg -T"),
        pytest.param("May 27 16:49:51 host1 kernel: NVRM: Xid (PCI:0000:09:00): 79, GPU has fallen off the bus.\n", K.KERNEL, id="journalctl -k"),
        pytest.param("NVRM: Xid (PCI:0000:9b:00): 94, pid=1234, name=python3, Contained ECC error\n", K.KERNEL, id="bare"),
        pytest.param("406:[Sun Nov 29 20:11:23 2026] launch_server.p invoked oom-killer: gfp_mask=0xcc0\n", K.KERNEL, id="dmesg | grep -n"),
        pytest.param("Hint: You are currently not seeing messages from the system.\n      Users in the 'systemd-journal' group can see all messages. Pass -q to\n"
                     "      turn off this notice.\nNo journal files were opened due to insufficient permissions.\n", K.NOTICE, id="no rights"),
        pytest.param("UNIT             LOAD   ACTIVE SUB     DESCRIPTION\nssh.service      loaded active running OpenBSD\n\n1 loaded units listed.\n", K.UNITS, id="list-units"),
        pytest.param(HEALTH, K.CLIENT, id="health check"),
        pytest.param("coding/00  ERROR  URLError: <urlopen error [Errno 111] Connection refused>\n", K.CLIENT, id="tasks that failed"),
        pytest.param("curl: (7) Failed to connect to localhost port 8000 after 0 ms: Couldn't connect to server\n", K.CLIENT, id="curl"),
        pytest.param('{"object":"error","message":"The input is longer than the context","type":"BadRequestError","code":400}\n', K.CLIENT, id="error body"),
        pytest.param("openai.APIConnectionError: Connection error.\n", K.CLIENT, id="exception of a client library"),
        pytest.param('[\n {"label": "budget=4", "topk": 4, "accept_len": 2.3}\n]\n', K.BENCH_JSON, id="matrix"),
        pytest.param('{"request_throughput": 1.0, "completed": 3}\n{"request_throughput": 2.0, "completed": 3}\n', K.BENCH_JSON, id="JSONL"),
        pytest.param('[\n {"label": "budget=4", "topk": 4, "accept_len": 2.3},\n', K.BENCH_JSON, id="a result that was cut off"),
        pytest.param(SERVER, K.SERVER, id="a log"),
    ],
)  # fmt: skip
def test_content_tells_the_kind(text: str, kind: PartKind, tmp_path: Path) -> None:
    assert kinds(text, tmp_path) == [kind]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("ss.txt", K.SOCKETS), ("list-boots.txt", K.BOOTS), ("exit1-traceback.status.txt", K.STATUS), ("rebooted.short.txt", K.JOURNAL_TEXT), ("exec-helper.json.txt", K.JOURNAL_JSON)]
    + [(f"oom-memorymax.{form}.txt", K.JOURNAL_TEXT) for form in ("short", "short-iso", "short-iso-precise", "short-precise", "short-unix", "short-full", "short-monotonic", "with-unit")],
)  # fmt: skip
def test_captured_answers_are_one_part_each(name: str, kind: PartKind) -> None:
    assert [part.kind for part in sniff.parts(section_of(DATA / name))] == [kind]


def test_a_name_decides_only_where_the_content_does_not(tmp_path: Path) -> None:
    lone = "Traceback (most recent call last):\nKeyError: 'x'\n"
    assert kinds(lone, tmp_path, "bench.txt") == [K.CLIENT]
    assert kinds(lone, tmp_path, "log.txt") == [K.SERVER]
    assert kinds(JOURNAL, tmp_path, "bench-journal.txt") == [K.JOURNAL_TEXT]
    assert kinds(HEALTH, tmp_path, "server.log") == [K.CLIENT]


def test_a_pasted_terminal_is_cut_at_its_prompts(tmp_path: Path) -> None:
    text = (
        "ops@laptop:~$ ssh gpu01\nops@gpu01:~$ systemctl is-active sglang-qwen.service\nfailed\nops@gpu01:~$ systemctl status sglang-qwen.service\n" + STATUS
        + "$ journalctl -u sglash-k26-ddtree.service -n 5\n-- No entries --\nroot@gpu01:~# journalctl -u sglang-qwen | grep -i error\n[root@gpu01 ~]# journalctl -u sglang-qwen\n" + JOURNAL
        + "# dmesg | tail -1\n[ 7063.247407] Memory cgroup out of memory: Killed process 63214 (uwsgi)\n(venv) ops@gpu01:/srv$ python bench.py\ncoding/00 0.1 ok\nops@gpu01:~$ \n"
    )  # fmt: skip
    found = sniff.parts(written(tmp_path, text))
    assert [(part.kind, part.command) for part in found] == [
        (K.EMPTY, "ssh gpu01"),
        (K.IS_ACTIVE, "systemctl is-active sglang-qwen.service"),
        (K.STATUS, "systemctl status sglang-qwen.service"),
        (K.EMPTY, "journalctl -u sglash-k26-ddtree.service -n 5"),
        (K.EMPTY, "journalctl -u sglang-qwen | grep -i error"),
        (K.JOURNAL_TEXT, "journalctl -u sglang-qwen"),
        (K.KERNEL, "dmesg | tail -1"),
        (K.CLIENT, "python bench.py"),
    ]
    raw = text.encode()
    for part in found:
        assert text.split("\n")[part.command_line - 1].endswith(part.command or "?")
        assert raw[: part.start].count(b"\n") == part.first_line - 1
    assert raw[found[1].start : found[1].end] == b"failed\n"


def test_several_answers_in_one_file_without_prompts_are_told_apart(tmp_path: Path) -> None:
    assert kinds("failed\n" + STATUS + "\n" + HEALTH + "\n" + SERVER, tmp_path) == [K.IS_ACTIVE, K.STATUS, K.CLIENT, K.SERVER]


def test_a_journal_pasted_right_below_a_status_is_not_its_tail(tmp_path: Path) -> None:
    assert kinds(STATUS.rsplit("\n\n", 1)[0] + "\n\n" + JOURNAL * 8, tmp_path) == [K.STATUS, K.JOURNAL_TEXT]


def test_a_status_whose_bullet_was_lost_in_a_paste_is_a_status(tmp_path: Path) -> None:
    assert kinds(STATUS.removeprefix("× "), tmp_path) == [K.STATUS]
    assert kinds("docker.service - Docker Application Container Engine\nstarting it now\n", tmp_path) == [K.SERVER]


@pytest.mark.parametrize("between", ["", "\n"])
def test_a_health_check_pasted_below_a_journal_is_not_a_message_of_it(between: str, tmp_path: Path) -> None:
    assert kinds(JOURNAL + between + HEALTH + "\n" + JOURNAL, tmp_path) == [K.JOURNAL_TEXT, K.CLIENT, K.JOURNAL_TEXT]


def test_lines_that_a_service_made_up_stay_part_of_its_log(tmp_path: Path) -> None:
    fake = "Nov 29 19:59:18 tb1 systemd[1]: sglang.service: Main process exited, code=killed, status=9/KILL\n-- Boot 0123456789abcdef0123456789abcdef --\n-- No entries --\nfailed\n"
    assert kinds(SERVER + fake + SERVER, tmp_path) == [K.SERVER]


def test_the_last_line_of_a_journal_may_be_cut_off(tmp_path: Path) -> None:
    assert kinds((JOURNAL * 40)[:-100], tmp_path) == [K.JOURNAL_TEXT]


def test_a_large_file_is_known_by_its_head(tmp_path: Path) -> None:
    found = sniff.parts(written(tmp_path, JOURNAL * 40_000))
    assert [(part.kind, part.end, part.last_line) for part in found] == [(K.JOURNAL_TEXT, None, None)]


def test_the_answer_to_a_question_is_what_was_asked_for(tmp_path: Path) -> None:
    assert sniff.parts(written(tmp_path, "anything", part=K.HEALTH)) == [Part(kind=K.HEALTH)]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", K.EMPTY),
        ("-- No entries --\n", K.EMPTY),
        ("No journal files were found.\n", K.NOTICE),
        (JOURNAL, K.JOURNAL_TEXT),
        ("__CURSOR=s\nMESSAGE=x\n\n", K.JOURNAL_EXPORT),
    ],
)
def test_a_journal_that_was_asked_for_may_come_otherwise(text: str, kind: PartKind, tmp_path: Path) -> None:
    assert [part.kind for part in sniff.parts(written(tmp_path, text, part=K.JOURNAL_EXPORT))] == [kind]


def test_a_bare_prompt_ends_an_empty_answer(tmp_path: Path) -> None:
    text = "$ journalctl -u llm.service | grep -i error\n$ \n"
    found = [(part.kind, part.command) for part in sniff.parts(written(tmp_path, text))]
    assert found == [(PartKind.EMPTY, "journalctl -u llm.service | grep -i error")]


def test_lines_of_a_service_that_calls_itself_kernel_are_no_kernel_log(tmp_path: Path) -> None:
    text = "May 09 10:15:51 h kernel[3977]: Out of memory: Killed process 1\n" * 20
    assert kinds(text, tmp_path) == [K.JOURNAL_TEXT]
    assert kinds(text.replace("[3977]", ""), tmp_path) == [K.KERNEL]


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 200_000, '{"a":1}\n{"a":' + "[" * 200_000])
def test_brackets_without_end_are_text_and_said(text: str, tmp_path: Path) -> None:
    section = written(tmp_path, text)
    (part,) = sniff.parts(section)
    assert part.kind is K.SERVER
    assert [p.text.partition(":")[0] for p in part.problems] == ["brackets within brackets without end"]
    assert part.problems == blocks_of(section)[0].problems


@pytest.mark.parametrize("name", ["healthy.log", "reload.log", "model-loading.txt", "download.log", "medieval.log"])
def test_a_name_that_only_holds_such_a_word_makes_no_client(name: str, tmp_path: Path) -> None:
    assert kinds("something the service said\nand more\n", tmp_path, name) == [K.SERVER]


@pytest.mark.parametrize(
    "name",
    ["health.txt", "healthcheck.log", "load-test.log", "loadgen.txt", "eval.log", "my-evals.txt", "evaluation.txt", "mybench.log", "client-2.txt"],
)
def test_the_output_of_a_client_is_known_by_its_name(name: str, tmp_path: Path) -> None:
    assert kinds("something was asked\nand more\n", tmp_path, name) == [K.CLIENT]

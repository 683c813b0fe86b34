"""Sockets, probes, clock, units, boots and GPUs of a host."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.parse import host

DATA = Path(__file__).parents[2] / "data" / "parse" / "host"


def test_sockets_that_an_account_cannot_see_have_no_pid():
    found, problems = host.listeners((DATA / "ss-ops.txt").read_text(encoding="utf-8"))
    assert [(s.port, s.pid, s.process) for s in found] == [(31009, None, ""), (22, None, ""), (22, None, "")]
    assert problems == ()


def test_sockets_of_ss_with_processes():
    found, _ = host.listeners((DATA / "ss-root.txt").read_text(encoding="utf-8"))
    assert [(s.port, s.address, s.pid, s.process) for s in found] == [
        (31009, "127.0.0.1", 186, "launch_server.p"),
        (22, "0.0.0.0", 33, "sshd"),
        (22, "::", 33, "sshd"),
    ]
    assert found[0].line_no == 2


def test_sockets_of_netstat():
    text = (
        "Active Internet connections (only servers)\nProto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name\n"
        "tcp        0      0 127.0.0.1:30000         0.0.0.0:*               LISTEN      4711/python3\ntcp6       0      0 :::22                   :::*                    LISTEN      -\n"
    )
    found, problems = host.listeners(text)
    assert [(s.port, s.address, s.pid, s.process) for s in found] == [(30000, "127.0.0.1", 4711, "python3"), (22, "::", None, "")]
    assert problems == ()


def test_sockets_of_proc():
    text = (
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 0100007F:7530 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0\n"
        "   1: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 2 1 0 100 0 0 10 0\n"
        "   2: 00000000000000000000000001000000:0016 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 3 1 0\n"
    )
    found, _ = host.listeners(text)
    assert [(s.port, s.address) for s in found] == [(30000, "127.0.0.1"), (22, "::1")]


def test_no_listening_socket_is_an_answer_and_an_error_text_is_a_problem():
    assert host.listeners("State  Recv-Q Send-Q Local Address:Port  Peer Address:Port\n") == ((), ())
    assert len(host.listeners("ss: command not found\n", source="s")[1]) == 1


def test_probes_tell_refused_from_silent_from_unasked():
    found, problems = host.probes(
        "30000 /v1/models 200\n30000 /health 000 refused\n8000 /health -1 no-answer\n8000 /x - unasked\nrubbish\n", source="health"
    )
    assert [(p.port, p.path, p.code) for p in found] == [(30000, "/v1/models", 200), (30000, "/health", 0), (8000, "/health", -1), (8000, "/x", None)]
    assert [p.line for p in problems] == [5]


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("1778321718.250000000\n", 1778321718.25),
        ("1778321718.%N\n", 1778321718.0),
        ("1778321718.\n", 1778321718.0),
        ("2026-05-09T10:15:18Z\n", 1778321718.0),
    ],
)
def test_the_hosts_clock(text, at):
    clock, problems = host.clock(text + "uptime_s=12.5\nhostname=gpu01\n")
    assert (clock.at, problems) == (at, ())
    assert clock.said == {"uptime_s": "12.5", "hostname": "gpu01"}


def test_a_clock_that_is_none_is_a_problem():
    clock, problems = host.clock("date: command not found\n", source="clock")
    assert clock.at is None
    assert len(problems) == 1


@pytest.mark.parametrize(("name", "count"), [("boots-247.txt", 2), ("boots-252.txt", 3)])
def test_boots_with_a_dash_and_in_columns(name, count):
    found, problems = host.boots((DATA / name).read_text(encoding="utf-8"))
    assert (len(found), problems) == (count, ())
    assert found[-1].index == 0
    assert all(b.first_at is not None and b.last_at is not None and b.first_at <= b.last_at for b in found)


def test_units_out_of_rows_and_blocks_together():
    text = (
        "sglang-qwen.service loaded failed failed SGLang Qwen\nssh.service loaded active running OpenSSH\nold.service not-found inactive dead old.service\n\n"
        "sglang-qwen.service enabled enabled\nsglang@.service disabled enabled\nidle.service disabled enabled\n\n"
        "Id=sglang-qwen.service\nLoadState=loaded\nActiveState=failed\nSubState=failed\nResult=signal\nNRestarts=2\nMainPID=0\n"
        "ExecStart={ path=/bin/python ; argv[]=/bin/python -m x --port 30000 ; ignore_errors=no ; start_time=[n/a] ; stop_time=[n/a] ; pid=0 ; code=(null) ; status=0/0 }\n"
        "\nId=ssh.service\nActiveState=active\n"
    )
    states, problems = host.units(text)
    known = {s.name: s for s in states}
    assert problems == ()
    assert sorted(known) == ["idle.service", "old.service", "sglang-qwen.service", "ssh.service"]
    assert (known["sglang-qwen.service"].result, known["sglang-qwen.service"].restarts) == ("signal", 2)
    assert known["sglang-qwen.service"].argv == ("/bin/python", "-m", "x", "--port", "30000")
    assert known["old.service"].load == "not-found"


def test_gpus_and_their_processes():
    text = (
        "index, name, driver_version, memory.total [MiB], memory.used [MiB], memory.free [MiB], utilization.gpu [%]\n"
        "0, NVIDIA H200, 570.86.15, 143771 MiB, 98304 MiB, 45467 MiB, 0 %\n\n"
        "gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n"
        "GPU-1, 4711, sglang::scheduler, 97280 MiB\nGPU-1, 4712, [Not Found], [N/A]\n"
    )
    cards, processes, problems = host.gpus(text)
    assert [(g.index, g.name, g.used_gib) for g in cards] == [(0, "NVIDIA H200", 96.0)]
    assert [(p.pid, p.name, p.used_gib) for p in processes] == [(4711, "sglang::scheduler", 95.0), (4712, "[Not Found]", None)]
    assert problems == ()


def test_the_plain_table_and_a_driver_in_trouble():
    table = "|    0   N/A  N/A            4711      C   sglang::scheduler_TP0                 97280MiB |\n"
    assert [(p.pid, p.gpu, p.used_gib) for p in host.gpus(table)[1]] == [(4711, "0", 95.0)]
    _, _, problems = host.gpus("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", source="gpu")
    assert [p.line for p in problems] == [1]

"""Processes, memory, disks, the files of a unit, cores, ends of boots and packages, out of what real hosts print."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics import clock
from forensics.model import Coverage, PartKind, Section
from forensics.parse import endings, host, machine, packages, processes, sniff, unitnow

DATA = Path(__file__).parents[2] / "data"
HOST = DATA / "parse" / "host"


def text(name: str) -> str:
    return (HOST / name).read_text(encoding="utf-8")


# --------------------------------------------------------------------------- negatives first


@pytest.mark.parametrize(
    "junk",
    [
        "",
        "\n\n",
        "ps: command not found\n",
        "\x00\x1b[31m\xff" * 50,
        "PID COMMAND\n" + "x" * 100_000,
        "PID PPID COMMAND\n-1 2 x\n٣ 1 x\n" + "9" * 400 + " 1 x\n",
    ],
)
def test_what_is_no_answer_costs_its_lines_and_no_more(junk: str) -> None:
    said = machine.Said()
    assert processes.processes(junk)[0] == ()
    assert machine.disks(junk)[0] == ()
    machine.machine(junk, said)
    assert said.figures == {}
    assert unitnow.unit_now(junk, said)[0] == ()
    assert endings.coredumps(junk)[0] == ()
    assert endings.boot_ends(junk)[0] == ()
    assert packages.packages(junk)[0] == ()


def test_a_list_without_a_head_is_a_problem_not_a_process() -> None:
    found, problems = processes.processes("169 1 Ss 11 9912 root other-api.service /usr/bin/python3\n", source="processes")
    assert found == ()
    assert [p.line for p in problems] == [1]


def test_free_without_letters_says_nothing() -> None:
    said = machine.Said()
    machine.machine("              total        used        free\nMem:          503         100         403\n", said)
    assert said.figures == {}


# --------------------------------------------------------------------------- processes


def test_processes_of_a_live_host_know_their_unit_and_age() -> None:
    found, problems = processes.processes(next((DATA / "beside/port").glob("*-processes")).read_text(encoding="utf-8"))
    assert problems == ()
    api = next(p for p in found if p.unit == "other-api.service")
    assert (api.user, api.args, api.age_s) == ("root", "/usr/bin/python3 /opt/x/listen.py", 11.0)
    assert next(p for p in found if p.pid == 1).unit == "init.scope"


def test_processes_of_ps_aux_have_no_unit() -> None:
    found, problems = processes.processes(text("ps_aux.txt"))
    assert problems == ()
    assert (found[0].pid, found[0].state, found[0].user, found[0].unit, found[0].age_s) == (1, "Ss", "root", "", None)


@pytest.mark.parametrize(
    ("group", "unit"),
    [
        ("0::/system.slice/sglang.service", "sglang.service"),
        ("12:pids:/x,1:name=systemd:/system.slice/vllm@a.service/worker", "vllm@a.service"),
        ("0::/system.slice/docker-0123abcd.scope", "docker-0123abcd.scope"),
        ("0::/user.slice/user-0.slice/session-3.scope", "session-3.scope"),
        ("-", ""),
        ("0::/", ""),
    ],
)
def test_the_unit_of_a_control_group_is_its_last_service_or_scope(group: str, unit: str) -> None:
    found, _ = processes.processes(f"  PID  PPID STAT ELAPSED   RSS USER CGROUP COMMAND\n 7 1 D 1-02:03:04 2048 root {group} python3 -m x\n")
    assert (found[0].unit, found[0].age_s, found[0].args) == (unit, 93784.0, "python3 -m x")


# --------------------------------------------------------------------------- memory, clock, driver


def test_memory_pressure_clock_and_driver_of_a_machine() -> None:
    said = machine.Said()
    problems = machine.machine(
        "MemTotal:       24684084 kB\nMemAvailable:   23778316 kB\nHugePages_Total:       0\n"
        "pressure.memory full avg10=0.00 avg60=3.25 avg300=0.00 total=3957\nzone=Etc/UTC\n"
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Wed Jan 15 00:00:00 UTC 2025\n"
        "synchronised_by=chrony\nReference ID    : C0A80101 (ntp)\nSystem time     : 0.250000000 seconds slow of NTP time\nLeap status     : Not synchronised\n",
        said,
        source="machine",
    )
    assert problems == ()
    assert round(said.figures["mem_available_gib"], 2) == 22.68
    assert (said.figures["pressure_memory_full"], said.figures["clock_error_s"]) == (3.25, -0.25)
    assert (said.said["driver"], said.said["synchronised"], said.said["synchronised_by"]) == ("570.86.15", "no", "chrony")
    assert said.lines["driver"][:2] == ("machine", 6)


def test_memory_of_free_with_letters() -> None:
    said = machine.Said()
    assert machine.machine(text("free-h.txt"), said) == ()
    assert said.figures["mem_total_gib"] == 23.0


# --------------------------------------------------------------------------- disks


def test_disks_in_blocks_and_inodes_are_one_disk_each() -> None:
    found, remote, problems = machine.disks(
        "Filesystem     1024-blocks     Used Available Capacity Mounted on\n/dev/vda1        104857600 99857600   5000000      96% /\n"
        "tmpfs                67584    67584         0     100% /mnt/my small\n\n"
        "Filesystem       Inodes  IUsed    IFree IUse% Mounted on\n/dev/vda1      16777216 16777210        6  100% /\ntmpfs 409600 7 409593 1% /mnt/my small\n"
        "\nremote=nfs4 /models\n"
    )
    assert problems == ()
    assert [(d.mount, round(d.size_gib or 0, 1), round(d.free_gib or 0, 1)) for d in found] == [("/", 100.0, 4.8), ("/mnt/my small", 0.1, 0.0)]
    assert (found[0].inodes_free or 1.0) < 0.001
    assert found[0].line_no == 6  # the row that says what is missing
    assert remote == ("/models",)


def test_disks_of_df_with_letters() -> None:
    found, _, problems = machine.disks(text("df.txt"))
    assert problems == ()
    assert (found[0].mount, found[0].size_gib, found[0].free_gib) == ("/", 252.0, 76.0)


# --------------------------------------------------------------------------- the unit


def test_files_and_control_group_of_a_unit() -> None:
    said = machine.Said()
    files, problems = unitnow.unit_now(
        "file=1796036958 /etc/systemd/system/x.service\nfile=1796036900 /etc/systemd/system/x.service.d/10-memory.conf\ncgroup=/system.slice/x.service\n"
        "memory.max=8589934592\nmemory.high=max\nmemory.peak=8589930496\nmemory.events.oom_kill=2\n",
        said,
    )
    assert problems == ()
    assert [(f.role, f.changed_at) for f in files] == [("fragment", 1796036958.0), ("drop-in", 1796036900.0)]
    assert (said.figures["cgroup_max_gib"], said.figures["cgroup_oom_kills"], "cgroup_high_gib" in said.figures) == (8.0, 2.0, False)


def test_a_control_group_of_version_1_without_a_limit_has_none() -> None:
    said = machine.Said()
    unitnow.unit_now("memory.limit_in_bytes=9223372036854771712\nmemory.max_usage_in_bytes=1073741824\n", said)
    assert said.figures == {"cgroup_peak_gib": 1.0}


# --------------------------------------------------------------------------- cores and boots


def test_a_core_with_its_stack_names_the_library_and_not_the_runtime() -> None:
    (core,), problems = endings.coredumps(text("coredumpctl-info.txt"), source="coredumps")
    assert problems == ()
    assert (core.pid, core.signal, core.exe, core.unit, core.library) == (930, "SIGSEGV", "/usr/bin/python3.11", "sglang-core.service", "python3.11")
    assert core.frames[0] == "clock_nanosleep (libc.so.6 + 0xcf503)"
    assert core.at == clock.parse_stamp("2026-11-30 11:00:04")
    assert core.lines["frame"][1].startswith("#1 ")


def test_the_list_and_the_details_of_one_core_are_one_core() -> None:
    cores, _ = endings.coredumps(text("coredumpctl.txt") + "\n" + text("coredumpctl-info.txt"))
    assert [(c.pid, bool(c.frames)) for c in cores] == [(930, True), (455, False)]


@pytest.mark.parametrize(("capture", "how"), [("boot-orderly", "orderly"), ("boot-cut", "abrupt"), ("boot-panic", "panic")])
def test_how_a_boot_ended(capture: str, how: str) -> None:
    path = next((DATA / "rules" / capture).glob("*-boot-ends"))
    ends, _ = endings.boot_ends(path.read_text(encoding="utf-8"), source="boot-ends")
    assert (ends[0].index, ends[0].how) == (-1, how)


def test_a_boot_of_which_no_line_is_left_has_no_end() -> None:
    assert endings.boot_ends("== boot -1\n== boot -2\n") == ((), ())


# --------------------------------------------------------------------------- packages


def test_packages_of_four_managers() -> None:
    found, _ = packages.packages(
        "zone=+0200\n2026-05-09 10:15:51 upgrade libc6:amd64 2.36-9 2.36-9+deb12u1\n2026-05-09 10:15:51 status installed libc6:amd64 2.36-9+deb12u1\n"
        "2026-05-09 10:15:52 install cuda-toolkit-12-8:amd64 <none> 12.8.0-1\n"
        "2024-05-01T10:00:00+0200 SUBDEBUG Upgraded: kernel-5.14.0-362.el9.x86_64\n2024-05-01T10:00:00+0200 SUBDEBUG Upgrade: kernel-5.14.0-427.el9.x86_64\n"
        "[2026-05-09T10:15:51+0000] [ALPM] upgraded linux (6.1-1 -> 6.2-1)\n2026-05-09 10:15:51|install|nvidia-open|570.86-1|x86_64|root|repo|\n"
    )
    assert [(p.name, p.before, p.after) for p in found] == [
        ("libc6", "2.36-9", "2.36-9+deb12u1"), ("cuda-toolkit-12-8", "", "12.8.0-1"), ("kernel", "5.14.0-362.el9", "5.14.0-427.el9"),
        ("linux", "6.1-1", "6.2-1"), ("nvidia-open", "", "570.86-1"),
    ]  # fmt: skip
    assert found[0].at == clock.parse_stamp("2026-05-09T08:15:51Z")


# --------------------------------------------------------------------------- as files


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("df.txt", PartKind.DISKS),
        ("ps_aux.txt", PartKind.PROCESSES),
        ("free-h.txt", PartKind.MACHINE),
        ("coredumpctl.txt", PartKind.COREDUMPS),
        ("coredumpctl-info.txt", PartKind.COREDUMPS),
        ("nvidia-smi.txt", PartKind.GPU),
    ],
)
def test_an_export_is_known_by_its_content(name: str, kind: PartKind) -> None:
    found = sniff.parts(Section(name="x.txt", path=HOST / name, coverage=Coverage.GIVEN))
    assert [part.kind for part in found] == [kind]


def test_a_meminfo_and_a_package_log_are_known_by_their_content(tmp_path: Path) -> None:
    for content, kind in (
        (
            "MemTotal:       24684084 kB\nMemFree:        1 kB\nActive(anon):          5 kB\nZswapped:   0 kB\nHugetlb:               0 kB\n",
            PartKind.MACHINE,
        ),
        ("2026-05-09 10:15:51 startup archives unpack\n2026-05-09 10:15:51 upgrade libc6:amd64 2.36-9 2.36-9+deb12u1\n", PartKind.PACKAGES),
        ("2024-05-01T10:00:00+0200 SUBDEBUG Upgrade: kernel-5.14.0-427.el9.x86_64\n", PartKind.PACKAGES),
    ):
        (tmp_path / "x").write_text(content)
        assert [part.kind for part in sniff.parts(Section(name="x", path=tmp_path / "x", coverage=Coverage.GIVEN))] == [kind]


def test_the_plain_table_of_nvidia_smi_tells_memory_and_errors_of_each_card() -> None:
    cards, on, _ = host.gpus(text("nvidia-smi.txt"))
    assert [(c.index, c.name, round(c.used_gib or 0, 1), c.ecc_uncorrected) for c in cards] == [
        (0, "NVIDIA H100 80GB HBM3", 69.6, 0), (1, "NVIDIA H100 80GB HBM3", 0.0, 2),
    ]  # fmt: skip
    assert [(p.pid, round(p.used_gib or 0, 1)) for p in on] == [(412133, 69.6)]


def test_a_page_that_waits_to_be_taken_out_is_seen() -> None:
    cards, _, _ = host.gpus(
        "index, memory.total [MiB], ecc.errors.uncorrected.volatile.total, retired_pages.pending\n0, 81559 MiB, 0, Yes\n1, 81559 MiB, [N/A], No\n"
    )
    assert [(c.index, c.ecc_uncorrected, c.pages_pending) for c in cards] == [(0, 0, True), (1, None, False)]

"""The kernel's stamps."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.model import Origin, PartKind
from forensics.parse import kernel
from tests.unit.parse.framing import frames_of, written


@pytest.mark.parametrize(
    "text",
    [
        "[2026-05-09 10:15:34 TP0] Load weight begin",
        "[rank0]: Traceback",
        "[12] x",
        "uwsgi was killed",
        "[  38886]     0 38886      243        1    28672        0          -998 pause",
    ],
)
def test_what_is_no_kernel_stamp_is_left_alone(text: str) -> None:
    assert kernel.strip(text) is None
    assert not kernel.looks_kernel(text)


@pytest.mark.parametrize(
    ("text", "stamp", "since_boot"),
    [
        ("[ 7063.247407] Memory cgroup out of memory: Killed process 63214 (uwsgi)", "", "7063.247407"),
        ("[    0.000000] Memory cgroup out of memory: Killed process 63214 (uwsgi)", "", "0.000000"),
        ("[Wed Jun 24 15:44:20 2026] Memory cgroup out of memory: Killed process 63214 (uwsgi)", "Wed Jun 24 15:44:20 2026", ""),
        ("2026-06-24T15:44:20,123456+00:00 Memory cgroup out of memory: Killed process 63214 (uwsgi)", "2026-06-24T15:44:20,123456+00:00", ""),
        ("kern  :err   : [ 7063.247407] Memory cgroup out of memory: Killed process 63214 (uwsgi)", "", "7063.247407"),
        ("<3>[ 7063.247407] Memory cgroup out of memory: Killed process 63214 (uwsgi)", "", "7063.247407"),
        ("488:[Sun Nov 29 20:11:23 2026] Memory cgroup out of memory: Killed process 63214 (uwsgi)", "Sun Nov 29 20:11:23 2026", ""),
        ("[ 7063.247407] [   T1234] Memory cgroup out of memory: Killed process 63214 (uwsgi)", "", "7063.247407"),
    ],
)
def test_stamps_come_off_as_dmesg_writes_them(text: str, stamp: str, since_boot: str) -> None:
    assert kernel.strip(text) == (stamp, since_boot, "Memory cgroup out of memory: Killed process 63214 (uwsgi)")


def test_kernel_lines_are_the_kernels_whatever_took_them_down(tmp_path: Path) -> None:
    text = (
        "[ 7063.247407] NVRM: Xid (PCI:0000:09:00): 79, GPU has fallen off the bus.\n"
        "[Wed Jun 24 15:44:20 2026] NVRM: Xid (PCI:0000:09:00): 79, GPU has fallen off the bus.\n"
        "May 27 16:49:51 host1 kernel: NVRM: Xid (PCI:0000:09:00): 79, GPU has fallen off the bus.\n"
        "May 27 16:49:51 host1 kernel: [ 7063.247407] NVRM: Xid (PCI:0000:09:00): 79, GPU has fallen off the bus.\n"
        "NVRM: Xid (PCI:0000:09:00): 79, GPU has fallen off the bus.\n"
    )
    found = frames_of(written(tmp_path, text, part=PartKind.KERNEL))
    assert {(frame.text, frame.origin) for frame in found} == {("NVRM: Xid (PCI:0000:09:00): 79, GPU has fallen off the bus.", Origin.KERNEL)}
    assert [frame.stamp for frame in found] == ["", "Wed Jun 24 15:44:20 2026", "May 27 16:49:51", "May 27 16:49:51", ""]
    assert [frame.fields.get("since_boot") for frame in found] == ["7063.247407", None, None, "7063.247407", None]

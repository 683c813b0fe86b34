"""Who ended a life is told alike by every format of the journal; what is right was staged, and stands in the cases' labels too."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.ruleset.schema import RuleSet
from tests.testbed.bed import look
from tests.testbed.formats import JOURNALS, is_cut

FULL, VM, OLD, CORES = "bookworm-252", "qemu-bookworm-252", "bullseye-247", "coredump-trixie-257"
ITSELF, CHILD, KERNEL, SYSTEMD, OPERATOR, UNKNOWN = "itself", "a child", "kernel", "systemd", "operator", "unknown"
# a life that was cut off, messages without their writers, or a tail
NOT_WHOLE = ("cat", "plain-n20")
ENDS = {
    # its own doing: a fault, an exit, its own kill of the process tree
    (FULL, "sigabrt"): ("signal", ITSELF, "SIGABRT", None),
    (FULL, "sigsegv-nocore"): ("signal", ITSELF, "SIGSEGV", None),
    (CORES, "coredump-sigsegv"): ("signal", ITSELF, "SIGSEGV", None),
    (FULL, "exit-255"): ("exit", ITSELF, None, 255),
    (FULL, "exit2-argparse"): ("exit", ITSELF, None, 2),
    (FULL, "child-segv-parent-kill"): ("signal", ITSELF, "SIGKILL", None),
    (OLD, "child-segv-parent-kill"): ("signal", ITSELF, "SIGKILL", None),
    (CORES, "coredump-child-segv"): ("signal", ITSELF, "SIGKILL", None),
    # a child's
    (FULL, "child-sigkill-parent-quit"): ("signal", CHILD, "SIGQUIT", None),
    (FULL, "exit-137-shell"): ("exit", CHILD, None, 137),
    # the kernel's
    (VM, "oom-memorymax"): ("oom-kill", KERNEL, "SIGKILL", None),
    (VM, "oom-global"): ("oom-kill", KERNEL, "SIGKILL", None),
    (VM, "oom-child-policy-kill"): ("oom-kill", KERNEL, "SIGKILL", None),
    (VM, "oom-child-policy-continue"): ("oom-kill", KERNEL, None, 1),
    # systemd's
    (FULL, "start-timeout"): ("timeout", SYSTEMD, None, None),
    (FULL, "forking-pidfile"): ("timeout", SYSTEMD, None, None),
    (FULL, "stop-timeout"): ("timeout", SYSTEMD, "SIGKILL", None),
    (FULL, "runtime-max"): ("timeout", SYSTEMD, None, None),
    (FULL, "watchdog"): ("watchdog", SYSTEMD, "SIGABRT", None),
    (OLD, "watchdog"): ("watchdog", SYSTEMD, "SIGABRT", None),
    # somebody's
    (FULL, "stopped-by-operator"): ("stopped", OPERATOR, None, None),
    (OLD, "stopped-by-operator"): ("stopped", OPERATOR, None, None),
    (FULL, "stopped-term-143"): ("stopped", OPERATOR, None, 143),
    (FULL, "sigkill-outside"): ("signal", OPERATOR, "SIGKILL", None),
    # nobody knows whose
    (FULL, "sigkill-by-pid"): ("signal", UNKNOWN, "SIGKILL", None),
    (FULL, "sigterm-outside"): ("stopped", UNKNOWN, None, None),
    (FULL, "clean-exit"): ("stopped", UNKNOWN, None, None),
    (FULL, "active-listening"): ("none", UNKNOWN, None, None),
}


@pytest.mark.parametrize(("staged", "end"), ENDS.items(), ids=[f"{host}-{fault}" for host, fault in ENDS])
def test_who_ended_it_is_the_same_in_every_format(testbed: Path, marks: RuleSet, staged: tuple[str, str], end: tuple[object, ...]) -> None:
    folder = testbed / staged[0] / staged[1]
    found = {}
    for file in sorted(folder.glob("journal-*.out")):
        name = file.stem.removeprefix("journal-")
        if name in JOURNALS and name not in NOT_WHOLE and file.stat().st_size and not is_cut(file):
            told = look(file, rules=marks).diagnosis.end
            found[name] = (str(told.kind), str(told.by), told.signal, told.status)
    assert {"json", "export", "short", "short-iso", "verbose"} - {f.stem.removeprefix("journal-") for f in folder.glob("*.out") if is_cut(f)} <= set(
        found
    )
    assert {name: one for name, one in found.items() if one != end} == {}

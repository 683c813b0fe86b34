"""How a life ended and by whom, on real outputs of three systemd versions; the first part of a name is the version."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.reason.telling import DATA, diagnosed, folder

ITSELF, SYSTEMD, OPERATOR, KERNEL, UNKNOWN = "itself", "systemd", "operator", "kernel", "unknown"

ENDS = [
    ("247-child-segv-parent-kill", "signal-death", ("signal", ITSELF, "SIGKILL", None), "failed"),
    ("247-clean-exit", "operator-stop", ("stopped", UNKNOWN, None, None), "stopped"),
    ("247-exit-203-exec", "exec-failure", ("exit", ITSELF, None, 203), "failed"),
    ("247-sigabrt", "cuda-fault", ("signal", ITSELF, "SIGABRT", None), "failed"),
    ("247-start-timeout", "startup-timeout", ("timeout", SYSTEMD, "SIGTERM", None), "failed"),
    ("247-stopped-by-operator", "operator-stop", ("stopped", OPERATOR, None, None), "stopped"),
    ("247-watchdog", "watchdog-timeout", ("watchdog", SYSTEMD, "SIGABRT", None), "failed"),
    ("252-active-listening", "healthy", ("none", UNKNOWN, None, None), "healthy"),
    ("252-address-in-use", "port-in-use", ("exit", ITSELF, None, 1), "failed"),
    ("252-child-segv-parent-kill", "signal-death", ("signal", ITSELF, "SIGKILL", None), "failed"),
    ("252-clean-exit", "operator-stop", ("stopped", UNKNOWN, None, None), "stopped"),
    ("252-condition-unmet", "exec-failure", ("none", UNKNOWN, None, None), "stopped"),
    ("252-deactivating", "operator-stop", ("none", UNKNOWN, None, None), "stopped"),
    ("252-execstartpre-fails", "exec-failure", ("exit", ITSELF, None, 9), "failed"),
    ("252-exit-203-exec", "exec-failure", ("exit", ITSELF, None, 203), "failed"),
    ("252-exit-217-user", "exec-failure", ("exit", ITSELF, None, 217), "failed"),
    ("252-exit2-argparse", "bad-arguments", ("exit", ITSELF, None, 2), "failed"),
    ("252-masked", "exec-failure", ("none", UNKNOWN, None, None), "stopped"),
    ("252-oom-child-policy-continue", "host-oom", ("oom-kill", KERNEL, None, 1), "failed"),
    ("252-oom-memorymax", "host-oom", ("oom-kill", KERNEL, "SIGKILL", None), "failed"),
    ("252-runtime-max", "operator-stop", ("timeout", SYSTEMD, "SIGTERM", None), "failed"),
    ("252-sigkill-outside", "signal-death", ("signal", OPERATOR, "SIGKILL", None), "failed"),
    ("252-sigsegv-nocore", "signal-death", ("signal", ITSELF, "SIGSEGV", None), "failed"),
    ("252-sigterm-outside", "operator-stop", ("stopped", UNKNOWN, None, None), "stopped"),
    ("252-start-limit-hit", "exit-code-death", ("exit", ITSELF, None, 1), "failed"),
    ("252-start-timeout", "startup-timeout", ("timeout", SYSTEMD, "SIGTERM", None), "failed"),
    ("252-starting-notify", "startup-race", ("none", UNKNOWN, None, None), "starting"),
    ("252-stop-timeout", "operator-stop", ("timeout", SYSTEMD, "SIGKILL", None), "failed"),
    ("252-stopped-by-operator", "operator-stop", ("stopped", OPERATOR, None, None), "stopped"),
    ("252-stopped-term-143", "operator-stop", ("stopped", OPERATOR, None, 143), "stopped"),
    ("252-watchdog", "watchdog-timeout", ("watchdog", SYSTEMD, "SIGABRT", None), "failed"),
    ("257-child-segv-parent-kill", "signal-death", ("signal", ITSELF, "SIGKILL", None), "failed"),
    ("257-clean-exit", "operator-stop", ("stopped", UNKNOWN, None, None), "stopped"),
    ("257-coredump-sigsegv", "signal-death", ("signal", ITSELF, "SIGSEGV", None), "failed"),
    ("257-exit-203-exec", "exec-failure", ("exit", ITSELF, None, 203), "failed"),
    ("257-start-timeout", "startup-timeout", ("timeout", SYSTEMD, "SIGTERM", None), "failed"),
    ("257-stopped-by-operator", "operator-stop", ("stopped", OPERATOR, None, None), "stopped"),
    ("257-watchdog", "watchdog-timeout", ("watchdog", SYSTEMD, "SIGABRT", None), "failed"),
]


@pytest.mark.parametrize(("name", "cause", "end", "health"), ENDS, ids=[e[0] for e in ENDS])
def test_the_end_and_who_brought_it(name: str, cause: str, end: tuple[object, ...], health: str) -> None:
    found = diagnosed(DATA / name)
    assert (found.cause, (found.end.kind, found.end.by, found.end.signal, found.end.status), found.health) == (cause, end, health)


def test_the_duration_is_systemds_own_where_it_says_one() -> None:
    assert diagnosed(DATA / "252-sigkill-outside").died_after_s == pytest.approx(12.407)


def test_systemd_247_says_no_duration_and_the_last_lines_below_its_status_do_not_give_it() -> None:
    # the first of them is a second younger than the start, which show has: 8 s
    assert diagnosed(DATA / "247-start-timeout").died_after_s is None


def test_the_headline_of_a_crashed_child_names_the_childs_signal_and_not_the_parents() -> None:
    assert "SIGKILL" not in diagnosed(DATA / "252-child-segv-parent-kill").headline


def test_a_server_that_is_up_for_a_moment_in_a_loop_of_crashes_is_degraded_and_not_healthy(tmp_path: Path) -> None:
    lines = (DATA / "252-restart-flapping/journal.txt").read_text().splitlines(keepends=True)
    ready = max(n for n, line in enumerate(lines) if "fired up" in line)
    unit = "sglang-restart-flapping.service"
    found = diagnosed(folder(tmp_path / "e", journal="".join(lines[: ready + 1]), is_active="active\n"), unit=unit)
    assert (found.health, found.cause, found.end.status) == ("degraded", "cuda-fault", 1)


BOOTS = "-1 0123456789abcdef0123456789abcdef Sun 2026-11-29 {} UTC\n 0 fedcba9876543210fedcba9876543210 {} UTC—Sun 2026-11-29 20:40:00 UTC\n"
INACTIVE = "Id=sglang-restart-flapping.service\nLoadState=loaded\nActiveState=inactive\nSubState=dead\nResult=success\nExecMainPID=0\n"


@pytest.mark.parametrize(
    ("before", "booted", "cause", "kind"),
    [
        ("20:00:00 UTC—Sun 2026-11-29 20:17:41", "Sun 2026-11-29 20:18:30", "host-reboot", "reboot"),
        ("18:00:00 UTC—Sun 2026-11-29 19:59:00", "Sun 2026-11-29 20:00:00", "operator-stop", "stopped"),
    ],
    ids=["booted-since", "the-same-boot"],
)  # fmt: skip
def test_a_log_that_just_ends_before_the_next_boot_is_the_machine_going_down_and_no_stop(
    tmp_path: Path, before: str, booted: str, cause: str, kind: str
) -> None:
    """The journal of one unit has no mark of a boot after its last line: the list of boots has it."""
    lines = (DATA / "252-restart-flapping/journal.txt").read_text().splitlines(keepends=True)
    ready = max(n for n, line in enumerate(lines) if "fired up" in line)
    first = max(n for n, line in enumerate(lines) if "systemd[1]: Started" in line)
    evidence = folder(tmp_path / "e", journal="".join(lines[first : ready + 1]), show=INACTIVE, boots=BOOTS.format(before, booted))
    found = diagnosed(evidence, unit="sglang-restart-flapping.service")
    assert (found.cause, found.end.kind) == (cause, kind)


def test_a_unit_that_ran_and_has_no_line_in_the_journal_is_said_to_have_lost_it(tmp_path: Path) -> None:
    status = (DATA / "252-sigkill-outside/status.txt").read_text().partition("\n\n")[0] + "\n"
    lost = diagnosed(folder(tmp_path / "lost", journal="-- No entries --\n", status=status))
    assert [w.kind for w in lost.warnings] == ["journal-silent"]
    assert (lost.health, lost.end.signal) == ("failed", "SIGKILL")
    whole = diagnosed(DATA / "252-sigkill-outside")
    assert "journal-silent" not in [w.kind for w in whole.warnings]

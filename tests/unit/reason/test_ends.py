"""How a life ended and by whom, on real outputs of three systemd versions; the first part of a name is the version."""

from __future__ import annotations

import pytest

from tests.unit.reason.telling import DATA, diagnosed

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

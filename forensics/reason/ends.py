"""Say how a life ended and by whom, by what its lines said. Weighs no cause."""

from __future__ import annotations

from forensics.model import EndBy, EndKind
from forensics.reason.draft import SIGNALS, Draft

SHELL = 128  # a shell, or a container's client, that hands on how its child died
FAULTS = (4, 5, 6, 7, 8, 11)  # what a process brings on itself: ILL, TRAP, ABRT, BUS, FPE, SEGV
FATAL = (9, *FAULTS)
OUTLIVED_S = 60.0


def end_of(
    draft: Draft, *, self_kill_signal: str | None, kernel_killed: bool, cascades: bool, exit_zero_is_crash: bool, contained: bool = False
) -> tuple[EndKind, EndBy, str | None, int | None]:
    """How a life ended, by whom, the signal's name and the exit status; (NONE, …) where no line says that it ended."""
    signal = SIGNALS.get(draft.status or 0, f"signal {draft.status}") if draft.code in ("killed", "dumped") else None
    status = draft.status if draft.code == "exited" else None
    if draft.rebooted:
        return EndKind.REBOOT, EndBy.UNKNOWN, None, None
    if (draft.oom and not _outlived(draft)) or draft.result == "oom-kill":
        return EndKind.OOM_KILL, EndBy.SYSTEMD if draft.oomd else EndBy.KERNEL, signal, status
    if draft.watchdog or draft.result == "watchdog":
        return EndKind.WATCHDOG, EndBy.SYSTEMD, signal, status
    if draft.start_timeout or (draft.result == "timeout" and not draft.stop_asked):
        return EndKind.TIMEOUT, EndBy.SYSTEMD, signal, status
    if draft.stop_timeout:
        return EndKind.TIMEOUT, EndBy.SYSTEMD, signal, status
    if draft.stop_asked and draft.over:
        return EndKind.STOPPED, EndBy.OPERATOR, signal, status
    if signal in ("SIGTERM", "SIGINT") and draft.stopped and not draft.result and not cascades:
        return EndKind.STOPPED, EndBy.OPERATOR, signal, status  # of a stop job: at a restart "Stopped" comes after the end, and does not count
    if contained and status == 0:
        draft.deactivated = True  # what a unit's systemd would say of it
        return _unsaid_end(draft, self_kill_signal, cascades, exit_zero_is_crash)
    if signal in ("SIGTERM", "SIGINT") and contained and not draft.result and not cascades:
        return EndKind.STOPPED, EndBy.UNKNOWN, signal, status  # a container is stopped by these; who asked is known where its engine's events are
    if signal is not None:
        return EndKind.SIGNAL, _killer(draft, signal, self_kill_signal, kernel_killed, cascades), signal, None
    if status is not None:
        return EndKind.EXIT, EndBy.CHILD if status - SHELL in FATAL else EndBy.ITSELF, None, status
    return _unsaid_end(draft, self_kill_signal, cascades, exit_zero_is_crash)


def _outlived(draft: Draft) -> bool:
    """Whether the kernel killed only a part of it, and it went on until something else ended it."""
    later = draft.oom_at is not None and draft.ended_at is not None and draft.ended_at - draft.oom_at > OUTLIVED_S
    return later and draft.result != "oom-kill"


def _killer(draft: Draft, signal: str, self_kill_signal: str | None, kernel_killed: bool, cascades: bool) -> EndBy:
    if kernel_killed:
        return EndBy.KERNEL
    if signal == self_kill_signal and (draft.self_kill or cascades):
        return EndBy.ITSELF
    if signal == "SIGQUIT" and (draft.self_kill or cascades or draft.child_codes):
        return EndBy.CHILD  # sent up by a child that failed
    if draft.stop_sent:
        return EndBy.OPERATOR
    if draft.status in FAULTS:
        return EndBy.ITSELF
    return EndBy.UNKNOWN


def _unsaid_end(
    draft: Draft, self_kill_signal: str | None, cascades: bool, exit_zero_is_crash: bool
) -> tuple[EndKind, EndBy, str | None, int | None]:
    """No exit line: a clean exit that systemd forgot, or a plain log that only the server wrote."""
    if draft.result in ("signal", "core-dump"):
        return EndKind.SIGNAL, EndBy.UNKNOWN, None, None
    if draft.result == "exit-code":
        return EndKind.EXIT, EndBy.ITSELF, None, None
    if draft.result:
        return EndKind.UNKNOWN, EndBy.SYSTEMD, None, None
    if draft.deactivated or draft.stopped:
        if exit_zero_is_crash and cascades and not draft.stopping:
            return EndKind.EXIT, EndBy.ITSELF, None, 0
        # a stop by a signal from outside, or an exit with 0: systemd calls both a success and says no more
        return EndKind.STOPPED, EndBy.OPERATOR if draft.stop_asked or draft.stopping else EndBy.UNKNOWN, None, None
    if draft.stopping and (draft.finished or draft.self_kill or not cascades):
        return EndKind.STOPPED, EndBy.OPERATOR, None, None
    if draft.self_kill:
        return EndKind.SIGNAL, EndBy.ITSELF, self_kill_signal, None
    if draft.finished:
        return EndKind.EXIT, EndBy.ITSELF, None, None
    if draft.start_failed:
        return EndKind.UNKNOWN, EndBy.SYSTEMD, None, None
    return EndKind.NONE, EndBy.UNKNOWN, None, None

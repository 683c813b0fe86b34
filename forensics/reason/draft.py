"""A life while it is being read: what lines said of it, field by field. Concludes nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

from forensics.model import Run
from forensics.reason.startup import Startup

SIGNALS = {
    1: "SIGHUP",
    2: "SIGINT",
    3: "SIGQUIT",
    4: "SIGILL",
    5: "SIGTRAP",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    11: "SIGSEGV",
    13: "SIGPIPE",
    15: "SIGTERM",
}


@dataclass(eq=False, repr=False)
class Draft:
    """A life while it is being read. Every field is what some line said; nothing is concluded here."""

    index: int
    by_systemd: bool = False
    started_at: float | None = None
    opened_at: float | None = None  # of its first line that was seen
    active: bool = False
    active_at: float | None = None
    ended_at: float | None = None
    last_at: float | None = None
    code: str | None = None  # exited, killed, dumped
    status: int | None = None
    result: str | None = None
    stop_asked: bool = False
    stop_sent: bool = False  # systemd says that somebody sent the signal
    deactivated: bool = False
    gone: bool = False  # a container engine says that it died, but not how
    stopped: bool = False
    oom: bool = False
    oom_at: float | None = None
    oomd: bool = False  # by systemd-oomd, not by the kernel
    start_timeout: bool = False
    stop_timeout: bool = False
    watchdog: bool = False
    start_failed: bool = False
    rebooted: bool = False
    self_kill: bool = False
    finished: bool = False
    stopping: bool = False
    child_codes: list[int] = field(default_factory=list)
    startup: Startup = field(default_factory=Startup)
    arguments: dict[str, str] = field(default_factory=dict)
    opened: bool = False  # the server itself logged its arguments
    midway: bool = False  # its first line that says anything is of a server at work: it began above what was given
    versions: list[str] = field(default_factory=list)
    pids: set[int] = field(default_factory=set)
    invocation: str = ""
    sources: set[str] = field(default_factory=set)
    counted: tuple[int, str] | None = None  # by the counter of restarts, and where that is said
    end_in: str | None = None  # the source that told of its end first

    def forget_end(self) -> None:
        """What was taken for its end was another's."""
        self.code = self.status = self.result = self.ended_at = self.end_in = None
        self.gone = False

    @property
    def over(self) -> bool:
        """Whether a line said that the main process is gone."""
        return bool(self.code or self.result or self.gone or self.deactivated or self.stopped or self.rebooted)


def drafted(number: int, run: Run, *, last: bool) -> Draft:
    """The life of a run that is known before any of its lines is read."""
    draft = Draft(index=number, by_systemd=True, active=True, started_at=run.started_at, ended_at=run.ended_at)
    draft.code, draft.status, draft.result, draft.gone = run.code, run.status, run.result, run.ended_at is not None or not last
    return draft


def signal_number(name: str) -> int | None:
    """The number of ``KILL`` or ``SIGKILL``."""
    wanted = name if name.startswith("SIG") else f"SIG{name}"
    return next((n for n, s in SIGNALS.items() if s == wanted), None)

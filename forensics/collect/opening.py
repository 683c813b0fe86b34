"""Open a target of any kind. The one place that knows which kind is asked in which way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from forensics.clock import SYSTEM_CLOCK
from forensics.collect import local, ssh
from forensics.collect.container import EngineSession
from forensics.collect.files import GivenSession
from forensics.collect.live import Explain, LiveSession
from forensics.collect.pod import PodSession
from forensics.collect.process import Start, start_process
from forensics.collect.saved import SavedSession
from forensics.collect.session import Limits, Session
from forensics.collect.spool import Spool
from forensics.errors import TargetError
from forensics.model import Target, TargetKind


def open_target(
    target: Target,
    *,
    since: float | None = None,
    limits: Limits | None = None,
    run: Start = start_process,
    clock: Callable[[], float] = SYSTEM_CLOCK,
    spool: Path | None = None,
    ssh_config: Path | None = None,
    sudo: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Session:
    """Open a target as a context manager; leaving it ends the connection, the sections' files stay until ``discard`` or the end of the program.

    ``since`` (epoch seconds) bounds journal files among files; on a host it is part of the questions. ``run`` starts a process
    from its argv. ``spool`` is the folder under which answers are kept. ``ssh_config`` stands in for the user's own ssh
    configuration (so does DDFORENSICS_SSH_CONFIG in the environment). A host is contacted at once, but that it cannot be reached
    is known with the first ``ask``. ``sudo``: what root may see is asked with ``sudo -n`` where that is allowed.
    ``progress`` is told which answers of a host are still waited for.
    """
    limits = limits or Limits()
    kept = Spool(spool)
    match target.kind:
        case TargetKind.FILES:
            return GivenSession(target, spool=kept, limits=limits, run=run, since=since)
        case TargetKind.BUNDLE:
            return SavedSession(target)
        case TargetKind.DOCKER | TargetKind.PODMAN:
            return EngineSession(target, spool=kept, limits=limits, run=run, clock=clock, since=since)
        case TargetKind.K8S:
            return PodSession(target, spool=kept, limits=limits, run=run, clock=clock, since=since)
        case TargetKind.SSH:
            argv = ssh.ssh_argv(target, limits, ssh_config)
            explain: Explain = partial(ssh.explain, target)
        case TargetKind.LOCAL:
            argv, explain = list(local.LOCAL_ARGV), local.explain
    try:
        far = target.kind is TargetKind.SSH
        return LiveSession(
            target, argv, spool=kept, limits=limits, run=run, clock=clock, explain=explain, busy=ssh.busy if far else lambda said: False, pack=far, sudo=sudo,
            progress=progress or (lambda text: None),
        )  # fmt: skip
    except FileNotFoundError as error:
        raise TargetError(f"there is no {argv[0]} on this machine", at=target.name) from error

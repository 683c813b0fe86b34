"""Open a target of any kind. The one place that knows which kind is asked in which way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from forensics.clock import SYSTEM_CLOCK
from forensics.collect import archive, binary, bundle, pipe, unpack
from forensics.collect.files import STDIN_PATH, GivenSession, standard_input
from forensics.collect.process import Start, start_process
from forensics.collect.saved import SavedSession
from forensics.collect.session import Limits, Session
from forensics.collect.spool import Spool
from forensics.collect.targets import MANIFEST
from forensics.errors import ForensicsError, TargetError
from forensics.model import Target, TargetKind

if TYPE_CHECKING:
    from forensics.collect.live import Explain


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
    stdin: Callable[[], BinaryIO] | None = None,
) -> Session:
    """Open a target as a context manager; leaving it ends the connection, the sections' files stay until ``discard`` or the end of the program.

    ``since`` (epoch seconds) bounds journal files among files; on a host it is part of the questions. ``run`` starts a process
    from its argv. ``spool`` is the folder under which answers are kept. ``ssh_config`` stands in for the user's own ssh
    configuration (so does DDFORENSICS_SSH_CONFIG in the environment). ``stdin`` gives the stream that ``-`` is. A host is contacted at once, but that
    it cannot be reached is known with the first ``ask``. ``sudo``: what root may see is asked with ``sudo -n`` where that is allowed.
    ``progress`` is told which answers of a host are still waited for.
    """
    limits = limits or Limits()
    kept = Spool(spool)
    match target.kind:
        case TargetKind.FILES:
            if target.paths == (STDIN_PATH,):
                return _piped(target, stdin or standard_input, spool=kept, limits=limits, run=run, since=since)
            return GivenSession(target, spool=kept, limits=limits, run=run, since=since, stdin=stdin)
        case TargetKind.BUNDLE:
            if target.paths[0].is_dir():
                if not _broken(target.paths[0] / MANIFEST):
                    return SavedSession(target)
                return GivenSession(replace(target, kind=TargetKind.FILES), spool=kept, limits=limits, run=run, since=since, stdin=stdin)
            return _archived(target, archive.extract(target.paths[0], kept, limits), spool=kept, limits=limits, run=run, since=since)
        case TargetKind.DOCKER | TargetKind.PODMAN:
            from forensics.collect.container import EngineSession

            return EngineSession(target, spool=kept, limits=limits, run=run, clock=clock, since=since)
        case TargetKind.K8S:
            from forensics.collect.pod import PodSession

            return PodSession(target, spool=kept, limits=limits, run=run, clock=clock, since=since)
        case TargetKind.SSH | TargetKind.LOCAL:
            return _live(target, limits, spool=kept, run=run, clock=clock, ssh_config=ssh_config, sudo=sudo, progress=progress)


def _live(
    target: Target,
    limits: Limits,
    *,
    spool: Spool,
    run: Start,
    clock: Callable[[], float],
    ssh_config: Path | None,
    sudo: bool,
    progress: Callable[[str], None] | None,
) -> Session:
    """A machine that answers: another over ssh, or this one."""
    from forensics.collect import local, ssh
    from forensics.collect.live import LiveSession

    far = target.kind is TargetKind.SSH
    argv = ssh.ssh_argv(target, limits, ssh_config) if far else list(local.LOCAL_ARGV)
    explain: Explain = partial(ssh.explain, target) if far else local.explain
    try:
        return LiveSession(
            target, argv, spool=spool, limits=limits, run=run, clock=clock, explain=explain, busy=ssh.busy if far else lambda said: False, pack=far, sudo=sudo,
            progress=progress or (lambda text: None),
        )  # fmt: skip
    except FileNotFoundError as error:
        raise TargetError(f"there is no {argv[0]} on this machine", at=target.name) from error


def _piped(target: Target, stdin: Callable[[], BinaryIO], *, spool: Spool, limits: Limits, run: Start, since: float | None) -> Session:
    """Standard input alone: an archive (``ddforensics collect HOST -o - | ddforensics diagnose -``), or text."""
    stream = stdin()
    path = spool.path("piped")
    try:
        kept = pipe.copy(stream, path, limits.stdin_bytes, keep=unpack.KINDS | {binary.TAR, binary.UTF_16})
    except OSError as error:
        raise TargetError(f"standard input cannot be read: {error.strerror}", at="-") from error
    if not kept.what and not kept.cut and archive.is_one(path):
        return _archived(target, archive.extract(path, spool, limits, at="-"), spool=spool, limits=limits, run=run, since=since)
    return GivenSession(target, spool=spool, limits=limits, run=run, since=since, copied=(path, kept))


def _broken(manifest: Path) -> bool:
    """Whether a saved capture can only be read as files, as nothing can be learnt from its manifest; one that is gone by now is for others to say."""
    try:
        return bundle.fault(manifest) is not None
    except OSError:
        return False


def _archived(target: Target, taken: archive.Taken, *, spool: Spool, limits: Limits, run: Start, since: float | None) -> Session:
    """An archive with a manifest of ours is a saved capture; any other is somebody's folder of files."""
    try:
        if bundle.is_packed(taken) and not _broken(taken.files[MANIFEST]):
            return SavedSession(target, taken=taken)
        return GivenSession(replace(target, kind=TargetKind.FILES), spool=spool, limits=limits, run=run, since=since, packed=taken)
    except ForensicsError:
        spool.remove()
        raise

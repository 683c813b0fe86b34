"""What a host says of itself beside its units: processes, memory, disks, the files of a unit, cores, boots and packages. Nothing here is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from forensics.model.noun import Noun


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Process(Noun):
    """One process as ``ps`` lists it. ``unit`` is of its control group ("" where it has none or it is not known); ``age_s`` at the time of the capture."""

    pid: int
    state: str = ""  # R, S, D, Z, …
    age_s: float | None = None
    user: str = ""
    unit: str = ""
    args: str = ""
    source: str = ""
    line_no: int = 0
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class FileSystem(Noun):
    """A mounted file system. ``inodes_free`` is a share, 0 … 1; None where it counts none."""

    mount: str
    device: str = ""
    size_gib: float | None = None
    free_gib: float | None = None
    inodes_free: float | None = None
    source: str = ""
    line_no: int = 0
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class UnitFile(Noun):
    """A file that makes up a unit, with when it was last written; ``role`` is fragment or drop-in."""

    path: str
    changed_at: float
    role: str = "fragment"
    source: str = ""
    line_no: int = 0
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Coredump(Noun):
    """A core that systemd-coredump has kept or noted. ``frames`` are those of the crashing thread, ``library`` the file that the first of them is in."""

    pid: int
    signal: str = ""  # SIGSEGV
    at: float | None = None
    exe: str = ""
    command: str = ""
    unit: str = ""
    frames: tuple[str, ...] = ()
    library: str = ""
    source: str = ""
    lines: Mapping[str, tuple[int, str]] = field(default_factory=dict)  # pid, signal, frame → (line, text)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class BootEnd(Noun):
    """How an earlier boot ended: ``orderly``, ``panic``, ``abrupt`` (it just ends) or ``unknown``; the line is what says so, or the last there is."""

    index: int
    how: str
    at: float | None = None
    source: str = ""
    line_no: int = 0
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class PackageChange(Noun):
    """One package that was installed, upgraded or removed. ``before`` is "" for a new one, ``after`` for one that went."""

    at: float
    name: str
    before: str = ""
    after: str = ""
    source: str = ""
    line_no: int = 0
    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class HostState(Noun):
    """All of it. ``figures`` are numbers by name (``mem_available_gib``, ``pressure_memory_full``, ``cgroup_oom_kills``, …), ``said`` words by name
    (``synchronised``, ``driver``, ``cuda``); ``lines`` says where each was read: name → (source, line, text)."""

    processes: tuple[Process, ...] | None = None  # None: nobody has looked
    disks: tuple[FileSystem, ...] | None = None
    remote_mounts: tuple[str, ...] = ()
    unit_files: tuple[UnitFile, ...] = ()
    coredumps: tuple[Coredump, ...] = ()
    boot_ends: tuple[BootEnd, ...] = ()
    packages: tuple[PackageChange, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    said: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, tuple[str, int, str]] = field(default_factory=dict)

    def process(self, pid: int | None) -> Process | None:
        """The process of that pid, where it was listed."""
        return next((p for p in self.processes or () if p.pid == pid), None) if pid else None

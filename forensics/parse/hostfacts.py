"""Collect what the answers about a host hold into one state of it. Never reads a file and never judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from forensics.model import BootEnd, Coredump, FileSystem, HostState, PackageChange, PartKind, Problem, Process, UnitFile
from forensics.parse import endings, machine, packages, processes, unitnow
from forensics.parse.machine import Said


@dataclass(eq=False, repr=False)
class HostGathered:
    """Everything found so far."""

    processes: list[Process] | None = None
    disks: list[FileSystem] | None = None
    remote: list[str] = field(default_factory=list)
    files: list[UnitFile] = field(default_factory=list)
    cores: list[Coredump] = field(default_factory=list)
    ends: list[BootEnd] = field(default_factory=list)
    packages: list[PackageChange] = field(default_factory=list)
    said: Said = field(default_factory=Said)

    def state(self) -> HostState:
        """What has been found, for good."""
        return HostState(
            processes=None if self.processes is None else tuple(self.processes),
            disks=None if self.disks is None else tuple(self.disks),
            remote_mounts=tuple(self.remote),
            unit_files=tuple(self.files),
            coredumps=tuple(self.cores),
            boot_ends=tuple(self.ends),
            packages=tuple(self.packages),
            figures=dict(self.said.figures),
            said=dict(self.said.said),
            lines=dict(self.said.lines),
        )


def _processes(text: str, source: str, first: int, got: HostGathered) -> tuple[Problem, ...]:
    found, problems = processes.processes(text, source=source, first_line=first)
    if found:
        got.processes = [*(got.processes or ()), *found]
    return problems


def _disks(text: str, source: str, first: int, got: HostGathered) -> tuple[Problem, ...]:
    found, remote, problems = machine.disks(text, source=source, first_line=first)
    if found:
        got.disks = [*(got.disks or ()), *found]
    got.remote.extend(remote)
    return problems


def _machine(text: str, source: str, first: int, got: HostGathered) -> tuple[Problem, ...]:
    return machine.machine(text, got.said, source=source, first_line=first)


def _unit_now(text: str, source: str, first: int, got: HostGathered) -> tuple[Problem, ...]:
    found, problems = unitnow.unit_now(text, got.said, source=source, first_line=first)
    got.files.extend(found)
    return problems


def _coredumps(text: str, source: str, first: int, got: HostGathered) -> tuple[Problem, ...]:
    found, problems = endings.coredumps(text, source=source, first_line=first)
    got.cores.extend(found)
    return problems


def _boot_ends(text: str, source: str, first: int, got: HostGathered) -> tuple[Problem, ...]:
    found, problems = endings.boot_ends(text, source=source, first_line=first)
    got.ends.extend(found)
    return problems


def _packages(text: str, source: str, first: int, got: HostGathered) -> tuple[Problem, ...]:
    found, problems = packages.packages(text, source=source, first_line=first)
    got.packages.extend(found)
    return problems


READERS: Mapping[PartKind, Callable[[str, str, int, HostGathered], tuple[Problem, ...]]] = {
    PartKind.PROCESSES: _processes, PartKind.DISKS: _disks, PartKind.MACHINE: _machine, PartKind.UNIT_NOW: _unit_now,
    PartKind.COREDUMPS: _coredumps, PartKind.BOOT_ENDS: _boot_ends, PartKind.PACKAGES: _packages,
}  # fmt: skip

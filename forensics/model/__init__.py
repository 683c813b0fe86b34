"""The nouns of the project and its closed vocabularies. Standard library only; nothing here reads, judges or prints.

Times are epoch seconds in UTC (float) everywhere; a stamp that could not be read is ``None``, never a guess.
Durations are seconds, memory is GiB, sizes are bytes; the unit is in the name.
"""

from __future__ import annotations

from forensics.model.capture import Capture, Frame, Hit, Location, Pick, Problem, Record, Section, Seen, Target, TargetKind
from forensics.model.diagnosis import (
    Advice,
    Change,
    ClientView,
    Diagnosis,
    End,
    Evidence,
    Hypothesis,
    Known,
    Life,
    Moment,
    PhaseSpan,
    Progress,
    Signal,
    Warn,
)
from forensics.model.facts import Asked, BenchRow, BenchRun, Boot, Facts, Gpu, GpuProcess, Listener, Matrix, Probe, Tail, UnitState
from forensics.model.host import BootEnd, Coredump, FileSystem, HostState, PackageChange, Process, UnitFile
from forensics.model.vocabulary import Cause, Coverage, Direction, EndBy, EndKind, Health, MarkKind, Origin, PartKind, Phase, Role, Status, Word

__all__ = [
    "Advice",
    "Asked",
    "BenchRow",
    "BenchRun",
    "Boot",
    "BootEnd",
    "Capture",
    "Cause",
    "Change",
    "ClientView",
    "Coredump",
    "Coverage",
    "Diagnosis",
    "Direction",
    "End",
    "EndBy",
    "EndKind",
    "Evidence",
    "Facts",
    "FileSystem",
    "Frame",
    "Gpu",
    "GpuProcess",
    "Health",
    "Hit",
    "HostState",
    "Hypothesis",
    "Known",
    "Life",
    "Listener",
    "Location",
    "MarkKind",
    "Matrix",
    "Moment",
    "Origin",
    "PackageChange",
    "PartKind",
    "Phase",
    "PhaseSpan",
    "Pick",
    "Probe",
    "Problem",
    "Process",
    "Progress",
    "Record",
    "Role",
    "Section",
    "Seen",
    "Signal",
    "Status",
    "Tail",
    "Target",
    "TargetKind",
    "UnitFile",
    "UnitState",
    "Warn",
    "Word",
]

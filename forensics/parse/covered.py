"""How far each kind of evidence was seen: read, given, cut off, denied, empty. Never reads more of a section than says so."""

from __future__ import annotations

from collections.abc import Mapping

from forensics import lazily
from forensics.model import Coverage, PartKind, Section
from forensics.parse.asked import chosen, empties, filters, simples
from forensics.parse.part import Part, read_text
from forensics.parse.questions import JOURNALS

# what a part of a kind is evidence of
_EVIDENCE: Mapping[PartKind, str] = {
    **dict.fromkeys(JOURNALS, "journal"), PartKind.STATUS: "status", PartKind.SHOW: "status", PartKind.IS_ACTIVE: "status", PartKind.KERNEL: "kernel", PartKind.UNITS: "units",
    PartKind.SOCKETS: "sockets", PartKind.HEALTH: "health", PartKind.GPU: "gpu", PartKind.SERVER: "log", PartKind.CLIENT: "bench", PartKind.BENCH_JSON: "bench",
    PartKind.BOOTS: "boots", PartKind.UNIT_FILE: "unit-file", PartKind.CONTAINER: "status", PartKind.POD: "status", PartKind.EVENTS: "events", PartKind.PROCESSES: "processes",
    PartKind.DISKS: "disks", PartKind.MACHINE: "machine",
}  # fmt: skip
_KINDS = ("journal", "status", "kernel", "bench", "units", "sockets", "health", "gpu", "log")  # always told of, seen or not
_BETTER = (Coverage.READ, Coverage.GIVEN, Coverage.CUT, Coverage.DENIED, Coverage.EMPTY, Coverage.NOT_COLLECTED)
_DENIED = lazily.pattern(
    r"insufficient permissions|not seeing messages from other users|systemd-journal' can see all messages|Permission denied|Operation not permitted|Access denied"
)
_NO_ENTRIES = lazily.pattern(rb"^-- No entries --\s*$")


class Covered:
    """What was seen so far; of several pieces of one kind the best counts."""

    def __init__(self) -> None:
        self._seen: dict[str, Coverage] = {}

    def of(self, kind: str) -> Coverage:
        """How far this kind was seen."""
        return self._seen.get(kind, Coverage.NOT_COLLECTED)

    def all(self) -> dict[str, Coverage]:
        """The kinds that are always told of, and the others that were seen."""
        return {kind: self.of(kind) for kind in (*_KINDS, *self._seen)}

    def answer(self, section: Section) -> None:
        """Note the answer of a host to what it was asked."""
        kind = _EVIDENCE.get(section.part) if section.part else None
        if kind is None:
            return
        coverage = section.coverage
        if coverage is Coverage.READ:
            if section.cut:
                coverage = Coverage.CUT
            elif section.part in JOURNALS | {PartKind.KERNEL} and _DENIED.search(section.stderr):
                coverage = Coverage.DENIED
            elif section.size() == 0 or _NO_ENTRIES.match(section.head(64)):
                coverage = Coverage.EMPTY
        self._note(kind, coverage)

    def given(self, section: Section, part: Part) -> None:
        """Note a part of what somebody gave."""
        if part.kind is PartKind.NOTICE:
            said = read_text(section, part, 1 << 16, [])
            if _DENIED.search(said):
                self._note("kernel" if said.lstrip().startswith("dmesg: ") else "journal", Coverage.DENIED)
        elif part.kind is PartKind.EMPTY:
            if part.command is None:
                if section.coverage is not Coverage.NOT_COLLECTED:
                    self._note(_emptied(section), Coverage.CUT if section.cut else Coverage.EMPTY)
            # a prompt with nothing behind it asked for nothing, and a grep that found nothing was not shown the journal
            elif asked := [one for one in simples(part.command) if one.tool == "journalctl"]:
                self._note("journal", Coverage.CUT if all(filters(one) or empties(one) for one in asked) else Coverage.EMPTY)
        elif kind := _EVIDENCE.get(part.kind):
            cut = section.cut or (part.kind in JOURNALS and any(chosen(one) for one in simples(part.command or "")))
            self._note(kind, Coverage.CUT if cut else Coverage.GIVEN)

    def _note(self, kind: str, coverage: Coverage) -> None:
        self._seen[kind] = min(self.of(kind), coverage, key=_BETTER.index)


def _emptied(section: Section) -> str:
    """What an empty answer is about: an empty file, what a file of its name answers; "-- No entries --", a journal or the kernel's part of it."""
    says_so = bool(section.head(256).strip())
    if section.hint is None or (says_so and section.hint is not PartKind.KERNEL):
        return "journal"
    return _EVIDENCE.get(section.hint, "journal")

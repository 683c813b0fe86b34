"""What of a file is read in its place, where somebody's hand or a collector has changed its form. Never writes a file; the capture on disk stays as it was given."""

from __future__ import annotations

from dataclasses import replace

from forensics import lazily
from forensics.model import Capture, PartKind, Problem, Section
from forensics.parse import dress, shape, shipped

MOVED = "several entries stand on one line: it is entries that are counted, not lines"
_HEAD = 1 << 14
# a journal with fields wears no dress: its lengths count bytes, its indents are its own
_FIELDS = lazily.pattern(rb"(?m)^(?:__CURSOR=s=|__REALTIME_TIMESTAMP=\d|[^\n]{20,60} \[s=[0-9a-f]{32};i=[0-9a-f]{1,16};b=)")
_DOCKER = lazily.pattern(rb'\{"log": ?"')


def prepared(capture: Capture) -> Capture:
    """The capture with its pastes undressed, and with the exports of collectors as entries. Sections that were asked for are as their command wrote them."""
    problems: list[Problem] = []
    sections = tuple(_prepared(section, problems) for section in capture.sections)
    return replace(capture, sections=sections, problems=(*capture.problems, *problems))


def _prepared(section: Section, problems: list[Problem]) -> Section:
    if section.part is not None or section.text is not None or section.size() > shipped.MAX_BYTES:
        return section
    if (export := _export(section)) is not None:
        if export.moved:
            problems.append(Problem(source=section.name, text=MOVED))
        return replace(section, text=export.text, entries=None if export.kind is PartKind.JOURNAL_TEXT else export.kind)
    if section.size() > dress.MAX_BYTES or _FIELDS.search(section.head(_HEAD)):
        return section
    text = dress.undressed(section.head(dress.MAX_BYTES))
    return section if text is None else replace(section, text=text)


def _export(section: Section) -> shipped.Export | None:
    """What a collector has exported; the output of a client may be JSON as well, and says so in its name."""
    head = section.head(_HEAD).lstrip(b"\xef\xbb\xbf \r\n\t")
    first = head.split(b"\n", 1)[0].decode("utf-8", "replace")
    if shape.CLIENT_NAME.search(section.name.rpartition("/")[2].lower()) or _DOCKER.match(head):
        return None
    if shape.JSON_ENTRY.match(first) and '"MESSAGE"' in first and '"__REALTIME_TIMESTAMP"' in first:
        return None
    if not shipped.looks(head):
        return None
    return shipped.export_of(section.head(shipped.MAX_BYTES))

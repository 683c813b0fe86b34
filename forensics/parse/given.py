"""What of a file is read in its place, where somebody's hand or a collector has changed its form. Never writes a file; the capture on disk stays as it was given."""

from __future__ import annotations

from dataclasses import replace

from forensics.model import Capture, Section
from forensics.parse import dress


def prepared(capture: Capture) -> Capture:
    """The capture with its pastes undressed. Sections that were asked for are as their command wrote them."""
    return replace(capture, sections=tuple(map(_prepared, capture.sections)))


def _prepared(section: Section) -> Section:
    if section.part is not None or section.text is not None or section.size() > dress.MAX_BYTES:
        return section
    text = dress.undressed(section.head(dress.MAX_BYTES))
    return section if text is None else replace(section, text=text)

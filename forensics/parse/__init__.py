"""From bytes on disk to blocks, frames, records and facts. Total functions: a bad line costs that line and is reported; nothing here judges a line."""

from forensics.parse.block import Block
from forensics.parse.facts import facts, unit_overview
from forensics.parse.frame import frames, record, stretches
from forensics.parse.given import prepared
from forensics.parse.part import Part
from forensics.parse.sniff import parts
from forensics.parse.tails import Ends, watch
from forensics.parse.wordings import Again

__all__ = ["Again", "Block", "Ends", "Part", "facts", "frames", "parts", "prepared", "record", "stretches", "unit_overview", "watch"]

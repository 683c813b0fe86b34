"""From bytes on disk to blocks, frames, records and facts. Total functions: a bad line costs that line and is reported; nothing here judges a line."""

from forensics.parse.block import Block
from forensics.parse.facts import facts, unit_overview
from forensics.parse.frame import frames, record
from forensics.parse.given import prepared
from forensics.parse.sniff import Part, parts
from forensics.parse.tails import watch

__all__ = ["Block", "Part", "facts", "frames", "parts", "prepared", "record", "unit_overview", "watch"]

"""Target → Capture: what is asked of a host, how it is reached, and what comes back, on disk. Never reads a line of it for its meaning."""

from forensics.collect import bundle, packing, plan
from forensics.collect.bundle import load, save
from forensics.collect.opening import open_target
from forensics.collect.packing import Bundle
from forensics.collect.question import Question
from forensics.collect.saved import SavedSession
from forensics.collect.session import Limits, Session, capture_from
from forensics.collect.targets import parse_targets

__all__ = [
    "Bundle", "Limits", "Question", "SavedSession", "Session", "bundle", "capture_from", "load", "open_target", "packing", "parse_targets", "plan", "save",
]  # fmt: skip

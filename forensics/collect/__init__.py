"""Target → Capture: what is asked of a host, how it is reached, and what comes back, on disk. Never reads a line of it for its meaning."""

from forensics.collect import bundle, packing, plan
from forensics.collect.bundle import load, save
from forensics.collect.lost import read_what_is_left
from forensics.collect.opening import open_target
from forensics.collect.packing import Bundle
from forensics.collect.process import start_process
from forensics.collect.question import Question
from forensics.collect.saved import SavedSession
from forensics.collect.session import Limits, Session, capture_from
from forensics.collect.targets import parse_targets, target_of_files
from forensics.collect.together import side_by_side

__all__ = [
    "Bundle",
    "Limits",
    "Question",
    "SavedSession",
    "Session",
    "bundle",
    "capture_from",
    "load",
    "open_target",
    "packing",
    "parse_targets",
    "plan",
    "read_what_is_left",
    "save",
    "side_by_side",
    "start_process",
    "target_of_files",
]

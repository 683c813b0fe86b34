"""Rules and profiles as data: loaded, looked for in lines, evaluated over facts. Knows no server by name and reads no evidence."""

from forensics.ruleset.load import load
from forensics.ruleset.scan import Matcher, ScanResult, scan, scan_lines
from forensics.ruleset.schema import RuleSet

__all__ = ["Matcher", "RuleSet", "ScanResult", "load", "scan", "scan_lines"]

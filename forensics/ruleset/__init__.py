"""Rules and profiles as data: loaded, looked for in lines, evaluated over facts. Knows no server by name and reads no evidence."""

from pathlib import Path

from forensics.ruleset.literals import Search
from forensics.ruleset.merge import merged, moved
from forensics.ruleset.scan import Matcher, Scanner, ScanResult, scan
from forensics.ruleset.schema import RuleSet
from forensics.ruleset.sequence import joined
from forensics.ruleset.shipped import shipped_rules
from forensics.ruleset.spread import spread, usable

__all__ = [
    "Matcher",
    "RuleSet",
    "ScanResult",
    "Scanner",
    "Search",
    "joined",
    "load",
    "merged",
    "moved",
    "scan",
    "shipped_rules",
    "spread",
    "usable",
]


def load(*paths: Path) -> RuleSet:
    """The rules of some folders and files, or of the package, with their samples. Raises RuleErrors with all faults. A diagnosis takes ``shipped_rules``."""
    from forensics.ruleset import loading  # reads YAML and conditions: 50 ms, and 200 for the rules of the package

    return loading.load(*paths)

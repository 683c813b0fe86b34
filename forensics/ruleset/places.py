"""Where a key of a rule stands in its file, found again by the place of the rule. Reads rule files, and nothing else about them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from yaml.nodes import MappingNode, Node, SequenceNode

from forensics.errors import RuleError
from forensics.model import Location
from forensics.model.counted import counted
from forensics.ruleset import sources
from forensics.ruleset.nodes import Faults, compose

Tables = dict[tuple[int, int], MappingNode]


def place(at: Location, *keys: str | int) -> Location:
    """The place of a key's value in the mapping that begins at ``at``, of a key or an item within that and so on, as far down as can be told."""
    node: Node | None = _tables(at.path).get((at.line, at.col))
    found = at
    for key in keys:
        if isinstance(node, SequenceNode) and isinstance(key, int) and key < len(node.value):
            node = node.value[key]
        elif isinstance(node, MappingNode):
            node = next((value for name, value in node.value if getattr(name, "value", None) == key), None)
        else:
            node = None
        if node is None:
            break
        found = Location(at.path, node.start_mark.line + 1, node.start_mark.column + 1)
    return found


def file_of(shown: str) -> Path | None:
    """The file that a place names: from the package's folder, from where the user stands, or by its whole path."""
    for root in (sources.SHIPPED.parent, Path.cwd()):
        if (path := root / shown).is_file():
            return path
    return None


@lru_cache(maxsize=256)
def _tables(shown: str) -> Tables:
    path = file_of(shown)
    root = compose(path, Faults(shown)) if path is not None else None
    tables: Tables = {}
    waiting: list[Node] = [root] if root is not None else []
    while waiting:
        node = waiting.pop()
        if isinstance(node, MappingNode):
            tables.setdefault((node.start_mark.line + 1, node.start_mark.column + 1), node)
            waiting += [value for _, value in node.value]
        elif isinstance(node, SequenceNode):
            waiting += node.value
    return tables


def layout(files: list[Path]) -> list[RuleError]:
    """Blanks and tabs at line ends, which nobody sees and a diff shows. Line ends of Windows are one thing to mend, in however many lines."""
    found: list[RuleError] = []
    for file in files:
        try:
            lines = sources.content(file).split(b"\n")
        except (OSError, RuleError):  # said by whoever loads it
            continue
        if odd := [number for number, line in enumerate(lines, start=1) if line.endswith(b"\r")]:
            at = Location(sources.shown(file), odd[0], 1)
            found.append(RuleError(f"Windows line ends (in {counted(len(odd), 'line')})", at=at, hint="save it with plain line feeds"))
        for number, line in enumerate((line.removesuffix(b"\r") for line in lines), start=1):
            kept = line.rstrip(b" \t\r")
            if kept != line:
                at = Location(sources.shown(file), number, len(kept.decode("utf-8", "replace")) + 1)
                found.append(RuleError("blanks at the end of the line", at=at, hint="remove them"))
    return found

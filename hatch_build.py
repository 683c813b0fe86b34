"""Build hook: a wheel, and an editable installation, gets the compiled rule set beside the rules, and the latter its bytecode. Never changes a source file.

It needs what reads the rules (PyYAML, pyparsing; see [build-system] in pyproject.toml), and nothing of the rest.
"""

from __future__ import annotations

import compileall
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledRules(BuildHookInterface):
    """A wheel is given the file from a temporary folder: its sources may be read-only. An editable installation has no other place than its sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self.folder = tempfile.TemporaryDirectory()
        sys.path.insert(0, self.root)
        try:
            from forensics.ruleset import compiled, shipped
        finally:
            sys.path.remove(self.root)
        if version != "editable":
            file = Path(self.folder.name, shipped.COMPILED.name)
            compiled.write(file)
            build_data["force_include"][str(file)] = shipped.COMPILED.relative_to(Path(self.root).resolve()).as_posix()
            return
        try:
            compiled.write()
        except OSError as error:  # the program is as good without it
            self.app.display_warning(f"no compiled rule set, each start takes a quarter of a second longer: {error}")
        # as pip does with a wheel: where PYTHONDONTWRITEBYTECODE is set nothing else would, and each start would compile 150 modules
        compileall.compile_dir(Path(self.root, "forensics"), quiet=2)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self.folder.cleanup()

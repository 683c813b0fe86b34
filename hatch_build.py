"""Build hook: a wheel, and an editable installation, gets the compiled rule set beside the rules and the table of lines in C, and the latter its bytecode. Never
changes a source file, and fails for neither: the program does the same without them, only slower.

It needs what reads the rules (PyYAML, pyparsing; see [build-system] in pyproject.toml), and nothing of the rest.
"""

from __future__ import annotations

import compileall
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

RULESET = Path("forensics/ruleset")


class CompiledRules(BuildHookInterface):
    """A wheel is given the files from a temporary folder: its sources may be read-only. An editable installation has no other place than its sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self.folder = tempfile.TemporaryDirectory()
        sys.path.insert(0, self.root)
        try:
            from forensics.ruleset import compiled, shipped
        finally:
            sys.path.remove(self.root)
        table = self._table(Path(self.folder.name))
        if version != "editable":
            file = Path(self.folder.name, shipped.COMPILED.name)
            compiled.write(file)
            build_data["force_include"][str(file)] = shipped.COMPILED.relative_to(Path(self.root).resolve()).as_posix()
            if table is not None:
                build_data["force_include"][str(table)] = (RULESET / table.name).as_posix()
                build_data["pure_python"] = False
                build_data["infer_tag"] = True
            return
        try:
            compiled.write()
            if table is not None:
                # beside the old one first: what has loaded that goes on with it
                beside = Path(self.root, RULESET, f".{table.name}.{os.getpid()}")
                beside.write_bytes(table.read_bytes())
                beside.replace(beside.with_name(table.name))
        except OSError as error:
            self.app.display_warning(f"nothing is compiled, each start takes a quarter of a second longer: {error}")
        # as pip does with a wheel: where PYTHONDONTWRITEBYTECODE is set nothing else would, and each start would compile 150 modules
        compileall.compile_dir(Path(self.root, "forensics"), quiet=2)

    def _table(self, folder: Path) -> Path | None:
        """``_alike.c`` for this Python, in a folder; None where there is no compiler, or it lacks something."""
        known = sysconfig.get_config_vars()
        source, made = Path(self.root, RULESET, "_alike.c"), folder / f"_alike{known['EXT_SUFFIX']}"
        try:
            linker = shlex.split(known.get("LDSHARED") or "cc -shared")
            # the one that this Python was built by need not be on this machine
            compiler = shlex.split(os.environ.get("CC") or "") or [linker[0] if shutil.which(linker[0]) else "cc"]
            flags = [word for name in ("CFLAGS", "CCSHARED") for word in shlex.split(known.get(name) or "")]
            subprocess.run(
                # -g0: else it would say in which folder it was built
                [*compiler, *linker[1:], *flags, "-O3", "-g0", f"-I{sysconfig.get_path('include')}", str(source), "-o", str(made)],
                check=True,
                capture_output=True,
                text=True,
                errors="replace",
            )
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            said = f"{error.cmd[0]} ends with {error.returncode}" if isinstance(error, subprocess.CalledProcessError) else str(error)
            said = str(getattr(error, "stderr", None) or "").strip() or said
            self.app.display_warning(f"no table in C, large logs take twice as long: {said.splitlines()[-1]}")
            return None
        return made

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self.folder.cleanup()

"""The folder in which answers are kept while they are worked on. Private to this account, and gone at the end of the program at the latest."""

from __future__ import annotations

import atexit
from pathlib import Path


class Spool:
    """A folder of its own under ``parent`` (default: the system's), made when first needed."""

    def __init__(self, parent: Path | None = None) -> None:
        self._parent = parent
        self._folder: Path | None = None
        self._used: dict[str, int] = {}

    def path(self, name: str) -> Path:
        """A path for a section's bytes that no earlier section has."""
        folder = self.folder()
        count = self._used.get(name, 0)
        self._used[name] = count + 1
        return folder / (f"{name}.{count}" if count else name)

    def folder(self) -> Path:
        """The folder itself."""
        if self._folder is None:
            import tempfile

            self._folder = Path(tempfile.mkdtemp(prefix="ddforensics-", dir=self._parent))
            atexit.register(self.remove)
        return self._folder

    def remove(self) -> None:
        """Remove it with all that is in it."""
        if self._folder is not None:
            import shutil

            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
            atexit.unregister(self.remove)

"""``python -m forensics`` is the command ``ddforensics``. Holds nothing of its own."""

from __future__ import annotations

from forensics.cli.main import entry

if __name__ == "__main__":
    entry()

"""Ask this machine, with the same script that a host gets over ssh. Opens no connection."""

from __future__ import annotations

from forensics.errors import TargetError

LOCAL_ARGV = ("sh", "-s")


def explain(exit_code: int | None, stderr: str, before: str) -> TargetError:
    """The error for a shell that gave no answer."""
    said = (stderr or before).strip().splitlines()
    return TargetError(f"the shell of this machine gave no answer (exit code {exit_code}){': ' + said[-1] if said else ''}", at="local")

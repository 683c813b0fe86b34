"""The outputs of real hosts (systemd 247, 252 and 257) for some eighty faults, and the program's view of one of them."""

from __future__ import annotations

import os
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from forensics import api, collect, reason
from forensics.model import Capture, Diagnosis, Facts, Role
from forensics.ruleset.schema import RuleSet

DATA = Path(__file__).parents[1] / "data" / "testbed"
# how many faults were staged on each
FAULTS = {
    "bullseye-247": 62,
    "bookworm-252": 65,
    "trixie-257": 62,
    "cgroup1-memory-bookworm-252": 2,
    "qemu-bookworm-252": 6,
    "coredump-trixie-257": 2,
}
HOSTS = tuple(FAULTS)


class View(NamedTuple):
    facts: Facts
    diagnosis: Diagnosis
    capture: Capture


def unpack(name: str, into: Path, *, only: str = "") -> Path:
    """The archive of this name in the tests' data, unpacked (of ``only`` one folder), with the times that the files had."""
    with tarfile.open(DATA / name) as archive:
        for member in archive:
            if only and not member.name.startswith(only + "/"):
                continue
            (path := into / member.name).parent.mkdir(parents=True, exist_ok=True)
            stream = archive.extractfile(member)
            assert stream is not None, member.name
            path.write_bytes(stream.read())
            os.utime(path, (member.mtime, member.mtime))
    return into


def silent(text: str) -> None:
    """Progress that nobody watches."""


def lifecycle(rules: RuleSet) -> RuleSet:
    """Only what lives and ends are read by: the marks of all profiles, and the rules by which a kill is known to be the server's own."""
    return replace(rules, rules=tuple(rule for rule in rules.rules if rule.role is Role.CASCADE))


def look(*paths: Path, rules: RuleSet, unit: str | None = None) -> View:
    """Read files as the command does."""
    (target,) = collect.parse_targets([str(path) for path in paths])
    with collect.open_target(target) as session:
        (capture,) = api.look(session, rules, unit=unit, since=None, progress=silent)
        facts, capture = api.facts_of(capture, rules, unit=unit)
        diagnosis = reason.diagnose(facts, rules, capture)
        session.discard()
    return View(facts, diagnosis, capture)

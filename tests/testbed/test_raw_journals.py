"""Whole journal files are read through journalctl --file, and tell of a unit what the text of the same journal told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from forensics import api, collect, reason
from forensics.ruleset.schema import RuleSet
from tests.testbed import truth
from tests.testbed.bed import silent, unpack

pytestmark = pytest.mark.skipif(shutil.which("journalctl") is None, reason="there is no journalctl on this machine to read a journal file with")

# the journal, where the text of the same host is, and the faults whose units are asked for (each look reads a whole host's journal)
FILES = (
    ("trixie-systemd257", "trixie-257", ("start-limit-hit", "stopped-by-operator")),
    ("qemu-oom-bookworm-systemd252", "qemu-bookworm-252", ("oom-child-policy-kill", "oom-memorymax", "oom-global")),
)


@pytest.mark.parametrize(("name", "host", "faults"), FILES, ids=[row[0] for row in FILES])
def test_a_journal_file_tells_how_each_unit_ended(
    testbed: Path, marks: RuleSet, tmp_path_factory: pytest.TempPathFactory, name: str, host: str, faults: tuple[str, ...]
) -> None:
    folder = unpack("journals.tar.xz", tmp_path_factory.mktemp("journals"), only=name)
    (target,) = collect.parse_targets([str(file) for file in folder.rglob("*.journal")])
    wrong = []
    with collect.open_target(target) as session:
        (whole,) = api.look(session, marks, unit=None, since=None, progress=silent)
        for fault in faults:
            unit = truth.show(testbed / host / fault / "show.out")["Id"]
            expected = [(life.kind, life.signal, life.status) for life in truth.lives(truth.events(testbed / host / fault))]
            facts, capture = api.facts_of(whole, marks, unit=unit)
            found = [(life.end.kind.value, life.end.signal, life.end.status) for life in reason.diagnose(facts, marks, capture).lives]
            if expected != found:
                wrong.append(f"{host}/{fault}: {expected}, found {found}")
            wrong += [f"{host}/{fault}: {p.text}" for p in facts.problems]
        session.discard()
    assert not wrong, "\n".join(wrong)

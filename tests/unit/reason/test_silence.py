"""Empty answers of a journal: no rights, a mistyped name, a rotated journal, a filter, and a unit that says nothing are told apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics import api
from forensics.model import Capture, Cause, Coverage, Diagnosis, PartKind, Pick, Section, Target, TargetKind
from tests.cases.judge import rules
from tests.unit.reason.telling import DATA, diagnosed

SILENCE = DATA / "silence"
NONE = "-- No entries --\n"


def real(name: str) -> str:
    return (SILENCE / f"{name}.txt").read_text(encoding="utf-8")


def typed(*asked: tuple[str, str]) -> str:
    return "".join(f"ops@xb1:~$ {command}\n{answer}" for command, answer in asked)


def of_paste(folder: Path, *asked: tuple[str, str]) -> Diagnosis:
    (folder / "paste.txt").write_text(typed(*asked), encoding="utf-8")
    return diagnosed(folder)


HINT, BOOT = real("hint"), "journalctl -u sglang-boot.service"
QUIET = """\
● quiet.service - A quiet one
     Loaded: loaded (/etc/systemd/system/quiet.service; enabled; preset: enabled)
     Active: active (running) since Sun 2026-11-29 20:26:05 UTC; 20s ago
   Main PID: 33 (quiet)
"""
# what stands on the screen → cause, coverage of the journal, kinds of warnings, a word of the next command
TABLE = {
    "no rights, the hint above": ([(BOOT, HINT + NONE)], "evidence-missing", "denied", ["journal-denied"], "sudo journalctl -u sglang-boot.service"),
    "no rights, the hint below": ([(BOOT, NONE + HINT)], "evidence-missing", "denied", ["journal-denied"], "sudo journalctl -u sglang-boot.service"),
    "no rights, as the status says": (
        [("systemctl status sglang-boot.service", real("status-denied")), (BOOT, NONE)],
        "signal-death", "empty", ["journal-denied"], "journalctl -k",
    ),
    "a mistyped name": (
        [("systemctl status sglang-boot.service", real("status-root")), ("journalctl -u sglang-bot.service", NONE)],
        "signal-death", "empty", ["mistyped-unit"], "journalctl -k",
    ),
    "no such unit": ([("systemctl status none.service", real("status-none")), ("journalctl -u none.service", NONE)], "unit-missing", "empty", [], "list-unit-files"),
    "a rotated journal": (
        [("systemctl status sglang-boot.service", real("status-rotated")), (BOOT, NONE)],
        "signal-death", "empty", ["journal-rotated"], "journalctl -k",
    ),
    "a journal that begins after the unit": (
        [("systemctl status sglang-boot0.service", real("status-rotated-running")), ("journalctl -u sglang-boot0.service", real("journal-rotated-running"))],
        "healthy", "given", ["journal-rotated"], "",
    ),
    "a silent unit": ([("systemctl status quiet.service", QUIET), ("journalctl -u quiet.service", NONE)], "evidence-missing", "empty", ["journal-silent"], "StandardOutput"),
    "a filter": (
        [("systemctl status quiet.service", QUIET), ("journalctl -u quiet.service | grep -i error", "")],
        "evidence-missing", "cut", ["empty-grep"], "journalctl -u quiet.service",
    ),
    "a priority": (
        [("systemctl status quiet.service", QUIET), ("journalctl -u quiet.service -p err", NONE)],
        "evidence-missing", "cut", ["empty-grep"], "journalctl -u quiet.service",
    ),
    "a window": (
        [("systemctl status quiet.service", QUIET), ("journalctl -u quiet.service --since '1 min ago'", NONE)],
        "evidence-missing", "cut", ["empty-window"], "journalctl -u quiet.service",
    ),
    "nothing else is known": ([(BOOT, NONE)], "evidence-missing", "empty", [], "systemctl status sglang-boot.service"),
    "behind an ssh": ([("ssh xb1 'systemctl status quiet.service; journalctl -u quiet.service'", QUIET + NONE)], "evidence-missing", "empty", ["journal-silent"], "StandardOutput"),
}  # fmt: skip


@pytest.mark.parametrize(("asked", "cause", "coverage", "warned", "next_command"), TABLE.values(), ids=TABLE.keys())
def test_why_a_journal_is_empty_is_told(asked, cause, coverage, warned, next_command, tmp_path):
    found = of_paste(tmp_path, *asked)
    assert (str(found.cause), str(found.coverage["journal"])) == (cause, coverage)
    assert [w.kind for w in found.warnings] == warned
    assert next_command in (found.hypotheses[0].next or "" if found.hypotheses else "")


def test_the_four_empty_answers_are_four_sentences_and_four_commands(tmp_path):
    four = [TABLE[name][0] for name in ("no rights, the hint above", "nothing else is known", "a silent unit")]
    four.append([("systemctl is-active quiet.service", "active\n"), ("systemctl status quiet.service", QUIET + "\nNotice: journal has been rotated since unit was started, output may be incomplete.\n"), ("journalctl -u quiet.service", NONE)])  # fmt: skip
    told = []
    for number, asked in enumerate(four):
        (folder := tmp_path / str(number)).mkdir()
        told.append(of_paste(folder, *asked))
    assert len({d.headline for d in told}) == len({d.hypotheses[0].next for d in told}) == 4


def live(
    folder: Path, *, journal: str = "", stderr: str = "", status: str = QUIET, coverage: Coverage = Coverage.READ, kernel: Coverage | None = None
) -> Diagnosis:
    """The diagnosis of a host that answered so."""
    sections = []
    for name, part, text, err in (
        ("status", PartKind.STATUS, status, ""),
        ("journal", PartKind.JOURNAL_EXPORT, journal, stderr),
    ):
        path = folder / name
        path.write_text(text, encoding="utf-8")
        sections.append(Section(name=name, path=path, part=part, argv="journalctl -u quiet.service -o export -r" if name == "journal" else "", stderr=err, coverage=coverage if name == "journal" else Coverage.READ))  # fmt: skip
    capture = Capture(
        target=Target(kind=TargetKind.SSH, name="xb1", host="xb1"),
        sections=tuple(sections),
        at=1795983985.0,
        pick=Pick(asked="quiet.service", unit="quiet.service", how="asked"),
    )
    return api.diagnose_capture(capture, rules())


def test_a_live_account_without_rights_is_told_so(tmp_path):
    found = live(tmp_path, stderr=HINT)
    assert found.coverage["journal"] is Coverage.DENIED
    assert (found.cause, [w.kind for w in found.warnings]) == (Cause.EVIDENCE_MISSING, ["journal-denied"])
    assert found.hypotheses[0].next == "sudo journalctl -u quiet.service -n 200 --no-pager"


def test_a_live_unit_that_says_nothing_is_silent(tmp_path):
    found = live(tmp_path)
    assert found.coverage["journal"] is Coverage.EMPTY
    assert [w.kind for w in found.warnings] == ["journal-silent"]


def test_a_live_journal_that_was_not_asked_for_is_no_silence(tmp_path):
    found = live(tmp_path, coverage=Coverage.NOT_COLLECTED)
    assert not [w for w in found.warnings if w.kind.startswith("journal-")]

"""What a file's place says of it: in somebody's own export, and in a support archive of a whole machine."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from forensics import collect, parse
from forensics.collect import catalogue, plan
from forensics.collect.catalogue import Worth
from forensics.model import Capture, Coverage, Facts, PartKind
from tests.unit.collect import tars
from tests.unit.collect.test_files import capture, names

SAMPLES = Path(__file__).resolve().parents[3] / "samples"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("installed-debs", None), ("sos_commands/hardware/dmidecode", None), ("notes.md", None), ("health.txt", None), ("terminal.txt", None),
        ("journal.txt", PartKind.JOURNAL_EXPORT), ("evidence/Journal.TXT", PartKind.JOURNAL_EXPORT), ("status.txt", PartKind.STATUS), ("show.txt", PartKind.SHOW),
        ("is-active.txt", PartKind.IS_ACTIVE), ("dmesg", PartKind.KERNEL), ("dmesg.log.gz", PartKind.KERNEL), ("ss.txt", PartKind.SOCKETS), ("nvidia-smi.txt", PartKind.GPU),
        ("units.txt", PartKind.UNITS), ("x.service", PartKind.UNIT_FILE), ("bench.txt", PartKind.CLIENT), ("bench.json", PartKind.BENCH_JSON), ("server.log", PartKind.SERVER),
        ("journalctl_--list-boots", PartKind.BOOTS), ("journal-short-iso.out", PartKind.JOURNAL_EXPORT), ("status-cols40.out", PartKind.STATUS), ("nvidia-bug-report.log.gz", PartKind.KERNEL),
        ("sosreport-x/sos_commands/systemd/systemctl_list-units_--all", PartKind.UNITS), ("sos_commands/systemd/systemctl_status_--all", PartKind.STATUS),
        ("sos_commands/systemd/journalctl_--list-boots", PartKind.BOOTS), ("sos_commands/logs/journalctl_--no-pager", PartKind.JOURNAL_EXPORT),
        ("sos_commands/logs/journalctl_--no-pager_--boot_-1", PartKind.JOURNAL_EXPORT), ("sos_commands/kernel/dmesg_-T", PartKind.KERNEL),
        ("sos_commands/networking/ss_-peaonmi", PartKind.SOCKETS), ("var/log/syslog.2.gz", PartKind.JOURNAL_EXPORT), ("var/log/messages-20260509", PartKind.JOURNAL_EXPORT),
        ("var/log/kern.log", PartKind.KERNEL), ("sos_commands/date/date_--utc", PartKind.CLOCK),
    ],
)  # fmt: skip
def test_the_question_that_a_file_answers(path: str, kind: PartKind | None) -> None:
    assert catalogue.kind_of(path) is kind


def test_every_question_says_where_exports_keep_its_answer() -> None:
    asked = (*plan.overview(), *plan.unit("x.service"))
    assert [q.name for q in asked if not q.files and not q.completes] == []
    assert [p for q in asked for p in q.files if p != p.lower()] == []


@pytest.mark.parametrize(
    ("path", "worth"),
    [
        ("proc/meminfo", Worth.NAMED), ("proc/interrupts", Worth.NONE), ("sys/kernel/x.log", Worth.NONE), ("usr/lib/systemd/system/x.service", Worth.NONE), ("sos_commands/rpm/rpm_-qa", Worth.NONE),
        ("var/log/apt/term.log", Worth.NONE), ("README", Worth.OTHER), ("srv/llm/out.log", Worth.LIKELY), ("etc/systemd/system/llm.service", Worth.LIKELY), ("journal.txt", Worth.NAMED),
    ],
)  # fmt: skip
def test_how_much_a_file_is_worth_by_its_path(path: str, worth: Worth) -> None:
    assert catalogue.worth(path) is worth


def facts(made: Capture) -> Facts:
    return parse.facts(made, SimpleNamespace(hits=(), counts={}))


@pytest.mark.parametrize(
    ("name", "kind"),
    [("journal.txt", "journal"), ("dmesg.txt", "kernel"), ("status.txt", "status"), ("ss.txt", "sockets"), ("nvidia-smi.txt", "gpu"), ("bench.txt", "bench"), ("server.log", "log")],
)  # fmt: skip
def test_an_empty_file_is_an_empty_answer_to_what_its_name_says_and_to_nothing_else(tmp_path: Path, name: str, kind: str) -> None:
    (tmp_path / name).touch()
    seen = facts(capture(tmp_path)).coverage
    assert {k: v for k, v in seen.items() if v is not Coverage.NOT_COLLECTED} == {kind: Coverage.EMPTY}


def test_no_entries_of_the_kernel_are_not_no_entries_of_the_journal(tmp_path: Path) -> None:
    (tmp_path / "kernel.txt").write_text("-- No entries --\n")
    seen = facts(capture(tmp_path)).coverage
    assert (seen["kernel"], seen["journal"]) == (Coverage.EMPTY, Coverage.NOT_COLLECTED)
    (tmp_path / "kernel.txt").rename(tmp_path / "journal.txt")
    seen = facts(capture(tmp_path)).coverage
    assert (seen["kernel"], seen["journal"]) == (Coverage.NOT_COLLECTED, Coverage.EMPTY)


def test_what_a_file_says_of_itself_is_stronger_than_its_name(tmp_path: Path) -> None:
    (tmp_path / "dmesg.txt").write_text(
        "● x.service - X\n     Loaded: loaded (/x)\n     Active: failed (Result: signal) since Sat 2026-05-09 10:15:51 UTC; 9min ago\n"
    )
    seen = facts(capture(tmp_path))
    assert (seen.coverage["status"], seen.coverage["kernel"]) == (Coverage.GIVEN, Coverage.NOT_COLLECTED)
    assert seen.units["x.service"].result == "signal"


def sosreport(folder: Path) -> Path:
    """A machine's tree as sos lays it out, around a real incident; only what this test needs, but in numbers as there are."""
    top = folder / "sosreport-gpu01-2026-05-09-abcdefg"
    incident = SAMPLES / "silent-crash"
    texts = {
        "sos_commands/logs/journalctl_--no-pager": (incident / "journal.txt").read_text(),
        "sos_commands/logs/journalctl_--no-pager_--boot": (incident / "journal.txt").read_text(),
        "sos_commands/systemd/systemctl_status_--all": (incident / "status.txt").read_text(),
        "etc/systemd/system/sglang-qwen.service": (incident / "sglang-qwen.service").read_text(),
        "sos_commands/kernel/dmesg": "",
        "sos_commands/hardware/dmidecode": "Out of memory: Killed process 1 (python3)\n",
        "sos_logs/sos.log": "torch.OutOfMemoryError: CUDA out of memory.\n",
        **{f"proc/{n}": "torch.OutOfMemoryError: CUDA out of memory.\n" for n in range(300)},
        **{f"lib/systemd/system/u{n}.service": "[Service]\nExecStart=/bin/true\n" for n in range(300)},
    }
    for name, text in texts.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    (top / "dmesg").symlink_to("sos_commands/kernel/dmesg")
    return top


def test_of_a_support_archive_what_can_be_evidence_is_read_and_the_rest_is_counted(tmp_path: Path) -> None:
    top = sosreport(tmp_path)
    wanted = [
        "etc/systemd/system/sglang-qwen.service", "sos_commands/kernel/dmesg", "sos_commands/logs/journalctl_--no-pager", "sos_commands/logs/journalctl_--no-pager_--boot",
        "sos_commands/systemd/systemctl_status_--all",
    ]  # fmt: skip
    (tmp_path / "sos.tar").write_bytes(tars.of_folder(top, top.name))
    for place in (top, tmp_path / "sos.tar"):
        made = capture_of(place)
        assert names(made) == wanted
        assert [p.text for p in made.problems] == ["602 files are not read: none of them is a log or an answer that is known"]
        assert facts(made).coverage["kernel"] is Coverage.EMPTY


def capture_of(place: Path) -> Capture:
    [target] = collect.parse_targets([str(place)])
    with collect.open_target(target) as session:
        return collect.capture_from(session, session.ask(()))


def test_a_support_archive_is_diagnosed_by_the_incident_in_it(tmp_path: Path) -> None:
    from forensics import api

    top = sosreport(tmp_path)
    (tmp_path / "sos.tar").write_bytes(tars.of_folder(top, top.name))
    [found] = api.diagnose(str(tmp_path / "sos.tar"))
    assert (found.cause, found.status, found.unit, found.died_after_s) == ("gpu-oom-init", "established", "sglang-qwen.service", 32.969)
    assert len(found.lives) == 2  # although the journal is in it twice


def test_in_a_folder_that_is_too_large_the_likeliest_files_are_read(tmp_path: Path) -> None:
    for n in range(20):
        (tmp_path / f"a{n:02d}.dat").write_text("x\n")
    (tmp_path / "z").mkdir()
    (tmp_path / "z/journal.txt").write_text("x\n")
    (tmp_path / "z/out.log").write_text("x\n")
    made = capture(tmp_path, limits=collect.Limits(files=3))
    assert names(made) == ["a00.dat", "z/journal.txt", "z/out.log"]
    assert [p.text for p in made.problems] == ["not read, nor 18 others: more than 3 files in one folder"]

"""A capture that was redacted is diagnosed as the one it was made from: cause, status, figures, lines, and the texts once their names are mapped."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from forensics import api, collect
from forensics.model import Diagnosis
from forensics.redact import Redactor
from forensics.report import json as report
from tests.cases.judge import HERE, rules

SAMPLES = HERE.parents[1] / "samples"
FOLDERS = [*sorted(p for p in SAMPLES.iterdir() if p.is_dir()), *sorted(p.parent for p in (HERE / "given").glob("*/case.yaml"))]


def diagnosed(folder: Path, *, unit: str | None, save: Path | None = None) -> tuple[Diagnosis, Redactor]:
    (target,) = collect.parse_targets([str(folder)])
    with collect.open_target(target) as session:
        (capture,) = api.look(session, rules(), unit=unit, since=None, progress=lambda text: None)
        redactor = Redactor.for_capture(capture)
        if save:
            collect.save(capture, save, mask=redactor)
        return api.diagnose_capture(capture, rules(), unit=unit), redactor


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_a_redacted_bundle_gives_the_same_diagnosis(folder: Path, tmp_path: Path) -> None:
    case = folder / "case.yaml"
    unit = yaml.safe_load(case.read_text(encoding="utf-8")).get("unit") if case.exists() else None
    evidence = shutil.copytree(folder, tmp_path / "evidence", ignore=shutil.ignore_patterns("case.yaml"))
    raw, redactor = diagnosed(evidence, unit=unit, save=tmp_path / "saved")
    again, _ = diagnosed(tmp_path / "saved", unit=unit)
    assert report.as_dict(again) == report.as_dict(api.without_names(raw, redactor))


def test_some_of_them_hold_names_so_that_this_proves_something(tmp_path: Path) -> None:
    raw, redactor = diagnosed(SAMPLES / "silent-crash", unit=None, save=tmp_path / "saved")
    journal = next((tmp_path / "saved").glob("*journal.txt")).read_text(encoding="utf-8")
    assert " host-1 systemd[1]: " in journal
    assert "gpu01" not in journal
    assert raw.cause == "gpu-oom-init"
    assert redactor.name("gpu01") == "host-1"

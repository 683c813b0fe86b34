"""A client's window over a server's lives, in twelve situations on a real host: looked at live, from a bundle, and from plain files that somebody saved."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from forensics import api
from forensics.report import json as report
from forensics.report import text
from tests.cases.joins import TABLE, Truth, faults
from tests.remote import joins
from tests.remote.bed import Host
from tests.remote.joins import BEHIND, BEHIND_S, Staged

situations = pytest.mark.parametrize("name", TABLE)


@pytest.fixture(scope="module")
def staged(host: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Staged]]:
    """All of them, brought about side by side, and each looked at while it is fresh."""
    folder = tmp_path_factory.mktemp("joins")
    try:
        done = joins.stage(host, folder)
        # that which is still loading first
        for one in sorted(done.values(), key=lambda s: list(joins.SITUATIONS).index(s.name)):
            _keep(host, one)
        yield done
    finally:
        joins.stop(host)


def _keep(host: Host, one: Staged) -> None:
    folder = one.bench.parent
    words = (host.name, "--unit", one.unit, "-F", str(host.config), "--bench", str(one.bench))
    behind = one.name == BEHIND
    live = run("diagnose", *words, "--format", "json", behind_s=BEHIND_S if behind else 0, bench=one.bench)
    (folder / "live.json").write_text(live.stdout)
    (folder / "live.code").write_text(str(live.returncode))
    collected = run("collect", *words, "-o", str(folder / "bundle"), behind_s=BEHIND_S if behind else 0, bench=one.bench)
    assert collected.returncode == 0, collected.stderr
    (folder / "journal.txt").write_text(host.inside(f"journalctl --no-pager -u {one.unit}", check=False))
    (folder / "status.txt").write_text(host.inside(f"systemctl status --no-pager {one.unit}", check=False))


def run(*words: str, behind_s: int = 0, bench: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command; ``behind_s``: on a machine whose clock, and with it the time of the file ``bench``, is so many seconds behind."""
    argv, environment = [sys.executable, "-m", "forensics", *words], dict(os.environ)
    if behind_s and bench is not None:
        patch = bench.parent / "clock"
        patch.mkdir(exist_ok=True)
        (patch / "sitecustomize.py").write_text(f"import time\nreal = time.time\ntime.time = lambda: real() - {behind_s}\n")
        environment["PYTHONPATH"] = os.pathsep.join((str(patch), str(Path.cwd())))
        written = max(row[0] for row in map(_request, bench.with_name("truth").read_text().splitlines()))
        os.utime(bench, (written - behind_s, written - behind_s))
    return subprocess.run(argv, capture_output=True, text=True, timeout=90, check=False, env=environment)


def _request(line: str) -> tuple[float, int]:
    at, status = line.split()
    return float(at), int(status)


def truth_of(one: Staged) -> Truth:
    expect = TABLE[one.name]
    return Truth(
        unit=one.unit,
        port=one.port,
        early_s=one.early_s if expect["early"] == "truth" else None,
        wasted_s=one.wasted_s if expect["wasted"] == "truth" else None,
    )


def seen(folder: Path, unit: str | None = None) -> tuple[dict[str, Any], int, str]:
    """JSON, exit code and text of saved evidence: without a process of its own, for the time that it takes."""
    (found,) = api.diagnose([str(folder)], unit=unit)
    return report.as_dict(found), api.exit_code([found]), text.render(found, width=120)


@situations
def test_a_live_host_is_joined_right(staged: Mapping[str, Staged], name: str) -> None:
    folder = staged[name].bench.parent
    found, code = json.loads((folder / "live.json").read_text()), int((folder / "live.code").read_text())
    assert list(faults(name, found, code, None, truth_of(staged[name]))) == []


@situations
def test_a_bundle_is_joined_right(staged: Mapping[str, Staged], name: str) -> None:
    assert list(faults(name, *seen(staged[name].bench.parent / "bundle"), truth_of(staged[name]))) == []


@situations
def test_plain_files_are_joined_right(staged: Mapping[str, Staged], name: str, tmp_path: Path) -> None:
    evidence = tmp_path / "evidence"
    evidence.mkdir()
    for file in ("journal.txt", "status.txt", "bench.txt"):
        shutil.copy(staged[name].bench.parent / file, evidence / file)  # with a time of its own
    assert list(faults(name, *seen(evidence, staged[name].unit), truth_of(staged[name]))) == []


@pytest.mark.parametrize("form", ["live", "bundle"])
def test_where_this_machine_is_behind_its_clients_times_are_moved_by_the_offset(staged: Mapping[str, Staged], form: str) -> None:
    one = staged[BEHIND]
    assert all(status == 0 for _, status in one.requests)  # no answer that the server's log could have
    found = json.loads((one.bench.parent / "live.json").read_text()) if form == "live" else seen(one.bench.parent / "bundle")[0]
    assert (found["cause"], found["status"], found["health"]) == ("startup-race", "supported", "healthy")
    assert found["client"]["early_s"] == pytest.approx(one.early_s, abs=1.5)
    assert found["client"]["clock_shift_s"] == pytest.approx(BEHIND_S, abs=1.5)
    assert "too early" in found["headline"]

"""Situations of a client and a server beside the twelve that were staged: made of their files, as ``joins-beyond.yaml`` says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from forensics import api
from forensics.report import json as report
from tests.cases.joins import FIRM
from tests.cases.judge import HERE

TABLE: Mapping[str, Mapping[str, Any]] = yaml.safe_load((HERE / "joins-beyond.yaml").read_text(encoding="utf-8"))
Files = dict[str, str]
_CLOCK = re.compile(r"\b(2[0-3]):(\d\d):(\d\d)\b")
_REQUEST = re.compile(r"^(\S+ )(2\d:\d\d:\d\d)(,\d+)", re.MULTILINE)


def staged(name: str) -> Files:
    return {file: (HERE / "joins" / name / f"{file}.txt").read_text(encoding="utf-8") for file in ("journal", "status", "bench")}


def later(text: str, seconds: int) -> str:
    """All times of the day of a text, moved."""

    def moved(found: re.Match[str]) -> str:
        at = int(found[1]) * 3600 + int(found[2]) * 60 + int(found[3]) + seconds
        return f"{at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d}"

    return _CLOCK.sub(moved, text)


def two_restarts() -> Files:
    files = staged("during-a-restart")
    head, first, second = re.split(r"(?m)^(?=.*Started join)", files["journal"])
    stop = "".join(line for line in first.splitlines(keepends=True) if re.search(r"Stopping join|Deactivated|Stopped join", line))
    loading = "".join(line for line in second.splitlines(keepends=True) if "22:27:3" not in line and "22:28:" not in line)
    third = later(second, 5).replace("[381]", "[402]").replace("[382]", "[403]")
    files["journal"] = head + first + loading + later(stop, 5) + third
    files["status"] = later(files["status"].replace("381", "402").replace("382", "403"), 5)
    refused = next(line for line in files["bench"].splitlines() if "request 13:" in line)
    more = "".join(f"{later(refused, n)}\n".replace("request 13:", f"request {13 + n}:") for n in range(1, 5))
    files["bench"] = re.sub(r"(?m)^.*were answered\n", more, files["bench"]).replace("13 requests to", "17 requests to")
    return files


def only_durations() -> Files:
    files = staged("after-death")
    files["bench"] = "".join(f"{n * 2:3d} s unhealthy URLError(ConnectionRefusedError(111, 'Connection refused'))\n" for n in range(5))
    return files


def only_times_of_day() -> Files:
    files = staged("after-death")
    files["bench"] = files["bench"].replace("2026-11-30 ", "")
    return files


def server_clock_stepped() -> Files:
    files = staged("between-bind-and-ready")
    lines = files["journal"].splitlines(keepends=True)
    half = next(n for n, line in enumerate(lines) if "Load weight begin" in line) + 4
    files["journal"] = later("".join(lines[:half]), -3600) + "".join(lines[half:])
    return files


def somebody_else_answers() -> Files:
    files = staged("after-death")
    files["bench"] = re.sub(r"ERROR (request \d+): .*", r"INFO \1: HTTP/1.1 200 OK", files["bench"]).replace("0 of 9", "9 of 9")
    return files


def finished_before_the_death() -> Files:
    files = staged("during-a-restart")
    unit = "join-during-a-restart.service"
    life = files["journal"][: files["journal"].index("Nov 30 22:27:24 gpu01 systemd[1]: Stopping")]
    killed = f"Nov 30 22:27:45 gpu01 systemd[1]: {unit}: "
    files["journal"] = life + f"{killed}Main process exited, code=killed, status=9/KILL\n{killed}Failed with result 'signal'.\n"
    files["status"] = (
        f"× {unit} - SGLang server\n     Loaded: loaded (/etc/systemd/system/{unit}; disabled; preset: enabled)\n"
        "     Active: failed (Result: signal) since Mon 2026-11-30 22:27:45 UTC; 58s ago\n   Duration: 33.012s\n"
        "   Main PID: 355 (code=killed, signal=KILL)\n        CPU: 36ms\n"
    )
    files["bench"] = (
        "".join(line for line in files["bench"].splitlines(keepends=True) if "ERROR" not in line).replace("13 ", "2 ").replace("22:27:29", "22:27:24")
    )
    return files


def two_clients() -> Files:
    files = staged("after-death")
    files["bench-second"] = later(files["bench"], 19)
    return files


def one_well_one_at_a_wrong_port() -> Files:
    files = staged("wrong-port")
    port = re.search(r"--port (\d+)", files["status"])
    assert port is not None
    answered = re.sub(r"ERROR (request \d+): .*", r"INFO \1: HTTP/1.1 200 OK", files["bench"])
    files["bench-second"] = re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{port[1]}", answered)
    return files


def status_alone() -> Files:
    files = staged("before-bind")
    del files["journal"]
    return files


def stopped_for_good() -> Files:
    files = staged("during-a-restart")
    unit = "join-during-a-restart.service"
    files["journal"] = files["journal"][: [m.start() for m in re.finditer(r"(?m)^.*Started join", files["journal"])][1]]
    files["status"] = (
        f"○ {unit} - SGLang server\n     Loaded: loaded (/etc/systemd/system/{unit}; disabled; preset: enabled)\n"
        "     Active: inactive (dead) since Mon 2026-11-30 22:27:24 UTC; 58s ago\n   Duration: 12.012s\n"
        "   Main PID: 355 (code=exited, status=0/SUCCESS)\n        CPU: 36ms\n"
    )
    return files


MADE: Mapping[str, tuple[Callable[[], Files], str]] = {
    "two-restarts": (two_restarts, "join-during-a-restart.service"),
    "only-durations": (only_durations, "join-after-death.service"),
    "only-times-of-day": (only_times_of_day, "join-after-death.service"),
    "server-clock-stepped": (server_clock_stepped, "join-between-bind-and-ready.service"),
    "somebody-else-answers": (somebody_else_answers, "join-after-death.service"),
    "finished-before-the-death": (finished_before_the_death, "join-during-a-restart.service"),
    "two-clients": (two_clients, "join-after-death.service"),
    "one-well-one-at-a-wrong-port": (one_well_one_at_a_wrong_port, "join-wrong-port.service"),
    "status-alone": (status_alone, "join-before-bind.service"),
    "stopped-for-good": (stopped_for_good, "join-during-a-restart.service"),
}


@pytest.mark.parametrize("name", TABLE)
def test_a_client_beside_the_twelve_is_laid_over_the_lives_as_it_was(name: str, tmp_path: Path) -> None:
    make, unit = MADE[name]
    for file, text in make().items():
        (tmp_path / f"{file}.txt").write_text(text, encoding="utf-8")
    (diagnosis,) = api.diagnose([str(tmp_path)], unit=unit)
    found, expect = report.as_dict(diagnosis), TABLE[name]
    told = f"{found['cause']}/{found['status']}: {found['headline']}"
    assert found["cause"] in (expect["cause"], *expect.get("accept", ())), told
    assert found["cause"] not in expect["not"], told
    assert found["health"] == expect["health"], told
    assert FIRM.index(found["status"] or "supported") >= FIRM.index(expect["least"]), told
    for part in expect["headline"]:
        assert part in found["headline"], told
    for key in ("early", "wasted"):
        said = (found["client"] or {}).get(f"{key}_s")
        if expect[key] is None:
            assert said is None, f"{key}: {said}; {told}"
        elif expect[key] != "any":
            low, high = expect[key]
            assert said is not None, f"{key}; {told}"
            assert low <= said <= high, f"{key}: {said}; {told}"

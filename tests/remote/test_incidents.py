"""The two incidents that the project started from, on a real systemd host over ssh, and what a benchmark run beside them is told."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.remote.bed import Host

CRASH = "sglang-qwen.service"
RACE = "sglang-k26-ddtree.service"
CLOCK_FIELDS = ("captured_at", "took_s", "bundle")  # or where a saved one was read from
REFUSED = "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9/v1/models', timeout=3)"


def run(*words: str, limit_s: float = 90.0) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "forensics", *words], capture_output=True, text=True, timeout=limit_s, check=False)


def diagnosed(*words: str) -> tuple[int, dict[str, Any]]:
    done = run("diagnose", *words, "--format", "json")
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.fixture(scope="module")
def crashed(host: Host) -> Host:
    """A good life under NEXTN, stopped; then the switch to DDTREE, and the silent crash."""
    common = "--model-path /models/Qwen3-32B --tp 1 --port 30000 --mem-fraction-static 0.88"
    host.add_server(CRASH, play="serve", load_s=1.5, arguments=f"{common} --speculative-algorithm NEXTN", description="SGLang Qwen")
    host.sh(f"systemctl start {CRASH}")
    until = time.monotonic() + 30
    while "fired up" not in host.sh(f"journalctl -u {CRASH} -o cat"):
        assert time.monotonic() < until
        time.sleep(0.3)
    host.sh(f"systemctl stop {CRASH}")
    host.add_server(CRASH, play="crash", load_s=2.5, arguments=f"{common} --speculative-algorithm DDTREE", description="SGLang Qwen")
    host.sh(f"systemctl start {CRASH}")
    host.wait_for(CRASH, ("failed",))
    return host


@pytest.fixture(scope="module")
def loading(host: Host) -> Host:
    """A server that has just been restarted and loads for a while."""
    arguments = "--model-path /models/K2.6 --tp 8 --port 30100 --mem-fraction-static 0.85 --speculative-algorithm DDTREE"
    host.add_server(RACE, play="serve", load_s=25, shards=64, arguments=arguments, description="SGLang K2.6 with DDTree")
    host.sh(f"systemctl start {RACE}")
    until = time.monotonic() + 20
    while "5/64" not in host.sh(f"journalctl -u {RACE} -o cat"):
        assert time.monotonic() < until
        time.sleep(0.3)
    return host


def test_the_silent_crash_is_told_whole_and_by_one_login(crashed: Host) -> None:
    before, things = crashed.logins(), crashed.state_of_things()
    logins_of_the_check = crashed.logins() - before
    code, found = diagnosed(crashed.name, "--unit", CRASH, "-F", str(crashed.config))
    assert crashed.logins() - before - logins_of_the_check == 1
    assert crashed.state_of_things() == things
    assert code == 1
    assert (found["cause"], found["status"], found["direction"]) == ("gpu-oom-init", "established", "raise")
    assert (found["phase"], found["health"], found["server"]) == ("kv-pool", "failed", "sglang")
    assert found["end"] == {"kind": "signal", "by": "itself", "signal": "SIGKILL", "status": None, "result": "signal"}
    assert "signal-death" in found["also"]
    assert 2.0 < found["died_after_s"] < 8.0
    assert f"died after {int(found['died_after_s'] * 10) / 10:g}s in kv-pool" in found["headline"]
    (advice,) = [a for a in found["advice"] if a["flag"] == "--mem-fraction-static"]
    assert (advice["direction"], advice["from"], advice["to"]) == ("raise", 0.88, 0.91)
    assert {"what": "--speculative-algorithm", "before": "NEXTN", "after": "DDTREE", "since": "the last good life"} in found["changed"]
    assert found["evidence"][0]["text"].startswith("RuntimeError: Not enough memory.")
    against = {h["cause"]: h["against"] for h in found["hypotheses"] if h["status"] == "ruled-out"}
    assert any("killed its own process tree" in why for why in against["host-oom"])


def test_a_saved_capture_gives_the_same_but_for_the_clock_fields(crashed: Host, tmp_path: Path) -> None:
    saved = tmp_path / "evidence"
    code, live = diagnosed(crashed.name, "--unit", CRASH, "-F", str(crashed.config), "--save", str(saved), "--redact", "secrets")
    again_code, again = diagnosed(str(saved))
    for field in CLOCK_FIELDS:
        live.pop(field), again.pop(field)
    assert again == live
    assert again_code == code


def test_a_capture_that_is_saved_for_others_gives_the_same_but_for_its_names(crashed: Host, tmp_path: Path) -> None:
    saved = tmp_path / "evidence"
    words = (crashed.name, "--unit", CRASH, "-F", str(crashed.config), "--save", str(saved))
    code, live = diagnosed(*words, "--redact", "all")
    again_code, again = diagnosed(str(saved))
    for field in CLOCK_FIELDS:
        live.pop(field), again.pop(field)
    assert again == live
    assert again_code == code
    assert live["host"] == "host-1"
    assert json.loads((saved / "manifest.json").read_text())["redacted"] == "all"


def test_the_text_of_the_crash_fits_80_columns_and_holds_what_matters(crashed: Host) -> None:
    done = run("diagnose", crashed.name, "--unit", CRASH, "-F", str(crashed.config), "--width", "80")
    assert done.returncode == 1
    assert max(map(len, done.stdout.splitlines())) <= 80
    for part in ("died after", "kv-pool", "gpu-oom-init", "raise --mem-fraction-static to at least 0.91", "NEXTN → DDTREE"):
        assert part in " ".join(done.stdout.split()), part


def test_without_a_unit_the_failed_server_is_found(crashed: Host) -> None:
    code, found = diagnosed(crashed.name, "-F", str(crashed.config))
    assert (code, found["unit"], found["cause"]) == (1, CRASH, "gpu-oom-init")


def test_active_but_not_ready_is_a_race_and_the_mistyped_name_is_said(loading: Host, tmp_path: Path) -> None:
    bench = tmp_path / "bench.txt"
    bench.write_text("".join(f"coding/{k:02d}  ERROR  URLError: <urlopen error [Errno 111] Connection refused>\n" for k in range(12)))
    before = loading.logins()
    code, found = diagnosed(loading.name, "--unit", "sglash-k26-ddtree.service", "--bench", str(bench), "-F", str(loading.config))
    assert loading.logins() - before == 1
    assert code == 4
    assert (found["cause"], found["health"], found["phase"], found["unit"]) == ("startup-race", "starting", "weights", RACE)
    assert found["progress"]["of"] == 64
    assert found["active_for_s"] > 1
    (typo,) = [w for w in found["warnings"] if w["kind"] == "mistyped-unit"]
    assert (typo["asked"], typo["meant"]) == ("sglash-k26-ddtree.service", RACE)
    assert found["client"]["refused"] == 12
    assert found["died_at"] is None
    assert "still starting" in found["headline"]


def test_run_tells_the_race_while_it_lasts_and_keeps_the_exit_code(loading: Host) -> None:
    words = ("run", "--host", loading.name, "--unit", RACE, "-F", str(loading.config), "--", sys.executable, "-c", f"print('begin'); {REFUSED}")
    done = run(*words)
    assert done.returncode == 1
    assert done.stdout == "begin\n"
    assert "Connection refused" in done.stderr
    text = " ".join(done.stderr.split())
    assert "is still starting (up for" in text
    assert "in phase weights" in text
    assert "of 64 shards" in text


def test_run_says_how_many_seconds_too_early_once_it_is_ready(loading: Host, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    until_ready = (
        f"import subprocess, time, sys\n"
        f"try:\n    {REFUSED.replace('; ', chr(10) + '    ')}\nexcept OSError as error:\n    print(error, flush=True)\n"
        f"while b'fired up' not in subprocess.run({['ssh', '-F', str(loading.config), loading.name, f'journalctl -u {RACE} -o cat']!r}, capture_output=True).stdout:\n"
        f"    time.sleep(0.5)\nsys.exit(7)\n"
    )
    done = run(
        "run", "--host", loading.name, "--unit", RACE, "-F", str(loading.config), "--report", str(report), "--", sys.executable, "-c", until_ready
    )
    assert done.returncode == 7
    found = json.loads(report.read_text())
    assert found["cause"] == "startup-race"
    assert found["health"] == "healthy"
    assert found["client"]["early_s"] > 0.5
    assert "too early" in found["headline"]


def test_run_against_a_dead_server_tells_the_death(crashed: Host) -> None:
    done = run("run", "--host", crashed.name, "--unit", CRASH, "-F", str(crashed.config), "--", sys.executable, "-c", REFUSED)
    assert done.returncode == 1
    assert "in kv-pool: nothing of the static fraction is left" in " ".join(done.stderr.split())


def test_run_of_a_benchmark_that_succeeds_does_nothing_else(crashed: Host) -> None:
    before = crashed.logins()
    done = run("run", "--host", crashed.name, "-F", str(crashed.config), "--", "sh", "-c", "printf 'a\\0b'; echo e >&2")
    assert (done.returncode, done.stdout, done.stderr) == (0, "a\0b", "e\n")
    assert crashed.logins() == before


def test_wait_returns_when_it_is_ready(loading: Host) -> None:
    host = loading
    host.sh(f"systemctl restart {RACE}")
    before = host.logins()
    done = run("wait", host.name, "--unit", RACE, "-F", str(host.config), "--limit", "80", limit_s=100)
    assert done.returncode == 0, done.stdout
    assert "ready since" in done.stdout
    assert host.logins() - before == 1


def test_wait_says_why_a_server_will_not_become_ready(crashed: Host) -> None:
    done = run("wait", crashed.name, "--unit", CRASH, "-F", str(crashed.config), "--limit", "20")
    assert done.returncode == 1
    assert "gpu-oom-init" in done.stdout


def test_wait_does_not_wait_for_a_unit_that_does_not_exist(crashed: Host) -> None:
    done = run("wait", crashed.name, "--unit", "nothing-like-it", "-F", str(crashed.config), "--limit", "60", limit_s=50)
    assert done.returncode == 3
    assert "there is no unit nothing-like-it.service" in done.stderr


def test_wait_gives_up_while_it_still_starts(loading: Host) -> None:
    loading.sh(f"systemctl restart {RACE}")
    done = run("wait", loading.name, "--unit", RACE, "-F", str(loading.config), "--limit", "2")
    assert done.returncode == 4
    assert "still starting" in done.stdout

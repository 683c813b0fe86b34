"""The commands on containers, from the target to the exit code, with client programs that play real answers."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from forensics.cli.main import main
from tests.unit.collect.fakeclient import DATA, Client, cluster, engine


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return folder


def diagnosed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, object]]:
    code = main(["diagnose", *words, "--format", "json"])
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return code, found


@pytest.mark.parametrize(
    ("name", "cause", "health", "code"),
    [("docker-loop", "bad-environment", "failed", 1), ("docker-oom", "host-oom", "failed", 1), ("docker-serving", "healthy", "healthy", 0), ("docker-stopped", "operator-stop", "stopped", 0),
     ("podman-loop", "bad-environment", "failed", 1)],
)  # fmt: skip
def test_a_container_is_diagnosed_in_one_round(
    name: str, cause: str, health: str, code: int, programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind, _, container = name.partition("-")
    client = engine(programs, kind, name)
    exit_code, found = diagnosed(capsys, f"{kind}:{container}")
    assert (found["cause"], found["health"], found["unit"], found["target"], exit_code) == (cause, health, container, f"{kind}:{container}", code)
    assert len(client.asked) == 3


def test_a_saved_container_is_diagnosed_as_the_live_one_was(programs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster(programs, "k8s-panic")
    word = "k8s:serving/api-7c9d5b6f4d-x2x7q"
    live_code, live = diagnosed(capsys, word, "--save", str(tmp_path / "kept"))
    (programs / "kubectl").unlink()
    saved_code, saved = diagnosed(capsys, str(tmp_path / "kept"))
    assert (live_code, live["cause"], live["target"]) == (1, "signal-death", word)
    assert (live["bundle"], saved["bundle"]) == (None, str(tmp_path / "kept"))
    clock = ("captured_at", "took_s", "bundle")
    assert {k: v for k, v in saved.items() if k not in clock} == {k: v for k, v in live.items() if k not in clock}
    assert saved_code == live_code
    kept = "".join(p.read_text() for p in (tmp_path / "kept").iterdir())
    assert "hf_abc" not in kept


def test_several_containers_each_get_their_answer_and_one_that_is_missing_ends_none_of_them(
    programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client = Client(programs, "docker")
    client.on("'inspect '*nosuch", err="Error: No such object: nosuch\n", code=1)
    client.on("ps*", out="oom\n")
    for pattern, name in (("inspect*", "inspect.json"), ("logs*", "log.txt"), ("events*", "events.txt")):
        text = (DATA / "docker-oom" / name).read_text()
        client.on(pattern, out=json.dumps(json.loads(text)[0]) if name == "inspect.json" else text)
    code = main(["diagnose", "docker:oom", "docker:nosuch", "--format", "json"])
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (first["cause"], second["cause"], code) == ("host-oom", "evidence-missing", 3)
    assert "no such container" in second["headline"]


def test_wait_returns_when_the_container_is_healthy(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    client = Client(programs, "docker")
    starting, serving = (json.dumps(json.loads((DATA / f"docker-{name}" / "inspect.json").read_text())[0]) for name in ("health-starting", "serving"))
    (programs / "starting.json").write_text(starting)
    (programs / "serving.json").write_text(serving)
    client.on(
        "inspect*", then=f"if [ -e {programs}/seen ]; then cat {programs}/serving.json; else : >{programs}/seen; cat {programs}/starting.json; fi"
    )
    client.on("logs*", out=DATA / "docker-serving" / "log.txt")
    client.on("events*")
    assert main(["wait", "docker:serving", "--limit", "60"]) == 0
    assert "nothing wrong was found" in capsys.readouterr().out
    assert sum(line.startswith("inspect") for line in client.asked) == 2


def test_wait_says_why_a_container_will_not_become_ready(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine(programs, "docker", "docker-loop")
    assert main(["wait", "docker:loop", "--limit", "60"]) == 1
    assert "psycopg2" in capsys.readouterr().out


def test_no_client_is_an_error_with_a_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["diagnose", "docker:web"]) == 3
    said = capsys.readouterr().err
    assert "there is no docker on this machine" in said
    assert "docker inspect web > inspect.json" in said

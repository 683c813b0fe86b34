"""Who answers at the port of a server that is not up yet, and what such an answer is worth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from forensics.model import Cause, Diagnosis, Probe
from forensics.reason.known import known_facts
from tests.unit.reason.telling import diagnosed, folder, story

UNIT = "sglang-a.service"
JOURNAL = f"""\
2026-05-09T10:00:00+0000 gpu01 systemd[1]: Started {UNIT} - SGLang.
2026-05-09T10:00:10+0000 gpu01 python[7]: [2026-05-09 10:00:10] server_args=ServerArgs(model_path='/models/Qwen3-32B', served_model_name='qwen', mem_fraction_static=0.88, tp_size=1, port=30000)
2026-05-09T10:00:20+0000 gpu01 python[70]: [2026-05-09 10:00:20] Load weight begin. avail mem=94.30 GB
"""
BOUND = """\
2026-05-09T10:00:40+0000 gpu01 python[7]: [2026-05-09 10:00:40] INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)
"""
READY = "2026-05-09T10:01:10+0000 gpu01 python[7]: [2026-05-09 10:01:10] The server is fired up and ready to roll!\n"
STATUS = f"● {UNIT} - SGLang\n     Loaded: loaded (/etc/systemd/system/{UNIT}; enabled)\n     Active: active (running) since Sat 2026-05-09 10:00:00 UTC; 1min 30s ago\n   Main PID: 7 (python)\n"
SOCKETS = 'State  Recv-Q Send-Q Local Address:Port Peer Address:Port Process\nLISTEN 0      2048   0.0.0.0:30000      0.0.0.0:*         users:(("{name}",pid={pid},fd=21))\n'
MODELS = '$ curl -s http://gpu01:30000/v1/models\n{{"object":"list","data":[{{"id":"{id}","object":"model","owned_by":"x"}}]}}\n'
REFUSED = "2026-05-09 10:00:30 task/01  ERROR  URLError: <urlopen error [Errno 111] Connection refused>\n"


def look(path: Path, **files: str) -> Diagnosis:
    return diagnosed(folder(path, **{"journal": JOURNAL, "status": STATUS, "is_active": "active\n", **files}), unit=UNIT)


def false_ready(found: Diagnosis) -> list[str]:
    return [w.text for w in found.warnings if w.kind == "false-ready"]


def test_its_own_process_on_the_port_is_nobody_else(tmp_path: Path) -> None:
    for pid in (7, 70):
        assert false_ready(look(tmp_path / str(pid), sockets=SOCKETS.format(name="python", pid=pid), bench=REFUSED)) == []


def test_nobody_holds_the_port_of_a_server_that_has_bound_it(tmp_path: Path) -> None:
    """Who listens there may be a child that has never written a line."""
    assert false_ready(look(tmp_path, journal=JOURNAL + BOUND, sockets=SOCKETS.format(name="python", pid=99), bench=REFUSED)) == []


def test_another_process_on_the_port_of_a_server_that_loads_is_named_and_waiting_is_no_advice(tmp_path: Path) -> None:
    found = look(tmp_path, sockets=SOCKETS.format(name="other", pid=99), bench=REFUSED)
    assert found.cause is Cause.STARTUP_RACE
    assert "port 30000 is held by other (pid 99)" in found.headline
    assert len(false_ready(found)) == 1
    assert "port 30000 is held by other (pid 99)" in found.advice[0].text
    assert not any("ddforensics wait" in (a.command or "") for a in found.advice)
    assert any("pid=99" in e.text for e in found.evidence)


def test_another_port_is_no_matter(tmp_path: Path) -> None:
    assert false_ready(look(tmp_path, sockets=SOCKETS.format(name="other", pid=99).replace("30000", "30001"), bench=REFUSED)) == []


def test_what_another_server_answers_does_not_make_this_one_ready(tmp_path: Path) -> None:
    """A probe of /health gets 200 from whoever has the port."""
    for name, sockets, code in (("own", SOCKETS.format(name="python", pid=7), 200), ("other", SOCKETS.format(name="other", pid=99), None)):
        told = story(folder(tmp_path / name, journal=JOURNAL, status=STATUS, is_active="active\n", sockets=sockets), unit=UNIT)
        probed = replace(told, facts=replace(told.facts, probes=(Probe(port=30000, path="/health", code=200),)))
        assert known_facts(probed).value("probe.ready_path_code") == code


def test_the_list_of_models_tells_its_own_server_by_any_of_its_names(tmp_path: Path) -> None:
    for n, name in enumerate(("qwen", "/models/Qwen3-32B", "Qwen3-32B")):
        assert false_ready(look(tmp_path / str(n), terminal=MODELS.format(id=name), bench=REFUSED)) == []


def test_a_list_that_names_another_model_is_another_servers(tmp_path: Path) -> None:
    (text,) = false_ready(look(tmp_path, terminal=MODELS.format(id="meta-llama/Llama-3.1-8B"), bench=REFUSED))
    assert "meta-llama/Llama-3.1-8B" in text


def test_an_answer_of_the_old_process_and_one_of_the_warm_up_are_told_apart(tmp_path: Path) -> None:
    (old,) = false_ready(look(tmp_path / "old", bench="2026-05-09 09:59:58 ready check http://gpu01:30000/v1/models -> 200 OK\n" + REFUSED))
    assert "old process" in old
    late = "2026-05-09 10:00:50 ready check http://gpu01:30000/v1/models -> 200 OK\n2026-05-09 10:00:55 task/01  ERROR  TimeoutError: timed out\n"
    (warm,) = false_ready(look(tmp_path / "warm", journal=JOURNAL + BOUND, bench=late))
    assert "while it warmed up" in warm
    assert "and is not ready" in warm


def test_a_client_that_timed_out_in_the_warm_up_came_too_early_by_what_is_known_once_it_is_ready(tmp_path: Path) -> None:
    late = "2026-05-09 10:00:50 ready check http://gpu01:30000/v1/models -> 200 OK\n2026-05-09 10:00:55 task/01  ERROR  TimeoutError: timed out\n"
    before = look(tmp_path / "a", journal=JOURNAL + BOUND, bench=late)
    assert before.client is not None
    assert before.client.early_s is None
    found = look(tmp_path / "b", journal=JOURNAL + BOUND + READY, bench=late)
    assert found.client is not None
    assert (found.cause, found.client.early_s) == (Cause.STARTUP_RACE, 15.0)
    assert "15s too early" in found.headline
    assert "ready only at 10:01:10" in false_ready(found)[0]


def test_a_client_that_was_refused_before_the_restart_did_not_come_too_early_for_this_life(tmp_path: Path) -> None:
    found = look(tmp_path, journal=JOURNAL + BOUND + READY, bench=REFUSED.replace("10:00:30", "09:50:00"))
    assert found.client is not None
    assert found.client.early_s is None


def test_what_listens_in_the_name_of_a_container_is_no_other_server(tmp_path: Path) -> None:
    """A unit that runs ``docker run -p`` has its port answered by the engine's proxy while the server inside loads."""
    assert false_ready(look(tmp_path, sockets=SOCKETS.format(name="docker-proxy", pid=99), bench=REFUSED)) == []


def test_another_address_of_the_host_is_another_door(tmp_path: Path) -> None:
    own = JOURNAL.replace("port=30000", "port=30000, host='127.0.0.1'")
    other = SOCKETS.format(name="proxy", pid=99).replace("0.0.0.0:30000", "10.0.0.7:30000")
    assert false_ready(look(tmp_path / "a", journal=own, sockets=other, bench=REFUSED)) == []
    assert len(false_ready(look(tmp_path / "b", journal=own, sockets=SOCKETS.format(name="proxy", pid=99), bench=REFUSED))) == 1

"""The sentence on top, and what it has to agree with."""

from __future__ import annotations

import shutil
from pathlib import Path

from forensics.api import exit_code
from tests.cases.judge import HERE, answer, rules
from tests.unit.reason.telling import diagnosed, folder

SHARDS = "Loading safetensors checkpoint shards: 100% Completed | 2/2 [00:01<00:00,  1.10it/s]\n"
ENGINE = "(EngineCore_DP0 pid=88) ERROR 10-11 10:42:14 [core.py:708] "
NO_ROOM = (
    "(APIServer pid=1) INFO 10-11 10:41:00 [api_server.py:1839] vLLM API server version 0.11.0\n"
    + SHARDS
    + ENGINE
    + "EngineCore failed to start.\n"
    + ENGINE
    + "Traceback (most recent call last):\n"
    + ENGINE
    + "ValueError: To serve at least one request with the models's max seq len (131072), (4.54 GiB KV cache is needed, which is larger than the available KV "
    "cache memory (3.71 GiB). Based on the available memory, the estimated maximum model length is 49408.\n"
)


def test_the_headline_names_the_phase_that_the_verdict_names(tmp_path: Path) -> None:
    evidence = tmp_path / "evidence"
    shutil.copytree(HERE / "made/hicache-too-large", evidence, ignore=shutil.ignore_patterns("case.yaml"))
    found, _ = answer(evidence, unit=None)
    assert found["phase"] == "kv-pool"
    assert " in kv-pool: " in found["headline"]


def test_the_head_of_a_traceback_takes_no_line_where_its_last_line_is_cited(tmp_path: Path) -> None:
    log = "[2026-05-09 10:15:49 TP0] Load weight end. type=M, avail mem=4.30 GB\n[2026-05-09 10:15:50 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
    told = diagnosed(folder(tmp_path / "a", log=log + "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"))
    assert not [e for e in told.evidence if "Traceback" in e.text]
    silent = diagnosed(folder(tmp_path / "b", log=log))
    assert [e for e in silent.evidence if "Traceback" in e.text]


def test_a_share_of_the_total_is_not_called_one_of_what_is_free(tmp_path: Path) -> None:
    figures = ENGINE + "Free memory on device (23.00/24.00 GiB) on startup. Desired GPU memory utilization is (0.9, 21.60 GiB).\n"
    log = NO_ROOM.replace(SHARDS, figures + SHARDS)
    texts = [a.text for a in diagnosed(folder(tmp_path, log=log)).advice]
    # 0.96 would be the next with some room, and only 23 of 24 GiB are free: 0.958
    assert texts[0] == "raise --gpu-memory-utilization to at least 0.95: weights and one request of full length need 0.935 of the total memory"


def test_a_server_that_answers_for_long_had_its_port(tmp_path: Path) -> None:
    ready = (
        "[2026-05-09 10:15:30] server_args=ServerArgs(model_path='/m', port=30000)\n[2026-05-09 10:15:31] The server is fired up and ready to roll!\n"
    )
    taken = "[2026-05-09 10:15:40] [Errno 98] error while attempting to bind on address ('0.0.0.0', 9400): address already in use\n"
    batch = "[2026-05-09 10:16:{:02d} TP0] Decode batch. #running-req: 4, #token: 9071, token usage: 0.01, cuda graph: True, gen throughput (token/s): 88.10, #queue-req: 0\n"
    served = "".join(batch.format(n) for n in range(10))
    assert diagnosed(folder(tmp_path / "a", log=ready + taken)).cause == "port-in-use"
    assert diagnosed(folder(tmp_path / "b", log=ready + taken + served)).cause != "port-in-use"


WAITING = """\
2026-05-09T10:00:00+0000 gpu01 systemd[1]: Started sglang-a.service - SGLang.
2026-05-09T10:00:01+0000 gpu01 python[7]: [2026-05-09 10:00:01] server_args=ServerArgs(model_path='/m', tp_size=4)
"""
WAITING += "".join(
    f"2026-05-09T10:00:10+0000 gpu01 python[{70 + r}]: [2026-05-09 10:00:10 TP{r}] Load weight begin. avail mem=78.58 GB\n" for r in range(4)
)
WAITING += "".join(f"2026-05-09T10:00:30+0000 gpu01 python[{70 + r}]: [2026-05-09 10:00:30 TP{r}] Load weight end. elapsed=20.0 s, type=X, avail mem=63.44 GB, mem usage=15.14 GB.\n" for r in (0, 1, 3))  # fmt: skip


def test_the_rank_that_the_others_wait_for_is_in_the_headline(tmp_path: Path) -> None:
    status = "● sglang-a.service - SGLang\n     Loaded: loaded (/etc/systemd/system/sglang-a.service; enabled)\n     Active: active (running) since Sat 2026-05-09 10:00:00 UTC; 1min 30s ago\n   Main PID: 7 (python)\n"
    found = diagnosed(folder(tmp_path, journal=WAITING, status=status, is_active="active\n"), unit="sglang-a.service")
    assert "TP2 is behind: still in weights, silent since 10:00:10, while the others are in kv-pool" in found.headline
    assert found.behind is not None
    assert any(e.rank == "TP2" for e in found.evidence)


def test_the_rank_that_was_waited_for_is_named_where_the_end_says_no_more(tmp_path: Path) -> None:
    end = "2026-05-09T10:08:40+0000 gpu01 systemd[1]: sglang-a.service: Main process exited, code=exited, status=1/FAILURE\n2026-05-09T10:08:40+0000 gpu01 systemd[1]: sglang-a.service: Failed with result 'exit-code'.\n"
    found = diagnosed(folder(tmp_path, journal=WAITING + end), unit="sglang-a.service")
    assert "TP2 was behind, still in weights, while the others were in kv-pool" in found.headline


TORCHRUN = """\
Traceback (most recent call last):
RuntimeError: scheduler hit an exception
E1129 20:26:16.793000 1502 torch/distributed/elastic/multiprocessing/api.py:986] failed (exitcode: 1) local_rank: 1 (pid: 1566) of binary: /opt/venv/bin/python3
"""
LOG_THAT_STOPS = """\
[2026-11-29 20:43:30] INFO:     Uvicorn running on http://127.0.0.1:30581 (Press CTRL+C to quit)
[2026-11-29 20:43:32] The server is fired up and ready to roll!
"""
REFUSED_LATER = "2026-11-29 20:43:50 GET http://127.0.0.1:30581/v1/models -> URLError: <urlopen error [Errno 111] Connection refused>\n"


def test_the_file_that_the_headline_names_is_the_one_that_the_verdict_rests_on(tmp_path: Path) -> None:
    evidence = folder(tmp_path, server=TORCHRUN)
    (evidence / "meta.json").write_text('{\n "name": "torchrun",\n "seconds": 12\n}\n', encoding="utf-8")
    found = diagnosed(evidence)
    assert found.cause == "exit-code-death"
    assert found.headline.startswith("server.txt: ")


def test_a_log_that_stops_before_its_client_was_refused_is_not_called_healthy(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, log=LOG_THAT_STOPS, bench=REFUSED_LATER))
    assert found.cause == "unknown"
    assert found.health == "unknown"
    assert "was ready at 20:43:32 UTC, and a client was refused" in found.headline


def test_a_failure_that_no_rule_knows_says_where_to_read_on(tmp_path: Path) -> None:
    log = (
        LOG_THAT_STOPS
        + "[2026-11-29 20:44:52 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
        + "FrobnicationError: the frob is not nicated\n"
        + "[2026-11-29 20:44:52] SIGQUIT received. signum=None, frame=None. It usually means one child failed.\n"
    )
    found = diagnosed(folder(tmp_path, log=log))
    assert found.cause == "unknown"
    assert "read what stands before log.txt:4" in found.advice[0].text


STOPPED = """2026-05-09T10:00:00+0000 node1 systemd[1]: Started llm.service - LLM.
2026-05-09T10:00:05+0000 node1 llm[100]: INFO 05-09 10:00:05 [api_server.py:1] vLLM API server version 0.9.0
2026-05-09T10:01:00+0000 node1 llm[100]: INFO: Application startup complete.
2026-05-09T11:00:00+0000 node1 systemd[1]: Stopping llm.service - LLM...
2026-05-09T11:00:03+0000 node1 systemd[1]: llm.service: Deactivated successfully.
2026-05-09T11:00:03+0000 node1 systemd[1]: Stopped llm.service - LLM.
"""
REFUSED = "ERROR request failed: URLError: <urlopen error [Errno 111] Connection refused>\n"


def test_a_client_that_met_a_stopped_unit_is_told_of_beside_the_stop_and_fails_the_command(tmp_path: Path) -> None:
    dated = diagnosed(folder(tmp_path / "a", journal=STOPPED, bench=f"2026-05-09 11:05:00 {REFUSED}2026-05-09 11:05:01 {REFUSED}"))
    assert dated.headline == "llm.service was stopped after 1h00m, not a crash; the client asked it when it was down, and was refused"
    undated = diagnosed(folder(tmp_path / "b", journal=STOPPED, bench=REFUSED))
    assert undated.headline.endswith("not a crash; of the client's requests 1 of 1 failed (refused), whether before or after the stop is not known")
    alone = diagnosed(folder(tmp_path / "c", journal=STOPPED))
    assert alone.headline.endswith("not a crash")
    assert [exit_code([d]) for d in (dated, undated, alone)] == [1, 1, 0]


HTTP_LIBRARY = "INFO:     Started server process [1]\nINFO:     Waiting for application startup.\nINFO:     Application startup complete.\n"


def test_lines_of_an_http_library_do_not_say_which_server_it_is(tmp_path: Path) -> None:
    taken = "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 44319): address already in use\n"
    anybodys = diagnosed(folder(tmp_path / "anybodys", log=HTTP_LIBRARY + taken))
    assert (anybodys.cause, anybodys.phase, anybodys.server) == ("port-in-use", "bind", None)
    assert not [p.title for p in rules().profiles if (p.title or p.name) in anybodys.headline]
    one_line = "INFO 05-09 10:00:05 [api_server.py:1839] vLLM API server version 0.11.0\n"
    assert (
        diagnosed(folder(tmp_path / "said", log=one_line + HTTP_LIBRARY + taken)).server == "vllm"
    )  # one line of its own outweighs any number of those

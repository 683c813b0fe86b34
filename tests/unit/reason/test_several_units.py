"""Of a journal of several units each process is its own unit's: by when systemd started and ended them. Which one a report is about, and that there are others, is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.reason.telling import diagnosed, folder

DAY = "2026-11-30T"


def journal(*lines: tuple[str, str, str]) -> str:
    return "".join(f"{DAY}{at}+0000 gpu01 {who}: {text}\n" for at, who, text in lines)


def server(unit: str, pid: int, minute: int = 0, *, dies: bool = True) -> list[tuple[str, str, str]]:
    """A start of the server that ends in its KV cache, or goes on to be ready and to serve."""
    at = [f"10:{minute:02d}:{s:02d}" for s in range(60)]
    who = f"python[{pid}]"
    loads = [
        (at[0], "systemd[1]", f"Started {unit} - SGLang Qwen."),
        (at[5], who, f"[2026-11-30 {at[5]}] server_args=ServerArgs(model_path='/models/Qwen3-32B', mem_fraction_static=0.8, port=30000)"),
        (at[9], who, f"[2026-11-30 {at[9]}] Load weight begin. avail mem=78.50 GB"),
        (at[20], who, f"[2026-11-30 {at[20]}] Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, avail mem=13.00 GB, mem usage=65.50 GB."),
    ]
    if not dies:
        bind = "INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)"
        return [*loads, (at[30], who, bind), (at[40], who, f"[2026-11-30 {at[40]}] The server is fired up and ready to roll!")]
    return [
        *loads,
        (at[22], who, "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."),
        (at[23], who, f"[2026-11-30 {at[23]}] Received sigquit from a child process. It usually means the child failed."),
        (at[24], "systemd[1]", f"{unit}: Main process exited, code=killed, status=9/KILL"),
        (at[24], "systemd[1]", f"{unit}: Failed with result 'signal'."),
    ]


NGINX = [
    ("09:58:00", "systemd[1]", "Starting nginx.service - A high performance web server..."),
    ("09:58:00", "nginx[911]", 'nginx: [emerg] unknown directive "proxypass" in /etc/nginx/sites-enabled/llm:14'),
    ("09:58:00", "systemd[1]", "nginx.service: Control process exited, code=exited, status=1/FAILURE"),
    ("09:58:00", "systemd[1]", "nginx.service: Failed with result 'exit-code'."),
]
BACKUP = [
    ("10:03:00", "systemd[1]", "Starting backup.service - Nightly backup..."),
    ("10:03:01", "restic[1500]", "Fatal: unable to open repository at /srv/backup: no such host"),
    ("10:03:01", "systemd[1]", "backup.service: Main process exited, code=exited, status=1/FAILURE"),
    ("10:03:01", "systemd[1]", "backup.service: Failed with result 'exit-code'."),
]
LISTED = (
    "  UNIT                LOAD   ACTIVE SUB    DESCRIPTION\n● backup.service      loaded failed failed Nightly backup\n"
    "● nginx.service       loaded failed failed A high performance web server\n● sglang-qwen.service loaded failed failed SGLang Qwen\n\n3 loaded units listed.\n"
)
REFUSED = "".join(f"2026-11-30 10:00:{10 + n} ERROR request {n}: URLError: <urlopen error [Errno 111] Connection refused>\n" for n in range(3))


def test_what_the_server_said_is_not_laid_upon_another_unit_that_failed_before_it(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=journal(*NGINX, *server("sglang-qwen.service", 4711))), unit="nginx.service")
    assert (str(found.cause), found.server) == ("bad-arguments", None)


def test_nor_the_start_of_the_server_upon_a_backup_that_failed_since(tmp_path: Path) -> None:
    text = journal(*server("sglang-qwen.service", 4711)[:4], *BACKUP)
    found = diagnosed(folder(tmp_path, journal=text), unit="backup.service")
    assert (str(found.cause), found.server, found.died_after_s) == ("exit-code-death", None, 1.0)


@pytest.mark.parametrize("listed", [None, LISTED], ids=["of their journal alone", "with the list of what failed"])
def test_of_several_that_failed_the_server_is_taken_and_the_others_are_named(listed: str | None, tmp_path: Path) -> None:
    files = {"journal": journal(*NGINX, *server("sglang-qwen.service", 4711), *BACKUP)} | ({"failed": listed} if listed else {})
    found = diagnosed(folder(tmp_path, **files))
    assert (found.unit, str(found.cause), found.died_after_s) == ("sglang-qwen.service", "gpu-oom-init", 24.0)
    (told,) = [w.text for w in found.warnings if w.kind == "also-failed"]
    assert told.startswith("no unit was named: this is about sglang-qwen.service, as it runs a known server; failed, and not looked at: ")
    assert all(name in told for name in ("nginx.service", "backup.service"))


def test_a_client_that_was_refused_is_about_the_server_that_still_starts_and_not_about_what_failed_beside_it(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=journal(*server("sglang-qwen.service", 4711)[:4], *BACKUP), bench=REFUSED))
    assert (found.unit, str(found.cause)) == ("sglang-qwen.service", "startup-race")


def test_of_two_servers_of_one_template_each_has_its_own_start(tmp_path: Path) -> None:
    both = sorted([*server("sglang@0.service", 4711), *server("sglang@1.service", 4900, dies=False)], key=lambda line: line[0])
    found = diagnosed(folder(tmp_path, journal=journal(*both)))
    assert (found.unit, str(found.cause), str(found.phase)) == ("sglang@0.service", "gpu-oom-init", "kv-pool")


def test_whose_a_process_is_that_two_units_can_have_run_is_left_open(tmp_path: Path) -> None:
    two = [("09:00:00", "systemd[1]", f"Started {name}.service - {name}.") for name in ("one", "two")]
    words = [("09:00:05", "worker[77]", "ModuleNotFoundError: No module named 'yaml'")]
    end = [
        ("09:01:00", "systemd[1]", "two.service: Main process exited, code=exited, status=1/FAILURE"),
        ("09:01:00", "systemd[1]", "two.service: Failed with result 'exit-code'."),
    ]
    found = diagnosed(folder(tmp_path, journal=journal(*two, *words, *end)))
    assert (found.unit, str(found.cause)) == ("two.service", "bad-environment")


COMPOSED = """\
vllm-1   | (APIServer pid=10) INFO 11-30 10:00:02 [api_utils.py:286] non-default args: {'model': '/models/q', 'max_model_len': 2048}
vllm-1   | (EngineCore pid=20) INFO 11-30 10:00:21 [core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: model='/models/q'
vllm-1   | (Worker pid=30) INFO 11-30 10:00:38 [cpu_model_runner.py:68] Starting to load model /models/q...
"""
ENDED = """\
vllm-1   | (EngineCore pid=20) ERROR 11-30 10:00:41 [core.py:1510] ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.
vllm-1   | RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
vllm-1 exited with code 1
"""
READY = "redis-1  | 1:M 30 Nov 2026 10:00:50.000 * Ready to accept connections tcp\n"


def test_another_container_of_the_same_log_that_is_ready_does_not_make_the_server_ready(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, compose=COMPOSED + READY + ENDED))
    assert (str(found.cause), found.ready_at) == ("gpu-oom-init", None)
    assert "ready" not in [str(span.phase) for span in found.phases]


def test_what_another_container_met_as_its_client_is_heard(tmp_path: Path) -> None:
    webui = "webui-1  | 2026-11-30 10:00:39.120 | ERROR | Connection error: Cannot connect to host vllm:8000 ssl:default [Connect call failed ('172.20.0.2', 8000)]\n"
    found = diagnosed(folder(tmp_path, compose=COMPOSED + webui))
    assert (str(found.cause), str(found.phase)) == ("startup-race", "weights")


def test_the_end_of_another_container_is_not_the_servers(tmp_path: Path) -> None:
    up = "vllm-1   | INFO:     Application startup complete.\n"
    ended = "webui-1  | sqlite3.OperationalError: unable to open database file\nwebui-1 exited with code 1\n"
    found = diagnosed(folder(tmp_path, compose=COMPOSED + up + ended))
    assert str(found.cause) == "healthy"
    gone = diagnosed(folder(tmp_path / "gone", compose=COMPOSED + "webui-1  | up\nvllm-1 exited with code 1\n"))
    assert (str(gone.cause), str(gone.health)) == ("exit-code-death", "failed")


def test_of_two_units_that_may_have_run_it_a_process_is_of_the_one_that_ended_with_its_last_words(tmp_path: Path) -> None:
    """systemd 247 and older name no unit at a start: both may have run from the beginning of the journal."""
    old = journal(*server("sglang-qwen.service", 4711)[1:], *BACKUP[1:])
    found = diagnosed(folder(tmp_path, journal=old))
    assert (found.unit, str(found.cause)) == ("sglang-qwen.service", "gpu-oom-init")


ALWAYS = [("08:00:00", "systemd[1]", f"Started {name}.service - {name}.") for name in ("cron", "ssh", "docker")]


def test_a_unit_that_failed_beside_a_server_that_runs_on_is_not_told_with_its_phase(tmp_path: Path) -> None:
    text = journal(*ALWAYS, *server("sglang-qwen.service", 4711, dies=False), *BACKUP)
    found = diagnosed(folder(tmp_path, journal=text))
    assert (found.unit, str(found.cause), found.server, found.died_after_s) == ("backup.service", "exit-code-death", None, 1.0)
    assert "serving" not in found.headline


def test_but_the_client_of_that_server_is_about_the_server(tmp_path: Path) -> None:
    text = journal(*ALWAYS, *server("sglang-qwen.service", 4711, dies=False), *BACKUP)
    late = REFUSED.replace("10:00:1", "10:03:1").replace("ERROR request", "ERROR http://gpu01:8000/v1/completions request")
    found = diagnosed(folder(tmp_path, journal=text, bench=late))
    assert (found.unit, str(found.cause)) == ("sglang-qwen.service", "wrong-endpoint")


def two_servers(*, loading: int = 30001, dies: bool = False) -> str:
    """A server that is ready at port 30000, and five minutes later another that loads for another port, and may die of it."""
    ready = server("sglang-a.service", 4711, dies=False)
    second = [(at, who, text.replace("port=30000", f"port={loading}")) for at, who, text in server("sglang-b.service", 4900, 5)]
    return journal(*ready, *(second if dies else second[:3]))


def refused_at(port: int | None, at: str = "10:05:1") -> str:
    where = f"http://gpu01:{port}/v1/completions " if port else ""
    return REFUSED.replace("10:00:1", at).replace("ERROR request", f"ERROR {where}request")


def status_of(unit: str, pid: int, port: int) -> str:
    return (
        f"● {unit} - SGLang Qwen\n     Loaded: loaded (/etc/systemd/system/{unit}; enabled; preset: enabled)\n"
        f"     Active: active (running) since Mon 2026-11-30 10:00:00 UTC; 6min ago\n   Main PID: {pid} (python)\n"
        f"     CGroup: /system.slice/{unit}\n             └─{pid} /opt/bin/python -m sglang.launch_server --model-path /models/Qwen3-32B --port {port}\n"
    )


def test_a_client_is_about_the_unit_whose_port_it_asked(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=two_servers(), bench=refused_at(30001)))
    assert (found.unit, str(found.cause), str(found.phase)) == ("sglang-b.service", "startup-race", "weights")
    assert str(diagnosed(folder(tmp_path / "named", journal=two_servers(), bench=refused_at(30001)), unit="sglang-b").cause) == "startup-race"


def test_the_port_is_known_by_a_command_line_where_no_log_tells_it(tmp_path: Path) -> None:
    text = two_servers().replace(", port=30001", "")
    status = {"status_a": status_of("sglang-a.service", 4711, 30000), "status_b": status_of("sglang-b.service", 4900, 30001)}
    found = diagnosed(folder(tmp_path, journal=text, bench=refused_at(30001), **status))
    assert (found.unit, str(found.cause)) == ("sglang-b.service", "startup-race")


def test_the_death_of_another_server_is_no_reason_why_a_client_of_this_one_was_refused(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=two_servers(dies=True), bench=refused_at(30000, "10:00:1")))
    assert (found.unit, str(found.cause), str(found.health)) == ("sglang-a.service", "startup-race", "healthy")
    assert [w.kind for w in found.warnings] == ["also-failed"]


def test_of_a_unit_that_was_named_the_client_of_another_says_nothing(tmp_path: Path) -> None:
    dead = diagnosed(folder(tmp_path, journal=two_servers(dies=True), bench=refused_at(30000, "10:06:1")), unit="sglang-b")
    assert (str(dead.cause), dead.client) == ("gpu-oom-init", None)
    assert dead.headline.endswith("; the client that failed asked sglang-a.service")
    (told,) = [w.text for w in dead.warnings if w.kind == "other-client"]
    assert told == "bench.txt failed at port 30000, which is sglang-a.service's: what it met is told with --unit sglang-a.service"
    well = diagnosed(folder(tmp_path / "well", journal=two_servers(), bench=refused_at(30001)), unit="sglang-a")
    assert (str(well.cause), well.client) == ("healthy", None)


def test_a_client_that_asked_again_until_it_was_answered_does_not_hide_the_server_that_died(tmp_path: Path) -> None:
    again = "".join(f"2026-11-30 10:01:{n:02d} ready check http://gpu01:30000/v1/models -> 200 OK\n" for n in range(3))
    result = "============ Serving Benchmark Result ============\nSuccessful requests:                     50\nFailed requests:                         0\n"
    bench = refused_at(30000, "10:00:1") + again + result
    found = diagnosed(folder(tmp_path, journal=two_servers(dies=True), bench=bench))
    assert (found.unit, str(found.cause)) == ("sglang-b.service", "gpu-oom-init")


@pytest.mark.parametrize(
    ("second", "port", "status"),
    [(True, None, "possible"), (False, None, "supported"), (True, 30007, "supported")],
    ids=["two servers and no port", "one server and no port", "a port that neither has"],
)
def test_which_of_two_servers_a_client_asked_is_not_known_where_it_names_no_port(second: bool, port: int | None, status: str, tmp_path: Path) -> None:
    text = two_servers() if second else journal(*server("sglang-a.service", 4711, dies=False))
    found = diagnosed(folder(tmp_path, journal=text, bench=refused_at(port)))
    assert (found.unit, str(found.cause), str(found.status)) == ("sglang-a.service", "wrong-endpoint", status)

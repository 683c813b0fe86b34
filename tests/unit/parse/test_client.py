"""What clients print when a server does not answer as they hoped, as they really print it."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.model import BenchRun
from forensics.parse import client, peer, wording

DATA = Path(__file__).parents[2] / "data" / "parse" / "client"
NOON = 1778328000.0  # 2026-05-09 12:00 UTC


def read(text: str, **more: object) -> BenchRun:
    run, problems = client.read(text, source="bench", latest=NOON, **more)  # type: ignore[arg-type]
    assert problems == ()
    assert run is not None
    return run


def read_file(name: str) -> BenchRun:
    return read((DATA / name).read_text(encoding="utf-8"))


def test_text_that_tells_of_no_request_is_no_run():
    assert client.read("hello\nTraffic request rate: inf\n") == (None, ())
    assert client.read("") == (None, ())


def test_a_dump_of_arguments_full_of_timeouts_is_no_failure():
    assert client.read("Namespace(ready_check_timeout_sec=60, error=None, status=503)")[0] is None


def test_links_to_documentation_are_no_peers():
    run = read("HTTP Error 404: Not Found\nFor more information check: https://developer.mozilla.org/en-US/docs/Web/HTTP/Status/404\n")
    assert (run.host, run.failed) == (None, 1)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("all good", None),
        ("Traffic request rate: inf", None),
        ("non-default args: {'model': '/srv/models/m', 'max_model_len': 2048}", None),
        ("prompt length 3000 is over max_model_len", "too-long"),
        ("Cannot connect to host 127.0.0.1:8000 ssl:default [Connect call failed ('127.0.0.1', 8000)]", "refused"),
        ("URLError(ConnectionRefusedError(111, 'Connection refused'))", "refused"),
        ("curl: (7) Failed to connect to localhost port 8000 after 0 ms: Couldn't connect to server", "refused"),
        ("curl: (7) Failed to connect to 10.0.0.9 port 80: No route to host", "other"),
        ("dial tcp 127.0.0.1:8000: connect: connection refused", "refused"),
        ("Error: connect ECONNREFUSED 127.0.0.1:8000", "refused"),
        ("requests.exceptions.ChunkedEncodingError: Response ended prematurely", "reset"),
        ("http.client.RemoteDisconnected: Remote end closed connection without response", "reset"),
        ("curl: (52) Empty reply from server", "reset"),
        ("httpx.ReadTimeout: timed out", "timed-out"),
        ("openai.APITimeoutError: Request timed out.", "timed-out"),
        ("curl: (28) Operation timed out after 1001 milliseconds with 0 bytes received", "timed-out"),
        ("urllib.error.URLError: <urlopen error [Errno -2] Name or service not known>", "dns"),
        ("curl: (6) Could not resolve host: gpu07", "dns"),
        ("<urlopen error [SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)>", "tls"),
        ("HTTP Error 503: Service Unavailable", "http-503"),
        ("429 Client Error: Too Many Requests for url: http://x/v1", "http-429"),
        ("Error code: 401 - {'error': 'x'}", "http-401"),
        ("400, message='Bad Request', url='http://127.0.0.1:30137/v1/completions'", "http-400"),
        ('{"detail":"Not Found"}', "http-404"),
        ("openai.NotFoundError: The model `x` does not exist.", "http-404"),
        ("HTTP/1.1 502 Bad Gateway", "http-502"),
        ('INFO: 127.0.0.1 - "POST /v1/completions HTTP/1.1" 422 Unprocessable Entity', "http-422"),
        ("This model's maximum context length is 2048 tokens. However, your prompt contains at least 2049", "too-long"),
        ('{"message":"The input (18001 tokens) is longer than the model\'s context length (4096 tokens)."}', "too-long"),
        ("Server did not become ready within 60s timeout.", "not-ready"),
        ("openai.APIConnectionError: Connection error.", "other"),
    ],
)
def test_each_wording_has_its_kind(text, kind):
    assert wording.classify(text) == kind


@pytest.mark.parametrize(
    ("name", "errors", "peer"),
    [
        ("while-loading.txt", {"refused": 8}, ("127.0.0.1", 8000, "/v1/completions")),
        ("during-kill.txt", {"reset": 1, "refused": 4}, ("127.0.0.1", 30285, None)),
        ("too-long.txt", {"too-long": 5, "http-400": 1}, ("127.0.0.1", 8000, "/v1/completions")),
        ("https-on-http.txt", {"tls": 6}, ("127.0.0.1", 8000, "/v1/completions")),
        ("timeout.txt", {"timed-out": 6}, ("127.0.0.1", 30137, None)),
        ("wrong-model.txt", {"http-404": 7}, ("127.0.0.1", 8000, "/v1/completions")),
        ("one-line.txt", {"refused": 1}, ("127.0.0.1", 30000, "/v1/models")),
        ("error-body.txt", {"too-long": 1}, (None, None, None)),
        ("curl-7.txt", {"refused": 1}, ("localhost", 8000, None)),
        ("ready.txt", {}, ("127.0.0.1", 30137, None)),
    ],
    ids=lambda value: value.removesuffix(".txt") if isinstance(value, str) else None,
)
def test_chained_exceptions_of_one_request_count_once(name, errors, peer):
    run = read_file(name)
    assert run.errors == errors
    assert (run.host, run.port, run.path) == peer
    assert (run.failed or 0) == sum(errors.values())


def test_good_answers_are_counted_as_ok():
    run = read_file("ready.txt")
    assert (run.ok, run.failed) == (6, None)
    assert {row.kind for row in run.rows} == {"ok"}


def test_a_health_loop_keeps_its_own_clock():
    run = read_file("health-loop.txt")
    assert (run.tool, run.asked, run.ok, run.failed, run.span_s) == ("health check", 61, 0, 61, 600.0)
    assert run.first_at is None
    row = run.rows[12]
    assert (row.line_no, row.kind, row.offset_s) == (13, "refused", 120.0)
    assert row.text == "120 s unhealthy URLError(ConnectionRefusedError(111, 'Connection refused'))"


def test_a_health_loop_that_was_answered_first():
    run = read("  0 s healthy\n 10 s unhealthy URLError(ConnectionRefusedError(111, 'Connection refused'))\n")
    assert [(r.kind, r.offset_s) for r in run.rows] == [("ok", 0.0), ("refused", 10.0)]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("[  12.5s] not ready yet: Connection refused", "refused"),
        ("t=30s status 503", "http-503"),
        ("30s: /v1/models 200", "ok"),
        ("+30 s up", "ok"),
        ("30 s 000", "other"),
        ("30 s not ready", "not-ready"),
        ("2026-05-09 10:15:18 200", "ok"),
        ("2026-05-09T10:15:18Z [INFO] healthy", "ok"),
        ("[10:15:18] code=502", "http-502"),
        ("2026-05-09 10:15:18 503", "http-503"),
    ],
)
def test_a_loop_may_say_it_in_a_word_or_a_bare_code(line, kind):
    assert [row.kind for row in read(line).rows] == [kind]


@pytest.mark.parametrize(
    "line",
    ["2026-05-09 10:15:18 waiting until the server is healthy", "2026-05-09 10:15:18 512 prompts loaded", "30 s warm-up", "10:15:18 128 tokens"],
)
def test_a_loop_line_that_says_nothing_of_an_answer_is_no_attempt(line):
    assert client.read(line)[0] is None


def test_a_task_table_counts_rows():
    run = read_file("task-table.txt")
    assert (run.tool, run.asked, run.ok, run.failed, run.errors) == ("task table", 12, 0, 12, {"refused": 12})
    assert read("[3/12] coding/03 | ERROR | Connection refused\n").errors == {"refused": 1}
    mixed = read("coding/01  OK  1.2s\ncoding/02  FAIL  wrong answer\ncoding/03  ERROR  HTTP Error 503: Service Unavailable\n")
    assert (mixed.asked, mixed.ok, mixed.errors) == (3, 1, {"other": 1, "http-503": 1})


def test_a_traceback_belongs_to_the_log_line_above_and_has_its_time():
    run = read(
        "2026-05-09 10:15:20 ERROR request 1 failed\nTraceback (most recent call last):\n  File \"x.py\", line 1\n    raise X('timed out')\n"
        "ConnectionRefusedError: [Errno 111] Connection refused\n\nDuring handling of the above exception, another exception occurred:\n\n"
        'Traceback (most recent call last):\n  File "y.py", line 2\nurllib.error.URLError: <urlopen error [Errno 111] Connection refused>\n'
        "2026-05-09 10:15:22,500 ERROR request 2 failed: timed out\n"
    )
    assert run.errors == {"refused": 1, "timed-out": 1}
    assert (run.first_at, run.last_at) == (1778321720.0, 1778321722.5)
    assert run.rows[0].text == "ConnectionRefusedError: [Errno 111] Connection refused"


def test_two_tracebacks_after_each_other_are_two_requests():
    one = 'Traceback (most recent call last):\n  File "x.py", line 1\nTimeoutError: timed out\n'
    assert read(one + one).errors == {"timed-out": 2}


def test_stamps_without_year_or_day_are_completed_from_the_latest_time():
    run = read("05-09 10:15:20 request failed: Connection refused\n11:00:00 unhealthy: Connection refused\n13:00:00 unhealthy: Connection refused\n")
    assert [row.at for row in run.rows] == [1778321720.0, 1778324400.0, 1778245200.0]


def test_a_verbose_curl_counts_once_and_cites_its_last_word():
    run = read(
        "*   Trying 127.0.0.1:30000...\n* connect to 127.0.0.1 port 30000 failed: Connection refused\n* Closing connection\n"
        "curl: (7) Failed to connect to 127.0.0.1 port 30000 after 0 ms: Couldn't connect to server\n",
        command="curl -v http://127.0.0.1:30000/v1/models",
    )
    assert (run.tool, run.errors, run.port, run.path) == ("curl", {"refused": 1}, 30000, "/v1/models")
    assert run.rows[0].text.startswith("curl: (7)")


def test_wget_says_a_status_twice():
    run = read(
        "--2026-05-09 10:15:18--  http://127.0.0.1:8000/v1/modls\nConnecting to 127.0.0.1:8000... connected.\n"
        "HTTP request sent, awaiting response... 404 Not Found\n2026-05-09 10:15:18 ERROR 404: Not Found.\n"
    )
    assert (run.errors, run.path) == ({"http-404": 1}, "/v1/modls")


def test_access_lines_count_good_and_bad():
    run = read('10.0.0.1 - - "GET /v1/models HTTP/1.1" 200 12\n10.0.0.1 - - "POST /v1/chat HTTP/1.1" 429 12\n')
    assert (run.asked, run.ok, run.errors, run.path) == (2, 1, {"http-429": 1}, "/v1/chat")


@pytest.mark.parametrize(
    ("command", "tool"),
    [
        ("python3 -m pkg.bench_serving --port 1", "pkg.bench_serving"),
        ("/opt/x/bin/tool bench serve --backend y", "tool bench serve"),
        ("HF_HUB_OFFLINE=1 python bench.py --n 3", "bench.py"),
        ("curl -s http://127.0.0.1:1/", "curl"),
        ("sudo don't", "don't"),
        ("", ""),
    ],
)
def test_the_tool_is_named_by_the_command(command, tool):
    assert peer.command_tool(command) == tool


def test_of_very_many_failures_the_first_and_last_are_kept_and_all_are_counted():
    run = read("".join(f"{n} s unhealthy Connection refused\n" for n in range(5000)))
    assert run.errors == {"refused": 5000}
    assert len(run.rows) == 400
    assert run.rows[-1].line_no == 5000


def test_of_a_line_with_progress_bars_the_piece_that_tells_is_cited():
    run = read(" |   | 00:00 elapsed\r |##| 00:05 elapsed\rEndpoint is not ready. Error='Connection refused'\r |###| done\n")
    assert run.rows[0].text == "Endpoint is not ready. Error='Connection refused'"


def test_task_lines_with_their_own_stamp_count_one_each() -> None:
    text = "".join(f"2026-05-09 11:04:3{k} coding/{k:02d}  ERROR  URLError: <urlopen error [Errno 111] Connection refused>\n" for k in (1, 1, 2, 3))
    run, problems = client.read(text, source="bench.txt")
    assert run is not None
    assert dict(run.errors) == {"refused": 4}
    assert problems == ()


def test_a_log_line_that_begins_with_a_time_of_day_is_no_row_of_a_task_table() -> None:
    run = read(
        "00:44:19.303 ERROR    Error in aiohttp request: ConnectionRefusedError(111, 'Connection refused')\nmath/7  ERROR  Connection refused\n"
    )
    assert [row.kind for row in run.rows] == ["refused", "refused"]
    assert read("00:44:19.303 ERROR    Error in aiohttp request: ConnectionRefusedError(111, 'Connection refused')\n").tool != "task table"


def test_what_wget_says_twice_of_a_handshake_is_one_request() -> None:
    text = "GnuTLS: An unexpected TLS packet was received.\nUnable to establish SSL connection.\n"
    assert dict(read(text).errors) == {"tls": 1}

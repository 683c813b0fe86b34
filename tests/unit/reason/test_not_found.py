"""A path that somebody tries in vain is on every host's log: it is a verdict where hardly anything else was asked, or where a client tells of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.reason.telling import diagnosed, folder

STARTED = """\
[2026-11-29 20:38:10] server_args=ServerArgs(model_path="/m", port=30000)
[2026-11-29 20:38:36] Load weight begin. avail mem=138.39 GB
[2026-11-29 20:40:01] INFO:     127.0.0.1:40000 - "POST /generate HTTP/1.1" 200 OK
[2026-11-29 20:40:02] The server is fired up and ready to roll!
"""
GIN = """\
time=2026-11-29T20:38:00.123Z level=INFO source=routes.go:1238 msg="Listening on 127.0.0.1:11434 (version 0.9.0)"
"""


def asked(*answers: tuple[str, int]) -> str:
    words = {200: "OK", 404: "Not Found"}
    return STARTED + "".join(
        f'[2026-11-29 20:41:{n:02d}] INFO:     10.0.0.9:{n} - "POST {path} HTTP/1.1" {status} {words[status]}\n'
        for n, (path, status) in enumerate(answers)
    )


def of_gin(*answers: tuple[str, int]) -> str:
    return GIN + "".join(
        f'[GIN] 2026/11/29 - 20:41:{n:02d} | {status} |      12.5µs |       10.0.0.9 | POST     "{path}"\n'
        for n, (path, status) in enumerate(answers)
    )


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        (asked(("/generate", 200), ("/cgi-bin/x", 404), ("/generate", 200), ("/generate", 200)), "healthy"),
        (asked(("/generate", 200), ("/cgi-bin/x", 404)), "healthy"),
        (asked(*[("/v2/completions", 404)] * 4), "wrong-endpoint"),  # its own warm-up was answered
        (asked(("/generate", 200), *[("/v2/completions", 404)] * 9), "wrong-endpoint"),
        (of_gin(("/api/chat", 200), ("/api/generate", 404), ("/api/chat", 200)), "healthy"),
        (of_gin(("/api/generate", 404), ("/api/generate", 404)), "wrong-endpoint"),
    ],
    ids=["one of four", "one of two", "all but its own warm-up", "nearly all", "one of three, another log", "all, another log"],
)
def test_what_others_were_not_found_is_no_verdict_on_a_server_that_answers(log: str, cause: str, tmp_path: Path) -> None:
    assert str(diagnosed(folder(tmp_path, server=log)).cause) == cause


def test_a_client_that_tells_of_it_is_believed_though_others_were_answered(tmp_path: Path) -> None:
    log = asked(*[("/generate", 200)] * 6, ("/v2/completions", 404), ("/v2/completions", 404))
    bench = "".join(f"2026-11-29 20:41:0{n} http://gpu01:30000/v2/completions ERROR HTTP Error 404: Not Found\n" for n in (6, 7))
    found = diagnosed(folder(tmp_path, server=log, bench=bench + "2026-11-29 20:41:08 http://gpu01:30000/generate 200 OK\n"))
    assert (str(found.cause), str(found.status)) == ("wrong-endpoint", "supported")


def test_a_client_that_waited_in_vain_did_not_meet_what_others_were_answered(tmp_path: Path) -> None:
    log = asked(*[("/generate", 200)] * 6, ("/v2/completions", 404))
    bench = "Waiting up to 600s for http://127.0.0.1:30000 to become ready\nServer did not become ready within 600.0s timeout.\n"
    assert str(diagnosed(folder(tmp_path, server=log, bench=bench)).cause) != "wrong-endpoint"

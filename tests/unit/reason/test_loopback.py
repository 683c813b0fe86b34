"""A server that is bound to the loopback refuses all other machines: that is said, where the client asked it at another address."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.reason.telling import diagnosed, folder

STARTED = "2026-05-09T10:00:00+0000 gpu01 systemd[1]: Started {unit} - a server.\n"
WRITTEN = "2026-05-09T10:00:{second:02d}+0000 gpu01 {ident}[900]: {text}\n"
SGLANG = (
    "server_args=ServerArgs(model_path='/m', host={host!r}, port=30000)",
    "INFO:     Uvicorn running on http://{address}:30000 (Press CTRL+C to quit)",
    "The server is fired up and ready to roll!",
)
OLLAMA = ('level=INFO source=routes.go:1238 msg="Listening on {address}:11434 (version 0.9.0)"',)
LLAMA = (
    "main: HTTP server is listening, hostname: {address}, port: 8080, http threads: 15",
    "main: loading model",
    "main: model loaded",
    "main: server is listening on http://{address}:8080 - starting the main loop",
)


def journal(ident: str, lines: tuple[str, ...], address: str) -> str:
    said = [line.format(address=address, host=address.strip("[]")) for line in lines]
    return STARTED.format(unit=f"{ident}.service") + "".join(WRITTEN.format(second=n + 1, ident=ident, text=text) for n, text in enumerate(said))


def refused(host: str, port: int) -> str:
    return "".join(
        f"2026-05-09 10:20:1{n} http://{host}:{port}/v1/chat/completions ERROR URLError: <urlopen error [Errno 111] Connection refused>\n"
        for n in range(3)
    )


@pytest.mark.parametrize(
    ("ident", "lines", "port", "remedy"),
    [("python", SGLANG, 30000, "--host 0.0.0.0"), ("ollama", OLLAMA, 11434, "OLLAMA_HOST=0.0.0.0"), ("llama-server", LLAMA, 8080, "--host 0.0.0.0")],
    ids=["SGLang", "Ollama", "llama.cpp"],
)
@pytest.mark.parametrize("host", ["gpu01", "10.1.2.3"])
def test_a_port_of_the_loopback_refuses_who_asks_at_another_address(
    ident: str, lines: tuple[str, ...], port: int, remedy: str, host: str, tmp_path: Path
) -> None:
    found = diagnosed(folder(tmp_path, journal=journal(ident, lines, "127.0.0.1"), bench=refused(host, port)))
    assert (str(found.cause), str(found.status)) == ("wrong-endpoint", "supported")
    assert f"the server listens on 127.0.0.1 only, and the client asked it at {host}" in found.headline
    assert remedy in found.advice[0].text


@pytest.mark.parametrize(
    ("address", "host"), [("0.0.0.0", "gpu01"), ("[::]", "gpu01"), ("127.0.0.1", "127.0.0.1"), ("127.0.0.1", "localhost"), ("10.1.2.3", "gpu01")]
)
def test_it_is_not_said_of_one_that_listens_elsewhere_nor_to_who_asked_there(address: str, host: str, tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=journal("python", SGLANG, address), bench=refused(host, 30000)))
    assert "only" not in found.headline
    assert str(found.status) != "supported"


def test_another_port_is_told_as_another_port(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=journal("python", SGLANG, "127.0.0.1"), bench=refused("gpu01", 30007)))
    assert "asked port 30007" in found.headline


def test_an_address_of_the_sixth_protocol_is_the_loopback_too(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=journal("python", SGLANG, "[::1]"), bench=refused("gpu01", 30000)))
    assert "listens on ::1 only" in found.headline

"""forward.py MAPFILE: join connections to 127.0.0.1:PORT to port 22 inside a network namespace, for each line 'PORT NETNS_PATH'.

Nothing leaves loopback: the listening socket is made in this namespace, the connecting one in the other (a socket belongs for
ever to the namespace it was made in). SIGHUP reads the map again, SIGTERM ends.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

_CLONE_NEWNET = 0x40000000
_LIBC = ctypes.CDLL(None, use_errno=True)
_HOME = os.open("/proc/self/ns/net", os.O_RDONLY)

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def socket_in(netns: str) -> socket.socket:
    """A socket that belongs to another network namespace."""
    fd = os.open(netns, os.O_RDONLY)
    try:
        if _LIBC.setns(fd, _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns " + netns)
        try:
            return socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        finally:
            _LIBC.setns(_HOME, _CLONE_NEWNET)
    finally:
        os.close(fd)


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy one direction to its end."""
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except OSError:
        writer.close()


def handler(netns: str) -> Handler:
    """Serves one port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            inner = socket_in(netns)
            inner.setblocking(False)
            await asyncio.get_running_loop().sock_connect(inner, ("127.0.0.1", 22))
            inner_reader, inner_writer = await asyncio.open_connection(sock=inner)
        except OSError:
            writer.transport.abort()  # looks like a reset, as from a host whose sshd is gone
            return
        await asyncio.gather(pump(reader, inner_writer), pump(inner_reader, writer))
        for each in (writer, inner_writer):
            each.close()

    return serve


async def main(mapfile: Path) -> None:
    """Listen for what the map says until SIGTERM."""
    servers: dict[str, asyncio.Server] = {}

    def wanted_now() -> dict[str, str]:
        return {port: netns for port, _, netns in (line.strip().partition(" ") for line in mapfile.read_text().splitlines()) if netns}

    def ready(ports: list[str]) -> None:
        mapfile.with_name(mapfile.name + ".ready").write_text(" ".join(ports))

    async def load() -> None:
        wanted = wanted_now()
        for port in set(servers) - set(wanted):
            servers.pop(port).close()
        for port in set(wanted) - set(servers):
            servers[port] = await asyncio.start_server(handler(wanted[port]), "127.0.0.1", int(port), backlog=128)
        ready(sorted(servers))

    loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[None]]()
    loop.add_signal_handler(signal.SIGHUP, lambda: tasks.add(loop.create_task(load())))
    stop = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    await load()
    await stop.wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))

"""Unpack an answer that is compressed on its way, piece by piece. Never makes more of a piece than a few MiB at a time."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Protocol

PLAIN = "plain"
_SLICE = 256  # bytes: zstd can make 128 KiB of four
_GZIP = 31  # zlib's window bits for a gzip header
_MOST = 1 << 20


class BrokenError(Exception):
    """What has arrived is not of that encoding."""


class Unpacker(Protocol):
    def feed(self, data: bytes) -> Iterator[bytes]:
        """What the next bytes are worth; raises BrokenError."""
        ...


class _Plain:
    def feed(self, data: bytes) -> Iterator[bytes]:
        yield data


class _Gzip:
    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(_GZIP)

    def feed(self, data: bytes) -> Iterator[bytes]:
        try:
            while data:
                piece = self._inflate.decompress(data, _MOST)
                if piece:
                    yield piece
                data = self._inflate.unconsumed_tail
            while piece := self._inflate.decompress(b"", _MOST):
                yield piece
        except zlib.error as error:
            raise BrokenError(str(error)) from error


class _Zstd:
    def __init__(self) -> None:
        import zstandard

        self._error: type[Exception] = zstandard.ZstdError
        self._inflate = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()

    def feed(self, data: bytes) -> Iterator[bytes]:
        try:
            for at in range(0, len(data), _SLICE):
                if self._inflate.eof:
                    return
                if piece := self._inflate.decompress(data[at : at + _SLICE]):
                    yield piece
        except self._error as error:
            raise BrokenError(str(error)) from error


def unpacker(encoding: str) -> Unpacker:
    """For ``plain``, ``gzip`` or ``zstd``; raises BrokenError for another."""
    match encoding:
        case "plain":
            return _Plain()
        case "gzip":
            return _Gzip()
        case "zstd":
            return _Zstd()
    raise BrokenError(f"an encoding that is not known: {encoding!r:.40}")

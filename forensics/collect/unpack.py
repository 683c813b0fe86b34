"""Undo gzip, xz, bzip2 and zstd piece by piece, with a bound on memory and on what may come of how little. Writes nothing, knows nothing of archives."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol

from forensics.errors import TargetError

GZIP, ZSTD, XZ, BZIP2 = "compressed with gzip", "compressed with zstd", "compressed with xz", "compressed with bzip2"
KINDS = frozenset({GZIP, ZSTD, XZ, BZIP2})

RATIO = 500  # restart loops shrink to a hundredth at most, zeros to a thousandth (gzip) or less
FREE_BYTES = 64 << 20  # so much may always come of a file: a small one may well hold one line many times
_IN_BYTES = 1 << 16
_OUT_BYTES = 1 << 18
# zstd's interface has no bound on what one call gives, but 1 KiB of it can be no more than 256 blocks of 128 KiB: 32 MiB
_ZSTD_IN_BYTES = 1 << 10
_MANY_FRAMES = 10_000
_WINDOW_BYTES = 128 << 20  # what the zstd command takes unless told otherwise
_XZ_BYTES = 256 << 20  # xz -9 wants 65 MiB


class Unpacked:
    """The bytes of a compressed stream, to be gone through once. ``kind`` is one of ``KINDS``, or "" for a stream that is as it is.

    ``broken`` says afterwards why it ended before its end ("" where it did not): what was given until then is good.
    Raises TargetError where it grows beyond all measure: a compression bomb.
    """

    def __init__(self, stream: BinaryIO, kind: str, *, at: str, ratio: int = RATIO, free_bytes: int = FREE_BYTES) -> None:
        self._stream, self._kind, self._at = stream, kind, at
        self._ratio, self._free = ratio, free_bytes
        self.taken = 0
        self.given = 0
        self.broken = ""

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces():
            self.given += len(piece)
            if self.given > self._free and self.given > self._ratio * self.taken:
                raise TargetError(
                    f"refused: it grows to more than {self._ratio} times its size, as a compression bomb does", at=self._at,
                    hint="if you know it and trust it, unpack it yourself and name the folder",
                )  # fmt: skip
            yield piece

    def _pieces(self) -> Iterator[bytes]:
        if not self._kind:
            yield from iter(lambda: self._read(_IN_BYTES), b"")
            return
        make, size = (_zstd, _ZSTD_IN_BYTES) if self._kind == ZSTD else (_MAKERS[self._kind], _IN_BYTES)
        try:
            yield from self._frames(make, size)
        except (OSError, EOFError, ValueError, MemoryError, zlib.error, lzma.LZMAError) as error:
            self.broken = f"it is damaged: {error}"

    def _frames(self, make: Callable[[], _Decoder], size: int) -> Iterator[bytes]:
        """One frame after the other: the tools take several in one file, and zeros behind the last one."""
        data = self._read(size)
        frames = 0
        while data:
            if not data.strip(b"\0"):
                data = self._read(size)
                continue
            frames += 1
            if frames > _MANY_FRAMES and self.given < frames:
                self.broken = "it is made of thousands of empty parts"
                return
            decoder = make()
            while True:
                out = decoder.feed(data)
                if out:
                    yield out
                if decoder.eof:
                    break
                data = b""
                if decoder.hungry and not (data := self._read(size)):
                    self.broken = "it ends in the middle: it was cut off"
                    return
            data = decoder.rest() or self._read(size)

    def _read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self.taken += len(data)
        return data


class _Decoder(Protocol):
    """One frame. ``feed`` gives a bounded piece; where it is not ``hungry``, feed it nothing to get more."""

    @property
    def eof(self) -> bool: ...

    @property
    def hungry(self) -> bool: ...

    def feed(self, data: bytes) -> bytes: ...

    def rest(self) -> bytes: ...


class _Gzip:
    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(31)
        self._tail = b""

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def hungry(self) -> bool:
        return not self._tail

    def feed(self, data: bytes) -> bytes:
        out = self._decoder.decompress(self._tail + data, _OUT_BYTES)
        self._tail = self._decoder.unconsumed_tail
        return out

    def rest(self) -> bytes:
        return self._decoder.unused_data


class _OfStandardLibrary:
    """lzma and bz2 have the same interface."""

    def __init__(self, decoder: lzma.LZMADecompressor | bz2.BZ2Decompressor) -> None:
        self._decoder = decoder

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def hungry(self) -> bool:
        return self._decoder.needs_input

    def feed(self, data: bytes) -> bytes:
        return self._decoder.decompress(data, _OUT_BYTES)

    def rest(self) -> bytes:
        return self._decoder.unused_data


class _Zstd:
    def __init__(self) -> None:
        import zstandard

        self._error = zstandard.ZstdError
        self._decoder = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES).decompressobj()

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def hungry(self) -> bool:
        return True

    def feed(self, data: bytes) -> bytes:
        try:
            return self._decoder.decompress(data)
        except self._error as error:
            raise ValueError(str(error).removeprefix("zstd decompressor error: ")) from error

    def rest(self) -> bytes:
        return self._decoder.unused_data


def _zstd() -> _Decoder:
    return _Zstd()


_MAKERS: dict[str, Callable[[], _Decoder]] = {
    GZIP: _Gzip,
    XZ: lambda: _OfStandardLibrary(lzma.LZMADecompressor(format=lzma.FORMAT_AUTO, memlimit=_XZ_BYTES)),
    BZIP2: lambda: _OfStandardLibrary(bz2.BZ2Decompressor()),
}

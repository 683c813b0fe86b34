"""Take the files out of an archive into the spool, and put a folder into one. No name in an archive ever becomes a path here, and no link is followed."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, BinaryIO, cast

from forensics import lazily
from forensics.collect import binary, catalogue, tar, unpack
from forensics.collect.catalogue import Worth
from forensics.collect.session import Limits
from forensics.collect.spool import Spool
from forensics.collect.targets import MANIFEST
from forensics.errors import TargetError
from forensics.model import Problem

# what is written, by the suffix; ".tar.bz2" is read as well
FORMATS = {
    ".tar.zst": unpack.ZSTD,
    ".tzst": unpack.ZSTD,
    ".tar.gz": unpack.GZIP,
    ".tgz": unpack.GZIP,
    ".tar.xz": unpack.XZ,
    ".txz": unpack.XZ,
    ".tar": "",
}
_LEVEL = 9
_NAMES_SHOWN = 3
_ASIDE_FILES = 256  # of what is of no worth so many are kept: a small archive may be somebody's own
_MOST_TREES = 1000
_ASIDE_BYTES = 64 << 20
_DRIVE = lazily.pattern(r"[A-Za-z]:")


@dataclass(eq=False, repr=False)
class Taken:
    """What came out: the files by the names they had, in their order, each under a name of ours in the spool.

    ``left``: of how many files, by the tree they lie in, nothing was taken out, being of no worth and too many. ``cut``: how many bytes are missing of a file at the end of an archive that was cut off. ``broken``: why it is not whole, "" where it is.
    """

    at: str
    files: dict[str, Path] = field(default_factory=dict)
    cut: dict[str, int] = field(default_factory=dict)
    twice: list[str] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)
    broken: str = ""
    problems: list[Problem] = field(default_factory=list)
    spool: Spool = field(default_factory=Spool)

    def placeholder(self, name: str) -> Path:
        """An empty file in place of one that the archive ended before."""
        path = self.spool.path("member")
        path.touch()
        return self.files.setdefault(name, path)


def suffix_of(path: Path) -> str:
    """The suffix in ``FORMATS`` that a name has, "" where it has none of them."""
    return next((suffix for suffix in FORMATS if path.name.lower().endswith(suffix)), "")


def is_one(file: Path) -> bool:
    """Whether a file is a tar archive, compressed or not, whatever its name; OSError where it cannot be read."""
    with file.open("rb") as stream:
        kind = binary.kind(stream.read(binary.HEAD_BYTES))
        if kind not in unpack.KINDS:
            return kind == binary.TAR
        stream.seek(0)
        head = b""
        for piece in unpack.Unpacked(stream, kind, at=str(file)):
            head += piece[: tar.BLOCK]
            if len(head) >= tar.BLOCK:
                break
        return tar.looks_like(head)


def extract(file: Path, spool: Spool, limits: Limits, *, at: str = "") -> Taken:
    """The ordinary files of an archive, the worthwhile ones of a large one; what was left out is among the problems.

    Raises TargetError where it is no archive, cannot be read, or is a compression bomb.
    """
    try:
        with file.open("rb") as stream:
            kind = binary.kind(stream.read(binary.HEAD_BYTES))
            stream.seek(0)
            return _extract(stream, kind if kind in unpack.KINDS else "", at or str(file), spool, limits)
    except TargetError:
        spool.remove()
        raise
    except OSError as error:
        spool.remove()
        hint = "TMPDIR names a folder on a larger disk" if file.exists() and error.filename != str(file) else None
        raise TargetError(f"cannot be unpacked: {error.strerror or error}", at=str(error.filename or file), hint=hint) from error


def _extract(stream: BinaryIO, kind: str, at: str, spool: Spool, limits: Limits) -> Taken:
    import shutil

    unpacked = unpack.Unpacked(stream, kind, at=at)
    most = min(limits.folder_bytes, shutil.disk_usage(spool.folder()).free // 2)
    reader = tar.Reader(_at_most(iter(unpacked), most))
    taking = _Taking(Taken(at=at, spool=spool), reader, limits)
    for member in reader.members():
        if not taking.member(member):
            break
    if taking.seen == 0 and (reader.broken or unpacked.broken):
        why = unpacked.broken or reader.broken
        hint = "a compressed log is read as NAME.log.gz, .xz, .zst or .bz2"
        raise TargetError(f"no tar archive{f' {kind}' if kind else ''}: {why}", at=at, hint=hint)
    taken = taking.taken
    if unpacked.given >= most:
        taken.broken = f"only the first {most >> 20} MiB of what is in it were unpacked"
    taken.broken = unpacked.broken or taken.broken or reader.broken
    if taking.support:  # which links to its own files by shorter names
        taking.left.forget("a link: not taken out")
    taken.problems = taking.left.problems(at)
    if taken.broken:
        taken.problems.append(Problem(source=at, text=f"not all of the archive could be read: {taken.broken}"))
    return _without_top(taken)


class _Taking:
    """Decides, member by member, what is taken out. Knows only what came before."""

    def __init__(self, taken: Taken, reader: tar.Reader, limits: Limits) -> None:
        self.taken, self.seen = taken, 0
        self.left = LeftOut()
        self._reader, self._limits = reader, limits
        self.support = False
        self._aside = self._aside_bytes = 0

    def member(self, member: tar.Member) -> bool:
        """Take it out, or note that it is left; False where no more are wanted."""
        self.seen += 1
        if self.seen > self._limits.members:
            self.taken.broken = f"it has more than {self._limits.members} members: what comes after them is not read"
            return False
        self.support = self.support or f"/{catalogue.SUPPORT}/" in member.name
        name = _safe(member.name)
        if member.what:
            if member.what != "a folder":
                self.left.out(member.name, f"{member.what}: not taken out")
        elif not name:
            self.left.out(member.name, "a name that leads out of the archive, or none: not taken out")
        elif self._is_too_much(name, member.size):
            tree = catalogue.tree(name)
            if len(self.taken.left) < _MOST_TREES or tree in self.taken.left:
                self.taken.left[tree] += 1
        else:
            self._take(name, member)
        return True

    def _is_too_much(self, name: str, size: int) -> bool:
        if catalogue.worth(name.partition("/")[2] or name) is Worth.NONE:
            self._aside += 1
            self._aside_bytes += size
            if self._aside > _ASIDE_FILES or self._aside_bytes > _ASIDE_BYTES:
                return True
        return len(self.taken.files) >= self._limits.archive_files

    def _take(self, name: str, member: tar.Member) -> None:
        path = self.taken.files.get(name)
        if path is not None:
            self.taken.twice.append(name)
            if name.rpartition("/")[2] == MANIFEST:  # else a second one could make a bundle look like none
                return
            self.left.out(name, "it is there more than once: the last one counts")
        path = path or self.taken.files.setdefault(name, self.taken.spool.path("member"))
        with path.open("wb") as out:
            for piece in self._reader.data():
                out.write(piece)
        os.utime(path, (member.mtime, member.mtime))  # stamps without a year lean on it
        if self._reader.missing:
            self.taken.cut[name] = self._reader.missing


def _at_most(pieces: Iterator[bytes], most: int) -> Iterator[bytes]:
    for piece in pieces:
        if most <= 0:
            return
        yield piece[:most]
        most -= len(piece)


def _safe(name: str) -> str:
    """The name without "./"; "" for one that is absolute, goes up, or is none."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith(("/", "\\")) or ".." in parts or ".." in name.split("\\") or _DRIVE.match(name) or len(name) > 4096:
        return ""
    return "/".join(parts)


def _without_top(taken: Taken) -> Taken:
    """The names without the one folder that they all lie in, in their order."""
    tops = {name.partition("/")[0] for name in taken.files}
    skip = len(next(iter(tops))) + 1 if len(tops) == 1 and all("/" in name for name in taken.files) else 0
    taken.files = {name[skip:]: path for name, path in sorted(taken.files.items(), key=lambda row: row[0].split("/"))}
    taken.cut = {name[skip:]: missing for name, missing in taken.cut.items()}
    return taken


class LeftOut:
    """What was left out, by reason: a few are named each by itself, many in one line."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = {}
        self._counts: dict[str, int] = {}

    def out(self, name: str, why: str) -> None:
        """Note one."""
        self._counts[why] = self._counts.get(why, 0) + 1
        names = self._names.setdefault(why, [])
        if len(names) < _NAMES_SHOWN:
            names.append(name[:200])

    def forget(self, why: str) -> None:
        """Nothing was left out for that reason, after all."""
        self._names.pop(why, None)

    def problems(self, at: str) -> list[Problem]:
        """In the order in which the reasons came up; ``at`` is the source of those with many names."""
        found = []
        for why, names in self._names.items():
            count = self._counts[why]
            if count <= _NAMES_SHOWN:
                found += [Problem(source=name, text=why) for name in names]
            else:
                found.append(Problem(source=at, text=f"{count} files: {why} ({', '.join(names)}, …)"))
        return found


def pack(folder: Path, out: BinaryIO, *, suffix: str, top: str) -> None:
    """Write the files under ``folder`` as an archive, below a folder ``top`` in it; the manifests first, so that one that is cut off can still be read."""
    import tarfile

    files = sorted((path for path in folder.rglob("*") if path.is_file()), key=lambda p: (p.name != MANIFEST, p.relative_to(folder).as_posix()))
    with _compressed(out, FORMATS[suffix]) as stream, tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        for path in files:
            status = path.stat()
            member = tarfile.TarInfo(f"{top}/{path.relative_to(folder).as_posix()}")
            member.size, member.mtime, member.mode = status.st_size, max(0, int(status.st_mtime)), stat.S_IRUSR | stat.S_IWUSR
            with path.open("rb") as data:
                archive.addfile(member, data)


def _compressed(out: BinaryIO, kind: str) -> AbstractContextManager[IO[bytes]]:
    if kind == unpack.ZSTD:
        import zstandard

        return cast("AbstractContextManager[IO[bytes]]", zstandard.ZstdCompressor(level=_LEVEL).stream_writer(out, closefd=False))
    if kind == unpack.GZIP:
        import gzip

        return cast("AbstractContextManager[IO[bytes]]", gzip.GzipFile(filename="", fileobj=out, mode="wb", compresslevel=6, mtime=0))
    if kind == unpack.XZ:
        import lzma

        return cast("AbstractContextManager[IO[bytes]]", lzma.LZMAFile(out, "wb", preset=6))
    return nullcontext(out)

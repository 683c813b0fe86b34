"""Put captures where somebody wants them: a folder, one archive, or a stream. Never writes over anything unasked, and leaves nothing half done behind."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from forensics import lazily
from forensics.collect import archive, bundle
from forensics.collect.masking import Mask
from forensics.collect.targets import FILE_SUFFIXES, MANIFEST
from forensics.errors import ForensicsError, TargetError, UsageError
from forensics.model import Capture, PartKind, Problem, TargetKind
from forensics.redact import Redactor, secrets_in_bytes

SUFFIX = ".tar.zst"
_OTHER_SUFFIXES = FILE_SUFFIXES | {".zip", ".7z", ".rar", ".bz2", ".tbz2", ".cpio"}
_ODD = lazily.pattern(r"[^A-Za-z0-9._@-]+")
_PLAIN_TOP = "bundle"
_TEMPORARY = ".ddforensics-"


class Bundle(NamedTuple):
    """What became of one target. ``path`` None: it went to a stream, or ``error`` says why there is nothing. ``problems`` are the gaps."""

    target: str
    path: Path | None = None
    size: int = 0
    sections: int = 0
    units: tuple[str, ...] = ()
    warning: str = ""
    problems: tuple[Problem, ...] = ()
    error: str = ""


def keep(
    captures: Sequence[Capture],
    target: str,
    output: Path | BinaryIO | None,
    *,
    several: bool,
    mask: Mask | None = secrets_in_bytes,
    force: bool = False,
) -> Bundle:
    """Write the captures of one target to a place, a stream, or (None) the current directory, and say what that was.

    TargetError where there is nothing in them.
    """
    if not any(s.size() for c in captures for s in c.sections if s.part is not PartKind.CLOCK):
        said = "; ".join(dict.fromkeys(f"{p.source}: {p.text}" for c in captures for p in c.problems))
        raise TargetError(f"nothing could be collected{': ' + said[:500] if said else ''}", at=target)
    now = time.time()
    path: Path | None = None
    if output is None or (several and isinstance(output, Path)):
        path = _free(output or Path(), name_for(captures, now=now))
    elif isinstance(output, Path):
        path = output
    size = write(captures, path, mask=mask, force=force) if path is not None else stream(captures, cast("BinaryIO", output), mask=mask, now=now)
    pick = captures[0].pick
    return Bundle(
        target=target, path=path, size=size, sections=sum(len(c.sections) for c in captures), units=tuple(dict.fromkeys(c.pick.unit for c in captures if c.pick.unit)),
        warning=f"{pick.asked} is not there: {pick.unit} was taken ({pick.why})" if pick.how == "mistyped" else "",
        problems=tuple(dict.fromkeys(p for c in captures for p in c.problems)),
    )  # fmt: skip


def _free(folder: Path, name: str) -> Path:
    """A name in a folder that nothing has: two targets may be one host, seen in one second."""
    paths = (folder / f"{name}{f'-{n}' if n else ''}{SUFFIX}" for n in range(1000))
    return next(path for path in paths if not os.path.lexists(path))


def check(where: Path, *, force: bool = False) -> None:
    """Raise UsageError where nothing may, or can, be saved at that place: before minutes are spent on collecting it."""
    if not archive.suffix_of(where) and where.suffix.lower() in _OTHER_SUFFIXES:
        raise UsageError("no bundle has that suffix", at=str(where), hint=f"a folder, or a name that ends in {', '.join(archive.FORMATS)}")
    if not os.path.lexists(where):
        return
    if where.is_dir() and not where.is_symlink() and not archive.suffix_of(where):
        if not any(where.iterdir()):
            return
        if force and _is_ours(where):
            return
        hint = "it is no bundle: --force replaces bundles only" if force else "a capture is saved to a new folder"
        raise UsageError("there is something already", at=str(where), hint=hint)
    if not force or not where.is_file():
        raise UsageError("there is something already", at=str(where), hint="another name, or --force to replace it" if where.is_file() else None)


def _is_ours(folder: Path) -> bool:
    try:
        bundle.load_all(folder)
    except ForensicsError:
        return False
    return True


def name_for(captures: Sequence[Capture], *, now: float) -> str:
    """``HOST-UNIT-YYYYmmddTHHMMSSZ``: when it was collected, by the host's clock where that is known."""
    first = captures[0]
    target = first.target
    host = (
        first.host
        or target.host
        or (target.paths[0].name.split(".")[0] if target.kind in (TargetKind.FILES, TargetKind.BUNDLE) and target.paths else target.name)
    )
    units = {c.pick.unit for c in captures}
    unit = next(iter(units)) if len(units) == 1 else None
    stamp = datetime.fromtimestamp(first.at if first.at is not None else now, timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    words = (host.rpartition("@")[2].removeprefix("-"), (unit or "").removesuffix(".service"), stamp)
    return "-".join(word for w in words if (word := _ODD.sub("_", w).strip("._")[:80]))


def write(captures: Sequence[Capture], where: Path, *, mask: Mask | None = secrets_in_bytes, force: bool = False) -> int:
    """Save to a folder or, by its suffix, to an archive that only this account can read; returns the bytes. It is there whole, or not at all."""
    check(where, force=force)
    try:
        if where.parent.exists() and not where.parent.is_dir():
            raise ForensicsError("cannot save the capture: Not a directory", at=str(where))
        where.parent.mkdir(parents=True, exist_ok=True)
        return (_write_archive if archive.suffix_of(where) else _write_folder)(captures, where, mask, force)
    except OSError as error:
        raise ForensicsError(f"cannot save the capture: {error.strerror or error}", at=str(where)) from error


def stream(captures: Sequence[Capture], out: BinaryIO, *, mask: Mask | None = secrets_in_bytes, now: float) -> int:
    """Write a ``.tar.zst`` to an open stream; returns the bytes that were packed."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="ddforensics-") as made:
        folder = Path(made) / "bundle"
        bundle.save_all(captures, folder, mask=mask)
        archive.pack(folder, out, suffix=SUFFIX, top=_top(name_for(captures, now=now), mask))
        return _size(folder)


def _top(name: str, mask: Mask | None) -> str:
    """The folder within an archive: a name that is made of the host's only where names stay."""
    return _PLAIN_TOP if isinstance(mask, Redactor) or not name else name


def _write_archive(captures: Sequence[Capture], where: Path, mask: Mask | None, force: bool) -> int:
    import tempfile

    suffix = archive.suffix_of(where)
    fd, name = tempfile.mkstemp(prefix=_TEMPORARY, suffix=".part", dir=where.parent)
    fresh = Path(name)
    try:
        with os.fdopen(fd, "wb") as out, tempfile.TemporaryDirectory(prefix="ddforensics-") as made:
            folder = Path(made) / "bundle"
            bundle.save_all(captures, folder, mask=mask)
            archive.pack(folder, out, suffix=suffix, top=_top(where.name[: -len(suffix)], mask))
        size = fresh.stat().st_size
        if force:
            fresh.replace(where)
        else:
            _place_new(fresh, where)
        return size
    finally:
        fresh.unlink(missing_ok=True)


def _place_new(fresh: Path, where: Path) -> None:
    """Under its name, unless something has come to be there meanwhile."""
    try:
        where.hardlink_to(fresh)
    except FileExistsError as error:
        raise UsageError("there is something already", at=str(where)) from error
    except OSError:  # a file system without links
        check(where)
        fresh.replace(where)


def _write_folder(captures: Sequence[Capture], where: Path, mask: Mask | None, force: bool) -> int:
    import shutil
    import tempfile

    fresh = Path(tempfile.mkdtemp(prefix=_TEMPORARY, suffix=".part", dir=where.parent))
    try:
        bundle.save_all(captures, fresh, mask=mask)
        size = _size(fresh)
        if force and (where / MANIFEST).exists():
            old = Path(tempfile.mkdtemp(prefix=_TEMPORARY, suffix=".old", dir=where.parent))
            where.rename(old)
            fresh.rename(where)
            shutil.rmtree(old)
        else:
            fresh.rename(where)  # refused by the system where something is in it by now
        return size
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())

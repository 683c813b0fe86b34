"""Save captures as a folder (``manifest.json`` and the answers, secrets masked) and load them again, out of the folder or out of an archive of it.

Reads no file outside of that folder. The format is in docs/bundle.md.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from forensics import lazily
from forensics.collect import masking
from forensics.collect.archive import Taken
from forensics.collect.masking import Mask
from forensics.collect.session import gaps
from forensics.collect.targets import MANIFEST
from forensics.errors import BundleError, ForensicsError, UsageError
from forensics.model import Capture, Coverage, PartKind, Pick, Problem, Section, Target, TargetKind
from forensics.redact import Redactor, secrets_in_bytes

SCHEMA = "ddforensics/capture/1"
SEVERAL = "ddforensics/captures/1"  # the manifest of a folder of captures: one host, several units
_MANIFEST_BYTES = 8 << 20
_MOST_SECTIONS = 10_000
_MOST_FIELDS = 100
_MOST_CAPTURES = 100
_ODD = lazily.pattern(r"[^A-Za-z0-9_.-]+")
_UNIT = lazily.pattern(r"[A-Za-z0-9:_.\\@-]{1,255}")
_MOST_S = 253370764800.0  # the year 9999 begins
_MOST = 1 << 62


def save(capture: Capture, folder: Path, *, mask: Mask | None = secrets_in_bytes) -> None:
    """Write a capture to a new (or empty) folder that only this account can read.

    ``mask`` takes the secrets out of text, a ``Redactor`` names as well; None keeps the answers byte for byte.
    """
    try:
        _save(capture, folder, mask)
    except OSError as error:
        raise ForensicsError(f"cannot save the capture: {error.strerror or error}", at=str(error.filename or folder)) from error


def _save(capture: Capture, folder: Path, mask: Mask | None) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError("there is something already", at=str(folder), hint="a capture is saved to a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    rows = []
    for number, section in enumerate(capture.sections):
        name = _masked(section.name, mask)
        file = f"{number:02d}-{_ODD.sub('_', name).strip('.') or 'section'}"[:80]
        masking.copy(section, folder / file, mask)
        status = section.path.stat()
        os.utime(folder / file, (status.st_atime, status.st_mtime))  # stamps without a year lean on it
        rows.append({
            "name": name, "file": file, "argv": _masked(section.argv, mask), "exit_code": section.exit_code, "took_s": section.took_s,
            "cut": section.cut, "coverage": str(section.coverage), "stderr": _masked(section.stderr, mask),
            "part": str(section.part) if section.part else None, "hint": str(section.hint) if section.hint else None,
            "bytes": (folder / file).stat().st_size,
        })  # fmt: skip
    manifest = {
        "schema": SCHEMA,
        "redacted": "all" if isinstance(mask, Redactor) else "secrets" if mask else "none",
        "target": {"kind": str(capture.target.kind), "name": _named(capture.target.name, mask), "host": _named(capture.target.host, mask)},
        "host": _named(capture.host, mask), "at": capture.at, "offset_s": capture.offset_s, "took_s": capture.took_s,
        "pick": {
            "asked": _named(capture.pick.asked, mask), "unit": capture.pick.unit, "how": capture.pick.how, "why": _masked(capture.pick.why, mask),
            "distance": capture.pick.distance, "candidates": list(capture.pick.candidates),
        },
        "problems": [{"source": _masked(p.source, mask), "line": p.line, "text": _masked(p.text, mask)} for p in capture.problems],
        "bench_window": list(capture.bench_window) if capture.bench_window else None,
        "bench_fields": dict(capture.bench_fields),
        "sections": rows,
    }  # fmt: skip
    _write(folder, manifest)


def _write(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Last: a folder without it is no capture, so that one that was not finished is not taken for one."""
    fresh = folder / (MANIFEST + ".new")
    fresh.write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", errors="backslashreplace")
    fresh.replace(folder / MANIFEST)


def save_all(captures: Sequence[Capture], folder: Path, *, mask: Mask | None = secrets_in_bytes) -> None:
    """Write one capture as ``save`` does; several, each in a folder of its own within the new one."""
    if len(captures) == 1:
        save(captures[0], folder, mask=mask)
        return
    names = [f"{number:02d}-{_ODD.sub('_', capture.pick.unit or 'host')}"[:80] for number, capture in enumerate(captures)]
    for name, capture in zip(names, captures, strict=True):
        save(capture, folder / name, mask=mask)
    try:
        folder.chmod(0o700)
        _write(folder, {"schema": SEVERAL, "captures": names})
    except OSError as error:
        raise ForensicsError(f"cannot save the captures: {error.strerror or error}", at=str(folder)) from error


def load(folder: Path) -> Capture:
    """The capture as it was when it was saved, target and all; the first one, where several were saved together.

    BundleError where the folder holds none, one of another version, or one that names files that are not its own.
    """
    return load_all(folder)[0]


def load_all(where: Path | Taken) -> tuple[Capture, ...]:
    """All captures that were saved together: of a folder, or of what was taken out of an archive. BundleError as for ``load``.

    What a cut-off archive had no more is not collected, what it had half of is cut; both are said.
    """
    place: _Place = _Packed(taken=where) if isinstance(where, Taken) else _Folder(folder=where)
    if isinstance(where, Taken) and where.twice:
        raise BundleError(f"it holds {where.twice[0]!r} more than once", at=where.at)
    manifest = _manifest(place)
    if manifest["schema"] == SCHEMA:
        places = [place]
    else:
        try:
            places = [place.below(_text(name)) for name in manifest["captures"]]
        except (KeyError, TypeError) as error:
            raise BundleError(f"the manifest is not as it should be: {error}", at=place.at) from error
        if not 0 < len(places) <= _MOST_CAPTURES:
            raise BundleError(f"the manifest is not as it should be: {len(places)} captures", at=place.at)
    captures = [_one(p, manifest if p is place else _manifest(p, (SCHEMA,))) for p in places]
    if isinstance(where, Taken):
        captures = [replace(c, problems=(*c.problems, *where.problems)) for c in captures]
    return tuple(captures)


def is_packed(taken: Taken) -> bool:
    """Whether what came out of an archive is a saved capture, of whatever version."""
    file = taken.files.get(MANIFEST)
    if file is None:
        return False
    with file.open("rb") as stream:
        return SCHEMA.rpartition("/")[0].encode() in stream.read(4096)


def fault(manifest: Path) -> str | None:
    """Why a manifest can be read as none at all, ours or anybody's; None where it is JSON. What lies beside it can still be read for itself."""
    if manifest.stat().st_size > _MANIFEST_BYTES:
        return None  # said where it is read
    try:
        json.loads(manifest.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        return f"no JSON: {error}"
    return None


class _Place(Protocol):
    """Where a saved capture's files are. ``file`` gives one of its own, ``manifest`` None where there is none."""

    @property
    def at(self) -> str: ...

    def manifest(self) -> Path | None: ...

    def file(self, name: str) -> Path: ...

    def below(self, name: str) -> _Place: ...


class _Folder(NamedTuple):
    folder: Path

    @property
    def at(self) -> str:
        return str(self.folder)

    def manifest(self) -> Path | None:
        where = self.folder / MANIFEST
        return None if where.is_symlink() or not where.is_file() else where

    def file(self, name: str) -> Path:
        path = self.folder / _own_name(name, self.at)
        if path.is_symlink() or not path.is_file():
            raise BundleError(f"{name!r} is missing, or no ordinary file", at=self.at)
        return path

    def below(self, name: str) -> _Folder:
        path = self.folder / _own_name(name, self.at)
        if path.is_symlink() or not path.is_dir():
            raise BundleError(f"{name!r} is missing, or no folder", at=self.at)
        return _Folder(folder=path)


class _Packed(NamedTuple):
    """``prefix`` ends with a slash, where there is one."""

    taken: Taken
    prefix: str = ""

    @property
    def at(self) -> str:
        return self.taken.at

    def manifest(self) -> Path | None:
        return self.taken.files.get(self.prefix + MANIFEST)

    def file(self, name: str) -> Path:
        key = self.prefix + _own_name(name, self.at)
        path = self.taken.files.get(key)
        if path is None and self.taken.broken:
            return self.taken.placeholder(key)
        if path is None:
            raise BundleError(f"{name!r} is missing, or no ordinary file", at=self.at)
        return path

    def below(self, name: str) -> _Packed:
        return _Packed(taken=self.taken, prefix=f"{self.prefix}{_own_name(name, self.at)}/")


def _manifest(place: _Place, known: Sequence[str] = (SCHEMA, SEVERAL)) -> Mapping[str, Any]:
    path = place.manifest()
    if path is None:
        raise BundleError("no capture: there is no manifest.json", at=place.at)
    where = f"{place.at}/{MANIFEST}"
    if path.stat().st_size > _MANIFEST_BYTES:
        raise BundleError("the manifest is too large to be one", at=where)
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise BundleError(f"the manifest is no JSON: {error}", at=where) from error
    schema = manifest.get("schema") if isinstance(manifest, dict) else None
    if schema not in known:
        raise BundleError(f"a capture of a version that this program does not know: {schema!r:.80}", at=where, hint=f"known: {', '.join(known)}")
    return dict(manifest)


def _one(place: _Place, manifest: Mapping[str, Any]) -> Capture:
    where = f"{place.at}/{MANIFEST}"
    try:
        return _capture(place, manifest)
    except KeyError as error:
        raise BundleError(f"the manifest is not as it should be: {error} is missing", at=where) from error
    except (TypeError, ValueError) as error:
        raise BundleError(f"the manifest is not as it should be: {error}", at=where) from error
    except OSError as error:
        raise BundleError(f"the manifest is not as it should be: {error.strerror}", at=where) from error


def _capture(place: _Place, manifest: Mapping[str, Any]) -> Capture:
    target, pick, rows = manifest["target"], manifest["pick"], manifest["sections"]
    if len(rows) > _MOST_SECTIONS:
        raise ValueError(f"sections: {len(rows)} of them")
    sections = tuple(_section(place, row) for row in rows)
    lost = [section for section, row in zip(sections, rows, strict=True) if section.size() < row.get("bytes", 0)]
    return Capture(
        target=Target(kind=TargetKind(target["kind"]), name=_text(target["name"]), host=_text_or_none(target["host"])),
        sections=sections,
        host=_text_or_none(manifest["host"]), at=_time(manifest, "at"), offset_s=_number(manifest, "offset_s", -_MOST_S), took_s=_number(manifest, "took_s"),
        pick=Pick(
            asked=_text_or_none(pick["asked"]), unit=_unit(pick["unit"], "unit") if pick["unit"] is not None else None, how=_text(pick["how"]), why=_text(pick["why"]),
            distance=_whole(pick, "distance"), candidates=tuple(_unit(c, "candidates") for c in pick["candidates"]),
        ),
        bench_window=_window(manifest.get("bench_window")),
        bench_fields=_fields(manifest.get("bench_fields")),
        problems=(*(Problem(source=_text(p["source"]), line=_whole(p, "line"), text=_text(p["text"])) for p in manifest["problems"]), *gaps(lost)),
    )  # fmt: skip


def _section(place: _Place, row: Mapping[str, Any]) -> Section:
    if not isinstance(row, dict):
        raise TypeError(f"sections: an object is wanted, not {row!r:.80}")
    hint = row.get("hint")
    section = Section(
        name=_text(row["name"]), path=place.file(_text(row["file"])), argv=_text(row["argv"]), exit_code=None if row["exit_code"] is None else _whole(row, "exit_code", -_MOST),
        took_s=_number(row, "took_s"), cut=_whole(row, "cut", -1), coverage=Coverage(row["coverage"]), stderr=_text(row["stderr"]),
        part=PartKind(row["part"]) if row["part"] is not None else None, hint=PartKind(hint) if hint is not None else None,
    )  # fmt: skip
    missing = _whole(row, "bytes") - section.size() if "bytes" in row else 0
    if missing <= 0:
        return section
    if section.size() == 0:
        return replace(section, coverage=Coverage.NOT_COLLECTED, cut=-1, stderr="it is missing in the saved capture, which is not whole")
    return replace(section, coverage=Coverage.CUT, cut=missing)


def _window(value: object) -> tuple[float, float] | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 2:
        raise TypeError(f"bench_window: two times are wanted, not {value!r:.80}")
    first, last = (_time({"bench_window": v}, "bench_window") for v in value)
    return (first, last) if first is not None and last is not None else None


def _fields(value: object) -> tuple[tuple[str, str], ...]:
    """As of a bundle that anybody wrote; one of an earlier version has none."""
    if value is None:
        return ()
    if not isinstance(value, dict) or len(value) > _MOST_FIELDS or not all(isinstance(item, str) for pair in value.items() for item in pair):
        raise TypeError(f"bench_fields: names and what they mean are wanted, not {value!r:.80}")
    return tuple(value.items())


def _own_name(name: str, at: str) -> str:
    """The name, where it can be that of a file straight within the capture's folder; it may come from anybody."""
    if name in ("", ".", "..", MANIFEST) or "/" in name or "\\" in name or "\0" in name:
        raise BundleError(f"it names a file that is not its own: {name!r:.200}", at=at)
    return name


def _masked(text: str, mask: Mask | None) -> str:
    # a file's name that is no UTF-8 has half characters, as JSON may
    return mask(text.encode("utf-8", "backslashreplace")).decode("utf-8", "replace") if mask else text


def _named(text: str | None, mask: Mask | None) -> str | None:
    """A text that may be a host's name as a whole."""
    if text is None:
        return None
    return _masked(mask.name(text) if isinstance(mask, Redactor) else text, mask)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text is wanted, not {value!r:.80}")
    return value


def _text_or_none(value: object) -> str | None:
    return None if value is None else _text(value)


def _unit(value: object, key: str) -> str:
    """A name that may stand in a command that somebody is told to type."""
    if not _UNIT.fullmatch(_text(value)):
        raise ValueError(f"{key}: no name of a unit: {value!r:.80}")
    return _text(value)


def _time(values: Mapping[str, Any], key: str) -> float | None:
    return _number(values, key, 0.0)


def _number(values: Mapping[str, Any], key: str, least: float = 0.0) -> float | None:
    """A number that a clock can show; JSON as Python reads it has NaN, Infinity and numbers of any length."""
    value = values[key]
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{key}: a number is wanted, not {value!r:.80}")
    if not least <= value < _MOST_S:
        raise ValueError(f"{key}: no number that a clock can show: {value!r:.80}")
    return float(value)


def _whole(values: Mapping[str, Any], key: str, least: int = 0) -> int:
    value = values[key]
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MOST:
        raise ValueError(f"{key}: a whole number is wanted, not {value!r:.80}")
    return value

"""Save a capture as a folder (``manifest.json`` and the answers, secrets masked) and load it again. Reads no file outside of that folder."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forensics.collect import masking
from forensics.collect.masking import Mask
from forensics.collect.targets import MANIFEST
from forensics.errors import BundleError, ForensicsError, UsageError
from forensics.model import Capture, Coverage, PartKind, Pick, Problem, Section, Target, TargetKind
from forensics.redact import secrets_in_bytes

SCHEMA = "ddforensics/capture/1"
_MANIFEST_BYTES = 8 << 20
_ODD = re.compile(r"[^A-Za-z0-9_.-]+")
_UNIT = re.compile(r"[A-Za-z0-9:_.\\@-]{1,255}")
_MOST_S = 253370764800.0  # the year 9999 begins
_MOST = 1 << 62


def save(capture: Capture, folder: Path, *, mask: Mask | None = secrets_in_bytes) -> None:
    """Write a capture to a new (or empty) folder that only this account can read.

    ``mask`` takes the secrets out of text; None keeps the answers byte for byte.
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
        file = f"{number:02d}-{_ODD.sub('_', section.name).strip('.') or 'section'}"[:80]
        masking.copy(section, folder / file, mask)
        rows.append({
            "name": section.name, "file": file, "argv": _masked(section.argv, mask), "exit_code": section.exit_code, "took_s": section.took_s,
            "cut": section.cut, "coverage": str(section.coverage), "stderr": _masked(section.stderr, mask),
            "part": str(section.part) if section.part else None,
        })  # fmt: skip
    manifest = {
        "schema": SCHEMA,
        "target": {"kind": str(capture.target.kind), "name": capture.target.name, "host": capture.target.host},
        "host": capture.host, "at": capture.at, "offset_s": capture.offset_s, "took_s": capture.took_s,
        "pick": {
            "asked": capture.pick.asked, "unit": capture.pick.unit, "how": capture.pick.how, "why": capture.pick.why,
            "distance": capture.pick.distance, "candidates": list(capture.pick.candidates),
        },
        "problems": [{"source": p.source, "line": p.line, "text": _masked(p.text, mask)} for p in capture.problems],
        "bench_window": list(capture.bench_window) if capture.bench_window else None,
        "sections": rows,
    }  # fmt: skip
    # last: a folder without it is no capture, so that one that was not finished is not taken for one
    fresh = folder / (MANIFEST + ".new")
    fresh.write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", errors="backslashreplace")
    fresh.replace(folder / MANIFEST)


def load(folder: Path) -> Capture:
    """The capture as it was when it was saved, target and all.

    BundleError where the folder holds none, one of another version, or one that names files that are not its own.
    """
    where = folder / MANIFEST
    if where.is_symlink() or not where.is_file():
        raise BundleError("no capture: there is no manifest.json", at=str(folder))
    if where.stat().st_size > _MANIFEST_BYTES:
        raise BundleError("the manifest is too large to be one", at=str(where))
    try:
        manifest = json.loads(where.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise BundleError(f"the manifest is no JSON: {error}", at=str(where)) from error
    schema = manifest.get("schema") if isinstance(manifest, dict) else None
    if schema != SCHEMA:
        raise BundleError(f"a capture of a version that this program does not know: {schema!r}", at=str(where), hint=f"known: {SCHEMA}")
    try:
        return _capture(folder, manifest)
    except KeyError as error:
        raise BundleError(f"the manifest is not as it should be: {error} is missing", at=str(where)) from error
    except (TypeError, ValueError) as error:
        raise BundleError(f"the manifest is not as it should be: {error}", at=str(where)) from error
    except OSError as error:
        raise BundleError(f"the manifest is not as it should be: {error.strerror}", at=str(where)) from error


def _capture(folder: Path, manifest: Mapping[str, Any]) -> Capture:
    target, pick = manifest["target"], manifest["pick"]
    return Capture(
        target=Target(kind=TargetKind(target["kind"]), name=_text(target["name"]), host=_text_or_none(target["host"])),
        sections=tuple(_section(folder, row) for row in manifest["sections"]),
        host=_text_or_none(manifest["host"]), at=_time(manifest, "at"), offset_s=_number(manifest, "offset_s", -_MOST_S), took_s=_number(manifest, "took_s"),
        pick=Pick(
            asked=_text_or_none(pick["asked"]), unit=_unit(pick["unit"], "unit") if pick["unit"] is not None else None, how=_text(pick["how"]), why=_text(pick["why"]),
            distance=_whole(pick, "distance"), candidates=tuple(_unit(c, "candidates") for c in pick["candidates"]),
        ),
        bench_window=_window(manifest.get("bench_window")),
        problems=tuple(Problem(source=_text(p["source"]), line=_whole(p, "line"), text=_text(p["text"])) for p in manifest["problems"]),
    )  # fmt: skip


def _section(folder: Path, row: Mapping[str, Any]) -> Section:
    return Section(
        name=_text(row["name"]), path=_own_file(folder, _text(row["file"])), argv=_text(row["argv"]), exit_code=None if row["exit_code"] is None else _whole(row, "exit_code", -_MOST),
        took_s=_number(row, "took_s"), cut=_whole(row, "cut", -1), coverage=Coverage(row["coverage"]), stderr=_text(row["stderr"]),
        part=PartKind(row["part"]) if row["part"] is not None else None,
    )  # fmt: skip


def _window(value: object) -> tuple[float, float] | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 2:
        raise TypeError(f"bench_window: two times are wanted, not {value!r:.80}")
    first, last = (_time({"bench_window": v}, "bench_window") for v in value)
    return (first, last) if first is not None and last is not None else None


def _own_file(folder: Path, name: str) -> Path:
    path = folder / name
    if name in ("", ".", "..", MANIFEST) or "/" in name or "\\" in name or "\0" in name:
        raise BundleError(f"it names a file that is not its own: {name!r}", at=str(folder / MANIFEST))
    if path.is_symlink() or not path.is_file():
        raise BundleError(f"{name!r} is missing, or no ordinary file", at=str(folder))
    return path


def _masked(text: str, mask: Mask | None) -> str:
    # a file's name that is no UTF-8 has half characters, as JSON may
    return mask(text.encode("utf-8", "backslashreplace")).decode("utf-8", "replace") if mask else text


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

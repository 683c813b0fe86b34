"""Faults staged on real hosts as cases: the files that a user would have pulled of each, in several dresses, and how an answer compares with what was staged.

The labels are ``staged.yaml``. How long a life lasted is read from ``systemctl show`` and the journal's own fields, by code that shares nothing with the program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.cases.judge import HERE, answer
from tests.testbed import truth
from tests.testbed.bed import HOSTS
from tests.testbed.formats import is_cut

LABELS: dict[str, Any] = yaml.safe_load((HERE / "staged.yaml").read_text(encoding="utf-8"))
EXTRA = ("extra-bullseye-247", "extra-bookworm-252", "extra-trixie-257")
# each host's entries are given in another format, so that all are used
ENTRIES = {"bullseye-247": "json", "trixie-257": "verbose", "qemu-bookworm-252": "json"}
FULL = "bookworm-252"  # of which the dresses are tried that need no second version of systemd
UNBLAMED = ("healthy", "unknown")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A fault on a host in one dress. ``label`` has the keys of ``staged.yaml``."""

    host: str
    fault: str
    dress: str
    unit: str
    files: Mapping[str, str | Path]
    label: Mapping[str, Any]
    lived_s: float | None  # None: it lives, or the evidence does not say
    within_s: float
    silent: bool = False  # where it may be left open how long it lived

    @property
    def id(self) -> str:
        return f"{self.host}/{self.fault}/{self.dress}"


class Lasted(NamedTuple):
    """How long the life at issue lasted, give or take; ``silent``: an answer that leaves it open is as good."""

    s: float | None
    within: float
    silent: bool = False


@dataclass(frozen=True, kw_only=True)
class Answered:
    """What the program said about a case, and in how far that was right."""

    case: Case
    found: Mapping[str, Any]
    verdict: str
    firm: bool
    phase: bool
    lived: bool
    end: tuple[str, ...]  # what is wrong with it
    quotes: tuple[tuple[str, ...], tuple[str, ...]]  # cited, not cited
    also: bool

    def __str__(self) -> str:
        found = self.found
        return (
            f"{self.case.id}: {self.verdict}: {found['cause']}/{found['status']} for {self.case.label['cause']}, phase {found['phase']}, "
            f"lived {found['died_after_s']} for {self.case.lived_s}, end {found['end']} {self.end}, not cited {self.quotes[1]}"
        )


def cases(testbed: Path) -> Iterator[Case]:
    """Every fault on every host it was staged on, in the dresses that it has there."""
    for fault, label in LABELS["faults"].items():
        for host in label.get("where", HOSTS):
            folder = testbed / host / label.get("of", fault)
            if folder.is_dir():
                yield from _dressed(host, fault, folder, label)
    for name, label in LABELS["hosts"].items():
        for host in EXTRA:
            folder = testbed / host / label.get("of", name)
            files: dict[str, str | Path] = {f: folder / f for f in label["files"] if (folder / f).exists() and (folder / f).stat().st_size}
            yield Case(host=host, fault=name, dress="host", unit=label["unit"], files=files, label=label, lived_s=None, within_s=0, silent=True)


def _dressed(host: str, fault: str, folder: Path, told: Mapping[str, Any]) -> Iterator[Case]:
    label = {**told, **told.get("hosts", {}).get(host, {})}
    shown = truth.show(folder / "show.out")
    duration = said_duration(folder / "status.out")
    lived, alive = lived_s(folder), label.get("end", {}).get("kind") == "none"
    unit = shown["Id"]

    def case(dress: str, files: Mapping[str, str | Path], lasted: Lasted, *keys: str) -> Case:
        fitted = dict(label)
        for key in keys:
            fitted |= label.get(key, {})
        given = {n: f for n, f in files.items() if not isinstance(f, Path) or (f.exists() and f.stat().st_size)}
        life, silent = (None, False) if alive else (lasted.s, lasted.silent)
        return Case(host=host, fault=fault, unit=unit, dress=dress, files=given, label=fitted, lived_s=life, within_s=lasted.within, silent=silent)

    journal = folder / "journal-short-iso.out"
    state = {"status.txt": folder / "status.out", "status.err": folder / "status.err", "is-active.txt": folder / "is-active.out"}
    if is_cut(journal) and duration is None:  # the status is of a later life than the last that the file has whole
        label, lived = {**label, "end": {}}, None
    timed = Lasted(duration, 0.06) if duration is not None else Lasted(lived, 1.1, lived is None)
    alone = Lasted(duration, 0.06, duration is None)
    yield case("a", {"journal.txt": journal, **state}, timed)
    yield case("b", {"status.txt": folder / "status.out", "status.err": folder / "status.err"}, alone, "status_only")
    kind = ENTRIES.get(host, "export")
    if not is_cut(entries := folder / f"journal-{kind}.out"):
        begun = monotonic(shown)
        exact = Lasted(begun, 0.06) if begun is not None else Lasted(lived, 0.3, lived is None)
        yield case("c", {f"journal.{kind}": entries, "show.txt": folder / "show.out"}, exact)
    if host.startswith("qemu"):
        yield case("d", {"journal.txt": journal, **state, "kernel.txt": folder.parent / "kernel-short.txt"}, timed)
        yield case("k", {"status.txt": folder / "status.out", "dmesg.txt": folder.parent / "dmesg-T.txt"}, alone, "status_only")
    if host == FULL:
        yield case("p", {"terminal.txt": pasted(folder, unit)}, timed._replace(silent=True), "pasted")
        if "plain" in label and not is_cut(folder / "journal-json.out") and (text := server_lines(folder)):
            yield case("e", {"log.txt": text}, Lasted(None, 0, silent=True), "plain")


def said_duration(status: Path) -> float | None:
    """``Duration: 1min 4.2s``, as status says it of a unit that is over."""
    found = re.search(r"^ +Duration: (.+)$", status.read_text(errors="replace"), re.MULTILINE)
    if found is None:
        return None
    scale = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
    return sum(float(n) * scale[u] for n, u in re.findall(r"([\d.]+)(us|ms|min|s|h)\b", found[1]))


def monotonic(shown: Mapping[str, str]) -> float | None:
    """From active to its end, of a unit that is over."""
    begun, ended = (int(shown.get(f"Active{edge}TimestampMonotonic", "0")) for edge in ("Enter", "Exit"))
    over = shown.get("ActiveState") in ("failed", "inactive") and ended > begun > 0
    return (ended - begun) / 1e6 if over else None


def lived_s(folder: Path) -> float | None:
    """The last life that began and ended in the journal, from its first line of systemd to its exit."""
    if not (folder / "journal-json.out").stat().st_size:
        return None
    ended = [life for life in truth.lives(truth.events(folder)) if life.start is not None and life.exit is not None]
    last = ended[-1] if ended else None
    return last.exit.at - last.start.at if last is not None and last.exit is not None and last.start is not None else None


def pasted(folder: Path, unit: str) -> str:
    """A terminal in which somebody started the unit, and looked."""
    said = re.sub(r"^rc=\d+\n?", "", (folder / "start.txt").read_text(errors="replace"), flags=re.MULTILINE)
    tail = (folder / "journal-short.out").read_text(errors="replace").splitlines(keepends=True)[-20:]
    state = [(folder / f"status.{kind}").read_text(errors="replace") for kind in ("out", "err") if (folder / f"status.{kind}").exists()]
    name = unit.replace("\\", "\\\\")
    return (
        f"root@tb1:~# systemctl start {name}\n{said}root@tb1:~# systemctl status --no-pager -l {name}\n{''.join(state)}"
        f"root@tb1:~# journalctl -u {name} --no-pager -n 20\n{''.join(tail)}root@tb1:~# \n"
    )


def server_lines(folder: Path) -> str:
    """What the unit's own processes printed, as a terminal or a file would have it."""
    lines = []
    for row in filter(None, (folder / "journal-json.out").read_text(errors="replace").split("\n")):
        entry = json.loads(row)
        if entry.get("_TRANSPORT") == "stdout" and entry.get("_PID") != "1":
            message = entry.get("MESSAGE") or ""
            lines.append(bytes(message).decode(errors="replace") if isinstance(message, list) else message)
    return "".join(line + "\n" for line in lines)


def asked(case: Case, work: Path) -> Answered:
    """Put the files where a user would, ask, and compare."""
    evidence = work / case.id.replace("/", "-")
    evidence.mkdir(parents=True)
    text = ""
    for name, content in case.files.items():
        body = content.read_bytes() if isinstance(content, Path) else content.encode()
        (evidence / name).write_bytes(body)
        text += body.decode(errors="replace")
    named = case.unit if case.dress in "ad" or not case.files else None
    found, _ = answer(evidence, unit=named)
    return compared(case, found, text)


def compared(case: Case, found: Mapping[str, Any], text: str) -> Answered:
    """Judge an answer; ``text`` is all that the program was given."""
    label, cause, status = case.label, found["cause"], found["status"]
    if cause == label["cause"] or cause in label.get("accept", ()):
        verdict = "right"
    elif cause == "unknown":
        verdict = "missed"
    else:
        verdict = "misleading" if cause in label.get("not", ()) or status == "established" else "wrong"
    phases = _several(label["phase"]) if "phase" in label else None
    lenient = [None] if case.dress in ("b", "k", "p", "e") else []
    cited = "\n".join(e["text"] for e in found["evidence"])
    wanted = [q for q in label.get("quotes", ()) if q in text]
    lived = found["died_after_s"]
    return Answered(
        case=case,
        found=found,
        verdict=verdict,
        firm=status in ("established", "supported"),
        phase=phases is None or found["phase"] in [*phases, *lenient],
        lived=case.silent or (lived is None if case.lived_s is None else lived is not None and abs(lived - case.lived_s) <= case.within_s),
        end=tuple(_end_faults(case, found)),
        quotes=(tuple(q for q in wanted if q in cited), tuple(q for q in wanted if q not in cited)),
        also=case.dress == "e" or set(label.get("also", ())) <= {*found["also"], cause},
    )


def _end_faults(case: Case, found: Mapping[str, Any]) -> Iterator[str]:
    for key, value in case.label.get("end", {}).items():
        may = _several(value)
        if case.dress in ("b", "k") and key in ("by", "signal", "status"):
            may = [*may, "unknown", None]  # its ten lines need not show it
        if found["end"][key] not in may:
            yield f"{key} {found['end'][key]} for {value}"


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [value]

"""Turn the logs of package managers into changes. Never says which of them matters."""

from __future__ import annotations

from forensics import clock, lazily
from forensics.model import PackageChange, Problem

_ZONE = lazily.pattern(r"^zone=(?P<sign>[+-])(?P<h>\d\d)(?P<m>\d\d)$")
_DPKG = lazily.pattern(
    r"^(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?P<what>install|upgrade|remove) (?P<name>[a-z0-9][a-z0-9+.-]{0,100})(?::[a-z0-9]{1,20})? (?P<before>\S{1,120}) (?P<after>\S{1,120})$"
)
_DNF = lazily.pattern(
    r"^(?P<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d{4})) \w{1,12} (?P<what>Installed|Upgrade|Upgraded|Erase|Erased): (?P<name>[\w.+-]{1,120})-(?P<version>(?:\d{1,4}:)?[^-\s]{1,80}-[^-\s]{1,80})$"
)
_PACMAN = lazily.pattern(
    r"^\[(?P<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4})\] \[ALPM\] (?P<what>installed|upgraded|removed) (?P<name>[\w@.+-]{1,120}) \((?P<versions>[^)]{1,200})\)$"
)
_ZYPP = lazily.pattern(r"^(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\|(?P<what>install|remove) ?\|(?P<name>[\w.+-]{1,120})\|(?P<version>[^|]{1,80})\|")
_NONE = "<none>"


def packages(text: str, *, source: str = "", first_line: int = 1) -> tuple[tuple[PackageChange, ...], tuple[Problem, ...]]:
    """Changes out of ``dpkg.log``, ``dnf.rpm.log``, ``pacman.log`` and ``zypp/history``, in order of their lines.

    dpkg and zypper write the host's own clock without a zone: a line ``zone=+0200`` before them says which; else they are taken as UTC.
    """
    offset_s = 0.0
    found: list[PackageChange] = []
    old: dict[str, str] = {}  # dnf tells the old version on a line of its own
    for number, raw in enumerate(text.split("\n"), first_line):
        line = raw[:400].rstrip()
        if match := _ZONE.match(line):
            offset_s = (1 if match["sign"] == "+" else -1) * (int(match["h"]) * 3600 + int(match["m"]) * 60)
            continue
        change = _dpkg(line, offset_s) or _dnf(line, old) or _pacman(line) or _zypp(line, offset_s)
        if change is not None:
            at, name, before, after = change
            found.append(PackageChange(at=at, name=name, before=before, after=after, source=source, line_no=number, text=line))
    return tuple(found), ()


Change = tuple[float, str, str, str]


def _dpkg(line: str, offset_s: float) -> Change | None:
    match = _DPKG.match(line)
    at = clock.parse_stamp(match["at"]) if match else None
    if match is None or at is None:
        return None
    before, after = (word if word != _NONE else "" for word in (match["before"], match["after"]))
    return at - offset_s, match["name"], before, "" if match["what"] == "remove" else after


def _dnf(line: str, old: dict[str, str]) -> Change | None:
    match = _DNF.match(line)
    at = clock.parse_stamp(match["at"]) if match else None
    if match is None or at is None:
        return None
    version = match["version"].rpartition(".")[0] or match["version"]  # without the architecture
    if match["what"] == "Upgraded":
        old[match["name"]] = version
        return None
    if match["what"].startswith("Erase"):
        return at, match["name"], version, ""
    return at, match["name"], old.get(match["name"], ""), version


def _pacman(line: str) -> Change | None:
    match = _PACMAN.match(line)
    at = clock.parse_stamp(match["at"]) if match else None
    if match is None or at is None:
        return None
    before, arrow, after = match["versions"].partition(" -> ")
    if arrow:
        return at, match["name"], before, after
    return (at, match["name"], before, "") if match["what"] == "removed" else (at, match["name"], "", before)


def _zypp(line: str, offset_s: float) -> Change | None:
    match = _ZYPP.match(line)
    at = clock.parse_stamp(match["at"]) if match else None
    if match is None or at is None:
        return None
    return (at - offset_s, match["name"], *((match["version"], "") if match["what"] == "remove" else ("", match["version"])))

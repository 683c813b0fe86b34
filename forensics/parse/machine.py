"""Turn what a machine says of its memory, pressure, clock, driver and disks into figures. Never says what is too little."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from forensics import lazily
from forensics.model import FileSystem, Problem
from forensics.parse.systemd import gib

_KIB = 1024.0**2  # of them are a GiB
_MEMINFO = lazily.pattern(r"^(?P<key>[A-Z]\w{1,30}):\s+(?P<value>\d{1,15})(?: kB)?\s*$")
_NAMES = {
    "MemTotal": "mem_total_gib",
    "MemFree": "mem_free_gib",
    "MemAvailable": "mem_available_gib",
    "SwapTotal": "swap_total_gib",
    "SwapFree": "swap_free_gib",
    "Shmem": "shared_gib",
}
_FREE_HEAD = lazily.pattern(r"^\s+total\s+used\s+free\b")
_FREE = lazily.pattern(r"^(?P<what>Mem|Swap):\s+(?P<rest>\d\S*(?:\s+\d\S*){1,6})\s*$")
_PRESSURE = lazily.pattern(r"^pressure\.(?P<what>memory|cpu|io) (?P<how>some|full) avg10=(?P<avg10>\d+\.\d+) avg60=(?P<avg60>\d+\.\d+)")
_SAID = lazily.pattern(r"^(?P<key>loadavg|zone|synchronised|synchronised_by)=(?P<value>[\x21-\x7e][\x20-\x7e]{0,79})$")
_LEAP = lazily.pattern(r"^Leap status\s*: (?P<said>[A-Za-z ]{1,30})$")
_OFF = lazily.pattern(r"^System time\s*: (?P<s>\d+\.\d+) seconds (?P<way>slow|fast) of NTP time")
_TIMEDATECTL = lazily.pattern(r"^\s*(?:System clock|NTP) synchronized: (?P<said>yes|no)\s*$")
_DRIVER = lazily.pattern(r"^NVRM version: NVIDIA [^\n]{0,80}?\s(?P<driver>\d{3}\.\d{1,3}(?:\.\d{1,3})?)\s")
_SMI = lazily.pattern(r"\bDriver Version: (?P<driver>\d{3}\.[\d.]{1,12})")
_CUDA = lazily.pattern(r"\bCUDA Version\s{0,12}: ?(?P<cuda>\d{1,2}\.\d{1,2})\b")


@dataclass(eq=False, repr=False)
class Said:
    """Figures and words by name, and the line that each was read in."""

    figures: dict[str, float] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    lines: dict[str, tuple[str, int, str]] = field(default_factory=dict)

    def figure(self, name: str, value: float | None, source: str, number: int, text: str) -> None:
        """Note a number; None is nothing."""
        if value is not None:
            self.figures[name] = value
            self.lines[name] = (source, number, text.strip()[:400])

    def word(self, name: str, value: str, source: str, number: int, text: str) -> None:
        """Note a word."""
        self.said[name] = value
        self.lines[name] = (source, number, text.strip()[:400])


def machine(text: str, said: Said, *, source: str = "", first_line: int = 1) -> tuple[Problem, ...]:
    """``/proc/meminfo``, ``free -h``, ``/proc/pressure/*`` behind their names, chrony's tracking, and the driver's version; other lines are passed over."""
    found = 0
    for number, raw in enumerate(text.split("\n"), first_line):
        line = raw[:400].rstrip()
        if not line:
            continue
        before = len(said.lines)
        if match := _MEMINFO.match(line):
            if match["key"] in _NAMES:
                said.figure(_NAMES[match["key"]], int(match["value"]) / _KIB, source, number, line)
        elif match := _FREE.match(line):
            _free(match["what"], match["rest"].split(), said, source, number, line)
        elif match := _PRESSURE.match(line):
            said.figure(f"pressure_{match['what']}_{match['how']}", float(match["avg60"]), source, number, line)
        elif match := _SAID.match(line):
            said.word(match["key"], match["value"], source, number, line)
        elif match := _LEAP.match(line):
            said.word("synchronised", "no" if match["said"].startswith("Not") else "yes", source, number, line)
        elif match := _OFF.match(line):
            said.figure("clock_error_s", float(match["s"]) * (-1 if match["way"] == "slow" else 1), source, number, line)
        elif match := _TIMEDATECTL.match(line):
            said.word("synchronised", match["said"], source, number, line)
        else:
            driver(line, said, source=source, number=number)
        found += len(said.lines) > before
    if not found and text.strip() and not any(_FREE_HEAD.match(line) for line in text.split("\n")):
        return (Problem(source=source, line=first_line, text="no figure in it: " + text.strip().split("\n")[0][:80]),)
    return ()


def driver(line: str, said: Said, *, source: str, number: int) -> None:
    """The versions of driver and CUDA, where a line tells them."""
    if match := _DRIVER.match(line) or _SMI.search(line[:200]):
        said.word("driver", match["driver"], source, number, line)
    if match := _CUDA.search(line[:200]):
        said.word("cuda", match["cuda"], source, number, line)


def _free(what: str, cells: list[str], said: Said, source: str, number: int, line: str) -> None:
    """A row of ``free -h``; without letters nobody knows whether it counts in KiB, MiB or GiB."""
    values = [gib(c.removesuffix("i").removesuffix("B")) if c[-1:].isalpha() else None for c in cells]
    names = ("mem_total_gib", None, "mem_free_gib", None, None, "mem_available_gib") if what == "Mem" else ("swap_total_gib", None, "swap_free_gib")
    for name, value in zip(names, values, strict=False):
        if name:
            said.figure(name, value, source, number, line)


# --------------------------------------------------------------------------- disks

_ROW = lazily.pattern(
    r"^(?P<device>\S.{0,200}?)\s+(?P<size>\d[\d.]*[BKMGTPE]?|-)\s+(?P<used>\d[\d.]*[BKMGTPE]?|-)\s+(?P<free>-?\d[\d.]*[BKMGTPE]?|-)\s+(?P<share>\d{1,3}%|-)\s+(?P<mount>/.{0,400})$"
)
_BLOCKS = {"1K-blocks": 1024, "1024-blocks": 1024, "512-blocks": 512, "1M-blocks": 1 << 20, "1048576-blocks": 1 << 20, "1G-blocks": 1 << 30}
_REMOTE = lazily.pattern(r"^remote=(?P<type>\S{1,40}) (?P<mount>/\S{0,400})$")


def disks(text: str, *, source: str = "", first_line: int = 1) -> tuple[tuple[FileSystem, ...], tuple[str, ...], tuple[Problem, ...]]:
    """File systems out of ``df`` in blocks, with letters (``-h``) or in inodes (``-i``), joined by mount point; and the mounts of other machines' disks."""
    found: dict[str, FileSystem] = {}
    remote: list[str] = []
    inodes, block, headed = False, 1024, False
    for number, raw in enumerate(text.split("\n"), first_line):
        line = raw[:1000].rstrip()
        if match := _REMOTE.match(line):
            remote.append(match["mount"])
        elif " Mounted on" in line and line.startswith("Filesystem"):
            headed, inodes = True, " Inodes" in line
            block = next((size for word, size in _BLOCKS.items() if word in line), 1024)
        elif headed and (match := _ROW.match(line)):
            mount = match["mount"]
            held = found.get(mount, FileSystem(mount=mount, device=match["device"].split()[0], source=source, line_no=number, text=line))
            if inodes:
                share = _share(match["free"], match["size"])
                full = share is not None and share < 0.01
                found[mount] = replace(held, inodes_free=share, line_no=number if full else held.line_no, text=line if full else held.text)
            else:
                found[mount] = replace(held, size_gib=_size(match["size"], block), free_gib=_size(match["free"], block))
    if not headed and text.strip():
        return (), tuple(remote), (Problem(source=source, line=first_line, text="no list of file systems: " + text.strip().split("\n")[0][:80]),)
    return tuple(found.values()), tuple(remote), ()


def _size(word: str, block: int) -> float | None:
    if word == "-":
        return None
    if word[-1].isalpha():
        return gib(word)
    return float(word) * block / 1024.0**3


def _share(free: str, size: str) -> float | None:
    if not (free.isdigit() and size.isdigit()) or not int(size):
        return None  # btrfs and the like count none
    return int(free) / int(size)

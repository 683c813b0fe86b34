"""Read when the files of a unit were written, and what its control group counts. Never compares them with anything."""

from __future__ import annotations

from forensics import lazily
from forensics.model import Problem, UnitFile
from forensics.parse.machine import Said

_FILE = lazily.pattern(r"^file=(?P<at>\d{1,11})(?:\.\d+)? (?P<path>/.{1,600})$")
_FIGURE = lazily.pattern(r"^(?P<key>memory\.[a-z_.]{1,40})=(?P<value>\d{1,20}|max)$")
_GROUP = lazily.pattern(r"^cgroup=(?P<group>/.{0,600})$")
_BYTES = {
    "memory.max": "cgroup_max_gib",
    "memory.high": "cgroup_high_gib",
    "memory.peak": "cgroup_peak_gib",
    "memory.current": "cgroup_current_gib",
    "memory.limit_in_bytes": "cgroup_max_gib",
    "memory.max_usage_in_bytes": "cgroup_peak_gib",
    "memory.usage_in_bytes": "cgroup_current_gib",
}
_COUNTS = {
    "memory.events.oom_kill": "cgroup_oom_kills",
    "memory.oom_control.oom_kill": "cgroup_oom_kills",
    "memory.events.oom": "cgroup_ooms",
    "memory.events.max": "cgroup_at_max",
}
_NO_LIMIT = 1 << 62  # version 1 writes the largest multiple of a page where there is none


def unit_now(text: str, said: Said, *, source: str = "", first_line: int = 1) -> tuple[tuple[UnitFile, ...], tuple[Problem, ...]]:
    """``file=SECONDS PATH`` lines, and ``memory.…=NUMBER`` lines of the control group (both versions)."""
    files: list[UnitFile] = []
    problems: list[Problem] = []
    for number, raw in enumerate(text.split("\n"), first_line):
        line = raw[:1000].rstrip()
        if match := _FILE.match(line):
            path = match["path"]
            role = "drop-in" if ".d/" in path and path.endswith(".conf") else "fragment"
            files.append(UnitFile(path=path, changed_at=float(match["at"]), role=role, source=source, line_no=number, text=line))
        elif match := _FIGURE.match(line):
            value = None if match["value"] == "max" else int(match["value"])
            if name := _BYTES.get(match["key"]):
                said.figure(name, value / 1024.0**3 if value is not None and value < _NO_LIMIT else None, source, number, line)
            elif name := _COUNTS.get(match["key"]):
                said.figure(name, float(value) if value is not None else None, source, number, line)
        elif match := _GROUP.match(line):
            said.word("cgroup", match["group"], source, number, line)
        elif line.strip():
            problems.append(Problem(source=source, line=number, text="neither a file nor a figure: " + line[:80]))
    return tuple(files), tuple(problems[:20])

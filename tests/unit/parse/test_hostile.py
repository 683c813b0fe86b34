"""Lines that a service writes to look like somebody else's: where the format names the writer, they make no boots, no answers and no ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.model import Origin
from tests.unit.parse.framing import frames_of, written
from tests.unit.reason.telling import diagnosed, folder

START = "May 09 10:15:18 gpu01 systemd[1]: Started app.service - App.\n"
OWN = "May 09 10:15:20 gpu01 app[900]: {text}\n"
END = """\
May 09 10:15:51 gpu01 systemd[1]: app.service: Main process exited, code=exited, status=1/FAILURE
May 09 10:15:51 gpu01 systemd[1]: app.service: Failed with result 'exit-code'.
"""
KILLED = "app.service: Main process exited, code=killed, status=9/KILL"
BOOT = "-- Boot 422dae7d88114a028ac813fbcfa2bbc5 --"
FURTHER = " " * len("May 09 10:15:20 gpu01 app[900]: ")
LIES = {
    "a boot": OWN.format(text=BOOT),
    "a reboot": OWN.format(text="-- Reboot --"),
    "an empty answer": OWN.format(text="-- No entries --"),
    "a line of systemd": OWN.format(text=f"May 09 10:15:20 gpu01 systemd[1]: {KILLED}"),
    "a prompt": OWN.format(text="user@host:~$ journalctl -u other.service"),
    "a boot in a further line": OWN.format(text="hello") + f"{FURTHER}{BOOT}\n",
    "systemd in a further line": OWN.format(text="hello") + f"{FURTHER}May 09 10:15:20 gpu01 systemd[1]: {KILLED}\n",
    "a prompt in a further line": OWN.format(text="hello") + f"{FURTHER}$ journalctl -u other.service\n{FURTHER}-- No entries --\n",
    "another systemd": f"May 09 10:15:20 gpu01 systemd[900]: {KILLED}\n",
    "a program called like one of systemd's": f"May 09 10:15:20 gpu01 systemd-docker[900]: {KILLED}\n",
    "one of systemd's own names": f"May 09 10:15:20 gpu01 systemd-logind[900]: {KILLED}\n",
    "a kernel": "May 09 10:15:20 gpu01 kernel[900]: Out of memory: Killed process 900 (app) total-vm:1kB\n",
    "a nul, a title and half a letter": OWN.format(text="\0\x1b]0;x\x07\x1b[2J -- No entries --\xff"),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
def test_what_a_service_writes_ends_no_life_and_boots_no_machine(lie: str, tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path, journal=START + lie + END))
    assert (found.unit, str(found.cause), len(found.lives)) == ("app.service", "exit-code-death", 1)
    assert (str(found.end.kind), found.end.status, found.died_after_s) == ("exit", 1, 33.0)
    assert found.coverage["journal"] == "given"


@pytest.mark.parametrize(
    ("ident", "text", "origin"),
    [
        ("systemd-docker", "started", Origin.SERVER),
        ("systemd-cron", "started", Origin.SERVER),
        ("systemd-", "x", Origin.SERVER),
        ("systemd-coredump", "Process 4711 (python) of user 0 dumped core.", Origin.SYSTEMD),
        ("systemd-oomd", "Killed /system.slice/app.service due to memory pressure", Origin.SYSTEMD),
        ("systemd-fstab-generator", "Failed", Origin.SYSTEMD),
        ("systemd-coredump", KILLED, Origin.SERVER),
        ("(python)", "app.service: Failed at step EXEC spawning /x: No such file or directory", Origin.SYSTEMD),
    ],
)
def test_systemds_programs_are_known_by_name_and_none_of_them_speaks_for_a_unit(ident: str, text: str, origin: Origin, tmp_path: Path) -> None:
    frames = frames_of(written(tmp_path, f"{START}May 09 10:15:20 gpu01 {ident}[77]: {text}\n"))
    assert frames[1].origin is origin

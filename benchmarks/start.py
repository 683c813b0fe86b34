"""What it costs to start: CPU seconds (user + system) of whole processes, as medians and as ratios to what no program of this kind can do without.

    python benchmarks/start.py [--rounds 15]

The programs take turns, so that a machine that is busy for a while is busy for all of them. Two limits are held, and said: ``--help`` takes at most
1.5 times a bare click program's, and a diagnosis of a small sample at most 6.25 times ``import click, yaml`` (0.25 s where those two take 0.04 s). Exits 1 where one is not.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "samples" / "silent-crash"
_SCRIPT = Path(sys.executable).with_name("ddforensics")
OWN = (str(_SCRIPT),) if _SCRIPT.exists() else (sys.executable, "-m", "forensics")
# one command, no options, as it would be installed: the least that a program on click can be
CLICK = "import click\n@click.command()\ndef main():\n    'Say nothing.'\nmain()"
PROGRAMS: dict[str, tuple[str, ...]] = {
    "python -c pass": (sys.executable, "-c", "pass"),
    "import click, yaml": (sys.executable, "-c", "import click, yaml"),
    "a bare click program --help": (sys.executable, "-c", CLICK, "--help"),
    "ddforensics --help": (*OWN, "--help"),
    "ddforensics diagnose samples/silent-crash": (*OWN, "diagnose", str(SAMPLE)),
    "ddforensics rules list": (*OWN, "rules", "list"),
}
# program, what it is held against, and how many times that it may take
LIMITS = (
    ("ddforensics --help", "a bare click program --help", 1.5),
    ("ddforensics diagnose samples/silent-crash", "import click, yaml", 6.25),
)
FAIR = (0, 1)  # a diagnosed failure exits 1


def main() -> int:
    """Measure, print, and say whether the limits hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    spent: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for number in range(options.rounds + 1):
        for name, argv in PROGRAMS.items():
            took_s = cpu_s(argv)
            if number:  # the first round writes bytecode and fills the disk's cache
                spent[name].append(took_s)
    medians = {name: statistics.median(times) for name, times in spent.items()}
    base = medians["import click, yaml"]
    print(f"CPU seconds, medians of {options.rounds} rounds; times 'import click, yaml'; least … most")
    for name, times in spent.items():
        print(f"{name:44} {medians[name]:7.3f} s  x{medians[name] / base:5.2f}   {min(times):.3f} … {max(times):.3f}")
    held = True
    for name, other, most in LIMITS:
        # round by round, since both were then slowed down alike
        ratio = statistics.median(a / b for a, b in zip(spent[name], spent[other], strict=True))
        held &= ratio <= most
        print(f"{'held' if ratio <= most else 'NOT HELD'}: {name} takes {ratio:.2f} times {other}, at most {most} are allowed")
    return 0 if held else 1


def cpu_s(argv: tuple[str, ...]) -> float:
    """The CPU time of one process and of those that it waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # bytecode is written as it is for anybody who installed the program
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(argv, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode not in FAIR:
        raise SystemExit(f"{' '.join(argv)}: exit code {done.returncode}\n{done.stderr.decode(errors='replace')}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())

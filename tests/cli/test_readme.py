"""The README shows what the program really prints. ``make picture`` (this file, run as a script) writes the picture anew."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
COMMAND = "ddforensics diagnose samples/silent-crash"
PICTURE = re.compile(r"(<!-- picture: [^\n]*\n```console\n)(.*?)(```\n<!-- end of picture -->)", re.DOTALL)


def picture() -> str:
    done = subprocess.run(
        [sys.executable, "-m", "forensics", *COMMAND.split()[1:], "--width", "100"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    return f"$ {COMMAND}\n{done.stdout}"


def test_the_picture_in_the_readme_is_what_the_program_prints() -> None:
    found = PICTURE.search(README.read_text(encoding="utf-8"))
    assert found
    assert found[2] == picture(), "run: make picture"


def test_the_commands_of_the_readme_are_those_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for goal in re.findall(r"^make (\w+)", README.read_text(encoding="utf-8"), re.MULTILINE):
        assert re.search(rf"^{goal}:", makefile, re.MULTILINE), goal


def test_every_page_that_the_readme_links_to_is_there() -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", README.read_text(encoding="utf-8")):
        assert (ROOT / link).exists(), link


if __name__ == "__main__":
    README.write_text(PICTURE.sub(lambda m: m[1] + picture() + m[3], README.read_text(encoding="utf-8")), encoding="utf-8")

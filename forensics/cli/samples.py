"""``ddforensics samples``: the captures that are shipped, to list, find and copy. Never writes over anything."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import click

from forensics import lazily
from forensics.cli import screen
from forensics.errors import ForensicsError, TargetError, UsageError

FOLDER = Path(__file__).resolve().parent.parent / "samples"
_LINE = lazily.pattern(r"^[-*] `?([a-z0-9][a-z0-9-]*)`?: (.+)$")


@click.command(
    epilog="""\
\b
Examples:
  ddforensics samples                                 the list
  ddforensics samples silent-crash --copy samples     to samples/silent-crash
  ddforensics diagnose "$(ddforensics samples silent-crash)"
"""
)
@click.argument("name", required=False)
@click.option(
    "--copy", "folder", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Copy the sample (without NAME: all of them) into DIR."
)
def command(name: str | None, folder: Path | None) -> None:
    """List the shipped captures; with NAME, print the path of one."""
    shipped = names()
    if name is not None and name not in shipped:
        raise UsageError(f"no sample is called {name!r}", hint=f"there are: {', '.join(shipped)}")
    if folder is not None:
        for each in [name] if name else shipped:
            click.echo(copy(each, folder))
    elif name:
        click.echo(FOLDER / name)
    else:
        about = abouts()
        longest = max(map(len, shipped), default=0)
        screen.show("".join(f"{each:<{longest}}  {about.get(each, '')}".rstrip() + "\n" for each in shipped))


def names() -> list[str]:
    """The shipped samples, by name."""
    return sorted(path.name for path in FOLDER.iterdir() if path.is_dir()) if FOLDER.is_dir() else []


def abouts() -> dict[str, str]:
    """What each sample shows, from the list in ``samples/README.md``."""
    page = FOLDER / "README.md"
    if not page.is_file():
        return {}
    return {match[1]: match[2] for line in page.read_text(encoding="utf-8").splitlines() if (match := _LINE.match(line))}


def copy(name: str, folder: Path) -> Path:
    """Copy one sample into ``folder``; what is there already is left alone, and said."""
    goal = folder / name
    if goal.exists():
        raise UsageError("is there already", at=str(goal), hint="name another folder, or remove it first")
    try:
        return Path(shutil.copytree(FOLDER / name, goal))
    except OSError as error:
        raise ForensicsError(f"cannot copy: {error.strerror or error}", at=str(goal)) from error


def hinting_at_sample(error: TargetError, targets: Sequence[str]) -> TargetError:
    """The error, with a way out where a target that is no host has the name of a shipped sample."""
    named = next((word for word in targets if not Path(word).exists() and word in names()), None)
    if named is not None and "no host of that name" in error.text:
        return TargetError(error.text, at=error.at, hint=f'a shipped sample has that name: ddforensics diagnose "$(ddforensics samples {named})"')
    return error


def expect_no_missing_sample(targets: Sequence[str]) -> None:
    """Raise where a target is ``samples/X``, is not here, and is shipped: the README's words, typed in another folder."""
    for word in targets:
        path = Path(word)
        if path.parent.name == "samples" and not path.exists() and path.name in names():
            raise TargetError(
                "no such folder here, but a sample of that name is shipped",
                at=word,
                hint=f'ddforensics diagnose "$(ddforensics samples {path.name})", or: ddforensics samples {path.name} --copy {path.parent}',
            )

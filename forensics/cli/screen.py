"""What is known of the terminal: its width, whether colours are wanted, the one line of progress, and writing a report out. Never writes a result to standard error."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

import click

from forensics import redact
from forensics.cli.streams import let_go_of_stdout
from forensics.errors import ForensicsError, TargetError, UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from forensics.ruleset.schema import RuleSet

_PIPED_WIDTH = 100  # for a ticket or a mail, where nobody can widen the window
_MOST_FAULTS = 10  # of the home folder, before a diagnosis that was asked for something else
_MAX_WIDTH = 160  # longer lines are hard to read


def width(wanted: int | None, stream: TextIO) -> int:
    """Columns to write for: as asked, else as wide as the terminal (``COLUMNS`` holds), else fit for a ticket."""
    if wanted:
        return wanted
    known = os.environ.get("COLUMNS", "").isdecimal() or stream.isatty()
    return min(_columns(), _MAX_WIDTH) if known else _PIPED_WIDTH


def _columns() -> int:
    import shutil  # with all archives that Python knows

    return shutil.get_terminal_size().columns


def color(wanted: str, stream: TextIO) -> bool:
    """Colours: ``always``, ``never``, or ``auto``: on a terminal that can, unless NO_COLOR is set."""
    if wanted != "auto":
        return wanted == "always"
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Progress(AbstractContextManager["Progress"]):
    """One line on standard error that says what is being done, wiped at the end.

    Silent unless that is a terminal, or lines are wanted: all of them, or one in ``every_s`` seconds.
    """

    def __init__(self, stream: TextIO, *, lines: bool = False, every_s: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._lines = lines
        self._every_s = every_s
        self._clock = clock
        self._next = clock()
        self._live = stream.isatty() and not lines and os.environ.get("TERM") != "dumb"
        self._shown = False

    def __call__(self, text: str) -> None:
        text = harmless(text)
        if self._live:
            columns = _columns()
            room = max(columns - 1, 1)
            self._write(f"\r\x1b[K{text if len(text) <= room else text[: room - 1] + '…'}")
            self._shown = True
        elif self._lines:
            self._write(f"{text}\n")
        elif self._every_s is not None and self._clock() >= self._next:
            self._next = self._clock() + self._every_s
            self._write(f"{text}\n")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._shown:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        with suppress(OSError):  # nobody can read it: the work goes on
            self._stream.write(text)
            self._stream.flush()


class FieldsType(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic since click 8.2 only
    """``NAME=MEANING,…``, checked where it is typed."""

    name = "fields"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from forensics import ruleset
        from forensics.parse import matrix

        try:
            matrix.fields_of(str(value), ruleset.shipped_rules().columns)
        except UsageError as error:
            self.fail(f"{error.args[0]}{f' ({error.hint})' if error.hint else ''}", param, ctx)
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """What can stand behind the last equals sign."""
        from forensics import ruleset

        before, sign, begun = incomplete.rpartition("=")
        from click.shell_completion import CompletionItem

        return (
            [CompletionItem(f"{before}={name}") for name in ruleset.shipped_rules().columns.known if name.startswith(begun)]
            if sign and "," not in begun
            else []
        )


class GivenFile(click.Path):
    """A file of evidence: one that is not there could not be looked at, as a target that is not there, and is no wrong usage."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.path.lexists(value):
            raise TargetError("no such file", at=str(value))
        return super().convert(value, param, ctx)


def fields_option(flag: str) -> Callable[[Any], Any]:
    """The option of that name for a mapping of a matrix's own names."""
    text = "What names in a matrix of an own harness mean: my_width=budget,my_len=accept_len,my_ok=correct."
    return click.option(flag, "fields", type=FieldsType(), metavar="NAME=MEANING,…", help=text)


redact_option = click.option(
    "--redact",
    "redaction",
    type=click.Choice(("secrets", "all", "none")),
    help="What is masked: keys, tokens and passwords; also users, hosts and public addresses (all); nothing. Default: secrets in what is shown, all in what is saved.",
)


redact_bundle_option = click.option(
    "--redact",
    "redaction",
    type=click.Choice(("all", "secrets", "none")),
    default="all",
    show_default=True,
    help="What is taken out: secrets, and names of users and hosts, e-mail and public addresses by a map that is the same in all of it; only secrets; nothing.",
)


def redacting(redaction: str | None) -> dict[str, Any]:
    """What the pipeline is told of ``--redact``: nothing where it was not given."""
    return {"redaction": redact.Redaction(redaction)} if redaction else {}


def mask_of(redaction: str | None) -> Callable[[str], str]:
    """What every text of a report goes through."""
    return str if redaction == "none" else redact.secrets


def harmless(text: str) -> str:
    """Text that may hold what a host wrote, safe to print and without secrets."""
    return redact.secrets(redact.neutralise(text))


rules_option = click.option(
    "--rules",
    "rule_paths",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    metavar="PATH",
    help="A folder or file of rules, added to the shipped ones and to those in ~/.config/ddforensics/rules. May be repeated.",
)


def own_rules(paths: Sequence[Path], *, shipped: RuleSet | None = None) -> dict[str, Any]:
    """What the pipeline is told of a user's own rules: nothing where there are none. A slip in the home folder is said, and costs that rule only.

    ``shipped`` are what they are added to, where that is not what a diagnosis has.
    """
    from forensics.ruleset import sources

    home = sources.own_folder()
    if not paths and home is None:
        return {}
    from forensics.ruleset import user

    def warn(faults: Sequence[ForensicsError]) -> None:
        with suppress(OSError):
            click.echo(
                f"ddforensics: WARNING: {len(faults)} {'fault' if len(faults) == 1 else 'faults'} in your own rules; what is well in them is used:",
                err=True,
            )
            for fault in faults[:_MOST_FAULTS]:
                click.echo(harmless(f"  {fault}"), err=True)
            if len(faults) > _MOST_FAULTS:
                click.echo(f"  … and {len(faults) - _MOST_FAULTS} more: ddforensics rules lint shows all", err=True)

    return {"rules": user.rules_for_a_diagnosis(paths, home=home, warn=warn, shipped=shipped)}


def files(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What a shell completes a target with."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def only_hosts(words: Sequence[str]) -> None:
    """Raise UsageError where a target is none that gets a script."""
    from forensics import collect
    from forensics.model import TargetKind

    for target in collect.parse_targets(words):
        if target.kind not in (TargetKind.SSH, TargetKind.LOCAL):
            raise UsageError("no script is run for it: files are read here, a container is asked through its own client", at=target.name)


def show(text: str) -> None:
    """Print what was asked for to the end, or as far as somebody reads: a reader that has seen enough (``head``) is no error."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        let_go_of_stdout()


def write(text: str, file: Path | None) -> None:
    """Write a report to a file, or to standard output (None or ``-``). A reader that has gone away is no error: the verdict stands."""
    if file is None or str(file) == "-":
        try:
            show(text)
        except OSError as error:
            let_go_of_stdout()
            raise ForensicsError(f"cannot write the report: {error.strerror}") from error
        return
    try:
        file.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise ForensicsError(f"cannot write the report: {error.strerror}", at=str(file)) from error

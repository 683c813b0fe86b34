"""The command ``ddforensics``: finds the command's module, turns errors into one line and an exit code. Never does the work itself.

Exit codes are those of the design: 0 nothing wrong, 1 explained, 2 usage, 3 could not look, 4 still starting, 5 cause unknown; 130 after Ctrl-C.
"""

from __future__ import annotations

import errno
import gc
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

import click

from forensics import __version__
from forensics.cli import streams
from forensics.errors import ForensicsError, RuleErrors

if TYPE_CHECKING:
    from forensics.cli.pipeline import Pipeline

_BETWEEN_LOOKS = 50_000  # objects
INTERRUPTED = 130
COULD_NOT_LOOK = 3
BROKEN_PIPE = 141  # 128 + SIGPIPE, as the shell says it
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

# name → module of the command, and its line in --help: a command's module is imported only when it is asked for
COMMANDS = {
    "diagnose": ("forensics.cli.diagnose", "Say what died, when, why, and what to do."),
    "collect": ("forensics.cli.collect", "Keep what a host says in one file, to diagnose elsewhere."),
    "wait": ("forensics.cli.wait", "Wait until a server is ready, or say why it will not be."),
    "run": ("forensics.cli.run", "Run a benchmark untouched; diagnose the server when it fails."),
    "compare": ("forensics.cli.compare", "Hold two results of one benchmark against each other, for CI."),
    "samples": ("forensics.cli.samples", "List the shipped captures, or copy them."),
    "rules": ("forensics.cli.rules", "List, show, check and try the rules; begin a new one."),
}

EPILOG = """\
\b
Examples:
  ddforensics diagnose gpu01 --unit llm.service      a host, over ssh
  ddforensics diagnose local                         this machine
  ddforensics diagnose journal.txt status.txt        saved files: one target
  journalctl -u llm -n 5000 | ddforensics diagnose -
  ddforensics collect gpu01 --unit llm.service       one file to pass on
  ddforensics run --host gpu01 -- python3 bench.py   a benchmark with a hook

\b
Exit codes of diagnose:
  0  nothing wrong, or stopped by the operator    3  could not look
  1  a failure, explained                         4  still starting now
  2  usage                                        5  a failure, cause unknown

\b
Completion (bash; zsh and fish likewise):
  eval "$(_DDFORENSICS_COMPLETE=bash_source ddforensics)"
"""


class _ReaderLeft(Exception):
    """Nobody reads our standard output any more."""


@contextmanager
def _own_code() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:  # click would exit 1, and 1 means "a failure, explained"
        raise _ReaderLeft from error


class Lazy(click.Group):
    """A group that imports a command when it is run, and prints its help without importing any."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(COMMANDS[cmd_name][0]).command
        assert isinstance(command, click.Command)
        return command

    def make_context(self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any) -> click.Context:
        with _own_code():  # --help is answered here
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> object:
        with _own_code():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=Lazy, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(__version__, prog_name="ddforensics")
def cli() -> None:
    """Say why a service died, or why it does not answer: from a live host over ssh, or from saved logs.

    Only looks, never changes anything on the host.
    """


def main(argv: Sequence[str] | None = None, *, pipeline: Pipeline | None = None) -> int:
    """Run the command line and return its exit code; every error a user can meet is one line and a hint on standard error.

    ``pipeline`` stands in for ``forensics.api``.
    """
    streams.open_what_is_closed()
    _survive_odd_terminals()
    try:
        code = cli.main(args=None if argv is None else list(argv), prog_name="ddforensics", standalone_mode=False, obj=pipeline)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        _say("interrupted")
        return INTERRUPTED
    except ForensicsError as error:
        complain(error)
        return error.exit_code
    except (_ReaderLeft, BrokenPipeError):
        streams.let_go_of_stdout()
        return BROKEN_PIPE
    except OSError as error:
        if error.errno not in _NO_ROOM:
            return _own_fault()
        streams.let_go_of_stdout()
        complain(ForensicsError(f"cannot write: {error.strerror}", at=error.filename))
        return COULD_NOT_LOOK
    except Exception:  # noqa: BLE001  an uncaught one would exit 1, "a failure, explained"; swallowed after its traceback is shown
        return _own_fault()
    return code if isinstance(code, int) else 0


def _own_fault() -> int:
    import traceback

    with suppress(OSError):  # standard error may be what cannot be written
        traceback.print_exc()
    _say("this is a fault of ddforensics itself, not a finding about the host")
    return COULD_NOT_LOOK


def complain(error: ForensicsError) -> None:
    """``ddforensics: place: text`` and the hint on a line of its own, for each fault."""
    from forensics import redact

    for fault in error.faults if isinstance(error, RuleErrors) else (error,):
        place = f"{fault.at}: " if fault.at else ""
        for line in f"{place}{fault.text}".splitlines():
            _say(redact.secrets(redact.neutralise(line)))
        if fault.hint:
            _say(f"  hint: {redact.secrets(redact.neutralise(fault.hint))}")


def entry() -> NoReturn:
    """The console script. SIGTERM and SIGHUP unwind like Ctrl-C, so that nothing temporary is left behind."""
    # nearly all that a short-lived program makes lives until it ends: to look through it for rubbish a hundred times is for nothing
    gc.set_threshold(_BETWEEN_LOOKS, 20, 100)
    for signum in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(signum) is signal.SIG_DFL:
            signal.signal(signum, _leave)
    code = main()
    try:
        sys.stdout.flush()
    except OSError:
        streams.let_go_of_stdout()
    gc.freeze()  # the end of the interpreter looks through all of it as well
    sys.exit(code)


def _leave(signum: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + signum)


def _say(line: str) -> None:
    with suppress(OSError):  # nobody reads it
        click.echo(f"ddforensics: {line}", err=True)


def _survive_odd_terminals() -> None:
    # A locale without UTF-8 must cost an arrow, not the report.
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)  # absent where a test has put something else there
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")

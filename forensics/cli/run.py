"""``ddforensics run``: a benchmark with a hook. Never touches the benchmark's output or exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forensics.cli import screen
from forensics.cli.diagnose import form_of, rendered
from forensics.cli.pipeline import pipeline

if TYPE_CHECKING:
    from forensics.model import Diagnosis

EPILOG = """\
COMMAND's output passes through byte for byte, signals reach it, and its exit
code is the one you get (128+n where signal n ended it, 127 where there is no
such command). When it fails, or its output speaks of refused connections, HOST
is diagnosed at once, with COMMAND's output and times as evidence; the diagnosis
goes to standard error. A success passes through and nothing else happens.

\b
Examples:
  ddforensics run --host gpu01 --unit llm.service -- python3 bench.py
  ddforensics run --host gpu01 --report post-mortem.md -- ./coding_pass.sh
"""


@click.command(epilog=EPILOG, context_settings={"allow_interspersed_args": False})
@click.option("--host", metavar="HOST", default="local", show_default="this machine", help="Where the server runs.")
@click.option("--unit", metavar="UNIT", help="The systemd unit of the server.")
@click.option("--report", "file", type=click.Path(dir_okay=False, path_type=Path), help="Write the diagnosis there: .md, .json, else text.")
@click.option("--sudo", is_flag=True, help="On the host, read with sudo -n what root may see; where that is refused it is said.")
@screen.redact_option
@screen.rules_option
@click.option("-F", "--ssh-config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="As ssh -F.")
@click.argument("argv", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND…")
@click.pass_context
def command(
    ctx: click.Context,
    host: str,
    unit: str | None,
    file: Path | None,
    redaction: str | None,
    sudo: bool,
    rule_paths: tuple[Path, ...],
    ssh_config: Path | None,
    argv: tuple[str, ...],
) -> None:
    """Run a benchmark untouched; when it fails, say why the server did not answer."""
    from forensics import run

    form, mask = form_of(file), screen.mask_of(redaction)
    own = screen.own_rules(rule_paths) if rule_paths else None  # what was named is looked at now: not after an hour of a benchmark

    def diagnose(targets: Sequence[str], **how: Any) -> Sequence[Diagnosis]:
        return pipeline(ctx).diagnose(
            targets, **how, **screen.redacting(redaction), **(screen.own_rules(()) if own is None else own)
        )  # imported only now: a benchmark that succeeds does not wait for it

    def report(found: Sequence[Diagnosis]) -> None:
        if file is None:
            click.echo(err=True)  # the command's own output ends above
            click.echo(
                rendered(found, "text", width=screen.width(None, sys.stderr), color=screen.color("auto", sys.stderr), mask=mask), err=True, nl=False
            )
            return
        screen.write(rendered(found, form, width=screen.width(None, sys.stderr), color=False, mask=mask), file)
        for diagnosis in found:
            _say(f"{diagnosis.headline} (see {file})")

    ctx.exit(run.benchmark(argv, host=host, unit=unit, ssh_config=ssh_config, sudo=sudo, report=report, diagnose=diagnose, say=_say))


def _say(text: str) -> None:
    with suppress(OSError):  # nobody can read it: the command's exit code stands
        click.echo(f"ddforensics: {text}", err=True)

"""``ddforensics collect``: keep what a host says in one file, to be diagnosed elsewhere. Never judges it, changes nothing on the host."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from forensics.cli import screen
from forensics.cli.samples import expect_no_missing_sample, hinting_at_sample
from forensics.errors import ForensicsError, TargetError, UsageError

if TYPE_CHECKING:
    from forensics.collect import Bundle

EPILOG = """\
\b
A bundle holds the answers as they came, and a manifest; secrets are masked in
it, and names of users, hosts and public addresses replaced (--redact).
"ddforensics diagnose BUNDLE" says what it would have of the host.

\b
Examples:
  ddforensics collect gpu01 --unit llm.service     gpu01-llm-….tar.zst, here
  ddforensics collect local -o evidence            a folder
  ddforensics collect gpu01 gpu02 -o evidence      a folder with a bundle each
  ddforensics collect logs/ -o case.tar.gz         files, saved already
  ssh jump ddforensics collect gpu01 -o - > gpu01.tar.zst

\b
Exit codes:
  0  collected; what is missing is said    3  nothing could be collected
  2  usage
"""


@click.command(epilog=EPILOG)
@click.argument("targets", nargs=-1, required=True, metavar="TARGET…", shell_complete=screen.files)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="PATH",
    help="A folder, or a file: .tar.zst, .tar.gz, .tar.xz, .tar; - is standard output. Default: HOST-UNIT-TIME.tar.zst here.",
)  # fmt: skip
@click.option(
    "--unit", metavar="UNIT", help="The systemd unit. Without it, the one most worth a look, or the few; a mistyped name is resolved, and said."
)
@click.option("--since", metavar="TIME", help="How far back to look: -2h, '10 min ago', yesterday, 2026-05-09 10:00, @EPOCH.")
@click.option(
    "--bench", "benches", multiple=True, type=screen.GivenFile(),
    help="Output of the benchmark or client that failed: kept beside it. May be repeated.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace a bundle that is there already.")
@screen.redact_bundle_option
@click.option(
    "--sudo", is_flag=True, help="On the host, read with sudo -n what root may see; where that is refused it is said, and the rest is kept."
)
@click.option("--show-script", is_flag=True, help="Print what would run on a host, and collect nothing.")
@screen.rules_option
@click.option("-F", "--ssh-config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="As ssh -F.")
@click.option("-v", "--verbose", is_flag=True, help="Each step on standard error.")
def command(
    targets: tuple[str, ...],
    output: Path | None,
    unit: str | None,
    since: str | None,
    benches: tuple[Path, ...],
    force: bool,
    redaction: str,
    sudo: bool,
    show_script: bool,
    rule_paths: tuple[Path, ...],
    ssh_config: Path | None,
    verbose: bool,
) -> None:
    """Collect what diagnose would look at into a bundle, to pass on or to diagnose later.

    Nothing on the host is changed. One ssh connection is made, with your own ssh.
    """
    from forensics import api

    if show_script:
        screen.only_hosts(targets)
        screen.show(api.script_of(unit=unit, since=since, sudo=sudo, **screen.own_rules(rule_paths)))
        return
    expect_no_missing_sample(targets)
    own = screen.own_rules(rule_paths)
    where = _standard_output() if str(output) == "-" else output
    try:
        with screen.Progress(sys.stderr, lines=verbose) as progress:
            made = api.collect_bundle(
                targets,
                where,
                unit=unit,
                since=since,
                bench=benches,
                redaction=redaction,
                force=force,
                ssh_config=ssh_config,
                sudo=sudo,
                progress=progress,
                **own,
            )
    except TargetError as error:
        raise hinting_at_sample(error, targets) from error
    _say(made)
    if all(bundle.error for bundle in made):
        raise ForensicsError("nothing could be collected")


def _standard_output() -> BinaryIO:
    if sys.stdout.isatty():
        raise UsageError("an archive is not for a terminal", hint="-o FILE, or a pipe: … -o - | ssh there 'cat > case.tar.zst'")
    return sys.stdout.buffer


def _say(made: Sequence[Bundle]) -> None:
    """The paths on standard output; how much that was, and what is missing, on standard error."""
    for bundle in made:
        if bundle.error:
            click.echo(f"ddforensics: {screen.harmless(bundle.error)}", err=True)
            continue
        if bundle.warning:
            click.echo(f"ddforensics: {screen.harmless(bundle.warning)}", err=True)
        about = f" of {', '.join(bundle.units)}" if bundle.units else ""
        click.echo(screen.harmless(f"{bundle.target}: {bundle.sections} answers{about}, {_size(bundle.size)}"), err=True)
        for problem in bundle.problems:
            click.echo(screen.harmless(f"  missing: {problem.source}: {problem.text}"), err=True)
        if bundle.path is not None:
            click.echo(bundle.path)


def _size(count: int) -> str:
    return f"{count} bytes" if count < 10_000 else f"{count / 1000:.0f} kB" if count < 10_000_000 else f"{count / 1_000_000:.0f} MB"

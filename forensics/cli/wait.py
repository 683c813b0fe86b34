"""``ddforensics wait``: return when the server is ready, or say why it will not be. Never changes anything on the host."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path

import click

from forensics import clock
from forensics.cli import screen
from forensics.cli.diagnose import rendered

EPILOG = """\
\b
Exit codes:
  0  ready                             4  still starting when time was over
  1  it failed or was stopped          5  it failed, cause unknown
  3  could not look

\b
Examples:
  ddforensics wait gpu01 --unit llm.service && python3 bench.py
  ddforensics wait local --limit 600
"""


@click.command(epilog=EPILOG)
@click.argument("host", metavar="HOST")
@click.option("--unit", metavar="UNIT", help="The systemd unit. Without it, the one most worth a look; a mistyped name is resolved, and said.")
@click.option("--limit", "limit_s", type=click.FloatRange(min=1), default=1800.0, show_default=True, metavar="SECONDS", help="Give up after so long.")
@click.option("--sudo", is_flag=True, help="On the host, read with sudo -n what root may see; where that is refused it is said.")
@screen.redact_option
@screen.rules_option
@click.option("-F", "--ssh-config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="As ssh -F.")
@click.pass_context
def command(
    ctx: click.Context,
    host: str,
    unit: str | None,
    limit_s: float,
    sudo: bool,
    redaction: str | None,
    rule_paths: tuple[Path, ...],
    ssh_config: Path | None,
) -> None:
    """Wait until a server is ready; when it fails instead, or takes too long, say why.

    "active" is not "ready": it is ready when its own log or its health endpoint says so.
    """
    from forensics import api, wait

    own = screen.own_rules(rule_paths)
    began = time.monotonic()
    with screen.Progress(sys.stderr, every_s=60.0) as progress:
        found = wait.wait_until_ready(
            host, unit=unit, limit_s=limit_s, ssh_config=ssh_config, sudo=sudo, progress=progress, **screen.redacting(redaction), **own
        )
    if found.health not in wait.OVER and time.monotonic() - began >= limit_s:
        with suppress(OSError):
            click.echo(f"ddforensics: gave up after {clock.span(limit_s)}", err=True)
    code = api.exit_code([found])
    if code == 0 and found.health != "healthy":
        code = 1  # stopped: nothing wrong, and nothing that could be waited for
    if found.health == "healthy":
        click.echo(screen.harmless(found.headline))
    else:
        screen.write(
            rendered([found], "text", width=screen.width(None, sys.stdout), color=screen.color("auto", sys.stdout), mask=screen.mask_of(redaction)),
            None,
        )
    ctx.exit(code)
